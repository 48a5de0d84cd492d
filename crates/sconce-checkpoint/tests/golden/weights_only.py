"""Prints tests/golden/weights_only.tsv: small hand-made pickles and what torch.load with
weights_only=True makes of each.

Columns: name; names allowed for the case; the pickle in hex; outcome: `ok`, or the exception's name;
the type of the result, or the message, with addresses removed and control characters escaped.
Each pickle is the data.pkl of a zip with one storage of 4 bytes. weights_only=True runs only
what torch's own list (and the harmless names given here) allows.
"""
import contextlib
import importlib
import io
import pickle
import pickletools
import re
import struct
import warnings
import zipfile

import torch

warnings.simplefilter("ignore")
P = b"\x80\x02"


def g(path):
    module, name = path.rsplit(".", 1)
    return f"c{module}\n{name}\n".encode()


def s(text):
    data = text.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def b(text):
    return b"U" + bytes([len(text)]) + text


def i(number):
    return b"J" + struct.pack("<i", number)


def t(*items):
    return b"(" + b"".join(items) + b"t"


def call(path, *args):
    return g(path) + t(*args) + b"R"


def new(path, *args):
    return g(path) + t(*args) + b"\x81"


def storage(kind="torch.FloatStorage", key="0", location="cpu", count=1):
    return t(s("storage"), g(kind), s(key), s(location), i(count)) + b"Q"


OD = call("collections.OrderedDict")
TENSOR = call(
    "torch._utils._rebuild_tensor_v2", storage(), i(0), t(i(1)), t(i(1)), b"\x89", OD
)
PARAMETER = call("torch._utils._rebuild_parameter", TENSOR, b"\x88", OD)
BYTES = call("_codecs.encode", s("ab"), s("latin1"))
NUMPY_DTYPE = call("numpy.dtype", s("f8"), b"\x89", b"\x88")
NUMPY_STATE = t(i(3), s("<"), b"N", b"N", b"N", i(-1), i(-1), i(0))
RECONSTRUCT = call(
    "numpy._core.multiarray._reconstruct", g("numpy.ndarray"), t(i(0)),
    call("_codecs.encode", s("b"), s("latin1")),
)

CASES = []


def case(name, body, allow=(), proto=P, stop=b"."):
    CASES.append((name, tuple(allow), proto + body + stop))


# Every opcode, alone: what is not in torch's subset is refused before its argument is read.
for op in pickletools.opcodes:
    case(f"opcode {op.name}", op.code.encode("latin1"), stop=b"")
for byte in (0x00, 0x78, 0xFF):
    case(f"byte {byte:02x}", bytes([byte]))

# Literals.
for name, body in {
    "none": b"N", "true": b"\x88", "false": b"\x89", "int": i(-5), "byte": b"K\x07",
    "short": b"M\x07\x01", "long1": b"\x8a\x0a" + bytes(range(10)), "empty long1": b"\x8a\x00",
    "float": b"G" + struct.pack(">d", 1.5), "str": s("abc"), "surrogates": s("\ud800"),
    "short string": b(b"abc"), "short string not utf-8": b(b"\xff\xfe"),
    "empty tuple": b")", "tuple": t(i(1), i(2)), "tuple1": i(1) + b"\x85",
    "tuple2": i(1) + i(2) + b"\x86", "tuple3": i(1) + i(2) + i(3) + b"\x87",
    "empty list": b"]", "empty dict": b"}", "empty set": b"\x8f",
    "list": b"](" + i(1) + i(2) + b"e", "append": b"]" + i(1) + b"a",
    "dict": b"}(" + s("a") + i(1) + b"u", "setitem": b"}" + s("a") + i(1) + b"s",
    "memo": b"]q\x00h\x00\x86", "long memo": b"]r\x00\x00\x01\x00j\x00\x00\x01\x00\x86",
    "two values left": i(1) + i(2), "odd setitems": b"}(" + i(1) + b"u",
    "unhashable key": b"}]N" + b"s", "missing memo": b"h\x05", "mark at the end": b"(N",
    "empty": b"", "append without list": b"a",
}.items():
    case(name, body)
case("protocol 1, no PROTO", b"}(" + s("a") + i(1) + b"u", proto=b"")
for version in (0, 1, 3, 4, 5):
    case(f"PROTO {version}", b"N", proto=bytes([0x80, version]))
case("pickled with protocol 4", b"", proto=pickle.dumps([1, "a"], 4), stop=b"")
case("pickled with protocol 0", b"", proto=pickle.dumps({"a": 1}, 0), stop=b"")

# Globals.
for path in (
    "os.system", "posix.system", "nt.system", "sys.exit", "os.path.join", "builtins.eval",
    "builtins.getattr", "builtinsx.f", "builtins.nested.f", "__builtin__.eval", "__builtin__.set",
    "copy_reg._reconstructor", "UserDict.UserDict", "exceptions.ValueError", "cPickle.loads",
    "torch.distributed.tensor.DTensor", "torch.distributed.tensor._dtensor_spec.DTensorSpec",
    "torch.distributed.tensor.placement_types.Shard", "torch.distributed.device_mesh.DeviceMesh",
    "torch.nn.modules.linear.Linear", "numpy.dtype", "numpy.core.multiarray._reconstruct",
    "collections.OrderedDict", "collections.defaultdict", "torch.float32", "torch.Size",
    "torch.FloatStorage", "torch.storage.UntypedStorage", "torch.per_tensor_affine",
    "torch._utils._rebuild_nested_tensor", "torch._utils._rebuild_tensor_v2", "torch.nn.Parameter",
    "torch.nn.parameter.Parameter", "__main__.Net", "a b.c", "x must be y to load.z",
    "_codecs.encode", "builtins.set", "torch.device", "torch.cuda.sparse.FloatTensor",
):
    case(f"global {path}", g(path))
case("global without module", b"c\nf\n")
case("global not utf-8", b"c\xff\nf\n")
case("global of os, allowed", g("os.getcwd"), ["os.getcwd"])
case("global, allowed", g("argparse.Namespace"), ["argparse.Namespace"])
case("global inside a list", b"](" + g("torch.Size") + g("foo.Bar") + b"e")

# REDUCE.
for name, body in {
    "OrderedDict": OD, "Counter": call("collections.Counter"), "set": call("builtins.set", b"]"),
    "py2 set": call("__builtin__.set", b"]"), "bytearray": call("builtins.bytearray"),
    "complex": call("builtins.complex", i(1), i(2)), "encode": BYTES, "tensor": TENSOR,
    "parameter": PARAMETER, "Size": call("torch.Size", t(i(1))), "device": call("torch.device", s("cpu")),
    "layout": call("torch.serialization._get_layout", s("torch.strided")),
    "FloatTensor": call("torch.FloatTensor"), "dtype": call("torch.float32"),
    "storage type": call("torch.FloatStorage"), "qscheme": call("torch.per_tensor_affine"),
    "an int": i(1) + b")R", "a str": s("f") + b")R", "None": b"N)R", "a list": b"])R",
    "a tensor": TENSOR + b")R", "an OrderedDict": OD + b")R",
    "an OrderedDict with items": OD + s("a") + i(1) + b"s)R",
    "args None": g("collections.OrderedDict") + b"NR", "args int": g("builtins.set") + i(1) + b"R",
    "args list": g("collections.OrderedDict") + b"]R", "a set": b"\x8f)R",
    "a nested list": b"](" + i(1) + s("x") + b"]e)R", "a Size": call("torch.Size", t(i(1))) + b")R",
    "a storage": storage() + b")R",
}.items():
    case(f"reduce {name}", body)
case("reduce, allowed class", call("argparse.Namespace"), ["argparse.Namespace"])
case("reduce, allowed defaultdict", call("collections.defaultdict"), ["collections.defaultdict"])
case("reduce, allowed list", call("builtins.list") + i(1) + b"a", ["builtins.list"])
case("reduce, allowed dict", call("builtins.dict") + i(1) + i(2) + b"s", ["builtins.dict"])

# NEWOBJ.
for name, body in {
    "OrderedDict": new("collections.OrderedDict"), "Parameter": new("torch.nn.parameter.Parameter", TENSOR),
    "empty Parameter": new("torch.nn.parameter.Parameter"), "Size": new("torch.Size", t(i(1))),
    "set": new("builtins.set"), "Tensor": new("torch.Tensor"), "FloatTensor": new("torch.FloatTensor"),
    "Counter": new("collections.Counter"), "UntypedStorage": new("torch.storage.UntypedStorage", i(4)),
    "dtype": new("torch.float32"), "storage type": new("torch.FloatStorage"),
    "function": new("torch._utils._rebuild_tensor_v2"), "encode": new("_codecs.encode"),
    "an int": i(1) + b")\x81", "a str": s("f") + b")\x81", "None": b"N)\x81",
    "a list": b"])\x81", "an OrderedDict": OD + b")\x81", "a tensor": TENSOR + b")\x81",
    "args None": g("collections.OrderedDict") + b"N\x81",
    "args list": g("collections.OrderedDict") + b"]\x81",
}.items():
    case(f"newobj {name}", body)
case("newobj, allowed class", new("argparse.Namespace"), ["argparse.Namespace"])
case("newobj, allowed function", new("argparse.ngettext"), ["argparse.ngettext"])
case("newobj, class not allowed", new("argparse.Namespace"))

# BUILD.
STATE = b"}" + s("a") + i(1) + b"s"
for name, body in {
    "OrderedDict": OD + STATE + b"b", "dict": b"}" + STATE + b"b", "list": b"]" + STATE + b"b",
    "int": i(1) + STATE + b"b", "str": s("x") + STATE + b"b", "None": b"N" + STATE + b"b",
    "tuple": b")" + STATE + b"b", "set literal": b"\x8f" + STATE + b"b",
    "set": call("builtins.set") + STATE + b"b", "set, no state": call("builtins.set") + b"Nb",
    "set, empty dict": call("builtins.set") + b"}b",
    "set, slots": call("builtins.set") + b"N" + STATE + b"\x86b",
    "Counter": call("collections.Counter") + STATE + b"b",
    "Counter, slots": call("collections.Counter") + b"N" + STATE + b"\x86b",
    "complex": call("builtins.complex") + STATE + b"b", "bytes": BYTES + STATE + b"b",
    "bytearray": call("builtins.bytearray") + STATE + b"b",
    "Size": call("torch.Size", t(i(1))) + STATE + b"b",
    "device": call("torch.device", s("cpu")) + STATE + b"b",
    "layout": call("torch.serialization._get_layout", s("torch.strided")) + STATE + b"b",
    "dtype": g("torch.float32") + STATE + b"b", "class": g("torch.Size") + STATE + b"b",
    "tensor class": g("torch.Tensor") + STATE + b"b",
    "parameter class": g("torch.nn.parameter.Parameter") + STATE + b"b",
    "old tensor class": g("torch.FloatTensor") + STATE + b"b",
    "function": g("torch._utils._rebuild_tensor") + STATE + b"b",
    "built-in function": g("_codecs.encode") + STATE + b"b",
    "storage class": g("torch.FloatStorage") + STATE + b"b",
    "qscheme": g("torch.per_tensor_affine") + STATE + b"b",
    "tensor": TENSOR + t(storage(), i(0), t(i(1)), t(i(1))) + b"b",
    "old tensor": new("torch.FloatTensor") + t(storage(), i(0), t(i(1)), t(i(1))) + b"b",
    "parameter": PARAMETER + STATE + b"b", "storage": storage() + STATE + b"b",
    "OrderedDict, None": OD + b"Nb", "float": b"G" + bytes(8) + STATE + b"b",
    "bool": b"\x88" + STATE + b"b",
}.items():
    case(f"build {name}", body)
NAMESPACE = ["argparse.Namespace"]
case("build, allowed class", new("argparse.Namespace") + STATE + b"b", NAMESPACE)
case("build, allowed class by reduce", call("argparse.Namespace") + STATE + b"b", NAMESPACE)
case("build, allowed defaultdict", call("collections.defaultdict") + STATE + b"b", ["collections.defaultdict"])
case("build, allowed reconstructor alone",
     call("copy_reg._reconstructor", g("argparse.Namespace"), g("argparse._AttributeHolder"), b"N") + STATE + b"b",
     ["copyreg._reconstructor", "argparse.Namespace", "argparse._AttributeHolder"])

# Subclasses through _rebuild_from_type_v2.
case("build of a rebuilt type",
     call("torch._tensor._rebuild_from_type_v2", g("torch._utils._rebuild_tensor_v2"), g("torch.Tensor"),
          t(storage(), i(0), t(i(1)), t(i(1)), b"\x89", OD), b"}"), [])

# numpy, allowed by the caller.
case("numpy dtype", NUMPY_DTYPE, ["numpy.dtype"])
case("numpy dtype, its type not allowed", NUMPY_DTYPE + NUMPY_STATE + b"b", ["numpy.dtype"])
case("numpy dtype, its type allowed", NUMPY_DTYPE + NUMPY_STATE + b"b",
     ["numpy.dtype", "numpy.dtypes.Float64DType"])
for code in ("f4", "i8", "u1", "b1", "c16", "O8", "S3", "U3", "V2", "M8", "m8", "?", "int32", "float64"):
    case(f"numpy dtype {code}", call("numpy.dtype", s(code), b"\x89", b"\x88") + NUMPY_STATE + b"b", ["numpy.dtype"])
case("numpy array, class not allowed",
     RECONSTRUCT + t(i(1), t(i(0)), NUMPY_DTYPE, b"\x89", BYTES) + b"b",
     ["numpy._core.multiarray._reconstruct", "numpy.dtype"])

# APPEND, APPENDS, SETITEM, SETITEMS.
TARGETS = {
    "list": b"]", "dict": b"}", "tuple": b")", "set": b"\x8f", "int": i(1), "str": s("x"), "None": b"N",
    "OrderedDict": OD, "Counter": call("collections.Counter"), "tensor": TENSOR, "parameter": PARAMETER,
    "Size": call("torch.Size", t(i(1))), "bytearray": call("builtins.bytearray"), "bytes": BYTES,
    "built set": call("builtins.set"), "storage": storage(), "function": g("torch._utils._rebuild_tensor_v2"),
    "class": g("collections.OrderedDict"), "dtype": g("torch.int8"), "big int": b"\x8a\x09" + b"\x01" * 9,
    "device": call("torch.device", s("cpu")), "complex": call("builtins.complex"), "short string": b(b"x"),
}
for name, body in TARGETS.items():
    case(f"append to {name}", body + i(1) + b"a")
    case(f"extend {name}", body + b"(" + i(1) + b"e")
    case(f"setitem of {name}", body + i(1) + i(2) + b"s")
    case(f"setitems of {name}", body + b"(" + i(1) + i(2) + b"u")
case("append to an allowed class", call("argparse.Namespace") + i(1) + b"a", NAMESPACE)
case("setitem of defaultdict", call("collections.defaultdict") + i(1) + i(2) + b"s", ["collections.defaultdict"])
case("extend an int by nothing", i(1) + b"(e")
case("setitems of an int, none", i(1) + b"(u")

# BINPERSID.
for name, body in {
    "storage": storage(), "typed": storage("torch.storage.UntypedStorage", count=4),
    "str": s("storage") + b"Q", "None": b"NQ", "list": b"]Q", "float": b"G" + bytes(8) + b"Q",
    "bool": b"\x88Q", "OrderedDict": OD + b"Q", "Size": call("torch.Size", t(i(1))) + b"Q",
    "module": t(s("module"), g("torch.Size"), s("f"), s("src")) + b"Q",
    "module as short string": t(b(b"module"), b"N") + b"Q", "int first": t(i(1), i(2)) + b"Q",
    "None first": t(b"N") + b"Q", "tuple first": t(b")") + b"Q", "class first": t(g("torch.Size")) + b"Q",
    "bytes first": t(BYTES) + b"Q", "tensor first": t(TENSOR) + b"Q",
    "short string": b(b"storage") + b"Q",
    "storage as short string": t(b(b"storage"), g("torch.FloatStorage"), b(b"0"), b(b"cpu"), i(1)) + b"Q",
    "storage as bytes": t(call("_codecs.encode", s("storage"), s("ascii")), g("torch.FloatStorage"),
                          s("0"), s("cpu"), i(1)) + b"Q",
}.items():
    case(f"persid {name}", body)


def resolve(path):
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name), path


def run(allow, data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a/data.pkl", data)
        archive.writestr("a/version", "3\n")
        archive.writestr("a/data/0", b"\0\0\x80?")
    file.seek(0)
    scope = torch.serialization.safe_globals([resolve(name) for name in allow]) if allow else contextlib.nullcontext()
    try:
        with scope:
            return "ok", str(type(torch.load(file, weights_only=True)))
    except Exception as error:
        return type(error).__name__, str(error)


def escape(text):
    text = re.sub(r" (object )?at 0x[0-9a-f]+", r"", text)
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\x1b", "\\e")


print(f"# torch {torch.__version__.split('+')[0]}; printed by weights_only.py")
for name, allow, data in CASES:
    outcome, detail = run(allow, data)
    print(name, ",".join(allow), data.hex(), outcome, escape(detail), sep="\t")

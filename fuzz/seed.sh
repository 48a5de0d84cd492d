#!/bin/sh
# Fills fuzz/corpus with the fixtures, each kind of file where its target looks for it.
#
#     fuzz/seed.sh [FOLDER...]
#
# Further folders are searched for checkpoints too. Files are named by their contents, as libFuzzer
# names them, so running this again adds nothing twice. The words of programs go into two dictionaries,
# corpus/script.dict and corpus/run.dict. Needs python3 to take pickles out of archives.
set -eu
cd "$(dirname "$0")"
exec python3 - ../fixtures/files ../fixtures/mobile ../crates/sconce-syntax/tests/filetests \
    ../crates/sconce-ir/tests/filetests ../crates/sconce-compiler/tests \
    ../crates/sconce-runtime/tests ../crates/sconce-script/tests/cases ../conformance/script \
    ../conformance/torchscript/cases "$@" <<'PYTHON'
import ast, builtins, hashlib, io, keyword, os, re, struct, sys, wave, zipfile, zlib

LARGEST = 1 << 16
ALL = ("checkpoint", "identify")


def add(target, data):
    if 0 < len(data) <= LARGEST:
        folder = os.path.join("corpus", target)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, hashlib.sha1(data).hexdigest()), "wb") as file:
            file.write(data)


def pickles(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return [archive.read(name) for name in archive.namelist() if name.endswith(".pkl")]
    except Exception:  # many of these files are broken on purpose
        return []


def programs(path):
    """The code files of a TorchScript archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [archive.read(name) for name in archive.namelist() if name.endswith(".py")]
    except Exception:
        return []


PARSED = ("model.json", "bytecode.pkl", "constants.pkl", ".debug_pkl")


def parsed(path):
    """Records of a TorchScript archive that have readers of their own, with the number of each."""
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                for kind, end in enumerate(PARSED):
                    if name.endswith(end):
                        yield kind, archive.read(name)
    except Exception:
        return


def snippets(data):
    """Each function and class of a Python file with what it needs of the file, and the line that names it."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return
    text = data.decode()
    imports, pieces, needs = [], {}, {}
    for node in tree.body:
        piece = ast.get_source_segment(text, node)
        for decorator in getattr(node, "decorator_list", []):
            piece = f"@{ast.unparse(decorator)}\n{piece}"
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(piece)
            continue
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        else:
            names = [node.name] if hasattr(node, "name") else []
        for name in names:
            pieces.setdefault(name, []).append(piece)
            used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
            needs[name] = needs.get(name, set()) | used
    for name in pieces:
        found, pending = [], [name]
        while pending:
            at = pending.pop()
            if at in pieces and at not in found:
                found.append(at)
                pending.extend(sorted(needs[at]))
        parts = dict.fromkeys(piece for each in pieces if each in found for piece in pieces[each])
        yield "\n".join([*imports, *parts, "#----", name]).encode()


def network(path):
    """A network that the target `run` has, by its letter, and the letter of the tensors made for it."""
    with open("src/run.rs") as file:
        names = re.findall(r'network!\("(\w+)"\)', file.read())
    name = os.path.basename(os.path.dirname(path))
    if "optimize" not in path or name not in names:
        return None
    pictures = "changed features gated inverted residual scaled written".split()
    rows = "chains0 dense drawn pointwise several".split()
    tensors = b"4" if name in pictures else b"3" if name in rows else b"2"
    return bytes([ord("a") + names.index(name)]) + tensors


ATTRIBUTES = """  training : bool
  n : int
  xs : List[int]
  t : Tensor
"""


def of_m(code):
    """Code of a module without attributes as that of the class M, whose object the targets supply."""
    text = code.decode(errors="replace")
    selves = set(re.findall(r"\(self: (__torch__[\w.]+)", text))
    if len(selves) != 1 or text.count("class ") != 1 or not text.startswith("class "):
        return None
    head, attributes, methods = re.match(
        r"(.*\n(?:  __.*\n)*)((?:  \w+ : .*\n)*)((?:.*\n?)*)", text
    ).groups()
    if not re.fullmatch(r"(  (training|_is_full_backward_hook) : .*\n)*", attributes):
        return None
    head = re.sub(r"class \w+", "class M", head)
    return (head + ATTRIBUTES + methods.replace(selves.pop(), "__torch__.M")).encode()


for top in sys.argv[1:]:
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                data = file.read()
            for target in ALL:
                add(target, data[:LARGEST] if target == "identify" else data)
            if data[:4] == b"PK\x03\x04" or b"PK\x05\x06" in data:
                add("zip", data)
                for found in pickles(path):
                    add("pickle", found)
            elif data[257:262] == b"ustar" or name.endswith(".tar"):
                add("tar", data)
            elif data[:1] == b"\x80":
                add("pickle", data)
                add("legacy", data)
            if data[4:8] == b"PTMF" and len(data) < LARGEST:
                add("torchscript", b"P" + data)
            if name.endswith((".npy", ".npz", ".safetensors")):
                add("safetensors_npy", data)
            if name.endswith(".py"):
                add("syntax", data)
                for snippet in snippets(data):
                    add("script", snippet)
                    add("run", b"P2" + snippet)
            if name.endswith(".ir"):
                for part in data.split(b"graph(")[1:]:
                    add("graph_text", b"graph(" + part)
            if name.endswith((".png", ".jpg", ".wav")):
                add("media", data)
            if name == "pytorch_model.bin.index.json":
                add("records", b"\x04" + data.split(b'"weight_map": {', 1)[-1])
            for kind, record in parsed(path):
                add("records", bytes([kind]) + record)
            for code in programs(path):
                add("syntax", code)
                add("torchscript", code)
                if named := of_m(code):
                    add("torchscript", named)
                    add("run", b"02" + named)
                if which := name == "model.pt" and network(path):
                    add("run", which + code)
                if len(data) < LARGEST:
                    add("torchscript", b"P" + data)


def dictionary(target, words):
    with open(f"corpus/{target}.dict", "w") as file:
        file.writelines('"%s"\n' % word.replace("\\", "\\\\").replace('"', '\\"') for word in sorted(words))


with open("../crates/sconce-ir/operators/schemas.txt") as file:
    name = ""
    for at, line in enumerate(file):
        if "\t" not in line:
            name = line.strip()
        elif at % 20 == 0:
            overload, schema = line.rstrip("\n").split("\t", 1)
            add("types", (name + ("" if overload == "-" else "." + overload) + schema).encode())
for text in ("[1, 2.5, 'a', None]", "{'a': (True, -3)}", "zeros(1, 3)", "tensor([[1, 2.5]], dtype=float64)", "1e400"):
    add("literals", text.encode())
for width in (1, 2, 3, 4):
    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(bytes(range(8 * width)))
    add("media", sound.getvalue())
for bits, kind, length in ((8, 0, 3), (16, 2, 18), (8, 6, 12), (1, 0, 1)):
    chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 3, 2, bits, kind, 0, 0, 0))
    rows = zlib.compress((b"\0" + bytes(range(length))) * 2)
    add("media", b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
with open("../crates/sconce-ir/operators/schemas.txt") as file:
    NAMES = [line.strip() for line in file if "\t" not in line]
with open("../crates/sconce-script/src/library/known.tsv") as file:
    KNOWN = [line.split("\t")[0] for line in file]
NUMBERS = "0 -1 1.5 9223372036854775807 1e308 float('nan') 1j True None [] {} () \"\"".split()
TYPES = "Tensor int float bool str complex List[int] Optional[int] Dict[str,int] Tuple[int,int] Union[int,str] Any".split()
OPERATORS = [name.removeprefix("aten::") for name in NAMES if name.startswith("aten::")]
dictionary("run", {f"torch.{name}(" for name in OPERATORS} | set(NUMBERS + TYPES + keyword.kwlist))
dictionary("script", {*KNOWN, *NUMBERS, *TYPES, *keyword.kwlist, *dir(builtins)})
PYTHON

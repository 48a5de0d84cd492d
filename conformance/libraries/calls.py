"""Calls of what was scripted: arguments that fit its schema, and what PyTorch makes of them.

Arguments are made by type, guided by what they are called: a label is an integer, a mask is zeros and ones,
a kernel's size is odd. Tensors take one of the shapes that such libraries work on, strings are those that
the source compares with, and what has a default keeps it as often as not. The examples of the docstring are
run, too, and what they call the function or module with is tried first.

What a call gives in float64 is kept beside a result that is not that, so that rounding is known as such.

Of many attempts, each seeded by its number, the first few are kept that PyTorch has a result for, the same
one when it is asked twice, and those that it raises different errors for.
"""
import doctest
import inspect
import io
import json
import random
import re
import signal

import compiled
import torch
from values import copied, last_line, plain

ATTEMPTS = 80
MOST_RESULTS, MOST_ERRORS = 5, 2
# A result is kept in a file.
MOST_BYTES = 4_000_000
LONGEST = 60
# Examples that reach for what is not on this machine, or show it.
ELSEWHERE = re.compile(r"pretrained|https?:|download|open\(|\.save|plt\.|\.plot|datasets|from_url")
SHAPES = [
    (2, 3, 16, 16), (2, 8), (1, 3, 32, 32), (2, 5, 2), (3, 3), (2, 3, 3), (6,), (2, 4, 8), (1, 1, 8, 8), (2, 8, 8, 8), (4, 4),
    (2, 4, 4), (5, 3), (1, 2, 6, 6, 6), (4, 2), (2, 4), (3,), (8, 8), (2, 400), (), (1, 8, 16), (2, 1, 5, 8), (2, 3, 4), (4, 9),
    (2, 3, 64, 64), (2, 16, 8), (3, 1), (1, 3, 16, 12), (2, 1, 16, 16, 16), (1, 5), (2, 6, 4, 4), (10, 4), (2, 2, 3, 3), (16, 16),
]
INDICES = re.compile(r"label|target|index|indices|idx|(^|_)ids?$|batch|ptr|^col$|^row$|length|classes|tokens|^text$|assign")
MASKS = re.compile(r"mask|valid|apply")
SIZES = re.compile(r"size|height|width|resolution|shape|^[hw]$|nb_|num_|^n_|dim_size|channels")


# Strings by what parameters' names say, where a source names none.
WORDS = [
    (r"pad|border", ("reflect", "replicate", "constant", "zeros", "border")),
    (r"interp|^mode$|resample", ("bilinear", "nearest", "reflect", "replicate", "constant")),
    (r"reduc|average|aggr", ("mean", "sum", "none", "elementwise_mean", "micro", "macro")),
    (r"task", ("binary", "multiclass", "multilabel")),
    (r"", ("mean", "sum", "none")),
]


class Guide:
    """One attempt: its random numbers, and the shape and dtype that most of its tensors have."""

    def __init__(self, number, strings):
        self.number, self.strings = number, strings
        self.random = random.Random(number)
        self.numbers = torch.Generator().manual_seed(number)
        self.shape = SHAPES[number % len(SHAPES)]
        # As one would call it at first; what is odd comes later.
        self.dtype = torch.float32 if number < len(SHAPES) else self.random.choice((torch.float32, torch.float64, torch.int64, torch.uint8))

    def of(self, argument):
        if argument.has_default_value() and (self.number < 4 or self.random.random() < 0.6):
            return argument.default_value
        return self.value(argument.name, argument.type)

    def value(self, name, kind):
        """A value of a TorchScript type; ValueError where there is none."""
        sort = kind.kind()
        if sort == "TensorType":
            return self.tensor(name)
        if sort == "OptionalType":
            return None if self.random.random() < 0.5 else self.value(name, kind.getElementType())
        if sort == "ListType":
            count = self.random.choice((2, 2, 2, 1, 3))
            return [self.value(name, kind.getElementType()) for _ in range(count)]
        if sort == "TupleType":
            return tuple(self.value(name, each) for each in kind.elements())
        if sort == "DictType":
            keys = [self.value(name, kind.getKeyType()) for _ in range(2)]
            return {key: self.value(name, kind.getValueType()) for key in keys}
        if sort == "UnionType":
            return self.value(name, self.random.choice(kind.containedTypes()))
        if sort == "NoneType":
            return None
        return self.plain(name, str(kind))

    def plain(self, name, kind):
        choose = self.random.choice
        if kind == "int":
            if "dtype" in name:
                return choose((6, 6, 7))
            if re.search("dim|axis", name):
                return choose((-1, 0, 1))
            if re.search("kernel|window", name):
                return choose((3, 3, 5))
            return choose((8, 4, 16, 3) if SIZES.search(name) else (1, 2, 3, 4, 0))
        if kind == "float" or kind == "number":
            return choose((0.5, 0.1, 1.0, 1.5, 2.0, 0.25))
        if kind == "bool":
            return choose((True, False))
        if kind == "str":
            return choose(self.strings or next(words for pattern, words in WORDS if re.search(pattern, name)))
        if kind == "complex":
            return choose((1.5 + 2j, -1j))
        if kind == "Device":
            return torch.device("cpu")
        raise ValueError(f"no value of {kind}")

    def tensor(self, name):
        shape, dtype = self.shape, self.dtype
        if self.number % 3 == 2:
            shape = self.random.choice(SHAPES)
        if name == "edge_index":
            return torch.randint(0, 4, (2, 7), generator=self.numbers)
        if INDICES.search(name) and self.number % 4 != 3:
            dtype = torch.int64
            if self.number % 2:
                shape = self.random.choice((shape[:1], shape[:1] + shape[2:], shape[:-1]))
        elif MASKS.search(name) and self.number % 4 != 3:
            dtype = self.random.choice((torch.bool, torch.bool, torch.float32))
            if self.number % 2:
                shape = self.random.choice((shape[:1], shape[:1] + (1,) + shape[2:], shape[:-1]))
            return torch.randint(0, 2, shape, generator=self.numbers).to(dtype)
        if not dtype.is_floating_point:
            return torch.randint(0, 3 if dtype is torch.int64 else 256, shape, generator=self.numbers).to(dtype)
        if self.number % 5 == 4:
            return torch.randn(shape, generator=self.numbers, dtype=dtype)
        return torch.rand(shape, generator=self.numbers, dtype=dtype)


def strings_of(item):
    """What a source holds between quotes, without sentences."""
    try:
        source = inspect.getsource(item if inspect.isfunction(item) else type(item))
    except (OSError, TypeError):
        source = ""
    return sorted(set(re.findall(r"""(?<!["'\w])["']([\w-]{1,20})["'](?!["'\w])""", source)))


def examples(item, names):
    """What the examples of a docstring call a function, or modules of a class, with."""
    owner = item if inspect.isfunction(item) else type(item)
    name = owner.__name__
    text = "\n".join(filter(None, (inspect.getdoc(owner), inspect.getdoc(getattr(owner, "forward", None)))))
    if ">>>" not in text or ELSEWHERE.search(text):
        return []
    found = []
    signature = inspect.signature(item.forward if isinstance(item, torch.nn.Module) else item)

    def note(args, kwargs):
        try:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            found.append(copied(tuple(bound.arguments.values())))
        except Exception:  # what cannot be kept is no hint
            pass

    def function(*args, **kwargs):
        note(args, kwargs)
        return item(*args, **kwargs)

    class Noting(object if inspect.isfunction(item) else owner):
        def __call__(self, *args, **kwargs):
            note(args, kwargs)
            return super().__call__(*args, **kwargs)

    noting = function if inspect.isfunction(item) else Noting
    place = {"torch": torch, **names, name: noting}
    torch.manual_seed(0)
    for example in doctest.DocTestParser().get_examples(text):
        try:
            exec(compile(example.source, "example", "exec"), place)
        except Exception:
            break
        # An import brings the real one back.
        place[name] = noting
    return found


def attempts(item, names, arguments):
    yield from examples(item, names)
    strings = strings_of(item)
    for number in range(ATTEMPTS):
        guide = Guide(number, strings)
        try:
            yield tuple(guide.of(argument) for argument in arguments)
        except ValueError:
            return


def outcome(data, arguments):
    torch.manual_seed(0)
    data.seek(0)
    try:
        with torch.no_grad():
            return "result", plain(torch.jit.load(data)(*arguments))
    except Exception as error:  # whatever it is, it is the answer
        return "error", last_line(error)


def in_float64(data, arguments):
    """What a call gives in float64, or None where that is no program for float64."""
    torch.manual_seed(0)
    data.seek(0)
    try:
        with torch.no_grad():
            return plain(torch.jit.load(data).double()(*doubled(arguments)))
    except Exception:  # a dtype is named somewhere
        return None


def doubled(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    if isinstance(value, (tuple, list)):
        return type(value)(map(doubled, value))
    return value


def is_as_exact(value, exact):
    """Whether a result is that in float64 within the tolerance of the comparison, or cannot be compared with it."""
    if isinstance(value, torch.Tensor):
        comparable = isinstance(exact, torch.Tensor) and value.dtype is torch.float32 and exact.dtype is torch.float64
        return not comparable or value.shape != exact.shape or compiled.close(value.double(), exact)
    if isinstance(value, (tuple, list)):
        return not isinstance(exact, type(value)) or len(exact) != len(value) or all(map(is_as_exact, value, exact))
    return True


def holds_objects(value):
    """Whether something in a result is of a class, of which `plain` leaves the name."""
    if isinstance(value, (tuple, list)):
        return any(map(holds_objects, value))
    if isinstance(value, dict):
        return any(map(holds_objects, value.values()))
    return isinstance(value, str) and value.startswith("<") and value.endswith(">")


def bytes_of(value):
    data = io.BytesIO()
    torch.save(value, data)
    return data.getvalue()


def keep(item, names, schema, about, folder):
    """Adds calls of the program to case.json, as they are found."""
    signal.alarm(LONGEST)
    data = io.BytesIO((folder / about["program"]).read_bytes())
    calls, seen = about["calls"], set()
    arguments = schema.arguments[1:] if isinstance(item, torch.nn.Module) else schema.arguments
    for given in attempts(item, names, arguments):
        results = sum("result" in call for call in calls)
        if results >= MOST_RESULTS:
            break
        kept = bytes_of(given)
        if len(kept) > MOST_BYTES or kept in seen:
            continue
        seen.add(kept)
        kind, value = outcome(data, copied(given))
        if kind == "error":
            # Arguments of a wrong type do not come to the program.
            if value in seen or len(calls) - results >= MOST_ERRORS or "Expected a value of type" in value:
                continue
            seen.add(value)
        elif holds_objects(value):
            continue
        elif len(bytes_of(value)) > MOST_BYTES or bytes_of(value) != bytes_of(outcome(data, copied(given))[1]):
            continue
        call = {"args": f"args.{len(calls)}.pt", kind: value if kind == "error" else f"result.{len(calls)}.pt"}
        (folder / call["args"]).write_bytes(kept)
        if kind == "result":
            torch.save(value, folder / call["result"])
            exact = in_float64(data, copied(given))
            if not is_as_exact(value, exact):
                call["exact"] = f"exact.{len(calls)}.pt"
                torch.save(exact, folder / call["exact"])
        calls.append(call)
        (folder / "case.json").write_text(json.dumps(about))

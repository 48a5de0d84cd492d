#!/usr/bin/env python3
"""Makes Python sources, and says what torch.jit.script makes of them.

    generate.py OUT [--only PATTERN] [--every N] [--jobs N]

Every case is a folder `OUT/cases/NAME`:

    source.py       the Python source
    case.json       name, group, kind (function, module or class), entry (what is scripted), tree (what
                    ast.txt is of; null where there is none), state (whether there is a state.pth), torch_sources (whether code of
                    PyTorch's own Python files is in the archive), loads (whether PyTorch reads its
                    archive back), calls (of each the file of arguments, and that of the result or the
                    last line of the error)
    ast.txt         str(torch.jit.frontend.get_jit_def(...)), or of get_jit_class_def
    graph.txt       str(torch.jit.script(entry).graph); for a module that of forward
    state.pth       torch.save(module.state_dict()), before scripting
    saved.pt        torch.jit.save
    args.pt         the arguments of the first call, a tuple; args.1.pt of the second, and so on
    result.pt       what the call gave, after torch.manual_seed(0); result.1.pt of the second
    own.pt          what the function itself gave, where its archive has no default for an argument

and every wrong source a folder `OUT/wrong/NAME` with source.py, error.txt (str of the exception) and
case.json: name, kind, entry, exception (its class), line (of the first place in source.py that the
error names, counted from 1; null where it names none).

A source is compiled as the module `source` in its own folder, under the file name `source.py`, so
nothing of the machine is in graphs and debug records. Each case is made in a process of its own, so
nothing is mangled for another's sake.

Groups: `functions` and `modules` are the files of the folders of these names; `functional` and
`layers` are PyTorch's own tests, whose source PyTorch's test tables give as this runs; `programs` are
those of `../torchscript/cases`, without their decorators. What PyTorch refuses is named and left out.
"""
import argparse
import ast
import collections
import inspect
import json
import linecache
import math
import os
import pathlib
import re
import shutil
import sys
import traceback
import types
import warnings
import zipfile

import torch
from torch.jit.frontend import get_jit_class_def, get_jit_def

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torchscript"))

import registry  # noqa: E402
from values import copied, last_line, plain  # noqa: E402

PLACE = re.compile(r'File "source\.py", line (\d+)')
# How many sources of the tests of one class of torch.nn are made.
LAYERS_OF_A_CLASS = 5

# What to make. `calls` is a list of tuples of arguments, or an expression for it in terms of the
# source's names and `t`, or None where arguments are to be found by type.
Plan = collections.namedtuple("Plan", "name group kind entry source calls")


# --- loading a source --------------------------------------------------------------------------


def load(source):
    """The module `source`, from `source.py` in the current folder."""
    module = types.ModuleType("source")
    module.__file__ = "source.py"
    sys.modules["source"] = module
    linecache.checkcache()
    exec(compile(source, "source.py", "exec"), module.__dict__)
    return module


# --- arguments ---------------------------------------------------------------------------------


SAMPLES = {
    "int": (3, 1),
    "float": (1.5, -0.25),
    "bool": (True, False),
    "str": ("sample text", "b"),
    "complex": (1.5 + 2j, -1j),
    "number": (2, 0.5),
    "Device": (torch.device("cpu"), torch.device("cpu")),
    "NoneType": (None, None),
}


def sample(kind, which):
    """The sample number `which`, 0 or 1, of a TorchScript type."""
    name = kind.kind()
    if name == "TensorType":
        return (torch.arange(6, dtype=torch.float32).reshape(2, 3) / 2, torch.tensor([[-1.0, 0.5], [2.0, -3.5]]))[which]
    if name == "ListType":
        element = kind.getElementType()
        return [sample(element, 0), sample(element, 1)] if which == 0 else [sample(element, 1)]
    if name == "TupleType":
        return tuple(sample(element, which) for element in kind.elements())
    if name == "OptionalType":
        return sample(kind.getElementType(), 0) if which == 0 else None
    if name == "DictType":
        keys = [sample(kind.getKeyType(), number) for number in (0, 1)]
        return {key: sample(kind.getValueType(), number) for number, key in enumerate(keys[: 2 - which])}
    if name == "UnionType":
        return sample(kind.containedTypes()[which], 0)
    if str(kind) in SAMPLES:
        return SAMPLES[str(kind)][which]
    raise ValueError(f"no sample of {kind}: name arguments in CALLS")


def calls_by_type(schema, is_method):
    arguments = schema.arguments[1 if is_method else 0:]
    calls = [tuple(sample(argument.type, which) for argument in arguments) for which in (0, 1)]
    return calls if arguments else calls[:1]


def numbered(name, number):
    stem, ending = name.split(".")
    return f"{stem}.{number}.{ending}" if number else name


def save_calls(calls, scripted):
    """Calls the saved program; the table of calls for case.json. Archives have no defaults of functions: what the
    function itself gives where its archive asks for more arguments stands there, too."""
    said = []
    for number, arguments in enumerate(calls):
        row = {"args": numbered("args.pt", number)}
        torch.save(tuple(arguments), row["args"])
        program = torch.jit.load("saved.pt")
        torch.manual_seed(0)
        try:
            with torch.no_grad():
                result = plain(program(*copied(tuple(arguments))))
        except Exception as error:  # whatever it is, it is the answer
            row["error"] = last_line(error)
            if "is missing value for argument" in row["error"]:
                row |= own_result(scripted, arguments, number)
        else:
            row["result"] = numbered("result.pt", number)
            torch.save(result, row["result"])
        said.append(row)
    return said


def own_result(scripted, arguments, number):
    torch.manual_seed(0)
    try:
        with torch.no_grad():
            result = plain(scripted(*copied(tuple(arguments))))
    except RuntimeError:  # there is no default either
        return {}
    name = numbered("own.pt", number)
    torch.save(result, name)
    return {"own": name}


# --- one case ----------------------------------------------------------------------------------


def write_json(value):
    pathlib.Path("case.json").write_text(json.dumps(value, indent=1) + "\n")


def make(plan):
    """One folder, the current one."""
    source = plan.source
    pathlib.Path("source.py").write_text(source)
    item = getattr(load(source), plan.entry)
    case = {"name": plan.name, "group": plan.group, "kind": plan.kind, "entry": plan.entry, "tree": plan.entry,
            "state": False, "torch_sources": False, "loads": True,
            "calls": []}
    if plan.kind == "class":
        pathlib.Path("ast.txt").write_text(str(get_jit_class_def(item, item.__name__)))
        write_json(case)
        return
    if plan.kind == "module":
        torch.manual_seed(0)
        module = item()
        case["tree"] = f"{plan.entry}.forward"
        case["state"] = bool(module.state_dict())
        # A module may have exported methods alone.
        called = item.forward is not torch.nn.Module.forward
        tree = get_jit_def(item.forward, "forward", self_name=item.__name__) if called else None
        if case["state"]:
            torch.save(module.state_dict(), "state.pth")
    else:
        module = item
        # What a decorator has compiled has no tree any more.
        tree = None if isinstance(item, torch.jit.ScriptFunction) else get_jit_def(item, plan.entry)
    if tree is None:
        case["tree"] = None
    else:
        pathlib.Path("ast.txt").write_text(str(tree))
    scripted = torch.jit.script(module)
    if plan.kind == "function" or called:
        pathlib.Path("graph.txt").write_text(str(scripted.graph))
    try:
        torch.jit.save(scripted, "saved.pt")
    except RuntimeError as error:
        # What calls Python compiles, and is not saved.
        if "Could not export Python function" not in str(error):
            raise
        case["export_error"] = str(error).strip().splitlines()[0].rstrip(":")
        pathlib.Path("saved.pt").unlink(missing_ok=True)
        write_json(case)
        return
    case["torch_sources"] = (any("/code/__torch__/torch/" in name for name in names("saved.pt")) or has_layers(module)
                             or is_behind_torch(module))
    calls = plan.calls
    if calls is None:
        calls = calls_by_type(scripted.forward.schema if plan.kind == "module" else scripted.schema, plan.kind == "module")
    elif isinstance(calls, str):
        calls = eval(calls, {**vars(sys.modules["source"]), "t": registry.t})
    try:
        torch.jit.load("saved.pt")
    except RuntimeError:
        # PyTorch saves what it cannot read back; there is nothing to call.
        case["loads"] = False
    else:
        case["calls"] = save_calls(calls, scripted)
    write_json(case)


def has_layers(item):
    """Whether a module is of a class that is derived from one of PyTorch's layers, or holds one that is."""
    if not isinstance(item, torch.nn.Module):
        return False
    classes = {base for module in item.modules() for base in type(module).__mro__}
    return any(base.__module__.startswith("torch.nn.modules.") and base is not torch.nn.Module for base in classes)


def is_behind_torch(item):
    """Whether a function of PyTorch's stands before one of the case: places are in PyTorch's files then."""
    classes = [item] if inspect.isfunction(item) else [type(module) for module in item.modules()]
    functions = [vars(each).values() if inspect.isclass(each) else [each] for each in classes]
    files = {each.__code__.co_filename for group in functions for each in group if inspect.isfunction(each)}
    return any(os.sep + "torch" + os.sep in file for file in files)


def names(archive):
    with zipfile.ZipFile(archive) as file:
        return file.namelist()


def make_wrong(plan):
    pathlib.Path("source.py").write_text(plan.source)
    item = getattr(load(plan.source), plan.entry)
    if plan.kind == "module":
        item = item()
    try:
        torch.jit.script(item)
    except Exception as error:  # whatever it is, it is the answer
        text = str(error)
        place = PLACE.search(text)
        pathlib.Path("error.txt").write_text(text)
        write_json({"name": plan.name, "group": plan.group, "kind": plan.kind, "entry": plan.entry,
                    "exception": type(error).__name__, "line": int(place.group(1)) if place else None})
        return
    raise AssertionError("PyTorch takes it")


# --- what there is to make ---------------------------------------------------------------------


def without_lines(source, ranges):
    """The source with these lines (first, last) emptied."""
    lines = source.splitlines()
    for first, last in ranges:
        lines[first - 1:last] = [""] * (last - first + 1)
    return "\n".join(lines).rstrip() + "\n"


def kind_of(node, modules):
    """What a statement at the top level of a source is as a case; None where it is none. `modules` are
    the names of the module classes above it, to which its own is added."""
    if isinstance(node, ast.FunctionDef):
        return None if is_private(node) else "function"
    if not isinstance(node, ast.ClassDef):
        return None
    bases = [ast.unparse(base).rsplit(".", 1)[-1] for base in node.bases]
    if any(base.endswith("Module") or base in modules for base in bases):
        modules.add(node.name)
        return None if is_private(node) else "module"
    if is_private(node):
        return None
    return "class" if not bases or bases == ["object"] else None


def is_private(node):
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return node.name.startswith("_") or any(name.endswith(("interface", "ignore", "unused", "overload")) for name in decorators)


def from_folder(folder, wrong=False):
    """The cases of the files of a folder; `CALLS` at the foot of a file names arguments."""
    for path in sorted((HERE / folder).glob("*.py")):
        text = path.read_text()
        body = ast.parse(text).body
        tables = [node for node in body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "CALLS"]
        source = without_lines(text, [(node.lineno, node.end_lineno) for node in tables])
        calls = {key.value: ast.unparse(value) for node in tables for key, value in zip(node.value.keys, node.value.values)}
        # The last definition of a name is what an import gives.
        modules = {"Sequential", "ModuleList", "ModuleDict"}
        kinds = {node.name: kind_of(node, modules) for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        unknown = set(calls) - set(kinds)
        if unknown:
            raise SystemExit(f"{path}: calls of what is not there: {', '.join(sorted(unknown))}")
        for name, kind in kinds.items():
            if kind and not (wrong and kind == "class"):
                yield Plan(f"{folder}.{path.stem}.{name}", folder, kind, name, source, calls.get(name))


def programs():
    """The programs of `../torchscript/cases`, which are declared by decorators; without those that need
    more of the registry than its decorators."""
    for path in sorted((HERE.parent / "torchscript" / "cases").glob("*.py")):
        if path.stem in ("__init__", "traced", "quantized"):
            continue
        text = path.read_text()
        ranges, found = [], []
        body = ast.parse(text).body
        definitions = [node for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        if any(names_in([node]) & {"t"} for node in body if node not in definitions):
            continue
        made_by_registry = {"t"} | {node.name for node in definitions if "t" in names_in(node.body)}
        for node in body:
            if isinstance(node, ast.ImportFrom) and node.module == "registry":
                ranges.append((node.lineno, node.end_lineno))
            for decorator in getattr(node, "decorator_list", []):
                declares = getattr(decorator.func, "id", "") if isinstance(decorator, ast.Call) else ""
                if declares in ("case", "made"):
                    ranges.append((decorator.lineno, decorator.end_lineno))
                if declares == "case" and not made_by_registry & names_in(node.body):
                    calls = "[" + ", ".join(map(ast.unparse, decorator.args)) + "]"
                    found.append((node.name, "module" if isinstance(node, ast.ClassDef) else "function", calls))
        source = without_lines(text, ranges)
        for name, kind, calls in found:
            yield Plan(f"programs.{path.stem}.{name}", "programs", kind, name, source, calls)


def names_in(statements):
    return {node.id for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Name)}


def functional():
    """PyTorch's own script tests of torch.nn.functional, as it writes them."""
    import torch.testing._internal.jit_metaprogramming_utils as tables

    torch.manual_seed(0)
    for name, size, arguments, *rest in tables.get_nn_functional_tests():
        test = "test_nn_" + "_".join([name, *rest[:1]]).rstrip("_")
        if test in tables.EXCLUDE_SCRIPT:
            continue
        value = tables.create_input((size,))[0][0]
        others = tables.create_input(arguments)[0]
        formals, tensors, actuals = tables.get_script_args((value, *others))
        call = tables.get_call(name, "nn_functional", actuals, {})
        source = "import math\nfrom typing import List\n\nimport torch\n\n" + tables.script_template.format(", ".join(formals), call)
        tensors = tuple(given.detach() if isinstance(given, torch.Tensor) else given for given in tensors)
        yield Plan("functional." + test[len("test_nn_"):], "functional", "function", "the_method", source, [tensors])


def literal(value):
    """Python source of a constructor's argument; ValueError where there is none."""
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(literal, value))
        return f"({inner}{',' if len(value) == 1 else ''})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if value is None or isinstance(value, (bool, int, float, str, torch.dtype)):
        return repr(value)
    raise ValueError(f"no literal for {type(value).__name__}")


def layer_source(class_name, given, formals):
    """A module that holds a layer and calls it; PyTorch's template is of such a forward."""
    import torch.testing._internal.jit_metaprogramming_utils as tables

    call = f"self.layer({', '.join(formals)})"
    forward = tables.script_method_template.format(", ".join(["self", *formals]), call).strip().splitlines()
    init = ["def __init__(self):", "    super().__init__()", f"    self.layer = torch.nn.{class_name}({given})"]
    body = ["    " + line if line else line for line in [*init, "", *forward]]
    return "\n".join(["import torch", "", "", "class Layer(torch.nn.Module):", *body]) + "\n"


def layers():
    """PyTorch's own tests of torch.nn modules: its database of modules and what to call them with."""
    from torch.testing._internal.common_modules import module_db

    seen = collections.Counter()
    for info in module_db:
        cls = info.module_cls
        if getattr(torch.nn, cls.__name__, None) is not cls or "Lazy" in cls.__name__:
            continue
        sources = set()
        torch.manual_seed(0)
        for given in info.module_inputs_func(info, "cpu", torch.float32, False, training=False):
            made, called = given.constructor_input, given.forward_input
            if called is None or called.kwargs:
                continue
            kwargs = {key: value for key, value in made.kwargs.items() if key not in ("device", "dtype")}
            try:
                parts = [*map(literal, made.args), *(f"{key}={literal(value)}" for key, value in kwargs.items())]
            except ValueError:
                continue
            formals, tensors = [], []
            for number, value in enumerate(called.args):
                kinds = {int: ": int", str: ": str"}
                optional = ": torch.Tensor" if isinstance(value, torch.Tensor) else kinds.get(type(value))
                if optional is None:
                    break
                formals.append(f"i{number}" + ("" if optional == ": torch.Tensor" else optional))
                tensors.append(value.detach() if isinstance(value, torch.Tensor) else value)
            else:
                names = [formal.split(":")[0] for formal in formals]
                source = layer_source(cls.__name__, ", ".join(parts), names)
                if source in sources:
                    continue
                sources.add(source)
                if seen[cls.__name__] == LAYERS_OF_A_CLASS:
                    break
                seen[cls.__name__] += 1
                yield Plan(f"layers.{cls.__name__}.{seen[cls.__name__]}", "layers", "module", "Layer", source, [tuple(tensors)])


def plans(groups=()):
    """Everything there is to make: (whether it is wrong, plan)."""
    made = {
        "functions": lambda: from_folder("functions"),
        "modules": lambda: from_folder("modules"),
        "programs": programs,
        "functional": functional,
        "layers": layers,
        "wrong": lambda: from_folder("wrong", wrong=True),
    }
    for group, plan in made.items():
        if not groups or group in groups:
            for one in plan():
                yield group == "wrong", one


# --- all of them -------------------------------------------------------------------------------


def make_in_a_process(plan, wrong, folder, report):
    """A child that makes one case; its number."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        os.chdir(folder)
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            (make_wrong if wrong else make)(plan)
        status = 0
    except BaseException as error:  # the others are made all the same
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
        with open(report, "w") as file:
            file.write(text)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os._exit(status)


def one_line(report):
    """What a child reported."""
    return " / ".join(report.read_text().split("\n"))[:300] if report.exists() else "it ended without a word"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only", default="", help="a pattern that names must match")
    parser.add_argument("--groups", default="", help="these groups alone, with commas between")
    parser.add_argument("--every", type=int, default=1, help="each N-th case of each group")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    out = options.out.resolve()
    reports = out / "refused"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    here = os.getcwd()
    running, refused, made, seen = {}, [], 0, collections.Counter()

    def wait():
        nonlocal made
        child, status = os.wait()
        name = running.pop(child)
        if status:
            refused.append(name)
        else:
            made += 1

    with_names = set()
    for wrong, plan in list(plans(set(filter(None, options.groups.split(","))))):
        if not re.search(options.only, plan.name):
            continue
        seen[plan.group] += 1
        if (seen[plan.group] - 1) % options.every:
            continue
        if plan.name in with_names:
            raise SystemExit(f"two cases are named {plan.name}")
        with_names.add(plan.name)
        while len(running) >= options.jobs:
            wait()
        folder = out / ("wrong" if wrong else "cases") / plan.name
        running[make_in_a_process(plan, wrong, folder, reports / f"{plan.name}.txt")] = plan.name
    while running:
        wait()
    os.chdir(here)
    print(f"{made} made, {len(refused)} that PyTorch refuses (or, of wrong ones, takes)")
    for name in sorted(refused):
        report = reports / f"{name}.txt"
        print(f"  {name}: {one_line(report)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

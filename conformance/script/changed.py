#!/usr/bin/env python3
"""Calls whose arguments are changed: what sconce makes of them beside what torch.jit.script makes.

    changed.py [--sconce BINARY] [--sample] [--only REGEX] [--every N] [--log FILE] [--keep FILE] [--jobs N]

Takes every call in the sources that `generate.py` makes cases of, and changes its arguments, one change a
source:

    dropped     an argument is left out
    doubled     an argument is there twice, or by position and by name
    swapped     two neighbours, or all arguments, are in another order
    named       arguments are given by name: those of PyTorch's schemas, of Python's own signature, or a wrong one
    positional  a keyword argument is given by position
    added       a keyword argument that the function of Python takes, or that nothing takes, is added
    turned      a function becomes a method of its first argument, or a method a function

For each, `sconce graph` must print the graph that PyTorch makes, or refuse where PyTorch refuses. What is so on
purpose all the same stands in `DELIBERATE`. A change that PyTorch does not survive is counted and left out.
Fails when anything else differs. `--sample` takes a part that is the same in every run.
"""
import argparse
import ast
import collections
import copy
import hashlib
import importlib.util
import inspect
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

SAMPLE_EVERY = 60
LONGEST = 30
# So many changes a process of PyTorch's answers.
CHUNK = 40
# Where the compilation unit is in memory.
UNIT = re.compile(r" \(of Python compilation unit at: 0x[0-9a-f]+\)")
# Keyword arguments that functions of Python take, of which PyTorch takes few.
ADDED = {
    "enumerate": ["start=1"], "zip": ["strict=False", "strict=True"], "range": ["step=2", "stop=3"],
    "sorted": ["reverse=True", "key=None"], "sort": ["reverse=True", "key=None"], "min": ["default=0", "key=None"],
    "max": ["default=0", "key=None"], "print": ["sep=''", "end=''", "flush=True"], "int": ["base=16"],
    "round": ["ndigits=2"], "pow": ["mod=3"], "sum": ["start=1"], "dict": ["added=1"], "list": ["iterable=[1]"],
    "str": ["encoding='utf8'"], "tolist": ["added=1"], "split": ["sep='a'", "maxsplit=1"], "get": ["default=0"],
    "pop": ["default=0"], "tensor": ["requires_grad=True"], "getattr": ["default=0"], "fork": ["func=None"],
}
# Python's own names of the parameters of functions that have no signature to ask.
PARAMETERS = {
    "enumerate": ["iterable", "start"], "zip": ["iterables"], "range": ["stop"], "list": ["iterable"], "dict": ["iterable"],
    "tuple": ["iterable"], "int": ["x", "base"], "float": ["x"], "str": ["object"], "bool": ["x"], "min": ["iterable"],
    "max": ["iterable"], "isinstance": ["obj", "class_or_tuple"], "annotate": ["the_type", "the_value"],
    "getattr": ["object", "name", "default"], "hasattr": ["obj", "name"], "print": ["values"], "super": ["type"],
    "fork": ["func"], "wait": ["future"],
}
# What differs on purpose: changes as calls that PyTorch takes and sconce refuses. PyTorch does not look at these arguments,
# and Python refuses them.
DELIBERATE = [
    r"^(range|list|AssertionError|\w*(Error|Exception|Warning))\(.*\b\w+=",
    r"^zip\(.*\b(?!strict=)\w+=",
    r"\.tolist\(.",
    r"^dict\(.*,",
]

# Cases that `run.py` does not record as passed as they are.
LEFT_OUT = re.compile("programs.(randoms.random_generators_that_go_on|raises.RaisesTraced)$")

# How a source was changed: the way, the source, the kind and name of what is compiled, the changed call, and whether
# that stands in what is compiled itself.
Change = collections.namedtuple("Change", "name way source kind entry call inside")


# --- changes -----------------------------------------------------------------------------------


def generator():
    """`generate.py` beside this file; there are others of this name."""
    if "script_generate" not in sys.modules:
        spec = importlib.util.spec_from_file_location("script_generate", HERE / "generate.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules["script_generate"] = module
        spec.loader.exec_module(module)
    return sys.modules["script_generate"]


def schemas():
    """The names of the parameters of every operator, by the operator's name."""
    import torch

    found = collections.defaultdict(set)
    for schema in torch._C._jit_get_all_schemas():
        found[schema.name.rsplit("::", 1)[-1]].add(tuple(argument.name for argument in schema.arguments))
    return {name: sorted(parameters) for name, parameters in found.items()}


def last_name(function):
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""


def is_method(function):
    """Whether a call is of a method of a value, and not of a function of a module of Python."""
    if not isinstance(function, ast.Attribute):
        return False
    root = function.value
    while isinstance(root, ast.Attribute):
        root = root.value
    return not (isinstance(root, ast.Name) and root.id in ("torch", "F", "nn", "math", "self", "jit", "typing", "warnings"))


def parameters_of(call, tables, defined):
    """Lists of names that the positional arguments of a call may have."""
    name = last_name(call.func)
    lists = [list(names) for names in tables.get(name, [])]
    if is_method(call.func):
        lists = [[one for one in names if one != "self"] for names in lists if "self" in names]
    lists += [PARAMETERS[name]] if name in PARAMETERS else []
    lists += [defined[name]] if name in defined else []
    count = len(call.args)
    seen = []
    for names in lists:
        if names[:count] not in seen:
            seen.append(names[:count])
    return seen


def of_functional():
    """The parameters of the functions of torch.nn.functional, by name."""
    import torch.nn.functional

    found = {}
    for name, function in vars(torch.nn.functional).items():
        if inspect.isfunction(function):
            found[name] = list(inspect.signature(function).parameters)
    return found


def keyword(name, value):
    return ast.keyword(arg=name, value=value)


def changed_calls(call, tables, defined):
    """(kind, call) of every change of a call."""
    args, keywords = call.args, call.keywords

    def made(args, keywords, function=None):
        return ast.Call(func=function or call.func, args=list(args), keywords=list(keywords))

    for at in range(len(args)):
        yield "dropped", made(args[:at] + args[at + 1:], keywords)
        yield "doubled", made(args[:at + 1] + args[at:], keywords)
    for at in range(len(keywords)):
        yield "dropped", made(args, keywords[:at] + keywords[at + 1:])
    for at in range(len(args) - 1):
        yield "swapped", made([*args[:at], args[at + 1], args[at], *args[at + 2:]], keywords)
    if len(args) > 2:
        yield "swapped", made(args[::-1], keywords)
    if len(keywords) > 1:
        yield "swapped", made(args, keywords[::-1])
    if not any(isinstance(argument, ast.Starred) for argument in args):
        yield from named_calls(call, made, tables, defined)
        if args:
            yield "named", made(args[:-1], [*keywords, keyword("wrong", args[-1])])
    for at, one in enumerate(keywords):
        if one.arg is not None:
            rest = keywords[:at] + keywords[at + 1:]
            yield "positional", made([*args, one.value], rest)
            yield "named", made(args, [*rest, keyword("wrong", one.value)])
    given = {one.arg for one in keywords}
    for text in [*ADDED.get(last_name(call.func), []), "wrong=1"]:
        name, value = text.split("=", 1)
        if name not in given:
            yield "added", made(args, [*keywords, keyword(name, ast.parse(value, mode="eval").body)])
    yield from turned_calls(call, made, tables)


def named_calls(call, made, tables, defined):
    for names in parameters_of(call, tables, defined)[:4]:
        for at in range(min(len(call.args), len(names))):
            given = list(zip(names[at:], call.args[at:]))
            if len(given) != len(call.args) - at or {name for name, _ in given} & {one.arg for one in call.keywords}:
                continue
            yield "named", made(call.args[:at], [*(keyword(*one) for one in given), *call.keywords])
            if at == len(call.args) - 1:
                yield "doubled", made(call.args, [*(keyword(*one) for one in given), *call.keywords])


def turned_calls(call, made, tables):
    name = last_name(call.func)
    if name not in tables:
        return
    if is_method(call.func):
        receiver = call.func.value
        if not isinstance(receiver, ast.Call):
            torch_name = ast.Attribute(value=ast.Name(id="torch", ctx=ast.Load()), attr=name, ctx=ast.Load())
            yield "turned", made([receiver, *call.args], call.keywords, torch_name)
        yield "turned", made([receiver, *call.args], call.keywords)
        for self_name in ("self", "input"):
            yield "turned", made(call.args, [*call.keywords, keyword(self_name, receiver)])
    elif call.args and isinstance(call.args[0], (ast.Name, ast.Attribute)):
        method = ast.Attribute(value=call.args[0], attr=name, ctx=ast.Load())
        yield "turned", made(call.args[1:], call.keywords, method)
        # With all it had: overloads without `self` must not take what is left.
        yield "turned", made(call.args, call.keywords, method)


def signatures(tree):
    """The parameters of the functions, classes and methods of a source, by name, without `self`."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = [one.arg for one in node.args.posonlyargs + node.args.args if one.arg != "self"]
            found.setdefault(node.name, names)
        if isinstance(node, ast.ClassDef):
            fields = [one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
            inits = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
            found[node.name] = [one.arg for one in inits[0].args.args[1:]] if inits else fields
    return found


def calls_in(tree, kind, entry):
    """The calls in what is compiled, each after the function or class and the method that it is in."""
    for top in tree.body:
        if isinstance(top, ast.FunctionDef):
            bodies = [] if is_dropped(top) else [(top.name, "", top.body)]
        elif isinstance(top, ast.ClassDef):
            methods = [node for node in top.body if isinstance(node, ast.FunctionDef) and not is_dropped(node)]
            is_module = any(ast.unparse(base).endswith("Module") for base in top.bases) or kind == "module" and top.name == entry
            bodies = [(top.name, node.name, node.body) for node in methods if not (is_module and node.name == "__init__")]
        else:
            continue
        for owner, method, body in bodies:
            for statement in body:
                inside_text = {id(part) for node in ast.walk(statement) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
                for node in ast.walk(statement):
                    if isinstance(node, ast.Call) and id(node) not in inside_text:
                        yield owner, method, node


def is_dropped(function):
    """Whether a decorator keeps a body in Python, or it is a signature alone."""
    names = " ".join(ast.unparse(decorator) for decorator in function.decorator_list)
    return re.search("ignore|unused|overload|export_only|cache|wraps", names) is not None


def spliced(source, call, new):
    """The source with another call in the place of one."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    data = source.encode()
    first = starts[call.lineno - 1] + call.col_offset
    last = starts[call.end_lineno - 1] + call.end_col_offset
    return (data[:first] + new.encode() + data[last:]).decode()


def changes(only):
    """Every change of every call, once."""
    tables, functional = schemas(), of_functional()
    seen = set()
    plans = [plan for wrong, plan in generator().plans({"functions", "modules", "programs", "functional"}) if not wrong and plan.kind != "class"]
    plans = [plan for plan in plans if not LEFT_OUT.match(plan.name)]
    for plan in plans:
        tree = ast.parse(plan.source)
        defined = functional | signatures(tree)
        definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        # What has several signatures is compiled for a caller alone.
        functions = {node.name for node in definitions} - {node.name for node in definitions if is_dropped(node)}
        number = 0
        for owner, method, call in calls_in(tree, plan.kind, plan.entry):
            # A helper is compiled by itself; a class with the first case that uses it.
            kind, entry = plan.kind, plan.entry
            if owner != entry and owner in functions:
                if not owner.startswith("_"):
                    continue
                kind, entry = "function", owner
            elif owner != entry and owner not in used_by(tree, entry):
                continue
            original = ast.unparse(call)
            for way, new in changed_calls(call, tables, defined):
                number += 1
                text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(new)))
                name = f"{plan.name}.{number:03}"
                key = (plan.group != "functional" and plan.source, owner, method, call.lineno, call.col_offset, text)
                if text == original or key in seen or not re.search(only, f"{name} {text}"):
                    continue
                seen.add(key)
                own_body = owner == entry and (kind == "function" or method == "forward")
                yield Change(name, way, spliced(plan.source, call, text), kind, entry, text, own_body)


def used_by(tree, entry):
    """The names that something at the top of a source uses, directly or by what it uses."""
    bodies = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    found, open_names = set(), [entry]
    while open_names:
        name = open_names.pop()
        if name in found or name not in bodies:
            continue
        found.add(name)
        open_names += [node.id for node in ast.walk(bodies[name]) if isinstance(node, ast.Name)]
    return found


# --- answers -----------------------------------------------------------------------------------


def answers_of_torch(changes):
    """Of each change ("graph", text), ("refused", words) or ("lost", why), made by a process of their own."""
    answers = []
    while len(answers) < len(changes):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(read)
                with tempfile.TemporaryDirectory() as folder:
                    answer_all(changes[len(answers):], folder, write)
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            try:
                while len(answers) < len(changes):
                    answers.append(pickle.load(file))
            except EOFError:
                answers.append(("lost", "PyTorch ended"))
        os.waitpid(child, 0)
    return answers


def answer_all(changes, folder, write):
    import torch

    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    with os.fdopen(write, "wb") as file:
        for change in changes:
            signal.alarm(LONGEST)
            pathlib.Path("source.py").write_text(change.source)
            pickle.dump(torch_says(change), file)
            file.flush()
            # No name is mangled for another's sake.
            torch._C._jit_clear_class_registry()
            torch.jit._recursive.concrete_type_store = torch.jit._recursive.ConcreteTypeStore()
            torch.jit._state._clear_class_state()


def torch_says(change):
    import torch

    try:
        item = getattr(generator().load(change.source), change.entry)
        if change.kind == "module" and isinstance(item, type):
            item = item()
    except RuntimeError as error:
        # What a decorator compiles as the source is read.
        return "refused", str(error)
    except Exception as error:  # noqa: BLE001  the change is no Python
        return "lost", f"{type(error).__name__}: {error}"
    try:
        scripted = torch.jit.script(item)
        return "graph", str(scripted.graph if change.inside else scripted.inlined_graph)
    except Exception as error:  # noqa: BLE001  whatever it is, it is the answer
        return "refused", str(error)


def answer_of_sconce(change, folder, sconce):
    import torch

    command = [sconce, "graph", f"source.py:{change.entry}", "--path", str(pathlib.Path(torch.__file__).parent.parent)]
    if not change.inside:
        command.append("--inlined")
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONGEST, errors="replace")
    except subprocess.TimeoutExpired:
        return "hopeless", f"no answer in {LONGEST} s"
    if done.returncode not in (0, 1, 2, 3) or "panicked at" in done.stderr:
        return "hopeless", f"status {done.returncode}: {done.stderr[-300:]}"
    if done.returncode:
        return "refused", done.stderr
    return "graph", done.stdout


def verdict_of(change, theirs, ours):
    """What is wrong, or nothing."""
    if ours[0] == "hopeless":
        return ours[1]
    if theirs[0] == "lost":
        return None
    if theirs[0] == ours[0]:
        if theirs[0] == "refused":
            return None
        return another_graph(in_order(ours[1]), in_order(theirs[1]))
    if theirs[0] == "refused":
        return f"sconce takes what PyTorch refuses: {first_words(theirs[1])}"
    if any(re.search(pattern, change.call) for pattern in DELIBERATE):
        return None
    return f"sconce refuses what PyTorch takes: {first_words(ours[1])}"


def in_order(text):
    """A graph without the module that a function is a method of, and with values numbered as they come."""
    text = re.sub(r"^graph\(%self[.\w]* : __torch__\.PlaceholderModule(,\s*|(?=\)))", "graph(", text)
    return "\nwith ".join(map(renumbered, text.split("\nwith ")))


def renumbered(graph):
    numbers = {}
    return re.sub(r"%[\w.]+", lambda found: f"%{numbers.setdefault(found[0], len(numbers))}", graph)


def of_any_name(text):
    """A graph whose classes of the same name are numbered as they come: PyTorch counts over all that it compiled."""
    numbers = {}
    return re.sub(r"___torch_mangle_\d+", lambda found: f"mangle_{numbers.setdefault(found[0], len(numbers))}", text)


def another_graph(found, wanted):
    """The first line that differs, if one does."""
    ours, theirs = (of_any_name(UNIT.sub("", text)).rstrip().split("\n") for text in (found, wanted))
    for number, (our, their) in enumerate(zip(ours, theirs), 1):
        if our != their:
            return f"another graph: line {number}: {our.strip()!r}, not {their.strip()!r}"
    return None if len(ours) == len(theirs) else f"another graph: {len(ours)} lines, not {len(theirs)}"


def first_words(text):
    return " / ".join(line.strip() for line in text.splitlines() if line.strip())[:300]


def silenced():
    import torch

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)


def digest(change):
    return hashlib.sha256("\0".join((change.source, change.entry, str(change.inside))).encode()).hexdigest()[:24]


def judged(task):
    """Of some changes, rows and PyTorch's answers."""
    changes, sconce, known = task
    unknown = [change for change, answer in zip(changes, known) if answer is None]
    new = iter(answers_of_torch(unknown))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for change, theirs in zip(changes, known):
            theirs = theirs or next(new)
            (pathlib.Path(folder) / "source.py").write_text(change.source)
            ours = answer_of_sconce(change, folder, sconce) if sconce and theirs[0] != "lost" else ("lost", "")
            why = verdict_of(change, theirs, ours) if sconce else None
            rows.append(((change.name, change.way, change.call, theirs[0], ours[0], why), (digest(change), theirs)))
    return rows


def is_chosen(change, every):
    return int(hashlib.sha256(f"{change.name} {change.call}".encode()).hexdigest()[:8], 16) % every == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sconce", default="target/optimized/sconce")
    parser.add_argument("--sample", action="store_true", help="a part that takes about a minute")
    parser.add_argument("--only", default="", help="a pattern that a change's name or call must match")
    parser.add_argument("--every", type=int, default=1, help="each N-th change, by a hash")
    parser.add_argument("--log", type=pathlib.Path, help="where every change and its verdict is written, a line of JSON each")
    parser.add_argument("--keep", type=pathlib.Path, help="where PyTorch's answers are left, and used again")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    sconce = os.path.abspath(options.sconce)
    if not os.path.exists(sconce):
        raise SystemExit(f"no binary at {sconce}: cargo build --profile optimized -p sconce-cli")
    import run as environment

    environment.in_environment_with_torch()
    import edit

    for package in ("expecttest", "scipy"):
        edit.import_or_install(package)
    every = SAMPLE_EVERY if options.sample else options.every
    chosen = [change for change in changes(options.only) if is_chosen(change, every)]
    known = pickle.loads(options.keep.read_bytes()) if options.keep and options.keep.exists() else {}
    tally, wrong = collections.Counter(), []
    with multiprocessing.get_context("fork").Pool(options.jobs, silenced) as pool:
        chunks = [chosen[at:at + CHUNK] for at in range(0, len(chosen), CHUNK)]
        tasks = [(chunk, sconce, [known.get(digest(change)) for change in chunk]) for chunk in chunks]
        log = open(options.log, "w") if options.log else None
        for row, (key, answer) in (one for rows in pool.imap_unordered(judged, tasks) for one in rows):
            known[key] = answer
            name, way, call, theirs, ours, why = row
            tally[f"PyTorch {theirs}, sconce {ours}"] += 1
            if why:
                wrong.append((name, way, call, why))
            if log:
                log.write(json.dumps(row) + "\n")
                log.flush()
    if options.keep:
        options.keep.write_bytes(pickle.dumps(known))
    for what, count in sorted(tally.items()):
        print(f"{count:6} {what}")
    for name, way, call, why in sorted(wrong):
        print(f"FAILED {name}: {way}: {call}: {why}")
    print(f"{len(chosen)} changed calls, {len(wrong)} that differ")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())

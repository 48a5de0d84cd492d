#!/usr/bin/env python3
"""What sconce makes of hubconf.py files beside what torch.hub makes of them.

    run.py [--hub BINARY] [--only REGEX] [--results FOLDER]

BINARY is the example `hub` of sconce-script (target/debug/examples/hub). Every folder of `repositories` is read by
real PyTorch (`torch.hub.list`, `help`, `load` with source="local", each repository in a process of its own) and by
sconce, from the same cache of weights, which are made here:

    list    the same names in the same order
    help    the same docstring of every entry (after inspect.cleandoc), and inspect's signature where both have one
    load    the same state dict: names, order, dtypes, sizes, bytes; the same mode, and what else a tuple holds
    script  of classes that torch.jit.script compiles: the archive loads in PyTorch and has the same state dict

The whole run writes `hub.tsv` into `--results`. It fails when something that is recorded there as passed does not
pass, or when sconce panics or hangs.
"""
import argparse
import collections
import inspect
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import run as environment  # noqa: E402

environment.in_environment_with_torch()
try:
    import packaging  # noqa: F401, one of the repositories compares versions
    import yaml  # noqa: F401, one has its settings in a file
except ImportError:
    environment.install("packaging", "pyyaml")

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
# Buffers that constructors compute.
COMPUTED = {"pe"}
STAND_INS = {"thirdparty": "", "thirdparty/models": "def create_model(*args, **kwargs): pass\nCONSTANT = 4\n",
             "absent_package": "class Transform: pass\n"}


def arguments_of(text):
    import ast

    call = ast.parse(f"f({text})", mode="eval").body
    return ([ast.literal_eval(value) for value in call.args],
            {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords})


def words_of(text):
    """`'a', b=1` or `'a' b=1` as arguments of the command line and as a call."""
    return re.findall(r"(?:[^\s'\[]|'[^']*'|\[[^\]]*\])+", text)


# What real PyTorch says, in a process of its own.

def made_by_hand(name):
    import torch
    from torch import nn

    if name in ("@inner", "@head"):
        layer = nn.Linear(2, 2)
        return {"layer." + k: v for k, v in layer.state_dict().items()} if name == "@inner" else layer.state_dict()
    if name == "@whole":
        model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2)).half()
        return {"model": model, "args": argparse.Namespace(classes=2, name="net"), "names": ["a", "b"], "epoch": -1}
    if name == "@archive":
        return torch.jit.script(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    raise KeyError(name)


def make_weights(folder, checkpoints, weights):
    import torch

    for file, (entry, text, change) in weights.items():
        path = folder / file[1:] if file.startswith("@") else checkpoints / file
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(len(file))
        if entry.startswith("@"):
            made = made_by_hand(entry)
            if entry == "@archive":
                torch.jit.save(made, path)
                continue
        else:
            args, kwargs = arguments_of(text)
            if entry == "net" and folder.name == "enums":
                made = torch.nn.Linear(4, 3 if "1" in kwargs["weights"] else 5).state_dict()
            else:
                made = torch.hub.load(str(folder), entry, *args, source="local", **kwargs).state_dict()
            for value in made.values():
                if value.is_floating_point():
                    value.copy_(torch.randn_like(value.float()).to(value.dtype))
        torch.save(change(made) if change else made, path)


def listed(folder):
    """torch.hub.list, which has no local source: its cache is the folder."""
    import torch

    found, torch.hub._get_cache_or_reload = torch.hub._get_cache_or_reload, lambda *args, **kwargs: str(folder)
    names = torch.hub.list("owner/name", trust_repo=True)
    torch.hub._get_cache_or_reload = found
    return names


def real(folder, home, out):
    """Writes what torch.hub says of a repository."""
    os.environ["TORCH_HOME"] = str(home)
    import torch
    import cases

    folder, home, out = pathlib.Path(folder), pathlib.Path(home), pathlib.Path(out)
    checkpoints = home / "hub" / "checkpoints"

    def other_repository(github, *args, **kwargs):
        # PyTorch takes the modules of the first repository for those of the second.
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]
        return str(home / "others" / github.replace("/", "_"))

    torch.hub._get_cache_or_reload = other_repository
    torch.hub._check_module_exists = lambda name: True
    names = listed(folder)
    sys.path.insert(0, str(folder))
    module = torch.hub._import_module("hubconf.py", str(folder / "hubconf.py"))
    sys.path.remove(str(folder))
    helps, signatures = {}, {}
    for name in names:
        entry = getattr(module, name)
        documentation = entry.__doc__
        helps[name] = None if documentation is None else inspect.cleandoc(documentation)
        try:
            signatures[name] = str(inspect.signature(entry))
        except (TypeError, ValueError):
            signatures[name] = None
    loads = []
    for at, (repository, entry, text, weights) in enumerate(cases.CASES):
        if repository != folder.name:
            continue
        make_weights(folder, checkpoints, weights)
        args, kwargs = arguments_of(", ".join(words_of(text)))
        made = torch.hub.load(str(folder), entry, *args, source="local", **kwargs)
        rest = []
        if isinstance(made, tuple):
            made, *rest = made
        loads.append(describe(made, rest, out / f"{at}", entry, text))
    (out / "real.json").write_text(json.dumps(
        {"list": names, "help": helps, "signature": signatures, "load": loads}))


def describe(made, rest, path, entry, text):
    import torch

    what = {"entry": entry, "text": text, "rest": len(rest), "path": str(path)}
    if isinstance(made, torch.jit.ScriptModule):
        what["kind"] = "archive"
    elif isinstance(made, torch.nn.Module):
        what |= {"kind": "module", "class": f"{type(made).__module__}.{type(made).__qualname__}", "training": made.training}
        try:
            torch.jit.script(made)
            what["scripts"] = True
        except Exception:
            what["scripts"] = False
    else:
        what["kind"] = "dict"
    torch.save(made.state_dict() if hasattr(made, "state_dict") else made, f"{path}.real.pth")
    return what


# What sconce says.

def same_state(path, other):
    import torch

    ours = torch.load(other, weights_only=True)
    theirs = torch.load(path, weights_only=True)
    if list(ours) != list(theirs):
        return f"names {list(ours)[:4]}… instead of {list(theirs)[:4]}…"
    for name, value in theirs.items():
        own = ours[name]
        if own.dtype != value.dtype or own.shape != value.shape or not equal(name, own, value):
            return f"{name} differs"
    return None


def equal(name, own, value):
    """Numbers of files are the same to the bit; those that a constructor computes may round differently."""
    import torch

    if name.split(".")[-1] in COMPUTED:
        return torch.allclose(own, value, rtol=1e-6, atol=1e-7)
    return torch.equal(own, value)


class Sconce:
    def __init__(self, binary, home, folder):
        self.binary, self.home, self.folder = binary, home, folder

    def call(self, verb, *words):
        done = subprocess.run(
            [self.binary, "--files", str(self.home / "files"), verb, str(self.folder), *words],
            capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, 1) or "panicked" in done.stderr:
            raise SystemExit(f"{verb} {words} of {self.folder.name}: {done.stderr}")
        return (done.stdout if done.returncode == 0 else None), done.stderr.strip()


def compare(sconce, said, home):
    """Rows of check, what of, and what is wrong."""
    names, errors = sconce.call("list")
    own = [line.split(" ")[0] for line in (names or "").splitlines()]
    wrong = None if own == said["list"] else f"not {sorted(set(own) ^ set(said['list']))} {errors}"
    yield "list", "", wrong
    for name in said["list"]:
        # What a library documents is nothing that sconce has.
        if name not in said["own"]:
            continue
        shown, errors = sconce.call("help", name)
        if shown is None:
            yield "help", name, errors
            continue
        head, _, body = shown.partition("\n")
        expected = said["help"][name]
        if inspect.cleandoc(body) != (expected or ""):
            yield "help", name, f"{body!r} instead of {expected!r}"
        elif said["signature"][name] and head not in (name, name + said["signature"][name]):
            yield "help", name, f"{head} instead of {said['signature'][name]}"
        else:
            yield "help", name, None
    for load in said["load"]:
        what = f"{load['entry']}({', '.join(words_of(load['text']))})"
        out = load["path"]
        words = words_of(load["text"])
        shown, errors = sconce.call("load", load["entry"], out, *words)
        if shown is None:
            yield "load", what, errors
            continue
        lines = shown.splitlines()
        problem = None
        if load["kind"] == "module":
            problem = same_state(f"{out}.real.pth", f"{out}.pth")
            if f"training {str(load['training']).lower()}" not in lines:
                problem = problem or "another mode"
            if f"class {load['class']}" not in lines:
                problem = problem or f"{lines[0]} instead of {load['class']}"
        elif load["kind"] == "archive":
            problem = archive_problem(out, load)
        else:
            problem = same_state(f"{out}.real.pth", f"{out}.pth")
        if len([line for line in lines if line.startswith("also ")]) != load["rest"]:
            problem = problem or "another tuple"
        yield "load", what, problem
        if load.get("scripts"):
            yield "script", what, script_problem(out, lines)


def archive_problem(out, load):
    import torch

    ours = torch.jit.load(f"{out}.pt").state_dict()
    theirs = torch.load(f"{out}.real.pth", weights_only=True)
    same = list(ours) == list(theirs) and all(torch.equal(ours[name], theirs[name]) for name in ours)
    return None if same else "another archive"


def script_problem(out, lines):
    import torch

    if "compiled" not in lines:
        return next((line for line in lines if line.startswith("not ")), "not compiled")
    ours = torch.jit.load(f"{out}.pt").state_dict()
    theirs = torch.load(f"{out}.real.pth", weights_only=True)
    different = [name for name in theirs if not equal(name, ours[name], theirs[name])]
    return f"{different[0]} differs" if different or set(ours) < set(theirs) else None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--hub", default="target/debug/examples/hub")
    options.add_argument("--only", default="")
    options.add_argument("--results", type=pathlib.Path)
    options.add_argument("--real", nargs=3)
    options = options.parse_args()
    if options.real:
        sys.path.insert(0, str(HERE))
        return real(*options.real)
    binary = str(pathlib.Path(options.hub).resolve())
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for source in sorted((HERE / "repositories").iterdir()):
            if not re.search(options.only, source.name):
                continue
            rows += repository_rows(binary, source, scratch / source.name)
    return report(rows, options)


def repository_rows(binary, source, home):
    folder = home / source.name
    shutil.copytree(source, folder)
    shutil.copytree(HERE / "others", home / "others")
    stand_ins = home / "installed"
    for name, text in STAND_INS.items():
        path = stand_ins / name if name == "thirdparty" else stand_ins / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "thirdparty":
            path.mkdir(exist_ok=True)
            path = path / "__init__.py"
        path.write_text(text)
    out = home / "out"
    out.mkdir()
    environment = dict(os.environ, PYTHONPATH=str(stand_ins), PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run([sys.executable, __file__, "--real", str(folder), str(home), str(out)],
                          env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"torch.hub and {source.name}: {done.stderr}")
    said = json.loads((out / "real.json").read_text())
    checkpoints = home / "hub" / "checkpoints"
    (home / "files").mkdir()
    for path in [*checkpoints.glob("*"), *(home / "others").iterdir()]:
        (home / "files" / path.name).symlink_to(path)
    sconce = Sconce(binary, home, folder)
    names, _ = sconce.call("list")
    said["own"] = [line.split(" ")[0] for line in (names or "").splitlines() if " own" in line]
    return [(source.name, *row) for row in compare(sconce, said, home)]


def report(rows, options):
    counts = collections.Counter()
    for repository, check, what, problem in rows:
        counts[check, problem is None] += 1
        if problem is not None:
            print(f"{repository}: {check} {what}: {problem}")
    for check in ("list", "help", "load", "script"):
        print(f"{check}: {counts[check, True]} of {counts[check, True] + counts[check, False]}")
    loaded = {row[0] for row in rows if row[1] == "load" and row[3] is None}
    failed = {row[0] for row in rows if row[1] == "load" and row[3] is not None}
    print(f"repositories: {len({row[0] for row in rows})}, state dicts of {len(loaded - failed)}")
    recorded = (options.results or RESULTS) / "hub.tsv"
    if options.results:
        recorded.write_text("".join(
            f"{repository}\t{check}\t{what}\t{'passed' if problem is None else 'failed'}\n"
            for repository, check, what, problem in rows))
        return 0
    verdicts = {tuple(row[:3]): row[3] for row in rows}
    lines = [line.split("\t") for line in recorded.read_text().splitlines()] if recorded.exists() else []
    worse = [line for line in lines if line[3] == "passed" and verdicts.get(tuple(line[:3]), None) is not None]
    for line in worse:
        print("worse than recorded:", *line[:3])
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What sconce makes of the Python of real libraries beside what torch.jit.script makes of it.

    run.py [--sconce BINARY] [--sample] [--every N] [--keep OUT] [--only REGEX] [--libraries A,B] [--results FOLDER]

Installs the libraries of `libraries.txt` (in an environment of its own, without what they depend on, which
torch brings), has `generate.py` find what torch.jit.script compiles in them, and compares:

    graph   sconce graph    the graph's text is PyTorch's
    code    sconce script   every `code/` source of the archive is PyTorch's but for the order of a
                            class's constants
    debug   sconce script   so are the debug records
    resave  sconce resave   what PyTorch writes of its own load of its own archive, byte for byte: every
                            source, debug record and pickle
    calls   sconce run      PyTorch's archive, called with arguments that `calls.py` finds by its schema and the
                            examples of its docstring, gives what PyTorch gives, or raises what it raises;
                            a module has the tensors that it was made with

`not supported` is what sconce says that it does not compile or run. A case without calls has `-`: PyTorch gave
no result twice the same for any arguments, or arguments or results are of classes. Prints the refusals by reason and count, and
of the calls of each library how many are right. A run
of all libraries writes what it found into `libraries.tsv` in `--results`, with `--every` beside what is
there of other cases. Runs fail where something that is recorded there as passed does not pass, where
sconce compiles something other than PyTorch does and that is not recorded, or when it panics or hangs.
"""
import collections
import functools
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import compiled  # noqa: E402
import run as environment  # noqa: E402
from compiled import FAILED, NOTHING, PASSED, UNSUPPORTED, Different, Hopeless, Row, Unsupported  # noqa: E402

CHECKS = ("graph", "code", "debug", "resave", "calls")
LONGEST = 120
# Every so many of the candidates are made for the sample, of these libraries.
SAMPLE_EVERY, SAMPLE_LIBRARIES = 15, ("torchmetrics", "kornia", "torch_geometric", "torchaudio", "e3nn")


def libraries():
    """Of each library the packages that pip installs for it."""
    lines = (HERE / "libraries.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {name: packages for name, *packages in rows}


def python_with(chosen):
    """The Python of an environment that has the libraries and sees this one's torch."""
    known = libraries()
    if all(importlib.util.find_spec(name) for name in chosen):
        return sys.executable
    home = HERE / ".venv"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        site = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                              check=True, capture_output=True, text=True).stdout.strip()
        import torch

        pathlib.Path(site, "base.pth").write_text(str(pathlib.Path(torch.__file__).parent.parent) + "\n")
    # Whatever they ask for beside torch would bring another torch.
    packages = [package for name in chosen for package in known[name]]
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-deps", *packages], check=True)
    return str(python)


def folders_of(python, chosen):
    """Where the libraries and torch are imported from."""
    code = ("import importlib.util, json, pathlib, sys\n"
            "folders = [str(pathlib.Path(importlib.util.find_spec(name).origin).parents[1]) for name in sys.argv[1:]]\n"
            "print(json.dumps(list(dict.fromkeys(folders))))")
    return json.loads(subprocess.run([python, "-c", code, *chosen, "torch"], check=True, capture_output=True, text=True).stdout)


def reason(said):
    """An error without what is of one case alone: names, numbers, places."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    first = re.sub(r"^(sconce|error|source\.py)[^:]*: *", "", lines[0]) if lines else "nothing said"
    first = re.sub(r"0x[0-9a-f]+|\d+", "N", first)
    return re.sub(r"/\S+/", "", first)[:160]


def checked(task):
    """The row of one case, in a process of its own, and how many of its calls have which verdict."""
    sconce, folder, paths = task
    about = json.loads((folder / "case.json").read_text())
    options = [part for path in paths for part in ("--path", path)]
    if (folder / "state.pth").exists():
        options += ["--state", "state.pth"]

    def done(*arguments):
        done = compiled.call(sconce, arguments, folder, LONGEST)
        if done.returncode:
            raise Different(done.stderr.strip())
        return done.stdout

    def graph():
        compiled.same_text(done("graph", f"source.py:{about['entry']}", *options), (folder / "graph.txt").read_text())

    def code():
        same("saved.pt", lambda name: name.startswith("code/") and name.endswith(".py"))

    def debug():
        same("saved.pt", lambda name: name.endswith(".debug_pkl"))

    def resave():
        done("resave", "saved.pt", os.path.join(work, "resaved.pt"))
        same("resaved.pt", lambda name: name.startswith("code/") or name.endswith(".pkl"))

    def same(name, chosen):
        compiled.same_records(compiled.records(os.path.join(work, name)), compiled.records(folder / name), chosen)

    def run(call):
        out = pathlib.Path(work, "result.pt")
        arguments = ("run", about["program"], "--inputs", call["args"], "--output", out, "--seed", "0")
        compiled.same_call(call, folder, out, functools.partial(compiled.output, sconce, arguments, folder, LONGEST))

    verdicts, said, counts = dict.fromkeys(CHECKS, NOTHING), [], collections.Counter()
    checks = {"code": code, "debug": debug, "resave": resave}
    if (folder / "graph.txt").exists():
        checks["graph"] = graph
    with tempfile.TemporaryDirectory() as work:
        try:
            done("script", f"source.py:{about['entry']}", "-o", os.path.join(work, "saved.pt"), *options)
        except Different as error:
            verdicts |= dict.fromkeys(("graph", "code", "debug"), UNSUPPORTED)
            said.append(("script", str(error)))
            checks = {"resave": resave}
        except Hopeless as error:
            verdicts |= dict.fromkeys(("graph", "code", "debug", "resave"), FAILED)
            said.append(("script", f"Hopeless: {error}"))
            checks = {}
        for check, compare in checks.items():
            try:
                compare()
                verdicts[check] = PASSED
            except (Different, Hopeless) as error:
                verdicts[check] = FAILED
                said.append((check, f"{'Hopeless: ' if isinstance(error, Hopeless) else ''}{error}"))
        for call in about["calls"]:
            verdict = PASSED
            try:
                run(call)
            except Unsupported as error:
                verdict, why = UNSUPPORTED, error
            except (Different, Hopeless) as error:
                verdict, why = FAILED, f"{'Hopeless: ' if isinstance(error, Hopeless) else ''}{error}"
            counts[verdict] += 1
            if verdict != PASSED:
                said.append(("calls", f"{why} ({call['args']})"))
        verdicts["calls"] = next((verdict for verdict in (FAILED, UNSUPPORTED, PASSED) if counts[verdict]), NOTHING)
    return Row(about["name"], f"{about['library']} {about['kind']}", tuple(verdicts.values()), said), counts


def checks_of(_):
    return CHECKS


def summary(rows, counts):
    """Lines: of each library and kind how many there are, compile, and pass each check, and of their calls how many there are,
    are right, refused, and wrong."""
    groups, of_calls = collections.defaultdict(list), collections.defaultdict(collections.Counter)
    for row, calls in zip(rows, counts):
        for group in (row.group, "all " + row.group.split()[1]):
            groups[group].append(row)
            of_calls[group] += calls
    lines = [f"{'library':40}{'PyTorch':>8}{'compile':>8}" + "".join(f"{check:>8}" for check in CHECKS)
             + f"{'called':>8}{'right':>8}{'refused':>8}{'wrong':>8}"]
    for group, members in sorted(groups.items(), key=lambda item: (item[0].startswith("all "), item[0])):
        passed = [sum(row.verdicts[number] == PASSED for row in members) for number in range(len(CHECKS))]
        taken = sum(row.verdicts[1] != UNSUPPORTED for row in members)
        lines.append(f"{group:40}{len(members):8}{taken:8}" + "".join(f"{count:8}" for count in passed)
                     + f"{of_calls[group].total():8}" + "".join(f"{of_calls[group][verdict]:8}" for verdict in (PASSED, UNSUPPORTED, FAILED)))
    for kind in ("script", *CHECKS):
        reasons = collections.Counter(reason(why) for row in rows for check, why in row.said if check == kind)
        if reasons:
            lines.append("not supported:" if kind == "script" else f"{kind} differs:")
        lines += [f"  {count:4}  {said}" for said, count in reasons.most_common(60 if kind == "script" else 12)]
    return lines


def main():
    options = compiled.arguments(__doc__,
                                 (["--libraries"], {"default": "", "help": "these alone, with commas between"}),
                                 (["--every"], {"type": int, "default": 1, "help": "each N-th function and class alone"}))
    environment.in_environment_with_torch()
    chosen = tuple(options.libraries.split(",") if options.libraries else SAMPLE_LIBRARIES if options.sample else libraries())
    python = python_with(chosen)
    with tempfile.TemporaryDirectory() as temporary:
        out = (options.keep or pathlib.Path(temporary)).resolve()

        def generate(folders, options_of_cases):
            names = [folder.name for folder in folders]
            command = [python, HERE / "generate.py", out, *names, *options_of_cases, "--jobs", str(options.jobs)]
            subprocess.run(command, check=True)

        compiled.make([out / library for library in chosen], SAMPLE_EVERY if options.sample else options.every, options.only, generate)
        paths = folders_of(python, chosen)
        tasks = [(options.sconce, path.parent, paths) for library in chosen for path in sorted((out / library).glob("*/case.json"))
                 if re.search(options.only, path.parent.name)]
        rows, counts = zip(*compiled.rows_of(checked, tasks, options.jobs))
    log = [f"{row.name}: {check}: {compiled.one_line(why)}" for row in rows for check, why in row.said]
    if options.keep:
        (out / "log.txt").write_text("\n".join(log) + "\n")
    print("\n".join(summary(rows, counts)))
    recording = not (options.sample or options.only or options.libraries)
    whole = recording and options.every == 1
    return compiled.concluded(rows, checks_of, "\t".join(CHECKS), options.results / "libraries.tsv", whole, recording)


if __name__ == "__main__":
    sys.exit(main())

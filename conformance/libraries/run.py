#!/usr/bin/env python3
"""What sconce makes of the Python of real libraries beside what torch.jit.script makes of it.

    run.py [--sconce BINARY] [--sample] [--keep OUT] [--only REGEX] [--libraries A,B] [--results FOLDER]

Installs the libraries of `libraries.txt` (pip's other environment, without what they depend on, which
torch brings), has `generate.py` find what torch.jit.script compiles in them, and compares:

    graph   sconce graph    the graph's text is PyTorch's
    code    sconce script   every `code/` source of the archive is PyTorch's but for the order of a
                            class's constants
    debug   sconce script   so are the debug records

`refused` is what sconce says that it does not compile. Prints the refusals by reason and count. The
whole run writes `libraries.tsv` into `--results`. Both fail where something that is recorded there as
passed does not pass, where sconce compiles something other than PyTorch does and that is not
recorded, or when it panics or hangs.
"""
import argparse
import collections
import importlib.util
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
CHECKS = ("graph", "code", "debug")
PASSED, FAILED, REFUSED, NOTHING = "passed", "failed", "refused", "-"
LONGEST = 120
# Every so many of the candidates are made for the sample, of these libraries.
SAMPLE_EVERY, SAMPLE_LIBRARIES = 12, ("kornia", "torchmetrics", "e3nn")

Row = collections.namedtuple("Row", "name library kind verdicts said")


def beside(path):
    """Another script of this folder's parent; three are called `run`."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_"), HERE.parent / f"{path}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def folders_of(python):
    """Where the libraries and torch are imported from."""
    code = "import sys, json; print(json.dumps([p for p in sys.path if p.endswith('site-packages')]))"
    return json.loads(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout)


def reason(said):
    """An error without what is of one case alone: names, numbers, places."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    first = re.sub(r"^(sconce|error|source\.py)[^:]*: *", "", lines[0]) if lines else "nothing said"
    first = re.sub(r"0x[0-9a-f]+|\d+", "N", first)
    return re.sub(r"/\S+/", "", first)[:160]


def checked(task):
    sconce, folder, paths = task
    script_checks = beside("script/run")
    about = json.loads((folder / "case.json").read_text())
    options = [part for path in paths for part in ("--path", path)]
    if (folder / "state.pth").exists():
        options += ["--state", "state.pth"]

    def call(*arguments):
        try:
            done = subprocess.run([sconce, *arguments, *options], cwd=folder, capture_output=True, text=True,
                                  timeout=LONGEST, errors="replace")
        except subprocess.TimeoutExpired:
            return "Hopeless: no answer", None
        if done.returncode not in (0, 1, 2, 3) or "panicked at" in done.stderr:
            return f"Hopeless: status {done.returncode}: {done.stderr[-300:]}", None
        return (done.stderr.strip() if done.returncode else None), done.stdout

    verdicts, said = dict.fromkeys(CHECKS, NOTHING), []
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "saved.pt")
        refused, _ = call("script", f"source.py:{about['entry']}", "-o", out)
        if refused is not None:
            hopeless = refused.startswith("Hopeless")
            return Row(about["name"], about["library"], about["kind"], (FAILED if hopeless else REFUSED,) * len(CHECKS),
                       [("script", refused)])
        ours, theirs = script_checks.records(out), script_checks.records(folder / "saved.pt")
        for check, ending in (("code", ".py"), ("debug", ".debug_pkl")):
            try:
                script_checks.same_records(ours, theirs, lambda name: name.startswith("code/") and name.endswith(ending))
                verdicts[check] = PASSED
            except script_checks.Different as error:
                verdicts[check] = FAILED
                said.append((check, str(error)))
    if (folder / "graph.txt").exists():
        error, found = call("graph", f"source.py:{about['entry']}")
        try:
            if error is not None:
                raise script_checks.Different(error)
            script_checks.same_text(found, (folder / "graph.txt").read_text())
            verdicts["graph"] = PASSED
        except script_checks.Different as error:
            verdicts["graph"] = FAILED
            said.append(("graph", str(error)))
    return Row(about["name"], about["library"], about["kind"], tuple(verdicts[check] for check in CHECKS), said)


def table(rows):
    """Lines: of each library and kind how many there are, compile, and compile to PyTorch's code and graph."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row.library, row.kind].append(row)
        groups["all", row.kind].append(row)
    lines = [f"{'library':32}{'kind':10}{'PyTorch':>8}{'compile':>8}{'code':>8}{'graph':>8}{'debug':>8}"]
    for (library, kind), members in sorted(groups.items(), key=lambda group: (group[0][0] == "all", group[0])):
        tally = [sum(row.verdicts[CHECKS.index(check)] == PASSED for row in members) for check in ("code", "graph", "debug")]
        compiled = sum(row.verdicts[1] != REFUSED for row in members)
        lines.append(f"{library:32}{kind:10}{len(members):8}{compiled:8}" + "".join(f"{each:8}" for each in tally))
    return lines


def read(path):
    if not path.exists():
        return {}
    rows = (line.split("\t") for line in path.read_text().splitlines()[1:])
    return {(name, kind): tuple(verdicts) for name, _, kind, *verdicts in rows}


def worse_than_recorded(rows, recorded):
    complaints = []
    for row in rows:
        before = recorded.get((row.name, row.kind), ("",) * len(CHECKS))
        for check, verdict, was in zip(CHECKS, row.verdicts, before):
            if was == PASSED and verdict != PASSED:
                complaints.append(f"{row.name}: {check} is {verdict}, and passed before")
            elif verdict == FAILED and was not in (FAILED, PASSED):
                complaints.append(f"{row.name}: {check} is not PyTorch's")
        complaints += [f"{row.name}: {why}" for _, why in row.said if why.startswith("Hopeless")]
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sconce", default="target/release/sconce")
    parser.add_argument("--sample", action="store_true", help="a part that takes a minute or two")
    parser.add_argument("--keep", type=pathlib.Path, help="where cases are made and left, and the log written")
    parser.add_argument("--only", default="", help="a pattern that names must match")
    parser.add_argument("--libraries", default="")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    sconce = os.path.abspath(options.sconce)
    if not os.path.exists(sconce):
        raise SystemExit(f"no binary at {sconce}: cargo build --release -p sconce-cli")
    beside("run").in_environment_with_torch()
    chosen = options.libraries.split(",") if options.libraries else SAMPLE_LIBRARIES if options.sample else tuple(libraries())
    python = python_with(chosen)
    with tempfile.TemporaryDirectory() as temporary:
        out = (options.keep or pathlib.Path(temporary)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        wanted = [library for library in chosen if not (out / library).exists()]
        if wanted:
            every = ["--every", str(SAMPLE_EVERY)] if options.sample else []
            subprocess.run([python, HERE / "generate.py", out, *wanted, *every], check=True, stderr=subprocess.DEVNULL)
        paths = folders_of(python)
        tasks = [(sconce, path.parent, paths) for library in chosen for path in sorted((out / library).glob("*/case.json"))
                 if re.search(options.only, path.parent.name)]
        if not tasks:
            raise SystemExit("nothing was made")
        with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
            rows = pool.map(checked, tasks, chunksize=4)
        if options.keep:
            log = [f"{row.name}\t{check}\t{' / '.join(why.split(chr(10)))[:600]}" for row in rows for check, why in row.said]
            (out / "log.txt").write_text("\n".join(log) + "\n")
    print("\n".join(table(rows)))
    for kind in ("script", *CHECKS):
        reasons = collections.Counter(reason(why) for row in rows for check, why in row.said if check == kind)
        if reasons:
            print("refused:" if kind == "script" else f"{kind} differs:")
        for said, count in reasons.most_common(60 if kind == "script" else 12):
            print(f"  {count:4}  {said}")
    results = options.results / "libraries.tsv"
    complaints = worse_than_recorded(rows, read(results))
    if not options.sample and not options.only and not options.libraries:
        lines = ["\t".join((row.name, row.library, row.kind, *row.verdicts)) for row in rows]
        results.write_text("\n".join(["\t".join(("name", "library", "kind", *CHECKS)), *lines]) + "\n")
    for complaint in complaints:
        print(f"FAILED {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

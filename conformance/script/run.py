#!/usr/bin/env python3
"""What sconce makes of Python source beside what torch.jit.script makes of it.

    run.py [--sconce BINARY] [--sample] [--keep OUT] [--only REGEX] [--results FOLDER]

Makes the cases with `generate.py` (in a folder that is removed, or in `--keep`, where what is there
already is used again) and has sconce do each of them:

    tree    sconce ast      the tree is PyTorch's
    graph   sconce graph    the graph's text is PyTorch's
    code    sconce script   every `code/` source of the archive is PyTorch's, byte for byte but for the
                            order of a class's constants, which changes from run to run of PyTorch; where
                            PyTorch cannot save what it compiled, sconce says so in the same words
    data    sconce script   data.pkl, constants.pkl and the tensors are PyTorch's, byte for byte
    debug   sconce script   so are the debug records
    loads   sconce script   PyTorch loads the archive and computes the same with it
    run     sconce run      sconce computes the same
    alone   sconce script   without PyTorch's own sources: PyTorch loads the archive and computes the same,
            sconce run      and so does sconce

PyTorch's sources are given with `--path` where its archive holds code of them; `alone` is of these
cases only. Of a wrong source, `refused` says that sconce has an error too, `line` that it is on
PyTorch's line, `words` that it says what PyTorch says. A check that a case has nothing for is `-`.

The whole run writes `script.tsv` into `--results`. Both fail when something that is recorded there
as passed does not pass, or when sconce panics or hangs.
"""
import collections
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "torchscript")]

import compiled  # noqa: E402
from compiled import FAILED, NOTHING, PASSED, UNIT, UNSUPPORTED, Different, Row, Unsupported, one_line, records, same_records, same_text  # noqa: E402

CASE_CHECKS = ("tree", "graph", "code", "data", "debug", "loads", "run", "alone")
WRONG_CHECKS = ("refused", "line", "words")
SAMPLE_EVERY = 8
LONGEST = 60
PLACE = re.compile(r'source\.py(?:", line |:)(\d+)')


class Sconce:
    """Every call of the binary is here, so that a change of its flags is a change of one line."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def call(self, *arguments):
        return compiled.call(self.binary, arguments, self.folder, LONGEST)

    def done(self, *arguments):
        return compiled.output(self.binary, arguments, self.folder, LONGEST)

    def ast(self, entry, options):
        return self.done("ast", f"source.py:{entry}", *options)

    def graph(self, entry, options):
        return self.done("graph", f"source.py:{entry}", *options)

    def script(self, entry, out, options):
        return self.done("script", f"source.py:{entry}", "-o", out, "-f", *options)

    def refusal(self, entry, out):
        return self.call("script", f"source.py:{entry}", "-o", out, "-f")

    def run(self, entry, arguments, out, options):
        self.done("run", f"source.py:{entry}", "--inputs", arguments, "--output", out, "--seed", "0", *options)


# --- the checks of a case ----------------------------------------------------------------------


class Case:
    def __init__(self, sconce, folder, work):
        self.folder, self.work = folder, work
        self.sconce = Sconce(sconce, folder)
        self.about = json.loads((folder / "case.json").read_text())
        self.entry = self.about["entry"]

    def text(self, name):
        return (self.folder / name).read_text()

    def options(self, alone=False):
        import torch

        options = ["--state", "state.pth"] if self.about["state"] else []
        if self.about["torch_sources"] and not alone:
            options += ["--path", pathlib.Path(torch.__file__).parent.parent]
        return options

    def tree(self):
        if not self.about["tree"]:
            return NOTHING
        return same_text(self.sconce.ast(self.about["tree"], self.options()), self.text("ast.txt"))

    def graph(self):
        if not (self.folder / "graph.txt").exists():
            return NOTHING
        return same_text(self.sconce.graph(self.entry, self.options()), self.text("graph.txt"))

    @functools.cached_property
    def archive(self):
        """Our archive, or why there is none."""
        path = self.work / "saved.pt"
        try:
            self.sconce.script(self.entry, path, self.options())
            return path
        except (Unsupported, Different) as error:
            return error

    def archives(self):
        if isinstance(self.archive, Exception):
            raise type(self.archive)(*self.archive.args)
        return records(self.archive), records(self.folder / "saved.pt")

    def code(self):
        if "export_error" in self.about:
            if not isinstance(self.archive, Exception):
                raise Different(f"an archive, not the error {self.about['export_error']}")
            if self.about["export_error"] not in str(self.archive):
                raise Different(f"{self.archive}, not the error {self.about['export_error']}")
            return
        return self.saved(lambda name: name.startswith("code/") and name.endswith(".py"))

    def data(self):
        return self.saved(lambda name: name in ("data.pkl", "constants.pkl") or name.startswith(("data/", "constants/")))

    def debug(self):
        return self.saved(lambda name: name.endswith(".debug_pkl"))

    def saved(self, chosen):
        if not (self.folder / "saved.pt").exists():
            return NOTHING
        return same_records(*self.archives(), chosen)

    def loads(self):
        if not self.about["calls"]:
            return NOTHING
        self.archives()
        return self.computed_by_torch(self.archive)

    def alone(self):
        if not self.about["calls"] or not self.about["torch_sources"]:
            return NOTHING
        path = self.work / "alone.pt"
        options = self.options(alone=True)
        self.sconce.script(self.entry, path, options)
        self.computed_by_torch(path)
        self.computed_by_sconce(options)

    def computed_by_torch(self, archive):
        import torch
        from values import last_line, plain

        for call in self.about["calls"]:
            arguments = torch.load(self.folder / call["args"], weights_only=False)
            try:
                program = torch.jit.load(str(archive))
            except Exception as error:
                raise Different(f"PyTorch does not load it: {one_line(str(error))}") from None
            torch.manual_seed(0)
            try:
                with torch.no_grad():
                    found = plain(program(*arguments))
            except Exception as error:
                if "error" not in call or last_line(error) != call["error"]:
                    raise Different(f"PyTorch runs it: {one_line(str(error))[-300:]}") from None
                continue
            compiled.same_result(call, self.folder, found)

    def run(self):
        if not self.about["calls"]:
            return NOTHING
        return self.computed_by_sconce(self.options())

    def computed_by_sconce(self, options):
        for call in self.about["calls"]:
            run = functools.partial(self.sconce.run, self.entry, call["args"], self.work / "out.pt", options)
            compiled.same_call(call, self.folder, self.work / "out.pt", run)


class WrongCase(Case):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.said = None

    @functools.cached_property
    def answer(self):
        return self.sconce.refusal(self.entry, self.work / "saved.pt")

    def refused(self):
        if self.answer.returncode == 0:
            raise Different("sconce takes it")

    def line(self):
        if self.about["line"] is None:
            return NOTHING
        self.refused()
        place = PLACE.search(self.answer.stderr)
        found = int(place.group(1)) if place else None
        if found != self.about["line"]:
            raise Different(f"line {found}, not {self.about['line']}: {one_line(self.answer.stderr)}")

    def words(self):
        self.refused()
        words = UNIT.sub("", self.text("error.txt"))
        wanted = next(line for line in words.splitlines() if line.strip()).strip().rstrip(": ")
        if wanted not in UNIT.sub("", self.answer.stderr):
            raise Different(f"{one_line(self.answer.stderr)[:200]}; not: {wanted}")


def checked(task):
    """The row of one case, in a process of its own."""
    sconce, folder, wrong = task
    warnings.filterwarnings("ignore")
    verdicts, said = [], []
    with tempfile.TemporaryDirectory() as work:
        case = (WrongCase if wrong else Case)(sconce, folder, pathlib.Path(work))
        for check in WRONG_CHECKS if wrong else CASE_CHECKS:
            try:
                verdict = getattr(case, check)() or PASSED
            except Unsupported as error:
                verdict = UNSUPPORTED
                said.append((check, str(error)))
            except Different as error:
                verdict = FAILED
                said.append((check, str(error)))
            except Exception as error:  # a panic, no answer, an archive that is none
                verdict = FAILED
                said.append((check, f"{type(error).__name__}: {error}"))
            verdicts.append(verdict)
    return Row(folder.name, case.about["group"], tuple(verdicts), said)


# --- the table ---------------------------------------------------------------------------------


def checks_of(row):
    return WRONG_CHECKS if row.group == "wrong" else CASE_CHECKS


def summary(rows):
    """Lines: of each group and check how many passed, failed, are not supported."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    lines = []
    for group, members in groups.items():
        whole = sum(all(verdict in (PASSED, NOTHING) for verdict in row.verdicts) for row in members)
        lines.append(f"{group}: {len(members)} cases, {whole} with everything passed")
        for number, check in enumerate(checks_of(members[0])):
            tally = collections.Counter(row.verdicts[number] for row in members)
            lines.append(f"  {check:8} {tally[PASSED]:4} passed {tally[FAILED]:4} failed {tally[UNSUPPORTED]:4} not supported")
    return lines


def main():
    import run as environment

    options = compiled.arguments(__doc__)
    environment.in_environment_with_torch()
    for package in ("expecttest", "scipy"):
        import edit

        edit.import_or_install(package)
    with tempfile.TemporaryDirectory() as temporary:
        out = (options.keep or pathlib.Path(temporary)).resolve()

        def generate(_, options_of_cases):
            command = [sys.executable, str(HERE / "generate.py"), str(out), *options_of_cases]
            subprocess.run(command, check=True, env={**os.environ, "PYTHONWARNINGS": "ignore"}, stderr=subprocess.DEVNULL)

        compiled.make([out / "cases", out / "wrong"], SAMPLE_EVERY if options.sample else 1, options.only, generate)
        tasks = [(options.sconce, folder, folder.parent.name == "wrong")
                 for kind in ("cases", "wrong") for folder in sorted((out / kind).glob("*"))
                 if (folder / "case.json").exists() and re.search(options.only, folder.name)]
        rows = compiled.rows_of(checked, tasks, options.jobs)
    log = [f"{row.name}: {check}: {one_line(why)}" for row in rows for check, why in row.said]
    if options.keep:
        (out / "log.txt").write_text("\n".join(log) + "\n")
    else:
        print("\n".join(log))
    print("\n".join(summary(rows)))
    heading = "\t".join(CASE_CHECKS) + "\t(of wrong ones: " + ", ".join(WRONG_CHECKS) + ")"
    whole = not options.sample and not options.only
    return compiled.concluded(rows, checks_of, heading, options.results / "script.tsv", whole, recording=whole)


if __name__ == "__main__":
    sys.exit(main())

"""What the scripts share that put what sconce compiles of Python beside what torch.jit.script compiles.

A call of the command, comparisons of texts and archives, cases checked in processes of their own, and the
table of verdicts that a run is held against.
"""

import argparse
import collections
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import zipfile

RESULTS = pathlib.Path(__file__).resolve().parent / "results"

PASSED, FAILED, UNSUPPORTED, NOTHING = "passed", "failed", "not supported", "-"
# Where the compilation unit is in memory.
UNIT = re.compile(r" \(of Python compilation unit at: 0x[0-9a-f]+\)")
# What sconce says of what it does not do: Python that it does not run, operators that it lacks.
UNSUPPORTED_WORDS = re.compile(
    r"(not|n't) supported|unsupported|unrecognized subcommand|unexpected argument|not run here|this build lacks|is a class, not a function", re.I)
CONSTANT = re.compile(r" +\w+ : Final\[")

# What was found of a case: a verdict for each check, and (check, words) of those that did not pass.
Row = collections.namedtuple("Row", "name group verdicts said")


class Different(Exception):
    """A check that failed, and how."""


class Unsupported(Exception):
    """sconce says that it does not support this."""


class Hopeless(Exception):
    """A panic, or no answer."""


def call(binary, arguments, folder, seconds):
    """Runs the command in a folder: its status, output and errors."""
    try:
        done = subprocess.run([binary, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=seconds,
                              errors="replace")
    except subprocess.TimeoutExpired:
        raise Hopeless(f"no answer in {seconds} s: sconce {' '.join(map(str, arguments))}") from None
    if done.returncode not in (0, 1, 2, 3) or "panicked at" in done.stderr:
        raise Hopeless(f"status {done.returncode}: {done.stderr[-300:]}")
    return done


def output(binary, arguments, folder, seconds):
    """What the command prints. Where it fails, `Unsupported` or `Different` holds what it said."""
    done = call(binary, arguments, folder, seconds)
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.strip()
    raise (Unsupported if UNSUPPORTED_WORDS.search(said) else Different)(joined(said) or f"status {done.returncode}")


def joined(text):
    return " / ".join(line.strip() for line in text.splitlines() if line.strip())


def one_line(text):
    return joined(text)[:400]


# --- comparing ---------------------------------------------------------------------------------


def same_text(found, wanted):
    found, wanted = UNIT.sub("", found).rstrip("\n"), UNIT.sub("", wanted).rstrip("\n")
    if found == wanted:
        return
    ours, theirs = found.split("\n"), wanted.split("\n")
    for number, (our, their) in enumerate(zip(ours, theirs), 1):
        if our != their:
            raise Different(f"line {number}: {our.strip()!r}, not {their.strip()!r}")
    raise Different(f"{len(ours)} lines, not {len(theirs)}")


def records(path):
    """The records of an archive without their folder."""
    with zipfile.ZipFile(path) as archive:
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist()}


def in_order(source):
    """A source with the constants of each class sorted: PyTorch takes them from a set, in any order."""
    lines, constants = [], []
    for line in source.splitlines():
        if CONSTANT.match(line):
            constants.append(line)
            continue
        lines += [*sorted(constants), line]
        constants = []
    return "\n".join(lines + sorted(constants))


def same_records(found, wanted, chosen):
    for name in sorted(filter(chosen, found.keys() | wanted.keys())):
        if name not in found or name not in wanted:
            raise Different(f"{name} is in {'ours' if name in found else 'theirs'} alone")
        if found[name] == wanted[name]:
            continue
        if name.endswith(".py"):
            try:
                same_text(in_order(found[name].decode()), in_order(wanted[name].decode()))
                continue
            except Different as different:
                raise Different(f"{name}: {different}") from None
        raise Different(f"{name}: {len(found[name])} bytes, not the {len(wanted[name])} of theirs")


# --- what calls gave ---------------------------------------------------------------------------


def same_call(call, folder, out, run):
    """Whether `run` ends as a call that PyTorch made and that was kept in the folder: `run` writes a result to `out`, or raises
    what it says."""
    import torch

    out.unlink(missing_ok=True)
    try:
        run()
    except (Different, Unsupported) as error:
        # PyTorch shows the class of an exception before its words.
        wanted = re.sub(r"^\w+(\.\w+)*: ", "", call.get("error", "")).strip()
        if "error" not in call or "own" in call or wanted not in str(error):
            raise
        return
    found = torch.load(out, weights_only=False)
    if "own" in call:
        # A function of a file has its defaults, as in Python.
        same_value(found, torch.load(folder / call["own"], weights_only=False))
        return
    same_result(call, folder, found)


def same_result(call, folder, found):
    import torch

    if "error" in call:
        raise Different(f"a result, not the error {call['error']}"[:300])
    exact = torch.load(folder / call["exact"], weights_only=False) if "exact" in call else None
    same_value(found, torch.load(folder / call["result"], weights_only=False), exact=exact)


def same_value(found, wanted, where="result", exact=None):
    """Whether two results are the same; `exact` is what the same call gives in float64, where rounding decides much."""
    import torch

    if isinstance(wanted, torch.Tensor):
        if not isinstance(found, torch.Tensor) or found.dtype != wanted.dtype or found.shape != wanted.shape:
            raise Different(f"{where}: {kind(found)}, not {kind(wanted)}")
        if not same_strides(found, wanted):
            raise Different(f"{where}: strides {found.stride()}, not {wanted.stride()}")
        if not close(found, wanted) and not as_near(found, wanted, exact):
            raise Different(f"{where}: values differ")
    elif isinstance(wanted, (list, tuple)):
        if type(found) is not type(wanted) or len(found) != len(wanted):
            raise Different(f"{where}: {kind(found)}, not {kind(wanted)}")
        for number, (one, other) in enumerate(zip(found, wanted)):
            same_value(one, other, f"{where}[{number}]", part(exact, number))
    elif isinstance(wanted, dict):
        if not isinstance(found, dict) or list(found) != list(wanted):
            raise Different(f"{where}: {kind(found)}, not {kind(wanted)}")
        for key in wanted:
            same_value(found[key], wanted[key], f"{where}[{key!r}]", part(exact, key))
    elif isinstance(wanted, str) and wanted.startswith("<") and wanted.endswith(">"):
        return  # an object of a class, which is not compared
    elif isinstance(wanted, (float, complex)) and type(found) is type(wanted):
        if not (found == wanted or found != found and wanted != wanted or abs(found - wanted) <= 1e-6 * abs(wanted)):
            raise Different(f"{where}: {found!r}, not {wanted!r}")
    elif type(found) is not type(wanted) or found != wanted:
        raise Different(f"{where}: {found!r}, not {wanted!r}"[:300])


def close(found, wanted):
    """Sums in another order may differ by a little of the largest element."""
    import torch

    if wanted.layout != torch.strided:
        return found.layout == wanted.layout and close(found.to_dense(), wanted.to_dense())
    if not (wanted.is_floating_point() or wanted.is_complex()):
        return torch.equal(found, wanted)
    sizes = wanted.detach().abs()
    largest = float(sizes[sizes.isfinite()].max()) if bool(sizes.isfinite().any()) else 0.0
    return torch.allclose(found, wanted, rtol=1e-4, atol=1e-6 * max(1.0, largest), equal_nan=True)


def part(exact, key):
    return exact[key] if isinstance(exact, (tuple, list, dict)) else None


def same_strides(found, wanted):
    """Whether elements lie in memory alike: those of dimensions of one element lead nowhere."""
    import torch

    if wanted.layout != torch.strided or wanted.numel() == 0:
        return True
    return all(size == 1 or our == their for size, our, their in zip(wanted.shape, found.stride(), wanted.stride()))


def as_near(found, wanted, exact):
    """Whether it is as near to what is exact as PyTorch's own result is."""
    import torch

    if not isinstance(exact, torch.Tensor) or exact.shape != wanted.shape or exact.dtype is not torch.float64:
        return False
    off = (wanted.double() - exact).abs().max()
    return bool(((found.double() - exact).abs() <= 2 * off).all())


def kind(value):
    import torch

    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {list(value.shape)}"
    return f"{type(value).__name__} of {len(value)}" if isinstance(value, (list, tuple, dict, str)) else type(value).__name__


# --- a run and its table -----------------------------------------------------------------------


def arguments(documentation, *more):
    """What a run is asked for; `more` are arguments of `add_argument`. The path of the binary is made absolute."""
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sconce", default="target/release/sconce")
    parser.add_argument("--sample", action="store_true", help="a part that takes a minute or two")
    parser.add_argument("--keep", type=pathlib.Path, help="where cases are made and left, and the log written")
    parser.add_argument("--only", default="", help="a pattern that names must match")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--jobs", type=int, default=2)
    for names, options in more:
        parser.add_argument(*names, **options)
    options = parser.parse_args()
    options.sconce = os.path.abspath(options.sconce)
    if not os.path.exists(options.sconce):
        raise SystemExit(f"no binary at {options.sconce}: cargo build --release -p sconce-cli")
    return options


def make(folders, every, only, generate):
    """Has `generate` make each `every`-th case whose name matches `only`, in those folders that have neither these nor all."""
    asked = f"every {every}, only {only!r}"
    marks = {folder: folder / "made.txt" for folder in folders}
    missing = [folder for folder, mark in marks.items()
               if not mark.exists() or mark.read_text() not in (asked, "every 1, only ''")]
    if not missing:
        return
    for folder in missing:
        shutil.rmtree(folder, ignore_errors=True)
    generate(missing, ["--every", str(every), "--only", only])
    for folder in missing:
        folder.mkdir(parents=True, exist_ok=True)
        marks[folder].write_text(asked)


def silence():
    """Programs print as they run."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def rows_of(checked, tasks, jobs):
    """The row of each task. PyTorch's names are mangled with time, so no process lives long."""
    if not tasks:
        raise SystemExit("nothing was made")
    with multiprocessing.get_context("spawn").Pool(jobs, silence, maxtasksperchild=200) as pool:
        return pool.map(checked, tasks, chunksize=4)


def read(table):
    """The verdicts that are recorded, by the name of their case."""
    if not table.exists():
        return {}
    return {line.split("\t")[0]: line.split("\t")[2:] for line in table.read_text().splitlines()[1:]}


def write(rows, heading, table, whole):
    """Records a run: what there is of other cases stays, unless the run was of all."""
    recorded = {} if whole or not table.exists() else {line.split("\t")[0]: line for line in table.read_text().splitlines()[1:]}
    recorded |= {row.name: "\t".join((row.name, row.group, *row.verdicts)) for row in rows}
    lines = recorded.values() if whole else [recorded[name] for name in sorted(recorded)]
    table.parent.mkdir(exist_ok=True)
    table.write_text("\n".join(["\t".join(("case", "group", heading)), *lines]) + "\n")


def worse_than_recorded(rows, checks, recorded, whole):
    """What fails a run, in words. `checks` gives the checks of a row; `whole` is whether every case was run."""
    complaints = []
    for row in rows:
        before = recorded.get(row.name) or ("",) * len(row.verdicts)
        for check, verdict, was in zip(checks(row), row.verdicts, before):
            if was == PASSED and verdict != PASSED:
                complaints.append(f"{row.name}: {check} is {verdict}, and passed before")
            elif verdict == FAILED and was != FAILED:
                complaints.append(f"{row.name}: {check} is not PyTorch's, which is not recorded")
        complaints += [f"{row.name}: {check}: {one_line(why)}" for check, why in row.said if why.startswith("Hopeless")]
    if whole:
        complaints += [f"{name} is recorded and was not run" for name in sorted(set(recorded) - {row.name for row in rows})]
    return complaints


def concluded(rows, checks, heading, table, whole, recording):
    """Holds a run against its table, and writes that where the run is one for `recording`; the exit status."""
    complaints = worse_than_recorded(rows, checks, read(table), whole)
    if recording:
        write(rows, heading, table, whole)
    for complaint in complaints:
        print(f"FAILED {complaint}")
    return 1 if complaints else 0

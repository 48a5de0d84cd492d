"""The checks that `run.py` makes, in the environment that has the engines."""

import argparse
import collections
import glob
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import made
import numpy as np
import pyarrow.parquet as pq
import safetensors.torch
import sconce
import torch

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "fleet"
sys.path.insert(0, str(EXAMPLES))
import schema  # noqa: E402

WORKERS = 2
SUMMARY = re.compile(r"(\d+) (files|rows), (\d+) failed, ([\d.]+) s, (\d+) \2/s")
wrong = []


def check(what, holds, saw=""):
    print(f"{'ok   ' if holds else 'WRONG'} {what}{f': {saw}' if saw != '' else ''}", flush=True)
    if not holds:
        wrong.append(what)


class Ran:
    """A script that ended: its code, the numbers of its last line, and its table."""

    def __init__(self, scratch, name, columns, *words):
        self.name = name
        self.out = os.path.join(scratch, "out-" + re.sub(r"\W", "-", " ".join((name, *map(os.path.basename, words)))))
        command = [sys.executable, EXAMPLES / name, "--out", self.out, "--actors", str(WORKERS), *words]
        started = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
        self.seconds, self.code = time.monotonic() - started, done.returncode
        lines = done.stdout.strip().splitlines()
        said = SUMMARY.fullmatch(lines[-1].split("\r")[-1].strip()) if lines else None
        if said is None:
            print(done.stdout[-2000:], done.stderr[-6000:], sep="\n")
            raise SystemExit(f"WRONG {name} ended with {self.code} and without its line")
        self.count, self.failed, self.speed = int(said[1]), int(said[3]), int(said[5])
        parts = glob.glob(os.path.join(self.out, "*.parquet"))
        schemas = {pq.read_schema(part).remove_metadata() for part in parts}
        check(f"{name}: one schema in {len(parts)} parts", schemas == {columns}, "" if schemas == {columns} else schemas)
        self.rows = pq.read_table(self.out).to_pylist()

    def by(self, key):
        return {row[key]: row for row in self.rows}


def scanned(ran, paths, killed, dead=()):
    """Rows are what `sconce.scan` gives here."""
    name, rows = ran.name, ran.by("path")
    check(f"{name}: a row for each of {len(paths)} files", sorted(row["path"] for row in ran.rows) == sorted(paths))
    differ = []
    for path in paths:
        expected = schema.scan_row(path, False) if path not in killed else None
        columns = [column for column in schema.SCANNED.names if column != "seconds"]
        if expected and any(rows[path][column] != expected[column] for column in columns):
            differ.append((rows[path], expected))
    check(f"{name}: rows are those of sconce.scan", not differ, differ[:1] or "")
    bad = [row for row in ran.rows if not row["ok"]]
    check(f"{name}: {made.BAD} bad files, and what killed", len(bad) == made.BAD + len(killed) == ran.failed, ran.failed)
    kinds = collections.Counter(row["error_type"] for row in bad)
    check(f"{name}: errors have their names", {"FormatError", "FileNotFoundError", "IsADirectoryError"} <= set(kinds), dict(kinds))
    for path in killed:
        kind, died = rows[path]["error_type"], "WorkerDied" if path in dead else "SconceError"
        check(f"{name}: {os.path.basename(path)} is a row", kind == died, rows[path]["error"])


def check_scans(scratch, count, whole):
    folder = os.path.join(scratch, "files")
    paths = made.checkpoints(folder, count)
    if whole:
        plain = Ran(scratch, "scan_ray.py", schema.SCANNED, made.list_of(paths, os.path.join(scratch, "plain.parquet")))
        scanned(plain, paths, ())
        check("scan_ray.py: over 50 files/s, its start included", plain.speed > 50, plain.speed)
        # Time of the processor: others may use it, too.
        started = time.process_time()
        for path in paths:
            schema.scan_row(path, False)
        speed = len(paths) / (time.process_time() - started)
        check("in one process: over 500 files a second of its time", speed > 500, round(speed))
    for script in ("scan_ray.py", "scan_spark.py"):
        killed = made.named(folder, f"kills-scan-{script}.pt", f"kills-all-{script}.pt")
        once = made.named(folder, f"kills-once-{script}.pt")
        files = [*paths[: count // 2], *killed, *once, *paths[count // 2 :]]
        ran = Ran(scratch, script, schema.SCANNED, made.list_of(files, os.path.join(scratch, script + ".parquet")), "--fail")
        scanned(ran, files, killed, killed[1:])
        check(f"{script}: a worker that dies once loses nothing", ran.by("path")[once[0]]["ok"], f"{ran.seconds:.0f} s")
        check(f"{script}: exits with 1", ran.code == 1, ran.code)
        if script == "scan_ray.py":
            check_guide(scratch, ran)
    return paths


def check_guide(scratch, ran):
    """The Python of the guide gives what is bad, or names what is not allowed."""
    page = (EXAMPLES.parent.parent / "docs" / "src" / "guides" / "fleets.md").read_text()
    [code] = re.findall(r"```python\n(.*?)```", page, re.S)
    os.symlink(ran.out, os.path.join(scratch, "scanned"))
    done = subprocess.run([sys.executable, "-c", code], cwd=scratch, capture_output=True, text=True)
    expected = [row["path"] for row in ran.rows if row["error_type"] or row["not_allowed"]]
    check("guide: its Python finds what is not clean", done.stdout == f"{expected}\n" and len(expected) > 20, done.stderr[-500:])


def check_convert(scratch, paths):
    long = made.named(os.path.join(scratch, "files"), "dies-writing.pt", megabytes=96)
    bad = {path for path in paths if not schema.scan_row(path, False)["ok"]}
    # What has more than tensors is not to be converted, and is a row, too.
    some = [path for at, path in enumerate(paths) if path in bad or at % 5 == 0] + long
    to = os.path.join(scratch, "converted")
    files = made.list_of(some, os.path.join(scratch, "some.parquet"))
    ran = Ran(scratch, "convert_ray.py", schema.CONVERTED, files, "--to", to)
    rows = ran.by("path")
    check("convert_ray.py: a row for each", sorted(row["path"] for row in ran.rows) == sorted(some), len(some))
    check("convert_ray.py: exits with 0 without --fail", ran.code == 0 and ran.failed >= made.BAD, f"{ran.failed} failed")
    there = {os.path.join(home, name) for home, _, names in os.walk(to) for name in names}
    named = {row["to"] for row in ran.rows if row["ok"]}
    check("convert_ray.py: no file but the whole ones", there == named, there ^ named or len(there))
    check("convert_ray.py: one whose worker died while it wrote", rows[long[0]]["ok"], rows[long[0]]["error"] or "")
    differ = [row["path"] for row in ran.rows if row["ok"] and not same(row)]
    check("convert_ray.py: tensors are PyTorch's", not differ and len(named) > 20, differ or len(named))


def same(row):
    ours = safetensors.torch.load_file(row["to"])
    theirs = {k: v for k, v in torch.load(row["path"], weights_only=False).items() if isinstance(v, torch.Tensor)}
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def check_infer(scratch, count):
    file, rows = os.path.join(scratch, "network.pt"), os.path.join(scratch, "rows.parquet")
    model, values = made.program(file), made.rows(rows, count)
    ran = Ran(scratch, "infer_ray.py", schema.INFERRED, file, rows)
    found = ran.by("id")
    check(f"infer_ray.py: a row for each of {count + 2}", sorted(row["id"] for row in ran.rows) == list(range(count + 2)))
    bad = {number for number, row in found.items() if not row["ok"]}
    check("infer_ray.py: two bad rows", bad == {count, count + 1} and ran.failed == 2, found[count]["error"].splitlines()[0])
    with torch.no_grad():
        expected = model(values).numpy()
    ours = np.array([found[number]["result"] for number in range(count)], np.float32)
    most = float(np.abs(ours - expected).max())
    check("infer_ray.py: numbers are PyTorch's", most <= 2e-6, f"{most:.1e} apart, {ran.speed} rows/s")
    with open(os.path.join(os.environ["SCONCE_FLEET_NOTES"], "loads")) as notes:
        loads = notes.read().split()
    check("infer_ray.py: one load an actor", len(loads) == len(set(loads)) == WORKERS, len(loads))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scratch")
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    print(f"sconce {sconce.__version__}, load {os.getloadavg()[0]:.1f}")
    paths = check_scans(options.scratch, 3000 if options.whole else 160, options.whole)
    check_convert(options.scratch, paths)
    check_infer(options.scratch, 20_000 if options.whole else 4_000)
    print(f"{len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

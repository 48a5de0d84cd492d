"""What the scripts share: their command lines, the marks of what was begun, and the line at the end."""

import argparse
import hashlib
import os
import sys
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def parser(text):
    """The options of all scripts."""
    options = argparse.ArgumentParser(description=text)
    options.add_argument("--out", required=True, help="a new folder for the table, on storage that all workers mount")
    options.add_argument("--actors", type=int, default=2, help="how many workers")
    options.add_argument("--fail", action="store_true", help="exit with 1 if anything failed")
    return options


def add_files(options):
    """The options of scripts that take files."""
    options.add_argument("files", nargs="+", help="files, folders, or Parquet files with a column `path`")
    options.add_argument("--isolate", action="store_true", help="look at each file in a process of its own from the start")
    return options


def add_rows(options):
    """The options of scripts that take a program and rows for it."""
    options.add_argument("model", help="what torch.jit.save or torch.export.save wrote")
    options.add_argument("rows", nargs="+", help="Parquet files or folders, with columns `id` and --column")
    options.add_argument("--column", default="x", help="lists of numbers, as long as the program wants them")
    options.add_argument("--batch", type=int, default=512, help="rows a call")
    return options


def new_folder(out):
    """The folder of the table, which must have nothing in it."""
    out = os.path.abspath(out)
    os.makedirs(out, exist_ok=True)
    if os.listdir(out):
        sys.exit(f"error: {out} is not empty: --out names a new folder")
    return out


def may_try(marks, paths):
    """Whether to begin with these: once with many, thrice with one. Who began before and did not end has died. `marks`
    is a folder that all workers mount."""
    os.makedirs(marks, exist_ok=True)
    name = hashlib.sha256("\0".join(paths).encode()).hexdigest()
    for number in range(3 if len(paths) == 1 else 1):
        try:
            open(os.path.join(marks, f"{name}-{number}"), "x").close()
            return True
        except FileExistsError:
            pass
    return False


def without_row(paths, out, schema):
    """The paths that have no row in the table."""
    have = set(pq.read_table(out, columns=["path"], schema=schema)["path"].to_pylist())
    return [path for path in paths if path not in have]


def write_lost(paths, out, schema):
    """Rows of files whose worker died each time."""
    died = {"ok": False, "error_type": "WorkerDied", "error": "its worker died each time"}
    if paths:
        rows = pa.Table.from_pylist([died | {"path": path} for path in paths], schema)
        pq.write_table(rows, os.path.join(out, "lost.parquet"))


def end(out, schema, started, options, what="files"):
    """Says how it went, in one line, and ends."""
    ok = pq.read_table(out, columns=["ok"], schema=schema)["ok"]
    failed, seconds = len(ok) - (pc.sum(ok).as_py() or 0), time.monotonic() - started
    print(f"{len(ok)} {what}, {failed} failed, {seconds:.1f} s, {len(ok) / seconds:.0f} {what}/s", flush=True)
    sys.exit(1 if options.fail and failed else 0)

#!/usr/bin/env python3
"""Runs one fuzz target for some time and adds what it did to time.tsv.

    fuzz/timed.py TARGET [--seconds N] [--binary PATH]

A line of the table: target, date, seconds, executions, what was found. A find is kept in artifacts/, and the script
ends with 1. Without --binary, cargo fuzz builds and runs the target.
"""
import argparse
import datetime
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(FOLDER, "time.tsv")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--binary")
    options = parser.parse_args()
    corpus = os.path.join(FOLDER, "corpus", options.target)
    artifacts = os.path.join(FOLDER, "artifacts", options.target)
    for folder in (corpus, artifacts):
        os.makedirs(folder, exist_ok=True)
    flags = ["-rss_limit_mb=2048", "-timeout=60", "-max_len=65536", f"-max_total_time={options.seconds}",
             "-print_final_stats=1", f"-artifact_prefix={artifacts}/"]
    words = os.path.join(FOLDER, "corpus", options.target + ".dict")
    if os.path.exists(words):
        flags.append("-dict=" + words)
    if options.binary:
        command = [options.binary, *flags, corpus]
    else:
        command = ["cargo", "+nightly", "fuzz", "run", options.target, "--", *flags]
    before = set(os.listdir(artifacts))
    run = subprocess.run(command, cwd=FOLDER, stderr=subprocess.PIPE, text=True, errors="replace")
    done = re.search(r"Done (\d+) runs in (\d+) second", run.stderr)
    runs = re.search(r"stat::number_of_executed_units:\s+(\d+)", run.stderr)
    seconds = int(done.group(2)) if done else 0
    executed = int(done.group(1)) if done else int(runs.group(1)) if runs else 0
    # A slow unit is no find: it ended in time.
    new = set(os.listdir(artifacts)) - before
    found = sorted(name for name in new if not name.startswith("slow-unit"))
    if run.returncode and not found:
        sys.exit(f"{options.target} did not run:\n{run.stderr[-2000:]}")
    row = [options.target, datetime.date.today().isoformat(), str(seconds), str(executed), ", ".join(found) or "-"]
    with open(TABLE, "a") as table:
        table.write("\t".join(row) + "\n")
    print("  ".join(row))
    if found:
        print(run.stderr[-3000:])
        sys.exit(1)


if __name__ == "__main__":
    main()

"""Which files the words of a command line mean."""

import fnmatch
import os
import sys

import pyarrow.parquet as pq


def files(words, pattern="*"):
    """Absolute paths, each once: of files, and of files in folders."""
    found = []
    for word in words:
        names = [word]
        if os.path.isdir(word):
            names = sorted(os.path.join(home, name) for home, _, names in os.walk(word) for name in names)
            names = fnmatch.filter(names, pattern)
        found += map(os.path.abspath, names)
    if not found:
        sys.exit(f"error: there are no files in {' '.join(words)}")
    return list(dict.fromkeys(found))


def listed(words):
    """The same, but of Parquet files the paths in their column `path`, as they stand."""
    tables = [word for word in words if word.endswith(".parquet")]
    found = [path for table in tables for path in pq.read_table(table, columns=["path"])["path"].to_pylist()]
    others = [word for word in words if word not in tables]
    return list(dict.fromkeys(map(os.path.abspath, found))) + (files(others) if others or not found else [])


def groups(words):
    """The row groups of Parquet files."""
    found = []
    for path in files(words, "*.parquet"):
        found += [{"path": path, "group": group} for group in range(pq.read_metadata(path).num_row_groups)]
    return found

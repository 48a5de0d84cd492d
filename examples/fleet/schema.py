"""The tables: their columns, and a row of them for each file. An engine's workers import this, and sconce only then."""

import time

import pyarrow as pa


def list_of(kind):
    """A list with the name inside that Parquet gives it, so that what is read has the type of what was written."""
    return pa.list_(pa.field("element", kind))


# A file that was looked at. Fixed: left to the data, a column of nothing but null has another type in each part.
SCANNED = pa.schema([
    ("path", pa.string()),
    ("ok", pa.bool_()),
    ("error_type", pa.string()),
    ("error", pa.string()),
    ("format", pa.string()),
    ("bytes", pa.int64()),
    ("tensors", pa.int64()),
    ("numel", pa.int64()),
    ("not_allowed", list_of(pa.string())),
    ("seconds", pa.float64()),
])  # fmt: skip
# The same in Spark's words.
SPARK = (
    "path string, ok boolean, error_type string, error string, format string, bytes bigint, tensors bigint, "
    "numel bigint, not_allowed array<string>, seconds double"
)
# A file that was converted, and to where.
CONVERTED = SCANNED.append(pa.field("to", pa.string()))
# A row that a model was given.
INFERRED = pa.schema([
    ("id", pa.int64()),
    ("ok", pa.bool_()),
    ("error_type", pa.string()),
    ("error", pa.string()),
    ("result", list_of(pa.float32())),
])  # fmt: skip

# What a file that nobody vouches for may take, in a process of its own.
APART = {"isolate": True, "max_seconds": 30, "max_memory": "2GiB"}


def failure(error):
    """The columns of what failed."""
    return {"ok": False, "error_type": type(error).__name__, "error": str(error)[:500]}


def scan_row(path, apart, then=None):
    """The row of a file: what `sconce.scan` finds, and what `then` adds. A bad file is a row."""
    import sconce

    started = time.perf_counter()
    row = dict.fromkeys(SCANNED.names) | {"path": path, "ok": True}
    try:
        seen = sconce.scan(path, **(APART if apart else {}))
        row |= {name: seen.get(name) for name in ("format", "bytes", "tensors", "numel")}
        row["not_allowed"] = seen.get("globals", {}).get("not_allowed")
        row |= then(path) if then else {}
    except (sconce.SconceError, OSError) as error:
        row |= failure(error)
    return row | {"seconds": time.perf_counter() - started}

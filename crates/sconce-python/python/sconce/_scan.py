"""``scan``: in this process, or in one of its own that may be killed."""

from __future__ import annotations

from . import _errors
from ._errors import MemoryLimitError, SconceError, TimeLimitError
from ._sconce import _scan, _size

# What the other process runs: the limit on its memory is set before anything is imported. It answers in JSON, since what
# a process says that looked at such a file is not to be unpickled.
_CHILD = """
import sys
limit = int(sys.argv[1])
if limit:
    try:
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except ImportError:
        pass
import json
from sconce._errors import SconceError
from sconce._sconce import _scan
try:
    answer = {"found": _scan(sys.argv[2] if len(sys.argv) > 2 else sys.stdin.buffer.read())}
except SconceError as error:
    answer = {"class": type(error).__name__, "message": str(error), "fields": error.__dict__}
except OSError as error:
    answer = {"errno": error.errno, "message": error.strerror}
json.dump(answer, sys.stdout)
"""


def scan(f, *, isolate=False, max_seconds=None, max_memory=None):
    """Looks at a file as ``sconce FILE --json`` does, and gives the same: what is in it, what it names, whether it is
    safe to load.

    With ``isolate=True`` another process does it, which is killed when it takes longer than ``max_seconds`` or needs
    more than ``max_memory`` bytes (or ``"2GiB"``): for files that nobody can vouch for.
    """
    if not isolate:
        if max_seconds is not None or max_memory is not None:
            raise ValueError("max_seconds and max_memory need isolate=True")
        return _scan(f)
    import json
    import os
    import subprocess
    import sys

    limit = 0 if max_memory is None else _size(max_memory)
    path = f if isinstance(f, (str, os.PathLike)) else None
    command = [sys.executable, "-c", _CHILD, str(limit)]
    if path is not None:
        name, given = os.fspath(path), None
        command.append(name)
    else:
        name, given = "<bytes>", f.read() if hasattr(f, "read") else bytes(f)
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=max_seconds, check=False)
    except subprocess.TimeoutExpired:
        message = f"error: time limit of {max_seconds} s exceeded\n  --> {name}"
        raise TimeLimitError(message, path=name, kind="limit", limit="time") from None
    said = done.stderr.decode("utf-8", "replace").strip()
    if limit and done.returncode and ("memory allocation" in said or "MemoryError" in said):
        message = f"error: memory limit of {limit} bytes exceeded\n  --> {name}"
        raise MemoryLimitError(message, path=name, kind="limit", limit="memory")
    if done.returncode:
        how = f"was killed by signal {-done.returncode}" if done.returncode < 0 else f"ended with {done.returncode}"
        message = f"error: the process that looked at the file {how}\n  --> {name}"
        raise SconceError(message, path=name, kind="limit", hints=[said] if said else ())
    answer = json.loads(done.stdout)
    if "found" in answer:
        return answer["found"]
    if "errno" in answer:
        raise OSError(answer["errno"], answer["message"], name)
    raise getattr(_errors, answer["class"])(answer["message"], **answer["fields"])

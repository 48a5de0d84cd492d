"""``scan``: in this process, or in one of its own that may be killed."""

from __future__ import annotations

from ._errors import FormatError, MemoryLimitError, SconceError, TimeLimitError
from ._sconce import _scan, _size

# What the other process runs: the limit on its memory is set before anything is imported.
_CHILD = """
import sys
limit = int(sys.argv[1])
if limit:
    try:
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except ImportError:
        pass
del sys.argv[1:3]
from sconce._cli import main
sys.exit(main())
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
    given = None
    if isinstance(f, (str, os.PathLike)):
        name = os.fspath(f)
        os.stat(name)
    else:
        name = "<bytes>"
        given = f.read() if hasattr(f, "read") else bytes(f)
    word = "-" if given is not None else ("./-" if name == "-" else name)
    command = [sys.executable, "-c", _CHILD, str(limit), "sconce", "info", "--json", "-q", "--", word]
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=max_seconds, check=False)
    except subprocess.TimeoutExpired:
        message = f"error: time limit of {max_seconds} s exceeded\n  --> {name}"
        raise TimeLimitError(message, path=name, kind="limit", limit="time") from None
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode < 0:
        message = f"error: the process that looked at the file was killed by signal {-done.returncode}\n  --> {name}"
        raise SconceError(message, path=name, kind="limit", hints=[said] if said else ())
    if limit and done.returncode and ("memory allocation" in said or "MemoryError" in said):
        message = f"error: memory limit of {limit} bytes exceeded\n  --> {name}"
        raise MemoryLimitError(message, path=name, kind="limit", limit="memory")
    if done.returncode in (0, 1) and done.stdout:
        return json.loads(done.stdout)
    if not said.startswith("error:"):
        raise SconceError(f"error: the process that looked at the file ended with {done.returncode}\n{said}", path=name)
    raise FormatError(said, path=name)

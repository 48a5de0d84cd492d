"""A plugin of pytest that keeps every sample which a scanner's own tests make.

    SAMPLES=FOLDER python -c "import keep_samples, pytest; pytest.main(['-p', 'keep_samples', ...])"

Files that tests write into temporary folders stay there, since nothing below `SAMPLES` is removed. What tests give to a
scanner in memory is written there too, by its hash. The plugin has to be imported before `tempfile`, which remembers
how files are removed.
"""

import os

HERE = os.path.realpath(os.environ["SAMPLES"])
FILES = os.path.join(HERE, "files")
MEMORY = os.path.join(HERE, "memory")
for folder in (FILES, MEMORY):
    os.makedirs(folder, exist_ok=True)
os.environ["TMPDIR"] = FILES


def spared(remove):
    def unless_below(path, *rest, **named):
        inside = isinstance(path, (str, os.PathLike)) and os.path.realpath(path).startswith(HERE + os.sep)
        return None if inside else remove(path, *rest, **named)

    return unless_below


os.unlink = spared(os.unlink)
os.remove = spared(os.remove)
os.rmdir = spared(os.rmdir)

import hashlib  # noqa: E402
import importlib.util  # noqa: E402
import shutil  # noqa: E402
import sys  # noqa: E402
from unittest import mock  # noqa: E402

shutil.rmtree = spared(shutil.rmtree)


# Models of TensorFlow are no matter here, and the tests of the other files import it.
for name in ("tensorflow", "tf_keras"):
    if importlib.util.find_spec(name) is None:
        stub = mock.MagicMock(name=name)
        stub.Model = stub.Module = object
        stub.function = lambda **_: lambda function: function
        stub.__spec__ = None
        sys.modules[name] = stub


def keep(data):
    data = bytes(data)
    if data:
        with open(os.path.join(MEMORY, hashlib.sha256(data).hexdigest()[:16]), "wb") as file:
            file.write(data)


def tell(module, name, of):
    """Keeps what `module.name` is called with, as `of` finds it in the arguments."""
    real = getattr(module, name)

    def told(*args, **named):
        try:
            of(*args, **named)
        except Exception:  # A test of bad arguments.
            pass
        return real(*args, **named)

    setattr(module, name, told)


def keep_stream(*args, **_):
    """Of arguments, the first that are bytes or a file."""
    for argument in args:
        if isinstance(argument, (bytes, bytearray, memoryview)):
            return keep(argument)
        if hasattr(argument, "read") and hasattr(argument, "seek"):
            at = argument.tell()
            data = argument.read()
            argument.seek(at)
            return keep(data)


def pytest_configure():
    try:
        import fickling.analysis
        import fickling.fickle
    except ImportError:
        pass
    else:
        load = fickling.fickle.Pickled.load

        def kept(*args, **named):
            keep_stream(*args)
            return load(*args, **named)

        fickling.fickle.Pickled.load = staticmethod(kept)
        # A pickle that was put together from opcodes.
        tell(fickling.analysis, "check_safety", lambda pickled, *_, **__: keep(pickled.dumps()))
    try:
        import picklescan.scanner
    except ImportError:
        pass
    else:
        for name in ("scan_pickle_bytes", "scan_zip_bytes", "scan_numpy", "scan_pytorch", "scan_bytes", "scan_7z_bytes"):
            if hasattr(picklescan.scanner, name):
                tell(picklescan.scanner, name, keep_stream)

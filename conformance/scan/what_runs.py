"""Says what samples run when Python unpickles them, by unpickling them.

    python3 conformance/scan/what_runs.py < PATHS > ANSWERS

Each sample is given to a process of its own, which refuses whatever its audit hook hears of beyond unpickling: code,
files, processes, connections. The answer is a line of JSON for each path: `runs` with the first event that was refused,
`inert` where every pickle was read to its end and nothing was heard, `fails` where a pickle broke off before anything
was heard. Still, give it nothing that you would not see run.
"""

import io
import json
import os
import pickle
import resource
import struct
import select
import signal
import sys
import tarfile
import zipfile
import zlib

SECONDS = 20
# Heard while modules are imported and classes are made, too.
OF_IMPORTS = ("compile", "exec", "open", "import", "marshal.", "code.__new__", "os.listdir", "os.scandir", "object.__getattr__",
              "sys._getframe", "builtins.id", "function.__new__", "ctypes.dlopen", "ctypes.dlsym", "ctypes.dlsym/handle",
              "sys.unraisablehook", "glob.glob", "os.putenv", "os.unsetenv", "cpython.", "gc.", "array.__new__", "os.add_dll_directory", "tempfile.",
              "ctypes.", "mmap.__new__", "os.stat", "shutil.", "time.sleep", "object.__setattr__", "object.__delattr__")
INERT = ("pickle.find_class", "import", "object.__getattr__", "builtins.id", "gc.", "array.__new__", "sys._getframe", "cpython.",
         "object.__setattr__", "object.__delattr__", "time.sleep", "sys.unraisablehook", "sys.excepthook")


class Refused(BaseException):
    pass


def pickles_of(data, depth=0):
    """The pickles that loaders would find in a file, each as bytes that may hold several one after the other."""
    if depth > 3:
        return
    if data[:4] == b"PK\x03\x04":
        for member in members(data):
            yield from pickles_of(member, depth + 1)
    elif data[:6] == b"\x93NUMPY":
        import numpy.lib.format as format
        stream = io.BytesIO(data)
        version = format.read_magic(stream)
        _, _, dtype = format._read_array_header(stream, version)
        if dtype.hasobject:
            yield stream.read()
    elif data[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in tar.getmembers():
                if member.isfile():
                    yield from pickles_of(tar.extractfile(member).read(), depth + 1)
    elif data[:6] == b"7z\xbc\xaf\x27\x1c":
        import py7zr
        with py7zr.SevenZipFile(io.BytesIO(data)) as packed:
            factory = py7zr.io.BytesIOFactory(1 << 26)
            packed.extractall(factory=factory)
            for member in factory.products.values():
                member.seek(0)
                yield from pickles_of(member.read(), depth + 1)
    else:
        for packed in (zlib.decompress, __import__("gzip").decompress, __import__("bz2").decompress, __import__("lzma").decompress):
            try:
                data = packed(data)
                break
            except Exception:
                pass
        yield data


def members(data):
    """Every member of a zip file, whatever its flags, its checksum and its local header say."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
    except Exception:
        return
    for info in infos:
        head = data[info.header_offset:info.header_offset + 30]
        if len(head) < 30:
            continue
        name, extra = struct.unpack("<HH", head[26:30])
        start = info.header_offset + 30 + name + extra
        raw = data[start:start + info.compress_size]
        try:
            yield zlib.decompressobj(-15).decompress(raw) if info.compress_type == zipfile.ZIP_DEFLATED else raw
        except zlib.error:
            pass


def child(path):
    with open(path, "rb") as file:
        data = file.read()
    blobs = list(pickles_of(data))
    importing = [0]
    armed = [False]
    first = []

    def hook(event, args):
        if not armed[0]:
            return
        if event.startswith(INERT):
            return
        if event.startswith(OF_IMPORTS) and (importing[0] or in_import()):
            return
        armed[0] = False
        first.append(f"{event} {args!r}"[:200])
        raise Refused(event)

    def in_import():
        frame = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                return True
            frame = frame.f_back
        return False

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            importing[0] += 1
            try:
                return super().find_class(module, name)
            finally:
                importing[0] -= 1

        def persistent_load(self, pid):
            return pid

    sys.addaudithook(hook)
    fails = ""
    for blob in blobs:
        stream = io.BytesIO(blob)
        while stream.tell() < len(blob):
            armed[0] = True
            try:
                made = Unpickler(stream).load()
                del made
            except Refused:
                pass
            except SystemExit as end:
                first.append(f"sys.exit {end}")
            except BaseException as error:
                fails = fails or f"{type(error).__name__}: {error}"[:200]
                armed[0] = False
                break
            armed[0] = False
            if first:
                break
        if first:
            break
    answer = {"runs": first[0]} if first else {"fails": fails} if fails else {"inert": len(blobs)}
    os.write(3, json.dumps(answer).encode())
    os._exit(0)


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (32 << 30, 32 << 30))
    # Nothing that comes past the audit hook writes a file.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def asked(path):
    """What a sample does, from a process of its own."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(write, 3)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            os.chdir("/")
            limits()
            child(path)
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as answers:
        ready, _, _ = select.select([answers], [], [], 2 * SECONDS)
        text = answers.read1(1 << 16) if ready else b""
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(process, 0)
    if not ready:
        return {"fails": "too slow"}
    return json.loads(text) if text else {"fails": "it ended the process"}


def main():
    # What these do while they are imported is no matter of the samples: torch asks ldconfig for libraries and makes
    # a folder for what it compiles.
    for module in ("numpy", "torch", "torchvision"):
        try:
            __import__(module)
        except ImportError:
            pass
    for line in sys.stdin:
        path = line.rstrip("\n")
        print(json.dumps({"path": path, **asked(path)}), flush=True)


if __name__ == "__main__":
    main()

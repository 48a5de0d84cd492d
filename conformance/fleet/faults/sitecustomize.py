"""Faults in workers, by the names of files. Every Python that has this folder on its path runs it when it starts.

kills-once: who scans or converts it dies, the first time. kills-scan: who scans it without `isolate` dies, and so does
the process of its own. kills-all: who scans it dies, however it does. `SCONCE_FLEET_NOTES` is a folder for what must be
known across processes: what died once, and which process loaded a program.
"""

import importlib.abc
import importlib.util
import os
import signal
import sys
import threading

NOTES = os.environ["SCONCE_FLEET_NOTES"]


def first(name):
    """Whether this is the first time, of all processes."""
    try:
        open(os.path.join(NOTES, name), "x").close()
    except FileExistsError:
        return False
    return True


def spoil(sconce):
    scan, convert, load = sconce.scan, sconce.convert, sconce.jit.load

    def failing_scan(f, **options):
        name = os.path.basename(f)
        if name.startswith("kills-all") or name.startswith("kills-scan") and not options.get("isolate"):
            os._exit(9)
        if name.startswith("kills-once") and first(name):
            os._exit(9)
        return scan(f, **options)

    def failing_convert(src, dst, **options):
        # In the midst of writing.
        if os.path.basename(src).startswith("dies-writing") and first(os.path.basename(src)):
            threading.Timer(0.05, os._exit, (9,)).start()
        return convert(src, dst, **options)

    def noted_load(f, **options):
        with open(os.path.join(NOTES, "loads"), "a") as notes:
            notes.write(f"{os.getpid()}\n")
        return load(f, **options)

    sconce.scan, sconce.convert, sconce.jit.load = failing_scan, failing_convert, noted_load


class Spoiler(importlib.abc.MetaPathFinder):
    """Lets sconce be imported as ever, and spoils it then."""

    def find_spec(self, name, path, target=None):
        if name != "sconce":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def run_and_spoil(module):
            run(module)
            spoil(module)

        spec.loader.exec_module = run_and_spoil
        return spec


sys.meta_path.insert(0, Spoiler())
# The process that looks at a file for another.
if "-c" in sys.orig_argv and any(os.path.basename(word).startswith("kills-scan") for word in sys.orig_argv):
    os.kill(os.getpid(), signal.SIGSEGV)

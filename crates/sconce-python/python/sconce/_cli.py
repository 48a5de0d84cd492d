"""The command ``sconce``. Imports nothing but the extension, so that it starts quickly."""

import signal
import sys


def main():
    """Runs the command with the words of the command line. Gives its exit code."""
    # Python's handlers would wait until the command is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    from sconce._sconce import _main

    return _main(["sconce", *sys.argv[1:]])

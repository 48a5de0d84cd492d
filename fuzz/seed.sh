#!/bin/sh
# Fills fuzz/corpus with the fixtures, each kind of file where its target looks for it.
#
#     fuzz/seed.sh [FOLDER...]
#
# Further folders are searched for checkpoints too. Files are named by their contents, as libFuzzer
# names them, so running this again adds nothing twice. Needs python3 to take pickles out of archives.
set -eu
cd "$(dirname "$0")"
exec python3 - ../fixtures/files ../crates/sconce-syntax/tests/filetests \
    ../crates/sconce-ir/tests/filetests ../crates/sconce-compiler/tests "$@" <<'PYTHON'
import hashlib, os, sys, zipfile

LARGEST = 1 << 16
ALL = ("checkpoint", "identify")


def add(target, data):
    if 0 < len(data) <= LARGEST:
        folder = os.path.join("corpus", target)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, hashlib.sha1(data).hexdigest()), "wb") as file:
            file.write(data)


def pickles(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return [archive.read(name) for name in archive.namelist() if name.endswith(".pkl")]
    except Exception:  # many of these files are broken on purpose
        return []


def programs(path):
    """The code files of a TorchScript archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [archive.read(name) for name in archive.namelist() if name.endswith(".py")]
    except Exception:
        return []


for top in sys.argv[1:]:
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                data = file.read()
            for target in ALL:
                add(target, data[:LARGEST] if target == "identify" else data)
            if data[:4] == b"PK\x03\x04" or b"PK\x05\x06" in data:
                add("zip", data)
                for found in pickles(path):
                    add("pickle", found)
            elif data[257:262] == b"ustar" or name.endswith(".tar"):
                add("tar", data)
            elif data[:1] == b"\x80":
                add("pickle", data)
                add("legacy", data)
            if name.endswith((".npy", ".npz", ".safetensors")):
                add("safetensors_npy", data)
            if name.endswith(".py"):
                add("syntax", data)
            if name.endswith(".ir"):
                for part in data.split(b"graph(")[1:]:
                    add("graph_text", b"graph(" + part)
            for code in programs(path):
                add("syntax", code)
                add("torchscript", code)
                if len(data) < LARGEST:
                    add("torchscript", b"P" + data)
PYTHON

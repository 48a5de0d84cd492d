#!/usr/bin/env python3
"""Says what PyTorch makes of archives that are there already.

    real.py OUT FILE_OR_FOLDER...

Every TorchScript archive among the files, each content once, gets a folder in OUT as `generate.py`
makes them: `model.pt`, `resaved.pt`, `graphs/`, `inlined/`. One that PyTorch refuses has `torch_error.txt` instead.
"""
import hashlib
import pathlib
import shutil
import sys
import zipfile

import torch

from generate import graphs, moves


def describe(folder):
    """PyTorch's graphs and archive of `model.pt` in a folder, or its error."""
    model = folder / "model.pt"
    try:
        loaded = torch.jit.load(str(model))
        torch.jit.save(loaded, str(folder / "resaved.pt"))
        graphs(model)
        if moves(folder / "resaved.pt"):
            # Upgraded code comes out simpler once it is read again.
            (folder / "moves").touch()
    except RuntimeError as error:
        (folder / "torch_error.txt").write_text(str(error))


def is_torchscript(path):
    try:
        with zipfile.ZipFile(path) as archive:
            last = {name.rsplit("/", 1)[-1] for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        return False
    return bool(last & {"constants.pkl", "model.json"})


def main():
    out, *places = map(pathlib.Path, sys.argv[1:])
    seen = set()
    for place in places:
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        for path in filter(is_torchscript, filter(pathlib.Path.is_file, files)):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest in seen:
                continue
            seen.add(digest)
            folder = out / f"{path.stem}_{digest[:8]}"
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / "model.pt")
            describe(folder)


if __name__ == "__main__":
    main()

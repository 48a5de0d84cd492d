"""Save every fixture again with `sconce` and with PyTorch, and compare the files byte for byte.

    python3 conformance/save.py [--sconce PATH] [--only TEXT]

For each file that PyTorch loads, `sconce convert IN OUT.pt` must give the bytes of
`torch.save(torch.load(IN), OUT.pt)`. Where an object is not PyTorch's own (whole modules, numpy,
classes of the standard library), equal meaning is enough: PyTorch must load both and see the same
tensors. Exits 1 when anything differs.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "fixtures"))
sys.dont_write_bytecode = True
warnings.simplefilter("ignore")

import run  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = os.path.join(os.path.dirname(HERE), "target", "debug", "sconce")
    parser.add_argument("--sconce", default=default, help="the binary (default: target/debug/sconce)")
    parser.add_argument("--only", default="", help="only files whose path contains this text")
    options = parser.parse_args()
    run.in_environment_with_torch()
    import expect
    import torch

    counts = {"equal bytes": 0, "equal meaning": 0, "not supported": 0, "failed": 0}
    os.chdir(os.path.join(run.FIXTURES, "files"))
    for path, entry in sorted(run.fixture_entries().items()):
        name = os.path.relpath(path)
        skipped = name.startswith(("bad/", "hand/lookalike/")) or "torchscript" in name
        if options.only not in name or skipped or "tensors" not in entry or path.endswith((".json", ".pkl", ".tar")):
            continue
        safe = entry.get("weights_only") == "ok"
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = os.path.join(folder, "out.pt"), os.path.join(folder, "torch", "out.pt")
            os.mkdir(os.path.dirname(theirs))
            done = subprocess.run([options.sconce, "convert", path, ours], stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                reason = done.stderr.strip().split("\n")[0]
                unsupported = "cannot be written" in reason or "cannot be pickled" in reason
                counts["not supported" if unsupported else "failed"] += 1
                print("NOT SUPPORTED" if unsupported else "FAILED", name, ascii(reason))
                continue
            try:
                loaded = torch.load(path, weights_only=safe)
                torch.save(loaded, theirs)
            except Exception as error:
                print("SKIPPED", name, f"PyTorch cannot save it again: {type(error).__name__}: {ascii(str(error))[:100]}")
                continue
            with open(ours, "rb") as left, open(theirs, "rb") as right:
                if left.read() == right.read():
                    counts["equal bytes"] += 1
                    continue
            if safe:
                counts["failed"] += 1
                print("FAILED", name, "the bytes differ")
                continue
            try:
                again, before = expect.walk(torch.load(ours, weights_only=False)), expect.walk(torch.load(theirs, weights_only=False))
            except Exception as error:
                counts["failed"] += 1
                print("FAILED", name, f"PyTorch cannot load it: {type(error).__name__}: {ascii(str(error))[:150]}")
                continue
            counts["equal meaning" if again == before else "failed"] += 1
            if again != before:
                print("FAILED", name, "PyTorch sees other tensors")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    passed = counts["equal bytes"] + counts["equal meaning"]
    print(f"{passed} passed, {counts['failed']} failed")
    return 1 if counts["failed"] or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Exports the architectures of architectures.py, and compares what sconce shows and computes with real PyTorch.

    python run_architectures.py FOLDER [--sconce SCONCE] [--filter TEXT] [--dialect core] [--part K/N] [--keep]

Each is exported as it is (training) and decomposed (core); the batch is a symbol where the code allows it, and a second
batch of another size is then run, too. `sconce code` must print what `print(torch.export.load(FILE))` prints, and
`sconce run` must give what `ep.module()` gives; `sconce resave` must give the file's bytes, and with `--like-torch` those that
`torch.export.save(torch.export.load(FILE))` gives. Files that agreed are removed from FOLDER. Without --sconce they are only
made; files that are there are not made again. Needs torchvision, timm and transformers.
"""

import argparse
import collections
import contextlib
import difflib
import io
import json
import logging
import os
import pathlib
import subprocess
import sys
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import run as environment  # noqa: E402

environment.in_environment_with_torch()

try:
    import timm  # noqa: F401
    import torchvision  # noqa: F401
    import transformers  # noqa: F401
except ImportError:
    environment.install("torchvision", "timm", "transformers")

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

import architectures
from run_models import difference, plain

DIALECTS = ["training", "core"]
# What a run may be instead of equal.
RUNS = ["unsupported", "fails", "differs"]
# What is compared, and what is said where it is equal.
EQUAL = {
    "run": "run equal",
    "text": "text equal",
    "resave": "saved again byte for byte",
    "resave --like-torch": "saved as PyTorch saves what it loads",
}


def detached(tree):
    return pytree.tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, plain(tree))


def exported(name, dialects, fixed):
    """The programs, what they are called with, and whether the batch may have another size."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        model, arguments, batched = architectures.make(name)
        args = arguments(2)
        shapes = tuple({0: Dim.AUTO} for _ in args) if batched and not fixed else None
        shapes = (shapes,) if takes_star(model) and shapes else shapes
        program = torch.export.export(model, args, dynamic_shapes=shapes, strict=False)
        programs = {"training": program}
        if "core" in dialects:
            programs["core"] = program.run_decompositions()
    return programs, args, arguments


def make(name, dialects, folder):
    """Writes what one architecture needs, or why there is nothing."""
    bases = {dialect: folder / f"{name}.{dialect}" for dialect in dialects}
    bases = {dialect: base for dialect, base in bases.items() if not pathlib.Path(f"{base}.json").exists()}
    if not bases:
        return
    programs, failed = {}, None
    for fixed in (False, True):
        try:
            programs, args, arguments = exported(name, bases, fixed)
            break
        except Exception as error:
            # What the code does not allow for a batch of any size, it may for one.
            failed = error
    for dialect, base in bases.items():
        try:
            if dialect not in programs:
                raise failed
            program = programs[dialect]
            torch.export.save(program, f"{base}.pt2")
            with torch.no_grad():
                module = program.module()
                calls = [args]
                if program.range_constraints:
                    calls.append(arguments(3))
                # What a graph writes to its arguments, must not be seen.
                want = [detached(module(*detached(call))) for call in calls]
            torch.save([list(call) for call in calls], f"{base}.calls.pt")
            torch.save(want, f"{base}.want.pt")
            started = time.perf_counter()
            loaded = torch.export.load(f"{base}.pt2")
            seconds = time.perf_counter() - started
            pathlib.Path(f"{base}.txt").write_text(str(loaded))
            again = saved_again(base)
            again.parent.mkdir(exist_ok=True)
            torch.export.save(loaded, again)
            same = again.read_bytes() == pathlib.Path(f"{base}.pt2").read_bytes()
            facts = {"load": seconds, "calls": len(calls), "PyTorch gives the same bytes": same}
        except Exception as error:
            text = str(error).strip().splitlines()
            facts = {"failed": f"{type(error).__name__}: {text[0][:150] if text else ''}"}
        pathlib.Path(f"{base}.json").write_text(json.dumps(facts))


def saved_again(base):
    """What PyTorch saves of what it loads. Archives know their file's name."""
    return base.parent / "again" / f"{base.name}.pt2"


def takes_star(model):
    import inspect

    kinds = [parameter.kind for parameter in inspect.signature(model.forward).parameters.values()]
    return inspect.Parameter.VAR_POSITIONAL in kinds


def largest(tree):
    tensors = [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
    return max([1.0] + [float(tensor.abs().max()) for tensor in tensors if tensor.numel() and tensor.isfinite().all()])


def scaled(by):
    return lambda tensor: tensor / by if tensor.is_floating_point() else tensor


def check(base, facts, sconce):
    """The kinds of what is wrong, and how."""
    wrong = []
    shown = subprocess.run([sconce, "code", f"{base}.pt2"], capture_output=True, text=True)
    want = pathlib.Path(f"{base}.txt").read_text()
    if shown.returncode or shown.stdout != want:
        lines = difflib.unified_diff(want.splitlines(), shown.stdout.splitlines(), "PyTorch", "sconce", lineterm="", n=0)
        wrong.append(("text", shown.stderr.strip() or " | ".join(list(lines)[2:6])[:400]))
    resaved = base.parent / "resaved" / f"{base.name}.pt2"
    resaved.parent.mkdir(exist_ok=True)
    for kind, words, want in [("resave", [], f"{base}.pt2"), ("resave --like-torch", ["--like-torch"], saved_again(base))]:
        done = subprocess.run([sconce, "resave", "--force", *words, f"{base}.pt2", resaved], capture_output=True, text=True)
        if done.returncode or resaved.read_bytes() != pathlib.Path(want).read_bytes():
            wrong.append((kind, done.stderr.strip() or "other bytes than PyTorch's"))
        resaved.unlink(missing_ok=True)
    calls = torch.load(f"{base}.calls.pt")
    command = [sconce, "run", f"{base}.pt2", "--output", f"{base}.out.pt", "--force", "--quiet"]
    for index, call in enumerate(calls):
        torch.save(call, f"{base}.in{index}.pt")
        command += ["--inputs", f"{base}.in{index}.pt"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        text = " | ".join(line for line in done.stderr.splitlines() if line.strip())[:400]
        wrong.append(("unsupported" if "not supported" in text else "fails", text))
    else:
        want = torch.load(f"{base}.want.pt")
        want = want if len(want) > 1 else want[0]
        found = plain(torch.load(f"{base}.out.pt", weights_only=False))
        # Random weights make numbers of any size: what counts is how far they are off beside the largest.
        differs = difference(*[pytree.tree_map_only(torch.Tensor, scaled(largest(want)), tree) for tree in (found, want)])
        if differs:
            wrong.append(("differs", differs))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sconce")
    parser.add_argument("--filter", default="")
    parser.add_argument("--dialect", choices=DIALECTS)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    part, parts = map(int, options.part.split("/"))
    dialects = [options.dialect] if options.dialect else DIALECTS
    options.folder.mkdir(parents=True, exist_ok=True)
    counts = collections.Counter()
    for name in [name for name in architectures.NAMES if options.filter in name][part - 1 :: parts]:
        make(name, dialects, options.folder)
        for dialect in dialects:
            base = options.folder / f"{name}.{dialect}"
            facts = json.loads(pathlib.Path(f"{base}.json").read_text())
            if "failed" in facts:
                counts["cannot be exported"] += 1
                print(f"{name} ({dialect}) cannot be exported: {facts['failed']}", flush=True)
                continue
            if facts.get("agreed"):
                counts.update(EQUAL.values())
                counts["PyTorch gives the same bytes"] += facts["PyTorch gives the same bytes"]
                continue
            if not options.sconce:
                print(f"{name} ({dialect}) made", flush=True)
                continue
            wrong = check(base, facts, options.sconce)
            for kind, text in wrong:
                print(f"{name} ({dialect}) {kind}: {text}", flush=True)
            counts.update(kind for kind, _ in wrong)
            for kind, what in EQUAL.items():
                counts[what] += all(found not in (RUNS if kind == "run" else [kind]) for found, _ in wrong)
            counts["PyTorch gives the same bytes"] += facts["PyTorch gives the same bytes"]
            if not wrong and not options.keep:
                for file in [*options.folder.glob(f"{name}.{dialect}.*"), saved_again(base)]:
                    if file.suffix != ".json":
                        file.unlink()
                pathlib.Path(f"{base}.json").write_text(json.dumps({**facts, "agreed": True}))
    print(", ".join(f"{count} {what}" for what, count in counts.most_common()))
    return 1 if any(counts[kind] for kind in ["text", "resave", "resave --like-torch", "fails", "differs"]) else 0


if __name__ == "__main__":
    sys.exit(main())

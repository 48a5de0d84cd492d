"""TorchScript archives: sconce's graphs and saved archives beside PyTorch's.

    python conformance/torchscript/compare.py MODELS [--dump BINARY] [--verbose]

MODELS is what `generate.py` made: a folder for each model with `model.pt`, PyTorch's
`resaved.pt` (torch.jit.save(torch.jit.load(model.pt))), `graphs/` and `inlined/`, one text a method.
"""

import argparse
import io
import pickle
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

VALUE = re.compile(r"%[A-Za-z0-9_.]+")
COMMENT = re.compile(r" # .*:\d+:\d+$", re.M)
WARN = re.compile(r"warn_id=\d+")
# A custom object is shown by its place in memory.
OBJECT = re.compile(r"object\((0x[0-9a-f]+)?\)")

# Model, record and reason: what is known to differ, and why.
DELIBERATE = {
    tuple(line.split("\t")[:2])
    for line in (Path(__file__).parent / "deliberate.tsv").read_text().splitlines()
    if not line.startswith("#")
}


def canonical(text, comments=True):
    """A graph with its values numbered by first appearance."""
    if not comments:
        text = COMMENT.sub("", text)
    text = OBJECT.sub("object()", WARN.sub("warn_id=", text))
    return "\nwith ".join(numbered(graph) for graph in text.split("\nwith "))


def numbered(graph):
    numbers = {}
    return VALUE.sub(lambda m: "%" + str(numbers.setdefault(m.group(), len(numbers))), graph)


def records(path):
    """The records of an archive without their folder."""
    with zipfile.ZipFile(path) as archive:
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist()}


def compared(name):
    return name.startswith("code/") or name in ("data.pkl", "constants.pkl")


class Places(pickle.Unpickler):
    """Reads debug records, which name one function: that of lists of numbers."""

    def find_class(self, module, name):
        return list


def places(debug):
    """What debug records say, but for where in the bodies that PyTorch has as text, which are not the same text here."""
    if debug is None:
        return None
    _, table, records = Places(io.BytesIO(debug)).load()
    said = []
    for offset, ((lines, name, line), start, end), tag in records:
        is_own = table[name] == "<string>"
        text = "" if is_own else "".join(table[line] for line in lines)
        said.append((offset, text, table[name], line, *((0, 0) if is_own else (start, end)), tag))
    return said


def compare_graphs(model, ours, folder, kind, tally, report):
    for golden in sorted((model / folder).glob("*.txt")):
        path = ours / folder / golden.name
        wanted = golden.read_text()
        if not path.exists():
            tally[kind, "missing"] += 1
            report(f"{model.name}: no {kind} of {golden.stem}")
            continue
        found = path.read_text()
        if canonical(found) == canonical(wanted):
            tally[kind, "passed"] += 1
            tally[f"{kind} text, names too", "passed" if found == wanted else "different"] += 1
        elif canonical(found, False) == canonical(wanted, False):
            tally[kind, "passed but for places"] += 1
            report(f"{model.name}: places differ in the {kind} of {golden.stem}")
        else:
            tally[kind, "failed"] += 1
            report(f"{model.name}: the {kind} of {golden.stem} differs")


def compare_records(model, ours, tally, report):
    wanted, found = records(model / "resaved.pt"), records(ours / "resaved.pt")
    for name in filter(compared, wanted):
        same = found.get(name) == wanted[name]
        kind = "debug_pkl" if name.endswith(".debug_pkl") else "code" if name.startswith("code/") else name
        if not same and kind == "debug_pkl" and places(found.get(name)) == places(wanted[name]):
            tally[kind, "passed but for PyTorch's own bodies"] += 1
            continue
        if not same and (model.name, name) in DELIBERATE:
            tally[kind, "different on purpose"] += 1
            continue
        tally[kind, "passed" if same else "failed"] += 1
        if not same:
            report(f"{model.name}: {name} differs")
    extra = [name for name in found if compared(name) and name not in wanted]
    tally["record order", "passed"] += 1
    if extra:
        tally["code", "failed"] += len(extra)
        report(f"{model.name}: not in PyTorch's file: {extra}")
    order = [name for name in wanted if compared(name)]
    if [name for name in found if compared(name)] != order:
        tally["record order", "passed"] -= 1
        tally["record order", "failed"] += 1
        report(f"{model.name}: the order of records differs")
    tensors = [name for name in wanted if name.startswith(("data/", "constants/"))]
    same = all(found.get(name) == wanted[name] for name in tensors)
    if (model.name, "data.pkl") not in DELIBERATE:
        tally["tensor data", "passed" if same else "failed"] += 1
        if not same:
            report(f"{model.name}: the bytes of a tensor differ")
    first, second = (ours / "resaved.pt").read_bytes(), (ours / "again/resaved.pt").read_bytes()
    moves = (model / "moves").exists()
    verdict = "passed" if first == second else "moves in PyTorch too" if moves else "failed"
    tally["fixed point", verdict] += 1
    if verdict == "failed":
        report(f"{model.name}: saving once more gives another file")


def compare_outputs(model, ours, tally, report):
    """PyTorch loads our file and computes what it computes with its own."""
    import torch
    import torchvision  # noqa: F401 - its operators

    from generate import call

    torch.jit.load(str(ours / "resaved.pt"))
    tally["PyTorch loads it", "passed"] += 1
    calls = model / "calls.pt"
    if not calls.exists():
        return
    for expected in torch.load(calls, weights_only=False):
        said = "result" if "result" in expected else "error"
        result = expected[said]
        # Programs that ask for derivatives are compared by their numbers, others outright.
        derived = expected["compare"] == "numbers"
        found = call(str(ours / "resaved.pt"), expected["arguments"], derived)
        same = found[0] == said
        if said == "result":
            same = same and equal(result, found[1])
        else:
            same = same and result.strip().split("\n")[-1] == found[1].strip().split("\n")[-1]
        tally["PyTorch computes the same", "passed" if same else "failed"] += 1
        if not same:
            report(f"{model.name}: PyTorch computes something else")


def equal(one, other):
    import torch

    if isinstance(one, torch.Tensor):
        if not isinstance(other, torch.Tensor) or one.dtype != other.dtype:
            return False
        if one.is_quantized or one.is_sparse:
            return str(one) == str(other)
        return one.shape == other.shape and torch.equal(one.nan_to_num(), other.nan_to_num())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    return one == other or one != one


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    parser.add_argument("--dump", default="target/debug/examples/dump")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--no-torch", action="store_true")
    options = parser.parse_args()
    models = sorted(path.parent for path in options.models.glob("*/model.pt"))
    tally, reports = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        lines = "".join(f"{model / 'model.pt'}\t{out / model.name}\n" for model in models)
        subprocess.run([options.dump], input=lines.encode(), check=True)
        for model in models:
            ours = out / model.name
            error = ours / "error.txt"
            if (model / "torch_error.txt").exists():
                tally["PyTorch refuses it", "so does sconce" if error.exists() else "sconce reads"] += 1
                continue
            failures = ours / "failures.txt"
            if failures.exists() and failures.read_text():
                reports.append(f"{model.name}: {failures.read_text()}")
            if error.exists():
                tally["load and save", "failed"] += 1
                reports.append(f"{model.name}: {error.read_text()}")
            else:
                tally["load and save", "passed"] += 1
            compare_graphs(model, ours, "graphs", "graph", tally, reports.append)
            compare_graphs(model, ours, "inlined", "inlined graph", tally, reports.append)
            if (ours / "again/resaved.pt").exists():
                compare_records(model, ours, tally, reports.append)
                if not options.no_torch:
                    try:
                        compare_outputs(model, ours, tally, reports.append)
                    except RuntimeError as error:
                        tally["PyTorch loads it", "failed"] += 1
                        reports.append(f"{model.name}: PyTorch refuses it: {error}")
    for line in reports if options.verbose else reports[:20]:
        print(line)
    for (what, verdict), count in sorted(tally.items()):
        print(f"{what:30} {verdict:24} {count:6}")
    failed = sum(count for (_, verdict), count in tally.items() if verdict in ("failed", "missing"))
    print(f"{len(models)} models, {failed} failures")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

"""Compares sconce with PyTorch on the programs that programs.py made.

    python conformance/pt2/check.py [--make] SCONCE FOLDER

With --make the programs are made first, and PyTorch is installed where it is not.

For each program: `sconce code` prints what PyTorch prints; `sconce resave` gives the same bytes; `sconce resave
--like-torch` gives what PyTorch's own save gives of its own load; the card and `sconce ls` agree with PyTorch on
weights, inputs and outputs; `sconce convert` gives the state dict; `sconce scan` finds nothing; `sconce edit --weights`
puts other numbers in, with the program as it was; `sconce merge` gives what PyTorch's `package_pt2` gives. Exit code 1
when anything differs.
"""

import argparse
import difflib
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)


def difference(ours, theirs):
    lines = difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "PyTorch", "sconce", lineterm="", n=0)
    return "\n".join(list(lines)[:8])


def records(path):
    with zipfile.ZipFile(path) as archive:
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist()}


def unlike(ours, theirs):
    ours, theirs = records(ours), records(theirs)
    names = [name for name in ours | theirs if ours.get(name) != theirs.get(name)]
    return ", ".join(names)


def card(sconce, path, program):
    import torch

    said = json.loads(run(sconce, "info", "--json", path).stdout)
    exported = said["exported"]
    signature = program.graph_signature
    inputs = [value["name"] for value in exported["program"]["inputs"]]
    want = [spec.arg.name for spec in signature.input_specs if spec.kind.name == "USER_INPUT"]
    if inputs != want:
        return f"inputs {inputs}, not {want}"
    nodes = sum(
        node.op == "call_function" and "getitem" not in str(node.target)
        for module in program.graph_module.modules()
        if isinstance(module, torch.fx.GraphModule)
        for node in module.graph.nodes
    )
    if exported["program"]["nodes"] < nodes:
        return f"{exported['program']['nodes']} nodes, not {nodes}"
    held = {**program.state_dict, **{k: v for k, v in program.constants.items() if isinstance(v, torch.Tensor)}}
    if said["tensors"] != len(held):
        return f"{said['tensors']} tensors, not {len(held)}"
    return None


def state_dict(sconce, path, program, folder):
    import torch

    out = folder / "state.pt"
    done = run(sconce, "convert", "-f", path, out)
    held = {**program.state_dict, **{k: v for k, v in program.constants.items() if isinstance(v, torch.Tensor)}}
    if not held and done.returncode:
        return None
    if done.returncode:
        return done.stderr
    got = torch.load(out)
    if set(got) != set(held):
        return f"names {sorted(got)}, not {sorted(held)}"
    for name, tensor in held.items():
        if got[name].dtype != tensor.dtype or not torch.equal(got[name], tensor):
            return f"{name} differs"
    return None


def other_weights(sconce, path, program, folder):
    """Puts other numbers in, and has PyTorch load what comes out."""
    import torch

    held = {**program.state_dict, **{k: v for k, v in program.constants.items() if isinstance(v, torch.Tensor)}}
    changed = {name: t.detach() * 2 + 1 for name, t in held.items() if t.dtype.is_floating_point and t.device.type == "cpu"}
    if not changed:
        return None
    state, out = folder / "changed.pt", folder / f"{path.stem}.pt2"
    torch.save(changed, state)
    done = run(sconce, "edit", "-f", path, out, "--weights", state)
    if done.returncode:
        return done.stderr
    loaded = torch.export.load(out)
    if str(loaded) != str(program):
        return "another program: " + difference(str(loaded), str(program))
    for name, tensor in {**loaded.state_dict, **loaded.constants}.items():
        if name in changed and not torch.equal(tensor, changed[name]):
            return f"{name} has other numbers"
        if name in changed and tensor.stride() != held[name].stride():
            return f"{name} has strides {tensor.stride()}, not {held[name].stride()}"
        if name not in changed and isinstance(tensor, torch.Tensor) and not torch.equal(tensor, held[name]):
            return f"{name} was not to change"
    return None


def merged(sconce, paths, folder):
    """Several programs in one archive, beside what PyTorch writes."""
    import torch
    from torch.export.pt2_archive._package import package_pt2

    ours, theirs = folder / "ours" / "all.pt2", folder / "theirs" / "all.pt2"
    ours.parent.mkdir(exist_ok=True)
    theirs.parent.mkdir(exist_ok=True)
    done = run(sconce, "merge", "-f", *paths, "-o", ours)
    if done.returncode:
        return done.stderr
    package_pt2(str(theirs), exported_programs={path.stem: torch.export.load(path) for path in paths})
    return None if ours.read_bytes() == theirs.read_bytes() else unlike(ours, theirs) or "another order of records"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sconce", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--text-only", action="store_true", help="compare nothing that needs PyTorch to load the file")
    parser.add_argument("--make", action="store_true", help="make the programs first, with a PyTorch of its own")
    arguments = parser.parse_args()
    if arguments.make:
        sys.path.insert(0, str(HERE.parent))
        import run as environment

        environment.in_environment_with_torch()
        subprocess.run([sys.executable, HERE / "programs.py", arguments.folder], check=True)
    sconce = arguments.sconce.resolve()
    counts, failures = {}, []
    if not arguments.text_only:
        import torch

        import programs

        # Sample inputs are of classes that were those of the main program when they were pickled.
        sys.modules["__main__"].Pair, sys.modules["__main__"].Point = programs.Pair, programs.Point
        # And are so again where PyTorch pickles them once more.
        programs.Pair.__module__ = programs.Point.__module__ = "__main__"

    def count(what, name, problem):
        good = counts.setdefault(what, [0, 0])
        good[1] += 1
        if problem:
            failures.append(f"{what}: {name}: {problem}")
        else:
            good[0] += 1

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for text in sorted(arguments.folder.glob("*.txt")):
            name = text.stem
            path = text.with_suffix(".pt2")
            shown = run(sconce, "code", path)
            count("text", name, shown.stderr or difference(shown.stdout, text.read_text()))
            out = scratch / f"{name}.pt2"
            done = run(sconce, "resave", "-f", path, out)
            same = not done.returncode and out.read_bytes() == path.read_bytes()
            count("resave", name, None if same else done.stderr if done.returncode else unlike(out, path))
            done = run(sconce, "resave", "-f", "--like-torch", path, out)
            again = text.parent / "again" / path.name
            same = not done.returncode and out.read_bytes() == again.read_bytes()
            count("resave --like-torch", name, None if same else done.stderr if done.returncode else unlike(out, again))
            done = run(sconce, "scan", path)
            count("scan", name, done.stdout if done.returncode else None)
            if not arguments.text_only:
                program = torch.export.load(path)
                count("card", name, card(sconce, path, program))
                count("state dict", name, state_dict(sconce, path, program, scratch))
                count("edit --weights", name, other_weights(sconce, path, program, scratch))
        if not arguments.text_only:
            paths = [path.with_suffix(".pt2") for path in sorted(arguments.folder.glob("*.txt"))]
            for at in range(0, len(paths), 6):
                names = ", ".join(path.stem for path in paths[at:at + 6])
                count("merge", names, merged(sconce, paths[at:at + 6], scratch))
    for what, (good, of) in counts.items():
        print(f"{what}: {good} of {of}")
    print("\n".join(failures))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())

"""Save checkpoints again with sconce and with PyTorch, and compare the files byte for byte.

    python3 conformance/save.py [--sconce PATH] [--resave PATH] [--torch1 PYTHON] [--only TEXT]

Four sections, each over files that PyTorch loads; what it saves again is what sconce has to write.

- Every fixture by `sconce convert IN OUT.pt`. Where an object is not PyTorch's own (whole modules,
  numpy, classes of the standard library), equal meaning is enough: PyTorch must load both and see
  the same tensors and numpy arrays.
- Every fixture as the stream that PyTorch wrote before 1.6. PyTorch's keys of storages are addresses
  in its memory, so its file is compared with the keys set to ours and the data in their order.
- The tar files of `old_tars` (`cargo build -p sconce-checkpoint --example old_tars`), of the format
  before 0.1.10, by `sconce convert`.
- Objects made here, under every option of `torch.save`, by the example `resave`
  (`cargo build -p sconce-checkpoint --example resave`). With --torch1, also what PyTorch 1.13 writes.

Exits 1 when anything differs.
"""

import argparse
import contextlib
import io
import json
import os
import pickle
import pickletools
import shutil
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


def in_modules_of_torch():
    """What needs torch is imported when it is there."""
    global equal, save_objects
    import equal
    import save_objects

COUNTS = ("equal bytes", "as first saved", "equal meaning", "PyTorch saves none", "not supported", "failed")
# Files that PyTorch loaded and found right.
LOADED = {"weights_only": 0, "else": 0}
# What `SaveOptions` cannot write is refused in these words.
REFUSALS = ("cannot be written", "cannot be pickled")


class Tally:
    """Counts of one section."""

    def __init__(self, title):
        self.title = title
        self.counts = dict.fromkeys(COUNTS, 0)

    def add(self, what, name="", reason=""):
        self.counts[what] += 1
        if what in ("not supported", "failed"):
            print(what.upper(), self.title, name, reason)

    def show(self):
        print(f"{self.title}: " + ", ".join(f"{count} {what}" for what, count in self.counts.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    debug = os.path.join(os.path.dirname(HERE), "target", "debug")
    parser.add_argument("--sconce", default=os.path.join(debug, "sconce"), help="the binary (default: target/debug/sconce)")
    parser.add_argument("--resave", default=os.path.join(debug, "examples", "resave"),
                        help="the example (default: target/debug/examples/resave)")
    parser.add_argument("--old-tars", default=os.path.join(debug, "examples", "old_tars"),
                        help="the example (default: target/debug/examples/old_tars)")
    parser.add_argument("--torch1", metavar="PYTHON", help="a Python with torch 1.13, to compare its layout of archives")
    parser.add_argument("--keep", metavar="DIR", help="a folder for the files of objects made here that differ")
    parser.add_argument("--only", default="", help="only files and objects whose name contains this text")
    options = parser.parse_args()
    run.in_environment_with_torch()
    in_modules_of_torch()
    for program in ("sconce", "resave", "old_tars"):
        setattr(options, program, os.path.abspath(getattr(options, program)))
    os.chdir(os.path.join(run.FIXTURES, "files"))
    tallies = [again_as_zip(options), again_as_stream(options), old_tars(options), *made_objects(options)]
    if options.torch1:
        tallies += [made_by_torch1(options), objects_by_torch1(options)]
    for tally in tallies:
        tally.show()
    passed = sum(tally.counts[what] for tally in tallies for what in COUNTS[:4])
    failed = sum(tally.counts["failed"] for tally in tallies)
    print(f"loaded by PyTorch: {LOADED['weights_only']} with weights_only=True, {LOADED['else']} without")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


# --- fixtures ----------------------------------------------------------------------


def fixtures(options):
    """(name, path, whether weights_only loads it) of the files that hold objects of `torch.save`."""
    for path, entry in sorted(run.fixture_entries().items()):
        name = os.path.relpath(path)
        skipped = name.startswith(("bad/", "hand/lookalike/")) or "torchscript" in name
        if options.only in name and not skipped and "tensors" in entry and not path.endswith((".json", ".pkl", ".tar")):
            yield name, path, entry.get("weights_only") == "ok"


def again_as_zip(options):
    tally = Tally("fixtures as zip")
    for name, path, safe in fixtures(options):
        compare(tally, name, path, safe, lambda ours: [options.sconce, "convert", path, ours], {}, bytes)
    return tally


def again_as_stream(options):
    tally = Tally("fixtures as stream")
    for name, path, safe in fixtures(options):
        compare(tally, name, path, safe, lambda ours: [options.resave, "legacy", path, ours],
                {"_use_new_zipfile_serialization": False}, with_our_keys)
    return tally


def old_tars(options):
    """The files of `tests/tar/`, of which PyTorch has to see what sconce does."""
    tally = Tally("tar files")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.old_tars, folder], check=True)
        for file in sorted(os.listdir(folder)):
            path = os.path.join(folder, file)
            if options.only in file:
                compare(tally, file, path, False, lambda ours: [options.sconce, "convert", path, ours], {}, bytes)
    return tally


def compare(tally, name, path, safe, command, arguments, normal):
    """One file saved by both; `normal` is applied to PyTorch's bytes."""
    import torch

    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = os.path.join(folder, "out.pt"), os.path.join(folder, "torch", "out.pt")
        os.mkdir(os.path.dirname(theirs))
        done = subprocess.run(command(ours), stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            reason = done.stderr.strip().split("\n")[0]
            tally.add("not supported" if any(words in reason for words in REFUSALS) else "failed", name, ascii(reason))
            return
        # A load that fails leaves its sparse tensors here, and the next load fails by them.
        torch._utils._get_sparse_tensors_to_validate().clear()
        try:
            torch.save(torch.load(path, weights_only=safe), theirs, **arguments)
        except Exception as error:
            print("SKIPPED", name, f"PyTorch cannot save it again: {type(error).__name__}: {ascii(str(error))[:100]}")
            return
        if read(ours) == normal(read(theirs)):
            # Equal but for keys is no proof that PyTorch reads it.
            loads = normal is not with_our_keys or same_tensors(ours, theirs, safe)
            tally.add("equal bytes" if loads else "failed", name, "PyTorch sees other tensors")
        elif safe:
            tally.add("failed", name, "the bytes differ")
        else:
            meaning(tally, name, ours, theirs)


def same_tensors(ours, theirs, safe):
    """Whether PyTorch loads the same from both streams, where it can load its own: untyped storages,
    and tensors whose sizes are data (sparse and nested ones), it writes and cannot read."""
    import expect
    import torch

    try:
        before = expect.walk(torch.load(theirs, weights_only=safe))
    except (AttributeError, RuntimeError):
        return True
    if any("components" in row for row in before):
        return True
    return expect.walk(torch.load(ours, weights_only=safe)) == before


def meaning(tally, name, ours, theirs):
    """Whether PyTorch sees the same in both files."""
    import expect
    import torch

    try:
        before = torch.load(theirs, weights_only=False)
    except Exception as error:
        print("SKIPPED", name, f"PyTorch cannot load its own file: {type(error).__name__}: {ascii(str(error))[:100]}")
        return
    try:
        seen = [(expect.walk(obj), arrays(obj)) for obj in (torch.load(ours, weights_only=False), before)]
    except Exception as error:
        tally.add("failed", name, f"PyTorch cannot load it: {type(error).__name__}: {ascii(str(error))[:150]}")
        return
    if seen[0][0] != seen[1][0]:
        tally.add("failed", name, "PyTorch sees other tensors")
    elif seen[0][1] != seen[1][1]:
        tally.add("failed", name, "numpy sees other arrays")
    else:
        tally.add("equal meaning")


def arrays(root):
    """Every numpy array, scalar and dtype: names, and all that can be told of them."""
    import expect
    import numpy

    found, seen, todo = [], set(), [("", root)]
    while todo:
        name, obj = todo.pop()
        if isinstance(obj, (numpy.ndarray, numpy.generic)):
            shown = repr(obj.tolist()) if obj.dtype.hasobject else obj.tobytes()
            order = (obj.flags.c_contiguous, obj.flags.f_contiguous)
            # Dtypes are equal with and without align=True, which is not kept.
            found.append((name, type(obj), obj.dtype, obj.shape, order, shown))
        elif isinstance(obj, numpy.dtype):
            found.append((name, obj, repr(obj)))
        elif id(obj) not in seen:
            seen.add(id(obj))
            todo += [(f"{name}.{key}", child) for key, child in expect.children(obj)]
    return found


# --- the stream --------------------------------------------------------------------


def with_our_keys(data):
    """PyTorch's stream with the storages called "0", "1", … by first appearance."""
    file = io.BytesIO(data)
    starts = []
    for _ in range(5):
        starts.append(file.tell())
        for _ in pickletools.genops(file):
            pass
    starts.append(file.tell())
    theirs = pickle.loads(data[starts[4]:])
    known, out, at = {}, [data[: starts[3]]], starts[3]
    object_pickle = data[starts[3]:starts[4]]
    for opcode, value, position in pickletools.genops(object_pickle):
        if opcode.name == "BINUNICODE" and value in theirs:
            key = known.setdefault(value, str(len(known))).encode()
            begin = starts[3] + position
            out += [data[at:begin], b"X", len(key).to_bytes(4, "little"), key]
            at = begin + 5 + len(value)
    out.append(data[at:starts[4]])
    sizes = item_sizes(object_pickle, theirs)
    blocks, at = {}, starts[5]
    for key in theirs:
        end = at + 8 + int.from_bytes(data[at:at + 8], "little") * sizes[key]
        blocks[known[key]] = data[at:end]
        at = end
    assert at == len(data), "data that no key names"
    out.append(pickle.dumps(sorted(blocks), protocol=data[1]))  # PyTorch's file begins with PROTO
    return b"".join(out + [blocks[key] for key in sorted(blocks)])


def item_sizes(object_pickle, keys):
    """Bytes of an element, by key: counted in the type that each storage is first met under."""
    import torch

    sizes, memo, before, last = {}, {}, [], None
    for opcode, value, _ in pickletools.genops(object_pickle):
        if opcode.name in ("BINPUT", "LONG_BINPUT"):
            memo[value] = last
            continue
        last = memo.get(value) if opcode.name in ("BINGET", "LONG_BINGET") else value
        if opcode.name == "BINUNICODE" and value in keys:
            module, name = before[-1].split(" ")
            kind = getattr(torch if module == "torch" else torch.storage, name)
            sizes.setdefault(value, 1 if name == "UntypedStorage" else torch._utils._element_size(kind.dtype))
        before = [last]
    return sizes


# --- objects made here -------------------------------------------------------------


@contextlib.contextmanager
def configured(**values):
    """`torch.utils.serialization.config.save` with these values."""
    from torch.utils.serialization import config

    old = {name: getattr(config.save, name) for name in values}
    for name, value in values.items():
        setattr(config.save, name, value)
    try:
        yield
    finally:
        for name, value in old.items():
            setattr(config.save, name, value)


def variants():
    """(name, options of `resave`, arguments of `torch.save`, context)"""
    import torch

    nothing = contextlib.nullcontext
    yield "default", [], {}, nothing
    for protocol in (3, 4, 5):
        yield f"protocol-{protocol}", [f"protocol={protocol}"], {"pickle_protocol": protocol}, nothing
    yield "no-crc", ["no-crc"], {}, lambda: configured(compute_crc32=False)
    for alignment in (1, 8, 4096):
        yield (f"alignment-{alignment}", [f"alignment={alignment}"], {},
               lambda alignment=alignment: configured(storage_alignment=alignment))
    yield "buffer", ["buffer"], {}, nothing
    yield "no-byteorder", ["no-byteorder"], {"_disable_byteorder_record": True}, nothing
    yield "skip-data", ["skip-data"], {}, torch.serialization.skip_data
    yield "skip-data-buffer", ["skip-data", "buffer"], {}, torch.serialization.skip_data
    yield "legacy", ["legacy"], {"_use_new_zipfile_serialization": False}, nothing
    yield "legacy-protocol-3", ["legacy", "protocol=3"], {"_use_new_zipfile_serialization": False, "pickle_protocol": 3}, nothing


# Where the same object is enough and the bytes may differ: (group, names, variants, reason).
LATER = ("protocol-3", "protocol-4", "protocol-5", "legacy-protocol-3")
STREAMS = ("legacy", "legacy-protocol-3")
MEANING_IS_ENOUGH = [
    ("modules", None, STREAMS, "PyTorch asks its process for the source of modules, which archives do not have"),
    ("training", ("sgd-whole", "adam-whole"), STREAMS, "likewise"),
    ("names", ("classes",), STREAMS, "likewise"),
    ("library", ("exceptions",), LATER, "loading makes an OSError the subclass of its number, which Python 2 has no name for"),
    ("library", ("datetime", "getters", "iterators"), LATER, "types made in C have their names as other strs than those in Python"),
    ("names", ("functions",), LATER, "likewise"),
    ("names", ("python2-names", "nested-classes", "nested-instances"), LATER, "older protocols have another name for it"),
    ("texts", ("array",), LATER, "array.array asks for the protocol"),
    ("reduced", ("copy", "keywords", "keywords-twice", "keywords-state", "keywords-only"), LATER,
     "NEWOBJ_EX was a call of functools.partial in the file that was read"),
    ("tensors", ("attributes", "attribute-itself"), None, "PyTorch loses the attributes of a tensor that they hold"),
]


# PyTorch writes streams of these and cannot read them: it makes the tensor before the sizes are there.
SIZES_ARE_DATA = ("nested", "nested-matrices")


def meaning_is_enough(group, name, variant):
    return any(group == row[0] and (not row[1] or name in row[1]) and (not row[2] or variant in row[2]) for row in MEANING_IS_ENOUGH)


def made_objects(options):
    """One tally for each group."""
    import torch

    tallies = []
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name, "out.pt") for name in ("made", "ours", "torch")]
        for path in files:
            os.mkdir(os.path.dirname(path))
        for group, make in save_objects.GROUPS.items():
            tally = Tally(f"made here, {group}")
            for name, obj in make():
                wanted = [row for row in variants() if options.only in f"{group} {name} {row[0]}"]
                if not wanted:
                    continue
                # Only the stream holds the source of modules.
                torch.save(obj, files[0], _use_new_zipfile_serialization=group != "source")
                loaded = load(files[0])
                for variant in wanted:
                    what, reason = made_object(options, name, obj, loaded, files, variant, meaning_is_enough(group, name, variant[0]))
                    tally.add(what, f"{name} {variant[0]}", reason)
                    if what == "failed" and options.keep:
                        keep(options.keep, f"{group}-{name}-{variant[0]}", *files)
            tallies.append(tally)
    return tallies


def made_object(options, name, obj, loaded, files, variant, meaning_is_enough):
    """What became of one object in one variant, and why."""
    made, ours, theirs = files
    _, arguments, keywords, context = variant
    done = subprocess.run([options.resave, *arguments, made, ours], stderr=subprocess.PIPE, text=True)
    with context():
        problem = save(loaded, theirs, "buffer" in arguments, keywords)
    if done.returncode != 0:
        reason = f"{ascii(done.stderr.strip()[:200])} (PyTorch: {problem})"
        return "not supported" if problem else "failed", reason
    normal = with_our_keys if "legacy" in arguments else bytes
    if problem:
        what = "PyTorch saves none"
    elif read(ours) == normal(read(theirs)):
        what = "equal bytes"
    else:
        # What is loaded may be other objects than were saved: interned names, singletons.
        with context():
            save(obj, theirs, "buffer" in arguments, keywords)
        if read(ours) == normal(read(theirs)):
            what = "as first saved"
        elif meaning_is_enough:
            what = "equal meaning"
        else:
            return "failed", "the bytes differ"
    reference = theirs if what == "equal bytes" else made
    if name in SIZES_ARE_DATA and "legacy" in arguments:
        return what, None
    if "skip-data" in arguments and reference == made:
        load(ours)
        return what, None
    difference = difference_after(ours, reference)
    return ("failed", ascii(difference)) if difference else (what, None)


def load(path, safe=False):
    import torch

    # A load that fails leaves its sparse tensors here, and the next load fails by them.
    torch._utils._get_sparse_tensors_to_validate().clear()
    return torch.load(path, weights_only=safe)


def save(obj, path, to_buffer, keywords):
    """Why PyTorch cannot, if it cannot."""
    import torch

    try:
        if not to_buffer:
            torch.save(obj, path, **keywords)
            return None
        buffer = io.BytesIO()
        torch.save(obj, buffer, **keywords)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    with open(path, "wb") as file:
        file.write(buffer.getvalue())
    return None


def difference_after(ours, reference):
    """What PyTorch sees otherwise in our file, by weights_only where it loads the other so."""
    try:
        before, safe = load(reference, safe=True), True
    except Exception:
        try:
            before, safe = load(reference), False
        except Exception:
            # Streams of untyped storages: PyTorch writes and cannot read them.
            return None
    LOADED["weights_only" if safe else "else"] += 1
    try:
        equal.check(load(ours, safe), before)
    except equal.Difference as difference:
        return f"PyTorch sees another object: {difference}"
    except Exception as error:
        return f"PyTorch cannot load it: {type(error).__name__}: {str(error)[:150]}"
    return None


def keep(folder, name, *paths):
    for path in paths:
        target = os.path.join(folder, name, os.path.basename(os.path.dirname(path)) + ".pt")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.exists(path):
            shutil.copyfile(path, target)


AGAIN = """
import sys, torch
for source, target in zip(sys.argv[1::2], sys.argv[2::2]):
    torch.save(torch.load(source), target)
"""


def made_by_torch1(options):
    """Archives in the layout of PyTorch 1.6 to 2.0."""
    tally = Tally("layout of torch 1.13")
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for name, path, _ in fixtures(options):
            if name.startswith("1.13/zip/"):
                target = os.path.join(folder, "torch", str(len(jobs)), "out.pt")
                os.makedirs(os.path.dirname(target))
                jobs.append((name, path, target))
        for name, path, theirs in jobs:
            saved = subprocess.run([options.torch1, "-W", "ignore", "-c", AGAIN, path, theirs], stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(run.FIXTURES + "/generate.py"))})
            if saved.returncode != 0:
                print("SKIPPED", name, "PyTorch 1.13 cannot save it again:", ascii(saved.stderr.strip().split("\n")[-1])[:120])
                continue
            compare_torch1(options, tally, name, path, theirs, folder)
    return tally


def objects_by_torch1(options):
    """The objects made here, made by PyTorch 1.13."""
    tally = Tally("made here by torch 1.13")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.torch1, os.path.join(HERE, "save_objects.py"), folder], check=True)
        with open(os.path.join(folder, "list.json"), encoding="utf-8") as file:
            rows = json.load(file)
        for number, (group, name, problem) in enumerate(rows):
            if options.only not in f"{group} {name}":
                continue
            if problem:
                print("SKIPPED", group, name, "PyTorch 1.13 cannot save it again:", ascii(problem)[:120])
                continue
            path, theirs = (os.path.join(folder, f"{number}{kind}", "out.pt") for kind in ("-made", "-again"))
            compare_torch1(options, tally, f"{group} {name}", path, theirs, folder)
    return tally


def compare_torch1(options, tally, name, path, theirs, folder):
    ours = os.path.join(folder, "out.pt")
    done = subprocess.run([options.resave, "layout=1.6", path, ours], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        tally.add("failed", name, ascii(done.stderr.strip()[:200]))
    elif read(ours) == read(theirs):
        tally.add("equal bytes")
    elif read(ours) == read(path):
        tally.add("as first saved")
    else:
        meaning(tally, name, ours, theirs)
        if options.keep:
            keep(options.keep, "1.13-" + name.replace("/", "-"), ours, theirs)


def read(path):
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main())

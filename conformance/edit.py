"""Convert, edit, split and build checkpoints with sconce and with PyTorch, and compare.

    python3 conformance/edit.py [--sconce PATH] [--build PATH] [--only TEXT]

- Other formats to `.pt`: the bytes that `torch.save` writes for what safetensors and numpy give PyTorch.
- Every kind of checkpoint to every other, and big-endian archives: PyTorch loads the same tensors.
- `sconce edit` beside the same edit in Python, byte for byte where the file allows.
- `sconce shard` beside `huggingface_hub.save_torch_state_dict`: the same files, byte for byte.
- Checkpoints made from nothing by the example `build`
  (`cargo build -p sconce-checkpoint --example build`): the bytes of `torch.save`.

Exits 1 when anything differs.
"""

import argparse
import collections
import importlib
import logging
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "fixtures"))
sys.dont_write_bytecode = True
warnings.simplefilter("ignore")

import run  # noqa: E402


class Checks:
    """Runs the cases and counts them."""

    def __init__(self, options):
        self.options = options
        self.passed = self.failed = 0

    def check(self, name, case, *arguments):
        if self.options.only not in name:
            return
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(Workplace(folder, self.options), *arguments)
            except Exception as error:  # whatever goes wrong is a case that failed
                self.failed += 1
                print("FAILED", name, ascii(f"{type(error).__name__}: {error}")[:300])
            else:
                self.passed += 1


class Workplace:
    """A folder of one case."""

    def __init__(self, folder, options):
        self.folder, self.options = folder, options

    def path(self, *parts):
        path = os.path.join(self.folder, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def sconce(self, *arguments):
        return self.call(self.options.sconce, *arguments)

    def call(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{os.path.basename(command[0])} {command[1]}: {done.stderr.strip()}")
        return done

    def save(self, obj, *parts, **arguments):
        import torch

        path = self.path(*parts)
        torch.save(obj, path, **arguments)
        return path

    def same_bytes(self, ours, theirs):
        with open(ours, "rb") as one, open(theirs, "rb") as other:
            assert one.read() == other.read(), "the bytes differ"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    debug = os.path.join(os.path.dirname(HERE), "target", "debug")
    parser.add_argument("--sconce", default=os.path.join(debug, "sconce"), help="the binary (default: target/debug/sconce)")
    parser.add_argument("--build", default=os.path.join(debug, "examples", "build"),
                        help="the example (default: target/debug/examples/build)")
    parser.add_argument("--only", default="", help="only cases whose name contains this text")
    options = parser.parse_args()
    run.in_environment_with_torch()
    import_or_install("huggingface_hub")
    # huggingface_hub warns of pickles, which are what this is about.
    logging.disable(logging.WARNING)
    options.sconce, options.build = os.path.abspath(options.sconce), os.path.abspath(options.build)
    checks = Checks(options)
    for cases in (foreign, between_versions, big_endian, edits, shards, merges, built):
        cases(checks)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed or not checks.passed else 0


def import_or_install(package):
    """Into the environment that `run.py` made; another must have the package."""
    try:
        importlib.import_module(package)
    except ImportError:
        if not os.environ.get("SCONCE_CONFORMANCE_VENV"):
            raise SystemExit(f"{package} is needed: python3 -m pip install {package}") from None
        run.install(package)
        importlib.import_module(package)


def state_dict():
    """A module's, with shared tensors, several dtypes and versions."""
    import torch

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.BatchNorm1d(5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    module.register_buffer("small", torch.randn(3).half())
    module.register_buffer("short", torch.randn(2, 2).bfloat16())
    return module.state_dict()


def equal(one, other):
    """Whether two objects hold equal tensors and values."""
    import torch

    if isinstance(one, torch.Tensor):
        same = isinstance(other, torch.Tensor) and (one.dtype, one.shape) == (other.dtype, other.shape)
        return same and one.contiguous().untyped_storage().tolist() == other.contiguous().untyped_storage().tolist()
    if isinstance(one, dict):
        return list(one) == list(other) and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other


# --- other formats -----------------------------------------------------------------


def foreign(checks):
    import numpy
    import torch
    from safetensors.torch import load_file, save_file

    def from_safetensors(at, tensors, flags, arguments):
        source = at.path("in.safetensors")
        save_file(tensors, source)
        at.sconce("convert", source, at.path("out.pt"), *flags)
        at.same_bytes(at.path("out.pt"), at.save(load_file(source), "torch", "out.pt", **arguments))

    def from_npz(at, arrays):
        source = at.path("in.npz")
        numpy.savez(source, **arrays)
        at.sconce("convert", source, at.path("out.pt"))
        with numpy.load(source) as loaded:
            tensors = {name: torch.from_numpy(loaded[name]) for name in loaded.files}
        at.same_bytes(at.path("out.pt"), at.save(tensors, "torch", "out.pt"))

    def from_npy(at, array):
        source = at.path("in.npy")
        numpy.save(source, array)
        at.sconce("convert", source, at.path("out.pt"))
        at.same_bytes(at.path("out.pt"), at.save(torch.from_numpy(numpy.load(source)), "torch", "out.pt"))

    def there_and_back(at, tensors, extension):
        source, middle = at.save(tensors, "in.pt"), at.path(f"middle.{extension}")
        at.sconce("convert", source, middle)
        if extension == "safetensors":
            loaded = load_file(middle)
            assert equal(tensors, {name: loaded[name] for name in tensors}), "safetensors sees other tensors"
        else:
            with numpy.load(middle) as loaded:
                assert all((loaded[name] == tensor.numpy()).all() for name, tensor in tensors.items())

    dtypes = ("float64 float32 float16 bfloat16 complex64 int64 int32 int16 int8 uint8 bool uint16 uint32 uint64 "
              "float8_e5m2 float8_e4m3fn").split()
    tensors = {f"{name}.{i}": torch.arange(6).reshape(2, 3).to(getattr(torch, name))
               for i, name in enumerate(dtypes)} | {"scalar": torch.tensor(1.5)}
    state = {name: tensor.contiguous() for name, tensor in state_dict().items()}
    for name, held in (("dtypes", tensors), ("state dict", state)):
        checks.check(f"safetensors to pt: {name}", from_safetensors, held, [], {})
        checks.check(f"pt to safetensors: {name}", there_and_back, held, "safetensors")
    checks.check("safetensors to pt: protocol 5", from_safetensors, state, ["--protocol", "5"], {"pickle_protocol": 5})
    plain = "float64 float32 float16 complex64 complex128 int64 int32 int16 int8 uint8 bool uint16 uint32 uint64".split()
    arrays = {name: numpy.arange(6).reshape(2, 3).astype(name) for name in plain}
    arrays |= {"scalar": numpy.array(1.5), "empty": numpy.zeros((0, 3), "f4"), "fortran": numpy.asfortranarray(arrays["int16"])}
    checks.check("npz to pt", from_npz, arrays)
    checks.check("pt to npz", there_and_back, {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}, "npz")
    for name, array in arrays.items():
        checks.check(f"npy to pt: {name}", from_npy, array)


# --- versions of checkpoints --------------------------------------------------------


def between_versions(checks):
    import torch

    checkpoint = {"model": state_dict(), "epoch": 3, "config": {"lr": 1e-3, "tags": ["a", None]}}

    def stream_to_archive(at):
        source = at.save(checkpoint, "in.pt", _use_new_zipfile_serialization=False)
        at.sconce("convert", source, at.path("out.pt"))
        at.same_bytes(at.path("out.pt"), at.save(torch.load(source), "torch", "out.pt"))

    def archive_to_stream(at):
        import save

        source = at.save(checkpoint, "in.pt")
        at.sconce("convert", source, at.path("out.pt"), "--legacy")
        theirs = at.save(torch.load(source), "torch.pt", _use_new_zipfile_serialization=False)
        assert save.read(at.path("out.pt")) == save.with_our_keys(save.read(theirs)), "the bytes differ"
        assert equal(torch.load(at.path("out.pt")), checkpoint), "PyTorch sees something else"

    def tar_to_archive(at):
        source = os.path.join(run.FIXTURES, "files", "hand", "tar", "checkpoint.tar")
        at.sconce("convert", source, at.path("out.pt"))
        at.same_bytes(at.path("out.pt"), at.save(torch.load(source, weights_only=False), "torch", "out.pt"))

    def index_to_archive(at):
        from huggingface_hub import save_torch_state_dict

        os.mkdir(at.path("shards"))
        save_torch_state_dict(dict(state_dict()), at.path("shards"), safe_serialization=False, max_shard_size="0.1KB")
        at.sconce("convert", at.path("shards", "pytorch_model.bin.index.json"), at.path("out.pt"))
        ours, want = torch.load(at.path("out.pt")), state_dict()
        assert sorted(ours) == sorted(want) and all(equal(ours[name], want[name]) for name in want)

    def torchscript(at, extension, *flags):
        from safetensors.torch import load_file

        module = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)))
        torch.jit.save(module, at.path("in.pt"))
        at.sconce("convert", at.path("in.pt"), at.path(f"out.{extension}"), *flags)
        loaded = load_file(at.path("out.safetensors")) if extension == "safetensors" else torch.load(at.path("out.pt"))
        want = module.state_dict()
        assert sorted(loaded) == sorted(want) and all(equal(loaded[name], want[name]) for name in want)

    def module_to_state_dict(at):
        module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        at.sconce("convert", at.save(module, "in.pt"), at.path("out.pt"), "--state-dict")
        assert equal(dict(torch.load(at.path("out.pt"))), dict(module.state_dict()))

    checks.check("stream to archive", stream_to_archive)
    checks.check("archive to stream", archive_to_stream)
    checks.check("tar to archive", tar_to_archive)
    checks.check("index to archive", index_to_archive)
    checks.check("torchscript to safetensors", torchscript, "safetensors")
    checks.check("torchscript to pt", torchscript, "pt", "--state-dict")
    checks.check("module to state dict", module_to_state_dict)


def big_endian(checks):
    import torch

    def swapped(at, obj):
        at.sconce("convert", at.save(obj, "in.pt"), at.path("out.pt"), "--byteorder", "big")
        assert equal(torch.load(at.path("out.pt"), weights_only=False), obj), "PyTorch sees something else"
        again = at.path("again", "in.pt")
        at.sconce("convert", at.path("out.pt"), again, "--byteorder", "little")
        at.same_bytes(again, at.save(torch.load(at.path("in.pt"), weights_only=False), "torch", "in.pt"))

    names = "float64 float32 float16 bfloat16 complex128 complex64 int64 int32 int16 int8 uint8 bool float8_e5m2"
    for name in names.split():
        tensor = torch.arange(12).reshape(3, 4).to(getattr(torch, name))
        checks.check(f"big-endian {name}", swapped, {"a": tensor, "view": tensor[1:, ::2]})
    def refused(at, name):
        source = at.save(torch.arange(3).to(getattr(torch, name)), "in.pt")
        command = [at.options.sconce, "convert", source, at.path("out.pt"), "--byteorder", "big"]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and name in done.stderr and not os.path.exists(at.path("out.pt")), done.stderr
        # PyTorch would take the bytes as they are: the storage has no type by which to swap it.
        with zipfile.ZipFile(source) as archive:
            assert b"UntypedStorage" in archive.read("in/data.pkl")

    for name in ("uint16", "uint32", "uint64", "complex32"):
        checks.check(f"big-endian {name} is refused", refused, name)
    checks.check("big-endian state dict", swapped, {"model": state_dict(), "epoch": 3})


# --- edits --------------------------------------------------------------------------


def edits(checks):
    import torch

    def checkpoint():
        return {"model": state_dict(), "epoch": 3, "config": {"lr": 0.1, "layers": [{"dim": 1}, {"dim": 2}]}}

    def edited(at, flags, edit, exact=True):
        source = at.save(checkpoint(), "in.pt")
        at.sconce("edit", source, at.path("out.pt"), *flags)
        want = torch.load(source)
        want = edit(want) or want
        theirs = at.save(want, "torch", "out.pt")
        if exact:
            at.same_bytes(at.path("out.pt"), theirs)
        ours = torch.load(at.path("out.pt"))
        assert equal(ours, want), "PyTorch sees something else"
        model, metadata = ours.get("model", ours), getattr(want.get("model", want), "_metadata", None)
        assert getattr(model, "_metadata", None) == metadata, "other versions of modules"

    def setting(checkpoint):
        checkpoint["epoch"] = 4
        checkpoint["config"]["lr"] = 1e-3
        checkpoint["config"]["layers"][1]["dim"] = [1, 2.5, True, None, "text"]
        checkpoint["config"]["notes"] = {"x": (1, "y")}

    def dropping(checkpoint):
        del checkpoint["model"]["0.bias"]
        del checkpoint["config"]

    def renaming(checkpoint):
        model = checkpoint["model"]
        for name in list(model):
            model[name.replace("0.", "first.", 1) if name.startswith("0.") else name] = model.pop(name)
        versions = model._metadata
        for name in list(versions):
            versions["first" if name == "0" else name] = versions.pop(name)

    def casting(checkpoint):
        model = checkpoint["model"]
        for name, tensor in model.items():
            model[name] = tensor.to(torch.bfloat16) if tensor.is_floating_point() else tensor

    def splitting(checkpoint):
        parts = {}
        for name, tensor in checkpoint["model"].items():
            if name == "0.weight":
                parts["q"], parts["k"] = (part.clone() for part in tensor.split([2, 3]))
            else:
                parts[name] = tensor
        checkpoint["model"].clear()
        checkpoint["model"].update(parts)

    def joining(checkpoint):
        parts = {}
        for name, tensor in checkpoint["model"].items():
            if name == "1.weight":
                parts["both"] = torch.cat([checkpoint["model"][name], checkpoint["model"]["1.bias"]])
            elif name != "1.bias":
                parts[name] = tensor
        checkpoint["model"].clear()
        checkpoint["model"].update(parts)

    checks.check("edit: set", edited, ["--set", "epoch=4", "--set", "config.lr=1e-3",
                                       "--set", "config.layers[1].dim=[1, 2.5, True, None, 'text']",
                                       "--set", "config.notes={'x': (1, 'y')}"], setting)
    checks.check("edit: drop", edited, ["--drop", "model.0.bias", "--drop", "config"], dropping)
    checks.check("edit: take", edited, ["--take", "model"], lambda checkpoint: checkpoint["model"])
    checks.check("edit: rename", edited, ["--rename", "s/^(model)\\.0\\./\\1.first./"], renaming)
    checks.check("edit: cast", edited, ["--cast", "bfloat16"], casting)
    checks.check("edit: split", edited, ["--split", "model.0.weight=model.q,model.k@0:2,3"], splitting)
    checks.check("edit: concat", edited, ["--concat", "model.1.weight,model.1.bias=model.both@0"], joining)

    def module(at):
        made = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        at.sconce("edit", at.save(made, "in.pt"), at.path("out.pt"), "--cast", "float64", "--set", "1.eps=0.5",
                  "--rename", "0.weight=0.weight_orig", "--drop", "0.bias")
        ours = torch.load(at.path("out.pt"), weights_only=False)
        assert list(ours[0]._parameters) == ["weight_orig"] and ours[1].eps == 0.5
        assert equal(ours[0].weight_orig, made[0].weight.double()) and isinstance(ours[0].weight_orig, torch.nn.Parameter)
        assert ours[1].running_mean.dtype == torch.float64 and ours[1].num_batches_tracked.dtype == torch.int64

    def one_storage(at):
        whole = torch.zeros(4, dtype=torch.uint16)
        source = at.save({"a": whole, "b": whole.view(torch.float8_e5m2)}, "in.pt")
        at.sconce("edit", source, at.path("out.pt"))
        at.same_bytes(at.path("out.pt"), at.save(torch.load(source), "torch", "out.pt"))

    checks.check("edit: whole module", module)
    checks.check("edit: two dtypes over one storage", one_storage)


# --- shards -------------------------------------------------------------------------


def shards(checks):
    import torch

    def tied():
        base = torch.arange(40.0)
        return {"a": base, "ü.b": torch.ones(30), "view": base[3:], "c": torch.zeros(2, 3), "empty": torch.empty(0),
                "tied": base, "d": torch.arange(100), "e": torch.ones(1), "none": torch.empty(0, 2), "c2": torch.ones(5)}

    def compared(at, make, size):
        from huggingface_hub import save_torch_state_dict

        for folder in ("ours", "theirs"):
            os.mkdir(at.path(folder))
        source = at.save(make(), "in.pt")
        save_torch_state_dict(dict(torch.load(source)), at.path("theirs"), safe_serialization=False, max_shard_size=size)
        at.sconce("shard", source, "-C", at.path("ours"), "--max-size", size, "--plain")
        names = sorted(os.listdir(at.path("theirs")))
        assert sorted(os.listdir(at.path("ours"))) == names, (os.listdir(at.path("ours")), names)
        for name in names:
            try:
                at.same_bytes(at.path("ours", name), at.path("theirs", name))
            except AssertionError:
                raise AssertionError(f"{name} differs") from None

    for name, make in (("state dict", state_dict), ("tied", tied), ("one", lambda: {"a": torch.ones(3)})):
        for size in ("0.05KB", "0.2KB", "0.5KB", "1MB"):
            checks.check(f"shard {name} {size}", compared, make, size)


def merges(checks):
    import torch

    def merged(at):
        state = state_dict()
        source = at.save(state, "in.pt")
        os.mkdir(at.path("shards"))
        at.sconce("shard", source, "-C", at.path("shards"), "--max-size", "0.1KB")
        files = sorted(os.listdir(at.path("shards")))
        at.sconce("merge", *(at.path("shards", name) for name in files if name.endswith(".bin")), "-o", at.path("out.pt"))
        ours = torch.load(at.path("out.pt"))
        assert sorted(ours) == sorted(state) and all(equal(ours[name], state[name]) for name in state)
        assert ours._metadata == state._metadata
        assert isinstance(ours, collections.OrderedDict)
        module = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.BatchNorm1d(5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
        module.register_buffer("small", torch.zeros(3).half())
        module.register_buffer("short", torch.zeros(2, 2).bfloat16())
        module.load_state_dict(ours)

    checks.check("merge", merged)


# --- from nothing -------------------------------------------------------------------


def built(checks):
    """What `crates/sconce-checkpoint/examples/build.rs` makes, made in Python."""
    import torch

    def module():
        made = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        with torch.no_grad():
            made[0].weight.copy_(torch.arange(6.0).reshape(2, 3))
            made[0].bias.copy_(torch.tensor([0.5, -0.5]))
        return made

    def training():
        made = module()
        moment = torch.full((2,), 0.25)
        return {
            "model": made.state_dict(),
            "epoch": 3,
            "best": None,
            "config": {"lr": 1e-3, "betas": (0.9, 0.999), "name": "lr", "tags": ["a", "b"], "amsgrad": False, "seed": 2**70},
            "optimizer": {
                "state": {0: {"step": torch.tensor(10.0), "exp_avg": moment}},
                "param_groups": [{"lr": 1e-3, "params": [0]}],
            },
            "tied": [moment, moment.view(2, 1)],
            "parameter": torch.nn.Parameter(torch.ones(2)),
        }

    def compared(at, name, make):
        ours = at.path(f"{name}.pt")
        at.call(at.options.build, name, ours)
        at.same_bytes(ours, at.save(make(), "torch", f"{name}.pt"))

    checks.check("built: state dict", compared, "module", lambda: module().state_dict())
    checks.check("built: training checkpoint", compared, "training", training)


if __name__ == "__main__":
    sys.exit(main())

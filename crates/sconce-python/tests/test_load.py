"""What `load`, `open`, `identify`, `scan` and the other verbs give, beside PyTorch and safetensors."""

import collections
import io
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
import safetensors
import safetensors.numpy
import torch

import sconce
from conftest import ROOT


def same(ours, theirs):
    """Whether both are one tree of values."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, sconce.Tensor)
        assert tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype) == str(theirs.dtype)
        assert ours.stride() == theirs.stride() and ours.requires_grad == theirs.requires_grad
        assert torch.equal(ours.torch(), theirs.detach())
    elif isinstance(theirs, dict):
        assert type(ours) is type(theirs) and list(ours) == list(theirs)
        for key in theirs:
            same(ours[key], theirs[key])
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(ours, tuple if isinstance(theirs, tuple) else list) and len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            same(one, other)
    else:
        assert type(ours) is type(theirs) and ours == theirs


VALUES = {
    "numbers": [1, -(2**70), 2.5, 1 + 2j, True, None],
    "texts": ("a", "é", b"\x00\xff", bytearray(b"x")),
    "sets": {1, 2},
    "weights": collections.OrderedDict(w=torch.arange(6.0).reshape(2, 3), b=torch.ones(2)),
    "view": torch.arange(12).reshape(3, 4).t()[1:],
    "parameter": torch.nn.Parameter(torch.ones(3)),
    "half": torch.ones(2, dtype=torch.bfloat16),
    "empty": torch.zeros(0, 3),
    "scalar": torch.tensor(7),
    "complex": torch.tensor([1 + 2j]),
}


@pytest.mark.parametrize("mmap", [True, False])
def test_values_are_those_of_torch_load(tmp_path, mmap):
    path = tmp_path / "values.pt"
    torch.save(VALUES, path)
    same(sconce.load(path, mmap=mmap), torch.load(path))
    same(sconce.load(path.read_bytes()), torch.load(path))
    with open(path, "rb") as file:
        same(sconce.load(file), torch.load(path))


def test_identities_and_cycles_survive(tmp_path):
    shared = [1]
    value = {"a": shared, "b": shared, "t": torch.ones(2)}
    value["again"] = value["t"]
    value["self"] = value
    torch.save(value, tmp_path / "x.pt")
    loaded = sconce.load(tmp_path / "x.pt")
    assert loaded["a"] is loaded["b"] and loaded["t"] is loaded["again"] and loaded["self"] is loaded


def test_depth_costs_no_stack(tmp_path):
    # 100,000 lists in each other, as a bare pickle.
    deep = b"\x80\x02" + b"]" * 100_001 + b"a" * 100_000 + b"."
    loaded = sconce.load(deep, weights_only=False)
    depth = 0
    while loaded:
        loaded, depth = loaded[0], depth + 1
    assert depth == 100_000


class Unknown:
    def __init__(self):
        self.answer = 42


def test_unknown_classes(tmp_path):
    path = tmp_path / "object.pt"
    torch.save({"x": Unknown(), "numpy": np.arange(3)}, path)
    with pytest.raises(sconce.WeightsOnlyError) as caught:
        sconce.load(path)
    assert "Unsupported global: GLOBAL" in str(caught.value)
    assert isinstance(caught.value, ValueError) and caught.value.kind == "refused"
    loaded = sconce.load(path, weights_only=False)
    assert loaded["x"].name == "Unknown" and loaded["x"].state == {"answer": 42} and loaded["x"].answer == 42
    assert np.array_equal(loaded["numpy"], np.arange(3))
    assert pickle.loads(pickle.dumps(loaded["x"])).answer == 42


def test_places(tmp_path, digits):
    loaded = sconce.load(digits, map_location="cuda:1")
    assert all(str(value.device) == "cuda:1" for value in loaded["state_dict"].values())
    seen = []
    loaded = sconce.load(digits, map_location=lambda storage, place: seen.append(place) or storage)
    assert seen and set(seen) == {"cpu"}
    assert sconce.load(digits, map_location={"cpu": "meta"}) is not None


def test_errors_of_the_system_and_of_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        sconce.load(tmp_path / "missing.pt")
    with pytest.raises(IsADirectoryError):
        sconce.load(tmp_path)
    with pytest.raises(TypeError):
        sconce.load(3)
    with pytest.raises(TypeError):
        sconce.load(io.StringIO("text"))
    for junk in [b"", b"junk", b"PK\x03\x04" + b"\x00" * 100]:
        with pytest.raises(sconce.FormatError) as caught:
            sconce.load(junk)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (type(again), str(again), again.kind) == (type(caught.value), str(caught.value), caught.value.kind)


def test_verbs_are_those_of_the_command(digits, tmp_path):
    command = [sys.executable, "-m", "sconce"]
    said = json.loads(subprocess.run([*command, digits, "--json"], capture_output=True, check=True).stdout)
    assert sconce.scan(digits) == said
    assert sconce.scan(digits, isolate=True, max_seconds=60, max_memory="4GiB") == said
    said = json.loads(subprocess.run([*command, "verify", digits, "--json"], capture_output=True, check=True).stdout)
    assert sconce.verify(digits) == said and said["sound"]
    assert "collections.OrderedDict" in sconce.globals(digits)
    identity = sconce.identify(digits)
    said = subprocess.run([*command, "identify", "-q", digits], capture_output=True, check=True, text=True).stdout
    assert f"{digits}: {identity}\n" == said
    assert identity.kind == "zip" and identity.pickle_protocol == 2
    data = open(digits, "rb").read()
    assert sconce.scan(data)["tensors"] == sconce.scan(digits)["tensors"]
    with pytest.raises(sconce.SconceError):
        sconce.scan(b"junk")
    with pytest.raises(sconce.SconceError):
        sconce.scan(b"junk", isolate=True)
    with pytest.raises(sconce.TimeLimitError):
        sconce.scan(digits, isolate=True, max_seconds=0.0001)
    version = subprocess.run([*command, "--version"], capture_output=True, check=True, text=True).stdout
    assert version == f"sconce {sconce.__version__}\n"


@pytest.mark.parametrize("bad", ["cut", "folder", "missing", "other", "bytes"])
def test_what_is_wrong_is_the_same_in_another_process(bad, tmp_path, digits):
    data = open(digits, "rb").read()
    (tmp_path / "cut").write_bytes(data[:5000])
    (tmp_path / "folder").mkdir()
    (tmp_path / "other").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    file = data[:5000] if bad == "bytes" else str(tmp_path / bad)
    with pytest.raises((sconce.SconceError, OSError)) as here:
        sconce.scan(file)
    with pytest.raises((sconce.SconceError, OSError)) as apart:
        sconce.scan(file, isolate=True)
    assert type(apart.value) is type(here.value) and str(apart.value) == str(here.value)
    assert apart.value.__dict__ == here.value.__dict__


def test_the_other_process_has_a_limit(digits):
    with pytest.raises(sconce.MemoryLimitError) as caught:
        sconce.scan(digits, isolate=True, max_memory="12MiB")
    assert caught.value.limit == "memory"


def test_scan_says_nothing_on_the_streams(capfd):
    for file in sorted((ROOT / "fixtures" / "files" / "bad").iterdir()):
        try:
            sconce.scan(file)
        except (sconce.SconceError, OSError):
            pass
    assert capfd.readouterr() == ("", "")


def test_a_folder_that_is_not_there(digits, classifier, tmp_path):
    missing = tmp_path / "missing"
    for write in (
        lambda: sconce.save({"x": 1}, missing / "x.pt"),
        lambda: sconce.save({"x": np.ones(2)}, missing / "x.safetensors"),
        lambda: sconce.convert(digits, missing / "x.safetensors", take="state_dict"),
        lambda: sconce.jit.load(classifier).save(missing / "x.pt"),
    ):
        with pytest.raises(FileNotFoundError) as caught:
            write()
        assert caught.value.filename.startswith(str(missing))


def test_convert(digits, tmp_path):
    out = tmp_path / "x.safetensors"
    sconce.convert(digits, out, take="state_dict")
    theirs = torch.load(digits)["state_dict"]
    with safetensors.safe_open(out, "pt") as file:
        assert sorted(file.keys()) == sorted(theirs)
        assert all(torch.equal(file.get_tensor(name), theirs[name]) for name in file.keys())
    with pytest.raises(sconce.SconceError):
        sconce.convert(digits, out, take="state_dict")
    sconce.convert(digits, out, overwrite=True, take="state_dict", dtype="bfloat16")
    with pytest.raises(sconce.SconceError):
        sconce.convert(digits, tmp_path / "y.npz", no_such_flag=True)


def test_open_has_the_names_of_safe_open(tmp_path):
    path = tmp_path / "x.safetensors"
    arrays = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.ones(4, dtype=np.int64)}
    safetensors.numpy.save_file(arrays, path, metadata={"format": "pt"})
    with safetensors.safe_open(path, "np") as theirs, sconce.open(path) as ours:
        assert ours.keys() == sorted(theirs.keys()) and ours.offset_keys() == theirs.offset_keys()
        assert ours.metadata() == theirs.metadata()
        assert len(ours) == 2 and "a" in ours and "c" not in ours and list(ours) == ours.keys()
        for name in theirs.keys():
            assert np.array_equal(ours.get_tensor(name), theirs.get_tensor(name))
            one, other = ours.get_slice(name), theirs.get_slice(name)
            assert one.get_shape() == other.get_shape() and one.get_dtype() == other.get_dtype()
        assert np.array_equal(ours.get_slice("b")[:, 1:3], theirs.get_slice("b")[:, 1:3])
        assert sorted(ours.get_tensors()) == ["a", "b"]
        with pytest.raises(KeyError):
            ours.get_tensor("c")
        again = pickle.loads(pickle.dumps(ours))
        assert again.keys() == ours.keys()
        pickled = pickle.dumps(ours)
    with pytest.raises(ValueError):
        ours.keys()
    with sconce.safe_open(path, framework="pt", device="cpu") as file:
        assert isinstance(file.get_tensor("a"), torch.Tensor)
    safetensors.numpy.save_file({"a": np.ones(5)}, path)
    with pytest.raises(sconce.FormatError):
        pickle.loads(pickled)


def test_a_panic_is_an_exception():
    from sconce import _sconce

    with pytest.raises(sconce.InternalError, match="on purpose"):
        _sconce._panic()

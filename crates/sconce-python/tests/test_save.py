"""What `save` writes, byte by byte as PyTorch does."""

import collections
import io

import ml_dtypes
import numpy as np
import pytest
import safetensors.torch
import torch

import sconce

SHARED = torch.arange(6.0)


def cases():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    yield {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    yield [SHARED, SHARED[1:3], SHARED.reshape(2, 3).t(), {"same": SHARED}]
    yield {"a": (1, 2.5, None, True, "x", b"y", 1 << 80, 1j), "set": {1}, "frozen": frozenset(["z"])}
    yield torch.nn.Parameter(torch.ones(2))
    yield collections.OrderedDict(x=torch.zeros(0), y=torch.tensor(1, dtype=torch.bfloat16))
    yield {"size": torch.Size([2, 3]), "dtype": torch.float16, "device": torch.device("cpu")}
    yield {"".join(["fc", ".w"]): 1, "again": {"".join(["fc", ".w"]): 2}}


@pytest.mark.parametrize("value", list(cases()), ids=range(7))
@pytest.mark.parametrize("protocol", [2, 4])
def test_bytes_are_those_of_torch_save(tmp_path, value, protocol):
    torch.save(value, tmp_path / "a.pt", pickle_protocol=protocol)
    theirs = (tmp_path / "a.pt").read_bytes()
    sconce.save(value, tmp_path / "a.pt", pickle_protocol=protocol)
    assert (tmp_path / "a.pt").read_bytes() == theirs
    file = io.BytesIO()
    sconce.save(value, file, pickle_protocol=protocol)
    ours = io.BytesIO()
    torch.save(value, ours, pickle_protocol=protocol)
    assert file.getvalue() == ours.getvalue()


def test_what_is_loaded_is_saved_again(tmp_path, digits):
    sconce.save(sconce.load(digits), tmp_path / "x.pt")
    theirs, ours = torch.load(digits), torch.load(tmp_path / "x.pt")
    assert list(theirs) == list(ours)
    assert all(torch.equal(ours["state_dict"][name], theirs["state_dict"][name]) for name in theirs["state_dict"])


def test_arrays_are_tensors(tmp_path):
    arrays = {"a": np.arange(4).reshape(2, 2).T, "b": np.ones(2, ml_dtypes.bfloat16), "big": np.arange(3, dtype=">f4")}
    sconce.save(arrays, tmp_path / "x.pt")
    loaded = torch.load(tmp_path / "x.pt")
    assert torch.equal(loaded["a"], torch.from_numpy(arrays["a"])) and loaded["b"].dtype == torch.bfloat16
    assert loaded["big"].tolist() == [0, 1, 2]


def test_other_formats(tmp_path):
    state = {"w": torch.ones(2, 2), "b": np.zeros(3, np.float32)}
    sconce.save(state, tmp_path / "x.safetensors")
    assert torch.equal(safetensors.torch.load_file(tmp_path / "x.safetensors")["w"], state["w"])
    sconce.save(state, tmp_path / "x.npz")
    assert np.array_equal(np.load(tmp_path / "x.npz")["w"], np.ones((2, 2)))
    sconce.save(state["w"], tmp_path / "old.pt", legacy=True)
    assert torch.equal(torch.load(tmp_path / "old.pt"), state["w"])


def test_what_cannot_be_saved_leaves_nothing(tmp_path):
    for value in [object(), torch.nn.Linear(1, 1), lambda: 0, {"x": torch.ones(2).to_sparse()}]:
        with pytest.raises(sconce.UnsupportedError):
            sconce.save(value, tmp_path / "x.pt")
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        sconce.save(deep, tmp_path / "x.pt")
    with pytest.raises(ValueError):
        sconce.save(1, tmp_path / "x.pt", pickle_protocol=7)
    assert list(tmp_path.iterdir()) == []

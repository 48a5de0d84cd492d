"""Tensors as NumPy, PyTorch and ml_dtypes see them."""

import pickle
import struct

import ml_dtypes
import numpy as np
import pytest
import torch

import sconce

DTYPES = [
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
    "float16", "float32", "float64", "complex64", "complex128",
]
SMALL = ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu"]


def loaded(tmp_path, value):
    torch.save(value, tmp_path / "x.pt")
    return sconce.load(tmp_path / "x.pt")


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_of_numpy(tmp_path, name):
    theirs = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(torch, name))
    ours = loaded(tmp_path, theirs)
    assert str(ours.dtype) == f"torch.{name}" and ours.dtype == theirs.dtype and ours.dtype == name
    array = np.asarray(ours)
    assert array.dtype == theirs.numpy().dtype and np.array_equal(array, theirs.numpy())
    assert not array.flags.writeable and np.shares_memory(array, np.asarray(ours))
    assert np.array(ours).flags.writeable and not np.shares_memory(np.array(ours), array)
    assert np.array_equal(np.from_dlpack(ours), array)
    assert torch.equal(torch.from_dlpack(ours), theirs) and torch.equal(ours.torch(), theirs)
    assert ours.tolist() == theirs.tolist() and repr(ours) == repr(theirs)
    view = memoryview(ours)
    assert view.readonly and view.shape == (2, 3) and view.nbytes == theirs.numpy().nbytes
    assert np.array_equal(np.asarray(view), array)
    with pytest.raises((BufferError, TypeError)):
        struct.pack_into("b", ours, 0, 1)
    again = pickle.loads(pickle.dumps(ours))
    assert np.array_equal(np.asarray(again), array)
    assert ours.__array_interface__["shape"] == (2, 3)


@pytest.mark.parametrize("name", SMALL)
def test_dtypes_of_ml_dtypes(tmp_path, name):
    theirs = torch.tensor([1.0, 2.0, 0.5]).to(getattr(torch, name))
    ours = loaded(tmp_path, theirs)
    array = np.asarray(ours)
    assert array.dtype == np.dtype(getattr(ml_dtypes, name)) and array.astype(np.float32).tolist() == [1, 2, 0.5]
    assert torch.equal(torch.from_dlpack(ours).float(), theirs.float())
    with pytest.raises(BufferError, match="asarray"):
        memoryview(ours)
    with pytest.raises(AttributeError):
        ours.__array_interface__
    with pytest.raises((BufferError, RuntimeError, TypeError)):
        np.from_dlpack(ours)


def test_views_keep_strides(tmp_path):
    theirs = torch.arange(24).reshape(2, 3, 4)
    ours = loaded(tmp_path, theirs)
    array = theirs.numpy()
    for key in [0, -1, (1, 2), (slice(None), 1), (slice(0, 2), slice(1, None, 2)), (..., 0), (None, 1), (0, None, ..., 1),
                np.int64(1), slice(5, 9)]:
        part = ours[key]
        assert np.array_equal(np.asarray(part), array[key]) and part.stride() == theirs[key].stride()
        assert part.numel() == 0 or np.shares_memory(np.asarray(part), np.asarray(ours))
    for key in [5, (0, 0, 0, 0), (..., ...)]:
        with pytest.raises(IndexError):
            ours[key]
    with pytest.raises(ValueError):
        ours[::-1]
    with pytest.raises(TypeError):
        ours[[0, 1]]
    turned = loaded(tmp_path, theirs.permute(2, 0, 1))
    assert not turned.is_contiguous() and turned.contiguous().is_contiguous()
    assert np.array_equal(np.asarray(turned), np.asarray(turned.contiguous()))
    assert ours[0].storage_offset() == 0 and ours[1].storage_offset() == 12
    assert [row.tolist() for row in ours[0]] == theirs[0].tolist()


def test_numbers(tmp_path):
    ours = loaded(tmp_path, torch.tensor(2.5))
    assert ours.item() == 2.5 and float(ours) == 2.5 and int(ours) == 2 and bool(ours)
    with pytest.raises(TypeError):
        len(ours)
    many = loaded(tmp_path, torch.ones(3))
    with pytest.raises(ValueError):
        many.item()
    with pytest.raises(ValueError):
        bool(many)
    assert len(many) == 3 and many.nbytes == 12 and many.ndim == 1 and many.shape == (3,)
    assert repr(many.shape) == "torch.Size([3])" and many.shape.numel() == 3
    assert many.to("float16").dtype == torch.float16 and many.to(torch.float32) is many
    assert many != loaded(tmp_path, torch.ones(3)) and many == many


def test_array_protocol(tmp_path):
    ours = loaded(tmp_path, torch.ones(3))
    with pytest.raises(ValueError):
        ours.__array__(np.dtype("float64"), copy=False)
    assert ours.numpy(copy=True).flags.writeable and not ours.numpy().flags.writeable
    assert np.asarray(ours, dtype=np.float64).dtype == np.float64


def test_capsules_of_both_kinds(tmp_path):
    ours = loaded(tmp_path, torch.ones(3))
    assert 'dltensor"' in repr(ours.__dlpack__()) and 'dltensor_versioned"' in repr(ours.__dlpack__(max_version=(1, 0)))
    assert 'dltensor"' in repr(ours.__dlpack__(stream=None))
    assert ours.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        ours.__dlpack__(stream=1)
    with pytest.raises(BufferError):
        ours.__dlpack__(dl_device=(2, 0))


def test_a_stray_write_stays_in_the_process(tmp_path):
    before = torch.arange(1000.0)
    torch.save(before, tmp_path / "x.pt")
    bytes_before = (tmp_path / "x.pt").read_bytes()
    ours = sconce.load(tmp_path / "x.pt")
    ours.torch().fill_(7)
    assert ours[5].item() == 7 and (tmp_path / "x.pt").read_bytes() == bytes_before


def test_memory_outlives_the_tensor(tmp_path):
    torch.save(torch.arange(100.0), tmp_path / "x.pt")
    array = np.asarray(sconce.load(tmp_path / "x.pt"))
    view = memoryview(sconce.load(tmp_path / "x.pt"))
    tensor = torch.from_dlpack(sconce.load(tmp_path / "x.pt"))
    capsule = sconce.load(tmp_path / "x.pt").__dlpack__()
    del capsule
    assert array[99] == view[99] == tensor[99] == 99


def test_other_layouts_are_refused(tmp_path):
    sparse = loaded(tmp_path, torch.eye(3).to_sparse())
    assert sparse.is_sparse and str(sparse.layout) == "torch.sparse_coo"
    quantized = loaded(tmp_path, torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8))
    for tensor in [sparse, quantized]:
        with pytest.raises(sconce.UnsupportedError):
            tensor.numpy()
        with pytest.raises(sconce.UnsupportedError):
            tensor.__dlpack__()
        with pytest.raises(BufferError):
            memoryview(tensor)
    with pytest.raises(sconce.UnsupportedError):
        np.asarray(sparse)

"""Arrays of JAX, in and out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import sconce

DTYPES = ["float32", "float16", "bfloat16", "int8", "int16", "int32", "uint8", "uint16", "uint32", "bool", "complex64"]


@pytest.mark.parametrize("name", DTYPES)
def test_saved_and_loaded(tmp_path, name):
    array = jnp.arange(6).reshape(2, 3).astype(name)
    sconce.save({"a": array, "row": array[1], "number": jnp.asarray(1).astype(name)}, tmp_path / "jax.pt")
    theirs = torch.load(tmp_path / "jax.pt")
    assert str(theirs["a"].dtype) == f"torch.{name}" and theirs["number"].shape == ()
    ours = sconce.load(tmp_path / "jax.pt")
    for key, want in [("a", array), ("row", array[1])]:
        again = jnp.asarray(np.asarray(ours[key]))
        assert again.dtype == want.dtype and bool((again == want).all())


@pytest.mark.parametrize("name", [name for name in DTYPES if name != "complex64"])
def test_through_dlpack(tmp_path, name):
    array = jnp.arange(6).reshape(2, 3).astype(name)
    sconce.save({"a": array}, tmp_path / "jax.pt")
    again = jnp.from_dlpack(sconce.load(tmp_path / "jax.pt")["a"])
    assert again.dtype == array.dtype and bool((again == array).all())


def test_arguments_and_results(classifier, x):
    ours = sconce.jit.load(classifier)
    want = torch.jit.load(classifier)(torch.from_numpy(x)).detach().numpy()
    result = ours(jnp.asarray(x))
    assert np.allclose(jnp.from_dlpack(result), want, atol=1e-6)
    # What a compiled function gives, and what it was made of, are not written to.
    jitted = jax.jit(lambda a: a * 1)(jnp.asarray(x))
    assert np.allclose(np.asarray(ours(jitted)), want, atol=1e-6)
    assert bool((jitted == jnp.asarray(x)).all())


def test_what_has_no_values_is_refused(classifier, x):
    ours = sconce.jit.load(classifier)
    deleted = jnp.asarray(x)
    deleted.delete()
    with pytest.raises(sconce.SconceError, match="__dlpack_device__"):
        ours(deleted)
    with pytest.raises(sconce.SconceError, match="tracer"):
        jax.jit(lambda a: ours(a))(jnp.asarray(x))

//! `tensor[…]`: numbers, slices, `None` and `…`, which give views.

use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};
use sconce::{Layout, Tensor};

use crate::error;

/// The view that an index names.
pub fn index(tensor: &Tensor, key: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = key.py();
    let keys: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
        Ok(keys) => keys.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let is_ellipsis = |key: &Bound<'_, PyAny>| key.is_instance_of::<PyEllipsis>();
    let named = keys.iter().filter(|key| !key.is_none() && !is_ellipsis(key)).count();
    if keys.iter().filter(|key| is_ellipsis(key)).count() > 1 {
        return Err(PyIndexError::new_err("an index can only have a single ellipsis ('...')"));
    }
    if named > tensor.ndim() {
        let message = format!("too many indices for tensor of dimension {}", tensor.ndim());
        return Err(PyIndexError::new_err(message));
    }
    let failed = |error: sconce::tensor::Error| match error.kind() {
        sconce::tensor::ErrorKind::Caller => PyIndexError::new_err(error.to_string()),
        _ => error::of_library(py, error, "<tensor>"),
    };
    let mut view = tensor.clone();
    let mut dim = 0i64;
    for key in &keys {
        if is_ellipsis(key) {
            dim += (tensor.ndim() - named) as i64;
        } else if key.is_none() {
            view = new_axis(py, &view, dim as usize)?;
            dim += 1;
        } else if let Ok(slice) = key.cast::<PySlice>() {
            let size = view.sizes().get(dim as usize).copied().unwrap_or(0);
            let at = slice.indices(size as isize)?;
            if at.step <= 0 {
                return Err(PyValueError::new_err("step must be greater than zero"));
            }
            let stop = at.stop.max(at.start) as i64;
            view = view.slice(dim, at.start as i64, stop, at.step as i64).map_err(failed)?;
            dim += 1;
        } else if !key.is_instance_of::<PyBool>()
            && (key.is_instance_of::<PyInt>() || key.hasattr("__index__")?)
            && let Ok(at) = key.call_method0("__index__").and_then(|at| at.extract::<i64>())
        {
            view = view.select(dim, at).map_err(failed)?;
        } else {
            let kind = key.get_type().name()?;
            let what =
                format!("only integers, slices, None and ... index a sconce.Tensor, not {kind}");
            return Err(PyTypeError::new_err(what + ": numpy.asarray(tensor) takes other indices"));
        }
    }
    Ok(view)
}

fn new_axis(py: Python<'_>, tensor: &Tensor, dim: usize) -> PyResult<Tensor> {
    let (Some(storage), Layout::Strided, None) =
        (tensor.storage(), tensor.layout(), tensor.quantizer())
    else {
        return Err(error::unsupported(py, "None as an index of this kind of tensor"));
    };
    let (mut sizes, mut strides) = (tensor.sizes().to_vec(), tensor.strides().to_vec());
    let stride = match (sizes.get(dim), strides.get(dim)) {
        (Some(size), Some(stride)) => size.saturating_mul(*stride),
        _ => 1,
    };
    sizes.insert(dim, 1);
    strides.insert(dim, stride);
    let offset = tensor.storage_offset();
    let view = Tensor::strided(storage.clone(), tensor.dtype(), offset, &sizes, &strides);
    let view = view.map_err(|error| error::of_library(py, error, "<tensor>"))?;
    Ok(view.with_conj(tensor.is_conj()).with_neg(tensor.is_neg()))
}

//! Tensors as arrays of NumPy.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sconce::{DType, Layout, Tensor};

use super::buffer::StorageBytes;
use super::dtype::numpy_dtype;
use crate::error;

/// An array over the tensor's memory, which cannot be written to. Lazily conjugated tensors are copied.
pub fn view<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    if tensor.layout() != Layout::Strided || tensor.quantizer().is_some() {
        let what = match tensor.quantizer() {
            Some(_) => "quantized",
            None => tensor.layout().name(),
        };
        return Err(error::unsupported(py, format!("NumPy has no {what} tensors")));
    }
    let dtype = numpy_dtype(py, tensor.dtype())?;
    let owned;
    let tensor = match tensor.is_conj() || tensor.is_neg() {
        true => {
            owned = super::class::row_major(py, tensor)?;
            &owned
        }
        false => tensor,
    };
    let numpy = py.import("numpy")?;
    let shape = PyTuple::new(py, tensor.sizes())?;
    let array = match tensor.numel() {
        0 => numpy.call_method1("empty", (shape, dtype))?,
        _ => {
            let Some(storage) = tensor.storage() else {
                return Err(error::unsupported(py, "the tensor has no data"));
            };
            let bytes =
                storage.bytes().map_err(|error| error::of_library(py, error, "<tensor>"))?;
            let item = tensor.dtype().item_size() as i64;
            let strides = tensor.strides().iter().map(|stride| stride * item);
            let keywords = PyDict::new(py);
            keywords.set_item("buffer", Bound::new(py, StorageBytes(bytes))?)?;
            keywords.set_item("offset", tensor.storage_offset() * item)?;
            keywords.set_item("strides", PyTuple::new(py, strides.collect::<Vec<_>>())?)?;
            numpy.getattr("ndarray")?.call((shape, dtype), Some(&keywords))?
        }
    };
    if tensor.numel() == 0 {
        array.getattr("flags")?.setattr("writeable", false)?;
    }
    Ok(array)
}

/// What NumPy asks of `__array__`.
pub fn array<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    dtype: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let array = view(py, tensor)?;
    let cast = match dtype {
        Some(dtype) if !array.getattr("dtype")?.eq(dtype)? => Some(dtype),
        _ => None,
    };
    let copied_already = tensor.is_conj() || tensor.is_neg();
    if copy == Some(false) && (cast.is_some() || copied_already) {
        let what =
            "the tensor cannot be had as this array without a copy, which copy=False rules out";
        return Err(PyValueError::new_err(what));
    }
    match cast {
        Some(dtype) => array.call_method1("astype", (dtype,)),
        None if copy == Some(true) => array.call_method0("copy"),
        None => Ok(array),
    }
}

/// `__array_interface__`, for consumers that know nothing else.
pub fn interface<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Option<Bound<'py, PyAny>>> {
    let known = tensor.dtype().numpy_descr().is_some() && tensor.dtype() != DType::ComplexHalf;
    if !known || tensor.layout() != Layout::Strided || tensor.quantizer().is_some() {
        return Ok(None);
    }
    view(py, tensor)?.getattr("__array_interface__").map(Some)
}

//! Tensors as lists of numbers, and lists of numbers as tensors.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyTuple};
use sconce::Tensor;
use sconce::tensor::Scalar;

use crate::error;

/// An element as Python has it.
pub fn number<'py>(py: Python<'py>, scalar: Scalar) -> PyResult<Bound<'py, PyAny>> {
    Ok(match scalar {
        Scalar::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::UInt(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Float(value) => PyFloat::new(py, value).into_any(),
        Scalar::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any(),
        other => {
            return Err(error::unsupported(py, format!("an element that is {other}")));
        }
    })
}

/// Lists in lists, as deep as the tensor has dimensions.
pub fn to_lists<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let failed = |error| error::of_library(py, error, "<tensor>");
    let values = tensor.values().map_err(failed)?;
    let mut level = Vec::with_capacity(tensor.numel() as usize);
    for value in values {
        level.push(number(py, value)?);
    }
    for (dim, &size) in tensor.sizes().iter().enumerate().rev() {
        let outer: i64 = tensor.sizes()[..dim].iter().product();
        let mut items = level.into_iter();
        level = (0..outer)
            .map(|_| {
                let inner: Vec<_> = items.by_ref().take(size as usize).collect();
                PyList::new(py, inner).map(Bound::into_any)
            })
            .collect::<PyResult<_>>()?;
    }
    level.into_iter().next().ok_or_else(|| error::unsupported(py, "a tensor without elements"))
}

/// What kinds of numbers a list has, in the order of promotion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Bool,
    Int,
    Float,
    Complex,
}

/// As `torch.tensor(numbers)`: a number, or lists or tuples of numbers to any depth. `None` where it is something else.
pub fn from_numbers(given: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let py = given.py();
    let (mut sizes, mut level) = (Vec::new(), vec![given.clone()]);
    while level.first().is_some_and(is_list) {
        let length = level[0].len()?;
        let mut inner = Vec::new();
        for item in &level {
            if !is_list(item) || item.len()? != length {
                let found = if is_list(item) { item.len()? } else { 0 };
                let dim = sizes.len();
                let message =
                    format!("expected sequence of length {length} at dim {dim} (got {found})");
                return Err(PyValueError::new_err(message));
            }
            for at in 0..length {
                inner.push(item.get_item(at)?);
            }
        }
        sizes.push(length as i64);
        level = inner;
        if sizes.len() > 64 {
            return Err(error::argument(py, "a list that is nested too deeply for a tensor"));
        }
    }
    let mut kind = if level.is_empty() { Kind::Float } else { Kind::Bool };
    for item in &level {
        let Some(found) = kind_of(item) else { return Ok(None) };
        kind = kind.max(found);
    }
    let made = match kind {
        Kind::Bool => Tensor::from_vec(all::<bool>(&level)?, &sizes),
        Kind::Int => Tensor::from_vec(all::<i64>(&level)?, &sizes),
        Kind::Float => {
            let values = all::<f64>(&level)?.into_iter().map(|value| value as f32);
            Tensor::from_vec(values.collect(), &sizes)
        }
        Kind::Complex => {
            let mut parts: Vec<f32> = Vec::with_capacity(2 * level.len());
            for item in &level {
                let (re, im) = match item.cast::<PyComplex>() {
                    Ok(complex) => (
                        complex.getattr("real")?.extract::<f64>()?,
                        complex.getattr("imag")?.extract::<f64>()?,
                    ),
                    Err(_) => (item.extract::<f64>()?, 0.0),
                };
                parts.extend([re as f32, im as f32]);
            }
            let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_ne_bytes()).collect();
            let storage = sconce::Storage::from_bytes(bytes.into(), sconce::Device::CPU);
            Tensor::contiguous(storage, sconce::DType::Complex64, &sizes)
        }
    };
    made.map(Some).map_err(|error| error::of_library(py, error, "<list>"))
}

fn is_list(item: &Bound<'_, PyAny>) -> bool {
    item.is_instance_of::<PyList>() || item.is_instance_of::<PyTuple>()
}

fn kind_of(item: &Bound<'_, PyAny>) -> Option<Kind> {
    if item.is_instance_of::<PyBool>() {
        Some(Kind::Bool)
    } else if item.is_instance_of::<PyInt>() {
        Some(Kind::Int)
    } else if item.is_instance_of::<PyFloat>() {
        Some(Kind::Float)
    } else if item.is_instance_of::<PyComplex>() {
        Some(Kind::Complex)
    } else {
        None
    }
}

fn all<'py, T>(items: &[Bound<'py, PyAny>]) -> PyResult<Vec<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    items.iter().map(|item| item.extract::<T>()).collect()
}

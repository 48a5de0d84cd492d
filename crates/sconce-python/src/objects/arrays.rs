//! NumPy's arrays and scalars in checkpoints.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use sconce::checkpoint::{Array, ArrayData, NumpyDType};
use sconce::tensor::ByteOrder;

use crate::tensor::PyTensor;

/// An array as NumPy has it; of elements that PyTorch has a dtype for, over the file's memory. Without NumPy, as a
/// tensor.
pub fn array<'py>(
    py: Python<'py>,
    array: &Array,
    is_scalar: bool,
    objects: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let made = match (&array.data, objects) {
        (ArrayData::Tensor(tensor), _) => {
            let tensor = Bound::new(py, PyTensor::new(tensor.clone()))?;
            if py.import("numpy").is_err() {
                return Ok(tensor.into_any());
            }
            tensor.call_method0("numpy")?
        }
        (ArrayData::Raw { bytes, fortran }, _) => {
            let numpy = py.import("numpy")?;
            let dtype = numpy.getattr("dtype")?.call1((described(py, &array.dtype)?,))?;
            let flat = numpy.call_method1("frombuffer", (PyBytes::new(py, bytes), dtype))?;
            shaped(py, &flat, &array.shape, *fortran)?
        }
        (ArrayData::Objects { fortran, .. }, Some(items)) => {
            let numpy = py.import("numpy")?;
            let items = items.cast_into::<PyList>()?;
            let flat = numpy.call_method1("empty", (items.len(), "O"))?;
            for (at, item) in items.iter().enumerate() {
                flat.set_item(at, item)?;
            }
            shaped(py, &flat, &array.shape, *fortran)?
        }
        (ArrayData::Objects { .. }, None) => py.None().into_bound(py),
    };
    match is_scalar {
        true => made.get_item(PyTuple::empty(py)),
        false => Ok(made),
    }
}

fn shaped<'py>(
    py: Python<'py>,
    flat: &Bound<'py, PyAny>,
    shape: &[i64],
    fortran: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let order = pyo3::types::PyDict::new(py);
    order.set_item("order", if fortran { "F" } else { "C" })?;
    flat.call_method("reshape", (PyTuple::new(py, shape)?,), Some(&order))
}

/// What `numpy.dtype` makes the dtype of.
fn described<'py>(py: Python<'py>, dtype: &NumpyDType) -> PyResult<Bound<'py, PyAny>> {
    if let Some((of, shape)) = &dtype.subarray {
        let pair = (described(py, of)?, PyTuple::new(py, shape)?);
        return Ok(pair.into_pyobject(py)?.into_any());
    }
    if !dtype.fields.is_empty() {
        let fields = pyo3::types::PyDict::new(py);
        let names: Vec<&str> = dtype.fields.iter().map(|(name, ..)| name.as_str()).collect();
        let formats: PyResult<Vec<_>> =
            dtype.fields.iter().map(|(_, of, _)| described(py, of)).collect();
        let offsets: Vec<u64> = dtype.fields.iter().map(|(.., offset)| *offset).collect();
        fields.set_item("names", names)?;
        fields.set_item("formats", formats?)?;
        fields.set_item("offsets", offsets)?;
        fields.set_item("itemsize", dtype.item_size)?;
        return Ok(fields.into_any());
    }
    let order = if dtype.byte_order == ByteOrder::Big { '>' } else { '<' };
    // The size of a text is that of its characters.
    let size = if dtype.kind == 'U' { dtype.item_size / 4 } else { dtype.item_size };
    let unit = dtype.unit.as_ref().map_or(String::new(), |unit| format!("[{unit}]"));
    Ok(format!("{order}{}{size}{unit}", dtype.kind).into_pyobject(py)?.into_any())
}

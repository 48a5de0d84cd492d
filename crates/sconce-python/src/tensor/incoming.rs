//! Arrays and tensors of other libraries, and lists of numbers, as tensors. Nothing is copied where it need not be.

use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};
use sconce::{DType, Device, Tensor};

use super::capsule;
use super::class::PyTensor;
use super::lists::from_numbers;
use crate::error;

/// `kDLCPU`, and the memory of the CPU that CUDA or ROCm made known to themselves.
const IN_CPU_MEMORY: [i64; 3] = [1, 3, 11];

/// A module that the program has imported already: its objects need not be asked for otherwise.
pub fn imported<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyModule>>> {
    let modules = py.import("sys")?.getattr("modules")?;
    let found = modules.cast::<PyDict>()?.get_item(name)?;
    Ok(found.and_then(|module| module.cast_into::<PyModule>().ok()))
}

/// What an argument that is to be a tensor stands for: [`tensor_like`], or numbers.
pub fn tensor_from(given: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    match tensor_like(given)? {
        Some(tensor) => Ok(Some(tensor)),
        None => from_numbers(given),
    }
}

/// The tensor of a tensor or array: ours, by DLPack, or as NumPy sees it. `None` for anything else.
pub fn tensor_like(given: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if let Ok(ours) = given.cast::<PyTensor>() {
        return Ok(Some(ours.get().tensor.clone()));
    }
    let kind = given.get_type();
    if kind.hasattr(intern!(given.py(), "__dlpack__"))? {
        return by_dlpack(given).map(Some).or_else(|failed| {
            // NumPy lends neither what ml_dtypes adds to it, nor other byte orders.
            match kind.hasattr("__array_interface__")? {
                true => by_numpy(given),
                false => Err(failed),
            }
        });
    }
    if kind.hasattr("__array_interface__")? || kind.hasattr("__array__")? {
        return by_numpy(given);
    }
    Ok(None)
}

fn by_dlpack(given: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = given.py();
    if given.get_type().hasattr(intern!(py, "__torch_function__"))?
        && let Some(torch) = imported(py, "torch")?
        && given.is_instance(&torch.getattr(intern!(py, "Tensor"))?)?
    {
        return by_torch(given, &torch);
    }
    by_protocol(given)
}

/// A tensor of PyTorch, without its graph. What PyTorch's method of the protocol does in Python, this does by the function
/// that it calls: it takes a third of the time.
fn by_torch(given: &Bound<'_, PyAny>, torch: &Bound<'_, PyModule>) -> PyResult<Tensor> {
    let py = given.py();
    let mut lender = given.clone();
    if given.getattr(intern!(py, "requires_grad"))?.is_truthy()? {
        lender = lender.call_method0(intern!(py, "detach"))?;
    }
    if lender.call_method0(intern!(py, "is_conj"))?.is_truthy()?
        || lender.call_method0(intern!(py, "is_neg"))?.is_truthy()?
    {
        lender = lender.call_method0("resolve_conj")?.call_method0("resolve_neg")?;
    }
    let plain = lender.get_type().is(&torch.getattr(intern!(py, "Tensor"))?)
        && lender.getattr(intern!(py, "is_cpu"))?.is_truthy()?;
    if plain {
        let functions = torch.getattr(intern!(py, "utils"))?.getattr(intern!(py, "dlpack"))?;
        let lent = functions.call_method1(intern!(py, "to_dlpack"), (&lender,));
        if let Ok(capsule) = lent {
            return capsule::import(&capsule);
        }
        // The protocol says why not.
    }
    by_protocol(&lender)
}

fn by_protocol(lender: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = lender.py();
    if let Ok(device) = lender.getattr(intern!(py, "__dlpack_device__")) {
        let device = device.call0().and_then(|device| device.extract::<(i64, i64)>());
        let (kind, _) = device.map_err(|failed| wrapped(py, failed, "__dlpack_device__()"))?;
        if !IN_CPU_MEMORY.contains(&kind) {
            let what = format!(
                "a tensor on another device than the CPU (DLPack's device type {kind}): move it to the CPU first"
            );
            return Err(error::unsupported(py, what));
        }
    }
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "max_version"), (1, 0))?;
    let method = intern!(py, "__dlpack__");
    let capsule = match lender.call_method(method, (), Some(&keywords)) {
        // From before DLPack 1.0.
        Err(failed) if failed.is_instance_of::<PyTypeError>(py) => lender.call_method0(method),
        other => other,
    };
    let capsule = capsule.map_err(|failed| wrapped(py, failed, "__dlpack__()"))?;
    capsule::import(&capsule)
}

/// What another library raised, as the cause of an exception of ours.
fn wrapped(py: Python<'_>, failed: PyErr, what: &str) -> PyErr {
    if failed.is_instance_of::<PyKeyboardInterrupt>(py) {
        return failed;
    }
    let error = error::unsupported(py, format!("{what} failed: {}", failed.value(py)));
    error.set_cause(py, Some(failed));
    error
}

fn by_numpy(given: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let py = given.py();
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("asarray", (given,));
    let mut array = array.map_err(|failed| wrapped(py, failed, "numpy.asarray()"))?;
    let dtype = array.getattr("dtype")?;
    let name: String = dtype.getattr("name")?.extract()?;
    let native: bool = dtype.getattr("isnative")?.extract()?;
    if !native {
        let native = dtype.call_method1("newbyteorder", ("=",))?;
        array = array.call_method1("astype", (native,))?;
    }
    let as_integers = match name.parse::<DType>() {
        Ok(
            dtype @ (DType::BFloat16
            | DType::Float8E5M2
            | DType::Float8E4M3FN
            | DType::Float8E5M2FNUZ
            | DType::Float8E4M3FNUZ
            | DType::Float8E8M0FNU),
        ) => Some(dtype),
        Ok(_) => None,
        Err(_) => {
            return Err(error::argument(py, format!("PyTorch has no dtype for NumPy's {name}")));
        }
    };
    let Some(dtype) = as_integers else { return by_dlpack(&array).map(Some) };
    let letters = if dtype.item_size() == 2 { "uint16" } else { "uint8" };
    let bits = by_dlpack(&array.call_method1("view", (letters,))?)?;
    let retyped = match bits.storage() {
        Some(storage) => Tensor::strided(
            storage.to_device_tag(Device::CPU),
            dtype,
            bits.storage_offset(),
            bits.sizes(),
            bits.strides(),
        ),
        None => return Ok(None),
    };
    retyped.map(Some).map_err(|error| error::of_library(py, error, "<array>"))
}

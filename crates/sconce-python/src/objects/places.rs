//! `map_location`, as `torch.load` takes it.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sconce::tensor::Storage;
use sconce::{DType, Device, MapLocation, Tensor};

use crate::tensor::PyTensor;

/// `None`, a device, a dict from devices to devices, or a function of a storage and where it was.
pub fn map_location(given: &Bound<'_, PyAny>) -> PyResult<MapLocation> {
    if given.is_none() {
        return Ok(MapLocation::Default);
    }
    if let Ok(pairs) = given.cast::<PyDict>() {
        let pair = |(from, to): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((device_name(&from)?, device_name(&to)?))
        };
        return pairs.iter().map(pair).collect::<PyResult<_>>().map(MapLocation::Map);
    }
    if given.is_callable() && !given.is_instance_of::<pyo3::types::PyString>() {
        let function = given.clone().unbind();
        let place = move |storage: &Storage, tag: &str| {
            Python::attach(|py| {
                let bytes = storage.nbytes() as i64;
                let view = Tensor::contiguous(storage.clone(), DType::UInt8, &[bytes]).ok()?;
                let answer = function.call1(py, (PyTensor::new(view), tag)).ok()?;
                let answer = answer.bind(py);
                if answer.is_none() {
                    return None;
                }
                // A storage that is given back is one of the CPU, as it is when the function gets it.
                let device = device_name(answer).ok().and_then(|name| name.parse().ok());
                Some(storage.to_device_tag(device.unwrap_or(Device::CPU)))
            })
        };
        return Ok(MapLocation::With(Arc::new(place)));
    }
    let name = device_name(given)?;
    let device = name.parse().map_err(|error: sconce::tensor::Error| {
        PyValueError::new_err(format!("map_location: {error}"))
    })?;
    Ok(MapLocation::Device(device))
}

/// What `str` says of a device; of a number, the device of CUDA.
fn device_name(given: &Bound<'_, PyAny>) -> PyResult<String> {
    if given.cast::<PyTensor>().is_ok() {
        return Err(PyValueError::new_err("a storage is no device"));
    }
    match given.extract::<u32>() {
        Ok(number) => Ok(format!("cuda:{number}")),
        Err(_) => Ok(given.str()?.to_string()),
    }
}

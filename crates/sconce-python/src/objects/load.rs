//! `load`: what `torch.load` gives.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sconce::checkpoint::Encoding;
use sconce::source::MapMode;
use sconce::{Checkpoint, LoadOptions, Policy};

use super::places::map_location;
use super::to_python::to_python;
use crate::boundary::{detached, guarded};
use crate::error;
use crate::input::Input;

/// How files are mapped: pages that another library writes to are copied.
pub const fn map_mode(mmap: bool) -> MapMode {
    if mmap { MapMode::CopyOnWrite } else { MapMode::Off }
}

/// Loads a checkpoint: the dicts, lists and numbers that were saved, with a :class:`Tensor` for each tensor.
/// Nothing in the file runs, and no tensor's data is read before it is used.
#[pyfunction]
#[pyo3(signature = (f, *, mmap=true, weights_only=true, map_location=None, encoding="utf-8"))]
pub fn load<'py>(
    py: Python<'py>,
    f: &Bound<'py, PyAny>,
    mmap: bool,
    weights_only: bool,
    map_location: Option<Bound<'py, PyAny>>,
    encoding: &str,
) -> PyResult<Bound<'py, PyAny>> {
    guarded(py, || {
        let input = Input::new(f)?;
        let policy = if weights_only { Policy::WeightsOnly } else { Policy::Inspect };
        let mut options =
            LoadOptions::new().policy(policy).map_mode(map_mode(mmap)).encoding(coding(encoding)?);
        if let Some(place) = &map_location {
            options = options.map_location(self::map_location(place)?);
        }
        let checkpoint = open(py, &input, map_mode(mmap), &options)?;
        to_python(py, &checkpoint)
    })
}

/// Opens a checkpoint without holding the interpreter.
pub fn open(
    py: Python<'_>,
    input: &Input,
    mode: MapMode,
    options: &LoadOptions,
) -> PyResult<Checkpoint> {
    let opened = detached(py, || -> Result<Checkpoint, sconce::Error> {
        Ok(options.open_source(input.source(mode)?)?)
    })?;
    opened.map_err(|error| error::of_library(py, error, &input.name()))
}

fn coding(name: &str) -> PyResult<Encoding> {
    match name.to_ascii_lowercase().replace('_', "-").as_str() {
        "utf-8" | "utf8" | "ascii" => Ok(Encoding::Utf8),
        "latin1" | "latin-1" | "iso-8859-1" | "iso8859-1" => Ok(Encoding::Latin1),
        "bytes" => Ok(Encoding::Bytes),
        _ => Err(PyValueError::new_err(format!(
            "encoding is 'utf-8', 'latin1' or 'bytes', not '{name}'"
        ))),
    }
}

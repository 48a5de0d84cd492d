//! The argument `f` of the functions: a path, bytes, or a file that is open.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use sconce::Source;
use sconce::source::MapMode;

use crate::error;

/// What a file argument stands for.
#[derive(Clone)]
pub enum Input {
    Path(PathBuf),
    /// Bytes that have been read.
    Bytes(Source),
}

/// What a file is called that has no name.
const UNNAMED: &str = "<bytes>";

impl Input {
    /// Reads the argument. A file that is not there, or that is a folder, is the system's error.
    pub fn new(f: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = f.py();
        if let Some(path) = path_of(f)? {
            check(py, &path)?;
            return Ok(Input::Path(path));
        }
        if f.hasattr("read")? {
            let read = f.call_method0("read")?;
            let bytes = bytes_of(&read)?.ok_or_else(|| {
                PyTypeError::new_err(
                    "a file must be opened in binary mode: its read() gave no bytes",
                )
            })?;
            let name = f.getattr("name").and_then(|name| name.extract::<String>());
            let name = name.unwrap_or_else(|_| "<file>".to_owned());
            return Ok(Input::Bytes(Source::from_vec(name, bytes)));
        }
        match bytes_of(f)? {
            Some(bytes) => Ok(Input::Bytes(Source::from_vec(UNNAMED, bytes))),
            None => {
                let kind = f.get_type().name()?;
                let message = format!(
                    "expected a path, bytes or a binary file object with read(), not {kind}"
                );
                Err(PyTypeError::new_err(message))
            }
        }
    }

    /// What errors call it.
    pub fn name(&self) -> String {
        match self {
            Input::Path(path) => path.to_string_lossy().into_owned(),
            Input::Bytes(source) => source.name().to_owned(),
        }
    }

    /// The path, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Input::Path(path) => Some(path),
            Input::Bytes(_) => None,
        }
    }

    /// The bytes.
    pub fn source(&self, mode: MapMode) -> Result<Source, sconce::source::Error> {
        match self {
            Input::Path(path) => Source::open_with(path, mode),
            Input::Bytes(source) => Ok(source.clone()),
        }
    }

    /// The word of a command line that it is, and what stands for standard input where that is the word.
    pub fn as_word(&self) -> (OsString, Option<Source>) {
        match self {
            // A file that has the name of standard input.
            Input::Path(path) if path.as_os_str() == "-" => ("./-".into(), None),
            Input::Path(path) => (path.clone().into(), None),
            Input::Bytes(source) => ("-".into(), Some(source.clone())),
        }
    }
}

/// A str or os.PathLike.
pub fn path_of(f: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    let is_path = f.is_instance_of::<pyo3::types::PyString>() || f.hasattr("__fspath__")?;
    is_path.then(|| f.extract::<PathBuf>()).transpose()
}

/// Where something is to be written: that its folder is there. That it is not is the system's error, as on reading.
pub fn check_folder_of(py: Python<'_>, path: &Path) -> PyResult<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => match fs::metadata(folder) {
            Ok(_) => Ok(()),
            Err(failed) => match failed.raw_os_error() {
                Some(code) => Err(error::os_error(py, code, &path.to_string_lossy())),
                None => Err(failed.into()),
            },
        },
        _ => Ok(()),
    }
}

/// A copy of what is bytes-like.
fn bytes_of(f: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if let Ok(bytes) = f.cast::<pyo3::types::PyBytes>() {
        return Ok(Some(bytes.as_bytes().to_vec()));
    }
    match PyBuffer::<u8>::get(f) {
        Ok(buffer) => buffer.to_vec(f.py()).map(Some),
        Err(_) if f.is_instance_of::<pyo3::types::PyMemoryView>() => {
            let bytes = f.call_method0("tobytes")?;
            Ok(Some(bytes.extract()?))
        }
        Err(_) => Ok(None),
    }
}

fn check(py: Python<'_>, path: &Path) -> PyResult<()> {
    const IS_A_DIRECTORY: i32 = 21;
    let text = path.to_string_lossy();
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(error::os_error(py, IS_A_DIRECTORY, &text)),
        Ok(_) => Ok(()),
        Err(failed) => match failed.raw_os_error() {
            Some(code) => Err(error::os_error(py, code, &text)),
            None => Err(failed.into()),
        },
    }
}

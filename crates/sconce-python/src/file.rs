//! The handle that `open` gives, with the names of safetensors' `safe_open`.

use std::collections::HashMap;
use std::fs;
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use sconce::{Checkpoint, LoadOptions, Tensor};

use crate::boundary::guarded;
use crate::error;
use crate::input::Input;
use crate::objects::{map_mode, open_checkpoint};
use crate::python_classes::python_class;
use crate::tensor::PyTensor;

/// What `get_tensor` gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Framework {
    Numpy,
    Torch,
    Own,
}

impl Framework {
    fn new(py: Python<'_>, name: Option<&str>) -> PyResult<Self> {
        match name {
            Some("numpy" | "np") => Ok(Framework::Numpy),
            Some("pt" | "torch" | "pytorch") => Ok(Framework::Torch),
            None => Ok(Framework::Own),
            Some(other) => {
                let what = format!("framework is 'numpy', 'pt' or None, not '{other}'");
                Err(error::unsupported(py, what))
            }
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Framework::Numpy => Some("numpy"),
            Framework::Torch => Some("pt"),
            Framework::Own => None,
        }
    }

    fn give<'py>(self, py: Python<'py>, tensor: Tensor) -> PyResult<Bound<'py, PyAny>> {
        let tensor = Bound::new(py, PyTensor::new(tensor))?;
        match self {
            Framework::Own => Ok(tensor.into_any()),
            Framework::Numpy => tensor.call_method0("numpy"),
            Framework::Torch => tensor.call_method0("torch"),
        }
    }
}

/// What is open.
struct Open {
    checkpoint: Checkpoint,
    /// Names in the file's order, with the tensors.
    names: Vec<String>,
    tensors: HashMap<String, Tensor>,
}

/// Tensors of a file by name, each read when it is asked for.
#[pyclass(frozen, weakref, module = "sconce", name = "File")]
pub struct PyFile {
    open: Mutex<Option<Open>>,
    input: Input,
    framework: Framework,
    /// Length and time of the last change, of a file with a path.
    stamp: Option<(u64, u128)>,
}

fn stamp(input: &Input) -> Option<(u64, u128)> {
    let found = fs::metadata(input.path()?).ok()?;
    let changed = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((found.len(), changed.as_nanos()))
}

/// Opens a file of any format for its tensors, as safetensors' ``safe_open`` does. ``framework`` says what
/// ``get_tensor`` gives: ``"numpy"``, ``"pt"``, or ``None`` for :class:`Tensor`.
#[pyfunction]
#[pyo3(signature = (f, framework="numpy", device="cpu"))]
fn open(
    py: Python<'_>,
    f: &Bound<'_, PyAny>,
    framework: Option<&str>,
    device: &str,
) -> PyResult<PyFile> {
    guarded(py, || {
        if device != "cpu" {
            let what = format!("tensors are given in the memory of the CPU, not on {device}");
            return Err(error::unsupported(py, what));
        }
        PyFile::new(py, Input::new(f)?, Framework::new(py, framework)?)
    })
}

/// A handle that was pickled.
#[pyfunction]
fn _reopen(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    framework: Option<&str>,
    length: u64,
    changed: u128,
) -> PyResult<PyFile> {
    guarded(py, || {
        let file = PyFile::new(py, Input::new(path)?, Framework::new(py, framework)?)?;
        if file.stamp != Some((length, changed)) {
            let what = format!("{} has changed since the handle was pickled", file.input.name());
            return Err(error::plain(py, "FormatError", what));
        }
        Ok(file)
    })
}

impl PyFile {
    fn new(py: Python<'_>, input: Input, framework: Framework) -> PyResult<Self> {
        let stamp = stamp(&input);
        let checkpoint = open_checkpoint(py, &input, map_mode(true), &LoadOptions::new())?;
        let (mut names, mut tensors) = (Vec::new(), HashMap::new());
        for named in checkpoint.tensors() {
            if tensors.insert(named.name.clone(), named.tensor.clone()).is_none() {
                names.push(named.name);
            }
        }
        let open = Mutex::new(Some(Open { checkpoint, names, tensors }));
        Ok(PyFile { open, input, framework, stamp })
    }

    fn with<R>(&self, work: impl FnOnce(&Open) -> PyResult<R>) -> PyResult<R> {
        let open = self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match &*open {
            Some(open) => work(open),
            None => Err(PyValueError::new_err("the file is closed")),
        }
    }

    fn tensor(&self, name: &str) -> PyResult<Tensor> {
        self.with(|open| {
            let tensor = open.tensors.get(name).cloned();
            tensor.ok_or_else(|| {
                PyKeyError::new_err(format!("{} has no tensor {name}", self.input.name()))
            })
        })
    }
}

#[pymethods]
impl PyFile {
    /// The names of the tensors, sorted.
    fn keys(&self) -> PyResult<Vec<String>> {
        self.with(|open| {
            let mut names = open.names.clone();
            names.sort();
            Ok(names)
        })
    }

    /// The names of the tensors in the order in which they lie in the file.
    fn offset_keys(&self) -> PyResult<Vec<String>> {
        self.with(|open| {
            let mut names = open.names.clone();
            let place = |name: &String| -> (u64, i64) {
                let tensor = open.tensors.get(name);
                let storage = tensor.and_then(Tensor::storage);
                let at =
                    open.checkpoint.storages().iter().find(|record| {
                        storage.is_some_and(|storage| storage.ptr_eq(&record.storage))
                    });
                let offset = at.and_then(|record| record.file_offset()).unwrap_or(0);
                (offset, tensor.map_or(0, Tensor::storage_offset))
            };
            names.sort_by_cached_key(place);
            Ok(names)
        })
    }

    /// A tensor.
    fn get_tensor<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || self.framework.give(py, self.tensor(name)?))
    }

    /// All tensors by name.
    fn get_tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guarded(py, || {
            let all = PyDict::new(py);
            for name in self.keys()? {
                all.set_item(&name, self.framework.give(py, self.tensor(&name)?)?)?;
            }
            Ok(all)
        })
    }

    /// A tensor of which parts can be had: ``file.get_slice(name)[2:4, :]``.
    fn get_slice(&self, name: &str) -> PyResult<PySlice> {
        Ok(PySlice { tensor: self.tensor(name)?, framework: self.framework })
    }

    /// The metadata of a safetensors file, or ``None``.
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.with(|open| {
            let pairs = &open.checkpoint.info().metadata;
            if pairs.is_empty() {
                return Ok(None);
            }
            let metadata = PyDict::new(py);
            for (key, value) in pairs {
                metadata.set_item(key, value)?;
            }
            Ok(Some(metadata))
        })
    }

    /// Lets go of the file. Tensors that were given stay.
    fn close(&self) {
        *self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __len__(&self) -> PyResult<usize> {
        self.with(|open| Ok(open.names.len()))
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(name) = name.extract::<String>() else { return Ok(false) };
        self.with(|open| Ok(open.tensors.contains_key(&name)))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.keys()?)?.try_iter()?.into_any())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.get_tensor(py, name)
    }

    fn __repr__(&self) -> String {
        format!("<sconce.File {}>", self.input.name())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (Some(path), Some((length, changed))) = (self.input.path(), self.stamp) else {
            let what = "a handle of bytes cannot be pickled: open a path";
            return Err(error::unsupported(py, what));
        };
        let path = std::path::absolute(path)?;
        let reopen = py.import("sconce._sconce")?.getattr("_reopen")?;
        let fields = (path.to_string_lossy().into_owned(), self.framework.name(), length, changed);
        Ok((reopen, fields).into_pyobject(py)?.into_any())
    }
}

/// A tensor of which parts can be had.
#[pyclass(frozen, module = "sconce", name = "Slice")]
pub struct PySlice {
    tensor: Tensor,
    framework: Framework,
}

#[pymethods]
impl PySlice {
    /// Sizes of the dimensions.
    fn get_shape(&self) -> Vec<i64> {
        self.tensor.sizes().to_vec()
    }

    /// The dtype, by its name in safetensors files (``F32``).
    fn get_dtype(&self) -> &'static str {
        self.tensor.dtype().safetensors_name().unwrap_or_else(|| self.tensor.dtype().name())
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || {
            let part = crate::tensor::index(&self.tensor, key)?;
            self.framework.give(py, part)
        })
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<String> {
        let sizes = PyTuple::new(py, self.tensor.sizes())?;
        let shape = python_class(py, "Size")?.call1((sizes,))?.repr()?;
        Ok(format!("<sconce.Slice {} {shape}>", self.get_dtype()))
    }
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyFile>()?;
    module.add_class::<PySlice>()?;
    module.add_function(wrap_pyfunction!(open, module)?)?;
    module.add_function(wrap_pyfunction!(_reopen, module)?)
}

//! Classes that are written in Python.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A class of `_objects.py`.
pub fn python_class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE
        .get_or_try_init(py, || PyResult::Ok(py.import("sconce._objects")?.unbind()))?
        .bind(py);
    module.getattr(name)
}

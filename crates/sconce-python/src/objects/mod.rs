//! What checkpoints hold, as Python's objects and back: `load`, `save`.

mod arrays;
mod from_python;
mod load;
mod places;
mod save;
mod to_python;
mod torch_tensors;

pub use load::{map_mode, open as open_checkpoint};
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

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(load::load, module)?)?;
    module.add_function(wrap_pyfunction!(save::save, module)?)
}

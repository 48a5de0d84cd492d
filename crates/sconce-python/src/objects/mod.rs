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

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(load::load, module)?)?;
    module.add_function(wrap_pyfunction!(save::save, module)?)
}

//! `Tensor`, `dtype`, and how tensors come and go.

mod array;
mod buffer;
mod capsule;
mod class;
mod dtype;
mod incoming;
mod index;
mod lists;

use pyo3::prelude::*;

pub use class::PyTensor;
pub use dtype::{PyDType, dtype_of};
pub use incoming::{imported, tensor_from, tensor_like};
pub use index::index;

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTensor>()?;
    module.add_class::<PyDType>()?;
    module.add_class::<buffer::StorageBytes>()?;
    module.add_function(wrap_pyfunction!(class::_rebuild_tensor, module)?)
}

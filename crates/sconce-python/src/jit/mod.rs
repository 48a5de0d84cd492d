//! Programs: `jit.load`, `jit.script`, modules that are called, and sessions.

mod call;
mod module;
mod options;
mod pool;
mod session;
mod values;

pub use options::bytes;
use pyo3::prelude::*;

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<module::ScriptModule>()?;
    module.add_class::<module::ScriptMethod>()?;
    module.add_class::<session::PySession>()?;
    module.add_function(wrap_pyfunction!(module::_jit_load, module)?)?;
    module.add_function(wrap_pyfunction!(module::_jit_script, module)?)
}

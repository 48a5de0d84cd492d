//! The extension module of the Python package `pysconce`: what `import sconce` is made of.
//!
//! A file is one idea: [`boundary`] is where Rust and Python meet (panics, threads, Ctrl-C), `error.rs` the exceptions,
//! `tensor/` arrays, `objects/` what checkpoints hold, `jit/` programs. `unsafe` is in `tensor/buffer.rs` and
//! `tensor/capsule.rs`, where memory is handed over.
#![allow(
    unreachable_pub,
    missing_docs,
    unnameable_types,
    reason = "the public surface is Python's, documented in the stubs"
)]

mod boundary;
mod commands;
mod error;
mod file;
mod input;
mod jit;
mod objects;
mod python_classes;
mod tensor;

use pyo3::prelude::*;

#[pymodule]
#[pyo3(name = "_sconce")]
fn extension(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    commands::add(module)?;
    objects::add(module)?;
    tensor::add(module)?;
    file::add(module)?;
    jit::add(module)
}

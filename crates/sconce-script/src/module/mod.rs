//! `nn.Module` objects to classes with methods: the job of `torch/jit/_recursive.py`.
//!
//! An object's attributes say what type its class gets (`concrete`); objects of one Python class
//! whose attributes are alike share it. Then the objects are gone through from the inside out and
//! the methods of each class are compiled once (`compile`, `members`), while the objects become the
//! values of the archive (`values`).

mod compile;
mod concrete;
mod containers;
mod infer_type;
mod members;
mod values;

/// How deep modules may be nested in each other.
const MAX_NESTING: usize = 200;

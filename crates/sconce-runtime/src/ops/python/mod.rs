//! Operators on what Python has too: numbers, strings, lists, dicts.

pub(crate) mod casts;
pub(crate) mod dicts;
pub(crate) mod lists;
pub(crate) mod math;
pub(crate) mod nested_lists;
pub(crate) mod numbers;
pub(crate) mod objects;
pub(crate) mod profiler;
pub(crate) mod sort_lists;
pub(crate) mod strings;
pub(crate) mod text;

//! Operators that compute each element of a result from the elements at one index.

pub(crate) mod activation;
pub(crate) mod any_dtype;
pub(crate) mod binary;
pub(crate) mod binary_integer;
pub(crate) mod binary_op;
pub(crate) mod compare;
pub(crate) mod complex;
pub(crate) mod complex_arithmetic;
pub(crate) mod complex_functions;
pub(crate) mod complex_special_cases;
pub(crate) mod conditional;
pub(crate) mod contiguous;
pub(crate) mod float_parts;
pub(crate) mod in_place;
pub(crate) mod remainder;
pub(crate) mod ternary;
pub(crate) mod unary;
pub(crate) mod unary_op;

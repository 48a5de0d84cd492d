//! Values of running programs: what they are, how they compare, end and read as text.

pub(crate) mod convert;
pub(crate) mod dict;
pub(crate) mod drop_values;
pub(crate) mod equality;
pub(crate) mod ivalue;
pub(crate) mod shared;
pub(crate) mod str_value;
pub(crate) mod tensor_text;
pub(crate) mod text;

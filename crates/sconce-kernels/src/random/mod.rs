//! PyTorch's random number generator and the distributions drawn from it.

pub(crate) mod continuous;
pub(crate) mod distributions;
pub(crate) mod generator;
pub(crate) mod random_int;

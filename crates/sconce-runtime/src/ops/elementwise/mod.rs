//! Element-wise operators.

pub(crate) mod activation;
pub(crate) mod arithmetic;
pub(crate) mod complex;
pub(crate) mod functions;

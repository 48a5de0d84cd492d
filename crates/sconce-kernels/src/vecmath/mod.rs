//! Transcendental functions without branches, so that loops over them become vector code.

pub(crate) mod accuracy;
pub(crate) mod double;
pub(crate) mod float_element;
pub(crate) mod single;
pub(crate) mod single_via_double;

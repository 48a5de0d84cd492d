//! Transcendental functions without branches, so that loops over them become vector code.

pub mod accuracy;
pub mod double;
pub mod float_element;
pub mod single;
pub mod single_via_double;

//! Between archives and running programs: objects made live and given back, arguments matched to schemas, what a
//! program needs.

pub(crate) mod exported;
pub(crate) mod from_objects;
pub(crate) mod instantiate;
pub(crate) mod matching;
pub(crate) mod memory_plans;
pub(crate) mod needs;
pub(crate) mod plans;
pub(crate) mod prepare;
pub(crate) mod to_objects;

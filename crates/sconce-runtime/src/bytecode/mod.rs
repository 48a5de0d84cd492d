//! Register code: graphs are lowered to it once, and it is interpreted.

mod autocast;
pub(crate) mod code;
pub(crate) mod interpreter;
pub(crate) mod lower;
pub(crate) mod need;
pub(crate) mod number;
pub(crate) mod primitive;

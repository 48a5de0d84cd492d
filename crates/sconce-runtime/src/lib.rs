//! Runs TorchScript programs without libtorch.
//!
//! [`Session::new`] takes a loaded module, makes its objects (running `__setstate__` where a class
//! has one) and lowers what is called to register code; [`Session::call`] runs a method. An operator
//! that is not here is an error before anything runs, never a wrong result. Programs have no way to
//! read or write anything but their values: what they print and warn goes to the caller's [`Sink`].

mod dict;
mod error;
mod instantiate;
mod interpreter;
mod limits;
mod lower;
mod matching;
mod optimize;
mod primitive;
mod registry;
mod session;
mod shared;
mod text;
mod value;

pub use error::{Error, Exception};
pub use limits::Limits;
pub use sconce_kernels::Tensor;
pub use session::{Missing, Options, Session, Silent, Sink};
pub use shared::Shared;
pub use value::{Dict, IValue, List, Object, Tuple};

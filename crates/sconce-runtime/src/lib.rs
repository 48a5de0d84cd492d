//! Runs TorchScript programs without libtorch.
//!
//! [`Session::new`] takes a loaded module, makes its objects (running `__setstate__` where a class
//! has one) and lowers what is called to register code; [`Session::call`] runs a method. An operator
//! that is not here is an error that names it ([`Missing`] says when), never a wrong result. Programs
//! have no way to read or write anything but their values: what they print and warn goes to the
//! caller's [`Sink`].

mod convert;
mod dict;
mod error;
mod from_objects;
mod gradients;
mod instantiate;
mod interpreter;
mod limits;
mod lower;
mod matching;
mod op_contexts;
mod optimize;
mod packed_params;
mod primitive;
mod registry;
mod session;
mod shared;
mod support;
mod tensor_text;
mod text;
mod to_objects;
mod value;

pub use error::{Error, Exception};
pub use from_objects::{arguments, from_object};
pub use limits::Limits;
pub use sconce_kernels::{Generator, Tensor, normal_in_place, uniform_in_place};
pub use session::{Missing, Model, Options, ProfileEntry, Session, Silent, Sink};
pub use shared::Shared;
pub use support::{Need, needs};
pub use to_objects::to_object;
pub use value::{Dict, IValue, List, Object, Tuple};

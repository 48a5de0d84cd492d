//! Runs TorchScript programs without libtorch.
//!
//! [`Session::new`] takes a loaded module, makes its objects (running `__setstate__` where a class
//! has one) and lowers what is called to register code; [`Session::call`] runs a method. An operator
//! that is not here is an error that names it ([`Missing`] says when), never a wrong result. Programs
//! have no way to read or write anything but their values: what they print and warn goes to the
//! caller's [`Sink`].

mod convert;
mod dict;
mod drop_values;
mod equality;
mod error;
mod from_objects;
mod gradients;
mod instantiate;
mod interpreter;
mod limits;
mod lower;
mod matching;
mod memory_left;
mod op_contexts;
mod optimize;
mod packed_params;
mod primitive;
mod registry;
mod session;
mod shared;
mod str_value;
mod support;
mod tensor_text;
mod text;
mod to_objects;
mod value;

pub use error::{Error, Exception};
pub use from_objects::{arguments, from_object};
pub use limits::Limits;
pub use memory_left::memory_left;
pub use sconce_kernels::{
    CountingAllocator, Generator, Tensor, lift_ceiling, normal_in_place, set_ceiling, size_text,
    uniform_in_place,
};
pub use session::{Missing, Model, Options, ProfileEntry, Session, Silent, Sink};
pub use shared::Shared;
pub use support::{Need, needs};
pub use to_objects::to_object;
pub use value::{Dict, Future, IValue, List, Object, Text, Tuple};

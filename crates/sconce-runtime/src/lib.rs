//! Runs TorchScript programs without libtorch.
//!
//! [`Session::new`] takes a loaded module, makes its objects (running `__setstate__` where a class
//! has one) and lowers what is called to register code; [`Session::call`] runs a method. An operator
//! that is not here is an error that names it ([`Missing`] says when), never a wrong result. Programs
//! have no way to read or write anything but their values: what they print and warn goes to the
//! caller's [`Sink`].

mod autograd;
mod bytecode;
mod error;
mod limits;
mod linalg_operators;
mod memory_left;
mod model;
mod op_context;
mod ops;
mod optimize;
mod options;
mod profile;
mod program;
mod session;
mod session_handle;
mod sink;
mod value;

pub use bytecode::need::Need;
pub use error::{Error, Exception};
pub use limits::{Limits, Poll};
pub use memory_left::memory_left;
pub use model::Model;
pub use ops::custom::{OperatorArgs, OperatorError, Registry};
pub use options::Options;
pub use profile::ProfileEntry;
pub use program::from_objects::{arguments, from_object};
pub use program::needs::{needs, needs_of};
pub use program::prepare::Missing;
pub use program::to_objects::{to_object, to_object_as};
pub use sconce_ir::operators::RegisterError;
pub use sconce_kernels::Error as TensorError;
pub use sconce_kernels::{
    CountingAllocator, Generator, Precision, Tensor, lift_ceiling, limit_vector_instructions,
    normal_in_place, num_threads, set_ceiling, set_num_threads, size_text, uniform_in_place,
    vector_instructions,
};
pub use session::Session;
pub use session_handle::{Away, SessionHandle};
pub use sink::{Silent, Sink};
pub use value::plain::Plain;
pub use value::shared::Shared;
pub use value::{Dict, Future, IValue, List, Nested, Object, Text, Tuple};

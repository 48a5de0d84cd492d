//! Python pickles as inert data.

mod arena;
mod decode;
mod dis;
mod error;
mod limits;
mod machine;
mod memo;
pub mod opcode;
mod policy;
mod render;
pub mod repr;
mod text;
mod trace;

pub use arena::{Arena, Call, CallKind, Global, Items, Node, Updates, Value};
pub use decode::{Arg, Instruction, instructions};
pub use dis::{DisError, DisSummary, dis, dis_from};
pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use machine::{Loaded, Machine, load, load_with};
pub use opcode::OpcodeInfo;
pub use policy::{AllowAll, Policy, Refusal};
pub use render::render;
pub use trace::{Frame, Step, Tracer};

//! Python pickles as inert data.
//!
//! A pickle is a program for a small stack machine, and running it as Python does can call anything.
//! This crate runs the machine and nothing else: where Python would import, call, or set state, it
//! records that it would. What comes out is an [`Arena`] of [`Node`]s with identity, order and cycles
//! as in the pickle. The crate knows nothing of PyTorch, opens no files, and never calls anything.
//!
//! ```
//! use sconce_pickle::{Limits, Node, load};
//!
//! // {"lr": 0.5, "os": os.system("ls")}, by protocol 2
//! let bytes = b"\x80\x02}(X\x02\0\0\0lrG\x3f\xe0\0\0\0\0\0\0\
//!     X\x02\0\0\0oscos\nsystem\nX\x02\0\0\0ls\x85Ru.";
//! let loaded = load(bytes, &Limits::default())?;
//! let arena = &loaded.arena;
//! let Node::Dict(entries) = arena.node(loaded.root) else { panic!("a dict") };
//!
//! let (key, value) = entries[0];
//! assert_eq!(arena.str(key), Some("lr"));
//! assert_eq!(arena.node(value), &Node::Float(0.5));
//!
//! let Node::Call(call) = arena.node(entries[1].1) else { panic!("a call") };
//! assert_eq!(arena.global(call.callable), Some(("os", "system")));
//! assert_eq!(arena.offset(call.callable), 27);
//! # Ok::<(), sconce_pickle::Error>(())
//! ```
//!
//! # What is here
//! | to | use |
//! |---|---|
//! | read a pickle | [`load`]; [`load_with`] with a [`Policy`] that may say no before each step |
//! | write a pickle, byte for byte as CPython does | [`encode`], [`encode_into`] |
//! | make values from nothing | [`ArenaBuilder`] |
//! | go step by step, or keep what came before an error | [`Machine`] |
//! | list opcodes as `python -m pickletools` does | [`dis`], [`dis_from`] |
//! | walk opcodes without running them | [`instructions`] |
//! | show what each opcode does to stack and memo | [`Tracer`] |
//! | look up an opcode | [`opcode::OPCODES`], [`OpcodeInfo::of`] |
//! | write values as Python does | [`repr`] (exact), [`render`] (short) |
//!
//! # Where it stands to CPython
//! The machine follows the C unpickler (`_pickle`) of CPython 3.11, its errors' wording included. It
//! differs where Python would have to be there to know:
//! - Objects made by calls, named classes, persistent ids, extensions and buffers take any APPEND,
//!   SETITEM, ADDITEMS or BUILD: these are kept as [`Updates`]. A BUILD on a list, dict or set is kept
//!   too; CPython refuses it for the plain types.
//! - REDUCE takes arguments that are no tuple, since TorchScript's pickler writes enums so.
//! - Extension codes need no registry, buffers need no buffers, and no memo slot is too far.
//! - Dicts and sets keep every entry that was set, in order, equal keys too. Keys that are lists,
//!   dicts, sets or bytearrays are refused; tuples that hold such are not.
//! - Python 2 strings stay bytes ([`Node::ByteStr`]), for the reader to decode.
//!
//! [`encode`] writes what the C pickler does, at protocols 0 to 5; what differs stands there. A pickle
//! that it wrote comes out of `load` and `encode` as it was, but for calls that it popped again (state
//! setters) and, before protocol 4, sets that hold themselves.
//!
//! # What no pickle can do
//! Panic, overflow the stack (nothing here recurses over the input, not even dropping), take more
//! time than is linear in its length, or make the machine hold more than about 100 bytes for each of
//! its own bytes: lengths are checked against the bytes left before anything is allocated, memo slots
//! far away go to a map, and strings are borrowed from the input.

mod arena;
mod builder;
mod decode;
mod decompile;
mod dis;
mod encode;
mod error;
mod limits;
mod machine;
mod memo;
pub mod opcode;
mod policy;
mod render;
pub mod repr;
mod shorten;
mod text;
mod trace;

pub use arena::{Arena, Call, CallKind, Global, Items, Node, Updates, Value};
pub use builder::{ArenaBuilder, BuildError};
pub use decode::{Arg, Instruction, instructions};
pub use decompile::decompile;
pub use dis::{DisError, DisSummary, dis, dis_from};
pub use encode::{EncodeError, EncodeOptions, encode, encode_into};
pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use machine::{Loaded, Machine, load, load_with};
pub use opcode::OpcodeInfo;
pub use policy::{AllowAll, Policy, Refusal};
pub use render::render;
pub use trace::{Frame, Step, Tracer};

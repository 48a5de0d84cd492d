//! What `torch.export.save` writes: `.pt2` archives, and the programs in them.
//!
//! ```no_run
//! use sconce_export_program::Archive;
//!
//! let archive = Archive::open("model.pt2")?;
//! let model = archive.model(None)?; // the model called `model`, or the only one
//! let program = archive.program(model)?; // an `ExportedProgram`
//! for node in &program.graph_module.graph.nodes {
//!     println!("{}", node.target);
//! }
//! // Parameters, buffers and constants, whose bytes are read when they are first used.
//! for payload in archive.weights(model)?.iter().chain(&archive.constants(model)?) {
//!     println!("{} {:?}", payload.name, payload.tensor().map(|tensor| tensor.sizes().to_vec()));
//! }
//! # Ok::<(), sconce_export_program::Error>(())
//! ```
//!
//! * [`Archive`] is the container: which models are in it, in which of the layouts that PyTorch 2.1 to
//!   2.15 wrote. It is `sconce_checkpoint`'s [`Package`](sconce_checkpoint::pt2::Package) with the programs.
//! * [`schema`] has one structure for each of PyTorch's, with its field names: [`ExportedProgram`],
//!   [`Graph`](schema::Graph), [`Node`](schema::Node), [`Argument`](schema::Argument), …. Unions are enums,
//!   enums have their own numbers, and keys that this version does not know are kept in `extra`. A program
//!   is read by [`ExportedProgram::from_json`] and written by [`ExportedProgram::to_json`], byte for byte as
//!   Python's `json.dumps` writes it.
//! * [`ExportedProgram::text`] gives what PyTorch prints of a program.
//! * [`Archive::write_again`] and [`Archive::write_like_torch`] write archives; [`write_models`] writes several models in
//!   one, with other weights in the place of theirs where they are given.
//! * [`expression`] reads the text of symbolic expressions, and prints them as sympy does.
//! * [`guard`] reads conditions on inputs.
//! * [`json`] is the reader and writer of JSON underneath.
//! * [`Program`] is a program as a module that can be run: its graph in the terms of `sconce_ir`, and how it
//!   is called ([`Calling`], whose structures are [`tree_spec`]s).
//!
//! Architecture invariant: nothing in a file is evaluated. Expressions are text with a parser of its own, and no depth
//! in a file can overflow the stack: JSON deeper than [`json::MAX_DEPTH`] is refused.

mod archive;
mod calling;
mod error;
pub mod expression;
pub mod guard;
mod import;
pub mod json;
mod resave;
pub mod schema;
mod text;
pub mod tree_spec;

pub use archive::Archive;
pub use calling::{Calling, Given};
pub use error::{Error, ErrorKind};
pub use import::Program;
pub use resave::write_models::{ModelToWrite, write_models};
pub use schema::ExportedProgram;

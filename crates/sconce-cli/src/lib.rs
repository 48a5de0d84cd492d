//! The `sconce` command as a library: PyTorch's files at a shell, without PyTorch.
//!
//! [`main`] is the whole program, for a binary or another language's console command. [`call`] is a verb within a process
//! that goes on afterwards: it prints nothing, sets no handler of a signal, and gives what the command would have
//! printed. [`failure_of`] puts an error of the library into the command's words.
//!
//! This is the only crate of the workspace that prints, exits and reads the command line. Every verb
//! is a file in `verbs/`; how things look is decided in `output/`, how they fail in `error.rs`.
#![allow(
    unreachable_pub,
    reason = "what is public is listed here; pub elsewhere says: for other files"
)]

mod arguments;
mod call;
mod cli;
mod entry;
mod error;
mod examples;
mod graph;
mod library;
mod output;
mod process;
mod read;
mod report;
mod select;
mod verbs;
mod write;

pub use entry::{main, main_from};
pub use error::Failure;
pub use library::{Called, call, failure_of};

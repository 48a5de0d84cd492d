//! The `sconce` binary: PyTorch's files at a shell, without PyTorch.
//!
//! This is the only crate of the workspace that prints, exits and reads the command line. Every verb
//! is a file in `verbs/`; how things look is decided in `output/`, how they fail in `error.rs`.
#![allow(unreachable_pub, reason = "a binary has no public surface; pub says: for other files")]

mod atomic;
mod calling;
mod carried;
mod ceiling;
mod cli;
mod deadline;
mod error;
#[cfg(target_os = "linux")]
mod fault;
mod file_set;
mod glob;
mod input;
mod interrupt;
mod open;
mod output;
mod overflow;
mod pick;
mod pieces;
mod python;
mod rename;
mod run;
mod saving;
mod script;
mod suggest;
mod verbs;

/// Counts what the process holds, so that `--max-memory` binds all of it.
#[global_allocator]
static ALLOCATOR: sconce::run::CountingAllocator = sconce::run::CountingAllocator;

fn main() -> std::process::ExitCode {
    run::main()
}

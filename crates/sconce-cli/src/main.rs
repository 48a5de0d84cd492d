//! The `sconce` binary: PyTorch's files at a shell, without PyTorch.
//!
//! This is the only crate of the workspace that prints, exits and reads the command line. Every verb
//! is a file in `verbs/`; how things look is decided in `output/`, how they fail in `error.rs`.
#![allow(unreachable_pub, reason = "a binary has no public surface; pub says: for other files")]

mod arguments;
mod call;
mod cli;
mod entry;
mod error;
mod examples;
mod graph;
mod output;
mod process;
mod read;
mod report;
mod select;
mod verbs;
mod write;

/// Counts what the process holds, so that `--max-memory` binds all of it.
#[global_allocator]
static ALLOCATOR: sconce::run::CountingAllocator = sconce::run::CountingAllocator;

fn main() -> std::process::ExitCode {
    entry::main()
}

//! Opens TorchScript archives, and says what is wrong with programs.

use std::ffi::OsStr;

use sconce::jit::{self, Module};

use crate::cli::Load;
use crate::error::Failure;
use crate::open;

/// Loads an archive; no method is compiled.
pub fn module(file: &OsStr, load: &Load) -> Result<Module, Failure> {
    let limits = open::limits(load);
    let source = open::source(file, open::map_mode(load), &limits)?;
    let loaded = jit::LoadOptions::new().limits(limits).read(source);
    loaded.map_err(|error| Failure::from(error).in_file(open::name(file)))
}

impl From<jit::Error> for Failure {
    fn from(error: jit::Error) -> Failure {
        let mut failure = match error.kind() {
            sconce::ErrorKind::Caller => Failure::usage(error.message()),
            _ => Failure::unreadable(error.message()),
        };
        if let Some(file) = error.file() {
            failure = failure.in_file(file);
        }
        if let Some(record) = error.record() {
            failure = failure.in_record(Some(record)).at(error.offset());
        }
        if let Some(program) = error.program() {
            if let Some(range) = program.range() {
                failure = failure.note(range.highlight());
            }
            for (function, range) in program.calls() {
                let text = format!("'{function}' is being compiled since it was called from");
                failure = failure.note(format!("{text}\n{}", range.highlight()));
            }
        }
        match error.help() {
            Some(help) => failure.help(help),
            None => failure,
        }
    }
}

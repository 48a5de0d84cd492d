//! Opens TorchScript archives, and says what is wrong with programs.

use std::ffi::OsStr;

use sconce::export_program::Program;
use sconce::jit::{self, Module};
use sconce::{FileKind, Source, identify};

use crate::arguments::reading::{Load, PolicyChoice};
use crate::error::Failure;
use crate::read::{exported, open};

/// What an archive of either kind holds.
pub enum Loaded {
    /// TorchScript.
    Module(Module),
    /// What torch.export saved.
    Program(Program),
}

/// Loads an archive; no method is compiled. Of a program that was exported, the module that stands for it.
pub fn module(file: &OsStr, load: &Load) -> Result<Module, Failure> {
    Ok(match either(file, load)? {
        Loaded::Module(module) => module,
        Loaded::Program(program) => program.module().clone(),
    })
}

/// Loads an archive of either kind.
pub fn either(file: &OsStr, load: &Load) -> Result<Loaded, Failure> {
    let source = open::source(file, open::map_mode(load), &open::limits(load))?;
    let name = open::name(file);
    if exported::is_exported(&source) {
        return program(source, load, &name).map(Loaded::Program);
    }
    from_source(source, load, &name).map(Loaded::Module)
}

/// The program of a `.pt2` file that is open.
fn program(source: Source, load: &Load, file: &str) -> Result<Program, Failure> {
    let archive = exported::archive(source, load, file)?;
    let model = archive.model(load.model.as_deref());
    let program = model.and_then(|model| Program::of_archive(&archive, model));
    program.map_err(|error| exported::failure(error, file))
}

/// [`module`] of a file that is open.
pub fn from_source(source: Source, load: &Load, file: &str) -> Result<Module, Failure> {
    let identity = identify(&source);
    // What a damaged archive looks like, its reader says best.
    if !matches!(identity.kind, FileKind::TorchScript | FileKind::Zip | FileKind::MobileFlatbuffer)
    {
        let what = identity.kind.description();
        let message = format!("this is not a TorchScript archive: {what}");
        let failure = Failure::unreadable(message).in_file(file);
        return Err(match identity.kind.advice() {
            Some(advice) => failure.help(advice),
            None => failure,
        });
    }
    if load.policy == PolicyChoice::WeightsOnly {
        let message = "torch.load(weights_only=True) takes no TorchScript archives";
        return Err(Failure::unreadable(message).in_file(file));
    }
    let loaded = jit::LoadOptions::new().limits(open::limits(load)).read(source);
    loaded.map_err(|error| failure(error, file))
}

/// What is wrong with the program or the objects of a file, with the lines of code at fault: those
/// in the archive, and those that it was written as where the archive knows them.
pub fn failure(error: jit::Error, file: &str) -> Failure {
    let mut failure = match error.kind() {
        sconce::ErrorKind::Caller => Failure::usage(error.message()),
        _ => Failure::unreadable(error.message()),
    };
    failure = failure.in_file(error.file().unwrap_or(file));
    if let Some(record) = error.record() {
        failure = failure.in_record(Some(record)).at(error.offset());
    }
    if let Some(program) = error.program() {
        let here = program.range().map(|range| ("the code at fault".to_owned(), range));
        let calls = program.calls().iter().map(|(function, range)| {
            (format!("'{function}' is being compiled since it was called from"), range)
        });
        for (what, range) in here.into_iter().chain(calls) {
            failure = failure.note(format!("{what}\n{}", range.highlight()));
            if let Some(original) = range.original() {
                failure = failure.note(format!("which was written as\n{}", original.highlight()));
            }
        }
    }
    match error.help() {
        Some(help) => failure.help(help),
        None => failure,
    }
}

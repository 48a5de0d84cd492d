//! Opens programs of torch.export, and says what is wrong with them.

use sconce::export_program::{Archive, Error, ExportedProgram};
use sconce::{ErrorKind, FileKind, Source, identify};

use crate::arguments::reading::Load;
use crate::error::Failure;
use crate::read::open;

/// Whether a file is to be read by this module.
pub fn is_exported(source: &Source) -> bool {
    matches!(identify(source).kind, FileKind::Pt2 | FileKind::AotInductor)
}

/// The archive.
pub fn archive(source: Source, load: &Load, file: &str) -> Result<Archive, Failure> {
    Archive::from_source(source, &open::options(load)).map_err(|error| failure(error, file))
}

/// The program that `--model` names.
pub fn program(archive: &Archive, load: &Load, file: &str) -> Result<ExportedProgram, Failure> {
    let failure = |error| failure(error, file);
    let model = archive.model(load.model.as_deref()).map_err(failure)?;
    archive.program(model).map_err(failure)
}

/// What is wrong with an archive or a program, with the place in its JSON.
pub fn failure(error: Error, file: &str) -> Failure {
    let mut failure = match error.kind() {
        ErrorKind::Caller => Failure::usage(error.message()),
        _ => Failure::unreadable(error.message()),
    };
    failure = failure.in_file(error.file().unwrap_or(file));
    if let Some(record) = error.record() {
        failure = failure.in_record(Some(record)).at(error.offset());
    }
    if let Some(path) = error.path() {
        failure = failure.note(format!("at {path}"));
    }
    if let Some(note) = error.note() {
        failure = failure.note(note);
    }
    match error.help() {
        Some(help) => failure.help(help),
        None => failure,
    }
}

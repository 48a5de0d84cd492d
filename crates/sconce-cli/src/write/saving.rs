//! How checkpoints are written: the flags that stand for `torch.save`'s arguments, and the file.

use std::path::Path;

use sconce::checkpoint::Object;

use crate::arguments::saving::Saving;
use crate::error::Failure;
use crate::output::Progress;
use crate::write::atomic::AtomicFile;

/// Writes a checkpoint as `torch.save` does. The file takes its name by [`AtomicFile::commit`].
pub fn write(
    object: Object<'_>,
    target: &Path,
    force: bool,
    saving: &Saving,
    progress: &Progress,
) -> Result<AtomicFile, Failure> {
    write_as(object, target, target, force, saving, progress)
}

/// [`write`] of a file whose archive is named as if it were called `name`.
pub fn write_as(
    object: Object<'_>,
    name: &Path,
    target: &Path,
    force: bool,
    saving: &Saving,
    progress: &Progress,
) -> Result<AtomicFile, Failure> {
    let mut file = AtomicFile::create(target, force)?;
    let options = saving.options().on_progress(progress.listener());
    match options.save_as(object, &mut file, name) {
        Ok(_) => Ok(file),
        Err(error) => Err(file.failure().unwrap_or_else(|| refused(error))),
    }
}

/// Refuses names that promise another format.
pub fn checkpoint_name(target: &Path) -> Result<(), Failure> {
    let extension = target.extension().map(|text| text.to_string_lossy().to_ascii_lowercase());
    if matches!(extension.as_deref(), Some("pt" | "pth" | "bin" | "ckpt")) {
        return Ok(());
    }
    let name = target.to_string_lossy();
    Err(Failure::usage(format!("a checkpoint is written, but '{name}' does not say so"))
        .help("end it in .pt, .pth, .bin or .ckpt; sconce convert writes the other formats"))
}

/// What the library refuses is the command line's fault where it says that it is the caller's.
pub fn refused(error: sconce::checkpoint::Error) -> Failure {
    if error.kind() != sconce::checkpoint::ErrorKind::Caller {
        return Failure::from(error);
    }
    let mut failure = Failure::usage(error.message());
    if let Some(note) = error.note() {
        failure = failure.note(note);
    }
    match error.help() {
        Some(help) => failure.help(help),
        None => failure,
    }
}

//! Checkpoints that verbs write.

use std::path::Path;

use sconce::checkpoint::{Object, SaveOptions};

use crate::atomic::AtomicFile;
use crate::error::Failure;
use crate::output::Progress;

/// Writes an object as `torch.save` does. The file has its name once it is committed.
pub fn write(
    options: SaveOptions,
    object: Object<'_>,
    target: &Path,
    force: bool,
    progress: &Progress,
) -> Result<AtomicFile, Failure> {
    let mut file = AtomicFile::create(target, force)?;
    let options = options.on_progress(progress.listener());
    match options.save_as(object, &mut file, target) {
        Ok(_) => Ok(file),
        Err(error) => Err(file.failure().unwrap_or_else(|| Failure::from(error))),
    }
}

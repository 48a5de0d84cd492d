//! Writes archives of torch.export programs: one with other weights (`edit --weights`), or several in one (`merge`).

use std::ffi::{OsStr, OsString};
use std::path::Path;

use sconce::archive::archive_name;
use sconce::export_program::{Archive, ModelToWrite, write_models};

use crate::arguments::reading::Load;
use crate::arguments::saving::Saving;
use crate::error::Failure;
use crate::read::exported;
use crate::read::open::{self, Say};
use crate::write::atomic::AtomicFile;
use crate::write::state_dict::{flat, taken};

/// How a file is called that `torch.export.save` would have written.
pub const EXPORT_SAVE: &str = "zip, torch.export.save layout";

/// Whether a file is to be written that holds programs, by its name.
pub fn is_program_name(target: &Path) -> bool {
    target.extension().is_some_and(|ending| ending == "pt2")
}

/// Refuses the flags of `torch.save`.
pub fn no_saving_options(saving: &Saving) -> Result<(), Failure> {
    match saving.given() {
        Some(flag) => Err(Failure::usage(format!(
            "{flag} is for checkpoints: a program is written as PyTorch does"
        ))),
        None => Ok(()),
    }
}

/// The archive of a file that is to be one.
pub fn archive(file: &OsStr, load: &Load) -> Result<Archive, Failure> {
    let name = open::name(file);
    let source = open::source(file, open::map_mode(load), &open::limits(load))?;
    if !exported::is_exported(&source) {
        let message = "this is not a program of torch.export, and a .pt2 file holds programs";
        return Err(Failure::usage(message).in_file(&name).help("sconce identify says what it is"));
    }
    exported::archive(source, load, &name)
}

/// Writes models as a file, which has its name once it is whole.
pub fn write(models: &[ModelToWrite<'_>], target: &Path, force: bool) -> Result<(), Failure> {
    let name = target.to_string_lossy();
    let folder =
        archive_name(target).map_err(|error| Failure::usage(error.message()).in_file(&*name))?;
    let mut file = AtomicFile::create(target, force)?;
    if let Err(error) = write_models(models, &folder, &mut file) {
        return Err(file.failure().unwrap_or_else(|| exported::failure(error, &name)));
    }
    file.commit()
}

/// What a model is called in an archive of several: by its own name, or where that is `model` by its file's.
pub fn name_of<'a>(model: &'a str, file: &'a OsString) -> &'a str {
    let stem = Path::new(file).file_stem().and_then(OsStr::to_str);
    if model == "model" { stem.unwrap_or(model) } else { model }
}

/// A model with the tensors of a state dict in the place of its own.
pub fn with_weights<'a>(
    archive: &'a Archive,
    model: &'a str,
    weights: &OsStr,
    take: Option<&str>,
    load: &Load,
    say: Say,
) -> Result<(ModelToWrite<'a>, Vec<String>), Failure> {
    let file = open::name(weights);
    let checkpoint = open::file(weights, load, say)?;
    let in_file = |failure: Failure| failure.in_file(&file);
    let draft = taken(&checkpoint, take).map_err(in_file)?;
    let tensors = flat(&draft).map_err(in_file)?;
    let names = tensors.iter().map(|(name, _)| name.clone()).collect();
    let model = ModelToWrite::new(archive, model)
        .with_weights(tensors)
        .map_err(|error| exported::failure(error, &file))?;
    Ok((model, names))
}

use std::path::Path;

use sconce_checkpoint::LoadOptions;
use sconce_checkpoint::pt2::{Package, Payload, Store};
use sconce_source::Source;

use crate::{Error, ExportedProgram};

/// A `.pt2` archive with its programs.
///
/// Models go by their names: [`Archive::model`] finds one, and the other functions take what it gives.
#[derive(Debug)]
pub struct Archive {
    package: Package,
}

impl Archive {
    /// Opens a file. Reads its directory and a few short records.
    ///
    /// # Errors
    /// When the file cannot be read, is no `.pt2` archive, or one of a version that is not known.
    pub fn open(path: impl AsRef<Path>) -> Result<Archive, Error> {
        Ok(Archive { package: Package::open(path)? })
    }

    /// Opens bytes from anywhere, with options for its tensors and limits.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn from_source(source: Source, options: &LoadOptions) -> Result<Archive, Error> {
        Ok(Archive { package: Package::from_source(source, options)? })
    }

    /// The container.
    pub fn package(&self) -> &Package {
        &self.package
    }

    /// The names of the models.
    pub fn models(&self) -> &[String] {
        self.package.models()
    }

    /// The model of a name; without a name, the one called `model`, or the only one.
    ///
    /// # Errors
    /// When there is no such model, with the names of those that there are.
    pub fn model(&self, name: Option<&str>) -> Result<&str, Error> {
        Ok(self.package.model(name)?)
    }

    /// A model's program.
    ///
    /// # Errors
    /// When its record cannot be read, or as [`ExportedProgram::from_json`].
    pub fn program(&self, model: &str) -> Result<ExportedProgram, Error> {
        let text = self.package.program(model)?;
        ExportedProgram::from_json(&text).map_err(|error| {
            error
                .in_record(&self.package.program_record(model))
                .in_file(self.package.source().name())
        })
    }

    /// What PyTorch prints of a model's program once it is loaded: [`ExportedProgram::text`] with the record in errors.
    ///
    /// # Errors
    /// As [`Archive::program`] and [`ExportedProgram::text`].
    pub fn text(&self, model: &str) -> Result<String, Error> {
        self.program(model)?.text().map_err(|error| {
            let error = error.in_record(&self.package.program_record(model));
            error.in_file(self.package.source().name())
        })
    }

    /// A model's parameters, and buffers that are in its state dict. Those that name one record share a storage.
    ///
    /// # Errors
    /// When the config is missing or does not fit its records.
    pub fn weights(&self, model: &str) -> Result<Vec<Payload>, Error> {
        Ok(self.package.store(model, Store::Weights)?)
    }

    /// A model's other tensors, and its objects.
    ///
    /// # Errors
    /// As [`Archive::weights`].
    pub fn constants(&self, model: &str) -> Result<Vec<Payload>, Error> {
        Ok(self.package.store(model, Store::Constants)?)
    }
}

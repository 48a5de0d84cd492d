//! The container: which models, and where their records are.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use sconce_archive::{Archive, Directory, Entry};
use sconce_source::{Bytes, Source};
use sconce_tensor::ByteOrder;

use super::malformed;
use crate::options::LoadOptions;
use crate::records::{Bare, Records};
use crate::{Checkpoint, Error, ErrorKind, Policy};

/// The name that `torch.export.save` gives a model, and the one model of the layout before 2.8.
pub const DEFAULT_MODEL: &str = "model";

pub(super) const FLAT_PROGRAM: &str = "serialized_exported_program.json";
const FORMAT: &str = "archive_format";
const VERSION: &str = "archive_version";
const MODELS: &str = "models/";
const JSON: &str = ".json";
const COMPILED: &str = "data/aotinductor/";
const EXECUTORCH: &str = "data/executorch/";
const EXTRA: &str = "extra/";
const EXTRA_FLAT: &str = "extra_files/";
/// Names of models that a message lists.
const LISTED: usize = 10;

/// How the records of a `.pt2` archive are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// PyTorch 2.1 to 2.7: no folder, one program, tensors in pickles.
    Flat,
    /// PyTorch 2.8: models in a folder, the tensors of each in pickles.
    Pickled,
    /// PyTorch 2.9 and later: models in a folder, each storage a record.
    Raw,
}

/// A `.pt2` archive: models, each of them a program and its tensors, and what lies beside them.
///
/// ```no_run
/// use sconce_checkpoint::pt2::{Package, Store};
///
/// let package = Package::open("model.pt2")?;
/// let model = package.model(None)?;
/// println!("{} bytes of JSON", package.program(model)?.len());
/// for payload in package.store(model, Store::Weights)? {
///     println!("{}", payload.name);
/// }
/// # Ok::<(), sconce_checkpoint::Error>(())
/// ```
#[derive(Debug)]
pub struct Package {
    pub(super) records: Records,
    pub(super) options: LoadOptions,
    layout: Layout,
    models: Vec<String>,
    byte_order: Option<ByteOrder>,
    version: Option<u64>,
    warnings: Vec<String>,
}

impl Package {
    /// Opens a file with the default options. Reads its directory and a few short records.
    ///
    /// # Errors
    /// When the file cannot be read, is no `.pt2` archive, or one of a version that is not known.
    pub fn open(path: impl AsRef<Path>) -> Result<Package, Error> {
        let options = LoadOptions::new();
        let source = Source::open_with(path, options.map_mode)?;
        Package::from_source(source, &options)
    }

    /// Opens bytes from anywhere. The tensors are read as the options say.
    ///
    /// # Errors
    /// As [`Package::open`].
    pub fn from_source(source: Source, options: &LoadOptions) -> Result<Package, Error> {
        let name = source.name().to_owned();
        Package::read(source, options).map_err(|error| error.in_file(&name))
    }

    fn read(source: Source, options: &LoadOptions) -> Result<Package, Error> {
        let directory = Directory::read(source, &options.limits)?;
        let bare = directory
            .entries()
            .iter()
            .any(|entry| directory.raw_name(entry) == FLAT_PROGRAM.as_bytes());
        let records = match bare {
            true => Records::Bare(Arc::new(Bare::new(directory)?)),
            false => {
                let archive = Arc::new(Archive::from_directory(directory)?);
                if let Some(observer) = &options.observer {
                    observer.archive(&archive);
                }
                Records::Folder(archive)
            }
        };
        let mut package = Package {
            layout: Layout::Flat,
            models: Vec::new(),
            byte_order: None,
            version: None,
            warnings: Vec::new(),
            options: options.clone(),
            records,
        };
        if package.records.find(FLAT_PROGRAM).is_some() {
            package.models.push(DEFAULT_MODEL.to_owned());
            return Ok(package);
        }
        package.check_versions()?;
        package.byte_order = package.read_byte_order();
        package.models = package
            .names()
            .filter_map(|name| {
                let name = name.strip_prefix(MODELS)?.strip_suffix(JSON)?;
                (!name.is_empty()).then(|| name.to_owned())
            })
            .collect();
        let pickled = package
            .models
            .iter()
            .any(|model| package.records.find(&format!("data/weights/{model}.pt")).is_some());
        package.layout = if pickled { Layout::Pickled } else { Layout::Raw };
        Ok(package)
    }

    /// The checks of `torch.export.load`, with its wording.
    fn check_versions(&mut self) -> Result<(), Error> {
        let Some(format) = self.text(FORMAT) else {
            return Err(malformed(
                "the archive has no record archive_format, so it is not a .pt2 file",
            ));
        };
        if format != "pt2" {
            return Err(malformed("Invalid archive format").in_record(FORMAT));
        }
        let version = self.text(VERSION).unwrap_or_default();
        if version != "0" {
            let shown: String = version.chars().take(20).collect();
            let message = format!(
                "Saved archive version {} does not match our current archive version 0.",
                shown.escape_debug()
            );
            return Err(Error::new(ErrorKind::Unsupported, message).in_record(VERSION));
        }
        if let Records::Folder(archive) = &self.records {
            self.version = Some(archive.version()?.number);
        }
        Ok(())
    }

    /// PyTorch does not look at the byte order of raw tensors; a file of the other one loads there as nonsense.
    fn read_byte_order(&mut self) -> Option<ByteOrder> {
        let text = self.text("byteorder")?;
        let order = ByteOrder::from_name(&text);
        match order {
            None => self.warnings.push(format!(
                "byteorder is '{}', not little or big: taken for little",
                text.chars().take(20).collect::<String>().escape_debug()
            )),
            Some(ByteOrder::Big) => self.warnings.push(
                "the tensors are big-endian: read as such here, but PyTorch on other machines \
                 does not swap them"
                    .to_owned(),
            ),
            Some(ByteOrder::Little) => {}
        }
        order
    }

    /// How the records are laid out.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The folder that all records lie in; none in [`Layout::Flat`].
    pub fn folder(&self) -> Option<&str> {
        match &self.records {
            Records::Folder(archive) => {
                let entry = archive.records().first()?;
                let name = std::str::from_utf8(archive.directory().raw_name(entry)).ok()?;
                name.split('/').next()
            }
            Records::Bare(_) => None,
        }
    }

    /// The file.
    pub fn source(&self) -> &Source {
        self.records.directory().source()
    }

    /// The format version of the zip archive; none in [`Layout::Flat`].
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// The byte order, where the archive states one.
    pub fn byte_order(&self) -> Option<ByteOrder> {
        self.byte_order
    }

    /// What is odd about the file but no obstacle.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The names of the models, in the file's order.
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// The model of a name; without a name, the one called `model`, or the only one.
    ///
    /// # Errors
    /// When there is no such model, with the names of those that there are.
    pub fn model(&self, name: Option<&str>) -> Result<&str, Error> {
        let wanted = name.unwrap_or(DEFAULT_MODEL);
        if let Some(found) = self.models.iter().find(|model| *model == wanted) {
            return Ok(found);
        }
        let shown =
            |text: &str| text.chars().take(60).collect::<String>().escape_debug().to_string();
        let error = match (name, &self.models[..]) {
            (None, [only]) => return Ok(only),
            (_, []) => return Err(self.without_models()),
            (None, _) => {
                let message = "the archive has several models, and none is called model";
                Error::new(ErrorKind::Caller, message)
            }
            (Some(name), _) => {
                let message = format!("the archive has no model called {}", shown(name));
                Error::new(ErrorKind::Caller, message)
            }
        };
        let mut names: Vec<String> = self.models.iter().take(LISTED).map(|m| shown(m)).collect();
        if self.models.len() > LISTED {
            names.push(format!("{} more", self.models.len() - LISTED));
        }
        Err(error
            .in_file(self.source().name())
            .with_note(format!("it has {}", names.join(", ")))
            .with_help("choose one with --model NAME (LoadOptions::model)"))
    }

    fn without_models(&self) -> Error {
        let error = |message: &str| Error::new(ErrorKind::NotACheckpoint, message);
        let found = if !self.compiled().is_empty() {
            error("the archive is an AOTInductor package: native code, and no program to read")
                .with_help("use the torch.export program that it was compiled from")
        } else if self.names().any(|name| name.starts_with(EXECUTORCH)) {
            error("the archive holds ExecuTorch programs only")
                .with_help("use the torch.export program that they were made from")
        } else {
            error("the archive has no program in models/")
        };
        found.in_file(self.source().name())
    }

    /// The names of models that were compiled to native code, which is never loaded here.
    pub fn compiled(&self) -> Vec<String> {
        let mut found = BTreeSet::new();
        for name in self.names() {
            if let Some((model, _)) =
                name.strip_prefix(COMPILED).and_then(|rest| rest.rsplit_once('/'))
            {
                found.insert(model.to_owned());
            }
        }
        found.into_iter().collect()
    }

    /// The text records that the caller of `torch.export.save` added, by their names and sizes.
    pub fn extra_files(&self) -> Vec<(String, u64)> {
        let folder = if self.layout == Layout::Flat { EXTRA_FLAT } else { EXTRA };
        self.below(folder)
    }

    /// The bytes of such a record.
    ///
    /// # Errors
    /// When there is none of that name, or it cannot be read.
    pub fn extra_file(&self, name: &str) -> Result<Bytes, Error> {
        let folder = if self.layout == Layout::Flat { EXTRA_FLAT } else { EXTRA };
        self.record(&format!("{folder}{name}"))
    }

    /// The ExecuTorch programs beside the models, by their names and sizes.
    pub fn executorch_files(&self) -> Vec<(String, u64)> {
        self.below(EXECUTORCH)
    }

    /// The records of a folder, by their names in it and sizes.
    pub fn below(&self, folder: &str) -> Vec<(String, u64)> {
        let entries = self.records.entries().iter();
        entries
            .filter_map(|entry| {
                let name = self.records.name(entry);
                let name = name.strip_prefix(folder)?;
                (!name.is_empty()).then(|| (name.to_owned(), entry.size()))
            })
            .collect()
    }

    /// The number of records.
    pub fn record_count(&self) -> usize {
        self.records.entries().len()
    }

    /// The directory of the zip file.
    pub fn directory(&self) -> &Directory {
        self.records.directory()
    }

    /// A record's name without the folder.
    pub fn record_name(&self, entry: &Entry) -> Cow<'_, str> {
        self.records.name(entry)
    }

    /// The names of all records, without the folder.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.records.entries().iter().map(|entry| self.records.name(entry))
    }

    pub(super) fn find(&self, name: &str) -> Result<&Entry, Error> {
        self.records
            .find(name)
            .ok_or_else(|| malformed(format!("{name} not found in PT2 archive")).in_record(name))
    }

    /// The bytes of a record, for a parser.
    ///
    /// # Errors
    /// When there is no such record, it cannot be read, or it is longer than the limits allow.
    pub fn record(&self, name: &str) -> Result<Bytes, Error> {
        let entry = self.find(name)?;
        Ok(self.records.directory().bytes_to_parse(entry)?)
    }

    /// A short record as text without white space at its end.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        const LONGEST: usize = 1000;
        let bytes = self.record(name).ok()?;
        let bytes = &bytes[..bytes.len().min(LONGEST)];
        Some(String::from_utf8_lossy(bytes).trim_end().to_owned())
    }

    /// The name of the record that a model's program is in.
    pub fn program_record(&self, model: &str) -> String {
        match self.layout {
            Layout::Flat => FLAT_PROGRAM.to_owned(),
            _ => format!("{MODELS}{model}{JSON}"),
        }
    }

    /// A model's program as JSON.
    ///
    /// # Errors
    /// As [`Package::record`].
    pub fn program(&self, model: &str) -> Result<Bytes, Error> {
        self.record(&self.program_record(model))
            .map_err(|error| error.in_file(self.source().name()))
    }

    /// The inputs that a model was exported with, `(args, kwargs)`, read as `torch.load(weights_only=True)`
    /// reads them. `None` when there are none, or they hold anything that this refuses: PyTorch would run it.
    pub fn sample_inputs(&self, model: &str) -> Option<Checkpoint> {
        let entry = self.records.find(&self.sample_input_record(model))?;
        if entry.size() == 0 {
            return None;
        }
        let options = self.options.clone().policy(Policy::WeightsOnly);
        self.inner(entry, &options).ok()
    }

    fn sample_input_record(&self, model: &str) -> String {
        match self.layout {
            Layout::Flat => "serialized_example_inputs.pt".to_owned(),
            _ => format!("data/sample_inputs/{model}.pt"),
        }
    }

    /// The bytes of the file that holds a model's sample inputs; `None` where there is no such record.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn sample_input_bytes(&self, model: &str) -> Result<Option<Bytes>, Error> {
        let entry = self.records.find(&self.sample_input_record(model));
        Ok(entry.map(|entry| self.records.directory().bytes(entry)).transpose()?)
    }
}

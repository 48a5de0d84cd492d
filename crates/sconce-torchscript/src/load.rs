//! Opening an archive.

use std::path::Path;
use std::sync::Arc;

use sconce_archive::Archive;
use sconce_checkpoint::{ErrorKind, FileKind};
use sconce_ir::Type;
use sconce_source::{Limits, MapMode, Source};
use sconce_tensor::Device;

use crate::constants::constant;
use crate::importer::Program;
use crate::module::{Loaded, Module};
use crate::values::{Value, ValueId, Values};
use crate::{Error, bytecode, model_json, unpickle};

/// The oldest and the newest archive version that PyTorch 2.15 reads.
const VERSIONS: std::ops::RangeInclusive<u64> = 1..=10;

/// Loads an archive: `torch.jit.load(path)`.
///
/// Reads the directory, the object pickle and the code of the classes in it. Tensor data stays in
/// the mapped file until it is used; no method is compiled. A mobile module in a flatbuffer (`.ptl`) is read as the
/// archive that it stands for; where it has bytecode and no source, its methods are made graphs of that.
///
/// # Errors
/// When the file cannot be read, is not a TorchScript archive, or its objects and classes do not fit.
pub fn load(path: impl AsRef<Path>) -> Result<Module, Error> {
    LoadOptions::new().open(path)
}

/// How to load an archive: the arguments of `torch.jit.load`.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    map_location: Option<Device>,
    limits: Limits,
    map_mode: MapMode,
}

impl LoadOptions {
    /// Tensors stay where the archive says, and the file is mapped.
    pub fn new() -> Self {
        LoadOptions::default()
    }

    /// `map_location`: the device that all tensors are said to be on. A label here: data stays in
    /// host memory.
    pub fn map_location(mut self, device: Device) -> Self {
        self.map_location = Some(device);
        self
    }

    /// What the file may make the reader spend.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How the file is mapped.
    pub fn map_mode(mut self, mode: MapMode) -> Self {
        self.map_mode = mode;
        self
    }

    /// Loads a file.
    ///
    /// # Errors
    /// As [`load`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Module, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let source = Source::open_with(path, self.map_mode);
        self.read(source.map_err(|error| Error::from(error).in_file(&name))?)
    }

    /// Loads from any source.
    ///
    /// # Errors
    /// As [`load`].
    pub fn read(&self, source: Source) -> Result<Module, Error> {
        let name = source.name().to_owned();
        self.read_archive(source).map_err(|error| error.in_file(&name))
    }

    fn read_archive(&self, mut source: Source) -> Result<Module, Error> {
        if sconce_checkpoint::try_identify(&source)?.kind == FileKind::MobileFlatbuffer {
            source = sconce_checkpoint::mobile_archive(&source)?;
        }
        let archive = Arc::new(Archive::open(source, &self.limits)?);
        let version = archive.version()?.number;
        if archive.contains("model.json") {
            return model_json::load(archive, version, self.map_location.as_ref());
        }
        if !archive.contains("data.pkl") || !archive.contains("constants.pkl") {
            let message = "this is not a TorchScript archive: it has no data.pkl and constants.pkl";
            return Err(Error::new(ErrorKind::NotACheckpoint, message)
                .with_help("sconce identify FILE    says what it is"));
        }
        if !VERSIONS.contains(&version) {
            let message = format!(
                "Attempted to read a PyTorch file with version {version}, but versions {} to {} \
                 are supported",
                VERSIONS.start(),
                VERSIONS.end()
            );
            return Err(Error::new(ErrorKind::Unsupported, message).in_record("version"));
        }
        let is_bytecode = archive.contains("bytecode.pkl") && !has_code(&archive);
        let mut program = match is_bytecode {
            true => Program::of_bytecode(Arc::clone(&archive), version as u32),
            false => Program::new(Arc::clone(&archive), "code", version as u32),
        };
        let mut values = Values::default();
        let device = self.map_location.as_ref();
        let mut constants = self.constants(&archive, &mut program, &mut values)?;
        let root = match is_bytecode {
            true => bytecode::load(&archive, &mut program, &mut values, &mut constants, device)?,
            false => {
                unpickle::read(&archive, "data.pkl", "data/", &mut program, &mut values, device)?
            }
        };
        let Some(object) = values.object(root) else {
            let message = "the archive holds a value that is not a module";
            return Err(Error::malformed(message).in_record("data.pkl"));
        };
        let class = object.class;
        if version <= 2 {
            restore_types(&program, &mut values, root);
        }
        let loaded = Loaded::new(archive, version, program, values, constants);
        Ok(Module::new(loaded, root, class))
    }

    /// Reads the constant table into the program.
    fn constants(
        &self,
        archive: &Arc<Archive>,
        program: &mut Program,
        values: &mut Values,
    ) -> Result<Vec<ValueId>, Error> {
        let device = self.map_location.as_ref();
        let table =
            unpickle::read(archive, "constants.pkl", "constants/", program, values, device)?;
        let Value::Tuple(items) = values.get(table) else {
            let message = "the constant table is not a tuple";
            return Err(Error::malformed(message).in_record("constants.pkl"));
        };
        let items = items.clone();
        for (index, &item) in items.iter().enumerate() {
            let value = constant(values, &program.unit, item, &mut |_| index as u32)
                .map_err(|error| error.in_record("constants.pkl"))?;
            program.importer.constants.push(value);
        }
        Ok(items)
    }
}

/// Whether an archive has source.
fn has_code(archive: &Archive) -> bool {
    archive.records().iter().any(|entry| archive.record_name(entry).starts_with("code/"))
}

/// Before version 3, lists and dicts were pickled without their types: those come from the
/// attributes that hold them.
fn restore_types(program: &Program, values: &mut Values, root: ValueId) {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut queue = vec![(root, None)];
    while let Some((id, ty)) = queue.pop() {
        if !seen.insert(id) {
            continue;
        }
        let ty = match ty {
            Some(Type::Optional(of)) => Some((*of).clone()),
            other => other,
        };
        match (values.get_mut(id), ty) {
            (Value::Object(object), _) => {
                let attributes = &program.unit.class(object.class).attributes;
                let types = attributes.iter().map(|attribute| Some(attribute.ty.clone()));
                queue.extend(object.slots.iter().copied().zip(types));
            }
            (Value::List { element, items }, Some(Type::List(of))) => {
                *element = (*of).clone();
                queue.extend(items.iter().map(|&item| (item, Some((*of).clone()))));
            }
            (Value::Dict { key, value, entries }, Some(Type::Dict(of))) => {
                (*key, *value) = (of.0.clone(), of.1.clone());
                queue.extend(entries.iter().map(|&(_, item)| (item, Some(of.1.clone()))));
            }
            (Value::Tuple(items), Some(Type::Tuple(of))) => {
                queue.extend(items.iter().copied().zip(of.elements.iter().cloned().map(Some)));
            }
            _ => {}
        }
    }
}

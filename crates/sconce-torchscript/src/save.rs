//! Writing an archive: `torch.jit.save`.
//!
//! Everything is printed anew from the graphs: code files in the order in which PyTorch comes to
//! them, the object pickle and the constants by [`pickler`](crate::pickler).

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_archive::{ArchiveWriter, WriterOptions, archive_name};
use sconce_checkpoint::ErrorKind;
use sconce_compiler::print::{ConstantTable, Dependencies, Printer, Session};
use sconce_ir::{ClassId, Constant, Type};
use sconce_source::AtomicFile;
use sconce_tensor::Storage;

use crate::Error;
use crate::debug::DebugWriter;
use crate::deflater::{Deflater, Deflating};
use crate::module::{Loaded, Module};
use crate::names::split;
use crate::pickler::{Pickled, pickle_held, pickle_object};
use crate::values::{Value, ValueId};

/// The least version that archives are written with.
const MIN_VERSION: u64 = 3;

/// How to save a module: the arguments of `torch.jit.save`, as a builder.
#[derive(Debug, Clone, Default)]
pub struct SaveOptions {
    replace: bool,
    extra_files: Vec<(String, Vec<u8>)>,
    without_extra_files: bool,
    /// What the archive's own extra files become: another name, or nothing.
    changed: Vec<(String, Option<String>)>,
}

impl Module {
    /// Saves the archive to a file that is not there yet: [`SaveOptions::save`] as it is.
    ///
    /// # Errors
    /// As there.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        SaveOptions::new().save(self, path)
    }
}

impl SaveOptions {
    /// Keeps the archive's extra files; a file that is there is not replaced.
    pub fn new() -> Self {
        SaveOptions::default()
    }

    /// Whether a file that is there is replaced, in one step, when the new one is complete.
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Adds an extra file, or changes the one of that name (`_extra_files`).
    pub fn extra_file(mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let name = name.into();
        self.extra_files.retain(|(other, _)| *other != name);
        self.extra_files.push((name, bytes.into()));
        self
    }

    /// Gives one of the archive's own extra files another name.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use sconce_torchscript::{SaveOptions, load};
    ///
    /// SaveOptions::new()
    ///     .rename_extra_file("labels.txt", "classes.txt")
    ///     .remove_extra_file("notes.md")
    ///     .extra_file("license.txt", "MIT")
    ///     .save(&load("model.pt")?, "renamed.pt")?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn rename_extra_file(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.changed.push((from.into(), Some(to.into())));
        self
    }

    /// Leaves one of the archive's own extra files out.
    pub fn remove_extra_file(mut self, name: impl Into<String>) -> Self {
        self.changed.push((name.into(), None));
        self
    }

    /// Leaves the archive's own extra files out.
    pub fn without_extra_files(mut self) -> Self {
        self.without_extra_files = true;
        self
    }

    /// Saves to a file.
    ///
    /// # Errors
    /// When a method does not compile or cannot be printed, an extra file to be renamed or removed is
    /// not there, or the file cannot be written. The file that was there is then whole.
    pub fn save(&self, module: &Module, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let folder = archive_name(path)?;
        let prepared = self.prepare(module)?;
        let io =
            |error: sconce_source::Error| Error::from(error).in_file(&path.display().to_string());
        let file = match self.replace {
            true => AtomicFile::replace(path),
            false => AtomicFile::create(path),
        };
        let mut file = file.map_err(io)?;
        let writer = ArchiveWriter::new(&mut file, folder, WriterOptions::new())?;
        prepared.write(writer)?;
        file.commit().map_err(io)
    }

    /// Saves to a writer; the archive's folder is called `archive`.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub fn save_to<W: Write>(&self, module: &Module, writer: W) -> Result<W, Error> {
        let prepared = self.prepare(module)?;
        prepared.write(ArchiveWriter::new(writer, "archive", WriterOptions::new())?)
    }

    /// Saves to a writer what [`Self::save`] would save to `path`: the archive's folder is named
    /// after it. Nothing is opened.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub fn save_as<W: Write>(
        &self,
        module: &Module,
        writer: W,
        path: impl AsRef<Path>,
    ) -> Result<W, Error> {
        let folder = archive_name(path.as_ref())?;
        let prepared = self.prepare(module)?;
        prepared.write(ArchiveWriter::new(writer, folder, WriterOptions::new())?)
    }

    /// [`Self::save_as`] of a module that nobody needs afterwards: where this is the last handle to it, the
    /// graphs of its program are dropped as soon as they have been printed, which saves a large program
    /// much memory.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub fn save_last<W: Write>(
        &self,
        module: Module,
        writer: W,
        path: impl AsRef<Path>,
    ) -> Result<W, Error> {
        let folder = archive_name(path.as_ref())?;
        let prepared = self.prepare_with(&module, module.is_last_handle())?;
        drop(module);
        prepared.write(ArchiveWriter::new(writer, folder, WriterOptions::new())?)
    }

    /// Renames and removes what was asked for, in that order of asking.
    fn change(&self, extra: &mut Vec<(String, Vec<u8>)>) -> Result<(), Error> {
        for (name, new) in &self.changed {
            let Some(at) = extra.iter().position(|(other, _)| other == name) else {
                let message = format!("the archive has no extra file '{name}'");
                return Err(Error::new(ErrorKind::Caller, message));
            };
            let (_, bytes) = extra.remove(at);
            if let Some(new) = new {
                extra.retain(|(other, _)| other != new);
                extra.insert(at.min(extra.len()), (new.clone(), bytes));
            }
        }
        Ok(())
    }

    fn prepare(&self, module: &Module) -> Result<Prepared, Error> {
        self.prepare_with(module, false)
    }

    /// What is to be written. Where it `drops_graphs`, the program has none afterwards.
    fn prepare_with(&self, module: &Module, drops_graphs: bool) -> Result<Prepared, Error> {
        let mut loaded = module.lock();
        let mut extra = Vec::new();
        if !self.without_extra_files {
            extra = extra_files(&loaded)?;
            self.change(&mut extra)?;
            extra.retain(|(name, _)| self.extra_files.iter().all(|(other, _)| other != name));
        }
        extra.extend(self.extra_files.iter().cloned());
        let traced = traced_inputs(&loaded)?;
        loaded.program.compile_all()?;
        let is_new = loaded.archive.is_none();
        let object = pickle_object(&loaded.values, &loaded.program.unit, module.value(), is_new)?;
        let printed = print_code(&loaded, module.value(), &object.classes)?;
        if drops_graphs {
            loaded.program.unit.drop_graphs();
        }
        let code = printed.compressed();
        let ids: Result<Vec<ValueId>, Error> =
            code.constants.iter().map(|constant| value_of(&mut loaded, constant)).collect();
        let constants = pickle_held(&loaded.values, &loaded.program.unit, &ids?)?;
        Ok(Prepared { extra, object, code, constants, traced })
    }
}

/// Everything that goes into an archive, tensor data aside.
struct Prepared {
    extra: Vec<(String, Vec<u8>)>,
    object: Pickled,
    code: Code,
    constants: Pickled,
    traced: Vec<(String, Vec<u8>)>,
}

struct Code {
    /// Record name, text, debug records.
    files: Vec<(String, Deflating, Deflating)>,
    constants: Vec<Constant>,
    version: u64,
}

impl Prepared {
    fn write<W: Write>(self, mut archive: ArchiveWriter<W>) -> Result<W, Error> {
        for (name, bytes) in &self.extra {
            archive.write_record(&format!("extra/{name}"), bytes)?;
        }
        write_storages(&mut archive, "data/", &self.object.storages)?;
        archive.write_record("data.pkl", &self.object.bytes)?;
        for (name, text, debug) in self.code.files {
            archive.write_deflated(&name, &text.finish())?;
            archive.write_deflated(&format!("{name}.debug_pkl"), &debug.finish())?;
        }
        write_storages(&mut archive, "constants/", &self.constants.storages)?;
        archive.write_record("constants.pkl", &self.constants.bytes)?;
        for (name, bytes) in &self.traced {
            archive.write_record(name, bytes)?;
        }
        archive.set_min_version(self.code.version);
        Ok(archive.finish()?)
    }
}

fn write_storages<W: Write>(
    archive: &mut ArchiveWriter<W>,
    prefix: &str,
    storages: &[Storage],
) -> Result<(), Error> {
    for (key, storage) in storages.iter().enumerate() {
        let name = format!("{prefix}{key}");
        if storage.device().is_meta() {
            archive.write_record(&name, &[])?;
        } else {
            let bytes =
                storage.bytes_once().map_err(|error| Error::from(error).in_record(&name))?;
            archive.write_record(&name, &bytes)?;
        }
    }
    Ok(())
}

/// The archive's own extra files, in their order.
fn extra_files(loaded: &Loaded) -> Result<Vec<(String, Vec<u8>)>, Error> {
    records_under(loaded, "extra/", |name| name["extra/".len()..].to_owned())
}

impl Module {
    /// An extra file of the archive (`_extra_files` of `torch.jit.save`); `None` where it has none of that name.
    ///
    /// # Errors
    /// When the record is damaged.
    pub fn extra_file(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let loaded = self.lock();
        let record = format!("extra/{name}");
        match &loaded.archive {
            Some(archive) if archive.contains(&record) => Ok(Some(archive.read(&record)?.to_vec())),
            _ => Ok(None),
        }
    }
}

/// What a traced module was traced with, as it is.
fn traced_inputs(loaded: &Loaded) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut records = records_under(loaded, "traced_inputs/", str::to_owned)?;
    records.extend(records_under(loaded, "traced_inputs.pkl", str::to_owned)?);
    Ok(records)
}

fn records_under(
    loaded: &Loaded,
    prefix: &str,
    rename: impl Fn(&str) -> String,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let Some(archive) = &loaded.archive else { return Ok(Vec::new()) };
    let names = archive.records().iter().map(|entry| archive.record_name(entry).into_owned());
    names
        .filter(|name| name.starts_with(prefix) && !name.ends_with('/'))
        .map(|name| Ok((rename(&name), archive.read(&name)?.to_vec())))
        .collect()
}

/// Prints every type and function that the root needs, in PyTorch's order.
fn print_code(loaded: &Loaded, root: ValueId, classes: &[ClassId]) -> Result<Printed, Error> {
    let unit = &loaded.program.unit;
    let mut constants = ConstantTable::new();
    let mut dependencies = Dependencies::new();
    let mut files = Files::default();
    let mut session = Session {
        unit,
        rename: &|_| None,
        constants: &mut constants,
        dependencies: &mut dependencies,
        importable: true,
    };
    for &class in classes {
        let name = &unit.class(class).name;
        if let Some(ty) = unit.find_type(name) {
            files.convert(&mut session, ty)?;
        }
    }
    if let Some(object) = loaded.values.object(root)
        && let Some(ty) = unit.find_type(&unit.class(object.class).name)
    {
        session.dependencies.add(ty);
    }
    let mut index = 0;
    while let Some(ty) = session.dependencies.get(index).cloned() {
        files.convert(&mut session, &ty)?;
        index += 1;
    }
    let printers = files.printers;
    let is_new = loaded.archive.is_none();
    Ok(Printed { printers, constants: constants.into_values(), is_new })
}

/// The program as text.
struct Printed {
    /// By the qualified name of what they hold.
    printers: Vec<(String, Printer)>,
    constants: Vec<Constant>,
    /// Whether the program comes from source, not from an archive.
    is_new: bool,
}

impl Printed {
    /// With the debug records, which need no graph any more.
    fn compressed(self) -> Code {
        let mut debug = match self.is_new {
            true => DebugWriter::for_new_code(),
            false => DebugWriter::default(),
        };
        let mut deflater = Deflater::new();
        let mut version = MIN_VERSION;
        let mut files = Vec::with_capacity(self.printers.len());
        for (qualifier, printer) in self.printers {
            let file = printer.finish();
            version = version.max(file.min_version);
            let records = file.records.into_iter();
            let records: Vec<_> =
                records.map(|record| (record.offset as u32, record.range)).collect();
            let name = format!("code/{}.py", qualifier.replace('.', "/"));
            let text = deflater.deflate(file.text.into_bytes());
            files.push((name, text, deflater.deflate(debug.pickle(records))));
        }
        Code { files, constants: self.constants, version }
    }
}

/// Code files in order of first need.
#[derive(Default)]
struct Files {
    printers: Vec<(String, Printer)>,
    by_qualifier: FxHashMap<String, usize>,
    done: rustc_hash::FxHashSet<Type>,
}

impl Files {
    fn convert(&mut self, session: &mut Session<'_>, ty: &Type) -> Result<(), Error> {
        if !self.done.insert(ty.clone()) {
            return Ok(());
        }
        let name = match ty {
            Type::Class(named) | Type::Interface(named) | Type::Function(named) => &named.name,
            Type::Enum(of) => &of.name,
            Type::Tuple(of) => match &of.named {
                Some(named) => &named.name,
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        let (qualifier, _) = split(name);
        let next = self.printers.len();
        let at = *self.by_qualifier.entry(qualifier.to_owned()).or_insert(next);
        if at == next {
            self.printers.push((qualifier.to_owned(), Printer::new()));
        }
        // A class that is not known still brings its file into being.
        let is_known = !matches!(ty, Type::Class(class) if session.unit.class_of(class).is_none());
        if is_known {
            self.printers[at].1.print_type(session, ty)?;
        }
        Ok(())
    }
}

/// The value of an entry of the constant table that is to be written.
fn value_of(loaded: &mut Loaded, constant: &Constant) -> Result<ValueId, Error> {
    let value = match constant {
        Constant::Tensor(tensor) => return table_entry(loaded, tensor.index),
        Constant::Object(_, index) => return table_entry(loaded, *index),
        Constant::None => Value::None,
        Constant::Bool(value) => Value::Bool(*value),
        Constant::Int(value) => Value::Int(*value),
        Constant::Float(value) => Value::Float(*value),
        Constant::Complex(re, im) => Value::Complex(*re, *im),
        Constant::Str(text) => Value::Str(Arc::clone(text)),
        Constant::Device(device) => Value::Device(Arc::clone(device)),
        Constant::List(element, items) => {
            let items =
                items.iter().map(|item| value_of(loaded, item)).collect::<Result<_, _>>()?;
            Value::List { element: element.clone(), items }
        }
        Constant::Dict(key, of, pairs) => {
            let mut entries = Vec::with_capacity(pairs.len());
            for (key, value) in &**pairs {
                entries.push((value_of(loaded, key)?, value_of(loaded, value)?));
            }
            Value::Dict { key: key.clone(), value: of.clone(), entries }
        }
        Constant::Tuple(items, _) => {
            Value::Tuple(items.iter().map(|item| value_of(loaded, item)).collect::<Result<_, _>>()?)
        }
        Constant::Enum(ty, member) => Value::Enum(ty.clone(), *member),
        Constant::Function(_) | Constant::Generator(..) => {
            let message = "a function or generator cannot be in the constant table";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    };
    Ok(loaded.values.push(value))
}

fn table_entry(loaded: &Loaded, index: u32) -> Result<ValueId, Error> {
    let entry = loaded.constants.get(index as usize).copied();
    entry.ok_or_else(|| Error::malformed(format!("there is no constant {index}")))
}

//! Mobile modules in flatbuffers (`.ptl`, `.ff`): what `_save_for_lite_interpreter(…, _use_flatbuffer=True)` and
//! `torch.jit.save_jit_module_to_flatbuffer` write.
//!
//! Such a file holds the module's values, bytecode for the interpreter of mobile devices, and, since PyTorch 1.13, its code
//! as source. It is made an archive for mobile devices as PyTorch writes them as zip files, in memory: values, source,
//! and the bytecode as a pickle.

mod bytecode;
mod flatbuffer;
mod pickler;

use sconce_archive::{ArchiveWriter, Layout, WriterOptions};
use sconce_source::Source;

use crate::{Error, ErrorKind};
use flatbuffer::{Buffer, Table, Vector};
use pickler::Pickler;

/// What a pickle may take for each byte of the file, which may name a value of a few bytes with few.
const MOST_A_BYTE: usize = 64;

/// The TorchScript archive that a mobile module stands for. It has no `code/` where the module has bytecode alone (files
/// of PyTorch before 1.13).
///
/// # Errors
/// When the flatbuffer is broken, or has values of kinds that are not known.
pub fn mobile_archive(source: &Source) -> Result<Source, Error> {
    read(source).map_err(|error| error.in_file(source.name()))
}

fn read(source: &Source) -> Result<Source, Error> {
    let bytes = source.bytes()?;
    let module = Buffer(bytes).root()?;
    let sources = module.vector(20, 4)?;
    let (values, types, storages) =
        (module.vector(12, 4)?, module.vector(18, 4)?, module.vector(16, 4)?);
    let most = bytes.len().saturating_mul(MOST_A_BYTE).saturating_add(1 << 16);
    let pickler = || Pickler::new(values, types, storages, most);
    let (data, data_storages) = pickler().one(module.u32(10)?)?;
    let (constants, mut constant_storages) = pickler().tuple(module.vector(22, 4)?.u32s())?;
    let methods = module.vector(8, 4)?;
    let (bytecode, bytecode_storages) = pickler().methods(module.u32(4)?, methods)?;
    for (storage, dtype) in bytecode_storages {
        constant_storages.entry(storage).or_insert(dtype);
    }

    // Which operators the program means: PyTorch reads source as of the bytecode's version, and bytecode as of the
    // version that stands beside it.
    let version = module.u32(if sources.len() > 0 { 4 } else { 24 })?;
    let options = WriterOptions::new().min_version(u64::from(version)).layout(Layout::Torch2_1);
    let mut writer = ArchiveWriter::new(Vec::new(), "archive", options)?;
    // Records of the file may lie one in the other; those of an archive do not. A storage is there twice where the
    // module holds it and the program names it.
    let mut left = bytes.len().saturating_mul(2);
    let mut take = |len: usize| match left.checked_sub(len) {
        Some(rest) => {
            left = rest;
            Ok(())
        }
        None => {
            let message = "records of the flatbuffer overlap";
            Err(Error::new(ErrorKind::Malformed, message))
        }
    };
    for (folder, pickle, used) in
        [("data", data, data_storages), ("constants", constants, constant_storages)]
    {
        for &storage in used.keys() {
            let bytes = storages.table(storage as usize)?.bytes(4)?;
            take(bytes.len())?;
            writer.write_record(&format!("{folder}/{storage}"), bytes)?;
        }
        writer.write_record(&format!("{folder}.pkl"), &pickle)?;
    }
    if methods.len() > 0 {
        writer.write_record("bytecode.pkl", &bytecode)?;
    }
    for file in sources.tables() {
        let (name, content) = file_of(file?)?;
        take(content.len())?;
        let path = name.strip_suffix(".py").unwrap_or(name).replace('.', "/");
        writer.write_record(&format!("code/{path}.py"), content)?;
    }
    for file in extra_files(module)?.tables() {
        let (name, content) = file_of(file?)?;
        take(content.len())?;
        writer.write_record(&format!("extra/{name}"), content)?;
    }
    Ok(Source::from_vec(source.name(), writer.finish()?))
}

fn extra_files<'a>(module: Table<'a>) -> Result<Vector<'a>, Error> {
    module.vector(6, 4)
}

/// The name and the content of an `ExtraFile`.
fn file_of(file: Table<'_>) -> Result<(&str, &[u8]), Error> {
    Ok((file.text(4)?, file.bytes(6)?))
}

//! Mobile modules in flatbuffers (`.ptl`, `.ff`): what `_save_for_lite_interpreter(…, _use_flatbuffer=True)` and
//! `torch.jit.save_jit_module_to_flatbuffer` write.
//!
//! Such a file holds the module's values, its code as source, and bytecode for the interpreter of mobile devices. It is
//! read as PyTorch's `torch.jit.load` reads it: values and source make a TorchScript archive, which is in memory then.
//! The bytecode is not looked at.

mod flatbuffer;
mod pickler;

use sconce_archive::{ArchiveWriter, Layout, WriterOptions};
use sconce_source::Source;

use crate::{Error, ErrorKind};
use flatbuffer::{Buffer, Table, Vector};
use pickler::Pickler;

/// What a pickle may take for each byte of the file, which may name a value of a few bytes with few.
const MOST_A_BYTE: usize = 64;

/// The TorchScript archive that a mobile module stands for.
///
/// # Errors
/// When the flatbuffer is broken, has no source (files of PyTorch before 1.13, and those made of bytecode alone), or
/// values of kinds that are not known.
pub fn mobile_archive(source: &Source) -> Result<Source, Error> {
    read(source).map_err(|error| error.in_file(source.name()))
}

fn read(source: &Source) -> Result<Source, Error> {
    let bytes = source.bytes()?;
    let module = Buffer(bytes).root()?;
    let sources = module.vector(20, 4)?;
    if sources.len() == 0 {
        let message =
            "the mobile module has bytecode alone and no source, which PyTorch writes since 1.13";
        return Err(Error::new(ErrorKind::Unsupported, message).with_help(
            "save it again from the module that it was made of: torch.jit.save(module, OUT)",
        ));
    }
    let (values, types, storages) =
        (module.vector(12, 4)?, module.vector(18, 4)?, module.vector(16, 4)?);
    let most = bytes.len().saturating_mul(MOST_A_BYTE).saturating_add(1 << 16);
    let pickler = || Pickler::new(values, types, storages, most);
    let (data, data_storages) = pickler().one(module.u32(10)?)?;
    let (constants, constant_storages) = pickler().tuple(module.vector(22, 4)?.u32s())?;

    // What PyTorch reads the source as.
    let version = u64::from(module.u32(4)?);
    let options = WriterOptions::new().min_version(version).layout(Layout::Torch2_1);
    let mut writer = ArchiveWriter::new(Vec::new(), "archive", options)?;
    // Records of the file may lie one in the other; those of an archive do not.
    let mut left = bytes.len();
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

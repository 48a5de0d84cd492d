//! NumPy's npy and npz files, read so that they can be compared with checkpoints and shown by the same
//! commands.

use sconce_archive::Directory;
use sconce_source::{Bytes, Source};
use sconce_tensor::Tensor;

use crate::Error;
use crate::formats::{Parts, malformed, tensor_node};
use crate::identify::FileKind;
use crate::info::Info;
use crate::object::{Dict, DictKind, Graph, Node};
use crate::options::LoadOptions;
use crate::rebuild::Built;

fn read_npy(bytes: Bytes) -> Result<Tensor, Error> {
    sconce_tensor::read_npy(&bytes).map_err(|error| malformed(error.to_string()))
}

/// Opens an npy file: one array.
pub(in crate::formats) fn open_npy(source: &Source) -> Result<Parts, Error> {
    let whole = source.slice(0..source.len())?.ok_or_else(|| malformed("the file is empty"))?;
    let mut graph = Graph::default();
    let root = graph.push(tensor_node(read_npy(whole)?));
    let built = Built { graph, root, problems: Vec::new() };
    Ok(Parts::new(FileKind::Npy, built, Info { records: 1, ..Info::default() }))
}

/// Opens an npz file: a dict of arrays.
pub(in crate::formats) fn open_npz(source: &Source, options: &LoadOptions) -> Result<Parts, Error> {
    let directory = Directory::read(source.clone(), &options.limits)?;
    directory.check_layout()?;
    let mut graph = Graph::default();
    let mut dict = Dict::new(DictKind::Dict);
    for entry in directory.entries() {
        let record = directory.display_name(entry).into_owned();
        let name = record.strip_suffix(".npy").unwrap_or(&record);
        let in_record = |error: Error| error.in_record(&record);
        let bytes = directory.bytes(entry).map_err(Error::from).map_err(in_record)?;
        let tensor = read_npy(bytes).map_err(in_record)?;
        let key = graph.push(Node::Str(name.into()));
        let value = graph.push(tensor_node(tensor));
        dict.insert(&graph, key, value);
    }
    let root = graph.push(Node::Dict(Box::new(dict)));
    let built = Built { graph, root, problems: Vec::new() };
    let info = Info { records: directory.entries().len(), ..Info::default() };
    Ok(Parts::new(FileKind::Npz, built, info))
}

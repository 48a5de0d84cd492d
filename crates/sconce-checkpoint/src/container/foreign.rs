//! Tensor files of other projects, read so that they can be compared with checkpoints and shown by
//! the same commands: safetensors, npy and npz.

use sconce_archive::Directory;
use sconce_source::{Bytes, Source};
use sconce_tensor::{ByteOrder, DType, Device, Storage, Tensor};

use super::Parts;
use crate::build::Built;
use crate::checkpoint::{Info, Place, StorageRecord};
use crate::identify::FileKind;
use crate::object::{Dict, DictKind, Graph, Node, TensorClass, TensorObject};
use crate::options::LoadOptions;
use crate::{Error, ErrorKind};

fn tensor_node(tensor: Tensor) -> Node {
    Node::Tensor(Box::new(TensorObject { tensor, class: TensorClass::Tensor, state: None }))
}

fn malformed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Malformed, message)
}

pub(super) fn open_safetensors(source: &Source) -> Result<Parts, Error> {
    let (header, metadata) = safetensors::SafeTensors::read_metadata(source.bytes())
        .map_err(|error| malformed(format!("invalid safetensors header: {error}")))?;
    // The header's length stands in the first 8 bytes.
    let data_start = header as u64 + 8;
    if data_start.saturating_add(metadata.data_len() as u64) != source.len() {
        let message = format!(
            "the header declares {} bytes of data, the file has {}",
            metadata.data_len(),
            source.len().saturating_sub(data_start)
        );
        return Err(Error::new(ErrorKind::Truncated, message));
    }
    let mut graph = Graph::default();
    let mut dict = Dict::new(DictKind::Dict);
    let mut storages = Vec::new();
    for name in metadata.offset_keys() {
        let Some(info) = metadata.info(&name) else { continue };
        let label = info.dtype.to_string();
        let dtype = DType::from_safetensors_name(&label).ok_or_else(|| {
            let message = format!("tensor '{name}' has dtype {label}, which PyTorch does not have");
            Error::new(ErrorKind::Unsupported, message)
        })?;
        let (start, end) = info.data_offsets;
        let range = data_start + start as u64..data_start + end as u64;
        let place = Place::Offset(range.start);
        let bytes =
            source.slice(range).ok_or_else(|| malformed("a tensor lies outside the file"))?;
        let nbytes = bytes.len() as u64;
        let word = dtype.swap_size();
        let storage = Storage::with_byte_order(bytes, ByteOrder::Little, word, Device::CPU);
        let sizes: Option<Vec<i64>> =
            info.shape.iter().map(|&size| i64::try_from(size).ok()).collect();
        let mut sizes = sizes.ok_or_else(|| malformed(format!("tensor '{name}' is too large")))?;
        if dtype == DType::Float4E2M1FNx2
            && let Some(last) = sizes.last_mut()
        {
            // safetensors counts numbers, PyTorch pairs of them.
            *last /= 2;
        }
        let tensor = Tensor::contiguous(storage.clone(), dtype, &sizes)
            .map_err(|error| malformed(format!("tensor '{name}': {error}")))?;
        let key = graph.push(Node::Str(name.as_str().into()));
        let value = graph.push(tensor_node(tensor));
        dict.insert(&graph, key, value);
        storages.push(StorageRecord {
            key: name.into(),
            nbytes,
            dtype: Some(dtype),
            storage,
            place,
        });
    }
    let mut pairs: Vec<(String, String)> =
        metadata.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
    pairs.sort();
    let root = graph.push(Node::Dict(Box::new(dict)));
    let info = Info { records: storages.len(), metadata: pairs, ..Info::default() };
    let built = Built { graph, root, problems: Vec::new() };
    let mut parts = Parts::new(FileKind::Safetensors, built, info);
    parts.storages = storages;
    Ok(parts)
}

fn read_npy(bytes: Bytes) -> Result<Tensor, Error> {
    sconce_tensor::read_npy(&bytes).map_err(|error| malformed(error.to_string()))
}

pub(super) fn open_npy(source: &Source) -> Result<Parts, Error> {
    let whole = source.slice(0..source.len()).ok_or_else(|| malformed("the file is empty"))?;
    let mut graph = Graph::default();
    let root = graph.push(tensor_node(read_npy(whole)?));
    let built = Built { graph, root, problems: Vec::new() };
    Ok(Parts::new(FileKind::Npy, built, Info { records: 1, ..Info::default() }))
}

pub(super) fn open_npz(source: &Source, options: &LoadOptions) -> Result<Parts, Error> {
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

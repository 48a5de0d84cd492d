//! Safetensors files, read so that they can be compared with checkpoints and shown by the same commands.

use sconce_source::Source;
use sconce_tensor::{ByteOrder, DType, Device, Storage, Tensor};

use crate::formats::{Parts, malformed, tensor_node};
use crate::identify::FileKind;
use crate::info::{Info, Place, StorageRecord};
use crate::object::{Dict, DictKind, Graph, Node};
use crate::rebuild::Built;
use crate::{Error, ErrorKind};

/// Opens a safetensors file: its header is read, its tensors are slices of it.
pub(in crate::formats) fn open(source: &Source) -> Result<Parts, Error> {
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

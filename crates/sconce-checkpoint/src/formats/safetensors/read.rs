//! Safetensors files, read so that they can be compared with checkpoints and shown by the same commands.

use sconce_source::Source;
use sconce_tensor::{ByteOrder, DType, Tensor};

use crate::formats::{Parts, malformed, stored, tensor_node};
use crate::identify::FileKind;
use crate::info::{Info, Place, StorageRecord};
use crate::object::{Dict, DictKind, Graph, Node};
use crate::rebuild::Built;
use crate::{Error, ErrorKind};

/// Opens a safetensors file: its header is read, its tensors are slices of it.
pub(in crate::formats) fn open(source: &Source) -> Result<Parts, Error> {
    let (header, metadata) = header(source)?;
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
        let nbytes = (end - start) as u64;
        let word = dtype.swap_size();
        let storage = stored(source, range, ByteOrder::Little, word)?
            .ok_or_else(|| malformed("a tensor lies outside the file"))?;
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
        if tensor.nbytes() != nbytes {
            let message = format!("tensor '{name}' takes {} bytes, not {nbytes}", tensor.nbytes());
            return Err(malformed(message));
        }
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

/// The header and its length. Of a store, no more than the header is read.
fn header(source: &Source) -> Result<(usize, safetensors::tensor::Metadata), Error> {
    const LENGTH: u64 = 8;
    let wrong =
        |error: &dyn std::fmt::Display| malformed(format!("invalid safetensors header: {error}"));
    if let Some(bytes) = source.in_memory() {
        return safetensors::SafeTensors::read_metadata(bytes).map_err(|error| wrong(&error));
    }
    let cut = || malformed("the header is cut short");
    let field = source.slice(0..LENGTH)?.ok_or_else(cut)?;
    let field: [u8; 8] = field[..].try_into().map_err(|_| cut())?;
    let len = u64::from_le_bytes(field);
    if len > crate::identify::MAX_SAFETENSORS_HEADER {
        return Err(wrong(&"header too large"));
    }
    let text = source.slice(LENGTH..LENGTH + len)?.ok_or_else(cut)?;
    let metadata: safetensors::tensor::Metadata =
        serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
    // Tensors without gaps between them, as the format wants it.
    let mut end = 0;
    let mut offsets: Vec<(usize, usize)> =
        metadata.tensors().values().map(|info| info.data_offsets).collect();
    offsets.sort_unstable();
    for (start, stop) in offsets {
        if start != end || stop < start {
            return Err(wrong(&format!("offsets {start} to {stop} do not follow {end}")));
        }
        end = stop;
    }
    Ok((text.len(), metadata))
}

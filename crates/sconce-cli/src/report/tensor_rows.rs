//! One row a tensor: what `ls`, `info` and others know about it.

use std::collections::HashMap;

use sconce::checkpoint::{Checkpoint, NamedTensor, Node, TensorClass};
use sconce::tensor::Tensor;
use serde::Serialize;

use super::elements;

/// A tensor as a row of `sconce ls --json`.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The dotted name.
    pub name: String,
    /// The dtype without `torch.`.
    pub dtype: &'static str,
    /// The layout without `torch.`.
    pub layout: &'static str,
    /// The shape; `null` for nested tensors, whose components have different ones.
    pub shape: Option<Vec<i64>>,
    /// Strides in elements; `null` for sparse and nested tensors, as the four that follow.
    pub stride: Option<Vec<i64>>,
    /// Elements from the start of the storage.
    pub storage_offset: Option<i64>,
    /// Whether the file says so.
    pub requires_grad: bool,
    /// The device it was saved on.
    pub device: String,
    /// The number of its storage, by first appearance.
    pub storage: Option<usize>,
    /// Bytes of its storage.
    pub storage_bytes: Option<u64>,
    /// Elements.
    pub numel: i64,
    /// Bytes of the elements.
    pub nbytes: u64,
    /// The class, when it is not a plain `torch.Tensor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Where its storage lies in the file, in bytes, when it lies in it as it is.
    pub file_offset: Option<u64>,
    /// Digest of the elements, with `--sha256`.
    pub sha256: Option<String>,
    /// The row's number in the file's order.
    #[serde(skip)]
    pub order: usize,
}

/// The rows of a checkpoint, storages numbered.
pub fn rows(checkpoint: &Checkpoint) -> Vec<(Row, &Tensor)> {
    let mut places: HashMap<usize, u64> = HashMap::new();
    for record in checkpoint.storages() {
        if let Some(offset) = record.file_offset() {
            places.insert(record.storage.id(), offset);
        }
    }
    let mut groups = HashMap::new();
    let tensors = checkpoint.tensors();
    tensors
        .into_iter()
        .enumerate()
        .map(|(order, named)| {
            let tensor = named.tensor;
            (row(order, named, &mut groups, &places), tensor)
        })
        .collect()
}

fn row(
    order: usize,
    named: NamedTensor<'_>,
    groups: &mut HashMap<usize, usize>,
    places: &HashMap<usize, u64>,
) -> Row {
    let tensor = named.tensor;
    let parts = tensor.sparse_coo_parts().is_some()
        || tensor.sparse_compressed_parts().is_some()
        || tensor.nested_parts().is_some();
    let storage = tensor.storage();
    let next = groups.len();
    let item = tensor.dtype().item_size() as u64;
    Row {
        dtype: tensor.dtype().name(),
        layout: tensor.layout().name(),
        shape: tensor.nested_parts().is_none().then(|| tensor.sizes().to_vec()),
        stride: (!parts).then(|| tensor.strides().to_vec()),
        storage_offset: (!parts).then(|| tensor.storage_offset()),
        requires_grad: tensor.requires_grad(),
        device: tensor.device().to_string(),
        storage: storage.map(|storage| *groups.entry(storage.id()).or_insert(next)),
        storage_bytes: storage.map(|storage| storage.nbytes()),
        numel: tensor.numel(),
        nbytes: elements::nbytes(tensor),
        class: match named.object.data() {
            Node::Tensor(object) if object.class == TensorClass::Tensor => None,
            _ => Some(named.object.class_name()),
        },
        file_offset: storage.and_then(|storage| {
            let start = places.get(&storage.id())?;
            start.checked_add((tensor.storage_offset().max(0) as u64).checked_mul(item)?)
        }),
        sha256: None,
        name: named.name,
        order,
    }
}

impl Row {
    /// The shape as people write it: `[64, 3, 7, 7]`.
    pub fn shape_text(&self) -> String {
        match &self.shape {
            Some(shape) => format!("{shape:?}"),
            None => "nested".to_owned(),
        }
    }
}

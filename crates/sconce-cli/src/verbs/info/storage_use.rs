//! How much of its storages a checkpoint's tensors look at.

use std::collections::{BTreeMap, HashMap};

use sconce::checkpoint::{Checkpoint, Node};
use sconce::tensor::Tensor;

/// Bytes of all storages, and how many of them no tensor looks at.
pub fn usage(checkpoint: &Checkpoint, tensors: &[&Tensor]) -> (u64, u64) {
    let mut ranges: HashMap<usize, Vec<(u64, u64)>> = HashMap::new();
    let mut sizes: BTreeMap<usize, u64> = BTreeMap::new();
    let mut pending: Vec<Tensor> = tensors.iter().map(|&tensor| tensor.clone()).collect();
    for array in checkpoint.arrays() {
        if let sconce::checkpoint::ArrayData::Tensor(tensor) = &array.array.data {
            pending.push(tensor.clone());
        }
    }
    while let Some(tensor) = pending.pop() {
        if let (Some(storage), Some(range)) = (tensor.storage(), tensor.storage_range()) {
            ranges.entry(storage.id()).or_default().push((range.start, range.end));
        }
        if tensor.storage().is_none() {
            pending.extend(inner(&tensor));
        }
        if let Some(sconce::tensor::Quantizer::PerChannel { scales, zero_points, .. }) =
            tensor.quantizer()
        {
            pending.extend([scales.clone(), zero_points.clone()]);
        }
    }
    // A storage that stands for itself is used as a whole.
    checkpoint.visit(|_, object| {
        if let Node::Storage(held) = object.data() {
            ranges.entry(held.storage.id()).or_default().push((0, held.storage.nbytes()));
        }
    });
    for record in checkpoint.storages().iter().filter(|record| record.storage.has_data()) {
        sizes.insert(record.storage.id(), record.nbytes);
    }
    let mut unused = 0u64;
    for (id, size) in &sizes {
        let mut ranges = ranges.remove(id).unwrap_or_default();
        ranges.sort_unstable();
        let (mut used, mut reached) = (0, 0);
        for (start, end) in ranges {
            let end = end.min(*size);
            used += end.saturating_sub(start.max(reached));
            reached = reached.max(end);
        }
        unused = unused.saturating_add(size - used);
    }
    (sizes.values().fold(0, |sum: u64, size| sum.saturating_add(*size)), unused)
}

/// The strided tensors that a sparse or nested one holds.
fn inner(tensor: &Tensor) -> Vec<Tensor> {
    if let Some(parts) = tensor.sparse_coo_parts() {
        return vec![parts.indices.clone(), parts.values.clone()];
    }
    if let Some(parts) = tensor.sparse_compressed_parts() {
        return vec![parts.compressed.clone(), parts.plain.clone(), parts.values.clone()];
    }
    if let Some(parts) = tensor.nested_parts() {
        let parts = [&parts.buffer, &parts.sizes, &parts.strides, &parts.offsets];
        return parts.map(Tensor::clone).into();
    }
    Vec::new()
}

//! What may be let go of after a tensor was written.

use std::collections::HashMap;

use sconce_tensor::{Error, Storage, Tensor};

/// How many of the tensors to be written use each storage.
pub(crate) struct StorageUseCounts(HashMap<usize, usize>);

impl StorageUseCounts {
    pub(crate) fn of(tensors: &[(String, Tensor)]) -> StorageUseCounts {
        let mut uses = HashMap::new();
        for storage in tensors.iter().filter_map(|(_, tensor)| tensor.storage()) {
            *uses.entry(storage.id()).or_default() += 1;
        }
        StorageUseCounts(uses)
    }

    /// The tensor for its turn. Bytes that it alone needs loaded or computed go with what is given;
    /// those of a storage that others use too are kept, since they may be dear to make again.
    pub(crate) fn loaded(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        let uses = tensor.storage().map(Storage::id).and_then(|id| self.0.get(&id));
        if uses == Some(&1) { tensor.loaded() } else { Ok(tensor.clone()) }
    }
}

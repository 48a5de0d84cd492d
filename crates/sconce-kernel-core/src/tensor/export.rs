//! Tensors of a run as tensors of a file.

use crate::{Result, Storage, Tensor};

/// Takes the tensors of a run out as tensors that can be saved, keeping sizes, strides and aliases:
/// tensors that share a storage here share one there. The mirror of [`crate::Importer`].
#[derive(Default)]
pub struct Exporter {
    /// Keeps the storages of the run alive, so that no new one takes the address of another.
    storages: Vec<(Storage, sconce_tensor::Storage)>,
}

impl Exporter {
    /// A tensor over a copy of the storage's bytes.
    ///
    /// # Errors
    /// Where the storage is being written.
    pub fn export(&mut self, tensor: &Tensor) -> Result<sconce_tensor::Tensor> {
        let known = self.storages.iter().find(|(own, _)| own.ptr_eq(tensor.storage()));
        let storage = match known {
            Some((_, copy)) => copy.clone(),
            None => {
                let bytes = tensor.storage().read::<u8>()?.to_vec();
                let device = sconce_tensor::Device::CPU;
                let copy = sconce_tensor::Storage::from_bytes(bytes.into(), device);
                self.storages.push((tensor.storage().clone(), copy.clone()));
                copy
            }
        };
        let (sizes, strides) = (tensor.sizes(), tensor.strides());
        Ok(sconce_tensor::Tensor::strided(
            storage,
            tensor.dtype(),
            tensor.offset(),
            sizes,
            strides,
        )?)
    }
}

impl Tensor {
    /// The tensor as one that can be saved, printed and handed to another thread, with its strides: without a copy
    /// where nobody else holds its memory, and it is not a small part of that.
    ///
    /// # Errors
    /// Where memory is short.
    pub fn into_file(self) -> Result<sconce_tensor::Tensor> {
        if self.numel() == 0 || self.storage().nbytes() / 2 > self.extent() {
            return self.to_file();
        }
        let (dtype, offset) = (self.dtype(), self.offset());
        let (sizes, strides) = (self.sizes().to_vec(), self.strides().to_vec());
        let storage = self.storage().clone();
        drop(self);
        let storage = storage.into_shared()?;
        Ok(sconce_tensor::Tensor::strided(storage, dtype, offset, &sizes, &strides)?)
    }

    /// A copy as a tensor that can be saved or printed.
    ///
    /// # Errors
    /// Where memory is short.
    pub fn to_file(&self) -> Result<sconce_tensor::Tensor> {
        let tensor = self.contiguous()?;
        let bytes = tensor.storage().read::<u8>()?;
        let item = self.dtype().item_size();
        let start = tensor.offset() as usize * item;
        let bytes = bytes[start..start + tensor.count() * item].to_vec();
        let storage = sconce_tensor::Storage::from_bytes(bytes.into(), sconce_tensor::Device::CPU);
        Ok(sconce_tensor::Tensor::contiguous(storage, self.dtype(), self.sizes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_of_one_storage_are_views_of_one_copy() {
        let whole = Tensor::from_slice(&[1i64, 2, 3, 4], &[2, 2]).unwrap();
        let mut exporter = Exporter::default();
        let column = exporter.export(&whole.select(1, 1).unwrap()).unwrap();
        let copy = exporter.export(&whole).unwrap();
        assert_eq!(
            (column.sizes(), column.strides(), column.storage_offset()),
            (&[2][..], &[2][..], 1)
        );
        assert_eq!(column.to_vec::<i64>().unwrap(), [2, 4]);
        assert!(column.storage().unwrap().ptr_eq(copy.storage().unwrap()));
        whole.fill(0.into()).unwrap();
        assert_eq!(copy.to_vec::<i64>().unwrap(), [1, 2, 3, 4]);
    }
}

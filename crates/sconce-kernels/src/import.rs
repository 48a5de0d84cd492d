use std::collections::HashMap;

use crate::{Error, Quantizer, Result, Storage, Tensor};

/// Takes the tensors of a file into a run, keeping aliases: tensors that share a storage in the
/// file share one here.
#[derive(Default)]
pub struct Importer {
    storages: HashMap<usize, (sconce_tensor::Storage, Storage)>,
}

impl Importer {
    /// A tensor over the same bytes, which are copied only when they are written.
    ///
    /// # Errors
    /// For layouts other than strided and bytes that cannot be loaded.
    pub fn import(&mut self, tensor: &sconce_tensor::Tensor) -> Result<Tensor> {
        let (storage, layout) = match tensor.storage() {
            Some(storage) => (storage, tensor.layout()),
            _ => {
                return Err(Error::not_implemented(format!(
                    "cannot compute with a {} tensor of dtype {}",
                    tensor.layout().name(),
                    tensor.dtype()
                )));
            }
        };
        debug_assert_eq!(layout, sconce_tensor::Layout::Strided);
        if tensor.is_conj() || tensor.is_neg() {
            return Err(Error::not_implemented("cannot compute with a lazily conjugated tensor"));
        }
        let storage = match self.storages.get(&storage.id()) {
            // The file's storage is kept, so its id stays its own.
            Some((_, known)) => known.clone(),
            None => {
                let own = Storage::shared(storage)?;
                self.storages.insert(storage.id(), (storage.clone(), own.clone()));
                own
            }
        };
        let (sizes, strides) = (tensor.sizes(), tensor.strides());
        let offset = tensor.storage_offset();
        let view = Tensor::from_storage(storage, tensor.dtype(), sizes, strides, offset)?;
        if let Some(quantizer) = tensor.quantizer() {
            crate::quantized::set(&view, Quantizer::of_file(quantizer)?)?;
        }
        Ok(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_stay_aliases_and_the_file_stays_as_it_was() {
        let file = sconce_tensor::Tensor::from_vec(vec![1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
        let mut importer = Importer::default();
        let whole = importer.import(&file).unwrap();
        let column = importer.import(&file.select(1, 1).unwrap()).unwrap();
        column.fill(0.0.into()).unwrap();
        assert_eq!(whole.to_vec::<f32>().unwrap(), [1.0, 0.0, 3.0, 0.0]);
        assert_eq!(file.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(whole.to_file().unwrap().to_vec::<f32>().unwrap(), [1.0, 0.0, 3.0, 0.0]);
    }
}

//! Tensors of a file as tensors of a run.

use std::collections::HashMap;

use crate::{DType, Error, Quantizer, Result, Storage, Tensor};

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
        if tensor.dtype() == DType::QUInt4x2 {
            return unpacked(tensor);
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
            crate::tensor::quantization::set(&view, quantizer_of_file(quantizer)?)?;
        }
        Ok(view)
    }
}

/// A copy of a tensor of codes of four bits, each in a byte of its own.
fn unpacked(tensor: &sconce_tensor::Tensor) -> Result<Tensor> {
    let stored = tensor.storage().map_or(0, |storage| storage.nbytes());
    if tensor.numel() as u64 / 2 > stored {
        return Err(Error::not_implemented("an expanded quint4x2 tensor"));
    }
    let code = |scalar: sconce_tensor::Scalar| scalar.to_f64().map(|code| code as u8);
    let codes: Option<Vec<u8>> = tensor.values()?.map(code).collect();
    let codes = codes.ok_or_else(|| Error::not_implemented("a quint4x2 tensor without codes"))?;
    let codes = Tensor::from_slice(&codes, tensor.sizes())?;
    let Some(quantizer) = tensor.quantizer() else {
        return Err(Error::not_implemented("a quint4x2 tensor that is not quantized"));
    };
    crate::tensor::quantization::with_quantizer(
        &codes,
        tensor.dtype(),
        quantizer_of_file(quantizer)?,
    )
}

impl Tensor {
    /// A tensor of a file. Its bytes are shared until somebody writes; two tensors of one storage
    /// stay aliases only through [`Importer`].
    ///
    /// # Errors
    /// For layouts other than strided and bytes that cannot be loaded.
    pub fn from_file(tensor: &sconce_tensor::Tensor) -> Result<Tensor> {
        Importer::default().import(tensor)
    }
}

/// The parameters of a file's tensor.
fn quantizer_of_file(quantizer: &sconce_tensor::Quantizer) -> Result<Quantizer> {
    match quantizer {
        sconce_tensor::Quantizer::PerTensorAffine { scale, zero_point } => {
            Ok(Quantizer::PerTensor { scale: *scale, zero_point: *zero_point })
        }
        sconce_tensor::Quantizer::PerChannel {
            scheme: sconce_tensor::ChannelScheme::Affine,
            scales,
            zero_points,
            axis,
        } => Ok(Quantizer::PerChannel {
            scales: Tensor::from_file(scales)?.to_dtype(DType::Float64)?.to_vec()?,
            zero_points: Tensor::from_file(zero_points)?.to_dtype(DType::Int64)?.to_vec()?,
            axis: *axis as usize,
        }),
        sconce_tensor::Quantizer::PerChannel {
            scheme: sconce_tensor::ChannelScheme::AffineFloatQParams,
            scales,
            zero_points,
            axis,
        } => Ok(Quantizer::PerChannelFloat {
            scales: Tensor::from_file(scales)?.to_dtype(DType::Float32)?.to_vec()?,
            zero_points: Tensor::from_file(zero_points)?.to_dtype(DType::Float32)?.to_vec()?,
            axis: *axis as usize,
        }),
        other => Err(Error::not_implemented(format!("a tensor quantized {}", other.scheme_name()))),
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

//! The quantization parameters and the integers of quantized tensors. The parameters belong to the storage, so
//! views keep them.

use std::rc::Rc;

use crate::tensor::quantizer::{Quantization, Quantizer};
use crate::{DType, Error, PodElement, Result, Tensor};

/// Says how the integers of a tensor, and of what shares its storage, stand for real numbers.
pub fn set(tensor: &Tensor, quantizer: Quantizer) -> Result<()> {
    let channel_step = quantizer.extent().and_then(|(axis, _)| tensor.strides().get(axis).copied());
    let quantizer = Rc::new(quantizer);
    tensor.storage().set_quantization(Quantization { quantizer, channel_step })
}

/// Makes `to`, into which `from` is copied, stand for the same numbers.
///
/// # Errors
/// Where it stands for others already.
pub fn inherit(to: &Tensor, from: &Tensor) -> Result<()> {
    let Some(quantization) = from.storage().quantization() else { return Ok(()) };
    match &*quantization.quantizer {
        Quantizer::PerTensor { .. } => to.storage().set_quantization(quantization.clone()),
        _ => set(to, (*quantizer(from)?).clone()),
    }
}

/// The integer dtype of a quantized one, and its least and greatest value.
pub fn underlying(dtype: DType) -> Result<(DType, i64, i64)> {
    match dtype {
        DType::QUInt8 => Ok((DType::UInt8, 0, 255)),
        DType::QInt8 => Ok((DType::Int8, -128, 127)),
        DType::QInt32 => Ok((DType::Int32, i64::from(i32::MIN), i64::from(i32::MAX))),
        // A code a byte here; only files pack them.
        DType::QUInt4x2 => Ok((DType::UInt8, 0, 15)),
        other => Err(Error::no_kernel("quantized", other)),
    }
}

/// The parameters of a quantized tensor.
///
/// # Errors
/// For tensors that are not quantized.
pub fn quantizer(tensor: &Tensor) -> Result<Rc<Quantizer>> {
    let without =
        || Error::not_implemented(format!("{} without scale", tensor.dtype().scalar_type_name()));
    let known = tensor.storage().quantization().filter(|_| tensor.dtype().is_quantized());
    let known = known.ok_or_else(without)?;
    if let Some((axis, counts)) = known.quantizer.extent() {
        let same_axis = tensor.strides().get(axis).copied() == known.channel_step;
        let count = tensor.sizes().get(axis).copied();
        let fits = counts.iter().all(|&n| count == Some(n as i64));
        if !same_axis || !fits {
            return Err(Error::not_implemented("a view of a tensor quantized per channel"));
        }
    }
    Ok(Rc::clone(&known.quantizer))
}

/// Scale and zero point of a tensor that has one of each.
///
/// # Errors
/// For others.
pub fn per_tensor(tensor: &Tensor) -> Result<(f64, i64)> {
    match &*quantizer(tensor)? {
        Quantizer::PerTensor { scale, zero_point } => Ok((*scale, *zero_point)),
        _ => Err(Error::runtime(
            "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.",
        )),
    }
}

/// The integers of a quantized tensor, the same storage.
pub fn integers(tensor: &Tensor) -> Result<Tensor> {
    let (dtype, ..) = underlying(tensor.dtype())?;
    let (sizes, strides) = (tensor.sizes(), tensor.strides());
    Tensor::from_storage(tensor.storage().clone(), dtype, sizes, strides, tensor.offset())
}

/// `torch.Tensor.int_repr`: a copy of the integers.
///
/// # Errors
/// For tensors that are not quantized.
pub fn int_repr(tensor: &Tensor) -> Result<Tensor> {
    if tensor.dtype() == DType::QUInt4x2 {
        let pairs: Vec<u8> =
            codes(tensor)?.chunks(2).map(|pair| pair.iter().rev().fold(0, join)).collect();
        return Tensor::from_slice(&pairs, &[pairs.len() as i64]);
    }
    integers(tensor)?.copy()
}

/// Two codes of four bits in a byte, the first below.
fn join(above: u8, &code: &i64) -> u8 {
    above << 4 | code as u8
}

/// The integers of a quantized tensor, row-major.
pub fn codes(tensor: &Tensor) -> Result<Vec<i64>> {
    integers(tensor)?.to_dtype(DType::Int64)?.to_vec()
}

/// A quantized tensor of integers, which are held within what the dtype holds.
pub fn pack(values: &[i64], sizes: &[i64], dtype: DType, quantizer: Quantizer) -> Result<Tensor> {
    fn fill<T: PodElement>(out: &Tensor, values: &[i64], cast: impl Fn(i64) -> T) -> Result<()> {
        for (out, &value) in out.write::<T>()?.iter_mut().zip(values) {
            *out = cast(value);
        }
        Ok(())
    }
    let (integer, low, high) = underlying(dtype)?;
    let tensor = Tensor::zeros(sizes, integer)?;
    match integer {
        DType::UInt8 => fill(&tensor, values, |x| x.clamp(low, high) as u8)?,
        DType::Int8 => fill(&tensor, values, |x| x.clamp(low, high) as i8)?,
        _ => fill(&tensor, values, |x| x.clamp(low, high) as i32)?,
    }
    with_quantizer(&tensor, dtype, quantizer)
}

/// Integers with a storage of their own as a quantized tensor.
pub fn with_quantizer(integers: &Tensor, dtype: DType, quantizer: Quantizer) -> Result<Tensor> {
    let (sizes, strides) = (integers.sizes(), integers.strides());
    let storage = integers.storage().clone();
    let tensor = Tensor::from_storage(storage, dtype, sizes, strides, integers.offset())?;
    set(&tensor, quantizer)?;
    Ok(tensor)
}

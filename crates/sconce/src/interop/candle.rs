//! To and from candle's tensors; needs the feature `candle`.

use candle_core::{
    DType as CandleDType, Device as CandleDevice, Tensor as CandleTensor, WithDType,
};
use sconce_tensor::{DType, Element, Tensor};

/// The dtypes that both sides have. candle keeps bool as `U8`, so bool tensors become those.
const DTYPES: &[(DType, CandleDType)] = &[
    (DType::UInt8, CandleDType::U8),
    (DType::UInt32, CandleDType::U32),
    (DType::Int16, CandleDType::I16),
    (DType::Int32, CandleDType::I32),
    (DType::Int64, CandleDType::I64),
    (DType::BFloat16, CandleDType::BF16),
    (DType::Float16, CandleDType::F16),
    (DType::Float32, CandleDType::F32),
    (DType::Float64, CandleDType::F64),
    (DType::Float8E4M3FN, CandleDType::F8E4M3),
    (DType::Bool, CandleDType::U8),
];

/// A copy of a tensor on a candle device, row-major whatever its strides.
///
/// # Errors
/// When candle has no such dtype, the tensor's data cannot be read, or the device refuses.
///
/// ```
/// use candle_core::Device;
///
/// let tensor = sconce::Tensor::from_vec(vec![1f32, 2.0, 3.0], &[3])?;
/// let there = sconce::interop::candle::to_candle(&tensor, &Device::Cpu)?;
/// assert_eq!(there.to_vec1::<f32>()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_candle(tensor: &Tensor, device: &CandleDevice) -> candle_core::Result<CandleTensor> {
    let found = DTYPES.iter().find(|(ours, _)| *ours == tensor.dtype());
    let Some((_, dtype)) = found else {
        candle_core::bail!("candle has no dtype for torch.{}", tensor.dtype().name());
    };
    let bytes = tensor.contiguous_bytes().map_err(candle_core::Error::wrap)?;
    let shape: Vec<usize> = tensor.sizes().iter().map(|&size| size as usize).collect();
    CandleTensor::from_raw_buffer(&bytes, *dtype, &shape, device)
}

/// A tensor that owns a copy of a candle tensor's elements, row-major, in host memory: to be put into
/// a [`StateDict`](crate::StateDict) and saved.
///
/// # Errors
/// When candle cannot give the elements, or they are of a dtype without a Rust type (8-bit floats and
/// smaller).
///
/// ```
/// use candle_core::{Device, Tensor};
/// use sconce::interop::candle::from_candle;
///
/// let weight = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let mut state = sconce::StateDict::new();
/// state.insert("fc.weight", from_candle(&weight)?);
/// let file = sconce::SaveOptions::new().save_to(state.finish().root(), Vec::new())?;
/// # assert!(file.starts_with(b"PK"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_candle(tensor: &CandleTensor) -> candle_core::Result<Tensor> {
    match tensor.dtype() {
        CandleDType::U8 => copied::<u8>(tensor),
        CandleDType::U32 => copied::<u32>(tensor),
        CandleDType::I16 => copied::<i16>(tensor),
        CandleDType::I32 => copied::<i32>(tensor),
        CandleDType::I64 => copied::<i64>(tensor),
        CandleDType::BF16 => copied::<half::bf16>(tensor),
        CandleDType::F16 => copied::<half::f16>(tensor),
        CandleDType::F32 => copied::<f32>(tensor),
        CandleDType::F64 => copied::<f64>(tensor),
        other => candle_core::bail!("elements of candle's {other:?} have no Rust type"),
    }
}

fn copied<T: Element + WithDType>(tensor: &CandleTensor) -> candle_core::Result<Tensor> {
    let sizes: Vec<i64> = tensor.dims().iter().map(|&size| size as i64).collect();
    let elements = tensor.flatten_all()?.to_vec1::<T>()?;
    Tensor::from_vec(elements, &sizes).map_err(candle_core::Error::wrap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shared_dtype_arrives() {
        for (ours, theirs) in DTYPES {
            let tensor = Tensor::from_vec(vec![0u8, 1, 1, 0], &[2, 2]).unwrap();
            let tensor = tensor.to_dtype(*ours).unwrap();
            let turned = tensor.select(0, 1).unwrap();
            let there = to_candle(&turned, &CandleDevice::Cpu).unwrap();
            assert_eq!((there.dtype(), there.dims()), (*theirs, &[2][..]), "{ours:?}");
            // candle 0.11 does not come back from converting 8-bit floats itself.
            if *theirs == CandleDType::F8E4M3 {
                continue;
            }
            let back = from_candle(&there).unwrap();
            let same = if *ours == DType::Bool { DType::UInt8 } else { *ours };
            assert_eq!((back.dtype(), back.sizes()), (same, &[2][..]), "{ours:?}");
            assert_eq!(*back.contiguous_bytes().unwrap(), *turned.contiguous_bytes().unwrap());
            let values = there.to_dtype(CandleDType::F64).unwrap().to_vec1::<f64>().unwrap();
            assert_eq!(values, [1.0, 0.0], "{ours:?}");
        }
    }

    #[test]
    fn a_dtype_that_candle_lacks_is_named() {
        let tensor = Tensor::from_vec(vec![1i8], &[1]).unwrap();
        let error = to_candle(&tensor, &CandleDevice::Cpu).unwrap_err();
        assert!(error.to_string().contains("torch.int8"), "{error}");
    }
}

//! To and from candle's tensors; needs the feature `candle`.

use candle_core::{DType as CandleDType, Device as CandleDevice, Tensor as CandleTensor};
use sconce_tensor::{DType, Tensor};

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

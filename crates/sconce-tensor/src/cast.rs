use half::{bf16, f16};
use sconce_source::Bytes;

use crate::small_float::{Float8, encode};
use crate::{DType, Device, Error, Scalar, Storage, Tensor};

impl Tensor {
    /// The tensor in another dtype: `torch.Tensor.to(dtype)` for the real dtypes that Rust has. The
    /// same dtype gives the same tensor, sharing its storage; otherwise the order of a dense
    /// tensor's strides is kept, and any other tensor becomes row-major.
    ///
    /// Rounding is to the nearest, ties to even, and as in PyTorch by way of float32 for the types
    /// narrower than that. Too large a number becomes infinite in float16, bfloat16 and float8_e5m2,
    /// the largest number (infinities too) in float8_e4m3fn, and NaN in the `fnuz` types. A float too
    /// large for an integer saturates, where PyTorch leaves the result to the processor.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for complex, quantized and packed dtypes, and those of reading.
    ///
    /// ```
    /// use sconce_tensor::{DType, Tensor};
    /// let tensor = Tensor::from_vec(vec![1.5f32, -2.0], &[2])?;
    /// let narrow = tensor.to_dtype(DType::BFloat16)?;
    /// assert_eq!(narrow.as_slice::<half::bf16>()?[1].to_f32(), -2.0);
    /// # Ok::<(), sconce_tensor::Error>(())
    /// ```
    pub fn to_dtype(&self, dtype: DType) -> Result<Tensor, Error> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        let unsupported = || {
            let (from, to) = (self.dtype(), dtype);
            Error::Unsupported(format!("cannot convert a {from} tensor to {to}"))
        };
        if self.dtype().is_complex() || self.dtype().is_quantized() {
            return Err(unsupported());
        }
        if !self.is_contiguous()
            && let Some(order) = self.dense_order()
        {
            let mut back = vec![0; order.len()];
            for (at, &dim) in order.iter().enumerate() {
                back[dim as usize] = at as i64;
            }
            return self.permute(&order)?.to_dtype(dtype)?.permute(&back);
        }
        let sizes = self.sizes();
        macro_rules! integers {
            ($ty:ty) => {{
                let mut out = self.output_buffer::<$ty>("converted tensor")?;
                out.extend(self.values()?.map(|scalar| match scalar {
                    Scalar::Bool(flag) => <$ty>::from(flag),
                    Scalar::Int(number) => number as $ty,
                    Scalar::UInt(number) => number as $ty,
                    other => other.to_f64().unwrap_or_default() as $ty,
                }));
                Tensor::from_vec(out, sizes)
            }};
        }
        macro_rules! floats {
            ($ty:ty, $round:expr) => {{
                let mut out = self.output_buffer::<$ty>("converted tensor")?;
                out.extend(self.values()?.map($round));
                Tensor::from_vec(out, sizes)
            }};
        }
        let float8 = |kind: Float8| {
            let mut out = self.output_buffer::<u8>("converted tensor")?;
            out.extend(self.values()?.map(|scalar| encode(kind, to_f32(scalar))));
            let storage = Storage::from_bytes(Bytes::from(out), Device::CPU);
            Tensor::contiguous(storage, dtype, sizes)
        };
        let converted = match dtype {
            DType::Float64 => floats!(f64, |x: Scalar| x.to_f64().unwrap_or(f64::NAN)),
            DType::Float32 => floats!(f32, to_f32),
            DType::Float16 => floats!(f16, |x| f16::from_f32(to_f32(x))),
            DType::BFloat16 => floats!(bf16, |x| to_bf16(to_f32(x))),
            DType::Bool => floats!(bool, |x: Scalar| x.to_f64() != Some(0.0)),
            DType::UInt8 => integers!(u8),
            DType::UInt16 => integers!(u16),
            DType::UInt32 => integers!(u32),
            DType::UInt64 => integers!(u64),
            DType::Int8 => integers!(i8),
            DType::Int16 => integers!(i16),
            DType::Int32 => integers!(i32),
            DType::Int64 => integers!(i64),
            _ => float8(Float8::of(dtype).ok_or_else(unsupported)?),
        };
        Ok(converted?.with_requires_grad(self.requires_grad()).with_device(self.device().clone()))
    }
}

impl Tensor {
    /// The order of dimensions in which a strided tensor without gaps is row-major.
    fn dense_order(&self) -> Option<Vec<i64>> {
        let mut order: Vec<i64> = (0..self.strides().len() as i64).collect();
        order.sort_by_key(|&dim| std::cmp::Reverse(self.strides()[dim as usize]));
        self.permute(&order).ok()?.is_contiguous().then_some(order)
    }
}

/// An integer is rounded once: by way of float64 it would be twice.
fn to_f32(scalar: Scalar) -> f32 {
    match scalar {
        Scalar::Int(number) => number as f32,
        Scalar::UInt(number) => number as f32,
        other => other.to_f64().map_or(f32::NAN, |x| x as f32),
    }
}

/// PyTorch has one NaN here, though its vectors make another than its scalars do (0xffff).
fn to_bf16(x: f32) -> bf16 {
    if x.is_nan() { bf16::NAN } else { bf16::from_f32(x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_to_even_and_saturate() {
        let tensor = Tensor::from_vec(vec![1.0f32, 300.7, -1.0, 1.003_906_3], &[2, 2]).unwrap();
        let bytes = tensor.to_dtype(DType::UInt8).unwrap();
        assert_eq!(bytes.as_slice::<u8>().unwrap(), [1, 255, 0, 1]);
        let narrow = tensor.to_dtype(DType::BFloat16).unwrap();
        let values: Vec<f32> =
            narrow.to_vec::<bf16>().unwrap().iter().map(|x| x.to_f32()).collect();
        assert_eq!(values, [1.0, 300.0, -1.0, 1.0]);
        assert_eq!(narrow.sizes(), [2, 2]);
        assert!(tensor.to_dtype(DType::Complex64).is_err());
        // Rounded to float32 first, the smallest part no longer breaks the tie.
        let tie = Tensor::from_vec(vec![1.0 + 2f64.powi(-11) + 2f64.powi(-40)], &[1]).unwrap();
        assert_eq!(tie.to_dtype(DType::Float16).unwrap().item().unwrap().to_f64(), Some(1.0));
        let large = Tensor::from_vec(vec![(1i64 << 53) + (1 << 29) + 1], &[1]).unwrap();
        let large = large.to_dtype(DType::Float32).unwrap();
        assert_eq!(large.item().unwrap().to_f64(), Some(9_007_200_328_482_816.0));
        let columns = tensor.transpose(0, 1).unwrap().to_dtype(DType::Float64).unwrap();
        assert_eq!(columns.strides(), [1, 2]);
    }
}

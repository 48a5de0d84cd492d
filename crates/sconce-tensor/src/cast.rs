use half::{bf16, f16};

use crate::{DType, Error, Scalar, Tensor};

impl Tensor {
    /// The tensor in another dtype: `torch.Tensor.to(dtype)` for the real dtypes that Rust has. The
    /// same dtype gives the same tensor, sharing its storage; otherwise the order of a dense
    /// tensor's strides is kept, and any other tensor becomes row-major.
    ///
    /// Rounding is to the nearest, ties to even; a float too large for an integer saturates, where
    /// PyTorch leaves the result to the processor.
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
                out.extend(
                    self.values()?.map(|scalar| $round(scalar.to_f64().unwrap_or(f64::NAN))),
                );
                Tensor::from_vec(out, sizes)
            }};
        }
        let converted = match dtype {
            DType::Float64 => floats!(f64, |x| x),
            DType::Float32 => floats!(f32, |x| x as f32),
            DType::Float16 => floats!(f16, f16::from_f64),
            DType::BFloat16 => floats!(bf16, bf16::from_f64),
            DType::Bool => floats!(bool, |x| x != 0.0),
            DType::UInt8 => integers!(u8),
            DType::UInt16 => integers!(u16),
            DType::UInt32 => integers!(u32),
            DType::UInt64 => integers!(u64),
            DType::Int8 => integers!(i8),
            DType::Int16 => integers!(i16),
            DType::Int32 => integers!(i32),
            DType::Int64 => integers!(i64),
            _ => return Err(unsupported()),
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
        let columns = tensor.transpose(0, 1).unwrap().to_dtype(DType::Float64).unwrap();
        assert_eq!(columns.strides(), [1, 2]);
    }
}

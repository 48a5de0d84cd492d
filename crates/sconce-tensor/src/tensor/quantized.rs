use std::sync::Arc;

use crate::geometry::python_tuple;
use crate::tensor::Body;
use crate::{DType, Error, Scalar, Storage, Tensor};

/// How a quantized tensor's integers stand for real numbers: `(q - zero_point) * scale`.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "it lives behind an Arc in the tensor")]
pub enum Quantizer {
    /// One scale and zero point for all: `torch.per_tensor_affine`.
    PerTensorAffine {
        /// Size of one step.
        scale: f64,
        /// The integer that stands for 0.
        zero_point: i64,
    },
    /// One pair for each index of a dimension.
    PerChannel {
        /// How scales and zero points are stored.
        scheme: ChannelScheme,
        /// 1-d, one for each index of `axis`.
        scales: Tensor,
        /// 1-d, one for each index of `axis`.
        zero_points: Tensor,
        /// The dimension.
        axis: i64,
    },
}

/// The per-channel schemes that files can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChannelScheme {
    /// `torch.per_channel_affine`: integer zero points.
    Affine,
    /// `torch.per_channel_affine_float_qparams`: floating zero points.
    AffineFloatQParams,
}

impl ChannelScheme {
    /// The name after `torch.`.
    pub fn name(self) -> &'static str {
        match self {
            ChannelScheme::Affine => "per_channel_affine",
            ChannelScheme::AffineFloatQParams => "per_channel_affine_float_qparams",
        }
    }
}

impl Quantizer {
    /// The name of the scheme after `torch.`.
    pub fn scheme_name(&self) -> &'static str {
        match self {
            Quantizer::PerTensorAffine { .. } => "per_tensor_affine",
            Quantizer::PerChannel { scheme, .. } => scheme.name(),
        }
    }
}

impl Tensor {
    /// A quantized view of `storage`: `torch._utils._rebuild_qtensor`.
    ///
    /// Floating zero points make the scheme [`ChannelScheme::AffineFloatQParams`] whatever the
    /// caller says, as in PyTorch, whose writer names it `per_channel_affine`.
    ///
    /// # Errors
    /// [`Error::InvalidQuantizer`] where the dtype is not quantized or the parameters do not fit,
    /// otherwise those of [`Tensor::strided`].
    pub fn quantized(
        storage: Storage,
        dtype: DType,
        offset: i64,
        sizes: &[i64],
        strides: &[i64],
        quantizer: Quantizer,
    ) -> Result<Tensor, Error> {
        if !dtype.is_quantized() {
            return Err(Error::InvalidQuantizer(format!(
                "Creation of quantized tensor requires quantized dtype like torch.quint8, got {dtype}"
            )));
        }
        let quantizer = checked(quantizer, sizes)?;
        let tensor = Tensor::strided(storage.clone(), dtype, offset, sizes, strides)?;
        Ok(Tensor { body: Body::Quantized(storage, Arc::new(quantizer)), ..tensor })
    }

    /// The real numbers that a quantized tensor stands for, as `float32`: `torch.Tensor.dequantize`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a tensor that is not quantized, [`Error::TooLarge`] where an
    /// expanded view would fill more memory than
    /// [`Tensor::contiguous_bytes`](Tensor::contiguous_bytes) would, and those of reading.
    pub fn dequantize(&self) -> Result<Tensor, Error> {
        let Some(quantizer) = self.quantizer() else {
            return Err(Error::Unsupported(format!("a {} tensor is not quantized", self.dtype)));
        };
        let mut out = self.output_buffer::<f32>("dequantized tensor")?;
        let codes = self.values()?.map(|scalar| match scalar {
            Scalar::Int(code) => code as f32,
            other => other.to_f64().unwrap_or(f64::NAN) as f32,
        });
        match quantizer {
            Quantizer::PerTensorAffine { scale, zero_point } => {
                let (scale, zero_point) = (*scale as f32, *zero_point as f32);
                out.extend(codes.map(|code| (code - zero_point) * scale));
            }
            Quantizer::PerChannel { scales, zero_points, axis, .. } => {
                let channels = Channels::new(scales, zero_points)?;
                let axis = *axis as usize;
                let inner = self.sizes[axis + 1..].iter().product::<i64>().max(1) as u64;
                let count = self.sizes[axis].max(1) as u64;
                out.extend(codes.enumerate().map(|(i, code)| {
                    let (scale, zero_point) = channels.get((i as u64 / inner % count) as i64);
                    (code - zero_point) * scale
                }));
            }
        }
        Ok(Tensor::from_vec(out, &self.sizes)?.with_device(self.device().clone()))
    }
}

/// The scales and zero points of a tensor's channels, read one by one: a file can claim any number.
pub(crate) struct Channels<'a> {
    scales: (&'a Tensor, &'a [u8]),
    zero_points: (&'a Tensor, &'a [u8]),
}

impl<'a> Channels<'a> {
    pub(crate) fn new(scales: &'a Tensor, zero_points: &'a Tensor) -> Result<Channels<'a>, Error> {
        Ok(Channels {
            scales: (scales, scales.strided_data()?),
            zero_points: (zero_points, zero_points.strided_data()?),
        })
    }

    /// Scale and zero point of a channel that is there.
    pub(crate) fn get(&self, channel: i64) -> (f32, f32) {
        let number = |(tensor, data): (&Tensor, &[u8])| {
            let scalar = tensor.element(data, &[channel]);
            scalar.to_f64().unwrap_or(f64::NAN) as f32
        };
        (number(self.scales), number(self.zero_points))
    }
}

fn checked(quantizer: Quantizer, sizes: &[i64]) -> Result<Quantizer, Error> {
    let Quantizer::PerChannel { scheme, scales, zero_points, axis } = quantizer else {
        return Ok(quantizer);
    };
    let Some(&size) = usize::try_from(axis).ok().and_then(|axis| sizes.get(axis)) else {
        return Err(Error::InvalidQuantizer(format!(
            "_rebuild_qtensor: per_channel axis {axis} out of range for size {}",
            python_tuple(sizes)
        )));
    };
    for (what, tensor) in [("scale", &scales), ("zero_points", &zero_points)] {
        if tensor.ndim() != 1 {
            return Err(Error::InvalidQuantizer(format!("{what} tensor must have dimension 1")));
        }
        if tensor.has_parts() {
            return Err(Error::InvalidQuantizer(format!("{what} tensor must be strided")));
        }
        if tensor.dtype().is_complex() || tensor.dtype().is_quantized() {
            return Err(Error::InvalidQuantizer(format!(
                "{what} tensor must not be {}",
                tensor.dtype()
            )));
        }
    }
    if scales.numel() != size || zero_points.numel() != size {
        return Err(Error::InvalidQuantizer(format!(
            "_rebuild_qtensor: per_channel scales/zero_points length must equal size[axis]={size}, \
             got scales={}, zero_points={}",
            scales.numel(),
            zero_points.numel()
        )));
    }
    let scheme = if zero_points.dtype().is_floating_point() {
        ChannelScheme::AffineFloatQParams
    } else {
        scheme
    };
    Ok(Quantizer::PerChannel { scheme, scales, zero_points, axis })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    fn storage(bytes: &[u8]) -> Storage {
        Storage::from_bytes(bytes.to_vec().into(), Device::CPU)
    }

    fn per_channel(scales: usize, zero_points: usize, axis: i64) -> Quantizer {
        Quantizer::PerChannel {
            scheme: ChannelScheme::Affine,
            scales: Tensor::from_vec(vec![0.5f64; scales], &[scales as i64]).unwrap(),
            zero_points: Tensor::from_vec(vec![1i64; zero_points], &[zero_points as i64]).unwrap(),
            axis,
        }
    }

    #[test]
    fn parameters_must_fit() {
        let cases = [
            (
                per_channel(2, 2, 2),
                "_rebuild_qtensor: per_channel axis 2 out of range for size (2, 3)",
            ),
            (
                per_channel(2, 2, -1),
                "_rebuild_qtensor: per_channel axis -1 out of range for size (2, 3)",
            ),
            (
                per_channel(3, 2, 0),
                "_rebuild_qtensor: per_channel scales/zero_points length must equal size[axis]=2, got \
                 scales=3, zero_points=2",
            ),
        ];
        for (quantizer, want) in cases {
            let got =
                Tensor::quantized(storage(&[0; 6]), DType::QInt8, 0, &[2, 3], &[3, 1], quantizer);
            assert_eq!(got.unwrap_err().to_string(), want);
        }
        let plain = Quantizer::PerTensorAffine { scale: 1.0, zero_point: 0 };
        assert!(Tensor::quantized(storage(&[0; 6]), DType::Int8, 0, &[6], &[1], plain).is_err());
    }

    #[test]
    fn dequantizes_per_tensor_and_per_channel() {
        let plain = Quantizer::PerTensorAffine { scale: 0.5, zero_point: 3 };
        let t =
            Tensor::quantized(storage(&[3, 5, 253]), DType::QInt8, 0, &[3], &[1], plain).unwrap();
        assert_eq!(t.dequantize().unwrap().to_vec::<f32>().unwrap(), [0.0, 1.0, -3.0]);
        let channels = Quantizer::PerChannel {
            scheme: ChannelScheme::Affine,
            scales: Tensor::from_vec(vec![0.5f32, 2.0], &[2]).unwrap(),
            zero_points: Tensor::from_vec(vec![0f32, 1.0], &[2]).unwrap(),
            axis: 0,
        };
        // 2 x 2 elements of four bits, low half first, in the transposed order.
        let t = Tensor::quantized(
            storage(&[0x21, 0x43]),
            DType::QUInt4x2,
            0,
            &[2, 2],
            &[1, 2],
            channels,
        )
        .unwrap();
        assert_eq!(t.dequantize().unwrap().to_vec::<f32>().unwrap(), [0.5, 1.5, 2.0, 6.0]);
        assert_eq!(t.quantizer().unwrap().scheme_name(), "per_channel_affine_float_qparams");
    }

    #[test]
    fn channels_without_end_are_not_read() {
        let ones = || {
            let one = Storage::from_bytes(1f64.to_ne_bytes().to_vec().into(), Device::CPU);
            Tensor::strided(one, DType::Float64, 0, &[1 << 60], &[0]).unwrap()
        };
        let make = |sizes: &[i64], strides: &[i64], axis| {
            let scheme = ChannelScheme::Affine;
            let quantizer =
                Quantizer::PerChannel { scheme, scales: ones(), zero_points: ones(), axis };
            Tensor::quantized(storage(&[3]), DType::QInt8, 0, sizes, strides, quantizer).unwrap()
        };
        assert_eq!(make(&[0, 1 << 60], &[1, 1], 1).dequantize().unwrap().numel(), 0);
        let endless = make(&[1 << 60], &[0], 0);
        assert!(matches!(endless.dequantize(), Err(Error::TooLarge { .. })));
        assert!(
            endless
                .to_text(&crate::PrintOptions::default())
                .unwrap()
                .starts_with("tensor([2., 2., 2.,")
        );
    }

    #[test]
    fn packed_views_count_bytes_rounded_up() {
        let plain = || Quantizer::PerTensorAffine { scale: 1.0, zero_point: 0 };
        let make = |n| Tensor::quantized(storage(&[0; 3]), DType::QUInt4x2, 0, &[n], &[1], plain());
        assert!(make(6).is_ok());
        assert!(matches!(make(7), Err(Error::OutOfBounds { needed: 4, held: 3, .. })));
    }
}

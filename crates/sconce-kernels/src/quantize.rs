//! Quantization: conversion between real numbers and the integers that stand for `(q - zero_point) *
//! scale`.
//!
//! Products are computed on exact integers (in `float64`) and rounded once, in `float32` steps as
//! FBGEMM does. Kernels that do not know the quantized dtypes refuse them.

use sconce_kernel_core::iter::map::map;
use sconce_kernel_core::tensor::quantization::{
    codes, integers, pack, per_tensor, quantizer, underlying, with_quantizer,
};
use sconce_kernel_core::tensor::quantizer::Quantizer;

use crate::{DType, Error, MemoryFormat, PodElement, Result, Tensor};

/// The channel of each element of a row-major tensor.
fn channel_of(sizes: &[i64], axis: Option<usize>) -> impl Fn(usize) -> usize + use<> {
    let (inner, count) = match axis.and_then(|axis| Some((axis, *sizes.get(axis)?))) {
        Some((axis, count)) => (sizes[axis + 1..].iter().product::<i64>().max(1), count.max(1)),
        None => (1, 1),
    };
    move |at| at / inner as usize % count as usize
}

fn check_channels(input: &Tensor, quantizer: &Quantizer) -> Result<()> {
    let Some((axis, counts)) = quantizer.extent() else { return Ok(()) };
    let count = input.sizes().get(axis).copied().unwrap_or(-1);
    if counts.iter().all(|&n| n as i64 == count) {
        return Ok(());
    }
    Err(Error::runtime("length of scales must equal to channel"))
}

/// `torch.quantize_per_tensor` and `torch.quantize_per_channel`.
///
/// # Errors
/// For dtypes that are not quantized, input other than `float32`, and scales that are not one for
/// each channel.
pub fn quantize(input: &Tensor, quantizer: Quantizer, dtype: DType) -> Result<Tensor> {
    if input.dtype() != DType::Float32 {
        return Err(Error::runtime(format!(
            "Quantize only works on Float Tensor, got {}",
            input.dtype().scalar_type_name()
        )));
    }
    check_channels(input, &quantizer)?;
    let input = input.contiguous()?;
    if let Quantizer::PerChannelFloat { scales, zero_points, axis } = &quantizer {
        let channel = channel_of(input.sizes(), Some(*axis));
        let code = |(at, x): (usize, &f32)| {
            let channel = channel(at);
            let scale = scales[channel];
            let inverse = if scale == 0.0 { 1.0 } else { 1.0 / scale };
            let code = (x * inverse + zero_points[channel]).round_ties_even();
            // As x86 converts it.
            if code.abs() < 9.3e18 { code as i64 } else { i64::MIN }
        };
        let values: Vec<i64> = input.read::<f32>()?.iter().enumerate().map(code).collect();
        return pack(&values, input.sizes(), dtype, quantizer);
    }
    if let Quantizer::PerTensor { scale, zero_point } = quantizer {
        let (_, least, most) = underlying(dtype)?;
        if zero_point < least || zero_point > most {
            let bound = if zero_point < least { "below lower" } else { "above upper" };
            return Err(Error::runtime(format!(
                "quantize_tensor_per_tensor_affine zero_point {zero_point} is {bound} bound."
            )));
        }
        let (inverse, steps) = (1.0 / scale as f32, Steps::of(dtype, zero_point)?);
        let codes = match dtype {
            DType::QInt32 => map(&input, move |x: f32| {
                let code = (x * inverse).round_ties_even() + zero_point as f32;
                if code.is_nan() { i32::MIN } else { code as i32 }
            }),
            DType::QInt8 => map(&input, move |x: f32| steps.wrapped(x * inverse) as i8),
            _ => map(&input, move |x: f32| steps.wrapped(x * inverse) as u8),
        };
        return with_quantizer(&codes?, dtype, quantizer);
    }
    let (scales, zero_points, axis) = quantizer.channels()?;
    let channel = channel_of(input.sizes(), axis);
    let values: Vec<i64> = input
        .read::<f32>()?
        .iter()
        .enumerate()
        .map(|(at, x)| {
            let channel = channel(at);
            // Saturated, and NaN as 0.
            let steps = (x * (1.0 / scales[channel] as f32)).round_ties_even();
            (steps as i64).saturating_add(zero_points[channel])
        })
        .collect();
    pack(&values, input.sizes(), dtype, quantizer)
}

/// More steps than these are taken for as many when numbers are quantized.
const MOST_STEPS: f32 = 2_147_483_520.0;

/// The integers that a quantized dtype holds, and what stands for 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    low: i32,
    high: i32,
    zero_point: i32,
}

impl Steps {
    pub(crate) fn of(dtype: DType, zero_point: i64) -> Result<Steps> {
        let (_, low, high) = underlying(dtype)?;
        let zero_point = zero_point.clamp(-i64::from(i32::MAX), i64::from(i32::MAX)) as i32;
        Ok(Steps { low: low as i32, high: high as i32, zero_point })
    }

    /// Without those that stand for negative numbers.
    pub(crate) fn without_negatives(self) -> Steps {
        Steps { low: self.zero_point.clamp(self.low, self.high), ..self }
    }

    /// The integer for this many steps from 0.
    #[inline(always)]
    pub(crate) fn nearest(self, x: f32) -> i32 {
        let x = x.round_ties_even();
        // What does not fit, as x86 converts it.
        let whole = if x.abs() < 2_147_483_648.0 { x as i32 } else { i32::MIN };
        whole.saturating_add(self.zero_point).clamp(self.low, self.high)
    }

    /// The integer for this many steps from 0 as numbers are quantized: NaN counts as most steps, and what is
    /// beyond 32 bits with the zero point comes in again at the other end.
    #[inline(always)]
    fn wrapped(self, x: f32) -> i32 {
        let x = if x < MOST_STEPS { x.round_ties_even() } else { MOST_STEPS };
        (x as i32).wrapping_add(self.zero_point).clamp(self.low, self.high)
    }

    /// The integers, of a quantized dtype, for what is this many steps from 0.
    fn codes<T: PodElement>(
        self,
        input: &Tensor,
        dtype: DType,
        f: impl Fn(T) -> f32 + Copy + Sync,
    ) -> Result<Tensor> {
        match underlying(dtype)?.0 {
            DType::UInt8 => map(input, move |x| self.nearest(f(x)) as u8),
            DType::Int8 => map(input, move |x| self.nearest(f(x)) as i8),
            _ => map(input, move |x| self.nearest(f(x))),
        }
    }
}

/// The nearest integer, halves to even; what is none, or too large, as x86 converts it.
pub(crate) fn nearest(x: f32) -> i64 {
    let x = x.round_ties_even();
    if x.abs() < 2_147_483_648.0 { x as i64 } else { i64::from(i32::MIN) }
}

/// `torch.dequantize`; other tensors are given as `float32`.
///
/// # Errors
/// For dtypes without kernels.
pub fn dequantize(tensor: &Tensor) -> Result<Tensor> {
    if !tensor.dtype().is_quantized() {
        return tensor.to_dtype(DType::Float32);
    }
    let known = quantizer(tensor)?;
    if let Quantizer::PerChannelFloat { scales, zero_points, axis } = &*known {
        let channel = channel_of(tensor.sizes(), Some(*axis));
        let real = |(at, code): (usize, i64)| {
            let channel = channel(at);
            (code as f32 - zero_points[channel]) * scales[channel]
        };
        let all: Vec<f32> = codes(tensor)?.into_iter().enumerate().map(real).collect();
        return Tensor::from_slice(&all, tensor.sizes());
    }
    if let Some(zero_point) = small_zero_point(tensor.dtype(), &known) {
        let (scale, _) = per_tensor(tensor)?;
        let (codes, scale) = (integers(tensor)?, scale as f32);
        let (codes, zero_point) = (codes.contiguous()?, zero_point as f32);
        return match codes.dtype() {
            DType::UInt8 => map(&codes, move |x: u8| (f32::from(x) - zero_point) * scale),
            _ => map(&codes, move |x: i8| (f32::from(x) - zero_point) * scale),
        };
    }
    let (scales, zero_points, axis) = known.channels()?;
    let whole = integers(tensor)?.to_dtype(DType::Int64)?.contiguous()?;
    let result = Tensor::zeros(whole.sizes(), DType::Float32)?;
    let channel = channel_of(whole.sizes(), axis);
    for (at, (out, &x)) in
        result.write::<f32>()?.iter_mut().zip(whole.read::<i64>()?.iter()).enumerate()
    {
        let channel = channel(at);
        *out = (x - zero_points[channel]) as f32 * scales[channel] as f32;
    }
    Ok(result)
}

/// The zero point of all elements of a dtype of eight bits, where it is among what those hold.
fn small_zero_point(dtype: DType, quantizer: &Quantizer) -> Option<i64> {
    match (dtype, quantizer) {
        (DType::QUInt8 | DType::QInt8, Quantizer::PerTensor { zero_point, .. }) => {
            Some(*zero_point).filter(|zero_point| (-128..=255).contains(zero_point))
        }
        _ => None,
    }
}

/// The integers less their zero points, in `float64`.
pub(crate) fn centred(tensor: &Tensor) -> Result<Tensor> {
    let known = quantizer(tensor)?;
    if let Some(zero_point) = small_zero_point(tensor.dtype(), &known) {
        let (codes, zero_point) = (integers(tensor)?.contiguous()?, zero_point as f64);
        return match codes.dtype() {
            DType::UInt8 => map(&codes, move |x: u8| f64::from(x) - zero_point),
            _ => map(&codes, move |x: i8| f64::from(x) - zero_point),
        };
    }
    let (_, zero_points, axis) = known.channels()?;
    let whole = integers(tensor)?.to_dtype(DType::Float64)?.copy()?;
    let channel = channel_of(whole.sizes(), axis);
    for (at, x) in whole.write::<f64>()?.iter_mut().enumerate() {
        *x -= zero_points[channel(at)] as f64;
    }
    Ok(whole)
}

/// The scale and zero point that hold all numbers of a tensor in a `quint8`, or in seven bits of one:
/// `torch._choose_qparams_per_tensor`.
///
/// # Errors
/// For other dtypes than `float32`.
pub fn choose_parameters(input: &Tensor, reduce_range: bool) -> Result<(f64, i64)> {
    let own = input.contiguous()?;
    let (low, high) = own
        .read::<f32>()?
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)));
    Ok(range_parameters(low, high, (0, if reduce_range { 127 } else { 255 }), false))
}

/// The scale and zero point for numbers from `low` to `high` in steps from `least` to `most`, 0 among them;
/// the zero point in the middle where `symmetric`: `quant_utils::ChooseQuantizationParams`.
pub(crate) fn range_parameters(
    low: f32,
    high: f32,
    (least, most): (i64, i64),
    symmetric: bool,
) -> (f64, i64) {
    let (mut low, mut high) = (low, high);
    let around_zero = symmetric && low < 0.0 && high > 0.0;
    if around_zero {
        let half = (most - least) / 2;
        let (below, above) = (-(half + 1) as f32, half as f32);
        let step = f64::from((low / below).abs().max((high / above).abs()));
        (low, high) = ((step * f64::from(below)) as f32, (step * f64::from(above)) as f32);
    }
    let (low, high) = (f64::from(low.min(0.0)), f64::from(high.max(0.0)));
    let (first, last) = (least as f64, most as f64);
    let mut scale = (high - low) / (last - first);
    if scale as f32 == 0.0 || (1.0 / scale as f32).is_infinite() {
        scale = 0.1;
    }
    let (from_low, from_high) = (first - low / scale, last - high / scale);
    let error_low = first.abs() + (low / scale).abs();
    let error_high = last.abs() + (high / scale).abs();
    let start = match error_low < error_high {
        _ if around_zero && low < 0.0 && high > 0.0 => (first + last) / 2.0,
        true => from_low,
        false => from_high,
    };
    (scale, start.clamp(first, last).round_ties_even() as i64)
}

/// The mean of integers, rounded: less the zero point where channels lie last, and with it
/// elsewhere, as PyTorch's two kernels do.
///
/// # Errors
/// As `f`, and for tensors that have not one scale.
pub(crate) fn averaged(input: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let last = [MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d];
    if last.iter().any(|&format| input.is_contiguous_in(format)) {
        return through_integers(input, f);
    }
    let (scale, zero_point) = per_tensor(input)?;
    let result = f(&centred(input)?)?.contiguous()?;
    let whole = |x: f64| nearest((x + zero_point as f64) as f32);
    let values: Vec<i64> = result.read::<f64>()?.iter().map(|&x| whole(x)).collect();
    pack(&values, result.sizes(), input.dtype(), Quantizer::PerTensor { scale, zero_point })
}

/// Computes on real numbers and quantizes the result.
///
/// # Errors
/// As `f`, and for tensors that are not quantized.
pub fn through_floats(
    tensors: &[&Tensor],
    (scale, zero_point): (f64, i64),
    f: impl Fn(&[Tensor]) -> Result<Tensor>,
) -> Result<Tensor> {
    let Some(first) = tensors.first() else {
        return Err(Error::runtime("expected a quantized tensor"));
    };
    let floats = tensors.iter().map(|tensor| dequantize(tensor)).collect::<Result<Vec<_>>>()?;
    let result = quantize(&f(&floats)?, Quantizer::PerTensor { scale, zero_point }, first.dtype())?;
    result.like_format_of(first)
}

/// Computes on the integers, as `float64` less the zero point, and rounds: what keeps the
/// parameters, such as pooling.
///
/// # Errors
/// As `f`, and for tensors that have not one scale.
pub fn through_integers(input: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let (scale, zero_point) = per_tensor(input)?;
    let result = f(&centred(input)?)?.contiguous()?;
    let steps = Steps::of(input.dtype(), zero_point)?;
    let codes = steps.codes(&result, input.dtype(), |x: f64| x as f32)?;
    let quantizer = Quantizer::PerTensor { scale, zero_point };
    with_quantizer(&codes, input.dtype(), quantizer)?.like_format_of(input)
}

/// Moves the elements of a quantized tensor about, as `f` does it with integers: sorting, picking,
/// turning.
///
/// # Errors
/// As `f`, and for tensors that have not one scale.
pub fn rearranged(input: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let (scale, zero_point) = per_tensor(input)?;
    let moved = f(&integers(input)?)?.copy()?;
    with_quantizer(&moved, input.dtype(), Quantizer::PerTensor { scale, zero_point })
}

/// The same, where indices come with the elements.
///
/// # Errors
/// As [`rearranged`].
pub fn rearranged_with_indices(
    input: &Tensor,
    f: impl Fn(&Tensor) -> Result<(Tensor, Tensor)>,
) -> Result<(Tensor, Tensor)> {
    let indices = std::cell::RefCell::new(None);
    let values = rearranged(input, |whole| {
        let (values, found) = f(whole)?;
        *indices.borrow_mut() = Some(found);
        Ok(values)
    })?;
    let indices = indices.into_inner().ok_or_else(|| Error::runtime("expected indices"))?;
    Ok((values, indices))
}

/// The integers of a tensor changed one by one, under new parameters.
pub(crate) fn map_codes(
    input: &Tensor,
    (scale, zero_point): (f64, i64),
    f: impl Fn(i64) -> i64,
) -> Result<Tensor> {
    let whole = integers(input)?.to_dtype(DType::Int64)?.contiguous()?;
    let values: Vec<i64> = whole.read::<i64>()?.iter().map(|&x| f(x)).collect();
    let quantizer = Quantizer::PerTensor { scale, zero_point };
    pack(&values, input.sizes(), input.dtype(), quantizer)?.like_format_of(input)
}

/// The integer that stands for a number among those of a tensor.
///
/// # Errors
/// For tensors that have not one scale.
pub(crate) fn quantized_integer(tensor: &Tensor, number: f64) -> Result<i64> {
    let (scale, zero_point) = per_tensor(tensor)?;
    let (_, least, most) = underlying(tensor.dtype())?;
    Ok((nearest(number as f32 * (1.0 / scale as f32)) + zero_point).clamp(least, most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::int_repr;

    #[test]
    fn there_and_back() {
        let x = Tensor::from_slice(&[-1f32, 0.0, 0.25, 0.35, 100.0], &[5]).unwrap();
        let by = Quantizer::PerTensor { scale: 0.1, zero_point: 5 };
        let q = quantize(&x, by, DType::QUInt8).unwrap();
        assert_eq!(int_repr(&q).unwrap().to_vec::<u8>().unwrap(), [0, 5, 7, 9, 255]);
        let tail = dequantize(&q.slice(0, Some(1), Some(3), 1).unwrap()).unwrap();
        assert_eq!(tail.to_vec::<f32>().unwrap(), [0.0, 0.2]);
        // Kernels that do not know quantized tensors refuse them.
        assert!(crate::unary(crate::UnaryOp::Exp, &q).is_err());
    }

    #[test]
    fn what_is_beyond_the_range_is_the_end_of_it() {
        let x = [1e10f32, -1e10, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 3e4];
        let x = Tensor::from_slice(&x, &[6]).unwrap();
        let codes = |zero_point, dtype| {
            let by = Quantizer::PerTensor { scale: 0.5, zero_point };
            let codes = int_repr(&quantize(&x, by, dtype).unwrap()).unwrap();
            codes.to_dtype(DType::Int64).unwrap().to_vec::<i64>().unwrap()
        };
        assert_eq!(codes(6, DType::QUInt8), [255, 0, 255, 0, 255, 255]);
        assert_eq!(codes(5, DType::QInt8), [127, -128, 127, -128, 127, 127]);
        // PyTorch's 32 bits go round.
        assert_eq!(codes(128, DType::QUInt8), [0, 0, 0, 0, 0, 255]);
        let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
        assert_eq!(codes(6, DType::QInt32), [most, least, most, least, least, 60_006]);
        let by = Quantizer::PerTensor { scale: 0.5, zero_point: 256 };
        let error = quantize(&x, by, DType::QUInt8).unwrap_err();
        assert!(error.message().ends_with("zero_point 256 is above upper bound."));
    }

    #[test]
    fn codes_of_four_bits_are_unpacked() {
        let file = |sizes: &[i64], strides: &[i64]| {
            let of = |numbers: Vec<f32>| sconce_tensor::Tensor::from_vec(numbers, &[2]).unwrap();
            let bytes = vec![0x87u8, 0xa9, 0xca, 0x0e];
            let device = sconce_tensor::Device::CPU;
            let quantizer = sconce_tensor::Quantizer::PerChannel {
                scheme: sconce_tensor::ChannelScheme::AffineFloatQParams,
                scales: of(vec![0.5, 0.25]),
                zero_points: of(vec![7.25, 1.5]),
                axis: 0,
            };
            let storage = sconce_tensor::Storage::from_bytes(bytes.into(), device);
            let dtype = DType::QUInt4x2;
            sconce_tensor::Tensor::quantized(storage, dtype, 0, sizes, strides, quantizer).unwrap()
        };
        let found = crate::Importer::default().import(&file(&[2, 4], &[4, 1])).unwrap();
        let expected = [-0.125, 0.375, 0.875, 1.375, 2.125, 2.625, 3.125, -0.375];
        let real = dequantize(&found).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(real, expected);
        // Few bytes that stand for many elements are not made many bytes.
        assert!(crate::Importer::default().import(&file(&[2, 1 << 40], &[0, 0])).is_err());
    }
}

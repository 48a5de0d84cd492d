//! Maths on quantized tensors that keeps to their steps: sums and products with numbers, bounds,
//! elements moved about.

use crate::binary;
use crate::quantized::quantize::{centred, nearest};
use crate::tensor::quantization::{integers, pack, per_tensor, underlying, with_quantizer};
use crate::unary;
use crate::{
    BinaryOp, DType, Error, Output, Quantizer, Result, Scalar, Tensor, UnaryOp, through_floats,
};

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
fn map(input: &Tensor, (scale, zero_point): (f64, i64), f: impl Fn(i64) -> i64) -> Result<Tensor> {
    let whole = integers(input)?.to_dtype(DType::Int64)?.contiguous()?;
    let values: Vec<i64> = whole.read::<i64>()?.iter().map(|&x| f(x)).collect();
    let quantizer = Quantizer::PerTensor { scale, zero_point };
    pack(&values, input.sizes(), input.dtype(), quantizer)?.like_format_of(input)
}

/// `quantized::add_scalar`: the zero point moves, and where it would leave the range of integers,
/// steps become larger.
///
/// # Errors
/// For tensors that have not one scale.
pub fn quantized_add_scalar(input: &Tensor, other: f64, relu: bool) -> Result<Tensor> {
    let (scale, zero_point) = per_tensor(input)?;
    let (_, low, high) = underlying(input.dtype())?;
    let shift = (other / scale).round_ties_even();
    let moved = zero_point as f64 - shift;
    let range = (high - low) as f64;
    let (new_scale, new_point) = if (low as f64) > moved {
        ((high as f64 - moved) / range * scale, low)
    } else if (high as f64) < moved {
        ((moved - low as f64) / range * scale, high)
    } else {
        (scale, moved as i64)
    };
    let by = scale as f32 * (1.0 / new_scale as f32);
    let least = if relu { new_point } else { i64::MIN };
    map(input, (new_scale, new_point), |x| {
        let sum = (x - zero_point).saturating_add(shift as i64);
        (nearest(sum as f32 * by) + new_point).max(least)
    })
}

/// `quantized::mul_scalar`: the scale changes; integers do for numbers that are not positive.
///
/// # Errors
/// For tensors that have not one scale.
pub fn quantized_mul_scalar(input: &Tensor, other: f64, relu: bool) -> Result<Tensor> {
    let (scale, zero_point) = per_tensor(input)?;
    let (_, low, high) = underlying(input.dtype())?;
    let least = |point: i64| if relu { point } else { i64::MIN };
    if other > 0.0 {
        map(input, (other * scale, zero_point), |x| x.max(least(zero_point)))
    } else if other == 0.0 {
        map(input, (1.0, 0), |_| 0)
    } else {
        let point = high - (zero_point - low);
        map(input, (other.abs() * scale, point), |x| (high + low - x).max(least(point)))
    }
}

/// `clamp` of a quantized tensor, to the integers of its bounds.
///
/// # Errors
/// For tensors that have not one scale.
pub fn quantized_clamp(input: &Tensor, low: Option<f64>, high: Option<f64>) -> Result<Tensor> {
    let whole = |bound: Option<f64>, none: i64| match bound {
        Some(bound) => quantized_integer(input, bound),
        None => Ok(none),
    };
    let (low, high) = (whole(low, i64::MIN)?, whole(high, i64::MAX)?);
    map(input, per_tensor(input)?, |x| x.max(low).min(high))
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

/// `sigmoid` and `tanh` of a quantized tensor, in the steps that PyTorch gives their results.
///
/// # Errors
/// For dtypes that are not quantized in 8 bits.
pub(crate) fn quantized_bounded(op: UnaryOp, input: &Tensor) -> Result<Tensor> {
    let output = match (op, input.dtype()) {
        (UnaryOp::Sigmoid, DType::QUInt8) => (1.0 / 256.0, 0),
        (UnaryOp::Sigmoid, DType::QInt8) => (1.0 / 256.0, -128),
        (UnaryOp::Tanh, DType::QUInt8) => (2.0 / 256.0, 128),
        (UnaryOp::Tanh, DType::QInt8) => (2.0 / 256.0, 0),
        (_, other) => return Err(Error::no_kernel("sigmoid", other)),
    };
    through_floats(&[input], output, |floats| match floats {
        [x] => unary(op, x),
        _ => Err(Error::runtime("expected one tensor")),
    })
}

/// `quantized::matmul`: exact sums of integers, rounded once.
///
/// # Errors
/// For sizes that do not fit and tensors that have not one scale.
pub fn quantized_matmul(a: &Tensor, b: &Tensor, output: Output) -> Result<Tensor> {
    let ((a_scale, _), (b_scale, _)) = (per_tensor(a)?, per_tensor(b)?);
    let sums = crate::matmul(&centred(a)?, &centred(b)?)?.contiguous()?;
    let by = a_scale as f32 * b_scale as f32 * (1.0 / output.scale as f32);
    let values: Vec<i64> =
        sums.read::<f64>()?.iter().map(|&x| nearest(x as f32 * by) + output.zero_point).collect();
    let quantizer = Quantizer::PerTensor { scale: output.scale, zero_point: output.zero_point };
    pack(&values, sums.sizes(), a.dtype(), quantizer)
}

/// `quantized::threshold`: what is not greater than a number becomes another.
///
/// # Errors
/// For tensors that have not one scale.
pub fn quantized_threshold(input: &Tensor, threshold: Scalar, value: Scalar) -> Result<Tensor> {
    through_floats(&[input], per_tensor(input)?, |floats| match floats {
        [x] => {
            let over = binary(BinaryOp::Gt, x.into(), threshold.into())?;
            crate::where_(&over, x.into(), value.into())
        }
        _ => Err(Error::runtime("expected one tensor")),
    })
}

//! Arithmetic on quantized tensors: sums and products with numbers, thresholds, matrix products.

use sconce_kernel_core::tensor::quantization::{pack, per_tensor, underlying};

use crate::quantize::{centred, map_codes, nearest};
use crate::{
    BinaryOp, Error, OutputParameters, Quantizer, Result, Scalar, Tensor, binary, through_floats,
};

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
    map_codes(input, (new_scale, new_point), |x| {
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
        map_codes(input, (other * scale, zero_point), |x| x.max(least(zero_point)))
    } else if other == 0.0 {
        map_codes(input, (1.0, 0), |_| 0)
    } else {
        let point = high - (zero_point - low);
        map_codes(input, (other.abs() * scale, point), |x| (high + low - x).max(least(point)))
    }
}

/// `quantized::matmul`: exact sums of integers, rounded once.
///
/// # Errors
/// For sizes that do not fit and tensors that have not one scale.
pub fn quantized_matmul(a: &Tensor, b: &Tensor, output: OutputParameters) -> Result<Tensor> {
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

//! Selection between values: `where`, `masked_fill`, `clamp`, and activations defined piece by piece.

use sconce_kernel_core::iter::map::map;
use sconce_kernel_core::layout::shape::broadcast;
use sconce_kernel_core::tensor::dtype_range::{integer_range, rounded};
use sconce_kernel_core::vecmath::accuracy::{Accuracy, DoubleAccuracy, SingleAccuracy};

use crate::elementwise::any_dtype::{map_floating, map_floating_each, rounding};
use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::quantize::{map_codes, quantized_integer};
use crate::{
    Bool, DType, Error, Operand, PodElement, Result, Scalar, Tensor, per_tensor, result_type,
};

/// `torch.where(condition, a, b)`.
///
/// # Errors
/// Where the condition is not `bool`, or sizes do not broadcast.
pub fn where_(condition: &Tensor, a: Operand<'_>, b: Operand<'_>) -> Result<Tensor> {
    if !matches!(condition.dtype(), DType::Bool | DType::UInt8) {
        return Err(Error::runtime(format!(
            "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
            condition.dtype().scalar_type_name()
        )));
    }
    let dtype = result_type(&[a, b])?;
    let sizes = broadcast(condition.sizes(), &broadcast(a.sizes(), b.sizes())?)?;
    let result = b.to_dtype(dtype)?.expand(&sizes)?.copy()?;
    let mask = condition.to_dtype(DType::Bool)?.expand(&sizes)?.contiguous()?;
    let a = a.to_dtype(dtype)?.expand(&sizes)?.contiguous()?;
    match dtype.item_size() {
        1 => overwrite::<u8>(&result, &mask, &a),
        2 => overwrite::<u16>(&result, &mask, &a),
        4 => overwrite::<u32>(&result, &mask, &a),
        8 => overwrite::<u64>(&result, &mask, &a),
        _ => overwrite::<num_complex::Complex<f64>>(&result, &mask, &a),
    }?;
    Ok(result)
}

fn overwrite<T: PodElement>(result: &Tensor, mask: &Tensor, source: &Tensor) -> Result<()> {
    let start = source.offset() as usize;
    let source_elements = source.storage().read::<T>()?;
    let mask = mask.read::<Bool>()?;
    let mut out = result.storage().write::<T>()?;
    for (i, mask) in mask.iter().enumerate() {
        if mask.get() {
            out[i] = source_elements[start + i];
        }
    }
    Ok(())
}

/// `torch.masked_fill(input, mask, value)`.
///
/// # Errors
/// Where the mask is not `bool`, the value is a tensor with dimensions, or sizes do not broadcast.
pub fn masked_fill(input: &Tensor, mask: &Tensor, value: Operand<'_>) -> Result<Tensor> {
    broadcast(mask.sizes(), input.sizes())?;
    masked(input, mask, value)
}

fn masked(input: &Tensor, mask: &Tensor, value: Operand<'_>) -> Result<Tensor> {
    if mask.dtype() != DType::Bool {
        return Err(Error::runtime(format!(
            "masked_fill_ only supports boolean masks, but got mask with dtype {}",
            sconce_kernel_core::error::cpp_type_name(mask.dtype())
        )));
    }
    if let Operand::Tensor(value) = value
        && value.dim() > 0
    {
        return Err(Error::runtime(format!(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {} \
             dimension(s).",
            value.dim()
        )));
    }
    if !crate::can_cast(value.dtype(), input.dtype()) && value.dtype().is_complex() {
        return Err(Error::runtime("value cannot be converted to type float without overflow"));
    }
    if let Operand::Scalar(value) = value {
        value.check_fits(input.dtype())?;
    }
    let value = value.to_dtype(input.dtype())?;
    where_(mask, (&value).into(), input.into())
}

/// `torch.masked_fill_`.
///
/// # Errors
/// As [`masked_fill`], and where `input` would have to grow.
pub fn masked_fill_in_place(input: &Tensor, mask: &Tensor, value: Operand<'_>) -> Result<()> {
    crate::elementwise::in_place::store(input, &masked(input, mask, value)?)
}

/// `torch.clamp` with numbers or tensors as bounds. NaN stays NaN.
///
/// # Errors
/// Without any bound, and for complex numbers.
pub fn clamp(input: &Tensor, min: Option<Operand<'_>>, max: Option<Operand<'_>>) -> Result<Tensor> {
    if min.is_none() && max.is_none() {
        let message = "torch.clamp: At least one of 'min' or 'max' must not be None";
        return Err(Error::runtime(message));
    }
    if input.dtype().is_quantized() {
        let number = |bound: Option<Operand<'_>>| match bound {
            Some(Operand::Scalar(bound)) => Ok(Some(bound.to_f64())),
            Some(Operand::Tensor(_)) => Err(Error::no_kernel("clamp", input.dtype())),
            None => Ok(None),
        };
        return crate::quantized_clamp(input, number(min)?, number(max)?);
    }
    if input.dtype().is_complex() {
        return Err(Error::not_implemented("clamp is not supported for complex types"));
    }
    let number = |bound: Option<Operand<'_>>| match bound {
        Some(Operand::Scalar(number)) => Some(Some(number)),
        Some(Operand::Tensor(_)) => None,
        None => Some(None),
    };
    let (min, max) = match (number(min), number(max)) {
        (Some(low), Some(high)) => {
            let [low, high] = numbers_that_bind(input, [low, high])?;
            if let Some(result) = clamp_at_once(input, [low, high])? {
                return Ok(result);
            }
            (low.map(Operand::Scalar), high.map(Operand::Scalar))
        }
        _ => (min, max),
    };
    let mut result = input.copy()?;
    if let Some(min) = min {
        result = binary(BinaryOp::Maximum, (&result).into(), min)?;
    }
    if let Some(max) = max {
        result = binary(BinaryOp::Minimum, (&result).into(), max)?;
    }
    Ok(result)
}

/// [`clamp`] in one pass: `None` where the bounds make another dtype of it, or are NaN.
fn clamp_at_once(input: &Tensor, bounds: [Option<Scalar>; 2]) -> Result<Option<Tensor>> {
    let dtype = input.dtype();
    let whole = |bound: &Scalar| matches!(bound, Scalar::Int(_));
    let real = |bound: &Scalar| match bound {
        Scalar::Int(_) => true,
        Scalar::Float(bound) => !bound.is_nan(),
        _ => false,
    };
    if dtype == DType::Int64 && bounds.iter().flatten().all(whole) {
        let low = bounds[0].map_or(i64::MIN, Scalar::to_i64);
        let high = bounds[1].map_or(i64::MAX, Scalar::to_i64);
        // Where both bind, the upper bound does.
        return map(input, move |x: i64| x.max(low).min(high)).map(Some);
    }
    if !dtype.is_floating_point() || !bounds.iter().flatten().all(real) {
        return Ok(None);
    }
    let low = bounds[0].map_or(f64::NEG_INFINITY, |bound| rounded(bound.to_f64(), dtype));
    let high = bounds[1].map_or(f64::INFINITY, |bound| rounded(bound.to_f64(), dtype));
    let (narrow_low, narrow_high) = (low as f32, high as f32);
    let clamped = map_floating_each(
        "clamp_scalar_cpu",
        input,
        move |x| within(x, narrow_low, narrow_high),
        move |x| within(x, low, high),
    );
    clamped.map(Some)
}

#[inline(always)]
fn within<F: num_traits::Float>(x: F, low: F, high: F) -> F {
    let raised = if x > low { x } else { low };
    let lowered = if raised < high { raised } else { high };
    if x.is_nan() { x } else { lowered }
}

/// The numbers that bound elements from below and above, without those that every element of the
/// dtype keeps to.
fn numbers_that_bind(
    input: &Tensor,
    [min, max]: [Option<Scalar>; 2],
) -> Result<[Option<Scalar>; 2]> {
    let bounds = [min, max].into_iter().flatten().map(Operand::Scalar);
    let dtype = result_type(&std::iter::once(input.into()).chain(bounds).collect::<Vec<_>>())?;
    if dtype == DType::Bool {
        let which = match (min, max) {
            (Some(_), None) => "min_",
            (None, Some(_)) => "max_",
            _ => "",
        };
        return Err(Error::no_kernel(&format!("clamp_{which}scalar_cpu"), dtype));
    }
    if !dtype.is_integral() {
        return Ok([min, max]);
    }
    let (low, high) = integer_range(dtype);
    let outside = |which: &str, bound: i64| {
        Err(Error::runtime(format!(
            "Clamp {which} value {bound} is outside the representable range of {}",
            dtype.scalar_type_name()
        )))
    };
    let min = match min.map(Scalar::to_i64) {
        Some(bound) if bound > high => return outside("min", bound),
        Some(bound) if bound < low => None,
        _ => min,
    };
    let max = match max.map(Scalar::to_i64) {
        Some(bound) if bound < low => return outside("max", bound),
        Some(bound) if bound > high => None,
        _ => max,
    };
    Ok([min, max])
}

/// `torch.nn.functional.leaky_relu`.
///
/// # Errors
/// For dtypes other than floating ones.
pub fn leaky_relu(input: &Tensor, negative_slope: Scalar) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return crate::through_floats(&[input], crate::per_tensor(input)?, |floats| match floats {
            [x] => leaky_relu(x, negative_slope),
            _ => Err(Error::runtime("expected one tensor")),
        });
    }
    let slope = negative_slope.to_f64();
    map_floating("leaky_relu_cpu", input, move |x| leaky(x, slope))
}

/// [`leaky_relu`] of a number.
#[inline(always)]
pub(crate) fn leaky(x: f64, negative_slope: f64) -> f64 {
    if x > 0.0 { x } else { x * negative_slope }
}

/// `torch.nn.functional.elu`.
///
/// # Errors
/// For dtypes other than floating ones.
pub fn elu(input: &Tensor, alpha: f64, scale: f64, input_scale: f64) -> Result<Tensor> {
    map_floating_each(
        "elu_cpu",
        input,
        rounding(
            #[inline(always)]
            move |x| elu_of::<SingleAccuracy>(x, alpha, scale, input_scale),
        ),
        #[inline(always)]
        move |x| elu_of::<DoubleAccuracy>(x, alpha, scale, input_scale),
    )
}

/// [`elu`] of a number.
#[inline(always)]
pub(crate) fn elu_of<M: Accuracy>(x: f64, alpha: f64, scale: f64, input_scale: f64) -> f64 {
    if x < 0.0 {
        let (exponent, factor) = (x * input_scale, alpha * scale);
        // Infinity times zero, where more than the result's dtype holds is not computed.
        let is_lost = factor == 0.0 && exponent > M::LARGEST_EXPONENT;
        if is_lost { f64::NAN } else { M::exp_m1(exponent) * factor }
    } else {
        x * scale
    }
}

/// `torch.nn.functional.softplus`.
///
/// # Errors
/// For dtypes other than floating ones.
pub fn softplus(input: &Tensor, beta: f64, threshold: f64) -> Result<Tensor> {
    map_floating_each(
        "softplus_cpu",
        input,
        rounding(
            #[inline(always)]
            move |x| softplus_of::<SingleAccuracy>(x, beta, threshold),
        ),
        #[inline(always)]
        move |x| softplus_of::<DoubleAccuracy>(x, beta, threshold),
    )
}

/// [`softplus`] of a number.
#[inline(always)]
pub(crate) fn softplus_of<M: Accuracy>(x: f64, beta: f64, threshold: f64) -> f64 {
    let product = x * beta;
    let above = if product > 0.0 { product } else { 0.0 };
    let soft = above + M::ln_1p_of_part(M::exp(-product.abs()));
    if product > threshold { x } else { soft / beta }
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
    map_codes(input, per_tensor(input)?, |x| x.max(low).min(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_integers_are_left_out_or_refused_where_the_dtype_does_not_hold_them() {
        let bytes = Tensor::from_slice(&[0u8, 1, 2, 3], &[4]).unwrap();
        let bound = |number: Option<i64>| number.map(Operand::from);
        // torch.clamp(torch.arange(4, dtype=torch.uint8), MIN, MAX)
        let cases: [(_, _, std::result::Result<[u8; 4], &str>); 6] = [
            (Some(-3), Some(2), Ok([0, 1, 2, 2])),
            (Some(1), Some(300), Ok([1, 1, 2, 3])),
            (None, Some(300), Ok([0, 1, 2, 3])),
            (
                Some(300),
                None,
                Err("Clamp min value 300 is outside the representable range of Byte"),
            ),
            (
                Some(-3),
                Some(-2),
                Err("Clamp max value -2 is outside the representable range of Byte"),
            ),
            (None, None, Err("torch.clamp: At least one of 'min' or 'max' must not be None")),
        ];
        for (min, max, expected) in cases {
            let found = clamp(&bytes, bound(min), bound(max));
            let found = found.map(|found| found.to_vec::<u8>().unwrap());
            let found = found.as_deref().map_err(|error| error.message().to_owned());
            assert_eq!(found, expected.as_ref().map(|x| &x[..]).map_err(|&x| x.to_owned()));
        }
        let hard = crate::hardtanh(&bytes, Scalar::Float(-3.5), Scalar::Float(2.7)).unwrap();
        assert_eq!(hard.to_vec::<u8>().unwrap(), [0, 1, 2, 2]);
        let lifted = clamp(&bytes, Some(1.5.into()), None).unwrap();
        assert_eq!(lifted.to_vec::<f32>().unwrap(), [1.5, 1.5, 2.0, 3.0]);
    }

    #[test]
    fn bounds_bind_in_one_pass_as_in_two() {
        let numbers = [-2.5f32, -0.0, 0.0, 0.1, 7.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        let floats = Tensor::from_slice(&numbers, &[2, 4]).unwrap();
        let bounds = [None, Some(0.1), Some(0.0), Some(-1.5), Some(f64::INFINITY), Some(f64::NAN)];
        for dtype in [DType::Float32, DType::Float64, DType::Float16, DType::BFloat16] {
            let input = floats.to_dtype(dtype).unwrap().t().unwrap();
            for low in bounds {
                for high in bounds.into_iter().filter(|high| low.or(*high).is_some()) {
                    let found = clamp(&input, low.map(Operand::from), high.map(Operand::from));
                    let mut expected = input.copy().unwrap();
                    for (op, bound) in [(BinaryOp::Maximum, low), (BinaryOp::Minimum, high)] {
                        if let Some(bound) = bound {
                            expected = binary(op, (&expected).into(), bound.into()).unwrap();
                        }
                    }
                    let bits = |tensor: &Tensor| {
                        let wide = tensor.to_dtype(DType::Float64).unwrap();
                        let numbers = wide.to_vec::<f64>().unwrap().into_iter();
                        numbers
                            .map(|x| if x.is_nan() { 1 } else { x.to_bits() })
                            .collect::<Vec<_>>()
                    };
                    let found = found.unwrap();
                    assert_eq!(found.dtype(), dtype);
                    assert_eq!(bits(&found), bits(&expected), "{dtype:?} {low:?} {high:?}");
                }
            }
        }
        let whole = Tensor::from_slice(&[-9i64, 0, 3, 40], &[4]).unwrap();
        let found = clamp(&whole, Some(5.into()), Some(2.into())).unwrap();
        assert_eq!(found.to_vec::<i64>().unwrap(), [2; 4]);
        let found = clamp(&whole, None, Some(2.into())).unwrap();
        assert_eq!(found.to_vec::<i64>().unwrap(), [-9, 0, 2, 2]);
    }
}

//! Activation functions with parameters or a weight.

use sconce_kernel_core::c_format::general;
use sconce_kernel_core::iter::map::map;
use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch;
use sconce_kernel_core::tensor::dtype_range::{rounded, wrapped};
use sconce_kernel_core::tensor::promotion::compute_dtype;
use sconce_kernel_core::vecmath::accuracy::{Accuracy, DoubleAccuracy, SingleAccuracy};

use crate::elementwise::any_dtype::{map_floating, map_floating_each, rounding};
use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::elementwise::unary::unary;
use crate::elementwise::unary_op::UnaryOp;
use crate::{DType, Error, Result, Scalar, Tensor};

/// `torch.nn.functional.celu`.
///
/// # Errors
/// For an `alpha` of 0 and dtypes other than floating ones.
pub fn celu(input: &Tensor, alpha: f64) -> Result<Tensor> {
    if alpha == 0.0 {
        return Err(Error::runtime("ZeroDivisionError: alpha cannot be 0 for CELU"));
    }
    crate::elu(input, alpha, 1.0, 1.0 / alpha)
}

/// `torch.nn.functional.selu`.
///
/// # Errors
/// For dtypes other than floating ones.
pub fn selu(input: &Tensor) -> Result<Tensor> {
    crate::elu(input, 1.673_263_242_354_377_2, 1.050_700_987_355_480_5, 1.0)
}

/// `torch.nn.functional.hardshrink`.
///
/// # Errors
/// For dtypes other than floating ones.
pub fn hardshrink(input: &Tensor, lambd: f64) -> Result<Tensor> {
    let lambd = rounded(lambd, input.dtype());
    let narrow = lambd as f32;
    map_floating_each(
        "hardshrink_cpu",
        input,
        move |x| if x >= -narrow && x <= narrow { 0.0 } else { x },
        move |x| if x >= -lambd && x <= lambd { 0.0 } else { x },
    )
}

/// `torch.nn.functional.softshrink`.
///
/// # Errors
/// For a negative or unending `lambd` and dtypes other than floating ones.
pub fn softshrink(input: &Tensor, lambd: f64) -> Result<Tensor> {
    let dtype = input.dtype();
    let Some(greatest) = sconce_kernel_core::tensor::dtype_range::greatest(dtype) else {
        return Err(Error::no_kernel("softshrink_check", dtype));
    };
    if !(0.0..=greatest).contains(&lambd) {
        return Err(Error::runtime(format!(
            "lambda must be in range [0, {}] for input dtype {}, but found {}",
            general(greatest),
            dtype.scalar_type_name(),
            general(lambd)
        )));
    }
    let lambd = rounded(lambd, input.dtype());
    let narrow = lambd as f32;
    map_floating_each(
        "softshrink_cpu",
        input,
        move |x| shrunk(x, narrow),
        move |x| shrunk(x, lambd),
    )
}

/// [`softshrink`] of a number.
#[inline(always)]
fn shrunk<F: num_traits::Float>(x: F, lambd: F) -> F {
    // Within the bounds a zero, but NaN for NaN.
    let y = if x < -lambd { x + lambd } else { x * F::zero() };
    if x > lambd { x - lambd } else { y }
}

/// `torch.nn.functional.logsigmoid`.
///
/// # Errors
/// For dtypes other than floating ones.
pub fn log_sigmoid(input: &Tensor) -> Result<Tensor> {
    map_floating_each(
        "log_sigmoid_cpu",
        input,
        rounding(log_sigmoid_of::<SingleAccuracy>),
        log_sigmoid_of::<DoubleAccuracy>,
    )
}

/// [`log_sigmoid`] of a number.
#[inline(always)]
pub(crate) fn log_sigmoid_of<M: Accuracy>(x: f64) -> f64 {
    let low = if x > 0.0 { 0.0 } else { x };
    low - M::ln_1p_of_part(M::exp(-x.abs()))
}

/// `torch.nn.functional.threshold`: `value` for what is not greater than `threshold`.
///
/// # Errors
/// For `bool` and complex numbers.
pub fn threshold(input: &Tensor, threshold: Scalar, value: Scalar) -> Result<Tensor> {
    let dtype = input.dtype();
    if dtype.is_integral() {
        let held = |bound: Scalar| -> Result<i64> {
            let bound = Scalar::Int(bound.to_i64());
            bound.check_fits(dtype)?;
            Ok(wrapped(bound.to_i64(), dtype))
        };
        let (threshold, value) = (held(threshold)?, held(value)?);
        let wide = input.to_dtype(DType::Int64)?;
        return map(&wide, |x: i64| if x <= threshold { value } else { x })?.to_dtype(dtype);
    }
    let (threshold, value) = (rounded(threshold.to_f64(), dtype), value.to_f64());
    map_floating("threshold_cpu", input, move |x| if x <= threshold { value } else { x })
}

/// `torch.nn.functional.hardtanh`: [`crate::clamp`] without type promotion.
///
/// # Errors
/// For `bool` and complex numbers, and for integers a lower bound above all of them or an upper bound
/// below.
pub fn hardtanh(input: &Tensor, min: Scalar, max: Scalar) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return crate::quantized_clamp(input, Some(min.to_f64()), Some(max.to_f64()));
    }
    let dtype = input.dtype();
    if dtype == DType::Bool {
        return Err(Error::runtime("Bool inputs not supported for hardtanh"));
    }
    if dtype.is_integral() {
        min.check_fits(DType::Int64)?;
        max.check_fits(DType::Int64)?;
        let whole = |bound: Scalar| Some(Scalar::Int(bound.to_i64()).into());
        return crate::clamp(input, whole(min), whole(max));
    }
    let (min, max) = (rounded(min.to_f64(), dtype), rounded(max.to_f64(), dtype));
    map_floating("clamp_scalar_cpu", input, move |x| bounded(x, min, max))
}

/// [`hardtanh`] of a number.
#[inline(always)]
pub(crate) fn bounded(x: f64, min: f64, max: f64) -> f64 {
    if x.is_nan() | min.is_nan() | max.is_nan() { f64::NAN } else { x.max(min).min(max) }
}

/// `torch.nn.functional.prelu`: one weight, or one for each channel.
///
/// # Errors
/// Where there are more weights than one and not as many as channels.
pub fn prelu(input: &Tensor, weight: &Tensor) -> Result<Tensor> {
    if !input.dtype().is_floating_point() {
        return Err(Error::no_kernel("prelu_cpu", input.dtype()));
    }
    if weight.dtype() != input.dtype() {
        return Err(Error::runtime(format!(
            "prelu: Type promoting not supported. Got {} and {}",
            input.dtype().scalar_type_name(),
            weight.dtype().scalar_type_name()
        )));
    }
    if weight.dim() > 1 {
        return Err(Error::runtime(format!(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {}",
            weight.dim()
        )));
    }
    let count = weight.numel();
    if count != 1 {
        if input.dim() == 0 {
            return Err(Error::runtime("Not allow zero-dim input tensor."));
        }
        let channels = input.sizes().get(1).copied().unwrap_or(1);
        if channels != count {
            return Err(Error::runtime(format!(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = \
                 {count} and channel size = {channels}."
            )));
        }
    }
    let mut sizes = vec![1; input.dim()];
    if let Some(channels) = sizes.get_mut(1) {
        *channels = count;
    }
    prelu_kernel(input, &weight.reshape(&sizes)?)
}

/// `aten::_prelu_kernel`: a weight that broadcasts to the input.
///
/// # Errors
/// Where sizes do not broadcast.
pub fn prelu_kernel(input: &Tensor, weight: &Tensor) -> Result<Tensor> {
    if let Some(result) = prelu_rows(input, weight)? {
        return Ok(result);
    }
    let scaled = binary(BinaryOp::Mul, input.into(), weight.into())?;
    let positive = binary(BinaryOp::Gt, input.into(), 0.into())?;
    crate::where_(&positive, input.into(), (&scaled).into())
}

/// [`prelu_kernel`] in one go: `None` where rows of `float32` do not have one number of the weight each.
fn prelu_rows(input: &Tensor, weight: &Tensor) -> Result<Option<Tensor>> {
    let sizes = input.sizes();
    let all = input.numel();
    // With one number for all, rows are as long as threads like them.
    let inner = if weight.numel() == 1 { all.min(4096) } else { sizes.iter().skip(2).product() };
    let by_channel = weight.numel() == 1
        || (weight.dim() == input.dim() && weight.sizes().get(1) == Some(&weight.numel()));
    let single = |tensor: &Tensor| tensor.dtype() == DType::Float32 && tensor.is_contiguous();
    if !by_channel || !single(input) || !single(weight) || all == 0 {
        return Ok(None);
    }
    let result = Tensor::for_overwrite(sizes, DType::Float32)?;
    {
        let (x, weights) = (input.read::<f32>()?, weight.read::<f32>()?);
        let (x, weights): (&[f32], &[f32]) = (&x, &weights);
        let mut out = result.write::<f32>()?;
        let inner = inner as usize;
        partition::for_each_chunk(&mut out, inner, 1 << 15, |start, out| {
            let rows = out.chunks_mut(inner).zip(x[start..].chunks(inner));
            for ((out, x), weight) in
                rows.zip(weights.iter().copied().cycle().skip(start / inner % weights.len()))
            {
                dispatch::dispatch(
                    #[inline(always)]
                    || {
                        // Held here, it cannot be part of what is written.
                        let factor = weight;
                        for (out, &x) in out.iter_mut().zip(x) {
                            let scaled = factor * x;
                            *out = if x > 0.0 { x } else { scaled };
                        }
                    },
                );
            }
        });
    }
    Ok(Some(result))
}

/// `torch.nn.functional.glu`: one half of a dimension times the sigmoid of the other.
///
/// # Errors
/// Where the dimension cannot be halved.
pub fn glu(input: &Tensor, dim: i64) -> Result<Tensor> {
    if input.dim() == 0 {
        return Err(Error::runtime("glu does not support 0-dimensional tensors"));
    }
    let wrapped = wrap_dim(dim, input.dim())? as i64;
    let size = input.size(wrapped)?;
    if size % 2 != 0 {
        return Err(Error::runtime(format!(
            "Halving dimension must be even, but dimension {wrapped} is size {size}"
        )));
    }
    let dtype = input.dtype();
    if !dtype.is_floating_point() {
        return Err(Error::no_kernel("glu_cpu", dtype));
    }
    let wide = input.to_dtype(compute_dtype(dtype))?;
    let gate = unary(UnaryOp::Sigmoid, &wide.narrow(wrapped, size / 2, size / 2)?)?;
    let half = wide.narrow(wrapped, 0, size / 2)?;
    binary(BinaryOp::Mul, (&half).into(), (&gate).into())?.to_dtype(dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_are_no_numbers_count_as_pytorch_has_them() {
        let x = Tensor::from_slice(&[-2f32, 0.5], &[2]).unwrap();
        for (min, max) in [(f64::NAN, 1.0), (-1.0, f64::NAN)] {
            let found = hardtanh(&x, min.into(), max.into()).unwrap().to_vec::<f32>().unwrap();
            assert!(found.iter().all(|x| x.is_nan()), "{min} {max}");
        }
        let whole = x.to_dtype(DType::Int32).unwrap();
        assert!(hardtanh(&whole, f64::NEG_INFINITY.into(), 1.0.into()).is_err());
        for lambd in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(softshrink(&x, lambd).is_err(), "{lambd}");
        }
        let none = Tensor::zeros(&[1, 0, 3], DType::Float32).unwrap();
        let weight = Tensor::zeros(&[0], DType::Float32).unwrap();
        assert_eq!(prelu(&none, &weight).unwrap().sizes(), [1, 0, 3]);
    }
}

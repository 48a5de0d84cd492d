//! Dropout in training, and `rrelu`, whose slope is random.

use sconce_kernel_core::c_format::general;
use sconce_kernel_core::tensor::promotion::check_cast;

use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::elementwise::in_place::store;
use crate::random::continuous::{bernoulli_in_place, empty_like};
use crate::{DType, Dims, Error, Generator, Result, Scalar, Tensor};

/// What is dropped, and what is put in its position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropout {
    /// Whole channels instead of elements, `feature_dropout`.
    pub features: bool,
    /// SELU's negative saturation value instead of zero, `alpha_dropout`.
    pub alpha: bool,
}

/// SELU's scale times its alpha.
const ALPHA: f64 = 1.758_099_340_847_376_6;

/// Refuses what is no probability, whether anything is dropped or not.
///
/// # Errors
/// For chances outside [0, 1].
pub fn check_dropout(p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "dropout probability has to be between 0 and 1, but got {}",
        general(p)
    )))
}

/// `torch.nn.functional.dropout` and its relatives in training.
///
/// # Errors
/// For chances outside [0, 1], and channels of what has none.
pub fn dropout(input: &Tensor, p: f64, kind: Dropout, generator: &mut Generator) -> Result<Tensor> {
    check_dropout(p)?;
    if p == 0.0 || input.numel() == 0 {
        return Ok(input.clone());
    }
    if p == 1.0 {
        let zero = Tensor::zeros(&[], input.dtype())?;
        return binary(BinaryOp::Mul, input.into(), (&zero).into());
    }
    let noise = match kind.features {
        true => feature_noise(input)?,
        false => empty_like(input, input.dtype().to_real())?,
    };
    bernoulli_in_place(&noise, 1.0 - p, generator)?;
    if !kind.alpha {
        store(&noise, &scaled(BinaryOp::Div, &noise, 1.0 - p)?)?;
        return binary(BinaryOp::Mul, input.into(), (&noise).into());
    }
    let a = 1.0 / ((ALPHA * ALPHA * p + 1.0) * (1.0 - p)).sqrt();
    let shift = binary(BinaryOp::Add, (&noise).into(), Scalar::Int(-1).into())?;
    let shift = scaled(BinaryOp::Mul, &shift, ALPHA * a)?;
    let shift = scaled(BinaryOp::Add, &shift, ALPHA * a * p)?;
    let noise = scaled(BinaryOp::Mul, &noise, a)?;
    let kept = binary(BinaryOp::Mul, input.into(), (&noise).into())?;
    binary(BinaryOp::Add, (&kept).into(), (&shift).into())
}

/// `op(tensor, number)` as in place: the dtype stays.
fn scaled(op: BinaryOp, tensor: &Tensor, number: f64) -> Result<Tensor> {
    let result = binary(op, tensor.into(), number.into())?;
    check_cast(result.dtype(), tensor.dtype())?;
    Ok(result)
}

fn feature_noise(input: &Tensor) -> Result<Tensor> {
    if input.dim() < 2 {
        let message = "Feature dropout requires at least 2 dimensions in the input";
        return Err(Error::runtime(message));
    }
    let mut sizes = Dims::from_elem(1, input.dim());
    sizes[..2].copy_from_slice(&input.sizes()[..2]);
    Tensor::zeros(&sizes, input.dtype().to_real())
}

/// `torch.native_dropout` in training: the result and which elements were kept.
///
/// # Errors
/// For chances outside [0, 1].
pub fn native_dropout(
    input: &Tensor,
    p: f64,
    generator: &mut Generator,
) -> Result<(Tensor, Tensor)> {
    let mask = empty_like(input, DType::Bool)?;
    if input.numel() == 0 {
        return Ok((input.clone(), mask));
    }
    bernoulli_in_place(&mask, 1.0 - p, generator)?;
    let scale = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
    let kept = binary(BinaryOp::Mul, input.into(), (&mask).into())?;
    Ok((scaled(BinaryOp::Mul, &kept, scale)?, mask))
}

/// Refuses slopes that are no range.
///
/// # Errors
/// For bounds that are not finite or in the wrong order.
pub fn check_slopes(lower: f64, upper: f64) -> Result<()> {
    for (name, bound) in [("lower", lower), ("upper", upper)] {
        if !bound.is_finite() {
            let found = general(bound);
            let message = format!("rrelu: {name} bound must be finite, got {found}");
            return Err(Error::runtime(message));
        }
    }
    if lower <= upper {
        return Ok(());
    }
    let message = "Lower bound should be less than or equal to the upper bound";
    Err(Error::runtime(message))
}

/// `torch.nn.functional.rrelu` in training: a random slope for each element that is not positive.
/// Gives the result and the slopes.
///
/// # Errors
/// For dtypes other than `float32`, `float64` and `bfloat16`.
pub fn rrelu(
    input: &Tensor,
    lower: f64,
    upper: f64,
    generator: &mut Generator,
) -> Result<(Tensor, Tensor)> {
    let dtype = input.dtype();
    if !matches!(dtype, DType::Float32 | DType::Float64 | DType::BFloat16) {
        return Err(Error::no_kernel("rrelu_with_noise_out_cpu", dtype));
    }
    let slopes: Vec<f64> = input
        .to_dtype(DType::Float64)?
        .to_vec::<f64>()?
        .into_iter()
        .map(|x| match x <= 0.0 {
            true => generator.uniform().mul_add(upper - lower, lower),
            false => 1.0,
        })
        .collect();
    let slopes = Tensor::from_slice(&slopes, input.sizes())?.to_dtype(dtype)?;
    Ok((binary(BinaryOp::Mul, input.into(), (&slopes).into())?, slopes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_probability_is_refused() {
        for p in [-0.5, 1.5, f64::NAN, f64::INFINITY] {
            assert!(check_dropout(p).is_err(), "{p}");
        }
    }

    #[test]
    fn what_is_kept_is_what_pytorch_keeps_after_seed_0() {
        let drop = |sizes: &[i64], kind: Dropout| {
            let ones = Tensor::full(sizes, 1.into(), DType::Float32).unwrap();
            let result = dropout(&ones, 0.5, kind, &mut Generator::new(0)).unwrap();
            result.to_vec::<f32>().unwrap()
        };
        assert_eq!(drop(&[6], Dropout::default()), [0.0, 0.0, 2.0, 0.0, 0.0, 0.0]);
        let features = Dropout { features: true, alpha: false };
        assert_eq!(drop(&[1, 4, 1, 2], features), [0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 0.0, 0.0]);
        let alpha = drop(&[3], Dropout { features: false, alpha: true });
        for (found, expected) in alpha.iter().zip([-0.779_193_9, -0.779_193_9, 1.665_598_9]) {
            assert!((found - expected).abs() < 1e-6, "{alpha:?}");
        }
    }
}

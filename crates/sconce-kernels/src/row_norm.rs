//! Normalisation of rows whose statistics are results as well, and by the root of the mean square.

use crate::binary::{BinaryOp, binary, compute_dtype};
use crate::unary::{UnaryOp, unary};
use crate::{DType, Dims, Error, Result, Tensor, layer_norm, mean, var};

/// The dimensions of a normalised shape, counted from the end.
fn last_dims(input: &Tensor, shape: &[i64]) -> Result<Dims> {
    if shape.is_empty() || !input.sizes().ends_with(shape) {
        let dims: Vec<String> = shape.iter().map(i64::to_string).collect();
        return Err(Error::runtime(format!(
            "Given normalized_shape={shape:?}, expected input with shape [*, {}], but got input of \
             size{:?}",
            dims.join(", "),
            input.sizes()
        )));
    }
    Ok((1..=shape.len() as i64).map(|dim| -dim).collect())
}

/// `torch.native_layer_norm`: the result, the mean of each row, and one over its deviation.
///
/// # Errors
/// As [`layer_norm`].
pub fn native_layer_norm(
    input: &Tensor,
    shape: &[i64],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<(Tensor, Tensor, Tensor)> {
    let result = layer_norm(input, shape, weight, bias, eps)?;
    let dims = last_dims(input, shape)?;
    let wide = input.to_dtype(DType::Float64)?;
    let means = mean(&wide, &dims, true, None)?;
    let shifted = binary(BinaryOp::Add, (&var(&wide, &dims, 0.0, true)?).into(), eps.into())?;
    let scale = unary(UnaryOp::Rsqrt, &shifted)?;
    Ok((result, means.to_dtype(input.dtype())?, scale.to_dtype(input.dtype())?))
}

/// `torch.nn.functional.rms_norm`, and one over the root of each row's mean square. `eps` is the
/// dtype's where none is given.
///
/// # Errors
/// Where the input does not end in the normalised shape, and for integers.
pub fn rms_norm(
    input: &Tensor,
    shape: &[i64],
    weight: Option<&Tensor>,
    eps: Option<f64>,
) -> Result<(Tensor, Tensor)> {
    let dims = last_dims(input, shape)?;
    let dtype = input.dtype();
    if !dtype.is_floating_point() {
        return Err(Error::no_kernel("rms_norm", dtype));
    }
    let compute = compute_dtype(dtype);
    let eps = eps.unwrap_or(match compute {
        DType::Float64 => f64::EPSILON,
        _ => f64::from(f32::EPSILON),
    });
    let wide = input.to_dtype(compute)?;
    let squares = mean(&unary(UnaryOp::Square, &wide)?, &dims, true, None)?;
    let shifted = binary(BinaryOp::Add, (&squares).into(), eps.into())?;
    let scale = unary(UnaryOp::Rsqrt, &shifted)?;
    let mut result = binary(BinaryOp::Mul, (&wide).into(), (&scale).into())?;
    if let Some(weight) = weight {
        if weight.sizes() != shape {
            return Err(Error::runtime(format!(
                "Expected weight to be of same shape as normalized_shape, but got weight of shape \
                 {:?} and normalized_shape = {shape:?}",
                weight.sizes()
            )));
        }
        result = binary(BinaryOp::Mul, (&result).into(), (&weight.to_dtype(compute)?).into())?;
    }
    Ok((result.to_dtype(dtype)?, scale.to_dtype(dtype)?))
}

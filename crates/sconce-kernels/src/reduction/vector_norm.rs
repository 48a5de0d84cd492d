//! `torch.linalg.vector_norm`.

use sconce_kernel_core::{DType, Error, Result, Tensor, promote_types};

use crate::elementwise::unary::unary;
use crate::elementwise::unary_op::UnaryOp;
use crate::reduction::reduce::norm;

/// Refuses what has no norms, and a dtype that cannot hold those of the input.
///
/// # Errors
/// The refusal, in PyTorch's words.
pub fn check_norm_dtype(input: &Tensor, dtype: Option<DType>, function: &str) -> Result<()> {
    let is_inexact = |dtype: DType| dtype.is_floating_point() || dtype.is_complex();
    let own = input.dtype();
    let from = own.scalar_type_name();
    if !is_inexact(own) {
        return Err(Error::runtime(format!(
            "{function}: Expected a floating point or complex tensor as input. Got {from}"
        )));
    }
    let Some(dtype) = dtype else { return Ok(()) };
    let to = dtype.scalar_type_name();
    let why = if !is_inexact(dtype) {
        format!("dtype should be floating point or complex, but got {to}")
    } else if own.is_complex() != dtype.is_complex() {
        let kind = if own.is_complex() { "complex" } else { "real" };
        format!("dtype should be {kind} for {kind} inputs, but got {to}")
    } else if promote_types(own, dtype)? != dtype {
        format!(
            "the dtype of the input ({from}) should be convertible without narrowing to the specified \
             dtype ({to})"
        )
    } else {
        return Ok(());
    };
    Err(Error::runtime(format!("{function}: {why}")))
}

/// A real tensor of the same norms, in the dtype that `dtype` asks for: complex numbers by their
/// absolute values.
fn real_input(input: &Tensor, dtype: Option<DType>, function: &str) -> Result<Tensor> {
    check_norm_dtype(input, dtype, function)?;
    let input = input.to_dtype(dtype.unwrap_or(input.dtype()))?;
    if input.dtype().is_complex() { unary(UnaryOp::Abs, &input) } else { Ok(input) }
}

/// `torch.linalg.vector_norm`; over all dimensions where none are given.
///
/// # Errors
/// For integers, dimensions that do not exist and norms that an empty dimension does not have.
pub fn vector_norm(
    input: &Tensor,
    order: f64,
    dims: &[i64],
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    let name = "linalg.vector_norm";
    let sizes = real_input(input, dtype, name)?;
    norm(&sizes, order, dims, keepdim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_without_norms_are_refused_in_pytorch_words() {
        let square = Tensor::zeros(&[3, 3], DType::Float32).unwrap();
        let norm = |dtype| vector_norm(&square, 2.0, &[], false, Some(dtype));
        let words = |result: Result<Tensor>| result.unwrap_err().message().to_owned();
        for (found, expected) in [
            (
                words(norm(DType::Int8)),
                "linalg.vector_norm: dtype should be floating point or complex, but got Char",
            ),
            (
                words(norm(DType::Complex64)),
                "linalg.vector_norm: dtype should be real for real inputs, but got ComplexFloat",
            ),
            (
                words(norm(DType::Float16)),
                "linalg.vector_norm: the dtype of the input (Float) should be convertible without \
                 narrowing to the specified dtype (Half)",
            ),
        ] {
            assert_eq!(found, expected);
        }
    }
}

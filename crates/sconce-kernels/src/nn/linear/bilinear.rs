//! `bilinear`: products of two vectors by a matrix for each output.

use sconce_kernel_core::error::cpp_type_name;
use sconce_kernel_core::layout::shape::product;
use sconce_kernel_core::tensor::promotion::compute_dtype;

use crate::{BinaryOp, Error, Result, Tensor, binary};

/// `torch.nn.functional.bilinear`: for each output `o`,
/// `x₁ᵀ · weight[o] · x₂ + bias[o]`.
///
/// # Errors
/// Where sizes do not fit.
pub fn bilinear(
    first: &Tensor,
    second: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let (Some((&left, outer)), Some((&right, outer_of_second)), &[outputs, rows, columns]) =
        (first.sizes().split_last(), second.sizes().split_last(), weight.sizes())
    else {
        return Err(Error::runtime("bilinear(): expected vectors and a weight of 3 dimensions"));
    };
    if outer != outer_of_second {
        let dim = outer.iter().zip(outer_of_second).position(|(a, b)| a != b);
        return Err(Error::runtime(match dim {
            Some(dim) if outer.len() == outer_of_second.len() => format!(
                "bilinear(): input batch dimensions do not match at dim {dim}: got {} and {}",
                outer[dim], outer_of_second[dim]
            ),
            _ => format!(
                "bilinear(): input dimensions do not match: got {} and {}",
                first.dim(),
                second.dim()
            ),
        }));
    }
    for (name, size, wanted) in [("input1", left, rows), ("input2", right, columns)] {
        if size != wanted {
            return Err(Error::runtime(format!(
                "bilinear(): {name} size does not match weight size: got {size} but expected \
                 {wanted}"
            )));
        }
    }
    if let Some(bias) = bias
        && bias.sizes() != [outputs]
    {
        return Err(Error::runtime(format!(
            "bilinear(): bias size does not match weight size: got {} but expected {outputs}",
            bias.numel()
        )));
    }
    let dtype = first.dtype();
    let operands = [
        ("input1", Some(first)),
        ("input2", Some(second)),
        ("weight", Some(weight)),
        ("bias", bias),
    ];
    let dtypes = || operands.iter().filter_map(|&(name, tensor)| Some((name, tensor?.dtype())));
    if dtypes().any(|(_, other)| other != dtype) {
        let names: Vec<String> =
            dtypes().map(|(name, dtype)| format!("{name}: {}", cpp_type_name(dtype))).collect();
        return Err(Error::runtime(format!(
            "All tensors must have the same dtype, got {}",
            names.join(", ")
        )));
    }
    let compute = compute_dtype(dtype);
    let batch = product(outer);
    let first = first.to_dtype(compute)?.reshape(&[batch, left])?;
    let second = second.to_dtype(compute)?.reshape(&[batch, right, 1])?;
    // Rows of the weight first: one product gives every output's x₁ᵀ · weight[o].
    let weight =
        weight.to_dtype(compute)?.permute(&[1, 0, 2])?.reshape(&[rows, outputs * columns])?;
    let half = crate::mm(&first, &weight)?.view(&[batch, outputs, columns])?;
    let mut result = crate::bmm(&half, &second)?.view(&[batch, outputs])?;
    if let Some(bias) = bias {
        result = binary(BinaryOp::Add, (&result).into(), (&bias.to_dtype(compute)?).into())?;
    }
    let mut sizes = outer.to_vec();
    sizes.push(outputs);
    result.view(&sizes)?.to_dtype(dtype)
}

//! Operators of backward passes that have kernels of their own; the others are expressions of the table of
//! derivatives (`gradients`).

use sconce_kernels::{self as kernels, BinaryOp, DType, Tensor, UnaryOp};

use super::tensor_args::{kernel, made};
use super::{Args, Table};
use crate::error::Raise;
use crate::value::IValue;

type Result<T> = std::result::Result<T, Raise>;

pub(super) const TABLE: Table = &[
    ("aten::_softmax_backward_data", "-", |_, args| softmax(&args)),
    ("aten::_log_softmax_backward_data", "-", |_, args| log_softmax(&args)),
    ("aten::max_pool2d_with_indices_backward", "-", |_, args| max_pool(&args, 2)),
    ("aten::max_pool3d_with_indices_backward", "-", |_, args| max_pool(&args, 3)),
];

fn product(a: &Tensor, b: &Tensor) -> kernels::Result<Tensor> {
    kernels::binary(BinaryOp::Mul, a.into(), b.into())
}

/// Gradient and result of a softmax in the dtype that they are computed in, the dimension, and the dtype
/// of what is computed.
fn operands(args: &Args<'_>) -> Result<(Tensor, Tensor, i64, DType)> {
    let wide = |tensor: &Tensor| match tensor.dtype() {
        DType::Float64 => Ok(tensor.clone()),
        _ => tensor.to_dtype(DType::Float32),
    };
    let (grad, output) = (args.tensor(0)?, args.tensor(1)?);
    let dtype = args.dtype(3)?.unwrap_or(grad.dtype());
    let both = wide(grad).and_then(|grad| Ok((grad, wide(output)?)));
    let (grad, output) = both.map_err(kernel)?;
    Ok((grad, output, args.int(2)?, dtype))
}

/// `(grad - sum(grad * output)) * output`.
fn softmax(args: &Args<'_>) -> Result<IValue> {
    let (grad, output, dim, dtype) = operands(args)?;
    let run = || {
        let sums = kernels::sum(&product(&grad, &output)?, &[dim], true, None)?;
        let rest = kernels::binary(BinaryOp::Sub, (&grad).into(), (&sums).into())?;
        product(&rest, &output)?.to_dtype(dtype)
    };
    made(run())
}

/// `grad - exp(output) * sum(grad)`.
fn log_softmax(args: &Args<'_>) -> Result<IValue> {
    let (grad, output, dim, dtype) = operands(args)?;
    let run = || {
        let sums = kernels::sum(&grad, &[dim], true, None)?;
        let taken = product(&kernels::unary(UnaryOp::Exp, &output)?, &sums)?;
        kernels::binary(BinaryOp::Sub, (&grad).into(), (&taken).into())?.to_dtype(dtype)
    };
    made(run())
}

/// Each gradient goes to the place where its greatest element was found.
fn max_pool(args: &Args<'_>, rank: usize) -> Result<IValue> {
    let (grad, input, indices) = (args.tensor(0)?, args.tensor(1)?, args.tensor(7)?);
    let run = || {
        let lead = input.dim().saturating_sub(rank);
        let flat = |tensor: &Tensor| -> kernels::Result<Tensor> {
            let planes: i64 = tensor.sizes().iter().take(lead).product();
            tensor.reshape(&[planes, tensor.numel().checked_div(planes).unwrap_or(0)])
        };
        let zeros = flat(&Tensor::zeros(input.sizes(), input.dtype())?)?;
        let (grad, indices) = (flat(grad)?, flat(indices)?);
        kernels::scatter_fold(&zeros, 1, &indices, (&grad).into(), kernels::Fold::Sum, true)?
            .view(input.sizes())
    };
    made(run())
}

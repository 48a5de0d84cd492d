//! Operators of backward passes that have kernels of their own; the others are expressions of the table of
//! derivatives (`autograd/derivatives.txt`).

use sconce_kernels as kernels;
use sconce_kernels::{BinaryOp, DType, Tensor, UnaryOp};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::nn::pool::Lists;
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::_softmax_backward_data", "-", |_, args| softmax(&args))
        .strides(ResultStrides::RowMajor),
    op("aten::_log_softmax_backward_data", "-", |_, args| log_softmax(&args))
        .strides(ResultStrides::RowMajor),
    op("aten::max_pool2d_with_indices_backward", "-", |_, args| max_pool(&args, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::max_pool3d_with_indices_backward", "-", |_, args| max_pool(&args, 3)),
];

fn product(a: &Tensor, b: &Tensor) -> kernels::Result<Tensor> {
    kernels::binary(BinaryOp::Mul, a.into(), b.into())
}

/// Gradient and result of a softmax in the dtype that they are computed in, the dimension, and the dtype
/// of what is computed.
fn operands(args: &Args<'_>, name: &str) -> Result<(Tensor, Tensor, i64, DType)> {
    let wide = |tensor: &Tensor| match tensor.dtype() {
        DType::Float64 => Ok(tensor.clone()),
        _ => tensor.to_dtype(DType::Float32),
    };
    let (grad, output) = (args.tensor(0)?, args.tensor(1)?);
    check_softmax(grad, output, name)?;
    if grad.dtype() == DType::Float32 && matches!(args.dtype(3), Ok(Some(DType::Float16))) {
        return Err(Raise::message("expected scalar type Float but found Half"));
    }
    // The dtype of the softmax's own input is the gradient's wherever there are kernels.
    let dtype = grad.dtype();
    let both = wide(grad).and_then(|grad| Ok((grad, wide(output)?)));
    let (grad, output) = both.map_err(kernel)?;
    Ok((grad, output, args.int(2)?, dtype))
}

fn check_softmax(grad: &Tensor, output: &Tensor, name: &str) -> Result<()> {
    let [of_grad, of_output] = [grad, output].map(|tensor| tensor.dtype().scalar_type_name());
    if grad.sizes() != output.sizes() {
        return Err(Raise::message(format!(
            "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 'output'; \
             but {:?} does not equal {:?} (while checking arguments for {name}_backward)",
            grad.sizes(),
            output.sizes()
        )));
    }
    if !grad.dtype().is_floating_point() {
        return Err(Raise::message(format!(
            "\"{name}_backward_lastdim_kernel_impl\" not implemented for '{of_grad}'"
        )));
    }
    match of_grad == of_output {
        true => Ok(()),
        false => {
            Err(Raise::message(format!("expected scalar type {of_grad} but found {of_output}")))
        }
    }
}

/// `(grad - sum(grad * output)) * output`.
fn softmax(args: &Args<'_>) -> Result<IValue> {
    let (grad, output, dim, dtype) = operands(args, "softmax")?;
    let run = || {
        let sums = kernels::sum(&product(&grad, &output)?, &[dim], true, None)?;
        let rest = kernels::binary(BinaryOp::Sub, (&grad).into(), (&sums).into())?;
        product(&rest, &output)?.to_dtype(dtype)
    };
    made(run())
}

/// `grad - exp(output) * sum(grad)`.
fn log_softmax(args: &Args<'_>) -> Result<IValue> {
    let (grad, output, dim, dtype) = operands(args, "log_softmax")?;
    let run = || {
        let sums = kernels::sum(&grad, &[dim], true, None)?;
        let taken = product(&kernels::unary(UnaryOp::Exp, &output)?, &sums)?;
        kernels::binary(BinaryOp::Sub, (&grad).into(), (&taken).into())?.to_dtype(dtype)
    };
    made(run())
}

/// Refuses a tensor of other sizes than those of the pool's result.
fn check_pooled(tensor: &Tensor, sizes: &[i64]) -> Result<()> {
    let found = tensor.sizes();
    let differs = |&dim: &usize| found.len() != sizes.len() || found[dim] != sizes[dim];
    let Some(dim) = (0..sizes.len()).find(differs) else { return Ok(()) };
    Err(Raise::message(format!(
        "Expected a tensor of dimension {} and tensor.size[{dim}] == {} but got: dimension {} and \
         tensor.size[{dim}] = {}",
        sizes.len(),
        sizes[dim],
        found.len(),
        found.get(dim).copied().unwrap_or(1)
    )))
}

/// Each gradient goes to the place where its greatest element was found.
fn max_pool(args: &Args<'_>, rank: usize) -> Result<IValue> {
    let (grad, input, indices) = (args.tensor(0)?, args.tensor(1)?, args.tensor(7)?);
    let lists = Lists::from(args, 2)?.narrow()?;
    let sizes = kernels::max_pool_sizes(input, rank, &lists.options()).map_err(kernel)?;
    check_pooled(grad, &sizes)?;
    check_pooled(indices, &sizes)?;
    if indices.dtype() != DType::Int64 {
        let found = indices.dtype().scalar_type_name();
        return Err(Raise::message(format!("expected scalar type Long but found {found}")));
    }
    let run = || {
        let lead = input.dim().saturating_sub(rank);
        let flat = |tensor: &Tensor| -> kernels::Result<Tensor> {
            let planes: i64 = tensor.sizes().iter().take(lead).product();
            tensor.reshape(&[planes, tensor.numel().checked_div(planes).unwrap_or(0)])
        };
        let zeros = flat(&Tensor::zeros(input.sizes(), input.dtype())?)?;
        let (grad, indices) = (flat(grad)?, flat(indices)?);
        kernels::scatter_reduce(
            &zeros,
            1,
            &indices,
            (&grad).into(),
            kernels::ScatterReduce::Sum,
            true,
        )?
        .view(input.sizes())
    };
    made(run())
}

//! Activation functions with more operands than a tensor.

use sconce_kernels as kernels;
use sconce_kernels::{PointwiseOp, UnaryOp};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::fusion::fuse;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{both, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::elu", "-", |_, args| elu(&args))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Elu)]),
    op("aten::celu", "-", |_, args| celu(&args)).strides(ResultStrides::Elements),
    op("aten::selu", "-", |_, args| selu(&args)).strides(ResultStrides::Elements),
    op("aten::leaky_relu", "-", |_, args| leaky_relu(&args))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::LeakyRelu)]),
    op("aten::hardtanh", "-", |_, args| hardtanh(&args))
        .strides(ResultStrides::Copy)
        .fuse(&[fuse(PointwiseOp::Hardtanh)]),
    op("aten::threshold", "-", |_, args| threshold(&args)).strides(ResultStrides::Elements),
    op("aten::gelu", "-", |_, args| gelu(&args)).strides(ResultStrides::Elements).fuse(&[
        fuse(PointwiseOp::Unary(UnaryOp::Gelu)).when(1, Some("none")),
        fuse(PointwiseOp::Unary(UnaryOp::GeluTanh)).when(1, Some("tanh")),
    ]),
    op("aten::hardshrink", "-", |_, args| {
        made(kernels::hardshrink(args.tensor(0)?, args.real(1)?))
    })
    .strides(ResultStrides::Elements),
    op("aten::softshrink", "-", |_, args| {
        made(kernels::softshrink(args.tensor(0)?, args.real(1)?))
    })
    .strides(ResultStrides::Elements),
    op("aten::softplus", "-", |_, args| {
        made(kernels::softplus(args.tensor(0)?, args.real(1)?, args.real(2)?))
    })
    .strides(ResultStrides::Elements)
    .fuse(&[fuse(PointwiseOp::Softplus)]),
    op("aten::log_sigmoid", "-", |_, args| made(kernels::log_sigmoid(args.tensor(0)?)))
        .strides(ResultStrides::RowMajor),
    op("aten::prelu", "-", |_, args| made(kernels::prelu(args.tensor(0)?, args.tensor(1)?)))
        .strides(ResultStrides::First),
    op("aten::_prelu_kernel", "-", |_, args| {
        made(kernels::prelu_kernel(args.tensor(0)?, args.tensor(1)?))
    })
    .strides(ResultStrides::Elements),
    op("aten::glu", "-", |_, args| made(kernels::glu(args.tensor(0)?, args.int(1)?)))
        .strides(ResultStrides::Halves),
    op("aten::log_sigmoid_forward", "-", |_, args| {
        let input = args.tensor(0)?;
        // On the CPU the second result is exp(-|x|).
        let buffer = kernels::unary(UnaryOp::Abs, input)
            .and_then(|x| kernels::unary(UnaryOp::Neg, &x))
            .and_then(|x| kernels::unary(UnaryOp::Exp, &x));
        both(kernels::log_sigmoid(input).and_then(|result| Ok((result, buffer?))))
    }),
    op("aten::_add_relu", "Tensor Scalar", |_, args| {
        let sum = kernels::add(args.operand(0)?, args.operand(1)?, args.scalar(2)?);
        made(sum.and_then(|sum| kernels::unary(UnaryOp::Relu, &sum)))
    }),
];

fn elu(args: &Args<'_>) -> Result {
    made(kernels::elu(args.tensor(0)?, args.real(1)?, args.real(2)?, args.real(3)?))
}

fn celu(args: &Args<'_>) -> Result {
    made(kernels::celu(args.tensor(0)?, args.real(1)?))
}

fn selu(args: &Args<'_>) -> Result {
    made(kernels::selu(args.tensor(0)?))
}

fn leaky_relu(args: &Args<'_>) -> Result {
    made(kernels::leaky_relu(args.tensor(0)?, args.scalar(1)?))
}

fn hardtanh(args: &Args<'_>) -> Result {
    made(kernels::hardtanh(args.tensor(0)?, args.scalar(1)?, args.scalar(2)?))
}

fn threshold(args: &Args<'_>) -> Result {
    let (input, numbers) = (args.tensor(0)?, [args.scalar(1)?, args.scalar(2)?]);
    for number in numbers {
        number.check_fits(input.dtype()).map_err(kernel)?;
    }
    made(kernels::threshold(input, numbers[0], numbers[1]))
}

fn gelu(args: &Args<'_>) -> Result {
    let op = match &*args.str(1)? {
        "none" => UnaryOp::Gelu,
        "tanh" => UnaryOp::GeluTanh,
        _ => return Err(Raise::message("approximate argument must be either none or tanh.")),
    };
    made(kernels::unary(op, args.tensor(0)?))
}

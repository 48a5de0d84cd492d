//! Activation functions with more operands than a tensor.

use sconce_kernels as kernels;
use sconce_kernels::UnaryOp;

use crate::error::Raise;
use crate::ops::tensor::operands::{kernel, made};
use crate::ops::{Args, Table};
use crate::value::ivalue::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    ("aten::elu", "-", |_, args| elu(&args)),
    ("aten::celu", "-", |_, args| celu(&args)),
    ("aten::selu", "-", |_, args| selu(&args)),
    ("aten::leaky_relu", "-", |_, args| leaky_relu(&args)),
    ("aten::hardtanh", "-", |_, args| hardtanh(&args)),
    ("aten::threshold", "-", |_, args| threshold(&args)),
    ("aten::gelu", "-", |_, args| gelu(&args)),
    ("aten::hardshrink", "-", |_, args| made(kernels::hardshrink(args.tensor(0)?, args.real(1)?))),
    ("aten::softshrink", "-", |_, args| made(kernels::softshrink(args.tensor(0)?, args.real(1)?))),
    ("aten::softplus", "-", |_, args| {
        made(kernels::softplus(args.tensor(0)?, args.real(1)?, args.real(2)?))
    }),
    ("aten::log_sigmoid", "-", |_, args| made(kernels::log_sigmoid(args.tensor(0)?))),
    ("aten::prelu", "-", |_, args| made(kernels::prelu(args.tensor(0)?, args.tensor(1)?))),
    ("aten::_prelu_kernel", "-", |_, args| {
        made(kernels::prelu_kernel(args.tensor(0)?, args.tensor(1)?))
    }),
    ("aten::glu", "-", |_, args| made(kernels::glu(args.tensor(0)?, args.int(1)?))),
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

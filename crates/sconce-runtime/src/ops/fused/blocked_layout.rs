//! Operators of the blocked layout, which passes put into optimised graphs. Where they cannot compute
//! something they raise, and the program runs as it is.

use sconce_kernels as kernels;
use sconce_kernels::{
    Activation, BinaryOp, BlockedConv, MemoryFormat, PointwiseOp, PoolOptions, Tensor,
};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::fusion::fuse;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("sconce::to_blocked", "-", |_, args| made(kernels::to_blocked(args.tensor(0)?))),
    op("sconce::from_blocked", "-", |_, args| {
        let picture = kernels::from_blocked(args.tensor(0)?, args.int(1)?).map_err(kernel)?;
        if !args.bool(2)? {
            return Ok(IValue::Tensor(picture));
        }
        let strides = MemoryFormat::ChannelsLast.strides(picture.sizes()).map_err(kernel)?;
        made(picture.with_strides(&strides))
    }),
    op("sconce::conv_blocked", "-", |context, args| convolve(&args, context.exact()))
        .steps(conv_steps),
    op("sconce::max_pool2d_blocked", "-", |_, args| {
        let &[h, w, sh, sw, ph, pw, dh, dw] = args.ints(1)?.as_slice() else { return Err(unfit()) };
        let options = PoolOptions {
            kernel: &[h, w],
            stride: &[sh, sw],
            padding: &[ph, pw],
            dilation: &[dh, dw],
            ceil_mode: args.bool(2)?,
        };
        made(kernels::max_pool2d_blocked(args.tensor(0)?, &options))
    }),
    op("sconce::mean_blocked", "-", |_, args| made(kernels::mean_blocked(args.tensor(0)?))),
    op("sconce::add", "-", |_, args| same_shape(&args, BinaryOp::Add))
        .fuse(&[fuse(PointwiseOp::Onto(BinaryOp::Add))]),
    op("sconce::mul", "-", |_, args| same_shape(&args, BinaryOp::Mul))
        .fuse(&[fuse(PointwiseOp::Onto(BinaryOp::Mul))]),
];

fn unfit() -> Raise {
    Raise::message("an operator of an optimised graph that does not fit its operands")
}

/// The convolution, the sum with a residual where there is one, and the activation.
fn conv_steps(operands: &[Option<&IValue>]) -> Vec<&'static str> {
    let mut steps = vec!["conv2d"];
    if !matches!(operands.get(3), Some(Some(IValue::None))) {
        steps.push("add");
    }
    let known = ["relu", "clamp", "hardsigmoid", "hardswish"];
    if let Some(Some(IValue::Str(activation))) = operands.get(5) {
        steps.extend(known.iter().find(|known| **known == &**activation));
    }
    steps
}

/// Input, weight, bias, residual or `None`, numbers in the order of [`BlockedConv`], the activation's
/// name and bounds.
fn convolve(args: &Args<'_>, exact: bool) -> Result {
    let &[in_channels, out_channels, groups, h, w, sh, sw, ph, pw, dh, dw] =
        args.ints(4)?.as_slice()
    else {
        return Err(unfit());
    };
    let activation = match &*args.str(5)? {
        "none" => Activation::None,
        "relu" => Activation::Relu,
        "clamp" => Activation::Clamp(args.real(6)? as f32, args.real(7)? as f32),
        "hardsigmoid" => Activation::Hardsigmoid,
        "hardswish" => Activation::Hardswish,
        _ => return Err(unfit()),
    };
    let options = BlockedConv {
        in_channels,
        out_channels,
        groups,
        kernel: [h, w],
        stride: [sh, sw],
        padding: [ph, pw],
        dilation: [dh, dw],
        activation,
        exact,
    };
    let (input, weight, bias) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    made(kernels::conv_blocked(input, weight, bias, args.optional_tensor(3)?, &options))
}

/// What `a.add_(b)` gives, as a new tensor: the result has the first operand's shape and dtype.
fn same_shape(args: &Args<'_>, op: BinaryOp) -> Result {
    let (a, b): (&Tensor, &Tensor) = (args.tensor(0)?, args.tensor(1)?);
    let result = kernels::binary(op, a.into(), b.into()).map_err(kernel)?;
    match result.sizes() == a.sizes() && result.dtype() == a.dtype() {
        true => Ok(IValue::Tensor(result)),
        false => Err(unfit()),
    }
}

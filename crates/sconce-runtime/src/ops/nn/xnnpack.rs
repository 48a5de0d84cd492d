//! The layers of XNNPACK that `optimize_for_mobile` puts into programs for phones: convolutions and
//! linear layers of float32 whose results are clamped.

use sconce_ir::Type;
use sconce_kernels as kernels;
use sconce_kernels::{BinaryOp, ConvOptions, DType, Scalar, Tensor};

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::nn::xnnpack_layers::Layer;
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("prepacked::linear_clamp_prepack", "-", |context, args| {
        Layer::Linear.object(context, args.0)
    }),
    op("prepacked::conv2d_clamp_prepack", "-", |context, args| {
        Layer::Conv2d.object(context, args.0)
    }),
    op("prepacked::conv2d_transpose_clamp_prepack", "-", |context, args| {
        Layer::TransposeConv2d.object(context, args.0)
    }),
    op("prepacked::linear_clamp_run", "-", linear),
    op("prepacked::conv2d_clamp_run", "-", |context, args| conv(context, &args, Layer::Conv2d)),
    op("prepacked::conv2d_transpose_clamp_run", "-", |context, args| {
        conv(context, &args, Layer::TransposeConv2d)
    }),
    op("prepacked::unpack_prepacked_sizes_linear", "-", |context, args| {
        let mut parts = Layer::Linear.parts_of(context, args.get(0))?;
        let parts = Args(&mut parts);
        Ok(IValue::tuple(vec![sizes(parts.tensor(0)?), bias_sizes(&parts)?]))
    }),
    op("prepacked::unpack_prepacked_sizes_conv2d", "-", |context, args| {
        let mut parts = Layer::Conv2d.parts_of(context, args.get(0))?;
        let parts = Args(&mut parts);
        let mut found = vec![sizes(parts.tensor(0)?), bias_sizes(&parts)?];
        found.extend((2..=5).map(|part| parts.get(part).clone()));
        Ok(IValue::tuple(found))
    }),
];

fn sizes(tensor: &Tensor) -> IValue {
    IValue::list(Type::Int, tensor.sizes().iter().map(|&size| IValue::Int(size)).collect())
}

fn bias_sizes(parts: &Args<'_>) -> Result {
    Ok(parts.optional_tensor(1)?.map_or(IValue::None, sizes))
}

/// What XNNPACK makes of an input whose channels lie last is not followed: PyTorch 1.13 hands it the
/// numbers in the order of memory.
fn linear(context: &mut dyn OpContext, args: Args<'_>) -> Result {
    let mut parts = Layer::Linear.parts_of(context, args.get(1))?;
    let parts = Args(&mut parts);
    let input = args.tensor(0)?;
    if input.dtype() != DType::Float32 || input.dim() == 0 {
        return Err(unusable("Linear"));
    }
    let result = kernels::linear(input, parts.tensor(0)?, parts.optional_tensor(1)?);
    clamped(&result.map_err(kernel)?, &parts, Layer::Linear)
}

fn conv(context: &mut dyn OpContext, args: &Args<'_>, layer: Layer) -> Result {
    let mut parts = layer.parts_of(context, args.get(1))?;
    let parts = Args(&mut parts);
    let input = args.tensor(0)?;
    if input.dim() != 4 {
        return Err(Raise::message("required rank 4 tensor to use channels_last format"));
    }
    if input.dtype() != DType::Float32 {
        return Err(unusable("Convolution"));
    }
    let (weight, bias) = (parts.tensor(0)?, parts.optional_tensor(1)?);
    let (stride, padding) = (parts.ints(2)?, parts.ints(3)?);
    // A transposed one has the output's padding before the last two.
    let rest = layer.parts() - 4;
    let (dilation, groups) = (parts.ints(rest)?, parts.int(rest + 1)?);
    let options = ConvOptions { stride: &stride, padding: &padding, dilation: &dilation, groups };
    let result = match layer {
        Layer::TransposeConv2d => {
            kernels::conv_transpose(input, weight, bias, &options, &parts.ints(4)?)
        }
        _ => kernels::conv(input, weight, bias, &options),
    };
    clamped(&result.map_err(kernel)?, &parts, layer)
}

fn unusable(layer: &str) -> Raise {
    Raise::message(format!(
        "XNNPACK {layer} not usable! Reason: The provided input tensor is either invalid or \
         unsupported by XNNPACK."
    ))
}

/// Within the layer's bounds. XNNPACK always has some, infinite ones if need be, and gives the lower
/// one for what is not a number.
fn clamped(result: &Tensor, parts: &Args<'_>, layer: Layer) -> Result {
    let low = parts.optional_real(layer.parts() - 2)?.unwrap_or(f64::NEG_INFINITY);
    let high = parts.optional_real(layer.parts() - 1)?.unwrap_or(f64::INFINITY);
    let bound = |op, tensor: &Tensor, bound| {
        kernels::binary(op, tensor.into(), kernels::Operand::Scalar(Scalar::Float(bound)))
    };
    made(bound(BinaryOp::Fmax, result, low).and_then(|result| bound(BinaryOp::Fmin, &result, high)))
}

//! Maths on quantized tensors.

use sconce_kernels as kernels;
use sconce_kernels::{BatchNorm, BinaryOp, Tensor, UnaryOp};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::quantized::layers::output;
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("quantized::add", "-", |_, args| added(&args, false)),
    op("quantized::add_relu", "-", |_, args| added(&args, true)),
    op("quantized::mul", "-", |_, args| multiplied(&args, false)),
    op("quantized::mul_relu", "-", |_, args| multiplied(&args, true)),
    op("quantized::cat", "-", |_, args| joined(&args, false)),
    op("quantized::cat_relu", "-", |_, args| joined(&args, true)),
    op("quantized::hardswish", "-", |_, args| {
        pointwise(&args, [1, 2], |x| kernels::unary(UnaryOp::Hardswish, x))
    }),
    op("quantized::sigmoid", "-", |_, args| {
        pointwise(&args, [1, 2], |x| kernels::unary(UnaryOp::Sigmoid, x))
    }),
    op("quantized::leaky_relu", "-", |_, args| {
        let slope = args.scalar(1)?;
        if args.bool(2)? {
            return Err(Raise::unsupported("quantized::leaky_relu in place"));
        }
        pointwise(&args, [3, 4], |x| kernels::leaky_relu(x, slope))
    }),
    op("quantized::add", "Scalar", |_, args| add_scalar(&args, false)),
    op("quantized::add_relu", "Scalar", |_, args| add_scalar(&args, true)),
    op("quantized::add_scalar", "- Tensor", |_, args| add_scalar(&args, false)),
    op("quantized::add_scalar_relu", "- Tensor", |_, args| add_scalar(&args, true)),
    op("quantized::mul", "Scalar", |_, args| mul_scalar(&args, false)),
    op("quantized::mul_relu", "Scalar", |_, args| mul_scalar(&args, true)),
    op("quantized::mul_scalar", "- Tensor", |_, args| mul_scalar(&args, false)),
    op("quantized::mul_scalar_relu", "- Tensor", |_, args| mul_scalar(&args, true)),
    op("quantized::matmul", "-", |_, args| {
        let output = output(&args, [2, 3], false)?;
        made(kernels::quantized_matmul(args.tensor(0)?, args.tensor(1)?, output))
    }),
    op("quantized::clamp", "-", |_, args| {
        let (low, high) = (args.optional_real(1)?, args.optional_real(2)?);
        made(kernels::quantized_clamp(args.tensor(0)?, low, high))
    }),
    op("quantized::relu6", "-", |_, args| {
        if args.bool(1)? {
            return Err(Raise::unsupported("quantized::relu6 in place"));
        }
        made(kernels::quantized_clamp(args.tensor(0)?, Some(0.0), Some(6.0)))
    }),
    op("quantized::threshold", "-", |_, args| {
        made(kernels::quantized_threshold(args.tensor(0)?, args.scalar(1)?, args.scalar(2)?))
    }),
    op("quantized::elu", "-", |_, args| {
        let (alpha, scale, input_scale) = (args.real(3)?, args.real(4)?, args.real(5)?);
        pointwise(&args, [1, 2], |x| kernels::elu(x, alpha, scale, input_scale))
    }),
    op("quantized::celu", "-", |_, args| {
        let alpha = args.real(3)?;
        pointwise(&args, [1, 2], |x| kernels::celu(x, alpha))
    }),
    op("quantized::prelu", "-", |_, args| {
        let weight = kernels::dequantize(args.tensor(1)?).map_err(kernel)?;
        pointwise(&args, [2, 3], |x| kernels::prelu(x, &weight))
    }),
    op("quantized::softmax", "-", |_, args| {
        let dim = args.int(1)?;
        pointwise(&args, [2, 3], |x| kernels::softmax(x, dim))
    }),
    op("quantized::max_pool1d", "-", |_, args| crate::ops::nn::pool::max_pool(&args, 1)),
    op("quantized::max_pool2d", "-", |_, args| crate::ops::nn::pool::max_pool(&args, 2)),
    op("quantized::batch_norm", "-", |_, args| batch_norm(&args, false)),
    op("quantized::batch_norm1d", "-", |_, args| batch_norm(&args, false)),
    op("quantized::batch_norm2d", "-", |_, args| batch_norm(&args, false)),
    op("quantized::batch_norm3d", "-", |_, args| batch_norm(&args, false)),
    op("quantized::batch_norm_relu", "-", |_, args| batch_norm(&args, true)),
    op("quantized::batch_norm1d_relu", "-", |_, args| batch_norm(&args, true)),
    op("quantized::batch_norm2d_relu", "-", |_, args| batch_norm(&args, true)),
    op("quantized::batch_norm3d_relu", "-", |_, args| batch_norm(&args, true)),
    op("quantized::layer_norm", "-", |_, args| {
        let (shape, eps) = (args.ints(1)?, args.real(4)?);
        let (weight, bias) = (args.optional_tensor(2)?, args.optional_tensor(3)?);
        pointwise(&args, [5, 6], |x| kernels::layer_norm(x, &shape, weight, bias, eps))
    }),
    op("quantized::group_norm", "-", |_, args| {
        let (groups, eps) = (args.int(1)?, args.real(4)?);
        let (weight, bias) = (args.optional_tensor(2)?, args.optional_tensor(3)?);
        pointwise(&args, [5, 6], |x| kernels::group_norm(x, groups, weight, bias, eps))
    }),
    op("quantized::instance_norm", "-", |_, args| {
        let channels = args.tensor(0)?.size(1).map_err(kernel)?;
        let (weight, bias, eps) =
            (args.optional_tensor(1)?, args.optional_tensor(2)?, args.real(3)?);
        // A group for each channel.
        pointwise(&args, [4, 5], |x| kernels::group_norm(x, channels, weight, bias, eps))
    }),
    op("quantized::dropout", "-", |_, mut args| match args.bool(2)? {
        false => Ok(args.take(0)),
        true => Err(Raise::unsupported("quantized::dropout in training")),
    }),
];

/// `(x, number)`, the number in a tensor or not.
fn scalar_of(args: &Args<'_>) -> Result<f64> {
    match args.get(1) {
        IValue::Tensor(tensor) => Ok(tensor.item().map_err(kernel)?.to_f64()),
        _ => args.real(1),
    }
}

fn add_scalar(args: &Args<'_>, relu: bool) -> Result {
    made(kernels::quantized_add_scalar(args.tensor(0)?, scalar_of(args)?, relu))
}

fn mul_scalar(args: &Args<'_>, relu: bool) -> Result {
    made(kernels::quantized_mul_scalar(args.tensor(0)?, scalar_of(args)?, relu))
}

/// `(x, weight, bias, mean, var, eps, scale, zero_point)`.
fn batch_norm(args: &Args<'_>, relu: bool) -> Result {
    let options = BatchNorm {
        weight: args.optional_tensor(1)?,
        bias: args.optional_tensor(2)?,
        running_mean: args.optional_tensor(3)?,
        running_var: args.optional_tensor(4)?,
        training: false,
        momentum: 0.0,
        eps: args.real(5)?,
    };
    pointwise(args, [6, 7], |x| relu_if(kernels::native_batch_norm(x, &options)?.0, relu))
}

fn relu_if(tensor: Tensor, relu: bool) -> kernels::Result<Tensor> {
    if relu { kernels::unary(UnaryOp::Relu, &tensor) } else { Ok(tensor) }
}

fn added(args: &Args<'_>, relu: bool) -> Result {
    let output = (args.real(2)?, args.int(3)?);
    made(kernels::through_floats(
        &[args.tensor(0)?, args.tensor(1)?],
        output,
        |floats| match floats {
            [a, b] => relu_if(kernels::binary(BinaryOp::Add, a.into(), b.into())?, relu),
            _ => Err(kernels::Error::runtime("expected two tensors")),
        },
    ))
}

fn multiplied(args: &Args<'_>, relu: bool) -> Result {
    let output = output(args, [2, 3], relu)?;
    made(kernels::quantized_mul(args.tensor(0)?, args.tensor(1)?, output))
}

fn joined(args: &Args<'_>, relu: bool) -> Result {
    let (tensors, dim) = (args.tensors(0)?, args.int(1)?);
    let Some(first) = tensors.first() else {
        return Err(Raise::message("Quantized cat: expected a non-empty list of Tensors"));
    };
    let own = kernels::per_tensor(first).map_err(kernel)?;
    let scale = args.optional_real(2)?.unwrap_or(own.0);
    let zero_point = args.optional_int(3)?.unwrap_or(own.1);
    let all: Vec<&Tensor> = tensors.iter().collect();
    made(kernels::through_floats(&all, (scale, zero_point), |floats| {
        relu_if(kernels::cat(floats, dim)?, relu)
    }))
}

fn pointwise(
    args: &Args<'_>,
    output: [usize; 2],
    f: impl Fn(&Tensor) -> kernels::Result<Tensor>,
) -> Result {
    let output = (args.real(output[0])?, args.int(output[1])?);
    made(kernels::through_floats(&[args.tensor(0)?], output, |floats| match floats {
        [x] => f(x),
        _ => Err(kernels::Error::runtime("expected one tensor")),
    }))
}

//! Quantized tensors and layers.

use sconce_kernels as kernels;
use sconce_kernels::{ConvOptions, DType, OutputParameters, Quantizer, Tensor};

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::quantized::packed_params::{Geometry, PackedParams};
use crate::ops::tensor::operands::{listed, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::quantize_per_tensor", "- tensor_qparams", |_, args| {
        let quantizer =
            Quantizer::PerTensor { scale: number(&args, 1)?, zero_point: number(&args, 2)? as i64 };
        quantize(&args, quantizer, 3)
    }),
    op("aten::quantize_per_channel", "-", |_, args| {
        let axis = args.int(3)?;
        let dims = args.tensor(0)?.dim();
        let axis = kernels::layout::wrap_dim(axis, dims).map_err(kernel)?;
        let (scales, zero_points) = (args.tensor(1)?, args.tensor(2)?);
        if !scales.dtype().is_floating_point() {
            return Err(Raise::message("scale tensor must be floating point"));
        }
        if scales.dim() != 1 || zero_points.dim() != 1 {
            let name = if scales.dim() == 1 { "zero_points" } else { "scale" };
            return Err(Raise::message(format!("{name} tensor must have dimension 1")));
        }
        let quantizer = match zero_points.dtype().is_floating_point() {
            true => Quantizer::PerChannelFloat {
                scales: list(scales, DType::Float32)?,
                zero_points: list(zero_points, DType::Float32)?,
                axis,
            },
            false => Quantizer::PerChannel {
                scales: list(scales, DType::Float64)?,
                zero_points: list(zero_points, DType::Int64)?,
                axis,
            },
        };
        quantize(&args, quantizer, 4)
    }),
    op("aten::quantize_per_tensor", "tensors", |_, args| {
        let (scales, zero_points) = (args.tensor(1)?, args.tensor(2)?);
        let scales: Vec<f64> = list(scales, DType::Float64)?;
        let zero_points: Vec<i64> = list(zero_points, DType::Int64)?;
        let dtype = args.dtype(3)?.unwrap_or(DType::QUInt8);
        let tensors = args.tensors(0)?;
        let each = tensors.iter().zip(scales.iter().zip(&zero_points));
        listed(
            each.map(|(tensor, (&scale, &zero_point))| {
                kernels::quantize(tensor, Quantizer::PerTensor { scale, zero_point }, dtype)
            })
            .collect(),
        )
    }),
    op("aten::quantize_per_tensor_dynamic", "-", |_, args| {
        let (input, dtype) = (args.tensor(0)?, args.dtype(1)?.unwrap_or(DType::QUInt8));
        if dtype != DType::QUInt8 {
            return Err(Raise::unsupported(
                "aten::quantize_per_tensor_dynamic to other than quint8",
            ));
        }
        let (scale, zero_point) =
            kernels::choose_parameters(input, args.bool(2)?).map_err(kernel)?;
        made(kernels::quantize(input, Quantizer::PerTensor { scale, zero_point }, dtype))
    }),
    op("aten::_choose_qparams_per_tensor", "-", |_, args| {
        let (scale, zero_point) =
            kernels::choose_parameters(args.tensor(0)?, args.bool(1)?).map_err(kernel)?;
        Ok(IValue::tuple(vec![IValue::Float(scale), IValue::Int(zero_point)]))
    }),
    op("aten::dequantize", "tensors", |_, args| {
        listed(args.tensors(0)?.iter().map(kernels::dequantize).collect())
    }),
    op("aten::dequantize", "self tensor", |_, args| made(kernels::dequantize(args.tensor(0)?))),
    op("aten::int_repr", "-", |_, args| made(kernels::int_repr(args.tensor(0)?))),
    op("aten::q_scale", "-", |_, args| {
        Ok(IValue::Float(kernels::per_tensor(args.tensor(0)?).map_err(kernel)?.0))
    }),
    op("aten::q_zero_point", "-", |_, args| {
        Ok(IValue::Int(kernels::per_tensor(args.tensor(0)?).map_err(kernel)?.1))
    }),
    op("aten::q_per_channel_scales", "-", |_, args| {
        Ok(IValue::Tensor(per_channel(args.tensor(0)?)?.0))
    }),
    op("aten::q_per_channel_zero_points", "-", |_, args| {
        Ok(IValue::Tensor(per_channel(args.tensor(0)?)?.1))
    }),
    op("aten::q_per_channel_axis", "-", |_, args| Ok(IValue::Int(per_channel(args.tensor(0)?)?.2))),
    op("quantized::linear", "-", |_, args| linear(&args, false)),
    op("quantized::linear_relu", "-", |_, args| linear(&args, true)),
    op("quantized::linear_dynamic", "-", |_, args| linear_dynamic(&args, false)),
    op("quantized::linear_relu_dynamic", "-", |_, args| linear_dynamic(&args, true)),
    op("quantized::linear_dynamic_fp16", "-", |_, args| linear_half(&args, false)),
    op("quantized::linear_relu_dynamic_fp16", "-", |_, args| linear_half(&args, true)),
    op("quantized::linear_dynamic_fp16_unpacked_weight", "-", |_, args| {
        made(kernels::half_linear(args.tensor(0)?, args.tensor(1)?, args.optional_tensor(2)?))
    }),
    op("quantized::linear_prepack", "-", linear_prepack),
    op("quantized::linear_prepack_fp16", "-", linear_prepack),
    op("quantized::linear_unpack", "-", |_, args| unpacked(&args)),
    op("quantized::linear_unpack_fp16", "-", |_, args| unpacked(&args)),
    op("quantized::conv1d", "-", |_, args| conv(&args, false)),
    op("quantized::conv1d_relu", "-", |_, args| conv(&args, true)),
    op("quantized::conv2d", "new", |_, args| conv(&args, false)),
    op("quantized::conv2d_relu", "new", |_, args| conv(&args, true)),
    op("quantized::conv3d", "new", |_, args| conv(&args, false)),
    op("quantized::conv3d_relu", "new", |_, args| conv(&args, true)),
    op("quantized::conv_transpose1d", "-", |_, args| conv(&args, false)),
    op("quantized::conv_transpose2d", "-", |_, args| conv(&args, false)),
    op("quantized::conv_transpose3d", "-", |_, args| conv(&args, false)),
    op("quantized::conv1d_dynamic", "-", |_, args| conv_dynamic(&args)),
    op("quantized::conv2d_dynamic", "-", |_, args| conv_dynamic(&args)),
    op("quantized::conv3d_dynamic", "-", |_, args| conv_dynamic(&args)),
    op("quantized::conv_transpose1d_dynamic", "-", |_, args| conv_dynamic(&args)),
    op("quantized::conv_transpose2d_dynamic", "-", |_, args| conv_dynamic(&args)),
    op("quantized::conv_transpose3d_dynamic", "-", |_, args| conv_dynamic(&args)),
    op("quantized::conv1d_prepack", "-", prepack),
    op("quantized::conv2d_prepack", "-", prepack),
    op("quantized::conv3d_prepack", "-", prepack),
    op("quantized::conv_transpose1d_prepack", "-", prepack_transposed),
    op("quantized::conv_transpose2d_prepack", "-", prepack_transposed),
    op("quantized::conv_transpose3d_prepack", "-", prepack_transposed),
    op("quantized::conv2d_unpack", "-", |_, args| unpacked(&args)),
    op("quantized::conv3d_unpack", "-", |_, args| unpacked(&args)),
];

pub(crate) fn number(args: &Args<'_>, index: usize) -> Result<f64> {
    match args.get(index) {
        IValue::Tensor(tensor) => Ok(tensor.item().map_err(kernel)?.to_f64()),
        _ => args.real(index),
    }
}

pub(crate) fn list<T: kernels::PodElement>(tensor: &Tensor, dtype: DType) -> Result<Vec<T>> {
    tensor.to_dtype(dtype).and_then(|tensor| tensor.to_vec()).map_err(kernel)
}

fn quantize(args: &Args<'_>, quantizer: Quantizer, dtype: usize) -> Result {
    let dtype = args.dtype(dtype)?.unwrap_or(DType::QUInt8);
    made(kernels::quantize(args.tensor(0)?, quantizer, dtype))
}

/// The scales and zero points of channels, and their dimension.
fn per_channel(tensor: &Tensor) -> Result<(Tensor, Tensor, i64)> {
    fn vector<T: kernels::PodElement>(items: &[T]) -> Result<Tensor> {
        Tensor::from_slice(items, &[items.len() as i64]).map_err(kernel)
    }
    match &*kernels::quantizer(tensor).map_err(kernel)? {
        Quantizer::PerChannel { scales, zero_points, axis } => {
            Ok((vector(scales)?, vector(zero_points)?, *axis as i64))
        }
        Quantizer::PerChannelFloat { scales, zero_points, axis } => {
            Ok((vector(scales)?, vector(zero_points)?, *axis as i64))
        }
        Quantizer::PerTensor { .. } => {
            Err(Raise::unsupported("channels of a tensor that is quantized as a whole"))
        }
    }
}

/// The scale and zero point at two operands.
pub(crate) fn output(args: &Args<'_>, at: [usize; 2], relu: bool) -> Result<OutputParameters> {
    Ok(OutputParameters { scale: args.real(at[0])?, zero_point: args.int(at[1])?, relu })
}

fn linear(args: &Args<'_>, relu: bool) -> Result {
    let params = PackedParams::of(args.get(1))?;
    let output = output(args, [2, 3], relu)?;
    made(kernels::quantized_linear(args.tensor(0)?, &params.weight, params.bias.as_ref(), output))
}

fn linear_dynamic(args: &Args<'_>, relu: bool) -> Result {
    let PackedParams { weight, bias, .. } = PackedParams::of(args.get(1))?;
    let (input, reduce) = (args.tensor(0)?, args.bool(2)?);
    made(kernels::quantized_linear_dynamic(input, &weight, bias.as_ref(), reduce, relu))
}

fn conv(args: &Args<'_>, relu: bool) -> Result {
    let PackedParams { weight, bias, geometry } = PackedParams::of(args.get(1))?;
    let input = args.tensor(0)?;
    let Some(geometry) = geometry else {
        return Err(Raise::unsupported("a convolution with the parameters of another layer"));
    };
    let output = output(args, [2, 3], relu)?;
    convolved(input, &weight, &geometry, |input, options| match geometry.transpose {
        true => {
            let extra = &geometry.output_padding;
            kernels::quantized_conv_transpose(input, &weight, bias.as_ref(), options, extra, output)
        }
        false => kernels::quantized_conv(input, &weight, bias.as_ref(), options, output),
    })
}

fn conv_dynamic(args: &Args<'_>) -> Result {
    let PackedParams { weight, bias, geometry } = PackedParams::of(args.get(1))?;
    let (input, reduce) = (args.tensor(0)?, args.bool(2)?);
    let Some(geometry) = geometry else {
        return Err(Raise::unsupported("a convolution with the parameters of another layer"));
    };
    let extra = geometry.transpose.then_some(&geometry.output_padding[..]);
    convolved(input, &weight, &geometry, |input, options| {
        kernels::quantized_conv_dynamic(input, &weight, bias.as_ref(), options, extra, reduce)
    })
}

/// A convolution over one dimension is packed as one over two, the first of size 1.
fn convolved(
    input: &Tensor,
    weight: &Tensor,
    geometry: &Geometry,
    f: impl Fn(&Tensor, &ConvOptions<'_>) -> kernels::Result<Tensor>,
) -> Result {
    let Geometry { stride, padding, dilation, groups, .. } = geometry;
    let flat = input.dim() + 1 == weight.dim() && stride.len() == 2;
    let input = if flat { input.unsqueeze(-2).map_err(kernel)? } else { input.clone() };
    let options = ConvOptions { stride, padding, dilation, groups: *groups };
    let result = f(&input, &options);
    made(result.and_then(|result| if flat { result.squeeze(Some(&[-2])) } else { Ok(result) }))
}

fn linear_prepack(context: &mut dyn OpContext, args: Args<'_>) -> Result {
    let (weight, bias) = (args.tensor(0)?.clone(), args.optional_tensor(1)?.cloned());
    PackedParams { weight, bias, geometry: None }.object(context)
}

fn linear_half(args: &Args<'_>, relu: bool) -> Result {
    let PackedParams { weight, bias, .. } = PackedParams::of(args.get(1))?;
    let result = kernels::half_linear(args.tensor(0)?, &weight, bias.as_ref());
    made(result.and_then(|result| match relu {
        true => kernels::unary(kernels::UnaryOp::Relu, &result),
        false => Ok(result),
    }))
}

/// `(weight, bias, stride, padding, dilation, groups)`.
fn prepack(context: &mut dyn OpContext, args: Args<'_>) -> Result {
    let lists = [args.ints(2)?, args.ints(3)?, vec![], args.ints(4)?];
    prepacked(context, &args, lists, args.int(5)?, false)
}

/// `(weight, bias, stride, padding, output_padding, dilation, groups)`.
fn prepack_transposed(context: &mut dyn OpContext, args: Args<'_>) -> Result {
    let lists = [args.ints(2)?, args.ints(3)?, args.ints(4)?, args.ints(5)?];
    prepacked(context, &args, lists, args.int(6)?, true)
}

fn prepacked(
    context: &mut dyn OpContext,
    args: &Args<'_>,
    lists: [Vec<i64>; 4],
    groups: i64,
    transpose: bool,
) -> Result {
    let (mut weight, bias) = (args.tensor(0)?.clone(), args.optional_tensor(1)?.cloned());
    let [mut stride, mut padding, mut output_padding, mut dilation] = lists;
    output_padding.resize(stride.len(), 0);
    if weight.dim() == 3 {
        weight = weight.unsqueeze(-2).map_err(kernel)?;
        for list in [&mut stride, &mut dilation] {
            list.insert(0, 1);
        }
        for list in [&mut padding, &mut output_padding] {
            list.insert(0, 0);
        }
    }
    let geometry = Geometry { stride, padding, dilation, output_padding, groups, transpose };
    PackedParams { weight, bias, geometry: Some(geometry) }.object(context)
}

fn unpacked(args: &Args<'_>) -> Result {
    let PackedParams { weight, bias, .. } = PackedParams::of(args.get(0))?;
    let bias = bias.map_or(IValue::None, IValue::Tensor);
    Ok(IValue::tuple(vec![IValue::Tensor(weight), bias]))
}

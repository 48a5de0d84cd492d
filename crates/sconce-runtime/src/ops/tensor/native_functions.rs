//! What PyTorch's own functions are made of: operators that archives hold where a function was traced
//! through, or called by `torch.ops.aten`, and names that older versions wrote.

use sconce_kernels as kernels;
use sconce_kernels::{
    BatchNorm, BinaryOp, ConvOptions, DType, GridMode, GridPadding, PadMode, Scalar, Tensor,
    UnaryOp, Upsample,
};

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::overlap::OverlapRule;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{both, listed, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    // Casts of old versions; the flag is `non_blocking`.
    op("aten::_cast_Byte", "-", |_, args| cast(&args, DType::UInt8)),
    op("aten::_cast_Char", "-", |_, args| cast(&args, DType::Int8)),
    op("aten::_cast_Short", "-", |_, args| cast(&args, DType::Int16)),
    op("aten::_cast_Int", "-", |_, args| cast(&args, DType::Int32)),
    op("aten::_cast_Long", "-", |_, args| cast(&args, DType::Int64)),
    op("aten::_cast_Half", "-", |_, args| cast(&args, DType::Float16)),
    op("aten::_cast_Float", "-", |_, args| cast(&args, DType::Float32)),
    op("aten::_cast_Double", "-", |_, args| cast(&args, DType::Float64)),
    // Weight normalisation.
    op("aten::norm_except_dim", "-", |_, args| {
        let (p, dim) = (args.int(1)? as f64, args.int(2)?);
        made(norm_except_dim(args.tensor(0)?, p, dim))
    }),
    op("aten::_weight_norm", "-", |_, args| {
        let (v, g) = (args.tensor(0)?, args.tensor(1)?);
        made(weight_norm(v, g, args.int(2)?).map(|(weight, _)| weight))
    }),
    op("aten::_weight_norm_interface", "-", |_, args| {
        let (v, g) = (args.tensor(0)?, args.tensor(1)?);
        both(weight_norm(v, g, args.int(2)?))
    }),
    // Kernels behind functions.
    op("aten::_softmax", "-", |_, args| made(kernels::softmax(&whole(&args)?, args.int(1)?))),
    op("aten::_log_softmax", "-", |_, args| {
        made(kernels::log_softmax(&whole(&args)?, args.int(1)?))
    }),
    op("aten::_logcumsumexp", "-", |_, args| {
        made(kernels::logcumsumexp(args.tensor(0)?, args.int(1)?))
    }),
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
    op("aten::_addmm_activation", "-", |_, args| {
        let (input, a, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
        let sum = kernels::addmm(input, a, b, args.scalar(3)?, args.scalar(4)?);
        let op = if args.bool(5)? { UnaryOp::GeluTanh } else { UnaryOp::Relu };
        made(sum.and_then(|sum| kernels::unary(op, &sum)))
    }),
    op("aten::_int_mm", "-", |_, args| {
        let (a, b) = (args.tensor(0)?, args.tensor(1)?);
        if a.dtype() != DType::Int8 || b.dtype() != DType::Int8 {
            return Err(Raise::message("_int_mm: expected matrices of int8"));
        }
        let wide = |tensor: &Tensor| tensor.to_dtype(DType::Int32);
        made(wide(a).and_then(|a| kernels::mm(&a, &wide(b)?)))
    }),
    op("aten::_trilinear", "-", |_, args| trilinear(&args)),
    op("aten::_stack", "-", |_, args| made(kernels::stack(&args.tensors(0)?, args.int(1)?))),
    op("aten::_is_all_true", "-", |_, args| made(kernels::all(truths(&args)?, &[], false))),
    op("aten::_is_any_true", "-", |_, args| made(kernels::any(truths(&args)?, &[], false))),
    op("aten::_aminmax", "-", |_, args| {
        let input = args.tensor(0)?;
        both(
            kernels::amin(input, &[], false)
                .and_then(|low| Ok((low, kernels::amax(input, &[], false)?))),
        )
    }),
    op("aten::_aminmax", "dim", |_, args| {
        let (input, dim, keepdim) = (args.tensor(0)?, args.int(1)?, args.bool(2)?);
        both(
            kernels::amin(input, &[dim], keepdim)
                .and_then(|low| Ok((low, kernels::amax(input, &[dim], keepdim)?))),
        )
    }),
    op("aten::_unique", "-", |_, args| {
        let found = kernels::unique(args.tensor(0)?, args.bool(2)?, false);
        both(found.map(|found| (found.values, found.inverse)))
    }),
    op("aten::_dim_arange", "-", |_, args| {
        let size = args.tensor(0)?.size(args.int(1)?).map_err(kernel)?;
        made(kernels::arange(Scalar::Int(0), Scalar::Int(size), Scalar::Int(1), None))
    }),
    op("aten::_grad_sum_to_size", "-", |_, mut args| match args.optional_ints(1)? {
        Some(sizes) => made(kernels::sum_to_size(args.tensor(0)?, &sizes)),
        None => Ok(args.take(0)),
    }),
    op("aten::flatten_dense_tensors", "-", |_, args| {
        let tensors = args.tensors(0)?;
        let flat = tensors.iter().map(|tensor| tensor.reshape(&[-1]));
        made(flat.collect::<kernels::Result<Vec<Tensor>>>().and_then(|flat| kernels::cat(&flat, 0)))
    }),
    op("aten::unflatten_dense_tensors", "-", |_, args| {
        let flat = args.tensor(0)?;
        let mut start = 0;
        let parts = args.tensors(1)?.into_iter().map(|like| {
            let part = flat.narrow(0, start, like.numel())?;
            start += like.numel();
            part.view(like.sizes())
        });
        listed(parts.collect())
    }),
    // Convolutions by the names of their kernels.
    op("aten::thnn_conv2d", "-", |_, args| slow_conv(&args, None)),
    op("aten::_slow_conv2d_forward", "-", |_, args| slow_conv(&args, None)),
    op("aten::slow_conv3d", "-", |_, args| slow_conv(&args, None)),
    op("aten::slow_conv3d_forward", "-", |_, args| slow_conv(&args, None)),
    op("aten::slow_conv_dilated2d", "-", |_, args| slow_conv(&args, Some(6))),
    op("aten::slow_conv_dilated3d", "-", |_, args| slow_conv(&args, Some(6))),
    op("aten::_conv_depthwise2d", "-", |_, args| slow_conv(&args, Some(6))),
    op("aten::conv_depthwise3d", "-", |_, args| slow_conv(&args, Some(6))),
    op("aten::slow_conv_transpose2d", "-", |_, args| slow_transpose(&args)),
    op("aten::slow_conv_transpose3d", "-", |_, args| slow_transpose(&args)),
    op("aten::conv_tbc", "-", |_, args| conv_tbc(&args)).strides(ResultStrides::RowMajor),
    op("aten::_grid_sampler_2d_cpu_fallback", "-", |_, args| {
        let numbers = (GridMode::from_number(args.int(2)?), GridPadding::from_number(args.int(3)?));
        let (Some(mode), Some(padding)) = numbers else {
            return Err(Raise::unsupported("a grid sampling mode of this number"));
        };
        made(kernels::grid_sample(args.tensor(0)?, args.tensor(1)?, mode, padding, args.bool(4)?))
    }),
    // `torch.nn.functional` of versions before 1.3, which archives hold as operators.
    op("aten::__upsample", "- size_list", |_, args| {
        interpolated(&args, &args.str(3)?, flag(&args, 4)?, None)
    }),
    op("aten::__upsample_nearest", "- size_list", |_, args| {
        interpolated(&args, "nearest", None, None)
    }),
    op("aten::__upsample_bilinear", "- size_list scale_list size_list_scale_list", |_, args| {
        interpolated(&args, "bilinear", Some(true), None)
    }),
    op("aten::__interpolate", "- size_list scale_list size_list_scale_list", |_, args| {
        interpolated(&args, &args.str(3)?, flag(&args, 4)?, flag(&args, 5)?)
    }),
    op("aten::_pad_enum", "-", |_, args| {
        let mode = match args.int(2)? {
            0 => PadMode::Reflect,
            1 => PadMode::Replicate,
            2 => PadMode::Circular,
            3 if args.get(3).is_none() => PadMode::Constant(Scalar::Float(0.0)),
            3 => PadMode::Constant(args.scalar(3)?),
            other => {
                return Err(Raise::message(format!("Unrecognised padding mode {other}")));
            }
        };
        made(kernels::pad(args.tensor(0)?, &args.ints(1)?, mode))
    }),
    op("aten::_list_to_tensor", "-", |_, args| {
        let numbers: Vec<i32> = args.ints(0)?.into_iter().map(|number| number as i32).collect();
        made(Tensor::from_slice(&numbers, &[numbers.len() as i64]))
    }),
    op("aten::_masked_softmax", "-", |_, args| masked_softmax(&args)),
    op("aten::_batch_norm_impl_index", "-", |_, args| {
        let options = BatchNorm {
            weight: args.optional_tensor(1)?,
            bias: args.optional_tensor(2)?,
            running_mean: args.optional_tensor(3)?,
            running_var: args.optional_tensor(4)?,
            training: args.bool(5)?,
            momentum: args.real(6)?,
            eps: args.real(7)?,
        };
        let (result, mean, scale) =
            kernels::native_batch_norm(args.tensor(0)?, &options).map_err(kernel)?;
        let reserve = Tensor::zeros(&[0], DType::UInt8).map_err(kernel)?;
        let mut results: Vec<IValue> =
            [result, mean, scale, reserve].into_iter().map(IValue::Tensor).collect();
        // The implementation that was used: that of the CPU.
        results.push(IValue::Int(0));
        Ok(IValue::tuple(results))
    }),
    op("aten::fill_diagonal_", "-", |_, mut args| {
        fill_diagonal(args.tensor(0)?, args.scalar(1)?, args.bool(2)?).map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    op("aten::range", "-", |context, args| range(context, &args, None, 2)),
    op("aten::range", "step", |context, args| range(context, &args, Some(2), 3)),
    // What tensors of plain memory are.
    op("aten::is_pinned", "-", |_, _| Ok(IValue::Bool(false))),
    op("aten::_is_zerotensor", "-", |_, _| Ok(IValue::Bool(false))),
    op("aten::output_nr", "-", |_, _| Ok(IValue::Int(0))),
    op("aten::is_set_to", "-", |_, args| {
        let (a, b) = (args.tensor(0)?, args.tensor(1)?);
        let same_looks =
            (a.sizes(), a.strides(), a.offset()) == (b.sizes(), b.strides(), b.offset());
        Ok(IValue::Bool(same_looks && a.storage().ptr_eq(b.storage())))
    }),
    op("aten::lift", "-", |_, mut args| Ok(args.take(0))),
    op("aten::_lazy_clone", "-", |_, args| made(args.tensor(0)?.copy())),
    op("aten::_to_cpu", "-", |_, mut args| Ok(args.take(0))),
    op("aten::copy", "-", |_, args| {
        let (like, source) = (args.tensor(0)?, args.tensor(1)?);
        made(source.to_dtype(like.dtype()).and_then(|source| source.expand(like.sizes())?.copy()))
    }),
];

fn cast(args: &Args<'_>, dtype: DType) -> Result {
    made(args.tensor(0)?.to_dtype(dtype))
}

/// The tensor of `_softmax`, whose last flag asks for single precision of halves.
fn whole(args: &Args<'_>) -> Result<Tensor> {
    let input = args.tensor(0)?;
    if args.bool(2)? {
        return Err(Raise::message(
            "softmax with half to float conversion is not supported on CPU",
        ));
    }
    Ok(input.clone())
}

fn truths<'a>(args: &'a Args<'_>) -> Result<&'a Tensor> {
    let input = args.tensor(0)?;
    match input.dtype() {
        DType::Bool => Ok(input),
        _ => Err(Raise::message("Expected a tensor of bools")),
    }
}

/// The norm over all dimensions but one, or over all where that is -1.
fn norm_except_dim(v: &Tensor, p: f64, dim: i64) -> kernels::Result<Tensor> {
    let dims = v.dim() as i64;
    if dim == -1 {
        return kernels::norm(v, p, &[], false);
    }
    let keep = kernels::layout::wrap_dim(dim, v.dim())? as i64;
    let others: Vec<i64> = (0..dims).filter(|&at| at != keep).collect();
    match others.is_empty() {
        true => kernels::unary(UnaryOp::Abs, v),
        false => kernels::norm(v, p, &others, true),
    }
}

/// `v` scaled so that its norm is `g`, and the norm that it had.
fn weight_norm(v: &Tensor, g: &Tensor, dim: i64) -> kernels::Result<(Tensor, Tensor)> {
    let norm = norm_except_dim(v, 2.0, dim)?;
    let scale = kernels::binary(BinaryOp::Div, g.into(), (&norm).into())?;
    Ok((kernels::binary(BinaryOp::Mul, v.into(), (&scale).into())?, norm))
}

/// `(a * b * c).sum(dims)`, each with dimensions put in.
fn trilinear(args: &Args<'_>) -> Result {
    let expanded = |index: usize, dims: usize| -> Result<Tensor> {
        let dims = args.ints(dims)?;
        let input = args.tensor(index)?.clone();
        dims.iter().try_fold(input, |tensor, &dim| tensor.unsqueeze(dim)).map_err(kernel)
    };
    let (a, b, c) = (expanded(0, 3)?, expanded(1, 4)?, expanded(2, 5)?);
    let product = kernels::binary(BinaryOp::Mul, (&a).into(), (&b).into());
    let product = product.and_then(|ab| kernels::binary(BinaryOp::Mul, (&ab).into(), (&c).into()));
    let dims = args.ints(6)?;
    made(product.and_then(|product| kernels::sum(&product, &dims, false, None)))
}

/// `(input, weight, kernel_size, bias, stride, padding, dilation)`.
fn slow_conv(args: &Args<'_>, dilation: Option<usize>) -> Result {
    let (input, weight, bias) = (args.tensor(0)?, args.tensor(1)?, args.optional_tensor(3)?);
    let (stride, padding) = (args.ints(4)?, args.ints(5)?);
    let dilation = dilation.map_or_else(|| Ok(vec![1]), |index| args.ints(index))?;
    // A depthwise kernel has as many groups as there are channels.
    let channels = weight.sizes().get(1).copied().unwrap_or(1).max(1);
    let groups = input.sizes().get(1).map_or(1, |&given| (given / channels).max(1));
    let options = ConvOptions { stride: &stride, padding: &padding, dilation: &dilation, groups };
    made(kernels::conv(input, weight, bias, &options))
}

/// `(input, weight, kernel_size, bias, stride, padding, output_padding, dilation)`.
fn slow_transpose(args: &Args<'_>) -> Result {
    let (stride, padding, dilation) = (args.ints(4)?, args.ints(5)?, args.ints(7)?);
    let options =
        ConvOptions { stride: &stride, padding: &padding, dilation: &dilation, groups: 1 };
    let (input, weight, bias) = (args.tensor(0)?, args.tensor(1)?, args.optional_tensor(3)?);
    made(kernels::conv_transpose(input, weight, bias, &options, &args.ints(6)?))
}

/// A convolution over time, of time x batch x channels; the weight is width x in x out.
fn conv_tbc(args: &Args<'_>) -> Result {
    let (input, weight, bias) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    let padding = [args.int(3)?];
    let options = ConvOptions { stride: &[1], padding: &padding, dilation: &[1], groups: 1 };
    let input = input.permute(&[1, 2, 0]).map_err(kernel)?;
    let weight = weight.permute(&[2, 1, 0]).map_err(kernel)?;
    let result = kernels::conv(&input, &weight, Some(bias), &options);
    made(result.and_then(|result| result.permute(&[2, 0, 1])))
}

/// A `bool`, or `None`.
fn flag(args: &Args<'_>, index: usize) -> Result<Option<bool>> {
    if args.get(index).is_none() { Ok(None) } else { args.bool(index).map(Some) }
}

/// Upsampling to a size (operand 1) or by factors (operand 2), each a number or a list.
fn interpolated(
    args: &Args<'_>,
    mode: &str,
    align: Option<bool>,
    recompute: Option<bool>,
) -> Result {
    let input = args.tensor(0)?;
    if align.is_some() && matches!(mode, "nearest" | "area") {
        return Err(Raise::message(
            "align_corners option can only be set with the interpolating modes: linear | bilinear \
             | bicubic | trilinear",
        ));
    }
    let align = align == Some(true);
    let spatial = input.sizes().get(2..).unwrap_or_default().to_vec();
    let rank = spatial.len();
    let upsample = match (mode, rank) {
        ("nearest" | "area", 1..=3) => Upsample::Nearest,
        ("linear", 1) | ("bilinear", 2) | ("trilinear", 3) => Upsample::Linear,
        ("bicubic", 2) => Upsample::Cubic,
        _ => return Err(no_interpolation(mode, input.dim())),
    };
    if !args.get(1).is_none() {
        let output = sizes(args, rank)?;
        return made(match mode {
            "area" => kernels::adaptive_avg_pool(input, &output),
            _ => kernels::upsample(input, upsample, &output, align, &vec![None; rank]),
        });
    }
    let factors = match args.get(2) {
        IValue::Float(_) | IValue::Int(_) => vec![args.real(2)?; rank],
        _ => args.floats(2)?,
    };
    if factors.len() != rank {
        return Err(Raise::message("either size or scale_factor should be defined"));
    }
    let scaled = spatial.iter().zip(&factors).map(|(&size, factor)| (size as f64 * factor) as i64);
    let output: Vec<i64> = scaled.collect();
    if mode == "area" {
        return made(kernels::adaptive_avg_pool(input, &output));
    }
    // The factors count only where that is asked for: else they are what the sizes say.
    let used = factors.iter().map(|&factor| (recompute == Some(false)).then_some(factor));
    made(kernels::upsample(input, upsample, &output, align, &used.collect::<Vec<_>>()))
}

/// Why an input of so many dimensions cannot be interpolated by a mode.
fn no_interpolation(mode: &str, dims: usize) -> Raise {
    let needed = match mode {
        "linear" => 3,
        "bilinear" | "bicubic" => 4,
        "trilinear" => 5,
        _ => 0,
    };
    Raise::message(if needed != 0 && (3..=5).contains(&dims) {
        format!("Got {dims}D input, but {mode} mode needs {needed}D input")
    } else {
        format!(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got {dims}D) for the modes: \
             nearest | linear | bilinear | trilinear (got {mode}) "
        )
    })
}

fn sizes(args: &Args<'_>, rank: usize) -> Result<Vec<i64>> {
    match args.get(1) {
        IValue::Int(size) => Ok(vec![*size; rank]),
        _ => args.ints(1),
    }
}

/// A softmax of what a mask leaves; whole rows of what it takes away are zeros.
fn masked_softmax(args: &Args<'_>) -> Result {
    let (input, mask) = (args.tensor(0)?, args.tensor(1)?);
    if mask.sizes() != input.sizes() {
        return Err(Raise::unsupported("_masked_softmax with a mask of other sizes"));
    }
    let dim = args.optional_int(2)?.unwrap_or(input.dim() as i64 - 1);
    let away = kernels::masked_fill(input, mask, Scalar::Float(f64::NEG_INFINITY).into());
    let soft = away.and_then(|away| kernels::softmax(&away, dim));
    made(soft.and_then(|soft| kernels::masked_fill(&soft, mask, Scalar::Int(0).into())))
}

/// Writes a value on the diagonal; with `wrap`, on from the top again in tall matrices.
fn fill_diagonal(tensor: &Tensor, value: Scalar, wrap: bool) -> kernels::Result<()> {
    let (sizes, strides) = (tensor.sizes(), tensor.strides());
    let [height, width, ..] = *sizes else {
        return Err(kernels::Error::runtime("dimensions must larger than 1"));
    };
    if sizes.len() > 2 && sizes.iter().any(|&size| size != height) {
        return Err(kernels::Error::runtime("all dimensions of input must be of equal length"));
    }
    let step: i64 = strides.iter().sum();
    let short = sizes.iter().copied().min().unwrap_or(0);
    tensor.as_strided(&[short], &[step], Some(tensor.offset()))?.fill(value)?;
    if wrap && sizes.len() == 2 && height > width + 1 {
        let below = height - width - 1;
        let again = (below + width) / (width + 1);
        // Every run begins below the row that the last one left out.
        for run in 0..again {
            let first = (run + 1) * (width + 1);
            let length = width.min(height - first);
            let offset = tensor.offset() + first * strides[0];
            tensor.as_strided(&[length.max(0)], &[step], Some(offset))?.fill(value)?;
        }
    }
    Ok(())
}

/// `torch.range`, which holds its end.
fn range(
    context: &mut dyn OpContext,
    args: &Args<'_>,
    step: Option<usize>,
    dtype: usize,
) -> Result {
    args.plain_options(dtype + 1, dtype + 2)?;
    let (start, end) = (args.real(0)?, args.real(1)?);
    let step = step.map_or(Ok(1.0), |index| args.real(index))?;
    if step == 0.0 {
        return Err(Raise::message("step must be nonzero"));
    }
    if (step > 0.0 && start > end) || (step < 0.0 && start < end) {
        return Err(Raise::message("upper bound and lower bound inconsistent with step sign"));
    }
    let count = ((end - start) / step).floor() + 1.0;
    context.budget().check_sizes(&[count as i64])?;
    let numbers: Vec<f64> = (0..count as i64).map(|at| start + step * at as f64).collect();
    let dtype = args.dtype(dtype)?.unwrap_or(DType::Float32);
    made(Tensor::from_slice(&numbers, &[numbers.len() as i64]).and_then(|all| all.to_dtype(dtype)))
}

//! Rounding as if quantized, and observing what ranges numbers have: what models trained for quantization do.

use sconce_kernels as kernels;
use sconce_kernels::{DType, FakeQuantizer, MemoryFormat, MovingRange, Scalar, Tensor};

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::quantized::layers::{list, number};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::fake_quantize_per_tensor_affine", "- tensor_qparams", |_, args| {
        Ok(IValue::Tensor(faked(&args, false)?.0))
    })
    .strides(ResultStrides::Copy),
    op("aten::fake_quantize_per_tensor_affine_cachemask", "-", |_, args| masked(&args, false)),
    op("aten::fake_quantize_per_channel_affine", "-", |_, args| {
        Ok(IValue::Tensor(faked(&args, true)?.0))
    }),
    op("aten::fake_quantize_per_channel_affine_cachemask", "-", |_, args| masked(&args, true)),
    op("aten::fused_moving_avg_obs_fake_quant", "-", |context, args| {
        if args.tensor(0)?.numel() == 0 {
            return made(args.tensor(0)?.copy_in(MemoryFormat::Preserve));
        }
        Ok(IValue::Tensor(observed(context, &args)?.0))
    })
    .strides(ResultStrides::Copy),
    op("aten::_fused_moving_avg_obs_fq_helper", "-", |context, args| {
        pair(observed(context, &args)?)
    })
    .strides(ResultStrides::Copy),
];

/// Rounded as if quantized, and what was within the range: scale and zero point are operands 1 and 2,
/// the channels' dimension is the third where there is one, the range comes after it.
fn faked(args: &Args<'_>, by_channel: bool) -> Result<(Tensor, Tensor)> {
    let input = args.tensor(0)?;
    let (scales, zero_points, axis) = if by_channel {
        let axis = channel_axis(args)?;
        (list(args.tensor(1)?, DType::Float32)?, list(args.tensor(2)?, DType::Int64)?, Some(axis))
    } else {
        (vec![number(args, 1)? as f32], vec![number(args, 2)? as i64], None)
    };
    let first = 3 + usize::from(by_channel);
    let range = (args.int(first)?, args.int(first + 1)?);
    kernels::fake_quantize(input, &FakeQuantizer { scales, zero_points, axis, range })
        .map_err(kernel)
}

/// The channels' dimension, of scales and zero points that fit each other.
fn channel_axis(args: &Args<'_>) -> Result<usize> {
    let (input, scale, zero_point, axis) =
        (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?, args.int(3)?);
    let refused = |what: String| Err(Raise::message(what));
    if !matches!(scale.dtype(), DType::Float32 | DType::BFloat16) {
        let found = scale.dtype().scalar_type_name();
        return refused(format!("Scale must be Float or BFloat16, found {found}"));
    }
    if !matches!(zero_point.dtype(), DType::Int32 | DType::Float32 | DType::Float16) {
        let found = zero_point.dtype().scalar_type_name();
        return refused(format!("Zero-point must be Int32, Float or Half, found {found}"));
    }
    if scale.dim() != 1 {
        return refused("scale should be a 1-D tensor".to_owned());
    }
    if zero_point.dim() != 1 {
        return refused("zero point should be a 1-D tensor".to_owned());
    }
    if scale.numel() != zero_point.numel() {
        return refused("scale and zero-point need to have the same dimensions".to_owned());
    }
    if axis < 0 {
        return refused("`axis` must be between 0 and number of dimensions of input".to_owned());
    }
    kernels::layout::wrap_dim(axis, input.dim()).map_err(kernel)
}

fn masked(args: &Args<'_>, by_channel: bool) -> Result {
    pair(faked(args, by_channel)?)
}

fn pair((result, mask): (Tensor, Tensor)) -> Result {
    Ok(IValue::tuple(vec![IValue::Tensor(result), IValue::Tensor(mask)]))
}

/// Rounded by scales that follow what is observed, and what was within the range. What was observed is kept in
/// operands 3 and 4, scales and zero points in the next two.
fn observed(context: &dyn OpContext, args: &Args<'_>) -> Result<(Tensor, Tensor)> {
    let input = args.tensor(0)?;
    let axis = args.int(10)?;
    if axis >= input.dim() as i64 {
        return Err(Raise::message(
            "Error in fused_moving_avg_obs_fake_quant_cpu: ch_axis must be < self.dim()",
        ));
    }
    let observes = number(args, 1)? as i64 != 0;
    let axis = match args.bool(11)? {
        true if axis != 0 && (observes || axis < 0) => {
            return Err(Raise::message(
                "Per-channel FakeQuant in fused_moving_avg_obs_fake_quant is only supported on axis == 0",
            ));
        }
        true => Some(axis as usize),
        false => None,
    };
    let (low, high) = (args.tensor(3)?, args.tensor(4)?);
    let (scale, zero_point) = (args.tensor(5)?, args.tensor(6)?);
    if let Some(axis) = axis.filter(|_| low.numel() == 0) {
        let sizes = &input.sizes()[axis..=axis];
        context.budget().check_sizes(sizes)?;
        for tensor in [low, high, scale, zero_point] {
            tensor.resize(sizes).map_err(kernel)?;
        }
        low.fill(Scalar::Float(f64::INFINITY)).map_err(kernel)?;
        high.fill(Scalar::Float(f64::NEG_INFINITY)).map_err(kernel)?;
    }
    let store = |target: &Tensor, items: &[f64]| {
        let items = Tensor::from_slice(items, &[items.len() as i64]);
        let items = items.and_then(|items| items.reshape(target.sizes()));
        items.and_then(|items| target.copy_from(&items)).map_err(kernel)
    };
    let mut seen =
        MovingRange { low: list(low, DType::Float32)?, high: list(high, DType::Float32)? };
    if observes {
        seen.follow(input, axis, args.real(7)? as f32).map_err(kernel)?;
        let wide = |items: &[f32]| items.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        store(low, &wide(&seen.low))?;
        store(high, &wide(&seen.high))?;
    }
    if number(args, 2)? as i64 == 0 {
        let all = Tensor::zeros(input.sizes(), DType::Bool).map_err(kernel)?;
        all.fill(Scalar::Bool(true)).map_err(kernel)?;
        return Ok((input.copy_in(MemoryFormat::Preserve).map_err(kernel)?, all));
    }
    let range = (args.int(8)?, args.int(9)?);
    let found = seen.parameters(range, args.bool(12)?).map_err(kernel)?;
    store(scale, &found.iter().map(|&(scale, _)| f64::from(scale)).collect::<Vec<_>>())?;
    store(zero_point, &found.iter().map(|&(_, point)| point as f64).collect::<Vec<_>>())?;
    let (scales, zero_points) = found.into_iter().unzip();
    kernels::fake_quantize(input, &FakeQuantizer { scales, zero_points, axis, range })
        .map_err(kernel)
}

//! Operators that make images of other sizes: upsampling, padding, sampling by a grid, and pixels
//! rearranged.

use sconce_kernels as kernels;
use sconce_kernels::{GridMode, GridPadding, PadMode, PatchOptions, Scalar, Upsample};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::upsample_nearest1d", "-", |_, args| sized(&args, Upsample::Nearest, 1)),
    op("aten::upsample_nearest2d", "-", |_, args| sized(&args, Upsample::Nearest, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::upsample_nearest3d", "-", |_, args| sized(&args, Upsample::Nearest, 3))
        .strides(ResultStrides::Format(5)),
    op("aten::_upsample_nearest_exact1d", "-", |_, args| sized(&args, Upsample::NearestExact, 1)),
    op("aten::_upsample_nearest_exact2d", "-", |_, args| sized(&args, Upsample::NearestExact, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::_upsample_nearest_exact3d", "-", |_, args| sized(&args, Upsample::NearestExact, 3))
        .strides(ResultStrides::Format(5)),
    op("aten::upsample_linear1d", "-", |_, args| sized(&args, Upsample::Linear, 1)),
    op("aten::upsample_bilinear2d", "-", |_, args| sized(&args, Upsample::Linear, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::upsample_trilinear3d", "-", |_, args| sized(&args, Upsample::Linear, 3))
        .strides(ResultStrides::Format(5)),
    op("aten::upsample_bicubic2d", "-", |_, args| sized(&args, Upsample::Cubic, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::_upsample_bilinear2d_aa", "-", |_, args| sized(&args, Upsample::LinearAntialias, 2)),
    op("aten::_upsample_bicubic2d_aa", "-", |_, args| sized(&args, Upsample::CubicAntialias, 2)),
    op("aten::_upsample_lanczos2d_aa", "-", |_, args| sized(&args, Upsample::LanczosAntialias, 2)),
    op("aten::upsample_nearest1d", "vec", |_, args| scaled(&args, Upsample::Nearest, 1)),
    op("aten::upsample_nearest2d", "vec", |_, args| scaled(&args, Upsample::Nearest, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::upsample_nearest3d", "vec", |_, args| scaled(&args, Upsample::Nearest, 3))
        .strides(ResultStrides::Format(5)),
    op("aten::_upsample_nearest_exact1d", "vec", |_, args| {
        scaled(&args, Upsample::NearestExact, 1)
    }),
    op("aten::_upsample_nearest_exact2d", "vec", |_, args| {
        scaled(&args, Upsample::NearestExact, 2)
    })
    .strides(ResultStrides::Format(4)),
    op("aten::_upsample_nearest_exact3d", "vec", |_, args| {
        scaled(&args, Upsample::NearestExact, 3)
    })
    .strides(ResultStrides::Format(5)),
    op("aten::upsample_linear1d", "vec", |_, args| scaled(&args, Upsample::Linear, 1)),
    op("aten::upsample_bilinear2d", "vec", |_, args| scaled(&args, Upsample::Linear, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::upsample_trilinear3d", "vec", |_, args| scaled(&args, Upsample::Linear, 3))
        .strides(ResultStrides::Format(5)),
    op("aten::upsample_bicubic2d", "vec", |_, args| scaled(&args, Upsample::Cubic, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::_upsample_bilinear2d_aa", "vec", |_, args| {
        scaled(&args, Upsample::LinearAntialias, 2)
    }),
    op("aten::_upsample_bicubic2d_aa", "vec", |_, args| scaled(&args, Upsample::CubicAntialias, 2)),
    op("aten::_upsample_lanczos2d_aa", "vec", |_, args| {
        scaled(&args, Upsample::LanczosAntialias, 2)
    }),
    op("aten::pad", "-", |_, args| {
        let mode = args.str(2)?;
        let value = args.get(3);
        let kind = match &*mode {
            "constant" if value.is_none() => PadMode::Constant(Scalar::Float(0.0)),
            "constant" => PadMode::Constant(args.scalar(3)?),
            "reflect" => PadMode::Reflect,
            "replicate" => PadMode::Replicate,
            "circular" => PadMode::Circular,
            _ => return Err(Raise::message(format!("Unrecognised padding mode {mode}"))),
        };
        let has_value = &*mode != "constant" && !value.is_none() && args.real(3)? != 0.0;
        if has_value {
            kernels::check_padding(args.tensor(0)?, &args.ints(1)?).map_err(kernel)?;
            return Err(Raise::message(format!(
                "Padding mode \"{mode}\" doesn't take in value argument"
            )));
        }
        padded(&args, kind)
    })
    .strides(ResultStrides::Padded),
    op("aten::constant_pad_nd", "-", |_, args| padded(&args, PadMode::Constant(args.scalar(2)?)))
        .strides(ResultStrides::Padded),
    op("aten::_pad_circular", "-", |_, args| padded(&args, PadMode::Circular)),
    op("aten::reflection_pad1d", "-", |_, args| padded_by(&args, PadMode::Reflect, 1))
        .strides(ResultStrides::Format(0)),
    op("aten::reflection_pad2d", "-", |_, args| padded_by(&args, PadMode::Reflect, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::reflection_pad3d", "-", |_, args| padded_by(&args, PadMode::Reflect, 3)),
    op("aten::replication_pad1d", "-", |_, args| padded_by(&args, PadMode::Replicate, 1))
        .strides(ResultStrides::Format(0)),
    op("aten::replication_pad2d", "-", |_, args| padded_by(&args, PadMode::Replicate, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::replication_pad3d", "-", |_, args| padded_by(&args, PadMode::Replicate, 3)),
    op("aten::grid_sampler", "-", |_, args| grid_sample(&args)),
    op("aten::grid_sampler_2d", "-", |_, args| grid_sample(&args)),
    op("aten::grid_sampler_3d", "-", |_, args| grid_sample(&args)),
    op("aten::affine_grid_generator", "-", |_, args| {
        made(kernels::affine_grid(args.tensor(0)?, &args.ints(1)?, args.bool(2)?))
    }),
    op("aten::pixel_shuffle", "-", |_, args| {
        made(kernels::pixel_shuffle(args.tensor(0)?, args.int(1)?))
    })
    .strides(ResultStrides::Format(0)),
    op("aten::pixel_unshuffle", "-", |_, args| {
        made(kernels::pixel_unshuffle(args.tensor(0)?, args.int(1)?))
    })
    .strides(ResultStrides::Format(0)),
    op("aten::channel_shuffle", "-", |_, args| {
        made(kernels::channel_shuffle(args.tensor(0)?, args.int(1)?))
    })
    .strides(ResultStrides::Format(0)),
    op("aten::native_channel_shuffle", "-", |_, args| {
        made(kernels::channel_shuffle(args.tensor(0)?, args.int(1)?))
    })
    .strides(ResultStrides::Format(0)),
    op("aten::im2col", "-", |_, args| made(kernels::im2col(args.tensor(0)?, &patches(&args, 1)?))),
    op("aten::col2im", "-", |_, args| {
        made(kernels::col2im(args.tensor(0)?, args.pair(1)?, &patches(&args, 2)?))
    }),
    op("aten::_grid_sampler_2d_cpu_fallback", "-", |_, args| {
        let numbers = (GridMode::from_number(args.int(2)?), GridPadding::from_number(args.int(3)?));
        let (Some(mode), Some(padding)) = numbers else {
            return Err(Raise::unsupported("a grid sampling mode of this number"));
        };
        made(kernels::grid_sample(args.tensor(0)?, args.tensor(1)?, mode, padding, args.bool(4)?))
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
];

/// Whether a mode has an operand for `align_corners`, which stands before the scales.
fn aligns(mode: Upsample) -> bool {
    !matches!(mode, Upsample::Nearest | Upsample::NearestExact)
}

/// What an upsampling is to give: the size of the result, whether corners are aligned, and the scale factors that
/// were given.
pub(in crate::ops) struct Upsampling {
    pub(in crate::ops) output: Vec<i64>,
    pub(in crate::ops) align_corners: bool,
    pub(in crate::ops) factors: Vec<Option<f64>>,
}

/// The overload of an output size and a scale for each dimension.
fn sized(args: &Args<'_>, mode: Upsample, rank: usize) -> Result {
    upsampled(args.tensor(0)?, mode, &sized_upsampling(args, mode, rank)?)
}

/// The overload of either an output size or scale factors.
fn scaled(args: &Args<'_>, mode: Upsample, rank: usize) -> Result {
    let input = args.tensor(0)?;
    upsampled(input, mode, &scaled_upsampling(args, mode, rank, input.sizes())?)
}

fn upsampled(input: &kernels::Tensor, mode: Upsample, to: &Upsampling) -> Result {
    made(kernels::upsample(input, mode, &to.output, to.align_corners, &to.factors))
}

/// What the overload of an output size and a scale for each dimension asks for.
pub(in crate::ops) fn sized_upsampling(
    args: &Args<'_>,
    mode: Upsample,
    rank: usize,
) -> Result<Upsampling> {
    let output = args.ints(1)?.to_vec();
    if output.len() != rank {
        return Err(Raise::message(format!(
            "It is expected output_size equals to {rank}, but got size {}",
            output.len()
        )));
    }
    let align_corners = aligns(mode) && args.bool(2)?;
    let first = 2 + usize::from(aligns(mode));
    let factor = |dim: usize| match args.get(first + dim) {
        IValue::None => Ok(None),
        _ => args.real(first + dim).map(Some),
    };
    let factors = (0..rank).map(factor).collect::<Result<_>>()?;
    Ok(Upsampling { output, align_corners, factors })
}

/// What the overload of either an output size or scale factors asks for of an input of these sizes.
pub(in crate::ops) fn scaled_upsampling(
    args: &Args<'_>,
    mode: Upsample,
    rank: usize,
    input: &[i64],
) -> Result<Upsampling> {
    let align_corners = aligns(mode) && args.bool(2)?;
    let last = 2 + usize::from(aligns(mode));
    let by_size = !args.get(1).is_none();
    if by_size != args.get(last).is_none() {
        return Err(Raise::message("Must specify exactly one of output_size and scale_factors"));
    }
    let spatial = input.get(2..).unwrap_or_default();
    let length = if by_size { args.ints(1)?.len() } else { args.floats(last)?.len() };
    if !by_size && length != spatial.len() {
        return Err(Raise::message(
            "Expected static_cast<int64_t>(scale_factors->size()) == spatial_dimensions to be true, but \
             got false.  (Could this error message be improved?  If so, please report an enhancement \
             request to PyTorch.)",
        ));
    }
    if length != rank {
        return Err(Raise::message(format!(
            "It is expected output_size equals to {rank}, but got size {length}"
        )));
    }
    if spatial.len() != rank {
        return Err(Raise::message(format!(
            "It is expected input_size equals to {}, but got size {}",
            rank + 2,
            input.len()
        )));
    }
    if by_size {
        let output = args.ints(1)?.to_vec();
        return Ok(Upsampling { output, align_corners, factors: vec![None; rank] });
    }
    let factors = args.floats(last)?;
    let output = spatial.iter().zip(&factors).map(|(&size, factor)| (size as f64 * factor) as i64);
    let output = output.collect();
    Ok(Upsampling { output, align_corners, factors: factors.into_iter().map(Some).collect() })
}

fn padded(args: &Args<'_>, mode: PadMode) -> Result {
    made(kernels::pad(args.tensor(0)?, &args.ints(1)?, mode))
}

fn padded_by(args: &Args<'_>, mode: PadMode, rank: usize) -> Result {
    let found = args.ints(1)?.len();
    if found != 2 * rank {
        return Err(Raise::message(format!("padding size is expected to be {}", 2 * rank)));
    }
    padded(args, mode)
}

fn grid_sample(args: &Args<'_>) -> Result {
    let (mode, padding) = (args.int(2)?, args.int(3)?);
    let padding = match GridPadding::from_number(padding) {
        // Over three dimensions PyTorch takes any other number for zeros.
        None if args.tensor(0)?.dim() == 5 => Some(GridPadding::Zeros),
        padding => padding,
    };
    let (Some(mode), Some(padding)) = (GridMode::from_number(mode), padding) else {
        return Err(Raise::unsupported("a grid sampling mode of this number"));
    };
    made(kernels::grid_sample(args.tensor(0)?, args.tensor(1)?, mode, padding, args.bool(4)?))
}

/// Kernel, dilation, padding and stride, from an operand on.
fn patches(args: &Args<'_>, first: usize) -> Result<PatchOptions> {
    let pair = |index: usize, what: &str| match *args.ints(index)? {
        [height, width] => Ok([height, width]),
        ref list => Err(Raise::message(format!(
            "It is expected {what} equals to 2, but got size {}",
            list.len()
        ))),
    };
    Ok(PatchOptions {
        kernel: pair(first, "kernel_size")?,
        dilation: pair(first + 1, "dilation")?,
        padding: pair(first + 2, "padding")?,
        stride: pair(first + 3, "stride")?,
    })
}

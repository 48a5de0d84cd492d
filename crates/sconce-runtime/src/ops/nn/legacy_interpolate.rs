//! `torch.nn.functional.interpolate` of versions before 1.3, which archives hold as operators.

use sconce_kernels as kernels;
use sconce_kernels::Upsample;

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
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
];

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

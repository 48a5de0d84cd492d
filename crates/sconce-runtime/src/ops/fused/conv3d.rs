//! Convolutions of volumes as sums of convolutions of pictures: each slice of the window along the depth is one of all
//! pictures at once, in the blocked layout.

use std::ops::Range;

use sconce_kernels as kernels;
use sconce_kernels::{Activation, BlockedConv, ConvOptions, Precision, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

/// The operator: `aten::conv3d` with its operands, and behind them the packed weights of each slice, the packed bias, and
/// zeros like it.
pub(crate) const CONV3D_PACKED: &str = "sconce::conv3d_packed";

/// Up to so many channels pictures are read as they are.
pub(crate) const MAX_PLANAR: i64 = 4;

pub(crate) const TABLE: Table = &[op(CONV3D_PACKED, "-", |context, args| {
    convolve(&args, context.exact(), context.precision() == Precision::Bf16)
})
.strides(ResultStrides::Convolution { dilation: 5, groups: 6, extra: None })];

/// One dimension of the convolution.
#[derive(Clone, Copy)]
struct Extent {
    input: i64,
    kernel: i64,
    stride: i64,
    padding: i64,
    dilation: i64,
}

impl Extent {
    /// How many results there are.
    fn output(self) -> Option<i64> {
        let room = self.input + 2 * self.padding - self.dilation * (self.kernel - 1) - 1;
        (room >= 0 && self.input > 0).then(|| room / self.stride + 1)
    }

    /// The results to which an element of the window adds something.
    fn results(self, element: i64, output: i64) -> Range<i64> {
        let before = self.padding - element * self.dilation;
        let from = |place: i64| (place.max(0) + self.stride - 1) / self.stride;
        let (first, end) = (from(before), from(self.input + before));
        first.min(output)..end.min(output)
    }
}

fn convolve(args: &Args<'_>, exact: bool, bf16: bool) -> Result {
    let (input, weight) = (args.tensor(0)?, args.tensor(1)?);
    let (stride, padding, dilation) = (args.ints(3)?, args.ints(4)?, args.ints(5)?);
    match of_pictures(args, [&stride, &padding, &dilation], exact, bf16)? {
        Some(result) => Ok(IValue::Tensor(result)),
        // What does not fit is an error, or a volume without a batch.
        None => {
            let options = ConvOptions {
                stride: &stride,
                padding: &padding,
                dilation: &dilation,
                groups: args.int(6)?,
            };
            made(kernels::conv(input, weight, args.optional_tensor(2)?, &options))
        }
    }
}

/// `None` where sizes do not fit.
fn of_pictures(
    args: &Args<'_>,
    lists: [&[i64]; 3],
    exact: bool,
    bf16: bool,
) -> Result<Option<Tensor>> {
    let (input, weight) = (args.tensor(0)?, args.tensor(1)?);
    let (taps, bias, zeros) = (args.tensors(7)?, args.tensor(8)?, args.tensor(9)?);
    let (&[batch, channels, ..], &[out_channels, in_channels, ..]) =
        (input.sizes(), weight.sizes())
    else {
        return Ok(None);
    };
    if input.dim() != 5 || channels != in_channels {
        return Ok(None);
    }
    let number = |list: &[i64], dim: usize| list.get(dim).or(list.first()).copied().unwrap_or(0);
    let extent = |dim: usize| Extent {
        input: input.sizes()[dim + 2],
        kernel: weight.sizes()[dim + 2],
        stride: number(lists[0], dim),
        padding: number(lists[1], dim),
        dilation: number(lists[2], dim),
    };
    let [depth, rows, columns] = [extent(0), extent(1), extent(2)];
    let (Some(out_depth), Some(out_rows), Some(out_columns)) =
        (depth.output(), rows.output(), columns.output())
    else {
        return Ok(None);
    };
    let results = |tap: i64| depth.results(tap, out_depth);
    let Some(first) = (0..depth.kernel).find(|&tap| results(tap) == (0..out_depth)) else {
        return Ok(None);
    };
    let options = BlockedConv {
        in_channels,
        out_channels,
        groups: 1,
        kernel: [rows.kernel, columns.kernel],
        stride: [rows.stride, columns.stride],
        padding: [rows.padding, columns.padding],
        dilation: [rows.dilation, columns.dilation],
        activation: Activation::None,
        exact,
        bf16,
    };
    let sizes = [batch, out_channels, out_depth, out_rows, out_columns];
    let result = Tensor::for_overwrite(&sizes, input.dtype()).map_err(kernel)?;
    let tap_of = |pictures: &Tensor, tap: i64, bias: &Tensor, sums: Option<&Tensor>| {
        let results = results(tap);
        let start = results.start * depth.stride + tap * depth.dilation - depth.padding;
        let count = results.end - results.start;
        let end = start + (count - 1) * depth.stride + 1;
        let pictures = pictures.slice(0, Some(start), Some(end), depth.stride)?;
        kernels::conv_blocked(&pictures, &taps[tap as usize], bias, sums, &options)
    };
    let volume = |volume: &Tensor| -> kernels::Result<Tensor> {
        let pictures = volume.permute(&[1, 0, 2, 3])?;
        let pictures = match channels <= MAX_PLANAR {
            true => pictures.contiguous()?,
            false => kernels::to_blocked(&pictures)?,
        };
        let mut sums = tap_of(&pictures, first, bias, None)?;
        for tap in (0..depth.kernel).filter(|&tap| tap != first) {
            let results = results(tap);
            if results.is_empty() {
                continue;
            }
            let count = results.end - results.start;
            let part = sums.narrow(0, results.start, count)?;
            let added = tap_of(&pictures, tap, zeros, Some(&part))?;
            if count == out_depth {
                sums = added;
            } else {
                part.copy_from(&added)?;
            }
        }
        kernels::from_blocked(&sums, out_channels)?.permute(&[1, 0, 2, 3])
    };
    for index in 0..batch {
        let sums = input.select(0, index).and_then(|one| volume(&one)).map_err(kernel)?;
        let place = result.select(0, index).map_err(kernel)?;
        place.copy_from(&sums).map_err(kernel)?;
    }
    Ok(Some(result))
}

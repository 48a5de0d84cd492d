//! Convolutions by the names of PyTorch's kernels, which archives hold where a function was traced through.

use sconce_kernels as kernels;
use sconce_kernels::ConvOptions;

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
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
];

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

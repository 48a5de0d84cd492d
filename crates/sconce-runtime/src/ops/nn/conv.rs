//! Convolutions, transposed ones too.

use sconce_kernels as kernels;
use sconce_kernels::ConvOptions;

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::fused::blocked_layout;
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table =
    &[
        op("aten::conv1d", "-", |_, args| convolve(&args, [3, 4, 5, 6]))
            .strides(ResultStrides::Convolution { dilation: 5, groups: 6, extra: None }),
        op("aten::conv2d", "-", |_, args| convolve(&args, [3, 4, 5, 6]))
            .strides(ResultStrides::Convolution { dilation: 5, groups: 6, extra: None }),
        // Those that stay in PyTorch's order in an optimised graph, with the reason as their last operand.
        op("sconce::conv2d", "-", |_, args| convolve(&args, [3, 4, 5, 6]))
            .strides(ResultStrides::Convolution { dilation: 5, groups: 6, extra: None })
            .steps(|operands| blocked_layout::unblocked(operands.get(7))),
        op("aten::conv3d", "-", |_, args| convolve(&args, [3, 4, 5, 6]))
            .strides(ResultStrides::Convolution { dilation: 5, groups: 6, extra: None }),
        op("aten::conv1d", "padding", |_, args| by_mode(&args))
            .strides(ResultStrides::Convolution { dilation: 5, groups: 6, extra: None }),
        op("aten::conv2d", "padding", |_, args| by_mode(&args))
            .strides(ResultStrides::Convolution { dilation: 5, groups: 6, extra: None }),
        op("aten::conv3d", "padding", |_, args| by_mode(&args))
            .strides(ResultStrides::Convolution { dilation: 5, groups: 6, extra: None }),
        op("aten::_convolution_mode", "-", |_, args| {
            batched(&args)?;
            by_mode(&args)
        })
        .strides(ResultStrides::Convolution { dilation: 5, groups: 6, extra: None }),
        op("aten::conv_transpose1d", "-", |_, args| transpose(&args, [3, 4, 7, 6, 5]))
            .strides(ResultStrides::Convolution { dilation: 7, groups: 6, extra: Some(5) }),
        op("aten::conv_transpose2d", "input", |_, args| transpose(&args, [3, 4, 7, 6, 5]))
            .strides(ResultStrides::Convolution { dilation: 7, groups: 6, extra: Some(5) }),
        op("sconce::conv_transpose2d", "-", |_, args| transpose(&args, [3, 4, 7, 6, 5]))
            .strides(ResultStrides::Convolution { dilation: 7, groups: 6, extra: Some(5) })
            .steps(|operands| blocked_layout::unblocked(operands.get(8))),
        op("aten::conv_transpose3d", "input", |_, args| transpose(&args, [3, 4, 7, 6, 5]))
            .strides(ResultStrides::Convolution { dilation: 7, groups: 6, extra: Some(5) }),
        op("aten::convolution", "-", |_, args| either(&args)).strides(ResultStrides::Convolution {
            dilation: 5,
            groups: 8,
            extra: Some(7),
        }),
        op("aten::_convolution", "- deprecated", |_, args| either(&args))
            .strides(ResultStrides::Convolution { dilation: 5, groups: 8, extra: Some(7) }),
    ];

/// With a flag that says whether it is transposed. Unlike the functions of a number of dimensions,
/// these take no input without a batch.
fn either(args: &Args<'_>) -> Result {
    let wanted = batched(args)?;
    if args.bool(6)? {
        return transpose(args, [3, 4, 5, 8, 7]);
    }
    let (extra, spatial) = (args.ints(7)?, wanted.saturating_sub(2));
    if extra.len() != 1 && extra.len() != spatial {
        return Err(Raise::message(format!(
            "expected output_padding to be a single integer value or a list of {spatial} values to \
             match the convolution dimensions, but got output_padding={extra:?}"
        )));
    }
    if extra.iter().any(|&size| size < 0) {
        return Err(Raise::message("negative output_padding is not supported"));
    }
    convolve(args, [3, 4, 5, 8])
}

/// How many dimensions both the input and the weight have.
fn batched(args: &Args<'_>) -> Result<usize> {
    let (input, weight) = (args.tensor(0)?, args.tensor(1)?);
    let (given, wanted) = (input.dim(), weight.dim());
    if given == wanted {
        return Ok(wanted);
    }
    Err(Raise::message(format!(
        "Expected {wanted}-dimensional input for {wanted}-dimensional weight {:?}, but got \
         {given}-dimensional input of size {:?} instead",
        weight.sizes(),
        input.sizes()
    )))
}

/// Where stride, padding, dilation and groups are.
fn convolve(args: &Args<'_>, [stride, padding, dilation, groups]: [usize; 4]) -> Result {
    let (stride, padding, dilation) =
        (args.ints(stride)?, args.ints(padding)?, args.ints(dilation)?);
    let options = ConvOptions {
        stride: &stride,
        padding: &padding,
        dilation: &dilation,
        groups: args.int(groups)?,
    };
    made(kernels::conv(args.tensor(0)?, args.tensor(1)?, args.optional_tensor(2)?, &options))
}

/// With the padding as a word.
fn by_mode(args: &Args<'_>) -> Result {
    let (input, weight, bias) = (args.tensor(0)?, args.tensor(1)?, args.optional_tensor(2)?);
    let (stride, dilation, groups) = (args.ints(3)?, args.ints(5)?, args.int(6)?);
    made(match &*args.str(4)? {
        "same" => kernels::conv_same(input, weight, bias, &stride, &dilation, groups),
        "valid" => {
            let padding = &[0];
            let options = ConvOptions { stride: &stride, padding, dilation: &dilation, groups };
            kernels::conv(input, weight, bias, &options)
        }
        other => return Err(Raise::message(format!("Invalid padding string: '{other}'"))),
    })
}

/// Where stride, padding, dilation, groups and the output's padding are.
fn transpose(args: &Args<'_>, [stride, padding, dilation, groups, extra]: [usize; 5]) -> Result {
    let (stride, padding, dilation) =
        (args.ints(stride)?, args.ints(padding)?, args.ints(dilation)?);
    let options = ConvOptions {
        stride: &stride,
        padding: &padding,
        dilation: &dilation,
        groups: args.int(groups)?,
    };
    let (input, weight, bias) = (args.tensor(0)?, args.tensor(1)?, args.optional_tensor(2)?);
    made(kernels::conv_transpose(input, weight, bias, &options, &args.ints(extra)?))
}

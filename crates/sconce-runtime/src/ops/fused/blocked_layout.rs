//! Operators of the blocked layout, which passes put into optimised graphs. Where they cannot compute
//! something they raise, and the program runs as it is.

use sconce_kernels as kernels;
use sconce_kernels::{
    Activation, BinaryOp, BlockedConv, BlockedConvTranspose, ChannelRun, MemoryFormat, PointwiseOp,
    PoolOptions, Tensor, Upsample,
};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::fusion::fuse;
use crate::ops::descriptor::{Table, op};
use crate::ops::fused::operator_name;
use crate::ops::nn::resample::{scaled_upsampling, sized_upsampling};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    // The last operand of conversions says what they are made for.
    op("sconce::to_blocked", "-", |_, args| {
        let (image, channels) = (args.tensor(0)?, args.int(1)?);
        // A last block that is not full looks like one of fewer channels.
        if image.sizes().get(1) != Some(&channels) {
            return Err(unfit());
        }
        made(kernels::to_blocked(image))
    })
    .steps(|operands| reason(operands.get(2))),
    op("sconce::from_blocked", "-", |_, args| {
        let (image, channels) = (args.tensor(0)?, args.int(1)?);
        if !args.bool(2)? {
            return made(kernels::from_blocked(image, channels));
        }
        let picture = kernels::from_blocked_channels_last(image, channels).map_err(kernel)?;
        // Of sizes of 1 they may be others.
        let strides = MemoryFormat::ChannelsLast.strides(picture.sizes()).map_err(kernel)?;
        match picture.strides() == &strides[..] {
            true => Ok(IValue::Tensor(picture)),
            false => made(picture.with_strides(&strides)),
        }
    })
    .steps(|operands| reason(operands.get(3))),
    op("sconce::conv_blocked", "-", |context, args| {
        convolve(&args, context.exact(), context.precision())
    })
    .steps(|operands| conv_steps("conv2d", operands)),
    op("sconce::conv_transpose_blocked", "-", |_, args| transpose(&args))
        .steps(|operands| conv_steps("conv_transpose2d", operands)),
    op("sconce::max_pool2d_blocked", "-", |_, args| {
        let (image, numbers, ceil_mode) = (args.tensor(0)?, args.ints(1)?, args.bool(2)?);
        made(kernels::max_pool2d_blocked(image, &pool_options(&numbers, ceil_mode)?))
    }),
    op("sconce::avg_pool2d_blocked", "-", |_, args| {
        let (image, numbers, ceil_mode) = (args.tensor(0)?, args.ints(1)?, args.bool(2)?);
        let (counts, divisor) = (args.bool(3)?, args.optional_int(4)?);
        let options = pool_options(&numbers, ceil_mode)?;
        made(kernels::avg_pool2d_blocked(image, &options, counts, divisor))
    }),
    op("sconce::adaptive_avg_pool2d_blocked", "-", |_, args| {
        let &[height, width] = args.ints(1)?.as_slice() else { return Err(unfit()) };
        made(kernels::adaptive_avg_pool2d_blocked(args.tensor(0)?, [height, width]))
    }),
    op("sconce::channels_of_pixel", "-", |_, args| {
        let picture = kernels::from_blocked(args.tensor(0)?, args.int(1)?).map_err(kernel)?;
        let &[batch, channels, 1, 1] = picture.sizes() else { return Err(unfit()) };
        made(picture.view(&[batch, channels]))
    }),
    op("sconce::affine_blocked", "-", |_, args| affine(&args)).steps(affine_steps),
    op("sconce::group_norm_blocked", "-", |_, args| {
        let (image, weight, bias) =
            (args.tensor(0)?, args.optional_tensor(2)?, args.optional_tensor(3)?);
        let groups = usize::try_from(args.int(1)?).map_err(|_| unfit())?;
        made(kernels::group_norm_blocked(image, groups, weight, bias, args.real(4)?))
    }),
    op("sconce::layer_norm_blocked", "-", |_, args| {
        let (image, channels) = (args.tensor(0)?, args.int(1)?);
        let (weight, bias) = (args.optional_tensor(2)?, args.optional_tensor(3)?);
        made(kernels::layer_norm_blocked(image, channels, weight, bias, args.real(4)?))
    }),
    op("sconce::gate_blocked", "-", |_, args| {
        made(kernels::gate_blocked(args.tensor(0)?, args.tensor(1)?))
    }),
    op("sconce::cat_blocked", "-", |_, args| {
        let (images, numbers) = (args.tensors(0)?, args.ints(1)?);
        let numbers = numbers.as_chunks::<2>().0;
        let runs: Vec<ChannelRun<'_>> = images
            .iter()
            .zip(numbers)
            .map(|(image, &[first, count])| ChannelRun { image, first, count })
            .collect();
        made(kernels::cat_blocked(&runs))
    }),
    op("sconce::select_blocked", "-", |_, args| {
        let (images, numbers) = (args.tensors(0)?, args.ints(1)?);
        let &[n, height, width] = args.ints(2)?.as_slice() else { return Err(unfit()) };
        let images: Vec<&Tensor> = images.iter().collect();
        let channels = numbers.as_chunks::<2>().0;
        made(kernels::select_blocked(&images, channels, [n, height, width]))
    }),
    op("sconce::upsample_nearest2d_blocked", "-", |_, args| upsample(&args, Upsample::Nearest)),
    op("sconce::_upsample_nearest_exact2d_blocked", "-", |_, args| {
        upsample(&args, Upsample::NearestExact)
    }),
    op("sconce::upsample_bilinear2d_blocked", "-", |_, args| upsample(&args, Upsample::Linear)),
    op("sconce::upsample_bicubic2d_blocked", "-", |_, args| upsample(&args, Upsample::Cubic)),
    op("sconce::mean_blocked", "-", |_, args| made(kernels::mean_blocked(args.tensor(0)?))),
    op("sconce::norm_blocked", "-", |_, args| made(kernels::norm_blocked(args.tensor(0)?))),
    op("sconce::add", "-", |_, args| same_shape(&args, BinaryOp::Add))
        .fuse(&[fuse(PointwiseOp::Onto(BinaryOp::Add))]),
    op("sconce::mul", "-", |_, args| same_shape(&args, BinaryOp::Mul))
        .fuse(&[fuse(PointwiseOp::Onto(BinaryOp::Mul))]),
];

fn unfit() -> Raise {
    Raise::message("an operator of an optimised graph that does not fit its operands")
}

/// Operands as either overload of PyTorch's operator has them, told apart by how many there are.
fn upsample(args: &Args<'_>, mode: Upsample) -> Result {
    let image = args.tensor(0)?;
    let &[n, blocks, height, width, _] = image.sizes() else { return Err(unfit()) };
    let aligns = matches!(mode, Upsample::Linear | Upsample::Cubic);
    let to = match args.len() - usize::from(aligns) {
        4 => sized_upsampling(args, mode, 2)?,
        _ => scaled_upsampling(args, mode, 2, &[n, blocks, height, width])?,
    };
    let (&[height, width], &[rows, columns]) = (to.output.as_slice(), to.factors.as_slice()) else {
        return Err(unfit());
    };
    let (size, factors) = ([height, width], [rows, columns]);
    made(kernels::upsample_blocked(image, mode, size, to.align_corners, factors))
}

/// The operator before or behind a conversion, which is not in blocks.
fn reason(operand: Option<&Option<&IValue>>) -> Vec<&'static str> {
    let Some(Some(IValue::Str(symbol))) = operand else { return Vec::new() };
    vec![match &**symbol {
        "prim::Param" => "argument",
        "prim::Return" => "result",
        symbol => crate::ops::symbol_of_row(symbol).map_or("other", operator_name),
    }]
}

/// Why a convolution stays in PyTorch's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unblocked {
    /// It is called in another way.
    Operands,
    /// What its input is is not known.
    Unknown,
    /// Its input is no batch of pictures.
    Unbatched,
    /// Its input is of another dtype.
    Dtype,
    /// Something may write to its input.
    Written,
    /// Steps, padding or groups are known only when it runs.
    Steps,
    /// Weight or bias may change.
    Weight,
    /// Weight or bias are of another dtype or shape.
    Weights,
    /// Its windows move by steps for which there is no kernel.
    Stride,
    /// Elements of its windows lie apart.
    Dilation,
    /// Its groups have a number of channels for which there is no kernel.
    Groups,
    /// Its input has another number of channels.
    Channels,
    /// Its result would fill less than half of a block.
    FewChannels,
}

impl Unblocked {
    const ALL: &[Unblocked] = &[
        Unblocked::Operands,
        Unblocked::Unknown,
        Unblocked::Unbatched,
        Unblocked::Dtype,
        Unblocked::Written,
        Unblocked::Steps,
        Unblocked::Weight,
        Unblocked::Weights,
        Unblocked::Stride,
        Unblocked::Dilation,
        Unblocked::Groups,
        Unblocked::Channels,
        Unblocked::FewChannels,
    ];

    /// In a few words, as profiles show it.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Unblocked::Operands => "other operands",
            Unblocked::Unknown => "dtype not known",
            Unblocked::Unbatched => "no batch",
            Unblocked::Dtype => "not float32",
            Unblocked::Written => "input is written to",
            Unblocked::Steps => "steps not constant",
            Unblocked::Weight => "weight not constant",
            Unblocked::Weights => "weights do not fit",
            Unblocked::Stride => "stride",
            Unblocked::Dilation => "dilation",
            Unblocked::Groups => "width of groups",
            Unblocked::Channels => "channels do not fit",
            Unblocked::FewChannels => "few channels",
        }
    }
}

/// Why a convolution is not in blocks, by the operand that says it.
pub(crate) fn unblocked(operand: Option<&Option<&IValue>>) -> Vec<&'static str> {
    let Some(Some(IValue::Str(text))) = operand else { return Vec::new() };
    let texts = Unblocked::ALL.iter().map(|reason| reason.text());
    texts.filter(|known| *known == &**text).collect()
}

fn pool_options(numbers: &[i64], ceil_mode: bool) -> Result<PoolOptions<'_>> {
    let [kernel, stride, padding, dilation] = numbers.as_chunks::<2>().0 else {
        return Err(unfit());
    };
    Ok(PoolOptions { kernel, stride, padding, dilation, ceil_mode })
}

/// The convolution, the sum with a residual where there is one, and the activation.
fn conv_steps(name: &'static str, operands: &[Option<&IValue>]) -> Vec<&'static str> {
    let mut steps = vec![name];
    if !matches!(operands.get(3), Some(Some(IValue::None))) {
        steps.push("add");
    }
    steps.extend(activation_step(operands.get(5)));
    steps
}

/// Batch normalisation and the activation.
fn affine_steps(operands: &[Option<&IValue>]) -> Vec<&'static str> {
    let mut steps = vec!["batch_norm"];
    steps.extend(activation_step(operands.get(3)));
    steps
}

fn activation_step(operand: Option<&Option<&IValue>>) -> Option<&'static str> {
    let known = ["relu", "clamp", "hardsigmoid", "hardswish", "silu", "gelu", "gelu_tanh"];
    let Some(Some(IValue::Str(activation))) = operand else { return None };
    known.into_iter().find(|known| *known == &**activation)
}

/// The activation that operands from a place on say by a name and bounds.
fn activation(args: &Args<'_>, place: usize) -> Result<Activation> {
    Ok(match &*args.str(place)? {
        "none" => Activation::None,
        "relu" => Activation::Relu,
        "clamp" => {
            let [low, high] = [args.real(place + 1)?, args.real(place + 2)?];
            Activation::Clamp(low as f32, high as f32)
        }
        "hardsigmoid" => Activation::Hardsigmoid,
        "hardswish" => Activation::Hardswish,
        "silu" => Activation::Silu,
        "gelu" => Activation::Gelu,
        "gelu_tanh" => Activation::GeluTanh,
        _ => return Err(unfit()),
    })
}

/// Pictures to join, what each channel is multiplied by and what is added to it, the activation's name
/// and bounds.
fn affine(args: &Args<'_>) -> Result {
    let (images, activation) = (args.tensors(0)?, activation(args, 3)?);
    let images: Vec<&Tensor> = images.iter().collect();
    let (scale, shift) = (args.tensor(1)?, args.tensor(2)?);
    made(kernels::affine_blocked(&images, scale, shift, activation))
}

/// Input, weight, bias, residual or `None`, numbers in the order of [`BlockedConv`], the activation's
/// name and bounds.
fn convolve(args: &Args<'_>, exact: bool, precision: kernels::Precision) -> Result {
    let &[in_channels, out_channels, groups, h, w, sh, sw, ph, pw, dh, dw] =
        args.ints(4)?.as_slice()
    else {
        return Err(unfit());
    };
    let activation = activation(args, 5)?;
    let options = BlockedConv {
        in_channels,
        out_channels,
        groups,
        kernel: [h, w],
        stride: [sh, sw],
        padding: [ph, pw],
        dilation: [dh, dw],
        activation,
        exact,
        bf16: precision == kernels::Precision::Bf16,
    };
    let (input, weight, bias) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    let residual = args.optional_tensor(3)?;
    made(kernels::conv_blocked(input, weight, bias, residual, &options))
}

/// Input, weight, bias, residual or `None`, numbers in the order of [`BlockedConvTranspose`], the activation's name and
/// bounds.
fn transpose(args: &Args<'_>) -> Result {
    let &[in_channels, out_channels, h, w, sh, sw, ph, pw, eh, ew] = args.ints(4)?.as_slice()
    else {
        return Err(unfit());
    };
    let options = BlockedConvTranspose {
        in_channels,
        out_channels,
        kernel: [h, w],
        stride: [sh, sw],
        padding: [ph, pw],
        output_padding: [eh, ew],
        activation: activation(args, 5)?,
    };
    let (input, weight, bias) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    let residual = args.optional_tensor(3)?;
    made(kernels::conv_transpose_blocked(input, weight, bias, residual, &options))
}

/// What `a.add_(b)` gives, as a new tensor: the result has the first operand's shape and dtype.
fn same_shape(args: &Args<'_>, op: BinaryOp) -> Result {
    let (a, b): (&Tensor, &Tensor) = (args.tensor(0)?, args.tensor(1)?);
    let result = kernels::binary(op, a.into(), b.into()).map_err(kernel)?;
    match result.sizes() == a.sizes() && result.dtype() == a.dtype() {
        true => Ok(IValue::Tensor(result)),
        false => Err(unfit()),
    }
}

//! Operators that normalise, with the statistics that the `native_*` ones give.

use sconce_kernels as kernels;
use sconce_kernels::{BatchNorm, DType, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::batch_norm", "-", |_, args| {
        let options = options(&args, 3, Training::At(5), 6)?;
        made(kernels::trained_batch_norm(args.tensor(0)?, &options))
    })
    .strides(ResultStrides::Normalised),
    op("aten::instance_norm", "-", |_, args| {
        made(kernels::instance_norm(args.tensor(0)?, &options(&args, 3, Training::At(5), 6)?))
    }),
    op("aten::native_batch_norm", "-", |_, args| {
        batch_norm(&args, &options(&args, 3, Training::At(5), 6)?)
    })
    .strides(ResultStrides::Normalised),
    op("aten::_native_batch_norm_legit", "-", |_, args| {
        batch_norm(&args, &options(&args, 3, Training::At(5), 6)?)
    })
    .strides(ResultStrides::Normalised),
    op("aten::_native_batch_norm_legit", "no_stats", |_, args| {
        let training = args.bool(3)?;
        let (momentum, eps) = (args.real(4)?, args.real(5)?);
        let (weight, bias) = (args.optional_tensor(1)?, args.optional_tensor(2)?);
        let (running_mean, running_var) = (None, None);
        batch_norm(
            &args,
            &BatchNorm { weight, bias, running_mean, running_var, training, momentum, eps },
        )
    })
    .strides(ResultStrides::Normalised),
    op("aten::_native_batch_norm_legit_no_training", "-", |_, args| {
        batch_norm(&args, &options(&args, 3, Training::Is(false), 5)?)
    }),
    op("aten::_batch_norm_with_update", "-", |_, args| {
        reserving(&args, &options(&args, 3, Training::Is(true), 5)?)
    })
    .strides(ResultStrides::Normalised),
    op("aten::_batch_norm_no_update", "-", |_, args| {
        reserving(&args, &options(&args, 3, Training::Is(false), 5)?)
    }),
    op("aten::native_layer_norm", "-", |_, args| {
        let (weight, bias) = (args.optional_tensor(2)?, args.optional_tensor(3)?);
        let (input, shape) = (args.tensor(0)?, args.ints(1)?);
        three(kernels::native_layer_norm(input, &shape, weight, bias, args.real(4)?))
    }),
    op("aten::native_group_norm", "-", |_, args| {
        let (weight, bias) = (args.optional_tensor(1)?, args.optional_tensor(2)?);
        let input = args.tensor(0)?;
        let (batch, channels, inner) = (args.int(3)?, args.int(4)?, args.int(5)?);
        let sizes = [batch, channels, inner];
        let total = sizes.iter().try_fold(1i64, |total, &size| total.checked_mul(size));
        if total != Some(input.numel()) || batch < 0 {
            return Err(Raise::message(
                "Expected X.numel() == N * C * HxW to be true, but got false.",
            ));
        }
        let shaped = input.reshape(&sizes).map_err(kernel)?;
        let result = kernels::native_group_norm(&shaped, args.int(6)?, weight, bias, args.real(7)?);
        three(
            result.and_then(|(result, mean, scale)| Ok((result.view(input.sizes())?, mean, scale))),
        )
    })
    .strides(ResultStrides::Format(0)),
    op("aten::rms_norm", "-", |_, args| {
        let eps = if args.get(3).is_none() { None } else { Some(args.real(3)?) };
        let weight = args.optional_tensor(2)?;
        made(kernels::rms_norm(args.tensor(0)?, &args.ints(1)?, weight, eps))
    })
    .strides(ResultStrides::Format(0)),
    op("aten::layer_norm", "-", |_, args| {
        let (weight, bias) = (args.optional_tensor(2)?, args.optional_tensor(3)?);
        made(kernels::layer_norm(args.tensor(0)?, &args.ints(1)?, weight, bias, args.real(4)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::group_norm", "-", |_, args| {
        let (weight, bias) = (args.optional_tensor(2)?, args.optional_tensor(3)?);
        made(kernels::group_norm(args.tensor(0)?, args.int(1)?, weight, bias, args.real(4)?))
    })
    .strides(ResultStrides::Format(0)),
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
];

/// Where an operator says whether it trains.
#[derive(Clone, Copy)]
enum Training {
    At(usize),
    Is(bool),
}

/// Weight and bias are operands 1 and 2; where the running statistics and the momentum are differs.
fn options<'a>(
    args: &'a Args<'_>,
    running: usize,
    training: Training,
    momentum: usize,
) -> Result<BatchNorm<'a>> {
    Ok(BatchNorm {
        weight: args.optional_tensor(1)?,
        bias: args.optional_tensor(2)?,
        running_mean: args.optional_tensor(running)?,
        running_var: args.optional_tensor(running + 1)?,
        training: match training {
            Training::At(index) => args.bool(index)?,
            Training::Is(training) => training,
        },
        momentum: args.real(momentum)?,
        eps: args.real(momentum + 1)?,
    })
}

type Three = kernels::Result<(Tensor, Tensor, Tensor)>;

fn three(result: Three) -> Result {
    let (result, mean, scale) = result.map_err(kernel)?;
    Ok(IValue::tuple([result, mean, scale].into_iter().map(IValue::Tensor).collect()))
}

fn batch_norm(args: &Args<'_>, options: &BatchNorm<'_>) -> Result {
    three(kernels::native_batch_norm(args.tensor(0)?, options))
}

/// With the memory that other devices keep for the backward pass, empty here.
fn reserving(args: &Args<'_>, options: &BatchNorm<'_>) -> Result {
    let (result, mean, scale) =
        kernels::native_batch_norm(args.tensor(0)?, options).map_err(kernel)?;
    let reserve = Tensor::zeros(&[0], DType::UInt8).map_err(kernel)?;
    Ok(IValue::tuple([result, mean, scale, reserve].into_iter().map(IValue::Tensor).collect()))
}

//! Operators that draw random numbers, from the session's generator or one of the program's own.

use sconce_kernels as kernels;
use sconce_kernels::{DType, Dropout, Generator, MemoryFormat, Tensor};

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::overlap::{OverlapRule, check_elements_once};
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;
use crate::value::shared::Shared;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::manual_seed", "-", |context, args| {
        *context.generator() = Generator::new(args.int(0)? as u64);
        Ok(IValue::None)
    }),
    op("aten::Generator", "-", |_, args| {
        args.on_cpu(0)?;
        let seed = args.optional_int(1)?;
        let own = seed.map_or_else(Generator::default, |seed| Generator::new(seed as u64));
        Ok(IValue::Generator(Shared::new(own)))
    }),
    op("aten::manual_seed", "generator", |_, mut args| {
        *args.generator(0)?.write() = Generator::new(args.int(1)? as u64);
        Ok(args.take(0))
    }),
    op("aten::initial_seed", "-", |_, args| {
        Ok(IValue::Int(args.generator(0)?.read().seed() as i64))
    }),
    op("aten::seed", "-", |_, args| {
        let seed = seed_of_chance();
        *args.generator(0)?.write() = Generator::new(seed);
        Ok(IValue::Int(seed as i64))
    }),
    op("aten::rand", "- generator", |context, args| sized_draw(context, &args, standard_uniform)),
    op("aten::randn", "- generator", |context, args| sized_draw(context, &args, standard_normal)),
    op("aten::rand_like", "- generator", |context, args| {
        like_draw(context, &args, standard_uniform)
    }),
    op("aten::randn_like", "- generator", |context, args| {
        like_draw(context, &args, standard_normal)
    }),
    op("aten::randint", "- generator", |context, args| {
        let options = past_generator(&args, 6, 2);
        let target = sized(context, &args, 1, options)?;
        between(context, &args, 2, target, [0, args.int(0)?])
    }),
    op("aten::randint", "low low_generator", |context, args| {
        let options = past_generator(&args, 7, 3);
        let target = sized(context, &args, 2, options)?;
        between(context, &args, 3, target, [args.int(0)?, args.int(1)?])
    }),
    op("aten::randint_like", "- generator", |context, args| {
        let options = past_generator(&args, 7, 2);
        between(context, &args, 2, like(&args, options)?, [0, args.int(1)?])
    }),
    op("aten::randint_like", "Tensor Tensor_generator", |context, args| {
        let options = past_generator(&args, 7, 2);
        let high = args.tensor(1)?.item().map_err(kernel)?.to_i64();
        between(context, &args, 2, like(&args, options)?, [0, high])
    }),
    op("aten::randint_like", "low_dtype low_generator_dtype", |context, args| {
        let options = past_generator(&args, 8, 3);
        between(context, &args, 3, like(&args, options)?, [args.int(1)?, args.int(2)?])
    }),
    op("aten::randperm", "- generator", |context, args| {
        let options = past_generator(&args, 5, 1);
        args.plain_options(options + 1, options + 2)?;
        let count = args.int(0)?;
        context.budget().check_sizes(&[count])?;
        let dtype = args.dtype(options)?.unwrap_or(DType::Float32);
        made(drawing(context, &args, generator_at(&args, 1), |generator| {
            kernels::randperm(count, dtype, generator)
        })?)
    }),
    op("aten::uniform_", "-", |context, args| uniform(context, &args, args.tensor(0)?.clone())),
    op("aten::_no_grad_uniform_", "-", |context, args| {
        uniform(context, &args, args.tensor(0)?.clone())
    }),
    op("aten::_no_grad_normal_", "-", |context, args| {
        normal(context, &args, args.tensor(0)?.clone())
    }),
    op("aten::uniform", "-", |context, args| uniform(context, &args, fresh(&args)?)),
    op("aten::normal_", "-", |context, args| normal(context, &args, args.tensor(0)?.clone())),
    op("aten::normal_functional", "-", |context, args| normal(context, &args, fresh(&args)?)),
    op("aten::normal", "float_float", |context, args| {
        let (mean, std) = (args.real(0)?, args.real(1)?);
        let target = sized(context, &args, 2, 4)?;
        filled(context, &args, 3, target, |target, generator| {
            kernels::normal_in_place(target, mean, std, generator)
        })
    }),
    op("aten::normal", "Tensor_float Tensor_Tensor float_Tensor", normal_around),
    op("aten::log_normal_", "-", |context, args| {
        log_normal(context, &args, args.tensor(0)?.clone())
    }),
    op("aten::log_normal", "-", |context, args| log_normal(context, &args, fresh(&args)?)),
    op("aten::cauchy_", "-", |context, args| cauchy(context, &args, args.tensor(0)?.clone())),
    op("aten::cauchy", "-", |context, args| cauchy(context, &args, fresh(&args)?)),
    op("aten::exponential_", "-", |context, args| {
        exponential(context, &args, args.tensor(0)?.clone())
    }),
    op("aten::exponential", "-", |context, args| exponential(context, &args, fresh(&args)?)),
    op("aten::geometric_", "-", |context, args| geometric(context, &args, args.tensor(0)?.clone())),
    op("aten::geometric", "-", |context, args| geometric(context, &args, fresh(&args)?)),
    op("aten::random_", "- to from", |context, args| {
        random(context, &args, args.tensor(0)?.clone())
    }),
    op("aten::random", "- to from", |context, args| random(context, &args, fresh(&args)?)),
    op("aten::bernoulli_", "Tensor float", |context, args| {
        bernoulli(context, &args, args.tensor(0)?.clone())
    }),
    op("aten::bernoulli", "Tensor p", |context, args| bernoulli(context, &args, fresh(&args)?))
        .strides(ResultStrides::RowMajor),
    op("aten::bernoulli", "-", |context, args| {
        let chances = args.tensor(0)?;
        let target = Tensor::zeros(chances.sizes(), chances.dtype()).map_err(kernel)?;
        filled(context, &args, 1, target, |target, generator| {
            kernels::bernoulli_from(target, chances, generator)
        })
    })
    .strides(ResultStrides::RowMajor),
    op("aten::poisson", "-", |context, args| {
        let rates = args.tensor(0)?;
        made(drawing(context, &args, 1, |generator| kernels::poisson(rates, generator))?)
    }),
    op("aten::_standard_gamma", "-", |context, args| {
        let alphas = args.tensor(0)?;
        made(drawing(context, &args, 1, |generator| kernels::standard_gamma(alphas, generator))?)
    }),
    op("aten::_sample_dirichlet", "-", |context, args| {
        let alphas = args.tensor(0)?;
        made(drawing(context, &args, 1, |generator| kernels::sample_dirichlet(alphas, generator))?)
    }),
    op("aten::binomial", "-", |context, args| {
        let (counts, chances) = (args.tensor(0)?, args.tensor(1)?);
        made(drawing(context, &args, 2, |generator| kernels::binomial(counts, chances, generator))?)
    }),
    op("aten::multinomial", "-", |context, args| {
        let (weights, samples, replacement) = (args.tensor(0)?, args.int(1)?, args.bool(2)?);
        context.budget().check_sizes(&[samples])?;
        made(drawing(context, &args, 3, |generator| {
            kernels::multinomial(weights, samples, replacement, generator)
        })?)
    }),
    op("aten::dropout", "-", |context, args| dropout(context, args, ELEMENTS)),
    op("aten::feature_dropout", "-", |context, args| dropout(context, args, FEATURES)),
    op("aten::alpha_dropout", "-", |context, args| dropout(context, args, ALPHA)),
    op("aten::feature_alpha_dropout", "-", |context, args| dropout(context, args, ALPHA_FEATURES)),
    op("aten::dropout_", "-", |context, args| dropout_in_place(context, args, ELEMENTS))
        .overlap(OverlapRule::Unchecked),
    op("aten::feature_dropout_", "-", |context, args| dropout_in_place(context, args, FEATURES))
        .overlap(OverlapRule::Unchecked),
    op("aten::alpha_dropout_", "-", |context, args| dropout_in_place(context, args, ALPHA))
        .overlap(OverlapRule::Unchecked),
    op("aten::feature_alpha_dropout_", "-", |context, args| {
        dropout_in_place(context, args, ALPHA_FEATURES)
    })
    .overlap(OverlapRule::Unchecked),
    op("aten::native_dropout", "-", |context, args| {
        let input = args.tensor(0)?;
        let train = args.get(2).is_none() || args.bool(2)?;
        let (result, mask) = match train {
            true => kernels::native_dropout(input, args.real(1)?, context.generator()),
            false => Tensor::full(input.sizes(), true.into(), DType::Bool)
                .map(|mask| (input.clone(), mask)),
        }
        .map_err(kernel)?;
        Ok(IValue::tuple(vec![IValue::Tensor(result), IValue::Tensor(mask)]))
    })
    .strides(ResultStrides::Copy),
    op("aten::native_dropout_backward", "-", |_, args| {
        use kernels::BinaryOp::Mul;
        let masked = kernels::binary(Mul, args.operand(0)?, args.operand(1)?).map_err(kernel)?;
        made(kernels::binary(Mul, (&masked).into(), args.operand(2)?))
    })
    .strides(ResultStrides::Copy),
    op("aten::rrelu", "-", |context, args| rrelu(context, &args)).strides(ResultStrides::RowMajor),
    op("aten::rrelu_", "-", |context, mut args| {
        let result = rrelu(context, &args)?;
        if let IValue::Tensor(result) = &result {
            kernels::store(args.tensor(0)?, result).map_err(kernel)?;
        }
        Ok(args.take(0))
    }),
    op("aten::rrelu_with_noise", "-", |context, args| {
        let (input, lower, upper) = (args.tensor(0)?, args.real(2)?, args.real(3)?);
        if !args.bool(4)? {
            return made(kernels::leaky_relu(input, ((lower + upper) / 2.0).into()));
        }
        let drawn =
            drawing(context, &args, 5, |generator| kernels::rrelu(input, lower, upper, generator))?;
        let (result, slopes) = drawn.map_err(kernel)?;
        kernels::store(args.tensor(1)?, &slopes).map_err(kernel)?;
        Ok(IValue::Tensor(result))
    }),
];

const ELEMENTS: Dropout = Dropout { features: false, alpha: false };
const FEATURES: Dropout = Dropout { features: true, alpha: false };
const ALPHA: Dropout = Dropout { features: false, alpha: true };
const ALPHA_FEATURES: Dropout = Dropout { features: true, alpha: true };

/// A seed that nobody foresees.
fn seed_of_chance() -> u64 {
    use std::hash::BuildHasher;
    use std::hash::Hasher;
    std::hash::RandomState::new().build_hasher().finish()
}

/// Draws from the generator that is the operand of this place, or from the session's where there is
/// none.
fn drawing<T>(
    context: &mut dyn OpContext,
    args: &Args<'_>,
    place: usize,
    draw: impl FnOnce(&mut Generator) -> T,
) -> Result<T> {
    match args.get(place) {
        IValue::None => Ok(draw(context.generator())),
        _ => Ok(draw(&mut args.generator(place)?.write())),
    }
}

/// Where the operands from `at` on go on if a generator stands there; `count` operands have none.
fn past_generator(args: &Args<'_>, count: usize, at: usize) -> usize {
    if args.len() == count { at } else { at + 1 }
}

/// The place of an operand that is a generator; otherwise one where no operand is.
fn generator_at(args: &Args<'_>, place: usize) -> usize {
    if matches!(args.get(place), IValue::Generator(_)) { place } else { usize::MAX }
}

type Fill = fn(&Tensor, &mut Generator) -> kernels::Result<()>;

fn standard_uniform(target: &Tensor, generator: &mut Generator) -> kernels::Result<()> {
    kernels::uniform_in_place(target, 0.0, 1.0, generator)
}

fn standard_normal(target: &Tensor, generator: &mut Generator) -> kernels::Result<()> {
    kernels::normal_in_place(target, 0.0, 1.0, generator)
}

/// A new tensor of given sizes, filled.
fn sized_draw(context: &mut dyn OpContext, args: &Args<'_>, fill: Fill) -> Result {
    let options = past_generator(args, 5, 1);
    let target = sized(context, args, 0, options)?;
    filled(context, args, generator_at(args, 1), target, fill)
}

/// A new tensor like another, filled.
fn like_draw(context: &mut dyn OpContext, args: &Args<'_>, fill: Fill) -> Result {
    let options = past_generator(args, 6, 1);
    filled(context, args, generator_at(args, 1), like(args, options)?, fill)
}

/// A new tensor of the sizes and options among the operands, `float32` unless said otherwise; the
/// dtype is followed by layout and device.
fn sized(context: &dyn OpContext, args: &Args<'_>, sizes: usize, dtype: usize) -> Result<Tensor> {
    args.plain_options(dtype + 1, dtype + 2)?;
    let sizes = args.ints(sizes)?;
    context.budget().check_sizes(&sizes)?;
    Tensor::zeros(&sizes, args.dtype(dtype)?.unwrap_or(DType::Float32)).map_err(kernel)
}

/// A new tensor like the first operand; `dtype` is followed by layout, device, pinning and memory
/// format.
fn like(args: &Args<'_>, dtype: usize) -> Result<Tensor> {
    args.plain_options(dtype + 1, dtype + 2)?;
    let tensor = args.tensor(0)?;
    let format = args.memory_format(dtype + 4)?.unwrap_or(MemoryFormat::Preserve);
    tensor.zeros_like(args.dtype(dtype)?.unwrap_or(tensor.dtype()), format).map_err(kernel)
}

/// A new tensor like the first operand in everything.
fn fresh(args: &Args<'_>) -> Result<Tensor> {
    let tensor = args.tensor(0)?;
    kernels::empty_like(tensor, tensor.dtype()).map_err(kernel)
}

/// A tensor, filled from the generator that is the operand of this place or the session's.
fn filled(
    context: &mut dyn OpContext,
    args: &Args<'_>,
    place: usize,
    target: Tensor,
    fill: impl FnOnce(&Tensor, &mut Generator) -> kernels::Result<()>,
) -> Result {
    drawing(context, args, place, |generator| fill(&target, generator))?.map_err(kernel)?;
    Ok(IValue::Tensor(target))
}

/// Whole numbers between two; `at` is where a generator may stand.
fn between(
    context: &mut dyn OpContext,
    args: &Args<'_>,
    at: usize,
    target: Tensor,
    [low, high]: [i64; 2],
) -> Result {
    filled(context, args, generator_at(args, at), target, |target, generator| {
        kernels::random_from_to(target, low, Some(high), generator)
    })
}

fn uniform(context: &mut dyn OpContext, args: &Args<'_>, target: Tensor) -> Result {
    let (from, to) = (args.real(1)?, args.real(2)?);
    filled(context, args, 3, target, |target, generator| {
        kernels::uniform_in_place(target, from, to, generator)
    })
}

fn normal(context: &mut dyn OpContext, args: &Args<'_>, target: Tensor) -> Result {
    let (mean, std) = (args.real(1)?, args.real(2)?);
    filled(context, args, 3, target, |target, generator| {
        kernels::normal_in_place(target, mean, std, generator)
    })
}

fn log_normal(context: &mut dyn OpContext, args: &Args<'_>, target: Tensor) -> Result {
    let (mean, std) = (args.real(1)?, args.real(2)?);
    filled(context, args, 3, target, |target, generator| {
        kernels::log_normal_in_place(target, mean, std, generator)
    })
}

fn cauchy(context: &mut dyn OpContext, args: &Args<'_>, target: Tensor) -> Result {
    let (median, sigma) = (args.real(1)?, args.real(2)?);
    filled(context, args, 3, target, |target, generator| {
        kernels::cauchy_in_place(target, median, sigma, generator)
    })
}

fn exponential(context: &mut dyn OpContext, args: &Args<'_>, target: Tensor) -> Result {
    let rate = args.real(1)?;
    filled(context, args, 2, target, |target, generator| {
        kernels::exponential_in_place(target, rate, generator)
    })
}

fn geometric(context: &mut dyn OpContext, args: &Args<'_>, target: Tensor) -> Result {
    let p = args.real(1)?;
    filled(context, args, 2, target, |target, generator| {
        kernels::geometric_in_place(target, p, generator)
    })
}

/// Over the whole dtype, up to a bound, or between two.
fn random(context: &mut dyn OpContext, args: &Args<'_>, target: Tensor) -> Result {
    let place = args.len() - 1;
    let bounds = match args.len() {
        2 => None,
        3 => Some((0, Some(args.int(1)?))),
        _ => Some((args.int(1)?, args.optional_int(2)?)),
    };
    filled(context, args, place, target, |target, generator| match bounds {
        None => kernels::random_in_place(target, generator),
        Some((from, to)) => kernels::random_from_to(target, from, to, generator),
    })
}

/// With one chance for all elements, or one for each.
fn bernoulli(context: &mut dyn OpContext, args: &Args<'_>, target: Tensor) -> Result {
    if let IValue::Tensor(chances) = args.get(1) {
        return filled(context, args, 2, target, |target, generator| {
            kernels::bernoulli_from(target, chances, generator)
        });
    }
    let p = args.real(1)?;
    filled(context, args, 2, target, |target, generator| {
        kernels::bernoulli_in_place(target, p, generator)
    })
}

/// Normal numbers about tensors of means, of tensors of deviations, or both.
fn normal_around(context: &mut dyn OpContext, args: Args<'_>) -> Result {
    use kernels::BinaryOp::Add;
    use kernels::BinaryOp::Mul;
    let (mean, std) = (args.operand(0)?, args.operand(1)?);
    let sizes = kernels::layout::broadcast(mean.sizes(), std.sizes()).map_err(kernel)?;
    let ((IValue::Tensor(like), _) | (_, IValue::Tensor(like))) = (args.get(0), args.get(1)) else {
        return Err(Raise::message("normal expects a tensor"));
    };
    check_deviations(&args)?;
    let target = Tensor::zeros(&sizes, like.dtype()).map_err(kernel)?;
    // A single deviation scales the numbers while they are drawn.
    let of_tensor = matches!(args.get(1), IValue::Tensor(_));
    let drawn_std = if of_tensor { 1.0 } else { args.real(1)? };
    drawing(context, &args, 2, |generator| {
        kernels::normal_in_place(&target, 0.0, drawn_std, generator)
    })?
    .map_err(kernel)?;
    if of_tensor {
        kernels::binary_in_place(Mul, &target, std).map_err(kernel)?;
    }
    kernels::binary_in_place(Add, &target, mean).map_err(kernel)?;
    Ok(IValue::Tensor(target))
}

/// Refuses deviations that are negative, complex or NaN.
fn check_deviations(args: &Args<'_>) -> Result<()> {
    let IValue::Tensor(std) = args.get(1) else {
        return kernels::check_deviation(args.real(1)?).map_err(kernel);
    };
    if std.dtype().is_complex() {
        return Err(Raise::message("normal expects standard deviation to be non-complex"));
    }
    let fits = kernels::binary(kernels::BinaryOp::Ge, std.into(), 0.0.into());
    let all = fits.and_then(|fits| kernels::all(&fits, &[], false)?.item());
    match all.map_err(kernel)?.to_bool() {
        true => Ok(()),
        false => Err(Raise::message("normal expects all elements of std >= 0.0")),
    }
}

/// Dropout does nothing outside training.
fn dropout(context: &mut dyn OpContext, mut args: Args<'_>, kind: Dropout) -> Result {
    let p = args.real(1)?;
    if !args.bool(2)? {
        kernels::check_dropout(p).map_err(kernel)?;
        return Ok(args.take(0));
    }
    made(kernels::dropout(args.tensor(0)?, p, kind, context.generator()))
}

fn dropout_in_place(context: &mut dyn OpContext, mut args: Args<'_>, kind: Dropout) -> Result {
    let (input, p) = (args.tensor(0)?, args.real(1)?);
    kernels::check_dropout(p).map_err(kernel)?;
    if args.bool(2)? && p != 0.0 {
        check_elements_once(input)?;
        let result = kernels::dropout(input, p, kind, context.generator()).map_err(kernel)?;
        kernels::store(input, &result).map_err(kernel)?;
    }
    Ok(args.take(0))
}

fn rrelu(context: &mut dyn OpContext, args: &Args<'_>) -> Result {
    let (input, lower, upper) = (args.tensor(0)?, args.real(1)?, args.real(2)?);
    kernels::check_slopes(lower, upper).map_err(kernel)?;
    if !args.bool(3)? {
        return made(kernels::leaky_relu(input, ((lower + upper) / 2.0).into()));
    }
    let drawn =
        drawing(context, args, 4, |generator| kernels::rrelu(input, lower, upper, generator))?;
    made(drawn.map(|(result, _)| result))
}

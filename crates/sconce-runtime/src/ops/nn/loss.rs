//! Operators that compute losses and distances.

use sconce_kernels as kernels;
use sconce_kernels::{ClassLoss, Ctc, Reduction, Tensor, Triplet};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::l1_loss", "-", |_, args| simple(&args, kernels::l1_loss))
        .strides(ResultStrides::Unreduced(2)),
    op("aten::mse_loss", "-", |_, args| strict(&args, kernels::mse_loss))
        .strides(ResultStrides::Unreduced(2)),
    op("aten::soft_margin_loss", "-", |_, args| strict(&args, kernels::soft_margin_loss))
        .strides(ResultStrides::Unreduced(2)),
    op("aten::smooth_l1_loss", "-", |_, args| {
        let (input, target) = (args.tensor(0)?, args.tensor(1)?);
        made(kernels::smooth_l1_loss(input, target, known_reduction(&args, 2)?, args.real(3)?))
    })
    .strides(ResultStrides::Unreduced(2)),
    op("aten::huber_loss", "-", |_, args| {
        let (input, target) = (args.tensor(0)?, args.tensor(1)?);
        made(kernels::huber_loss(input, target, reduction(&args, 2)?, args.real(3)?))
    })
    .strides(ResultStrides::UnreducedCopy(2)),
    op("aten::binary_cross_entropy", "-", |_, args| {
        let (input, target, weight) = (args.tensor(0)?, args.tensor(1)?, args.optional_tensor(2)?);
        made(kernels::binary_cross_entropy(input, target, weight, reduction(&args, 3)?))
    })
    .strides(ResultStrides::UnreducedCopy(3)),
    op("aten::binary_cross_entropy_with_logits", "-", |_, args| {
        made(kernels::binary_cross_entropy_with_logits(
            args.tensor(0)?,
            args.tensor(1)?,
            args.optional_tensor(2)?,
            args.optional_tensor(3)?,
            reduction(&args, 4)?,
        ))
    }),
    op("aten::kl_div", "-", |_, args| {
        let (input, target) = (args.tensor(0)?, args.tensor(1)?);
        made(kernels::kl_div(input, target, reduction(&args, 2)?, args.bool(3)?))
    }),
    op("aten::hinge_embedding_loss", "-", |_, args| {
        let (input, target) = (args.tensor(0)?, args.tensor(1)?);
        made(kernels::hinge_embedding_loss(input, target, args.real(2)?, reduction(&args, 3)?))
    }),
    op("aten::margin_ranking_loss", "-", |_, args| {
        let inputs = [args.tensor(0)?, args.tensor(1)?];
        let (target, margin) = (args.tensor(2)?, args.real(3)?);
        made(kernels::margin_ranking_loss(inputs, target, margin, reduction(&args, 4)?))
    }),
    op("aten::cosine_embedding_loss", "-", |_, args| {
        let inputs = [args.tensor(0)?, args.tensor(1)?];
        let (target, margin) = (args.tensor(2)?, args.real(3)?);
        made(kernels::cosine_embedding_loss(inputs, target, margin, reduction(&args, 4)?))
    }),
    op("aten::triplet_margin_loss", "-", |_, args| {
        let inputs = [args.tensor(0)?, args.tensor(1)?, args.tensor(2)?];
        let options = Triplet {
            margin: args.real(3)?,
            p: args.real(4)?,
            eps: args.real(5)?,
            swap: args.bool(6)?,
        };
        made(kernels::triplet_margin_loss(inputs, options, reduction(&args, 7)?))
    }),
    op("aten::poisson_nll_loss", "-", |_, args| {
        made(kernels::poisson_nll_loss(
            args.tensor(0)?,
            args.tensor(1)?,
            args.bool(2)?,
            args.bool(3)?,
            args.real(4)?,
            reduction(&args, 5)?,
        ))
    }),
    op("aten::nll_loss_nd", "-", |_, args| nll(&args).map(|(loss, _)| IValue::Tensor(loss))),
    op("aten::nll_loss", "-", |_, args| nll(&args).map(|(loss, _)| IValue::Tensor(loss))),
    op("aten::nll_loss2d", "-", |_, args| nll(&args).map(|(loss, _)| IValue::Tensor(loss))),
    op("aten::nll_loss_forward", "-", |_, args| nll(&args).map(pair)),
    op("aten::nll_loss2d_forward", "-", |_, args| nll(&args).map(pair)),
    op("aten::cross_entropy_loss", "-", |_, args| {
        let (input, target, smoothing) = (args.tensor(0)?, args.tensor(1)?, args.real(5)?);
        let number = args.int(3)?;
        let of_chances = input.sizes() == target.sizes() || smoothing > 0.0;
        if of_chances && Reduction::from_number(number).is_none() {
            let message = format!("Invalid reduction type encountered in cross_entropy: {number}");
            return Err(Raise::message(message));
        }
        made(kernels::cross_entropy_loss(input, target, classes(&args)?, smoothing))
    }),
    op("aten::multi_margin_loss", "-", |_, args| {
        let options = ClassLoss {
            weight: args.optional_tensor(4)?,
            reduction: class_reduction(&args, 5)?,
            ignore_index: -1,
        };
        let (input, target) = (args.tensor(0)?, args.tensor(1)?);
        made(kernels::multi_margin_loss(input, target, args.real(2)?, args.real(3)?, options))
    }),
    op("aten::multilabel_margin_loss", "-", |_, args| {
        multilabel(&args).map(|(loss, _)| IValue::Tensor(loss))
    }),
    op("aten::multilabel_margin_loss_forward", "-", |_, args| multilabel(&args).map(pair)),
    op("aten::ctc_loss", "IntList", |_, args| ctc(&args, &args.ints(2)?, &args.ints(3)?)),
    op("aten::ctc_loss", "Tensor", |_, args| {
        let lengths = |index: usize| -> Result<Vec<i64>> {
            let lengths = args.tensor(index)?;
            if !lengths.dtype().is_integral() {
                return Err(Raise::message("input_lengths must be integral"));
            }
            let lengths = lengths.to_dtype(kernels::DType::Int64).map_err(kernel)?;
            lengths.to_vec::<i64>().map_err(kernel)
        };
        ctc(&args, &lengths(2)?, &lengths(3)?)
    }),
    op("aten::one_hot", "-", |context, args| {
        context.budget().check_sizes(&[args.int(1)?.max(0), args.tensor(0)?.numel()])?;
        made(kernels::one_hot(args.tensor(0)?, args.int(1)?))
    }),
    op("aten::cosine_similarity", "-", |_, args| {
        let (a, b) = (args.tensor(0)?, args.tensor(1)?);
        made(kernels::cosine_similarity(a, b, args.int(2)?, args.real(3)?))
    }),
    op("aten::pairwise_distance", "-", |_, args| {
        let (a, b) = (args.tensor(0)?, args.tensor(1)?);
        made(kernels::pairwise_distance(a, b, args.real(2)?, args.real(3)?, args.bool(4)?))
    }),
    op("aten::cdist", "-", |_, args| distances(&args)),
    op("aten::_cdist_forward", "-", |_, args| distances(&args)),
    op("aten::_euclidean_dist", "-", |_, args| {
        made(kernels::cdist(args.tensor(0)?, args.tensor(1)?, 2.0))
    }),
    op("aten::pdist", "-", |_, args| made(kernels::pdist(args.tensor(0)?, args.real(1)?))),
    op("aten::_pdist_forward", "-", |_, args| made(kernels::pdist(args.tensor(0)?, args.real(1)?))),
];

/// Between all pairs of rows. All ways to compute them give the same.
fn distances(args: &Args<'_>) -> Result {
    match args.optional_int(3)? {
        None | Some(0..=2) => made(kernels::cdist(args.tensor(0)?, args.tensor(1)?, args.real(2)?)),
        Some(mode) => Err(Raise::message(format!("possible modes: 0, 1, 2, but was: {mode}"))),
    }
}

/// Most losses are given as they are for any number that stands for no reduction.
fn reduction(args: &Args<'_>, index: usize) -> Result<Reduction> {
    Ok(Reduction::from_number(args.int(index)?).unwrap_or(Reduction::None))
}

/// Losses over classes are summed for any such number.
fn class_reduction(args: &Args<'_>, index: usize) -> Result<Reduction> {
    Ok(Reduction::from_number(args.int(index)?).unwrap_or(Reduction::Sum))
}

fn known_reduction(args: &Args<'_>, index: usize) -> Result<Reduction> {
    let number = args.int(index)?;
    Reduction::from_number(number)
        .ok_or_else(|| Raise::unsupported(format!("the reduction of number {number}")))
}

fn pair((first, second): (Tensor, Tensor)) -> IValue {
    IValue::tuple(vec![IValue::Tensor(first), IValue::Tensor(second)])
}

type Simple = fn(&Tensor, &Tensor, Reduction) -> kernels::Result<Tensor>;

/// Of an input and a target.
fn simple(args: &Args<'_>, loss: Simple) -> Result {
    made(loss(args.tensor(0)?, args.tensor(1)?, reduction(args, 2)?))
}

/// Of an input and a target, and of a known reduction.
fn strict(args: &Args<'_>, loss: Simple) -> Result {
    made(loss(args.tensor(0)?, args.tensor(1)?, known_reduction(args, 2)?))
}

/// Weight, reduction and ignored class after input and target.
fn classes<'a>(args: &'a Args<'_>) -> Result<ClassLoss<'a>> {
    Ok(ClassLoss {
        weight: args.optional_tensor(2)?,
        reduction: class_reduction(args, 3)?,
        ignore_index: args.int(4)?,
    })
}

fn nll(args: &Args<'_>) -> Result<(Tensor, Tensor)> {
    kernels::nll_loss(args.tensor(0)?, args.tensor(1)?, classes(args)?).map_err(kernel)
}

fn multilabel(args: &Args<'_>) -> Result<(Tensor, Tensor)> {
    let (input, target) = (args.tensor(0)?, args.tensor(1)?);
    kernels::multilabel_margin_loss(input, target, class_reduction(args, 2)?).map_err(kernel)
}

fn ctc(args: &Args<'_>, input_lengths: &[i64], target_lengths: &[i64]) -> Result {
    let options = Ctc {
        input_lengths,
        target_lengths,
        blank: args.int(4)?,
        reduction: reduction(args, 5)?,
        zero_infinity: args.bool(6)?,
    };
    made(kernels::ctc_loss(args.tensor(0)?, args.tensor(1)?, &options))
}

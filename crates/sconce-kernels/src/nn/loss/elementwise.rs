//! Losses that are computed element by element and then reduced.

use num_traits::Float;
use sconce_kernel_core::layout::shape::broadcast;
use sconce_kernel_core::tensor::promotion::{check_cast, int_to_float};
use sconce_kernel_core::vecmath::accuracy::{Accuracy, DoubleAccuracy, SingleAccuracy};

use crate::elementwise::activation::log_sigmoid_of;
use crate::elementwise::any_dtype::{rounding_pairs, zip_float_each};
use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::elementwise::in_place::{binary_in_place, check_store};
use crate::elementwise::unary::unary;
use crate::elementwise::unary_op::UnaryOp;
use crate::reduction::distance::pairwise_distance;
use crate::{
    DType, Dims, Error, Operand, Result, Scalar, Tensor, masked_fill, mean, result_type, sum,
};

/// What becomes of the losses of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// All are given.
    None,
    /// Their mean is given.
    Mean,
    /// Their sum is given.
    Sum,
}

impl Reduction {
    /// What `at::Reduction` numbers so.
    pub fn from_number(number: i64) -> Option<Reduction> {
        Some(match number {
            0 => Reduction::None,
            1 => Reduction::Mean,
            2 => Reduction::Sum,
            _ => return None,
        })
    }

    /// The losses reduced.
    pub(crate) fn of(self, losses: &Tensor) -> Result<Tensor> {
        match self {
            Reduction::None => Ok(losses.clone()),
            Reduction::Mean => mean(losses, &[], false, None),
            Reduction::Sum => sum(losses, &[], false, None),
        }
    }
}

/// A function of broadcast pairs, given for each type that is computed in, as the dtype that both
/// promote to.
fn pointwise(
    kernel: &str,
    a: &Tensor,
    b: &Tensor,
    single: impl Fn(f32, f32) -> f32 + Copy + Sync,
    double: impl Fn(f64, f64) -> f64 + Copy + Sync,
) -> Result<Tensor> {
    let dtype = result_type(&[a.into(), b.into()])?;
    if !dtype.is_floating_point() {
        return Err(Error::no_kernel(kernel, dtype));
    }
    zip_float_each(kernel, a.into(), b.into(), single, double)
}

fn op(op: BinaryOp, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(op, a.into(), b.into())
}

fn with(op: BinaryOp, a: &Tensor, b: f64) -> Result<Tensor> {
    binary(op, a.into(), b.into())
}

/// What is below 0 becomes 0; NaN stays.
fn clamp_min(x: &Tensor) -> Result<Tensor> {
    binary(BinaryOp::Maximum, x.into(), Scalar::Int(0).into())
}

/// `torch.nn.functional.l1_loss`.
///
/// # Errors
/// Where sizes do not broadcast.
pub fn l1_loss(input: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    let dtype = result_type(&[input.into(), target.into()])?;
    let is_bool = |tensor: &Tensor| tensor.dtype() == DType::Bool;
    if !dtype.is_floating_point() || is_bool(input) || is_bool(target) {
        return reduction.of(&unary(UnaryOp::Abs, &op(BinaryOp::Sub, input, target)?)?);
    }
    let apart = (|x: f32, y: f32| (x - y).abs(), |x: f64, y: f64| (x - y).abs());
    reduction.of(&pointwise("sub_cpu", input, target, apart.0, apart.1)?)
}

/// `torch.nn.functional.mse_loss`.
///
/// # Errors
/// Where sizes do not broadcast, and for integers.
pub fn mse_loss(input: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    let (single, double) = (squared_difference::<f32>, squared_difference::<f64>);
    reduction.of(&pointwise("mse_cpu", input, target, single, double)?)
}

#[inline(always)]
fn squared_difference<F: Float>(x: F, y: F) -> F {
    (x - y) * (x - y)
}

/// `torch.nn.functional.smooth_l1_loss`.
///
/// # Errors
/// Where sizes do not broadcast, for integers and a negative `beta`.
pub fn smooth_l1_loss(
    input: &Tensor,
    target: &Tensor,
    reduction: Reduction,
    beta: f64,
) -> Result<Tensor> {
    if beta.is_nan() || beta < 0.0 {
        let message = "smooth_l1_loss does not support negative values for beta.";
        return Err(Error::runtime(message));
    }
    if beta == 0.0 {
        return l1_loss(input, target, reduction);
    }
    let narrow = beta as f32;
    let single = move |x, y| smooth_difference::<f32>(x, y, narrow);
    let double = move |x, y| smooth_difference::<f64>(x, y, beta);
    reduction.of(&pointwise("smooth_l1_cpu", input, target, single, double)?)
}

#[inline(always)]
fn smooth_difference<F: Float + From<f32>>(x: F, y: F, beta: F) -> F {
    let half: F = 0.5.into();
    let z = (x - y).abs();
    if z < beta { half * z * z / beta } else { z - half * beta }
}

/// `torch.nn.functional.huber_loss`.
///
/// # Errors
/// Where sizes do not broadcast, for integers and a `delta` that is not positive.
pub fn huber_loss(
    input: &Tensor,
    target: &Tensor,
    reduction: Reduction,
    delta: f64,
) -> Result<Tensor> {
    if delta.is_nan() || delta <= 0.0 {
        let message = "huber_loss does not support non-positive values for delta.";
        return Err(Error::runtime(message));
    }
    let narrow = delta as f32;
    let single = move |x, y| bounded_difference::<f32>(x, y, narrow);
    let double = move |x, y| bounded_difference::<f64>(x, y, delta);
    check_cast(result_type(&[input.into(), target.into()])?, input.dtype())?;
    let losses = pointwise("huber_cpu", input, target, single, double)?;
    reduction.of(&losses.to_dtype(input.dtype())?)
}

#[inline(always)]
fn bounded_difference<F: Float + From<f32>>(x: F, y: F, delta: F) -> F {
    let half: F = 0.5.into();
    let z = (x - y).abs();
    if z < delta { half * z * z } else { delta * (z - half * delta) }
}

/// `torch.nn.functional.soft_margin_loss`.
///
/// # Errors
/// Where the losses do not fit into a tensor like the input.
pub fn soft_margin_loss(input: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    // The negative numbers are stored as the input is: those of bytes do not wrap around.
    let whole = target.dtype().is_integral() || target.dtype() == DType::Bool;
    let target = if whole { target.to_dtype(input.dtype())? } else { target.clone() };
    let product = op(BinaryOp::Mul, &unary(UnaryOp::Neg, &target)?, input)?;
    check_store(input, product.sizes(), int_to_float(product.dtype()))?;
    let product = product.to_dtype(input.dtype())?;
    reduction.of(&unary(UnaryOp::Log1p, &unary(UnaryOp::Exp, &product)?)?)
}

/// The losses times their weights, which change them, reduced.
fn weighed(losses: &Tensor, weight: Option<&Tensor>, reduction: Reduction) -> Result<Tensor> {
    if let Some(weight) = weight {
        binary_in_place(BinaryOp::Mul, losses, weight.into())?;
    }
    reduction.of(losses)
}

/// `torch.nn.functional.binary_cross_entropy`.
///
/// # Errors
/// For chances outside [0, 1], for integers, and where sizes do not broadcast.
pub fn binary_cross_entropy(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: Reduction,
) -> Result<Tensor> {
    if target.dtype() != input.dtype() {
        return Err(Error::runtime(format!(
            "Found dtype {} but expected {}",
            target.dtype().scalar_type_name(),
            input.dtype().scalar_type_name()
        )));
    }
    if !input.dtype().is_floating_point() {
        return Err(Error::no_kernel("binary_cross_entropy", input.dtype()));
    }
    for (tensor, name) in [(input, "input"), (target, "target")] {
        if !are_chances(tensor)? {
            let message = format!("all elements of {name} should be between 0 and 1");
            return Err(Error::runtime(message));
        }
    }
    let (single, double) = (rounding_pairs(entropy::<SingleAccuracy>), entropy::<DoubleAccuracy>);
    let losses = match input.sizes() == target.sizes() {
        true => pointwise("binary_cross_entropy", input, target, single, double)?,
        // Dimensions of size 1 count for nothing.
        false => {
            let (narrow, target) = (squeezed(input)?, squeezed(target)?);
            let losses = pointwise("binary_cross_entropy", &narrow, &target, single, double)?;
            check_store(&narrow, losses.sizes(), losses.dtype())?;
            losses.reshape(input.sizes())?
        }
    };
    weighed(&losses, weight, reduction)
}

/// Without its dimensions of size 1.
fn squeezed(tensor: &Tensor) -> Result<Tensor> {
    let sizes: Dims = tensor.sizes().iter().copied().filter(|&size| size != 1).collect();
    tensor.reshape(&sizes)
}

/// Whether all elements are from 0 to 1.
fn are_chances(input: &Tensor) -> Result<bool> {
    fn all<F: Float>(chances: &[F]) -> bool {
        chances.iter().fold(true, |all, &x| all & (x >= F::zero()) & (x <= F::one()))
    }
    let input = input.contiguous()?;
    Ok(match input.dtype() {
        DType::Float64 => all::<f64>(&input.read()?),
        _ => all::<f32>(&input.to_dtype(DType::Float32)?.read()?),
    })
}

/// [`binary_cross_entropy`] of a chance and what it should be.
#[inline(always)]
fn entropy<M: Accuracy>(x: f64, y: f64) -> f64 {
    (y - 1.0) * M::ln_1p(-x).max(-100.0) - y * M::ln(x).max(-100.0)
}

/// `torch.nn.functional.binary_cross_entropy_with_logits`.
///
/// # Errors
/// For integers, and where sizes do not broadcast.
pub fn binary_cross_entropy_with_logits(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    pos_weight: Option<&Tensor>,
    reduction: Reduction,
) -> Result<Tensor> {
    if !input.dtype().is_floating_point() {
        return Err(Error::no_kernel("log_sigmoid_cpu", input.dtype()));
    }
    let both = [input.into(), target.into()];
    check_store(target, &broadcast(input.sizes(), target.sizes())?, result_type(&both)?)?;
    let Some(pos_weight) = pos_weight else {
        let (single, double) = (
            rounding_pairs(entropy_of_logit::<SingleAccuracy>),
            entropy_of_logit::<DoubleAccuracy>,
        );
        let losses = pointwise("binary_cross_entropy_with_logits", input, target, single, double)?;
        return weighed(&losses.to_dtype(target.dtype())?, weight, reduction);
    };
    let less = binary(BinaryOp::Sub, pos_weight.into(), Scalar::Int(1).into())?;
    let factor = op(BinaryOp::Mul, &less, target)?;
    let factor = binary(BinaryOp::Add, (&factor).into(), Scalar::Int(1).into())?;
    let both = [input.into(), (&factor).into()];
    check_store(input, &broadcast(input.sizes(), factor.sizes())?, result_type(&both)?)?;
    let (single, double) = (rounding_pairs(unwanted), unwanted);
    let first = pointwise("binary_cross_entropy_with_logits", input, target, single, double)?;
    let (single, double) = (rounding_pairs(wanted::<SingleAccuracy>), wanted::<DoubleAccuracy>);
    let second = pointwise("binary_cross_entropy_with_logits", input, &factor, single, double)?;
    let losses = op(BinaryOp::Sub, &first, &second)?;
    weighed(&losses.to_dtype(target.dtype())?, weight, reduction)
}

/// [`binary_cross_entropy_with_logits`] of a logit and what its chance should be.
#[inline(always)]
fn entropy_of_logit<M: Accuracy>(x: f64, y: f64) -> f64 {
    unwanted(x, y) - log_sigmoid_of::<M>(x)
}

#[inline(always)]
fn unwanted(x: f64, y: f64) -> f64 {
    (1.0 - y) * x
}

#[inline(always)]
fn wanted<M: Accuracy>(x: f64, factor: f64) -> f64 {
    factor * log_sigmoid_of::<M>(x)
}

/// `torch.nn.functional.kl_div`.
///
/// # Errors
/// For integers, and where sizes do not broadcast.
pub fn kl_div(
    input: &Tensor,
    target: &Tensor,
    reduction: Reduction,
    log_target: bool,
) -> Result<Tensor> {
    let dtypes = [input.dtype(), target.dtype()];
    if dtypes.iter().any(|dtype| dtype.is_complex()) {
        return Err(Error::runtime("kl_div: Complex inputs not supported."));
    }
    if dtypes.iter().any(|dtype| !dtype.is_floating_point()) {
        return Err(Error::runtime("kl_div: Integral inputs not supported."));
    }
    let losses = match log_target {
        true => {
            let single = rounding_pairs(divergence_of_logs::<SingleAccuracy>);
            pointwise("kl_div", input, target, single, divergence_of_logs::<DoubleAccuracy>)?
        }
        false => {
            let single = rounding_pairs(divergence::<SingleAccuracy>);
            pointwise("kl_div", input, target, single, divergence::<DoubleAccuracy>)?
        }
    };
    reduction.of(&losses)
}

#[inline(always)]
fn divergence_of_logs<M: Accuracy>(x: f64, y: f64) -> f64 {
    M::exp(y) * (y - x)
}

#[inline(always)]
fn divergence<M: Accuracy>(x: f64, y: f64) -> f64 {
    let product = y * M::ln(y);
    (if y == 0.0 { 0.0 } else { product }) - y * x
}

/// `torch.nn.functional.hinge_embedding_loss`.
///
/// # Errors
/// For `bool` and complex numbers, and where sizes do not broadcast.
pub fn hinge_embedding_loss(
    input: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: Reduction,
) -> Result<Tensor> {
    let zero = Tensor::zeros(&[], input.dtype())?;
    let unless = |number: i64, losses: &Tensor| {
        let counts = binary(BinaryOp::Ne, target.into(), Scalar::Int(number).into())?;
        crate::where_(&counts, losses.into(), (&zero).into())
    };
    let margin = Tensor::scalar(margin.into(), input.dtype())?;
    let gap = clamp_min(&op(BinaryOp::Sub, &margin, input)?)?;
    reduction.of(&op(BinaryOp::Add, &unless(1, &gap)?, &unless(-1, input)?)?)
}

/// `torch.nn.functional.margin_ranking_loss`.
///
/// # Errors
/// Where sizes do not broadcast.
pub fn margin_ranking_loss(
    [first, second]: [&Tensor; 2],
    target: &Tensor,
    margin: f64,
    reduction: Reduction,
) -> Result<Tensor> {
    let gap = op(BinaryOp::Sub, first, second)?;
    let product = op(BinaryOp::Mul, &unary(UnaryOp::Neg, target)?, &gap)?;
    reduction.of(&clamp_min(&with(BinaryOp::Add, &product, margin)?)?)
}

/// `torch.nn.functional.cosine_embedding_loss`.
///
/// # Errors
/// Where sizes do not fit.
pub fn cosine_embedding_loss(
    [first, second]: [&Tensor; 2],
    target: &Tensor,
    margin: f64,
    reduction: Reduction,
) -> Result<Tensor> {
    if target.dim() > 1 {
        let message = "0D or 1D target tensor expected, multi-target not supported";
        return Err(Error::runtime(message));
    }
    let wanted = target.dim() + 1;
    if first.dim() != wanted || second.dim() != wanted {
        return Err(Error::runtime(format!(
            "{}D target tensor expects {wanted}D input tensors, but found inputs with sizes {:?} and \
             {:?}.",
            target.dim(),
            first.sizes(),
            second.sizes()
        )));
    }
    let over = [target.dim() as i64];
    let total = |a: &Tensor, b: &Tensor| sum(&op(BinaryOp::Mul, a, b)?, &over, false, None);
    let square = |x: &Tensor| with(BinaryOp::Add, &total(x, x)?, 1e-12);
    let norms = op(BinaryOp::Mul, &square(first)?, &square(second)?)?;
    let cosine = op(BinaryOp::Div, &total(first, second)?, &unary(UnaryOp::Sqrt, &norms)?)?;
    let zero = Tensor::zeros(cosine.sizes(), cosine.dtype())?;
    let alike = with(BinaryOp::Sub, &cosine, 1.0)?;
    let alike = unary(UnaryOp::Neg, &alike)?;
    let apart = clamp_min(&with(BinaryOp::Sub, &cosine, margin)?)?;
    let is = |number: i64| binary(BinaryOp::Eq, target.into(), Scalar::Int(number).into());
    let alike = crate::where_(&is(1)?, (&alike).into(), (&zero).into())?;
    let apart = crate::where_(&is(-1)?, (&apart).into(), (&zero).into())?;
    reduction.of(&op(BinaryOp::Add, &alike, &apart)?)
}

/// How [`triplet_margin_loss`] measures.
#[derive(Debug, Clone, Copy)]
pub struct Triplet {
    /// By how much the negative has to be further away.
    pub margin: f64,
    /// The norm.
    pub p: f64,
    /// Added to differences.
    pub eps: f64,
    /// Whether the positive may stand in for the anchor.
    pub swap: bool,
}

/// `torch.nn.functional.triplet_margin_loss`.
///
/// # Errors
/// Where sizes do not fit.
pub fn triplet_margin_loss(
    [anchor, positive, negative]: [&Tensor; 3],
    options: Triplet,
    reduction: Reduction,
) -> Result<Tensor> {
    if anchor.dim() != positive.dim() || anchor.dim() != negative.dim() {
        return Err(Error::runtime(format!(
            "The anchor, positive, and negative tensors are expected to have the same number of \
             dimensions, but got: anchor {}D, positive {}D, and negative {}D inputs",
            anchor.dim(),
            positive.dim(),
            negative.dim()
        )));
    }
    let distance = |a: &Tensor, b: &Tensor| pairwise_distance(a, b, options.p, options.eps, false);
    let near = distance(anchor, positive)?;
    let mut far = distance(anchor, negative)?;
    if options.swap {
        far = op(BinaryOp::Minimum, &far, &distance(positive, negative)?)?;
    }
    let gap = op(BinaryOp::Sub, &with(BinaryOp::Add, &near, options.margin)?, &far)?;
    reduction.of(&clamp_min(&gap)?)
}

/// `torch.nn.functional.poisson_nll_loss`.
///
/// # Errors
/// Where sizes do not broadcast.
pub fn poisson_nll_loss(
    input: &Tensor,
    target: &Tensor,
    log_input: bool,
    full: bool,
    eps: f64,
    reduction: Reduction,
) -> Result<Tensor> {
    let mut losses = match log_input {
        true => {
            op(BinaryOp::Sub, &unary(UnaryOp::Exp, input)?, &op(BinaryOp::Mul, target, input)?)?
        }
        false => {
            let log = unary(UnaryOp::Log, &with(BinaryOp::Add, input, eps)?)?;
            op(BinaryOp::Sub, input, &op(BinaryOp::Mul, target, &log)?)?
        }
    };
    if full {
        let product = op(BinaryOp::Mul, target, &unary(UnaryOp::Log, target)?)?;
        let turns = with(BinaryOp::Mul, target, std::f64::consts::TAU)?;
        let half = with(BinaryOp::Mul, &unary(UnaryOp::Log, &turns)?, 0.5)?;
        let term = op(BinaryOp::Add, &op(BinaryOp::Sub, &product, target)?, &half)?;
        let small = binary(BinaryOp::Le, target.into(), Scalar::Int(1).into())?;
        let term = masked_fill(&term, &small, Operand::Scalar(Scalar::Int(0)))?;
        losses = op(BinaryOp::Add, &losses, &term)?;
    }
    reduction.of(&losses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_losses_are_pytorchs() {
        type Loss = fn(&Tensor, &Tensor, Reduction) -> Result<Tensor>;
        let cases: [(&str, f32, Loss); 8] = [
            ("mse", 0.416_666_66, mse_loss),
            ("l1", 0.5, l1_loss),
            ("smooth l1", 0.208_333_33, |x, y, r| smooth_l1_loss(x, y, r, 1.0)),
            ("huber", 0.208_333_33, |x, y, r| huber_loss(x, y, r, 1.0)),
            ("soft margin", 0.304_755_57, soft_margin_loss),
            ("hinge", 1.5, |x, y, r| hinge_embedding_loss(x, y, 1.0, r)),
            ("poisson", 1.968_552_2, |x, y, r| poisson_nll_loss(x, y, true, false, 1e-8, r)),
            ("logits", -0.028_577_75, |x, y, r| {
                binary_cross_entropy_with_logits(x, y, None, None, r)
            }),
        ];
        let input = Tensor::from_slice(&[0.5f32, -1.0, 2.0], &[3]).unwrap();
        let target = Tensor::from_slice(&[1f32, -1.0, 1.0], &[3]).unwrap();
        for (name, expected, loss) in cases {
            let found = loss(&input, &target, Reduction::Mean).unwrap().to_vec::<f32>().unwrap();
            assert!((found[0] - expected).abs() < 1e-6, "{name}: {found:?} is not {expected}");
        }
    }

    #[test]
    fn chances_outside_their_range_are_refused() {
        let wrong = Tensor::from_slice(&[0.5f32, 1.5], &[2]).unwrap();
        let right = Tensor::from_slice(&[0.5f32, 1.0], &[2]).unwrap();
        for (input, target) in [(&wrong, &right), (&right, &wrong)] {
            assert!(binary_cross_entropy(input, target, None, Reduction::Mean).is_err());
        }
    }

    #[test]
    fn losses_that_do_not_fit_are_refused() {
        let of = |sizes: &[i64], dtype| Tensor::zeros(sizes, dtype).unwrap();
        let (row, rows) = (of(&[3], DType::Float32), of(&[2, 3], DType::Float32));
        let (whole, wide) = (of(&[3], DType::Int64), of(&[3], DType::Float64));
        let logits = |x: &Tensor, y: &Tensor, weight, pos_weight| {
            binary_cross_entropy_with_logits(x, y, weight, pos_weight, Reduction::Mean).is_err()
        };
        let none = Reduction::None;
        for (at, refused) in [
            soft_margin_loss(&row, &rows, none).is_err(),
            soft_margin_loss(&whole, &row, none).is_err(),
            huber_loss(&whole, &row, none, 1.0).is_err(),
            kl_div(&row, &whole, none, false).is_err(),
            binary_cross_entropy(&row, &rows, None, none).is_err(),
            binary_cross_entropy(&row, &wide, None, none).is_err(),
            logits(&rows, &row, None, None),
            logits(&row, &row, Some(&rows), None),
            logits(&row, &row, None, Some(&rows)),
            logits(&whole, &row, None, None),
        ]
        .into_iter()
        .enumerate()
        {
            assert!(refused, "{at}");
        }
        let kept = huber_loss(&row, &wide, none, 1.0).unwrap();
        assert_eq!(kept.dtype(), DType::Float32);
    }
}

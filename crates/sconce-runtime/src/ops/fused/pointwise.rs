//! Chains of element-wise operators as one private operator, and which operators may be its steps.

use sconce_kernels as kernels;
use sconce_kernels::{BinaryOp, MAX_OPERANDS, Operand, PointwiseOp, PointwiseStep, UnaryOp};
use smallvec::SmallVec;

use crate::error::{Error, Raise};
use crate::ops::tensor::operands::kernel;
use crate::ops::{Args, Table};
use crate::value::ivalue::IValue;

/// A chain: the steps, [`STEP_NUMBERS`] for each, and their inputs.
pub(crate) const POINTWISE: &str = "sconce::pointwise";

/// An operator that may be a step of a chain.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) symbol: &'static str,
    pub(crate) overloads: &'static str,
    /// What one of the operands has to be, by its place: a string, or `None`.
    pub(crate) when: Option<(usize, Option<&'static str>)>,
    pub(crate) op: PointwiseOp,
    /// The places of the step's operands among the operator's.
    pub(crate) operands: &'static [usize],
}

const fn step(symbol: &'static str, overloads: &'static str, op: PointwiseOp) -> Step {
    let operands: &[usize] = match op.arity() {
        1 => &[0],
        2 => &[0, 1],
        3 => &[0, 1, 2],
        _ => &[0, 1, 2, 3],
    };
    Step { symbol, overloads, when: None, op, operands }
}

const fn one(symbol: &'static str, op: UnaryOp) -> Step {
    step(symbol, "-", PointwiseOp::Unary(op))
}

const fn two(symbol: &'static str, overloads: &'static str, op: BinaryOp) -> Step {
    step(symbol, overloads, PointwiseOp::Binary(op))
}

const fn when(place: usize, is: Option<&'static str>, line: Step) -> Step {
    Step { when: Some((place, is)), ..line }
}

const fn taking(operands: &'static [usize], line: Step) -> Step {
    Step { operands, ..line }
}

/// The operators. Of several lines for one the first counts whose condition holds.
pub(crate) const STEPS: &[Step] = &[
    step("aten::add", "Tensor Scalar", PointwiseOp::Add),
    step("aten::sub", "Tensor Scalar", PointwiseOp::Sub),
    taking(&[1, 0, 2], step("aten::rsub", "Tensor Scalar", PointwiseOp::Sub)),
    two("aten::mul", "Tensor Scalar", BinaryOp::Mul),
    two("aten::div", "Tensor Scalar", BinaryOp::Div),
    when(2, None, two("aten::div", "Tensor_mode Scalar_mode", BinaryOp::Div)),
    two("aten::pow", "Tensor_Tensor Tensor_Scalar Scalar", BinaryOp::Pow),
    two("aten::maximum", "-", BinaryOp::Maximum),
    two("aten::minimum", "-", BinaryOp::Minimum),
    two("aten::max", "other", BinaryOp::Maximum),
    two("aten::min", "other", BinaryOp::Minimum),
    two("aten::atan2", "-", BinaryOp::Atan2),
    two("aten::remainder", "Tensor Scalar", BinaryOp::Remainder),
    two("aten::fmod", "Tensor Scalar", BinaryOp::Fmod),
    two("aten::eq", "Tensor Scalar", BinaryOp::Eq),
    two("aten::ne", "Tensor Scalar", BinaryOp::Ne),
    two("aten::lt", "Tensor Scalar", BinaryOp::Lt),
    two("aten::le", "Tensor Scalar", BinaryOp::Le),
    two("aten::gt", "Tensor Scalar", BinaryOp::Gt),
    two("aten::ge", "Tensor Scalar", BinaryOp::Ge),
    one("aten::neg", UnaryOp::Neg),
    one("aten::abs", UnaryOp::Abs),
    one("aten::sign", UnaryOp::Sign),
    one("aten::square", UnaryOp::Square),
    one("aten::exp", UnaryOp::Exp),
    one("aten::expm1", UnaryOp::Expm1),
    one("aten::log", UnaryOp::Log),
    one("aten::log2", UnaryOp::Log2),
    one("aten::log10", UnaryOp::Log10),
    one("aten::log1p", UnaryOp::Log1p),
    one("aten::sqrt", UnaryOp::Sqrt),
    one("aten::rsqrt", UnaryOp::Rsqrt),
    one("aten::reciprocal", UnaryOp::Reciprocal),
    one("aten::sin", UnaryOp::Sin),
    one("aten::cos", UnaryOp::Cos),
    one("aten::tanh", UnaryOp::Tanh),
    one("aten::sigmoid", UnaryOp::Sigmoid),
    one("aten::erf", UnaryOp::Erf),
    one("aten::floor", UnaryOp::Floor),
    one("aten::ceil", UnaryOp::Ceil),
    one("aten::round", UnaryOp::Round),
    one("aten::trunc", UnaryOp::Trunc),
    one("aten::relu", UnaryOp::Relu),
    one("aten::relu6", UnaryOp::Relu6),
    one("aten::silu", UnaryOp::Silu),
    one("aten::mish", UnaryOp::Mish),
    one("aten::hardsigmoid", UnaryOp::Hardsigmoid),
    one("aten::hardswish", UnaryOp::Hardswish),
    when(1, Some("none"), one("aten::gelu", UnaryOp::Gelu)),
    when(1, Some("tanh"), one("aten::gelu", UnaryOp::GeluTanh)),
    when(2, None, step("aten::clamp", "- Tensor", PointwiseOp::ClampMin)),
    when(1, None, taking(&[0, 2], step("aten::clamp", "- Tensor", PointwiseOp::ClampMax))),
    step("aten::clamp", "- Tensor", PointwiseOp::Clamp),
    step("aten::clamp_min", "- Tensor", PointwiseOp::ClampMin),
    step("aten::clamp_max", "- Tensor", PointwiseOp::ClampMax),
    step("aten::hardtanh", "-", PointwiseOp::Hardtanh),
    step("aten::leaky_relu", "-", PointwiseOp::LeakyRelu),
    step("aten::elu", "-", PointwiseOp::Elu),
    step("aten::softplus", "-", PointwiseOp::Softplus),
    step("aten::addcmul", "-", PointwiseOp::Addcmul),
    step("aten::addcdiv", "-", PointwiseOp::Addcdiv),
    step("aten::lerp", "Scalar Tensor", PointwiseOp::Lerp),
    step("sconce::add", "-", PointwiseOp::Onto(BinaryOp::Add)),
    step("sconce::mul", "-", PointwiseOp::Onto(BinaryOp::Mul)),
    step("aten::where", "self ScalarOther ScalarSelf", PointwiseOp::Where),
    step("aten::masked_fill", "Scalar Tensor", PointwiseOp::MaskedFill),
];

/// How many numbers stand for a step: its place in [`STEPS`], its operands, and whether it is a
/// result.
pub(crate) const STEP_NUMBERS: usize = MAX_OPERANDS + 2;

/// The most steps of a chain.
pub(crate) const MAX_STEPS: usize = 48;

pub(crate) const TABLE: Table = &[(POINTWISE, "-", |_, args| run(&args))];

fn run(args: &Args<'_>) -> Result<IValue, Raise> {
    let program = args.tensor(0)?.read::<i64>().map_err(kernel)?;
    // Neither list is moved once it is made: for small tensors that would take as long as the rest.
    let mut steps: SmallVec<[PointwiseStep; 16]> = SmallVec::new();
    for numbers in program.as_chunks::<STEP_NUMBERS>().0 {
        steps.push(step_of_numbers(numbers).ok_or_else(|| {
            Raise::Error(Error::Malformed("a chain with a step that is none".to_owned()))
        })?);
    }
    let mut inputs: SmallVec<[Operand<'_>; 16]> = SmallVec::new();
    for place in 1..args.len() {
        inputs.push(args.operand(place)?);
    }
    let mut results = kernels::fused_pointwise(&steps, &inputs).map_err(kernel)?;
    Ok(match results.len() {
        1 => results.pop().map_or(IValue::None, IValue::Tensor),
        _ => IValue::tuple(results.into_iter().map(IValue::Tensor).collect()),
    })
}

fn step_of_numbers(numbers: &[i64; STEP_NUMBERS]) -> Option<PointwiseStep> {
    let [line, a, b, c, d, is_result] = numbers.map(|number| usize::try_from(number).ok());
    let op = STEPS.get(line?)?.op;
    Some(PointwiseStep { op, operands: [a?, b?, c?, d?], is_result: is_result? != 0 })
}

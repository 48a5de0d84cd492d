//! Element-wise operators that follow one another, as one private operator.

use sconce_kernels as kernels;
use sconce_kernels::{MAX_OPERANDS, Operand, PointwiseStep};
use smallvec::SmallVec;

use crate::error::{Error, Raise, kernel};
use crate::ops::descriptor::{Table, op};
use crate::ops::fused::operator_name;
use crate::ops::{Args, FUSED_STEPS};
use crate::value::IValue;

/// A chain: the steps, [`STEP_NUMBERS`] for each, and their inputs.
pub(crate) const POINTWISE: &str = "sconce::pointwise";

/// How many numbers stand for a step: its place in [`FUSED_STEPS`], its operands, and whether it is a
/// result.
pub(crate) const STEP_NUMBERS: usize = MAX_OPERANDS + 2;

/// The most steps of a chain.
pub(crate) const MAX_STEPS: usize = 48;

pub(crate) const TABLE: Table = &[op(POINTWISE, "-", |_, args| run(&args)).steps(steps)];

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

fn steps(operands: &[Option<&IValue>]) -> Vec<&'static str> {
    let Some(Some(IValue::Tensor(program))) = operands.first() else { return Vec::new() };
    let Ok(numbers) = program.read::<i64>() else { return Vec::new() };
    let lines = numbers.as_chunks::<STEP_NUMBERS>().0.iter().map(|numbers| numbers[0]);
    lines
        .filter_map(|line| FUSED_STEPS.get(usize::try_from(line).ok()?))
        .map(|step| operator_name(step.symbol))
        .collect()
}

fn step_of_numbers(numbers: &[i64; STEP_NUMBERS]) -> Option<PointwiseStep> {
    let [line, a, b, c, d, is_result] = numbers.map(|number| usize::try_from(number).ok());
    let op = FUSED_STEPS.get(line?)?.fusion.op;
    Some(PointwiseStep { op, operands: [a?, b?, c?, d?], is_result: is_result? != 0 })
}

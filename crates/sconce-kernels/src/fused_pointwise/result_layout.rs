//! The strides of the results of a fused chain: those that each operator alone would give.
//!
//! Kernels go through memory row by row. Where inputs have another layout, their dimensions are
//! permuted to the order in which the result lies in memory, and the dimensions of the results are
//! permuted back.

use sconce_kernel_core::iter::permutation::Permutation;
use sconce_kernel_core::layout::shape::{broadcast, contiguous_strides};
use sconce_kernel_core::layout::strides::strides_of_result;
use smallvec::SmallVec;

use super::{MAX_OPERANDS, PointwiseOp, PointwiseResults, PointwiseStep};
use crate::{BinaryOp, Dims, Operand, Result, ResultLayout, Tensor, UnaryOp};

/// What the strides of a step's result follow from.
#[derive(Clone, Copy)]
enum StrideRule {
    /// As many of its operands, numbers among them.
    Numbers(usize),
    /// Those of its operands that are tensors.
    Tensors,
    /// All of its operands, the first of which is a condition.
    Choice,
    /// The first operand, of which it is a copy.
    Copy,
    RowMajor,
}

const fn rule(op: PointwiseOp) -> StrideRule {
    match op {
        PointwiseOp::Unary(UnaryOp::Relu6) | PointwiseOp::Hardtanh => StrideRule::Copy,
        PointwiseOp::Binary(BinaryOp::Pow) => StrideRule::Tensors,
        PointwiseOp::Binary(_) | PointwiseOp::Onto(_) | PointwiseOp::Add | PointwiseOp::Sub => {
            StrideRule::Numbers(2)
        }
        PointwiseOp::Unary(_)
        | PointwiseOp::LeakyRelu
        | PointwiseOp::Elu
        | PointwiseOp::Softplus
        | PointwiseOp::Addcmul
        | PointwiseOp::Addcdiv
        | PointwiseOp::Lerp
        | PointwiseOp::Clamp
        | PointwiseOp::ClampMin
        | PointwiseOp::ClampMax => StrideRule::Tensors,
        PointwiseOp::Where => StrideRule::Choice,
        PointwiseOp::MaskedFill => StrideRule::RowMajor,
    }
}

/// What a step that runs alone has to do to its result.
pub(super) enum StepLayout {
    Iterated(ResultLayout),
    Strides(Dims),
    RowMajor,
    Nothing,
}

impl StepLayout {
    /// For a step of these operands.
    pub(super) fn of(op: PointwiseOp, operands: &[Operand<'_>]) -> StepLayout {
        if operands.iter().all(is_plain) {
            return StepLayout::Nothing;
        }
        let tensors = || operands.iter().copied().filter(|o| matches!(o, Operand::Tensor(_)));
        let iteration = match rule(op) {
            StrideRule::Numbers(count) => {
                ResultLayout::of(operands.get(..count).unwrap_or(operands))
            }
            StrideRule::Tensors if is_power_of_number(op, operands) => return StepLayout::RowMajor,
            StrideRule::Tensors => {
                ResultLayout::of(&tensors().collect::<SmallVec<[_; MAX_OPERANDS]>>())
            }
            StrideRule::Choice => {
                ResultLayout::of(operands).map(|iteration| iteration.unpromoted(1))
            }
            StrideRule::Copy => match operands.first() {
                Some(Operand::Tensor(first)) => {
                    return StepLayout::Strides(first.preserved_strides());
                }
                _ => None,
            },
            StrideRule::RowMajor => return StepLayout::RowMajor,
        };
        iteration.map_or(StepLayout::Nothing, StepLayout::Iterated)
    }

    /// The result with the strides that it takes.
    pub(super) fn lay_out(&self, result: Tensor) -> Result<Tensor> {
        match self {
            StepLayout::Iterated(iteration) => iteration.lay_out(result),
            StepLayout::Strides(strides) => result.with_strides(strides),
            StepLayout::RowMajor => {
                let strides = contiguous_strides(result.sizes());
                result.with_strides(&strides)
            }
            StepLayout::Nothing => Ok(result),
        }
    }
}

fn is_power_of_number(op: PointwiseOp, operands: &[Operand<'_>]) -> bool {
    op == PointwiseOp::Binary(BinaryOp::Pow) && matches!(operands.first(), Some(Operand::Scalar(_)))
}

pub(super) fn is_plain(operand: &Operand<'_>) -> bool {
    match operand {
        Operand::Tensor(tensor) => tensor.is_row_major(),
        Operand::Scalar(_) => true,
    }
}

/// Sizes and strides of an input, or of what a step gives.
struct ValueGeometry {
    sizes: Dims,
    strides: Dims,
    is_number: bool,
}

impl ValueGeometry {
    fn of_input(input: &Operand<'_>) -> ValueGeometry {
        match input {
            Operand::Tensor(tensor) => ValueGeometry {
                sizes: Dims::from_slice(tensor.sizes()),
                strides: Dims::from_slice(tensor.strides()),
                is_number: false,
            },
            Operand::Scalar(_) => {
                ValueGeometry { sizes: Dims::new(), strides: Dims::new(), is_number: true }
            }
        }
    }

    /// What a step gives whose operands are all of one dtype.
    fn of_step(step: &PointwiseStep, values: &[ValueGeometry]) -> Option<ValueGeometry> {
        let operands: SmallVec<[&ValueGeometry; MAX_OPERANDS]> =
            step.operands().iter().map(|&position| values.get(position)).collect::<Option<_>>()?;
        let mut sizes = Dims::new();
        for operand in &operands {
            sizes = broadcast(&sizes, &operand.sizes).ok()?;
        }
        let over = |operands: &mut dyn Iterator<Item = &&ValueGeometry>| {
            let geometries: SmallVec<[_; MAX_OPERANDS]> =
                operands.map(|geometry| (&geometry.sizes[..], &geometry.strides[..])).collect();
            strides_of_result(&geometries, &sizes)
        };
        let strides = match rule(step.op) {
            StrideRule::Numbers(count) => over(&mut operands.iter().take(count)),
            StrideRule::Choice => over(&mut operands.iter()),
            StrideRule::Tensors if operands.first()?.is_number => contiguous_strides(&sizes),
            StrideRule::Tensors => {
                over(&mut operands.iter().filter(|geometry| !geometry.is_number))
            }
            // A copy of what steps or inputs give that leave gaps is left to steps that run alone.
            StrideRule::Copy
                if sconce_kernel_core::layout::strides::is_dense(
                    &sizes,
                    &operands.first()?.strides,
                ) =>
            {
                operands.first()?.strides.clone()
            }
            StrideRule::Copy => return None,
            StrideRule::RowMajor => contiguous_strides(&sizes),
        };
        Some(ValueGeometry { sizes, strides, is_number: false })
    }
}

/// Inputs whose dimensions are in the order in which the result lies in memory, and what to do to
/// the results.
pub(super) struct PermutedInputs {
    permutation: Permutation,
    rank: usize,
    inputs: SmallVec<[Option<Tensor>; 16]>,
    /// Sizes and strides of the chain's results.
    results: SmallVec<[ValueGeometry; 2]>,
}

impl PermutedInputs {
    /// Turns inputs of one dtype, and masks; `None` where steps had better run alone.
    pub(super) fn new(steps: &[PointwiseStep], inputs: &[Operand<'_>]) -> Option<PermutedInputs> {
        let mut values: Vec<ValueGeometry> = inputs.iter().map(ValueGeometry::of_input).collect();
        for step in steps {
            let geometry = ValueGeometry::of_step(step, &values)?;
            values.push(geometry);
        }
        let last = values.last()?;
        let rank = last.sizes.len();
        if values.iter().any(|value| value.sizes.len() > rank) {
            return None;
        }
        let permutation = Permutation::of_strides(&last.strides);
        let permuted = |input: &Operand<'_>| match input {
            Operand::Tensor(tensor) if tensor.dim() > 0 => {
                let mut tensor = (*tensor).clone();
                while tensor.dim() < rank {
                    tensor = tensor.unsqueeze(0).ok()?;
                }
                Some(Some(permutation.permute(&tensor).ok()?))
            }
            _ => Some(None),
        };
        let permuted = inputs.iter().map(permuted).collect::<Option<_>>()?;
        let steps_of = values.drain(inputs.len()..).zip(steps);
        let results =
            steps_of.filter(|(_, step)| step.is_result).map(|(geometry, _)| geometry).collect();
        Some(PermutedInputs { permutation, rank, inputs: permuted, results })
    }

    /// The inputs, permuted.
    pub(super) fn inputs<'a>(&'a self, inputs: &[Operand<'a>]) -> SmallVec<[Operand<'a>; 16]> {
        let both = self.inputs.iter().zip(inputs);
        both.map(|(permuted, &input)| permuted.as_ref().map_or(input, Operand::Tensor)).collect()
    }

    /// The results, permuted back.
    ///
    /// # Errors
    /// Where memory is short.
    pub(super) fn undo(&self, results: PointwiseResults) -> Result<PointwiseResults> {
        let both = results.into_iter().zip(&self.results);
        both.map(|(result, geometry)| {
            let mut result =
                if result.dim() == self.rank { self.permutation.undo(&result)? } else { result };
            while result.dim() > geometry.sizes.len() {
                result = result.select(0, 0)?;
            }
            result.with_strides(&geometry.strides)
        })
        .collect()
    }
}

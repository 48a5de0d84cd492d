//! How the results of chains lie in memory: as they would if every step ran alone.
//!
//! Kernels go through memory row by row, so where inputs lie otherwise the dimensions of all of them
//! are turned into the order in which the result lies, and those of the results turned back.

use smallvec::SmallVec;

use super::{ChainOp, ChainResults, ChainStep, MOST_OPERANDS};
use crate::{BinaryOp, Dims, Iteration, Operand, Result, Tensor, UnaryOp};
use sconce_kernel_core::iter::permutation::Permutation;
use sconce_kernel_core::layout::shape::{broadcast, contiguous_strides};
use sconce_kernel_core::layout::strides::strides_of_result;

/// What the strides of a step's result follow from.
#[derive(Clone, Copy)]
enum Rule {
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

const fn rule(op: ChainOp) -> Rule {
    match op {
        ChainOp::Unary(UnaryOp::Relu6) | ChainOp::Hardtanh => Rule::Copy,
        ChainOp::Binary(BinaryOp::Pow) => Rule::Tensors,
        ChainOp::Binary(_) | ChainOp::Onto(_) | ChainOp::Add | ChainOp::Sub => Rule::Numbers(2),
        ChainOp::Unary(_)
        | ChainOp::LeakyRelu
        | ChainOp::Elu
        | ChainOp::Softplus
        | ChainOp::Addcmul
        | ChainOp::Addcdiv
        | ChainOp::Lerp
        | ChainOp::Clamp
        | ChainOp::ClampMin
        | ChainOp::ClampMax => Rule::Tensors,
        ChainOp::Where => Rule::Choice,
        ChainOp::MaskedFill => Rule::RowMajor,
    }
}

/// What a step that runs alone has to do to its result.
pub(super) enum Alone {
    Iterated(Iteration),
    Strides(Dims),
    RowMajor,
    Nothing,
}

impl Alone {
    /// For a step of these operands.
    pub(super) fn of(op: ChainOp, operands: &[Operand<'_>]) -> Alone {
        if operands.iter().all(is_plain) {
            return Alone::Nothing;
        }
        let tensors = || operands.iter().copied().filter(|o| matches!(o, Operand::Tensor(_)));
        let iteration = match rule(op) {
            Rule::Numbers(count) => Iteration::over(operands.get(..count).unwrap_or(operands)),
            Rule::Tensors if is_power_of_number(op, operands) => return Alone::RowMajor,
            Rule::Tensors => Iteration::over(&tensors().collect::<SmallVec<[_; MOST_OPERANDS]>>()),
            Rule::Choice => Iteration::over(operands).map(|iteration| iteration.unpromoted(1)),
            Rule::Copy => match operands.first() {
                Some(Operand::Tensor(first)) => return Alone::Strides(first.preserved_strides()),
                _ => None,
            },
            Rule::RowMajor => return Alone::RowMajor,
        };
        iteration.map_or(Alone::Nothing, Alone::Iterated)
    }

    /// The result with the strides that it takes.
    pub(super) fn lay_out(&self, result: Tensor) -> Result<Tensor> {
        match self {
            Alone::Iterated(iteration) => iteration.lay_out(result),
            Alone::Strides(strides) => result.with_strides(strides),
            Alone::RowMajor => {
                let strides = contiguous_strides(result.sizes());
                result.with_strides(&strides)
            }
            Alone::Nothing => Ok(result),
        }
    }
}

fn is_power_of_number(op: ChainOp, operands: &[Operand<'_>]) -> bool {
    op == ChainOp::Binary(BinaryOp::Pow) && matches!(operands.first(), Some(Operand::Scalar(_)))
}

pub(super) fn is_plain(operand: &Operand<'_>) -> bool {
    match operand {
        Operand::Tensor(tensor) => tensor.is_row_major(),
        Operand::Scalar(_) => true,
    }
}

/// Sizes and strides of an input, or of what a step gives.
struct Look {
    sizes: Dims,
    strides: Dims,
    is_number: bool,
}

impl Look {
    fn of_input(input: &Operand<'_>) -> Look {
        match input {
            Operand::Tensor(tensor) => Look {
                sizes: Dims::from_slice(tensor.sizes()),
                strides: Dims::from_slice(tensor.strides()),
                is_number: false,
            },
            Operand::Scalar(_) => {
                Look { sizes: Dims::new(), strides: Dims::new(), is_number: true }
            }
        }
    }

    /// What a step gives whose operands are all of one dtype.
    fn of_step(step: &ChainStep, values: &[Look]) -> Option<Look> {
        let operands: SmallVec<[&Look; MOST_OPERANDS]> =
            step.operands().iter().map(|&place| values.get(place)).collect::<Option<_>>()?;
        let mut sizes = Dims::new();
        for operand in &operands {
            sizes = broadcast(&sizes, &operand.sizes).ok()?;
        }
        let over = |operands: &mut dyn Iterator<Item = &&Look>| {
            let looks: SmallVec<[_; MOST_OPERANDS]> =
                operands.map(|look| (&look.sizes[..], &look.strides[..])).collect();
            strides_of_result(&looks, &sizes)
        };
        let strides = match rule(step.op) {
            Rule::Numbers(count) => over(&mut operands.iter().take(count)),
            Rule::Choice => over(&mut operands.iter()),
            Rule::Tensors if operands.first()?.is_number => contiguous_strides(&sizes),
            Rule::Tensors => over(&mut operands.iter().filter(|look| !look.is_number)),
            // A copy of what steps or inputs give that leave gaps is left to steps that run alone.
            Rule::Copy
                if sconce_kernel_core::layout::strides::is_dense(
                    &sizes,
                    &operands.first()?.strides,
                ) =>
            {
                operands.first()?.strides.clone()
            }
            Rule::Copy => return None,
            Rule::RowMajor => contiguous_strides(&sizes),
        };
        Some(Look { sizes, strides, is_number: false })
    }
}

/// Inputs whose dimensions are in the order in which the result lies in memory, and what to do to
/// the results.
pub(super) struct Turned {
    turn: Permutation,
    rank: usize,
    inputs: SmallVec<[Option<Tensor>; 16]>,
    /// Sizes and strides of the chain's results.
    results: SmallVec<[Look; 2]>,
}

impl Turned {
    /// Turns inputs of one dtype, and masks; `None` where steps had better run alone.
    pub(super) fn new(steps: &[ChainStep], inputs: &[Operand<'_>]) -> Option<Turned> {
        let mut values: Vec<Look> = inputs.iter().map(Look::of_input).collect();
        for step in steps {
            let look = Look::of_step(step, &values)?;
            values.push(look);
        }
        let last = values.last()?;
        let rank = last.sizes.len();
        if values.iter().any(|value| value.sizes.len() > rank) {
            return None;
        }
        let turn = Permutation::into_order(&last.strides);
        let turned = |input: &Operand<'_>| match input {
            Operand::Tensor(tensor) if tensor.dim() > 0 => {
                let mut tensor = (*tensor).clone();
                while tensor.dim() < rank {
                    tensor = tensor.unsqueeze(0).ok()?;
                }
                Some(Some(turn.there(&tensor).ok()?))
            }
            _ => Some(None),
        };
        let turned = inputs.iter().map(turned).collect::<Option<_>>()?;
        let steps_of = values.drain(inputs.len()..).zip(steps);
        let results = steps_of.filter(|(_, step)| step.is_result).map(|(look, _)| look).collect();
        Some(Turned { turn, rank, inputs: turned, results })
    }

    /// The inputs, turned.
    pub(super) fn inputs<'a>(&'a self, inputs: &[Operand<'a>]) -> SmallVec<[Operand<'a>; 16]> {
        let both = self.inputs.iter().zip(inputs);
        both.map(|(turned, &input)| turned.as_ref().map_or(input, Operand::Tensor)).collect()
    }

    /// The results, turned back.
    ///
    /// # Errors
    /// Where memory is short.
    pub(super) fn back(&self, results: ChainResults) -> Result<ChainResults> {
        let both = results.into_iter().zip(&self.results);
        both.map(|(result, look)| {
            let mut result =
                if result.dim() == self.rank { self.turn.back(&result)? } else { result };
            while result.dim() > look.sizes.len() {
                result = result.select(0, 0)?;
            }
            result.with_strides(&look.strides)
        })
        .collect()
    }
}

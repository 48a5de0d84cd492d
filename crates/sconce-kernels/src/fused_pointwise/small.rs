//! A fused chain over few elements, for which planning would take longer than computing: tensors of one
//! shape, numbers, one result.

use std::cell::Ref;

use sconce_kernel_core::iter::broadcast_binary::BinaryKernel;
use sconce_kernel_core::layout::strided_iter::Strided;
use smallvec::SmallVec;

use super::{PointwiseOp, PointwiseStep};
use crate::elementwise::binary::BinaryKernels;
use crate::elementwise::unary::UnaryKernel;
use crate::{BinaryOp, Operand, Scalar, Tensor};

/// How many elements all steps together give at most.
const MOST: usize = 4096;

/// An input.
enum Input<'a, T> {
    Numbers(Ref<'a, [T]>),
    Number([T; 1]),
}

/// Runs a chain; `None` where it is larger or of another kind.
pub(super) fn run<T: BinaryKernels>(
    steps: &[PointwiseStep],
    inputs: &[Operand<'_>],
) -> Option<Tensor> {
    let (last, before) = steps.split_last()?;
    let model = inputs.iter().find_map(|input| match input {
        Operand::Tensor(tensor) => Some(*tensor),
        Operand::Scalar(_) => None,
    })?;
    let count = model.count();
    let scratch = count.checked_mul(before.len()).filter(|&scratch| scratch <= MOST)?;
    if !last.is_result || before.iter().any(|step| step.is_result) {
        return None;
    }
    let mut read: SmallVec<[Input<'_, T>; 8]> = SmallVec::new();
    for &input in inputs {
        read.push(match input {
            Operand::Tensor(tensor) if tensor.sizes() == model.sizes() && tensor.is_row_major() => {
                Input::Numbers(tensor.read::<T>().ok()?)
            }
            Operand::Scalar(number @ (Scalar::Int(_) | Scalar::Float(_))) => {
                Input::Number([T::from_double(number.to_f64())])
            }
            _ => return None,
        });
    }
    let result = Tensor::for_overwrite(model.sizes(), T::DTYPE).ok()?;
    {
        let mut out = result.write::<T>().ok()?;
        let mut scratch: SmallVec<[T; 128]> = SmallVec::from_elem(T::from_double(0.0), scratch);
        for (at, step) in before.iter().enumerate() {
            let (made, out) = scratch.split_at_mut(at * count);
            compute(step, &read, made, &mut out[..count])?;
        }
        compute(last, &read, &scratch, &mut out)?;
    }
    Some(result)
}

/// What computes a step.
enum Kernel<T> {
    One(UnaryKernel<T>),
    Two(BinaryKernel<T>),
}

/// One step, from inputs and what the steps before it have made.
fn compute<T: BinaryKernels>(
    step: &PointwiseStep,
    inputs: &[Input<'_, T>],
    made: &[T],
    out: &mut [T],
) -> Option<()> {
    let operand = |position: usize| -> Option<Strided<'_, T>> {
        match inputs.get(position) {
            Some(Input::Numbers(numbers)) => Some((numbers, 1)),
            Some(Input::Number(number)) => Some((number, 0)),
            None => Some((made.get((position - inputs.len()) * out.len()..)?.get(..out.len())?, 1)),
        }
    };
    let [a, b, alpha, _] = step.operands;
    let by_one = || matches!(inputs.get(alpha), Some(Input::Number([x])) if x.to_double() == 1.0);
    let kernel = match step.op {
        PointwiseOp::Unary(op) => Kernel::One(T::unary_kernel(op)),
        // Powers of numbers are left to what looks at them, and so is a number that has not the sizes of
        // the result.
        PointwiseOp::Binary(BinaryOp::Pow) => return None,
        PointwiseOp::Onto(_) if matches!(inputs.get(a), Some(Input::Number(_))) => return None,
        PointwiseOp::Binary(op) | PointwiseOp::Onto(op) => Kernel::Two(T::binary_kernel(op)?),
        PointwiseOp::Add if by_one() => Kernel::Two(T::binary_kernel(BinaryOp::Add)?),
        PointwiseOp::Sub if by_one() => Kernel::Two(T::binary_kernel(BinaryOp::Sub)?),
        _ => return None,
    };
    match (kernel, operand(a)?) {
        (Kernel::One(kernel), (a, 1)) => kernel(a, out),
        (Kernel::Two(kernel), a) => kernel(out, a, operand(b)?),
        _ => return None,
    }
    Some(())
}

//! Chains of element-wise operators in one pass, without tensors in between.

use crate::binary::{BinaryOp, binary};
use crate::shape::broadcast;
use crate::simd::dispatch;
use crate::unary::{UnaryOp, unary};
use crate::{DType, Dims, Error, Operand, Result, Scalar, Tensor, rows, threads, vecmath};

/// What a step of a chain computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChainOp {
    /// Of one operand.
    Unary(UnaryOp),
    /// Of two.
    Binary(BinaryOp),
}

/// A step of a chain: an operator and its operands, which are counted from the chain's operands on
/// through the steps before. `b` means nothing to an operator of one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainStep {
    /// The operator.
    pub op: ChainOp,
    /// The first operand.
    pub a: usize,
    /// The second operand.
    pub b: usize,
}

/// Elements that are taken through all steps at a time: they stay in the first cache.
const BLOCK: usize = 1024;

/// What the last of `steps` gives, as if each were called by itself; bit for bit.
///
/// # Errors
/// As the operators by themselves, and for steps that use what does not come before them.
///
/// ```
/// use sconce_kernels::{BinaryOp, ChainOp, ChainStep, Tensor, UnaryOp, run_chain};
/// let x = Tensor::from_slice(&[1f32, -2.0], &[2])?;
/// let steps = [
///     ChainStep { op: ChainOp::Binary(BinaryOp::Mul), a: 0, b: 1 },
///     ChainStep { op: ChainOp::Unary(UnaryOp::Relu), a: 2, b: 2 },
/// ];
/// let result = run_chain(&steps, &[(&x).into(), 3.0.into()])?;
/// assert_eq!(result.to_vec::<f32>()?, [3.0, 0.0]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn run_chain(steps: &[ChainStep], operands: &[Operand<'_>]) -> Result<Tensor> {
    let known = |index: usize, at: usize| index < operands.len() + at;
    let ordered = steps.iter().enumerate().all(|(at, s)| known(s.a, at) && known(s.b, at));
    if steps.is_empty() || !ordered {
        return Err(Error::runtime("a chain of operators that is not in order"));
    }
    match plan(steps, operands)? {
        Some(plan) => plan.run(steps),
        None => one_by_one(steps, operands),
    }
}

fn one_by_one(steps: &[ChainStep], operands: &[Operand<'_>]) -> Result<Tensor> {
    let mut made: Vec<Tensor> = Vec::with_capacity(steps.len());
    for step in steps {
        let operand = |index: usize| match index.checked_sub(operands.len()) {
            Some(step) => Operand::Tensor(&made[step]),
            None => operands[index],
        };
        let result = match (step.op, operand(step.a)) {
            (ChainOp::Binary(op), a) => binary(op, a, operand(step.b))?,
            (ChainOp::Unary(op), Operand::Tensor(a)) => unary(op, a)?,
            (ChainOp::Unary(_), Operand::Scalar(_)) => {
                return Err(Error::runtime("an operator of a tensor that is given a number"));
            }
        };
        made.push(result);
    }
    made.pop().ok_or_else(|| Error::runtime("a chain of no operators"))
}

/// How an operand is laid over the result.
enum Source {
    /// Element by element.
    Whole(Tensor),
    /// Again and again: the last dimensions of the result.
    Repeated(Tensor),
    /// One number for all.
    Number(f32),
}

/// Operands that one pass can go over.
struct Plan {
    sources: Vec<Source>,
    sizes: Dims,
    /// After so many elements repeated operands begin again.
    period: usize,
}

/// `None` where an operand is no contiguous `float32` tensor, or is broadcast in another way than
/// over leading dimensions.
fn plan(steps: &[ChainStep], operands: &[Operand<'_>]) -> Result<Option<Plan>> {
    let mut sizes = Dims::new();
    for operand in operands {
        match operand {
            Operand::Tensor(tensor) if tensor.dtype() == DType::Float32 => {
                sizes = broadcast(&sizes, tensor.sizes())?;
            }
            Operand::Scalar(Scalar::Int(_) | Scalar::Float(_)) => {}
            _ => return Ok(None),
        }
    }
    // A step of numbers alone would not have the result's dtype.
    let is_number = |index: usize| matches!(operands.get(index), Some(Operand::Scalar(_)));
    let computed = |step: &ChainStep| match step.op {
        ChainOp::Unary(op) => unary_block(op).is_some() && !is_number(step.a),
        ChainOp::Binary(op) => {
            binary_block(op).is_some() && !(is_number(step.a) && is_number(step.b))
        }
    };
    let count = crate::shape::product(&sizes) as usize;
    if count == 0 || !steps.iter().all(computed) {
        return Ok(None);
    }
    let mut period = count;
    let mut sources = Vec::with_capacity(operands.len());
    for operand in operands {
        let source = match operand {
            Operand::Scalar(scalar) => Source::Number(scalar.to_f64() as f32),
            Operand::Tensor(tensor) => {
                let own = tensor.sizes();
                let lead = own.iter().take_while(|&&size| size == 1).count();
                if tensor.numel() == 1 {
                    let number = tensor.item()?.to_f64() as f32;
                    // All numbers of one element would make a result without their dimensions.
                    sources.push(Source::Number(number));
                    continue;
                }
                if !tensor.is_contiguous() || !sizes.ends_with(&own[lead..]) {
                    return Ok(None);
                }
                if tensor.count() == count {
                    Source::Whole((*tensor).clone())
                } else {
                    if period != count && period != tensor.count() {
                        return Ok(None);
                    }
                    period = tensor.count();
                    Source::Repeated((*tensor).clone())
                }
            }
        };
        sources.push(source);
    }
    Ok(Some(Plan { sources, sizes, period }))
}

/// The elements of one operand for one block.
#[derive(Clone, Copy)]
enum Slice<'a> {
    Each(&'a [f32]),
    All(f32),
}

impl Plan {
    fn run(&self, steps: &[ChainStep]) -> Result<Tensor> {
        let result = Tensor::empty(&self.sizes, DType::Float32)?;
        let lent: Vec<Option<std::cell::Ref<'_, [f32]>>> = self
            .sources
            .iter()
            .map(|source| match source {
                Source::Whole(tensor) | Source::Repeated(tensor) => tensor.read::<f32>().map(Some),
                Source::Number(_) => Ok(None),
            })
            .collect::<Result<_>>()?;
        let (period, count) = (self.period, self.sources.len());
        let inputs: Vec<(Slice<'_>, bool)> = self
            .sources
            .iter()
            .zip(&lent)
            .map(|(source, lent)| match (source, lent) {
                (Source::Number(number), _) => (Slice::All(*number), false),
                (source, Some(lent)) => (Slice::Each(lent), matches!(source, Source::Repeated(_))),
                (_, None) => (Slice::All(0.0), false),
            })
            .collect();
        let mut out = result.write::<f32>()?;
        threads::pieces(&mut out, period.min(64 * BLOCK), rows::PARALLEL, |start, piece| {
            let mut scratch = vec![0f32; (steps.len() - 1) * BLOCK];
            let mut at = start;
            let mut rest = piece;
            while !rest.is_empty() {
                let phase = at % period;
                let len = rest.len().min(BLOCK).min(period - phase);
                let (block, after) = rest.split_at_mut(len);
                let input = |index: usize| match inputs[index] {
                    (Slice::Each(all), true) => Slice::Each(&all[phase..phase + len]),
                    (Slice::Each(all), false) => Slice::Each(&all[at..at + len]),
                    (number, _) => number,
                };
                block_steps(steps, count, input, &mut scratch, block);
                rest = after;
                at += len;
            }
        });
        drop(out);
        Ok(result)
    }
}

/// Takes one block through all steps; the last writes to `out`.
fn block_steps<'a>(
    steps: &[ChainStep],
    operands: usize,
    input: impl Fn(usize) -> Slice<'a>,
    scratch: &mut [f32],
    out: &mut [f32],
) {
    let len = out.len();
    let last = steps.len() - 1;
    for (index, step) in steps.iter().enumerate() {
        let (before, here) = scratch.split_at_mut(index * BLOCK);
        let target = if index == last { &mut *out } else { &mut here[..len] };
        let operand = |index: usize| match index.checked_sub(operands) {
            Some(step) => Slice::Each(&before[step * BLOCK..][..len]),
            None => input(index),
        };
        match step.op {
            ChainOp::Unary(op) => {
                if let Some(run) = unary_block(op) {
                    run(operand(step.a), target);
                }
            }
            ChainOp::Binary(op) => {
                if let Some(run) = binary_block(op) {
                    run(operand(step.a), operand(step.b), target);
                }
            }
        }
    }
}

fn each(a: Slice<'_>, out: &mut [f32], f: impl Fn(f32) -> f32) {
    dispatch(
        #[inline(always)]
        || match a {
            Slice::Each(a) => {
                for (out, &a) in out.iter_mut().zip(a) {
                    *out = f(a);
                }
            }
            Slice::All(a) => out.fill(f(a)),
        },
    );
}

fn pairs(a: Slice<'_>, b: Slice<'_>, out: &mut [f32], f: impl Fn(f32, f32) -> f32) {
    dispatch(
        #[inline(always)]
        || match (a, b) {
            (Slice::Each(a), Slice::Each(b)) => {
                for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                    *out = f(a, b);
                }
            }
            (Slice::Each(a), Slice::All(b)) => {
                for (out, &a) in out.iter_mut().zip(a) {
                    *out = f(a, b);
                }
            }
            (Slice::All(a), Slice::Each(b)) => {
                for (out, &b) in out.iter_mut().zip(b) {
                    *out = f(a, b);
                }
            }
            (Slice::All(a), Slice::All(b)) => out.fill(f(a, b)),
        },
    );
}

type UnaryBlock = fn(Slice<'_>, &mut [f32]);
type BinaryBlock = fn(Slice<'_>, Slice<'_>, &mut [f32]);

/// The operators of one operand that chains compute, by the same formulas as [`unary`].
fn unary_block(op: UnaryOp) -> Option<UnaryBlock> {
    Some(match op {
        UnaryOp::Neg => |a, out| each(a, out, |x| -x),
        UnaryOp::Abs => |a, out| each(a, out, f32::abs),
        UnaryOp::Relu => |a, out| each(a, out, |x| if x < 0.0 { 0.0 } else { x }),
        UnaryOp::Square => |a, out| each(a, out, |x| x * x),
        UnaryOp::Sqrt => |a, out| each(a, out, f32::sqrt),
        UnaryOp::Rsqrt => |a, out| each(a, out, |x| 1.0 / x.sqrt()),
        UnaryOp::Reciprocal => |a, out| each(a, out, |x| 1.0 / x),
        UnaryOp::Exp => |a, out| each(a, out, vecmath::exp),
        UnaryOp::Log => |a, out| each(a, out, vecmath::log),
        UnaryOp::Tanh => |a, out| each(a, out, vecmath::tanh),
        UnaryOp::Sigmoid => |a, out| each(a, out, vecmath::sigmoid),
        UnaryOp::Erf => |a, out| each(a, out, vecmath::erf),
        UnaryOp::Gelu => |a, out| each(a, out, vecmath::gelu),
        UnaryOp::GeluTanh => |a, out| each(a, out, vecmath::gelu_tanh),
        UnaryOp::Silu => |a, out| each(a, out, vecmath::silu),
        _ => return None,
    })
}

/// The operators of two operands that chains compute.
fn binary_block(op: BinaryOp) -> Option<BinaryBlock> {
    Some(match op {
        BinaryOp::Add => |a, b, out| pairs(a, b, out, |x, y| x + y),
        BinaryOp::Sub => |a, b, out| pairs(a, b, out, |x, y| x - y),
        BinaryOp::Mul => |a, b, out| pairs(a, b, out, |x, y| x * y),
        BinaryOp::Div => |a, b, out| pairs(a, b, out, |x, y| x / y),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(sizes: &[i64]) -> Tensor {
        let count = sizes.iter().product::<i64>();
        let all: Vec<f32> = (0..count).map(|i| ((i * 37 % 211) as f32 - 100.0) / 17.0).collect();
        Tensor::from_slice(&all, sizes).unwrap()
    }

    #[test]
    fn chains_give_the_bits_that_single_steps_give() {
        use ChainOp::{Binary, Unary};
        // tanh((x * y + 0.5) / row) - x
        let steps = [
            ChainStep { op: Binary(BinaryOp::Mul), a: 0, b: 1 },
            ChainStep { op: Binary(BinaryOp::Add), a: 4, b: 3 },
            ChainStep { op: Binary(BinaryOp::Div), a: 5, b: 2 },
            ChainStep { op: Unary(UnaryOp::Tanh), a: 6, b: 6 },
            ChainStep { op: Binary(BinaryOp::Sub), a: 7, b: 0 },
        ];
        let shapes: [[&[i64]; 3]; 6] = [
            [&[3, 5], &[3, 5], &[5]],
            [&[40, 70], &[40, 70], &[1, 70]],
            [&[2, 3, 1500], &[2, 3, 1500], &[3, 1500]],
            [&[4, 6], &[4, 1], &[6]],
            [&[1, 1], &[], &[1]],
            [&[0, 5], &[0, 5], &[5]],
        ];
        for [x, y, row] in shapes {
            let (x, y, row) = (tensor(x), tensor(y), tensor(row));
            let whole = [(&x).into(), (&y).into(), (&row).into(), 0.5.into()];
            let turned = x.transpose(0, -1).unwrap().contiguous().unwrap();
            let turned = turned.transpose(0, -1).unwrap();
            let strided = [(&turned).into(), (&y).into(), (&row).into(), 0.5.into()];
            for operands in [whole, strided] {
                let fused = run_chain(&steps, &operands).unwrap();
                let single = one_by_one(&steps, &operands).unwrap();
                assert_eq!(fused.sizes(), single.sizes());
                let bits = |t: &Tensor| {
                    let all = t.to_vec::<f32>().unwrap();
                    all.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
                };
                assert_eq!(bits(&fused), bits(&single));
            }
        }
    }

    #[test]
    fn other_dtypes_and_bad_chains_are_dealt_with() {
        let ints = Tensor::from_slice(&[1i64, 2], &[2]).unwrap();
        let add = ChainStep { op: ChainOp::Binary(BinaryOp::Add), a: 0, b: 1 };
        let sum = run_chain(&[add], &[(&ints).into(), (&ints).into()]).unwrap();
        assert_eq!(sum.to_vec::<i64>().unwrap(), [2, 4]);
        assert!(run_chain(&[], &[(&ints).into()]).is_err());
        let ahead = ChainStep { op: ChainOp::Binary(BinaryOp::Add), a: 0, b: 2 };
        assert!(run_chain(&[ahead], &[(&ints).into(), (&ints).into()]).is_err());
    }
}

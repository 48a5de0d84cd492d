//! Fused chains of element-wise operators. Over tensors of one floating dtype, all operators run in one
//! pass over memory ([`blocked`], and [`small`] for few elements). Otherwise they run one after the
//! other ([`one_by_one`]).
//!
//! All ways give the same bits.

mod blocked;
mod load;
mod result_layout;
mod small;

use result_layout::{PermutedInputs, StepLayout};
use sconce_kernel_core::chosen_implementation::chose;
use sconce_kernel_core::layout::shape::broadcast;
use smallvec::SmallVec;

use crate::elementwise::binary::BinaryKernels;
use crate::elementwise::unary_op::UnaryOp;
use crate::{
    BinaryOp, DType, Dims, Error, Operand, Result, Scalar, Tensor, add, addcdiv, addcmul, binary,
    clamp, contiguous_binary, contiguous_unary, elu, hardtanh, leaky_relu, lerp, masked_fill,
    softplus, sub, unary, where_,
};

/// What a step of a chain computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointwiseOp {
    /// An operator of one operand.
    Unary(UnaryOp),
    /// An operator of two operands.
    Binary(BinaryOp),
    /// [`add`]: the third operand is what the second is multiplied by.
    Add,
    /// [`sub`]: the third operand is what the second is multiplied by.
    Sub,
    /// [`clamp`] with a lower and an upper bound.
    Clamp,
    /// [`clamp`] with a lower bound.
    ClampMin,
    /// [`clamp`] with an upper bound.
    ClampMax,
    /// [`hardtanh`] with its bounds.
    Hardtanh,
    /// [`leaky_relu`] with its slope.
    LeakyRelu,
    /// [`elu`] with its three scales.
    Elu,
    /// [`softplus`] with what the input is multiplied by and the threshold.
    Softplus,
    /// [`addcmul`]: the fourth operand is what the product is multiplied by.
    Addcmul,
    /// [`addcdiv`]: the fourth operand is what the quotient is multiplied by.
    Addcdiv,
    /// [`lerp`]: start, end and weight.
    Lerp,
    /// An operator of two operands, the first of which has the sizes of the result: one in place of its
    /// first operand where nobody can tell.
    Onto(BinaryOp),
    /// [`where_`]: condition and two choices.
    Where,
    /// [`masked_fill`]: input, mask, value.
    MaskedFill,
}

impl PointwiseOp {
    /// How many operands it has.
    pub const fn arity(self) -> usize {
        match self {
            PointwiseOp::Unary(_) => 1,
            PointwiseOp::Binary(_)
            | PointwiseOp::Onto(_)
            | PointwiseOp::ClampMin
            | PointwiseOp::ClampMax
            | PointwiseOp::LeakyRelu => 2,
            PointwiseOp::Elu | PointwiseOp::Addcmul | PointwiseOp::Addcdiv => 4,
            _ => 3,
        }
    }

    /// The position of the operand that holds bools.
    pub const fn condition(self) -> Option<usize> {
        match self {
            PointwiseOp::Where => Some(0),
            PointwiseOp::MaskedFill => Some(1),
            _ => None,
        }
    }
}

/// How many operands a step has at most.
pub const MAX_OPERANDS: usize = 4;

/// A step of a chain.
#[derive(Debug, Clone, Copy)]
pub struct PointwiseStep {
    /// What it computes.
    pub op: PointwiseOp,
    /// Its operands: positions of inputs, and after the last of those, of steps before this one. Those
    /// beyond [`PointwiseOp::arity`] are of no account.
    pub operands: [usize; MAX_OPERANDS],
    /// Whether what it gives is one of the chain's results.
    pub is_result: bool,
}

impl PointwiseStep {
    fn operands(&self) -> &[usize] {
        &self.operands[..self.op.arity()]
    }
}

/// The results of a chain, in the order of its steps.
pub type PointwiseResults = SmallVec<[Tensor; 2]>;

/// Runs a chain of element-wise operators. What is [disposable](Tensor::is_disposable) of the inputs
/// may become a result, so the caller must be done with them.
///
/// # Errors
/// As the operators.
///
/// ```
/// use sconce_kernels::{BinaryOp, Operand, PointwiseOp, PointwiseStep, Tensor, UnaryOp, fused_pointwise};
/// let x = Tensor::from_slice(&[-1f32, 2.0, 3.0], &[3])?;
/// let times = PointwiseOp::Binary(BinaryOp::Mul);
/// let steps = [
///     PointwiseStep { op: times, operands: [0, 1, 0, 0], is_result: false },
///     PointwiseStep { op: PointwiseOp::Unary(UnaryOp::Relu), operands: [2, 0, 0, 0], is_result: true },
/// ];
/// let results = fused_pointwise(&steps, &[Operand::Tensor(&x), Operand::from(2)])?;
/// assert_eq!(results[0].to_vec::<f32>()?, [0.0, 4.0, 6.0]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn fused_pointwise(
    steps: &[PointwiseStep],
    inputs: &[Operand<'_>],
) -> Result<PointwiseResults> {
    let fits = |(at, step): (usize, &PointwiseStep)| {
        step.operands().iter().all(|&operand| operand < inputs.len() + at)
    };
    if !steps.iter().enumerate().all(fits) {
        return Err(Error::runtime("a step of a chain is computed before its operands"));
    }
    let dtype = inputs.iter().find_map(|input| match input {
        Operand::Tensor(tensor) => Some(tensor.dtype()).filter(|&dtype| dtype != DType::Bool),
        Operand::Scalar(_) => None,
    });
    // Before anything else: for few elements it takes less time than the questions that come next.
    let small = match dtype {
        Some(DType::Float32) => small::run::<f32>(steps, inputs),
        Some(DType::Float64) => small::run::<f64>(steps, inputs),
        _ => None,
    };
    if let Some(result) = small {
        chose("fused chain, few elements");
        return Ok(PointwiseResults::from_iter([result]));
    }
    check_sizes(steps, inputs)?;
    let results = match dtype {
        Some(DType::Float32) => in_one_pass::<f32>(steps, inputs)?,
        Some(DType::Float64) => in_one_pass::<f64>(steps, inputs)?,
        _ => None,
    };
    chose(if results.is_some() { "fused chain" } else { "one by one" });
    results.map_or_else(|| one_by_one(steps, inputs), Ok)
}

/// Refuses steps that would give more than their first operand, where they may not.
fn check_sizes(steps: &[PointwiseStep], inputs: &[Operand<'_>]) -> Result<()> {
    if !steps.iter().any(|step| matches!(step.op, PointwiseOp::Onto(_))) {
        return Ok(());
    }
    let mut sizes: SmallVec<[Dims; 32]> =
        inputs.iter().map(|input| Dims::from_slice(input.sizes())).collect();
    for step in steps {
        let mut own = Dims::new();
        for operand in step.operands().iter().filter_map(|&position| sizes.get(position)) {
            own = broadcast(&own, operand)?;
        }
        if matches!(step.op, PointwiseOp::Onto(_)) && sizes.get(step.operands[0]) != Some(&own) {
            return Err(unfit());
        }
        sizes.push(own);
    }
    Ok(())
}

/// All steps together; `None` where an operand does not fit.
fn in_one_pass<T: BinaryKernels>(
    steps: &[PointwiseStep],
    inputs: &[Operand<'_>],
) -> Result<Option<PointwiseResults>> {
    if inputs.iter().all(result_layout::is_plain) {
        return blocked::run::<T>(steps, inputs);
    }
    let Some(permuted) = PermutedInputs::new(steps, inputs) else { return Ok(None) };
    let inputs = permuted.inputs(inputs);
    let results = match small::run::<T>(steps, &inputs) {
        Some(result) => Some(PointwiseResults::from_iter([result])),
        None => blocked::run::<T>(steps, &inputs)?,
    };
    results.map(|results| permuted.undo(results)).transpose()
}

/// Every step as an operator of its own.
fn one_by_one(steps: &[PointwiseStep], inputs: &[Operand<'_>]) -> Result<PointwiseResults> {
    let mut uses: SmallVec<[usize; 32]> = SmallVec::from_elem(0, inputs.len() + steps.len());
    steps.iter().flat_map(PointwiseStep::operands).for_each(|&operand| uses[operand] += 1);
    let mut made: SmallVec<[Option<Tensor>; 16]> = SmallVec::new();
    for step in steps {
        let mut held: SmallVec<[Tensor; MAX_OPERANDS]> = SmallVec::new();
        let result = {
            let operands = step.operands.map(|operand| match operand.checked_sub(inputs.len()) {
                None => inputs.get(operand).copied(),
                Some(at) => made.get(at)?.as_ref().map(Operand::Tensor),
            });
            for (&position, operand) in step.operands().iter().zip(operands) {
                uses[position] -= 1;
                // What is wanted later must not become a result.
                if let Some(Operand::Tensor(tensor)) = operand
                    && uses[position] > 0
                {
                    held.push(tensor.clone());
                }
            }
            let taken: SmallVec<[Operand<'_>; MAX_OPERANDS]> =
                operands.into_iter().take(step.op.arity()).flatten().collect();
            let layout = StepLayout::of(step.op, &taken);
            layout.lay_out(apply(step.op, operands, true)?)?
        };
        drop(held);
        for &position in step.operands() {
            // Results stay until the end.
            if let Some(at) = position.checked_sub(inputs.len())
                && uses[position] == 0
                && let Some(slot) = made.get_mut(at)
            {
                *slot = None;
            }
        }
        uses[inputs.len() + made.len()] += usize::from(step.is_result);
        made.push(Some(result));
    }
    let results = steps.iter().zip(made).filter(|(step, _)| step.is_result);
    Ok(results.filter_map(|(_, made)| made).collect())
}

/// One step. Where operands may be disposed of, the result may be one of them.
fn apply(
    op: PointwiseOp,
    operands: [Option<Operand<'_>>; MAX_OPERANDS],
    disposable: bool,
) -> Result<Tensor> {
    let [a, b, c, d] = operands;
    let operand = |operand: Option<_>| operand.ok_or_else(unfit);
    let tensor = |operand: Option<_>| match operand {
        Some(Operand::Tensor(tensor)) => Ok(tensor),
        _ => Err(unfit()),
    };
    let number = |operand: Option<_>| match operand {
        Some(Operand::Scalar(number)) => Ok(number),
        _ => Err(unfit()),
    };
    let two = |op: BinaryOp| {
        let short = match (a, b) {
            (Some(Operand::Tensor(a)), Some(b)) => contiguous_binary(op, a, b, [disposable; 2]),
            _ => None,
        };
        short.map_or_else(|| binary(op, operand(a)?, operand(b)?), Ok)
    };
    match op {
        PointwiseOp::Unary(op) => {
            let input = tensor(a)?;
            contiguous_unary(op, input, disposable).map_or_else(|| unary(op, input), Ok)
        }
        PointwiseOp::Binary(op) | PointwiseOp::Onto(op) => two(op),
        PointwiseOp::Add if number(c)? == Scalar::Int(1) => two(BinaryOp::Add),
        PointwiseOp::Sub if number(c)? == Scalar::Int(1) => two(BinaryOp::Sub),
        PointwiseOp::Add => add(operand(a)?, operand(b)?, number(c)?),
        PointwiseOp::Sub => sub(operand(a)?, operand(b)?, number(c)?),
        PointwiseOp::Clamp => clamp(tensor(a)?, Some(operand(b)?), Some(operand(c)?)),
        PointwiseOp::ClampMin => clamp(tensor(a)?, Some(operand(b)?), None),
        PointwiseOp::ClampMax => clamp(tensor(a)?, None, Some(operand(b)?)),
        PointwiseOp::Hardtanh => hardtanh(tensor(a)?, number(b)?, number(c)?),
        PointwiseOp::LeakyRelu => leaky_relu(tensor(a)?, number(b)?),
        PointwiseOp::Elu => {
            let scales = [number(b)?, number(c)?, number(d)?].map(Scalar::to_f64);
            elu(tensor(a)?, scales[0], scales[1], scales[2])
        }
        PointwiseOp::Softplus => softplus(tensor(a)?, number(b)?.to_f64(), number(c)?.to_f64()),
        PointwiseOp::Addcmul => addcmul(tensor(a)?, tensor(b)?, tensor(c)?, number(d)?),
        PointwiseOp::Addcdiv => addcdiv(tensor(a)?, tensor(b)?, tensor(c)?, number(d)?),
        PointwiseOp::Lerp => lerp(tensor(a)?, tensor(b)?, operand(c)?),
        PointwiseOp::Where => where_(tensor(a)?, operand(b)?, operand(c)?),
        PointwiseOp::MaskedFill => masked_fill(tensor(a)?, tensor(b)?, operand(c)?),
    }
}

fn unfit() -> Error {
    Error::runtime("a step of a chain does not take such an operand")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sconce_kernel_core::parallel::partition;

    /// Numbers that follow from a seed.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % limit
        }

        fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
            all[self.below(all.len())]
        }
    }

    /// A tensor of some sizes, now and then one that does not lie row-major, with numbers of all kinds.
    fn tensor(dice: &mut Dice, sizes: &[i64], dtype: DType) -> Tensor {
        let odd = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, -3e38, 2.0];
        let count: i64 = sizes.iter().product();
        let number = |dice: &mut Dice| match dice.below(40) {
            0 => dice.one_of(&odd),
            _ => (dice.below(20001) as f32 - 10000.0) / 1500.0,
        };
        let numbers: Vec<f32> = (0..count).map(|_| number(dice)).collect();
        let mut permuted = sizes.to_vec();
        permuted.reverse();
        let dims: Vec<i64> = (0..sizes.len() as i64).rev().collect();
        let tensor = match dice.below(4) {
            0 => Tensor::from_slice(&numbers, &permuted).unwrap().permute(&dims).unwrap(),
            _ => Tensor::from_slice(&numbers, sizes).unwrap(),
        };
        match dtype {
            DType::Bool => crate::binary(BinaryOp::Gt, (&tensor).into(), 0.into()).unwrap(),
            dtype => tensor.to_dtype(dtype).unwrap(),
        }
    }

    const UNARY: &[UnaryOp] = &[
        UnaryOp::Neg,
        UnaryOp::Abs,
        UnaryOp::Relu,
        UnaryOp::Exp,
        UnaryOp::Log,
        UnaryOp::Sqrt,
        UnaryOp::Rsqrt,
        UnaryOp::Sigmoid,
        UnaryOp::Tanh,
        UnaryOp::Gelu,
        UnaryOp::Silu,
        UnaryOp::Hardswish,
        UnaryOp::Sin,
        UnaryOp::Floor,
    ];
    const BINARY: &[BinaryOp] = &[
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Maximum,
        BinaryOp::Minimum,
        BinaryOp::Pow,
    ];
    const OTHERS: &[PointwiseOp] = &[
        PointwiseOp::Add,
        PointwiseOp::Sub,
        PointwiseOp::Clamp,
        PointwiseOp::ClampMin,
        PointwiseOp::ClampMax,
        PointwiseOp::Hardtanh,
        PointwiseOp::LeakyRelu,
        PointwiseOp::Elu,
        PointwiseOp::Softplus,
        PointwiseOp::Addcmul,
        PointwiseOp::Addcdiv,
        PointwiseOp::Lerp,
        PointwiseOp::Where,
        PointwiseOp::MaskedFill,
    ];

    /// Steps over inputs: numbers, tensors and, at the end, a mask. What is asked is whether a step
    /// takes a number or a tensor; masks are only conditions.
    fn steps(dice: &mut Dice, numbers: usize, tensors: usize, count: usize) -> Vec<PointwiseStep> {
        let inputs = numbers + tensors + 1;
        let mut steps: Vec<PointwiseStep> = Vec::new();
        let mut masks = vec![inputs - 1];
        for at in 0..count {
            // Rather what was made last, so that chains are long.
            let tensor = |dice: &mut Dice, masks: &[usize]| loop {
                let recent = (inputs + at).saturating_sub(3);
                let position = match dice.below(2) {
                    0 => recent + dice.below(inputs + at - recent),
                    _ => numbers + dice.below(inputs + at - numbers),
                };
                if !masks.contains(&position) && position >= numbers {
                    return position;
                }
            };
            let (a, b, c) = (tensor(dice, &masks), tensor(dice, &masks), tensor(dice, &masks));
            let number = [dice.below(numbers), dice.below(numbers)];
            let either = dice.one_of(&[b, number[0]]);
            let (op, operands) = match dice.below(8) {
                0..=2 => (PointwiseOp::Unary(dice.one_of(UNARY)), [a, 0, 0, 0]),
                3..=5 => (PointwiseOp::Binary(dice.one_of(BINARY)), [a, either, 0, 0]),
                6 => {
                    masks.push(inputs + at);
                    (
                        PointwiseOp::Binary(dice.one_of(&[BinaryOp::Lt, BinaryOp::Ge])),
                        [a, either, 0, 0],
                    )
                }
                _ => match dice.one_of(OTHERS) {
                    op @ (PointwiseOp::Add | PointwiseOp::Sub) => (op, [a, either, number[1], 0]),
                    op @ PointwiseOp::Where => (op, [dice.one_of(&masks), c, either, 0]),
                    op @ PointwiseOp::MaskedFill => (op, [a, dice.one_of(&masks), number[0], 0]),
                    op @ (PointwiseOp::Addcmul | PointwiseOp::Addcdiv) => {
                        (op, [a, b, c, number[0]])
                    }
                    op @ PointwiseOp::Lerp => (op, [a, c, either, 0]),
                    op => (op, [a, number[0], number[1], number[0]]),
                },
            };
            let is_result = !masks.contains(&(inputs + at)) && dice.below(4) == 0;
            steps.push(PointwiseStep { op, operands, is_result });
        }
        if let Some(last) = steps.last_mut() {
            last.is_result = !masks.contains(&(inputs + count - 1));
        }
        steps
    }

    /// A tensor that lies in memory in another way: with dimensions in another order, with gaps, or
    /// with elements that stand for several.
    fn laid_out(dice: &mut Dice, tensor: &Tensor) -> Tensor {
        let rank = tensor.dim();
        let mut dims: Vec<i64> = (0..rank as i64).collect();
        for at in (1..rank).rev() {
            dims.swap(at, dice.below(at + 1));
        }
        let gap = usize::from(dice.below(4) == 0) as i64;
        let sizes: Vec<i64> = dims.iter().map(|&dim| tensor.sizes()[dim as usize] + gap).collect();
        let mut position = Tensor::zeros(&sizes, tensor.dtype()).unwrap();
        for (dim, &size) in sizes.iter().enumerate() {
            position = position.narrow(dim as i64, gap, size - gap).unwrap();
        }
        let back: Vec<i64> = (0..rank as i64)
            .map(|dim| dims.iter().position(|&other| other == dim).unwrap() as i64)
            .collect();
        let position = position.permute(&back).unwrap();
        position.copy_from(tensor).unwrap();
        position
    }

    fn bits(tensor: &Tensor) -> Vec<u64> {
        let wide = tensor.to_dtype(DType::Float64).unwrap().to_vec::<f64>().unwrap();
        // Which NaN it is says nothing.
        wide.into_iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
    }

    /// Numbers for each channel, which blocks have in common, in pictures that have them in all places.
    #[test]
    fn operands_that_repeat_give_the_same_bits() {
        let mut dice = Dice(5);
        let step = |op, operands: [usize; 3], is_result| PointwiseStep {
            op,
            operands: [operands[0], operands[1], operands[2], 3],
            is_result,
        };
        let steps = [
            step(PointwiseOp::Binary(BinaryOp::Mul), [0, 1, 0], false),
            step(PointwiseOp::Addcmul, [2, 1, 4], false),
            step(PointwiseOp::Binary(BinaryOp::Sub), [5, 0, 0], true),
        ];
        for (sizes, channels) in [
            ([2, 3, 700, 16], [1, 3, 1, 16]),
            ([2, 3, 49, 16], [2, 3, 1, 16]),
            ([1, 30, 20, 40], [1, 1, 1, 40]),
            ([1, 3, 30, 1500], [1, 1, 1, 1500]),
            ([2, 7, 31, 33], [1, 7, 1, 1]),
        ] {
            let x = tensor(&mut dice, &sizes, DType::Float32);
            let [a, b] = [0, 1].map(|_| tensor(&mut dice, &channels, DType::Float32));
            let inputs =
                [(&x).into(), (&a).into(), (&b).into(), Operand::Scalar(Scalar::Float(0.7))];
            let expected = one_by_one(&steps, &inputs).unwrap();
            let found = fused_pointwise(&steps, &inputs).unwrap();
            let bits = |of: &Tensor| -> Vec<u32> {
                of.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
            };
            assert_eq!(bits(&found[0]), bits(&expected[0]), "{sizes:?}");
        }
    }

    #[test]
    fn chains_give_the_bits_that_their_steps_give_one_by_one() {
        let dice = &mut Dice(7);
        let shapes: [&[&[i64]]; 5] = [
            &[&[9000], &[9000], &[1], &[]],
            &[&[3, 4, 50], &[4, 50], &[50], &[4, 1]],
            &[&[2, 5, 6, 7], &[5, 1, 1], &[2, 1, 6, 7], &[2, 5, 1, 1]],
            &[&[16], &[16], &[16], &[16]],
            &[&[40, 1], &[1, 300], &[40, 300], &[1]],
        ];
        let mut in_blocks = 0;
        for round in 0..600 {
            let shapes = shapes[round % shapes.len()];
            let dtype = dice.one_of(&[DType::Float32, DType::Float32, DType::Float64]);
            let is_scattered = round % 3 == 0;
            let tensors: Vec<Tensor> = (0..3)
                .map(|_| {
                    let sizes = dice.one_of(shapes);
                    let tensor = tensor(dice, sizes, dtype);
                    if is_scattered { laid_out(dice, &tensor) } else { tensor }
                })
                .collect();
            // What is held twice is not disposed of.
            let _held = tensors.clone();
            let sizes = dice.one_of(shapes);
            let mask = tensor(dice, sizes, DType::Bool);
            let numbers = [
                Scalar::Float(0.7),
                Scalar::Int(2),
                Scalar::Float(-1.3),
                Scalar::Int(1),
                Scalar::Int(3),
                Scalar::Float(-2.0),
                Scalar::Float(0.5),
            ];
            let mut inputs: Vec<Operand<'_>> = numbers.map(Operand::Scalar).to_vec();
            inputs.extend(tensors.iter().chain([&mask]).map(Operand::Tensor));
            let count = 1 + dice.below(12);
            let steps = steps(dice, numbers.len(), tensors.len(), count);
            let expected = one_by_one(&steps, &inputs).unwrap();
            for count in [1, 3] {
                partition::set_num_threads(count);
                let found = match dtype {
                    DType::Float32 => in_one_pass::<f32>(&steps, &inputs).unwrap(),
                    _ => in_one_pass::<f64>(&steps, &inputs).unwrap(),
                };
                partition::set_num_threads(0);
                let Some(found) = found else { continue };
                in_blocks += 1;
                assert_eq!(found.len(), expected.len(), "{steps:?}");
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found.sizes(), expected.sizes(), "{steps:?}");
                    assert_eq!(found.strides(), expected.strides(), "{steps:?} {tensors:?}");
                    assert_eq!(found.dtype(), expected.dtype());
                    let pairs = bits(found).into_iter().zip(bits(expected));
                    let wrong = pairs.filter(|(found, expected)| found != expected);
                    let wrong: Vec<_> = wrong.map(|(a, b)| [a, b].map(f64::from_bits)).collect();
                    assert!(wrong.is_empty(), "{:?} {steps:?}", wrong.first());
                }
            }
        }
        assert!(in_blocks > 900, "{in_blocks}");
    }

    #[test]
    fn what_does_not_fit_is_computed_step_by_step() {
        let times = |operands| PointwiseStep {
            op: PointwiseOp::Binary(BinaryOp::Mul),
            operands,
            is_result: false,
        };
        let plus = |operands| PointwiseStep { op: PointwiseOp::Add, operands, is_result: true };
        let steps = [times([0, 1, 0, 0]), plus([3, 0, 2, 0])];
        let one = Operand::from(1);
        let whole = Tensor::from_slice(&[1i64, 2, 3], &[3]).unwrap();
        let found = fused_pointwise(&steps, &[(&whole).into(), 5.into(), one]).unwrap();
        assert_eq!(found[0].to_vec::<i64>().unwrap(), [6, 12, 18]);
        // An input that is wanted again stays as it is.
        let single = Tensor::from_slice(&[1f32, 2.0, 3.0], &[3]).unwrap();
        let found = fused_pointwise(&steps, &[(&single).into(), (&whole).into(), one]).unwrap();
        assert_eq!(found[0].to_vec::<f32>().unwrap(), [2.0, 6.0, 12.0]);
        let none = Tensor::zeros(&[0, 3], DType::Float32).unwrap();
        let found = fused_pointwise(&steps, &[(&none).into(), (&single).into(), one]).unwrap();
        assert_eq!(found[0].sizes(), [0, 3]);
        let other = Tensor::zeros(&[2], DType::Float32).unwrap();
        let error = fused_pointwise(&steps, &[(&single).into(), (&other).into(), one]).unwrap_err();
        assert!(error.message().starts_with("The size of tensor a (3) must match"), "{error:?}");
        assert!(fused_pointwise(&[times([0, 2, 0, 0])], &[one, one]).is_err());
        let mask = Tensor::from_bools(&[true, false, true], &[3]).unwrap();
        let fill =
            PointwiseStep { op: PointwiseOp::MaskedFill, operands: [0, 1, 2, 0], is_result: true };
        let inputs = [&single, &mask, &single].map(Operand::Tensor);
        let error = fused_pointwise(&[fill], &inputs).unwrap_err();
        assert!(error.message().starts_with("masked_fill_ only supports a 0-dim"), "{error:?}");
        // What is added in place may not be larger than what it is added to.
        let onto = |operands| PointwiseStep {
            op: PointwiseOp::Onto(BinaryOp::Add),
            operands,
            is_result: true,
        };
        let row = single.unsqueeze(0).unwrap();
        let inputs = [&single, &row].map(Operand::Tensor);
        assert!(fused_pointwise(&[onto([0, 1, 0, 0])], &inputs).is_err());
        let found = fused_pointwise(&[onto([1, 0, 0, 0])], &inputs).unwrap();
        assert_eq!(found[0].to_vec::<f32>().unwrap(), [2.0, 4.0, 6.0]);
    }
}

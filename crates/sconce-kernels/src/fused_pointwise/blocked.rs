//! A fused chain in one pass over memory. Block by block, each operator's own kernel runs over numbers
//! that the first cache still holds. Intermediate results are never written to memory.
//!
//! Operands that are broadcast, or whose layout differs from that of the result, are gathered block by
//! block as well. A step whose operands are all smaller than the result is computed once, as it would
//! be alone.

use std::cell::Ref;

use sconce_kernel_core::iter::broadcast_binary::{BinaryKernel, row};
use sconce_kernel_core::layout::shape::{broadcast, expanded_strides};
use sconce_kernel_core::layout::strided_iter::Strided;
use sconce_kernel_core::parallel::{grain, partition};
use sconce_kernel_core::simd::dispatch::{dispatch, prefetch};
use sconce_kernel_core::simd::map_slice::map_slice;
use sconce_kernel_core::tensor::dtype_range::rounded;
use smallvec::SmallVec;

use super::load::{Elements, HELD_NONE, Held, Load, block_of};
use super::{PointwiseOp, PointwiseResults, PointwiseStep, apply};
use crate::elementwise::activation::bounded;
use crate::elementwise::binary::{BinaryKernels, Power, Then};
use crate::elementwise::conditional::{elu_of, leaky, softplus_of};
use crate::elementwise::ternary::mixed;
use crate::elementwise::unary::UnaryKernel;
use crate::{BinaryOp, Bool, DType, Dims, Operand, Result, Scalar, Tensor, UnaryOp};

/// Elements of a block: a few blocks stay in the first cache together.
const BLOCK: usize = 1024;

/// Elements of a chain of one step below which other threads cost more than they bring, and below
/// which they do for a chain of any length.
const SERIAL: [usize; 2] = [grain::ELEMENTWISE, 8 * BLOCK];

/// Bytes of inputs beyond which the next block is not near on its own: while one is computed, the
/// CPU sees nothing of the way the program goes through memory.
const FAR: usize = 4 << 20;

/// Runs a chain; `None` where an operand is of another dtype, or does not fit otherwise.
///
/// # Errors
/// Where memory is short.
pub(super) fn run<T: BinaryKernels>(
    steps: &[PointwiseStep],
    inputs: &[Operand<'_>],
) -> Result<Option<PointwiseResults>> {
    let Some(sizes) = common_sizes::<T>(inputs) else { return Ok(None) };
    let Some(small) = small_steps(steps, inputs, &sizes)? else { return Ok(None) };
    let values = inputs.iter().map(|&input| Some(input));
    let values = values.chain(small.iter().map(|made| made.as_ref().map(Operand::Tensor)));
    let values: Values<'_> = values.collect();
    let mut guards: SmallVec<[Option<Guard<'_, T>>; 16]> = SmallVec::new();
    for value in &values {
        guards.push(match value {
            Some(Operand::Tensor(tensor)) => Guard::new(tensor)?,
            _ => None,
        });
    }
    let is_whole =
        |(step, made): &(&PointwiseStep, &Option<Tensor>)| step.is_result && made.is_none();
    let results = steps.iter().zip(&small).filter(is_whole).count();
    let mut plan = Plan {
        sizes: &sizes,
        values: &values,
        guards: &guards,
        sources: SmallVec::from_elem(None, values.len()),
        is_mask: SmallVec::from_elem(false, values.len()),
        last: last_uses(steps, values.len()),
        numbers: SmallVec::new(),
        whole: SmallVec::new(),
        loads: SmallVec::new(),
        work: SmallVec::new(),
        result_cells: results,
        results: 0,
        cells: results,
        free: SmallVec::new(),
        kept: SmallVec::new(),
    };
    for (at, step) in steps.iter().enumerate() {
        let is_small = small[at].is_some();
        if !is_small && plan.step(inputs.len() + at, step).is_none() {
            return Ok(None);
        }
    }
    let made: SmallVec<[Tensor; 2]> =
        (0..results).map(|_| Tensor::for_overwrite(&sizes, T::DTYPE)).collect::<Result<_>>()?;
    {
        let mut outs: SmallVec<[_; 2]> =
            made.iter().map(Tensor::write::<T>).collect::<Result<_>>()?;
        plan.run(outs.iter_mut().map(|out| &mut **out).collect());
    }
    let mut made = made.into_iter();
    let given = steps.iter().zip(&small).filter(|(step, _)| step.is_result);
    Ok(Some(given.filter_map(|(_, small)| small.clone().or_else(|| made.next())).collect()))
}

/// The sizes of all inputs together, if what is not `bool` of them is of this dtype and there is
/// anything to compute.
fn common_sizes<T: BinaryKernels>(inputs: &[Operand<'_>]) -> Option<Dims> {
    let mut sizes = Dims::new();
    for input in inputs {
        match input {
            Operand::Tensor(tensor) => {
                if tensor.dtype() != T::DTYPE && tensor.dtype() != DType::Bool {
                    return None;
                }
                if tensor.sizes() != &sizes[..] {
                    sizes = broadcast(&sizes, tensor.sizes()).ok()?;
                }
            }
            Operand::Scalar(Scalar::Int(_) | Scalar::Float(_)) => {}
            Operand::Scalar(_) => return None,
        }
    }
    (!sizes.contains(&0)).then_some(sizes)
}

/// What the steps give that are smaller than the result, none for the others; `None` where one of
/// them gives what cannot be computed with.
fn small_steps(
    steps: &[PointwiseStep],
    inputs: &[Operand<'_>],
    sizes: &[i64],
) -> Result<Option<SmallVec<[Option<Tensor>; 16]>>> {
    let mut made: SmallVec<[Option<Tensor>; 16]> = SmallVec::new();
    for step in steps {
        let operands = step.operands.map(|position| match position.checked_sub(inputs.len()) {
            None => inputs.get(position).copied(),
            Some(at) => made.get(at)?.as_ref().map(Operand::Tensor),
        });
        let operands_of = &operands[..step.op.arity()];
        let mut largest = Dims::new();
        let mut is_small = true;
        for operand in operands_of {
            // Steps that are not small have the sizes of the result.
            let Some(operand) = operand else {
                is_small = false;
                break;
            };
            if operand.sizes() == sizes && !sizes.is_empty() {
                is_small = false;
                break;
            }
            let Ok(sizes) = broadcast(&largest, operand.sizes()) else { return Ok(None) };
            largest = sizes;
        }
        is_small &= largest[..] != *sizes;
        made.push(if is_small { Some(apply(step.op, operands, false)?) } else { None });
    }
    Ok(Some(made))
}

/// For each value, the last step that takes it.
fn last_uses(steps: &[PointwiseStep], values: usize) -> SmallVec<[usize; 32]> {
    let mut last = SmallVec::from_elem(0, values);
    let inputs = values - steps.len();
    for (at, step) in steps.iter().enumerate() {
        step.operands().iter().for_each(|&operand| last[operand] = inputs + at);
    }
    last
}

/// Inputs and what small steps have made; `None` for other steps.
type Values<'a> = SmallVec<[Option<Operand<'a>>; 32]>;

/// The storage of a tensor, lent for reading.
enum Guard<'a, T> {
    Numbers(Ref<'a, [T]>),
    Bools(Ref<'a, [Bool]>),
}

impl<'a, T: BinaryKernels> Guard<'a, T> {
    fn new(tensor: &'a Tensor) -> Result<Option<Self>> {
        Ok(match tensor.dtype() {
            DType::Bool => Some(Guard::Bools(tensor.storage().read()?)),
            dtype if dtype == T::DTYPE => Some(Guard::Numbers(tensor.storage().read()?)),
            _ => None,
        })
    }
}

/// Where a kernel finds an operand.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// One number for all elements.
    Number(usize),
    /// A tensor that lies as the result does.
    Whole(usize),
    /// A block of numbers.
    Cell(usize),
}

/// What computes a block.
#[derive(Clone, Copy)]
enum Kernel<T> {
    Load(usize),
    One(UnaryKernel<T>),
    Two(BinaryKernel<T>),
    Bounded([f64; 2]),
    Leaky(f64),
    Elu([f64; 3]),
    Softplus([f64; 2]),
    Addcmul(f64),
    Addcdiv(f64),
    Lerp,
    LerpBy(f64),
    Select,
}

/// A kernel, where its operands are, and the cell that it fills.
#[derive(Clone, Copy)]
struct Work<T> {
    kernel: Kernel<T>,
    from: [Source; 3],
    to: usize,
}

/// What each block takes, as it is found out. The cells of results come before all others.
struct Plan<'a, T> {
    sizes: &'a [i64],
    values: &'a [Option<Operand<'a>>],
    guards: &'a [Option<Guard<'a, T>>],
    /// Where each value is, once it is known.
    sources: SmallVec<[Option<Source>; 32]>,
    /// Which values are 1 where something holds, and 0 elsewhere.
    is_mask: SmallVec<[bool; 32]>,
    last: SmallVec<[usize; 32]>,
    numbers: SmallVec<[T; 8]>,
    whole: SmallVec<[&'a [T]; 8]>,
    loads: SmallVec<[Load<'a, T>; 2]>,
    work: SmallVec<[Work<T>; 16]>,
    /// How many results there are, and how many have been planned.
    result_cells: usize,
    results: usize,
    cells: usize,
    /// Cells whose numbers are not wanted any more.
    free: SmallVec<[usize; 8]>,
    /// Cells that hold what blocks have in common.
    kept: SmallVec<[usize; 4]>,
}

impl<'a, T: BinaryKernels> Plan<'a, T> {
    /// Adds what a step takes, whose result is the value of this number.
    fn step(&mut self, value: usize, step: &PointwiseStep) -> Option<()> {
        let [a, b, c, d] = step.operands;
        match step.op {
            PointwiseOp::Unary(op) => {
                let from = self.cells_of(a)?;
                self.finish(value, step, Kernel::One(T::unary_kernel(op)), [from; 3])
            }
            PointwiseOp::Binary(BinaryOp::Pow) if self.power(b).is_some() => {
                let power = self.power(b)?;
                let from = self.cells_of(a)?;
                let first = Kernel::One(T::unary_kernel(power.first));
                let Some(then) = power.then else {
                    return self.finish(value, step, first, [from; 3]);
                };
                let cell = self.cell();
                self.push(first, [from; 3], cell);
                let square = Source::Cell(cell);
                let (kernel, operands) = match then {
                    Then::TimesBase => {
                        (Kernel::Two(T::binary_kernel(BinaryOp::Mul)?), [square, from, from])
                    }
                    Then::Inverse => {
                        (Kernel::One(T::unary_kernel(UnaryOp::Reciprocal)), [square; 3])
                    }
                };
                self.finish(value, step, kernel, operands)?;
                self.free.push(cell);
                Some(())
            }
            PointwiseOp::Binary(op) | PointwiseOp::Onto(op) => {
                let from = [self.source(a, false)?, self.source(b, false)?];
                let kernel = match comparing::<T>(op) {
                    Some(_) if step.is_result => return None,
                    Some(kernel) => {
                        self.is_mask[value] = true;
                        kernel
                    }
                    None => T::binary_kernel(op)?,
                };
                self.finish(value, step, Kernel::Two(kernel), [from[0], from[1], from[1]])
            }
            PointwiseOp::Add => self.scaled(value, step, BinaryOp::Add),
            PointwiseOp::Sub => self.scaled(value, step, BinaryOp::Sub),
            PointwiseOp::Clamp => {
                let (low, high) =
                    (T::binary_kernel(BinaryOp::Maximum)?, T::binary_kernel(BinaryOp::Minimum)?);
                let from = [self.source(a, false)?, self.source(b, false)?];
                let raised = self.cell();
                self.push(Kernel::Two(low), [from[0], from[1], from[1]], raised);
                let from = [Source::Cell(raised), self.source(c, false)?];
                self.finish(value, step, Kernel::Two(high), [from[0], from[1], from[1]])?;
                self.free.push(raised);
                Some(())
            }
            PointwiseOp::ClampMin | PointwiseOp::ClampMax => {
                let is_min = step.op == PointwiseOp::ClampMin;
                let op = if is_min { BinaryOp::Maximum } else { BinaryOp::Minimum };
                let from = [self.source(a, false)?, self.source(b, false)?];
                self.finish(
                    value,
                    step,
                    Kernel::Two(T::binary_kernel(op)?),
                    [from[0], from[1], from[1]],
                )
            }
            PointwiseOp::Hardtanh => {
                let bounds = [self.number(b)?, self.number(c)?].map(|x| rounded(x, T::DTYPE));
                let from = self.cells_of(a)?;
                self.finish(value, step, Kernel::Bounded(bounds), [from; 3])
            }
            PointwiseOp::LeakyRelu => {
                let slope = self.number(b)?;
                let from = self.cells_of(a)?;
                self.finish(value, step, Kernel::Leaky(slope), [from; 3])
            }
            PointwiseOp::Elu => {
                let scales = [self.number(b)?, self.number(c)?, self.number(d)?];
                let from = self.cells_of(a)?;
                self.finish(value, step, Kernel::Elu(scales), [from; 3])
            }
            PointwiseOp::Softplus => {
                let numbers = [self.number(b)?, self.number(c)?];
                let from = self.cells_of(a)?;
                self.finish(value, step, Kernel::Softplus(numbers), [from; 3])
            }
            PointwiseOp::Addcmul | PointwiseOp::Addcdiv => {
                let by = self.number(d)?;
                let kernel = match step.op {
                    PointwiseOp::Addcmul => Kernel::Addcmul(by),
                    _ => Kernel::Addcdiv(by),
                };
                let from = [self.source(a, false)?, self.source(b, false)?, self.source(c, false)?];
                self.finish(value, step, kernel, from)
            }
            PointwiseOp::Lerp => {
                let (start, end) = (self.source(a, false)?, self.source(b, false)?);
                match self.number(c) {
                    Some(weight) => {
                        self.finish(value, step, Kernel::LerpBy(weight), [start, end, end])
                    }
                    None => {
                        let weight = self.source(c, false)?;
                        self.finish(value, step, Kernel::Lerp, [start, end, weight])
                    }
                }
            }
            PointwiseOp::Where => self.select(value, step, [a, b, c]),
            PointwiseOp::MaskedFill => {
                // What has dimensions is refused as a value.
                let fits = self.values[c].is_some_and(|value| value.sizes().is_empty());
                if fits { self.select(value, step, [b, c, a]) } else { None }
            }
        }
    }

    /// A sum or difference whose second operand is multiplied by a number first.
    fn scaled(&mut self, value: usize, step: &PointwiseStep, op: BinaryOp) -> Option<()> {
        let [a, b, alpha, _] = step.operands;
        let from = [self.source(a, false)?, self.source(b, false)?];
        let kernel = Kernel::Two(T::binary_kernel(op)?);
        let alpha_is = self.number(alpha)?;
        if alpha_is == 1.0 {
            return self.finish(value, step, kernel, [from[0], from[1], from[1]]);
        }
        let alpha = self.source(alpha, false)?;
        let product = self.cell();
        self.push(Kernel::Two(T::binary_kernel(BinaryOp::Mul)?), [from[1], alpha, alpha], product);
        self.finish(value, step, kernel, [from[0], Source::Cell(product), from[0]])?;
        self.free.push(product);
        Some(())
    }

    /// One of two operands where a mask says so, the other elsewhere.
    fn select(
        &mut self,
        value: usize,
        step: &PointwiseStep,
        [mask, a, b]: [usize; 3],
    ) -> Option<()> {
        let from = [self.source(mask, true)?, self.source(a, false)?, self.source(b, false)?];
        // Two numbers have a dtype of their own.
        if let [_, Source::Number(_), Source::Number(_)] = from {
            return None;
        }
        self.finish(value, step, Kernel::Select, from)
    }

    /// Adds the last kernel of a step, and gives back the cells that nothing wants after it.
    fn finish(
        &mut self,
        value: usize,
        step: &PointwiseStep,
        kernel: Kernel<T>,
        from: [Source; 3],
    ) -> Option<()> {
        let to = match step.is_result {
            true => {
                self.results += 1;
                self.results - 1
            }
            false => self.cell(),
        };
        self.push(kernel, from, to);
        self.sources[value] = Some(Source::Cell(to));
        for (at, &operand) in step.operands().iter().enumerate() {
            let again = step.operands()[..at].contains(&operand);
            if let Some(Source::Cell(cell)) = self.sources[operand]
                && self.last[operand] == value
                && cell >= self.result_cells
                && !self.kept.contains(&cell)
                && !again
            {
                self.free.push(cell);
            }
        }
        Some(())
    }

    fn push(&mut self, kernel: Kernel<T>, from: [Source; 3], to: usize) {
        self.work.push(Work { kernel, from, to });
    }

    /// A cell that holds nothing.
    fn cell(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| self.new_cell())
    }

    fn new_cell(&mut self) -> usize {
        self.cells += 1;
        self.cells - 1
    }

    /// The number that an input is.
    fn number(&self, value: usize) -> Option<f64> {
        match self.values.get(value)? {
            Some(Operand::Scalar(number)) => Some(number.to_f64()),
            _ => None,
        }
    }

    /// What gives a power whose exponent is this value, if simpler operators do.
    fn power(&self, value: usize) -> Option<Power> {
        self.number(value).and_then(Power::of)
    }

    /// Where a value is that is not the same number everywhere.
    fn cells_of(&mut self, value: usize) -> Option<Source> {
        self.source(value, false).filter(|source| !matches!(source, Source::Number(_)))
    }

    /// Where a value is; `None` where it is a condition and should not be, or the other way round.
    fn source(&mut self, value: usize, as_mask: bool) -> Option<Source> {
        if let Some(source) = self.sources[value] {
            return (self.is_mask[value] == as_mask).then_some(source);
        }
        let source = match (self.values[value]?, self.guards[value].as_ref()) {
            (Operand::Scalar(number), _) if !as_mask => {
                self.a_number(T::from_double(number.to_f64()))
            }
            (Operand::Tensor(tensor), Some(Guard::Numbers(all))) if !as_mask => {
                let all: &'a [T] = all;
                let start = usize::try_from(tensor.offset()).ok()?;
                let count = tensor.count();
                if tensor.sizes() == self.sizes && tensor.is_contiguous() {
                    self.whole.push(all.get(start..start + count)?);
                    Source::Whole(self.whole.len() - 1)
                } else if count == 1 {
                    self.a_number(*all.get(start)?)
                } else {
                    self.a_load(tensor, Elements::Numbers(all))
                }
            }
            (Operand::Tensor(tensor), Some(Guard::Bools(all))) if as_mask => {
                self.is_mask[value] = true;
                self.a_load(tensor, Elements::Bools(all))
            }
            _ => return None,
        };
        self.sources[value] = Some(source);
        Some(source)
    }

    fn a_number(&mut self, number: T) -> Source {
        self.numbers.push(number);
        Source::Number(self.numbers.len() - 1)
    }

    fn a_load(&mut self, tensor: &Tensor, elements: Elements<'a, T>) -> Source {
        let strides = expanded_strides(tensor.sizes(), tensor.strides(), self.sizes);
        let load = Load::new(self.sizes, &strides, tensor.offset(), elements);
        let repeats = load.repeats();
        self.loads.push(load);
        let load = self.loads.len() - 1;
        // A cell whose elements serve for several blocks is not filled with anything else.
        let cell = if repeats { self.new_cell() } else { self.cell() };
        if repeats {
            self.kept.push(cell);
        }
        self.push(Kernel::Load(load), [Source::Number(0); 3], cell);
        Source::Cell(cell)
    }

    /// Computes the results, on several threads where they are long.
    fn run(&self, mut outs: SmallVec<[&mut [T]; 2]>) {
        let len = outs.first().map_or(0, |out| out.len());
        let serial = (SERIAL[0] / self.work.len().max(1)).max(SERIAL[1]);
        let piece = partition::chunk_len(len, BLOCK, serial).max(1);
        let running = Running {
            numbers: &self.numbers,
            whole: &self.whole,
            loads: &self.loads,
            work: &self.work,
            scratch: self.cells - self.result_cells,
            is_far: len * self.whole.len() * size_of::<T>() > FAR,
        };
        if piece >= len {
            return running.piece(0, outs);
        }
        let mut start = 0;
        let pieces = std::iter::from_fn(|| {
            let at = start;
            start += piece;
            (at < len).then(|| (at, outs.iter_mut().map(|out| split_off(out, piece)).collect()))
        });
        partition::for_each(pieces, |(start, outs)| running.piece(start, outs));
    }
}

/// The first elements of a slice, or all of them, taken off it.
fn split_off<'a, T>(slice: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let all = std::mem::take(slice);
    let (first, rest) = all.split_at_mut(count.min(all.len()));
    *slice = rest;
    first
}

/// What threads share of a plan.
struct Running<'a, T> {
    numbers: &'a [T],
    whole: &'a [&'a [T]],
    loads: &'a [Load<'a, T>],
    work: &'a [Work<T>],
    /// Cells beside those of the results.
    scratch: usize,
    /// Whether inputs have to be brought near.
    is_far: bool,
}

impl<T: BinaryKernels> Running<'_, T> {
    /// Computes all results from `start` on.
    fn piece(&self, start: usize, mut outs: SmallVec<[&mut [T]; 2]>) {
        let len = outs.first().map_or(0, |out| out.len());
        let block = block_of(self.loads, BLOCK).min(len);
        let mut held: SmallVec<[Held; 4]> = SmallVec::from_elem(HELD_NONE, self.loads.len());
        let mut scratch: SmallVec<[T; 128]> =
            SmallVec::from_elem(T::from_double(0.0), block * self.scratch);
        let mut done = 0;
        while done < len {
            let most = block.min(len - done);
            let ends = self.loads.iter().map(|load| load.within_run(start + done, most));
            let count = ends.min().unwrap_or(most);
            let mut cells: SmallVec<[&mut [T]; 16]> = SmallVec::new();
            cells.extend(outs.iter_mut().map(|out| split_off(out, count)));
            cells.extend(scratch.chunks_exact_mut(block).map(|cell| &mut cell[..count]));
            let next = start + done + count;
            for (at, work) in self.work.iter().enumerate() {
                if self.is_far {
                    self.fetch(at, next);
                }
                self.work(work, start + done, &mut cells, &mut held);
            }
            done += count;
        }
    }

    /// Has a part of the inputs brought near that the block from `next` on takes.
    fn fetch(&self, part: usize, next: usize) {
        let len = BLOCK.div_ceil(self.work.len());
        for whole in self.whole {
            let rest = whole.get(next + part * len..).unwrap_or_default();
            prefetch(&rest[..len.min(rest.len())]);
        }
    }

    fn work(&self, work: &Work<T>, start: usize, cells: &mut [&mut [T]], held: &mut [Held]) {
        // No operand is in the cell that is filled.
        let out = std::mem::take(&mut cells[work.to]);
        let from = |source: Source| -> Strided<'_, T> {
            match source {
                Source::Number(at) => (&self.numbers[at..], 0),
                Source::Whole(at) => (&self.whole[at][start..start + out.len()], 1),
                Source::Cell(at) => (&*cells[at], 1),
            }
        };
        let [a, b, c] = work.from;
        match work.kernel {
            Kernel::Load(load) => self.loads[load].fill_new(start, out, &mut held[load]),
            Kernel::One(kernel) => kernel(from(a).0, out),
            Kernel::Two(kernel) => kernel(out, from(a), from(b)),
            Kernel::Bounded([low, high]) => {
                map_slice(from(a).0, out, |x: T| T::from_double(bounded(x.to_double(), low, high)));
            }
            Kernel::Leaky(slope) => {
                map_slice(from(a).0, out, |x: T| T::from_double(leaky(x.to_double(), slope)));
            }
            Kernel::Elu([alpha, scale, input_scale]) => map_slice(from(a).0, out, |x: T| {
                T::from_double(elu_of::<T::Accuracy>(x.to_double(), alpha, scale, input_scale))
            }),
            Kernel::Softplus([beta, threshold]) => map_slice(from(a).0, out, |x: T| {
                T::from_double(softplus_of::<T::Accuracy>(x.to_double(), beta, threshold))
            }),
            Kernel::Addcmul(by) => {
                triples(
                    out,
                    [from(a), from(b), from(c)],
                    &each_lane(move |[x, a, b]| x + by * a * b),
                );
            }
            Kernel::Addcdiv(by) => {
                triples(
                    out,
                    [from(a), from(b), from(c)],
                    &each_lane(move |[x, a, b]| x + by * a / b),
                );
            }
            Kernel::Lerp => {
                triples(out, [from(a), from(b), from(c)], &each_lane(|[a, b, by]| mixed(a, b, by)))
            }
            Kernel::LerpBy(by) => {
                triples(
                    out,
                    [from(a), from(b), from(b)],
                    &each_lane(move |[a, b, _]| mixed(a, b, by)),
                );
            }
            Kernel::Select => select(out, from(a).0, from(b), from(c)),
        }
        cells[work.to] = out;
    }
}

/// Elements of three operands that are computed together.
const LANES: usize = 128;

type Lanes = [f64; LANES];

/// A function of three operands, computed in double precision. It is compiled once, whatever the operands are.
fn triples<T: BinaryKernels>(
    out: &mut [T],
    from: [Strided<'_, T>; 3],
    f: &dyn Fn(&[Lanes; 3], &mut Lanes),
) {
    let (mut lanes, mut made) = ([[0f64; LANES]; 3], [0f64; LANES]);
    // Numbers are there for all lanes before, so that all operands are alike.
    for (lanes, (row, _)) in lanes.iter_mut().zip(from).filter(|(_, (_, step))| *step == 0) {
        lanes.fill(row[0].to_double());
    }
    for (block, out) in out.chunks_mut(LANES).enumerate() {
        let start = block * LANES;
        for (lanes, (row, _)) in lanes.iter_mut().zip(from).filter(|(_, (_, step))| *step != 0) {
            let row = &row[start..start + out.len()];
            dispatch(
                #[inline(always)]
                || lanes.iter_mut().zip(row).for_each(|(lane, x)| *lane = x.to_double()),
            );
        }
        f(&lanes, &mut made);
        dispatch(
            #[inline(always)]
            || out.iter_mut().zip(&made).for_each(|(out, &x)| *out = T::from_double(x)),
        );
    }
}

/// A function of three numbers, for all lanes.
fn each_lane(f: impl Fn([f64; 3]) -> f64) -> impl Fn(&[Lanes; 3], &mut Lanes) {
    move |[a, b, c], made| {
        dispatch(
            #[inline(always)]
            || {
                // Nothing else sees these, so that the compiler knows that no store changes an operand.
                let mut all = [0f64; LANES];
                for lane in 0..LANES {
                    all[lane] = f([a[lane], b[lane], c[lane]]);
                }
                *made = all;
            },
        );
    }
}

/// The kernel of a comparison that gives 1 and 0.
fn comparing<T: BinaryKernels>(op: BinaryOp) -> Option<BinaryKernel<T>> {
    #[inline(always)]
    fn flag<T: BinaryKernels>(holds: bool) -> T {
        T::from_double(if holds { 1.0 } else { 0.0 })
    }
    Some(match op {
        BinaryOp::Eq => |out, x, y| row(out, x, y, |x: T, y: T| flag::<T>(x == y)),
        BinaryOp::Ne => |out, x, y| row(out, x, y, |x: T, y: T| flag::<T>(x != y)),
        BinaryOp::Lt => |out, x, y| row(out, x, y, |x: T, y: T| flag::<T>(x < y)),
        BinaryOp::Le => |out, x, y| row(out, x, y, |x: T, y: T| flag::<T>(x <= y)),
        BinaryOp::Gt => |out, x, y| row(out, x, y, |x: T, y: T| flag::<T>(x > y)),
        BinaryOp::Ge => |out, x, y| row(out, x, y, |x: T, y: T| flag::<T>(x >= y)),
        _ => return None,
    })
}

/// Elements of `a` where the mask is not 0, of `b` elsewhere.
fn select<T: BinaryKernels>(out: &mut [T], mask: &[T], a: Strided<'_, T>, b: Strided<'_, T>) {
    let zero = T::from_double(0.0);
    let (len, mask) = (out.len(), &mask[..out.len()]);
    dispatch(
        #[inline(always)]
        || match (a, b) {
            ((a, 0), (b, _)) => {
                let (a, b) = (a[0], &b[..len]);
                for ((out, &mask), &b) in out.iter_mut().zip(mask).zip(b) {
                    *out = if mask != zero { a } else { b };
                }
            }
            ((a, _), (b, 0)) => {
                let (a, b) = (&a[..len], b[0]);
                for ((out, &mask), &a) in out.iter_mut().zip(mask).zip(a) {
                    *out = if mask != zero { a } else { b };
                }
            }
            ((a, _), (b, _)) => {
                for (((out, &mask), &a), &b) in
                    out.iter_mut().zip(mask).zip(&a[..len]).zip(&b[..len])
                {
                    *out = if mask != zero { a } else { b };
                }
            }
        },
    );
}

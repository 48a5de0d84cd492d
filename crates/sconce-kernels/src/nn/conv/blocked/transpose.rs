//! Transposed convolution in the blocked layout.
//!
//! With a stride of `s`, the results at every `s`-th place along a dimension, a phase, are an ordinary convolution of
//! the input with every `s`-th element of the window. Each phase is computed as such, some rows at a time, and its
//! pixels are put where they belong while they are in the nearest cache.

use std::ops::Range;

use sconce_kernel_core::chosen_implementation::chose;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::{Level, best};
use sconce_kernel_core::simd::lanes::LANES;

use super::activation::{Activation, NEAR_PIXELS};
use super::convolve::{PARALLEL, part_of, rows_per_piece};
use super::pack::block_runs;
use super::share::each;
use super::tile::{Part, Row, row};
use super::{blocked_sizes, scratch};
use crate::{DType, Error, Result, Tensor};

/// A transposed convolution of one group in blocks: the numbers that its packed weight does not tell. Pairs are height
/// and width.
#[derive(Debug, Clone, Copy)]
pub struct BlockedConvTranspose {
    /// Input channels.
    pub in_channels: i64,
    /// Result channels.
    pub out_channels: i64,
    /// The window.
    pub kernel: [i64; 2],
    /// Steps between windows, in the result.
    pub stride: [i64; 2],
    /// What is taken away at each side of the result.
    pub padding: [i64; 2],
    /// What is added to the result's end; less than the stride.
    pub output_padding: [i64; 2],
    /// What is done to the results, after the residual is added.
    pub activation: Activation,
}

/// The largest stride: each has as many phases in each dimension.
const MAX_STRIDE: usize = 64;

/// One dimension of a transposed convolution.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    input: usize,
    output: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
}

impl Extent {
    /// `None` where the numbers do not fit.
    fn new(input: usize, options: &BlockedConvTranspose, dim: usize) -> Option<Extent> {
        // Far below what could overflow in sizes and offsets, and above any image.
        let small = |size: i64| usize::try_from(size).ok().filter(|&size| size < 1 << 20);
        let (kernel, stride) = (small(options.kernel[dim])?, small(options.stride[dim])?);
        let padding = small(options.padding[dim])?;
        let extra = small(options.output_padding[dim])?;
        if kernel == 0 || extra >= stride || stride > MAX_STRIDE {
            return None;
        }
        let reach = input.checked_sub(1)?.checked_mul(stride)?.checked_add(kernel + extra)?;
        let output = reach.checked_sub(2 * padding).filter(|&size| size > 0)?;
        Some(Extent { input, output, kernel, stride, padding })
    }

    /// How many elements of the window a phase has.
    fn taps(&self, phase: usize) -> usize {
        self.kernel.saturating_sub(phase).div_ceil(self.stride)
    }

    /// Which steps of a phase give results in a range; step `q` of phase `r` gives the one at `q * stride + r - padding`,
    /// of the inputs at `q` and before.
    fn steps(&self, phase: usize, results: Range<usize>) -> Range<usize> {
        let step =
            |result: usize| (result + self.padding).saturating_sub(phase).div_ceil(self.stride);
        step(results.start)..step(results.end)
    }

    /// The result that a step of a phase gives.
    fn result(&self, phase: usize, step: usize) -> usize {
        step * self.stride + phase - self.padding
    }

    /// Zeros before the input that windows reach.
    fn before(&self) -> usize {
        self.taps(0) - 1
    }

    /// The size of the input with the zeros around it.
    fn padded(&self) -> usize {
        let steps = (self.output - 1 + self.padding) / self.stride + 1;
        self.before() + self.input.max(steps)
    }
}

/// One phase in both dimensions.
struct Phase {
    phase: [usize; 2],
    /// From the pixel of a step to each element of the window.
    offsets: Vec<usize>,
    /// How many of them have all channels of a block.
    whole: usize,
    /// How many elements of the window come before, those of all blocks.
    skipped: usize,
}

/// The transposed convolution of one image.
struct Call<'a> {
    level: Level,
    rows: Extent,
    columns: Extent,
    phases: &'a [Phase],
    input: &'a [f32],
    rest_channels: usize,
    bias: &'a [f32],
    residual: Option<&'a [f32]>,
    activation: Activation,
}

/// Some rows of one or two blocks of result channels.
struct Piece<'a> {
    rows: Range<usize>,
    first_block: usize,
    weights: &'a [f32],
    out: [&'a mut [f32]; 2],
}

/// `activation(conv_transpose2d(input, weight, bias) + residual)` in the blocked layout, of one group and without
/// dilation. The weight and the bias are those of [`pack_transposed_weight`](crate::pack_transposed_weight) and
/// [`pack_bias`](crate::pack_bias).
///
/// # Errors
/// Where sizes or dtypes do not fit.
pub fn conv_transpose_blocked(
    input: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    residual: Option<&Tensor>,
    options: &BlockedConvTranspose,
) -> Result<Tensor> {
    transpose(best(), input, weight, bias, residual, options)
}

pub(super) fn transpose(
    level: Level,
    input: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    residual: Option<&Tensor>,
    options: &BlockedConvTranspose,
) -> Result<Tensor> {
    let unfit = || Error::runtime("a transposed convolution in blocks whose sizes do not fit");
    let [batch, planes, height, width] = blocked_sizes(input)?;
    let rows = Extent::new(height, options, 0).ok_or_else(unfit)?;
    let columns = Extent::new(width, options, 1).ok_or_else(unfit)?;
    let channels = |count: i64| usize::try_from(count).ok().filter(|&count| count > 0);
    let in_channels = channels(options.in_channels).ok_or_else(unfit)?;
    let out_channels = channels(options.out_channels).ok_or_else(unfit)?;
    let blocks = out_channels.div_ceil(LANES);
    let sizes = [batch, blocks, rows.output, columns.output, LANES].map(|size| size as i64);
    let residual_fits = residual.is_none_or(|residual| residual.sizes() == sizes);
    if planes != in_channels.div_ceil(LANES) || batch == 0 || !residual_fits {
        return Err(unfit());
    }
    let result = Tensor::for_overwrite(&sizes, DType::Float32)?;
    let (input, residual) = (input.contiguous()?, residual.map(Tensor::contiguous).transpose()?);
    let (x, w, b) = (input.read::<f32>()?, weight.read::<f32>()?, bias.read::<f32>()?);
    let residual = residual.as_ref().map(Tensor::read::<f32>).transpose()?;
    let window = rows.kernel * columns.kernel;
    if w.len() != blocks * LANES * planes * LANES * window || b.len() != blocks * LANES {
        return Err(unfit());
    }
    chose("blocked layout, transposed");
    let rest_channels = in_channels % LANES;
    let phases = phases(rows, columns, planes, rest_channels);
    let mut out = result.write::<f32>()?;
    let (in_len, out_len) = (x.len() / batch, out.len() / batch);
    let work = planes * LANES * window * height * width * out_channels;
    let threads = if work < PARALLEL { 1 } else { partition::num_threads() };
    for (index, out) in out.chunks_exact_mut(out_len).enumerate() {
        let x = &x[index * in_len..(index + 1) * in_len];
        let residual = residual.as_ref().map(|all| &all[index * out_len..(index + 1) * out_len]);
        with_zeros(x, rows, columns, |input| {
            let call = Call {
                level,
                rows,
                columns,
                phases: &phases,
                input,
                rest_channels,
                bias: &b,
                residual,
                activation: options.activation,
            };
            let compute = |piece| call.piece(piece);
            let pieces = pieces(rows, columns, threads, out_channels, &w, out);
            match threads < 2 {
                true => pieces.into_iter().for_each(compute),
                false => partition::for_each(pieces.into_iter(), compute),
            }
        });
    }
    drop(out);
    Ok(result)
}

fn phases(rows: Extent, columns: Extent, planes: usize, rest_channels: usize) -> Vec<Phase> {
    let wide = columns.padded();
    let plane = rows.padded() * wide * LANES;
    let mut skipped = 0;
    let mut all = Vec::with_capacity(rows.stride * columns.stride);
    for phase in phase_pairs([rows.stride, columns.stride]) {
        let taps = [rows.taps(phase[0]), columns.taps(phase[1])];
        let mut offsets = Vec::with_capacity(planes * taps[0] * taps[1]);
        for p in 0..planes {
            for i in 0..taps[0] {
                let line = (rows.before() - i) * wide;
                let pixels = (0..taps[1]).map(|j| line + columns.before() - j);
                offsets.extend(pixels.map(|pixel| p * plane + pixel * LANES));
            }
        }
        // Elements of the last block have fewer channels where those of the image do not fill it.
        let ragged = if rest_channels == 0 { 0 } else { taps[0] * taps[1] };
        let (whole, count) = (offsets.len() - ragged, offsets.len());
        all.push(Phase { phase, offsets, whole, skipped });
        skipped += count;
    }
    all
}

/// All phases of strides in both dimensions, in the order of the packed weight.
pub(super) fn phase_pairs([rows, columns]: [usize; 2]) -> impl Iterator<Item = [usize; 2]> {
    (0..rows).flat_map(move |row| (0..columns).map(move |column| [row, column]))
}

/// Works with an image that has its zeros around it.
fn with_zeros(x: &[f32], rows: Extent, columns: Extent, work: impl FnOnce(&[f32])) {
    let ([high, wide], line) = ([rows.padded(), columns.padded()], columns.input * LANES);
    if [high, wide] == [rows.input, columns.input] {
        return work(x);
    }
    let (top, left, wide) = (rows.before(), columns.before() * LANES, wide * LANES);
    let planes = x.chunks_exact(rows.input * line);
    scratch::with(planes.len() * high * wide, |copy| {
        let planes = planes.zip(copy.chunks_exact_mut(high * wide));
        each(x.len(), planes, |(from, to)| {
            to[..top * wide].fill(0.0);
            to[(top + rows.input) * wide..].fill(0.0);
            let inside = to[top * wide..].chunks_exact_mut(wide);
            for (from, to) in from.chunks_exact(line).zip(inside) {
                to[..left].fill(0.0);
                to[left..left + line].copy_from_slice(from);
                to[left + line..].fill(0.0);
            }
        });
        work(copy);
    });
}

/// Cuts the result of one image into pieces for threads.
fn pieces<'a>(
    rows: Extent,
    columns: Extent,
    threads: usize,
    out_channels: usize,
    weights: &'a [f32],
    out: &'a mut [f32],
) -> Vec<Piece<'a>> {
    let line = columns.output * LANES;
    let per_block = weights.len() / out_channels.div_ceil(LANES);
    let runs = block_runs(out_channels, 1).count();
    // Whole rounds of phases, so that pieces take as long.
    let most = rows_per_piece(rows.output, threads, runs).next_multiple_of(rows.stride);
    let (mut rest, mut weights) = (out, weights);
    let mut pieces = Vec::new();
    for run in block_runs(out_channels, 1) {
        let (own, others) = weights.split_at(per_block * run.blocks);
        weights = others;
        let (all, others) = std::mem::take(&mut rest).split_at_mut(run.blocks * rows.output * line);
        rest = others;
        let (a, b) = all.split_at_mut(rows.output * line);
        let mut second = b.chunks_mut(most * line);
        for (index, a) in a.chunks_mut(most * line).enumerate() {
            let first = index * most;
            pieces.push(Piece {
                rows: first..first + a.len() / line,
                first_block: run.first,
                weights: own,
                out: [a, second.next().unwrap_or_default()],
            });
        }
    }
    pieces
}

/// Where some steps of a phase lie in a block's part of the result.
#[derive(Clone, Copy)]
struct Places {
    /// The first row and how far it is to the next one.
    row: usize,
    rows_apart: usize,
    /// The same of pixels of a row.
    column: usize,
    columns_apart: usize,
    /// How many pixels a row of the result has, and how many of them are of this phase.
    width: usize,
    count: usize,
}

impl Places {
    /// Puts pixels of the phase where they belong.
    fn scatter(self, from: &[f32], to: &mut [f32]) {
        let lines = from.chunks_exact(self.count * LANES);
        let rows = to.chunks_exact_mut(self.width * LANES).skip(self.row).step_by(self.rows_apart);
        for (from, to) in lines.zip(rows) {
            let to = to.as_chunks_mut::<LANES>().0[self.column..].iter_mut();
            let pairs = to.step_by(self.columns_apart).zip(from.as_chunks::<LANES>().0);
            pairs.for_each(|(to, from)| *to = *from);
        }
    }

    /// The pixels of the phase.
    fn gather(self, from: &[f32], to: &mut [f32]) {
        let lines = to.chunks_exact_mut(self.count * LANES);
        let rows = from.chunks_exact(self.width * LANES).skip(self.row).step_by(self.rows_apart);
        for (to, from) in lines.zip(rows) {
            let from = from.as_chunks::<LANES>().0[self.column..].iter();
            let pairs = from.step_by(self.columns_apart).zip(to.as_chunks_mut::<LANES>().0);
            pairs.for_each(|(from, to)| *to = *from);
        }
    }
}

impl Call<'_> {
    fn piece(&self, mut piece: Piece<'_>) {
        for phase in self.phases {
            let steps = self.rows.steps(phase.phase[0], piece.rows.clone());
            let columns = self.columns.steps(phase.phase[1], 0..self.columns.output);
            if steps.is_empty() || columns.is_empty() {
                continue;
            }
            // Rows that follow each other without a gap are computed as one.
            let joins = columns.len() == self.columns.padded();
            let most = if joins { (NEAR_PIXELS / columns.len()).max(1) } else { 1 };
            for first in steps.clone().step_by(most) {
                let steps = first..(first + most).min(steps.end);
                self.steps(phase, steps, columns.clone(), &mut piece);
            }
        }
    }

    /// Some steps of a phase; those of several rows only where the pixels of one follow those of the other.
    fn steps(
        &self,
        phase: &Phase,
        steps: Range<usize>,
        columns: Range<usize>,
        piece: &mut Piece<'_>,
    ) {
        let places = Places {
            row: self.rows.result(phase.phase[0], steps.start) - piece.rows.start,
            rows_apart: self.rows.stride,
            column: self.columns.result(phase.phase[1], columns.start),
            columns_apart: self.columns.stride,
            width: self.columns.output,
            count: columns.len(),
        };
        let len = steps.len() * columns.len() * LANES;
        let blocks = if piece.out[1].is_empty() { 1 } else { 2 };
        let residual = self.residual.map(|all| {
            let first = piece.first_block * self.rows.output;
            &all[first * places.width * LANES..]
        });
        scratch::with(2 * blocks * len, |buffer| {
            let (sums, added) = buffer.split_at_mut(blocks * len);
            let (a, b) = sums.split_at_mut(len);
            if let Some(residual) = residual {
                let places = Places { row: places.row + piece.rows.start, ..places };
                let plane = self.rows.output * places.width * LANES;
                let planes = residual.chunks_exact(plane).zip(added.chunks_exact_mut(len));
                planes.for_each(|(from, to)| places.gather(from, to));
            }
            let mut added = added.chunks_exact(len).map(|added| residual.and(Some(added)));
            let added = [added.next().flatten(), added.next().flatten()];
            let start = (steps.start * self.columns.padded() + columns.start) * LANES;
            self.row(phase, start, piece, added, [&mut *a, &mut *b]);
            places.scatter(a, piece.out[0]);
            if blocks > 1 {
                places.scatter(b, piece.out[1]);
            }
        });
    }

    /// Pixels of a phase that follow each other, the first of which has its step's input at `start`.
    fn row(
        &self,
        phase: &Phase,
        start: usize,
        piece: &Piece<'_>,
        residual: [Option<&[f32]>; 2],
        [a, b]: [&mut [f32]; 2],
    ) {
        let blocks = if b.is_empty() { 1 } else { 2 };
        let line = LANES * blocks * LANES;
        let weights = &piece.weights[phase.skipped * line..];
        let count = phase.offsets.len();
        let most = part_of(self.level, count, line).max(1);
        // A phase beyond the window has no elements: one part of none.
        for done in (0..count.max(1)).step_by(most) {
            let offsets = &phase.offsets[done..(done + most).min(count)];
            let part = Part { first: done == 0, last: done + offsets.len() == count };
            let call = Row {
                input: self.input,
                start,
                offsets,
                run: LANES,
                whole: phase.whole.saturating_sub(done),
                rest: self.rest_channels,
                step: LANES,
                weights: &weights[done * line..],
                bias: &self.bias[piece.first_block * LANES..],
                residual,
                activation: self.activation,
                part,
                ahead: 0,
            };
            row(self.level, &call, [&mut *a, &mut *b]);
        }
        self.activation.apply_to_stored(a);
        self.activation.apply_to_stored(b);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::super::tests::{LEVELS, close, numbers};
    use super::*;
    use crate::nn::conv::blocked::{from_blocked, pack_bias, pack_transposed_weight, to_blocked};
    use crate::{ConvOptions, conv_transpose};

    /// Channels of input and result, and height and width.
    const IMAGES: [[i64; 4]; 4] = [[3, 20, 5, 8], [16, 33, 1, 1], [20, 16, 9, 3], [33, 3, 4, 30]];

    /// Each pixel becomes four.
    const DOUBLED: BlockedConvTranspose = BlockedConvTranspose {
        in_channels: 20,
        out_channels: 16,
        kernel: [2, 2],
        stride: [2, 2],
        padding: [0, 0],
        output_padding: [0, 0],
        activation: Activation::None,
    };

    #[test]
    fn transposed_convolutions_in_blocks_are_transposed_convolutions() {
        let mut count = 0;
        for kernel in [2, 3, 4, 5] {
            for stride in [1, 2, 3] {
                for padding in 0..3 {
                    for extra in 0..stride {
                        // All sizes in turn, which have no factor in common with the loops.
                        let image = IMAGES[count % IMAGES.len()];
                        count += 1;
                        check(image, [kernel; 2], [stride; 2], [padding; 2], [extra; 2]);
                    }
                }
            }
        }
        check([17, 35, 6, 7], [1, 4], [1, 2], [0, 1], [0, 1]);
        check([16, 16, 14, 14], [2, 2], [2, 2], [0, 0], [0, 0]);
        check([48, 40, 7, 11], [5, 2], [3, 4], [1, 0], [2, 3]);
    }

    fn check(
        [channels, out, height, width]: [i64; 4],
        kernel: [i64; 2],
        stride: [i64; 2],
        padding: [i64; 2],
        output_padding: [i64; 2],
    ) {
        let case = format!("{channels} {out} {kernel:?} {stride:?} {padding:?} {output_padding:?}");
        let x = numbers(&[2, channels, height, width], 1);
        let w = numbers(&[channels, out, kernel[0], kernel[1]], 2);
        let bias = numbers(&[out], 3);
        let plain =
            ConvOptions { stride: &stride, padding: &padding, dilation: &[1, 1], groups: 1 };
        let expected = conv_transpose(&x, &w, Some(&bias), &plain, &output_padding);
        let packed = pack_transposed_weight(&w, stride).unwrap().unwrap();
        let packed_bias = pack_bias(Some(&bias), out).unwrap();
        let input = to_blocked(&x).unwrap();
        let options = |activation| BlockedConvTranspose {
            in_channels: channels,
            out_channels: out,
            kernel,
            stride,
            padding,
            output_padding,
            activation,
        };
        let run = |level, residual: Option<&Tensor>, activation| {
            transpose(level, &input, &packed, &packed_bias, residual, &options(activation))
        };
        // More is taken away than there is.
        let Ok(expected) = expected else {
            assert!(run(best(), None, Activation::None).is_err(), "{case}");
            return;
        };
        let residual = numbers(expected.sizes(), 4);
        let summed = crate::add((&expected).into(), (&residual).into(), 1.into()).unwrap();
        let residual = to_blocked(&residual).unwrap();
        for level in LEVELS.iter().copied() {
            let found = run(level, None, Activation::None).unwrap();
            close(&from_blocked(&found, out).unwrap(), &expected);
            for (activation, function) in [
                (Activation::Relu, crate::UnaryOp::Relu),
                (Activation::Silu, crate::UnaryOp::Silu),
                (Activation::Gelu, crate::UnaryOp::Gelu),
            ] {
                let found = run(level, Some(&residual), activation).unwrap();
                let expected = crate::unary(function, &summed).unwrap();
                close(&from_blocked(&found, out).unwrap(), &expected);
            }
        }
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (x, w) = (numbers(&[1, 64, 13, 17], 5), numbers(&[64, 80, 3, 3], 6));
                let packed = pack_transposed_weight(&w, [2, 2]).unwrap().unwrap();
                let options = BlockedConvTranspose {
                    in_channels: 64,
                    out_channels: 80,
                    kernel: [3, 3],
                    padding: [1, 1],
                    output_padding: [1, 1],
                    activation: Activation::Gelu,
                    ..DOUBLED
                };
                let (x, bias) = (to_blocked(&x).unwrap(), pack_bias(None, 80).unwrap());
                conv_transpose_blocked(&x, &packed, &bias, None, &options)
                    .unwrap()
                    .to_vec::<f32>()
                    .unwrap()
            })
        };
        assert_eq!(with_threads(1), with_threads(3));
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let (x, w) = (numbers(&[1, 20, 4, 5], 1), numbers(&[20, 16, 2, 2], 2));
        let packed = pack_transposed_weight(&w, [2, 2]).unwrap().unwrap();
        let (x, bias) = (to_blocked(&x).unwrap(), pack_bias(None, 16).unwrap());
        assert!(conv_transpose_blocked(&x, &packed, &bias, None, &DOUBLED).is_ok());
        for wrong in [
            BlockedConvTranspose { in_channels: 40, ..DOUBLED },
            BlockedConvTranspose { out_channels: 33, ..DOUBLED },
            BlockedConvTranspose { kernel: [2, 3], ..DOUBLED },
            BlockedConvTranspose { stride: [0, 2], ..DOUBLED },
            BlockedConvTranspose { padding: [-1, 0], ..DOUBLED },
            BlockedConvTranspose { padding: [4, 0], ..DOUBLED },
            BlockedConvTranspose { output_padding: [2, 0], ..DOUBLED },
        ] {
            let result = conv_transpose_blocked(&x, &packed, &bias, None, &wrong);
            assert!(result.is_err(), "{wrong:?}");
        }
    }
}

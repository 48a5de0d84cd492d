//! Convolution by im2col: products of weights and patches, which are the columns of a matrix.
//!
//! Only as many patches are gathered at a time as a cache holds. They are multiplied before the next
//! ones evict them.

use std::sync::{Mutex, PoisonError};

use sconce_gemm::matrix::Matrix;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;

use crate::nn::conv::conv_element::ConvElement;
use crate::nn::conv::window::{Geometry, lines_of_window, taps};
use crate::{Error, Memory, Result};

/// Elements of the patches that are gathered at a time, unless they would be too few columns.
const STRIP: usize = 1 << 17;

/// Columns below which a product of many is not worth its preparations.
const FEW_COLUMNS: usize = 192;

/// The sizes of a convolution of channels in groups.
#[derive(Clone, Copy)]
pub(crate) struct Channels {
    pub(crate) groups: usize,
    /// In each group, of the input and of the result.
    pub(crate) input: usize,
    pub(crate) output: usize,
}

/// A few lines of the result of one group of channels.
struct PatchStrip<'a, T> {
    /// Of the batch and its groups.
    block: usize,
    first_line: usize,
    /// The parts of the result's channels.
    out: Vec<&'a mut [T]>,
}

/// Adds the convolution of row-major images with row-major weights to the result, which is not empty.
pub(crate) fn convolve<T: ConvElement>(
    xs: &[T],
    ws: &[T],
    out: &mut [T],
    g: Geometry,
    channels: Channels,
) -> Result<()> {
    let in_size: usize = g.input.iter().product();
    let out_size: usize = g.output.iter().product();
    let depth = channels.input * g.kernel.iter().product::<usize>();
    let lines = STRIP.div_ceil(depth).max(FEW_COLUMNS).div_ceil(g.output[2]);
    let lines = lines.min(out_size / g.output[2]);
    let columns = lines * g.output[2];
    let mut strips: Vec<PatchStrip<'_, T>> = Vec::new();
    for (block, out) in out.chunks_exact_mut(channels.output * out_size).enumerate() {
        let first = strips.len();
        let starts = (0..out_size.div_ceil(columns)).map(|strip| strip * lines);
        strips.extend(starts.map(|first_line| PatchStrip {
            block,
            first_line,
            out: Vec::with_capacity(channels.output),
        }));
        for channel in out.chunks_exact_mut(out_size) {
            let parts = strips[first..].iter_mut().zip(channel.chunks_mut(columns));
            parts.for_each(|(strip, part)| strip.out.push(part));
        }
    }
    // Threads take strips; where these are few, each is divided among them.
    let is_shared = strips.len() >= 2 * partition::num_threads();
    let at_once = if is_shared { partition::num_threads() } else { 1 };
    let numbers = depth.saturating_add(channels.output).saturating_mul(columns);
    Memory::check_scratch(numbers.saturating_mul(at_once).saturating_mul(size_of::<T>()))?;
    // Memory that goes from one strip to the next.
    let kept: Mutex<Vec<[Vec<T>; 2]>> = Mutex::new(Vec::new());
    let kept = || kept.lock().unwrap_or_else(PoisonError::into_inner);
    let work = |strip: PatchStrip<'_, T>| -> Result<()> {
        let [mut patches, mut sums] = kept().pop().unwrap_or_default();
        let width = strip.out.first().map_or(0, |part| part.len());
        resize(&mut patches, depth, width)?;
        resize(&mut sums, channels.output, width)?;
        let from = &xs[strip.block * channels.input * in_size..][..channels.input * in_size];
        let range = strip.first_line..strip.first_line + width / g.output[2];
        let rows = patches.chunks_exact_mut(depth / channels.input * width);
        let gather =
            |(rows, plane): (&mut [T], &[T])| gather_patches(plane, rows, &g, range.clone());
        match is_shared {
            true => rows.zip(from.chunks_exact(in_size)).for_each(gather),
            false => partition::for_each(rows.zip(from.chunks_exact(in_size)), gather),
        }
        let weights = Matrix {
            start: strip.block % channels.groups * channels.output * depth,
            row_stride: depth,
            col_stride: 1,
        };
        let at = Matrix { start: 0, row_stride: width, col_stride: 1 };
        T::product([channels.output, depth, width], (ws, weights), (&patches, at), &mut sums)?;
        for (out, sums) in strip.out.into_iter().zip(sums.chunks_exact(width)) {
            out.iter_mut().zip(sums).for_each(|(out, &sum)| *out = out.sum(sum));
        }
        kept().push([patches, sums]);
        Ok(())
    };
    match is_shared {
        true => partition::try_for_each(strips.into_iter(), work),
        false => strips.into_iter().try_for_each(work),
    }
}

/// Zeros for a matrix.
fn resize<T: ConvElement>(matrix: &mut Vec<T>, rows: usize, columns: usize) -> Result<()> {
    matrix.clear();
    let count = rows.checked_mul(columns).filter(|&n| matrix.try_reserve_exact(n).is_ok());
    let Some(count) = count else {
        return Err(Error::runtime("not enough memory for the patches of a convolution"));
    };
    matrix.resize(count, T::NOTHING);
    Ok(())
}

/// Writes what the windows of some lines of outputs have of one channel into rows of zeros, one for each
/// element of the window.
fn gather_patches<T: ConvElement>(
    plane: &[T],
    rows: &mut [T],
    g: &Geometry,
    lines: std::ops::Range<usize>,
) {
    let size = lines.len() * g.output[2];
    let step = g.stride[2];
    for (tap, row) in taps(*g).zip(rows.chunks_exact_mut(size)) {
        lines_of_window(g, tap, lines.clone(), |out, input, len| {
            let to = &mut row[out..out + len];
            match step {
                1 => to.copy_from_slice(&plane[input..input + len]),
                2 => every_other(&plane[input..], to),
                _ => {
                    let values = plane[input..].iter().step_by(step);
                    to.iter_mut().zip(values).for_each(|(to, &x)| *to = x);
                }
            }
        });
    }
}

/// Copies the first and every other element after it.
fn every_other<T: Copy>(from: &[T], to: &mut [T]) {
    dispatch(
        #[inline(always)]
        || {
            let (pairs, rest) = from.as_chunks::<2>();
            to.iter_mut().zip(pairs).for_each(|(to, pair)| *to = pair[0]);
            // The last one may have none behind it.
            if let (Some(to), Some(&x)) = (to.get_mut(pairs.len()), rest.first()) {
                *to = x;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_give_what_the_definition_gives() {
        // Channels of a group, their number, the size of the image; stride, padding, dilation.
        let cases = [
            (80, 1, [1, 33, 30], 1, 1, 1),
            (90, 2, [1, 40, 37], 2, 0, 1),
            (40, 1, [4, 9, 31], 1, 2, 2),
            (3, 1, [1, 30, 41], 3, 1, 1),
        ];
        for (channels, groups, input, stride, padding, dilation) in cases {
            let kernel = if input[0] > 1 { [2, 3, 3] } else { [1, 3, 3] };
            let flat = |n: usize, none: usize| if input[0] > 1 { [n; 3] } else { [none, n, n] };
            let (stride, padding, dilation) =
                (flat(stride, 1), flat(padding, 0), flat(dilation, 1));
            let output: [usize; 3] = std::array::from_fn(|i| {
                (input[i] + 2 * padding[i] - (kernel[i] - 1) * dilation[i] - 1) / stride[i] + 1
            });
            let g = Geometry { input, kernel, output, stride, padding, dilation };
            let [planes, size, window] =
                [input, output, kernel].map(|n| n.iter().product::<usize>());
            let numbers = |count: usize, step: usize| -> Vec<f32> {
                (0..count).map(|i| (i * step % 7) as f32 - 3.0).collect()
            };
            let sizes = Channels { groups, input: channels, output: 2 };
            let xs = numbers(2 * groups * channels * planes, 5);
            let ws = numbers(groups * 2 * channels * window, 3);
            let mut out = numbers(2 * groups * 2 * size, 2);
            let mut expected = out.clone();
            convolve(&xs, &ws, &mut out, g, sizes).unwrap();
            for (at, out) in expected.chunks_exact_mut(size).enumerate() {
                let (block, filters) = (at / 2, at % (2 * groups));
                for channel in 0..channels {
                    let plane = &xs[(block * channels + channel) * planes..][..planes];
                    let filter = &ws[(filters * channels + channel) * window..][..window];
                    for (tap, &weight) in taps(g).zip(filter) {
                        crate::nn::conv::window::window_rows(&g, tap, |to, from, len| {
                            for i in 0..len {
                                out[to + i] += plane[from + i * g.stride[2]] * weight;
                            }
                        });
                    }
                }
            }
            // Whole numbers: sums are exact in any order.
            assert_eq!(out, expected, "{g:?}");
        }
    }
}

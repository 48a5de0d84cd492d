//! Transformed weights, kept with the packed weights that they are made of.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use sconce_kernel_core::alloc::caching_allocator::Block;
use sconce_kernel_core::alloc::counting_allocator;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::simd::lanes::LANES;

use super::super::pack::block_runs;
use super::points::{MAX_SIDE, Variant};

/// Weights of a window.
const TAPS: usize = 9;

/// The largest sum of squares of weights, and the inverse of the smallest: beyond 2^30, or its inverse, transformed
/// weights and their products could leave the range of `float32`.
const MAX_SQUARE: f64 = (1u64 << 60) as f64;

/// The most by which the weights of a result channel may differ from place to place of the window: the squared ratio of
/// their root mean squares. What is smaller would be lost in sums with the others.
const MAX_SPREAD: f64 = (1u64 << 32) as f64;

/// The transformed forms of one convolution's weights, each made when it is first needed.
///
/// Which one that is depends on the size of the images, which nobody knows when weights are packed: a plan is for a
/// dtype and a number of dimensions. Both at once would take 6.8 times the memory of the weights.
#[derive(Default)]
pub(in super::super) struct Forms {
    four: OnceLock<Option<Weights>>,
    two: OnceLock<Option<Weights>>,
}

/// Transformed weights: `[stretch of one or two blocks of result channels][position][input channel][result channel of
/// the stretch]`.
pub(in super::super) struct Weights(Block);

impl Forms {
    /// The weights for a variant, of packed ones with this many input and result channels. `None` where they are not
    /// fit for it, or memory is short.
    pub(in super::super) fn of(
        &self,
        variant: Variant,
        packed: &[f32],
        channels: usize,
        out_channels: usize,
    ) -> Option<&Weights> {
        let form = match variant {
            Variant::Four => &self.four,
            Variant::Two => &self.two,
        };
        form.get_or_init(|| transform(variant, packed, channels, out_channels)).as_ref()
    }
}

impl Weights {
    pub(super) fn numbers(&self) -> &[f32] {
        bytemuck::cast_slice(self.0.bytes())
    }
}

/// How many numbers the transformed weights of a block of result channels take.
pub(super) fn block_len(variant: Variant, channels: usize) -> usize {
    variant.positions() * channels * LANES
}

fn transform(
    variant: Variant,
    packed: &[f32],
    channels: usize,
    out_channels: usize,
) -> Option<Weights> {
    let blocks = out_channels.div_ceil(LANES);
    let block = block_len(variant, channels);
    let bytes = blocks * block * size_of::<f32>();
    let from_block = channels.next_multiple_of(LANES) * TAPS * LANES;
    if !counting_allocator::may_keep(bytes) || packed.len() != blocks * from_block {
        return None;
    }
    let mut weights = Block::for_overwrite(bytes).ok()?;
    let mut rest: &mut [f32] = bytemuck::cast_slice_mut(weights.bytes_mut());
    let mut pieces = Vec::new();
    for stretch in block_runs(out_channels, 1) {
        let (own, others) = std::mem::take(&mut rest).split_at_mut(stretch.blocks * block);
        rest = others;
        let start = stretch.first * from_block;
        pieces.push((&packed[start..start + stretch.blocks * from_block], own, stretch.blocks));
    }
    let matrix = variant.weight_matrix();
    let fit = AtomicBool::new(true);
    partition::for_each(pieces.into_iter(), |(from, to, blocks)| {
        let is_fit = dispatch(
            #[inline(always)]
            || {
                (0..blocks).all(|half| {
                    block_of_weights(variant, &matrix, from, to, channels, [half, blocks])
                })
            },
        );
        if !is_fit {
            fit.store(false, Ordering::Relaxed);
        }
    });
    fit.into_inner().then_some(Weights(weights))
}

/// Sixteen result channels: one block of one or two. Whether the weights are fit for it.
#[inline(always)]
fn block_of_weights(
    variant: Variant,
    matrix: &[[f64; 3]],
    from: &[f32],
    to: &mut [f32],
    channels: usize,
    [half, blocks]: [usize; 2],
) -> bool {
    let (side, line) = (variant.side(), blocks * LANES);
    let mut squares = [[0f64; LANES]; TAPS];
    for channel in 0..channels {
        let (block, lane) = (channel / LANES, channel % LANES);
        let mut taps = [[0f64; LANES]; TAPS];
        for (tap, taps) in taps.iter_mut().enumerate() {
            let start = ((block * TAPS + tap) * LANES + lane) * line + half * LANES;
            for (tap, &weight) in taps.iter_mut().zip(&from[start..start + LANES]) {
                *tap = f64::from(weight);
            }
        }
        for (squares, taps) in squares.iter_mut().zip(&taps) {
            for (square, tap) in squares.iter_mut().zip(taps) {
                *square += tap * tap;
            }
        }
        let mut columns = [[[0f64; LANES]; 3]; MAX_SIDE];
        for (column, row) in columns.iter_mut().zip(matrix) {
            for (j, sums) in column.iter_mut().enumerate() {
                for (l, sum) in sums.iter_mut().enumerate() {
                    *sum = row[0] * taps[j][l] + row[1] * taps[3 + j][l] + row[2] * taps[6 + j][l];
                }
            }
        }
        for (i, column) in columns.iter().take(side).enumerate() {
            for (j, row) in matrix.iter().enumerate() {
                let start = ((i * side + j) * channels + channel) * line + half * LANES;
                for (l, to) in to[start..start + LANES].iter_mut().enumerate() {
                    let sum = row[0] * column[0][l] + row[1] * column[1][l] + row[2] * column[2][l];
                    *to = sum as f32;
                }
            }
        }
    }
    (0..LANES).all(|lane| is_fit(squares.map(|squares| squares[lane])))
}

/// Whether the weights of a result channel can be transformed without loss, by the sum of their squares at each place
/// of the window.
fn is_fit(squares: [f64; TAPS]) -> bool {
    let largest = squares.iter().copied().fold(0.0, f64::max);
    let smallest = squares.iter().copied().filter(|&x| x > 0.0).fold(f64::INFINITY, f64::min);
    // NaN is refused as well.
    let in_range = (1.0 / MAX_SQUARE..=MAX_SQUARE).contains(&largest);
    squares.iter().all(|square| square.is_finite())
        && (largest == 0.0 || (in_range && largest / smallest <= MAX_SPREAD))
}

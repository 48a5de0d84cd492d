//! The order of the work, and its partition among threads.
//!
//! Some tiles are transformed at a time, so many that what they become stays in the second cache. Then, for two blocks
//! of result channels after the other, they are multiplied for each position, and the products become pixels at once.
//! Threads share the rows of tiles. Where there are few, they share the blocks of input channels first, and the blocks
//! of result channels then. Every number is computed in the same order either way.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::Level;
use sconce_kernel_core::simd::lanes::LANES;

use super::super::activation::Activation;
use super::super::scratch;
use super::outline::Outline;
use super::points::Variant;
use super::product::{Product, multiply};
use super::transform::{Finish, Gather, transform_input, transform_output};
use super::weights::{Weights, block_len};

/// Numbers that transformed tiles may take.
const MAX_INPUT: usize = 1 << 18;

/// The fewest and the most tiles that are worked on at a time, where there are as many.
const TILES: [usize; 2] = [14, 56];

/// Numbers of weights above which going through them takes longer than reading more tiles from a farther cache.
const LARGE_WEIGHTS: usize = 4 << 20;

/// How many pieces each thread gets, so that none waits long for the others.
const PIECES_PER_THREAD: usize = 4;

/// The numbers of a convolution.
#[derive(Clone, Copy)]
pub(in super::super) struct Operands<'a> {
    pub(in super::super) input: &'a [f32],
    pub(in super::super) bias: &'a [f32],
    /// Of the layout of the result.
    pub(in super::super) residual: Option<&'a [f32]>,
    pub(in super::super) activation: Activation,
}

/// Some rows of tiles, of some blocks of result channels.
struct Piece<'a> {
    /// Rows of tiles, counted through all images.
    rows: Range<usize>,
    /// Blocks of result channels.
    blocks: Range<usize>,
    /// For each image that has some of the rows, for each block: the first row of pixels, and the rows.
    out: Vec<(usize, &'a mut [f32])>,
}

struct Call<'a> {
    level: Level,
    variant: Variant,
    outline: Outline,
    operands: Operands<'a>,
    weights: &'a [f32],
    /// Tiles that are worked on at a time.
    at_a_time: usize,
}

/// Convolves all images, on as many threads. `false` where some number is not finite: what was written is then of no
/// meaning.
pub(in super::super) fn convolve(
    level: Level,
    variant: Variant,
    outline: &Outline,
    operands: Operands<'_>,
    weights: &Weights,
    threads: usize,
    out: &mut [f32],
) -> bool {
    let (tiles, [_, columns]) = (outline.tiles(variant), outline.grid(variant));
    let positions = variant.positions();
    let weights = weights.numbers();
    let fitting = MAX_INPUT / (positions * outline.in_blocks() * LANES);
    let most =
        if weights.len() > LARGE_WEIGHTS { TILES[1] } else { fitting.clamp(TILES[0], TILES[1]) };
    let at_a_time = tiles.div_ceil(tiles.div_ceil(most).max(1));
    let call = Call { level, variant, outline: *outline, operands, weights, at_a_time };
    let finite = AtomicBool::new(true);
    let stretches = outline.out_blocks.div_ceil(2);
    let rows = tiles / columns;
    let shares_channels = threads > 1
        && tiles <= at_a_time
        && (stretches.is_multiple_of(threads) || stretches > 2 * threads);
    if shares_channels {
        call.by_channels(threads, out, &finite);
    } else {
        let count = match threads {
            0 | 1 => 1,
            _ => (threads * PIECES_PER_THREAD).min(rows).min((tiles / TILES[0]).max(threads)),
        };
        let parts = split(rows, count).map(|rows| (rows, 0..outline.out_blocks)).collect();
        let pieces = call.pieces(parts, out);
        let compute = |piece| {
            if !call.rows(piece) {
                finite.store(false, Ordering::Relaxed);
            }
        };
        match threads {
            0 | 1 => pieces.into_iter().for_each(compute),
            _ => partition::for_each(pieces.into_iter(), compute),
        }
    }
    finite.into_inner()
}

/// Cuts a count into so many parts, evenly; none is empty.
fn split(count: usize, parts: usize) -> impl Iterator<Item = Range<usize>> {
    let parts = parts.clamp(1, count.max(1));
    (0..parts).map(move |part| part * count / parts..(part + 1) * count / parts)
}

impl Call<'_> {
    /// From one position of as many tiles to the next. One line more than they take: distances that are multiples of
    /// 4096 bytes would compete for the same places in caches.
    fn stride(&self, tiles: usize) -> usize {
        (tiles + 1) * LANES
    }

    /// Numbers of a block of channels of as many tiles, of all positions.
    fn block(&self, tiles: usize) -> usize {
        self.variant.positions() * self.stride(tiles)
    }

    /// Pieces of rows and blocks, with their parts of the result. Pieces of the same blocks follow each other.
    fn pieces<'a>(
        &self,
        parts: Vec<(Range<usize>, Range<usize>)>,
        out: &'a mut [f32],
    ) -> Vec<Piece<'a>> {
        let [height, width] = self.outline.output;
        let ([rows, _], tile) = (self.outline.grid(self.variant), self.variant.tile());
        let mut pieces: Vec<Piece<'a>> = parts
            .into_iter()
            .map(|(rows, blocks)| Piece { rows, blocks, out: Vec::new() })
            .collect();
        let line = width * LANES;
        for (index, mut rest) in out.chunks_exact_mut(height * line).enumerate() {
            let (image, block) = (index / self.outline.out_blocks, index % self.outline.out_blocks);
            let mut at = 0;
            for piece in pieces.iter_mut().filter(|piece| piece.blocks.contains(&block)) {
                let first = piece.rows.start.max(image * rows);
                let end = piece.rows.end.min((image + 1) * rows);
                if first >= end {
                    continue;
                }
                let until = ((end - image * rows) * tile).min(height);
                let (own, others) = std::mem::take(&mut rest).split_at_mut((until - at) * line);
                piece.out.push((at, own));
                (rest, at) = (others, until);
            }
        }
        pieces
    }

    /// Computes a piece, some tiles at a time.
    fn rows(&self, mut piece: Piece<'_>) -> bool {
        let [_, columns] = self.outline.grid(self.variant);
        let tiles = piece.rows.start * columns..piece.rows.end * columns;
        let count = tiles.len().div_ceil(self.at_a_time);
        let most = tiles.len().div_ceil(count.max(1));
        let in_len = self.outline.in_blocks() * self.block(most);
        scratch::with(in_len + 2 * self.block(most), |buffer| {
            let (input, products) = buffer.split_at_mut(in_len);
            let mut finite = true;
            for part in split(tiles.len(), count) {
                let part = tiles.start + part.start..tiles.start + part.end;
                for block in 0..self.outline.in_blocks() {
                    let to = &mut input[block * self.block(part.len())..];
                    self.transform(block, part.clone(), to);
                }
                finite &= self.channels(&mut piece, part, input, products);
            }
            finite
        })
    }

    /// All tiles at once: threads share the blocks of input channels, then those of result channels.
    fn by_channels(&self, threads: usize, out: &mut [f32], finite: &AtomicBool) {
        let [_, columns] = self.outline.grid(self.variant);
        let tiles = 0..self.outline.tiles(self.variant);
        let block = self.block(tiles.len());
        scratch::with(self.outline.in_blocks() * block, |input| {
            partition::for_each(input.chunks_exact_mut(block).enumerate(), |(block, to)| {
                self.transform(block, tiles.clone(), to);
            });
            let stretches = self.outline.out_blocks.div_ceil(2);
            let parts = split(stretches, threads * PIECES_PER_THREAD).map(|stretches| {
                let end = (2 * stretches.end).min(self.outline.out_blocks);
                (0..tiles.len() / columns, 2 * stretches.start..end)
            });
            let pieces = self.pieces(parts.collect(), out);
            let input = &*input;
            partition::for_each(pieces.into_iter(), |mut piece| {
                let is_finite = scratch::with(2 * block, |products| {
                    self.channels(&mut piece, tiles.clone(), input, products)
                });
                if !is_finite {
                    finite.store(false, Ordering::Relaxed);
                }
            });
        });
    }

    fn transform(&self, block: usize, tiles: Range<usize>, to: &mut [f32]) {
        let stride = self.stride(tiles.len());
        let (variant, outline, input) = (self.variant, &self.outline, self.operands.input);
        let gather = Gather { variant, outline, input, block, tiles, stride };
        transform_input(self.level, &gather, to);
    }

    /// The result channels of a piece, of some of its tiles whose transforms are there.
    fn channels(
        &self,
        piece: &mut Piece<'_>,
        tiles: Range<usize>,
        input: &[f32],
        products: &mut [f32],
    ) -> bool {
        let (stride, block) = (self.stride(tiles.len()), self.block(tiles.len()));
        let channels = self.outline.channels;
        let mut finite = true;
        for first in piece.blocks.clone().step_by(2) {
            let blocks = (self.outline.out_blocks - first).min(2);
            let start = first * block_len(self.variant, channels);
            let panel = channels * blocks * LANES;
            let (a, b) = products.split_at_mut(block);
            for position in 0..self.variant.positions() {
                let at = start + position * panel;
                let product = Product {
                    input: &input[position * stride..],
                    block,
                    tiles: tiles.len(),
                    channels,
                    weights: &self.weights[at..at + panel],
                    next: self.weights.get(at + panel..at + 2 * panel),
                };
                let own = position * stride..position * stride + tiles.len() * LANES;
                let second = if blocks == 2 { &mut b[own.clone()] } else { Default::default() };
                multiply(self.level, &product, [&mut a[own], second]);
            }
            for (half, products) in [&*a, &*b].into_iter().enumerate().take(blocks) {
                finite &= self.finish(piece, first + half, tiles.clone(), products);
            }
        }
        finite
    }

    /// Pixels of one block of result channels, image by image.
    fn finish(
        &self,
        piece: &mut Piece<'_>,
        block: usize,
        tiles: Range<usize>,
        products: &[f32],
    ) -> bool {
        let [rows, columns] = self.outline.grid(self.variant);
        let [height, width] = self.outline.output;
        let of_image = rows * columns;
        let first_image = piece.rows.start / rows;
        let mut at = tiles.start;
        let mut finite = true;
        while at < tiles.end {
            let image = at / of_image;
            let end = tiles.end.min((image + 1) * of_image);
            let own = (image - first_image) * piece.blocks.len() + block - piece.blocks.start;
            let (first_row, out) = &mut piece.out[own];
            let plane = image * self.outline.out_blocks + block;
            let start = (plane * height + *first_row) * width * LANES;
            let call = Finish {
                products,
                stride: self.stride(tiles.len()),
                skipped: at - tiles.start,
                tiles: at..end,
                first_row: *first_row,
                bias: &self.operands.bias[block * LANES..],
                residual: self.operands.residual.map(|all| &all[start..start + out.len()]),
                activation: self.operands.activation,
            };
            finite &= transform_output(self.level, self.variant, &self.outline, &call, out);
            // Rows whose last tile this was; tiles before those may have been among others.
            let (tile, skipped) = (self.variant.tile(), image * of_image);
            let whole = [at, end].map(|tiles| (tiles - skipped) / columns * tile);
            let [from, to] = whole.map(|row| (row.min(height) - *first_row) * width * LANES);
            self.operands.activation.apply_to_stored(&mut out[from..to]);
            at = end;
        }
        finite
    }
}

//! The types of numbers that dense convolutions multiply.

use bytemuck::Pod;
use half::bf16;
use sconce_gemm::packed_bf16::round;
use sconce_kernel_core::simd::dispatch::Level;

use super::channel_pairs::pair_row;
use super::share;
use super::tile::{Row, row};

/// A convolution's weights.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    pub(super) single: &'a [f32],
    /// Those of [`DerivedWeights`](super::derived_weights::DerivedWeights), where they are wanted.
    pub(super) pairs: Option<&'a [bf16]>,
}

/// A type of numbers, with its inner loops.
pub(super) trait TileNumber: Pod + Send + Sync {
    /// The weights of this type.
    fn weights(weights: Weights<'_>) -> &[Self];
    /// Numbers that need not be converted.
    fn as_they_are(numbers: &[f32]) -> Option<&[Self]>;
    /// The nearest numbers.
    fn copy(from: &[f32], to: &mut [Self]);
    /// Calls `f` for parts of an image of so many numbers, which are copied.
    fn each<I: Iterator<Item: Send>>(numbers: usize, parts: I, f: impl Fn(I::Item) + Sync);
    /// Computes a row; `out` are the pixels of one block of channels, or of two.
    fn row(level: Level, row: &Row<'_, Self>, out: [&mut [f32]; 2]);
}

impl TileNumber for f32 {
    fn weights(weights: Weights<'_>) -> &[f32] {
        weights.single
    }

    fn as_they_are(numbers: &[f32]) -> Option<&[f32]> {
        Some(numbers)
    }

    fn copy(from: &[f32], to: &mut [f32]) {
        to.copy_from_slice(from);
    }

    fn each<I: Iterator<Item: Send>>(_: usize, parts: I, f: impl Fn(I::Item) + Sync) {
        parts.for_each(f);
    }

    fn row(level: Level, of: &Row<'_>, out: [&mut [f32]; 2]) {
        row(level, of, out);
    }
}

impl TileNumber for bf16 {
    fn weights(weights: Weights<'_>) -> &[bf16] {
        weights.pairs.unwrap_or_default()
    }

    fn as_they_are(_: &[f32]) -> Option<&[bf16]> {
        None
    }

    fn copy(from: &[f32], to: &mut [bf16]) {
        round(from, to);
    }

    fn each<I: Iterator<Item: Send>>(numbers: usize, parts: I, f: impl Fn(I::Item) + Sync) {
        share::each(numbers, parts, f);
    }

    fn row(_: Level, row: &Row<'_, bf16>, out: [&mut [f32]; 2]) {
        pair_row(row, out);
    }
}

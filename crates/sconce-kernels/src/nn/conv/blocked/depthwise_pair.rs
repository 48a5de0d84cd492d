//! The inner loop of convolution by channel for two rows at once: windows that lie one above the other share all rows
//! of the input but two, so each pixel is read once for both.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see each safety comment")]

use sconce_kernel_core::simd::dispatch::Level;
#[cfg(target_arch = "x86_64")]
use sconce_kernel_core::simd::lanes::Avx512;
use sconce_kernel_core::simd::lanes::{LANES, Lanes};

use super::activation::Activation;
use super::tile::{compiled_for, finish, for_each_index};

/// Two rows of outputs of one block of channels, whose windows move by one and lie inside of the image.
pub(super) struct DepthwisePair<'a> {
    pub(super) input: &'a [f32],
    /// Where the window of the upper row's first output starts.
    pub(super) start: usize,
    /// From one row of the input to the next.
    pub(super) line: usize,
    /// Rows and columns of the window: 3 or 5.
    pub(super) kernel: usize,
    /// `[row][column][channel]`
    pub(super) weights: &'a [f32],
    pub(super) bias: &'a [f32],
    pub(super) residual: [Option<&'a [f32]>; 2],
    pub(super) activation: Activation,
}

/// Whether two rows are computed at once: the sums of two rows take fourteen registers.
pub(super) fn takes_pairs(level: Level, kernel: usize) -> bool {
    match level.or_best() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => matches!(kernel, 3 | 5),
        _ => false,
    }
}

/// Computes two rows, where [`takes_pairs`] says so.
pub(super) fn depthwise_pair(level: Level, pair: &DepthwisePair<'_>, out: [&mut [f32]; 2]) {
    let pixels = out[0].len() / LANES;
    if pixels == 0 {
        return;
    }
    assert!(takes_pairs(level, pair.kernel), "two rows with too few registers");
    let reach = pair.kernel.checked_mul(pair.line).and_then(|down| {
        down.checked_add(pair.start)?.checked_add((pixels + pair.kernel - 1) * LANES)
    });
    assert!(reach.is_some_and(|end| end <= pair.input.len()), "a row reaches beyond its input");
    assert!(pair.weights.len() >= pair.kernel * pair.kernel * LANES && pair.bias.len() >= LANES);
    assert!(out[1].len() == out[0].len());
    assert!(pair.residual.iter().flatten().all(|residual| residual.len() >= out[0].len()));
    // SAFETY: the assertions hold every access against the slices, and say that the level has AVX-512.
    unsafe {
        match level.or_best() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => pair_avx512(pair, out),
            _ => {}
        }
    }
}

compiled_for!("x86_64", "avx512f,avx2,fma", pair_avx512, Avx512, by_window,
    (pair: &DepthwisePair<'_>, out: [&mut [f32]; 2]) -> ());

/// # Safety
/// What [`depthwise_pair`] asserts must hold; the CPU must have what `V` needs.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "no registers for it"))]
unsafe fn by_window<V: Lanes>(pair: &DepthwisePair<'_>, out: [&mut [f32]; 2]) {
    let pixels = out[0].len() / LANES;
    let out = out.map(<[f32]>::as_mut_ptr);
    // SAFETY: the caller's.
    unsafe {
        match (pair.kernel, pixels) {
            (3, 7..) => cover::<V, 7, 3>(pair, out, pixels),
            (3, 3..) => cover::<V, 3, 3>(pair, out, pixels),
            (3, _) => cover::<V, 1, 3>(pair, out, pixels),
            (_, 7..) => cover::<V, 7, 5>(pair, out, pixels),
            (_, 3..) => cover::<V, 3, 5>(pair, out, pixels),
            _ => cover::<V, 1, 5>(pair, out, pixels),
        }
    }
}

/// Covers the rows with tiles of `P` pixels; the last one computes some again rather than fewer.
///
/// # Safety
/// As [`by_window`]; there must be at least `P` pixels, and the kernel be `K`.
#[inline(always)]
unsafe fn cover<V: Lanes, const P: usize, const K: usize>(
    pair: &DepthwisePair<'_>,
    out: [*mut f32; 2],
    pixels: usize,
) {
    let mut at = 0;
    while at < pixels {
        // SAFETY: the caller's.
        unsafe { tile::<V, P, K>(pair, out, at.min(pixels - P)) };
        at += P;
    }
}

/// # Safety
/// As [`cover`]; `P` pixels must be there from `at` on.
#[inline(always)]
unsafe fn tile<V: Lanes, const P: usize, const K: usize>(
    pair: &DepthwisePair<'_>,
    out: [*mut f32; 2],
    at: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [[V::load(pair.bias.as_ptr()); P]; 2];
        let input = pair.input.as_ptr().add(pair.start + at * LANES);
        let weights = pair.weights.as_ptr();
        // The first row of the upper windows, which the lower ones do not reach; those of both; the last of the lower.
        for j in 0..K {
            let w = V::load(weights.add(j * LANES));
            for_each_index!(p < P, {
                sums[0][p] = sums[0][p].fma(V::load(input.add((p + j) * LANES)), w);
            });
        }
        for i in 1..K {
            let from = input.add(i * pair.line);
            for j in 0..K {
                let upper = V::load(weights.add((i * K + j) * LANES));
                let lower = V::load(weights.add(((i - 1) * K + j) * LANES));
                for_each_index!(p < P, {
                    let x = V::load(from.add((p + j) * LANES));
                    sums[0][p] = sums[0][p].fma(x, upper);
                    sums[1][p] = sums[1][p].fma(x, lower);
                });
            }
        }
        let from = input.add(K * pair.line);
        for j in 0..K {
            let w = V::load(weights.add(((K - 1) * K + j) * LANES));
            for_each_index!(p < P, {
                sums[1][p] = sums[1][p].fma(V::load(from.add((p + j) * LANES)), w);
            });
        }
        for (r, sums) in sums.into_iter().enumerate() {
            for_each_index!(p < P, {
                let mut value = sums[p];
                if let Some(residual) = pair.residual[r] {
                    value = value.add(V::load(residual.as_ptr().add((at + p) * LANES)));
                }
                finish(pair.activation, value).store(out[r].add((at + p) * LANES));
            });
        }
    }
}

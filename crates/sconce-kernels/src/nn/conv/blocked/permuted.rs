//! The inner loop of convolution in narrow groups: a block of sixteen channels holds several groups, and a permutation
//! of a pixel gives each of them the channel of its own whose turn it is.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see each safety comment")]

use sconce_kernel_core::simd::dispatch::Level;
#[cfg(target_arch = "aarch64")]
use sconce_kernel_core::simd::lanes::Neon;
#[cfg(target_arch = "x86_64")]
use sconce_kernel_core::simd::lanes::{Avx2, Avx512};
use sconce_kernel_core::simd::lanes::{LANES, Lanes, Portable};

use super::activation::Activation;
use super::tile::{compiled_for, finish, for_each_index};

/// A row of outputs of one block of channels, in groups of as many channels.
pub(super) struct PermutedRow<'a> {
    /// The input with the zeros around it, and where in it the first output's window starts.
    pub(super) input: &'a [f32],
    pub(super) start: usize,
    /// Channels of a group: 2, 4 or 8, for input and result.
    pub(super) group: usize,
    pub(super) kernel: [usize; 2],
    /// From one row of the window to the next, from one column of it to the next, and from window to window.
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) step: usize,
    /// `[channel of the group][row][column][result channel]`.
    pub(super) weights: &'a [f32],
    pub(super) bias: &'a [f32],
    pub(super) residual: Option<&'a [f32]>,
    pub(super) activation: Activation,
}

/// Computes a row.
pub(super) fn permuted_row(level: Level, row: &PermutedRow<'_>, out: &mut [f32]) {
    let pixels = out.len() / LANES;
    if pixels == 0 {
        return;
    }
    let [height, width] = row.kernel;
    let reach = (|| {
        let down = height.checked_sub(1)?.checked_mul(row.line)?;
        let across = width.checked_sub(1)?.checked_mul(row.column)?;
        let last = (pixels - 1).checked_mul(row.step)?;
        row.start.checked_add(down)?.checked_add(across)?.checked_add(last)?.checked_add(LANES)
    })();
    assert!(reach.is_some_and(|end| end <= row.input.len()), "a row reaches beyond its input");
    assert!(matches!(row.group, 2 | 4 | 8), "groups of {} channels", row.group);
    assert!(row.weights.len() >= row.group * height * width * LANES && row.bias.len() >= LANES);
    assert!(row.residual.is_none_or(|residual| residual.len() >= out.len()));
    // SAFETY: the assertions hold every access against the slices; `or_best` gives a level that this CPU has.
    unsafe {
        match level.or_best() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => permuted_avx512(row, out),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => permuted_avx2(row, out),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => permuted_neon(row, out),
            Level::Baseline => few_registers::<Portable>(row, out),
        }
    }
}

compiled_for!("x86_64", "avx512f,avx2,fma", permuted_avx512, Avx512, many_registers,
    (row: &PermutedRow<'_>, out: &mut [f32]) -> ());
compiled_for!("x86_64", "avx2,fma", permuted_avx2, Avx2, few_registers,
    (row: &PermutedRow<'_>, out: &mut [f32]) -> ());
compiled_for!("aarch64", "neon", permuted_neon, Neon, few_registers,
    (row: &PermutedRow<'_>, out: &mut [f32]) -> ());

/// # Safety
/// What [`permuted_row`] asserts must hold; the CPU must have what `V` needs.
#[inline(always)]
unsafe fn many_registers<V: Lanes>(row: &PermutedRow<'_>, out: &mut [f32]) {
    // SAFETY: the caller's.
    unsafe {
        match out.len() / LANES {
            14.. => cover::<V, 14>(row, out),
            7.. => cover::<V, 7>(row, out),
            3.. => cover::<V, 3>(row, out),
            _ => cover::<V, 1>(row, out),
        }
    }
}

/// # Safety
/// As [`many_registers`].
#[inline(always)]
unsafe fn few_registers<V: Lanes>(row: &PermutedRow<'_>, out: &mut [f32]) {
    // SAFETY: the caller's.
    unsafe {
        match out.len() / LANES {
            4.. => cover::<V, 4>(row, out),
            _ => cover::<V, 1>(row, out),
        }
    }
}

/// Covers a row with tiles of `P` pixels; the last one computes some again rather than fewer.
///
/// # Safety
/// As [`many_registers`]; the row must have at least `P` pixels.
#[inline(always)]
unsafe fn cover<V: Lanes, const P: usize>(row: &PermutedRow<'_>, out: &mut [f32]) {
    let pixels = out.len() / LANES;
    let mut at = 0;
    while at < pixels {
        let first = at.min(pixels - P);
        // SAFETY: the caller's.
        unsafe {
            match (row.kernel[1], row.step == LANES && row.column == LANES) {
                (3, true) => tile::<V, P, true>(row, out, first),
                _ => tile::<V, P, false>(row, out, first),
            }
        }
        at += P;
    }
}

/// `P` pixels. Where windows are three pixels wide and move by one, each pixel is permuted once for its three places.
///
/// # Safety
/// As [`cover`]; pixels from `at` on must be there.
#[inline(always)]
unsafe fn tile<V: Lanes, const P: usize, const THREE: bool>(
    row: &PermutedRow<'_>,
    out: &mut [f32],
    at: usize,
) {
    let [height, width] = row.kernel;
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [V::load(row.bias.as_ptr()); P];
        let mut weights = row.weights.as_ptr();
        for channel in 0..row.group {
            let lanes = std::array::from_fn(|lane| (lane / row.group * row.group + channel) as u32);
            for i in 0..height {
                let from = row.input.as_ptr().add(row.start + at * row.step + i * row.line);
                if THREE {
                    let w = [0, 1, 2].map(|j| V::load(weights.add(j * LANES)));
                    let mut a = V::load(from).permute(&lanes);
                    let mut b = V::load(from.add(LANES)).permute(&lanes);
                    for_each_index!(p < P, {
                        let c = V::load(from.add((p + 2) * LANES)).permute(&lanes);
                        sums[p] = sums[p].fma(a, w[0]).fma(b, w[1]).fma(c, w[2]);
                        (a, b) = (b, c);
                    });
                } else {
                    for j in 0..width {
                        let w = V::load(weights.add(j * LANES));
                        let from = from.add(j * row.column);
                        for_each_index!(p < P, {
                            let x = V::load(from.add(p * row.step)).permute(&lanes);
                            sums[p] = sums[p].fma(x, w);
                        });
                    }
                }
                weights = weights.add(width * LANES);
            }
        }
        for_each_index!(p < P, {
            let mut value = sums[p];
            if let Some(residual) = row.residual {
                value = value.add(V::load(residual.as_ptr().add((at + p) * LANES)));
            }
            finish(row.activation, value).store(out.as_mut_ptr().add((at + p) * LANES));
        });
    }
}

//! The microkernels of blocked convolution: a few pixels of a few blocks of channels in registers.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see each safety comment")]

use sconce_kernel_core::simd::dispatch::{Level, prefetch_far};
#[cfg(target_arch = "aarch64")]
use sconce_kernel_core::simd::lanes::Neon;
#[cfg(target_arch = "x86_64")]
use sconce_kernel_core::simd::lanes::{Avx2, Avx512};
use sconce_kernel_core::simd::lanes::{LANES, Lanes, Portable};

use super::activation::Activation;

/// A row of outputs of one or two blocks of channels, computed of numbers of this type.
pub(crate) struct Row<'a, T = f32> {
    /// The input, and where in it the first output's window starts.
    pub(crate) input: &'a [T],
    pub(crate) start: usize,
    /// From the start of a window to each of its elements; every element is a run of
    /// [`Row::run`] numbers, one for each channel of a block.
    pub(crate) offsets: &'a [usize],
    /// One for channels that lie apart, 16 for blocks of channels.
    pub(crate) run: usize,
    /// How many of the elements have all channels of a run, and how many channels the others have: those of the
    /// last block where there are fewer than sixteen.
    pub(crate) whole: usize,
    pub(crate) rest: usize,
    /// From one output's window to the next one's.
    pub(crate) step: usize,
    /// For every element and every channel of its run, a number for each channel of the result.
    pub(crate) weights: &'a [T],
    pub(crate) bias: &'a [f32],
    /// What is added to the results, of the layout of each.
    pub(crate) residual: [Option<&'a [f32]>; 2],
    pub(crate) activation: Activation,
    /// Which of several parts of the windows this is.
    pub(crate) part: Part,
    /// Where the weights of other channels lie that are wanted soon, so far behind these; 0 for nowhere.
    pub(crate) ahead: usize,
}

/// A window may be iterated over in parts, so that each part's weights stay near for many rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// Whether sums begin with the bias, not with what a part before left in the result.
    pub(crate) first: bool,
    /// Whether the residual is added and the activation applied.
    pub(crate) last: bool,
}

/// How many blocks of channels a row has, and pixels of each.
///
/// # Panics
/// Where it is not one of at least one pixel that lies in its slices, those of the result among them.
pub(super) fn checked_size<T>(row: &Row<'_, T>, out: &[&mut [f32]; 2]) -> [usize; 2] {
    let blocks = if out[1].is_empty() { 1 } else { 2 };
    let pixels = out[0].len() / LANES;
    // The kernels read 1 or 16 channels of each element, whatever else `run` says.
    assert!(row.run == 1 || row.run == LANES, "a row of {} channels", row.run);
    assert!(row.rest <= row.run, "a block of {} channels", row.rest);
    let furthest = row.offsets.iter().copied().max().unwrap_or(0);
    let reach = (pixels - 1)
        .checked_mul(row.step)
        .and_then(|at| at.checked_add(row.start)?.checked_add(furthest)?.checked_add(row.run));
    let both = blocks == 1 || out[1].len() == out[0].len();
    let residuals = row.residual.iter().flatten().all(|residual| residual.len() >= pixels * LANES);
    assert!(
        reach.is_some_and(|end| end <= row.input.len()) && both && residuals,
        "a row reaches beyond its input"
    );
    assert!(row.weights.len() >= row.offsets.len() * row.run * blocks * LANES);
    assert!(row.bias.len() >= blocks * LANES);
    [blocks, pixels]
}

/// Computes a row; `out` are the pixels of one block of channels, or of two.
pub(crate) fn row(level: Level, row: &Row<'_>, out: [&mut [f32]; 2]) {
    if out[0].len() < LANES {
        return;
    }
    let [blocks, pixels] = checked_size(row, &out);
    // SAFETY: the assertions hold every access of the tiles against the slices; `or_best` gives
    // a level that this CPU has.
    unsafe {
        match (level.or_best(), blocks) {
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, 1) => avx512::<1>(row, out, pixels),
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, _) => avx512::<2>(row, out, pixels),
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, _) => avx2(row, out, pixels),
            #[cfg(target_arch = "aarch64")]
            (Level::Neon, _) => neon(row, out, pixels),
            _ => portable(row, out, pixels),
        }
    }
}

/// # Safety
/// As [`tiles`]; the CPU must have AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512<const B: usize>(row: &Row<'_>, out: [&mut [f32]; 2], pixels: usize) {
    let [a, b] = out;
    let out = [a.as_mut_ptr(), b.as_mut_ptr()];
    let Some(&out) = out.first_chunk::<B>() else { return };
    // SAFETY: the caller's.
    unsafe {
        match (row.run, row.step) {
            (1, 1) => tiles::<Avx512, 1, 1, B, 14>(row, [0, B], out, pixels),
            (1, 2) => tiles::<Avx512, 1, 2, B, 14>(row, [0, B], out, pixels),
            (1, 4) => tiles::<Avx512, 1, 4, B, 14>(row, [0, B], out, pixels),
            (1, 16) => tiles::<Avx512, 1, 16, B, 14>(row, [0, B], out, pixels),
            (1, _) => tiles::<Avx512, 1, 0, B, 14>(row, [0, B], out, pixels),
            (_, 16) => tiles::<Avx512, 16, 16, B, 14>(row, [0, B], out, pixels),
            (_, 32) => tiles::<Avx512, 16, 32, B, 14>(row, [0, B], out, pixels),
            _ => tiles::<Avx512, 16, 0, B, 14>(row, [0, B], out, pixels),
        }
    }
}

/// # Safety
/// As [`tiles`]; the CPU must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(row: &Row<'_>, out: [&mut [f32]; 2], pixels: usize) {
    // SAFETY: the caller's.
    unsafe { by_blocks::<Avx2>(row, out, pixels) }
}

/// # Safety
/// As [`tiles`]; the CPU must have NEON.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
unsafe fn neon(row: &Row<'_>, out: [&mut [f32]; 2], pixels: usize) {
    // SAFETY: the caller's.
    unsafe { by_blocks::<Neon>(row, out, pixels) }
}

/// One block after the other. Three quarters of the registers, sixteen of AVX2 or twice as many, half as
/// wide ones of NEON, hold the sums of six pixels, an eighth the weights.
///
/// # Safety
/// As [`tiles`].
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
unsafe fn by_blocks<V: Lanes>(row: &Row<'_>, out: [&mut [f32]; 2], pixels: usize) {
    let blocks = if out[1].is_empty() { 1 } else { 2 };
    for (block, out) in out.into_iter().take(blocks).enumerate() {
        let (out, weights) = ([out.as_mut_ptr()], [block, blocks]);
        // SAFETY: the caller's.
        unsafe {
            match (row.run, row.step) {
                (1, 1) => tiles::<V, 1, 1, 1, 6>(row, weights, out, pixels),
                (1, 2) => tiles::<V, 1, 2, 1, 6>(row, weights, out, pixels),
                (1, _) => tiles::<V, 1, 0, 1, 6>(row, weights, out, pixels),
                (_, 16) => tiles::<V, 16, 16, 1, 6>(row, weights, out, pixels),
                (_, 32) => tiles::<V, 16, 32, 1, 6>(row, weights, out, pixels),
                _ => tiles::<V, 16, 0, 1, 6>(row, weights, out, pixels),
            }
        }
    }
}

/// # Safety
/// As [`tiles`].
unsafe fn portable(row: &Row<'_>, out: [&mut [f32]; 2], pixels: usize) {
    let blocks = if out[1].is_empty() { 1 } else { 2 };
    for (block, out) in out.into_iter().take(blocks).enumerate() {
        let (out, weights) = ([out.as_mut_ptr()], [block, blocks]);
        // SAFETY: the caller's.
        unsafe {
            match row.run {
                1 => tiles::<Portable, 1, 0, 1, 2>(row, weights, out, pixels),
                _ => tiles::<Portable, 16, 0, 1, 2>(row, weights, out, pixels),
            }
        }
    }
}

/// Declares a function compiled for instructions, which passes its arguments on.
macro_rules! compiled_for {
    ($arch:literal, $features:literal, $name:ident, $lanes:ident, $of:ident,
     ($($argument:ident: $type:ty),*) -> $result:ty) => {
        /// # Safety
        /// As the function that it passes its arguments to; the CPU must have these instructions.
        #[cfg(target_arch = $arch)]
        #[target_feature(enable = $features)]
        unsafe fn $name($($argument: $type),*) -> $result {
            // SAFETY: the caller's.
            unsafe { $of::<$lanes>($($argument),*) }
        }
    };
}
pub(super) use compiled_for;

/// Does the same for every index below a number, written out: a loop over this many registers would
/// be kept as a loop, and the registers in memory.
/// The number is a constant, so that nothing is compiled for the indices beyond it.
macro_rules! for_each_index {
    ($at:ident < $count:ident, $body:block) => {
        for_each_index!(@ $at, $count, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13)
    };
    (@ $at:ident, $count:ident, $body:block, $($index:literal)*) => {
        $(if const { $index < $count } {
            let $at = $index;
            $body
        })*
    };
}
pub(super) use for_each_index;

/// Cuts a row into tiles of at most `P` pixels. The weights are those of `blocks` blocks, of which `B` from
/// `first` on are computed, into as many positions.
///
/// # Safety
/// The row's slices must reach as far as [`row`] checks, and the CPU must have what `V` needs.
#[inline(always)]
unsafe fn tiles<V: Lanes, const RUN: usize, const STEP: usize, const B: usize, const P: usize>(
    row: &Row<'_>,
    [first, blocks]: [usize; 2],
    out: [*mut f32; B],
    pixels: usize,
) {
    let mut at = 0;
    while at < pixels {
        let left = pixels - at;
        // Tiles of one or two pixels wait for their own sums: with few registers rows are cut evenly.
        let most = if P > 8 { left } else { left.div_ceil(left.div_ceil(P)) };
        // SAFETY: the caller's; no tile has more pixels than are left.
        let done = unsafe {
            match most {
                // Where there are many registers, the first tile asks for the weights that come next.
                _ if P > 8 && RUN > 1 && at == 0 && row.ahead > 0 && most >= P => {
                    tile::<V, RUN, STEP, B, P, true>(row, [first, blocks], out, at)
                }
                8.. if P > 8 && RUN > 1 && at == 0 && row.ahead > 0 => {
                    tile::<V, RUN, STEP, B, 8, true>(row, [first, blocks], out, at)
                }
                7 if P > 8 && RUN > 1 && at == 0 && row.ahead > 0 => {
                    tile::<V, RUN, STEP, B, 7, true>(row, [first, blocks], out, at)
                }
                _ if most >= P => tile::<V, RUN, STEP, B, P, false>(row, [first, blocks], out, at),
                8.. if P > 8 => tile::<V, RUN, STEP, B, 8, false>(row, [first, blocks], out, at),
                7 if P > 7 => tile::<V, RUN, STEP, B, 7, false>(row, [first, blocks], out, at),
                5 if P == 6 => tile::<V, RUN, STEP, B, 5, false>(row, [first, blocks], out, at),
                4.. if P > 4 => tile::<V, RUN, STEP, B, 4, false>(row, [first, blocks], out, at),
                3 if P == 6 => tile::<V, RUN, STEP, B, 3, false>(row, [first, blocks], out, at),
                2.. if P > 2 => tile::<V, RUN, STEP, B, 2, false>(row, [first, blocks], out, at),
                _ => tile::<V, RUN, STEP, B, 1, false>(row, [first, blocks], out, at),
            }
        };
        at += done;
    }
}

/// # Safety
/// As [`tiles`]; `at + P` pixels must be there.
#[inline(always)]
unsafe fn tile<
    V: Lanes,
    const RUN: usize,
    const STEP: usize,
    const B: usize,
    const P: usize,
    const AHEAD: bool,
>(
    row: &Row<'_>,
    [first, blocks]: [usize; 2],
    out: [*mut f32; B],
    at: usize,
) -> usize {
    let step = if STEP == 0 { row.step } else { STEP };
    // SAFETY: reads and writes lie in the slices as the caller has checked.
    unsafe {
        let input = row.input.as_ptr().add(row.start + at * step);
        let mut weights = row.weights.as_ptr().add(first * LANES);
        let mut sums = [[V::splat(0.0); P]; B];
        for (b, sums) in sums.iter_mut().enumerate() {
            if row.part.first {
                *sums = [V::load(row.bias.as_ptr().add((first + b) * LANES)); P];
            } else {
                let from = out[b].add(at * LANES);
                for_each_index!(p < P, {
                    sums[p] = V::load(from.add(p * LANES));
                });
            }
        }
        for (element, &offset) in row.offsets.iter().enumerate() {
            let from = input.add(offset);
            let channels = if RUN == 1 || element < row.whole { RUN } else { row.rest };
            for channel in 0..channels {
                let mut w = [V::splat(0.0); B];
                for (b, w) in w.iter_mut().enumerate() {
                    *w = V::load(weights.add(b * LANES));
                }
                for_each_index!(p < P, {
                    let x = V::broadcast(from.add(p * step + channel));
                    for b in 0..B {
                        sums[b][p] = sums[b][p].fma(x, w[b]);
                    }
                });
                if AHEAD {
                    for b in 0..B {
                        prefetch_far(weights.wrapping_add(row.ahead + b * LANES));
                    }
                }
                weights = weights.add(blocks * LANES);
            }
            // The weights of channels that are not there are zero.
            weights = weights.add((RUN - channels) * blocks * LANES);
        }
        for b in 0..B {
            let to = out[b].add(at * LANES);
            for_each_index!(p < P, {
                let mut value = sums[b][p];
                if row.part.last {
                    if let Some(residual) = row.residual[first + b] {
                        value = value.add(V::load(residual.as_ptr().add((at + p) * LANES)));
                    }
                    value = finish(row.activation, value);
                }
                value.store(to.add(p * LANES));
            });
        }
    }
    P
}

/// # Safety
/// The CPU must have what `V` needs.
#[inline(always)]
pub(super) unsafe fn finish<V: Lanes>(activation: Activation, x: V) -> V {
    // SAFETY: the caller's.
    unsafe {
        match activation {
            Activation::None => x,
            Activation::Relu => x.at_least(V::splat(0.0)),
            Activation::Clamp(low, high) => x.at_least(V::splat(low)).at_most(V::splat(high)),
            Activation::Hardsigmoid => gate(x),
            Activation::Hardswish => x.mul(gate(x)),
            // Applied to what is stored.
            Activation::Silu | Activation::Gelu | Activation::GeluTanh => x,
        }
    }
}

/// `clamp(x + 3, 0, 6) / 6`
///
/// # Safety
/// The CPU must have what `V` needs.
#[inline(always)]
unsafe fn gate<V: Lanes>(x: V) -> V {
    // SAFETY: the caller's.
    unsafe {
        let moved = x.add(V::splat(3.0));
        moved.at_least(V::splat(0.0)).at_most(V::splat(6.0)).mul(V::splat(1.0 / 6.0))
    }
}

/// A row of outputs of one block of channels, each of which has a filter of its own.
pub(crate) struct DepthwiseRow<'a> {
    /// The image of this block of channels: rows of `width` pixels.
    pub(crate) input: &'a [f32],
    pub(crate) width: usize,
    /// For each row of the window that is inside the image, where it starts and its weights.
    pub(crate) rows: &'a [(usize, &'a [f32])],
    /// Columns of the window, steps between windows, columns put before the image, and steps
    /// between columns of the window.
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) padding: usize,
    pub(crate) dilation: usize,
    pub(crate) bias: &'a [f32],
    pub(crate) residual: Option<&'a [f32]>,
    pub(crate) activation: Activation,
}

/// Computes a row of a convolution by channel.
pub(crate) fn depthwise_row(level: Level, row: &DepthwiseRow<'_>, out: &mut [f32]) {
    let fits = |&(start, weights): &(usize, &[f32])| {
        let end = row.width.checked_mul(LANES).and_then(|row| row.checked_add(start));
        let taps = row.kernel.checked_mul(LANES);
        end.is_some_and(|end| end <= row.input.len())
            && taps.is_some_and(|taps| taps <= weights.len())
    };
    // The span of a window, which the kernels compute without checks.
    let span = row.kernel.checked_sub(1).and_then(|last| last.checked_mul(row.dilation));
    assert!(span.is_some_and(|span| span < usize::MAX), "a window of no columns, or of too many");
    let residual = row.residual.is_none_or(|residual| residual.len() >= out.len());
    assert!(row.rows.iter().all(fits) && residual && row.bias.len() >= LANES && row.stride > 0);
    // SAFETY: the assertion; columns outside of the image are left out below; the level is there.
    unsafe {
        match level.or_best() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => depthwise_avx512(row, out),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => depthwise_avx2(row, out),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => depthwise_neon(row, out),
            // Without vector instructions, one copy for all windows is enough.
            Level::Baseline => depthwise_tiles::<Portable, 2, 0, 0>(row, out),
        }
    }
}

/// # Safety
/// As [`depthwise`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn depthwise_avx512(row: &DepthwiseRow<'_>, out: &mut [f32]) {
    // SAFETY: the caller's.
    unsafe { depthwise::<Avx512, 7>(row, out) }
}

/// # Safety
/// As [`depthwise`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn depthwise_avx2(row: &DepthwiseRow<'_>, out: &mut [f32]) {
    // SAFETY: the caller's.
    unsafe { depthwise::<Avx2, 7>(row, out) }
}

/// # Safety
/// As [`depthwise`].
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
unsafe fn depthwise_neon(row: &DepthwiseRow<'_>, out: &mut [f32]) {
    // The sums of seven pixels and the weights would fill all registers, and leave none for the pixels.
    // SAFETY: the caller's.
    unsafe { depthwise::<Neon, 5>(row, out) }
}

/// A row in tiles of `P` pixels.
///
/// # Safety
/// The row's slices must reach as far as [`depthwise_row`] checks, and the CPU must have what
/// `V` needs.
#[inline(always)]
unsafe fn depthwise<V: Lanes, const P: usize>(row: &DepthwiseRow<'_>, out: &mut [f32]) {
    // SAFETY: the caller's.
    unsafe {
        match (row.kernel, row.stride, row.dilation) {
            (3, 1, 1) => depthwise_tiles::<V, P, 3, 1>(row, out),
            (3, 2, 1) => depthwise_tiles::<V, P, 3, 2>(row, out),
            (5, 1, 1) => depthwise_tiles::<V, P, 5, 1>(row, out),
            (5, 2, 1) => depthwise_tiles::<V, P, 5, 2>(row, out),
            _ => depthwise_tiles::<V, P, 0, 0>(row, out),
        }
    }
}

/// # Safety
/// As [`depthwise`].
#[inline(always)]
unsafe fn depthwise_tiles<V: Lanes, const P: usize, const K: usize, const S: usize>(
    row: &DepthwiseRow<'_>,
    out: &mut [f32],
) {
    let pixels = out.len() / LANES;
    let reach = (row.kernel - 1) * row.dilation;
    // Outputs whose whole window lies inside of the image.
    let first = row.padding.div_ceil(row.stride).min(pixels);
    let end = match (row.width + row.padding).checked_sub(reach + 1) {
        Some(last) => (last / row.stride + 1).clamp(first, pixels),
        None => first,
    };
    // SAFETY: between `first` and `end` all columns of all windows are inside; elsewhere those that
    // are not are left out.
    unsafe {
        for at in (0..first).chain(end..pixels) {
            border::<V, K, S>(row, out, at);
        }
        match end - first {
            inside if inside >= P => cover::<V, P, K, S>(row, out, first, end),
            3.. => cover::<V, 3, K, S>(row, out, first, end),
            _ => cover::<V, 1, K, S>(row, out, first, end),
        }
    }
}

/// Covers outputs with tiles of `P`; the last one computes some again rather than fewer.
///
/// # Safety
/// As [`depthwise`]; the windows of the outputs must lie inside of the image, and there must be none
/// or at least `P`.
#[inline(always)]
unsafe fn cover<V: Lanes, const P: usize, const K: usize, const S: usize>(
    row: &DepthwiseRow<'_>,
    out: &mut [f32],
    first: usize,
    end: usize,
) {
    let mut at = first;
    while at < end {
        // SAFETY: the caller's; the last tile ends with the last output.
        unsafe { inside::<V, P, K, S>(row, out, at.min(end - P)) };
        at += P;
    }
}

/// # Safety
/// As [`depthwise`]; the windows of `P` outputs must lie inside of the image.
#[inline(always)]
unsafe fn inside<V: Lanes, const P: usize, const K: usize, const S: usize>(
    row: &DepthwiseRow<'_>,
    out: &mut [f32],
    at: usize,
) {
    let (kernel, stride, dilation) = match K {
        0 => (row.kernel, row.stride, row.dilation),
        _ => (K, S, 1),
    };
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [V::load(row.bias.as_ptr()); P];
        let column = at * stride - row.padding;
        for &(start, weights) in row.rows {
            let from = row.input.as_ptr().add(start + column * LANES);
            for k in 0..kernel {
                let w = V::load(weights.as_ptr().add(k * LANES));
                let from = from.add(k * dilation * LANES);
                for_each_index!(p < P, {
                    sums[p] = sums[p].fma(V::load(from.add(p * stride * LANES)), w);
                });
            }
        }
        for_each_index!(p < P, {
            depthwise_store(row, out, at + p, sums[p]);
        });
    }
}

/// # Safety
/// As [`depthwise`].
#[inline(always)]
unsafe fn border<V: Lanes, const K: usize, const S: usize>(
    row: &DepthwiseRow<'_>,
    out: &mut [f32],
    at: usize,
) {
    let (kernel, stride, dilation) = match K {
        0 => (row.kernel, row.stride, row.dilation),
        _ => (K, S, 1),
    };
    // SAFETY: columns are compared with the image's width.
    unsafe {
        let mut sum = V::load(row.bias.as_ptr());
        for &(start, weights) in row.rows {
            for k in 0..kernel {
                let column = (at * stride + k * dilation).wrapping_sub(row.padding);
                if column < row.width {
                    let w = V::load(weights.as_ptr().add(k * LANES));
                    sum = sum.fma(V::load(row.input.as_ptr().add(start + column * LANES)), w);
                }
            }
        }
        depthwise_store(row, out, at, sum);
    }
}

/// # Safety
/// As [`depthwise`]; the pixel must be one of the row.
#[inline(always)]
unsafe fn depthwise_store<V: Lanes>(row: &DepthwiseRow<'_>, out: &mut [f32], at: usize, sum: V) {
    debug_assert!((at + 1) * LANES <= out.len());
    // SAFETY: the caller's.
    unsafe {
        let mut value = sum;
        if let Some(residual) = row.residual {
            value = value.add(V::load(residual.as_ptr().add(at * LANES)));
        }
        finish(row.activation, value).store(out.as_mut_ptr().add(at * LANES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels that read sixteen channels of each element would read beyond rows of other counts.
    #[test]
    #[should_panic(expected = "a row of 3 channels")]
    fn rows_of_other_counts_of_channels_are_refused() {
        let one = Row {
            input: &[0.0; 3],
            start: 0,
            offsets: &[0],
            run: 3,
            whole: 1,
            rest: 0,
            step: 1,
            weights: &[0.0; 3 * LANES],
            bias: &[0.0; LANES],
            residual: [None, None],
            activation: Activation::None,
            part: Part { first: true, last: true },
            ahead: 0,
        };
        row(Level::Baseline, &one, [&mut [0.0; LANES], &mut []]);
    }
}

//! The transforms of tiles: of the input before the products, and of what they give after them.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see each safety comment")]

use std::ops::Range;

use sconce_kernel_core::simd::dispatch::Level;
#[cfg(target_arch = "aarch64")]
use sconce_kernel_core::simd::lanes::Neon;
#[cfg(target_arch = "x86_64")]
use sconce_kernel_core::simd::lanes::{Avx2, Avx512};
use sconce_kernel_core::simd::lanes::{LANES, Lanes, Portable};

use super::super::activation::Activation;
use super::super::tile::{compiled_for, finish};
use super::outline::Outline;
use super::points::{A, B, MAX_SIDE, Variant};

/// Does the same for every position along a side, written out: a loop would keep vectors in memory.
macro_rules! for_each_position {
    ($at:ident < $count:ident, $body:block) => {
        for_each_position!(@ $at, $count, $body, 0 1 2 3 4 5)
    };
    (@ $at:ident, $count:ident, $body:block, $($index:literal)*) => {
        $(if $index < $count {
            let $at = $index;
            $body
        })*
    };
}

/// The transforms along one side. Of six vectors, as many count as the variant has positions.
trait Transform {
    const VARIANT: Variant;
    const SIDE: usize = Self::VARIANT.side();
    const TILE: usize = Self::VARIANT.tile();

    /// From pixels to positions: for each point the polynomial that is zero at all others.
    ///
    /// # Safety
    /// The CPU must have what `V` needs.
    unsafe fn input<V: Lanes>(d: [V; MAX_SIDE]) -> [V; MAX_SIDE];

    /// From positions to pixels: the sums of powers of the points.
    ///
    /// # Safety
    /// The CPU must have what `V` needs.
    unsafe fn output<V: Lanes>(m: [V; MAX_SIDE]) -> [V; MAX_SIDE];
}

struct Four;
struct Two;

/// `a - b`
///
/// # Safety
/// The CPU must have what `V` needs.
#[inline(always)]
unsafe fn difference<V: Lanes>(a: V, b: V) -> V {
    // SAFETY: the caller's.
    unsafe { a.fma(b, V::splat(-1.0)) }
}

impl Transform for Four {
    const VARIANT: Variant = Variant::Four;

    #[inline(always)]
    unsafe fn input<V: Lanes>(d: [V; MAX_SIDE]) -> [V; MAX_SIDE] {
        const AA: f64 = A * A;
        const BB: f64 = B * B;
        // SAFETY: the caller's.
        unsafe {
            let splat = |x: f64| V::splat(x as f32);
            let (sum, product) = (splat(-(AA + BB)), splat(AA * BB));
            let even_a = d[4].fma(d[2], splat(-BB));
            let odd_a = d[3].fma(d[1], splat(-BB));
            let even_b = d[4].fma(d[2], splat(-AA));
            let odd_b = d[3].fma(d[1], splat(-AA));
            [
                d[4].fma(d[2], sum).fma(d[0], product),
                even_a.fma(odd_a, splat(A)),
                even_a.fma(odd_a, splat(-A)),
                even_b.fma(odd_b, splat(B)),
                even_b.fma(odd_b, splat(-B)),
                d[5].fma(d[3], sum).fma(d[1], product),
            ]
        }
    }

    #[inline(always)]
    unsafe fn output<V: Lanes>(m: [V; MAX_SIDE]) -> [V; MAX_SIDE] {
        // SAFETY: the caller's.
        unsafe {
            let splat = |x: f64| V::splat(x as f32);
            let (even_a, odd_a) = (m[1].add(m[2]), difference(m[1], m[2]));
            let (even_b, odd_b) = (m[3].add(m[4]), difference(m[3], m[4]));
            [
                m[0].add(even_a).add(even_b),
                odd_a.mul(splat(A)).fma(odd_b, splat(B)),
                even_a.mul(splat(A * A)).fma(even_b, splat(B * B)),
                m[5].fma(odd_a, splat(A * A * A)).fma(odd_b, splat(B * B * B)),
                m[0],
                m[0],
            ]
        }
    }
}

impl Transform for Two {
    const VARIANT: Variant = Variant::Two;

    #[inline(always)]
    unsafe fn input<V: Lanes>(d: [V; MAX_SIDE]) -> [V; MAX_SIDE] {
        // SAFETY: the caller's.
        unsafe {
            [
                difference(d[2], d[0]),
                d[2].add(d[1]),
                difference(d[2], d[1]),
                difference(d[3], d[1]),
                d[0],
                d[0],
            ]
        }
    }

    #[inline(always)]
    unsafe fn output<V: Lanes>(m: [V; MAX_SIDE]) -> [V; MAX_SIDE] {
        // SAFETY: the caller's.
        unsafe {
            let (even, odd) = (m[1].add(m[2]), difference(m[1], m[2]));
            [m[0].add(even), odd.add(m[3]), m[0], m[0], m[0], m[0]]
        }
    }
}

/// The input of a block of channels of some tiles.
pub(super) struct Gather<'a> {
    pub(super) variant: Variant,
    pub(super) outline: &'a Outline,
    /// All images.
    pub(super) input: &'a [f32],
    pub(super) block: usize,
    /// The tiles, by their numbers.
    pub(super) tiles: Range<usize>,
    /// From one position of the result to the next.
    pub(super) stride: usize,
}

/// Transforms a block of channels of some tiles: `to` is `[position][tile][channel]`.
pub(super) fn transform_input(level: Level, gather: &Gather<'_>, to: &mut [f32]) {
    let Gather { variant, outline, input, block, tiles, stride } = gather;
    assert!(input.len() >= outline.input_len() && *block < outline.in_blocks());
    assert!(tiles.end <= outline.tiles(*variant) && tiles.len() * LANES <= *stride);
    assert!(to.len() >= variant.positions() * stride);
    // SAFETY: the assertions: all images of this outline are there, and so is room for every position of every tile;
    // pixels outside of an image are not read; `or_best` gives a level that this CPU has.
    unsafe {
        match level.or_best() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => input_avx512(gather, to),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => input_avx2(gather, to),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => input_neon(gather, to),
            Level::Baseline => input_at::<Portable>(gather, to),
        }
    }
}

compiled_for!("x86_64", "avx512f,avx2,fma", input_avx512, Avx512, input_at,
    (gather: &Gather<'_>, to: &mut [f32]) -> ());
compiled_for!("x86_64", "avx2,fma", input_avx2, Avx2, input_at,
    (gather: &Gather<'_>, to: &mut [f32]) -> ());
compiled_for!("aarch64", "neon", input_neon, Neon, input_at,
    (gather: &Gather<'_>, to: &mut [f32]) -> ());

/// # Safety
/// What [`transform_input`] asserts must hold, and the CPU must have what `V` needs.
#[inline(always)]
unsafe fn input_at<V: Lanes>(gather: &Gather<'_>, to: &mut [f32]) {
    // SAFETY: the caller's.
    unsafe {
        match gather.variant {
            Variant::Four => input_tiles::<V, Four>(gather, to),
            Variant::Two => input_tiles::<V, Two>(gather, to),
        }
    }
}

/// # Safety
/// As [`input_at`].
#[inline(always)]
unsafe fn input_tiles<V: Lanes, T: Transform>(gather: &Gather<'_>, to: &mut [f32]) {
    let Gather { outline, input: x, block, stride, .. } = *gather;
    let Outline { input: [height, width], padding: [top, left], .. } = *outline;
    let (side, tile) = (T::SIDE, T::TILE);
    let to = to.as_mut_ptr();
    let mut edge = [0f32; MAX_SIDE * MAX_SIDE * LANES];
    for (index, number) in gather.tiles.clone().enumerate() {
        let place = outline.place(T::VARIANT, number);
        let plane = (place.image * outline.in_blocks() + block) * height * width * LANES;
        // The corner may lie outside of the image by the padding.
        let (row, column) = (place.row * tile, place.column * tile);
        let inside = row >= top
            && column >= left
            && row - top + side <= height
            && column - left + side <= width;
        // SAFETY: a tile inside of the image is read where it lies, others through a copy that has zeros where the
        // image has no pixel; positions and tiles of `to` are there as the caller says.
        unsafe {
            let (from, line) = if inside {
                let start = plane + ((row - top) * width + column - left) * LANES;
                (x.as_ptr().add(start), width * LANES)
            } else {
                for (i, edge) in edge.chunks_exact_mut(side * LANES).take(side).enumerate() {
                    let y = (row + i).wrapping_sub(top);
                    for (j, edge) in edge.chunks_exact_mut(LANES).enumerate() {
                        let at = (column + j).wrapping_sub(left);
                        let pixel = if y < height && at < width {
                            V::load(x.as_ptr().add(plane + (y * width + at) * LANES))
                        } else {
                            V::splat(0.0)
                        };
                        pixel.store(edge.as_mut_ptr());
                    }
                }
                (edge.as_ptr(), side * LANES)
            };
            input_tile::<V, T>(from, line, to.add(index * LANES), stride);
        }
    }
}

/// # Safety
/// `from` must be valid for a tile of rows `line` apart, `to` for all positions; the CPU must have what `V` needs.
#[inline(always)]
unsafe fn input_tile<V: Lanes, T: Transform>(
    from: *const f32,
    line: usize,
    to: *mut f32,
    stride: usize,
) {
    let side = T::SIDE;
    // SAFETY: the caller's.
    unsafe {
        let mut half = [[V::splat(0.0); MAX_SIDE]; MAX_SIDE];
        for_each_position!(j < side, {
            let mut column = [V::splat(0.0); MAX_SIDE];
            for_each_position!(i < side, {
                column[i] = V::load(from.add(i * line + j * LANES));
            });
            let column = T::input(column);
            for_each_position!(i < side, {
                half[i][j] = column[i];
            });
        });
        for_each_position!(i < side, {
            let row = T::input(half[i]);
            for_each_position!(j < side, {
                row[j].store(to.add((i * side + j) * stride));
            });
        });
    }
}

/// What becomes of the products of one block of result channels: tiles of one image.
pub(super) struct Finish<'a> {
    /// `[position][tile][channel]`, positions `stride` numbers apart; the tiles from `skipped` on are meant.
    pub(super) products: &'a [f32],
    pub(super) stride: usize,
    pub(super) skipped: usize,
    /// The tiles, by their numbers.
    pub(super) tiles: Range<usize>,
    /// The row of pixels of the image that the result, and the residual, begin with.
    pub(super) first_row: usize,
    pub(super) bias: &'a [f32],
    pub(super) residual: Option<&'a [f32]>,
    pub(super) activation: Activation,
}

/// Transforms products to pixels, adds bias and residual, and applies the activation. Whether all sums are finite.
pub(super) fn transform_output(
    level: Level,
    variant: Variant,
    outline: &Outline,
    call: &Finish<'_>,
    out: &mut [f32],
) -> bool {
    let [_, width] = outline.output;
    assert!(call.bias.len() >= LANES && (call.skipped + call.tiles.len()) * LANES <= call.stride);
    assert!(call.products.len() >= variant.positions() * call.stride);
    assert!(call.residual.is_none_or(|residual| residual.len() >= out.len()));
    assert!(out.len().is_multiple_of(width * LANES));
    // Results above the first row would be written before the slice.
    let first = outline.place(variant, call.tiles.start);
    assert!(call.tiles.is_empty() || first.row * variant.tile() >= call.first_row);
    // SAFETY: the assertions: rows behind the last one of the slice and columns beyond the width are left out;
    // `or_best` gives a level that this CPU has.
    unsafe {
        match level.or_best() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => output_avx512(variant, outline, call, out),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => output_avx2(variant, outline, call, out),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => output_neon(variant, outline, call, out),
            Level::Baseline => output_at::<Portable>(variant, outline, call, out),
        }
    }
}

compiled_for!("x86_64", "avx512f,avx2,fma", output_avx512, Avx512, output_at,
    (variant: Variant, outline: &Outline, call: &Finish<'_>, out: &mut [f32]) -> bool);
compiled_for!("x86_64", "avx2,fma", output_avx2, Avx2, output_at,
    (variant: Variant, outline: &Outline, call: &Finish<'_>, out: &mut [f32]) -> bool);
compiled_for!("aarch64", "neon", output_neon, Neon, output_at,
    (variant: Variant, outline: &Outline, call: &Finish<'_>, out: &mut [f32]) -> bool);

/// # Safety
/// What [`transform_output`] asserts must hold, and the CPU must have what `V` needs.
#[inline(always)]
unsafe fn output_at<V: Lanes>(
    variant: Variant,
    outline: &Outline,
    call: &Finish<'_>,
    out: &mut [f32],
) -> bool {
    // SAFETY: the caller's.
    unsafe {
        match variant {
            Variant::Four => output_tiles::<V, Four>(outline, call, out),
            Variant::Two => output_tiles::<V, Two>(outline, call, out),
        }
    }
}

/// # Safety
/// As [`output_at`].
#[inline(always)]
unsafe fn output_tiles<V: Lanes, T: Transform>(
    outline: &Outline,
    call: &Finish<'_>,
    out: &mut [f32],
) -> bool {
    let (side, tile) = (T::SIDE, T::TILE);
    let [_, width] = outline.output;
    let rows = out.len() / (width * LANES);
    let stride = call.stride;
    // SAFETY: the caller's; rows and columns are compared before anything is read or written.
    unsafe {
        let bias = V::load(call.bias.as_ptr());
        // Zero times what is not finite is NaN.
        let mut zeros = V::splat(0.0);
        for (index, number) in call.tiles.clone().enumerate() {
            let place = outline.place(T::VARIANT, number);
            let from = call.products.as_ptr().add((call.skipped + index) * LANES);
            let mut half = [[V::splat(0.0); MAX_SIDE]; MAX_SIDE];
            for_each_position!(j < side, {
                let mut column = [V::splat(0.0); MAX_SIDE];
                for_each_position!(i < side, {
                    column[i] = V::load(from.add((i * side + j) * stride));
                });
                let column = T::output(column);
                for_each_position!(i < tile, {
                    half[i][j] = column[i];
                });
            });
            let row = place.row * tile - call.first_row;
            let column = place.column * tile;
            for_each_position!(i < tile, {
                if row + i < rows {
                    let pixels = T::output(half[i]);
                    let at = ((row + i) * width + column) * LANES;
                    for_each_position!(j < tile, {
                        if column + j < width {
                            let at = at + j * LANES;
                            zeros = zeros.fma(pixels[j], V::splat(0.0));
                            let mut value = pixels[j].add(bias);
                            if let Some(residual) = call.residual {
                                value = value.add(V::load(residual.as_ptr().add(at)));
                            }
                            finish(call.activation, value).store(out.as_mut_ptr().add(at));
                        }
                    });
                }
            });
        }
        zeros.sum() == 0.0
    }
}

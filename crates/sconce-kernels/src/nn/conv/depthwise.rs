//! Depthwise convolution, and its transpose.
//!
//! A plane is copied with zeros around it, and columns that are a stride apart are moved next to each
//! other. Then every window lies inside the plane. An output is a sum of numbers at fixed distances
//! from the start of its window, this many outputs are computed side by side.

use sconce_kernel_core::simd::dispatch::dispatch;

use crate::nn::conv::conv_element::ConvElement;
use crate::nn::conv::window::{Geometry, taps, window_rows};

/// A plane with zeros around it.
struct PaddedPlane<T> {
    data: Vec<T>,
    /// Steps between rows, and between images.
    steps: [usize; 2],
    /// Steps from a column to the one behind it, which stands in the next part of a row.
    part: usize,
}

/// Outputs that are computed side by side, at most.
const MANY: usize = 32;

/// Outputs that are computed side by side at the end of a row.
const FEW: usize = 8;

/// Frames may have this many times the elements of the planes that are read and written.
const ROOM: usize = 8;

impl<T: ConvElement> PaddedPlane<T> {
    /// Puts a plane of these sizes into zeros of other sizes, `lead` of them before it. Columns are
    /// divided among this many parts by turns. None where it would take far more memory than `usual`
    /// elements.
    fn new(
        plane: &[T],
        size: [usize; 3],
        lead: [usize; 3],
        around: [usize; 3],
        parts: usize,
        usual: usize,
    ) -> Option<PaddedPlane<T>> {
        // The last outputs of a row are computed with some that are not there.
        let part = around[2].div_ceil(parts).checked_add(FEW)?;
        let row = part.checked_mul(parts)?;
        let image = row.checked_mul(around[1])?;
        let count = image.checked_mul(around[0])?;
        if count > ROOM.checked_mul(usual)?.max(1 << 12) {
            return None;
        }
        let mut frame = PaddedPlane { data: vec![T::NOTHING; count], steps: [row, image], part };
        let width = around[2].saturating_sub(lead[2]).min(size[2]);
        let rows = plane.chunks_exact(size[2]).enumerate();
        for (at, from) in rows {
            let (z, y) = (at / size[1] + lead[0], at % size[1] + lead[1]);
            if z >= around[0] || y >= around[1] {
                continue;
            }
            let to = &mut frame.data[z * image + y * row..][..row];
            if parts == 1 {
                to[lead[2]..lead[2] + width].copy_from_slice(&from[..width]);
                continue;
            }
            if parts == 2 {
                by_turns(&from[..width], to, part, lead[2]);
                continue;
            }
            for first in 0..parts.min(width) {
                let position = first + lead[2];
                let to = &mut to[position % parts * part + position / parts..];
                let columns = from[first..width].iter().step_by(parts);
                to.iter_mut().zip(columns).for_each(|(to, &x)| *to = x);
            }
        }
        Some(frame)
    }

    /// How far apart two positions are.
    fn distance(&self, [z, y]: [usize; 2]) -> usize {
        z * self.steps[1] + y * self.steps[0]
    }
}

/// Divides a line among two parts of a row; the first element goes to position `lead`. Apart, because only
/// where it is known that there are two it becomes vector code.
fn by_turns<T: Copy>(line: &[T], row: &mut [T], part: usize, lead: usize) {
    let (even, odd) = row.split_at_mut(part);
    let (first, second) = if lead.is_multiple_of(2) { (even, odd) } else { (odd, even) };
    let (first, second) = (&mut first[lead / 2..], &mut second[lead.div_ceil(2)..]);
    let (pairs, rest) = line.as_chunks::<2>();
    for ((first, second), pair) in first.iter_mut().zip(second).zip(pairs) {
        (*first, *second) = (pair[0], pair[1]);
    }
    rest.iter().zip(&mut first[pairs.len()..]).for_each(|(&x, first)| *first = x);
}

/// An element of a filter, and how far from where a window starts the number stands that it takes.
type Tap<T> = (usize, T);

/// Adds to each output the sum over the window that starts at the same position of `from`.
#[inline(always)]
fn add_windows<T: ConvElement>(from: &[T], taps: &[Tap<T>], out: &mut [T]) {
    let (many, rest) = out.as_chunks_mut::<MANY>();
    for (out, at) in many.iter_mut().zip((0..).step_by(MANY)) {
        *out = windows(&from[at..], taps, *out);
    }
    let done = many.len() * MANY;
    for (out, at) in rest.chunks_mut(FEW).zip((done..).step_by(FEW)) {
        let mut sums = [T::NOTHING; FEW];
        sums[..out.len()].copy_from_slice(out);
        let sums = windows(&from[at..], taps, sums);
        out.copy_from_slice(&sums[..out.len()]);
    }
}

#[inline(always)]
fn windows<T: ConvElement, const N: usize>(
    from: &[T],
    taps: &[Tap<T>],
    mut sums: [T; N],
) -> [T; N] {
    for &(at, weight) in taps {
        let numbers = &from[at..at + N];
        for i in 0..N {
            sums[i] = sums[i].plus(numbers[i], weight);
        }
    }
    sums
}

/// Whether zeros times its elements are zeros.
fn is_finite<T: ConvElement>(filter: &[T]) -> bool {
    filter.iter().all(|&weight| T::NOTHING.plus(T::NOTHING, weight) == T::NOTHING)
}

/// The elements of a filter with their positions in its window.
fn positions<T: ConvElement>(filter: &[T], g: Geometry) -> impl Iterator<Item = ([usize; 3], T)> {
    taps(g).zip(filter.iter().copied())
}

/// Adds a plane convolved with one filter. Every output takes in its window's elements in order.
pub(crate) fn convolve<T: ConvElement>(plane: &[T], filter: &[T], out: &mut [T], g: Geometry) {
    let around = std::array::from_fn(|dim| {
        ((g.output[dim] - 1) * g.stride[dim]) + (g.kernel[dim] - 1) * g.dilation[dim] + 1
    });
    let (stride, usual) = (g.stride[2], plane.len() + out.len());
    let framed = || PaddedPlane::new(plane, g.input, g.padding, around, stride, usual);
    let Some(frame) = is_finite(filter).then(framed).flatten() else {
        return convolve_inside(plane, filter, out, g);
    };
    let taps: Vec<Tap<T>> = positions(filter, g)
        .map(|(tap, weight)| {
            let [z, y, x]: [usize; 3] = std::array::from_fn(|dim| tap[dim] * g.dilation[dim]);
            (frame.distance([z, y]) + x % stride * frame.part + x / stride, weight)
        })
        .collect();
    dispatch(
        #[inline(always)]
        || {
            for (line, out) in out.chunks_exact_mut(g.output[2]).enumerate() {
                let (z, y) = (line / g.output[1], line % g.output[1]);
                let start = frame.distance([z * g.stride[0], y * g.stride[1]]);
                add_windows(&frame.data[start..], &taps, out);
            }
        },
    );
}

/// The same, without what stands around the plane: zeros times what is not finite are not zeros.
fn convolve_inside<T: ConvElement>(plane: &[T], filter: &[T], out: &mut [T], g: Geometry) {
    for (tap, weight) in positions(filter, g) {
        window_rows(&g, tap, |to, from, len| {
            let numbers = plane[from..].iter().step_by(g.stride[2]);
            out[to..to + len].iter_mut().zip(numbers).for_each(|(to, &x)| *to = to.plus(x, weight));
        });
    }
}

/// Where strides have more residues than these, there is little for each of them.
const MOST_RESIDUES: usize = 64;

/// Adds to `out` the transposed convolution of a plane with one filter; the geometry is that of the
/// convolution from `out`, which holds the same number everywhere, to `plane`. Every output takes in
/// the elements of the filter in order.
pub(crate) fn transpose<T: ConvElement>(plane: &[T], filter: &[T], out: &mut [T], g: Geometry) {
    // A position of the result, counted from where its padding starts, is `stride * step + residue`.
    // An element of the filter with this residue takes the input as many steps before as it is itself.
    let reach: [usize; 3] =
        std::array::from_fn(|dim| (g.kernel[dim] - 1) * g.dilation[dim] / g.stride[dim]);
    let around = std::array::from_fn(|dim| {
        (g.input[dim] - 1 + g.padding[dim]) / g.stride[dim] + 1 + reach[dim]
    });
    let residues = g.stride.iter().try_fold(1usize, |all, &n| all.checked_mul(n));
    let residues = residues.filter(|&n| n <= MOST_RESIDUES && is_finite(filter));
    let framed = || PaddedPlane::new(plane, g.output, reach, around, 1, plane.len() + out.len());
    let Some((residues, frame)) = residues.zip(residues.and_then(|_| framed())) else {
        return transpose_inside(plane, filter, out, g);
    };
    let mut taps: Vec<Vec<Tap<T>>> = vec![Vec::new(); residues];
    let number =
        |residue: [usize; 3]| (residue[0] * g.stride[1] + residue[1]) * g.stride[2] + residue[2];
    for (tap, weight) in positions(filter, g) {
        let at: [usize; 3] = std::array::from_fn(|dim| tap[dim] * g.dilation[dim]);
        let [z, y, x]: [usize; 3] = std::array::from_fn(|dim| reach[dim] - at[dim] / g.stride[dim]);
        let residue = std::array::from_fn(|dim| at[dim] % g.stride[dim]);
        taps[number(residue)].push((frame.distance([z, y]) + x, weight));
    }
    let (stride, width) = (g.stride[2], g.input[2]);
    // Outputs a stride apart are computed next to each other.
    let (start, part) = (out[0], width.div_ceil(stride));
    let mut sums = vec![start; part * stride];
    dispatch(
        #[inline(always)]
        || {
            for (line, out) in out.chunks_exact_mut(width).enumerate() {
                let at = [line / g.input[1] + g.padding[0], line % g.input[1] + g.padding[1]];
                let from = frame.distance([at[0] / g.stride[0], at[1] / g.stride[1]]);
                let parts = if stride == 1 { &mut *out } else { &mut sums };
                parts.fill(start);
                for (first, sums) in parts.chunks_exact_mut(part).enumerate() {
                    let x = first + g.padding[2];
                    let residue = [at[0] % g.stride[0], at[1] % g.stride[1], x % stride];
                    add_windows(&frame.data[from + x / stride..], &taps[number(residue)], sums);
                }
                if stride > 1 {
                    interleave(&sums, part, out);
                }
            }
        },
    );
}

/// Takes numbers from parts by turns.
#[inline(always)]
fn interleave<T: Copy>(parts: &[T], part: usize, out: &mut [T]) {
    if parts.len() == 2 * part {
        let (even, odd) = parts.split_at(part);
        let (pairs, rest) = out.as_chunks_mut::<2>();
        for ((pair, &a), &b) in pairs.iter_mut().zip(even).zip(odd) {
            *pair = [a, b];
        }
        rest.iter_mut().zip(even.last()).for_each(|(out, &x)| *out = x);
        return;
    }
    for (first, part) in parts.chunks_exact(part).enumerate().take(out.len()) {
        let out = out[first..].iter_mut().step_by(parts.len() / part.len());
        out.zip(part).for_each(|(out, &x)| *out = x);
    }
}

/// The same, without what stands around the plane.
fn transpose_inside<T: ConvElement>(plane: &[T], filter: &[T], out: &mut [T], g: Geometry) {
    for (tap, weight) in positions(filter, g) {
        window_rows(&g, tap, |from, to, len| {
            let numbers = &plane[from..from + len];
            let out = out[to..].iter_mut().step_by(g.stride[2]);
            out.zip(numbers).for_each(|(out, &x)| *out = out.plus(x, weight));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, step: usize) -> Vec<f32> {
        (0..count).map(|i| (i * step % 23) as f32 - 11.0).collect()
    }

    #[test]
    fn frames_give_what_the_definition_gives() {
        // Sizes of the plane and the filter; stride, padding, dilation.
        let cases = [
            ([1, 9, 70], [1, 3, 3], [1, 1, 1], [0, 1, 1], [1, 1, 1]),
            ([1, 1, 200], [1, 1, 31], [1, 1, 1], [0, 0, 15], [1, 1, 1]),
            ([1, 12, 13], [1, 5, 4], [1, 2, 2], [0, 2, 1], [1, 1, 1]),
            ([1, 9, 20], [1, 3, 3], [1, 2, 2], [0, 2, 2], [1, 1, 2]),
            ([1, 6, 31], [1, 2, 3], [1, 1, 2], [0, 0, 0], [1, 1, 1]),
            ([3, 8, 41], [2, 3, 2], [2, 1, 3], [1, 2, 0], [1, 2, 3]),
            ([2, 2, 2], [2, 2, 2], [1, 5, 5], [1, 1, 1], [1, 1, 1]),
            ([1, 3, 4], [1, 3, 3], [1, 1, 9], [0, 3, 9], [1, 1, 1]),
        ];
        for (input, kernel, stride, padding, dilation) in cases {
            let output = std::array::from_fn(|i| {
                (input[i] + 2 * padding[i] - (kernel[i] - 1) * dilation[i] - 1) / stride[i] + 1
            });
            let g = Geometry { input, kernel, output, stride, padding, dilation };
            let (large, small) = (input.iter().product(), output.iter().product());
            let mut filter = numbers(kernel.iter().product(), 5);
            for last in [1.0, f32::INFINITY] {
                filter[0] = last;
                let (plane, mut out, mut expected) =
                    (numbers(large, 7), vec![0.5; small], vec![0.5; small]);
                convolve(&plane, &filter, &mut out, g);
                convolve_inside(&plane, &filter, &mut expected, g);
                let bits = |all: &[f32]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&out), bits(&expected), "{g:?}");
                let (plane, mut out, mut expected) =
                    (numbers(small, 7), vec![0.5; large], vec![0.5; large]);
                transpose(&plane, &filter, &mut out, g);
                transpose_inside(&plane, &filter, &mut expected, g);
                assert_eq!(bits(&out), bits(&expected), "{g:?}");
            }
        }
    }
}

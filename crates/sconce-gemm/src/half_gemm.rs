//! Matrix products of half precision. The larger matrix is widened to `f32` one stretch at a time, so
//! that it is read from memory once and its widened part is used while a cache holds it.

use std::ops::Range;

use sconce_kernel_core::Result;
use sconce_kernel_core::alloc::caching_allocator::Block;
use sconce_kernel_core::chosen_implementation::chose;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::half_precision::{narrow, widened};

use crate::dot::VectorSet;
use crate::half_products::HalfProducts;
use crate::matrix::Matrix;
use crate::panel::PANEL;
use crate::strided_gemm;

/// The approximate size of a stretch. Stretches, and so results, do not depend on the number of threads.
const STRETCH: usize = 1 << 16;

/// The rows or columns of a stretch are a multiple of this, the size of vectors and tiles.
const STEP: usize = 16;

/// Elements of a matrix below which several threads do not speed up its widening.
const PARALLEL: usize = 1 << 16;

/// The kernels for contiguous columns pay where the columns have this many times as many numbers as there
/// are rows, or columns: the final sum of a register takes as long as in [`strided_gemm`], products half as
/// long.
const FEW: usize = 8;

/// A block of the result: some rows and columns.
pub struct Part<'a, H> {
    /// The rows.
    pub rows: Range<usize>,
    /// The columns.
    pub cols: Range<usize>,
    /// These columns of each of these rows.
    pub out: Vec<&'a mut [H]>,
}

/// `out = a · b + bias`, row-major and rounded once. No side is 0, and the matrices lie in their slices.
pub fn multiply<H: HalfProducts>(
    [m, k, n]: [usize; 3],
    a: (&[H], Matrix),
    b: (&[H], Matrix),
    bias: Option<(&[f32], Matrix)>,
    out: &mut [H],
) -> Result<()> {
    chose("GEMM, half precision");
    // Either rows of `a` come in stretches or columns of `b`; the other matrix is widened whole.
    let by_rows = m > n;
    let as_they_are = match b.1 {
        Matrix { col_stride: 1, .. } => true,
        Matrix { row_stride: 1, .. } => k >= strided_gemm::LONG && k >= FEW * m.min(n),
        _ => false,
    };
    if H::has_products() && a.1.col_stride == 1 && as_they_are {
        let step = 4 * PANEL;
        let parts = if by_rows { parts_of_rows(out, n, step) } else { parts_of_cols(out, n, step) };
        return try_parts([m, k, n], parts, |part| multiply_part([m, k, n], a, b, bias, part));
    }
    let whole = if by_rows { (b, [k, n]) } else { (a, [m, k]) };
    let mut whole_block =
        Block::for_overwrite(whole.1.iter().product::<usize>() * size_of::<f32>())?;
    let (wide_whole, whole_at) = widen_part(whole.0, whole.1, whole_block.bytes_mut());

    let step = (STRETCH / k / STEP * STEP).max(STEP);
    let parts = if by_rows { parts_of_rows(out, n, step) } else { parts_of_cols(out, n, step) };
    let compute = |Part { rows, cols, out }: Part<'_, H>, parallel: bool| {
        let (from, sizes) = match by_rows {
            true => ((a.0, part_at(a.1, rows.start, 0)), [rows.len(), k]),
            false => ((b.0, part_at(b.1, 0, cols.start)), [k, cols.len()]),
        };
        let mut block = Block::for_overwrite(sizes[0] * sizes[1] * size_of::<f32>())?;
        let (wide, at) = widen_part(from, sizes, block.bytes_mut());
        let mut sums = Block::for_overwrite(rows.len() * cols.len() * size_of::<f32>())?;
        let sums: &mut [f32] = bytemuck::cast_slice_mut(sums.bytes_mut());
        let sums = &mut sums[..rows.len() * cols.len()];
        if let Some(bias) = bias {
            begin_with(bias, [rows.start, cols.start], cols.len(), sums, cols.len());
        }
        let (whole, wide) = ((&*wide_whole, whole_at), (&*wide, at));
        let [a, b] = if by_rows { [wide, whole] } else { [whole, wide] };
        let sizes = [rows.len(), k, cols.len()];
        strided_gemm::multiply(sizes, a, b, sums, bias.is_some(), parallel)?;
        for (sums, out) in sums.chunks_exact(cols.len()).zip(out) {
            narrow(sums, out);
        }
        Ok(())
    };
    let alone = parts.len() == 1;
    try_parts([m, k, n], parts, |part| compute(part, alone))
}

/// Computes a part with the product kernels of the type. The rows of `a` are contiguous, and either the
/// rows or the columns of `b`.
fn multiply_part<H: HalfProducts>(
    [m, k, n]: [usize; 3],
    (a, a_at): (&[H], Matrix),
    (b, b_at): (&[H], Matrix),
    bias: Option<(&[f32], Matrix)>,
    Part { rows, cols, out }: Part<'_, H>,
) -> Result<()> {
    let width = cols.len().next_multiple_of(PANEL);
    let mut sums = Block::for_overwrite(rows.len() * width * size_of::<f32>())?;
    let sums: &mut [f32] = bytemuck::cast_slice_mut(sums.bytes_mut());
    let sums = &mut sums[..rows.len() * width];
    sums.fill(0.0);
    if let Some(bias) = bias {
        begin_with(bias, [rows.start, cols.start], cols.len(), sums, width);
    }
    let x = &a[part_at(a_at, rows.start, 0).start..];
    if b_at.col_stride == 1 {
        for column in (0..cols.len()).step_by(PANEL) {
            let lines = &b[part_at(b_at, 0, cols.start + column).start..];
            let sizes = [k, PANEL.min(cols.len() - column)];
            let sums = (&mut sums[column..], width);
            H::add_panel(
                rows.len(),
                (x, a_at.row_stride),
                (lines, b_at.row_stride),
                sizes,
                sums,
                false,
            );
        }
    } else {
        let y = &b[part_at(b_at, 0, cols.start).start..];
        let x = VectorSet { all: x, stride: a_at.row_stride, count: rows.len() };
        let y = VectorSet { all: y, stride: b_at.col_stride, count: cols.len() };
        let (vectors, strides) = if m <= n { ([x, y], [width, 1]) } else { ([y, x], [1, width]) };
        H::add_dots(k, vectors, sums, strides);
    }
    for (sums, out) in sums.chunks_exact(width).zip(out) {
        narrow(&sums[..cols.len()], out);
    }
    Ok(())
}

/// Initialises `count` sums of each row, rows `width` apart, with what is added to the product, from a row
/// and a column on.
fn begin_with(
    (numbers, at): (&[f32], Matrix),
    [row, column]: [usize; 2],
    count: usize,
    sums: &mut [f32],
    width: usize,
) {
    let at = part_at(at, row, column);
    for (r, sums) in sums.chunks_exact_mut(width).enumerate() {
        let numbers = &numbers[at.start + r * at.row_stride..];
        let sums = sums[..count].iter_mut().enumerate();
        sums.for_each(|(c, sum)| *sum = numbers[c * at.col_stride]);
    }
}

/// Computes all parts of a product of these sizes, on several threads where that pays.
pub fn try_parts<H: Send>(
    sizes: [usize; 3],
    parts: Vec<Part<'_, H>>,
    compute: impl Fn(Part<'_, H>) -> Result<()> + Sync,
) -> Result<()> {
    let work = sizes.into_iter().fold(1, usize::saturating_mul);
    match partition::num_threads() == 1 || work < strided_gemm::PARALLEL || parts.len() == 1 {
        true => parts.into_iter().try_for_each(compute),
        false => partition::try_for_each(parts.into_iter(), compute),
    }
}

/// Parts of this many rows.
pub fn parts_of_rows<H>(out: &mut [H], n: usize, step: usize) -> Vec<Part<'_, H>> {
    let part = |(at, out): (usize, _)| {
        let out: Vec<_> = <[H]>::chunks_mut(out, n).collect();
        Part { rows: at * step..at * step + out.len(), cols: 0..n, out }
    };
    out.chunks_mut(step * n).enumerate().map(part).collect()
}

/// Parts of this many columns.
pub fn parts_of_cols<H>(out: &mut [H], n: usize, step: usize) -> Vec<Part<'_, H>> {
    let m = out.len() / n;
    let part =
        |start| Part { rows: 0..m, cols: start..n.min(start + step), out: Vec::with_capacity(m) };
    let mut parts: Vec<_> = (0..n).step_by(step).map(part).collect();
    for row in out.chunks_exact_mut(n) {
        parts.iter_mut().zip(row.chunks_mut(step)).for_each(|(part, out)| part.out.push(out));
    }
    parts
}

/// The matrix without its first rows and columns.
fn part_at(at: Matrix, rows: usize, cols: usize) -> Matrix {
    Matrix { start: at.start + rows * at.row_stride + cols * at.col_stride, ..at }
}

/// Widens a matrix of this many rows and columns. Contiguous rows, or columns, stay contiguous.
pub fn widen_part<'a, H: HalfProducts>(
    (from, at): (&[H], Matrix),
    [rows, cols]: [usize; 2],
    bytes: &'a mut [u8],
) -> (&'a mut [f32], Matrix) {
    let numbers: &mut [f32] = bytemuck::cast_slice_mut(bytes);
    let to = &mut numbers[..rows * cols];
    let standing = at.row_stride == 1 && at.col_stride != 1;
    let (line, between, step) = match standing {
        true => (rows, at.col_stride, at.row_stride),
        false => (cols, at.row_stride, at.col_stride),
    };
    partition::for_each_chunk(to, line, PARALLEL, |start, to| {
        for (to, line) in to.chunks_exact_mut(line).zip(start / line..) {
            let from = &from[at.start + line * between..];
            match step {
                0 => to.fill(from[0].widened()),
                _ => _ = widened((from, step), to),
            }
        }
    });
    let (row_stride, col_stride) = if standing { (1, rows) } else { (cols, 1) };
    (to, Matrix { start: 0, row_stride, col_stride })
}

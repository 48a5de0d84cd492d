//! Scalar products of `f32` vectors, each of which lies in one piece: rows of one matrix and columns of
//! another. Nothing is put in another order beforehand, which takes longer than the product where there
//! are few rows or few columns.
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]
#![allow(clippy::needless_range_loop, reason = "rows are registers")]

#[cfg(target_arch = "x86_64")]
use crate::blocked::lanes::{Avx2, Avx512};
use crate::blocked::lanes::{LANES, Lanes};
use crate::simd::{Level, best};

/// Numbers of a vector that all products are made of before the next ones: the first cache holds as much of
/// the vectors that are multiplied together.
const DEPTH: usize = 1024;

/// Rows that are multiplied with all columns before the next ones: the second cache holds them.
const GROUP: usize = 64;

/// Vectors in one piece each, `stride` from one to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vectors<'a, T> {
    pub(crate) all: &'a [T],
    pub(crate) stride: usize,
    pub(crate) count: usize,
}

/// Whether this processor has kernels.
pub(crate) fn available() -> bool {
    !matches!(best(), Level::Baseline)
}

/// `out = x · column j` for every column j, or `out += …`; `false`, with nothing done, where this processor
/// has no kernel.
pub(crate) fn columns(
    x: &[f32],
    bs: &[f32],
    stride: usize,
    out: &mut [f32],
    accumulate: bool,
) -> bool {
    if !available() {
        return false;
    }
    let row = Vectors { all: x, stride: x.len(), count: 1 };
    let columns = Vectors { all: bs, stride, count: out.len() };
    let strides = [out.len(), 1];
    // SAFETY: `out` has a product for each column, and is borrowed mutably.
    unsafe { multiply(x.len(), [row, columns], out.as_mut_ptr(), strides, accumulate) };
    true
}

/// `out[i][j] = row i · column j`, of `k` numbers each, or `out[i][j] += …`. A product is added up in an
/// order that depends on its length, and on whether there is one row alone. Should rows and columns
/// not be as many, there should be fewer rows.
///
/// # Safety
/// `out` must be valid for the products, with these strides of rows and columns; nobody else may use any
/// of them.
///
/// # Panics
/// Where there are no kernels, or a vector does not lie in its slice.
pub(crate) unsafe fn multiply(
    k: usize,
    [rows, columns]: [Vectors<'_, f32>; 2],
    out: *mut f32,
    out_strides: [usize; 2],
    accumulate: bool,
) {
    for vectors in [rows, columns] {
        let Some(last) = vectors.count.checked_sub(1) else { return };
        let end = last.checked_mul(vectors.stride).and_then(|start| start.checked_add(k));
        assert!(end.is_some_and(|end| end <= vectors.all.len()), "vectors lie in their slice");
    }
    let product = Product {
        k,
        rows: rows.count,
        columns: columns.count,
        x: rows.all.as_ptr(),
        x_stride: rows.stride,
        y: columns.all.as_ptr(),
        y_stride: columns.stride,
        out,
        out_strides,
        accumulate,
    };
    match best() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the assertion above and the caller's promise; the processor has AVX-512.
        Level::Avx512 => unsafe { avx512(product) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above; the processor has AVX2 and FMA.
        Level::Avx2 => unsafe { avx2(product) },
        Level::Baseline => unreachable!("callers ask whether there are kernels"),
    }
}

/// The operands of some products.
#[derive(Clone, Copy)]
struct Product {
    k: usize,
    rows: usize,
    columns: usize,
    x: *const f32,
    x_stride: usize,
    y: *const f32,
    y_stride: usize,
    out: *mut f32,
    out_strides: [usize; 2],
    accumulate: bool,
}

/// # Safety
/// As [`Product::compute`]; the processor must have AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512(product: Product) {
    // SAFETY: the caller's.
    unsafe {
        match product.rows {
            1 => product.compute::<Avx512, 1, 8>(),
            _ => product.in_parts(|part| part.compute::<Avx512, 4, 4>()),
        }
    }
}

/// # Safety
/// As [`Product::compute`]; the processor must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(product: Product) {
    // SAFETY: the caller's.
    unsafe {
        match product.rows {
            1 => product.compute::<Avx2, 1, 4>(),
            _ => product.in_parts(|part| part.compute::<Avx2, 2, 2>()),
        }
    }
}

impl Product {
    /// The same from a row and a column on, so many of them.
    #[inline(always)]
    fn part(self, row: usize, rows: usize, column: usize, columns: usize) -> Product {
        Product {
            rows,
            columns,
            x: self.x.wrapping_add(row * self.x_stride),
            y: self.y.wrapping_add(column * self.y_stride),
            out: self.out.wrapping_add(row * self.out_strides[0] + column * self.out_strides[1]),
            ..self
        }
    }

    /// Calls `compute` with [`GROUP`] rows and [`DEPTH`] numbers of each vector at a time.
    #[inline(always)]
    fn in_parts(self, compute: impl Fn(Product)) {
        for row in (0..self.rows).step_by(GROUP) {
            let group = self.part(row, GROUP.min(self.rows - row), 0, self.columns);
            for from in (0..self.k.max(1)).step_by(DEPTH) {
                compute(Product {
                    k: DEPTH.min(self.k - from),
                    x: group.x.wrapping_add(from),
                    y: self.y.wrapping_add(from),
                    accumulate: self.accumulate || from > 0,
                    ..group
                });
            }
        }
    }

    /// Products of `ROWS` rows, at most four, and `COLUMNS` columns at a time.
    ///
    /// # Safety
    /// The operands must be valid for what the fields say; the processor must have the instructions of
    /// `V`.
    #[inline(always)]
    unsafe fn compute<V: Lanes, const ROWS: usize, const COLUMNS: usize>(self) {
        let whole = self.columns / COLUMNS * COLUMNS;
        // SAFETY: the caller's, for the rows and columns of each part are among its own.
        unsafe {
            for column in (0..whole).step_by(COLUMNS) {
                self.part(0, self.rows, column, COLUMNS).all_rows::<V, ROWS, COLUMNS>();
            }
            for column in whole..self.columns {
                self.part(0, self.rows, column, 1).all_rows::<V, ROWS, 1>();
            }
        }
    }

    /// All rows times `COLUMNS` columns.
    ///
    /// # Safety
    /// As [`Product::compute`].
    #[inline(always)]
    unsafe fn all_rows<V: Lanes, const ROWS: usize, const COLUMNS: usize>(self) {
        for row in (0..self.rows).step_by(ROWS) {
            let rows = ROWS.min(self.rows - row);
            let part = self.part(row, rows, 0, COLUMNS);
            // SAFETY: the caller's.
            unsafe {
                match rows {
                    1 => part.block::<V, 1, COLUMNS>(),
                    2 => part.block::<V, 2, COLUMNS>(),
                    3 => part.block::<V, 3, COLUMNS>(),
                    _ => part.block::<V, 4, COLUMNS>(),
                }
            }
        }
    }

    /// `ROWS` rows times `COLUMNS` columns.
    ///
    /// # Safety
    /// As [`Product::compute`], with as many rows and columns.
    #[inline(always)]
    unsafe fn block<V: Lanes, const ROWS: usize, const COLUMNS: usize>(self) {
        let Product { k, x, x_stride, y, y_stride, out, out_strides, accumulate, .. } = self;
        // SAFETY: places are below k, rows and columns are those there are.
        unsafe {
            let mut sums = [[V::splat(0.0); COLUMNS]; ROWS];
            let rest = k % LANES;
            for from in (0..k - rest).step_by(LANES) {
                let mut columns = [V::splat(0.0); COLUMNS];
                for c in 0..COLUMNS {
                    columns[c] = V::load(y.add(c * y_stride + from));
                }
                for r in 0..ROWS {
                    let row = V::load(x.add(r * x_stride + from));
                    for c in 0..COLUMNS {
                        sums[r][c] = sums[r][c].fma(row, columns[c]);
                    }
                }
            }
            if rest > 0 {
                let from = k - rest;
                for r in 0..ROWS {
                    let row = V::load_first(x.add(r * x_stride + from), rest);
                    for c in 0..COLUMNS {
                        let column = V::load_first(y.add(c * y_stride + from), rest);
                        sums[r][c] = sums[r][c].fma(row, column);
                    }
                }
            }
            for r in 0..ROWS {
                for c in 0..COLUMNS {
                    let out = out.add(r * out_strides[0] + c * out_strides[1]);
                    let sum = sums[r][c].sum();
                    *out = if accumulate { *out + sum } else { sum };
                }
            }
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_adds_up_every_length() {
        let mut kernels: Vec<unsafe fn(Product)> = Vec::new();
        if matches!(best(), Level::Avx512) {
            kernels.push(avx512);
        }
        if available() {
            kernels.push(avx2);
        }
        let numbers = |len: usize| (0..len).map(|i| ((i * 29 % 31) as f32 - 15.0) / 8.0);
        for rows in 1..7 {
            for (k, columns, gap) in
                [(0, 3, 0), (1, 1, 0), (7, 9, 0), (16, 8, 4), (33, 13, 7), (1030, 2, 1)]
            {
                let stride = k + gap;
                let (x, y): (Vec<f32>, Vec<f32>) =
                    (numbers(rows * stride).collect(), numbers(columns * stride).collect());
                for kernel in &kernels {
                    let mut out = vec![0.5f32; rows * columns];
                    let product = Product {
                        k,
                        rows,
                        columns,
                        x: x.as_ptr(),
                        x_stride: stride,
                        y: y.as_ptr(),
                        y_stride: stride,
                        out: out.as_mut_ptr(),
                        out_strides: [columns, 1],
                        accumulate: true,
                    };
                    // SAFETY: the operands are those; what runs the kernel was checked above.
                    unsafe { kernel(product) };
                    for (at, &out) in out.iter().enumerate() {
                        let (x, y) = (&x[at / columns * stride..], &y[at % columns * stride..]);
                        let exact: f64 = (0..k).map(|i| f64::from(x[i]) * f64::from(y[i])).sum();
                        let off = (f64::from(out) - exact - 0.5).abs();
                        assert!(off < 1e-4, "{rows} {k} {columns}: {out} {exact}");
                    }
                }
            }
        }
    }
}

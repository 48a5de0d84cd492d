//! Dot products of contiguous vectors: the rows of one matrix and the columns of another.
//!
//! The elements are `f32`, or `bfloat16` on CPUs with an instruction for its products. Nothing is
//! packed beforehand: with few rows or few columns, packing takes longer than the product.
#![cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(dead_code, reason = "kernels are of x86-64 and AArch64")
)]
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]
#![allow(clippy::needless_range_loop, reason = "rows are registers")]

#[cfg(target_arch = "x86_64")]
use half::bf16;
#[cfg(target_arch = "x86_64")]
use sconce_kernel_core::simd::dispatch::has_avx512_bf16;
use sconce_kernel_core::simd::dispatch::{Level, best};
use sconce_kernel_core::simd::lanes::Lanes;
#[cfg(target_arch = "aarch64")]
use sconce_kernel_core::simd::lanes::Neon;
#[cfg(target_arch = "x86_64")]
use sconce_kernel_core::simd::lanes::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
use crate::avx512_bf16::Bf16x32;
use crate::bounds::lies_in;
use crate::dot_vector::DotVector;

/// The stretch of the vectors that all products go through before the next one. The first cache holds this
/// much of the vectors that are multiplied together.
const DEPTH: usize = 1024;

/// Rows that are multiplied with all columns before the next ones: the second cache holds them.
const GROUP: usize = 64;

/// Contiguous vectors, `stride` elements from one to the next.
#[derive(Debug, Clone, Copy)]
pub struct VectorSet<'a, T> {
    /// The slice that holds the vectors. The first vector begins with it.
    pub all: &'a [T],
    /// Elements from one vector to the next.
    pub stride: usize,
    /// How many vectors there are.
    pub count: usize,
}

/// Whether this CPU has kernels.
pub fn available() -> bool {
    !matches!(best(), Level::Baseline)
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
pub unsafe fn multiply(
    k: usize,
    [rows, columns]: [VectorSet<'_, f32>; 2],
    out: *mut f32,
    out_strides: [usize; 2],
    accumulate: bool,
) {
    match (best(), Product::of(k, [rows, columns], out, out_strides, accumulate)) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `of` has held the vectors against their slices, and the caller vouches for `out`; the
        // CPU has AVX-512.
        (Level::Avx512, product) => unsafe { avx512(product) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above; the CPU has AVX2 and FMA.
        (Level::Avx2, product) => unsafe { avx2(product) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above; the CPU has NEON.
        (Level::Neon, product) => unsafe { neon(product) },
        (Level::Baseline, _) => unreachable!("callers ask whether there are kernels"),
    }
}

/// Adds products of `bfloat16` to sums, which have these strides of rows and columns; otherwise as
/// [`multiply`].
///
/// # Panics
/// Where the CPU lacks the instruction, a vector does not lie in its slice, or there are fewer sums.
#[cfg(target_arch = "x86_64")]
pub fn add_bfloat16(
    k: usize,
    [rows, columns]: [VectorSet<'_, bf16>; 2],
    sums: &mut [f32],
    strides: [usize; 2],
) {
    if rows.count == 0 || columns.count == 0 {
        return;
    }
    assert!(has_avx512_bf16());
    let last =
        (rows.count - 1).checked_mul(strides[0]).zip((columns.count - 1).checked_mul(strides[1]));
    let last = last.and_then(|(row, column)| row.checked_add(column));
    assert!(last.is_some_and(|last| last < sums.len()), "as many sums as products");
    let product = Product::of(k, [rows, columns], sums.as_mut_ptr(), strides, true);
    // SAFETY: `of` has held the vectors against their slices, and the sums are borrowed mutably; the
    // CPU has the instructions.
    unsafe { bfloat16(product) }
}

/// The operands of some products.
#[derive(Clone, Copy)]
struct Product<T> {
    k: usize,
    rows: usize,
    columns: usize,
    x: *const T,
    x_stride: usize,
    y: *const T,
    y_stride: usize,
    out: *mut f32,
    out_strides: [usize; 2],
    accumulate: bool,
}

/// # Safety
/// As [`Product::compute`]; the CPU must have AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512(product: Product<f32>) {
    // SAFETY: the caller's.
    unsafe {
        match product.rows {
            1 => product.compute::<Avx512, 1, 8>(),
            _ => product.in_parts(|part| part.compute::<Avx512, 4, 4>()),
        }
    }
}

/// # Safety
/// As [`Product::compute`]; the CPU must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(product: Product<f32>) {
    // SAFETY: the caller's.
    unsafe { few_at_once::<Avx2>(product) }
}

/// # Safety
/// As [`Product::compute`]; the CPU must have NEON.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
unsafe fn neon(product: Product<f32>) {
    // SAFETY: the caller's.
    unsafe { few_at_once::<Neon>(product) }
}

/// Four products at once: half of the registers of AVX2 or of NEON hold their sums.
///
/// # Safety
/// As [`Product::compute`].
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
unsafe fn few_at_once<V: Lanes>(product: Product<f32>) {
    // SAFETY: the caller's.
    unsafe {
        match product.rows {
            1 => product.compute::<V, 1, 4>(),
            _ => product.in_parts(|part| part.compute::<V, 2, 2>()),
        }
    }
}

/// # Safety
/// As [`Product::compute`]; the CPU must have AVX-512BW and its instruction for `bfloat16`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16,avx2,fma")]
unsafe fn bfloat16(product: Product<bf16>) {
    // SAFETY: the caller's.
    unsafe {
        match product.rows {
            1 => product.compute::<Bf16x32, 1, 8>(),
            _ => product.in_parts(|part| part.compute::<Bf16x32, 4, 4>()),
        }
    }
}

impl<T: Copy> Product<T> {
    /// # Panics
    /// Where a vector does not lie in its slice.
    fn of(
        k: usize,
        [rows, columns]: [VectorSet<'_, T>; 2],
        out: *mut f32,
        out_strides: [usize; 2],
        accumulate: bool,
    ) -> Product<T> {
        for vectors in [rows, columns] {
            let fits = lies_in(vectors.count, vectors.stride, k, vectors.all.len());
            assert!(fits, "vectors lie in their slice");
        }
        Product {
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
        }
    }

    /// The part of this product from a row and a column on, with this many of them.
    #[inline(always)]
    fn part(self, row: usize, rows: usize, column: usize, columns: usize) -> Product<T> {
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
    fn in_parts(self, compute: impl Fn(Product<T>)) {
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
    /// The operands must be valid for what the fields say; the CPU must have the instructions of
    /// `V`.
    #[inline(always)]
    unsafe fn compute<V: DotVector<Number = T>, const ROWS: usize, const COLUMNS: usize>(self) {
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
    unsafe fn all_rows<V: DotVector<Number = T>, const ROWS: usize, const COLUMNS: usize>(self) {
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
    unsafe fn block<V: DotVector<Number = T>, const ROWS: usize, const COLUMNS: usize>(self) {
        let Product { k, x, x_stride, y, y_stride, out, out_strides, accumulate, .. } = self;
        // SAFETY: positions are below k, rows and columns are those there are.
        unsafe {
            let mut sums = [[V::Sums::splat(0.0); COLUMNS]; ROWS];
            let rest = k % V::COUNT;
            for from in (0..k - rest).step_by(V::COUNT) {
                let columns: [V; COLUMNS] =
                    std::array::from_fn(|c| V::load(y.add(c * y_stride + from)));
                for r in 0..ROWS {
                    let row = V::load(x.add(r * x_stride + from));
                    for c in 0..COLUMNS {
                        sums[r][c] = V::add(sums[r][c], row, columns[c]);
                    }
                }
            }
            if rest > 0 {
                let from = k - rest;
                for r in 0..ROWS {
                    let row = V::load_first(x.add(r * x_stride + from), rest);
                    for c in 0..COLUMNS {
                        let column = V::load_first(y.add(c * y_stride + from), rest);
                        sums[r][c] = V::add(sums[r][c], row, column);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn products_of_bfloat16_are_added_whatever_the_sizes() {
        if !has_avx512_bf16() {
            return;
        }
        let numbers = |len: usize| -> Vec<bf16> {
            (0..len).map(|i| bf16::from_f32((i * 29 % 31) as f32 - 15.0)).collect()
        };
        for rows in 1..6 {
            for (k, columns, stride) in
                [(0, 2, 1), (5, 9, 6), (32, 4, 32), (65, 13, 70), (1100, 3, 1100)]
            {
                let (x, y) = (numbers(rows * stride), numbers(columns * stride));
                let mut sums = vec![0.5f32; rows * columns];
                let vectors = [(&x, rows), (&y, columns)];
                let vectors = vectors.map(|(all, count)| VectorSet { all, stride, count });
                add_bfloat16(k, vectors, &mut sums, [columns, 1]);
                for (at, &sum) in sums.iter().enumerate() {
                    let (x, y) = (&x[at / columns * stride..], &y[at % columns * stride..]);
                    let exact = (0..k).map(|i| x[i].to_f32() * y[i].to_f32()).sum::<f32>() + 0.5;
                    assert_eq!(sum, exact, "{rows} {k} {columns}");
                }
            }
        }
    }

    #[test]
    fn every_kernel_adds_up_every_length() {
        let mut kernels: Vec<unsafe fn(Product<f32>)> = Vec::new();
        for level in Level::all() {
            match level {
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => kernels.push(avx512),
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => kernels.push(avx2),
                #[cfg(target_arch = "aarch64")]
                Level::Neon => kernels.push(neon),
                Level::Baseline => {}
            }
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

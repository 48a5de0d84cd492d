//! Matrices inside slices, and the element types that have products.
#![allow(unsafe_code, reason = "passes pointers on to vector kernels; see the safety comments")]

use crate::dot::{self, VectorSet};

/// A matrix inside a slice: where it starts and how far apart rows and columns are, in elements.
#[derive(Debug, Clone, Copy)]
pub struct Matrix {
    /// Where its first element is.
    pub start: usize,
    /// From one row to the next.
    pub row_stride: usize,
    /// From one column to the next.
    pub col_stride: usize,
}

impl Matrix {
    /// The same elements, rows and columns swapped.
    pub fn transposed(self) -> Matrix {
        Matrix { start: self.start, row_stride: self.col_stride, col_stride: self.row_stride }
    }

    /// Whether every element lies in a slice of this length.
    pub fn fits(self, rows: usize, cols: usize, len: usize) -> bool {
        if rows == 0 || cols == 0 {
            return true;
        }
        let last = (rows - 1)
            .checked_mul(self.row_stride)
            .zip((cols - 1).checked_mul(self.col_stride))
            .and_then(|(row, col)| row.checked_add(col)?.checked_add(self.start));
        last.is_some_and(|last| last < len)
    }
}

/// Element types that have products.
pub trait Multiply:
    sconce_kernel_core::PodElement + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// Whether there is a kernel for [`Multiply::dots`].
    fn has_dots() -> bool {
        false
    }

    /// Products of contiguous rows and columns.
    ///
    /// # Safety
    /// As [`dot::multiply`].
    unsafe fn dots(
        _: usize,
        _: [VectorSet<'_, Self>; 2],
        _: *mut Self,
        _: [usize; 2],
        _accumulate: bool,
    ) {
        unreachable!("there is no kernel for this type");
    }

    /// A vector times contiguous columns, `stride` from one to the next. Returns `false`, and does nothing,
    /// where there is no kernel.
    fn columns(x: &[Self], bs: &[Self], stride: usize, out: &mut [Self], accumulate: bool) -> bool {
        if !Self::has_dots() {
            return false;
        }
        let row = VectorSet { all: x, stride: x.len(), count: 1 };
        let columns = VectorSet { all: bs, stride, count: out.len() };
        let strides = [out.len(), 1];
        // SAFETY: `out` has a product for each column, and is borrowed mutably.
        unsafe { Self::dots(x.len(), [row, columns], out.as_mut_ptr(), strides, accumulate) };
        true
    }
}

impl Multiply for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;

    fn has_dots() -> bool {
        dot::available()
    }

    unsafe fn dots(
        k: usize,
        vectors: [VectorSet<'_, f32>; 2],
        out: *mut f32,
        strides: [usize; 2],
        accumulate: bool,
    ) {
        // SAFETY: the caller's.
        unsafe { dot::multiply(k, vectors, out, strides, accumulate) }
    }
}

impl Multiply for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
}

impl Multiply for num_complex::Complex<f32> {
    const ZERO: Self = num_complex::Complex { re: 0.0, im: 0.0 };
    const ONE: Self = num_complex::Complex { re: 1.0, im: 0.0 };
}

impl Multiply for num_complex::Complex<f64> {
    const ZERO: Self = num_complex::Complex { re: 0.0, im: 0.0 };
    const ONE: Self = num_complex::Complex { re: 1.0, im: 0.0 };
}

//! The element types that convolutions compute with.

use sconce_gemm::matrix::{Matrix, Multiply};
use sconce_gemm::strided_gemm::gemm;

use crate::Result;

/// Numbers that convolutions compute with.
pub(crate) trait ConvElement: crate::PodElement {
    /// Zero.
    const NOTHING: Self;
    /// `self + a * b`; integers wrap.
    fn plus(self, a: Self, b: Self) -> Self;
    /// `self + a`; integers wrap.
    fn sum(self, a: Self) -> Self;
    /// `out += a · b`, all row-major but for what the strides of `a` say: m×k times k×n.
    fn product(
        dims: [usize; 3],
        a: (&[Self], Matrix),
        b: (&[Self], Matrix),
        out: &mut [Self],
    ) -> Result<()>;
}

macro_rules! multiplied_by_the_library {
    ($($ty:ty),*) => {$(
        impl ConvElement for $ty {
            const NOTHING: Self = <Self as Multiply>::ZERO;
            #[inline(always)]
            fn plus(self, a: Self, b: Self) -> Self {
                self + a * b
            }
            fn sum(self, a: Self) -> Self {
                self + a
            }
            fn product(
                dims: [usize; 3],
                a: (&[Self], Matrix),
                b: (&[Self], Matrix),
                out: &mut [Self],
            ) -> Result<()> {
                gemm(dims, a, b, out, true)
            }
        }
    )*};
}

multiplied_by_the_library!(f32, f64, num_complex::Complex<f32>, num_complex::Complex<f64>);

impl ConvElement for i64 {
    const NOTHING: Self = 0;
    fn plus(self, a: Self, b: Self) -> Self {
        self.wrapping_add(a.wrapping_mul(b))
    }
    fn sum(self, a: Self) -> Self {
        self.wrapping_add(a)
    }
    fn product(
        [m, k, n]: [usize; 3],
        (a, a_at): (&[Self], Matrix),
        (b, b_at): (&[Self], Matrix),
        out: &mut [Self],
    ) -> Result<()> {
        if n == 0 {
            return Ok(());
        }
        for (row, out) in out.chunks_exact_mut(n).take(m).enumerate() {
            for step in 0..k {
                let factor = a[a_at.start + row * a_at.row_stride + step * a_at.col_stride];
                let from = b_at.start + step * b_at.row_stride;
                let values = &b[from..from + n];
                out.iter_mut().zip(values).for_each(|(out, &x)| *out = out.plus(factor, x));
            }
        }
        Ok(())
    }
}

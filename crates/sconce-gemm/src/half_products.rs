//! Types of half precision, and the product kernels that some CPUs have for them.

use half::{bf16, f16};
#[cfg(target_arch = "x86_64")]
use sconce_kernel_core::simd::dispatch::has_avx512_bf16;
use sconce_kernel_core::simd::half_precision::Half;

#[cfg(target_arch = "x86_64")]
use crate::avx512_bf16;
use crate::dot::VectorSet;

/// A type of half precision, with product kernels where the CPU has instructions for them.
pub trait HalfProducts: Half {
    /// Whether this CPU has the kernels [`HalfProducts::add_panel`] and [`HalfProducts::add_dots`] for the
    /// type.
    fn has_products() -> bool {
        false
    }
    /// Adds the product of this many rows and lines of this many numbers, of which up to 32 are columns, to
    /// `sums`: each with what lies from one row or line to the next. Whether they are all rows of the product
    /// (`together`) must not depend on the number of threads.
    fn add_panel(
        _rows: usize,
        _x: (&[Self], usize),
        _lines: (&[Self], usize),
        _sizes: [usize; 2],
        _sums: (&mut [f32], usize),
        _together: bool,
    ) {
        unreachable!("this type has no products of its own");
    }
    /// Adds products of rows and columns of this many numbers to `sums`, as [`crate::dot::multiply`].
    fn add_dots(_: usize, _: [VectorSet<'_, Self>; 2], _sums: &mut [f32], _strides: [usize; 2]) {
        unreachable!("this type has no products of its own");
    }
}

impl HalfProducts for f16 {}

impl HalfProducts for bf16 {
    #[cfg(target_arch = "x86_64")]
    fn has_products() -> bool {
        has_avx512_bf16()
    }

    #[cfg(target_arch = "x86_64")]
    fn add_panel(
        rows: usize,
        x: (&[bf16], usize),
        (all, stride): (&[bf16], usize),
        [depth, width]: [usize; 2],
        sums: (&mut [f32], usize),
        together: bool,
    ) {
        let lines = avx512_bf16::Bf16Lines { all, stride, depth, width };
        avx512_bf16::add_panel(rows, x, lines, sums, together);
    }

    #[cfg(target_arch = "x86_64")]
    fn add_dots(
        k: usize,
        vectors: [VectorSet<'_, bf16>; 2],
        sums: &mut [f32],
        strides: [usize; 2],
    ) {
        crate::dot::add_bfloat16(k, vectors, sums, strides);
    }
}

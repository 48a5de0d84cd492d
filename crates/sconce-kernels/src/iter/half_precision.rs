//! Half precision in blocks: widened to `f32`, computed and rounded while it is in the first cache.
#![allow(clippy::redundant_closure, reason = "what is inlined for certain is a closure")]

use half::{bf16, f16};

use crate::elementwise::unary::{map, map_slice, map_slices_beyond};
#[cfg(target_arch = "x86_64")]
use crate::gemm::avx512_bf16;
use crate::gemm::dot::Vectors;
use crate::iter::broadcast_binary::{Strided, ZipRow, zip_parallel};
use crate::{BinaryOp, DType, Element, Error, Result, Tensor};

/// Elements of a block.
const BLOCK: usize = 512;

/// A type of half precision. Its conversions have no branches, so that loops over them are vector code.
pub(crate) trait Half: Element {
    /// Whether one shift widens a number.
    const BY_SHIFT: bool;

    /// The same number.
    fn widened(self) -> f32;
    /// The nearest number, of two that are as near the even one.
    fn nearest(x: f32) -> Self;
    /// Whether the type has products of its own, [`Half::add_panel`] and [`Half::add_dots`].
    fn has_products() -> bool {
        false
    }
    /// Adds the product of so many rows and lines of so many numbers, of which up to 32 are columns, to
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
    /// Adds products of rows and columns of so many numbers to `sums`, as [`crate::gemm::dot::multiply`].
    fn add_dots(_: usize, _: [Vectors<'_, Self>; 2], _sums: &mut [f32], _strides: [usize; 2]) {
        unreachable!("this type has no products of its own");
    }
    /// Conversions of as many elements as the processor has instructions for: how many were done.
    fn widen_by_instructions(_xs: &[Self], _wide: &mut [f32]) -> usize {
        0
    }
    /// As [`Half::widen_by_instructions`], an operator of pairs.
    fn zip_by_instructions(_: BinaryOp, _xs: &[Self], _ys: &[Self], _out: &mut [Self]) -> usize {
        0
    }
    /// As [`Half::widen_by_instructions`], to the nearest numbers.
    fn narrow_by_instructions(_wide: &[f32], _out: &mut [Self]) -> usize {
        0
    }
}

impl Half for f16 {
    const BY_SHIFT: bool = false;

    #[cfg(target_arch = "x86_64")]
    fn zip_by_instructions(op: BinaryOp, xs: &[f16], ys: &[f16], out: &mut [f16]) -> usize {
        crate::simd::f16c::zip(op, xs, ys, out)
    }

    #[inline(always)]
    fn widened(self) -> f32 {
        /// 2^112, between the exponents of both types.
        const SCALE: f32 = f32::from_bits((127 + 112) << 23);
        let bits = u32::from(self.to_bits());
        let number = f32::from_bits((bits & 0x7fff) << 13) * SCALE;
        // All bits of the exponent are set in what is infinite or NaN.
        let is_finite = bits & 0x7c00 != 0x7c00;
        let special = 0x7f80_0000 | ((bits & 0x03ff) << 13);
        let size = if is_finite { number.to_bits() } else { special };
        f32::from_bits(size | ((bits & 0x8000) << 16))
    }

    #[inline(always)]
    fn nearest(x: f32) -> f16 {
        let bits = x.to_bits();
        let size = bits & 0x7fff_ffff;
        // Half of the last place, and a little less where that place is even; and another exponent.
        let normal = size.wrapping_add(0xc800_0fff + ((size >> 13) & 1)) >> 13;
        // Added to 1/2, a small number has its last place where that of a subnormal one is.
        let small = (f32::from_bits(size) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let rounded = if size < 0x3880_0000 { small } else { normal };
        let finite = if size < 0x4780_0000 { rounded } else { 0x7c00 };
        let quiet = 0x7e00 | ((size >> 13) & 0x03ff);
        let half = if size > 0x7f80_0000 { quiet } else { finite };
        f16::from_bits((half | ((bits >> 16) & 0x8000)) as u16)
    }

    #[cfg(target_arch = "x86_64")]
    fn widen_by_instructions(xs: &[f16], wide: &mut [f32]) -> usize {
        crate::simd::f16c::widen(xs, wide)
    }

    #[cfg(target_arch = "x86_64")]
    fn narrow_by_instructions(wide: &[f32], out: &mut [f16]) -> usize {
        crate::simd::f16c::narrow(wide, out)
    }
}

impl Half for bf16 {
    const BY_SHIFT: bool = true;

    #[cfg(target_arch = "x86_64")]
    fn has_products() -> bool {
        avx512_bf16::available()
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
        let lines = avx512_bf16::Lines { all, stride, depth, width };
        avx512_bf16::add_panel(rows, x, lines, sums, together);
    }

    #[cfg(target_arch = "x86_64")]
    fn add_dots(k: usize, vectors: [Vectors<'_, bf16>; 2], sums: &mut [f32], strides: [usize; 2]) {
        crate::gemm::dot::add_bfloat16(k, vectors, sums, strides);
    }

    #[inline(always)]
    fn widened(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn nearest(x: f32) -> bf16 {
        let bits = x.to_bits();
        // Half of the last place, and a little less where that place is even.
        let nearest = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
        let kept = if x.is_nan() { bits | 0x0040_0000 } else { nearest };
        bf16::from_bits((kept >> 16) as u16)
    }
}

/// Fills a slice with the same numbers.
pub(crate) fn widen<H: Half>(xs: &[H], wide: &mut [f32]) {
    let done = H::widen_by_instructions(xs, wide);
    if done == xs.len() {
        return;
    }
    map_slice(
        &xs[done..],
        &mut wide[done..],
        #[inline(always)]
        |x: H| x.widened(),
    );
}

/// Fills a slice with the nearest numbers.
pub(crate) fn narrow<H: Half>(wide: &[f32], out: &mut [H]) {
    let done = H::narrow_by_instructions(wide, out);
    if done == wide.len() {
        return;
    }
    map_slice(
        &wide[done..],
        &mut out[done..],
        #[inline(always)]
        |x| H::nearest(x),
    );
}

/// A kernel for `f32` applied to all elements of half precision, on several threads where there are more
/// than `serial`.
///
/// # Errors
/// For other dtypes.
pub(crate) fn map_halves(
    serial: usize,
    input: &Tensor,
    kernel: &(dyn Fn(&[f32], &mut [f32]) + Sync),
) -> Result<Tensor> {
    type Kernel<'a> = &'a (dyn Fn(&[f32], &mut [f32]) + Sync);
    fn of<H: Half>(serial: usize, input: &Tensor, kernel: Kernel<'_>) -> Result<Tensor> {
        map_slices_beyond(serial, input, &|xs: &[H], out: &mut [H]| {
            let (mut wide, mut results) = ([0f32; BLOCK], [0f32; BLOCK]);
            for (xs, out) in xs.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
                let (wide, results) = (&mut wide[..xs.len()], &mut results[..xs.len()]);
                widen(xs, wide);
                kernel(wide, results);
                narrow(results, out);
            }
        })
    }
    match input.dtype() {
        DType::Float16 => of::<f16>(serial, input, kernel),
        DType::BFloat16 => of::<bf16>(serial, input, kernel),
        dtype => Err(Error::no_kernel("copy_", dtype)),
    }
}

/// A function of the bits of every element of half precision, the sign being the highest.
///
/// # Errors
/// For other dtypes.
pub(crate) fn map_bits(input: &Tensor, f: impl Fn(u16) -> u16 + Copy + Sync) -> Result<Tensor> {
    match input.dtype() {
        DType::Float16 => map(input, |x: f16| f16::from_bits(f(x.to_bits()))),
        DType::BFloat16 => map(input, |x: bf16| bf16::from_bits(f(x.to_bits()))),
        dtype => Err(Error::no_kernel("copy_", dtype)),
    }
}

/// A kernel for pairs of `f32` applied to broadcast pairs of half precision, both of one dtype. Where it is
/// that of an operator, there may be instructions for it.
///
/// # Errors
/// For other dtypes.
pub(crate) fn zip_halves(
    op: Option<BinaryOp>,
    a: &Tensor,
    b: &Tensor,
    kernel: ZipRow<'_, f32, f32>,
) -> Result<Tensor> {
    fn of<H: Half>(
        op: Option<BinaryOp>,
        a: &Tensor,
        b: &Tensor,
        kernel: ZipRow<'_, f32, f32>,
    ) -> Result<Tensor> {
        zip_parallel(a, b, &|out: &mut [H], x: Strided<'_, H>, y: Strided<'_, H>| {
            let ((xs, x_step), (ys, y_step)) = (x, y);
            let done = match (op, x_step, y_step) {
                (Some(op), 1, 1) => H::zip_by_instructions(op, xs, ys, out),
                _ => 0,
            };
            if done == out.len() {
                return;
            }
            let mut wide = [[0f32; BLOCK]; 2];
            let mut results = [0f32; BLOCK];
            let [wide_x, wide_y] = &mut wide;
            for (block, out) in out[done..].chunks_mut(BLOCK).enumerate() {
                let (start, results) = (done + block * BLOCK, &mut results[..out.len()]);
                let x = widened((&xs[start * x_step..], x_step), &mut wide_x[..out.len()]);
                let y = widened((&ys[start * y_step..], y_step), &mut wide_y[..out.len()]);
                kernel(results, x, y);
                narrow(results, out);
            }
        })
    }
    match a.dtype() {
        DType::Float16 => of::<f16>(op, a, b, kernel),
        DType::BFloat16 => of::<bf16>(op, a, b, kernel),
        dtype => Err(Error::no_kernel("copy_", dtype)),
    }
}

/// As many elements as there is space for, side by side; one that is repeated stays one.
pub(crate) fn widened<'a, H: Half>(
    (xs, step): Strided<'_, H>,
    wide: &'a mut [f32],
) -> Strided<'a, f32> {
    match step {
        0 => wide[0] = xs[0].widened(),
        1 => widen(xs, wide),
        _ => {
            let some = xs.iter().step_by(step);
            wide.iter_mut().zip(some).for_each(|(wide, x)| *wide = x.widened());
        }
    }
    (wide, step.min(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_those_of_single_numbers() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            for (found, expected) in
                [(half.widened(), half.to_f32()), (brain.widened(), brain.to_f32())]
            {
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
                );
            }
        }
        let spread = (0..=u32::MAX).step_by(4999).map(f32::from_bits);
        // Halfway between two numbers, and next to that.
        let ties = (0..=u16::MAX).flat_map(|bits| {
            let bits = f16::from_bits(bits).to_f32().to_bits();
            [0x0fff, 0x1000, 0x1001].map(|more| f32::from_bits(bits.wrapping_add(more)))
        });
        let small = (0..3000).map(|i| i as f32 * 0.25 * 2f32.powi(-24));
        for x in spread.chain(ties).chain(small) {
            let (half, brain) = (f16::nearest(x), bf16::nearest(x));
            let same = half.to_bits() == f16::from_f32(x).to_bits();
            assert!(same || half.is_nan() && x.is_nan(), "{x:e}");
            let same = brain.to_bits() == bf16::from_f32(x).to_bits();
            assert!(same || brain.is_nan() && x.is_nan(), "{x:e}");
        }
    }

    #[test]
    fn blocks_of_any_layout_give_what_single_precision_gives() {
        use crate::binary;
        use crate::unary;
        use crate::{BinaryOp, UnaryOp};
        let numbers: Vec<f32> = (0..1300).map(|i| (i * 37 % 211) as f32 * 0.125 - 9.0).collect();
        let all = Tensor::from_slice(&numbers, &[26, 50]).unwrap();
        type Layout = (&'static str, fn(&Tensor) -> Tensor);
        let layouts: [Layout; 4] = [
            ("whole", Tensor::clone),
            ("turned", |t| t.reshape(&[50, 26]).unwrap().t().unwrap()),
            ("a row", |t| t.narrow(0, 3, 1).unwrap()),
            ("a column", |t| t.narrow(1, 7, 1).unwrap().expand(&[26, 50]).unwrap()),
        ];
        for dtype in [DType::Float16, DType::BFloat16] {
            let half = all.to_dtype(dtype).unwrap();
            let wide = half.to_dtype(DType::Float32).unwrap();
            for (name, a) in layouts {
                let found = unary(UnaryOp::Exp, &a(&half)).unwrap().to_dtype(DType::Float32);
                let expected = unary(UnaryOp::Exp, &a(&wide)).unwrap().to_dtype(dtype).unwrap();
                let expected = expected.to_dtype(DType::Float32).unwrap().to_vec::<f32>().unwrap();
                assert_eq!(found.unwrap().to_vec::<f32>().unwrap(), expected, "{name}");
                for (other, b) in layouts {
                    for op in [BinaryOp::Sub, BinaryOp::Add, BinaryOp::Mul, BinaryOp::Maximum] {
                        let of = |t: &Tensor| binary(op, (&a(t)).into(), (&b(t)).into()).unwrap();
                        let found = of(&half);
                        assert_eq!(found.dtype(), dtype);
                        let found = found.to_dtype(DType::Float32).unwrap();
                        let expected = of(&wide).to_dtype(dtype).unwrap();
                        let expected = expected.to_dtype(DType::Float32).unwrap();
                        let [found, expected] = [found, expected].map(|t| t.to_vec::<f32>());
                        assert_eq!(found.unwrap(), expected.unwrap(), "{name}, {other}");
                    }
                }
            }
        }
    }
}

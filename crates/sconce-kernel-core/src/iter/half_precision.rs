//! Element-wise operators of half precision. Blocks are widened to `f32`, computed, and rounded while
//! the first cache holds them.
#![allow(clippy::redundant_closure, reason = "what is inlined for certain is a closure")]

use half::{bf16, f16};

use crate::iter::broadcast_binary::{BinaryRowKernel, zip_parallel};
use crate::iter::map::{map, map_slices_beyond};
use crate::layout::strided_iter::Strided;
use crate::simd::arithmetic::Arithmetic;
use crate::simd::half_precision::{Half, narrow, widen, widened};
use crate::{DType, Error, Result, Tensor};

/// Elements of a block.
const BLOCK: usize = 512;

/// A kernel for `f32` applied to all elements of half precision, on several threads where there are more
/// than `serial`.
///
/// # Errors
/// For other dtypes.
pub fn map_half(
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
pub fn map_bits(input: &Tensor, f: impl Fn(u16) -> u16 + Copy + Sync) -> Result<Tensor> {
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
pub fn zip_half(
    op: Option<Arithmetic>,
    a: &Tensor,
    b: &Tensor,
    kernel: BinaryRowKernel<'_, f32, f32>,
) -> Result<Tensor> {
    fn of<H: Half>(
        op: Option<Arithmetic>,
        a: &Tensor,
        b: &Tensor,
        kernel: BinaryRowKernel<'_, f32, f32>,
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

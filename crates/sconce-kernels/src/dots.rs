//! Scalar products of `f32` vectors with many others: a vector times a matrix whose columns lie in
//! one piece each. Compilers make poor vector code of sums, so the kernels are written out.
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]

use crate::simd::{Level, best};

/// `out[j] = x · column j`, or `out[j] += …`: column j begins at `bs[j * stride]`. Every product is
/// added up in an order that depends on its length alone. Gives `false`, and does nothing, where
/// this processor has no kernel.
pub(crate) fn columns(
    x: &[f32],
    bs: &[f32],
    stride: usize,
    out: &mut [f32],
    accumulate: bool,
) -> bool {
    let Some(last) = out.len().checked_sub(1) else { return true };
    let end = last.checked_mul(stride).and_then(|start| start.checked_add(x.len()));
    assert!(end.is_some_and(|end| end <= bs.len()));
    match best() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the assertion above holds every column inside `bs`; the processor has AVX-512.
        Level::Avx512 => unsafe { avx512::columns(x, bs.as_ptr(), stride, out, accumulate) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above; the processor has AVX2 and FMA.
        Level::Avx2 => unsafe { avx2::columns(x, bs.as_ptr(), stride, out, accumulate) },
        Level::Baseline => return false,
    }
    true
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m512, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_reduce_add_ps,
        _mm512_setzero_ps,
    };

    /// # Safety
    /// Every column of `x.len()` elements lies in what `bs` points to; the processor has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn columns(
        x: &[f32],
        bs: *const f32,
        stride: usize,
        out: &mut [f32],
        accumulate: bool,
    ) {
        let mut j = 0;
        while j < out.len() {
            // SAFETY: the columns from j on are those of `out` from j on.
            let count = unsafe {
                match out.len() - j {
                    8.. => put::<8>(x, bs.add(j * stride), stride, &mut out[j..], accumulate),
                    _ => put::<1>(x, bs.add(j * stride), stride, &mut out[j..], accumulate),
                }
            };
            j += count;
        }
    }

    /// # Safety
    /// As [`columns`], for N columns.
    #[target_feature(enable = "avx512f")]
    unsafe fn put<const N: usize>(
        x: &[f32],
        bs: *const f32,
        stride: usize,
        out: &mut [f32],
        accumulate: bool,
    ) -> usize {
        let mut sums: [__m512; N] = [_mm512_setzero_ps(); N];
        let (whole, rest) = x.as_chunks::<16>();
        for (i, chunk) in whole.iter().enumerate() {
            // SAFETY: a chunk has 16 elements, and so has each column from 16 · i on.
            unsafe {
                let x = _mm512_loadu_ps(chunk.as_ptr());
                for (n, sum) in sums.iter_mut().enumerate() {
                    let column = _mm512_loadu_ps(bs.add(n * stride + i * 16));
                    *sum = _mm512_fmadd_ps(x, column, *sum);
                }
            }
        }
        if !rest.is_empty() {
            let mask = (1u16 << rest.len()) - 1;
            // SAFETY: the mask leaves out what lies beyond the last element.
            unsafe {
                let x = _mm512_maskz_loadu_ps(mask, rest.as_ptr());
                for (n, sum) in sums.iter_mut().enumerate() {
                    let column = bs.add(n * stride + whole.len() * 16);
                    *sum = _mm512_fmadd_ps(x, _mm512_maskz_loadu_ps(mask, column), *sum);
                }
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            let sum = _mm512_reduce_add_ps(sum);
            *out = if accumulate { *out + sum } else { sum };
        }
        N
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_setzero_ps, _mm256_storeu_ps,
    };

    /// # Safety
    /// Every column of `x.len()` elements lies in what `bs` points to; the processor has AVX2 and
    /// FMA.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn columns(
        x: &[f32],
        bs: *const f32,
        stride: usize,
        out: &mut [f32],
        accumulate: bool,
    ) {
        let mut j = 0;
        while j < out.len() {
            // SAFETY: the columns from j on are those of `out` from j on.
            let count = unsafe {
                match out.len() - j {
                    4.. => put::<4>(x, bs.add(j * stride), stride, &mut out[j..], accumulate),
                    _ => put::<1>(x, bs.add(j * stride), stride, &mut out[j..], accumulate),
                }
            };
            j += count;
        }
    }

    /// # Safety
    /// As [`columns`], for N columns.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn put<const N: usize>(
        x: &[f32],
        bs: *const f32,
        stride: usize,
        out: &mut [f32],
        accumulate: bool,
    ) -> usize {
        let mut sums: [__m256; N] = [_mm256_setzero_ps(); N];
        let (whole, rest) = x.as_chunks::<8>();
        for (i, chunk) in whole.iter().enumerate() {
            // SAFETY: a chunk has 8 elements, and so has each column from 8 · i on.
            unsafe {
                let x = _mm256_loadu_ps(chunk.as_ptr());
                for (n, sum) in sums.iter_mut().enumerate() {
                    let column = _mm256_loadu_ps(bs.add(n * stride + i * 8));
                    *sum = _mm256_fmadd_ps(x, column, *sum);
                }
            }
        }
        for (n, (out, sum)) in out.iter_mut().zip(sums).enumerate() {
            let mut lanes = [0f32; 8];
            // SAFETY: eight lanes are stored; the rest of a column is as long as that of `x`.
            let mut sum = unsafe {
                _mm256_storeu_ps(lanes.as_mut_ptr(), sum);
                let column = bs.add(n * stride + whole.len() * 8);
                (0..rest.len()).fold(0f32, |sum, i| sum + rest[i] * *column.add(i))
            };
            sum += (lanes[0] + lanes[4]) + (lanes[1] + lanes[5]);
            sum += (lanes[2] + lanes[6]) + (lanes[3] + lanes[7]);
            *out = if accumulate { *out + sum } else { sum };
        }
        N
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    type Kernel = unsafe fn(&[f32], *const f32, usize, &mut [f32], bool);

    #[test]
    fn every_kernel_adds_up_every_length() {
        let mut kernels: Vec<Kernel> = Vec::new();
        if matches!(best(), Level::Avx512) {
            kernels.push(|x, bs, stride, out, add| unsafe {
                avx512::columns(x, bs, stride, out, add);
            });
        }
        if !matches!(best(), Level::Baseline) {
            kernels.push(|x, bs, stride, out, add| unsafe {
                avx2::columns(x, bs, stride, out, add);
            });
        }
        for (k, n, stride) in [(0, 3, 0), (1, 1, 1), (7, 9, 7), (16, 8, 20), (33, 13, 40)] {
            let numbers = |len: usize| (0..len).map(|i| ((i * 29 % 31) as f32 - 15.0) / 8.0);
            let (x, bs): (Vec<f32>, Vec<f32>) =
                (numbers(k).collect(), numbers(n * stride.max(1) + k).collect());
            for kernel in &kernels {
                let mut out = vec![0.5f32; n];
                // SAFETY: `bs` has more than n columns; what runs the kernel was checked above.
                unsafe { kernel(&x, bs.as_ptr(), stride, &mut out, true) };
                for (j, &out) in out.iter().enumerate() {
                    let exact: f32 = (0..k).map(|i| x[i] * bs[j * stride + i]).sum();
                    assert!((out - exact - 0.5).abs() < 1e-4, "{k} {n}: {out} {exact}");
                }
            }
        }
    }
}

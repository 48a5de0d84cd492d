//! Products of matrices of small integers, exact: dot products of rows with rows.
#![allow(unsafe_code, reason = "calls a function compiled for AVX2 where the processor has it")]

/// `out[m, n]`: the sum of the products of row m of `xs` and row n of `ws`, which are of `len` numbers.
/// A product of three numbers must fit an `i32`, `len` times over: so it does for 16 bits of `xs` of which
/// nine are used and no more than 65,000 numbers.
pub(crate) fn dots(xs: &[i16], ws: &[i8], len: usize, out: &mut [i32]) {
    if len == 0 {
        return out.fill(0);
    }
    #[cfg(target_arch = "x86_64")]
    if crate::simd::best() != crate::simd::Level::Baseline {
        // SAFETY: every level but the lowest has AVX2.
        return unsafe { avx2::dots(xs, ws, len, out) };
    }
    let width = ws.len() / len;
    for (x, out) in xs.chunks_exact(len).zip(out.chunks_exact_mut(width.max(1))) {
        for (w, out) in ws.chunks_exact(len).zip(out) {
            *out = x.iter().zip(w).map(|(&x, &w)| i32::from(x) * i32::from(w)).sum();
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_add_epi32, _mm256_add_epi32, _mm256_castsi256_si128,
        _mm256_cvtepi8_epi16, _mm256_extracti128_si256, _mm256_hadd_epi32, _mm256_madd_epi16,
        _mm256_setzero_si256,
    };

    /// Numbers that one instruction multiplies.
    const STEP: usize = 16;
    /// Rows of `ws` whose sums are kept side by side.
    const ACROSS: usize = 4;

    #[target_feature(enable = "avx2")]
    pub(super) fn dots(xs: &[i16], ws: &[i8], len: usize, out: &mut [i32]) {
        let width = ws.len() / len;
        let row = |n: usize| &ws[n * len..(n + 1) * len];
        for first in (0..width).step_by(ACROSS) {
            let count = ACROSS.min(width - first);
            // What is missing at the end is the last row once more, and is not kept.
            let four = |n: usize| row(first + n.min(count - 1));
            let ws = [four(0), four(1), four(2), four(3)];
            let mut rows = xs.chunks_exact(len);
            let mut outs = out.chunks_exact_mut(width);
            while let Some(x) = rows.next() {
                let Some(a) = outs.next() else { return };
                match (rows.next(), outs.next()) {
                    (Some(y), Some(b)) => {
                        let [of_x, of_y] = block([x, y], ws, len);
                        a[first..first + count].copy_from_slice(&of_x[..count]);
                        b[first..first + count].copy_from_slice(&of_y[..count]);
                    }
                    _ => {
                        let [of_x] = block([x], ws, len);
                        a[first..first + count].copy_from_slice(&of_x[..count]);
                    }
                }
            }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn block<const M: usize>(
        xs: [&[i16]; M],
        ws: [&[i8]; ACROSS],
        len: usize,
    ) -> [[i32; ACROSS]; M] {
        let full = len / STEP;
        let mut sums = [[_mm256_setzero_si256(); ACROSS]; M];
        let mut x_steps: [&[[i16; STEP]]; M] = [&[]; M];
        let mut w_steps: [&[[i8; STEP]]; ACROSS] = [&[]; ACROSS];
        for (steps, x) in x_steps.iter_mut().zip(xs) {
            *steps = &x.as_chunks().0[..full];
        }
        for (steps, w) in w_steps.iter_mut().zip(ws) {
            *steps = &w.as_chunks().0[..full];
        }
        for at in 0..full {
            for n in 0..ACROSS {
                let w = widened(w_steps[n][at]);
                for m in 0..M {
                    sums[m][n] = plus(sums[m][n], x_steps[m][at], w);
                }
            }
        }
        if full * STEP < len {
            for n in 0..ACROSS {
                let w = widened(padded(&ws[n][full * STEP..]));
                for m in 0..M {
                    sums[m][n] = plus(sums[m][n], padded(&xs[m][full * STEP..]), w);
                }
            }
        }
        let mut out = [[0; ACROSS]; M];
        for m in 0..M {
            out[m] = totals(sums[m]);
        }
        out
    }

    /// The last numbers of a row, and zeros behind them.
    #[inline(always)]
    fn padded<T: Copy + Default>(rest: &[T]) -> [T; STEP] {
        let mut all = [T::default(); STEP];
        all[..rest.len()].copy_from_slice(rest);
        all
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn widened(w: [i8; STEP]) -> __m256i {
        _mm256_cvtepi8_epi16(bytemuck::cast::<_, __m128i>(w))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn plus(sum: __m256i, x: [i16; STEP], w: __m256i) -> __m256i {
        _mm256_add_epi32(sum, _mm256_madd_epi16(bytemuck::cast(x), w))
    }

    /// The totals of four vectors.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn totals([a, b, c, d]: [__m256i; ACROSS]) -> [i32; ACROSS] {
        let pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        let high = _mm256_extracti128_si256::<1>(pairs);
        bytemuck::cast::<__m128i, _>(_mm_add_epi32(_mm256_castsi256_si128(pairs), high))
    }
}

#[cfg(test)]
mod tests {
    use super::dots;

    #[test]
    fn sums_are_exact_whatever_the_sizes() {
        for (m, n, len) in [(1, 1, 1), (3, 5, 16), (2, 4, 40), (5, 7, 33), (4, 9, 15), (0, 3, 8)] {
            let xs: Vec<i16> = (0..m * len).map(|i| (i * 7919 % 511) as i16 - 255).collect();
            let ws: Vec<i8> = (0..n * len).map(|i| (i * 104_729 % 256) as u8 as i8).collect();
            let mut out = vec![7; m * n];
            dots(&xs, &ws, len, &mut out);
            for (at, &found) in out.iter().enumerate() {
                let (x, w) = (&xs[at / n * len..][..len], &ws[at % n * len..][..len]);
                let sum: i64 = x.iter().zip(w).map(|(&x, &w)| i64::from(x) * i64::from(w)).sum();
                assert_eq!(i64::from(found), sum, "{m}x{n} of {len}");
            }
        }
    }
}

//! Exact products of matrices of small integers: dot products of rows with rows.
#![allow(unsafe_code, reason = "calls functions compiled for AVX2 where the processor has it")]

/// The rows of one operand, packed where that pays.
pub struct Int8Rows<'a> {
    rows: &'a [i8],
    len: usize,
    /// Sixteen rows side by side, in pairs of numbers, for CPUs with AVX2.
    #[cfg(target_arch = "x86_64")]
    panels: Option<Vec<[i16; avx2::PANEL]>>,
}

impl<'a> Int8Rows<'a> {
    /// Rows of `len` numbers, not 0, for about this many dot products with each.
    pub fn new(rows: &'a [i8], len: usize, products: usize) -> Int8Rows<'a> {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = products;
        Int8Rows {
            rows,
            len,
            #[cfg(target_arch = "x86_64")]
            panels: (has_avx2() && is_worth_panels(len, products)).then(|| avx2::panels(rows, len)),
        }
    }

    /// `out[m, n]`: the sum of the products of row m of `xs` and row n of these. It must fit an `i32`: so
    /// it does for numbers of nine bits and no more than 65,000 of them.
    pub fn dots(&self, xs: &[i16], out: &mut [i32]) {
        let len = self.len;
        let width = self.rows.len() / len;
        if width == 0 {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        match &self.panels {
            // SAFETY: there are panels where the CPU has AVX2 alone.
            Some(panels) => return unsafe { avx2::panel_dots(xs, panels, len, width, out) },
            // SAFETY: the CPU has AVX2.
            None if has_avx2() => return unsafe { avx2::dots(xs, self.rows, len, out) },
            None => {}
        }
        for (x, out) in xs.chunks_exact(len).zip(out.chunks_exact_mut(width)) {
            for (w, out) in self.rows.chunks_exact(len).zip(out) {
                *out = x.iter().zip(w).map(|(&x, &w)| i32::from(x) * i32::from(w)).sum();
            }
        }
    }
}

/// Whether packing pays. Short rows gain most: their sums are never spread over a vector whose parts must
/// be added.
#[cfg(target_arch = "x86_64")]
fn is_worth_panels(len: usize, products: usize) -> bool {
    products.saturating_mul(4) >= len + 32
}

/// Every level but the lowest has AVX2.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    sconce_kernel_core::simd::dispatch::best()
        != sconce_kernel_core::simd::dispatch::Level::Baseline
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_add_epi32, _mm256_add_epi32, _mm256_castsi256_si128,
        _mm256_cvtepi8_epi16, _mm256_extracti128_si256, _mm256_hadd_epi32, _mm256_madd_epi16,
        _mm256_set1_epi32, _mm256_setzero_si256,
    };

    /// Numbers that one instruction multiplies.
    const STEP: usize = 16;
    /// Rows whose sums are kept side by side.
    const ACROSS: usize = 4;
    /// Rows in a panel.
    const WIDE: usize = 16;
    /// Pairs of numbers of the rows of a panel.
    pub(super) const PANEL: usize = 2 * WIDE;

    /// Packs rows, panel after panel and pair after pair. Missing numbers are 0.
    pub(super) fn panels(rows: &[i8], len: usize) -> Vec<[i16; PANEL]> {
        let pairs = len.div_ceil(2);
        let mut panels = vec![[0; PANEL]; (rows.len() / len).div_ceil(WIDE) * pairs];
        for (n, row) in rows.chunks_exact(len).enumerate() {
            let (panel, at) = (&mut panels[n / WIDE * pairs..][..pairs], n % WIDE * 2);
            let (full, rest) = row.as_chunks::<2>();
            for (to, &[a, b]) in panel.iter_mut().zip(full) {
                to[at] = a.into();
                to[at + 1] = b.into();
            }
            if let (Some(to), [a]) = (panel.last_mut(), rest) {
                to[at] = i16::from(*a);
            }
        }
        panels
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn panel_dots(
        xs: &[i16],
        panels: &[[i16; PANEL]],
        len: usize,
        width: usize,
        out: &mut [i32],
    ) {
        const M: usize = 4;
        let pairs = len.div_ceil(2);
        for (at, panel) in panels.chunks_exact(pairs).enumerate() {
            let first = at * WIDE;
            let count = WIDE.min(width - first);
            let groups = xs.chunks(M * len).zip(out.chunks_mut(M * width));
            for (xs, out) in groups {
                // What is missing at the end is the first row once more, and is not kept.
                let row = |m: usize| xs.get(m * len..(m + 1) * len).unwrap_or(&xs[..len]);
                let sums = panel_block([row(0), row(1), row(2), row(3)], panel);
                for (out, sums) in out.chunks_exact_mut(width).zip(&sums) {
                    match out[first..].first_chunk_mut::<WIDE>() {
                        Some(out) => *out = *sums,
                        None => out[first..].copy_from_slice(&sums[..count]),
                    }
                }
            }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn panel_block<const M: usize>(xs: [&[i16]; M], panel: &[[i16; PANEL]]) -> [[i32; WIDE]; M] {
        let full = xs[0].len() / 2;
        let mut sums = [[_mm256_setzero_si256(); 2]; M];
        let mut pairs: [&[[i16; 2]]; M] = [&[]; M];
        for (pairs, x) in pairs.iter_mut().zip(xs) {
            *pairs = &x.as_chunks().0[..full];
        }
        for (at, w) in panel[..full].iter().enumerate() {
            let w: [__m256i; 2] = bytemuck::cast(*w);
            for m in 0..M {
                let x = _mm256_set1_epi32(bytemuck::cast(pairs[m][at]));
                for (sum, w) in sums[m].iter_mut().zip(w) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(x, w));
                }
            }
        }
        if let Some(w) = panel.get(full) {
            let w: [__m256i; 2] = bytemuck::cast(*w);
            for m in 0..M {
                let x = _mm256_set1_epi32(bytemuck::cast([xs[m][2 * full], 0]));
                for (sum, w) in sums[m].iter_mut().zip(w) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(x, w));
                }
            }
        }
        let mut out = [[0; WIDE]; M];
        for m in 0..M {
            out[m] = bytemuck::cast(sums[m]);
        }
        out
    }

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
    use super::*;

    #[test]
    fn sums_are_exact_whatever_the_sizes() {
        for (m, n, len) in
            [(1, 1, 1), (3, 5, 16), (2, 4, 40), (5, 17, 33), (4, 9, 15), (9, 35, 7), (0, 3, 8)]
        {
            let xs: Vec<i16> = (0..m * len).map(|i| (i * 7919 % 511) as i16 - 255).collect();
            let ws: Vec<i8> = (0..n * len).map(|i| (i * 104_729 % 256) as u8 as i8).collect();
            for products in [1, 1000] {
                let mut out = vec![7; m * n];
                Int8Rows::new(&ws, len, products).dots(&xs, &mut out);
                for (at, &found) in out.iter().enumerate() {
                    let (x, w) = (&xs[at / n * len..][..len], &ws[at % n * len..][..len]);
                    let sum: i64 =
                        x.iter().zip(w).map(|(&x, &w)| i64::from(x) * i64::from(w)).sum();
                    assert_eq!(i64::from(found), sum, "{m}x{n} of {len}");
                }
            }
        }
    }
}

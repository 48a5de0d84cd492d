//! Transposition of four by four elements of four bytes in registers. Compilers would move one element
//! at a time.
#![allow(unsafe_code, reason = "instructions that every processor of the architecture has")]

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::{
    vld1q_f32, vreinterpretq_f32_f64, vreinterpretq_f64_f32, vst1q_f32, vtrn1q_f32, vtrn1q_f64,
    vtrn2q_f32, vtrn2q_f64,
};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m128, _mm_movehl_ps, _mm_movelh_ps, _mm_unpackhi_ps, _mm_unpacklo_ps};

/// Writes the columns of a square block of `size` numbers each way, a multiple of four, as rows of `to`.
#[inline(never)]
pub fn write_columns(to: &mut [f32], to_row: usize, block: &[f32], size: usize) {
    let (parts, _) = block.as_chunks::<4>();
    for row in (0..size).step_by(4) {
        for column in (0..size).step_by(4) {
            let part = |i: usize| parts[((column + i) * size + row) / 4];
            let transposed = transpose([part(0), part(1), part(2), part(3)]);
            for (i, transposed) in transposed.into_iter().enumerate() {
                to[(row + i) * to_row + column..][..4].copy_from_slice(&transposed);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transpose(square: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    let [a, b, c, d] = square.map(bytemuck::cast::<[f32; 4], __m128>);
    // SAFETY: SSE is part of x86-64.
    let rows = unsafe {
        let (low, lower) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
        let (high, higher) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        [
            _mm_movelh_ps(low, lower),
            _mm_movehl_ps(lower, low),
            _mm_movelh_ps(high, higher),
            _mm_movehl_ps(higher, high),
        ]
    };
    rows.map(bytemuck::cast::<__m128, [f32; 4]>)
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn transpose(square: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    let mut transposed = square;
    // SAFETY: NEON is part of AArch64; rows are as long as registers.
    unsafe {
        let [a, b, c, d] = square.map(|row| vld1q_f32(row.as_ptr()));
        let even = [vtrn1q_f32(a, b), vtrn1q_f32(c, d)].map(|pair| vreinterpretq_f64_f32(pair));
        let odd = [vtrn2q_f32(a, b), vtrn2q_f32(c, d)].map(|pair| vreinterpretq_f64_f32(pair));
        let rows = [
            vtrn1q_f64(even[0], even[1]),
            vtrn1q_f64(odd[0], odd[1]),
            vtrn2q_f64(even[0], even[1]),
            vtrn2q_f64(odd[0], odd[1]),
        ];
        for (to, row) in transposed.iter_mut().zip(rows) {
            vst1q_f32(to.as_mut_ptr(), vreinterpretq_f32_f64(row));
        }
    }
    transposed
}

//! Loops over pixels that become vector code: eight pixels are one long row of numbers. Of a loop over
//! the lanes of a pixel the compiler makes one over pixels, which gathers numbers that lie apart.

use sconce_kernel_core::simd::lanes::LANES;

/// Pixels that are computed side by side.
pub(super) const PIXELS: usize = 8;

/// The numbers of eight pixels.
pub(super) type Group<T = f32> = [T; PIXELS * LANES];

/// What each lane has, for all pixels of a group.
pub(super) fn for_group<T: Copy>(lanes: &[T; LANES]) -> Group<T> {
    std::array::from_fn(|at| lanes[at % LANES])
}

/// Calls `f` with the pixels of a block and those of another of the same size, group by group. The last
/// group may have pixels that are left over, of which nothing is kept.
#[inline(always)]
pub(super) fn each_group(from: &[f32], to: &mut [f32], f: impl Fn(&Group, &mut Group)) {
    let len = from.len().min(to.len());
    let ((from, rest), (to, rest_to)) = (from[..len].as_chunks(), to[..len].as_chunks_mut());
    for (from, to) in from.iter().zip(to) {
        f(from, to);
    }
    if !rest.is_empty() {
        let (mut last, mut last_to) = ([0.0; PIXELS * LANES], [0.0; PIXELS * LANES]);
        last[..rest.len()].copy_from_slice(rest);
        last_to[..rest.len()].copy_from_slice(rest_to);
        f(&last, &mut last_to);
        rest_to.copy_from_slice(&last_to[..rest_to.len()]);
    }
}

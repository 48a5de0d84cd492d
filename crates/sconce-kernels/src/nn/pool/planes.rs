//! Iteration over the windows of all planes of a pool's input.

use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::promotion::compute_dtype;
use smallvec::SmallVec;

use super::windows::{Axis, Window};
use crate::reduction::reduction_order::{LEAF, OrderedFold};
use crate::{PodElement, Result, Tensor};

/// The input of a pool, row-major in the dtype that is computed in.
pub(super) struct Planes {
    pub(super) wide: Tensor,
    pub(super) size: [usize; 3],
}

impl Planes {
    pub(super) fn new(input: &Tensor, rank: usize) -> Result<Planes> {
        let wide = input.to_dtype(compute_dtype(input.dtype()))?.contiguous()?;
        let mut size = [1; 3];
        let spatial = &input.sizes()[input.dim() - rank..];
        size[3 - rank..].iter_mut().zip(spatial).for_each(|(to, &n)| *to = n as usize);
        Ok(Planes { wide, size })
    }
}

/// Elements of the input that are looked at before other threads pay.
const PARALLEL: usize = 1 << 16;

/// A tensor of what `f` makes of windows: of the plane, and of the windows of a row, which are those
/// of a depth and a height, and of all along the last dimension.
pub(super) fn pool<T: PodElement, U: PodElement>(
    planes: &Planes,
    axes: &[Axis; 3],
    sizes: &[i64],
    f: impl Fn(&[T], [Window; 2], &mut [U]) + Sync,
) -> Result<Tensor> {
    let result = Tensor::zeros(sizes, U::DTYPE)?;
    let per_plane: usize = axes.iter().map(|axis| axis.windows.len()).product();
    if result.numel() == 0 {
        return Ok(result);
    }
    let all = planes.wide.read::<T>()?;
    let all: &[T] = &all;
    let len: usize = planes.size.iter().product();
    let one = |(out, plane): (&mut [U], &[T])| {
        let mut out = out.chunks_exact_mut(axes[2].windows.len());
        for &depth in &axes[0].windows {
            for (&rows, out) in axes[1].windows.iter().zip(&mut out) {
                f(plane, [depth, rows], out);
            }
        }
    };
    let mut out = result.write::<U>()?;
    match all.len() < PARALLEL {
        true => out.chunks_exact_mut(per_plane).zip(all.chunks_exact(len)).for_each(one),
        false => {
            partition::for_each(out.chunks_exact_mut(per_plane).zip(all.chunks_exact(len)), one)
        }
    }
    drop(out);
    Ok(result)
}

/// A tensor of what `finish` makes of the folded elements of windows, those of a row of the result at a
/// time.
pub(super) fn fold<T: PodElement, A: Copy + Send + Sync, U: PodElement>(
    planes: &Planes,
    axes: &[Axis; 3],
    sizes: &[i64],
    fold: OrderedFold<A, impl Fn(T) -> A + Copy + Sync, impl Fn(A, A) -> A + Copy + Sync>,
    finish: impl Fn(&[A], [Window; 2], &mut [U]) + Sync,
) -> Result<Tensor> {
    let (size, run) = (planes.size, axes[2].run());
    // Whole lines one behind the other are one.
    let whole = axes[2].is_whole(size[2]) && axes[1].step == 1;
    // And whole planes.
    let all_of_it = whole && axes[1].is_whole(size[1]) && axes[0].step == 1;
    pool(planes, axes, sizes, |plane: &[T], [depth, rows], out: &mut [U]| {
        let mut all = SmallVec::<[A; 128]>::from_elem(fold.start, out.len());
        dispatch(
            #[inline(always)]
            || {
                if all_of_it {
                    let per_plane = size[1] * size[2];
                    let planes =
                        &plane[depth.start * per_plane..depth.end.max(depth.start) * per_plane];
                    for piece in planes.chunks(LEAF) {
                        all[0] = (fold.join)(all[0], fold.short(piece));
                    }
                    return finish(&all, [depth, rows], out);
                }
                for z in (depth.start..depth.end).step_by(axes[0].step) {
                    let line = |y: usize| (z * size[1] + y) * size[2];
                    if whole {
                        let lines = &plane[line(rows.start)..line(rows.end.max(rows.start))];
                        all[0] = (fold.join)(all[0], fold.short(lines));
                        continue;
                    }
                    for y in (rows.start..rows.end).step_by(axes[1].step) {
                        axes[2].fold(&run, &plane[line(y)..][..size[2]], &mut all, fold);
                    }
                }
                finish(&all, [depth, rows], out);
            },
        );
    })
}

/// Calls `f` with the position and the value of every element of a window.
pub(super) fn each<T: Copy>(
    plane: &[T],
    size: [usize; 3],
    axes: &[Axis; 3],
    [depth, rows, columns]: [Window; 3],
    mut f: impl FnMut(usize, T),
) {
    for z in (depth.start..depth.end).step_by(axes[0].step) {
        for y in (rows.start..rows.end).step_by(axes[1].step) {
            let row = (z * size[1] + y) * size[2];
            for x in (columns.start..columns.end).step_by(axes[2].step) {
                f(row + x, plane[row + x]);
            }
        }
    }
}

/// Calls `f` with the position of the first element of every line of a window whose elements are neighbours,
/// and with these.
pub(super) fn lines<T: Copy>(
    plane: &[T],
    size: [usize; 3],
    axes: &[Axis; 3],
    [depth, rows, columns]: [Window; 3],
    mut f: impl FnMut(usize, &[T]),
) {
    for z in (depth.start..depth.end).step_by(axes[0].step) {
        for y in (rows.start..rows.end).step_by(axes[1].step) {
            let at = (z * size[1] + y) * size[2] + columns.start;
            f(at, &plane[at..at + columns.end - columns.start]);
        }
    }
}

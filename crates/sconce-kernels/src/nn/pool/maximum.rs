//! Max pooling: the largest elements of windows, and their positions.

use sconce_kernel_core::simd::dispatch::dispatch;

use super::planes::{Planes, each, fold, lines, pool};
use super::sizes::{adaptive, check_row_padding, fixed};
use super::windows::{Axis, LONG, Window};
use super::{PoolOptions, Pooled, by_number, check, check_within, floats, numbers};
use crate::quantize::through_integers;
use crate::reduction::reduction_order::OrderedFold;
use crate::{DType, Dims, Error, Result, Tensor};

/// The greatest element so far and where it stands; NaN is greater than everything.
fn greater<T: Pooled>(best: &mut Option<(T, usize)>, at: usize, x: T) {
    if best.is_none_or(|(value, _)| x > value || x.is_nan()) {
        *best = Some((x, at));
    }
}

/// The same for neighbours, the first of which stands at `at`.
fn greater_of_line<T: Pooled>(best: &mut Option<(T, usize)>, at: usize, line: &[T]) {
    let is_better = |x: T| best.is_none_or(|(value, _)| (x > value) | x.is_nan());
    // Most lines have nothing greater.
    let any = dispatch(
        #[inline(always)]
        || line.iter().fold(false, |any, &x| any | is_better(x)),
    );
    if any {
        line.iter().zip(at..).for_each(|(&x, at)| greater(best, at, x));
    }
}

fn greatest<T: Pooled>(planes: &Planes, axes: &[Axis; 3], sizes: &[i64]) -> Result<Tensor> {
    let join = |best: T, x: T| if (x > best) | x.is_nan() { x } else { best };
    let greater = OrderedFold::new(T::LOWEST, |x: T| x, join);
    fold(planes, axes, sizes, greater, |best, _, out| out.copy_from_slice(best))
}

/// Where the greatest elements stand in their planes.
fn greatest_at<T: Pooled>(planes: &Planes, axes: &[Axis; 3], sizes: &[i64]) -> Result<Tensor> {
    let size = planes.size;
    let mut run = axes[2].run();
    let is_small = u32::try_from(size.iter().product::<usize>()).is_ok();
    run.windows.end -= if is_small { run.windows.len() % TOGETHER } else { run.windows.len() };
    pool(planes, axes, sizes, |plane: &[T], [depth, rows], out: &mut [i64]| {
        for (at, out) in out[run.windows.clone()].as_chunks_mut().0.iter_mut().enumerate() {
            let columns = axes[2].windows[run.windows.start + at * TOGETHER];
            let window = [depth, rows, columns];
            *out = dispatch(
                #[inline(always)]
                || match run.stride {
                    1 => greatest_side_by_side(plane, size, axes, window, run.elements, 1),
                    2 => greatest_side_by_side(plane, size, axes, window, run.elements, 2),
                    step => greatest_side_by_side(plane, size, axes, window, run.elements, step),
                },
            );
        }
        for column in (0..run.windows.start).chain(run.windows.end..out.len()) {
            let columns = axes[2].windows[column];
            let window = [depth, rows, columns];
            let mut best = None;
            match axes[2].step == 1 && columns.end.saturating_sub(columns.start) >= LONG {
                true => lines(plane, size, axes, window, |at, line| {
                    greater_of_line(&mut best, at, line);
                }),
                false => each(plane, size, axes, window, |at, x| greater(&mut best, at, x)),
            }
            out[column] = best.map_or(corner(size, window), |(_, at)| at) as i64;
        }
    })
}

/// The position of the first element of a window.
fn corner(size: [usize; 3], [depth, rows, columns]: [Window; 3]) -> usize {
    (depth.start * size[1] + rows.start) * size[2] + columns.start
}

/// Windows in which the greatest elements are looked for side by side.
const TOGETHER: usize = 8;

/// Where the greatest elements of windows stand, of which the first is given, with this many elements a
/// line, and the others come this many steps after one another.
#[inline(always)]
fn greatest_side_by_side<T: Pooled>(
    plane: &[T],
    size: [usize; 3],
    axes: &[Axis; 3],
    window: [Window; 3],
    elements: usize,
    stride: usize,
) -> [i64; TOGETHER] {
    let [depth, rows, columns] = window;
    // The first elements, unless there are greater ones than nothing.
    let (mut best, mut at) = ([T::LOWEST; TOGETHER], [corner(size, window) as u32; TOGETHER]);
    at.iter_mut().enumerate().for_each(|(i, at)| *at += (i * stride) as u32);
    for z in (depth.start..depth.end).step_by(axes[0].step) {
        for y in (rows.start..rows.end).step_by(axes[1].step) {
            let line = (z * size[1] + y) * size[2] + columns.start;
            for element in 0..elements {
                let position = line + element * axes[2].step;
                let numbers = &plane[position..][..(TOGETHER - 1) * stride + 1];
                for i in 0..TOGETHER {
                    let x = numbers[i * stride];
                    let better = (x > best[i]) | x.is_nan();
                    best[i] = if better { x } else { best[i] };
                    at[i] = if better { (position + i * stride) as u32 } else { at[i] };
                }
            }
        }
    }
    let mut found = [0; TOGETHER];
    found.iter_mut().zip(at).for_each(|(found, at)| *found = i64::from(at));
    found
}

/// The numbers at positions of their planes.
fn numbers_at<T: Pooled>(planes: &Planes, positions: &Tensor) -> Result<Tensor> {
    let values = Tensor::for_overwrite(positions.sizes(), T::DTYPE)?;
    let all = planes.wide.read::<T>()?;
    let len: usize = planes.size.iter().product();
    {
        let (positions, mut values) = (positions.read::<i64>()?, values.write::<T>()?);
        let per_plane = (positions.len() * len).checked_div(all.len()).unwrap_or(0).max(1);
        let planes = all.chunks_exact(len.max(1));
        let parts = values.chunks_exact_mut(per_plane).zip(positions.chunks_exact(per_plane));
        for ((values, positions), plane) in parts.zip(planes) {
            values.iter_mut().zip(positions).for_each(|(x, &at)| *x = plane[at as usize]);
        }
    }
    Ok(values)
}

/// The largest elements, and where they stand where that is asked for.
pub(super) fn maxima(
    input: &Tensor,
    name: &str,
    rank: usize,
    axes: &[Axis; 3],
    sizes: &[i64],
) -> Result<(Tensor, Tensor)> {
    let planes = Planes::new(input, rank)?;
    let indices = by_number!(planes, name, greatest_at(&planes, axes, sizes))?;
    let values = by_number!(planes, name, numbers_at(&planes, &indices))?;
    Ok((values.to_dtype(input.dtype())?.like_format_of(input)?, indices.like_format_of(input)?))
}

/// As [`check`], in PyTorch's words for maxima.
fn check_maximum(input: &Tensor, name: &str, rank: usize, dtypes: fn(DType) -> bool) -> Result<()> {
    let (dims, sizes) = (input.dim(), input.sizes());
    let (single, batch) = (rank + 1, rank + 2);
    let has_dims = dims == single || dims == batch;
    if rank > 1 && !has_dims {
        return Err(Error::runtime(format!(
            "non-empty {single}D or {batch}D (batch mode) tensor expected for input"
        )));
    }
    if rank == 3
        && let Some(dim) = (dims - single..dims).find(|&dim| sizes[dim] == 0)
    {
        return Err(Error::runtime(format!(
            "max_pool3d_with_indices_out_cpu_template(): Expected input to have non-zero size for \
             non-batch dimensions, but input has sizes {sizes:?} with dimension {dim} being empty"
        )));
    }
    if !has_dims || sizes[dims - single..].contains(&0) {
        let name = if rank == 1 { "max_pool1d: " } else { "" };
        return Err(Error::runtime(format!(
            "{name}Expected {single}D or {batch}D (batch mode) tensor with optional 0 dim batch \
             size for input, but got:{sizes:?}"
        )));
    }
    check(input, name, rank, dtypes)
}

/// `torch.max_pool1d`, `max_pool2d` and `max_pool3d`, by the number of spatial dimensions.
///
/// # Errors
/// Where the window does not fit.
pub fn max_pool(input: &Tensor, rank: usize, options: &PoolOptions<'_>) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return through_integers(input, |whole| max_pool(whole, rank, options));
    }
    let name = format!("max_pool{rank}d");
    check_maximum(input, &name, rank, if rank == 1 { floats } else { numbers })?;
    if rank == 1 {
        check_row_padding(options)?;
    }
    let (axes, sizes) = fixed(input, &name, rank, options)?;
    let planes = Planes::new(input, rank)?;
    let values = by_number!(planes, &name, greatest(&planes, &axes, &sizes))?;
    values.to_dtype(input.dtype())?.like_format_of(input)
}

/// `torch.max_pool2d_with_indices` and the like: values, and where they stand in their plane.
///
/// # Errors
/// Where the window does not fit.
pub fn max_pool_with_indices(
    input: &Tensor,
    rank: usize,
    options: &PoolOptions<'_>,
) -> Result<(Tensor, Tensor)> {
    let name = format!("max_pool{rank}d");
    check_maximum(input, &name, rank, if rank == 1 { floats } else { numbers })?;
    let (axes, sizes) = fixed(input, &name, rank, options)?;
    maxima(input, &name, rank, &axes, &sizes)
}

/// The sizes of what [`max_pool_with_indices`] gives.
///
/// # Errors
/// Where the window does not fit.
pub fn max_pool_sizes(input: &Tensor, rank: usize, options: &PoolOptions<'_>) -> Result<Dims> {
    let name = format!("max_pool{rank}d");
    check_maximum(input, &name, rank, numbers)?;
    Ok(fixed(input, &name, rank, options)?.1)
}

/// `torch.nn.functional.adaptive_max_pool1d` and the like, with indices.
///
/// # Errors
/// As [`crate::adaptive_avg_pool`].
pub fn adaptive_max_pool(input: &Tensor, output: &[i64]) -> Result<(Tensor, Tensor)> {
    let name = format!("adaptive_max_pool{}d", output.len());
    check_within(input, &name, output.len(), 1, floats)?;
    let (axes, sizes) = adaptive(input, &name, output)?;
    maxima(input, &name, output.len(), &axes, &sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greatest_side_by_side_are_those_found_one_by_one() {
        for (kernel, stride, padding, dilation, size) in [
            (2, 2, 0, 1, 40),
            (3, 1, 1, 1, 29),
            (3, 2, 1, 1, 33),
            (2, 3, 1, 2, 60),
            (5, 4, 2, 1, 9),
        ] {
            let (height, width) = (size / 2 + 3, size);
            let number = |i: i64| match i * 31 % 67 {
                0 => f32::NAN,
                1..20 => f32::NEG_INFINITY,
                other => (other % 9) as f32,
            };
            let numbers: Vec<f32> = (0..2 * height * width).map(number).collect();
            let input = Tensor::from_slice(&numbers, &[2, height, width]).unwrap();
            let options = PoolOptions {
                kernel: &[kernel],
                stride: &[stride],
                padding: &[padding],
                dilation: &[dilation],
                ceil_mode: false,
            };
            let (values, positions) = max_pool_with_indices(&input, 2, &options).unwrap();
            let &[_, high, wide] = positions.sizes() else { unreachable!() };
            let (mut expected, mut taken) = (Vec::new(), Vec::new());
            for at in 0..2 * high * wide {
                let (plane, y, x) = (at / (high * wide), at / wide % high, at % wide);
                let (mut best, mut position) = (f32::NEG_INFINITY, None);
                for tap in 0..kernel * kernel {
                    let y = y * stride + tap / kernel * dilation - padding;
                    let x = x * stride + tap % kernel * dilation - padding;
                    if !(0..height).contains(&y) || !(0..width).contains(&x) {
                        continue;
                    }
                    let number = numbers[((plane * height + y) * width + x) as usize];
                    if position.is_none() || number > best || number.is_nan() {
                        (best, position) = (number, Some(y * width + x));
                    }
                }
                expected.push(position.unwrap());
                taken.push(best.to_bits());
            }
            assert_eq!(positions.to_vec::<i64>().unwrap(), expected, "{options:?}");
            let values = values.to_vec::<f32>().unwrap();
            assert!(values.into_iter().map(f32::to_bits).eq(taken), "{options:?}");
        }
    }
}

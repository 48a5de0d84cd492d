//! Pooling in the blocked layout.

use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::simd::lanes::LANES;

use super::share::each;
use super::{blocked_sizes, scratch};
use crate::nn::pool::sizes::{adaptive, fixed};
use crate::nn::pool::windows::{Axis, Window};
use crate::{DType, Error, PoolOptions, Result, Tensor};

type Pixel = [f32; LANES];

/// `torch.max_pool2d` of a blocked image.
///
/// # Errors
/// Where sizes do not fit.
pub fn max_pool2d_blocked(image: &Tensor, options: &PoolOptions) -> Result<Tensor> {
    let ([_, rows, columns], _) = fixed(&one_lane(image)?, "max_pool2d", 2, options)?;
    // NaN wins.
    let larger = |most: f32, x: f32| if (x > most) | x.is_nan() { x } else { most };
    pool(image, &rows, &columns, f32::NEG_INFINITY, larger, |_, _| 1.0)
}

/// `torch.nn.functional.avg_pool2d` of a blocked image.
///
/// # Errors
/// Where sizes do not fit.
pub fn avg_pool2d_blocked(
    image: &Tensor,
    options: &PoolOptions,
    count_include_pad: bool,
    divisor_override: Option<i64>,
) -> Result<Tensor> {
    if divisor_override == Some(0) {
        return Err(Error::runtime("divisor must be not zero"));
    }
    let ([_, rows, columns], _) = fixed(&one_lane(image)?, "avg_pool2d", 2, options)?;
    let count = |row: Window, column: Window| match divisor_override {
        Some(divisor) => divisor,
        None if count_include_pad => row.covered * column.covered,
        None => (rows.len(row) * columns.len(column)) as i64,
    };
    pool(image, &rows, &columns, 0.0, |sum, x| sum + x, count_of(&count))
}

/// `torch.nn.functional.adaptive_avg_pool2d` of a blocked image.
///
/// # Errors
/// Where sizes do not fit.
pub fn adaptive_avg_pool2d_blocked(image: &Tensor, output: [i64; 2]) -> Result<Tensor> {
    let ([_, rows, columns], _) = adaptive(&one_lane(image)?, "adaptive_avg_pool2d", &output)?;
    let count = |row: Window, column: Window| row.covered * column.covered;
    pool(image, &rows, &columns, 0.0, |sum, x| sum + x, count_of(&count))
}

/// What the sum of a window is multiplied by.
fn count_of(count: &(impl Fn(Window, Window) -> i64 + Sync)) -> impl Fn(Window, Window) -> f32 {
    move |row, column| (1.0 / count(row, column) as f64) as f32
}

/// A view of one lane, whose sizes are batch, blocks, height and width.
fn one_lane(image: &Tensor) -> Result<Tensor> {
    let sizes = blocked_sizes(image)?;
    if sizes.contains(&0) {
        return Err(Error::runtime("a pool of no pixels"));
    }
    image.select(4, 0)
}

/// For each window what its elements come to, times a number.
fn pool(
    image: &Tensor,
    rows: &Axis,
    columns: &Axis,
    start: f32,
    combine: impl Fn(f32, f32) -> f32 + Copy + Sync,
    factor: impl Fn(Window, Window) -> f32,
) -> Result<Tensor> {
    let [n, blocks, height, width] = blocked_sizes(image)?;
    let [out_height, out_width] = [rows, columns].map(|axis| axis.windows.len());
    let sizes = [n, blocks, out_height, out_width, LANES].map(|size| size as i64);
    let result = Tensor::for_overwrite(&sizes, DType::Float32)?;
    let image = image.contiguous()?;
    let from = image.read::<f32>()?;
    let mut to = result.write::<f32>()?;
    if to.is_empty() {
        return Err(Error::runtime("a pool that gives no pixels"));
    }
    let factors: Vec<f32> = rows
        .windows
        .iter()
        .flat_map(|&row| columns.windows.iter().map(move |&column| (row, column)))
        .map(|(row, column)| factor(row, column))
        .collect();
    let planes = from.chunks_exact(height * width * LANES);
    let planes = planes.zip(to.chunks_exact_mut(out_height * out_width * LANES));
    each(from.len(), planes, |(from, to)| {
        scratch::with(width * LANES, |line| {
            let plane = Plane { from: from.as_chunks().0, width, rows, columns, factors: &factors };
            dispatch(
                #[inline(always)]
                || plane.pool(to.as_chunks_mut().0, line.as_chunks_mut().0, start, combine),
            );
        });
    });
    drop(to);
    Ok(result)
}

/// A block of channels of one image, and the windows over it.
struct Plane<'a> {
    from: &'a [Pixel],
    width: usize,
    rows: &'a Axis,
    columns: &'a Axis,
    factors: &'a [f32],
}

impl Plane<'_> {
    /// First the rows of each window are put together, then its columns. `line` has room for a row.
    #[inline(always)]
    fn pool(
        &self,
        to: &mut [Pixel],
        line: &mut [Pixel],
        start: f32,
        combine: impl Fn(f32, f32) -> f32 + Copy,
    ) {
        let out_width = self.columns.windows.len();
        let all = to.chunks_exact_mut(out_width).zip(self.factors.chunks_exact(out_width));
        for (&row, (to, factors)) in self.rows.windows.iter().zip(all) {
            self.combine_rows(row, line.as_flattened_mut(), start, combine);
            for ((&column, to), &factor) in self.columns.windows.iter().zip(to).zip(factors) {
                let pixels = line.get(column.start..column.end).unwrap_or_default();
                let mut sum = [start; LANES];
                if let (&[a, b, c], 1) = (pixels, self.columns.step) {
                    for lane in 0..LANES {
                        sum[lane] = combine(combine(a[lane], b[lane]), c[lane]);
                    }
                } else {
                    for pixel in pixels.iter().step_by(self.columns.step) {
                        for lane in 0..LANES {
                            sum[lane] = combine(sum[lane], pixel[lane]);
                        }
                    }
                }
                for lane in 0..LANES {
                    to[lane] = sum[lane] * factor;
                }
            }
        }
    }

    #[inline(always)]
    fn combine_rows(
        &self,
        window: Window,
        line: &mut [f32],
        start: f32,
        combine: impl Fn(f32, f32) -> f32 + Copy,
    ) {
        let row = |k: usize| {
            let first = (window.start + k * self.rows.step) * self.width;
            self.from[first..first + self.width].as_flattened()
        };
        match self.rows.len(window) {
            0 => line.fill(start),
            1 => line.copy_from_slice(row(0)),
            3 => {
                let three = row(0).iter().zip(row(1)).zip(row(2));
                line.iter_mut()
                    .zip(three)
                    .for_each(|(to, ((&a, &b), &c))| *to = combine(combine(a, b), c));
            }
            count => {
                let two = row(0).iter().zip(row(1));
                line.iter_mut().zip(two).for_each(|(to, (&a, &b))| *to = combine(a, b));
                for k in 2..count {
                    line.iter_mut().zip(row(k)).for_each(|(to, &x)| *to = combine(*to, x));
                }
            }
        }
    }
}

/// The mean of the pixels of a blocked image.
///
/// # Errors
/// Where there are none.
pub fn mean_blocked(image: &Tensor) -> Result<Tensor> {
    let each_plane = |from: &[Pixel], width: usize, to: &mut [f32]| {
        let count = from.len() as f32;
        dispatch(
            #[inline(always)]
            || sum_plane(from, width, to, |x| x, |sum| sum / count),
        );
    };
    to_a_pixel(image, &each_plane)
}

/// The Euclidean norm of the pixels of a blocked image.
///
/// # Errors
/// Where there are none.
pub fn norm_blocked(image: &Tensor) -> Result<Tensor> {
    let each_plane = |from: &[Pixel], width: usize, to: &mut [f32]| {
        dispatch(
            #[inline(always)]
            || sum_plane(from, width, to, |x| x * x, f32::sqrt),
        );
    };
    to_a_pixel(image, &each_plane)
}

/// Makes one pixel of all those of a block, given the width of the image.
type ToPixel<'a> = &'a (dyn Fn(&[Pixel], usize, &mut [f32]) + Sync);

/// One pixel of all those of each block.
fn to_a_pixel(image: &Tensor, each_plane: ToPixel<'_>) -> Result<Tensor> {
    let [n, blocks, height, width] = blocked_sizes(image)?;
    if height * width == 0 {
        return Err(Error::runtime("the mean or norm of no pixels"));
    }
    let image = image.contiguous()?;
    let from = image.read::<f32>()?;
    let result =
        Tensor::for_overwrite(&[n as i64, blocks as i64, 1, 1, LANES as i64], DType::Float32)?;
    let mut to = result.write::<f32>()?;
    let planes = from.chunks_exact(height * width * LANES).zip(to.chunks_exact_mut(LANES));
    each(from.len(), planes, |(from, to)| each_plane(from.as_chunks::<LANES>().0, width, to));
    drop(to);
    Ok(result)
}

/// `last` of the sum of `of`. Sums of rows are added up, so that rounding does not grow with the image.
#[inline(always)]
fn sum_plane(
    from: &[Pixel],
    width: usize,
    to: &mut [f32],
    of: impl Fn(f32) -> f32,
    last: impl Fn(f32) -> f32,
) {
    let mut total = [0f32; LANES];
    for row in from.chunks_exact(width) {
        let mut sum = [0f32; LANES];
        for pixel in row {
            sum.iter_mut().zip(pixel).for_each(|(sum, &x)| *sum += of(x));
        }
        total.iter_mut().zip(sum).for_each(|(total, sum)| *total += sum);
    }
    to.iter_mut().zip(total).for_each(|(to, total)| *to = last(total));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;
    use crate::nn::conv::blocked::{from_blocked, to_blocked};
    use crate::{adaptive_avg_pool, avg_pool};

    fn image(sizes: &[i64]) -> Tensor {
        let count = sizes.iter().product::<i64>();
        let values: Vec<f32> = (0..count).map(|i| (i * 29 % 97) as f32 / 7.0 - 5.0).collect();
        Tensor::from_slice(&values, sizes).unwrap()
    }

    #[track_caller]
    fn close(found: &Tensor, expected: &Tensor) {
        let found = from_blocked(found, expected.sizes()[1]).unwrap();
        assert_eq!(found.sizes(), expected.sizes());
        let pairs =
            found.to_vec::<f32>().unwrap().into_iter().zip(expected.to_vec::<f32>().unwrap());
        pairs.for_each(|(a, b)| assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{a} {b}"));
    }

    #[test]
    fn norms_are_those_of_all_pixels() {
        let x = image(&[2, 20, 5, 7]);
        let expected = crate::norm(&x, 2.0, &[2, 3], true).unwrap();
        close(&norm_blocked(&to_blocked(&x).unwrap()).unwrap(), &expected);
        assert!(norm_blocked(&to_blocked(&image(&[2, 20, 0, 7])).unwrap()).is_err());
    }

    #[test]
    fn averages_in_blocks_are_averages() {
        let image = image(&[2, 20, 13, 9]);
        let blocked = to_blocked(&image).unwrap();
        for (kernel, stride, padding, ceil_mode) in [
            ([3, 3], [1, 1], [1, 1], false),
            ([2, 2], [2, 2], [0, 0], true),
            ([3, 5], [2, 3], [1, 2], true),
            ([13, 9], [1, 1], [0, 0], false),
            ([1, 1], [3, 2], [0, 0], false),
        ] {
            let (kernel, stride, padding) = (&kernel[..], &stride[..], &padding[..]);
            let options = PoolOptions { kernel, stride, padding, dilation: &[1, 1], ceil_mode };
            for (counts, divisor) in [(true, None), (false, None), (true, Some(7))] {
                let found = avg_pool2d_blocked(&blocked, &options, counts, divisor).unwrap();
                close(&found, &avg_pool(&image, 2, &options, counts, divisor).unwrap());
            }
        }
        for output in [[1, 1], [7, 9], [13, 9], [5, 2], [20, 3]] {
            let found = adaptive_avg_pool2d_blocked(&blocked, output).unwrap();
            close(&found, &adaptive_avg_pool(&image, &output).unwrap());
        }
        let options = PoolOptions {
            kernel: &[20, 1],
            stride: &[1, 1],
            padding: &[0, 0],
            dilation: &[1, 1],
            ceil_mode: false,
        };
        assert!(avg_pool2d_blocked(&blocked, &options, true, None).is_err());
    }
}

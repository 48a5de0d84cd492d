//! Group normalisation of blocked images, of groups of whole blocks.

use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::simd::lanes::LANES;

use super::blocked_sizes;
use super::share::each;
use crate::{DType, Error, Result, Tensor};

/// How many pixels are added up in single precision before they are in double precision: rounding does not grow with
/// the image.
const PIXELS: usize = 64;

/// `torch.nn.functional.group_norm` of a blocked image. Every group has whole blocks of channels; weight and bias, where
/// they are there, have a number for each channel.
///
/// # Errors
/// Where sizes do not fit.
pub fn group_norm_blocked(
    image: &Tensor,
    groups: usize,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let unfit = || Error::runtime("a normalisation of groups in blocks whose sizes do not fit");
    let [n, blocks, height, width] = blocked_sizes(image)?;
    let plane = height * width * LANES;
    if groups == 0 || blocks % groups != 0 || plane == 0 {
        return Err(unfit());
    }
    let numbers = |tensor: Option<&Tensor>, default: f32| match tensor {
        Some(tensor) => tensor.to_vec::<f32>(),
        None => Ok(vec![default; blocks * LANES]),
    };
    let (weight, bias) = (numbers(weight, 1.0)?, numbers(bias, 0.0)?);
    if weight.len() != blocks * LANES || bias.len() != blocks * LANES {
        return Err(unfit());
    }
    let result = Tensor::for_overwrite(image.sizes(), DType::Float32)?;
    let image = image.contiguous()?;
    let from = image.read::<f32>()?;
    let mut to = result.write::<f32>()?;
    let planes = from.chunks_exact(plane);
    // Sums of each block, so that threads share the work on one group.
    let per_group = blocks / groups;
    let count = (per_group * plane) as f64;
    let of_groups = |sums: &[f64]| -> Vec<f64> {
        sums.chunks(per_group).map(|sums| sums.iter().sum::<f64>() / count).collect()
    };
    let mut sums = vec![0f64; n * blocks];
    each(from.len(), planes.clone().zip(&mut sums), |(plane, sum)| *sum = sum_of(plane, |x| x));
    let means = of_groups(&sums);
    each(from.len(), planes.clone().zip(&mut sums).enumerate(), |(index, (plane, sum))| {
        let mean = means[index / per_group] as f32;
        *sum = sum_of(plane, |x| (x - mean) * (x - mean));
    });
    let variances = of_groups(&sums);
    each(from.len(), planes.zip(to.chunks_exact_mut(plane)).enumerate(), |(index, (from, to))| {
        let group = index / per_group;
        let scale = 1.0 / (variances[group] + eps).sqrt();
        let channels = index % blocks * LANES..(index % blocks + 1) * LANES;
        let (weight, bias) = (&weight[channels.clone()], &bias[channels]);
        let scales: [f32; LANES] =
            std::array::from_fn(|lane| (f64::from(weight[lane]) * scale) as f32);
        let shifts: [f32; LANES] = std::array::from_fn(|lane| {
            (f64::from(bias[lane]) - means[group] * f64::from(scales[lane])) as f32
        });
        dispatch(
            #[inline(always)]
            || {
                for (from, to) in from.as_chunks().0.iter().zip(to.as_chunks_mut().0) {
                    let (from, to): (&[f32; LANES], &mut [f32; LANES]) = (from, to);
                    for lane in 0..LANES {
                        to[lane] = from[lane] * scales[lane] + shifts[lane];
                    }
                }
            },
        );
    });
    drop(to);
    Ok(result)
}

/// The sum of a function of numbers.
fn sum_of(numbers: &[f32], f: impl Fn(f32) -> f32) -> f64 {
    dispatch(
        #[inline(always)]
        || {
            let mut total = 0.0;
            for some in numbers.chunks(PIXELS * LANES) {
                let mut sums = [0f32; LANES];
                for pixel in some.as_chunks::<LANES>().0 {
                    for lane in 0..LANES {
                        sums[lane] += f(pixel[lane]);
                    }
                }
                total += sums.iter().map(|&sum| f64::from(sum)).sum::<f64>();
            }
            total
        },
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;
    use crate::group_norm;
    use crate::nn::conv::blocked::{from_blocked, to_blocked};

    #[test]
    fn groups_of_whole_blocks_are_normalised_as_in_order() {
        let values: Vec<f32> =
            (0..2 * 96 * 11 * 7).map(|i| (i * 37 % 1013) as f32 / 8.0 - 30.0).collect();
        let image = Tensor::from_slice(&values, &[2, 96, 11, 7]).unwrap();
        let channels = |seed: usize| {
            let numbers: Vec<f32> = (0..96).map(|i| (i * seed % 17) as f32 / 4.0 - 2.0).collect();
            Tensor::from_slice(&numbers, &[96]).unwrap()
        };
        let (weight, bias) = (channels(5), channels(3));
        let blocked = to_blocked(&image).unwrap();
        for groups in [1, 2, 3, 6] {
            for (weight, bias) in [(None, None), (Some(&weight), Some(&bias))] {
                let found = group_norm_blocked(&blocked, groups, weight, bias, 1e-5).unwrap();
                let found = from_blocked(&found, 96).unwrap().to_vec::<f32>().unwrap();
                let expected = group_norm(&image, groups as i64, weight, bias, 1e-5).unwrap();
                for (a, b) in found.iter().zip(expected.to_vec::<f32>().unwrap()) {
                    assert!((a - b).abs() <= 2e-6 * b.abs().max(1.0), "{groups}: {a} {b}");
                }
            }
        }
        assert!(group_norm_blocked(&blocked, 4, None, None, 1e-5).is_err());
        assert!(
            group_norm_blocked(&blocked, 1, Some(&bias.narrow(0, 0, 9).unwrap()), None, 1e-5)
                .is_err()
        );
    }
}

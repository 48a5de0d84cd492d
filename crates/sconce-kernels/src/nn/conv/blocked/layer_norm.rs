//! Normalisation of the channels of each pixel of blocked images.

use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::simd::lanes::LANES;

use super::blocked_sizes;
use super::pixel_groups::{Group, PIXELS, for_group};
use super::share::each;
use crate::{DType, Error, Result, Tensor};

/// `torch.nn.functional.layer_norm` over the channels of a blocked image of so many. Weight and bias, where they are
/// there, have a number for each channel.
///
/// # Errors
/// Where sizes do not fit.
pub fn layer_norm_blocked(
    image: &Tensor,
    channels: i64,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let unfit = || Error::runtime("a normalisation of channels in blocks whose sizes do not fit");
    let [n, blocks, height, width] = blocked_sizes(image)?;
    let plane = height * width * LANES;
    let count = usize::try_from(channels).unwrap_or(0);
    if count == 0 || count.div_ceil(LANES) != blocks || n * plane == 0 {
        return Err(unfit());
    }
    // Lanes without a channel become zero.
    let numbers = |tensor: Option<&Tensor>, default: f32| {
        let mut all = match tensor {
            Some(tensor) => tensor.to_vec::<f32>()?,
            None => vec![default; count],
        };
        let fits = all.len() == count;
        all.resize(blocks * LANES, 0.0);
        let groups = all.as_chunks().0.iter().map(for_group).collect::<Vec<Group>>();
        if fits { Ok(groups) } else { Err(unfit()) }
    };
    let (weight, bias) = (numbers(weight, 1.0)?, numbers(bias, 0.0)?);
    let layer = Layer { plane, count, weight: &weight, bias: &bias, eps };
    let result = Tensor::for_overwrite(image.sizes(), DType::Float32)?;
    let image = image.contiguous()?;
    let from = image.read::<f32>()?;
    let mut to = result.write::<f32>()?;
    let images = from.chunks_exact(blocks * plane).zip(to.chunks_exact_mut(blocks * plane));
    // For each group of pixels, what is made of it in each block.
    let groups = images.flat_map(|(from, to)| {
        let mut groups: Vec<Vec<&mut [f32]>> = Vec::new();
        groups.resize_with(plane.div_ceil(PIXELS * LANES), || Vec::with_capacity(blocks));
        for plane in to.chunks_exact_mut(plane) {
            let parts = plane.chunks_mut(PIXELS * LANES);
            groups.iter_mut().zip(parts).for_each(|(group, part)| group.push(part));
        }
        groups.into_iter().enumerate().map(move |(at, group)| (from, at, group))
    });
    each(from.len(), groups, |(from, at, mut group)| {
        dispatch(
            #[inline(always)]
            || layer.normalise(from, at * PIXELS * LANES, &mut group),
        );
    });
    drop(to);
    Ok(result)
}

/// What all pixels have in common.
struct Layer<'a> {
    /// How many numbers a block has.
    plane: usize,
    /// How many channels there are.
    count: usize,
    weight: &'a [Group],
    bias: &'a [Group],
    eps: f64,
}

impl Layer<'_> {
    /// Normalises the pixels of an image whose numbers begin at a place of each block.
    #[inline(always)]
    fn normalise(&self, from: &[f32], start: usize, to: &mut [&mut [f32]]) {
        let len = to.first().map_or(0, |to| to.len());
        let group = |block: usize| -> Group {
            let part = &from[block * self.plane + start..][..len];
            part.first_chunk().copied().unwrap_or_else(|| {
                let mut group = [0.0; PIXELS * LANES];
                group[..len].copy_from_slice(part);
                group
            })
        };
        let mut sums: Group = [0.0; PIXELS * LANES];
        for block in 0..to.len() {
            let mut x = group(block);
            self.clear_rest(block, &mut x);
            for at in 0..x.len() {
                sums[at] += x[at];
            }
        }
        // The first estimate need not be exact: the second is the mean of what is left, so that a mean much larger than
        // the deviations costs no accuracy.
        let coarse = self.averages(&sums, |mean| mean);
        let mut rests: Group = [0.0; PIXELS * LANES];
        let mut squares: Group = [0.0; PIXELS * LANES];
        for block in 0..to.len() {
            let mut x = group(block);
            for at in 0..x.len() {
                x[at] -= coarse[at];
            }
            self.clear_rest(block, &mut x);
            for at in 0..x.len() {
                rests[at] += x[at];
                squares[at] += x[at] * x[at];
            }
        }
        let fine = self.averages(&rests, |mean| mean);
        let count = self.count as f32;
        for at in 0..squares.len() {
            // Of each lane its part: the lanes are added up.
            squares[at] -= fine[at] * fine[at] * (count / LANES as f32);
        }
        let scales = self.averages(&squares, |variance| {
            // NaN passes through.
            let variance = if variance < 0.0 { 0.0 } else { variance };
            (1.0 / (f64::from(variance) + self.eps).sqrt()) as f32
        });
        for (block, to) in to.iter_mut().enumerate() {
            let (mut x, weight, bias) = (group(block), &self.weight[block], &self.bias[block]);
            for at in 0..x.len() {
                x[at] = (x[at] - coarse[at] - fine[at]) * scales[at] * weight[at] + bias[at];
            }
            self.clear_rest(block, &mut x);
            match to.first_chunk_mut() {
                Some(to) => *to = x,
                None => to.copy_from_slice(&x[..len]),
            }
        }
    }

    /// Puts zero in the lanes of a block that have no channel; they may hold anything.
    #[inline(always)]
    fn clear_rest(&self, block: usize, group: &mut Group) {
        let lanes = self.count - block * LANES;
        if lanes < LANES {
            group.as_chunks_mut::<LANES>().0.iter_mut().for_each(|pixel| pixel[lanes..].fill(0.0));
        }
    }

    /// For each pixel, `of` what the sum of its lanes is divided by the number of channels, in all lanes.
    #[inline(always)]
    fn averages(&self, sums: &Group, of: impl Fn(f32) -> f32) -> Group {
        let mut all: Group = [0.0; PIXELS * LANES];
        for (sums, all) in sums.as_chunks::<LANES>().0.iter().zip(all.as_chunks_mut::<LANES>().0) {
            let mut sums = *sums;
            let mut half = LANES / 2;
            while half > 0 {
                for lane in 0..half {
                    sums[lane] += sums[lane + half];
                }
                half /= 2;
            }
            *all = [of(sums[0] / self.count as f32); LANES];
        }
        all
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;
    use crate::Scalar;
    use crate::nn::conv::blocked::channelwise::tests::numbers;
    use crate::nn::conv::blocked::{from_blocked, to_blocked};

    #[test]
    fn channels_of_each_pixel_are_normalised() {
        // A mean much larger than the deviations costs no accuracy.
        for (channels, mean) in [(5, 0), (16, 0), (40, 0), (16, 4096), (40, -4096)] {
            let image = numbers(&[2, channels, 5, 7]);
            let image = crate::add((&image).into(), Scalar::Int(mean).into(), 1.into()).unwrap();
            let (weight, bias) = (numbers(&[channels]), numbers(&[channels]));
            for numbers in [Some((&weight, &bias)), None] {
                let (weight, bias) = (numbers.map(|both| both.0), numbers.map(|both| both.1));
                let rows = image.permute(&[0, 2, 3, 1]).unwrap();
                let expected = crate::layer_norm(&rows, &[channels], weight, bias, 1e-5).unwrap();
                let expected = expected.permute(&[0, 3, 1, 2]).unwrap().contiguous().unwrap();
                // Lanes without a channel may hold anything.
                let blocked = to_blocked(&image).unwrap();
                let last = blocked.select(4, 15).unwrap();
                if channels % 16 != 0 {
                    last.select(1, channels / 16).unwrap().fill(1e9.into()).unwrap();
                }
                let found = layer_norm_blocked(&blocked, channels, weight, bias, 1e-5).unwrap();
                let found = from_blocked(&found, channels).unwrap().to_vec::<f32>().unwrap();
                for (found, expected) in found.iter().zip(expected.to_vec::<f32>().unwrap()) {
                    let near = (found - expected).abs() <= 2e-6 * expected.abs().max(1.0);
                    assert!(near, "{channels}: {found} {expected}");
                }
            }
        }
        let image = to_blocked(&numbers(&[1, 20, 2, 2])).unwrap();
        assert!(layer_norm_blocked(&image, 40, None, None, 1e-5).is_err());
        assert!(layer_norm_blocked(&image, 20, Some(&numbers(&[16])), None, 1e-5).is_err());
    }
}

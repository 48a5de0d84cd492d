//! Conversion between the blocked layout and PyTorch's.

use sconce_kernel_core::simd::lanes::LANES;
use sconce_kernel_core::tensor::transposed_copy::{BLOCK, copy_block};

use super::blocked_sizes;
use super::share::each;
use crate::{Error, Result, Tensor};

const _: () = assert!(BLOCK == LANES, "blocks of transposed elements are pixels by lanes");

/// A image `[N, C, H, W]` in the blocked layout; lanes without a channel hold zero.
///
/// # Errors
/// For other dtypes than `float32` and other numbers of dimensions.
pub fn to_blocked(image: &Tensor) -> Result<Tensor> {
    let &[n, channels, height, width] = image.sizes() else {
        return Err(Error::runtime("only pictures of four dimensions are blocked"));
    };
    let rows = image.permute(&[0, 2, 3, 1])?;
    let is_last = !image.is_contiguous() && rows.is_contiguous();
    let image = if is_last { rows } else { image.contiguous()? };
    let from = image.read::<f32>()?;
    let (channels, size) = (channels as usize, (height * width) as usize);
    let blocks = channels.div_ceil(LANES);
    let sizes = [n, blocks as i64, height, width, LANES as i64];
    let result = match channels % LANES {
        0 => Tensor::for_overwrite(&sizes, image.dtype()),
        _ => Tensor::zeros(&sizes, image.dtype()),
    }?;
    let mut to = result.write::<f32>()?;
    if from.is_empty() {
        drop(to);
        return Ok(result);
    }
    if is_last {
        let places = from
            .chunks_exact(channels * size)
            .flat_map(|image| (0..channels).step_by(LANES).map(move |channel| &image[channel..]));
        let places = places.zip(to.chunks_exact_mut(size * LANES)).enumerate();
        each(from.len(), places, |(index, (pixels, block))| {
            let lanes = LANES.min(channels - index % blocks * LANES);
            for (to, from) in
                block.as_chunks_mut::<LANES>().0.iter_mut().zip(pixels.chunks(channels))
            {
                to[..lanes].copy_from_slice(&from[..lanes]);
            }
        });
        drop(to);
        return Ok(result);
    }
    let planes = from.chunks_exact(channels * size).flat_map(|image| image.chunks(LANES * size));
    let blocks = planes.zip(to.chunks_exact_mut(size * LANES));
    each(from.len(), blocks, |(planes, block)| {
        let whole = if planes.len() == LANES * size { size / BLOCK * BLOCK } else { 0 };
        for pixel in (0..whole).step_by(BLOCK) {
            copy_block(&mut block[pixel * LANES..], LANES, &planes[pixel..], size);
        }
        for (lane, plane) in planes.chunks_exact(size).enumerate() {
            let block = block[whole * LANES..].iter_mut().skip(lane).step_by(LANES);
            block.zip(&plane[whole..]).for_each(|(to, &x)| *to = x);
        }
    });
    drop(to);
    Ok(result)
}

/// The image of this many channels that a blocked one stands for.
///
/// # Errors
/// Where the tensor is no blocked image, or has no such number of channels.
pub fn from_blocked(image: &Tensor, channels: i64) -> Result<Tensor> {
    let [n, blocks, height, width] = blocked_sizes(image)?;
    let count = usize::try_from(channels).unwrap_or(0);
    if count.div_ceil(LANES) != blocks {
        return Err(Error::runtime("a blocked picture of another number of channels"));
    }
    let image = image.contiguous()?;
    let from = image.read::<f32>()?;
    let size = height * width;
    let sizes = [n as i64, channels, height as i64, width as i64];
    let result = Tensor::for_overwrite(&sizes, image.dtype())?;
    let mut to = result.write::<f32>()?;
    if to.is_empty() {
        drop(to);
        return Ok(result);
    }
    let planes = to.chunks_exact_mut(count * size).flat_map(|image| image.chunks_mut(LANES * size));
    let blocks = from.chunks_exact(size * LANES).zip(planes);
    each(from.len(), blocks, |(block, planes)| {
        let whole = if planes.len() == LANES * size { size / BLOCK * BLOCK } else { 0 };
        for pixel in (0..whole).step_by(BLOCK) {
            copy_block(&mut planes[pixel..], size, &block[pixel * LANES..], LANES);
        }
        for (lane, plane) in planes.chunks_exact_mut(size).enumerate() {
            let block = block[whole * LANES..].iter().skip(lane).step_by(LANES);
            plane[whole..].iter_mut().zip(block).for_each(|(to, &x)| *to = x);
        }
    });
    drop(to);
    Ok(result)
}

/// As [`from_blocked`], with the channels of each pixel side by side: of `torch.channels_last`.
///
/// # Errors
/// As [`from_blocked`].
pub fn from_blocked_channels_last(image: &Tensor, channels: i64) -> Result<Tensor> {
    let [n, blocks, height, width] = blocked_sizes(image)?;
    let count = usize::try_from(channels).unwrap_or(0);
    if count.div_ceil(LANES) != blocks {
        return Err(Error::runtime("a blocked picture of another number of channels"));
    }
    let image = image.contiguous()?;
    let numbers = image.read::<f32>()?;
    let from: &[f32] = &numbers;
    let sizes = [n as i64, height as i64, width as i64, channels];
    let result = Tensor::for_overwrite(&sizes, image.dtype())?;
    let mut to = result.write::<f32>()?;
    if !to.is_empty() {
        let rows = to.chunks_exact_mut(width * count).enumerate();
        each(from.len(), rows, |(row, to)| {
            let (n, y) = (row / height, row % height);
            for block in 0..blocks {
                let from = &from[((n * blocks + block) * height + y) * width * LANES..];
                let (first, lanes) = (block * LANES, LANES.min(count - block * LANES));
                for (to, from) in to.chunks_exact_mut(count).zip(from.as_chunks::<LANES>().0) {
                    to[first..first + lanes].copy_from_slice(&from[..lanes]);
                }
            }
        });
    }
    drop(to);
    result.permute(&[0, 3, 1, 2])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;

    #[test]
    fn channels_may_lie_last() {
        for channels in [3, 16, 37] {
            let values: Vec<f32> = (0..2 * channels * 5 * 18).map(|i| i as f32).collect();
            let image = Tensor::from_slice(&values, &[2, 5, 18, channels]).unwrap();
            let image = image.permute(&[0, 3, 1, 2]).unwrap();
            let blocked = to_blocked(&image).unwrap();
            let expected = to_blocked(&image.contiguous().unwrap()).unwrap();
            assert_eq!(blocked.to_vec::<f32>().unwrap(), expected.to_vec::<f32>().unwrap());
            let found = from_blocked_channels_last(&blocked, channels).unwrap();
            assert_eq!((found.sizes(), found.strides()), (image.sizes(), image.strides()));
            assert_eq!(found.to_vec::<f32>().unwrap(), image.to_vec::<f32>().unwrap());
        }
    }
}

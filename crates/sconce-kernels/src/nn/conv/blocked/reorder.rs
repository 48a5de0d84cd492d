//! Conversion between the blocked layout and PyTorch's.

use sconce_kernel_core::simd::lanes::LANES;
use sconce_kernel_core::tensor::transposed_copy::{BLOCK, copy_block};

use super::blocked_sizes;
use super::share::each;
use crate::{DType, Error, Result, Tensor};

const _: () = assert!(BLOCK == LANES, "blocks of transposed elements are pixels by lanes");

/// A image `[N, C, H, W]` in the blocked layout; lanes without a channel hold zero.
///
/// # Errors
/// For other dtypes than `float32` and other numbers of dimensions.
pub fn to_blocked(image: &Tensor) -> Result<Tensor> {
    let &[n, channels, height, width] = image.sizes() else {
        return Err(Error::runtime("only pictures of four dimensions are blocked"));
    };
    if image.strides()[1] == 1 && channels > 1 && !image.is_contiguous() && image.numel() > 0 {
        return pixels_to_blocked(image);
    }
    let image = image.contiguous()?;
    let from = image.read::<f32>()?;
    let (channels, size) = (channels as usize, (height * width) as usize);
    let result = with_lanes(image.dtype(), [n, channels as i64, height, width])?;
    let mut to = result.write::<f32>()?;
    if from.is_empty() {
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

/// A blocked image to be filled, whose lanes without a channel are zero already.
fn with_lanes(dtype: DType, [n, channels, height, width]: [i64; 4]) -> Result<Tensor> {
    let lanes = LANES as i64;
    let is_whole = channels % lanes == 0;
    let make = if is_whole { Tensor::for_overwrite } else { Tensor::zeros };
    make(&[n, (channels + lanes - 1) / lanes, height, width, lanes], dtype)
}

/// [`to_blocked`] of an image whose channels lie side by side, wherever its pixels do: one of `torch.channels_last`, or a
/// part of rows that hold more.
fn pixels_to_blocked(image: &Tensor) -> Result<Tensor> {
    let (&[n, channels, height, width], &[next_image, _, next_row, next_pixel]) =
        (image.sizes(), image.strides())
    else {
        return Err(Error::runtime("only pictures of four dimensions are blocked"));
    };
    let channels = channels as usize;
    let blocks = channels.div_ceil(LANES);
    let result = with_lanes(image.dtype(), [n, channels as i64, height, width])?;
    let numbers = image.storage().read::<f32>()?;
    let from: &[f32] = &numbers;
    let (first, width) = (image.offset() as usize, width as usize);
    let [next_image, next_row, next_pixel] =
        [next_image, next_row, next_pixel].map(|stride| stride as usize);
    let mut to = result.write::<f32>()?;
    let len = to.len();
    let planes = to.chunks_exact_mut(height as usize * width * LANES).enumerate();
    each(len, planes, |(index, plane)| {
        let (image, block) = (index / blocks, index % blocks);
        let lanes = LANES.min(channels - block * LANES);
        let start = first + image * next_image + block * LANES;
        for (y, row) in plane.chunks_exact_mut(width * LANES).enumerate() {
            let row = row.as_chunks_mut::<LANES>().0;
            for (x, to) in row.iter_mut().enumerate() {
                let from = &from[start + y * next_row + x * next_pixel..];
                match from.first_chunk::<LANES>() {
                    Some(from) if lanes == LANES => *to = *from,
                    _ => to[..lanes].copy_from_slice(&from[..lanes]),
                }
            }
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

    #[test]
    fn pixels_may_lie_apart() {
        let values: Vec<f32> = (0..2 * 5 * 18 * 50).map(|i| i as f32).collect();
        let rows = Tensor::from_slice(&values, &[2, 5, 18, 50]).unwrap();
        let image = rows.permute(&[0, 3, 1, 2]).unwrap();
        for (first, channels) in [(0, 16), (3, 20), (18, 32)] {
            let part = image.narrow(1, first, channels).unwrap().narrow(2, 1, 3).unwrap();
            let blocked = to_blocked(&part).unwrap();
            let expected = to_blocked(&part.contiguous().unwrap()).unwrap();
            assert_eq!(blocked.to_vec::<f32>().unwrap(), expected.to_vec::<f32>().unwrap());
        }
    }
}

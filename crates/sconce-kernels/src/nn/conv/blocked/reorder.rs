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
    let image = image.contiguous()?;
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

//! Between the blocked layout and PyTorch's.

use super::blocked_sizes;
use super::lanes::LANES;
use crate::{Error, Result, Tensor};

/// A picture `[N, C, H, W]` in the blocked layout; lanes without a channel hold zero.
///
/// # Errors
/// For other dtypes than `float32` and other numbers of dimensions.
pub fn to_blocked(picture: &Tensor) -> Result<Tensor> {
    let &[n, channels, height, width] = picture.sizes() else {
        return Err(Error::runtime("only pictures of four dimensions are blocked"));
    };
    let picture = picture.contiguous()?;
    let from = picture.read::<f32>()?;
    let blocks = (channels as usize).div_ceil(LANES);
    let size = (height * width) as usize;
    let result = Tensor::zeros(&[n, blocks as i64, height, width, LANES as i64], picture.dtype())?;
    let mut to = result.write::<f32>()?;
    if from.is_empty() {
        drop(to);
        return Ok(result);
    }
    let pictures = from.chunks_exact(channels as usize * size);
    for (from, to) in pictures.zip(to.chunks_exact_mut(blocks * size * LANES)) {
        for (planes, to) in from.chunks(LANES * size).zip(to.chunks_exact_mut(size * LANES)) {
            for (lane, plane) in planes.chunks_exact(size).enumerate() {
                to[lane..].iter_mut().step_by(LANES).zip(plane).for_each(|(to, &x)| *to = x);
            }
        }
    }
    drop(to);
    Ok(result)
}

/// The picture of so many channels that a blocked one stands for.
///
/// # Errors
/// Where the tensor is no blocked picture, or has no such number of channels.
pub fn from_blocked(picture: &Tensor, channels: i64) -> Result<Tensor> {
    let [n, blocks, height, width] = blocked_sizes(picture)?;
    let count = usize::try_from(channels).unwrap_or(0);
    if count.div_ceil(LANES) != blocks {
        return Err(Error::runtime("a blocked picture of another number of channels"));
    }
    let picture = picture.contiguous()?;
    let from = picture.read::<f32>()?;
    let size = height * width;
    let sizes = [n as i64, channels, height as i64, width as i64];
    let result = Tensor::zeros(&sizes, picture.dtype())?;
    let mut to = result.write::<f32>()?;
    if to.is_empty() {
        drop(to);
        return Ok(result);
    }
    let pictures = from.chunks_exact(blocks * size * LANES);
    for (from, to) in pictures.zip(to.chunks_exact_mut(count * size)) {
        for (from, planes) in from.chunks_exact(size * LANES).zip(to.chunks_mut(LANES * size)) {
            for (lane, plane) in planes.chunks_exact_mut(size).enumerate() {
                let values = from[lane..].iter().step_by(LANES);
                plane.iter_mut().zip(values).for_each(|(to, &x)| *to = x);
            }
        }
    }
    drop(to);
    Ok(result)
}

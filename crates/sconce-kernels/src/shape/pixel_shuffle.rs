//! `pixel_shuffle`, its inverse, and `channel_shuffle`.

use sconce_kernel_core::layout::shape::product;

use crate::{Dims, Error, Result, Tensor};

fn check(input: &Tensor, name: &str, factor_name: &str, factor: i64) -> Result<()> {
    if input.dim() < 3 {
        return Err(Error::runtime(format!(
            "{name} expects input to have at least 3 dimensions, but got input with {} dimension(s)",
            input.dim()
        )));
    }
    if factor <= 0 {
        return Err(Error::runtime(format!(
            "{name} expects a positive {factor_name}, but got {factor}"
        )));
    }
    Ok(())
}

/// Other sizes, another order of the dimensions, and the sizes of the result.
fn reorder(input: &Tensor, split: &[i64], order: &[i64], sizes: &[i64]) -> Result<Tensor> {
    input.reshape(split)?.permute(order)?.copy()?.view(sizes)?.like_format_of(input)
}

/// `torch.pixel_shuffle`: every `factor`² channels become `factor` × `factor` pixels.
///
/// # Errors
/// For fewer than three dimensions and channels that cannot be divided.
pub fn pixel_shuffle(input: &Tensor, factor: i64) -> Result<Tensor> {
    check(input, "pixel_shuffle", "upscale_factor", factor)?;
    let (batch, image) = input.sizes().split_at(input.dim() - 3);
    let (channels, height, width) = (image[0], image[1], image[2]);
    let square = factor.checked_mul(factor).filter(|square| channels % square == 0);
    let (Some(square), Some(rows), Some(columns)) =
        (square, height.checked_mul(factor), width.checked_mul(factor))
    else {
        return Err(Error::runtime(format!(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of \
             upscale_factor, but input.size(-3)={channels} is not divisible by {}",
            factor.saturating_mul(factor)
        )));
    };
    let few = channels / square;
    let sizes: Dims = batch.iter().copied().chain([few, rows, columns]).collect();
    let split = [product(batch), few, factor, factor, height, width];
    reorder(input, &split, &[0, 1, 4, 2, 5, 3], &sizes)
}

/// `torch.pixel_unshuffle`: the inverse of [`pixel_shuffle`].
///
/// # Errors
/// For fewer than three dimensions and images that cannot be divided.
pub fn pixel_unshuffle(input: &Tensor, factor: i64) -> Result<Tensor> {
    check(input, "pixel_unshuffle", "downscale_factor", factor)?;
    let (batch, image) = input.sizes().split_at(input.dim() - 3);
    let (channels, height, width) = (image[0], image[1], image[2]);
    for (what, at, size) in [("height", -2, height), ("width", -1, width)] {
        if size % factor != 0 {
            return Err(Error::runtime(format!(
                "pixel_unshuffle expects {what} to be divisible by downscale_factor, but \
                 input.size({at})={size} is not divisible by {factor}"
            )));
        }
    }
    let (rows, columns) = (height / factor, width / factor);
    let many = channels
        .checked_mul(factor)
        .and_then(|n| n.checked_mul(factor))
        .ok_or_else(|| Error::runtime("numel: integer multiplication overflow"))?;
    let sizes: Dims = batch.iter().copied().chain([many, rows, columns]).collect();
    let split = [product(batch), channels, rows, factor, columns, factor];
    reorder(input, &split, &[0, 1, 3, 5, 2, 4], &sizes)
}

/// `torch.channel_shuffle`: the channels of `groups` groups in turn.
///
/// # Errors
/// For fewer than three dimensions and channels that cannot be divided.
pub fn channel_shuffle(input: &Tensor, groups: i64) -> Result<Tensor> {
    if input.dim() < 3 {
        return Err(Error::runtime(format!(
            "channel_shuffle expects input with > 2 dims, but got input with sizes {:?}",
            input.sizes()
        )));
    }
    let channels = input.sizes()[1];
    if groups <= 0 {
        return Err(Error::runtime(format!(
            "Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )));
    }
    if channels % groups != 0 {
        return Err(Error::runtime(format!(
            "Number of channels must be divisible by groups. Got {channels} channels and {groups} \
             groups."
        )));
    }
    let inner = product(&input.sizes()[2..]);
    let split = [input.sizes()[0], groups, channels / groups, inner];
    reorder(input, &split, &[0, 2, 1, 3], input.sizes())
}

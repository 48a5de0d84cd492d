//! Weights in the order in which the blocked kernels read them.

use sconce_kernel_core::simd::lanes::LANES;

use super::ChannelLayout;
use super::transpose::phase_pairs;
use crate::{DType, Error, Result, Tensor};

/// A stretch of one or two blocks of result channels of one group.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockRun {
    /// The first block.
    pub(super) first: usize,
    /// One or two blocks.
    pub(super) blocks: usize,
    pub(super) group: usize,
}

/// All stretches: two blocks where the group has them.
pub(super) fn block_runs(out_channels: usize, groups: usize) -> impl Iterator<Item = BlockRun> {
    let per_group = (out_channels / groups).div_ceil(LANES);
    (0..groups).flat_map(move |group| {
        (0..per_group).step_by(2).map(move |block| BlockRun {
            first: group * per_group + block,
            blocks: (per_group - block).min(2),
            group,
        })
    })
}

/// Packs the weight `[O, I/groups, h, w]` of a convolution for
/// [`conv_blocked`](crate::conv_blocked); `None` where its channels cannot be blocked. Its memory can be shared by
/// threads, and what convolutions make of it later is kept with it.
///
/// # Errors
/// For other dtypes than `float32`.
pub fn pack_weight(weight: &Tensor, groups: i64) -> Result<Option<Tensor>> {
    let Some(scheme) = ChannelLayout::of(weight.sizes(), groups) else { return Ok(None) };
    if weight.dtype() != DType::Float32 {
        return Err(Error::runtime("only float32 is convolved in blocks"));
    }
    let sizes: Vec<usize> = weight.sizes().iter().map(|&size| size as usize).collect();
    let &[out, per_group, height, width] = sizes.as_slice() else { return Ok(None) };
    let (all, taps) = (weight.to_vec::<f32>()?, height * width);
    let at = |o: usize, i: usize, tap: usize| match o < out && i < per_group {
        true => all[(o * per_group + i) * taps + tap],
        false => 0.0,
    };
    let mut packed = Vec::new();
    if scheme == ChannelLayout::Grouped {
        for block in 0..out.div_ceil(LANES) {
            for i in 0..per_group {
                for tap in 0..taps {
                    packed.extend((0..LANES).map(|lane| at(block * LANES + lane, i, tap)));
                }
            }
        }
    } else if scheme == ChannelLayout::Depthwise {
        for block in 0..out.div_ceil(LANES) {
            for tap in 0..taps {
                packed.extend((0..LANES).map(|lane| at(block * LANES + lane, 0, tap)));
            }
        }
    } else {
        let run = if scheme == ChannelLayout::Planar { 1 } else { LANES };
        for stretch in block_runs(out, groups as usize) {
            let channels = stretch.first * LANES..(stretch.first + stretch.blocks) * LANES;
            for block in 0..per_group.div_ceil(run) {
                for tap in 0..taps {
                    for i in block * run..(block + 1) * run {
                        packed.extend(channels.clone().map(|o| at(o, i, tap)));
                    }
                }
            }
        }
    }
    shared(&packed).map(Some)
}

/// Packs the weight `[I, O, h, w]` of a transposed convolution of one group with this stride for
/// [`conv_transpose_blocked`](crate::conv_transpose_blocked), phase by phase; `None` where its sizes are none of one.
/// Its memory can be shared by threads.
///
/// # Errors
/// For other dtypes than `float32`.
pub fn pack_transposed_weight(weight: &Tensor, stride: [i64; 2]) -> Result<Option<Tensor>> {
    if weight.dtype() != DType::Float32 {
        return Err(Error::runtime("only float32 is convolved in blocks"));
    }
    let sizes: Vec<usize> = weight.sizes().iter().map(|&size| size as usize).collect();
    let &[input, out, height, width] = sizes.as_slice() else { return Ok(None) };
    let stride = stride.map(|stride| usize::try_from(stride).unwrap_or(0));
    if stride.contains(&0) || sizes.contains(&0) {
        return Ok(None);
    }
    let all = weight.to_vec::<f32>()?;
    let at = |i: usize, o: usize, row: usize, column: usize| match i < input && o < out {
        true => all[((i * out + o) * height + row) * width + column],
        false => 0.0,
    };
    let mut packed = Vec::new();
    for run in block_runs(out, 1) {
        let channels = run.first * LANES..(run.first + run.blocks) * LANES;
        // Phases beyond the window have none of its elements.
        for [top, left] in phase_pairs([stride[0].min(height), stride[1].min(width)]) {
            for block in 0..input.div_ceil(LANES) {
                for row in (top..height).step_by(stride[0]) {
                    for column in (left..width).step_by(stride[1]) {
                        for i in block * LANES..(block + 1) * LANES {
                            packed.extend(channels.clone().map(|o| at(i, o, row, column)));
                        }
                    }
                }
            }
        }
    }
    shared(&packed).map(Some)
}

/// Numbers in memory that threads may share.
fn shared(numbers: &[f32]) -> Result<Tensor> {
    let numbers = Tensor::from_slice(numbers, &[numbers.len() as i64])?;
    Tensor::from_file(&numbers.into_file()?)
}

/// The bias of this many channels, filled up with zeros to whole blocks.
///
/// # Errors
/// For other dtypes than `float32`.
pub fn pack_bias(bias: Option<&Tensor>, channels: i64) -> Result<Tensor> {
    let len = (channels.max(0) as usize).next_multiple_of(LANES);
    let mut packed = bias.map(Tensor::to_vec::<f32>).transpose()?.unwrap_or_default();
    packed.resize(len, 0.0);
    Tensor::from_slice(&packed, &[len as i64])
}

//! Weights in the order in which the blocked kernels read them.

use std::ops::Range;

use sconce_kernel_core::parallel::partition;
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
    let (weight, taps) = (weight.contiguous()?, height * width);
    let all = weight.read::<f32>()?;
    // How many channels of the input a block has, and the result channels of each stretch.
    let run = match scheme {
        ChannelLayout::Grouped | ChannelLayout::Depthwise | ChannelLayout::Planar => 1,
        _ => LANES,
    };
    let stretches: Vec<Range<usize>> = match scheme {
        ChannelLayout::Grouped | ChannelLayout::Depthwise => {
            (0..out.div_ceil(LANES)).map(|block| block * LANES..(block + 1) * LANES).collect()
        }
        _ => {
            let runs = block_runs(out, groups as usize);
            runs.map(|run| run.first * LANES..(run.first + run.blocks) * LANES).collect()
        }
    };
    let packed_row = per_group.next_multiple_of(run) * taps;
    let len: usize = stretches.iter().map(|channels| channels.len() * packed_row).sum();
    let packed = Tensor::for_overwrite(&[len as i64], DType::Float32)?;
    {
        let mut to = packed.write::<f32>()?;
        let mut rest: &mut [f32] = &mut to;
        let mut pieces = Vec::new();
        for channels in stretches {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(channels.len() * packed_row);
            rest = others;
            pieces.push((channels, own));
        }
        let all: &[f32] = &all;
        let rows = Rows { all, channels: out, inputs: per_group, taps };
        partition::for_each(pieces.into_iter(), |(channels, to)| rows.pack(channels, run, to));
    }
    shared(packed).map(Some)
}

/// A weight's rows: one for each channel of the result.
struct Rows<'a> {
    all: &'a [f32],
    channels: usize,
    /// Channels of the input in a row.
    inputs: usize,
    /// Elements of the window for each of them.
    taps: usize,
}

impl Rows<'_> {
    /// Packs some rows: the input's channels in blocks of `run`, in each the elements of the window, for each of them
    /// the block's channels, of each all rows; zeros where there is no channel.
    fn pack(&self, channels: Range<usize>, run: usize, to: &mut [f32]) {
        let (width, taps) = (channels.len(), self.taps);
        let is_whole = channels.end <= self.channels && self.inputs.is_multiple_of(run);
        if !is_whole {
            to.fill(0.0);
        }
        let row_len = self.inputs * taps;
        // A block's rows side by side: in the weight they may lie where the cache holds few of them.
        let mut rows = vec![0.0; width * run * taps];
        for (block, to) in to.chunks_exact_mut((run * taps * width).max(1)).enumerate() {
            let first = block * run;
            let len = run.min(self.inputs - first) * taps;
            let own = channels.clone().take_while(|&o| o < self.channels);
            for (o, row) in own.zip(rows.chunks_exact_mut(run * taps)) {
                let start = o * row_len + first * taps;
                row[..len].copy_from_slice(&self.all[start..start + len]);
            }
            for at in 0..len {
                let start = (at % taps * run + at / taps) * width;
                let lanes = to[start..start + width].iter_mut();
                lanes.zip(rows.chunks_exact(run * taps)).for_each(|(to, row)| *to = row[at]);
            }
        }
    }
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
    shared(Tensor::from_slice(&packed, &[packed.len() as i64])?).map(Some)
}

/// A tensor in memory that threads may share: its own, where nobody else holds it.
fn shared(numbers: Tensor) -> Result<Tensor> {
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

//! Convolutional networks in the blocked layout, `[N, C/16, H, W, 16]`: sixteen channels lie side by
//! side, so a register holds the channels of a pixel and no patch is copied.
//!
//! A blocked image is an ordinary tensor of five dimensions. Where the number of channels is no
//! multiple of sixteen, the last block is padded with finite numbers of no meaning, which are
//! multiplied by weights of zero.

mod activation;
mod channel_pairs;
mod channelwise;
mod convolve;
mod depthwise_pair;
mod derived_weights;
mod group_norm;
mod join;
mod layer_norm;
mod margin;
mod pack;
mod permuted;
mod pixel_groups;
mod pool;
mod reorder;
mod scratch;
mod select;
mod share;
mod tile;
mod tile_number;
mod transpose;
mod upsample;
mod winograd;

pub use activation::Activation;
pub use channelwise::{affine_blocked, gate_blocked};
pub use convolve::{BlockedConv, conv_blocked};
pub use group_norm::group_norm_blocked;
pub use join::{ChannelRun, cat_blocked};
pub use layer_norm::layer_norm_blocked;
pub use pack::{pack_bias, pack_transposed_weight, pack_weight};
pub use pool::{
    adaptive_avg_pool2d_blocked, avg_pool2d_blocked, max_pool2d_blocked, mean_blocked, norm_blocked,
};
pub use reorder::{from_blocked, from_blocked_channels_last, to_blocked};
pub use select::select_blocked;
pub use transpose::{BlockedConvTranspose, conv_transpose_blocked};
pub use upsample::upsample_blocked;

use sconce_kernel_core::simd::lanes::LANES;

use crate::{DType, Error, Result, Tensor};

/// Whether the channels of a image can be blocked: how a convolution's channels are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChannelLayout {
    /// Few input channels, which lie apart as in any tensor.
    Planar,
    /// Blocks of sixteen channels to blocks of sixteen channels.
    Dense,
    /// A filter for each channel.
    Depthwise,
    /// Groups of two, four or eight channels to as many: several groups in a block.
    Grouped,
}

/// How many channels a image may have to be read as it is.
const MAX_PLANAR: i64 = 4;

impl ChannelLayout {
    /// The scheme for a weight `[O, I/groups, h, w]`, if there is one.
    fn of(weight: &[i64], groups: i64) -> Option<ChannelLayout> {
        let &[out, per_group, height, width] = weight else { return None };
        let sizes = [out, per_group, height, width, groups];
        if sizes.iter().any(|&size| size <= 0) || out % groups != 0 {
            return None;
        }
        let whole = per_group % LANES as i64 == 0 && (out / groups) % LANES as i64 == 0;
        match (groups, per_group) {
            (1, ..=MAX_PLANAR) => Some(ChannelLayout::Planar),
            (1, _) => Some(ChannelLayout::Dense),
            (_, 1) if out == groups => Some(ChannelLayout::Depthwise),
            _ if whole => Some(ChannelLayout::Dense),
            (_, 2 | 4 | 8) if out == per_group * groups => Some(ChannelLayout::Grouped),
            _ => None,
        }
    }
}

/// The sizes of a blocked image: batch, blocks, height, width.
fn blocked_sizes(tensor: &Tensor) -> Result<[usize; 4]> {
    match (tensor.dtype(), tensor.sizes()) {
        (DType::Float32, &[n, blocks, height, width, lanes]) if lanes == LANES as i64 => {
            Ok([n, blocks, height, width].map(|size| size as usize))
        }
        _ => Err(Error::runtime("a tensor that is no blocked picture")),
    }
}

#[cfg(test)]
mod tests;

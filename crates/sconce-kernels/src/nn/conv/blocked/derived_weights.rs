//! What convolutions make of packed weights when they first need it, kept with those.

use std::sync::OnceLock;

use half::bf16;
use sconce_kernel_core::alloc::caching_allocator::Block;
use sconce_kernel_core::alloc::counting_allocator;
use sconce_kernel_core::simd::half_precision::Half;
use sconce_kernel_core::simd::lanes::LANES;

use super::pack::block_runs;
use super::winograd;

/// The other forms of one convolution's weights.
#[derive(Default)]
pub(super) struct DerivedWeights {
    pub(super) winograd: winograd::Forms,
    pairs: OnceLock<Option<Block>>,
}

impl DerivedWeights {
    /// Dense weights as `bfloat16`, each channel of a pair of input channels beside that of the other. `None` where
    /// memory is short.
    pub(super) fn pairs(
        &self,
        packed: &[f32],
        out_channels: usize,
        groups: usize,
    ) -> Option<&[bf16]> {
        let pairs = self.pairs.get_or_init(|| in_pairs(packed, out_channels, groups)).as_ref()?;
        bytemuck::cast_slice(pairs.bytes()).get(..packed.len())
    }
}

fn in_pairs(packed: &[f32], out_channels: usize, groups: usize) -> Option<Block> {
    let bytes = size_of_val(packed) / 2;
    if !counting_allocator::may_keep(bytes) {
        return None;
    }
    let per_block = packed.len()
        / (block_runs(out_channels, groups).map(|run| run.blocks).sum::<usize>()).max(1);
    let mut pairs = Block::for_overwrite(bytes).ok()?;
    let mut to: &mut [bf16] = bytemuck::cast_slice_mut(pairs.bytes_mut());
    let mut from = packed;
    for run in block_runs(out_channels, groups) {
        let (own, others) = from.split_at(per_block * run.blocks);
        let (own_to, others_to) = std::mem::take(&mut to).split_at_mut(own.len());
        (from, to) = (others, others_to);
        let line = run.blocks * LANES;
        for (lines, to) in own.chunks_exact(2 * line).zip(own_to.chunks_exact_mut(2 * line)) {
            let (one, other) = lines.split_at(line);
            for ((to, &one), &other) in to.as_chunks_mut::<2>().0.iter_mut().zip(one).zip(other) {
                *to = [bf16::nearest(one), bf16::nearest(other)];
            }
        }
    }
    Some(pairs)
}

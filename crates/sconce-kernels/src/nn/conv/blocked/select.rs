//! Channels of blocked images in any order: channel shuffles, and parts of what has been shuffled.
#![allow(unsafe_code, reason = "vector instructions and raw pointers; see each safety comment")]

use sconce_kernel_core::simd::dispatch::{Level, best};
#[cfg(target_arch = "aarch64")]
use sconce_kernel_core::simd::lanes::Neon;
#[cfg(target_arch = "x86_64")]
use sconce_kernel_core::simd::lanes::{Avx2, Avx512};
use sconce_kernel_core::simd::lanes::{LANES, Lanes, Portable};

use super::channelwise::Images;
use super::share::each;
use super::tile::compiled_for;
use crate::{DType, Error, Result, Tensor};

/// What a block of the result takes of a block that there is: for each of its lanes the lane that it takes, or
/// [`NONE`].
#[derive(Debug, Clone)]
struct Source {
    block: usize,
    lanes: [u32; LANES],
}

/// No lane.
const NONE: u32 = u32::MAX;

/// A blocked image of these channels: for each, the image that it is of and its place in that. Every image has
/// `sizes`, batch, height and width, where they are not negative.
///
/// # Errors
/// Where sizes do not fit, or a channel is not there.
pub fn select_blocked(
    images: &[&Tensor],
    channels: &[[i64; 2]],
    sizes: [i64; 3],
) -> Result<Tensor> {
    select(best(), images, channels, sizes)
}

pub(super) fn select(
    level: Level,
    images: &[&Tensor],
    channels: &[[i64; 2]],
    wanted: [i64; 3],
) -> Result<Tensor> {
    let all = Images::new(images)?;
    let [n, height, width] = all.sizes.map(|size| size as i64);
    let fits =
        wanted.iter().zip([n, height, width]).all(|(&wanted, size)| wanted < 0 || wanted == size);
    if !fits {
        return Err(Error::runtime(format!(
            "a view of batch, height and width {wanted:?} (-1: any) is taken of an image of {:?}",
            [n, height, width]
        )));
    }
    let sources = sources(images, channels);
    let sources = sources.ok_or_else(|| Error::runtime("channels that are not there"))?;
    let sizes = [n, sources.len() as i64, height, width, LANES as i64];
    let result = Tensor::for_overwrite(&sizes, DType::Float32)?;
    let mut to = result.write::<f32>()?;
    let (len, blocks, from_blocks) = (to.len(), sources.len(), all.blocks());
    all.with_planes(|from| {
        let planes = to.chunks_exact_mut(all.plane()).enumerate();
        each(len, planes, |(index, to)| {
            let from = &from[index / blocks * from_blocks..];
            for (at, source) in sources[index % blocks].iter().enumerate() {
                take(level, from[source.block], &source.lanes, at == 0, to);
            }
        });
        Ok(())
    })?;
    drop(to);
    Ok(result)
}

/// For each block of the result what it takes; `None` where an image has no such channel, or there are none.
fn sources(images: &[&Tensor], channels: &[[i64; 2]]) -> Option<Vec<Vec<Source>>> {
    let mut first = Vec::with_capacity(images.len());
    let mut blocks = 0;
    for image in images {
        let own = usize::try_from(*image.sizes().get(1)?).ok()?;
        first.push(blocks..blocks + own);
        blocks += own;
    }
    let mut all: Vec<Vec<Source>> = Vec::with_capacity(channels.len().div_ceil(LANES));
    for (at, &[image, channel]) in channels.iter().enumerate() {
        let own = first.get(usize::try_from(image).ok()?)?;
        let channel = usize::try_from(channel).ok()?;
        let block = own.start.checked_add(channel / LANES).filter(|block| own.contains(block))?;
        if at % LANES == 0 {
            all.push(Vec::new());
        }
        let sources = all.last_mut()?;
        let place = sources.iter().position(|source| source.block == block).unwrap_or_else(|| {
            sources.push(Source { block, lanes: [NONE; LANES] });
            sources.len() - 1
        });
        sources[place].lanes[at % LANES] = (channel % LANES) as u32;
    }
    (!all.is_empty()).then_some(all)
}

/// Puts lanes of a block where they come to lie. Other lanes are zero where this is the first block that the result
/// takes some of, and stay what they are where not.
fn take(level: Level, from: &[f32], lanes: &[u32; LANES], is_first: bool, to: &mut [f32]) {
    assert!(from.len() == to.len() && to.len().is_multiple_of(LANES), "blocks of different sizes");
    // SAFETY: both slices are as long and of whole pixels; `or_best` gives a level that this CPU has.
    unsafe {
        match level.or_best() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => take_avx512(from, lanes, is_first, to),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => take_avx2(from, lanes, is_first, to),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => take_neon(from, lanes, is_first, to),
            Level::Baseline => take_by::<Portable>(from, lanes, is_first, to),
        }
    }
}

compiled_for!("x86_64", "avx512f,avx2,fma", take_avx512, Avx512, take_by,
    (from: &[f32], lanes: &[u32; LANES], is_first: bool, to: &mut [f32]) -> ());
compiled_for!("x86_64", "avx2,fma", take_avx2, Avx2, take_by,
    (from: &[f32], lanes: &[u32; LANES], is_first: bool, to: &mut [f32]) -> ());
compiled_for!("aarch64", "neon", take_neon, Neon, take_by,
    (from: &[f32], lanes: &[u32; LANES], is_first: bool, to: &mut [f32]) -> ());

/// # Safety
/// Both slices must be as long and of whole pixels; the CPU must have what `V` needs.
#[inline(always)]
unsafe fn take_by<V: Lanes>(from: &[f32], lanes: &[u32; LANES], is_first: bool, to: &mut [f32]) {
    // A copy, which stays in a register.
    let lanes = *lanes;
    let pixels = from.as_chunks::<LANES>().0.iter().zip(to.as_chunks_mut::<LANES>().0);
    for (from, to) in pixels {
        // SAFETY: both have sixteen numbers.
        unsafe {
            let own = if is_first { V::splat(0.0) } else { V::load(to.as_ptr()) };
            own.with_lanes_of(V::load(from.as_ptr()), &lanes).store(to.as_mut_ptr());
        }
    }
}

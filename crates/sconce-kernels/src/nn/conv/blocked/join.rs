//! Runs of channels of blocked images, put one after the other: `torch.cat` along the channels, and
//! parts of an image.

use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::simd::lanes::LANES;

use super::channelwise::Images;
use super::pixel_groups::{Group, each_group, for_group};
use super::share::each;
use crate::{DType, Error, Result, Tensor};

/// Channels one after the other of a blocked image.
#[derive(Debug, Clone, Copy)]
pub struct ChannelRun<'a> {
    /// The image.
    pub image: &'a Tensor,
    /// Its first channel.
    pub first: i64,
    /// How many channels.
    pub count: i64,
}

/// What a block of the result takes of a block that there is: `count` lanes from `from` on come to lie
/// from `to` on.
#[derive(Debug, Clone, Copy)]
struct Piece {
    block: usize,
    from: usize,
    to: usize,
    count: usize,
}

/// The runs of channels one after the other, as a blocked image.
///
/// # Errors
/// Where sizes do not fit.
pub fn cat_blocked(runs: &[ChannelRun<'_>]) -> Result<Tensor> {
    let tensors: Vec<&Tensor> = runs.iter().map(|run| run.image).collect();
    let images = Images::new(&tensors)?;
    let pieces =
        pieces(runs).ok_or_else(|| Error::runtime("runs of channels that are not there"))?;
    let ([n, height, width], blocks) = (images.sizes, pieces.len());
    let sizes = [n, blocks, height, width, LANES].map(|size| size as i64);
    let result = Tensor::for_overwrite(&sizes, DType::Float32)?;
    let mut to = result.write::<f32>()?;
    let len = to.len();
    let from_blocks = images.blocks();
    images.with_planes(|from| {
        let planes = to.chunks_exact_mut(images.plane()).enumerate();
        each(len, planes, |(index, to)| {
            let from = &from[index / blocks * from_blocks..];
            match *pieces[index % blocks].as_slice() {
                [Piece { block, count: LANES, .. }] => to.copy_from_slice(from[block]),
                ref pieces => {
                    to.fill(0.0);
                    for piece in pieces {
                        shift(piece, from[piece.block], to);
                    }
                }
            }
        });
        Ok(())
    })?;
    drop(to);
    Ok(result)
}

/// For each block of the result what it is made of; `None` where an image has no such channels.
fn pieces(runs: &[ChannelRun<'_>]) -> Option<Vec<Vec<Piece>>> {
    let mut pieces: Vec<Vec<Piece>> = Vec::new();
    let (mut before, mut at) = (0, 0);
    for run in runs {
        let blocks = usize::try_from(*run.image.sizes().get(1)?).ok()?;
        let (first, count) = (usize::try_from(run.first).ok()?, usize::try_from(run.count).ok()?);
        if first.checked_add(count)? > blocks * LANES {
            return None;
        }
        let mut done = 0;
        while done < count {
            let (from, to) = ((first + done) % LANES, at % LANES);
            let lanes = (count - done).min(LANES - from).min(LANES - to);
            if to == 0 {
                pieces.push(Vec::new());
            }
            let block = before + (first + done) / LANES;
            pieces.last_mut()?.push(Piece { block, from, to, count: lanes });
            (done, at) = (done + lanes, at + lanes);
        }
        before += blocks;
    }
    (!pieces.is_empty()).then_some(pieces)
}

/// Puts the lanes of a piece where they come to lie; other lanes stay.
fn shift(piece: &Piece, from: &[f32], to: &mut [f32]) {
    let &Piece { from: first, to: lane, count, .. } = piece;
    let mask: [u32; LANES] =
        std::array::from_fn(|l| if (lane..lane + count).contains(&l) { u32::MAX } else { 0 });
    let mask = for_group(&mask);
    let pixels = to.len() / LANES;
    // Whole registers are read, moved by as many numbers: but for the first or the last pixel, where
    // they would begin before the block or end after it.
    let by = first as isize - lane as isize;
    let inside = match by {
        0 => 0..pixels,
        1.. => 0..pixels.saturating_sub(1),
        _ => 1.min(pixels)..pixels,
    };
    for pixel in (0..inside.start).chain(inside.end..pixels) {
        let (from, to) = (&from[pixel * LANES + first..], &mut to[pixel * LANES + lane..]);
        to[..count].copy_from_slice(&from[..count]);
    }
    if inside.is_empty() {
        return;
    }
    let start = (inside.start * LANES).wrapping_add_signed(by);
    let from = &from[start..start + inside.len() * LANES];
    let to = &mut to[inside.start * LANES..inside.end * LANES];
    dispatch(
        #[inline(always)]
        || {
            each_group(
                from,
                to,
                #[inline(always)]
                |from, to| blend(from, &mask, to),
            );
        },
    );
}

#[inline(always)]
fn blend(from: &Group, mask: &Group<u32>, to: &mut Group) {
    for lane in 0..to.len() {
        let bits = (from[lane].to_bits() & mask[lane]) | (to[lane].to_bits() & !mask[lane]);
        to[lane] = f32::from_bits(bits);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;
    use crate::nn::conv::blocked::{from_blocked, to_blocked};

    fn image(channels: i64, start: f32) -> Tensor {
        let values: Vec<f32> = (0..2 * channels * 15).map(|i| start + i as f32).collect();
        Tensor::from_slice(&values, &[2, channels, 3, 5]).unwrap()
    }

    #[test]
    fn runs_of_channels_follow_one_another_in_whatever_lanes_they_lie() {
        let images = [image(20, 0.0), image(58, 1000.0), image(16, 5000.0), image(3, 9000.0)];
        let blocked = [0, 1, 2, 3].map(|at| to_blocked(&images[at]).unwrap());
        // Of each run, the image, the first channel and how many.
        let cases: &[&[(usize, i64, i64)]] = &[
            &[(0, 0, 20), (1, 0, 58), (2, 0, 16), (3, 0, 3)],
            &[(2, 0, 16), (1, 0, 58)],
            &[(1, 29, 29)],
            &[(1, 1, 15)],
            &[(1, 15, 2), (1, 15, 2), (0, 19, 1)],
            &[(3, 0, 3), (3, 1, 1), (2, 4, 12), (1, 0, 58)],
        ];
        for runs in cases {
            let parts: Vec<Tensor> = runs
                .iter()
                .map(|&(at, first, count)| images[at].narrow(1, first, count).unwrap())
                .collect();
            let expected = crate::cat(&parts, 1).unwrap();
            let runs: Vec<ChannelRun<'_>> = runs
                .iter()
                .map(|&(at, first, count)| ChannelRun { image: &blocked[at], first, count })
                .collect();
            let found = cat_blocked(&runs).unwrap();
            let channels = expected.sizes()[1];
            let lanes = found.to_vec::<f32>().unwrap();
            assert!(lanes.iter().all(|x| x.is_finite()));
            let found = from_blocked(&found, channels).unwrap();
            assert_eq!(found.to_vec::<f32>().unwrap(), expected.to_vec::<f32>().unwrap());
        }
        let beyond = ChannelRun { image: &blocked[3], first: 10, count: 7 };
        assert!(cat_blocked(&[beyond]).is_err());
    }
}

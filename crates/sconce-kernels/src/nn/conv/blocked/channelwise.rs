//! A number for each channel of a blocked image: batch normalisation in evaluation, and gates.

use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::simd::lanes::LANES;

use super::activation::{Activation, NEAR_PIXELS};
use super::blocked_sizes;
use super::pixel_groups::{Group, each_group, for_group};
use super::share::each;
use crate::{DType, Error, Result, Tensor};

fn unfit() -> Error {
    Error::runtime("images in blocks of sizes that do not fit")
}

/// Images of one size, with the numbers of blocks of each.
pub(super) struct Images {
    tensors: Vec<Tensor>,
    blocks: Vec<usize>,
    /// Batch, height and width.
    pub(super) sizes: [usize; 3],
}

impl Images {
    /// # Errors
    /// Where there are none, or of different sizes, or one without pixels.
    pub(super) fn new(images: &[&Tensor]) -> Result<Images> {
        let [n, _, height, width] = blocked_sizes(images.first().ok_or_else(unfit)?)?;
        let (mut tensors, mut blocks) = (Vec::new(), Vec::new());
        for image in images {
            let sizes = blocked_sizes(image)?;
            if [sizes[0], sizes[2], sizes[3]] != [n, height, width] || sizes.contains(&0) {
                return Err(unfit());
            }
            tensors.push(image.contiguous()?);
            blocks.push(sizes[1]);
        }
        Ok(Images { tensors, blocks, sizes: [n, height, width] })
    }

    /// How many numbers a block of channels of one image has.
    pub(super) fn plane(&self) -> usize {
        self.sizes[1] * self.sizes[2] * LANES
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks.iter().sum()
    }

    /// Calls `f` with the blocks of all images, those of one after those of another, for each of a
    /// batch.
    pub(super) fn with_planes<R>(&self, f: impl FnOnce(&[&[f32]]) -> Result<R>) -> Result<R> {
        let numbers = self.tensors.iter().map(Tensor::read::<f32>).collect::<Result<Vec<_>>>()?;
        let plane = self.plane();
        let mut planes = Vec::with_capacity(self.sizes[0] * self.blocks());
        for n in 0..self.sizes[0] {
            for (numbers, &blocks) in numbers.iter().zip(&self.blocks) {
                let own = &numbers[n * blocks * plane..(n + 1) * blocks * plane];
                planes.extend(own.chunks_exact(plane));
            }
        }
        f(&planes)
    }
}

/// `activation(image * scale + shift)` of images joined along their channels, which have a scale and a
/// shift each. Every image has whole blocks of channels, but the last one.
///
/// # Errors
/// Where sizes or dtypes do not fit.
pub fn affine_blocked(
    images: &[&Tensor],
    scale: &Tensor,
    shift: &Tensor,
    activation: Activation,
) -> Result<Tensor> {
    let images = Images::new(images)?;
    let (blocks, [n, height, width]) = (images.blocks(), images.sizes);
    let (scale, shift) = (scale.read::<f32>()?, shift.read::<f32>()?);
    if scale.len() != blocks * LANES || shift.len() != blocks * LANES {
        return Err(unfit());
    }
    let sizes = [n, blocks, height, width, LANES].map(|size| size as i64);
    let result = Tensor::for_overwrite(&sizes, DType::Float32)?;
    let mut to = result.write::<f32>()?;
    let (scale, shift) = (scale.as_chunks::<LANES>().0, shift.as_chunks::<LANES>().0);
    let len = to.len();
    images.with_planes(|from| {
        let planes = from.iter().zip(to.chunks_exact_mut(images.plane())).enumerate();
        each(len, planes, |(index, (from, to))| {
            let numbers = [&scale[index % blocks], &shift[index % blocks]].map(for_group);
            affine(from, &numbers, to, activation);
        });
        Ok(())
    })?;
    drop(to);
    Ok(result)
}

fn affine(from: &[f32], numbers: &[Group; 2], to: &mut [f32], activation: Activation) {
    /// `clamp(x + 3, 0, 6) / 6`
    #[inline(always)]
    fn gate(x: f32) -> f32 {
        let moved = x + 3.0;
        let low = if moved < 0.0 { 0.0 } else { moved };
        (if low > 6.0 { 6.0 } else { low }) * (1.0 / 6.0)
    }
    match activation {
        Activation::None => pixels(from, numbers, to, |x| x),
        Activation::Relu => pixels(from, numbers, to, |x| if x < 0.0 { 0.0 } else { x }),
        Activation::Clamp(low, high) => pixels(from, numbers, to, |x| {
            let x = if x < low { low } else { x };
            if x > high { high } else { x }
        }),
        Activation::Hardsigmoid => pixels(from, numbers, to, gate),
        Activation::Hardswish => pixels(from, numbers, to, |x| x * gate(x)),
        Activation::Silu | Activation::Gelu | Activation::GeluTanh => {
            let parts = from.chunks(NEAR_PIXELS * LANES).zip(to.chunks_mut(NEAR_PIXELS * LANES));
            for (from, to) in parts {
                pixels(from, numbers, to, |x| x);
                activation.apply_to_stored(to);
            }
        }
    }
}

/// Comparisons in `function` are to let NaN through.
fn pixels(
    from: &[f32],
    [scale, shift]: &[Group; 2],
    to: &mut [f32],
    function: impl Fn(f32) -> f32,
) {
    dispatch(
        #[inline(always)]
        || {
            each_group(
                from,
                to,
                #[inline(always)]
                |from, to| {
                    for lane in 0..to.len() {
                        to[lane] = function(from[lane] * scale[lane] + shift[lane]);
                    }
                },
            );
        },
    );
}

/// A blocked image, each channel times its number: the gate is a blocked image of one pixel, or one for a whole batch.
///
/// # Errors
/// Where sizes do not fit.
pub fn gate_blocked(image: &Tensor, gate: &Tensor) -> Result<Tensor> {
    let [n, blocks, height, width] = blocked_sizes(image)?;
    let of_gate = blocked_sizes(gate)?;
    let fits = of_gate == [n, blocks, 1, 1] || of_gate == [1, blocks, 1, 1];
    if !fits || height * width == 0 {
        return Err(unfit());
    }
    let result = Tensor::for_overwrite(image.sizes(), DType::Float32)?;
    let (image, gate) = (image.contiguous()?, gate.contiguous()?);
    let (from, gate) = (image.read::<f32>()?, gate.read::<f32>()?);
    let mut to = result.write::<f32>()?;
    let plane = height * width * LANES;
    let planes = from.chunks_exact(plane).zip(gate.as_chunks::<LANES>().0.iter().cycle());
    each(from.len(), planes.zip(to.chunks_exact_mut(plane)), |((from, gate), to)| {
        let gate = for_group(gate);
        dispatch(
            #[inline(always)]
            || {
                each_group(
                    from,
                    to,
                    #[inline(always)]
                    |from, to| {
                        for lane in 0..to.len() {
                            to[lane] = from[lane] * gate[lane];
                        }
                    },
                );
            },
        );
    });
    drop(to);
    Ok(result)
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;
    use crate::nn::conv::blocked::{from_blocked, to_blocked};

    /// Some numbers from -6 on.
    pub(in super::super) fn numbers(sizes: &[i64]) -> Tensor {
        let count = sizes.iter().product::<i64>() as usize;
        let values: Vec<f32> = (0..count).map(|i| (i * 37 % 101) as f32 / 8.0 - 6.0).collect();
        Tensor::from_slice(&values, sizes).unwrap()
    }

    fn lanes_of(numbers: &[f32], lanes: usize) -> Tensor {
        let mut all = numbers.to_vec();
        all.resize(lanes, 0.0);
        Tensor::from_slice(&all, &[lanes as i64]).unwrap()
    }

    #[test]
    fn channels_are_scaled_and_shifted_across_joined_images() {
        let (a, b) = (numbers(&[2, 32, 5, 7]), numbers(&[2, 20, 5, 7]));
        a.select(0, 1).unwrap().select(1, 2).unwrap().fill(f64::NAN.into()).unwrap();
        let scale: Vec<f32> = (0..52).map(|channel| channel as f32 / 16.0 - 1.0).collect();
        let shift: Vec<f32> = (0..52).map(|channel| 1.0 - channel as f32 / 32.0).collect();
        let whole = crate::cat(&[a.clone(), b.clone()], 1).unwrap().to_vec::<f32>().unwrap();
        let [a, b] = [&a, &b].map(|image| to_blocked(image).unwrap());
        let [scales, shifts] = [&scale, &shift].map(|numbers| lanes_of(numbers, 64));
        type Function = fn(f32) -> f32;
        let cases: [(Activation, Function); 4] = [
            (Activation::None, |x| x),
            (Activation::Relu, |x| if x < 0.0 { 0.0 } else { x }),
            (Activation::Clamp(-1.0, 2.0), |x| if x.is_nan() { x } else { x.clamp(-1.0, 2.0) }),
            (Activation::Hardswish, |x| {
                if x.is_nan() { x } else { x * ((x + 3.0).clamp(0.0, 6.0) * (1.0 / 6.0)) }
            }),
        ];
        for (activation, function) in cases {
            let found = affine_blocked(&[&a, &b], &scales, &shifts, activation).unwrap();
            let found = from_blocked(&found, 52).unwrap().to_vec::<f32>().unwrap();
            for (index, (found, x)) in found.iter().zip(&whole).enumerate() {
                let channel = index / 35 % 52;
                let expected = function(x * scale[channel] + shift[channel]);
                let same = *found == expected || (found.is_nan() && expected.is_nan());
                assert!(same, "{activation:?} at {index}: {found} {expected}");
            }
        }
        assert!(affine_blocked(&[&a], &scales, &shifts, Activation::None).is_err());
        assert!(affine_blocked(&[], &scales, &shifts, Activation::None).is_err());
    }

    #[test]
    fn gates_multiply_their_channels() {
        let (image, gate) = (numbers(&[2, 20, 3, 5]), numbers(&[2, 20, 1, 1]));
        let expected = crate::binary(crate::BinaryOp::Mul, (&image).into(), (&gate).into());
        let [image, gate] = [&image, &gate].map(|image| to_blocked(image).unwrap());
        let found = from_blocked(&gate_blocked(&image, &gate).unwrap(), 20).unwrap();
        assert_eq!(found.to_vec::<f32>().unwrap(), expected.unwrap().to_vec::<f32>().unwrap());
        assert!(gate_blocked(&gate, &image).is_err());
        let gate = gate.narrow(0, 1, 1).unwrap();
        let found = gate_blocked(&image.narrow(0, 0, 1).unwrap(), &gate).unwrap();
        let of_batch = gate_blocked(&image, &gate).unwrap().narrow(0, 0, 1).unwrap();
        assert_eq!(found.to_vec::<f32>().unwrap(), of_batch.to_vec::<f32>().unwrap());
    }
}

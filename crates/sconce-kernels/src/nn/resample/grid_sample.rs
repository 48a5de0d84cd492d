//! Sampling of images and volumes at positions given by a grid.

use half::{bf16, f16};
use num_traits::Float;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::promotion::compute_dtype;

use crate::nn::resample::upsample::cubic_weights;
use crate::{DType, Dims, Error, PodElement, Result, Tensor};

/// How elements between positions of the input are found: `mode` of `torch.nn.functional.grid_sample`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridMode {
    /// Neighbours blended.
    Linear,
    /// The nearest element.
    Nearest,
    /// Sixteen neighbours in an image, 64 in a volume.
    Cubic,
}

/// What lies outside the input: `padding_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridPadding {
    /// Zeros.
    Zeros,
    /// The border repeated.
    Border,
    /// The input mirrored.
    Reflection,
}

impl GridMode {
    /// The mode of a number in a program.
    pub fn from_number(number: i64) -> Option<GridMode> {
        let modes = [GridMode::Linear, GridMode::Nearest, GridMode::Cubic];
        modes.get(usize::try_from(number).ok()?).copied()
    }
}

impl GridPadding {
    /// The mode of a number in a program.
    pub fn from_number(number: i64) -> Option<GridPadding> {
        let modes = [GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection];
        modes.get(usize::try_from(number).ok()?).copied()
    }
}

/// Floating types that positions are computed in.
trait Coordinate: Float + PodElement {
    /// The nearest number of this type.
    fn of_double(x: f64) -> Self;
    /// The nearest whole number, the even one of two.
    fn nearest(self) -> Self;
    /// Without what comes after the point; something below 0 for NaN.
    fn whole(self) -> i64;
    /// Calls `f`, as vector code where numbers of this type are computed by vector instructions.
    fn computing(f: impl FnOnce());
}

macro_rules! coordinates {
    ($($ty:ident, $wide:ident, $cast:expr, $widen:expr, $compute:expr;)*) => {$(
        impl Coordinate for $ty {
            #[inline(always)]
            fn of_double(x: f64) -> $ty {
                let cast: fn(f64) -> $ty = $cast;
                cast(x)
            }
            #[inline(always)]
            fn nearest(self) -> $ty {
                let widen: fn($ty) -> $wide = $widen;
                Self::of_double(widen(self).round_ties_even().into())
            }
            #[inline(always)]
            fn whole(self) -> i64 {
                let widen: fn($ty) -> $wide = $widen;
                let x = widen(self);
                if x.is_nan() { -1 } else { x as i64 }
            }
            #[inline(always)]
            fn computing(f: impl FnOnce()) {
                $compute(f)
            }
        }
    )*};
}

coordinates! {
    f32, f32, |x| x as f32, |x| x, dispatch;
    f64, f64, |x| x, |x| x, dispatch;
    f16, f32, f16::from_f64, f16::to_f32, as_it_is;
    bf16, f32, bf16::from_f64, bf16::to_f32, as_it_is;
}

fn as_it_is(f: impl FnOnce()) {
    f();
}

/// One dimension of the input.
#[derive(Clone, Copy)]
struct Line {
    size: i64,
    padding: GridPadding,
    align_corners: bool,
    /// Whether it is one of three: there NaN is moved to the last index, and to the first otherwise.
    of_volume: bool,
}

/// The index of what is not there.
const NOWHERE: usize = usize::MAX;

impl Line {
    /// From -1…1 to indices.
    #[inline(always)]
    fn unnormalize<F: Coordinate>(self, x: F) -> F {
        // In PyTorch's steps, which half precision rounds one by one.
        match self.align_corners {
            true => (x + F::one()) * F::of_double((self.size - 1) as f64 / 2.0),
            false => (x + F::one()) * F::of_double(self.size as f64 / 2.0) - F::of_double(0.5),
        }
    }

    #[inline(always)]
    fn clip<F: Coordinate>(self, x: F) -> F {
        let last = F::of_double((self.size - 1) as f64);
        if self.of_volume && x.is_nan() { last } else { x.max(F::zero()).min(last) }
    }

    fn reflect<F: Coordinate>(self, x: F) -> F {
        let (low, high) = match self.align_corners {
            true => (0, 2 * (self.size - 1)),
            false => (-1, 2 * self.size - 1),
        };
        if low == high {
            return F::zero();
        }
        let (low, span) = (F::of_double(low as f64 / 2.0), F::of_double((high - low) as f64 / 2.0));
        let x = (x - low).abs();
        let (extra, flips) = (x % span, (x / span).floor());
        let even = flips % F::of_double(2.0) == F::zero();
        if even { extra + low } else { span - extra + low }
    }

    /// A position moved into the input as the padding has it.
    #[inline(always)]
    fn pad<F: Coordinate>(self, x: F) -> F {
        match self.padding {
            GridPadding::Zeros => x,
            GridPadding::Border => self.clip(x),
            GridPadding::Reflection => self.clip(self.reflect(x)),
        }
    }

    /// An index of the input, if there is one at this position. NaN and what no index can be are
    /// nowhere.
    #[inline(always)]
    fn index<F: Coordinate>(self, x: F) -> usize {
        let at = x.whole();
        if (0..self.size).contains(&at) { at as usize } else { NOWHERE }
    }

    /// The indices and weights that a coordinate blends: one where the nearest is picked, two where
    /// neighbours are blended linearly, four cubically.
    #[inline(always)]
    fn taps<F: Coordinate, const TAPS: usize>(self, x: F) -> [(usize, F); TAPS] {
        let mut taps = [(NOWHERE, F::zero()); TAPS];
        let position = self.unnormalize(x);
        match TAPS {
            1 => taps[0] = (self.index(self.pad(position).nearest()), F::one()),
            2 => {
                let position = self.pad(position);
                let low = position.floor();
                let (high, rest) = (low + F::one(), position - low);
                taps[0] = (self.index(low), F::one() - rest);
                taps[1] = (self.index(high), rest);
            }
            _ => {
                let low = position.floor();
                let weights = cubic_weights(position - low);
                for (i, (tap, weight)) in taps.iter_mut().zip(weights).enumerate() {
                    let at = low + F::of_double(i as f64 - 1.0);
                    *tap = (self.index(self.pad(at)), weight);
                }
            }
        }
        taps
    }
}

fn check(input: &Tensor, grid: &Tensor) -> Result<()> {
    let n = input.dim();
    let refuse = |message: String| Err(Error::runtime(message));
    if input.dtype() != grid.dtype() {
        return refuse(format!(
            "grid_sampler(): expected input and grid to have same dtype, but input has {} and grid \
             has {}",
            sconce_kernel_core::error::cpp_type_name(input.dtype()),
            sconce_kernel_core::error::cpp_type_name(grid.dtype())
        ));
    }
    if n != 4 && n != 5 || grid.dim() != n {
        return refuse(format!(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but \
             got input with sizes {:?} and grid with sizes {:?}",
            input.sizes(),
            grid.sizes()
        ));
    }
    if input.sizes()[0] != grid.sizes()[0] {
        return refuse(format!(
            "grid_sampler(): expected grid and input to have same batch size, but got input with \
             sizes {:?} and grid with sizes {:?}",
            input.sizes(),
            grid.sizes()
        ));
    }
    if grid.sizes()[n - 1] != n as i64 - 2 {
        return refuse(format!(
            "grid_sampler(): expected grid to have size {} in last dimension, but got grid with \
             sizes {:?}",
            n - 2,
            grid.sizes()
        ));
    }
    if let Some(dim) = (2..n).find(|&dim| input.sizes()[dim] <= 0) {
        return refuse(format!(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has \
             sizes {:?} with dimension {dim} being empty",
            input.sizes()
        ));
    }
    Ok(())
}

/// `torch.nn.functional.grid_sample` of images and volumes.
///
/// # Errors
/// Where input and grid do not fit each other, and for dtypes other than floating ones.
pub fn grid_sample(
    input: &Tensor,
    grid: &Tensor,
    mode: GridMode,
    padding: GridPadding,
    align_corners: bool,
) -> Result<Tensor> {
    check(input, grid)?;
    match input.dtype() {
        DType::Float32 => sample::<f32>(input, grid, mode, padding, align_corners),
        DType::Float64 => sample::<f64>(input, grid, mode, padding, align_corners),
        // Half precision rounds every step.
        DType::Float16 => sample::<f16>(input, grid, mode, padding, align_corners),
        DType::BFloat16 => sample::<bf16>(input, grid, mode, padding, align_corners),
        other => Err(Error::no_kernel("grid_sampler_2d_cpu_kernel_impl", other)),
    }
}

fn sample<F: Coordinate>(
    input: &Tensor,
    grid: &Tensor,
    mode: GridMode,
    padding: GridPadding,
    align_corners: bool,
) -> Result<Tensor> {
    let n = input.dim();
    let sizes: Dims = input.sizes()[..2].iter().chain(&grid.sizes()[1..n - 1]).copied().collect();
    let result = Tensor::zeros(&sizes, F::DTYPE)?;
    if result.numel() == 0 {
        return Ok(result);
    }
    let (input, grid) = (input.contiguous()?, grid.contiguous()?);
    let line = |dim: usize| Line {
        size: input.sizes()[dim],
        padding,
        align_corners,
        of_volume: input.dim() == 5,
    };
    if n == 4 {
        let image = [line(2), line(3)];
        match mode {
            GridMode::Nearest => blend::<F, 2, 1, 1>(&input, &grid, &result, image),
            GridMode::Linear => blend::<F, 2, 2, 4>(&input, &grid, &result, image),
            GridMode::Cubic => blend::<F, 2, 4, 16>(&input, &grid, &result, image),
        }?;
    } else {
        let volume = [line(2), line(3), line(4)];
        match mode {
            GridMode::Nearest => blend::<F, 3, 1, 1>(&input, &grid, &result, volume),
            GridMode::Linear => blend::<F, 3, 2, 8>(&input, &grid, &result, volume),
            GridMode::Cubic => blend::<F, 3, 4, 64>(&input, &grid, &result, volume),
        }?;
    }
    Ok(result)
}

/// Places that are looked up together, in one channel after the other.
const BLOCK: usize = 64;

/// Elements of a result from which on other threads pay.
const PARALLEL: usize = 1 << 14;

/// Blends `TAPS` elements along each of `RANK` dimensions, `ALL` of them together, for every position.
fn blend<F: Coordinate, const RANK: usize, const TAPS: usize, const ALL: usize>(
    input: &Tensor,
    grid: &Tensor,
    result: &Tensor,
    lines: [Line; RANK],
) -> Result<()> {
    let (batches, channels) = (input.sizes()[0] as usize, input.sizes()[1] as usize);
    let plane = sconce_kernel_core::layout::shape::product(&input.sizes()[2..]) as usize;
    let points = sconce_kernel_core::layout::shape::product(&result.sizes()[2..]) as usize;
    let (from, positions) = (input.read::<F>()?, grid.read::<F>()?);
    let (from, positions): (&[F], &[F]) = (&from, &positions);
    let mut to = result.write::<F>()?;
    // Threads divide batches, and where there are too few the channels of each.
    let parts =
        if to.len() < PARALLEL { 1 } else { (2 * partition::num_threads()).div_ceil(batches) };
    let parts = if partition::num_threads() == 1 { 1 } else { parts.min(channels) };
    let together = channels.div_ceil(parts);
    let tasks = to.chunks_exact_mut(channels * points).enumerate();
    let tasks = tasks.flat_map(|(batch, to)| {
        let positions = &positions[batch * points * RANK..][..points * RANK];
        to.chunks_mut(together * points).enumerate().map(move |(part, to)| {
            (positions, &from[(batch * channels + part * together) * plane..], to)
        })
    });
    type Task<'a, F> = (&'a [F], &'a [F], &'a mut [F]);
    let run: &(dyn Fn(Task<'_, F>) + Sync) = &|(positions, from, to)| {
        F::computing(
            #[inline(always)]
            || {
                let mut blended = [[(NOWHERE, F::zero()); ALL]; BLOCK];
                for (block, positions) in positions.chunks(BLOCK * RANK).enumerate() {
                    let (positions, _) = positions.as_chunks::<RANK>();
                    for (position, blended) in positions.iter().zip(&mut blended) {
                        blend_place::<F, RANK, TAPS, ALL>(&lines, position, blended);
                    }
                    let planes = to.chunks_exact_mut(points).zip(from.chunks_exact(plane));
                    for (to, from) in planes {
                        let to = &mut to[block * BLOCK..][..positions.len()];
                        for (to, blended) in to.iter_mut().zip(&blended) {
                            let mut sum = F::zero();
                            for &(at, weight) in blended {
                                // What is nowhere weighs nothing.
                                sum = sum + from.get(at).copied().unwrap_or(F::zero()) * weight;
                            }
                            *to = sum;
                        }
                    }
                }
            },
        );
    };
    match parts * batches {
        1 => tasks.for_each(run),
        _ => partition::for_each(tasks, run),
    }
    Ok(())
}

/// The elements of a plane that a position of the grid blends, and their weights. The grid names the last
/// dimension first.
#[inline(always)]
fn blend_place<F: Coordinate, const RANK: usize, const TAPS: usize, const ALL: usize>(
    lines: &[Line; RANK],
    position: &[F; RANK],
    blended: &mut [(usize, F); ALL],
) {
    let mut unknown = false;
    let mut count = 1;
    blended[0] = (0, F::one());
    for (dim, line) in lines.iter().enumerate() {
        let taps = line.taps::<F, TAPS>(position[RANK - 1 - dim]);
        unknown |= taps.iter().any(|tap| tap.1.is_nan());
        // From behind, since the list grows in place.
        for before in (0..count).rev() {
            let (start, outer) = blended[before];
            for (i, &(at, weight)) in taps.iter().enumerate() {
                let there = start != NOWHERE && at != NOWHERE;
                blended[before * TAPS + i] = match there {
                    true => (start * line.size as usize + at, outer * weight),
                    false => (NOWHERE, F::zero()),
                };
            }
        }
        count *= TAPS;
    }
    // Where no weights can be told, because a position is not a number or infinite, images have no number
    // either. In volumes what is nowhere is zero.
    if unknown && RANK == 2 {
        blended[0] = (0, F::nan());
    }
}

/// `torch.nn.functional.affine_grid` (`aten::affine_grid_generator`).
///
/// # Errors
/// For sizes of other ranks and matrices that do not fit them.
pub fn affine_grid(theta: &Tensor, size: &[i64], align_corners: bool) -> Result<Tensor> {
    if size.len() != 4 && size.len() != 5 {
        let message = "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.";
        return Err(Error::runtime(message));
    }
    let rank = size.len() as i64 - 2;
    if theta.sizes() != [size[0], rank, rank + 1] {
        return Err(Error::runtime(format!(
            "Expected a batch of {rank}D affine matrices of shape Nx{rank}x{} for size {size:?}. Got \
             {:?}.",
            rank + 1,
            theta.sizes()
        )));
    }
    let spatial = &size[2..];
    let dtype = theta.dtype();
    let mut sizes = spatial.to_vec();
    sizes.push(rank + 1);
    let base = Tensor::full(&sizes, 1.into(), dtype)?;
    for (dim, &count) in spatial.iter().enumerate() {
        if count <= 1 && dtype != compute_dtype(dtype) {
            return Err(Error::no_kernel("tensor_cpu", dtype));
        }
        let mut line = crate::linspace((-1.0).into(), 1.0.into(), count, dtype)?;
        match align_corners {
            _ if count <= 1 => line.fill(0.into())?,
            true => {}
            false => {
                let shrink = (count - 1) as f64 / count as f64;
                line = crate::binary(crate::BinaryOp::Mul, (&line).into(), shrink.into())?;
            }
        }
        let mut along = vec![1; spatial.len()];
        along[dim] = count;
        base.select(rank, rank - 1 - dim as i64)?.copy_from(&line.view(&along)?)?;
    }
    let points = sconce_kernel_core::layout::shape::product(spatial);
    let base = base.view(&[1, points, rank + 1])?.expand(&[size[0], points, rank + 1])?;
    let grid = crate::bmm(&base, &theta.transpose(1, 2)?)?;
    let mut sizes = vec![size[0]];
    sizes.extend_from_slice(spatial);
    sizes.push(rank);
    grid.view(&sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_no_number_is_no_number_in_images() {
        let image = Tensor::full(&[1, 1, 2, 2], 1.into(), DType::Float32).unwrap();
        let grid = Tensor::from_slice(&[f32::NAN, 0.0], &[1, 1, 1, 2]).unwrap();
        let at = |mode, padding| {
            let found = grid_sample(&image, &grid, mode, padding, false).unwrap();
            found.to_vec::<f32>().unwrap()[0]
        };
        assert!(at(GridMode::Linear, GridPadding::Zeros).is_nan());
        assert!(at(GridMode::Cubic, GridPadding::Border).is_nan());
        assert_eq!(at(GridMode::Nearest, GridPadding::Zeros), 0.0);
        assert_eq!(at(GridMode::Linear, GridPadding::Border), 1.0);
    }

    #[test]
    fn many_places_and_channels_are_sampled_as_one_is() {
        let numbers = |count: usize, step: usize| -> Vec<f32> {
            (0..count).map(|i| (i * step % 257) as f32 / 100.0 - 1.28).collect()
        };
        for sizes in [&[2i64, 5, 7, 6][..], &[2, 3, 4, 5, 6]] {
            let rank = sizes.len() - 2;
            let count: i64 = sizes.iter().product();
            let input = Tensor::from_slice(&numbers(count as usize, 91), sizes).unwrap();
            let mut of_grid = vec![2i64, 1, 150];
            of_grid.splice(1..1, vec![1; rank - 2]);
            of_grid.push(rank as i64);
            let grid = Tensor::from_slice(&numbers(300 * rank, 67), &of_grid).unwrap();
            for mode in [GridMode::Linear, GridMode::Nearest, GridMode::Cubic] {
                if mode == GridMode::Cubic && rank == 3 {
                    continue;
                }
                for padding in [GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection] {
                    let all = grid_sample(&input, &grid, mode, padding, false).unwrap();
                    let along = all.dim() as i64 - 1;
                    for (batch, position, channel) in
                        [(0, 0, 0), (0, 63, 1), (1, 64, 2), (1, 149, 0)]
                    {
                        let input = input.narrow(0, batch, 1).unwrap();
                        let input = input.narrow(1, channel, 1).unwrap();
                        let grid = grid.narrow(0, batch, 1).unwrap();
                        let grid = grid.narrow(along - 1, position, 1).unwrap();
                        let one = grid_sample(&input, &grid, mode, padding, false).unwrap();
                        let all = all.select(0, batch).unwrap().select(0, channel).unwrap();
                        let all = all.narrow(along - 2, position, 1).unwrap();
                        assert_eq!(one.to_vec::<f32>().unwrap(), all.to_vec::<f32>().unwrap());
                    }
                }
            }
        }
    }

    #[test]
    fn half_precision_rounds_every_step() {
        // F.grid_sample(torch.arange(4.).view(1, 1, 2, 2).to(DTYPE), GRID.to(DTYPE))
        let cases = [(DType::Float16, [2.2188, 1.5342]), (DType::BFloat16, [2.2188, 1.5469])];
        let (mode, padding) = (GridMode::Linear, GridPadding::Zeros);
        for (dtype, expected) in cases {
            let of = |numbers: &[f64], sizes: &[i64]| {
                Tensor::from_slice(numbers, sizes).unwrap().to_dtype(dtype).unwrap()
            };
            let image = of(&[0.0, 1.0, 2.0, 3.0], &[1, 1, 2, 2]);
            let grid = of(&[0.3, 0.21, -0.4, 0.77], &[1, 1, 2, 2]);
            let found = grid_sample(&image, &grid, mode, padding, false).unwrap();
            let wide = |tensor: &Tensor| tensor.to_dtype(DType::Float64).unwrap().to_vec::<f64>();
            assert_eq!(wide(&found), wide(&of(&expected, &[2])), "{dtype}");
        }
    }

    #[test]
    fn the_identity_samples_the_image_itself() {
        let image = Tensor::from_slice(&[1f32, 2., 3., 4., 5., 6.], &[1, 1, 2, 3]).unwrap();
        let theta = Tensor::from_slice(&[1f32, 0., 0., 0., 1., 0.], &[1, 2, 3]).unwrap();
        for align in [false, true] {
            let grid = affine_grid(&theta, &[1, 1, 2, 3], align).unwrap();
            for padding in [GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection] {
                for mode in [GridMode::Linear, GridMode::Nearest, GridMode::Cubic] {
                    let found = grid_sample(&image, &grid, mode, padding, align).unwrap();
                    for (a, b) in found.to_vec::<f32>().unwrap().iter().zip(1..) {
                        assert!((a - b as f32).abs() < 1e-5, "{mode:?} {padding:?} {align}: {a}");
                    }
                }
            }
        }
    }
}

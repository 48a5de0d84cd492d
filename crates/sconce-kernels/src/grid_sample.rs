//! Sampling of images and volumes at places that a grid gives.

use half::{bf16, f16};
use num_traits::Float;

use crate::binary::compute_dtype;
use crate::upsample::cubic_weights;
use crate::{DType, Dims, Element, Error, Result, Tensor};

/// How elements between places of the input are found: `mode` of `torch.nn.functional.grid_sample`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridMode {
    /// Neighbours blended.
    Linear,
    /// The nearest element.
    Nearest,
    /// Sixteen neighbours, images only.
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

fn cast<F: Float>(x: f64) -> F {
    F::from(x).unwrap_or_else(F::nan)
}

/// One dimension of the input.
#[derive(Clone, Copy)]
struct Line {
    size: i64,
    padding: GridPadding,
    align_corners: bool,
}

impl Line {
    /// From -1…1 to indices.
    fn unnormalize<F: Float>(self, x: F) -> F {
        // In PyTorch's steps, which half precision rounds one by one.
        match self.align_corners {
            true => (x + F::one()) * cast((self.size - 1) as f64 / 2.0),
            false => (x + F::one()) * cast(self.size as f64 / 2.0) - cast(0.5),
        }
    }

    fn clip<F: Float>(self, x: F) -> F {
        // NaN becomes 0.
        x.max(F::zero()).min(cast((self.size - 1) as f64))
    }

    fn reflect<F: Float>(self, x: F) -> F {
        let (low, high) = match self.align_corners {
            true => (0, 2 * (self.size - 1)),
            false => (-1, 2 * self.size - 1),
        };
        if low == high {
            return F::zero();
        }
        let (low, span) = (cast::<F>(low as f64 / 2.0), cast::<F>((high - low) as f64 / 2.0));
        let x = (x - low).abs();
        let (extra, flips) = (x % span, (x / span).floor());
        let even = flips % cast(2.0) == F::zero();
        if even { extra + low } else { span - extra + low }
    }

    /// A place moved into the input as the padding has it.
    fn pad<F: Float>(self, x: F) -> F {
        match self.padding {
            GridPadding::Zeros => x,
            GridPadding::Border => self.clip(x),
            GridPadding::Reflection => self.clip(self.reflect(x)),
        }
    }

    /// An index of the input, if there is one at this place. NaN and what no index can be are
    /// nowhere.
    fn index<F: Float>(self, x: F) -> Option<usize> {
        let at = x.to_i64()?;
        (0..self.size).contains(&at).then_some(at as usize)
    }

    /// The places and weights that a coordinate blends.
    fn taps<F: Float>(self, mode: GridMode, x: F) -> [(Option<usize>, F); 4] {
        let none = (None, F::zero());
        let place = self.unnormalize(x);
        match mode {
            GridMode::Nearest => {
                let place = round_ties_even(self.pad(place));
                [(self.index(place), F::one()), none, none, none]
            }
            GridMode::Linear => {
                let place = self.pad(place);
                let low = place.floor();
                let (high, rest) = (low + F::one(), place - low);
                let high = (self.index(high), rest);
                [(self.index(low), F::one() - rest), high, none, none]
            }
            GridMode::Cubic => {
                let low = place.floor();
                let weights = cubic_weights(place - low);
                let tap = |i: usize| {
                    let at = low + cast(i as f64 - 1.0);
                    (self.index(self.pad(at)), weights[i])
                };
                [tap(0), tap(1), tap(2), tap(3)]
            }
        }
    }
}

fn round_ties_even<F: Float>(x: F) -> F {
    let (low, half) = (x.floor(), cast::<F>(0.5));
    let rest = x - low;
    let up = rest > half || rest == half && low % cast(2.0) != F::zero();
    if up { low + F::one() } else { low }
}

fn check(input: &Tensor, grid: &Tensor, mode: GridMode) -> Result<()> {
    let n = input.dim();
    let refuse = |message: String| Err(Error::runtime(message));
    if input.dtype() != grid.dtype() {
        return refuse(format!(
            "grid_sampler(): expected input and grid to have same dtype, but input has {} and grid \
             has {}",
            crate::error::cpp_type_name(input.dtype()),
            crate::error::cpp_type_name(grid.dtype())
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
    if mode == GridMode::Cubic && n == 5 {
        return refuse("grid_sampler(): bicubic interpolation only supports 4D input".to_owned());
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
    check(input, grid, mode)?;
    match input.dtype() {
        DType::Float32 => sample::<f32>(input, grid, mode, padding, align_corners),
        DType::Float64 => sample::<f64>(input, grid, mode, padding, align_corners),
        // Half precision rounds every step.
        DType::Float16 => sample::<f16>(input, grid, mode, padding, align_corners),
        DType::BFloat16 => sample::<bf16>(input, grid, mode, padding, align_corners),
        other => Err(Error::no_kernel("grid_sampler_2d_cpu_kernel_impl", other)),
    }
}

fn sample<F: Float + Element>(
    input: &Tensor,
    grid: &Tensor,
    mode: GridMode,
    padding: GridPadding,
    align_corners: bool,
) -> Result<Tensor> {
    let n = input.dim();
    let channels = input.sizes()[1] as usize;
    let spatial = &input.sizes()[2..];
    let sizes: Dims = input.sizes()[..2].iter().chain(&grid.sizes()[1..n - 1]).copied().collect();
    let result = Tensor::zeros(&sizes, F::DTYPE)?;
    if result.numel() == 0 {
        return Ok(result);
    }
    let (input, grid) = (input.contiguous()?, grid.contiguous()?);
    let lines: Vec<Line> =
        spatial.iter().map(|&size| Line { size, padding, align_corners }).collect();
    let plane = crate::shape::product(spatial) as usize;
    let points = crate::shape::product(&sizes[2..]) as usize;
    let (from, places) = (input.read::<F>()?, grid.read::<F>()?);
    let mut to = result.write::<F>()?;
    let batches = to.chunks_exact_mut(channels * points).zip(from.chunks_exact(channels * plane));
    for ((to, from), places) in batches.zip(places.chunks_exact(points * lines.len())) {
        for (point, place) in places.chunks_exact(lines.len()).enumerate() {
            if poisoned(&lines, mode, place) {
                (0..channels).for_each(|channel| to[channel * points + point] = F::nan());
                continue;
            }
            for (at, weight) in blend(&lines, mode, place) {
                for channel in 0..channels {
                    let to = &mut to[channel * points + point];
                    *to = *to + from[channel * plane + at] * weight;
                }
            }
        }
    }
    drop(to);
    Ok(result)
}

/// Whether a place is not a number or infinite, so that no weights of neighbours can be told. In
/// volumes what is nowhere is zero.
fn poisoned<F: Float>(lines: &[Line], mode: GridMode, place: &[F]) -> bool {
    let unknown = |(line, &x): (&Line, &F)| line.taps(mode, x).iter().any(|tap| tap.1.is_nan());
    lines.len() == 2 && lines.iter().zip(place.iter().rev()).any(unknown)
}

/// The elements of a plane that a place of the grid blends. The grid names the last dimension first.
fn blend<F: Float>(lines: &[Line], mode: GridMode, place: &[F]) -> Vec<(usize, F)> {
    let mut blended = vec![(0, F::one())];
    for (line, &x) in lines.iter().zip(place.iter().rev()) {
        let taps = line.taps(mode, x);
        let taps = taps.iter().filter_map(|&(at, weight)| Some((at?, weight)));
        let both = |(before, outer): (usize, F)| {
            taps.clone().map(move |(at, weight)| (before * line.size as usize + at, outer * weight))
        };
        blended = blended.into_iter().flat_map(both).collect();
    }
    blended
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
    let wide = theta.to_dtype(compute_dtype(theta.dtype()))?;
    let mut sizes = spatial.to_vec();
    sizes.push(rank + 1);
    let base = Tensor::full(&sizes, 1.into(), wide.dtype())?;
    for (dim, &count) in spatial.iter().enumerate() {
        let mut line = crate::linspace(-1.0, 1.0, count, wide.dtype())?;
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
    let points = crate::shape::product(spatial);
    let base = base.view(&[1, points, rank + 1])?.expand(&[size[0], points, rank + 1])?;
    let grid = crate::bmm(&base, &wide.transpose(1, 2)?)?;
    let mut sizes = vec![size[0]];
    sizes.extend_from_slice(spatial);
    sizes.push(rank);
    grid.view(&sizes)?.to_dtype(theta.dtype())
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

//! Upsampling over one to three spatial dimensions, one dimension after the other. In every mode, each
//! output is a weighted sum of a few inputs ([`Taps`]).

use std::ops::Range;

use num_traits::Float;
use sconce_kernel_core::layout::shape::product;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::promotion::{compute_dtype, is_half};

use crate::{DType, Dims, Error, MemoryFormat, PodElement, Result, Tensor};

/// The `mode` of `torch.nn.functional.interpolate`, but for `area`, which is adaptive pooling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upsample {
    /// `nearest`
    Nearest,
    /// `nearest-exact`
    NearestExact,
    /// `linear`, `bilinear`, `trilinear`
    Linear,
    /// `bicubic`
    Cubic,
    /// `bilinear` with `antialias`
    LinearAntialias,
    /// `bicubic` with `antialias`
    CubicAntialias,
    /// `lanczos` with `antialias`
    LanczosAntialias,
}

impl Upsample {
    fn picks(self) -> bool {
        matches!(self, Upsample::Nearest | Upsample::NearestExact)
    }

    fn antialiases(self) -> bool {
        use Upsample::{CubicAntialias, LanczosAntialias, LinearAntialias};
        matches!(self, LinearAntialias | CubicAntialias | LanczosAntialias)
    }

    /// How far the filter of an antialiased mode reaches, to both sides together.
    fn filter_size(self) -> f64 {
        match self {
            Upsample::LanczosAntialias => 6.0,
            Upsample::CubicAntialias => 4.0,
            _ => 2.0,
        }
    }
}

/// One dimension: its size, the size of the result, and the scale factor that was given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) size: i64,
    pub(crate) output: i64,
    pub(crate) align_corners: bool,
    pub(crate) factor: Option<f64>,
}

impl Line {
    /// Elements of the input for one of the result.
    fn scale<F: Float>(self) -> F {
        let cast = |n: i64| F::from(n).unwrap_or_else(F::nan);
        match self.factor {
            _ if self.align_corners && self.output > 1 => {
                cast(self.size - 1) / cast(self.output - 1)
            }
            _ if self.align_corners => F::zero(),
            Some(factor) if factor > 0.0 => F::from(1.0 / factor).unwrap_or_else(F::nan),
            _ => cast(self.size) / cast(self.output),
        }
    }

    /// Where an element of the result lies in the input.
    fn source<F: Float>(self, at: i64) -> F {
        let half = F::from(0.5).unwrap_or_else(F::zero);
        let at = F::from(at).unwrap_or_else(F::zero);
        match self.align_corners {
            true => self.scale::<F>() * at,
            false => self.scale::<F>() * (at + half) - half,
        }
    }

    /// The largest position that is not after this one, and how far it is to go from there.
    fn split<F: Float>(self, position: F) -> (i64, F) {
        let low = position.floor().to_i64().unwrap_or(0).min(self.size - 1);
        let rest = position - F::from(low).unwrap_or_else(F::zero);
        (low, rest.max(F::zero()).min(F::one()))
    }

    fn nearest<F: Float>(self, at: i64, exact: bool) -> i64 {
        let offset = F::from(if exact { 0.5 } else { 0.0 }).unwrap_or_else(F::zero);
        let position = (F::from(at).unwrap_or_else(F::zero) + offset) * self.scale::<F>();
        position.floor().to_i64().unwrap_or(0).clamp(0, self.size - 1)
    }
}

/// For each position of the result, positions of the input and their weights.
struct Taps<F> {
    ends: Vec<usize>,
    taps: Vec<(usize, F)>,
}

impl<F: Float> Taps<F> {
    fn new(mode: Upsample, line: Line) -> Taps<F> {
        let mut taps = Taps { ends: Vec::with_capacity(line.output as usize), taps: Vec::new() };
        for at in 0..line.output {
            match mode {
                Upsample::Cubic => taps.cubic(line, at),
                Upsample::LinearAntialias
                | Upsample::CubicAntialias
                | Upsample::LanczosAntialias => taps.antialiased(mode, line, at),
                _ => taps.linear(line, at),
            }
            taps.ends.push(taps.taps.len());
        }
        taps
    }

    fn linear(&mut self, line: Line, at: i64) {
        if line.size == line.output {
            self.taps.extend([(at as usize, F::one()), (at as usize, F::zero())]);
            return;
        }
        let (low, rest) = line.split(line.source::<F>(at).max(F::zero()));
        let high = (low + 1).min(line.size - 1);
        self.taps.extend([(low as usize, F::one() - rest), (high as usize, rest)]);
    }

    fn cubic(&mut self, line: Line, at: i64) {
        let (low, rest) = line.split(line.source::<F>(at));
        for (i, weight) in cubic_weights(rest).into_iter().enumerate() {
            let position = low.saturating_add(i as i64 - 1).clamp(0, line.size - 1);
            self.taps.push((position as usize, weight));
        }
    }

    /// A filter as wide as what one element of the result stands for.
    fn antialiased(&mut self, mode: Upsample, line: Line, at: i64) {
        let cast = |x: f64| F::from(x).unwrap_or_else(F::zero);
        let (half, scale) = (cast(0.5), line.scale::<F>());
        let stretch = scale.max(F::one());
        let support = cast(mode.filter_size() * 0.5) * stretch;
        let center = scale * (cast(at as f64) + half);
        let edge = |x: F| x.to_i64().unwrap_or(0).clamp(0, line.size);
        let (first, end) = (edge(center - support + half), edge(center + support + half));
        let weight =
            |position: i64| filter(mode, (cast(position as f64) - center + half) / stretch);
        let weights: Vec<F> = (first..end).map(weight).collect();
        let total = weights.iter().fold(F::zero(), |sum, &weight| sum + weight);
        let weights = weights.into_iter().map(|w| if total == F::zero() { w } else { w / total });
        self.taps.extend((first as usize..).zip(weights));
    }

    /// Blends one dimension of a row-major tensor.
    fn blend(&self, input: &Tensor, dim: usize) -> Result<Tensor>
    where
        F: PodElement,
    {
        if dim + 1 == input.dim() {
            let even = self.neighbours();
            return blocks(&self.ends, input, dim, |from, to| self.blend_line(even, from, to));
        }
        let inner = product(&input.sizes()[dim + 1..]) as usize;
        blocks(&self.ends, input, dim, |from: &[F], to: &mut [F]| {
            dispatch(
                #[inline(always)]
                || self.blend_rows(inner, from, to),
            );
        })
    }

    /// Blends rows of so many elements.
    #[inline(always)]
    fn blend_rows(&self, inner: usize, from: &[F], to: &mut [F]) {
        let row = |tap: &(usize, F)| (&from[tap.0 * inner..][..inner], tap.1);
        let mut start = 0;
        for (to, &end) in to.chunks_exact_mut(inner).zip(&self.ends) {
            match &self.taps[start..end] {
                [] => to.fill(F::zero()),
                // The most usual case in one go.
                [first, second] => {
                    let (first, second) = (row(first), row(second));
                    for ((to, &x), &y) in to.iter_mut().zip(first.0).zip(second.0) {
                        *to = F::zero() + x * first.1 + y * second.1;
                    }
                }
                [first, rest @ ..] => {
                    let first = row(first);
                    for (to, &x) in to.iter_mut().zip(first.0) {
                        *to = F::zero() + x * first.1;
                    }
                    for tap in rest {
                        let (row, weight) = row(tap);
                        for (to, &x) in to.iter_mut().zip(row) {
                            *to = *to + x * weight;
                        }
                    }
                }
            }
            start = end;
        }
    }

    /// How many taps every position has; `None` where they differ.
    fn neighbours(&self) -> Option<usize> {
        let first = *self.ends.first()?;
        let even = self.ends.iter().zip(1..).all(|(&end, positions)| end == positions * first);
        even.then_some(first)
    }

    /// Blends a line, every position of which has this many neighbours.
    fn blend_line(&self, neighbours: Option<usize>, from: &[F], to: &mut [F]) {
        let add = |sum: F, &(at, weight): &(usize, F)| sum + from[at] * weight;
        match neighbours {
            Some(2) => {
                for (to, taps) in to.iter_mut().zip(self.taps.as_chunks::<2>().0) {
                    *to = taps.iter().fold(F::zero(), add);
                }
            }
            Some(4) => {
                for (to, taps) in to.iter_mut().zip(self.taps.as_chunks::<4>().0) {
                    *to = taps.iter().fold(F::zero(), add);
                }
            }
            _ => {
                let mut start = 0;
                for (to, &end) in to.iter_mut().zip(&self.ends) {
                    *to = self.taps[start..end].iter().fold(F::zero(), add);
                    start = end;
                }
            }
        }
    }

    /// Makes a tensor with another size of a dimension, a row of it at a time: `f` gets a block of the
    /// input, which taps make the row, and the row to overwrite.
    fn rows<T: PodElement>(
        &self,
        input: &Tensor,
        dim: usize,
        f: impl Fn(&[T], Range<usize>, &mut [T]) + Sync,
    ) -> Result<Tensor> {
        let inner = product(&input.sizes()[dim + 1..]) as usize;
        let ends = &self.ends;
        blocks(ends, input, dim, |from: &[T], to: &mut [T]| {
            let mut start = 0;
            for (to, &end) in to.chunks_exact_mut(inner).zip(ends) {
                f(from, start..end, to);
                start = end;
            }
        })
    }
}

/// A tensor with as many elements along a dimension as there are ends, a block of it at a time: what
/// stands under one index of the dimensions before. `f` gets such a block of the input and of the
/// result, which it overwrites.
fn blocks<T: PodElement>(
    ends: &[usize],
    input: &Tensor,
    dim: usize,
    f: impl Fn(&[T], &mut [T]) + Sync,
) -> Result<Tensor> {
    let mut sizes = Dims::from_slice(input.sizes());
    let inner = product(&sizes[dim + 1..]) as usize;
    let (size, unit) = (sizes[dim] as usize * inner, ends.len() * inner);
    sizes[dim] = ends.len() as i64;
    let result = Tensor::for_overwrite(&sizes, T::DTYPE)?;
    if result.numel() == 0 {
        return Ok(result);
    }
    let from = input.read::<T>()?;
    let from: &[T] = &from;
    partition::for_each_chunk(&mut result.write::<T>()?, unit, PARALLEL, |start, to| {
        let from = from[start / unit * size..].chunks_exact(size);
        to.chunks_exact_mut(unit).zip(from).for_each(|(to, from)| f(from, to));
    });
    Ok(result)
}

impl Taps<f64> {
    /// Blends one dimension of a row-major tensor of bytes as Pillow does and PyTorch after it: weights
    /// are whole numbers of 16 bits, sums are rounded to a byte.
    fn blend_bytes(&self, input: &Tensor, dim: usize) -> Result<Tensor> {
        /// How many elements of a row are summed side by side.
        const PART: usize = 64;
        let (weights, bits) = self.whole_weights();
        self.rows(input, dim, |from: &[u8], range, to| {
            let inner = to.len();
            for (part, to) in to.chunks_mut(PART).enumerate() {
                let mut sums = [1i32 << (bits - 1); PART];
                let taps = self.taps[range.clone()].iter().zip(&weights[range.clone()]);
                for (&(at, _), &weight) in taps {
                    let row = &from[at * inner + part * PART..][..to.len()];
                    let add = |(sum, &x): (&mut i32, &u8)| {
                        *sum = sum.wrapping_add(i32::from(x).wrapping_mul(weight));
                    };
                    sums.iter_mut().zip(row).for_each(add);
                }
                let round = |(to, sum): (&mut u8, &i32)| *to = (sum >> bits).clamp(0, 255) as u8;
                to.iter_mut().zip(&sums).for_each(round);
            }
        })
    }

    /// The weights times a power of two, the greatest with which they fit into 16 bits, and its exponent.
    fn whole_weights(&self) -> (Vec<i32>, u32) {
        let greatest = self.taps.iter().fold(0.0, |greatest: f64, tap| greatest.max(tap.1));
        let fits = |bits: &u32| 0.5 + greatest * f64::from(2u32 << bits) < f64::from(1 << 15);
        let bits = (0..22).find(|bits| !fits(bits)).unwrap_or(22).max(1);
        let scale = f64::from(1u32 << bits);
        let whole =
            |&(_, weight): &(usize, f64)| (weight * scale + 0.5_f64.copysign(weight)) as i32;
        (self.taps.iter().map(whole).collect(), bits)
    }

    /// Joins the weights of one position, which an edge repeats.
    fn join_repeated(&mut self) {
        let mut joined: Vec<(usize, f64)> = Vec::with_capacity(self.taps.len());
        let mut start = 0;
        for end in &mut self.ends {
            let first = joined.len();
            for &(at, weight) in &self.taps[start..*end] {
                match joined[first..].last_mut().filter(|last| last.0 == at) {
                    Some(last) => last.1 += weight,
                    None => joined.push((at, weight)),
                }
            }
            start = std::mem::replace(end, joined.len());
        }
        self.taps = joined;
    }
}

/// Elements of a result from which on other threads pay.
const PARALLEL: usize = 1 << 16;

/// The weights of the four neighbours of a position this far behind the second one.
pub(crate) fn cubic_weights<F: Float>(rest: F) -> [F; 4] {
    let a = F::from(-0.75).unwrap_or_else(F::zero);
    let one = F::one();
    [
        cubic_outer(rest + one, a),
        cubic_inner(rest, a),
        cubic_inner(one - rest, a),
        cubic_outer(one - rest + one, a),
    ]
}

/// Keys' cubic convolution within one element of its centre.
fn cubic_inner<F: Float>(x: F, a: F) -> F {
    let (two, three) = (F::one() + F::one(), F::one() + F::one() + F::one());
    ((a + two) * x - (a + three)) * x * x + F::one()
}

/// The same between one and two elements.
fn cubic_outer<F: Float>(x: F, a: F) -> F {
    let n = |n: f64| F::from(n).unwrap_or_else(F::zero);
    ((a * x - n(5.0) * a) * x + n(8.0) * a) * x - n(4.0) * a
}

fn filter<F: Float>(mode: Upsample, x: F) -> F {
    let x = x.abs();
    let n = |n: f64| F::from(n).unwrap_or_else(F::zero);
    match mode {
        Upsample::LanczosAntialias if x < n(3.0) => {
            let sinc = |x: F| {
                let angle = x * n(std::f64::consts::PI);
                if x == F::zero() { F::one() } else { angle.sin() / angle }
            };
            sinc(x) * sinc(x / n(3.0))
        }
        Upsample::CubicAntialias if x < n(1.0) => cubic_inner(x, n(-0.5)),
        Upsample::CubicAntialias if x < n(2.0) => cubic_outer(x, n(-0.5)),
        Upsample::LinearAntialias if x < n(1.0) => n(1.0) - x,
        _ => F::zero(),
    }
}

/// `aten::upsample_*` of a batch: the sizes of the result and, where they come from there, the scale
/// factors of its spatial dimensions.
///
/// # Errors
/// For inputs of other ranks, empty ones, and dtypes without kernels.
pub fn upsample(
    input: &Tensor,
    mode: Upsample,
    output: &[i64],
    align_corners: bool,
    factors: &[Option<f64>],
) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return crate::through_integers(input, |whole| {
            upsample(whole, mode, output, align_corners, factors)
        });
    }
    let rank = output.len();
    if input.dim() != rank + 2 {
        return Err(Error::runtime(format!(
            "It is expected input_size equals to {}, but got size {}",
            rank + 2,
            input.dim()
        )));
    }
    let size = &input.sizes()[2..];
    if size.iter().chain(output).any(|&n| n <= 0) {
        // Of rows alone PyTorch says it with this word.
        let and = if rank == 1 { "and " } else { "" };
        return Err(Error::runtime(format!(
            "Input and output sizes should be greater than 0, but got input ({}) {and}output ({})",
            named(size),
            named(output)
        )));
    }
    if input.sizes()[1] == 0 {
        return Err(Error::runtime(format!(
            "Non-empty {}D data tensor expected but got a tensor with sizes {:?}",
            rank + 2,
            input.sizes()
        )));
    }
    let dtype = input.dtype();
    let of_bytes = dtype == DType::UInt8 && (mode.picks() || rank == 2);
    if !(dtype.is_floating_point() || of_bytes) {
        return Err(Error::no_kernel("upsample", dtype));
    }
    if mode.antialiases() && is_half(dtype) {
        return Err(Error::no_kernel("compute_index_ranges_weights", dtype));
    }
    let line = |dim: usize| Line {
        size: size[dim],
        output: output[dim],
        align_corners,
        factor: factors.get(dim).copied().flatten(),
    };
    let lines: Vec<Line> = (0..rank).map(line).collect();
    let result = match (mode.picks(), compute_dtype(dtype)) {
        (true, DType::Float64) => pick::<f64>(input, mode, &lines),
        (true, _) => pick::<f32>(input, mode, &lines),
        (false, _) if dtype == DType::UInt8 => blended_bytes(input, mode, &lines),
        (false, DType::Float32) => blended::<f32>(input, mode, &lines),
        (false, DType::Float64) => blended::<f64>(input, mode, &lines),
        (false, other) => Err(Error::no_kernel("compute_indices_weights_linear", other)),
    }?;
    result.like_format_of(input)
}

fn named(sizes: &[i64]) -> String {
    let names = &["D", "H", "W"][3 - sizes.len().min(3)..];
    let each = names.iter().zip(sizes).map(|(name, size)| format!("{name}: {size}"));
    each.collect::<Vec<_>>().join(", ")
}

/// The nearest elements.
fn pick<F: Float>(input: &Tensor, mode: Upsample, lines: &[Line]) -> Result<Tensor> {
    let exact = mode == Upsample::NearestExact;
    let last = input.suggested_format() != MemoryFormat::Contiguous;
    let mut lists = Vec::with_capacity(lines.len());
    for line in lines {
        // What cannot be allocated fails before a list as long as it is made.
        Tensor::zeros(&[line.output], DType::Int64)?;
        // With channels last PyTorch looks at the sizes before the scale factor.
        let position = |to: i64| match line.output {
            same if last && !exact && same == line.size => to,
            double if last && !exact && Some(double) == line.size.checked_mul(2) => to / 2,
            _ => line.nearest::<F>(to, exact),
        };
        lists.push((0..line.output).map(|to| position(to) as usize).collect());
    }
    crate::indexing::index_lists::pick(input, &lists)
}

/// Which element of a line of `float32` each position of the result repeats.
///
/// # Errors
/// Where memory is short.
pub(crate) fn nearest_positions(line: Line, exact: bool) -> Result<Vec<usize>> {
    // What cannot be allocated fails before a list as long as it is made.
    Tensor::zeros(&[line.output], DType::Int64)?;
    Ok((0..line.output).map(|to| line.nearest::<f32>(to, exact) as usize).collect())
}

/// Elements of an image in blocks blended, `float32` and of five dimensions, the last of which are the channels
/// that lie side by side: the columns first.
pub(crate) fn blend_pixels(image: &Tensor, mode: Upsample, lines: [Line; 2]) -> Result<Tensor> {
    let mut result = image.contiguous()?;
    for (dim, line) in lines.into_iter().enumerate().rev() {
        // What cannot be allocated fails before a list as long as it is made.
        Tensor::zeros(&[line.output], DType::Float64)?;
        result = Taps::<f32>::new(mode, line).blend(&result, dim + 2)?;
    }
    Ok(result)
}

/// PyTorch 2.15 repeats the first row of what is one element wide, which is nobody's wish.
fn check_width(lines: &[Line]) -> Result<()> {
    let narrow = lines.last().is_some_and(|line| line.output == 1);
    let taller = lines.first().is_some_and(|line| line.size != line.output);
    match narrow && taller {
        true => Err(Error::not_implemented("antialiasing to a width of one element")),
        false => Ok(()),
    }
}

/// Elements blended, the last dimension first.
fn blended<F: Float + PodElement>(
    input: &Tensor,
    mode: Upsample,
    lines: &[Line],
) -> Result<Tensor> {
    let mut result = input.to_dtype(F::DTYPE)?.contiguous()?;
    let antialiased = !matches!(mode, Upsample::Linear | Upsample::Cubic);
    if antialiased {
        check_width(lines)?;
    }
    for (dim, &line) in lines.iter().enumerate().rev() {
        if antialiased && line.size == line.output {
            continue;
        }
        // What cannot be allocated fails before a list as long as it is made.
        Tensor::zeros(&[line.output], DType::Float64)?;
        result = Taps::<F>::new(mode, line).blend(&result, dim + 2)?;
    }
    result.to_dtype(input.dtype())
}

/// Bytes blended, the last dimension first.
fn blended_bytes(input: &Tensor, mode: Upsample, lines: &[Line]) -> Result<Tensor> {
    // PyTorch has a kernel of its own for the channels of images.
    if input.sizes()[1] > 4 {
        check_width(lines)?;
    }
    let mut result = input.contiguous()?;
    for (dim, &line) in lines.iter().enumerate().rev() {
        if line.size == line.output {
            continue;
        }
        // What cannot be allocated fails before a list as long as it is made.
        Tensor::zeros(&[line.output], DType::Float64)?;
        let mut taps = Taps::<f64>::new(mode, line);
        taps.join_repeated();
        result = taps.blend_bytes(&result, dim + 2)?;
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results recorded from PyTorch 2.15: `interpolate` of 0, 1, 4, 9.
    #[test]
    fn a_line_is_that_of_torch() {
        let line = Tensor::from_slice(&[0f32, 1.0, 4.0, 9.0], &[1, 1, 4]).unwrap();
        let cases: &[(Upsample, i64, bool, &[f32])] = &[
            (Upsample::Nearest, 6, false, &[0., 0., 1., 4., 4., 9.]),
            (Upsample::NearestExact, 6, false, &[0., 1., 1., 4., 9., 9.]),
            (Upsample::Linear, 3, true, &[0., 2.5, 9.]),
            (Upsample::Linear, 2, false, &[0.5, 6.5]),
        ];
        for &(mode, output, align, expected) in cases {
            let found = upsample(&line, mode, &[output], align, &[None]).unwrap();
            assert_eq!(found.to_vec::<f32>().unwrap(), expected, "{mode:?}");
        }
    }

    /// Results recorded from PyTorch 2.15: `interpolate` of bytes, one channel.
    #[test]
    fn bytes_are_blended_as_those_of_pictures() {
        let line = Tensor::from_slice(&[0u8, 255, 7, 130, 201, 90], &[1, 1, 1, 6]).unwrap();
        let cases: &[(Upsample, &[u8])] = &[
            (Upsample::Linear, &[64, 69, 148, 118]),
            (Upsample::LinearAntialias, &[96, 103, 140, 132]),
            (Upsample::Cubic, &[66, 59, 163, 118]),
            (Upsample::CubicAntialias, &[99, 102, 142, 133]),
            (Upsample::Linear, &[0, 128, 214, 48, 69, 142, 189, 146, 90]),
            (Upsample::Cubic, &[0, 151, 239, 36, 39, 153, 203, 152, 80]),
            (Upsample::CubicAntialias, &[0, 135, 238, 33, 49, 147, 200, 146, 83]),
        ];
        for &(mode, expected) in cases {
            let sizes = [1, expected.len() as i64];
            let found = upsample(&line, mode, &sizes, false, &[None, None]).unwrap();
            assert_eq!(found.to_vec::<u8>().unwrap(), expected, "{mode:?}");
        }
    }
}

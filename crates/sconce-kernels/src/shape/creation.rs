//! New tensors: `arange`, `linspace`, `eye`, triangles.

use num_complex::Complex;
use sconce_kernel_core::simd::dispatch::dispatch;

use crate::indexing::index_runs::{by_width, units};
use crate::{DType, Error, PodElement, Result, Scalar, Tensor};

/// `torch.arange` in the dtype of its bounds unless one is given.
///
/// # Errors
/// For steps of 0 or away from the end.
pub fn arange(start: Scalar, end: Scalar, step: Scalar, dtype: Option<DType>) -> Result<Tensor> {
    let all_whole =
        [start, end, step].iter().all(|s| matches!(s, Scalar::Int(_) | Scalar::Bool(_)));
    let dtype = dtype.unwrap_or(if all_whole { DType::Int64 } else { DType::Float32 });
    if dtype == DType::Bool || dtype.is_complex() {
        return Err(Error::no_kernel("arange_cpu", dtype));
    }
    let (from, to, by) = (start.to_f64(), end.to_f64(), step.to_f64());
    if by == 0.0 {
        return Err(Error::runtime("step must be nonzero"));
    }
    if !by.is_finite() {
        return Err(Error::runtime(format!(
            "step must be finite but got {}",
            sconce_kernel_core::c_format::general(by)
        )));
    }
    if !from.is_finite() || !to.is_finite() {
        return Err(Error::runtime(format!("unsupported range: {from} -> {to}")));
    }
    if (by > 0.0) != (to >= from) && to != from {
        return Err(Error::runtime("upper bound and lower bound inconsistent with step sign"));
    }
    // Other dtypes are counted in double precision, whatever is given.
    if all_whole && dtype == DType::Int64 {
        let (from, to, by) =
            (i128::from(start.to_i64()), i128::from(end.to_i64()), i128::from(step.to_i64()));
        let count = (to - from + by - by.signum()) / by;
        // The low 64 bits of what is computed without bounds.
        let (from, by) = (from as i64, by as i64);
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        return counted(count, |i| from.wrapping_add((i as i64).wrapping_mul(by)));
    }
    let count = ((to - from) / by).ceil() as i64;
    if dtype.is_integral() {
        // Counted with what was given, and computed with what is left of it as integers.
        let (from, by) = (start.to_i64(), step.to_i64());
        return counted(count, |i| from.wrapping_add((i as i64).wrapping_mul(by)))?.to_dtype(dtype);
    }
    let result = Tensor::for_overwrite(&[count], DType::Float64)?;
    by_index(&mut result.write::<f64>()?, |i| from + i * by);
    result.to_dtype(dtype)
}

/// A vector of what `f` says for every index.
fn counted<T: PodElement>(count: i64, f: impl Fn(usize) -> T) -> Result<Tensor> {
    let result = Tensor::for_overwrite(&[count], T::DTYPE)?;
    {
        let mut all = result.write::<T>()?;
        dispatch(
            #[inline(always)]
            || all.iter_mut().enumerate().for_each(|(i, x)| *x = f(i)),
        );
    }
    Ok(result)
}

/// Sets every element to what `f` says for its index.
fn by_index<T>(all: &mut [T], f: impl Fn(f64) -> T) {
    const PIECE: usize = 1 << 10;
    dispatch(
        #[inline(always)]
        || {
            for (piece, all) in all.chunks_mut(PIECE).enumerate() {
                // Vectors have no conversion of longer integers.
                let base = (piece * PIECE) as f64;
                all.iter_mut().enumerate().for_each(|(i, x)| *x = f(base + f64::from(i as i32)));
            }
        },
    );
}

/// An end of a range as a dtype holds it: whole for integers, which wrap around where PyTorch's do.
fn in_dtype(end: Scalar, dtype: DType) -> Result<f64> {
    end.check_fits(dtype)?;
    Ok(match dtype {
        DType::Float16 | DType::BFloat16 => Tensor::scalar(end, dtype)?.item()?.to_f64(),
        _ if dtype.is_integral() => {
            Tensor::scalar(Scalar::Int(end.to_i64()), dtype)?.item()?.to_f64()
        }
        _ => end.to_f64(),
    })
}

/// `torch.linspace`: symmetric, so both ends are exact.
///
/// # Errors
/// For a negative number of steps, and for integers that do not hold `start` and `end`.
pub fn linspace(start: Scalar, end: Scalar, steps: i64, dtype: DType) -> Result<Tensor> {
    if steps < 0 {
        return Err(Error::runtime("number of steps must be non-negative"));
    }
    if steps == 0 {
        return Tensor::zeros(&[0], dtype);
    }
    let (start, end) = (in_dtype(start, dtype)?, in_dtype(end, dtype)?);
    if steps == 1 {
        return Tensor::full(&[1], Scalar::Float(start), dtype);
    }
    if dtype == DType::Bool {
        return Err(Error::no_kernel("linspace_cpu", dtype));
    }
    fn fill<T: PodElement>(
        start: f64,
        end: f64,
        step: f64,
        steps: i64,
        narrow: impl Fn(f64) -> T + Copy,
    ) -> Result<Tensor> {
        let result = Tensor::for_overwrite(&[steps], T::DTYPE)?;
        let mut all = result.write::<T>()?;
        let (low, high) = all.split_at_mut(steps as usize / 2);
        let left = high.len() as f64 - 1.0;
        // PyTorch rounds the product and the sum at once.
        by_index(low, |i| narrow(step.mul_add(i, start)));
        by_index(high, |i| narrow((-step).mul_add(left - i, end)));
        drop(all);
        Ok(result)
    }
    match dtype {
        // The step is rounded, too; its product with a whole number is not, in twice the digits.
        DType::Float32 => {
            let step = (end as f32 - start as f32) / (steps - 1) as f32;
            let (start, end) = (f64::from(start as f32), f64::from(end as f32));
            fill(start, end, f64::from(step), steps, |x| x as f32)
        }
        _ => {
            let step = (end - start) / (steps - 1) as f64;
            fill(start, end, step, steps, |x| x)?.to_dtype(dtype)
        }
    }
}

/// `torch.logspace`: the powers of `base` to the numbers of [`linspace`]. Complex powers of what is not finite are
/// NaN in both parts.
///
/// # Errors
/// As [`linspace`], and for integers that do not hold `start` and `end`.
pub fn logspace(start: Scalar, end: Scalar, steps: i64, base: f64, dtype: DType) -> Result<Tensor> {
    if matches!(dtype, DType::Bool | DType::ComplexHalf) {
        return Err(Error::no_kernel("logspace_cpu", dtype));
    }
    if steps == 0 {
        return Tensor::zeros(&[0], dtype);
    }
    if steps == 1 {
        let start = start.to_f64();
        let power = match dtype.is_complex() && !(base.is_finite() && start.is_finite()) {
            true => Scalar::Complex(Complex::new(f64::NAN, f64::NAN)),
            false => Scalar::Float(base.powf(start)),
        };
        power.check_fits(dtype)?;
        return Tensor::full(&[1], power, dtype);
    }
    let (start, end) = (in_dtype(start, dtype)?, in_dtype(end, dtype)?);
    if dtype.is_complex() && [base, start, end].iter().any(|x| !x.is_finite()) {
        return Tensor::full(&[steps], Scalar::Complex(Complex::new(f64::NAN, f64::NAN)), dtype);
    }
    let powers = linspace(start.into(), end.into(), steps, DType::Float64)?;
    powers.write::<f64>()?.iter_mut().for_each(|x| *x = base.powf(*x));
    powers.to_dtype(dtype)
}

/// `torch.eye`.
///
/// # Errors
/// For negative sizes.
pub fn eye(rows: i64, cols: i64, dtype: DType) -> Result<Tensor> {
    let result = Tensor::zeros(&[rows, cols], dtype)?;
    let diagonal = result.as_strided(&[rows.min(cols)], &[cols.saturating_add(1)], Some(0))?;
    diagonal.fill(Scalar::Int(1))?;
    Ok(result)
}

/// `torch.tril`: zeros above the diagonal.
///
/// # Errors
/// For fewer than two dimensions.
pub fn tril(input: &Tensor, diagonal: i64) -> Result<Tensor> {
    triangle(input, "tril", |row, cols| {
        0..row.saturating_add(diagonal).saturating_add(1).clamp(0, cols)
    })
}

/// `torch.triu`: zeros below the diagonal.
///
/// # Errors
/// For fewer than two dimensions.
pub fn triu(input: &Tensor, diagonal: i64) -> Result<Tensor> {
    triangle(input, "triu", |row, cols| row.saturating_add(diagonal).clamp(0, cols)..cols)
}

/// Zeros but for the columns of each row that `kept` gives for its number and how many there are.
fn triangle(
    input: &Tensor,
    name: &str,
    kept: impl Fn(i64, i64) -> std::ops::Range<i64>,
) -> Result<Tensor> {
    let n = input.dim();
    if n < 2 {
        let message = format!("{name}: input tensor must have at least 2 dimensions");
        return Err(Error::runtime(message));
    }
    fn copy<T: PodElement>(
        input: &Tensor,
        result: &Tensor,
        [rows, cols]: [i64; 2],
        kept: impl Fn(i64, i64) -> std::ops::Range<i64>,
    ) -> Result<()> {
        let from = units::<T>(input)?;
        let mut to = result.storage().write::<T>()?;
        let width = cols.max(1) as usize;
        let pairs = to.chunks_exact_mut(width).zip(from.chunks_exact(width));
        for ((to, from), row) in pairs.zip((0..rows).cycle()) {
            let kept = kept(row, cols);
            let kept = kept.start as usize..kept.end as usize;
            to[..kept.start].fill(T::zeroed());
            to[kept.clone()].copy_from_slice(&from[kept.clone()]);
            to[kept.end..].fill(T::zeroed());
        }
        Ok(())
    }
    let input = input.contiguous()?;
    let result = Tensor::for_overwrite(input.sizes(), input.dtype())?;
    let matrix = [input.sizes()[n - 2], input.sizes()[n - 1]];
    by_width!(input, copy(&input, &result, matrix, kept))?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangles_of_all_diagonals() {
        for sizes in [[2, 3, 4], [1, 4, 3], [2, 3, 0], [2, 0, 3], [1, 1, 1]] {
            let count = sizes.iter().product::<i64>();
            let numbers: Vec<i16> = (1..=count as i16).collect();
            let input = Tensor::from_slice(&numbers, &sizes).unwrap();
            for diagonal in [i64::MIN, -3, -1, 0, 1, 2, i64::MAX] {
                let expected = |keep: fn(i64, i64) -> bool| {
                    let all = numbers.iter().enumerate().map(move |(at, &x)| {
                        let at = at as i64;
                        let (row, col) = (at / sizes[2] % sizes[1], at % sizes[2]);
                        if keep(col - row, diagonal) { x } else { 0 }
                    });
                    all.collect::<Vec<i16>>()
                };
                let lower = tril(&input, diagonal).unwrap().to_vec::<i16>().unwrap();
                assert_eq!(lower, expected(|at, diagonal| at <= diagonal), "{sizes:?} {diagonal}");
                let upper = triu(&input, diagonal).unwrap().to_vec::<i16>().unwrap();
                assert_eq!(upper, expected(|at, diagonal| at >= diagonal), "{sizes:?} {diagonal}");
            }
        }
    }

    #[test]
    fn ranges_wrap_and_lines_are_symmetric() {
        let all = arange(i64::MIN.into(), i64::MAX.into(), (1i64 << 62).into(), None).unwrap();
        let expected = [i64::MIN, -(1 << 62), 0, 1 << 62];
        assert_eq!(all.to_vec::<i64>().unwrap(), expected);
        let halves = arange(0.into(), 2.into(), 0.5.into(), Some(DType::Float64)).unwrap();
        assert_eq!(halves.to_vec::<f64>().unwrap(), [0.0, 0.5, 1.0, 1.5]);
        for (steps, expected) in
            [(0, &[][..]), (1, &[1.0]), (2, &[1.0, 2.0]), (5, &[1.0, 1.25, 1.5, 1.75, 2.0])]
        {
            let line = linspace(1.0.into(), 2.0.into(), steps, DType::Float32).unwrap();
            assert_eq!(line.to_vec::<f32>().unwrap(), expected);
        }
    }
}

//! Making tensors from numbers.

use crate::{DType, Error, Result, Scalar, Tensor};

/// `torch.arange` in the dtype of its bounds unless one is given.
///
/// # Errors
/// For steps of 0 or away from the end.
pub fn arange(start: Scalar, end: Scalar, step: Scalar, dtype: Option<DType>) -> Result<Tensor> {
    let all_whole =
        [start, end, step].iter().all(|s| matches!(s, Scalar::Int(_) | Scalar::Bool(_)));
    let dtype = dtype.unwrap_or(if all_whole { DType::Int64 } else { DType::Float32 });
    let (from, to, by) = (start.to_f64(), end.to_f64(), step.to_f64());
    if by == 0.0 {
        return Err(Error::runtime("step must be nonzero"));
    }
    if !from.is_finite() || !to.is_finite() {
        return Err(Error::runtime(format!("unsupported range: {from} -> {to}")));
    }
    if (by > 0.0) != (to >= from) && to != from {
        return Err(Error::runtime("upper bound and lower bound inconsistent with step sign"));
    }
    if all_whole {
        let (from, to, by) =
            (i128::from(start.to_i64()), i128::from(end.to_i64()), i128::from(step.to_i64()));
        let count = (to - from + by - by.signum()) / by;
        let result = Tensor::zeros(&[i64::try_from(count).unwrap_or(i64::MAX)], DType::Int64)?;
        for (i, x) in result.write::<i64>()?.iter_mut().enumerate() {
            *x = (from + i as i128 * by) as i64;
        }
        return result.to_dtype(dtype);
    }
    let result = Tensor::zeros(&[((to - from) / by).ceil() as i64], DType::Float64)?;
    for (i, x) in result.write::<f64>()?.iter_mut().enumerate() {
        *x = from + i as f64 * by;
    }
    result.to_dtype(dtype)
}

/// `torch.linspace`: symmetric, so both ends are exact.
///
/// # Errors
/// For a negative number of steps.
pub fn linspace(start: f64, end: f64, steps: i64, dtype: DType) -> Result<Tensor> {
    if steps < 0 {
        return Err(Error::runtime("number of steps must be non-negative"));
    }
    let result = Tensor::zeros(&[steps], DType::Float64)?;
    let step = (end - start) / (steps - 1) as f64;
    for (i, x) in result.write::<f64>()?.iter_mut().enumerate() {
        let from_end = (steps - 1) as usize - i;
        let low = steps == 1 || i < steps as usize / 2;
        *x = match low {
            true if i == 0 => start,
            true => start + step * i as f64,
            false => end - step * from_end as f64,
        };
    }
    result.to_dtype(dtype)
}

/// `torch.logspace`: the powers of `base` to the numbers of [`linspace`].
///
/// # Errors
/// As [`linspace`], and for integers that do not hold `start` and `end`.
pub fn logspace(start: f64, end: f64, steps: i64, base: f64, dtype: DType) -> Result<Tensor> {
    if dtype == DType::Bool {
        return Err(Error::no_kernel("logspace_cpu", dtype));
    }
    let end_of = |exponent: f64| match dtype.is_integral() {
        // Integers have whole exponents at both ends.
        true => {
            let whole = Scalar::Int(exponent as i64);
            whole.check_fits(dtype).map(|()| whole.to_f64())
        }
        false => Ok(exponent),
    };
    let (start, end) = (end_of(start)?, end_of(end)?);
    let powers = linspace(start, end, steps, DType::Float64)?;
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
    triangle(input, "tril", |row, col| col - row <= diagonal)
}

/// `torch.triu`: zeros below the diagonal.
///
/// # Errors
/// For fewer than two dimensions.
pub fn triu(input: &Tensor, diagonal: i64) -> Result<Tensor> {
    triangle(input, "triu", |row, col| col - row >= diagonal)
}

fn triangle(input: &Tensor, name: &str, keep: impl Fn(i64, i64) -> bool) -> Result<Tensor> {
    let n = input.dim();
    if n < 2 {
        let message = format!("{name}: input tensor must have at least 2 dimensions");
        return Err(Error::runtime(message));
    }
    let (rows, cols) = (input.sizes()[n - 2], input.sizes()[n - 1]);
    let mask = Tensor::zeros(&[rows, cols], DType::Bool)?;
    for (at, flag) in mask.write::<crate::Bool>()?.iter_mut().enumerate() {
        let at = at as i64;
        *flag = keep(at / cols, at % cols).into();
    }
    let zero = Tensor::zeros(&[], input.dtype())?;
    crate::where_(&mask, input.into(), (&zero).into())
}

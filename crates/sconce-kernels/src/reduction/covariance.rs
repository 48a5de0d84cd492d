//! `cov` and `corrcoef`: covariances and correlations of rows.

use sconce_kernel_core::tensor::promotion::int_to_float;
use sconce_kernel_core::tensor::wide_elements::{Complex128, WideElements};

use crate::{BinaryOp, DType, Error, Result, Tensor, binary};

/// `torch.cov`: covariances of rows, weighted by how often and how much columns count.
///
/// # Errors
/// For more than two dimensions, `bool`, and weights that do not fit.
pub fn cov(
    input: &Tensor,
    correction: i64,
    fweights: Option<&Tensor>,
    aweights: Option<&Tensor>,
) -> Result<Tensor> {
    if input.dim() > 2 {
        return Err(Error::runtime(format!(
            "cov(): expected input to have two or fewer dimensions but got an input with {} \
             dimensions",
            input.dim()
        )));
    }
    expect_numbers(input)?;
    let matrix = if input.dim() < 2 { input.reshape(&[1, -1])? } else { input.clone() };
    let observations = matrix.size(1)?;
    let check = |name: &str, weights: &Tensor, kind: &str, is_kind: bool| {
        if weights.dim() > 1 {
            return Err(Error::runtime(format!(
                "cov(): expected {name} to have one or fewer dimensions but got {name} with {} \
                 dimensions",
                weights.dim()
            )));
        }
        if !is_kind {
            return Err(Error::runtime(format!(
                "cov(): expected {name} to have {kind} dtype but got {name} with {} dtype",
                weights.dtype().scalar_type_name()
            )));
        }
        if weights.numel() != observations {
            return Err(Error::runtime(format!(
                "cov(): expected {name} to have the same numel as there are observations in the \
                 input but got {} != {observations}",
                weights.numel()
            )));
        }
        // What is not a number is refused, too.
        let allowed = binary(BinaryOp::Ge, weights.into(), 0.into())?;
        if !crate::all(&allowed, &[], false)?.item()?.to_bool() {
            return Err(Error::runtime(format!("cov(): {name} cannot be negative")));
        }
        Ok(())
    };
    let multiply = |a: &Tensor, b: &Tensor| binary(BinaryOp::Mul, a.into(), b.into());
    let total = |of: &Tensor| crate::sum(of, &[], false, None);
    if let Some(times) = fweights {
        check("fweights", times, "integral", times.dtype().is_integral())?;
    }
    if let Some(by) = aweights {
        check("aweights", by, "floating point", by.dtype().is_floating_point())?;
    }
    let weights = match (fweights, aweights) {
        (Some(times), Some(by)) => Some(multiply(times, by)?),
        (one, None) | (None, one) => one.cloned(),
    };
    let weigh = |of: &Tensor| weights.as_ref().map_or(Ok(of.clone()), |by| multiply(of, by));
    let weight = match &weights {
        Some(weights) => total(weights)?,
        None => Tensor::scalar(observations.into(), DType::Int64)?,
    };
    if weights.is_some() && !weight.item()?.to_bool() {
        return Err(Error::runtime("cov(): weights sum to zero, can't be normalized"));
    }
    let sums = crate::sum(&weigh(&matrix)?, &[1], true, None)?;
    let means = binary(BinaryOp::Div, (&sums).into(), (&weight).into())?;
    let freedom = match (&weights, aweights) {
        (Some(weights), Some(by)) if correction != 0 => {
            let squares = total(&multiply(weights, by)?)?;
            let corrected = binary(BinaryOp::Mul, (&squares).into(), correction.into())?;
            let lost = binary(BinaryOp::Div, (&corrected).into(), (&weight).into())?;
            binary(BinaryOp::Sub, (&weight).into(), (&lost).into())?
        }
        _ => binary(BinaryOp::Sub, (&weight).into(), correction.into())?,
    };
    let freedom = binary(BinaryOp::Maximum, (&freedom).into(), 0.into())?;
    let centred = binary(BinaryOp::Sub, (&matrix).into(), (&means).into())?;
    let products = crate::mm(&centred, &crate::conj(&weigh(&centred)?.t()?)?)?;
    let result = binary(BinaryOp::Div, (&products).into(), (&freedom).into())?;
    if matrix.size(0)? == 1 { result.view(&[]) } else { Ok(result) }
}

/// The size of a dimension, 1 where there is none.
fn size_or_one(tensor: &Tensor, dim: usize) -> usize {
    tensor.sizes().get(dim).copied().unwrap_or(1) as usize
}

fn expect_numbers(input: &Tensor) -> Result<()> {
    match input.dtype() {
        DType::Bool => Err(Error::runtime("cov(): bool dtype is not supported for input")),
        _ => Ok(()),
    }
}

/// `torch.corrcoef`.
///
/// # Errors
/// As [`cov`].
pub fn corrcoef(input: &Tensor) -> Result<Tensor> {
    if input.dim() > 2 {
        return Err(Error::runtime(format!(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with {} \
             dimensions",
            input.dim()
        )));
    }
    expect_numbers(input)?;
    let dtype = int_to_float(input.dtype());
    let wide = if dtype.is_complex() { DType::Complex128 } else { DType::Float64 };
    let cov = cov(&input.to_dtype(dtype)?.to_dtype(wide)?, 1, None, None)?;
    if cov.dim() == 0 {
        return binary(BinaryOp::Div, (&cov).into(), (&cov).into())?.to_dtype(dtype);
    }
    let n = size_or_one(&cov, 0);
    let deviations: Vec<f64> = match WideElements::of(&cov.diagonal(0, 0, 1)?)? {
        WideElements::Complex(xs) => xs.iter().map(|x| x.re.sqrt()).collect(),
        WideElements::Float(xs) => xs.iter().map(|x| x.sqrt()).collect(),
        WideElements::Int(_) => return Err(Error::no_kernel("corrcoef", dtype)),
    };
    let clip = |x: f64| if x.is_nan() { x } else { x.clamp(-1.0, 1.0) };
    let scale = |at: usize| deviations[at / n] * deviations[at % n];
    match WideElements::of(&cov)? {
        WideElements::Complex(xs) => {
            let scaled = xs.iter().enumerate().map(|(at, x)| x / scale(at));
            WideElements::Complex(scaled.map(|x| Complex128::new(clip(x.re), clip(x.im))).collect())
        }
        WideElements::Float(xs) => {
            WideElements::Float(xs.iter().enumerate().map(|(at, x)| clip(x / scale(at))).collect())
        }
        WideElements::Int(xs) => WideElements::Int(xs),
    }
    .tensor(cov.sizes(), dtype)
}

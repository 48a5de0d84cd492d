//! Sums without NaN, variances, covariance, numerical derivatives and integrals.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN has to fail these comparisons")]

use crate::numbers::{Complex128, Number, Numbers, each_kind, expect_floating};
use crate::promotion::int_to_float;
use crate::reduce::rows;
use crate::shape::wrap_dim;
use crate::unary::map;
use crate::{BinaryOp, Bool, DType, Dims, Error, Operand, Result, Scalar, Tensor, binary};

/// `torch.nansum`: NaN counts as 0.
///
/// # Errors
/// For complex numbers.
pub fn nansum(input: &Tensor, dims: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    if input.dtype().is_complex() || dtype.is_some_and(|dtype| dtype.is_complex()) {
        return Err(Error::runtime("nansum does not support complex inputs"));
    }
    match input.dtype().is_floating_point() {
        true => crate::sum(&without_nan(input)?, dims, keepdim, dtype),
        false => crate::sum(input, dims, keepdim, dtype),
    }
}

fn without_nan(input: &Tensor) -> Result<Tensor> {
    crate::pointwise::map_floating("nansum", input, |x| if x.is_nan() { 0.0 } else { x })
}

/// `torch.nanmean`.
///
/// # Errors
/// For dtypes other than floating ones.
pub fn nanmean(
    input: &Tensor,
    dims: &[i64],
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    expect_floating("nanmean", input.dtype())?;
    let out = dtype.unwrap_or(input.dtype());
    let numbers = crate::logical_not(&crate::isnan(input)?)?;
    let counts = crate::sum(&numbers, dims, keepdim, None)?;
    let sums = nansum(&input.to_dtype(out)?.to_dtype(DType::Float64)?, dims, keepdim, None)?;
    binary(BinaryOp::Div, (&sums).into(), (&counts.to_dtype(DType::Float64)?).into())?.to_dtype(out)
}

/// `torch.var` of real or complex numbers.
///
/// # Errors
/// For integers.
pub fn variance(input: &Tensor, dims: &[i64], correction: f64, keepdim: bool) -> Result<Tensor> {
    let dtype = input.dtype();
    if !dtype.is_complex() {
        return crate::var(input, dims, correction, keepdim);
    }
    let wide = input.to_dtype(DType::Complex128)?;
    let part = |f: fn(Complex128) -> f64| crate::var(&map(&wide, f)?, dims, correction, keepdim);
    let (real, imaginary) = (part(|x| x.re)?, part(|x| x.im)?);
    binary(BinaryOp::Add, (&real).into(), (&imaginary).into())?.to_dtype(dtype.to_real())
}

/// `torch.std` of real or complex numbers.
///
/// # Errors
/// For integers.
pub fn deviation(input: &Tensor, dims: &[i64], correction: f64, keepdim: bool) -> Result<Tensor> {
    let dtype = input.dtype().to_real();
    let wide = if input.dtype().is_complex() { DType::Complex128 } else { DType::Float64 };
    if !input.dtype().is_floating_point() && !input.dtype().is_complex() {
        return crate::var(input, dims, correction, keepdim);
    }
    let variance = variance(&input.to_dtype(wide)?, dims, correction, keepdim)?;
    crate::unary(crate::UnaryOp::Sqrt, &variance)?.to_dtype(dtype)
}

/// `torch.count_nonzero` over some dimensions.
///
/// # Errors
/// Where there is no such dimension.
pub fn count_nonzero_dims(input: &Tensor, dims: &[i64]) -> Result<Tensor> {
    crate::sum(&input.to_dtype(DType::Bool)?, dims, false, None)
}

/// `torch.all`, or `torch.any`, over some dimensions; over none where the list is empty but given.
///
/// # Errors
/// Where there is no such dimension.
pub fn truth_dims(
    any: bool,
    input: &Tensor,
    dims: Option<&[i64]>,
    keepdim: bool,
) -> Result<Tensor> {
    if dims.is_some_and(<[i64]>::is_empty) {
        let dtype = if input.dtype() == DType::UInt8 { DType::UInt8 } else { DType::Bool };
        return input.to_dtype(DType::Bool)?.to_dtype(dtype)?.copy();
    }
    let dims = dims.unwrap_or(&[]);
    if any { crate::any(input, dims, keepdim) } else { crate::all(input, dims, keepdim) }
}

/// `torch.dist`: the norm of a difference.
///
/// # Errors
/// For integers.
pub fn dist(a: &Tensor, b: &Tensor, p: f64) -> Result<Tensor> {
    let difference = binary(BinaryOp::Sub, a.into(), b.into())?;
    let difference = match difference.dtype().is_complex() {
        true => crate::unary(crate::UnaryOp::Abs, &difference)?,
        false => difference,
    };
    crate::norm(&difference, p, &[], false)
}

/// `torch.renorm`: slices whose norm is above a bound scaled down to it.
///
/// # Errors
/// For integers and complex numbers, vectors, and orders that are not positive.
pub fn renorm(input: &Tensor, p: f64, dim: i64, maxnorm: f64) -> Result<Tensor> {
    let dtype = input.dtype();
    if !dtype.is_complex() {
        expect_floating("renorm_cpu", dtype)?;
    }
    if !(p > 0.0) {
        return Err(Error::runtime("renorm: non-positive-norm not supported"));
    }
    if !(maxnorm >= 0.0) {
        let message = format!("renorm: expected maxnorm to be >= 0 but got {maxnorm}");
        return Err(Error::runtime(message));
    }
    if input.dim() < 2 {
        return Err(Error::runtime(format!(
            "renorm: input needs at least 2 dimensions, got {} dimensions",
            input.dim()
        )));
    }
    let dim = wrap_dim(dim, input.dim())?;
    let others: Vec<i64> = (0..input.dim()).filter(|&i| i != dim).map(|i| i as i64).collect();
    let wide = input.to_dtype(crate::numbers::widest(dtype)?)?;
    let norms = crate::norm(&wide, p, &others, true)?;
    let scale = |norm: f64| if norm > maxnorm { maxnorm / (norm + 1e-7) } else { 1.0 };
    let scales = map(&norms, scale)?;
    binary(BinaryOp::Mul, (&wide).into(), (&scales).into())?.to_dtype(dtype)
}

/// `torch.diff`: differences of neighbours, `n` times over.
///
/// # Errors
/// For tensors without dimensions and negative orders.
pub fn diff(
    input: &Tensor,
    n: i64,
    dim: i64,
    prepend: Option<&Tensor>,
    append: Option<&Tensor>,
) -> Result<Tensor> {
    if input.dim() == 0 {
        return Err(Error::runtime("diff expects input to be at least one-dimensional"));
    }
    if n < 0 {
        return Err(Error::runtime(format!("order must be non-negative but got {n}")));
    }
    let dim = wrap_dim(dim, input.dim())? as i64;
    let mut parts: Vec<Tensor> = Vec::new();
    parts.extend(prepend.cloned());
    parts.push(input.clone());
    parts.extend(append.cloned());
    if parts.iter().any(|part| part.dim() != input.dim()) {
        return Err(Error::runtime(
            "diff expects prepend or append to be the same dimension as input",
        ));
    }
    let mut result = if parts.len() > 1 { crate::cat(&parts, dim)? } else { input.clone() };
    let size = result.size(dim)?;
    if n == 0 {
        // What stands before and behind has no part in it.
        return input.copy();
    }
    let op = if result.dtype() == DType::Bool { BinaryOp::LogicalXor } else { BinaryOp::Sub };
    for _ in 0..n.min(size) {
        let left = result.size(dim)?;
        if left == 0 {
            break;
        }
        let (high, low) = (result.narrow(dim, 1, left - 1)?, result.narrow(dim, 0, left - 1)?);
        result = binary(op, (&high).into(), (&low).into())?;
    }
    Ok(result)
}

/// Where the samples of a curve stand: apart by a number, or at these places.
#[derive(Clone, Copy)]
pub enum Spacing<'a> {
    /// Between neighbours.
    Step(Scalar),
    /// Of every sample.
    At(&'a Tensor),
}

/// The areas between neighbouring samples.
fn trapezoids(y: &Tensor, spacing: Spacing<'_>, dim: i64) -> Result<Option<Tensor>> {
    let size = y.size(dim)?;
    if size == 0 {
        return Ok(None);
    }
    let pair = |t: &Tensor, dim| -> Result<(Tensor, Tensor)> {
        let size = t.size(dim)?;
        Ok((t.narrow(dim, 1, size - 1)?, t.narrow(dim, 0, size - 1)?))
    };
    let (high, low) = pair(y, dim)?;
    let sums = binary(BinaryOp::Add, (&high).into(), (&low).into())?;
    let areas = match spacing {
        Spacing::Step(step) => binary(BinaryOp::Mul, (&sums).into(), Operand::Scalar(step))?,
        Spacing::At(x) => {
            if x.dim() > 0 && x.dim() != 1 && x.dim() != y.dim() {
                return Err(Error::not_implemented("aten::trapezoid with places of this shape"));
            }
            let x = if x.dim() == 1 && y.dim() > 1 {
                if x.numel() != size {
                    return Err(Error::runtime(format!(
                        "trapezoid: There must be one `x` value for each sample point along the \
                         given dimension, but got {} and {size}",
                        x.numel()
                    )));
                }
                let mut column = Dims::from_elem(1, y.dim());
                column[wrap_dim(dim, y.dim())?] = size;
                x.reshape(&column)?
            } else {
                x.clone()
            };
            let (right, left) = pair(&x, dim)?;
            let widths = binary(BinaryOp::Sub, (&right).into(), (&left).into())?;
            binary(BinaryOp::Mul, (&sums).into(), (&widths).into())?
        }
    };
    Ok(Some(areas))
}

/// `torch.trapezoid`.
///
/// # Errors
/// For `bool`, and places that do not fit.
pub fn trapezoid(y: &Tensor, spacing: Spacing<'_>, dim: i64) -> Result<Tensor> {
    let size = y.size(dim)?;
    if size == 0 {
        let mut sizes = Dims::from_slice(y.sizes());
        sizes.remove(wrap_dim(dim, y.dim())?);
        return Tensor::zeros(&sizes, y.dtype());
    }
    if y.dtype() == DType::Bool {
        let message = "trapezoid: received a bool input for `y`, but bool is not supported";
        return Err(Error::runtime(message));
    }
    if let Spacing::Step(step) = spacing {
        // The ends count half: infinite ones show that this is how PyTorch adds.
        let ends = [y.select(dim, 0)?, y.select(dim, -1)?];
        let ends = binary(BinaryOp::Add, (&ends[0]).into(), (&ends[1]).into())?;
        let ends = binary(BinaryOp::Mul, (&ends).into(), Scalar::Float(0.5).into())?;
        let sum = crate::sum(y, &[dim], false, None)?;
        let sum = binary(BinaryOp::Sub, (&sum).into(), (&ends).into())?;
        return binary(BinaryOp::Mul, (&sum).into(), Operand::Scalar(step));
    }
    let Some(areas) = trapezoids(y, spacing, dim)? else {
        return Err(Error::not_implemented("aten::trapezoid of an empty dimension"));
    };
    let sum = crate::sum(&areas, &[dim], false, None)?;
    binary(BinaryOp::Div, (&sum).into(), Scalar::Float(2.0).into())
}

/// `torch.cumulative_trapezoid`.
///
/// # Errors
/// As [`trapezoid`].
pub fn cumulative_trapezoid(y: &Tensor, spacing: Spacing<'_>, dim: i64) -> Result<Tensor> {
    if y.dtype() == DType::Bool {
        return Err(Error::runtime(
            "cumulative_trapezoid: received a bool input for `y`, but bool is not supported",
        ));
    }
    let Some(areas) = trapezoids(y, spacing, dim)? else {
        return Err(Error::not_implemented("aten::cumulative_trapezoid of an empty dimension"));
    };
    let sums = crate::cumulative::cumsum(&areas, dim, None)?;
    binary(BinaryOp::Div, (&sums).into(), Scalar::Float(2.0).into())
}

/// `torch.gradient` along one dimension: central differences inside, one-sided ones of order
/// `edge_order` at the ends.
///
/// # Errors
/// For `bool` and `uint8`, and fewer samples than the order needs.
pub fn gradient(input: &Tensor, spacing: Spacing<'_>, dim: i64, edge_order: i64) -> Result<Tensor> {
    if matches!(input.dtype(), DType::UInt8 | DType::Bool) {
        return Err(Error::runtime("torch.gradient does not support uint8 input."));
    }
    if !(1..=2).contains(&edge_order) {
        return Err(Error::runtime("torch.gradient only supports edge_order=1 and edge_order=2."));
    }
    let size = input.size(dim)?;
    if size <= edge_order {
        return Err(Error::runtime(
            "torch.gradient expected each dimension size to be at least edge_order+1",
        ));
    }
    let dtype = int_to_float(input.dtype());
    let last = input.to_dtype(dtype)?.transpose(dim, -1)?.contiguous()?;
    let n = size as usize;
    let result = match spacing {
        Spacing::Step(step) => {
            let numbers = Numbers::of(&last)?;
            // Integers have become floating numbers above.
            let step = step.to_f64();
            match numbers {
                Numbers::Complex(all) => Numbers::Complex(even(&all, n, step, edge_order)),
                Numbers::Float(all) => Numbers::Float(even(&all, n, step, edge_order)),
                Numbers::Int(_) => return Err(Error::no_kernel("gradient", dtype)),
            }
        }
        Spacing::At(places) => {
            if places.dim() != 1 || places.numel() != size {
                return Err(Error::runtime(
                    "torch.gradient expected each element of spacing to have one dimension, and as \
                     many elements as the dimension it is for",
                ));
            }
            if places.dtype().is_complex() {
                return Err(Error::not_implemented("aten::gradient at complex places"));
            }
            let places = places.to_dtype(DType::Float64)?.to_vec::<f64>()?;
            match Numbers::of(&last)? {
                Numbers::Complex(all) => Numbers::Complex(uneven(&all, &places, edge_order)),
                Numbers::Float(all) => Numbers::Float(uneven(&all, &places, edge_order)),
                Numbers::Int(_) => return Err(Error::no_kernel("gradient", dtype)),
            }
        }
    };
    result.tensor(last.sizes(), dtype)?.transpose(dim, -1)?.contiguous()
}

/// A sum of samples with weights.
fn weighted<T: Number>(terms: &[(T, f64)]) -> T {
    terms.iter().fold(T::ZERO, |sum, &(x, weight)| sum.plus(x.times(T::of_f64(weight))))
}

fn even<T: Number>(all: &[T], n: usize, step: f64, edge_order: i64) -> Vec<T> {
    let places: Vec<f64> = (0..n).map(|i| i as f64 * step).collect();
    let row = |row: &[T]| -> Vec<T> {
        (0..n)
            .map(|i| match i {
                i if i > 0 && i + 1 < n => {
                    weighted(&[(row[i + 1], 0.5 / step), (row[i - 1], -0.5 / step)])
                }
                i => edge(row, &places, i == 0, edge_order),
            })
            .collect()
    };
    all.chunks_exact(n).flat_map(row).collect()
}

fn uneven<T: Number>(all: &[T], places: &[f64], edge_order: i64) -> Vec<T> {
    let n = places.len();
    let row = |row: &[T]| -> Vec<T> {
        (0..n)
            .map(|i| match i {
                i if i > 0 && i + 1 < n => {
                    let (left, right) = (places[i] - places[i - 1], places[i + 1] - places[i]);
                    weighted(&[
                        (row[i - 1], -right / (left * (left + right))),
                        (row[i], (right - left) / (left * right)),
                        (row[i + 1], left / (right * (left + right))),
                    ])
                }
                i => edge(row, places, i == 0, edge_order),
            })
            .collect()
    };
    all.chunks_exact(n).flat_map(row).collect()
}

/// The one-sided difference at the first or the last sample.
fn edge<T: Number>(row: &[T], places: &[f64], first: bool, edge_order: i64) -> T {
    let n = row.len();
    let [a, b, c] = if first { [0, 1, 2] } else { [n - 1, n - 2, n.saturating_sub(3)] };
    let near = places[b] - places[a];
    if edge_order == 1 {
        return weighted(&[(row[b], 1.0 / near), (row[a], -1.0 / near)]);
    }
    let far = places[c] - places[b];
    weighted(&[
        (row[a], -(2.0 * near + far) / (near * (near + far))),
        (row[b], (near + far) / (near * far)),
        (row[c], -near / (far * (near + far))),
    ])
}

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
    if input.dtype() == DType::Bool {
        return Err(Error::runtime("cov(): bool dtype is not supported for input"));
    }
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
        if crate::any(&binary(BinaryOp::Lt, weights.into(), 0.into())?, &[], false)?
            .item()?
            .to_bool()
        {
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

impl Tensor {
    fn count_of(&self, dim: usize) -> usize {
        self.sizes().get(dim).copied().unwrap_or(1) as usize
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
    let dtype = int_to_float(input.dtype());
    let wide = if dtype.is_complex() { DType::Complex128 } else { DType::Float64 };
    let cov = cov(&input.to_dtype(dtype)?.to_dtype(wide)?, 1, None, None)?;
    if cov.dim() == 0 {
        return binary(BinaryOp::Div, (&cov).into(), (&cov).into())?.to_dtype(dtype);
    }
    let n = cov.count_of(0);
    let deviations: Vec<f64> = match Numbers::of(&cov.diagonal(0, 0, 1)?)? {
        Numbers::Complex(xs) => xs.iter().map(|x| x.re.sqrt()).collect(),
        Numbers::Float(xs) => xs.iter().map(|x| x.sqrt()).collect(),
        Numbers::Int(_) => return Err(Error::no_kernel("corrcoef", dtype)),
    };
    let clip = |x: f64| if x.is_nan() { x } else { x.clamp(-1.0, 1.0) };
    let scale = |at: usize| deviations[at / n] * deviations[at % n];
    match Numbers::of(&cov)? {
        Numbers::Complex(xs) => {
            let scaled = xs.iter().enumerate().map(|(at, x)| x / scale(at));
            Numbers::Complex(scaled.map(|x| Complex128::new(clip(x.re), clip(x.im))).collect())
        }
        Numbers::Float(xs) => {
            Numbers::Float(xs.iter().enumerate().map(|(at, x)| clip(x / scale(at))).collect())
        }
        Numbers::Int(xs) => Numbers::Int(xs),
    }
    .tensor(cov.sizes(), dtype)
}

/// `torch.hash_tensor`: the exclusive or of the elements' bits, floating ones as `float64`.
///
/// # Errors
/// For complex numbers.
pub fn hash(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    let rows = rows(input, dims, keepdim)?;
    let bits: Vec<u64> = match Numbers::of(&rows.tensor)? {
        Numbers::Int(xs) => xs.iter().map(|&x| x as u64).collect(),
        Numbers::Float(xs) => xs.iter().map(|x| x.to_bits()).collect(),
        Numbers::Complex(_) => return Err(Error::no_kernel("xor_sum", input.dtype())),
    };
    let row = |i: usize| bits[i * rows.len..(i + 1) * rows.len].iter().fold(0, |a, b| a ^ b);
    let hashes: Vec<u64> = (0..rows.count).map(row).collect();
    Tensor::from_slice(&hashes, &rows.sizes)
}

/// The reductions of `torch.segment_reduce`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named like the argument of torch.segment_reduce")]
pub enum SegmentReduce {
    Max,
    Min,
    Mean,
    Sum,
    Prod,
}

/// `torch.segment_reduce` along `axis` by the ends of segments, one row of them for every index of
/// the dimensions before.
///
/// # Errors
/// For dtypes other than floating ones, and segments that do not fit.
pub fn segment_reduce(
    data: &Tensor,
    reduce: SegmentReduce,
    lengths: &Tensor,
    are_offsets: bool,
    axis: i64,
    initial: Option<f64>,
) -> Result<Tensor> {
    let dtype = data.dtype();
    expect_floating("segment_reduce_cpu", dtype)?;
    let axis = wrap_dim(axis, data.dim())?;
    let unfit = || Error::not_implemented("aten::segment_reduce with segments that do not fit");
    if data.dim() == 0
        || lengths.dim() != axis + 1
        || lengths.sizes()[..axis] != data.sizes()[..axis]
    {
        return Err(unfit());
    }
    let bounds = lengths.to_dtype(DType::Int64)?.to_vec::<i64>()?;
    let per_row = lengths.sizes()[axis] as usize;
    let segments = if are_offsets { per_row.saturating_sub(1) } else { per_row };
    let size = data.sizes()[axis] as usize;
    let inner = crate::shape::product(&data.sizes()[axis + 1..]) as usize;
    let outer = crate::shape::product(&data.sizes()[..axis]) as usize;
    let Numbers::Float(all) = Numbers::of(data)? else { return Err(unfit()) };
    let mut results = Vec::with_capacity(outer * segments * inner);
    for row in 0..outer {
        let bounds = &bounds[row * per_row..(row + 1) * per_row];
        let mut start = if are_offsets { bounds.first().copied().unwrap_or(0) } else { 0 };
        for segment in 0..segments {
            let end = if are_offsets {
                bounds[segment + 1]
            } else {
                start.saturating_add(bounds[segment])
            };
            if start < 0 || end < start || end > size as i64 {
                return Err(unfit());
            }
            for column in 0..inner {
                let items = (start..end).map(|at| all[(row * size + at as usize) * inner + column]);
                results.push(reduced(reduce, items, end - start, initial));
            }
            start = end;
        }
    }
    let mut sizes = Dims::from_slice(data.sizes());
    sizes[axis] = segments as i64;
    Numbers::Float(results).tensor(&sizes, dtype)
}

fn reduced(
    reduce: SegmentReduce,
    items: impl Iterator<Item = f64>,
    count: i64,
    initial: Option<f64>,
) -> f64 {
    let nan_or = |a: f64, b: f64, best: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { best };
    match reduce {
        SegmentReduce::Max => {
            items.fold(initial.unwrap_or(f64::NEG_INFINITY), |a, b| nan_or(a, b, a.max(b)))
        }
        SegmentReduce::Min => {
            items.fold(initial.unwrap_or(f64::INFINITY), |a, b| nan_or(a, b, a.min(b)))
        }
        SegmentReduce::Sum => items.fold(initial.unwrap_or(0.0), |a, b| a + b),
        SegmentReduce::Prod => items.fold(initial.unwrap_or(1.0), |a, b| a * b),
        SegmentReduce::Mean => match (count, initial) {
            (0, None) => f64::NAN,
            (0, Some(initial)) => initial,
            _ => items.fold(initial.unwrap_or(0.0), |a, b| a + b) / count as f64,
        },
    }
}

/// `torch.vander`: powers of a vector as columns.
///
/// # Errors
/// For more than one dimension, and a negative number of columns.
pub fn vander(x: &Tensor, columns: Option<i64>, increasing: bool) -> Result<Tensor> {
    let size = x.sizes().last().copied().unwrap_or(1);
    let columns = columns.unwrap_or(size);
    if columns < 0 {
        return Err(Error::runtime(format!("N must be non-negative, but got {columns}")));
    }
    let whole = x.dtype().is_integral() || x.dtype() == DType::Bool;
    let dtype = if whole { DType::Int64 } else { x.dtype() };
    let mut sizes = Dims::from_slice(x.sizes());
    sizes.push(columns);
    crate::shape::numel(&sizes)?;
    fn powers<T: Number>(xs: &[T], columns: usize, increasing: bool) -> Vec<T> {
        let mut all = Vec::with_capacity(xs.len() * columns);
        for &x in xs {
            let start = all.len();
            let mut power = T::ONE;
            for _ in 0..columns {
                all.push(power);
                power = power.times(x);
            }
            if !increasing {
                all[start..].reverse();
            }
        }
        all
    }
    let columns = columns as usize;
    match Numbers::of(&x.to_dtype(dtype)?)? {
        Numbers::Int(xs) => Numbers::Int(powers(&xs, columns, increasing)),
        Numbers::Float(xs) => Numbers::Float(powers(&xs, columns, increasing)),
        Numbers::Complex(xs) => Numbers::Complex(powers(&xs, columns, increasing)),
    }
    .tensor(&sizes, dtype)
}

/// The coordinates of the triangle on or below (`lower`), or on or above, a diagonal, row by row:
/// `torch.tril_indices` and `torch.triu_indices`.
///
/// # Errors
/// For negative sizes and those beyond memory.
pub fn triangle_indices(
    lower: bool,
    rows: i64,
    columns: i64,
    offset: i64,
    dtype: DType,
) -> Result<Tensor> {
    if rows < 0 || columns < 0 {
        let (name, value) = if rows < 0 { ("row", rows) } else { ("col", columns) };
        return Err(Error::runtime(format!("{name} must be non-negative, got{value}")));
    }
    if rows.saturating_mul(columns) > 1 << 32 {
        return Err(Error::not_implemented("the indices of a triangle as large as this"));
    }
    let (mut down, mut right) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let edge = row.saturating_add(offset);
        let range = match lower {
            true => 0..edge.saturating_add(1).clamp(0, columns),
            false => edge.clamp(0, columns)..columns,
        };
        down.extend(range.clone().map(|_| row));
        right.extend(range);
    }
    let count = down.len() as i64;
    down.extend_from_slice(&right);
    Tensor::from_slice(&down, &[2, count])?.to_dtype(dtype)
}

/// Whether all elements are true: used by `torch.allclose`.
///
/// # Errors
/// For tensors that are not `bool`.
pub fn all_true(flags: &Tensor) -> Result<bool> {
    Ok(flags.to_vec::<Bool>()?.iter().all(|flag| flag.get()))
}

/// Whether elements have no imaginary part, `torch.isreal`.
///
/// # Errors
/// For dtypes without kernels.
pub fn isreal(input: &Tensor) -> Result<Tensor> {
    let flags: Vec<bool> = match Numbers::of(input)? {
        Numbers::Complex(xs) => xs.iter().map(|x| x.im == 0.0).collect(),
        other => each_kind!(&other, xs => xs.iter().map(|_| true).collect()),
    };
    Tensor::from_bools(&flags, input.sizes())
}

//! `nansum`, `renorm`, `dist`, and tests and counts over elements.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN has to fail these comparisons")]

use sconce_kernel_core::iter::map::map;
use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_kernel_core::tensor::wide_elements::{
    Complex128, Number, WideElements, each_kind, expect_floating,
};

use crate::reduction::reduce::rows;
use crate::{BinaryOp, Bool, DType, Dims, Error, Result, Scalar, Tensor, binary};

/// `torch.nansum`: NaN counts as 0.
///
/// # Errors
/// For complex numbers.
pub fn nansum(input: &Tensor, dims: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    if input.dtype().is_complex() || dtype.is_some_and(|dtype| dtype.is_complex()) {
        return Err(Error::runtime("nansum on CPU does not support complex inputs"));
    }
    match input.dtype().is_floating_point() {
        true => crate::sum(&without_nan(input)?, dims, keepdim, dtype),
        false => crate::sum(input, dims, keepdim, dtype),
    }
}

fn without_nan(input: &Tensor) -> Result<Tensor> {
    crate::elementwise::any_dtype::map_floating(
        "nansum",
        input,
        |x| if x.is_nan() { 0.0 } else { x },
    )
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
    if !out.is_floating_point() && !out.is_complex() {
        return Err(Error::runtime(format!(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point \
             or complex dtype. Got: {}",
            out.scalar_type_name()
        )));
    }
    if out.is_complex() {
        return Err(Error::no_kernel("nansum_cpu", out));
    }
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
    let is_empty = |&&other: &&i64| input.sizes()[other as usize] == 0;
    if let (true, Some(empty)) = (p.is_infinite(), others.iter().find(is_empty)) {
        return Err(Error::runtime(format!(
            "linalg.vector_norm cannot compute the inf norm on the dimension {empty}because this \
             dimension is empty and the operation does not have an identity"
        )));
    }
    let wide = input.to_dtype(sconce_kernel_core::tensor::wide_elements::widest(dtype)?)?;
    let norms = crate::norm(&wide, p, &others, true)?;
    let scale = |norm: f64| if norm > maxnorm { maxnorm / (norm + 1e-7) } else { 1.0 };
    let scales = map(&norms, scale)?;
    binary(BinaryOp::Mul, (&wide).into(), (&scales).into())?.to_dtype(dtype)
}

/// `torch.hash_tensor`: the exclusive or of the elements' bits, floating ones as `float64`.
///
/// # Errors
/// For complex numbers.
pub fn hash(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    if let Some(dim) = dims.iter().find(|&&dim| input.size(dim).is_ok_and(|size| size == 0)) {
        return Err(Error::index(format!(
            "hash_tensor: Expected reduction dim {dim} to have non-zero size."
        )));
    }
    if dims.is_empty() && input.numel() == 0 {
        return Err(Error::runtime(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify \
             the reduction dim with the 'dim' argument.",
        ));
    }
    let rows = rows(input, dims, keepdim)?;
    let bits: Vec<u64> = match WideElements::of(&rows.tensor)? {
        WideElements::Int(xs) => xs.iter().map(|&x| x as u64).collect(),
        WideElements::Float(xs) => xs.iter().map(|x| x.to_bits()).collect(),
        WideElements::Complex(_) => return Err(Error::no_kernel("xor_sum", input.dtype())),
    };
    let row = |i: usize| bits[i * rows.len..(i + 1) * rows.len].iter().fold(0, |a, b| a ^ b);
    let hashes: Vec<u64> = (0..rows.count).map(row).collect();
    Tensor::from_slice(&hashes, &rows.sizes)
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
    // Refused before anything is computed where memory is short.
    let result = Tensor::for_overwrite(&sizes, dtype)?;
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
    if result.numel() == 0 {
        return Ok(result);
    }
    let columns = columns as usize;
    match WideElements::of(&x.to_dtype(dtype)?)? {
        WideElements::Int(xs) => WideElements::Int(powers(&xs, columns, increasing)),
        WideElements::Float(xs) => WideElements::Float(powers(&xs, columns, increasing)),
        WideElements::Complex(xs) => WideElements::Complex(powers(&xs, columns, increasing)),
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
    if !matches!(dtype, DType::Int32 | DType::Int64) {
        return Err(Error::no_kernel(if lower { "tril_indices" } else { "triu_indices" }, dtype));
    }
    let below = |offset: i64| below_diagonal(rows, columns, offset);
    let count = match lower {
        true => below(offset),
        false => i128::from(rows) * i128::from(columns) - below(offset.saturating_sub(1)),
    };
    // More than memory has is refused where it is asked for.
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let result = Tensor::zeros(&[2, count], DType::Int64)?;
    if count > 0 {
        let mut all = result.write::<i64>()?;
        let (down, right) = all.split_at_mut(count as usize);
        let mut positions = down.iter_mut().zip(right);
        let first = if lower { offset.saturating_neg().clamp(0, rows) } else { 0 };
        for row in first..rows {
            if positions.len() == 0 {
                break;
            }
            let edge = row.saturating_add(offset);
            let range = match lower {
                true => 0..edge.saturating_add(1).clamp(0, columns),
                false => edge.clamp(0, columns)..columns,
            };
            for (column, (down, right)) in range.zip(positions.by_ref()) {
                (*down, *right) = (row, column);
            }
        }
    }
    result.to_dtype(dtype)
}

/// How many elements of a matrix stand on or below a diagonal.
fn below_diagonal(rows: i64, columns: i64, offset: i64) -> i128 {
    let [rows, columns, offset] = [rows, columns, offset].map(i128::from);
    // Rows from `first` on have elements, each one more than the last; from `full` on all.
    let first = (-offset).clamp(0, rows);
    let full = (columns - 1 - offset).clamp(first, rows);
    let partial = (first + 1 + full) * (full - first) / 2 + offset * (full - first);
    partial + (rows - full) * columns
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
    let flags: Vec<bool> = match WideElements::of(input)? {
        WideElements::Complex(xs) => xs.iter().map(|x| x.im == 0.0).collect(),
        other => each_kind!(&other, xs => xs.iter().map(|_| true).collect()),
    };
    Tensor::from_bools(&flags, input.sizes())
}

/// `torch.equal`.
///
/// # Errors
/// For dtypes without kernels.
pub fn equal(a: &Tensor, b: &Tensor) -> Result<bool> {
    if a.sizes() != b.sizes() {
        return Ok(false);
    }
    let same = binary(BinaryOp::Eq, a.into(), b.into())?;
    crate::all(&same, &[], false)?.item().map(Scalar::to_bool)
}

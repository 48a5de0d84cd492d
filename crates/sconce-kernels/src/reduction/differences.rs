//! `diff`, `gradient` and `trapezoid`: finite differences, numerical derivatives and integrals.

use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_kernel_core::tensor::dtype_range::rounded;
use sconce_kernel_core::tensor::promotion::{int_to_float, promote_types};
use sconce_kernel_core::tensor::wide_elements::{Number, WideElements};

use crate::{BinaryOp, DType, Dims, Error, Operand, Result, Scalar, Tensor, binary};

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
    let mut parts: Vec<Tensor> = Vec::new();
    parts.extend(prepend.cloned());
    parts.push(input.clone());
    parts.extend(append.cloned());
    if parts.iter().any(|part| part.dim() != input.dim()) {
        return Err(Error::runtime(
            "diff expects prepend or append to be the same dimension as input",
        ));
    }
    let several = parts.len() > 1;
    let mut result = if several { crate::cat(&parts, dim)? } else { input.clone() };
    if n == 0 {
        // What stands before and behind has no part in it.
        return input.copy()?.with_strides(&input.preserved_strides());
    }
    let dim = wrap_dim(dim, input.dim())? as i64;
    let size = result.size(dim)?;
    let op = if result.dtype() == DType::Bool { BinaryOp::LogicalXor } else { BinaryOp::Sub };
    // Nothing is left in the end: what differs before then need not be known.
    if n >= size {
        result = result.narrow(dim, 0, size.min(1))?;
    }
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

/// Where the samples of a curve stand: apart by a number, or at these positions.
#[derive(Clone, Copy)]
pub enum Spacing<'a> {
    /// Between neighbours.
    Step(Scalar),
    /// Of every sample.
    At(&'a Tensor),
}

/// What holds no positions or values that can be integrated over, in the words of `function`.
fn check_curve(y: &Tensor, spacing: Spacing<'_>, dim: i64, function: &str) -> Result<()> {
    let positions = if let Spacing::At(x) = spacing { Some(x) } else { None };
    if y.dtype() == DType::Bool || positions.is_some_and(|x| x.dtype() == DType::Bool) {
        return Err(Error::not_implemented(format!(
            "{function}: received a bool input for `x` or `y`, but bool is not supported"
        )));
    }
    match positions {
        Some(x) if x.dim() == 1 && x.numel() != y.size(dim)? => Err(Error::runtime(format!(
            "{function}: There must be one `x` value for each sample point"
        ))),
        _ => Ok(()),
    }
}

/// Of neighbours along a dimension, the second ones and the first ones.
fn neighbours(tensor: &Tensor, dim: i64) -> Result<(Tensor, Tensor)> {
    Ok((tensor.slice(dim, Some(1), None, 1)?, tensor.slice(dim, None, Some(-1), 1)?))
}

/// The areas between neighbouring samples.
fn trapezoids(y: &Tensor, spacing: Spacing<'_>, dim: i64) -> Result<Tensor> {
    let (high, low) = neighbours(y, dim)?;
    let sums = binary(BinaryOp::Add, (&high).into(), (&low).into())?;
    let x = match spacing {
        Spacing::Step(step) => {
            return binary(BinaryOp::Mul, (&sums).into(), Operand::Scalar(step));
        }
        Spacing::At(x) => places_beside(x, y, dim)?,
    };
    let (right, left) = neighbours(&x, dim)?;
    let widths = binary(BinaryOp::Sub, (&right).into(), (&left).into())?;
    binary(BinaryOp::Mul, (&sums).into(), (&widths).into())
}

/// Places with the dimensions of the samples: one line of them stands along `dim`, others for the last
/// dimensions.
fn places_beside(x: &Tensor, y: &Tensor, dim: i64) -> Result<Tensor> {
    if x.dim() >= y.dim() {
        return Ok(x.clone());
    }
    let mut sizes = Dims::from_elem(1, y.dim());
    match *x.sizes() {
        [size] => sizes[wrap_dim(dim, y.dim())?] = size,
        _ => sizes[y.dim() - x.dim()..].copy_from_slice(x.sizes()),
    }
    x.reshape(&sizes)
}

/// `torch.trapezoid`.
///
/// # Errors
/// For `bool`, and positions that do not fit.
pub fn trapezoid(y: &Tensor, spacing: Spacing<'_>, dim: i64) -> Result<Tensor> {
    let size = y.size(dim)?;
    if size == 0 {
        let mut sizes = Dims::from_slice(y.sizes());
        sizes.remove(wrap_dim(dim, y.dim())?);
        return Tensor::zeros(&sizes, y.dtype());
    }
    check_curve(y, spacing, dim, "trapezoid")?;
    if let Spacing::Step(step) = spacing {
        // The ends count half: infinite ones show that this is how PyTorch adds.
        let ends = [y.select(dim, 0)?, y.select(dim, -1)?];
        let ends = binary(BinaryOp::Add, (&ends[0]).into(), (&ends[1]).into())?;
        let ends = binary(BinaryOp::Mul, (&ends).into(), Scalar::Float(0.5).into())?;
        let sum = crate::sum(y, &[dim], false, None)?;
        let sum = binary(BinaryOp::Sub, (&sum).into(), (&ends).into())?;
        return binary(BinaryOp::Mul, (&sum).into(), Operand::Scalar(step));
    }
    let dim = wrap_dim(dim, y.dim())? as i64;
    let sum = crate::sum(&trapezoids(y, spacing, dim)?, &[dim], false, None)?;
    binary(BinaryOp::Div, (&sum).into(), Scalar::Float(2.0).into())
}

/// `torch.cumulative_trapezoid`.
///
/// # Errors
/// As [`trapezoid`].
pub fn cumulative_trapezoid(y: &Tensor, spacing: Spacing<'_>, dim: i64) -> Result<Tensor> {
    check_curve(y, spacing, dim, "cumulative_trapezoid")?;
    y.size(dim)?;
    let dim = wrap_dim(dim, y.dim())? as i64;
    let sums = crate::reduction::cumulative::cumsum(&trapezoids(y, spacing, dim)?, dim, None)?;
    binary(BinaryOp::Div, (&sums).into(), Scalar::Float(2.0).into())
}

/// `torch.gradient` along one dimension: central differences inside, one-sided ones of order
/// `edge_order`, 1 or 2, at the ends.
///
/// # Errors
/// For `bool` and `uint8`, and fewer samples than the order needs.
pub fn gradient(input: &Tensor, spacing: Spacing<'_>, dim: i64, edge_order: i64) -> Result<Tensor> {
    if matches!(input.dtype(), DType::UInt8 | DType::Bool) {
        return Err(Error::runtime("torch.gradient does not support uint8 input."));
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
    let mut result_dtype = dtype;
    let result = match spacing {
        Spacing::Step(step) => {
            let numbers = WideElements::of(&last)?;
            // Integers have become floating numbers above.
            let step = step.to_f64();
            match numbers {
                WideElements::Complex(all) => {
                    WideElements::Complex(even(&all, n, step, edge_order))
                }
                WideElements::Float(all) => WideElements::Float(even(&all, n, step, edge_order)),
                WideElements::Int(_) => return Err(Error::no_kernel("gradient", dtype)),
            }
        }
        Spacing::At(positions) => {
            if positions.dim() != 1 || positions.numel() != size {
                return Err(Error::runtime(
                    "torch.gradient expected each element of spacing to have one dimension, and as \
                     many elements as the dimension it is for",
                ));
            }
            if positions.dtype().is_complex() {
                return Err(Error::not_implemented("aten::gradient at complex places"));
            }
            let places_dtype = int_to_float(positions.dtype());
            result_dtype = promote_types(dtype, places_dtype)?;
            let positions = Places {
                dtype: places_dtype,
                all: positions.to_dtype(DType::Float64)?.to_vec::<f64>()?,
            };
            match WideElements::of(&last)? {
                WideElements::Complex(all) => {
                    WideElements::Complex(uneven(&all, &positions, edge_order, |x| x))
                }
                WideElements::Float(all) => {
                    // Factors at the ends have no dimensions: they leave samples their dtype.
                    let own = |x| rounded(x, dtype);
                    WideElements::Float(uneven(&all, &positions, edge_order, own))
                }
                WideElements::Int(_) => return Err(Error::no_kernel("gradient", dtype)),
            }
        }
    };
    result.tensor(last.sizes(), result_dtype)?.transpose(dim, -1)?.contiguous()
}

/// A sum of samples with weights.
fn weighted<T: Number>(terms: &[(T, f64)]) -> T {
    terms.iter().fold(T::ZERO, |sum, &(x, weight)| sum.plus(x.times(T::of_f64(weight))))
}

/// Where samples stand, and the dtype that distances between them are rounded to.
struct Places {
    all: Vec<f64>,
    dtype: DType,
}

impl Places {
    fn between(&self, from: usize, to: usize) -> f64 {
        rounded(self.all[to] - self.all[from], self.dtype)
    }

    /// The first over the product of the others.
    fn weight(&self, over: f64, [a, b]: [f64; 2]) -> f64 {
        rounded(over / rounded(a * b, self.dtype), self.dtype)
    }
}

fn even<T: Number>(all: &[T], n: usize, step: f64, edge_order: i64) -> Vec<T> {
    // Differences first: a step of 0 or infinity is not to meet each sample alone.
    let per_step = T::of_f64(1.0 / step);
    let apart = Places { all: (0..n).map(|i| i as f64).collect(), dtype: DType::Float64 };
    let row = |row: &[T]| -> Vec<T> {
        (0..n)
            .map(|i| match i {
                i if i > 0 && i + 1 < n => weighted(&[(row[i + 1], 0.5), (row[i - 1], -0.5)]),
                i => edge(row, &apart, i == 0, edge_order, |x| x),
            })
            .map(|difference| difference.times(per_step))
            .collect()
    };
    all.chunks_exact(n).flat_map(row).collect()
}

/// `at_ends` rounds one-sided differences, and what they are made of.
fn uneven<T: Number>(
    all: &[T],
    positions: &Places,
    edge_order: i64,
    at_ends: impl Fn(T) -> T,
) -> Vec<T> {
    let n = positions.all.len();
    let row = |row: &[T]| -> Vec<T> {
        (0..n)
            .map(|i| match i {
                i if i > 0 && i + 1 < n => {
                    let (left, right) = (positions.between(i - 1, i), positions.between(i, i + 1));
                    let both = rounded(left + right, positions.dtype);
                    weighted(&[
                        (row[i - 1], positions.weight(-right, [left, both])),
                        (row[i], positions.weight(right - left, [left, right])),
                        (row[i + 1], positions.weight(left, [right, both])),
                    ])
                }
                i => edge(row, positions, i == 0, edge_order, &at_ends),
            })
            .collect()
    };
    all.chunks_exact(n).flat_map(row).collect()
}

/// The one-sided difference at the first or the last sample.
fn edge<T: Number>(
    row: &[T],
    positions: &Places,
    first: bool,
    edge_order: i64,
    round: impl Fn(T) -> T,
) -> T {
    let n = row.len();
    let [a, b, c] = if first { [0, 1, 2] } else { [n - 1, n - 2, n.saturating_sub(3)] };
    let near = positions.between(a, b);
    if edge_order == 1 {
        let difference = round(weighted(&[(row[b], 1.0), (row[a], -1.0)]));
        return round(difference.times(T::of_f64(1.0 / near)));
    }
    let far = positions.between(b, c);
    let both = rounded(near + far, positions.dtype);
    let terms = [
        (row[a], positions.weight(-(2.0 * near + far), [near, both])),
        (row[b], positions.weight(both, [near, far])),
        (row[c], positions.weight(-near, [far, both])),
    ];
    terms
        .into_iter()
        .fold(T::ZERO, |sum, (x, weight)| round(sum.plus(round(x.times(T::of_f64(weight))))))
}

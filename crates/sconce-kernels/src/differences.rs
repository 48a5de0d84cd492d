//! Differences of neighbours, numerical derivatives and integrals.

use crate::numbers::{Number, Numbers};
use crate::promotion::int_to_float;
use crate::shape::wrap_dim;
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

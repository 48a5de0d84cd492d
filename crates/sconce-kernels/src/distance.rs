//! Distances between vectors, and how alike their directions are.

use crate::binary::{BinaryOp, binary};
use crate::shape::broadcast;
use crate::{DType, Dims, Error, Result, Tensor, norm, result_type, sum};

/// `torch.nn.functional.pairwise_distance`.
///
/// # Errors
/// Where sizes do not broadcast.
pub fn pairwise_distance(
    a: &Tensor,
    b: &Tensor,
    p: f64,
    eps: f64,
    keepdim: bool,
) -> Result<Tensor> {
    let gap = binary(BinaryOp::Sub, a.into(), b.into())?;
    let gap = binary(BinaryOp::Add, (&gap).into(), eps.into())?;
    norm(&gap, p, &[-1], keepdim)
}

/// `torch.nn.functional.cosine_similarity`.
///
/// # Errors
/// For integers, and where sizes do not broadcast.
pub fn cosine_similarity(a: &Tensor, b: &Tensor, dim: i64, eps: f64) -> Result<Tensor> {
    let dtype = result_type(&[a.into(), b.into()])?;
    if !dtype.is_floating_point() {
        return Err(Error::runtime(format!(
            "expected common dtype to be floating point, yet common dtype is {}",
            dtype.scalar_type_name()
        )));
    }
    let sizes = broadcast(a.sizes(), b.sizes())?;
    let unit = |tensor: &Tensor| {
        let tensor = tensor.to_dtype(dtype)?.expand(&sizes)?;
        let length = norm(&tensor, 2.0, &[dim], true)?;
        let length = binary(BinaryOp::Maximum, (&length).into(), eps.into())?;
        binary(BinaryOp::Div, (&tensor).into(), (&length).into())
    };
    sum(&binary(BinaryOp::Mul, (&unit(a)?).into(), (&unit(b)?).into())?, &[dim], false, None)
}

/// The distance of two vectors in the norm `p`.
fn distance(a: &[f64], b: &[f64], p: f64) -> f64 {
    let gaps = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    if p == 0.0 {
        gaps.filter(|&gap| gap != 0.0).count() as f64
    } else if p == 1.0 {
        gaps.sum()
    } else if p == 2.0 {
        gaps.map(|gap| gap * gap).sum::<f64>().sqrt()
    } else if p.is_infinite() {
        gaps.fold(0.0, |most, gap| if gap > most || gap.is_nan() { gap } else { most })
    } else {
        gaps.map(|gap| gap.powf(p)).sum::<f64>().powf(1.0 / p)
    }
}

fn check_norm(name: &str, p: f64) -> Result<()> {
    match p.is_nan() || p < 0.0 {
        true => Err(Error::runtime(format!("{name} only supports non-negative p values"))),
        false => Ok(()),
    }
}

/// `torch.cdist`: the distances of all rows of `a` (… × P × M) from all rows of `b` (… × R × M).
///
/// # Errors
/// For integers, rows of two lengths, and batches that do not broadcast.
pub fn cdist(a: &Tensor, b: &Tensor, p: f64) -> Result<Tensor> {
    for (name, tensor) in [("X1", a), ("X2", b)] {
        if !tensor.dtype().is_floating_point() {
            return Err(Error::runtime(format!(
                "cdist only supports floating-point dtypes, {name} got: {}",
                tensor.dtype().scalar_type_name()
            )));
        }
        if tensor.dim() < 2 {
            return Err(Error::runtime(format!(
                "cdist only supports at least 2D tensors, {name} got: {}D",
                tensor.dim()
            )));
        }
    }
    if a.size(-1)? != b.size(-1)? {
        return Err(Error::runtime(format!(
            "X1 and X2 must have the same number of columns. X1: {} X2: {}",
            a.size(-1)?,
            b.size(-1)?
        )));
    }
    check_norm("cdist", p)?;
    let dtype = result_type(&[a.into(), b.into()])?;
    let (a_batch, a_rows) = a.sizes().split_at(a.dim() - 2);
    let (b_batch, b_rows) = b.sizes().split_at(b.dim() - 2);
    let batch = broadcast(a_batch, b_batch)?;
    let whole = |tensor: &Tensor, rows: &[i64]| {
        let sizes: Dims = batch.iter().chain(rows).copied().collect();
        tensor.to_dtype(DType::Float64)?.expand(&sizes)?.to_vec::<f64>()
    };
    let (left, right) = (whole(a, a_rows)?, whole(b, b_rows)?);
    let (rows, columns, len) = (a_rows[0] as usize, b_rows[0] as usize, a_rows[1] as usize);
    let sizes: Dims = batch.iter().copied().chain([a_rows[0], b_rows[0]]).collect();
    let result = Tensor::zeros(&sizes, DType::Float64)?;
    if len > 0 && result.numel() > 0 {
        let pairs = left.chunks_exact(rows * len).zip(right.chunks_exact(columns * len));
        let mut out = result.write::<f64>()?;
        for (out, (left, right)) in out.chunks_exact_mut(rows * columns).zip(pairs) {
            for (out, a) in out.chunks_exact_mut(columns).zip(left.chunks_exact(len)) {
                for (out, b) in out.iter_mut().zip(right.chunks_exact(len)) {
                    *out = distance(a, b, p);
                }
            }
        }
    }
    result.to_dtype(dtype)
}

/// `torch.nn.functional.pdist`: the distances of all pairs of rows of a matrix.
///
/// # Errors
/// For integers and other than matrices.
pub fn pdist(input: &Tensor, p: f64) -> Result<Tensor> {
    if input.dim() != 2 {
        return Err(Error::runtime(format!(
            "pdist only supports 2D tensors, got: {}D",
            input.dim()
        )));
    }
    if !input.dtype().is_floating_point() {
        return Err(Error::runtime("pdist only supports floating-point dtypes"));
    }
    check_norm("pdist", p)?;
    let rows = input.to_dtype(DType::Float64)?.to_vec::<f64>()?;
    let (count, len) = (input.sizes()[0] as usize, input.sizes()[1] as usize);
    let row = |at: usize| &rows[at * len..(at + 1) * len];
    let mut distances = Vec::new();
    for a in 0..count {
        for b in a + 1..count {
            distances.push(if len == 0 { 0.0 } else { distance(row(a), row(b), p) });
        }
    }
    Tensor::from_slice(&distances, &[distances.len() as i64])?.to_dtype(input.dtype())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_pytorchs() {
        let near = |found: Tensor, expected: &[f32]| {
            let found = found.to_vec::<f32>().unwrap();
            let all = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(all && found.len() == expected.len(), "{found:?} is not {expected:?}");
        };
        let a = Tensor::from_slice(&[0.5f32, -1.0, 2.0], &[3]).unwrap();
        let b = Tensor::from_slice(&[1f32, -1.0, 1.0], &[3]).unwrap();
        near(cosine_similarity(&a, &b, 0, 1e-8).unwrap(), &[0.881_917_1]);
        near(pairwise_distance(&a, &b, 2.0, 1e-6, false).unwrap(), &[1.118_034_4]);
        let squares = Tensor::from_slice(&[0f32, 1.0, 4.0, 9.0, 16.0, 25.0], &[3, 2]).unwrap();
        near(pdist(&squares, 2.0).unwrap(), &[8.944_272, 28.844_41, 20.0]);
        let x = Tensor::from_slice(&[0f32, 1.0, 2.0, 3.0], &[2, 2]).unwrap();
        near(cdist(&x, &x.narrow(0, 0, 1).unwrap(), 1.0).unwrap(), &[0.0, 4.0]);
        assert!(cdist(&x, &squares.t().unwrap(), 2.0).is_err());
    }
}

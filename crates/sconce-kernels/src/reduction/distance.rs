//! Distances between vectors, and cosine similarity.

use num_traits::Float;
use sconce_kernel_core::c_format::general;
use sconce_kernel_core::layout::shape::broadcast;
use sconce_kernel_core::parallel::{grain, partition};
use sconce_kernel_core::simd::dispatch::dispatch;

use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::{DType, Dims, Error, PodElement, Result, Tensor, norm, result_type, sum};

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
/// For integers, a negative `eps`, and where sizes do not broadcast.
pub fn cosine_similarity(a: &Tensor, b: &Tensor, dim: i64, eps: f64) -> Result<Tensor> {
    let dtype = result_type(&[a.into(), b.into()])?;
    if eps.is_nan() || eps < 0.0 {
        return Err(Error::runtime(format!("eps must be non-negative, got: {}", general(eps))));
    }
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

/// Distances from one vector that are summed together, in registers.
const COLUMNS: usize = 32;

/// Terms that are summed before the sum is added to that of the others, for accuracy.
const TERMS: usize = 128;

/// The vectors of two matrices, and which of their distances go where.
struct Pairs<'a, T> {
    left: &'a [T],
    right: &'a [T],
    len: usize,
    /// For a vector on the left: the first on the right that counts, and where its distance goes.
    /// Those of the next ones follow.
    position: &'a dyn Fn(usize) -> (usize, usize),
    /// Whether a gap that is NaN is the greatest one; it counts for nothing otherwise. In PyTorch
    /// `pdist` and `cdist` differ in that.
    keeps_nan: bool,
}

impl<T: Float> Pairs<'_, T> {
    fn distances(&self, out: &mut [T], p: f64) {
        let add = |sum: T, gap: T| sum + gap;
        if p == 0.0 {
            let one = |gap: T| if gap > T::zero() { T::one() } else { gap };
            self.fold(out, one, add, |sum| sum);
        } else if p == 1.0 {
            self.fold(out, |gap| gap, add, |sum| sum);
        } else if p == 2.0 {
            self.fold(out, |gap| gap * gap, add, T::sqrt);
        } else if p.is_infinite() {
            let keeps_nan = self.keeps_nan;
            let is_more = move |gap: T, most: T| (gap > most) | (keeps_nan & gap.is_nan());
            let most = move |most: T, gap: T| if is_more(gap, most) { gap } else { most };
            self.fold(out, |gap| gap, most, |most| most);
        } else {
            let power = |x: T, p: f64| T::from(x.to_f64()?.powf(p));
            let power = |x: T, p: f64| power(x, p).unwrap_or_else(T::nan);
            self.fold(out, |gap| power(gap, p), add, |sum| power(sum, 1.0 / p));
        }
    }

    #[inline(always)]
    fn fold(
        &self,
        out: &mut [T],
        term: impl Fn(T) -> T,
        combine: impl Fn(T, T) -> T,
        finish: impl Fn(T) -> T,
    ) {
        // A piece of some vectors on the right, the same element of all side by side.
        let mut piece = [[T::zero(); COLUMNS]; TERMS];
        let mut line = [T::zero(); COLUMNS];
        dispatch(
            #[inline(always)]
            || {
                for (block, right) in self.right.chunks(COLUMNS * self.len).enumerate() {
                    let (before, count) = (block * COLUMNS, right.len() / self.len);
                    for start in (0..self.len).step_by(TERMS) {
                        let end = (start + TERMS).min(self.len);
                        for (l, right) in right.chunks_exact(self.len).enumerate() {
                            for (row, &x) in piece.iter_mut().zip(&right[start..end]) {
                                row[l] = x;
                            }
                        }
                        for (i, left) in self.left.chunks_exact(self.len).enumerate() {
                            let (first, position) = (self.position)(i);
                            let skip = first.saturating_sub(before);
                            if skip >= count {
                                continue;
                            }
                            let mut sums = [T::zero(); COLUMNS];
                            for (column, &x) in piece.iter().zip(&left[start..end]) {
                                for l in 0..COLUMNS {
                                    sums[l] = combine(sums[l], term((x - column[l]).abs()));
                                }
                            }
                            let at = position + before + skip - first;
                            let out = &mut out[at..at + count - skip];
                            let (goes_on, ends) = (start > 0, end == self.len);
                            let now = |so_far: T, sum: T| {
                                let sum = if goes_on { combine(so_far, sum) } else { sum };
                                if ends { finish(sum) } else { sum }
                            };
                            // Sums are vectors only where all of them go side by side.
                            match out.first_chunk_mut::<COLUMNS>() {
                                Some(out) => {
                                    for l in 0..COLUMNS {
                                        out[l] = now(out[l], sums[l]);
                                    }
                                }
                                None => {
                                    line[skip..count].copy_from_slice(out);
                                    for l in 0..COLUMNS {
                                        line[l] = now(line[l], sums[l]);
                                    }
                                    out.copy_from_slice(&line[skip..count]);
                                }
                            }
                        }
                    }
                }
            },
        );
    }
}

/// The dtype that distances are computed in.
fn measured(dtype: DType, p: f64) -> DType {
    let plain = p == 0.0 || p == 1.0 || p == 2.0 || p.is_infinite();
    if dtype == DType::Float32 && plain { dtype } else { DType::Float64 }
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
    let dtype = a.dtype();
    if b.dtype() != dtype {
        return Err(Error::runtime(format!(
            "expected scalar type {} but found {}",
            dtype.scalar_type_name(),
            b.dtype().scalar_type_name()
        )));
    }
    let (a_batch, a_rows) = a.sizes().split_at(a.dim() - 2);
    let (b_batch, b_rows) = b.sizes().split_at(b.dim() - 2);
    let batch = broadcast(a_batch, b_batch)?;
    let compute = measured(dtype, p);
    let whole = |tensor: &Tensor, rows: &[i64]| {
        let sizes: Dims = batch.iter().chain(rows).copied().collect();
        tensor.to_dtype(compute)?.expand(&sizes)?.contiguous()
    };
    let (left, right) = (whole(a, a_rows)?, whole(b, b_rows)?);
    let sizes: Dims = batch.iter().copied().chain([a_rows[0], b_rows[0]]).collect();
    let result = Tensor::zeros(&sizes, compute)?;
    let dims = [a_rows[0], b_rows[0], a_rows[1]].map(|size| size as usize);
    if dims[2] > 0 && result.numel() > 0 {
        match compute {
            DType::Float32 => cdist_of::<f32>(&left, &right, &result, dims, p),
            _ => cdist_of::<f64>(&left, &right, &result, dims, p),
        }?;
    }
    result.to_dtype(dtype)
}

fn cdist_of<T: PodElement + Float>(
    left: &Tensor,
    right: &Tensor,
    result: &Tensor,
    [rows, columns, len]: [usize; 3],
    p: f64,
) -> Result<()> {
    let (left, right, mut out) = (left.read::<T>()?, right.read::<T>()?, result.write::<T>()?);
    let pairs = left.chunks_exact(rows * len).zip(right.chunks_exact(columns * len));
    for (out, (left, right)) in out.chunks_exact_mut(rows * columns).zip(pairs) {
        partition::for_each_chunk(out, columns, grain::ROWS, |start, out| {
            let (first, count) = (start / columns, out.len() / columns);
            let left = &left[first * len..(first + count) * len];
            let position = |i| (0, i * columns);
            Pairs { left, right, len, position: &position, keeps_nan: false }.distances(out, p);
        });
    }
    Ok(())
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
    let count = input.sizes()[0] as usize;
    // As many as memory holds rows, whose number is checked before it is squared.
    let pairs = count.checked_mul(count.saturating_sub(1)).map_or(i64::MAX, |n| (n / 2) as i64);
    let compute = measured(input.dtype(), p);
    let result = Tensor::zeros(&[pairs], compute)?;
    let rows = input.to_dtype(compute)?.contiguous()?;
    match compute {
        DType::Float32 => pdist_of::<f32>(&rows, &result, p),
        _ => pdist_of::<f64>(&rows, &result, p),
    }?;
    result.to_dtype(input.dtype())
}

fn pdist_of<T: PodElement + Float>(rows: &Tensor, result: &Tensor, p: f64) -> Result<()> {
    let (count, len) = (rows.sizes()[0] as usize, rows.sizes()[1] as usize);
    if len == 0 {
        return Ok(());
    }
    let (rows, mut out) = (rows.read::<T>()?, result.write::<T>()?);
    // Row i goes with the count - i - 1 rows below.
    let position = |i: usize| (i + 1, i * (2 * count - i - 1) / 2);
    Pairs { left: &rows, right: &rows, len, position: &position, keeps_nan: true }
        .distances(&mut out, p);
    Ok(())
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

    #[test]
    fn distances_are_those_of_the_definition() {
        for (rows, columns, len) in [(1, 1, 1), (3, 33, 5), (2, 64, 300), (5, 7, 0), (4, 40, 129)] {
            let numbers = |count: usize, seed: usize| {
                (0..count).map(|i| ((i * seed) % 23) as f64 * 0.37 - 3.0).collect::<Vec<f64>>()
            };
            let (mut a, b) = (numbers(rows * len, 7), numbers(columns * len, 5));
            if rows > 3 && len > 0 {
                a[0] = f64::NAN;
            }
            for p in [0.0, 1.0, 2.0, 2.5, f64::INFINITY] {
                let expected = |i: usize, j: usize| {
                    let pairs = a[i * len..(i + 1) * len].iter().zip(&b[j * len..(j + 1) * len]);
                    let gaps = pairs.map(|(a, b)| (a - b).abs());
                    match p {
                        0.0 => gaps.map(|gap| if gap > 0.0 { 1.0 } else { gap }).sum(),
                        f64::INFINITY => gaps.fold(0.0, f64::max),
                        _ => gaps.map(|gap| gap.powf(p)).sum::<f64>().powf(1.0 / p),
                    }
                };
                let tensor = |numbers: &[f64], count: usize, dtype| {
                    let whole = Tensor::from_slice(numbers, &[count as i64, len as i64]).unwrap();
                    whole.to_dtype(dtype).unwrap()
                };
                for (dtype, within) in [(DType::Float32, 1e-5), (DType::Float64, 1e-12)] {
                    let found = cdist(&tensor(&a, rows, dtype), &tensor(&b, columns, dtype), p);
                    let found = found.unwrap().to_dtype(DType::Float64).unwrap();
                    for (n, found) in found.to_vec::<f64>().unwrap().into_iter().enumerate() {
                        let expected = expected(n / columns, n % columns);
                        let near = (found - expected).abs() <= within * (1.0 + expected);
                        assert!(
                            near || found.is_nan() && expected.is_nan(),
                            "{p} {found} {expected}"
                        );
                    }
                    let all = tensor(&b, columns, dtype);
                    let pairs = to_vec_f64(&pdist(&all, p).unwrap());
                    let square = to_vec_f64(&cdist(&all, &all, p).unwrap());
                    let above =
                        (0..columns).flat_map(|i| (i + 1..columns).map(move |j| i * columns + j));
                    assert_eq!(pairs, above.map(|at| square[at]).collect::<Vec<_>>());
                }
            }
        }
    }

    fn to_vec_f64(tensor: &Tensor) -> Vec<f64> {
        tensor.to_dtype(DType::Float64).unwrap().to_vec().unwrap()
    }
}

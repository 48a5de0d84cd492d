//! Factorisations of symmetric and Hermitian matrices that need not be definite: `LDLᵀ` with
//! diagonal blocks of one or two rows, as LAPACK's `sytrf` and `hetrf` choose them.

use sconce_kernels::{DType, Error, Result, Tensor};

use crate::dense::{
    Batch, Matrix, MatrixNumber, Out, broadcast_batches, by_number, check_computed, check_float,
    check_info, check_square,
};
use crate::lu::{check_fit, check_same_dtype};

/// Conjugates where the matrix is Hermitian.
fn turned<T: MatrixNumber>(x: T, hermitian: bool) -> T {
    if hermitian { x.conjugate() } else { x }
}

/// L below the diagonal with the blocks of D on it, pivots (negative for both rows of a block of
/// two), and the first block that is zero (from 1).
fn factor<T: MatrixNumber>(mut a: Matrix<T>, hermitian: bool) -> (Matrix<T>, Vec<i32>, i32) {
    let alpha = (1.0 + 17f64.sqrt()) / 8.0;
    let n = a.rows;
    let diagonal = |a: &Matrix<T>, i: usize| match hermitian {
        true => a[(i, i)].real_part().abs(),
        false => a[(i, i)].size(),
    };
    let (mut pivots, mut info, mut k) = (vec![0; n], 0, 0);
    while k < n {
        let own = diagonal(&a, k);
        let (mut far, mut most) = (k, 0.0);
        for i in k + 1..n {
            if a[(i, k)].size() > most {
                (far, most) = (i, a[(i, k)].size());
            }
        }
        let (mut with, mut step) = (k, 1);
        if own.max(most) == 0.0 || own.is_nan() {
            info = if info == 0 { k as i32 + 1 } else { info };
            pivots[k] = k as i32 + 1;
            k += 1;
            continue;
        }
        if own < alpha * most {
            let before = (k..far).map(|j| a[(far, j)].size());
            let row = before.chain((far + 1..n).map(|i| a[(i, far)].size())).fold(0.0, f64::max);
            if own < alpha * most * (most / row) {
                with = far;
                step = if diagonal(&a, far) >= alpha * row { 1 } else { 2 };
            }
        }
        let at = k + step - 1;
        if with != at {
            exchange(&mut a, k, step, with, hermitian);
        }
        if hermitian {
            for i in [k, at] {
                a[(i, i)] = T::of_real(a[(i, i)].real_part());
            }
        }
        if step == 1 {
            eliminate_one(&mut a, k, hermitian);
            pivots[k] = with as i32 + 1;
        } else {
            eliminate_two(&mut a, k, hermitian);
            pivots[k] = -(with as i32 + 1);
            pivots[k + 1] = pivots[k];
        }
        k += step;
    }
    for i in 0..n {
        (i + 1..n).for_each(|j| a[(i, j)] = T::of_real(0.0));
    }
    (a, pivots, info)
}

/// Exchanges a row and column of the lower triangle from `k` on.
fn exchange<T: MatrixNumber>(
    a: &mut Matrix<T>,
    k: usize,
    step: usize,
    with: usize,
    hermitian: bool,
) {
    let at = k + step - 1;
    let swap = |a: &mut Matrix<T>, x: (usize, usize), y: (usize, usize)| {
        (a[x], a[y]) = (a[y], a[x]);
    };
    (with + 1..a.rows).for_each(|i| swap(a, (i, at), (i, with)));
    for j in at + 1..with {
        let (x, y) = (a[(j, at)], a[(with, j)]);
        (a[(j, at)], a[(with, j)]) = (turned(y, hermitian), turned(x, hermitian));
    }
    a[(with, at)] = turned(a[(with, at)], hermitian);
    swap(a, (at, at), (with, with));
    if step == 2 {
        swap(a, (k + 1, k), (with, k));
    }
}

fn eliminate_one<T: MatrixNumber>(a: &mut Matrix<T>, k: usize, hermitian: bool) {
    let pivot = a[(k, k)];
    for j in k + 1..a.rows {
        let factor = turned(a[(j, k)] / turned(pivot, hermitian), hermitian);
        for i in j..a.rows {
            let x = a[(i, k)];
            a[(i, j)] -= x * factor;
        }
    }
    for i in k + 1..a.rows {
        a[(i, k)] /= pivot;
    }
}

fn eliminate_two<T: MatrixNumber>(a: &mut Matrix<T>, k: usize, hermitian: bool) {
    // The block's inverse times its columns.
    let (first, off, second) = (a[(k, k)], a[(k + 1, k)], a[(k + 1, k + 1)]);
    let det = first * second - off * turned(off, hermitian);
    let solved: Vec<(T, T)> = (k + 2..a.rows)
        .map(|i| {
            let (x, y) = (a[(i, k)], a[(i, k + 1)]);
            let up = turned(off, hermitian);
            ((x * second - y * off) / det, (y * first - x * up) / det)
        })
        .collect();
    for j in k + 2..a.rows {
        let (p, q) = solved[j - k - 2];
        for i in j..a.rows {
            let (x, y) = (a[(i, k)], a[(i, k + 1)]);
            a[(i, j)] -= x * turned(p, hermitian) + y * turned(q, hermitian);
        }
    }
    for (i, &(p, q)) in solved.iter().enumerate() {
        (a[(k + 2 + i, k)], a[(k + 2 + i, k + 1)]) = (p, q);
    }
}

/// `torch.linalg.ldl_factor_ex`: LD, pivots (`int32`), info (`int32`).
///
/// # Errors
/// For tensors that are no square matrices and dtypes without kernels.
pub fn ldl_factor_ex(a: &Tensor, hermitian: bool) -> Result<[Tensor; 3]> {
    check_square(a, "torch.linalg.ldl_factor_ex", "A")?;
    check_computed(a, "torch.linalg.ldl_factor_ex")?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 2)?;
        let n = matrices.rows;
        let mut factors: Out<T> = matrices.out(&[n, n])?;
        let (mut pivots, mut info): (Out<i32>, Out<i32>) = (matrices.out(&[n])?, matrices.out(&[])?);
        for matrix in matrices.matrices() {
            let (factor, order, code) = factor(matrix, hermitian);
            factors.push(&factor.data);
            pivots.push(&order);
            info.push(&[code]);
        }
        Ok([factors.tensor(a.dtype())?, pivots.tensor(DType::Int32)?, info.tensor(DType::Int32)?])
    })
}

/// `torch.linalg.ldl_factor`: LD and pivots.
///
/// # Errors
/// As [`ldl_factor_ex`], and for singular matrices.
pub fn ldl_factor(a: &Tensor, hermitian: bool) -> Result<[Tensor; 2]> {
    let [factor, pivots, info] = ldl_factor_ex(a, hermitian)?;
    check_info(&info, "torch.linalg.ldl_factor", a.dim() == 2)?;
    Ok([factor, pivots])
}

/// `torch.linalg.ldl_solve`.
///
/// # Errors
/// For sizes that do not fit, pivots out of range and dtypes that differ or have no kernels.
pub fn ldl_solve(ld: &Tensor, pivots: &Tensor, b: &Tensor, hermitian: bool) -> Result<Tensor> {
    let name = "torch.linalg.ldl_solve";
    check_square(ld, name, "LD")?;
    check_float(ld, name)?;
    check_same_dtype(ld, b, name, "LD", "B")?;
    check_fit(ld, b, true, name)?;
    if pivots.sizes() != &ld.sizes()[..ld.dim() - 1] {
        return Err(Error::runtime(format!(
            "{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with \
             shape {:?} instead",
            pivots.sizes()
        )));
    }
    if !pivots.dtype().is_integral() {
        return Err(Error::runtime(format!(
            "{name}: Expected pivots to be integers. Got {}",
            pivots.dtype().scalar_type_name()
        )));
    }
    let n = ld.size(-1)?;
    let (wide, sides) = broadcast_batches(ld, b)?;
    let batch = wide.sizes()[..wide.dim() - 2].iter().copied();
    let all: Vec<i64> = batch.chain([n]).collect();
    let pivots = pivots.expand(&all)?.to_dtype(DType::Int32)?.to_vec::<i32>()?;
    if pivots.iter().any(|&p| p == 0 || i64::from(p.unsigned_abs()) > n) {
        return Err(Error::runtime(format!("{name}: pivots are out of range")));
    }
    by_number!(ld, T => {
        let [factors, sides] = Batch::<T>::read_both((&wide, 1), (&sides, 2))?;
        let mut x: Out<T> = sides.out(&[sides.rows, sides.cols])?;
        let step = n as usize;
        for (at, (factor, side)) in factors.matrices().zip(sides.matrices()).enumerate() {
            x.push(&solve(&factor, &pivots[at * step..(at + 1) * step], side, hermitian).data);
        }
        x.tensor(b.dtype())
    })
}

fn solve<T: MatrixNumber>(
    a: &Matrix<T>,
    pivots: &[i32],
    mut b: Matrix<T>,
    hermitian: bool,
) -> Matrix<T> {
    let (n, cols) = (b.rows, b.cols);
    // Blocks of D: where they start and whether they have two rows.
    let (mut blocks, mut k) = (Vec::new(), 0);
    while k < n {
        let two = pivots[k] < 0 && k + 1 < n;
        blocks.push((k, two));
        k += if two { 2 } else { 1 };
    }
    let exchange = |b: &mut Matrix<T>, x: usize, y: usize| {
        (0..cols).for_each(|j| (b[(x, j)], b[(y, j)]) = (b[(y, j)], b[(x, j)]));
    };
    for &(k, two) in &blocks {
        let last = k + usize::from(two);
        exchange(&mut b, last, pivots[k].unsigned_abs() as usize - 1);
        for j in 0..cols {
            for i in last + 1..n {
                let sum = (k..=last).fold(T::of_real(0.0), |sum, p| sum + a[(i, p)] * b[(p, j)]);
                b[(i, j)] -= sum;
            }
            let x = b[(k, j)];
            if two {
                let (first, off, second) = (a[(k, k)], a[(last, k)], a[(last, last)]);
                let (up, y) = (turned(off, hermitian), b[(last, j)]);
                let det = first * second - off * up;
                b[(k, j)] = (second * x - up * y) / det;
                b[(last, j)] = (first * y - off * x) / det;
            } else {
                b[(k, j)] = x / a[(k, k)];
            }
        }
    }
    for &(k, two) in blocks.iter().rev() {
        let last = k + usize::from(two);
        for j in 0..cols {
            for p in k..=last {
                let sum = (last + 1..n)
                    .fold(T::of_real(0.0), |sum, i| sum + turned(a[(i, p)], hermitian) * b[(i, j)]);
                b[(p, j)] -= sum;
            }
        }
        exchange(&mut b, last, pivots[k].unsigned_abs() as usize - 1);
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_diagonal_makes_blocks_of_two() {
        let a = Tensor::from_slice(&[0.0f64, 1.0, 2.0, 1.0, 0.0, 3.0, 2.0, 3.0, 0.0], &[3, 3]);
        let a = a.unwrap();
        let [ld, pivots] = ldl_factor(&a, false).unwrap();
        assert!(pivots.to_vec::<i32>().unwrap()[0] < 0);
        let b = Tensor::from_slice(&[8.0f64, 10.0, 8.0], &[3, 1]).unwrap();
        let x = ldl_solve(&ld, &pivots, &b, false).unwrap().to_vec::<f64>().unwrap();
        for (x, y) in x.iter().zip([1.0, 2.0, 3.0]) {
            assert!((x - y).abs() < 1e-12, "{x} is not {y}");
        }
    }
}

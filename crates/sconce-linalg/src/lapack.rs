//! Factorisations whose results are visible down to pivots and signs, as LAPACK defines them: LU
//! with partial pivoting (`getrf`), QR by Householder reflections (`geqrf`, `orgqr`, `ormqr`) and
//! substitution (`trtrs`). Libraries are free to choose other signs and orders; PyTorch's users see
//! LAPACK's.

use crate::dense::{Matrix, Number};

/// `getrf`: L below the diagonal and U in one matrix, with the row that each row was exchanged with
/// (from 1), and the first diagonal element that is zero (from 1; 0 if none is).
pub(crate) struct Lu<T> {
    pub(crate) lu: Matrix<T>,
    pub(crate) pivots: Vec<i32>,
    pub(crate) info: i32,
}

impl<T: Number> Lu<T> {
    pub(crate) fn new(mut lu: Matrix<T>) -> Lu<T> {
        let zero = T::of_real(0.0);
        let (rows, cols) = (lu.rows, lu.cols);
        let (mut pivots, mut info) = (Vec::new(), 0);
        for k in 0..rows.min(cols) {
            let mut best = k;
            for i in k + 1..rows {
                if lu[(i, k)].size() > lu[(best, k)].size() {
                    best = i;
                }
            }
            pivots.push(best as i32 + 1);
            if lu[(best, k)] == zero {
                if info == 0 {
                    info = k as i32 + 1;
                }
                continue;
            }
            if best != k {
                let (head, tail) = lu.data.split_at_mut(best * cols);
                head[k * cols..(k + 1) * cols].swap_with_slice(&mut tail[..cols]);
            }
            let (head, tail) = lu.data.split_at_mut((k + 1) * cols);
            let row = &head[k * cols..];
            for below in tail.chunks_exact_mut(cols) {
                let factor = below[k] / row[k];
                below[k] = factor;
                if factor != zero {
                    for (x, &y) in below[k + 1..].iter_mut().zip(&row[k + 1..]) {
                        *x -= factor * y;
                    }
                }
            }
        }
        Lu { lu, pivots, info }
    }

    /// The determinant of the exchanges: 1 or -1.
    pub(crate) fn parity(&self) -> T {
        let swaps = self.pivots.iter().enumerate().filter(|&(i, &p)| p != i as i32 + 1).count();
        T::of_real(if swaps % 2 == 0 { 1.0 } else { -1.0 })
    }

    /// The determinant.
    pub(crate) fn det(&self) -> T {
        (0..self.lu.rows).fold(self.parity(), |det, i| det * self.lu[(i, i)])
    }

    /// The solution of `A X = B`.
    pub(crate) fn solve(&self, b: Matrix<T>) -> Matrix<T> {
        solve_lu(&self.lu, &self.pivots, b)
    }
}

/// `getrs`.
pub(crate) fn solve_lu<T: Number>(lu: &Matrix<T>, pivots: &[i32], mut b: Matrix<T>) -> Matrix<T> {
    let order = row_order(pivots, b.rows);
    b = Matrix::from_fn(b.rows, b.cols, |i, j| b[(order[i], j)]);
    substitute(lu, false, true, &mut b);
    substitute(lu, true, false, &mut b);
    b
}

/// `getrs` for the conjugate transpose: the solution of `Aᴴ X = B`.
pub(crate) fn solve_lu_adjoint<T: Number>(
    lu: &Matrix<T>,
    pivots: &[i32],
    mut b: Matrix<T>,
) -> Matrix<T> {
    let adjoint = lu.adjoint();
    substitute(&adjoint, false, false, &mut b);
    substitute(&adjoint, true, true, &mut b);
    let order = row_order(pivots, b.rows);
    let mut result = Matrix::zeros(b.rows, b.cols);
    for (i, &to) in order.iter().enumerate() {
        for j in 0..b.cols {
            result[(to, j)] = b[(i, j)];
        }
    }
    result
}

/// Which row of the input stands at each row after the exchanges. Pivots out of range are left out.
pub(crate) fn row_order(pivots: &[i32], rows: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    for (i, &pivot) in pivots.iter().enumerate() {
        let to = pivot as usize;
        if pivot >= 1 && to <= rows && i < rows {
            order.swap(i, to - 1);
        }
    }
    order
}

/// `trtrs`: overwrites B with the solution of `A X = B` for the upper or lower triangle of A.
pub(crate) fn substitute<T: Number>(a: &Matrix<T>, upper: bool, unit: bool, b: &mut Matrix<T>) {
    let (n, cols) = (b.rows, b.cols);
    for step in 0..n {
        let i = if upper { n - 1 - step } else { step };
        let (head, rest) = b.data.split_at_mut(i * cols);
        let (row, tail) = rest.split_at_mut(cols);
        let known = if upper { i + 1..n } else { 0..i };
        for j in known {
            let other = if upper { &tail[(j - i - 1) * cols..] } else { &head[j * cols..] };
            let factor = a[(i, j)];
            for (x, &y) in row.iter_mut().zip(other) {
                *x -= factor * y;
            }
        }
        if !unit {
            let pivot = a[(i, i)];
            row.iter_mut().for_each(|x| *x /= pivot);
        }
    }
}

/// `geqrf`: reflections below the diagonal, R on and above it, and the factors of the reflections.
pub(crate) fn geqrf<T: Number>(a: &Matrix<T>) -> (Matrix<T>, Vec<T>) {
    // Columns side by side.
    let mut c = a.transpose();
    let (m, n) = (a.rows, a.cols);
    let mut factors = Vec::new();
    for i in 0..m.min(n) {
        let (head, tail) = c.data.split_at_mut((i + 1) * m);
        let column = &mut head[i * m + i..];
        let (tau, beta) = reflector(column);
        let pivot = std::mem::replace(&mut column[0], T::of_real(1.0));
        for other in tail.chunks_exact_mut(m) {
            reflect(column, tau.conjugate(), &mut other[i..]);
        }
        column[0] = beta.unwrap_or(pivot);
        factors.push(tau);
    }
    (c.transpose(), factors)
}

/// `larfg`: makes a reflection of a column; its factor and what the column becomes.
fn reflector<T: Number>(column: &mut [T]) -> (T, Option<T>) {
    let Some((&alpha, rest)) = column.split_first() else { return (T::of_real(0.0), None) };
    let scale = rest.iter().fold(0.0, |max: f64, x| max.max(x.size()));
    let norm = scale * rest.iter().map(|x| (x.length() / scale).powi(2)).sum::<f64>().sqrt();
    if scale == 0.0 && alpha.imaginary_part() == 0.0 {
        return (T::of_real(0.0), None);
    }
    let norm = if scale == 0.0 { 0.0 } else { norm };
    let beta = -alpha.length().hypot(norm).copysign(alpha.real_part());
    let tau = (T::of_real(beta) - alpha) / T::of_real(beta);
    let by = alpha - T::of_real(beta);
    column[1..].iter_mut().for_each(|x| *x /= by);
    (tau, Some(T::of_real(beta)))
}

/// `x -= factor · v · (vᴴ x)`.
fn reflect<T: Number>(v: &[T], factor: T, x: &mut [T]) {
    let mut dot = T::of_real(0.0);
    for (&v, &x) in v.iter().zip(x.iter()) {
        dot += v.conjugate() * x;
    }
    let dot = factor * dot;
    for (x, &v) in x.iter_mut().zip(v) {
        *x -= v * dot;
    }
}

/// `ormqr` from the left: Q, or its conjugate transpose, times B.
pub(crate) fn apply_q<T: Number>(
    a: &Matrix<T>,
    factors: &[T],
    adjoint: bool,
    b: &Matrix<T>,
) -> Matrix<T> {
    let vectors = a.transpose();
    let mut c = b.transpose();
    let m = a.rows;
    let count = factors.len().min(a.cols).min(m);
    for step in 0..count {
        let i = if adjoint { step } else { count - 1 - step };
        let mut v = vectors.data[i * m + i..(i + 1) * m].to_vec();
        v[0] = T::of_real(1.0);
        let factor = if adjoint { factors[i].conjugate() } else { factors[i] };
        for column in c.data.chunks_exact_mut(m) {
            reflect(&v, factor, &mut column[i..]);
        }
    }
    c.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: usize, cols: usize, data: &[f64]) -> Matrix<f64> {
        Matrix { rows, cols, data: data.to_vec() }
    }

    #[test]
    fn lu_exchanges_rows_as_lapack_does() {
        let lu = Lu::new(matrix(2, 2, &[1.0, 2.0, 4.0, 2.0]));
        assert_eq!((lu.pivots.as_slice(), lu.info), ([2, 2].as_slice(), 0));
        assert_eq!(lu.lu.data, [4.0, 2.0, 0.25, 1.5]);
        assert_eq!(lu.det(), -6.0);
        let x = lu.solve(matrix(2, 1, &[5.0, 8.0]));
        assert_eq!(x.data, [1.0, 2.0]);
        let y = solve_lu_adjoint(&lu.lu, &lu.pivots, matrix(2, 1, &[9.0, 6.0]));
        assert_eq!(y.data, [1.0, 2.0]);
        assert_eq!(Lu::new(matrix(2, 2, &[1.0, 2.0, 2.0, 4.0])).info, 2);
    }

    #[test]
    fn r_has_the_signs_of_lapack_and_q_is_orthogonal() {
        let a = matrix(3, 2, &[3.0, 1.0, 4.0, 2.0, 0.0, 5.0]);
        let (qr, tau) = geqrf(&a);
        assert_eq!(qr[(0, 0)], -5.0);
        let q = apply_q(&qr, &tau, false, &Matrix::identity(3, 3));
        let back = apply_q(&qr, &tau, true, &q);
        for (at, x) in back.data.iter().enumerate() {
            assert!((x - f64::from(u8::from(at % 4 == 0))).abs() < 1e-15);
        }
    }
}

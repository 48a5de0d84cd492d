//! Factorisations whose results are visible down to pivots and signs, as LAPACK defines them: LU
//! with partial pivoting (`getrf`), QR by Householder reflections (`geqrf`, `orgqr`, `ormqr`) and
//! substitution (`trtrs`). Libraries are free to choose other signs and orders; PyTorch's users see
//! LAPACK's.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use sconce_kernels::dispatch;

use crate::dense::{Matrix, MatrixNumber};

/// `getrf`: L below the diagonal and U in one matrix, with the row that each row was exchanged with
/// (from 1), and the first diagonal element that is zero (from 1; 0 if none is).
pub(crate) struct Lu<T> {
    pub(crate) lu: Matrix<T>,
    pub(crate) pivots: Vec<i32>,
    pub(crate) info: i32,
}

impl<T: MatrixNumber> Lu<T> {
    pub(crate) fn new(mut lu: Matrix<T>) -> Lu<T> {
        let cols = lu.cols;
        let count = lu.rows.min(cols);
        let (mut pivots, mut info) = (Vec::with_capacity(count), 0);
        for from in (0..count).step_by(BLOCK) {
            let to = count.min(from + BLOCK);
            factor_columns(&mut lu, from..to, &mut pivots, &mut info);
            if to == cols {
                continue;
            }
            // To the right of these columns: first their rows, then with those all rows below.
            let (head, below) = lu.data.split_at_mut(to * cols);
            let rows = &mut head[from * cols..];
            dispatch(
                #[inline(always)]
                || {
                    for i in 1..to - from {
                        let (done, rest) = rows.split_at_mut(i * cols);
                        let (left, right) = rest[..cols].split_at_mut(to);
                        let factors = left[from..from + i].iter().zip(done.chunks_exact(cols));
                        factors.for_each(|(&factor, row)| subtract(right, factor, &row[to..]));
                    }
                },
            );
            let height = below.len() / cols;
            let below = MatMut::from_row_major_slice_mut(below, height, cols);
            let (left, right) = below.split_at_col_mut(to);
            let factors = left.as_ref().subcols(from, to - from);
            let rows = MatRef::from_row_major_slice(rows, to - from, cols);
            subtract_product(right, factors, rows.subcols(to, cols - to));
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

/// Rows and columns that are eliminated before others see them, by a product of matrices.
const BLOCK: usize = 32;

/// `to -= factor * row`.
#[inline(always)]
fn subtract<T: MatrixNumber>(to: &mut [T], factor: T, row: &[T]) {
    to.iter_mut().zip(row).for_each(|(x, &y)| *x -= factor * y);
}

/// `to -= a · b`.
fn subtract_product<T: MatrixNumber>(to: MatMut<'_, T>, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    matmul(to, Accum::Add, a, b, T::of_real(-1.0), Par::Seq);
}

/// Eliminates below the diagonal in some columns, and leaves what is to the right of them alone but for the
/// exchanges.
fn factor_columns<T: MatrixNumber>(
    lu: &mut Matrix<T>,
    columns: Range<usize>,
    pivots: &mut Vec<i32>,
    info: &mut i32,
) {
    let (zero, rows, cols) = (T::of_real(0.0), lu.rows, lu.cols);
    for k in columns.clone() {
        let mut best = k;
        for i in k + 1..rows {
            if lu[(i, k)].size() > lu[(best, k)].size() {
                best = i;
            }
        }
        pivots.push(best as i32 + 1);
        if lu[(best, k)] == zero {
            if *info == 0 {
                *info = k as i32 + 1;
            }
            continue;
        }
        lu.swap_rows(k, best);
        let (head, tail) = lu.data.split_at_mut((k + 1) * cols);
        let row = &head[k * cols..][..columns.end];
        dispatch(
            #[inline(always)]
            || {
                for below in tail.chunks_exact_mut(cols) {
                    let factor = below[k] / row[k];
                    below[k] = factor;
                    if factor != zero {
                        subtract(&mut below[k + 1..columns.end], factor, &row[k + 1..]);
                    }
                }
            },
        );
    }
}

/// `getrs`.
pub(crate) fn solve_lu<T: MatrixNumber>(
    lu: &Matrix<T>,
    pivots: &[i32],
    mut b: Matrix<T>,
) -> Matrix<T> {
    for (i, &pivot) in pivots.iter().enumerate() {
        let to = pivot as usize;
        if pivot >= 1 && to <= b.rows && i < b.rows {
            b.swap_rows(i, to - 1);
        }
    }
    substitute(lu, false, true, &mut b);
    substitute(lu, true, false, &mut b);
    b
}

/// `getrs` for the conjugate transpose: the solution of `Aᴴ X = B`.
pub(crate) fn solve_lu_adjoint<T: MatrixNumber>(
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
pub(crate) fn substitute<T: MatrixNumber>(
    a: &Matrix<T>,
    upper: bool,
    unit: bool,
    b: &mut Matrix<T>,
) {
    let (n, cols) = (b.rows, b.cols);
    if cols == 0 {
        return;
    }
    let blocks = n.div_ceil(BLOCK);
    for step in 0..blocks {
        let from = BLOCK * if upper { blocks - 1 - step } else { step };
        let to = n.min(from + BLOCK);
        let (head, rest) = b.data.split_at_mut(from * cols);
        let (rows, tail) = rest.split_at_mut((to - from) * cols);
        let (known, first) = if upper { (&*tail, to) } else { (&*head, 0) };
        if !known.is_empty() {
            let known = MatRef::from_row_major_slice(known, known.len() / cols, cols);
            let factors = a.faer().submatrix(from, first, to - from, known.nrows());
            let rows = MatMut::from_row_major_slice_mut(&mut *rows, to - from, cols);
            subtract_product(rows, factors, known);
        }
        substitute_block(a, from, upper, unit, rows, cols);
    }
}

/// [`substitute`] within a block of rows, from row `from` on.
fn substitute_block<T: MatrixNumber>(
    a: &Matrix<T>,
    from: usize,
    upper: bool,
    unit: bool,
    rows: &mut [T],
    cols: usize,
) {
    let n = rows.len() / cols;
    dispatch(
        #[inline(always)]
        || {
            for step in 0..n {
                let i = if upper { n - 1 - step } else { step };
                let factors = &a.data[(from + i) * a.cols + from..][..n];
                let (head, rest) = rows.split_at_mut(i * cols);
                let (row, tail) = rest.split_at_mut(cols);
                let (factors, known) =
                    if upper { (&factors[i + 1..], &*tail) } else { (&factors[..i], &*head) };
                for (&factor, other) in factors.iter().zip(known.chunks_exact(cols)) {
                    subtract(row, factor, other);
                }
                if !unit {
                    let pivot = a[(from + i, from + i)];
                    row.iter_mut().for_each(|x| *x /= pivot);
                }
            }
        },
    );
}

/// `geqrf`: reflections below the diagonal, R on and above it, and the factors of the reflections.
pub(crate) fn geqrf<T: MatrixNumber>(mut a: Matrix<T>) -> (Matrix<T>, Vec<T>) {
    let count = a.rows.min(a.cols);
    let (mut factors, mut sums) = (Vec::with_capacity(count), Vec::new());
    for i in 0..count {
        let mut column = a.column_from(i);
        let (tau, beta) = reflector(&mut column);
        for (row, &x) in (i + 1..).zip(&column[1..]) {
            a[(row, i)] = x;
        }
        column[0] = T::of_real(1.0);
        reflect(&column, tau.conjugate(), &mut a, i + 1, &mut sums);
        if let Some(beta) = beta {
            a[(i, i)] = beta;
        }
        factors.push(tau);
    }
    (a, factors)
}

/// `larfg`: makes a reflection of a column; its factor and what the column becomes.
fn reflector<T: MatrixNumber>(column: &mut [T]) -> (T, Option<T>) {
    let Some((&alpha, rest)) = column.split_first() else { return (T::of_real(0.0), None) };
    // NaN is greater than any number: it must not be taken for nothing.
    let greater = |max: f64, x: f64| if max.is_nan() || max > x { max } else { x };
    let scale = rest.iter().map(|x| x.size()).fold(0.0, greater);
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

/// `A -= factor · v · (vᴴ A)` for as many last rows as `v` has elements, and the columns from `left` on.
/// Row by row, so that columns are computed side by side; `sums` is room for one row.
pub(crate) fn reflect<T: MatrixNumber>(
    v: &[T],
    factor: T,
    a: &mut Matrix<T>,
    left: usize,
    sums: &mut Vec<T>,
) {
    if left >= a.cols {
        return;
    }
    let below = &mut a.data[(a.rows - v.len()) * a.cols..];
    sums.clear();
    sums.resize(a.cols - left, T::of_real(0.0));
    dispatch(
        #[inline(always)]
        || {
            for (row, &v) in below.chunks_exact(a.cols).zip(v) {
                let v = v.conjugate();
                sums.iter_mut().zip(&row[left..]).for_each(|(sum, &x)| *sum += v * x);
            }
            sums.iter_mut().for_each(|sum| *sum = factor * *sum);
            for (row, &v) in below.chunks_exact_mut(a.cols).zip(v) {
                row[left..].iter_mut().zip(&*sums).for_each(|(x, &sum)| *x -= v * sum);
            }
        },
    );
}

/// [`reflector`] with the whole of its vector, whose first element is 1: its factor and what the column becomes.
pub(crate) fn whole_reflector<T: MatrixNumber>(column: &mut [T]) -> (T, T) {
    let (tau, beta) = reflector(column);
    let left = beta.unwrap_or(column[0]);
    column[0] = T::of_real(1.0);
    (tau, left)
}

/// R of what [`geqrf`] has factored, with so many rows.
pub(crate) fn upper<T: MatrixNumber>(packed: &Matrix<T>, rows: usize) -> Matrix<T> {
    let zero = T::of_real(0.0);
    Matrix::from_fn(rows, packed.cols, |i, j| if j < i { zero } else { packed[(i, j)] })
}

/// `A -= factor · (A v) · vᴴ` for as many last columns as `v` has elements, and the rows from `top` on.
pub(crate) fn reflect_right<T: MatrixNumber>(v: &[T], factor: T, a: &mut Matrix<T>, top: usize) {
    let left = a.cols - v.len();
    for row in a.data.chunks_exact_mut(a.cols.max(1)).skip(top) {
        let row = &mut row[left..];
        let mut sum = T::of_real(0.0);
        row.iter().zip(v).for_each(|(&x, &v)| sum += x * v);
        let sum = factor * sum;
        row.iter_mut().zip(v).for_each(|(x, v)| *x -= sum * v.conjugate());
    }
}

/// A product of reflections, vectors of the last rows and factors, times B.
pub(crate) fn product_of<T: MatrixNumber>(
    reflections: &[(Vec<T>, T)],
    mut b: Matrix<T>,
) -> Matrix<T> {
    let mut sums = Vec::new();
    for (v, factor) in reflections.iter().rev() {
        reflect(v, *factor, &mut b, 0, &mut sums);
    }
    b
}

/// `ormqr` from the left: Q, or its conjugate transpose, times B.
pub(crate) fn apply_q<T: MatrixNumber>(
    a: &Matrix<T>,
    factors: &[T],
    adjoint: bool,
    mut b: Matrix<T>,
) -> Matrix<T> {
    let (count, mut sums) = (reflections(a, factors), Vec::new());
    for step in 0..count {
        let i = if adjoint { step } else { count - 1 - step };
        let factor = if adjoint { factors[i].conjugate() } else { factors[i] };
        reflect(&reflection(a, i), factor, &mut b, 0, &mut sums);
    }
    b
}

/// `orgqr`: the first columns of Q.
pub(crate) fn columns_of_q<T: MatrixNumber>(
    a: &Matrix<T>,
    factors: &[T],
    width: usize,
) -> Matrix<T> {
    let mut q = Matrix::identity(a.rows, width);
    let mut sums = Vec::new();
    for i in (0..reflections(a, factors)).rev() {
        // Columns before this one are still those of the identity, which it leaves alone.
        reflect(&reflection(a, i), factors[i], &mut q, i, &mut sums);
    }
    q
}

/// How many reflections `geqrf` leaves below the diagonal.
fn reflections<T: MatrixNumber>(a: &Matrix<T>, factors: &[T]) -> usize {
    factors.len().min(a.cols).min(a.rows)
}

/// The vector of one of them, from the diagonal on.
fn reflection<T: MatrixNumber>(a: &Matrix<T>, i: usize) -> Vec<T> {
    let mut v = a.column_from(i);
    v[0] = T::of_real(1.0);
    v
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
    fn what_is_factored_in_blocks_is_what_was_given() {
        for (rows, cols) in [(33, 33), (70, 70), (100, 40), (40, 100), (64, 65)] {
            let a = Matrix::<f64>::from_fn(rows, cols, |i, j| {
                ((i * 37 + j * 11 + i * j * 7 + i * i * j) % 101) as f64
            });
            let Lu { lu, pivots, info } = Lu::new(a.clone());
            assert_eq!((pivots.len(), info), (rows.min(cols), 0));
            let n = rows.min(cols);
            let lower = Matrix::from_fn(rows, n, |i, j| match i.cmp(&j) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => lu[(i, j)],
            });
            assert!(lower.data.iter().all(|x| x.abs() <= 1.0), "pivots are the greatest");
            let upper = Matrix::from_fn(n, cols, |i, j| if i <= j { lu[(i, j)] } else { 0.0 });
            let product = lower.times(&upper);
            for (row, from) in row_order(&pivots, rows).into_iter().enumerate() {
                for j in 0..cols {
                    assert!((product[(row, j)] - a[(from, j)]).abs() < 1e-10, "{rows} x {cols}");
                }
            }
        }
    }

    #[test]
    fn triangles_of_several_blocks_are_solved() {
        let n = 75;
        let number = |i: usize, j: usize| ((i * 31 + j * 17) % 23) as f64 / 100.0;
        let a = Matrix::<f64>::from_fn(n, n, |i, j| number(i, j) + f64::from(u8::from(i == j)));
        for (upper, unit) in [(true, false), (true, true), (false, false), (false, true)] {
            let triangle = Matrix::from_fn(n, n, |i, j| match (i == j, upper == (i < j)) {
                (true, _) => {
                    if unit {
                        1.0
                    } else {
                        a[(i, j)]
                    }
                }
                (false, true) => a[(i, j)],
                (false, false) => 0.0,
            });
            let x = Matrix::from_fn(n, 3, |i, j| number(j, i) - 0.1);
            let mut b = triangle.times(&x);
            substitute(&a, upper, unit, &mut b);
            let near = b.data.iter().zip(&x.data).all(|(found, x)| (found - x).abs() < 1e-8);
            assert!(near, "{upper} {unit}");
        }
    }

    #[test]
    fn r_has_the_signs_of_lapack_and_q_is_orthogonal() {
        let a = matrix(3, 2, &[3.0, 1.0, 4.0, 2.0, 0.0, 5.0]);
        let (qr, tau) = geqrf(a.clone());
        assert_eq!(qr[(0, 0)], -5.0);
        let q = apply_q(&qr, &tau, false, Matrix::identity(3, 3));
        let back = apply_q(&qr, &tau, true, q);
        for (at, x) in back.data.iter().enumerate() {
            assert!((x - f64::from(u8::from(at % 4 == 0))).abs() < 1e-15);
        }
    }

    #[test]
    fn columns_of_q_are_those_of_the_identity_reflected() {
        for (rows, cols, width) in
            [(1, 1, 1), (3, 2, 2), (3, 2, 3), (20, 9, 9), (5, 9, 5), (9, 4, 2)]
        {
            let a = Matrix::<f64>::from_fn(rows, cols, |i, j| ((i * 7 + j * 13) % 11) as f64 - 4.5);
            let (packed, factors) = geqrf(a.clone());
            let found = columns_of_q(&packed, &factors, width);
            let expected = apply_q(&packed, &factors, false, Matrix::identity(rows, width));
            let near = found.data.iter().zip(&expected.data).all(|(a, b)| (a - b).abs() < 1e-14);
            assert!(near && (found.rows, found.cols) == (rows, width), "{rows} x {cols}");
        }
    }
}

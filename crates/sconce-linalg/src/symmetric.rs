//! Eigenvalues and eigenvectors of small Hermitian matrices, whose vectors have LAPACK's signs: the steps of
//! `syevd` for up to [`MOST`] rows, a reduction to three diagonals (`sytrd`) and implicit QL (`steqr`).

use crate::dense::{Matrix, MatrixNumber};
use crate::lapack::{product_of, reflect, reflect_right, whole_reflector};
use crate::rotations::{Precision, Rotation, rotation_of_longer};

/// So many rows `stedc` gives to `steqr`; it divides greater matrices.
pub(crate) const MOST: usize = 25;

/// Eigenvalues from the least, and eigenvectors as columns, of a Hermitian matrix; `None` where they do not
/// converge. Which triangle was given decides about signs.
pub(crate) fn eigen<T: MatrixNumber>(
    a: &Matrix<T>,
    lower: bool,
    precision: Precision,
) -> Option<(Vec<f64>, Matrix<T>)> {
    let n = a.rows;
    // What begins at the last row for an upper triangle is the same with rows and columns reversed.
    let given = if lower { a.clone() } else { reversed(a) };
    let (mut diagonals, reflections) = tridiagonal(given);
    if !lower {
        diagonals.d.reverse();
        diagonals.e.reverse();
    }
    let rows = diagonals.solve(precision)?;
    let vectors = Matrix::from_fn(n, n, |i, j| T::of_real(rows[(j, i)]));
    let vectors = match lower {
        true => product_of(&reflections, vectors),
        false => flipped(&product_of(&reflections, flipped(&vectors))),
    };
    Some((diagonals.d, vectors))
}

/// With the order of rows and columns reversed.
fn reversed<T: MatrixNumber>(a: &Matrix<T>) -> Matrix<T> {
    Matrix::from_fn(a.rows, a.cols, |i, j| a[(a.rows - 1 - i, a.cols - 1 - j)])
}

/// With the order of rows reversed.
fn flipped<T: MatrixNumber>(a: &Matrix<T>) -> Matrix<T> {
    Matrix::from_fn(a.rows, a.cols, |i, j| a[(a.rows - 1 - i, j)])
}

/// `sytd2` of the lower triangle: T of `A = Q T Qᴴ` and the reflections whose product Q is.
fn tridiagonal<T: MatrixNumber>(mut a: Matrix<T>) -> (Diagonals, Vec<(Vec<T>, T)>) {
    let n = a.rows;
    let (mut reflections, mut e, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n.saturating_sub(1) {
        let mut v: Vec<T> = (i + 1..n).map(|row| a[(row, i)]).collect();
        let (tau, left) = whole_reflector(&mut v);
        e.push(left.real_part());
        reflect(&v, tau.conjugate(), &mut a, i + 1, &mut sums);
        reflect_right(&v, tau, &mut a, i + 1);
        reflections.push((v, tau));
    }
    let d = (0..n).map(|i| a[(i, i)].real_part()).collect();
    (Diagonals { d, e }, reflections)
}

/// A symmetric matrix of three diagonals.
struct Diagonals {
    d: Vec<f64>,
    /// Beside the diagonal.
    e: Vec<f64>,
}

impl Diagonals {
    /// `steqr`: makes `d` the eigenvalues from the least. Returns the eigenvectors as rows.
    fn solve(&mut self, precision: Precision) -> Option<Matrix<f64>> {
        let n = self.d.len();
        let mut vectors = Matrix::identity(n, n);
        let mut sweeps = 30 * n;
        let mut start = 0;
        while start < n {
            let end = (start..n - 1).find(|&i| self.is_split(i, precision)).unwrap_or(n - 1);
            if let Some(split) = self.e.get_mut(end) {
                *split = 0.0;
            }
            // From the end whose number is the smaller towards the other.
            match self.d[end].abs() < self.d[start].abs() {
                false => self.ql(start, end, precision, &mut vectors, &mut sweeps)?,
                true => self.qr(start, end, precision, &mut vectors, &mut sweeps)?,
            }
            start = end + 1;
        }
        self.sort(&mut vectors);
        Some(vectors)
    }

    /// Whether what stands between rows i and i + 1 is nothing beside them, before anything is done.
    fn is_split(&self, i: usize, precision: Precision) -> bool {
        let beside = self.d[i].abs().sqrt() * self.d[i + 1].abs().sqrt();
        self.e[i].abs() <= beside * precision.epsilon()
    }

    fn has_converged(&self, i: usize, precision: Precision) -> bool {
        let beside = precision.epsilon().powi(2) * self.d[i].abs() * self.d[i + 1].abs();
        self.e[i] * self.e[i] <= beside + precision.smallest()
    }

    /// Finds the eigenvalues of rows `l` to `end` from the first on.
    fn ql(
        &mut self,
        mut l: usize,
        end: usize,
        precision: Precision,
        vectors: &mut Matrix<f64>,
        sweeps: &mut usize,
    ) -> Option<()> {
        while l <= end {
            let m = (l..end).find(|&i| self.has_converged(i, precision)).unwrap_or(end);
            if m < end {
                self.e[m] = 0.0;
            }
            if m == l {
                l += 1;
                continue;
            }
            if m == l + 1 {
                self.solve_pair(l, vectors);
                l += 2;
                continue;
            }
            *sweeps = sweeps.checked_sub(1)?;
            let (d, e) = (&mut self.d, &mut self.e);
            let shift = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let mut g = d[m] - d[l] + e[l] / (shift + shift.hypot(1.0).copysign(shift));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            for i in (l..m).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                let r;
                (c, s, r) = rotation_of_longer(g, f);
                if i != m - 1 {
                    e[i + 1] = r;
                }
                let q = d[i + 1] - p;
                let r = (d[i] - q) * s + 2.0 * c * b;
                p = s * r;
                d[i + 1] = q + p;
                g = c * r - b;
                Rotation { at: i, c, s: -s }.apply(vectors);
            }
            d[l] -= p;
            e[l] = g;
        }
        Some(())
    }

    /// Finds the eigenvalues of rows `first` to `l` from the last on.
    fn qr(
        &mut self,
        first: usize,
        l: usize,
        precision: Precision,
        vectors: &mut Matrix<f64>,
        sweeps: &mut usize,
    ) -> Option<()> {
        // One more than the row, so that it can pass the first.
        let mut next = l + 1;
        while next > first {
            let l = next - 1;
            let m = (first..l)
                .rev()
                .find(|&i| self.has_converged(i, precision))
                .map_or(first, |i| i + 1);
            if m > first {
                self.e[m - 1] = 0.0;
            }
            if m == l {
                next -= 1;
                continue;
            }
            if m + 1 == l {
                self.solve_pair(m, vectors);
                next -= 2;
                continue;
            }
            *sweeps = sweeps.checked_sub(1)?;
            let (d, e) = (&mut self.d, &mut self.e);
            let shift = (d[l - 1] - d[l]) / (2.0 * e[l - 1]);
            let mut g = d[m] - d[l] + e[l - 1] / (shift + shift.hypot(1.0).copysign(shift));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            for i in m..l {
                let (f, b) = (s * e[i], c * e[i]);
                let r;
                (c, s, r) = rotation_of_longer(g, f);
                if i != m {
                    e[i - 1] = r;
                }
                let q = d[i] - p;
                let r = (d[i + 1] - q) * s + 2.0 * c * b;
                p = s * r;
                d[i] = q + p;
                g = c * r - b;
                Rotation { at: i, c, s }.apply(vectors);
            }
            d[l] -= p;
            e[l - 1] = g;
        }
        Some(())
    }

    /// Rows i and i + 1, which are a matrix of their own: `laev2`.
    fn solve_pair(&mut self, i: usize, vectors: &mut Matrix<f64>) {
        let (a, b, c) = (self.d[i], self.e[i], self.d[i + 1]);
        let (sum, gap, twice) = (a + c, a - c, 2.0 * b);
        let root = gap.hypot(twice);
        let (longer, shorter) = if a.abs() > c.abs() { (a, c) } else { (c, a) };
        let (first, second) = if sum == 0.0 {
            (0.5 * root, -0.5 * root)
        } else {
            let first = 0.5 * (sum + root.copysign(sum));
            (first, (longer / first) * shorter - (b / first) * b)
        };
        let along = gap + if gap >= 0.0 { root } else { -root };
        let (mut cs, mut sn) = if along.abs() > twice.abs() {
            let ratio = -twice / along;
            let sn = 1.0 / (1.0 + ratio * ratio).sqrt();
            (ratio * sn, sn)
        } else if twice == 0.0 {
            (1.0, 0.0)
        } else {
            let ratio = -along / twice;
            let cs = 1.0 / (1.0 + ratio * ratio).sqrt();
            (cs, ratio * cs)
        };
        if (sum < 0.0) != (gap >= 0.0) {
            (cs, sn) = (-sn, cs);
        }
        Rotation { at: i, c: cs, s: sn }.apply(vectors);
        (self.d[i], self.d[i + 1], self.e[i]) = (first, second, 0.0);
    }

    /// From the least eigenvalue to the greatest, each exchanged with the one that stands in its place.
    fn sort(&mut self, vectors: &mut Matrix<f64>) {
        for i in 0..self.d.len() {
            let mut least = i;
            for j in i + 1..self.d.len() {
                if self.d[j] < self.d[least] {
                    least = j;
                }
            }
            if least != i {
                self.d.swap(i, least);
                vectors.swap_rows(i, least);
            }
        }
    }
}

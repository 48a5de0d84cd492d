//! Eigenvalues and eigenvectors of small real matrices, in LAPACK's order and with its signs: the steps of
//! `geev` for up to [`MOST`] rows, `gebal`, `gehrd`, `lahqr` and `trevc`.

use num_complex::Complex64;
use sconce_kernels::dispatch;

use crate::dense::Matrix;
use crate::lapack::{product_of, reflect, reflect_right, whole_reflector};
use crate::rotations::{Precision, Rotation, rotation, rotation_of_longer};

/// Eigenvalues, and eigenvectors of length 1 as columns: none of these where they are not asked for.
pub(crate) type Decomposed = (Vec<Complex64>, Matrix<Complex64>);

/// So many rows `hseqr` gives to `lahqr`; it takes more shifts at once for greater matrices.
pub(crate) const MOST: usize = 75;

/// The eigenvalues, and the eigenvectors as columns where they are asked for; `None` where they do not
/// converge.
pub(crate) fn eigen(
    a: &Matrix<f64>,
    with_vectors: bool,
    precision: Precision,
) -> Option<Decomposed> {
    let n = a.rows;
    let mut balanced = Balanced::of(a.clone());
    let reflections = balanced.reduce();
    let Balanced { matrix, low, high, scale } = balanced;
    let zt = match with_vectors {
        true => product_of(&reflections, Matrix::identity(n, n)).transpose(),
        false => Matrix::zeros(0, n),
    };
    let mut schur = Schur { t: matrix, zt, values: vec![Complex64::ZERO; n], precision };
    schur.run(low, high)?;
    if !with_vectors {
        return Some((schur.values, Matrix::zeros(0, 0)));
    }
    let mut vectors = schur.vectors();
    for (row, by) in vectors.data.chunks_exact_mut(n).zip(&scale).take(high).skip(low) {
        row.iter_mut().for_each(|x| *x *= by);
    }
    let exchanged = scale.iter().map(|&row| row as usize).enumerate();
    exchanged.clone().take(low).rev().for_each(|(i, row)| vectors.swap_rows(i, row));
    exchanged.skip(high).for_each(|(i, row)| vectors.swap_rows(i, row));
    let vectors = schur.normalized(&vectors);
    Some((schur.values, vectors))
}

/// A matrix with eigenvalues that stand alone moved to its ends, and rows scaled to be as long as columns.
struct Balanced {
    matrix: Matrix<f64>,
    /// Rows from `low` up to `high` do not stand alone.
    low: usize,
    high: usize,
    /// Of each of these rows its factor; of each other the row that it was exchanged with.
    scale: Vec<f64>,
}

impl Balanced {
    /// `gebal`.
    fn of(matrix: Matrix<f64>) -> Balanced {
        let n = matrix.rows;
        let mut balanced = Balanced { matrix, low: 0, high: n, scale: vec![1.0; n] };
        while let Some(row) = balanced.row_alone() {
            balanced.high -= 1;
            balanced.exchange(row, balanced.high);
            if balanced.high == 0 {
                (balanced.high, balanced.scale[0]) = (1, 1.0);
                return balanced;
            }
        }
        while let Some(column) = balanced.column_alone() {
            balanced.exchange(column, balanced.low);
            balanced.low += 1;
        }
        while balanced.scale_rows() {}
        balanced
    }

    /// The last row with nothing beside the diagonal.
    fn row_alone(&self) -> Option<usize> {
        let among = 0..self.high;
        let nothing = |i: usize, j: usize| i == j || self.matrix[(i, j)] == 0.0;
        among.clone().rev().find(|&i| among.clone().all(|j| nothing(i, j)))
    }

    /// The first column with nothing beside the diagonal.
    fn column_alone(&self) -> Option<usize> {
        let among = self.low..self.high;
        let nothing = |i: usize, j: usize| i == j || self.matrix[(i, j)] == 0.0;
        among.clone().find(|&j| among.clone().all(|i| nothing(i, j)))
    }

    fn exchange(&mut self, i: usize, to: usize) {
        self.scale[to] = i as f64;
        self.matrix.swap_rows(i, to);
        for row in self.matrix.data.chunks_exact_mut(self.matrix.cols) {
            row.swap(i, to);
        }
    }

    /// Multiplies columns by powers of two, and divides their rows, where that makes both shorter; whether any.
    fn scale_rows(&mut self) -> bool {
        // Far from where numbers end.
        const MOST: f64 = 1e150;
        let (low, high) = (self.low, self.high);
        let mut changed = false;
        for i in low..high {
            let a = &self.matrix;
            let length = |x: f64, y: f64| x.hypot(y);
            let mut c = (low..high).map(|k| a[(k, i)]).fold(0.0, length);
            let mut r = (low..high).map(|k| a[(i, k)]).fold(0.0, length);
            if c == 0.0 || r == 0.0 {
                continue;
            }
            let (sum, mut factor) = (c + r, 1f64);
            while c < r / 2.0 && factor.max(c) < MOST && r > 1.0 / MOST {
                (factor, c, r) = (factor * 2.0, c * 2.0, r / 2.0);
            }
            while c / 2.0 >= r && r < MOST && factor.min(c) > 1.0 / MOST {
                (factor, c, r) = (factor / 2.0, c / 2.0, r * 2.0);
            }
            let scale = self.scale[i] * factor;
            if c + r >= 0.95 * sum || !(1.0 / MOST..MOST).contains(&scale) {
                continue;
            }
            (self.scale[i], changed) = (scale, true);
            let n = self.matrix.cols;
            self.matrix.data[i * n..(i + 1) * n].iter_mut().for_each(|x| *x /= factor);
            self.matrix.data.iter_mut().skip(i).step_by(n).for_each(|x| *x *= factor);
        }
        changed
    }

    /// `gehrd`: leaves nothing below the diagonal but beside it. Returns the reflections that do so.
    fn reduce(&mut self) -> Vec<(Vec<f64>, f64)> {
        let a = &mut self.matrix;
        let n = a.rows;
        let (mut reflections, mut sums) = (Vec::new(), Vec::new());
        for i in self.low..self.high.saturating_sub(2) {
            let mut v: Vec<f64> = (i + 1..n).map(|row| a[(row, i)]).collect();
            let (tau, left) = whole_reflector(&mut v[..self.high - i - 1]);
            a[(i + 1, i)] = left;
            (i + 2..n).for_each(|row| a[(row, i)] = 0.0);
            reflect_right(&v, tau, a, 0);
            reflect(&v, tau, a, i + 1, &mut sums);
            reflections.push((v, tau));
        }
        reflections
    }
}

/// T of `A = Z T Zᵀ`, with blocks of one or two rows on its diagonal.
struct Schur {
    t: Matrix<f64>,
    /// The transpose of Z; without rows where no vectors are asked for.
    zt: Matrix<f64>,
    values: Vec<Complex64>,
    precision: Precision,
}

impl Schur {
    /// What roundings amount to: twice the greatest one.
    fn ulp(&self) -> f64 {
        2.0 * self.precision.epsilon()
    }

    /// `lahqr`.
    fn run(&mut self, low: usize, high: usize) -> Option<()> {
        for i in (0..low).chain(high..self.t.rows) {
            self.values[i] = self.t[(i, i)].into();
        }
        // One more than the last row that is left.
        let mut end = high;
        while end > low {
            let (mut sweeps, i) = (0usize, end - 1);
            loop {
                let l = self.split(low, i, high);
                if l > low {
                    self.t[(l, l - 1)] = 0.0;
                }
                if l + 1 >= i {
                    self.finish(l, i);
                    end = l;
                    break;
                }
                sweeps += 1;
                if sweeps > 30 * (high - low).max(10) {
                    return None;
                }
                self.sweep(l, i, sweeps);
            }
        }
        Some(())
    }

    /// The first row of the block that row i belongs to.
    fn split(&self, low: usize, i: usize, high: usize) -> usize {
        let (t, ulp) = (&self.t, self.ulp());
        let nothing = self.precision.smallest() * ((high - low) as f64 / ulp);
        let is_split = |k: usize| {
            let below = t[(k, k - 1)].abs();
            if below <= nothing {
                return true;
            }
            let mut beside = t[(k - 1, k - 1)].abs() + t[(k, k)].abs();
            if beside == 0.0 {
                if k >= low + 2 {
                    beside += t[(k - 1, k - 2)].abs();
                }
                if k + 1 < high {
                    beside += t[(k + 1, k)].abs();
                }
            }
            if below > ulp * beside {
                return false;
            }
            let above = t[(k - 1, k)].abs();
            let (ab, ba) = (below.max(above), below.min(above));
            let (last, gap) = (t[(k, k)].abs(), (t[(k - 1, k - 1)] - t[(k, k)]).abs());
            let (aa, bb) = (last.max(gap), last.min(gap));
            let s = aa + ab;
            ba * (ab / s) <= nothing.max(ulp * (bb * (aa / s)))
        };
        (low + 1..=i).rev().find(|&k| is_split(k)).unwrap_or(low)
    }

    /// Two shifts at once through rows l to i.
    fn sweep(&mut self, l: usize, i: usize, sweeps: usize) {
        let n = self.t.rows;
        let [first, second] = self.shifts(l, i, sweeps);
        let t = &self.t;
        let mut m = i - 2;
        let mut v = loop {
            let below = t[(m + 1, m)];
            let s = (t[(m, m)] - second.re).abs() + second.im.abs() + below.abs();
            let h = below / s;
            let mut v = [
                h * t[(m, m + 1)] + (t[(m, m)] - first.re) * ((t[(m, m)] - second.re) / s)
                    - first.im * (second.im / s),
                h * (t[(m, m)] + t[(m + 1, m + 1)] - first.re - second.re),
                h * t[(m + 2, m + 1)],
            ];
            let s = v[0].abs() + v[1].abs() + v[2].abs();
            v.iter_mut().for_each(|x| *x /= s);
            if m == l {
                break v;
            }
            let around = t[(m - 1, m - 1)].abs() + t[(m, m)].abs() + t[(m + 1, m + 1)].abs();
            let left = t[(m, m - 1)].abs() * (v[1].abs() + v[2].abs());
            if left <= self.ulp() * v[0].abs() * around {
                break v;
            }
            m -= 1;
        };
        for k in m..i {
            let rows = (i - k + 1).min(3);
            if k > m {
                (0..rows).for_each(|r| v[r] = self.t[(k + r, k - 1)]);
            }
            let (tau, left) = whole_reflector(&mut v[..rows]);
            if k > m {
                self.t[(k, k - 1)] = left;
                (1..rows).for_each(|r| self.t[(k + r, k - 1)] = 0.0);
            } else if m > l {
                self.t[(k, k - 1)] *= 1.0 - tau;
            }
            let v = &v[..rows];
            reflect_rows(&mut self.t, k, v, tau, k);
            for row in self.t.data.chunks_exact_mut(n).take((k + 4).min(i + 1)) {
                let row = &mut row[k..k + rows];
                let sum: f64 = row.iter().zip(v).map(|(x, v)| x * v).sum();
                row.iter_mut().zip(v).for_each(|(x, v)| *x -= sum * tau * v);
            }
            if self.zt.rows > 0 {
                reflect_rows(&mut self.zt, k, v, tau, 0);
            }
        }
    }

    /// The eigenvalues of the last two rows, or something else now and then, which ends circles.
    fn shifts(&self, l: usize, i: usize, sweeps: usize) -> [Complex64; 2] {
        let t = &self.t;
        let other = |s: f64, on: f64| (0.75 * s + on, s, -0.4375 * s, 0.75 * s + on);
        let (h11, h21, h12, h22) = if sweeps.is_multiple_of(20) {
            other(t[(i, i - 1)].abs() + t[(i - 1, i - 2)].abs(), t[(i, i)])
        } else if sweeps.is_multiple_of(10) {
            other(t[(l + 1, l)].abs() + t[(l + 2, l + 1)].abs(), t[(l, l)])
        } else {
            (t[(i - 1, i - 1)], t[(i, i - 1)], t[(i - 1, i)], t[(i, i)])
        };
        let s = h11.abs() + h12.abs() + h21.abs() + h22.abs();
        if s == 0.0 {
            return [Complex64::ZERO; 2];
        }
        let (h11, h21, h12, h22) = (h11 / s, h21 / s, h12 / s, h22 / s);
        let middle = (h11 + h22) / 2.0;
        let det = (h11 - middle) * (h22 - middle) - h12 * h21;
        let root = det.abs().sqrt();
        if det >= 0.0 {
            let value = Complex64::new(middle * s, root * s);
            return [value, value.conj()];
        }
        let (above, below) = (middle + root, middle - root);
        let nearer = if (above - h22).abs() <= (below - h22).abs() { above } else { below };
        [Complex64::from(nearer * s); 2]
    }

    /// Rows l to i, one or two, whose eigenvalues are found.
    fn finish(&mut self, l: usize, i: usize) {
        if l == i {
            self.values[i] = self.t[(i, i)].into();
            return;
        }
        let t = &mut self.t;
        let pair = Pair::of(t[(l, l)], t[(l, i)], t[(i, l)], t[(i, i)], self.precision.epsilon());
        let (c, s) = (pair.c, pair.s);
        ((t[(l, l)], t[(l, i)]), (t[(i, l)], t[(i, i)])) = (pair.above, pair.below);
        for j in i + 1..t.cols {
            (t[(l, j)], t[(i, j)]) = (c * t[(l, j)] + s * t[(i, j)], c * t[(i, j)] - s * t[(l, j)]);
        }
        for row in t.data.chunks_exact_mut(t.cols).take(l) {
            (row[l], row[i]) = (c * row[l] + s * row[i], c * row[i] - s * row[l]);
        }
        if self.zt.rows > 0 {
            Rotation { at: l, c, s }.apply(&mut self.zt);
        }
        let root = pair.above.1.abs().sqrt() * pair.below.0.abs().sqrt();
        self.values[l] = Complex64::new(pair.above.0, root);
        self.values[i] = Complex64::new(pair.below.1, -root);
    }

    /// `trevc`: the eigenvectors as columns; of two that are conjugate the first has real parts and the
    /// second imaginary ones.
    fn vectors(&self) -> Matrix<f64> {
        let n = self.t.rows;
        let mut vectors = Matrix::zeros(n, n);
        let mut at = n;
        while at > 0 {
            let last = at - 1;
            let is_pair = last > 0 && self.t[(last, last - 1)] != 0.0;
            let first = if is_pair { last - 1 } else { last };
            for (x, z) in self.vector_of_t(first, last).iter().zip(self.zt.data.chunks_exact(n)) {
                let mut add = |row: usize, by: f64| {
                    let row = &mut vectors.data[row * n..(row + 1) * n];
                    row.iter_mut().zip(z).for_each(|(number, z)| *number += by * z);
                };
                add(first, x.re);
                if is_pair {
                    add(last, x.im);
                }
            }
            at = first;
        }
        vectors.transpose()
    }

    /// An eigenvector of T for the value of the block of rows `first` to `last`.
    fn vector_of_t(&self, first: usize, last: usize) -> Vec<Complex64> {
        let (t, value) = (&self.t, self.values[first]);
        let mut x = vec![Complex64::ZERO; last + 1];
        if first == last {
            x[last] = Complex64::ONE;
        } else if t[(first, last)].abs() >= t[(last, first)].abs() {
            x[first] = Complex64::ONE;
            x[last] = Complex64::new(0.0, value.im / t[(first, last)]);
        } else {
            x[first] = Complex64::new(-value.im / t[(last, first)], 0.0);
            x[last] = Complex64::I;
        }
        for k in 0..first {
            x[k] = -(first..=last).fold(Complex64::ZERO, |sum, j| sum + x[j] * t[(k, j)]);
        }
        let least = (self.ulp() * (value.re.abs() + value.im.abs())).max(1e-150);
        let nonzero = |x: Complex64| if x.norm() < least { Complex64::from(least) } else { x };
        let mut at = first;
        while at > 0 {
            let j = at - 1;
            let is_pair = j > 0 && t[(j, j - 1)] != 0.0;
            let i = if is_pair { j - 1 } else { j };
            if is_pair {
                let (a, d) = (t[(i, i)] - value, t[(j, j)] - value);
                let (b, c) = (t[(i, j)], t[(j, i)]);
                let det = a * d - b * c;
                let det = if det.norm() < least * least { Complex64::from(least) } else { det };
                (x[i], x[j]) = ((d * x[i] - b * x[j]) / det, (a * x[j] - c * x[i]) / det);
            } else {
                x[j] /= nonzero(t[(j, j)] - value);
            }
            for k in 0..i {
                x[k] = (i..=j).fold(x[k], |sum, j| sum - x[j] * t[(k, j)]);
            }
            // Numbers of defective matrices grow without end.
            let greatest = x.iter().fold(0.0, |max: f64, x| max.max(x.norm()));
            if greatest > 1e100 {
                x.iter_mut().for_each(|x| *x /= greatest);
            }
            at = i;
        }
        x
    }

    /// Vectors of length 1, complex ones with a greatest component that is real: what `geev` returns.
    fn normalized(&self, vectors: &Matrix<f64>) -> Matrix<Complex64> {
        let n = vectors.cols;
        let mut complex = Matrix::zeros(n, n);
        let mut j = 0;
        while j < n {
            let is_pair = self.values[j].im != 0.0;
            let part = |i: usize, k: usize| if k == j || is_pair { vectors[(i, k)] } else { 0.0 };
            let of =
                |i: usize| Complex64::new(part(i, j), if is_pair { part(i, j + 1) } else { 0.0 });
            let length = (0..n).fold(0.0, |sum: f64, i| sum.hypot(of(i).norm()));
            let mut greatest = 0;
            for i in 1..n {
                if of(i).norm_sqr() > of(greatest).norm_sqr() {
                    greatest = i;
                }
            }
            // Which way round is MKL's choice, which differs between the two.
            let (c, s, _) = match self.precision {
                _ if !is_pair => (1.0, 0.0, 0.0),
                Precision::Single => rotation(of(greatest).re, of(greatest).im),
                Precision::Double => rotation_of_longer(of(greatest).re, of(greatest).im),
            };
            for i in 0..n {
                let number = of(i) * Complex64::new(c, -s) / length;
                complex[(i, j)] = number;
                if is_pair {
                    let im = if i == greatest { 0.0 } else { number.im };
                    complex[(i, j)].im = im;
                    complex[(i, j + 1)] = complex[(i, j)].conj();
                }
            }
            j += if is_pair { 2 } else { 1 };
        }
        complex
    }
}

/// `A -= factor · v · (vᵀ A)` of two or three rows from `at` on, and the columns from `left` on.
fn reflect_rows(a: &mut Matrix<f64>, at: usize, v: &[f64], factor: f64, left: usize) {
    let (first, rest) = a.data[at * a.cols..].split_at_mut(a.cols);
    let (second, rest) = rest.split_at_mut(a.cols);
    let (first, second) = (&mut first[left..], &mut second[left..]);
    dispatch(
        #[inline(always)]
        || {
            let pairs = first.iter_mut().zip(second);
            if let &[v0, v1, v2] = v {
                for ((x, y), z) in pairs.zip(&mut rest[left..]) {
                    let sum = factor * (v0 * *x + v1 * *y + v2 * *z);
                    (*x, *y, *z) = (*x - sum * v0, *y - sum * v1, *z - sum * v2);
                }
            } else {
                for (x, y) in pairs {
                    let sum = factor * (v[0] * *x + v[1] * *y);
                    (*x, *y) = (*x - sum * v[0], *y - sum * v[1]);
                }
            }
        },
    );
}

/// `lanv2`: two rows turned until one number below the diagonal is nothing, or both on it are equal.
struct Pair {
    c: f64,
    s: f64,
    above: (f64, f64),
    below: (f64, f64),
}

impl Pair {
    fn of(a: f64, b: f64, c: f64, d: f64, epsilon: f64) -> Pair {
        let sign = |x: f64| 1f64.copysign(x);
        let pair = |c: f64, s: f64, above, below| Pair { c, s, above, below };
        if c == 0.0 {
            return pair(1.0, 0.0, (a, b), (c, d));
        }
        if b == 0.0 {
            return pair(0.0, 1.0, (d, -c), (0.0, a));
        }
        if a - d == 0.0 && sign(b) != sign(c) {
            return pair(1.0, 0.0, (a, b), (c, d));
        }
        let gap = a - d;
        let p = 0.5 * gap;
        let greater = b.abs().max(c.abs());
        let less = b.abs().min(c.abs()) * sign(b) * sign(c);
        let scale = p.abs().max(greater);
        let z = (p / scale) * p + (greater / scale) * less;
        if z >= 8.0 * epsilon {
            let z = p + (scale.sqrt() * z.sqrt()).copysign(p);
            let length = c.hypot(z);
            return pair(z / length, c / length, (d + z, b - c), (0.0, d - (greater / z) * less));
        }
        let sigma = b + c;
        let length = sigma.hypot(gap);
        let cs = (0.5 * (1.0 + sigma.abs() / length)).sqrt();
        let sn = -(p / (length * cs)) * sign(sigma);
        let (aa, bb) = (a * cs + b * sn, b * cs - a * sn);
        let (cc, dd) = (c * cs + d * sn, d * cs - c * sn);
        let (a, b) = (aa * cs + cc * sn, bb * cs + dd * sn);
        let (c, d) = (cc * cs - aa * sn, dd * cs - bb * sn);
        let middle = 0.5 * (a + d);
        if c == 0.0 {
            return pair(cs, sn, (middle, b), (0.0, middle));
        }
        if b == 0.0 {
            return pair(-sn, cs, (middle, -c), (0.0, middle));
        }
        if sign(b) != sign(c) {
            return pair(cs, sn, (middle, b), (c, middle));
        }
        // Two real values after all.
        let (sab, sac) = (b.abs().sqrt(), c.abs().sqrt());
        let p = (sab * sac).copysign(c);
        let by = 1.0 / (b + c).abs().sqrt();
        let (c1, s1) = (sab * by, sac * by);
        pair(cs * c1 - sn * s1, cs * s1 + sn * c1, (middle + p, b - c), (0.0, middle - p))
    }
}

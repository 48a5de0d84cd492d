//! Singular values and vectors of matrices with a short side, whose vectors have LAPACK's signs: the steps of
//! `gesdd` for sides of up to [`MOST`], a reduction to two diagonals (`gebrd`) and implicit QR (`bdsqr`).

use crate::dense::{Matrix, MatrixNumber};
use crate::lapack::{apply_q, geqrf, product_of, reflect, reflect_right, upper, whole_reflector};
use crate::rotations::{Precision, Rotation, rotation};

/// So many values `bdsdc` gives to `lasdq`; it divides greater matrices.
pub(crate) const MOST: usize = 25;

/// U, the singular values from the greatest, and Vᴴ; `None` where they do not converge. Of both sides as many
/// vectors as there are values, or all.
pub(crate) fn singular<T: MatrixNumber>(
    a: &Matrix<T>,
    full: bool,
    precision: Precision,
) -> Option<(Matrix<T>, Vec<f64>, Matrix<T>)> {
    let (m, n) = (a.rows, a.cols);
    let (u, values, v) = if by_triangle::<T>(m, n) {
        let long = geqrf(a.clone());
        let (u, values, v) = of_triangle(upper(&long.0, n), precision)?;
        (extended(&long, u, full), values, v)
    } else if T::IS_COMPLEX && by_triangle::<T>(n, m) {
        let long = geqrf(a.adjoint());
        let (u, values, v) = of_triangle(upper(&long.0, m).adjoint(), precision)?;
        (u, values, extended(&long, v, full))
    } else {
        let Reduced { bands, left, right } = Reduced::of(a.clone());
        let (ut, vt, values) = bands.solve(m < n, precision)?;
        let width = |side: usize| if full { side } else { values.len() };
        let u = product_of(&left, vectors(&ut, m, width(m)));
        let v = product_of(&right, vectors(&vt, n, width(n)));
        (u, values, v)
    };
    Some((u, values, v.adjoint()))
}

/// Whether a triangle is made of so many rows and columns first: of complex numbers where LAPACK does so, and
/// of real ones where MKL does.
fn by_triangle<T: MatrixNumber>(rows: usize, cols: usize) -> bool {
    if T::IS_COMPLEX { rows >= cols * 17 / 9 && rows > cols } else { rows > cols }
}

/// U, the values and V of a square matrix.
fn of_triangle<T: MatrixNumber>(
    a: Matrix<T>,
    precision: Precision,
) -> Option<(Matrix<T>, Vec<f64>, Matrix<T>)> {
    let n = a.rows;
    let Reduced { bands, left, right } = Reduced::of(a);
    let (ut, vt, values) = bands.solve(false, precision)?;
    Some((product_of(&left, vectors(&ut, n, n)), values, product_of(&right, vectors(&vt, n, n))))
}

/// Q times vectors of R, and the columns of Q that R leaves out where `full`.
fn extended<T: MatrixNumber>(
    (packed, factors): &(Matrix<T>, Vec<T>),
    of_r: Matrix<T>,
    full: bool,
) -> Matrix<T> {
    let (m, n) = (packed.rows, packed.cols);
    let wide = Matrix::from_fn(m, if full { m } else { n }, |i, j| match i < n && j < n {
        true => of_r[(i, j)],
        false => T::of_real(f64::from(i == j)),
    });
    apply_q(packed, factors, false, wide)
}

/// Vectors that are given as rows as columns, with those of the identity behind them.
fn vectors<T: MatrixNumber>(rows: &Matrix<f64>, length: usize, width: usize) -> Matrix<T> {
    Matrix::from_fn(length, width, |i, j| {
        let given = i < rows.cols && j < rows.rows;
        T::of_real(if given { rows[(j, i)] } else { f64::from(i == j) })
    })
}

/// `gebd2`: B of `A = Q B Pᴴ` and the reflections whose products Q and P are.
struct Reduced<T> {
    bands: Bands,
    left: Vec<(Vec<T>, T)>,
    right: Vec<(Vec<T>, T)>,
}

impl<T: MatrixNumber> Reduced<T> {
    fn of(mut a: Matrix<T>) -> Reduced<T> {
        let (m, n) = (a.rows, a.cols);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let (mut d, mut e) = (Vec::new(), Vec::new());
        for i in 0..m.min(n) {
            // What stands beside the diagonal is above it, or below for more columns than rows.
            if m >= n {
                d.push(reflect_column(&mut a, i, i, &mut left));
                if i + 1 < n {
                    e.push(reflect_row(&mut a, i, i + 1, &mut right));
                }
            } else {
                d.push(reflect_row(&mut a, i, i, &mut right));
                if i + 1 < m {
                    e.push(reflect_column(&mut a, i + 1, i, &mut left));
                }
            }
        }
        Reduced { bands: Bands { d, e }, left, right }
    }
}

/// Leaves one number of a column from `row` on, by a reflection of these rows.
fn reflect_column<T: MatrixNumber>(
    a: &mut Matrix<T>,
    row: usize,
    col: usize,
    reflections: &mut Vec<(Vec<T>, T)>,
) -> f64 {
    let mut v: Vec<T> = (row..a.rows).map(|i| a[(i, col)]).collect();
    let (tau, left) = whole_reflector(&mut v);
    reflect(&v, tau.conjugate(), a, col + 1, &mut Vec::new());
    reflections.push((v, tau));
    left.real_part()
}

/// Leaves one number of a row from `col` on, by a reflection of these columns.
fn reflect_row<T: MatrixNumber>(
    a: &mut Matrix<T>,
    row: usize,
    col: usize,
    reflections: &mut Vec<(Vec<T>, T)>,
) -> f64 {
    let mut v: Vec<T> = (col..a.cols).map(|j| a[(row, j)].conjugate()).collect();
    let (tau, left) = whole_reflector(&mut v);
    reflect_right(&v, tau, a, row + 1);
    reflections.push((v, tau));
    left.real_part()
}

/// A matrix of two diagonals.
struct Bands {
    d: Vec<f64>,
    /// Above the diagonal, or below it.
    e: Vec<f64>,
}

impl Bands {
    /// `bdsdc` of few rows: the left and the right vectors as rows, and the values.
    fn solve(
        self,
        lower: bool,
        precision: Precision,
    ) -> Option<(Matrix<f64>, Matrix<f64>, Vec<f64>)> {
        let Bands { mut d, mut e } = self;
        let n = d.len();
        if n == 1 {
            let one = |sign| Matrix { rows: 1, cols: 1, data: vec![sign] };
            return Some((one(1f64.copysign(d[0])), one(1.0), vec![d[0].abs()]));
        }
        let mut turned = Vec::new();
        for i in (0..n.saturating_sub(1)).take_while(|_| lower) {
            let (c, s, r) = rotation(d[i], e[i]);
            (d[i], e[i], d[i + 1]) = (r, s * d[i + 1], c * d[i + 1]);
            turned.push(Rotation { at: i, c, s: -s });
        }
        let (ut, vt) = (Matrix::identity(n, n), Matrix::identity(n, n));
        let mut iteration = Iteration { d, e, ut, vt, precision, thresh: 0.0 };
        iteration.run()?;
        // `lasdq` sorts once more, from the least, and `bdsdc` back: it decides which of equal values comes first.
        iteration.sort_by(|value, chosen| value < chosen);
        iteration.sort_by(|value, chosen| value > chosen);
        let Iteration { d, ut, vt, .. } = iteration;
        if turned.is_empty() {
            return Some((ut, vt, d));
        }
        let mut u = ut.transpose();
        turned.iter().rev().for_each(|rotation| rotation.apply(&mut u));
        Some((u.transpose(), vt, d))
    }
}

/// `bdsqr` of an upper bidiagonal matrix.
struct Iteration {
    d: Vec<f64>,
    e: Vec<f64>,
    ut: Matrix<f64>,
    vt: Matrix<f64>,
    precision: Precision,
    /// Below it what stands above the diagonal is nothing.
    thresh: f64,
}

/// From which end a sweep goes to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Down,
    Up,
}

impl Iteration {
    fn run(&mut self) -> Option<()> {
        let n = self.d.len();
        if n == 0 {
            return Some(());
        }
        let tol = self.tolerance();
        let mut least = self.d[0].abs();
        let mut mu = least;
        for i in 1..n {
            if least == 0.0 {
                break;
            }
            mu = self.d[i].abs() * (mu / (mu + self.e[i - 1].abs()));
            least = least.min(mu);
        }
        let count = n as f64;
        self.thresh =
            (tol * (least / count.sqrt())).max(6.0 * count * count * self.precision.smallest());
        let (mut left, mut last, mut direction) = (6 * n * n, n - 1, Direction::Down);
        let mut before = None;
        while last > 0 {
            // Rows `first` to `last` have something above the diagonal everywhere.
            let split = (0..last).rev().find(|&i| self.e[i].abs() <= self.thresh);
            if let Some(split) = split {
                self.e[split] = 0.0;
                if split + 1 == last {
                    last -= 1;
                    continue;
                }
            }
            let first = split.map_or(0, |split| split + 1);
            if first + 1 == last {
                self.solve_pair(first);
                last = last.saturating_sub(2);
                if first == 0 {
                    break;
                }
                continue;
            }
            if before.is_none_or(|(old_first, old_last)| first > old_last || last < old_first) {
                let is_down = self.d[first].abs() >= self.d[last].abs();
                direction = if is_down { Direction::Down } else { Direction::Up };
            }
            let Some(least) = self.split_off(first, last, direction, tol) else { continue };
            before = Some((first, last));
            let shift = self.shift(first, last, direction, tol, least);
            left = usize::checked_sub(left, last - first)?;
            match (shift, direction) {
                (None, Direction::Down) => self.sweep_down(first, last),
                (None, Direction::Up) => self.sweep_up(first, last),
                (Some(shift), Direction::Down) => self.shifted_down(first, last, shift),
                (Some(shift), Direction::Up) => self.shifted_up(first, last, shift),
            }
        }
        self.finish();
        Some(())
    }

    fn tolerance(&self) -> f64 {
        let epsilon = self.precision.epsilon();
        epsilon.powf(-0.125).clamp(10.0, 100.0) * epsilon
    }

    /// Looks for something above the diagonal that is nothing beside the singular values and makes it so;
    /// a bound of the least of these where there is none.
    fn split_off(
        &mut self,
        first: usize,
        last: usize,
        direction: Direction,
        tol: f64,
    ) -> Option<f64> {
        let (d, e) = (&self.d, &mut self.e);
        let near = if direction == Direction::Down { (last - 1, last) } else { (first, first) };
        if e[near.0].abs() <= tol * d[near.1].abs() {
            e[near.0] = 0.0;
            return None;
        }
        let step = |k: usize| match direction {
            Direction::Down => (first + k, first + k + 1),
            Direction::Up => (last - 1 - k, last - 1 - k),
        };
        let mut mu = d[if direction == Direction::Down { first } else { last }].abs();
        let mut least = mu;
        for (beside, on) in (0..last - first).map(step) {
            if e[beside].abs() <= tol * mu {
                e[beside] = 0.0;
                return None;
            }
            mu = d[on].abs() * (mu / (mu + e[beside].abs()));
            least = least.min(mu);
        }
        Some(least)
    }

    /// What is taken off before a sweep, if that leaves small values as precise as they are.
    fn shift(
        &self,
        first: usize,
        last: usize,
        direction: Direction,
        tol: f64,
        least: f64,
    ) -> Option<f64> {
        let (d, e, epsilon) = (&self.d, &self.e, self.precision.epsilon());
        let greatest = d[first..=last].iter().chain(&e[first..last]);
        let greatest = greatest.fold(0.0, |max: f64, x| max.max(x.abs()));
        if d.len() as f64 * tol * (least / greatest) <= epsilon.max(0.01 * tol) {
            return None;
        }
        let (start, shift) = match direction {
            Direction::Down => (d[first].abs(), least_of_pair(d[last - 1], e[last - 1], d[last])),
            Direction::Up => (d[last].abs(), least_of_pair(d[first], e[first], d[first + 1])),
        };
        let is_nothing = start > 0.0 && (shift / start).powi(2) < epsilon;
        (!is_nothing && shift != 0.0).then_some(shift)
    }

    fn turn(&mut self, at: usize, right: (f64, f64), left: (f64, f64)) {
        Rotation { at, c: right.0, s: right.1 }.apply(&mut self.vt);
        Rotation { at, c: left.0, s: left.1 }.apply(&mut self.ut);
    }

    /// Makes what is next to nothing nothing.
    fn clear(&mut self, at: usize) {
        if self.e[at].abs() <= self.thresh {
            self.e[at] = 0.0;
        }
    }

    fn sweep_down(&mut self, first: usize, last: usize) {
        let (mut c, mut old_c, mut old_s) = (1.0, 1.0, 0.0);
        for i in first..last {
            let (d, e) = (&mut self.d, &mut self.e);
            let (s, r, old_r);
            (c, s, r) = rotation(d[i] * c, e[i]);
            if i > first {
                e[i - 1] = old_s * r;
            }
            (old_c, old_s, old_r) = rotation(old_c * r, d[i + 1] * s);
            d[i] = old_r;
            self.turn(i, (c, s), (old_c, old_s));
        }
        let h = self.d[last] * c;
        self.d[last] = h * old_c;
        self.e[last - 1] = h * old_s;
        self.clear(last - 1);
    }

    fn sweep_up(&mut self, first: usize, last: usize) {
        let (mut c, mut old_c, mut old_s) = (1.0, 1.0, 0.0);
        for i in (first + 1..=last).rev() {
            let (d, e) = (&mut self.d, &mut self.e);
            let (s, r, old_r);
            (c, s, r) = rotation(d[i] * c, e[i - 1]);
            if i < last {
                e[i] = old_s * r;
            }
            (old_c, old_s, old_r) = rotation(old_c * r, d[i - 1] * s);
            d[i] = old_r;
            self.turn(i - 1, (old_c, -old_s), (c, -s));
        }
        let h = self.d[first] * c;
        self.d[first] = h * old_c;
        self.e[first] = h * old_s;
        self.clear(first);
    }

    fn shifted_down(&mut self, first: usize, last: usize, shift: f64) {
        let mut f = beginning(self.d[first], shift);
        let mut g = self.e[first];
        for i in first..last {
            let (d, e) = (&mut self.d, &mut self.e);
            let (c, s, r) = rotation(f, g);
            if i > first {
                e[i - 1] = r;
            }
            (f, e[i]) = (c * d[i] + s * e[i], c * e[i] - s * d[i]);
            (g, d[i + 1]) = (s * d[i + 1], c * d[i + 1]);
            let (lc, ls, r) = rotation(f, g);
            d[i] = r;
            (f, d[i + 1]) = (lc * e[i] + ls * d[i + 1], lc * d[i + 1] - ls * e[i]);
            if i + 1 < last {
                (g, e[i + 1]) = (ls * e[i + 1], lc * e[i + 1]);
            }
            self.turn(i, (c, s), (lc, ls));
        }
        self.e[last - 1] = f;
        self.clear(last - 1);
    }

    fn shifted_up(&mut self, first: usize, last: usize, shift: f64) {
        let mut f = beginning(self.d[last], shift);
        let mut g = self.e[last - 1];
        for i in (first + 1..=last).rev() {
            let (d, e) = (&mut self.d, &mut self.e);
            let (c, s, r) = rotation(f, g);
            if i < last {
                e[i] = r;
            }
            (f, e[i - 1]) = (c * d[i] + s * e[i - 1], c * e[i - 1] - s * d[i]);
            (g, d[i - 1]) = (s * d[i - 1], c * d[i - 1]);
            let (lc, ls, r) = rotation(f, g);
            d[i] = r;
            (f, d[i - 1]) = (lc * e[i - 1] + ls * d[i - 1], lc * d[i - 1] - ls * e[i - 1]);
            if i > first + 1 {
                (g, e[i - 2]) = (ls * e[i - 2], lc * e[i - 2]);
            }
            self.turn(i - 1, (lc, -ls), (c, -s));
        }
        self.e[first] = f;
        self.clear(first);
    }

    /// Rows i and i + 1, which are a matrix of their own: `lasv2`.
    fn solve_pair(&mut self, i: usize) {
        let (f, g, h) = (self.d[i], self.e[i], self.d[i + 1]);
        let pair = Pair::of(f, g, h, self.precision.epsilon());
        (self.d[i], self.d[i + 1], self.e[i]) = (pair.greater, pair.less, 0.0);
        self.turn(i, pair.right, pair.left);
    }

    /// Makes values positive and sorts them.
    fn finish(&mut self) {
        let n = self.d.len();
        for i in 0..n {
            if self.d[i] < 0.0 {
                self.d[i] = -self.d[i];
                self.vt.data[i * n..(i + 1) * n].iter_mut().for_each(|x| *x = -*x);
            }
        }
        for end in (1..n).rev() {
            let mut least = 0;
            for j in 1..=end {
                if self.d[j] <= self.d[least] {
                    least = j;
                }
            }
            self.swap(least, end);
        }
    }

    /// Sorts by selection: the first value that comes before all others is put in front, and so on.
    fn sort_by(&mut self, comes_before: impl Fn(f64, f64) -> bool) {
        let n = self.d.len();
        for start in 0..n {
            let mut chosen = start;
            for at in start + 1..n {
                if comes_before(self.d[at], self.d[chosen]) {
                    chosen = at;
                }
            }
            self.swap(start, chosen);
        }
    }

    /// Swaps two values and their vectors.
    fn swap(&mut self, a: usize, b: usize) {
        self.d.swap(a, b);
        self.vt.swap_rows(a, b);
        self.ut.swap_rows(a, b);
    }
}

/// What a sweep from `d` with a shift begins with.
fn beginning(d: f64, shift: f64) -> f64 {
    (d.abs() - shift) * (1f64.copysign(d) + shift / d)
}

/// `las2`: the lesser singular value of `[f g; 0 h]`.
fn least_of_pair(f: f64, g: f64, h: f64) -> f64 {
    let (less, greater) = (f.abs().min(h.abs()), f.abs().max(h.abs()));
    let g = g.abs();
    if less == 0.0 {
        return 0.0;
    }
    if g < greater {
        let (sum, gap, ratio) =
            (1.0 + less / greater, (greater - less) / greater, (g / greater).powi(2));
        return less * (2.0 / ((sum * sum + ratio).sqrt() + (gap * gap + ratio).sqrt()));
    }
    let ratio = greater / g;
    if ratio == 0.0 {
        return less * greater / g;
    }
    let (sum, gap) = (1.0 + less / greater, (greater - less) / greater);
    let c = 1.0 / ((1.0 + (sum * ratio).powi(2)).sqrt() + (1.0 + (gap * ratio).powi(2)).sqrt());
    2.0 * (less * c) * ratio
}

/// Singular values and vectors of `[f g; 0 h]`, with signs.
struct Pair {
    greater: f64,
    less: f64,
    /// Cosine and sine.
    left: (f64, f64),
    right: (f64, f64),
}

impl Pair {
    fn of(f: f64, g: f64, h: f64, epsilon: f64) -> Pair {
        let sign = |x: f64| 1f64.copysign(x);
        let is_swapped = h.abs() > f.abs();
        let (ft, ht) = if is_swapped { (h, f) } else { (f, h) };
        let (fa, ha, ga) = (ft.abs(), ht.abs(), g.abs());
        let (less, greater, left, right);
        // Which of the three numbers is the greatest.
        let mut is_g = false;
        if ga == 0.0 {
            (less, greater, left, right) = (ha, fa, (1.0, 0.0), (1.0, 0.0));
        } else if ga > fa && fa / ga < epsilon {
            is_g = true;
            greater = ga;
            less = if ha > 1.0 { fa / (ga / ha) } else { (fa / ga) * ha };
            (left, right) = ((1.0, ht / g), (ft / g, 1.0));
        } else {
            is_g = ga > fa;
            let gap = fa - ha;
            let l = if gap == fa { 1.0 } else { gap / fa };
            let m = g / ft;
            let t = 2.0 - l;
            let s = (t * t + m * m).sqrt();
            let r = if l == 0.0 { m.abs() } else { (l * l + m * m).sqrt() };
            let a = 0.5 * (s + r);
            (less, greater) = (ha / a, fa * a);
            let t = if m * m != 0.0 {
                (m / (s + t) + m / (r + l)) * (1.0 + a)
            } else if l == 0.0 {
                2f64.copysign(ft) * sign(g)
            } else {
                g / gap.copysign(ft) + m / t
            };
            let l = (t * t + 4.0).sqrt();
            right = (2.0 / l, t / l);
            left = ((right.0 + right.1 * m) / a, (ht / ft) * right.1 / a);
        }
        let (left, right) =
            if is_swapped { ((right.1, right.0), (left.1, left.0)) } else { (left, right) };
        let of_greater = if is_g {
            sign(right.1) * sign(left.0) * sign(g)
        } else if is_swapped {
            sign(right.1) * sign(left.1) * sign(h)
        } else {
            sign(right.0) * sign(left.0) * sign(f)
        };
        Pair {
            greater: greater.copysign(of_greater),
            less: less.copysign(of_greater * sign(f) * sign(h)),
            left,
            right,
        }
    }
}

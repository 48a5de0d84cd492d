//! Plane rotations, and how LAPACK chooses their signs, on which those of vectors depend.

use sconce_kernels::{DType, real_dtype};

use crate::dense::Matrix;

/// The dtype that a matrix is given in, which says what counts as nothing.
///
/// Iterations end by it, and each of them may turn vectors round: those of a `float32` matrix have LAPACK's
/// signs only if they end as soon as there, though everything is computed in `float64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    Single,
    Double,
}

impl Precision {
    /// That of the numbers of a dtype that linear algebra has.
    pub(crate) fn of(dtype: DType) -> Precision {
        if real_dtype(dtype) == DType::Float64 { Precision::Double } else { Precision::Single }
    }

    /// The greatest relative rounding of a number.
    pub(crate) fn epsilon(self) -> f64 {
        match self {
            Precision::Single => f64::from(f32::EPSILON) / 2.0,
            Precision::Double => f64::EPSILON / 2.0,
        }
    }

    /// A power of two to divide a matrix by whose greatest number is this one, so that squares of its numbers
    /// are neither too great nor what counts as nothing: 1 for most.
    pub(crate) fn unit(self, greatest: f64) -> f64 {
        let least = self.smallest().sqrt() / self.epsilon().powi(2);
        let most = 1.0 / (3.0 * self.smallest().sqrt());
        if greatest == 0.0 || !greatest.is_finite() || (least..most).contains(&greatest) {
            return 1.0;
        }
        greatest.log2().floor().exp2()
    }

    /// The least number that is not denormal.
    pub(crate) fn smallest(self) -> f64 {
        match self {
            Precision::Single => f32::MIN_POSITIVE.into(),
            Precision::Double => f64::MIN_POSITIVE,
        }
    }
}

/// `lartg` as LAPACK has it since 3.10: c, s and r of `[c s; -s c] · (f, g)ᵀ = (r, 0)ᵀ`, of which r has the
/// sign of f.
pub(crate) fn rotation(f: f64, g: f64) -> (f64, f64, f64) {
    if g == 0.0 {
        return (1.0, 0.0, f);
    }
    if f == 0.0 {
        return (0.0, 1f64.copysign(g), g.abs());
    }
    let r = f.hypot(g).copysign(f);
    (f / r, g / r, r)
}

/// `lartg` as LAPACK had it before, and MKL has it where it looks for eigenvalues: r is above 0 but where f
/// is longer than g, which then keeps its sign.
pub(crate) fn rotation_of_longer(f: f64, g: f64) -> (f64, f64, f64) {
    if g == 0.0 {
        return (1.0, 0.0, f);
    }
    if f == 0.0 {
        return (0.0, 1.0, g);
    }
    let r = if f.abs() > g.abs() { f.hypot(g).copysign(f) } else { f.hypot(g) };
    (f / r, g / r, r)
}

/// A rotation of two rows that follow each other: `at` becomes `c · at + s · next`, and the next
/// `c · next - s · at`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rotation {
    pub(crate) at: usize,
    pub(crate) c: f64,
    pub(crate) s: f64,
}

impl Rotation {
    pub(crate) fn apply(self, matrix: &mut Matrix<f64>) {
        let rows = &mut matrix.data[self.at * matrix.cols..(self.at + 2) * matrix.cols];
        let (first, second) = rows.split_at_mut(matrix.cols);
        for (a, b) in first.iter_mut().zip(second) {
            (*a, *b) = (self.c * *a + self.s * *b, self.c * *b - self.s * *a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_those_of_lapack() {
        // f, g, and r of both kinds.
        let cases = [
            (3.0, 4.0, 5.0, 5.0),
            (-3.0, 4.0, -5.0, 5.0),
            (4.0, -3.0, 5.0, 5.0),
            (-4.0, 3.0, -5.0, -5.0),
            (-4.0, 0.0, -4.0, -4.0),
            (0.0, -4.0, 4.0, -4.0),
        ];
        for (f, g, signed, of_longer) in cases {
            for ((c, s, r), expected) in
                [(rotation(f, g), signed), (rotation_of_longer(f, g), of_longer)]
            {
                assert_eq!(r, expected, "{f}, {g}");
                assert!((c * f + s * g - r).abs() < 1e-15 && (c * g - s * f).abs() < 1e-15);
            }
        }
    }
}

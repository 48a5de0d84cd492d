//! Orthogonal polynomials by their recurrences.

use num_traits::Float;

/// A family of `torch.special.*_polynomial_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named like the operators of torch")]
pub enum Polynomial {
    ChebyshevT,
    ChebyshevU,
    ChebyshevV,
    ChebyshevW,
    ShiftedChebyshevT,
    ShiftedChebyshevU,
    ShiftedChebyshevV,
    ShiftedChebyshevW,
    HermiteH,
    HermiteHe,
    LaguerreL,
    LegendreP,
}

use Polynomial::*;

impl Polynomial {
    /// Its value at `x` for degree `n`, computed in the type of `x`: 0 for negative degrees.
    pub fn at<F: Float>(self, x: F, n: i64) -> F {
        let one = F::one();
        if n < 0 {
            return F::zero();
        }
        if n == 0 {
            return one;
        }
        let plain = match self {
            ShiftedChebyshevT => ChebyshevT,
            ShiftedChebyshevU => ChebyshevU,
            ShiftedChebyshevV => ChebyshevV,
            ShiftedChebyshevW => ChebyshevW,
            _ => self,
        };
        if plain != self {
            return plain.at(x + x - one, n);
        }
        if let Some(value) = self.closed(x, n) {
            return value;
        }
        if matches!(self, HermiteH | HermiteHe) && n > Self::highest_hermite::<F>() {
            return F::nan();
        }
        let (mut before, mut value) = (one, self.first(x));
        let mut k = one;
        for _ in 1..n {
            let next = self.next(x, k, value, before);
            (before, value) = (value, next);
            k = k + one;
            if value.is_nan() {
                break;
            }
        }
        value
    }

    /// Above this degree PyTorch gives NaN.
    fn highest_hermite<F>() -> i64 {
        if size_of::<F>() == size_of::<f64>() { 512 } else { 128 }
    }

    /// The value where a formula says it at once: at the ends of the interval, and inside it for
    /// high degrees, as PyTorch has it.
    fn closed<F: Float>(self, x: F, n: i64) -> Option<F> {
        let number = |value: i64| F::from(value).unwrap_or_else(F::nan);
        let (one, degree) = (F::one(), number(n));
        let even = if n % 2 == 0 { one } else { -one };
        let (right, left) = match self {
            ChebyshevT | LegendreP => (one, even),
            ChebyshevU => (degree + one, even * (degree + one)),
            ChebyshevV => (one, even * (degree + degree + one)),
            ChebyshevW => (degree + degree + one, even),
            LaguerreL => return (x == F::zero()).then_some(one),
            _ => return None,
        };
        if x == one {
            return Some(right);
        }
        if x == -one {
            return Some(left);
        }
        let high = n > if self == ChebyshevT { 6 } else { 8 };
        if self == LegendreP || !high || x.abs() > one {
            return None;
        }
        let half = one / (one + one);
        let angle = x.acos();
        Some(match self {
            ChebyshevT => (degree * angle).cos(),
            ChebyshevU => ((degree + one) * angle).sin() / angle.sin(),
            ChebyshevV => ((degree + half) * angle).cos() / (angle * half).cos(),
            _ => ((degree + half) * angle).sin() / (angle * half).sin(),
        })
    }

    fn first<F: Float>(self, x: F) -> F {
        match self {
            ChebyshevT | LegendreP | HermiteHe => x,
            ChebyshevV => x + x - F::one(),
            ChebyshevW => x + x + F::one(),
            LaguerreL => F::one() - x,
            _ => x + x,
        }
    }

    /// The polynomial of degree `k + 1` from those of degrees `k` and `k - 1`.
    fn next<F: Float>(self, x: F, k: F, value: F, before: F) -> F {
        let one = F::one();
        match self {
            HermiteH => (x + x) * value - (k + k) * before,
            HermiteHe => x * value - k * before,
            LaguerreL => ((k + k + (one - x)) * value - k * before) / (k + one),
            LegendreP => ((k + k + one) * x * value - k * before) / (k + one),
            _ => (x + x) * value - before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_degrees() {
        let x: f64 = 0.3;
        let cases = [
            (ChebyshevT, 4.0 * x * x * x - 3.0 * x),
            (ChebyshevU, 8.0 * x * x * x - 4.0 * x),
            (HermiteH, 8.0 * x * x * x - 12.0 * x),
            (HermiteHe, x * x * x - 3.0 * x),
            (LaguerreL, (-x * x * x + 9.0 * x * x - 18.0 * x + 6.0) / 6.0),
            (LegendreP, (5.0 * x * x * x - 3.0 * x) / 2.0),
        ];
        for (family, want) in cases {
            assert!((family.at(x, 3) - want).abs() < 1e-14, "{family:?}");
            assert_eq!(family.at(x, -1), 0.0);
        }
        assert_eq!(ChebyshevT.at(-1.0, 3), -1.0);
        assert_eq!(ShiftedChebyshevT.at(1.0, 5), 1.0);
    }
}

//! Orthogonal polynomials by their recurrences.

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
    /// Its value at `x` for degree `n`: 0 for negative degrees.
    pub fn at(self, x: f64, n: i64) -> f64 {
        if n < 0 {
            return 0.0;
        }
        if n == 0 {
            return 1.0;
        }
        match self {
            ShiftedChebyshevT => return ChebyshevT.at(2.0 * x - 1.0, n),
            ShiftedChebyshevU => return ChebyshevU.at(2.0 * x - 1.0, n),
            ShiftedChebyshevV => return ChebyshevV.at(2.0 * x - 1.0, n),
            ShiftedChebyshevW => return ChebyshevW.at(2.0 * x - 1.0, n),
            _ => {}
        }
        if let Some(value) = self.at_end(x, n) {
            return value;
        }
        let (mut before, mut value) = (1.0, self.first(x));
        for k in 1..n {
            let next = self.next(x, k as f64, value, before);
            (before, value) = (value, next);
            if value.is_nan() {
                break;
            }
        }
        value
    }

    /// The value where the recurrence would only add up ones.
    fn at_end(self, x: f64, n: i64) -> Option<f64> {
        let degree = n as f64;
        let even = if n % 2 == 0 { 1.0 } else { -1.0 };
        let (right, left) = match self {
            ChebyshevT => (1.0, even),
            ChebyshevU => (degree + 1.0, even * (degree + 1.0)),
            ChebyshevV => (1.0, even * (2.0 * degree + 1.0)),
            ChebyshevW => (2.0 * degree + 1.0, even),
            LegendreP => (1.0, even),
            LaguerreL => return (x == 0.0).then_some(1.0),
            _ => return None,
        };
        match x {
            1.0 => Some(right),
            -1.0 => Some(left),
            _ => None,
        }
    }

    fn first(self, x: f64) -> f64 {
        match self {
            ChebyshevT | LegendreP | HermiteHe => x,
            ChebyshevV => 2.0 * x - 1.0,
            ChebyshevW => 2.0 * x + 1.0,
            LaguerreL => 1.0 - x,
            _ => 2.0 * x,
        }
    }

    /// The polynomial of degree `k + 1` from those of degrees `k` and `k - 1`.
    fn next(self, x: f64, k: f64, value: f64, before: f64) -> f64 {
        match self {
            HermiteH => 2.0 * x * value - 2.0 * k * before,
            HermiteHe => x * value - k * before,
            LaguerreL => ((2.0 * k + 1.0 - x) * value - k * before) / (k + 1.0),
            LegendreP => ((2.0 * k + 1.0) * x * value - k * before) / (k + 1.0),
            _ => 2.0 * x * value - before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_degrees() {
        let x = 0.3;
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

//! The gamma function and its relatives.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN has to fail these comparisons")]

use std::f64::consts::PI;

use super::Precision;

/// `B(2k) / (2k)!` for k = 1, 2, …: the coefficients of the Euler-Maclaurin formula.
const BERNOULLI: [f64; 12] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3_617.0 / 10_670_622_842_880_000.0,
    43_867.0 / 5_109_094_217_170_944_000.0,
    -174_611.0 / 802_857_662_698_291_200_000.0,
    77_683.0 / 14_101_100_039_391_805_440_000.0,
    -236_364_091.0 / 1_693_824_136_731_743_669_452_800_000.0,
];

/// `torch.lgamma`: the logarithm of the absolute value of the gamma function.
pub fn lgamma(x: f64) -> f64 {
    if x.is_infinite() { f64::INFINITY } else { libm::lgamma(x) }
}

/// `torch.digamma`: NaN at negative integers, infinite at zeros.
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        if x == x.trunc() {
            return f64::NAN;
        }
        return digamma(1.0 - x) - PI / (PI * (x - x.trunc())).tan();
    }
    let (mut x, mut result) = (x, 0.0);
    while x < 10.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    // B(2k) / 2k = BERNOULLI[k] (2k - 1)!
    let tail = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32_760.0,
        1.0 / 12.0,
    ];
    let tail = tail.iter().rev().fold(0.0, |sum, term| (sum + term) * square);
    result + x.ln() - 0.5 / x - tail
}

/// `torch.polygamma` of order `n`.
pub fn polygamma(n: i64, x: f64, precision: Precision) -> f64 {
    match n {
        0 => digamma(x),
        1 => trigamma(x, precision),
        _ => {
            // PyTorch's orders have 32 bits.
            let (n, sign) = (f64::from(n as i32), if n % 2 == 0 { -1.0 } else { 1.0 });
            let factorial = precision.rounded(libm::lgamma(n + 1.0).exp());
            sign * factorial * precision.rounded(zeta(n + 1.0, x))
        }
    }
}

fn trigamma(x: f64, precision: Precision) -> f64 {
    if x == f64::INFINITY {
        return 0.0;
    }
    if x < 0.5 {
        let sine = precision.times_pi(x).sin();
        return PI * PI / (sine * sine) - zeta(2.0, 1.0 - x);
    }
    zeta(2.0, x)
}

/// `torch.special.zeta`: Hurwitz's zeta function, the sum of `(q + k)^-x`.
pub fn zeta(x: f64, q: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    if x < 1.0 || q.is_nan() {
        return f64::NAN;
    }
    if q <= 0.0 {
        if q == q.floor() {
            return f64::INFINITY;
        }
        if x != x.floor() {
            return f64::NAN;
        }
        if x.is_infinite() {
            return f64::INFINITY;
        }
        // The terms below zero are those of a positive argument, seen from the other side.
        let first_above = q - q.floor();
        let below = zeta(x, 1.0 - first_above) - zeta(x, 1.0 - q);
        let sign = if x % 2.0 == 0.0 { 1.0 } else { -1.0 };
        return zeta(x, first_above) + sign * below;
    }
    if x.is_nan() || (x.is_infinite() && q > 1.0) {
        return f64::NAN;
    }
    let mut sum = 0.0;
    let mut at = q;
    // Far enough for the formula to converge, which for a large exponent is where nothing is left.
    while at < 10.0 || at < x {
        let term = at.powf(-x);
        sum += term;
        at += 1.0;
        if at >= 10.0 && term <= sum * 1e-18 {
            return sum;
        }
    }
    let last = at.powf(-x);
    sum += last * at / (x - 1.0) + 0.5 * last;
    let mut term = x * last / at;
    for (k, coefficient) in BERNOULLI.iter().enumerate() {
        let part = coefficient * term;
        sum += part;
        if part.abs() < sum.abs() * 1e-18 {
            break;
        }
        let k = 2.0 * k as f64 + 1.0;
        term *= (x + k) * (x + k + 1.0) / (at * at);
    }
    sum
}

/// `torch.special.multigammaln` of order `p`.
pub fn multigammaln(x: f64, p: i64) -> f64 {
    let p_real = p as f64;
    let sum: f64 = (0..p).map(|i| lgamma(x - i as f64 / 2.0)).sum();
    sum + p_real * (p_real - 1.0) / 4.0 * PI.ln()
}

/// `torch.special.gammainc`, the regularized lower incomplete gamma function.
pub fn igamma(a: f64, x: f64) -> f64 {
    match domain(a, x) {
        Domain::Invalid => f64::NAN,
        Domain::Nothing => 0.0,
        Domain::Everything => 1.0,
        Domain::Large => 1.0 - large(a, x),
        Domain::Below => series(a, x),
        Domain::Above => 1.0 - fraction(a, x),
    }
}

/// `torch.special.gammaincc`, the regularized upper incomplete gamma function.
pub fn igammac(a: f64, x: f64) -> f64 {
    match domain(a, x) {
        Domain::Invalid => f64::NAN,
        Domain::Nothing => 1.0,
        Domain::Everything => 0.0,
        Domain::Large => large(a, x),
        Domain::Below => 1.0 - series(a, x),
        Domain::Above => fraction(a, x),
    }
}

/// How the incomplete gamma functions are found.
enum Domain {
    Invalid,
    /// Nothing of the integral lies below.
    Nothing,
    /// All of it does.
    Everything,
    /// Both arguments are large and near each other.
    Large,
    Below,
    Above,
}

fn domain(a: f64, x: f64) -> Domain {
    if x < 0.0 || a < 0.0 {
        Domain::Invalid
    } else if a == 0.0 {
        if x > 0.0 { Domain::Everything } else { Domain::Invalid }
    } else if x == 0.0 {
        Domain::Nothing
    } else if a.is_infinite() {
        if x.is_infinite() { Domain::Invalid } else { Domain::Nothing }
    } else if x.is_infinite() {
        Domain::Everything
    } else if a.is_nan() || x.is_nan() {
        Domain::Invalid
    } else if a > 1e4 && (x - a).abs() < 0.3 * a {
        Domain::Large
    } else if x < a + 1.0 {
        Domain::Below
    } else {
        Domain::Above
    }
}

/// `x^a e^-x / Γ(a)`.
fn front(a: f64, x: f64) -> f64 {
    (a * x.ln() - x - libm::lgamma(a)).exp()
}

/// The power series of the lower function.
fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
    for _ in 0..10_000 {
        n += 1.0;
        term *= x / n;
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum * front(a, x)
}

/// The continued fraction of the upper function, by Lentz's method.
fn fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut result = d;
    for i in 1..10_000 {
        let i = f64::from(i);
        let numerator = -i * (i - a);
        b += 2.0;
        d = numerator * d + b;
        d = 1.0 / if d.abs() < TINY { TINY } else { d };
        c = b + numerator / c;
        c = if c.abs() < TINY { TINY } else { c };
        let step = d * c;
        result *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    result * front(a, x)
}

/// The upper function by Temme's expansion for large arguments near each other.
fn large(a: f64, x: f64) -> f64 {
    let mu = (x - a) / a;
    let half_square = mu - mu.ln_1p();
    let eta = (2.0 * half_square).sqrt().copysign(mu);
    let correction = match eta.abs() < 1e-2 {
        true => {
            let terms = [-1.0 / 3.0, 1.0 / 12.0, -2.0 / 135.0, 1.0 / 864.0, 1.0 / 2835.0];
            terms.iter().rev().fold(0.0, |sum, term| sum * eta + term)
        }
        false => 1.0 / mu - 1.0 / eta,
    };
    let remainder =
        (-a * half_square).exp() / (2.0 * PI * a).sqrt() * (correction - 1.0 / 540.0 / a);
    0.5 * libm::erfc(eta * (a / 2.0).sqrt()) + remainder
}

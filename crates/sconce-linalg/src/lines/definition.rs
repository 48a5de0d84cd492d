//! Fourier transforms by their definition, of short lines with numbers that are infinite or NaN.
//!
//! A fast transform adds and subtracts numbers before it multiplies them, and so makes NaN of one that is
//! infinite where its coefficient is 0 or it meets itself. PyTorch's library transforms short lines in one
//! go; what is infinite there, and what NaN, follows from the definition without the terms that have
//! a coefficient of 0.

use num_complex::Complex;

use super::Precision;

/// The transform of a line, if it has numbers that are not finite and PyTorch transforms as many points in
/// one go.
pub(crate) fn of_infinite<T: Precision>(
    line: impl ExactSizeIterator<Item = Complex<T>> + Clone,
    forward: bool,
) -> Option<Vec<Complex<T>>> {
    let points = line.len();
    let is_finite = |z: Complex<T>| z.re.wide().is_finite() && z.im.wide().is_finite();
    if !in_one_go(points) || line.clone().all(is_finite) {
        return None;
    }
    let transformed = (0..points).map(|k| {
        let (mut re, mut im) = (0.0, 0.0);
        for (j, z) in line.clone().enumerate() {
            let (x, y) = (z.re.wide(), z.im.wide());
            let (sin, cos) = turn(j * k % points, points);
            let sin = if forward { -sin } else { sin };
            if cos != 0.0 {
                re += x * cos;
                im += y * cos;
            }
            if sin != 0.0 {
                re -= y * sin;
                im += x * sin;
            }
        }
        Complex::new(T::of(re), T::of(im))
    });
    Some(transformed.collect())
}

/// Whether PyTorch transforms so many points in one go, as far as was seen.
pub(crate) fn in_one_go(points: usize) -> bool {
    points <= 17 || matches!(points, 19 | 23 | 29 | 31)
}

/// The sine and cosine of a part of a whole turn, exact for quarters.
fn turn(part: usize, whole: usize) -> (f64, f64) {
    match (4 * part).is_multiple_of(whole).then(|| 4 * part / whole) {
        Some(0) => (0.0, 1.0),
        Some(1) => (1.0, 0.0),
        Some(2) => (0.0, -1.0),
        Some(_) => (-1.0, 0.0),
        None => (std::f64::consts::TAU * part as f64 / whole as f64).sin_cos(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_of_zero_keep_infinity_out() {
        // As torch.fft.fft gives.
        let line = [1.0, f64::INFINITY, -2.0, 0.5].map(|x| Complex::new(x, 0.0));
        let found = of_infinite(line.into_iter(), true).unwrap();
        let inf = f64::INFINITY;
        let expected = [(inf, 0.0), (3.0, -inf), (-inf, 0.0), (3.0, inf)];
        assert_eq!(found, expected.map(|(re, im)| Complex::new(re, im)));
        assert!(of_infinite(line[..1].iter().copied(), true).is_none());
        let long = line.repeat(5);
        assert!(of_infinite(long.into_iter(), true).is_none());
    }
}

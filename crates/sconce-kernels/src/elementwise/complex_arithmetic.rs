//! Powers, sums and quotients of complex numbers.

use num_complex::Complex;

use crate::elementwise::complex_special_cases;

pub(crate) fn power<F: num_traits::Float>(x: Complex<F>, y: Complex<F>) -> Complex<F> {
    if [x.re, x.im, y.re, y.im].into_iter().all(|part| part.is_zero()) {
        // The exponential of 0 times the logarithm of 0.
        return Complex::new(F::nan(), F::nan());
    }
    if [x.re, x.im, y.re, y.im].into_iter().all(F::is_finite) {
        return x.powc(y);
    }
    let [x, y] = [x, y].map(|z| {
        let wide = |part: F| part.to_f64().unwrap_or(f64::NAN);
        Complex::new(wide(z.re), wide(z.im))
    });
    let power = complex_special_cases::pow(x, y);
    let narrow = |part| F::from(part).unwrap_or_else(F::nan);
    Complex::new(narrow(power.re), narrow(power.im))
}

/// What PyTorch adds: the product with `alpha`, a complex 1 unless the caller says otherwise, in which
/// one part that is infinite or NaN makes the other NaN.
pub(crate) fn times_one<F: num_traits::Float>(x: Complex<F>) -> Complex<F> {
    let zero = F::zero();
    Complex::new(x.re - x.im * zero, x.im + x.re * zero)
}

/// The quotient of complex numbers, of which no part is squared, so that it is as large as it should be
/// wherever that can be held: by 0 infinite, by what is infinite 0.
pub(crate) fn quotient<F: num_traits::Float>(x: Complex<F>, y: Complex<F>) -> Complex<F> {
    if y.re.is_zero() && y.im.is_zero() {
        let zero = F::zero();
        return Complex::new(x.re / zero, x.im / zero);
    }
    if y.re.abs() >= y.im.abs() {
        let ratio = y.im / y.re;
        let scale = F::one() / (y.re + y.im * ratio);
        Complex::new((x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale)
    } else {
        let ratio = y.re / y.im;
        let scale = F::one() / (y.re * ratio + y.im);
        Complex::new((x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale)
    }
}

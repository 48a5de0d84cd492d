//! The special functions of `torch.special`, of one or two `f64`.
//!
//! Functions are computed in double precision and rounded once. At poles and outside their domain, they
//! give PyTorch's results.

use std::f64::consts::{LN_2, LOG2_E};

use sconce_kernel_core::vecmath::accuracy::Accuracy;

mod bessel;
mod error_function;
mod gamma;
pub mod of_tensors;
mod polynomials;
mod single;

pub use bessel::{
    airy_ai, bessel_j0, bessel_j1, bessel_y0, bessel_y1, modified_bessel_i0, modified_bessel_i0e,
    modified_bessel_i1, modified_bessel_i1e, modified_bessel_k0, modified_bessel_k1,
    scaled_modified_bessel_k0, scaled_modified_bessel_k1, spherical_bessel_j0,
};
pub use error_function::{erfcx, erfinv, log_ndtr, ndtr, ndtri};
pub use gamma::{digamma, igamma, igammac, lgamma, multigammaln, polygamma, zeta};
pub use polynomials::Polynomial;

/// `torch.sinc`: `sin(πx) / πx`, with the product as the dtype rounds it.
pub fn sinc(x: f64, precision: Precision) -> f64 {
    let angle = precision.times_pi(x);
    if x == 0.0 { 1.0 } else { angle.sin() / angle }
}

/// What PyTorch computes in: it shows where the sine of a multiple of π should be 0 and is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// `float32`, which half precision is computed in, too.
    Single,
    /// `float64`.
    Double,
}

impl Precision {
    /// That of a dtype's kernels.
    pub fn of(dtype: crate::DType) -> Precision {
        if dtype == crate::DType::Float64 { Precision::Double } else { Precision::Single }
    }

    fn rounded(self, x: f64) -> f64 {
        match self {
            Precision::Single => f64::from(x as f32),
            Precision::Double => x,
        }
    }

    fn times_pi(self, x: f64) -> f64 {
        match self {
            Precision::Single => f64::from(std::f32::consts::PI * x as f32),
            Precision::Double => std::f64::consts::PI * x,
        }
    }
}

/// `torch.logaddexp`, as exactly as the functions it is made of.
#[inline(always)]
pub(crate) fn log_of_sum<M: Accuracy>(x: f64, y: f64) -> f64 {
    above_the_larger(x, y, M::ln_1p_of_part(M::exp(-(x - y).abs())))
}

/// `torch.logaddexp2`, likewise.
#[inline(always)]
fn log2_of_sum<M: Accuracy>(x: f64, y: f64) -> f64 {
    above_the_larger(x, y, M::ln_1p_of_part(M::exp(-(x - y).abs() * LN_2)) * LOG2_E)
}

/// The larger of two numbers and something more; an infinity that both are.
#[inline(always)]
fn above_the_larger(x: f64, y: f64, more: f64) -> f64 {
    let sum = x.max(y) + more;
    let sum = if x.is_nan() | y.is_nan() { f64::NAN } else { sum };
    if x.is_infinite() & (x == y) { x } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sconce_kernel_core::vecmath::accuracy::DoubleAccuracy;

    #[test]
    fn values_of_scipy() {
        let cases: &[(&str, f64, f64)] = &[
            ("digamma(0.25)", digamma(0.25), -4.227453533376265),
            ("digamma(-1.5)", digamma(-1.5), 0.7031566406452432),
            ("lgamma(-1.5)", lgamma(-1.5), 0.860047015376481),
            ("polygamma(1, 2.5)", polygamma(1, 2.5, Precision::Double), 0.4903577561002348),
            ("polygamma(3, 0.5)", polygamma(3, 0.5, Precision::Double), 97.40909103400244),
            ("zeta(2, 1)", zeta(2.0, 1.0), 1.6449340668482264),
            ("zeta(3.5, 0.25)", zeta(3.5, 0.25), 128.54695896428434),
            ("igamma(2, 3)", igamma(2.0, 3.0), 0.8008517265285442),
            ("igammac(200, 190)", igammac(200.0, 190.0), 0.7566525728993762),
            ("erfinv(0.5)", erfinv(0.5), 0.4769362762044699),
            ("erfcx(30)", erfcx(30.0), 0.01879588886141675),
            ("ndtri(1e-10)", ndtri(1e-10), -6.361340902404056),
            ("log_ndtr(-20)", log_ndtr(-20.0), -203.91715537109727),
            ("j0(3)", bessel_j0(3.0), -0.26005195490193345),
            ("i0(2)", modified_bessel_i0(2.0), 2.2795853023360673),
            ("i0e(50)", modified_bessel_i0e(50.0), 0.05656162664745419),
            ("i1(2)", modified_bessel_i1(2.0), 1.590636854637329),
            ("k0(0.5)", modified_bessel_k0(0.5), 0.9244190712276656),
            ("k0(3)", modified_bessel_k0(3.0), 0.03473950438627924),
            ("k1(0.5)", modified_bessel_k1(0.5), 1.6564411200033007),
            ("k1(3)", modified_bessel_k1(3.0), 0.04015643112819418),
            ("ai(1)", airy_ai(1.0), 0.13529241631288141),
            ("ai(4)", airy_ai(4.0), 0.0009515638512048023),
            ("ai(-3)", airy_ai(-3.0), -0.3788142936776583),
            ("ai(-9)", airy_ai(-9.0), -0.0221337215473414),
            ("ai(-7.5824)", airy_ai(-7.582430495695129), 0.2875259867024091),
            ("ai(-5.4215)", airy_ai(-5.4215280659972755), 0.08491849901297034),
            ("ai(2.0474)", airy_ai(2.047386382824099), 0.03248553370232874),
            ("logaddexp(1, 2)", log_of_sum::<DoubleAccuracy>(1.0, 2.0), 2.313261687518223),
        ];
        let wrong: Vec<_> =
            cases.iter().filter(|(_, got, want)| (got - want).abs() > 1e-9 * want.abs()).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}

//! The functions that operators of every floating type are made of, as accurate as the type needs.

use crate::vecmath::{double, single_via_double};

/// Functions of `f64`, without branches.
pub trait Accuracy {
    /// e^x.
    fn exp(x: f64) -> f64;
    /// `e^x - 1`.
    fn exp_m1(x: f64) -> f64;
    /// The largest `x` of which e^x is finite in what the result is rounded to.
    const LARGEST_EXPONENT: f64;
    /// The natural logarithm.
    fn ln(x: f64) -> f64;
    /// `ln(1 + x)`.
    fn ln_1p(x: f64) -> f64;
    /// `ln(1 + x)` for x from 0 to 1.
    fn ln_1p_of_part(x: f64) -> f64;
    /// The largest angle, of either sign, that [`Accuracy::sin`] holds for.
    const LARGEST_ANGLE: f64;
    /// The sine.
    fn sin(x: f64) -> f64;
    /// The length of the hypotenuse.
    fn hypot(x: f64, y: f64) -> f64;
    /// The angle of a point.
    fn atan2(y: f64, x: f64) -> f64;
}

/// What is rounded to `f32` in the end.
pub struct SingleAccuracy;

/// What stays `f64`.
pub struct DoubleAccuracy;

impl Accuracy for SingleAccuracy {
    const LARGEST_EXPONENT: f64 = 88.722_839_355_468_75;
    #[inline(always)]
    fn exp(x: f64) -> f64 {
        single_via_double::exp(x)
    }
    #[inline(always)]
    fn exp_m1(x: f64) -> f64 {
        single_via_double::exp_m1(x)
    }
    #[inline(always)]
    fn ln(x: f64) -> f64 {
        single_via_double::ln(x)
    }
    #[inline(always)]
    fn ln_1p(x: f64) -> f64 {
        single_via_double::ln_1p(x)
    }
    #[inline(always)]
    fn ln_1p_of_part(x: f64) -> f64 {
        single_via_double::ln_1p_of_part(x)
    }
    const LARGEST_ANGLE: f64 = single_via_double::LARGEST_ANGLE;
    #[inline(always)]
    fn sin(x: f64) -> f64 {
        single_via_double::sin(x)
    }
    #[inline(always)]
    fn hypot(x: f64, y: f64) -> f64 {
        // No square of an `f32` is too large.
        let length = (x * x + y * y).sqrt();
        let is_infinite = (x.abs() == f64::INFINITY) | (y.abs() == f64::INFINITY);
        if is_infinite { f64::INFINITY } else { length }
    }
    #[inline(always)]
    fn atan2(y: f64, x: f64) -> f64 {
        single_via_double::atan2(y, x)
    }
}

impl Accuracy for DoubleAccuracy {
    const LARGEST_EXPONENT: f64 = 709.782_712_893_384;
    #[inline(always)]
    fn exp(x: f64) -> f64 {
        double::exp(x)
    }
    #[inline(always)]
    fn exp_m1(x: f64) -> f64 {
        double::exp_m1(x)
    }
    #[inline(always)]
    fn ln(x: f64) -> f64 {
        double::ln(x)
    }
    #[inline(always)]
    fn ln_1p(x: f64) -> f64 {
        double::ln_1p(x)
    }
    #[inline(always)]
    fn ln_1p_of_part(x: f64) -> f64 {
        double::ln_1p(x)
    }
    const LARGEST_ANGLE: f64 = double::LARGEST_ANGLE;
    #[inline(always)]
    fn sin(x: f64) -> f64 {
        double::sin(x)
    }
    fn hypot(x: f64, y: f64) -> f64 {
        x.hypot(y)
    }
    fn atan2(y: f64, x: f64) -> f64 {
        y.atan2(x)
    }
}

//! The floating types that operators compute in.

use crate::PodElement;
use crate::vecmath::accuracy::{Accuracy, DoubleAccuracy, SingleAccuracy};
use crate::vecmath::single_via_double;

/// A floating type that operators compute in.
pub trait FloatElement: PodElement {
    /// The functions that other operators are made of.
    type Accuracy: Accuracy;
    /// The angle of a point; this is its `y`.
    fn atan2(self, x: Self) -> Self {
        Self::from_double(Self::Accuracy::atan2(self.to_double(), x.to_double()))
    }
    /// A power of this number.
    fn power(self, exponent: Self) -> Self;
    /// The nearest number of this type.
    fn from_double(x: f64) -> Self;
    /// The same number.
    fn to_double(self) -> f64;
    /// Whether it is NaN.
    #[inline(always)]
    fn is_not_a_number(self) -> bool {
        self.to_double().is_nan()
    }
}

impl FloatElement for f32 {
    type Accuracy = SingleAccuracy;
    #[inline(always)]
    fn power(self, exponent: f32) -> f32 {
        single_via_double::pow(self.into(), exponent.into()) as f32
    }
    #[inline(always)]
    fn from_double(x: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn to_double(self) -> f64 {
        self.into()
    }
}

impl FloatElement for f64 {
    type Accuracy = DoubleAccuracy;
    #[inline(always)]
    fn power(self, exponent: f64) -> f64 {
        self.powf(exponent)
    }
    #[inline(always)]
    fn from_double(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn to_double(self) -> f64 {
        self
    }
}

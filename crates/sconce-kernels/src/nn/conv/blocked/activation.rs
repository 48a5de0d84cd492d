//! Activations that are applied to a result before it is stored.

use sconce_kernel_core::simd::dispatch::{Level, best, dispatch};
use sconce_kernel_core::vecmath::single;

/// A function applied to every number of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activation {
    /// Nothing.
    None,
    /// `torch.relu`.
    Relu,
    /// `torch.nn.functional.hardtanh`: not below the first number, not above the second.
    Clamp(f32, f32),
    /// `torch.nn.functional.hardsigmoid`.
    Hardsigmoid,
    /// `torch.nn.functional.hardswish`.
    Hardswish,
    /// `torch.nn.functional.silu`.
    Silu,
    /// `torch.nn.functional.gelu`.
    Gelu,
    /// `torch.nn.functional.gelu(approximate='tanh')`.
    GeluTanh,
}

/// Pixels of a block of channels that are computed before such functions are applied to them as [`Activation::Silu`]: the
/// nearest cache holds those of two blocks, and no tile of the widest kernels is cut.
pub(super) const NEAR_PIXELS: usize = 14 * 16;

impl Activation {
    /// Whether it is applied to numbers that have been stored, not to the registers that they are computed in: it takes
    /// more registers than the sums leave.
    pub(super) fn is_of_stored(self) -> bool {
        matches!(self, Activation::Silu | Activation::Gelu | Activation::GeluTanh)
    }

    /// Applies it to numbers that have just been stored, if it is one that has not been applied before.
    pub(super) fn apply_to_stored(self, numbers: &mut [f32]) {
        let is_baseline = best() == Level::Baseline;
        match self {
            Activation::Silu if is_baseline => each(numbers, single::silu),
            Activation::Silu => each(numbers, silu),
            Activation::Gelu if is_baseline => each(numbers, single::gelu),
            Activation::Gelu => each(numbers, single::gelu_fused),
            Activation::GeluTanh => each(numbers, single::gelu_tanh),
            _ => {}
        }
    }
}

fn each(numbers: &mut [f32], f: impl Fn(f32) -> f32) {
    dispatch(
        #[inline(always)]
        || numbers.iter_mut().for_each(|x| *x = f(*x)),
    );
}

/// 1.5 * 2^23: added to a small number it leaves the nearest integer in the low bits.
const TO_INTEGER: f32 = 12_582_912.0;

/// What `f32` leaves of the logarithm of e to base 2.
const LOG2_E_REST: f32 = 1.925_963e-8;

/// `2^f` for f between -1/2 and 1/2: the coefficients of a polynomial, that of the highest power first.
#[allow(clippy::approx_constant, reason = "fitted with the others; near the logarithm of 2")]
const EXP2: [f32; 6] =
    [1.326_472_7e-3, 9.671_513e-3, 5.550_733_6e-2, 2.402_224_2e-1, 6.931_47e-1, 1.0];

/// `x / (1 + e^-x)`. Products and sums are fused where the CPU does that, so results are not those of every CPU, but
/// within 4 units in the last place on each.
#[inline(always)]
fn silu(x: f32) -> f32 {
    let t = x * -std::f32::consts::LOG2_E;
    // Comparisons let NaN through; above, the power is infinite and the result 0.
    let low = if t < -126.0 { -126.0 } else { t };
    let near = if low > 127.0 { 127.0 } else { low };
    let shifted = near + TO_INTEGER;
    let whole = shifted - TO_INTEGER;
    // What rounding took off the product above is put back.
    let f = x.mul_add(-LOG2_E_REST, x.mul_add(-std::f32::consts::LOG2_E, -whole));
    let p = EXP2.iter().fold(0.0, |sum: f32, &coefficient| sum.mul_add(f, coefficient));
    let power = f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23));
    let power = if t > 127.0 { f32::INFINITY } else { power };
    let power = if t < -126.0 { 0.0 } else { power };
    x / (1.0 + power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silu_is_near_the_true_value_everywhere() {
        let bits = (0..=u32::MAX).step_by(9973).map(f32::from_bits);
        let x: Vec<f32> = bits.chain([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY]).collect();
        let mut results = x.clone();
        Activation::Silu.apply_to_stored(&mut results);
        for (&x, found) in x.iter().zip(results) {
            let exact = f64::from(x) / (1.0 + (-f64::from(x)).exp());
            let off = (f64::from(found) - exact).abs();
            // Below, e^-x is infinite in this precision.
            let fits = if x < -87.0 { off < 1e-34 } else { off <= 4.0 * 6e-8 * exact.abs() };
            let same = (found.is_nan() && x.is_nan()) || f64::from(found) == exact;
            let tiny = exact.abs() < f64::from(f32::MIN_POSITIVE) && off < 1e-44;
            assert!(fits || same || tiny || x == f32::NEG_INFINITY, "{x:e}: {found:e} {exact:e}");
            assert!(x != f32::NEG_INFINITY || found.is_nan(), "as in PyTorch");
        }
    }
}

//! Activations that are applied to a result before it is stored.

use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::{Level, best, dispatch};
use sconce_kernel_core::vecmath::single;

use crate::{Result, Tensor};

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
}

/// `x / (1 + e^-x)` of each number of a contiguous tensor, in its place. Products and sums are fused
/// where the CPU does that, so results are not those of every CPU, but within 4 units in the last
/// place on each.
///
/// # Errors
/// Where the tensor is not of `float32`, or not contiguous.
pub fn silu_in_place(image: &Tensor) -> Result<()> {
    /// Elements below which other threads cost more than they bring.
    const PARALLEL: usize = 1 << 15;
    let mut numbers = image.write::<f32>()?;
    partition::for_each_chunk(&mut numbers, 16, PARALLEL, |_, numbers| match best() {
        Level::Baseline => numbers.iter_mut().for_each(|x| *x = single::silu(*x)),
        _ => dispatch(
            #[inline(always)]
            || numbers.iter_mut().for_each(|x| *x = silu(*x)),
        ),
    });
    Ok(())
}

/// 1.5 * 2^23: added to a small number it leaves the nearest integer in the low bits.
const TO_INTEGER: f32 = 12_582_912.0;

/// What `f32` leaves of the logarithm of e to base 2.
const LOG2_E_REST: f32 = 1.925_963e-8;

/// `2^f` for f between -1/2 and 1/2: the coefficients of a polynomial, that of the highest power first.
#[allow(clippy::approx_constant, reason = "fitted with the others; near the logarithm of 2")]
const EXP2: [f32; 6] =
    [1.326_472_7e-3, 9.671_513e-3, 5.550_733_6e-2, 2.402_224_2e-1, 6.931_47e-1, 1.0];

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
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;

    #[test]
    fn silu_in_place_is_near_the_true_value_everywhere() {
        let bits = (0..=u32::MAX).step_by(9973).map(f32::from_bits);
        let x: Vec<f32> = bits.chain([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY]).collect();
        let tensor = Tensor::from_slice(&x, &[x.len() as i64]).unwrap();
        silu_in_place(&tensor).unwrap();
        for (&x, found) in x.iter().zip(tensor.to_vec::<f32>().unwrap()) {
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

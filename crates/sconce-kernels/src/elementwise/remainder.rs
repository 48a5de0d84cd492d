//! Exact remainders: `fmod`, `remainder` and `floor_divide` of floating types.
//!
//! The `fmod` of the C library takes time in proportion to the digits of the quotient. For `f32` with a
//! quotient that is not too large, `f64` holds the quotient and its product with the divisor exactly,
//! so a division and a subtraction give the remainder.

use num_traits::Float;
use sconce_kernel_core::iter::broadcast_binary::{BinaryKernel, row, row_with_fallback};

use crate::BinaryOp;

/// The kernel of such an operator.
pub(crate) fn f32(op: BinaryOp) -> Option<BinaryKernel<f32>> {
    Some(match op {
        BinaryOp::Fmod => |out, x, y| row_with_fallback(out, x, y, rest_of_singles, |x, y| x % y),
        BinaryOp::Remainder => |out, x, y| {
            row_with_fallback(
                out,
                x,
                y,
                #[inline(always)]
                |x, y| with_sign_of(y, rest_of_singles(x, y)),
                |x, y| with_sign_of(y, x % y),
            );
        },
        BinaryOp::DivFloor => |out, x, y| {
            row_with_fallback(
                out,
                x,
                y,
                #[inline(always)]
                |x, y| floor_of_quotient(x, y, rest_of_singles(x, y)),
                |x, y| floor_of_quotient(x, y, x % y),
            );
        },
        _ => return None,
    })
}

/// The kernel of such an operator.
pub(crate) fn f64(op: BinaryOp) -> Option<BinaryKernel<f64>> {
    Some(match op {
        BinaryOp::Fmod => |out, x, y| row(out, x, y, |x: f64, y: f64| x % y),
        BinaryOp::Remainder => |out, x, y| row(out, x, y, |x: f64, y| with_sign_of(y, x % y)),
        BinaryOp::DivFloor => {
            |out, x, y| row(out, x, y, |x: f64, y| floor_of_quotient(x, y, x % y))
        }
        _ => return None,
    })
}

/// `x % y`, or NaN where the quotient is too large.
#[inline(always)]
fn rest_of_singles(x: f32, y: f32) -> f32 {
    /// Products of smaller numbers with an `f32` are exact.
    const TOO_LARGE: f64 = 536_870_912.0;
    let (a, b) = (f64::from(x.abs()), f64::from(y.abs()));
    let quotient = (a / b).trunc();
    let rest = a - quotient * b;
    // The quotient may have been rounded to the next integer.
    let rest = if rest < 0.0 { rest + b } else { rest };
    // The divisor may be infinite.
    let rest = if a < b { a } else { rest };
    let rest = if quotient < TOO_LARGE { rest } else { f64::NAN };
    (rest as f32).copysign(x)
}

/// What is left, between 0 and the divisor.
#[inline(always)]
fn with_sign_of<F: Float>(divisor: F, rest: F) -> F {
    let is_other = (rest != F::zero()) & ((divisor < F::zero()) != (rest < F::zero()));
    if is_other { rest + divisor } else { rest }
}

/// The largest integer that is not above the quotient, by what division leaves.
#[inline(always)]
fn floor_of_quotient<F: Float + From<f32>>(x: F, y: F, rest: F) -> F {
    let (zero, one, half) = (F::zero(), F::one(), 0.5.into());
    let is_below = (rest != zero) & ((y < zero) != (rest < zero));
    let quotient = (x - rest) / y - if is_below { one } else { zero };
    let floor = quotient.floor();
    let floor = floor + if quotient - floor > half { one } else { zero };
    let floor = if quotient == zero { zero.copysign(x / y) } else { floor };
    if y == zero { x / y } else { floor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_are_those_of_the_library() {
        let edges = [
            0.0,
            -0.0,
            1.0,
            -3.0,
            0.1,
            7.5,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            f32::MAX,
            f32::MIN_POSITIVE,
            1e-45,
        ];
        let spread = (0..600u32).map(|i| f32::from_bits(i.wrapping_mul(7_158_279)));
        // Quotients next to integers, and some as large as they are held exactly.
        let near = (1..200).map(|i| f32::from_bits((i as f32 * 0.1).to_bits() - i % 3));
        let numbers: Vec<f32> = edges.into_iter().chain(spread).chain(near).collect();
        for op in [BinaryOp::Fmod, BinaryOp::Remainder, BinaryOp::DivFloor] {
            for &y in &numbers {
                let mut found = vec![0.0; numbers.len()];
                f32(op).unwrap()(&mut found, (&numbers, 1), (&[y], 0));
                for (&x, found) in numbers.iter().zip(found) {
                    let expected = match op {
                        BinaryOp::Fmod => x % y,
                        BinaryOp::Remainder => with_sign_of(y, x % y),
                        _ => floor_of_quotient(x, y, x % y),
                    };
                    let same = found.to_bits() == expected.to_bits();
                    assert!(same || found.is_nan() && expected.is_nan(), "{op:?} {x:e} {y:e}");
                }
            }
        }
    }
}

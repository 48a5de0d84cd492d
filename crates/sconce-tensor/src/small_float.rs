//! Floating types of 8 and 4 bits, decoded by table. A table holds the value of every code, as
//! `torch.Tensor.float` gives it; `tests/golden/codes.txt` holds the decoders to that.

use crate::DType;

/// 2^exponent, by multiplication, which is exact here.
const fn power(exponent: i32) -> f64 {
    let mut value = 1.0;
    let mut left = exponent;
    while left > 0 {
        value *= 2.0;
        left -= 1;
    }
    while left < 0 {
        value *= 0.5;
        left += 1;
    }
    value
}

/// Which codes are not numbers.
#[derive(Clone, Copy)]
enum Special {
    /// The highest exponent: infinity with an empty mantissa, otherwise NaN. As in IEEE 754.
    Ieee,
    /// Only all ones is NaN; no infinities (`fn`: finite numbers).
    AllOnes,
    /// Only the code of negative zero is NaN; no infinities (`fnuz`: unsigned zero).
    NegativeZero,
    /// Every code is a number.
    None,
}

const fn decode(
    code: u8,
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    special: Special,
) -> f32 {
    let sign_bit = 1u8 << (exponent_bits + mantissa_bits);
    let magnitude = code & (sign_bit - 1);
    let negative = code & sign_bit != 0;
    let mantissa = magnitude & ((1 << mantissa_bits) - 1);
    let exponent = magnitude >> mantissa_bits;
    let highest = exponent as u32 == (1 << exponent_bits) - 1;
    let is_nan = match special {
        Special::Ieee => highest && mantissa != 0,
        Special::AllOnes => magnitude == sign_bit - 1,
        Special::NegativeZero => negative && magnitude == 0,
        Special::None => false,
    };
    if is_nan {
        return f32::NAN;
    }
    let steps = mantissa as f64;
    let value = if matches!(special, Special::Ieee) && highest {
        f64::INFINITY
    } else if exponent == 0 {
        steps * power(1 - bias - mantissa_bits as i32)
    } else {
        (steps + (1u32 << mantissa_bits) as f64)
            * power(exponent as i32 - bias - mantissa_bits as i32)
    };
    (if negative { -value } else { value }) as f32
}

const fn table(exponent_bits: u32, mantissa_bits: u32, bias: i32, special: Special) -> [f32; 256] {
    let mut out = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        out[code] = decode(code as u8, exponent_bits, mantissa_bits, bias, special);
        code += 1;
    }
    out
}

const fn e8m0() -> [f32; 256] {
    let mut out = [f32::NAN; 256];
    let mut code = 0;
    while code < 255 {
        out[code] = power(code as i32 - 127) as f32;
        code += 1;
    }
    out
}

const fn e2m1() -> [f32; 16] {
    let mut out = [0.0; 16];
    let mut code = 0;
    while code < 16 {
        out[code] = decode(code as u8, 2, 1, 1, Special::None);
        code += 1;
    }
    out
}

pub(crate) static E5M2: [f32; 256] = table(5, 2, 15, Special::Ieee);
pub(crate) static E4M3FN: [f32; 256] = table(4, 3, 7, Special::AllOnes);
pub(crate) static E5M2FNUZ: [f32; 256] = table(5, 2, 16, Special::NegativeZero);
pub(crate) static E4M3FNUZ: [f32; 256] = table(4, 3, 8, Special::NegativeZero);
pub(crate) static E8M0FNU: [f32; 256] = e8m0();
static E2M1: [f32; 16] = e2m1();

/// The floating types of 8 bits.
///
/// ```
/// use sconce_tensor::{DType, Float8};
/// let kind = Float8::of(DType::Float8E4M3FN).unwrap();
/// assert_eq!(kind.numbers()[usize::from(kind.encode(1.8))], 1.75);
/// assert_eq!(Float8::of(DType::Float16), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the formats say what they are")]
pub enum Float8 {
    E5M2,
    E4M3FN,
    E5M2FNUZ,
    E4M3FNUZ,
    /// A power of two, without a sign.
    E8M0FNU,
}

impl Float8 {
    /// The type that a dtype is, where it is one of these.
    pub fn of(dtype: DType) -> Option<Float8> {
        match dtype {
            DType::Float8E5M2 => Some(Float8::E5M2),
            DType::Float8E4M3FN => Some(Float8::E4M3FN),
            DType::Float8E5M2FNUZ => Some(Float8::E5M2FNUZ),
            DType::Float8E4M3FNUZ => Some(Float8::E4M3FNUZ),
            DType::Float8E8M0FNU => Some(Float8::E8M0FNU),
            _ => None,
        }
    }

    /// The number of every code.
    pub fn numbers(self) -> &'static [f32; 256] {
        match self {
            Float8::E5M2 => &E5M2,
            Float8::E4M3FN => &E4M3FN,
            Float8::E5M2FNUZ => &E5M2FNUZ,
            Float8::E4M3FNUZ => &E4M3FNUZ,
            Float8::E8M0FNU => &E8M0FNU,
        }
    }

    /// The code nearest to a number, as `torch.Tensor.to` chooses it.
    pub fn encode(self, x: f32) -> u8 {
        encode(self, x)
    }
}

/// The exponent of the power of two that is nearest to a number, whose sign does not count; of two equally near the
/// greater one, but for what is below the smallest.
fn encode_power(x: f32) -> u8 {
    let bits = x.to_bits();
    let exponent = (bits >> 23) as u8;
    let (half, below) = (bits & 0x0040_0000 != 0, bits & 0x003f_ffff != 0);
    if exponent == 0xff || !half || !below && exponent == 0 {
        return exponent;
    }
    exponent + 1
}

/// The code nearest to a number, of two equally near the even one, as `torch.Tensor.to` chooses it;
/// `tests/golden/casts.txt` holds this to that.
pub(crate) fn encode(kind: Float8, x: f32) -> u8 {
    // Mantissa bits, exponent bias, the code of the largest number, and those of what is too large
    // (infinities too) and of NaN.
    let (mantissa_bits, bias, largest, too_large, nan) = match kind {
        Float8::E5M2 => (2, 15, 0x7b, 0x7c, 0x7f),
        Float8::E4M3FN => (3, 7, 0x7e, 0x7e, 0x7f),
        Float8::E5M2FNUZ => (2, 16, 0x7f, 0x80, 0x80),
        Float8::E4M3FNUZ => (3, 8, 0x7f, 0x80, 0x80),
        Float8::E8M0FNU => return encode_power(x),
    };
    let unsigned_zero = matches!(kind, Float8::E5M2FNUZ | Float8::E4M3FNUZ);
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    if x.is_nan() {
        return nan | if unsigned_zero { 0 } else { sign };
    }
    let magnitude = f64::from(x.abs());
    // Numbers below the smallest normal one have its step.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    // Exact: only the exponent changes. Rounding up to the next power of two carries into the
    // exponent by itself.
    let scale = f64::from_bits(((mantissa_bits - exponent + 1023) as u64) << 52);
    let steps = (magnitude * scale).round_ties_even();
    let code = steps + f64::from((exponent + bias - 1) << mantissa_bits);
    let code = if code > f64::from(largest) { too_large } else { code as u8 };
    match code {
        0 if unsigned_zero => 0,
        code => code | sign,
    }
}

/// The two numbers in a byte of `float4_e2m1fn_x2`: the low half is the first.
///
/// ```
/// assert_eq!(sconce_tensor::decode_float4_pair(0x92), (1.0, -0.5));
/// ```
pub fn decode_float4_pair(byte: u8) -> (f32, f32) {
    (E2M1[usize::from(byte & 15)], E2M1[usize::from(byte >> 4)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float4_has_the_sixteen_values_of_the_microscaling_format() {
        let want = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        for (code, value) in want.into_iter().enumerate() {
            assert_eq!(decode_float4_pair(code as u8).0, value);
            assert_eq!(decode_float4_pair((code as u8 | 8) << 4).1, -value);
        }
    }

    #[test]
    fn corners() {
        assert_eq!(E5M2[0x7c], f32::INFINITY);
        assert_eq!(E5M2[0x7b], 57344.0);
        assert_eq!(E4M3FN[0x7e], 448.0);
        assert!(E4M3FN[0xff].is_nan());
        assert!(E5M2FNUZ[0x80].is_nan());
        assert_eq!(E4M3FNUZ[0x7f], 240.0);
        assert_eq!(E8M0FNU[0], 2f32.powi(-127));
        assert!(E8M0FNU[255].is_nan());
    }
}

//! Elementary functions of complex numbers, in double precision.

use num_complex::Complex;
use num_traits::{AsPrimitive, Float};
use sconce_kernel_core::iter::broadcast_binary::zip;
use sconce_kernel_core::iter::map::map;
use sconce_kernel_core::simd::dispatch::dispatch;

use crate::elementwise::complex_arithmetic::quotient;
use crate::elementwise::complex_special_cases;
use crate::{DType, Error, PodElement, Result, Tensor, UnaryOp, result_type};

type C = Complex<f64>;

/// `torch.sinc` of complex tensors.
///
/// # Errors
/// For tensors that are not complex.
pub fn complex_sinc(input: &Tensor) -> Result<Tensor> {
    let round: fn(f64) -> f64 = match input.dtype() {
        DType::Complex128 => |part| part,
        dtype if dtype.is_complex() => |part| f64::from(part as f32),
        dtype => return Err(Error::no_kernel("sinc_cpu", dtype)),
    };
    map(&input.to_dtype(DType::Complex128)?, move |z| sinc(z, round))?.to_dtype(input.dtype())
}

/// `torch.logaddexp` of complex tensors.
///
/// # Errors
/// Where sizes do not broadcast, and for tensors of which none is complex.
pub fn complex_logaddexp(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let dtype = result_type(&[a.into(), b.into()])?;
    if !dtype.is_complex() {
        return Err(Error::no_kernel("logaddexp_cpu", dtype));
    }
    let wide = |tensor: &Tensor| tensor.to_dtype(dtype)?.to_dtype(DType::Complex128);
    zip(&wide(a)?, &wide(b)?, logaddexp)?.to_dtype(dtype)
}

/// What computes an operator on complex numbers; `None` where PyTorch has none either.
pub(crate) fn function(op: UnaryOp) -> Option<fn(C) -> C> {
    Some(match op {
        UnaryOp::Neg => |z| -z,
        UnaryOp::Square => |z| z * z,
        UnaryOp::Exp => complex_special_cases::exp,
        UnaryOp::Exp2 => |z| complex_special_cases::exp(z * std::f64::consts::LN_2),
        UnaryOp::Expm1 => expm1,
        UnaryOp::Log => C::ln,
        UnaryOp::Log2 => |z| z.ln() / std::f64::consts::LN_2,
        UnaryOp::Log10 => |z| z.ln() / std::f64::consts::LN_10,
        UnaryOp::Log1p => log1p,
        UnaryOp::Sqrt => complex_special_cases::sqrt,
        UnaryOp::Rsqrt => |z| inverse(complex_special_cases::sqrt(z)),
        UnaryOp::Reciprocal => inverse,
        UnaryOp::Sin => |z| times_minus_i(complex_special_cases::sinh(times_i(z))),
        UnaryOp::Cos => |z| complex_special_cases::cosh(times_i(z)),
        UnaryOp::Tan => |z| times_minus_i(complex_special_cases::tanh(times_i(z))),
        UnaryOp::Asin => asin,
        UnaryOp::Acos => acos,
        UnaryOp::Atan => |z| times_minus_i(atanh(times_i(z))),
        UnaryOp::Sinh => complex_special_cases::sinh,
        UnaryOp::Cosh => complex_special_cases::cosh,
        UnaryOp::Tanh => complex_special_cases::tanh,
        UnaryOp::Asinh => asinh,
        UnaryOp::Acosh => acosh,
        UnaryOp::Atanh => atanh,
        UnaryOp::Sigmoid => sigmoid,
        UnaryOp::Silu => |z| quotient(z, one() + complex_special_cases::exp(-z)),
        _ => return None,
    })
}

/// `1 / z` of each element.
pub(crate) fn reciprocals<F>(all: &[Complex<F>], out: &mut [Complex<F>])
where
    F: PodElement + Float + AsPrimitive<f64>,
    f64: AsPrimitive<F>,
{
    const BLOCK: usize = 256;
    for (all, out) in all.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let mut are_plain = true;
        dispatch(
            #[inline(always)]
            || {
                for (out, z) in out.iter_mut().zip(all) {
                    let (re, im): (f64, f64) = (z.re.as_(), z.im.as_());
                    let square = re * re + im * im;
                    are_plain &= (1e-290..=1e290).contains(&square);
                    *out = Complex::new((re / square).as_(), (-im / square).as_());
                }
            },
        );
        if !are_plain {
            for (out, z) in out.iter_mut().zip(all) {
                let inverse = inverse(Complex::new(z.re.as_(), z.im.as_()));
                *out = Complex::new(inverse.re.as_(), inverse.im.as_());
            }
        }
    }
}

fn one() -> C {
    Complex::new(1.0, 0.0)
}

fn inverse(z: C) -> C {
    quotient(one(), z)
}

/// `i z`.
fn times_i(z: C) -> C {
    Complex::new(-z.im, z.re)
}

/// `-i z`.
fn times_minus_i(z: C) -> C {
    Complex::new(z.im, -z.re)
}

fn sigmoid(z: C) -> C {
    inverse(one() + complex_special_cases::exp(-z))
}

/// `exp(z) - 1` without cancellation near 0.
fn expm1(z: C) -> C {
    let half = (z.im / 2.0).sin();
    Complex::new(z.re.exp_m1() * z.im.cos() - 2.0 * half * half, z.re.exp() * z.im.sin())
}

/// `ln(1 + z)` without cancellation near 0.
fn log1p(z: C) -> C {
    if z.re.is_nan() || z.im.is_nan() {
        return C::new(f64::NAN, f64::NAN);
    }
    let beyond = z.re * (2.0 + z.re) + z.im * z.im;
    let re = if beyond.abs() < 0.5 { beyond.ln_1p() / 2.0 } else { (one() + z).norm().ln() };
    Complex::new(re, z.im.atan2(1.0 + z.re))
}

/// Kahan's formulas ("Branch cuts for complex elementary functions"): no cancellation, and the sign
/// of a zero tells the sides of a cut apart.
fn asinh(z: C) -> C {
    if complex_special_cases::is_finite(z) {
        times_minus_i(asin(times_i(z)))
    } else {
        complex_special_cases::asinh(z)
    }
}

fn asin(z: C) -> C {
    if !complex_special_cases::is_finite(z) {
        return times_minus_i(complex_special_cases::asinh(times_i(z)));
    }
    let (below, above) = (C::new(1.0 - z.re, -z.im).sqrt(), (z + 1.0).sqrt());
    let re = z.re.atan2((below * above).re);
    Complex::new(re, (below.conj() * above).im.asinh())
}

fn acos(z: C) -> C {
    if !complex_special_cases::is_finite(z) {
        return complex_special_cases::acos(z);
    }
    let (below, above) = (C::new(1.0 - z.re, -z.im).sqrt(), (z + 1.0).sqrt());
    Complex::new(2.0 * below.re.atan2(above.re), (above.conj() * below).im.asinh())
}

fn acosh(z: C) -> C {
    if !complex_special_cases::is_finite(z) {
        return complex_special_cases::acosh(z);
    }
    let (below, above) = ((z - 1.0).sqrt(), (z + 1.0).sqrt());
    Complex::new((below.conj() * above).re.asinh(), 2.0 * below.im.atan2(above.re))
}

fn atanh(z: C) -> C {
    if !complex_special_cases::is_finite(z) {
        return complex_special_cases::atanh(z);
    }
    let square = |x: f64| x * x;
    let (re, im) = (z.re, z.im);
    let ratio = 4.0 * re / (square(1.0 - re) + square(im));
    let angle = (2.0 * im).atan2((1.0 - re) * (1.0 + re) - square(im));
    Complex::new(ratio.ln_1p() / 4.0, angle / 2.0)
}

/// `torch.logaddexp`: the imaginary part is not brought back to one turn.
pub(crate) fn logaddexp(a: C, b: C) -> C {
    if [a.re, a.im, b.re, b.im].into_iter().any(f64::is_nan) {
        return C::new(f64::NAN, f64::NAN);
    }
    let (low, high) = if a.re < b.re { (a, b) } else { (b, a) };
    if low.re == high.re && low.re.is_infinite() {
        return if low.re < 0.0 {
            low
        } else {
            (complex_special_cases::exp(a) + complex_special_cases::exp(b)).ln()
        };
    }
    high + log1p(complex_special_cases::exp(low - high))
}

/// `torch.sinc`, of which `round` rounds what goes before the quotient to the dtype.
fn sinc(z: C, round: fn(f64) -> f64) -> C {
    let rounded = |z: C| C::new(round(z.re), round(z.im));
    let z = rounded(z * std::f64::consts::PI);
    if z == C::new(0.0, 0.0) {
        return one();
    }
    quotient(rounded(times_minus_i(complex_special_cases::sinh(times_i(z)))), z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::approx_constant, reason = "results as PyTorch gave them")]
    fn functions_are_pytorchs() {
        // torch.FN(torch.tensor(RE + IMj, dtype=torch.complex128))
        let cases: &[(&str, UnaryOp, [f64; 2], [f64; 2])] = &[
            ("exp2", UnaryOp::Exp2, [0.3, -0.4], [1.184126211560744, -0.33698914167254423]),
            ("exp2", UnaryOp::Exp2, [-2.5, 1.25], [0.1144714055714913, 0.13470819316762866]),
            ("exp2", UnaryOp::Exp2, [1e-09, 2e-09], [1.000000000693147, 1.3862943620807966e-09]),
            ("exp2", UnaryOp::Exp2, [1.5, 0.0], [2.82842712474619, 0.0]),
            ("exp2", UnaryOp::Exp2, [-1.5, -0.0], [0.3535533905932738, -0.0]),
            ("exp2", UnaryOp::Exp2, [0.0, 2.0], [0.18345697474330172, 0.9830277404112437]),
            ("exp2", UnaryOp::Exp2, [30.0, 1.0], [825963981.0423068, 686079446.2943696]),
            ("expm1", UnaryOp::Expm1, [0.3, -0.4], [0.2433022950695026, -0.5256597791969788]),
            ("expm1", UnaryOp::Expm1, [-2.5, 1.25], [-0.9741167643167, 0.07789740117390442]),
            ("expm1", UnaryOp::Expm1, [1e-09, 2e-09], [9.999999985e-10, 2.0000000020000004e-09]),
            ("expm1", UnaryOp::Expm1, [1.5, 0.0], [3.481689070338065, 0.0]),
            ("expm1", UnaryOp::Expm1, [-1.5, -0.0], [-0.7768698398515702, -0.0]),
            ("expm1", UnaryOp::Expm1, [0.0, 2.0], [-1.4161468365471424, 0.9092974268256817]),
            ("expm1", UnaryOp::Expm1, [30.0, 1.0], [5773926857997.932, 8992358290239.943]),
            ("log2", UnaryOp::Log2, [0.3, -0.4], [-1.0, -1.3378042124509764]),
            ("log2", UnaryOp::Log2, [-2.5, 1.25], [1.4828921423310435, 3.8634580356017056]),
            ("log2", UnaryOp::Log2, [1e-09, 2e-09], [-28.736388806542582, 1.5972779646881088]),
            ("log2", UnaryOp::Log2, [1.5, 0.0], [0.5849625007211562, 0.0]),
            ("log2", UnaryOp::Log2, [-1.5, -0.0], [0.5849625007211562, -4.532360141827194]),
            ("log2", UnaryOp::Log2, [0.0, 2.0], [1.0, 2.266180070913597]),
            ("log2", UnaryOp::Log2, [30.0, 1.0], [4.907691647906769, 0.04807203551102882]),
            ("log10", UnaryOp::Log10, [0.3, -0.4], [-0.30102999566398114, -0.40271919627337316]),
            ("log10", UnaryOp::Log10, [-2.5, 1.25], [0.4463950151760658, 1.1630167557051545]),
            ("log10", UnaryOp::Log10, [1e-09, 2e-09], [-8.65051499783199, 0.480828578784234]),
            ("log10", UnaryOp::Log10, [1.5, 0.0], [0.17609125905568124, 0.0]),
            ("log10", UnaryOp::Log10, [-1.5, -0.0], [0.17609125905568124, -1.3643763538418412]),
            ("log10", UnaryOp::Log10, [0.0, 2.0], [0.30102999566398114, 0.6821881769209206]),
            ("log10", UnaryOp::Log10, [30.0, 1.0], [1.4773623954895312, 0.014471124641443754]),
            ("log1p", UnaryOp::Log1p, [0.3, -0.4], [0.30759281954511664, -0.2984989315861793]),
            ("log1p", UnaryOp::Log1p, [-2.5, 1.25], [0.669142570966765, 2.44685437739309]),
            ("log1p", UnaryOp::Log1p, [1e-09, 2e-09], [1.0000000015e-09, 1.999999998e-09]),
            ("log1p", UnaryOp::Log1p, [1.5, 0.0], [0.9162907318741551, 0.0]),
            ("log1p", UnaryOp::Log1p, [-1.5, -0.0], [-0.6931471805599453, -3.141592653589793]),
            ("log1p", UnaryOp::Log1p, [0.0, 2.0], [0.8047189562170503, 1.1071487177940904]),
            ("log1p", UnaryOp::Log1p, [30.0, 1.0], [3.4345072253328532, 0.03224688243525392]),
            ("rsqrt", UnaryOp::Rsqrt, [0.3, -0.4], [1.2649110640673518, 0.6324555320336759]),
            ("rsqrt", UnaryOp::Rsqrt, [-2.5, 1.25], [0.137424299889005, -0.5821386760901419]),
            ("rsqrt", UnaryOp::Rsqrt, [1e-09, 2e-09], [17989.07439947867, -11117.859405028421]),
            ("rsqrt", UnaryOp::Rsqrt, [1.5, 0.0], [0.8164965809277261, 0.0]),
            ("rsqrt", UnaryOp::Rsqrt, [-1.5, -0.0], [-0.0, 0.8164965809277261]),
            ("rsqrt", UnaryOp::Rsqrt, [0.0, 2.0], [0.5, -0.5]),
            ("rsqrt", UnaryOp::Rsqrt, [30.0, 1.0], [0.18249817483405711, -0.003040791817339319]),
            ("tan", UnaryOp::Tan, [0.3, -0.4], [0.26107368184166296, -0.4106334708425564]),
            ("tan", UnaryOp::Tan, [-2.5, 1.25], [0.1494593981864373, 0.9429940867424086]),
            ("tan", UnaryOp::Tan, [1e-09, 2e-09], [1e-09, 2e-09]),
            ("tan", UnaryOp::Tan, [1.5, 0.0], [14.10141994717172, 0.0]),
            ("tan", UnaryOp::Tan, [-1.5, -0.0], [-14.10141994717172, -0.0]),
            ("tan", UnaryOp::Tan, [0.0, 2.0], [0.0, 0.9640275800758168]),
            ("tan", UnaryOp::Tan, [30.0, 1.0], [-0.10848191924054486, 1.290797467745879]),
            ("asin", UnaryOp::Asin, [0.3, -0.4], [0.2806295622918058, -0.4051123371780309]),
            ("asin", UnaryOp::Asin, [-2.5, 1.25], [-1.0800415375009798, 1.7023497340243106]),
            ("asin", UnaryOp::Asin, [1e-09, 2e-09], [1.0000000000000003e-09, 2e-09]),
            ("asin", UnaryOp::Asin, [1.5, 0.0], [1.5707963267948966, 0.9624236501192069]),
            ("asin", UnaryOp::Asin, [-1.5, -0.0], [-1.5707963267948966, -0.9624236501192069]),
            ("asin", UnaryOp::Asin, [0.0, 2.0], [0.0, 1.4436354751788103]),
            ("asin", UnaryOp::Asin, [30.0, 1.0], [1.5374568381211224, 4.094622841270689]),
            ("acos", UnaryOp::Acos, [0.3, -0.4], [1.2901667645030908, 0.4051123371780309]),
            ("acos", UnaryOp::Acos, [-2.5, 1.25], [2.6508378642958763, -1.7023497340243106]),
            ("acos", UnaryOp::Acos, [1e-09, 2e-09], [1.5707963257948965, -2e-09]),
            ("acos", UnaryOp::Acos, [1.5, 0.0], [0.0, -0.9624236501192069]),
            ("acos", UnaryOp::Acos, [-1.5, -0.0], [3.141592653589793, 0.9624236501192069]),
            ("acos", UnaryOp::Acos, [0.0, 2.0], [1.5707963267948966, -1.4436354751788103]),
            ("acos", UnaryOp::Acos, [30.0, 1.0], [0.03333948867377412, -4.094622841270689]),
            ("atan", UnaryOp::Atan, [0.3, -0.4], [0.3373704711117763, -0.3790868723420221]),
            ("atan", UnaryOp::Atan, [-2.5, 1.25], [-1.2542231021472243, 0.14584412860614157]),
            (
                "atan",
                UnaryOp::Atan,
                [1e-09, 2e-09],
                [1.0000000000000003e-09, 2.0000000000000005e-09],
            ),
            ("atan", UnaryOp::Atan, [1.5, 0.0], [0.982793723247329, 0.0]),
            ("atan", UnaryOp::Atan, [-1.5, -0.0], [-0.982793723247329, -0.0]),
            ("atan", UnaryOp::Atan, [0.0, 2.0], [1.5707963267948966, 0.5493061443340549]),
            ("atan", UnaryOp::Atan, [30.0, 1.0], [1.5375122449069847, 0.0011086492669664366]),
            ("sinh", UnaryOp::Sinh, [0.3, -0.4], [0.2804817641764754, -0.4070739913234487]),
            ("sinh", UnaryOp::Sinh, [-2.5, 1.25], [-1.9077647699359064, 5.819448397636909]),
            ("sinh", UnaryOp::Sinh, [1e-09, 2e-09], [1e-09, 2e-09]),
            ("sinh", UnaryOp::Sinh, [1.5, 0.0], [2.1292794550948173, 0.0]),
            ("sinh", UnaryOp::Sinh, [-1.5, -0.0], [-2.1292794550948173, -0.0]),
            ("sinh", UnaryOp::Sinh, [0.0, 2.0], [-0.0, 0.9092974268256817]),
            ("sinh", UnaryOp::Sinh, [30.0, 1.0], [2886963428999.466, 4496179145119.972]),
            ("cosh", UnaryOp::Cosh, [0.3, -0.4], [0.9628205308930272, -0.11858578787353008]),
            ("cosh", UnaryOp::Cosh, [-2.5, 1.25], [1.9336480056192062, -5.741550996463005]),
            ("cosh", UnaryOp::Cosh, [1e-09, 2e-09], [1.0, 2e-18]),
            ("cosh", UnaryOp::Cosh, [1.5, 0.0], [2.352409615243247, 0.0]),
            ("cosh", UnaryOp::Cosh, [-1.5, -0.0], [2.352409615243247, 0.0]),
            ("cosh", UnaryOp::Cosh, [0.0, 2.0], [-0.4161468365471424, 0.0]),
            ("cosh", UnaryOp::Cosh, [30.0, 1.0], [2886963428999.466, 4496179145119.972]),
            ("tanh", UnaryOp::Tanh, [0.3, -0.4], [0.33825474326547145, -0.3811320742724429]),
            ("tanh", UnaryOp::Tanh, [-2.5, 1.25], [-1.0108216673671504, 0.008152593477633623]),
            ("tanh", UnaryOp::Tanh, [1e-09, 2e-09], [1e-09, 2e-09]),
            ("tanh", UnaryOp::Tanh, [1.5, 0.0], [0.9051482536448665, 0.0]),
            ("tanh", UnaryOp::Tanh, [-1.5, -0.0], [-0.9051482536448665, -0.0]),
            ("tanh", UnaryOp::Tanh, [0.0, 2.0], [0.0, -2.185039863261519]),
            ("tanh", UnaryOp::Tanh, [30.0, 1.0], [1.0, 1.5924545408982667e-26]),
            ("asinh", UnaryOp::Asinh, [0.3, -0.4], [0.3189624333048184, -0.3903162045220237]),
            ("asinh", UnaryOp::Asinh, [-2.5, 1.25], [-1.740545149840038, 0.4394795763507196]),
            ("asinh", UnaryOp::Asinh, [1e-09, 2e-09], [9.999999999999999e-10, 2e-09]),
            ("asinh", UnaryOp::Asinh, [1.5, 0.0], [1.1947632172871094, 0.0]),
            ("asinh", UnaryOp::Asinh, [-1.5, -0.0], [-1.1947632172871094, -0.0]),
            ("asinh", UnaryOp::Asinh, [0.0, 2.0], [1.3169578969248166, 1.5707963267948966]),
            ("asinh", UnaryOp::Asinh, [30.0, 1.0], [4.095176548537999, 0.0333025337760095]),
            ("acosh", UnaryOp::Acosh, [0.3, -0.4], [0.4051123371780309, -1.2901667645030908]),
            ("acosh", UnaryOp::Acosh, [-2.5, 1.25], [1.7023497340243106, 2.6508378642958763]),
            ("acosh", UnaryOp::Acosh, [1e-09, 2e-09], [2e-09, 1.5707963257948967]),
            ("acosh", UnaryOp::Acosh, [1.5, 0.0], [0.9624236501192069, 0.0]),
            ("acosh", UnaryOp::Acosh, [-1.5, -0.0], [0.9624236501192069, -3.141592653589793]),
            ("acosh", UnaryOp::Acosh, [0.0, 2.0], [1.4436354751788103, 1.5707963267948966]),
            ("acosh", UnaryOp::Acosh, [30.0, 1.0], [4.094622841270689, 0.03333948867377417]),
            ("atanh", UnaryOp::Atanh, [0.3, -0.4], [0.2614921387956719, -0.4088225229163511]),
            ("atanh", UnaryOp::Atanh, [-2.5, 1.25], [-0.3218222093361104, 1.3949391589068967]),
            (
                "atanh",
                UnaryOp::Atanh,
                [1e-09, 2e-09],
                [9.999999999999999e-10, 2.0000000000000005e-09],
            ),
            ("atanh", UnaryOp::Atanh, [1.5, 0.0], [0.8047189562170501, 1.5707963267948966]),
            ("atanh", UnaryOp::Atanh, [-1.5, -0.0], [-0.8047189562170501, -1.5707963267948966]),
            ("atanh", UnaryOp::Atanh, [0.0, 2.0], [0.0, 1.1071487177940904]),
            ("atanh", UnaryOp::Atanh, [30.0, 1.0], [0.03330860910584494, 1.5696852175127696]),
            ("sigmoid", UnaryOp::Sigmoid, [0.3, -0.4], [0.5774309320633587, -0.09901811424847043]),
            ("sigmoid", UnaryOp::Sigmoid, [-2.5, 1.25], [0.03081818282133599, 0.07359194711173411]),
            ("sigmoid", UnaryOp::Sigmoid, [1e-09, 2e-09], [0.50000000025, 5.000000000000001e-10]),
            ("sigmoid", UnaryOp::Sigmoid, [1.5, 0.0], [0.8175744761936437, 0.0]),
            ("sigmoid", UnaryOp::Sigmoid, [-1.5, -0.0], [0.18242552380635635, 0.0]),
            ("sigmoid", UnaryOp::Sigmoid, [0.0, 2.0], [0.5, 0.778703862327451]),
            ("sigmoid", UnaryOp::Sigmoid, [30.0, 1.0], [0.9999999999999494, 7.874168215050136e-14]),
        ];
        for &(name, op, [re, im], [re_expected, im_expected]) in cases {
            let found = function(op).unwrap()(C::new(re, im));
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs().max(1e-3);
            assert!(
                near(found.re, re_expected) && near(found.im, im_expected),
                "{name}({re} + {im}i) = {found}, not {re_expected} + {im_expected}i"
            );
        }
    }

    #[test]
    fn what_is_beyond_the_dtype_is_as_in_pytorch() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let single = |part: f64| f64::from(part as f32);
        let z = C::new;
        // torch.sinc, torch.logaddexp
        let cases = [
            (sinc(z(0.0, -1000.0), |part| part), z(inf, nan)),
            (sinc(z(1.0, 100.0), single), z(-inf, nan)),
            (logaddexp(z(nan, inf), z(-inf, 1.0)), z(nan, nan)),
            (logaddexp(z(inf, 0.0), z(inf, 0.0)), z(inf, 0.0)),
            (logaddexp(z(-inf, 1.0), z(2.0, 1.0)), z(2.0, 1.0)),
        ];
        let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
        for (found, expected) in cases {
            let is_same = same(found.re, expected.re) && same(found.im, expected.im);
            assert!(is_same, "{found}, expected {expected}");
        }
    }
}

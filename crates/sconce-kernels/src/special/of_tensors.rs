//! Special functions of tensors that have vector code, since programs spend time in them.
#![allow(clippy::redundant_closure, reason = "what is inlined for certain is a closure")]

use sconce_kernel_core::iter::map::map_slices;
use sconce_kernel_core::simd::map_slice::map_slice_with_fallback;
use sconce_kernel_core::tensor::promotion::int_to_float;
use sconce_kernel_core::vecmath::accuracy::{Accuracy, DoubleAccuracy, SingleAccuracy};
use sconce_kernel_core::vecmath::single_via_double;

use super::{
    Precision, erfinv as erfinv_of, log_of_sum, log2_of_sum, ndtr as ndtr_of, sinc as sinc_of,
    single,
};
use crate::elementwise::any_dtype::{
    map_float_each, rounding_pairs, zip_float_each, zip_floating_each,
};
use crate::special::polynomials::Polynomial;
use crate::{DType, Error, Operand, Result, Tensor, map_float, result_type, zip_float};

/// `torch.erfinv`: NaN outside [-1, 1].
///
/// # Errors
/// For complex numbers.
pub fn erfinv(input: &Tensor) -> Result<Tensor> {
    map_float_each(
        "erfinv_vml_cpu",
        input,
        #[inline(always)]
        |x| single_via_double::erfinv(x),
        erfinv_of,
    )
}

/// `torch.lgamma`.
///
/// # Errors
/// For complex numbers.
pub fn lgamma(input: &Tensor) -> Result<Tensor> {
    map_float_each(
        "lgamma_cpu",
        input,
        #[inline(always)]
        |x| single::lgamma(x),
        super::lgamma,
    )
}

/// `torch.special.ndtri`: the inverse of [`ndtr`].
///
/// # Errors
/// For complex numbers.
pub fn ndtri(input: &Tensor) -> Result<Tensor> {
    map_float_each(
        "ndtri",
        input,
        #[inline(always)]
        |x| single::ndtri(x),
        super::ndtri,
    )
}

/// `torch.i0`, or `torch.special.i0e` where it does not grow, by the name of the kernel.
///
/// # Errors
/// For complex numbers.
pub fn modified_bessel_i0(kernel: &str, input: &Tensor, grows: bool) -> Result<Tensor> {
    let double = if grows { super::modified_bessel_i0 } else { super::modified_bessel_i0e };
    map_float_each(
        kernel,
        input,
        #[inline(always)]
        move |x| single::modified_bessel_i0(x, grows),
        double,
    )
}

/// `torch.special.i1`, or `torch.special.i1e` where it does not grow, by the name of the kernel.
///
/// # Errors
/// For complex numbers.
pub fn modified_bessel_i1(kernel: &str, input: &Tensor, grows: bool) -> Result<Tensor> {
    let double = if grows { super::modified_bessel_i1 } else { super::modified_bessel_i1e };
    map_float_each(
        kernel,
        input,
        #[inline(always)]
        move |x| single::modified_bessel_i1(x, grows),
        double,
    )
}

/// `torch.special.ndtr`: the normal distribution function.
///
/// # Errors
/// For complex numbers.
pub fn ndtr(input: &Tensor) -> Result<Tensor> {
    #[inline(always)]
    fn single(x: f64) -> f64 {
        0.5 * single_via_double::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
    }
    map_float_each("ndtr", input, single, ndtr_of)
}

/// `torch.special.entr`: `-x ln x`.
///
/// # Errors
/// For complex numbers.
pub fn entr(input: &Tensor) -> Result<Tensor> {
    map_float_each("entr", input, entr_of::<SingleAccuracy>, entr_of::<DoubleAccuracy>)
}

#[inline(always)]
fn entr_of<M: Accuracy>(x: f64) -> f64 {
    let y = -x * M::ln(x);
    let y = if x == 0.0 { 0.0 } else { y };
    if x < 0.0 { f64::NEG_INFINITY } else { y }
}

/// `torch.sinc` of real numbers: `sin(πx) / πx`, with the product as the dtype rounds it.
///
/// # Errors
/// For complex numbers.
pub fn sinc(input: &Tensor) -> Result<Tensor> {
    let dtype = int_to_float(input.dtype());
    if !matches!(dtype, DType::Float16 | DType::BFloat16 | DType::Float32) {
        return map_float("sinc_cpu", input, |x| sinc_of(x, Precision::Double));
    }
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let angle = f64::from(std::f32::consts::PI * x);
        let is_small = angle.abs() <= SingleAccuracy::LARGEST_ANGLE;
        let y = if x == 0.0 { 1.0 } else { SingleAccuracy::sin(angle) / angle };
        (if is_small { y } else { f64::NAN }) as f32
    }
    let exact = |x: f32| sinc_of(x.into(), Precision::Single) as f32;
    let wide = input.to_dtype(dtype)?.to_dtype(DType::Float32)?;
    map_slices(&wide, &|xs, out| map_slice_with_fallback(xs, out, fast, exact))?.to_dtype(dtype)
}

/// `torch.logaddexp` of real numbers.
///
/// # Errors
/// For integers, and where sizes do not broadcast.
pub fn logaddexp(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (single, double) =
        (rounding_pairs(log_of_sum::<SingleAccuracy>), log_of_sum::<DoubleAccuracy>);
    zip_floating_each("logaddexp_cpu", a, b, single, double)
}

/// `torch.logaddexp2`.
///
/// # Errors
/// For integers, and where sizes do not broadcast.
pub fn logaddexp2(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (single, double) =
        (rounding_pairs(log2_of_sum::<SingleAccuracy>), log2_of_sum::<DoubleAccuracy>);
    zip_floating_each("logaddexp2_cpu", a, b, single, double)
}

/// `torch.hypot`.
///
/// # Errors
/// For integers, and where sizes do not broadcast.
pub fn hypot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    zip_floating_each(
        "hypot_cpu",
        a,
        b,
        rounding_pairs(SingleAccuracy::hypot),
        DoubleAccuracy::hypot,
    )
}

/// `torch.xlogy`: `x ln y`, 0 where `x` is 0.
///
/// # Errors
/// For complex numbers, and where sizes do not broadcast.
pub fn xlogy(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (single, double) = (rounding_pairs(xlogy_of::<SingleAccuracy>), xlogy_of::<DoubleAccuracy>);
    zip_float_each("xlogy_cpu", x, y, single, double)
}

#[inline(always)]
fn xlogy_of<M: Accuracy>(x: f64, y: f64) -> f64 {
    times_logarithm(x, y, M::ln(y))
}

/// `torch.special.xlog1py`: `x ln(1 + y)`, 0 where `x` is 0.
///
/// # Errors
/// For complex numbers, and where sizes do not broadcast.
pub fn xlog1py(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (single, double) =
        (rounding_pairs(xlog1py_of::<SingleAccuracy>), xlog1py_of::<DoubleAccuracy>);
    zip_float_each("xlog1py_cpu", x, y, single, double)
}

#[inline(always)]
fn xlog1py_of<M: Accuracy>(x: f64, y: f64) -> f64 {
    times_logarithm(x, y, M::ln_1p(y))
}

#[inline(always)]
fn times_logarithm(x: f64, y: f64, logarithm: f64) -> f64 {
    let product = if x == 0.0 { 0.0 } else { x * logarithm };
    if y.is_nan() { f64::NAN } else { product }
}

/// The value of a polynomial family at each `x` for each degree; integers give `float32`.
///
/// # Errors
/// For half precision and complex numbers, and for degrees beyond a million.
pub fn polynomial(family: Polynomial, x: Operand<'_>, degree: Operand<'_>) -> Result<Tensor> {
    const HIGHEST: i64 = 1_000_000;
    let dtype = int_to_float(result_type(&[x, degree])?);
    if !matches!(dtype, DType::Float32 | DType::Float64) {
        return Err(Error::no_kernel("polynomial_cpu", dtype));
    }
    // As whole numbers: what is none is the least of them, the degree of nothing.
    let whole = |degree: f64| if degree < i64::MAX as f64 { degree as i64 } else { i64::MIN };
    let degrees = degree.to_dtype(DType::Float64)?.to_vec::<f64>()?;
    if degrees.iter().any(|&degree| whole(degree) > HIGHEST) {
        return Err(Error::not_implemented("a polynomial of a degree above 1000000"));
    }
    match dtype {
        DType::Float32 => {
            zip_float("polynomial_cpu", x, degree, |x, n| f64::from(family.at(x as f32, whole(n))))
        }
        _ => zip_float("polynomial_cpu", x, degree, |x, n| family.at(x, whole(n))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special;

    #[test]
    fn vector_code_gives_what_the_functions_of_numbers_give() {
        type Of = fn(&Tensor) -> Result<Tensor>;
        type Case = (&'static str, Of, fn(f64) -> f64);
        let cases: [Case; 4] = [
            ("erfinv", erfinv, special::erfinv),
            ("ndtr", ndtr, special::ndtr),
            ("entr", entr, |x| -x * x.ln()),
            ("sinc", sinc, |x| special::sinc(x, Precision::Single)),
        ];
        let numbers: Vec<f32> = (1..700).map(|i| i as f32 / 700.0).collect();
        let large = [0.0, 3e6, -1e9, 12.5, f32::NAN];
        for (name, of, expected) in cases {
            let numbers: Vec<f32> = match name {
                "sinc" => numbers.iter().copied().chain(large).collect(),
                _ => numbers.clone(),
            };
            let input = Tensor::from_slice(&numbers, &[numbers.len() as i64]).unwrap();
            for dtype in [DType::Float32, DType::Float64] {
                if (name, dtype) == ("sinc", DType::Float64) {
                    continue;
                }
                let found = of(&input.to_dtype(dtype).unwrap()).unwrap();
                let found = found.to_dtype(DType::Float64).unwrap().to_vec::<f64>().unwrap();
                for (&x, found) in numbers.iter().zip(found) {
                    let expected = expected(x.into());
                    let near = (found - expected).abs() <= 1.2e-7 * expected.abs();
                    assert!(near || found.is_nan() && expected.is_nan(), "{name} {x}: {found}");
                }
            }
        }
    }

    #[test]
    fn pairs_of_edges_are_those_of_pytorch() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        type Of = fn(&Tensor, &Tensor) -> Result<Tensor>;
        let cases: [(&str, Of, f32, f32, f32); 15] = [
            ("logaddexp", logaddexp, inf, inf, inf),
            ("logaddexp", logaddexp, -inf, -inf, -inf),
            ("logaddexp", logaddexp, -inf, 2.0, 2.0),
            ("logaddexp", logaddexp, inf, nan, nan),
            ("logaddexp2", logaddexp2, -inf, inf, inf),
            ("logaddexp2", logaddexp2, 3.0, 3.0, 4.0),
            ("hypot", hypot, 3.0, -4.0, 5.0),
            ("hypot", hypot, inf, nan, inf),
            ("hypot", hypot, nan, 1.0, nan),
            ("hypot", hypot, 3e38, 1e38, 3.162_277_7e38),
            ("xlogy", |x, y| xlogy(x.into(), y.into()), 0.0, 0.0, 0.0),
            ("xlogy", |x, y| xlogy(x.into(), y.into()), 0.0, nan, nan),
            ("xlogy", |x, y| xlogy(x.into(), y.into()), 2.0, -1.0, nan),
            ("xlog1py", |x, y| xlog1py(x.into(), y.into()), 0.0, inf, 0.0),
            ("xlog1py", |x, y| xlog1py(x.into(), y.into()), 2.0, -1.0, -inf),
        ];
        for (name, of, x, y, expected) in cases {
            for dtype in [DType::Float32, DType::Float64] {
                let [a, b] = [x, y].map(|x| {
                    let one = Tensor::from_slice(&[x], &[1]).unwrap().to_dtype(dtype).unwrap();
                    one.expand(&[3]).unwrap()
                });
                let found = of(&a, &b).unwrap().to_dtype(DType::Float32).unwrap();
                for found in found.to_vec::<f32>().unwrap() {
                    let same = found == expected || found.is_nan() && expected.is_nan();
                    assert!(same, "{name} of {x}, {y}: {found}, not {expected}");
                }
            }
        }
    }
}

//! Complex tensors: real and imaginary parts as views, conversion to and from polar form.

use num_complex::Complex;
use sconce_kernel_core::iter::map::map;
use sconce_kernel_core::layout::shape;
use sconce_kernel_core::tensor::promotion::int_to_float;
use sconce_kernel_core::vecmath::accuracy::{Accuracy, SingleAccuracy};

use crate::{DType, Dims, Error, PodElement, Result, Tensor};

/// The real dtype of the parts of a complex one; other dtypes as they are.
pub fn real_dtype(dtype: DType) -> DType {
    dtype.to_real()
}

/// The complex dtype whose parts have a dtype; complex ones as they are.
///
/// # Errors
/// For dtypes whose complex counterpart has no kernels.
pub fn complex_dtype(dtype: DType) -> Result<DType> {
    match dtype {
        DType::Float16 | DType::ComplexHalf => Ok(DType::ComplexHalf),
        DType::Float32 | DType::Complex64 => Ok(DType::Complex64),
        DType::Float64 | DType::Complex128 => Ok(DType::Complex128),
        other => Err(Error::not_implemented(format!(
            "complex numbers of which a part is {}",
            other.scalar_type_name()
        ))),
    }
}

/// `torch.view_as_real`: the same storage with a last dimension of real and imaginary part.
///
/// # Errors
/// For tensors that are not complex.
pub fn view_as_real(input: &Tensor) -> Result<Tensor> {
    if !input.dtype().is_complex() {
        return Err(Error::runtime("view_as_real is only supported for complex tensors"));
    }
    let dtype = parts_of(input)?;
    let sizes: Dims = input.sizes().iter().copied().chain([2]).collect();
    let strides: Dims = input.strides().iter().map(|&s| s.saturating_mul(2)).chain([1]).collect();
    let offset = input.offset().saturating_mul(2);
    Tensor::from_storage(input.storage().clone(), dtype, &sizes, &strides, offset)
}

fn parts_of(input: &Tensor) -> Result<DType> {
    match real_dtype(input.dtype()) {
        dtype @ (DType::Float16 | DType::Float32 | DType::Float64) => Ok(dtype),
        other => Err(Error::no_kernel("view_as_real", other)),
    }
}

/// `torch.view_as_complex`: pairs in the last dimension as complex numbers, the same storage.
///
/// # Errors
/// For other dtypes than `float32` and `float64` and for pairs that do not lie side by side.
pub fn view_as_complex(input: &Tensor) -> Result<Tensor> {
    if !matches!(input.dtype(), DType::Float32 | DType::Float64 | DType::Float16) {
        return Err(Error::runtime(format!(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor \
             of scalar type: {}",
            input.dtype().scalar_type_name()
        )));
    }
    let dtype = complex_dtype(input.dtype())?;
    let (Some((2, sizes)), Some((step, strides))) =
        (input.sizes().split_last().map(|(&n, rest)| (n, rest)), input.strides().split_last())
    else {
        return Err(Error::runtime(match input.dim() {
            0 => "Input tensor must have one or more dimensions",
            _ => "Tensor must have a last dimension of size 2",
        }));
    };
    if *step != 1 {
        return Err(Error::runtime("Tensor must have a last dimension with stride 1"));
    }
    if strides.iter().any(|stride| stride % 2 != 0) {
        let message = "Tensor must have a stride divisible by 2 for all but last dimension";
        return Err(Error::runtime(message));
    }
    if input.offset() % 2 != 0 {
        return Err(Error::runtime("Tensor must have a storage_offset divisible by 2"));
    }
    let strides: Dims = strides.iter().map(|stride| stride / 2).collect();
    Tensor::from_storage(input.storage().clone(), dtype, sizes, &strides, input.offset() / 2)
}

/// `torch.real`: a view of the real parts; a real tensor is its own.
///
/// # Errors
/// For complex dtypes without kernels.
pub fn real(input: &Tensor) -> Result<Tensor> {
    if !input.dtype().is_complex() {
        return Ok(input.clone());
    }
    view_as_real(input)?.select(-1, 0)
}

/// `torch.imag`: a view of the imaginary parts.
///
/// # Errors
/// For tensors that are not complex.
pub fn imag(input: &Tensor) -> Result<Tensor> {
    if !input.dtype().is_complex() {
        let message = "imag is not implemented for tensors with non-complex dtypes.";
        return Err(Error::runtime(message));
    }
    view_as_real(input)?.select(-1, 1)
}

/// `torch.conj_physical`: a new tensor, or the tensor itself where it is not complex.
///
/// # Errors
/// For complex dtypes without kernels.
pub fn conj(input: &Tensor) -> Result<Tensor> {
    match input.dtype() {
        DType::ComplexHalf => map(input, |x: Complex<half::f16>| Complex::new(x.re, -x.im)),
        DType::Complex64 => map(input, |x: Complex<f32>| x.conj()),
        DType::Complex128 => map(input, |x: Complex<f64>| x.conj()),
        dtype if dtype.is_complex() => Err(Error::no_kernel("conj_cpu", dtype)),
        _ => Ok(input.clone()),
    }
}

/// `torch.angle`: the argument; 0 or pi for real numbers, NaN stays NaN.
///
/// # Errors
/// For complex dtypes without kernels.
pub fn angle(input: &Tensor) -> Result<Tensor> {
    use std::f64::consts::PI;
    match input.dtype() {
        DType::Complex64 => map(
            input,
            #[inline(always)]
            |x: Complex<f32>| SingleAccuracy::atan2(x.im.into(), x.re.into()) as f32,
        ),
        DType::Complex128 => map(input, |x: Complex<f64>| x.arg()),
        dtype if dtype.is_complex() => Err(Error::no_kernel("angle_cpu", dtype)),
        dtype => {
            let argument = |x: f64| match x {
                x if x.is_nan() => x,
                x if x < 0.0 => PI,
                _ => 0.0,
            };
            map(&input.to_dtype(DType::Float64)?, argument)?.to_dtype(int_to_float(dtype))
        }
    }
}

/// `torch.sgn` of complex tensors: `x / |x|`, and 0 for 0.
///
/// # Errors
/// For tensors that are not complex.
pub fn complex_sgn(input: &Tensor) -> Result<Tensor> {
    fn unit<F: num_traits::Float>(x: Complex<F>) -> Complex<F> {
        let length = x.re.hypot(x.im);
        if length == F::zero() { Complex::new(F::zero(), F::zero()) } else { x / length }
    }
    match input.dtype() {
        DType::Complex64 => map(input, unit::<f32>),
        DType::Complex128 => map(input, unit::<f64>),
        dtype => Err(Error::no_kernel("sgn_cpu", dtype)),
    }
}

/// `torch.complex`: real and imaginary parts, broadcast.
///
/// # Errors
/// For dtypes that differ or have no complex counterpart.
pub fn complex(re: &Tensor, im: &Tensor) -> Result<Tensor> {
    joined(re, im, |x| x, |x| x)
}

/// `torch.polar`: length and angle, broadcast.
///
/// # Errors
/// As [`complex`].
pub fn polar(abs: &Tensor, angle: &Tensor) -> Result<Tensor> {
    let turn = |[abs, angle]: [f32; 2]| [abs * angle.cos(), abs * angle.sin()];
    joined(abs, angle, turn, |[abs, angle]| [abs * angle.cos(), abs * angle.sin()])
}

fn joined(
    a: &Tensor,
    b: &Tensor,
    single: fn([f32; 2]) -> [f32; 2],
    double: fn([f64; 2]) -> [f64; 2],
) -> Result<Tensor> {
    let allowed = [DType::Float32, DType::Float64, DType::Float16];
    if !allowed.contains(&a.dtype()) || !allowed.contains(&b.dtype()) {
        return Err(Error::runtime(format!(
            "Expected both inputs to be Half, Float or Double tensors but got {} and {}",
            a.dtype().scalar_type_name(),
            b.dtype().scalar_type_name()
        )));
    }
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "Expected object of scalar type {} but got scalar type {} for second argument",
            a.dtype().scalar_type_name(),
            b.dtype().scalar_type_name()
        )));
    }
    let sizes = shape::broadcast(a.sizes(), b.sizes())?;
    let (a, b) = (a.expand(&sizes)?.contiguous()?, b.expand(&sizes)?.contiguous()?);
    match a.dtype() {
        DType::Float16 => {
            let wide =
                joined(&a.to_dtype(DType::Float32)?, &b.to_dtype(DType::Float32)?, single, double);
            wide?.to_dtype(DType::ComplexHalf)
        }
        DType::Float32 => pairs(&a, &b, |pair| {
            let [re, im] = single(pair);
            Complex::new(re, im)
        }),
        DType::Float64 => pairs(&a, &b, |pair| {
            let [re, im] = double(pair);
            Complex::new(re, im)
        }),
        dtype => Err(Error::no_kernel("complex_kernel", dtype)),
    }
}

fn pairs<T: PodElement, U: PodElement>(
    a: &Tensor,
    b: &Tensor,
    f: impl Fn([T; 2]) -> U,
) -> Result<Tensor> {
    let result = Tensor::zeros(a.sizes(), U::DTYPE)?;
    let (xs, ys) = (a.read::<T>()?, b.read::<T>()?);
    let mut out = result.write::<U>()?;
    for (out, (&x, &y)) in out.iter_mut().zip(xs.iter().zip(ys.iter())) {
        *out = f([x, y]);
    }
    drop(out);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_views() {
        let data: Vec<Complex<f32>> = (0..4).map(|i| Complex::new(i as f32, -1.0)).collect();
        let t = Tensor::from_slice(&data, &[2, 2]).unwrap().t().unwrap();
        imag(&t).unwrap().select(0, 1).unwrap().fill(7.0.into()).unwrap();
        let pairs = view_as_real(&t).unwrap();
        assert_eq!(pairs.sizes(), [2, 2, 2]);
        assert_eq!(pairs.to_vec::<f32>().unwrap(), [0.0, -1.0, 2.0, -1.0, 1.0, 7.0, 3.0, 7.0]);
        let back = view_as_complex(&pairs).unwrap();
        assert_eq!(back.strides(), t.strides());
        assert!(view_as_complex(&real(&t).unwrap()).is_err());
    }

    #[test]
    fn angles_keep_nan_and_dtype() {
        let t = Tensor::from_slice(&[-2f32, 0.0, f32::NAN], &[3]).unwrap();
        let got = angle(&t).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(got[..2], [std::f32::consts::PI, 0.0]);
        assert!(got[2].is_nan());
        let whole = Tensor::from_slice(&[-2i64], &[1]).unwrap();
        assert_eq!(angle(&whole).unwrap().dtype(), DType::Float32);
    }
}

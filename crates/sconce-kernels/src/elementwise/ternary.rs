//! Element-wise operators of three operands.

use sconce_kernel_core::layout::shape::{broadcast, expanded_strides};
use sconce_kernel_core::layout::strided_iter;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::wide_elements::{Complex128, Number, widest};

use crate::elementwise::any_dtype::zip_floating;
use crate::elementwise::complex_arithmetic::quotient;
use crate::{DType, Error, Operand, PodElement, Result, Scalar, Tensor, result_type};

/// `f` of broadcast triples.
fn zip3<T: PodElement>(
    tensors: [&Tensor; 3],
    dtype: DType,
    f: impl Fn(T, T, T) -> T + Copy,
) -> Result<Tensor> {
    let sizes = broadcast(&broadcast(tensors[0].sizes(), tensors[1].sizes())?, tensors[2].sizes())?;
    let wide = |tensor: &Tensor| tensor.to_dtype(dtype)?.to_dtype(T::DTYPE);
    let [a, b, c] = [wide(tensors[0])?, wide(tensors[1])?, wide(tensors[2])?];
    let result = Tensor::for_overwrite(&sizes, T::DTYPE)?;
    {
        let strides = [&a, &b, &c].map(|t| expanded_strides(t.sizes(), t.strides(), &sizes));
        let (xs, ys, zs) =
            (a.storage().read::<T>()?, b.storage().read::<T>()?, c.storage().read::<T>()?);
        let mut out = result.write::<T>()?;
        let start = [0, a.offset(), b.offset(), c.offset()];
        let strides = [result.strides(), &strides[0], &strides[1], &strides[2]];
        strided_iter::rows(
            &sizes,
            strides,
            start,
            |[o, x, y, z], [_, x_step, y_step, z_step], len| {
                let out = &mut out[o..o + len];
                let (xs, ys, zs): (&[T], &[T], &[T]) = (&xs[x..], &ys[y..], &zs[z..]);
                dispatch(
                    #[inline(always)]
                    move || {
                        if [x_step, y_step, z_step] == [1, 1, 1] {
                            let triples = xs[..len].iter().zip(&ys[..len]).zip(&zs[..len]);
                            for (out, ((&x, &y), &z)) in out.iter_mut().zip(triples) {
                                *out = f(x, y, z);
                            }
                        } else {
                            for (i, out) in out.iter_mut().enumerate() {
                                *out = f(xs[i * x_step], ys[i * y_step], zs[i * z_step]);
                            }
                        }
                    },
                );
            },
        );
    }
    result.to_dtype(dtype)
}

/// [`zip3`] of floating tensors, computed in double precision.
fn zip3_floating(
    tensors: [&Tensor; 3],
    dtype: DType,
    f: impl Fn(f64, f64, f64) -> f64 + Copy,
) -> Result<Tensor> {
    match dtype {
        DType::Float64 => zip3(tensors, dtype, f),
        _ => zip3(
            tensors,
            dtype,
            #[inline(always)]
            move |x: f32, y, z| f(x.into(), y.into(), z.into()) as f32,
        ),
    }
}

/// `torch.lerp`: from `start` to `end` by `weight`.
///
/// # Errors
/// For integers, dtypes that differ, and sizes that do not broadcast.
pub fn lerp(start: &Tensor, end: &Tensor, weight: Operand<'_>) -> Result<Tensor> {
    let dtype = start.dtype();
    if dtype != end.dtype() {
        return Err(Error::runtime(format!(
            "expected dtype {} for `end` but got dtype {}",
            sconce_kernel_core::error::cpp_type_name(dtype),
            sconce_kernel_core::error::cpp_type_name(end.dtype())
        )));
    }
    if let Operand::Tensor(weight) = weight
        && weight.dtype() != dtype
    {
        if weight.dim() != 0 {
            return Err(Error::runtime(format!(
                "expected dtype {} for `weight` but got dtype {}",
                crate::cpp_type_name(dtype),
                crate::cpp_type_name(weight.dtype())
            )));
        }
        let common = result_type(&[start.into(), end.into(), weight.into()])?;
        let [start, end] = [start, end].map(|tensor| tensor.to_dtype(common));
        return lerp(&start?, &end?, (&weight.to_dtype(common)?).into());
    }
    if !dtype.is_floating_point() && !dtype.is_complex() {
        let kernel = match weight {
            Operand::Tensor(_) => "lerp_kernel_tensor",
            Operand::Scalar(_) => "lerp_kernel_scalar",
        };
        return Err(Error::no_kernel(kernel, dtype));
    }
    if widest(dtype)? == DType::Float64 {
        return match weight {
            Operand::Tensor(weight) => zip3_floating([start, end, weight], dtype, mixed),
            Operand::Scalar(weight) => {
                let weight = weight.to_f64();
                zip_floating("lerp_kernel_scalar", start, end, move |a, b| mixed(a, b, weight))
            }
        };
    }
    let weight = match weight {
        Operand::Tensor(weight) => weight.clone(),
        Operand::Scalar(weight) => Tensor::scalar(weight, dtype)?,
    };
    zip3([start, end, &weight], dtype, |a: Complex128, b, w| match w.norm() < 0.5 {
        true => a + w * (b - a),
        false => b - (b - a) * (Complex128::ONE - w),
    })
}

/// [`lerp`] of numbers.
#[inline(always)]
pub(crate) fn mixed(a: f64, b: f64, weight: f64) -> f64 {
    match weight.abs() < 0.5 {
        true => a + weight * (b - a),
        false => b - (b - a) * (1.0 - weight),
    }
}

/// `torch.addcmul`: `input + value * a * b`.
///
/// # Errors
/// For `bool`, and sizes that do not broadcast.
pub fn addcmul(input: &Tensor, a: &Tensor, b: &Tensor, value: Scalar) -> Result<Tensor> {
    let dtype = result_type(&[input.into(), a.into(), b.into()])?;
    if dtype == DType::Bool {
        return Err(Error::no_kernel("addcmul_cpu_out", dtype));
    }
    if matches!(value, Scalar::Complex(_)) && !dtype.is_complex() {
        return Err(Error::no_kernel("addcmul_cpu_out with a complex value", dtype));
    }
    let tensors = [input, a, b];
    match widest(dtype)? {
        DType::Int64 => zip3(tensors, dtype, plus_product(value.to_i64())),
        DType::Float64 => zip3_floating(tensors, dtype, plus_product(value.to_f64())),
        _ => zip3(tensors, dtype, plus_product(value.to_complex())),
    }
}

fn plus_product<T: Number>(value: T) -> impl Fn(T, T, T) -> T + Copy {
    move |x, a, b| x.plus(value.times(a).times(b))
}

/// `torch.addcdiv`: `input + value * a / b`.
///
/// # Errors
/// For integers, and sizes that do not broadcast.
pub fn addcdiv(input: &Tensor, a: &Tensor, b: &Tensor, value: Scalar) -> Result<Tensor> {
    let whole = |t: &Tensor| t.dtype().is_integral() || t.dtype() == DType::Bool;
    if whole(a) && whole(b) {
        return Err(Error::runtime(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv \
             will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be \
             implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for \
             integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future \
             addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), \
             for all dtypes.",
        ));
    }
    let dtype = result_type(&[input.into(), a.into(), b.into()])?;
    if matches!(value, Scalar::Complex(_)) && !dtype.is_complex() {
        return Err(Error::no_kernel("addcdiv_cpu_out with a complex value", dtype));
    }
    let tensors = [input, a, b];
    match widest(dtype)? {
        DType::Int64 => Err(Error::no_kernel("addcdiv_cpu_out", dtype)),
        DType::Float64 => {
            let value = value.to_f64();
            zip3_floating(tensors, dtype, move |x, a, b| x + value * a / b)
        }
        _ => {
            let value = value.to_complex();
            zip3(tensors, dtype, move |x: Complex128, a, b| x + quotient(value * a, b))
        }
    }
}

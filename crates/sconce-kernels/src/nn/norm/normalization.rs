//! Batch, layer and group normalisation.

use half::{bf16, f16};
use sconce_kernel_core::parallel::{grain, partition};
use sconce_kernel_core::simd::half_precision::{Half, narrow, widen};
use sconce_kernel_core::tensor::promotion::{compute_dtype, is_half};

use crate::nn::norm::layer_norm_rows::layer_norm_rows;
use crate::reduction::reduce::row_sum;
use crate::{DType, Error, Result, Tensor};

/// An optional scale or shift, as `float32` numbers.
fn parameter(tensor: Option<&Tensor>) -> Result<Option<Vec<f64>>> {
    tensor.map(|tensor| tensor.to_dtype(DType::Float64)?.to_vec::<f64>()).transpose()
}

pub(crate) fn floating(input: &Tensor, kernel: &str) -> Result<()> {
    match input.dtype().is_floating_point() {
        true => Ok(()),
        false => Err(Error::no_kernel(kernel, input.dtype())),
    }
}

/// Refuses an input whose last sizes are not those that are normalised over. `any` stands for those before.
pub(crate) fn check_normalized_shape(
    input: &Tensor,
    normalized_shape: &[i64],
    any: &str,
) -> Result<()> {
    if normalized_shape.is_empty() {
        return Err(Error::runtime(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one \
             element, but got normalized_shape = []",
        ));
    }
    if input.sizes().ends_with(normalized_shape) {
        return Ok(());
    }
    let dims: Vec<String> = normalized_shape.iter().map(i64::to_string).collect();
    Err(Error::runtime(format!(
        "Given normalized_shape={normalized_shape:?}, expected input with shape [{any}{}], but got \
         input of size{:?}",
        dims.join(", "),
        input.sizes()
    )))
}

pub(crate) fn check_length(what: &str, tensor: Option<&Tensor>, channels: i64) -> Result<()> {
    match tensor {
        Some(tensor) if tensor.numel() != channels => Err(Error::runtime(format!(
            "{what} should contain {channels} elements not {}",
            tensor.numel()
        ))),
        _ => Ok(()),
    }
}

/// Refuses parameters that are neither all of the input's dtype nor all `float32` beside an input of half
/// precision.
pub(crate) fn check_parameters(input: &Tensor, parameters: &[Option<&Tensor>]) -> Result<()> {
    let name = |dtype: DType| dtype.scalar_type_name();
    let mut given = parameters.iter().flatten().map(|tensor| tensor.dtype());
    let is_mixed = given.next().is_some_and(|first| first != input.dtype());
    let expected = if is_mixed { DType::Float32 } else { input.dtype() };
    let other = parameters.iter().flatten().find(|tensor| tensor.dtype() != expected);
    let message = match other {
        Some(_) if is_mixed => {
            "mixed dtype (CPU): expect parameter to have scalar type of Float".to_owned()
        }
        Some(other) => {
            format!("expected scalar type {} but found {}", name(expected), name(other.dtype()))
        }
        None if is_mixed && !is_half(input.dtype()) => {
            "mixed dtype (CPU): all inputs must share same datatype.".to_owned()
        }
        None => return Ok(()),
    };
    Err(Error::runtime(message))
}

/// Refuses running statistics of other than one dimension.
pub(crate) fn check_statistics(statistics: [Option<&Tensor>; 2]) -> Result<()> {
    match statistics.into_iter().flatten().find(|tensor| tensor.dim() != 1) {
        Some(tensor) => Err(Error::runtime(format!(
            "TensorAccessor expected 1 dims but tensor has {}",
            tensor.dim()
        ))),
        None => Ok(()),
    }
}

/// Refuses a parameter that has not the shape that is normalised over.
pub(crate) fn check_shape(what: &str, tensor: Option<&Tensor>, wanted: &[i64]) -> Result<()> {
    match tensor {
        Some(tensor) if tensor.sizes() != wanted => Err(Error::runtime(format!(
            "Expected {what} to be of same shape as normalized_shape, but got {what} of shape {:?} and \
             normalized_shape = {wanted:?}",
            tensor.sizes()
        ))),
        _ => Ok(()),
    }
}

/// Refuses a parameter that has not one number for each channel.
fn check_vector(what: &str, tensor: Option<&Tensor>, input: &Tensor) -> Result<()> {
    match tensor {
        Some(tensor) if tensor.sizes() != &input.sizes()[1..2] => Err(Error::runtime(format!(
            "Expected {what} to be a vector of size equal to the number of channels in input, but got \
             {what} of shape {:?} and input of shape {:?}",
            tensor.sizes(),
            input.sizes()
        ))),
        _ => Ok(()),
    }
}

/// `torch.nn.functional.batch_norm` with running statistics, as in evaluation.
///
/// # Errors
/// Where parameters have another length than there are channels.
pub fn batch_norm(
    input: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    running_mean: &Tensor,
    running_var: &Tensor,
    eps: f64,
) -> Result<Tensor> {
    floating(input, "batch_norm")?;
    if input.numel() == 0 && input.dim() < 2 {
        return input.copy();
    }
    let channels = input.size(1)?;
    let named = [
        ("running_mean", Some(running_mean)),
        ("running_var", Some(running_var)),
        ("weight", weight),
        ("bias", bias),
    ];
    for (what, tensor) in named {
        check_length(what, tensor, channels)?;
    }
    check_statistics([Some(running_mean), Some(running_var)])?;
    check_parameters(input, &[weight, bias, Some(running_mean), Some(running_var)])?;
    let (mean, var) = (parameter(Some(running_mean))?, parameter(Some(running_var))?);
    let pairs = mean.into_iter().flatten().zip(var.into_iter().flatten());
    let statistics: Vec<(f64, f64)> =
        pairs.map(|(mean, var)| (mean, 1.0 / (var + eps).sqrt())).collect();
    scale_channels(input, &statistics, weight, bias)
}

/// Every channel less its mean, times its scale, then times weight plus bias.
pub(crate) fn scale_channels(
    input: &Tensor,
    statistics: &[(f64, f64)],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let (weight, bias) = (parameter(weight)?, parameter(bias)?);
    let at =
        |list: &Option<Vec<f64>>, c: usize, default: f64| list.as_ref().map_or(default, |l| l[c]);
    let coefficients = statistics.iter().enumerate().map(|(c, (mean, scale))| {
        let scale = at(&weight, c, 1.0) * scale;
        (scale, at(&bias, c, 0.0) - mean * scale)
    });
    let coefficients: Vec<(f64, f64)> = coefficients.collect();
    let dtype = input.dtype();
    let result = input.to_dtype(compute_dtype(dtype))?.copy()?;
    let inner = sconce_kernel_core::layout::shape::product(&input.sizes()[2..]) as usize;
    if result.numel() == 0 {
        return result.to_dtype(dtype);
    }
    let coefficients = coefficients.iter().cycle();
    match result.dtype() {
        DType::Float32 => {
            for (row, &(scale, shift)) in
                result.write::<f32>()?.chunks_exact_mut(inner).zip(coefficients)
            {
                let (scale, shift) = (scale as f32, shift as f32);
                row.iter_mut().for_each(|x| *x = *x * scale + shift);
            }
        }
        _ => {
            for (row, &(scale, shift)) in
                result.write::<f64>()?.chunks_exact_mut(inner).zip(coefficients)
            {
                row.iter_mut().for_each(|x| *x = *x * scale + shift);
            }
        }
    }
    result.to_dtype(dtype)
}

/// Every row of `len` elements to mean 0 and variance 1.
fn normalise_rows(input: &Tensor, len: usize, eps: f64) -> Result<Tensor> {
    let compute = compute_dtype(input.dtype());
    if input.numel() > 0 && compute == DType::Float32 {
        return single(&input.to_dtype(compute)?, len, eps, None, None);
    }
    let result = input.to_dtype(compute)?.copy()?;
    if result.numel() > 0 {
        result.write::<f64>()?.chunks_exact_mut(len).for_each(|row| normalise(row, eps));
    }
    Ok(result)
}

/// Elements that are copied before their rows are iterated over, while a cache holds them.
const TOGETHER: usize = 1 << 12;

/// Rows of `f32`, each scaled and shifted by parameters of `len` elements.
fn single(
    input: &Tensor,
    len: usize,
    eps: f64,
    weight: Option<&[f32]>,
    bias: Option<&[f32]>,
) -> Result<Tensor> {
    let input = input.contiguous()?;
    let result = Tensor::for_overwrite(input.sizes(), DType::Float32)?;
    let from = input.read::<f32>()?;
    let from: &[f32] = &from;
    partition::for_each_chunk(&mut result.write::<f32>()?, len, grain::ROWS, |start, piece| {
        let step = len * (TOGETHER / len).max(1);
        let from = &from[start..start + piece.len()];
        for (to, from) in piece.chunks_mut(step).zip(from.chunks(step)) {
            to.copy_from_slice(from);
            layer_norm_rows(to, len, eps, weight, bias);
        }
    });
    Ok(result)
}

/// [`single`] of half precision, rounded once.
fn halves<H: Half>(
    input: &Tensor,
    len: usize,
    eps: f64,
    weight: Option<&[f32]>,
    bias: Option<&[f32]>,
) -> Result<Tensor> {
    let input = input.contiguous()?;
    let result = Tensor::for_overwrite(input.sizes(), input.dtype())?;
    let from = input.read::<H>()?;
    let from: &[H] = &from;
    partition::for_each_chunk(&mut result.write::<H>()?, len, grain::ROWS, |start, piece| {
        let step = len * (TOGETHER / len).max(1);
        let from = &from[start..start + piece.len()];
        let mut wide = vec![0f32; step.min(piece.len())];
        for (to, from) in piece.chunks_mut(step).zip(from.chunks(step)) {
            let wide = &mut wide[..to.len()];
            widen(from, wide);
            layer_norm_rows(wide, len, eps, weight, bias);
            narrow(wide, to);
        }
    });
    Ok(result)
}

fn normalise(row: &mut [f64], eps: f64) {
    let n = row.len() as f64;
    let mean = row_sum(row) / n;
    row.iter_mut().for_each(|x| *x -= mean);
    let variance = row.iter().map(|x| x * x).sum::<f64>() / n;
    let scale = 1.0 / (variance + eps).sqrt();
    row.iter_mut().for_each(|x| *x *= scale);
}

fn contiguous(tensor: Option<&Tensor>) -> Result<Option<Tensor>> {
    tensor.map(Tensor::contiguous).transpose()
}

fn affine(mut result: Tensor, weight: Option<Tensor>, bias: Option<Tensor>) -> Result<Tensor> {
    use crate::BinaryOp;
    use crate::binary;
    let dtype = result.dtype();
    if let Some(weight) = weight {
        result = binary(BinaryOp::Mul, (&result).into(), (&weight.to_dtype(dtype)?).into())?;
    }
    if let Some(bias) = bias {
        result = binary(BinaryOp::Add, (&result).into(), (&bias.to_dtype(dtype)?).into())?;
    }
    Ok(result)
}

/// Scales and shifts planes of `inner` elements in place, each by the number of its channel.
fn scale_planes(
    result: &Tensor,
    inner: usize,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
) -> Result<()> {
    let numbers = |tensor: Option<&Tensor>| tensor.map(Tensor::to_vec::<f32>).transpose();
    let (weight, bias) = (numbers(weight)?, numbers(bias)?);
    if weight.is_none() && bias.is_none() {
        return Ok(());
    }
    let of = |numbers: &Option<Vec<f32>>, plane: usize| {
        numbers.as_ref().map(|numbers| numbers[plane % numbers.len()])
    };
    partition::for_each_chunk(&mut result.write::<f32>()?, inner, grain::ROWS, |start, piece| {
        for (plane, at) in piece.chunks_exact_mut(inner).zip(start / inner..) {
            match (of(&weight, at), of(&bias, at)) {
                (Some(w), Some(b)) => plane.iter_mut().for_each(|x| *x = *x * w + b),
                (Some(w), None) => plane.iter_mut().for_each(|x| *x *= w),
                (None, Some(b)) => plane.iter_mut().for_each(|x| *x += b),
                (None, None) => {}
            }
        }
    });
    Ok(())
}

/// `torch.nn.functional.layer_norm`.
///
/// # Errors
/// Where the input does not end in the normalised shape.
pub fn layer_norm(
    input: &Tensor,
    normalized_shape: &[i64],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    check_shape("weight", weight, normalized_shape)?;
    check_shape("bias", bias, normalized_shape)?;
    check_normalized_shape(input, normalized_shape, "*, ")?;
    check_parameters(input, &[weight, bias])?;
    floating(input, "LayerNormKernelImpl")?;
    let len = sconce_kernel_core::layout::shape::product(normalized_shape) as usize;
    if input.dtype() == DType::Float32 && input.numel() > 0 {
        let (weight, bias) = (contiguous(weight)?, contiguous(bias)?);
        let weight = weight.as_ref().map(Tensor::read::<f32>).transpose()?;
        let bias = bias.as_ref().map(Tensor::read::<f32>).transpose()?;
        return single(input, len, eps, weight.as_deref(), bias.as_deref());
    }
    if is_half(input.dtype()) {
        let numbers = |tensor: Option<&Tensor>| -> Result<Option<Vec<f32>>> {
            tensor.map(|tensor| tensor.to_dtype(DType::Float32)?.to_vec::<f32>()).transpose()
        };
        let (weight, bias) = (numbers(weight)?, numbers(bias)?);
        return match input.dtype() {
            DType::Float16 => halves::<f16>(input, len, eps, weight.as_deref(), bias.as_deref()),
            _ => halves::<bf16>(input, len, eps, weight.as_deref(), bias.as_deref()),
        };
    }
    let result = normalise_rows(input, len, eps)?;
    affine(result, weight.cloned(), bias.cloned())?.to_dtype(input.dtype())
}

/// `torch.nn.functional.group_norm`.
///
/// # Errors
/// Where the channels cannot be divided into that many groups.
pub fn group_norm(
    input: &Tensor,
    groups: i64,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let channels = input.size(1)?;
    let inner = sconce_kernel_core::layout::shape::product(&input.sizes()[2..]);
    if channels <= 0 {
        return Err(Error::runtime(format!(
            "Expected number of channels to be greater than 0, got {channels}"
        )));
    }
    if inner <= 0 {
        return Err(Error::runtime(format!("Expected HxW to be greater than 0, got {inner}")));
    }
    if groups <= 0 {
        return Err(Error::runtime(format!(
            "Expected num groups to be greater than 0, got {groups}"
        )));
    }
    if channels % groups != 0 {
        return Err(Error::runtime(format!(
            "Expected number of channels in input to be divisible by num_groups, but got input of \
             shape {:?} and num_groups={groups}",
            input.sizes()
        )));
    }
    check_vector("weight", weight, input)?;
    check_vector("bias", bias, input)?;
    check_parameters(input, &[weight, bias])?;
    floating(input, "GroupNormKernelImpl")?;
    let result = normalise_rows(input, (channels / groups * inner) as usize, eps)?;
    let is_single = |tensor: &&Tensor| tensor.dtype() == DType::Float32;
    if result.numel() > 0 && is_single(&&result) && weight.iter().chain(&bias).all(is_single) {
        scale_planes(&result, inner as usize, weight, bias)?;
        return result.to_dtype(input.dtype());
    }
    let mut sizes = vec![1; input.dim() - 1];
    sizes[0] = channels;
    let shaped = |tensor: Option<&Tensor>| tensor.map(|t| t.reshape(&sizes)).transpose();
    affine(result, shaped(weight)?, shaped(bias)?)?.to_dtype(input.dtype())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_of_the_inputs_dtype_or_wider_than_halves() {
        use DType::{BFloat16, Float16, Float32, Float64, Int64};
        let one = |dtype| Tensor::zeros(&[1], dtype).unwrap();
        for (input, first, second, fits) in [
            (Float32, Float32, Float32, true),
            (Float16, Float32, Float32, true),
            (Float16, Float16, Float16, true),
            (Float32, Float16, Float16, false),
            (Float32, Float32, Float64, false),
            (Float64, Float32, Float32, false),
            (Float16, Float16, Float32, false),
            (Float16, BFloat16, BFloat16, false),
            (Float32, Int64, Float32, false),
        ] {
            let parameters = [Some(&one(first)), None, Some(&one(second))];
            let found = check_parameters(&one(input), &parameters);
            assert_eq!(found.is_ok(), fits, "{input:?} {first:?} {second:?}");
        }
    }

    #[test]
    fn parameters_have_the_normalised_shape() {
        let input = Tensor::zeros(&[2, 4, 3], DType::Float32).unwrap();
        let of = |sizes: &[i64]| Tensor::zeros(sizes, DType::Float32).unwrap();
        for sizes in [&[][..], &[1, 3], &[4]] {
            assert!(layer_norm(&input, &[3], Some(&of(sizes)), None, 0.1).is_err(), "{sizes:?}");
        }
        for sizes in [&[][..], &[4, 1], &[3]] {
            assert!(group_norm(&input, 2, None, Some(&of(sizes)), 0.1).is_err(), "{sizes:?}");
        }
        assert!(group_norm(&of(&[2, 4, 0]), 2, None, None, 0.1).is_err());
        let statistics = of(&[4, 1]);
        assert!(batch_norm(&input, None, None, &statistics, &statistics, 0.1).is_err());
    }
}

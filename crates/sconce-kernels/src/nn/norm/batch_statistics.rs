//! Normalisation by the statistics of the batch, and the `native_*` operators, which return the
//! statistics as well.

use sconce_kernel_core::layout::shape::product;
use sconce_kernel_core::tensor::promotion::compute_dtype;

use crate::nn::norm::normalization::{
    check_length, check_normalized_shape, check_parameters, check_shape, check_statistics,
    floating, scale_channels,
};
use crate::{BinaryOp, DType, Error, Result, Tensor, binary};

/// The operands of a batch norm beside its input.
#[derive(Clone, Copy)]
pub struct BatchNorm<'a> {
    /// A factor for each channel.
    pub weight: Option<&'a Tensor>,
    /// A summand for each channel.
    pub bias: Option<&'a Tensor>,
    /// Means seen so far, which training updates in place.
    pub running_mean: Option<&'a Tensor>,
    /// Variances seen so far, which training updates in place.
    pub running_var: Option<&'a Tensor>,
    /// Whether the statistics are the batch's.
    pub training: bool,
    /// How much of the running statistics this batch becomes.
    pub momentum: f64,
    /// What is added to variances.
    pub eps: f64,
}

/// Mean and sum of squared deviations of the channels of an input.
struct Moments {
    count: i64,
    mean: Vec<f64>,
    squares: Vec<f64>,
}

/// The moments of `rows` groups of elements that lie in `chunks` runs each: row-major over
/// (outer, rows, inner).
fn moments(input: &Tensor, rows: usize, inner: usize) -> Result<Moments> {
    let wide = input.to_dtype(DType::Float64)?.contiguous()?;
    let all = wide.read::<f64>()?;
    let count = all.len().checked_div(rows).unwrap_or(0);
    let mut mean = vec![0.0; rows];
    let mut squares = vec![0.0; rows];
    if count > 0 {
        for (row, chunk) in (0..rows).cycle().zip(all.chunks_exact(inner)) {
            mean[row] += chunk.iter().sum::<f64>();
        }
        mean.iter_mut().for_each(|mean| *mean /= count as f64);
        for (row, chunk) in (0..rows).cycle().zip(all.chunks_exact(inner)) {
            squares[row] += chunk.iter().map(|x| (x - mean[row]).powi(2)).sum::<f64>();
        }
    } else {
        mean.fill(f64::NAN);
        squares.fill(f64::NAN);
    }
    Ok(Moments { count: count as i64, mean, squares })
}

/// The dtype of statistics: that of the parameters where the input is narrower.
fn statistics_dtype(input: &Tensor, parameters: [Option<&Tensor>; 2]) -> DType {
    let wide = parameters.into_iter().flatten().any(|t| t.dtype() == DType::Float32);
    match input.dtype() {
        DType::Float16 | DType::BFloat16 if wide => DType::Float32,
        dtype => dtype,
    }
}

fn numbers(values: &[f64], sizes: &[i64], dtype: DType) -> Result<Tensor> {
    Tensor::from_slice(values, sizes)?.to_dtype(dtype)
}

/// `torch.native_batch_norm`: the result, and the means and inverse standard deviations of the batch
/// (none of them outside training).
///
/// # Errors
/// Where parameters have another length than there are channels.
pub fn native_batch_norm(input: &Tensor, o: &BatchNorm<'_>) -> Result<(Tensor, Tensor, Tensor)> {
    let statistics = statistics_dtype(input, [o.weight, o.running_mean]);
    if !o.training {
        let (Some(mean), Some(var)) = (o.running_mean, o.running_var) else {
            let name = if o.running_mean.is_none() { "running_mean" } else { "running_var" };
            let message = format!("{name} must be defined in evaluation mode");
            return Err(Error::runtime(message));
        };
        let result = crate::batch_norm(input, o.weight, o.bias, mean, var, o.eps)?;
        let none = Tensor::zeros(&[0], statistics)?;
        return Ok((result, none.clone(), none));
    }
    check_both(o)?;
    floating(input, "batch_norm")?;
    let channels = input.size(1)?;
    if input.numel() == 0 {
        return Err(Error::runtime(format!(
            "input tensor must have at least one element, but got input_sizes = {:?}",
            input.sizes()
        )));
    }
    let named = [
        ("running_mean", o.running_mean),
        ("running_var", o.running_var),
        ("weight", o.weight),
        ("bias", o.bias),
    ];
    for (what, tensor) in named {
        check_length(what, tensor, channels)?;
    }
    check_statistics([o.running_mean, o.running_var])?;
    check_parameters(input, &[o.weight, o.bias, o.running_mean, o.running_var])?;
    let inner = product(&input.sizes()[2..]) as usize;
    let Moments { count, mean, squares } = moments(input, channels as usize, inner)?;
    // Variances beyond what the dtype holds are infinite.
    let most = if input.dtype() == DType::Float64 { f64::MAX } else { f64::from(f32::MAX) };
    let biased = |squares: &f64| match squares / count as f64 {
        variance if variance > most => f64::INFINITY,
        variance => variance,
    };
    let scale: Vec<f64> = squares.iter().map(|s| 1.0 / (biased(s) + o.eps).sqrt()).collect();
    let coefficients = mean.iter().copied().zip(scale.iter().copied()).collect::<Vec<_>>();
    let result = scale_channels(input, &coefficients, o.weight, o.bias)?;
    let unbiased: Vec<f64> = squares.iter().map(|s| s / (count - 1) as f64).collect();
    for (running, batch) in [(o.running_mean, &mean), (o.running_var, &unbiased)] {
        let Some(running) = running else { continue };
        let old = running.to_dtype(DType::Float64)?.to_vec::<f64>()?;
        let new =
            old.iter().zip(batch).map(|(old, new)| (1.0 - o.momentum) * old + o.momentum * new);
        let new: Vec<f64> = new.collect();
        running.copy_from(&numbers(&new, running.sizes(), DType::Float64)?)?;
    }
    Ok((
        result,
        numbers(&mean, &[channels], statistics)?,
        numbers(&scale, &[channels], statistics)?,
    ))
}

/// Refuses one of the running statistics without the other.
fn check_both(o: &BatchNorm<'_>) -> Result<()> {
    if o.running_mean.is_some() == o.running_var.is_some() {
        return Ok(());
    }
    let message = "running_mean and running_var must either both be None or neither be None";
    Err(Error::runtime(message))
}

/// `torch.batch_norm`. Of an input without elements only weight and bias of the first channel are
/// looked at, as in PyTorch.
///
/// # Errors
/// As [`native_batch_norm`].
pub fn trained_batch_norm(input: &Tensor, o: &BatchNorm<'_>) -> Result<Tensor> {
    if input.numel() > 0 {
        return native_batch_norm(input, o).map(|(result, ..)| result);
    }
    let mut result = input.copy()?;
    for (op, parameter) in [(BinaryOp::Mul, o.weight), (BinaryOp::Add, o.bias)] {
        if let Some(parameter) = parameter {
            result = binary(op, (&result).into(), (&parameter.select(0, 0)?).into())?;
        }
    }
    Ok(result)
}

/// `torch.nn.functional.instance_norm`: a batch norm of every sample on its own. Running statistics
/// become the average over the samples.
///
/// # Errors
/// As [`native_batch_norm`].
pub fn instance_norm(input: &Tensor, o: &BatchNorm<'_>) -> Result<Tensor> {
    if !o.training && (o.running_mean.is_none() || o.running_var.is_none()) {
        return Err(Error::runtime(
            "Expected running_mean and running_var to be defined when use_input_stats is false",
        ));
    }
    check_both(o)?;
    let (batch, channels) = (input.size(0)?, input.size(1)?);
    let repeat = |tensor: Option<&Tensor>| match tensor {
        Some(tensor) if tensor.dim() > 1 => Err(Error::runtime(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
        )),
        Some(tensor) => {
            let repeated = tensor.unsqueeze(0)?.expand(&[batch, tensor.numel()])?.copy()?;
            repeated.view(&[-1]).map(Some)
        }
        None => Ok(None),
    };
    let named = [("running_mean", o.running_mean), ("running_var", o.running_var)];
    for (what, tensor) in named.into_iter().chain([("weight", o.weight), ("bias", o.bias)]) {
        check_length(what, tensor, channels)?;
    }
    let (weight, bias) = (repeat(o.weight)?, repeat(o.bias)?);
    let (mut mean, mut var) = (repeat(o.running_mean)?, repeat(o.running_var)?);
    let dtype = o.weight.or(o.bias).unwrap_or(input).dtype();
    if mean.as_ref().is_some_and(|mean| mean.dtype() != dtype) {
        let converted = |t: Option<Tensor>| t.map(|t| t.to_dtype(dtype)).transpose();
        (mean, var) = (converted(mean)?, converted(var)?);
    }
    let mut sizes = vec![1, batch * channels];
    sizes.extend_from_slice(&input.sizes()[2..]);
    let repeated = BatchNorm {
        weight: weight.as_ref(),
        bias: bias.as_ref(),
        running_mean: mean.as_ref(),
        running_var: var.as_ref(),
        ..*o
    };
    let result = trained_batch_norm(&input.reshape(&sizes)?, &repeated)?;
    for (running, repeated) in [(o.running_mean, mean), (o.running_var, var)] {
        if let (true, Some(running), Some(repeated)) = (o.training, running, repeated) {
            running.expect_elements_once()?;
            let repeated = repeated.view(&[batch, channels])?;
            running.copy_from(&crate::mean(&repeated, &[0], false, None)?)?;
        }
    }
    result.view(input.sizes())
}

/// Means and inverse standard deviations of rows of `len` elements.
fn row_statistics(
    input: &Tensor,
    len: usize,
    eps: f64,
    sizes: &[i64],
    dtype: DType,
) -> Result<(Tensor, Tensor)> {
    let rows = input.count().checked_div(len);
    let rows = rows
        .map_or_else(|| sconce_kernel_core::layout::shape::numel(sizes).map(|n| n as usize), Ok)?;
    let Moments { count, mut mean, squares } = moments(input, rows, len)?;
    if mean.iter().any(|mean| mean.is_infinite()) {
        let all = input.to_dtype(DType::Float64)?.contiguous()?.to_vec::<f64>()?;
        for (mean, row) in mean.iter_mut().zip(all.chunks_exact(len)) {
            if mean.is_infinite() && !stays_infinite(row) {
                *mean = f64::NAN;
            }
        }
    }
    let scale: Vec<f64> =
        squares.iter().map(|squares| 1.0 / (squares / count as f64 + eps).sqrt()).collect();
    Ok((numbers(&mean, sizes, dtype)?, numbers(&scale, sizes, dtype)?))
}

/// Whether PyTorch's running mean of these is infinite where their mean is, and not NaN: the number that is
/// infinite has to come last of those that are taken eight at a time.
fn stays_infinite(row: &[f64]) -> bool {
    let last = (row.len() / 8 * 8).checked_sub(1);
    let infinite = || row.iter().filter(|x| !x.is_finite()).count();
    last.is_some_and(|last| !row[last].is_finite()) && infinite() == 1
}

/// `torch.native_layer_norm`: the result, means and inverse standard deviations.
///
/// # Errors
/// Where the input does not end in the normalised shape.
pub fn native_layer_norm(
    input: &Tensor,
    normalized_shape: &[i64],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<(Tensor, Tensor, Tensor)> {
    let result = crate::layer_norm(input, normalized_shape, weight, bias, eps)?;
    let outer = input.dim() - normalized_shape.len();
    let mut sizes = input.sizes().to_vec();
    sizes[outer..].fill(1);
    let dtype = statistics_dtype(input, [weight, bias]);
    let len = product(normalized_shape) as usize;
    let (mean, scale) = row_statistics(input, len, eps, &sizes, dtype)?;
    Ok((result, mean, scale))
}

/// `torch.native_group_norm`: the result, means and inverse standard deviations.
///
/// # Errors
/// Where the channels cannot be divided into that many groups.
pub fn native_group_norm(
    input: &Tensor,
    groups: i64,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<(Tensor, Tensor, Tensor)> {
    let result = crate::group_norm(input, groups, weight, bias, eps)?;
    let rows = [input.size(0)?, groups];
    let len = input.count() / (product(&rows) as usize).max(1);
    let dtype = statistics_dtype(input, [weight, bias]);
    let (mean, scale) = row_statistics(input, len, eps, &rows, dtype)?;
    Ok((result, mean, scale))
}

/// `torch.nn.functional.rms_norm`; without `eps` it is the dtype's own.
///
/// # Errors
/// Where the input does not end in the normalised shape.
pub fn rms_norm(
    input: &Tensor,
    normalized_shape: &[i64],
    weight: Option<&Tensor>,
    eps: Option<f64>,
) -> Result<Tensor> {
    if !input.dtype().is_complex() {
        floating(input, "rms_norm")?;
    }
    check_shape("weight", weight, normalized_shape)?;
    // PyTorch writes no comma here.
    check_normalized_shape(input, normalized_shape, "*")?;
    let dtype = input.dtype();
    let compute = compute_dtype(dtype);
    let eps = eps.unwrap_or(match compute.to_real() {
        DType::Float64 => f64::EPSILON,
        _ => f64::from(f32::EPSILON),
    });
    let wide = input.to_dtype(compute)?;
    let dims: Vec<i64> = (1..=normalized_shape.len() as i64).map(|dim| -dim).collect();
    let square = binary(BinaryOp::Mul, (&wide).into(), (&wide).into())?;
    let mean = crate::mean(&square, &dims, true, None)?;
    let shifted = binary(BinaryOp::Add, (&mean).into(), eps.into())?;
    let scale = crate::unary(crate::UnaryOp::Rsqrt, &shifted)?;
    let mut result = binary(BinaryOp::Mul, (&wide).into(), (&scale).into())?;
    if let Some(weight) = weight {
        let weight = weight.to_dtype(compute)?;
        result = binary(BinaryOp::Mul, (&result).into(), (&weight).into())?;
    }
    result.to_dtype(dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_not_finite_changes_no_other() {
        let input = Tensor::from_slice(&[1f32, f32::INFINITY, 3.0], &[3, 1]).unwrap();
        let (_, mean, _) = native_layer_norm(&input, &[1], None, None, 1e-5).unwrap();
        let mean = mean.to_vec::<f32>().unwrap();
        assert_eq!((mean[0], mean[1].is_nan(), mean[2]), (1.0, true, 3.0));
    }

    #[test]
    fn training_updates_running_statistics_in_place() {
        let input = Tensor::from_slice(&[1f32, 3.0, 5.0, 7.0], &[2, 1, 2]).unwrap();
        let mean = Tensor::zeros(&[1], DType::Float32).unwrap();
        let var = Tensor::full(&[1], 1.into(), DType::Float32).unwrap();
        let options = BatchNorm {
            weight: None,
            bias: None,
            running_mean: Some(&mean),
            running_var: Some(&var),
            training: true,
            momentum: 0.5,
            eps: 0.0,
        };
        let (result, saved, _) = native_batch_norm(&input, &options).unwrap();
        assert_eq!(saved.to_vec::<f32>().unwrap(), [4.0]);
        assert_eq!(mean.to_vec::<f32>().unwrap(), [2.0]);
        assert_eq!(var.to_vec::<f32>().unwrap(), [0.5 + 0.5 * 20.0 / 3.0]);
        let first = result.to_vec::<f32>().unwrap()[0];
        assert!((first + 3.0 / 5f32.sqrt()).abs() < 1e-6, "{first}");
    }
}

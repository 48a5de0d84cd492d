//! Fractional max pooling: the largest elements of windows at random positions.

use sconce_kernel_core::tensor::dtype_range::rounded;

use super::maximum::maxima;
use super::windows::{Axis, Window};
use super::{check_within, floats};
use crate::{DType, Dims, Error, Result, Tensor};

/// Where the windows of a fractional pool start: steps of a fractional size from a random position,
/// computed in the dtype of the input as PyTorch does.
fn fractional_starts(size: i64, kernel: i64, output: i64, sample: f64, dtype: DType) -> Vec<usize> {
    let round = |x: f64| rounded(x, dtype);
    let step = round((size - kernel) as f64 / (output - 1).max(1) as f64);
    let position = |x: f64| round(round(x) * step) as i64;
    let start = |i: i64| match i == output - 1 {
        true => size - kernel,
        false => position(i as f64 + sample) - position(sample),
    };
    (0..output).map(|i| start(i).clamp(0, size - kernel) as usize).collect()
}

/// `torch.nn.functional.fractional_max_pool2d` and `fractional_max_pool3d` of given random samples.
///
/// # Errors
/// Where windows do not fit or the samples are of other sizes.
pub fn fractional_max_pool(
    input: &Tensor,
    kernel: &[i64],
    output: &[i64],
    samples: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let rank = output.len();
    let name = format!("fractional_max_pool{rank}d");
    check_within(input, &name, rank, 1, floats)?;
    let lead = input.dim() - rank;
    let spatial = &input.sizes()[lead..];
    if kernel.len() != rank {
        return Err(Error::runtime(format!(
            "{name}: kernel_size must either be a single int or tuple of {rank} ints"
        )));
    }
    for ((&size, &kernel), &output) in spatial.iter().zip(kernel).zip(output) {
        if kernel < 1 {
            return Err(Error::runtime(format!(
                "{name}(): kernel size should be greater than zero, but got {kernel}"
            )));
        }
        // Over three dimensions PyTorch wants a step more.
        let reach = output.saturating_add(kernel - 1).saturating_add(i64::from(rank == 3));
        if reach > size {
            return Err(Error::runtime(format!(
                "{name}(): pool size {kernel} too large relative to input size {size}"
            )));
        }
    }
    if samples.dtype() != input.dtype() {
        return Err(Error::runtime("Expect _random_samples to have the same dtype as input"));
    }
    let batch = if lead == 2 { input.sizes()[0] } else { 1 };
    let channels = input.sizes()[lead - 1];
    let &[of_batch, of_channels, of_rank] = samples.sizes() else {
        return Err(Error::runtime(format!(
            "Expect _random_samples to have 3 dimensions, got {}",
            samples.dim()
        )));
    };
    if of_batch < batch {
        return Err(Error::runtime(
            "Expect _random_samples.size(0) no less then input batch size.",
        ));
    }
    if of_channels != channels {
        return Err(Error::runtime("Expect _random_samples.size(1) equals to input channel size."));
    }
    if of_rank != rank as i64 {
        return Err(Error::runtime(format!(
            "Expect _random_samples.size(2) equals to {rank}; got {of_rank}."
        )));
    }
    // There may be more than the input needs.
    let samples = samples.narrow(0, 0, batch)?.to_dtype(DType::Float64)?.to_vec::<f64>()?;
    let mut sizes = Dims::from_slice(input.sizes());
    sizes[lead..].copy_from_slice(output);
    let values = Tensor::zeros(&sizes, input.dtype())?;
    let indices = Tensor::zeros(&sizes, DType::Int64)?;
    let flat = |tensor: &Tensor| tensor.flatten(0, lead as i64 - 1);
    let (flat_values, flat_indices, input) = (flat(&values)?, flat(&indices)?, flat(input)?);
    // Each plane has windows of its own; samples are of the last dimension first.
    for (plane, samples) in samples.chunks_exact(rank).enumerate() {
        let mut axes = [Axis::unit(), Axis::unit(), Axis::unit()];
        for dim in 0..rank {
            let sample = samples[if rank == 2 { 1 - dim } else { dim }];
            let (size, kernel) = (input.sizes()[1 + dim], kernel[dim]);
            let starts = fractional_starts(size, kernel, output[dim], sample, input.dtype());
            let window = |start| Window { start, end: start + kernel as usize, covered: kernel };
            axes[3 - rank + dim] =
                Axis { windows: starts.into_iter().map(window).collect(), step: 1 };
        }
        let one = input.narrow(0, plane as i64, 1)?;
        let (value, index) = maxima(&one, &name, rank, &axes, &[&[1], output].concat())?;
        flat_values.narrow(0, plane as i64, 1)?.copy_from(&value)?;
        flat_indices.narrow(0, plane as i64, 1)?.copy_from(&index)?;
    }
    Ok((values, indices))
}

//! Max unpooling: the largest elements written back to their positions.

use sconce_kernel_core::layout::shape::product;

use super::{check_within, floats, join};
use crate::{DType, Dims, Error, Result, Tensor};

/// `torch.nn.functional.max_unpool2d` and `max_unpool3d`: elements back where they stood, zeros
/// elsewhere.
///
/// # Errors
/// For indices outside the planes of the result.
pub fn max_unpool(input: &Tensor, indices: &Tensor, output: &[i64]) -> Result<Tensor> {
    let rank = output.len();
    let name = format!("max_unpooling{rank}d_forward");
    if indices.dtype() != DType::Int64 {
        return Err(Error::runtime(format!(
            "elements in indices should be type int64 but got: {}",
            indices.dtype().scalar_type_name()
        )));
    }
    check_within(input, &name, rank, 1, floats)?;
    if input.sizes() != indices.sizes() {
        return Err(Error::runtime(format!(
            "Expected shape of indices to be same as that of the input tensor ({:?}) but got \
             indices tensor with shape: {:?}",
            input.sizes(),
            indices.sizes()
        )));
    }
    let lead = input.dim() - rank;
    let mut sizes = Dims::from_slice(input.sizes());
    sizes[lead..].copy_from_slice(output);
    let result = Tensor::zeros(&sizes, input.dtype())?;
    let (planes, len) = (product(&sizes[..lead]), product(output));
    if result.numel() == 0 || input.numel() == 0 {
        return Ok(result);
    }
    let positions = indices.to_vec::<i64>()?;
    if let Some(position) = positions.iter().find(|&&position| !(0..len).contains(&position)) {
        return Err(Error::runtime(format!(
            "Found an invalid max index: {position} (output volumes are of size {})",
            join(output)
        )));
    }
    let flat = [planes, input.numel() / planes.max(1)];
    let positions = Tensor::from_slice(&positions, &flat)?;
    crate::scatter(&result.view(&[planes, len])?, 1, &positions, (&input.reshape(&flat)?).into())?
        .view(&sizes)
}

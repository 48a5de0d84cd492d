//! Joining and splitting tensors: `cat`, `stack`, `split`, `chunk`.

use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_kernel_core::tensor::quantization::per_tensor;

use crate::quantize::through_floats;
use crate::{Dims, Error, Memory, MemoryFormat, Operand, Result, Tensor, result_type};

/// `torch.cat`. Empty vectors are left out whatever the other sizes are, as PyTorch does for old
/// programs.
///
/// # Errors
/// For no tensors at all, and sizes that differ elsewhere than in `dim`.
pub fn cat(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    if tensors.is_empty() {
        return Err(Error::value("torch.cat(): expected a non-empty list of Tensors"));
    }
    if let Some(i) = tensors.iter().position(|t| t.dim() == 0) {
        return Err(Error::runtime(format!(
            "zero-dimensional tensor (at position {i}) cannot be concatenated"
        )));
    }
    // Tensors that are quantized otherwise than the first are quantized anew, as it is.
    if let [first, others @ ..] = tensors
        && first.dtype().is_quantized()
        && let Ok(own) = per_tensor(first)
        && others.iter().any(|other| !per_tensor(other).is_ok_and(|other| other == own))
    {
        let all: Vec<&Tensor> = tensors.iter().collect();
        return through_floats(&all, own, |floats| cat(floats, dim));
    }
    let operands: Vec<Operand<'_>> = tensors.iter().map(Operand::from).collect();
    let dtype = result_type(&operands)?;
    let skipped = |t: &Tensor| t.sizes() == [0];
    let Some(first) = tensors.iter().find(|t| !skipped(t)) else {
        return Tensor::zeros(&[0], dtype);
    };
    let dim = wrap_dim(dim, first.dim())?;
    let mut sizes = Dims::from_slice(first.sizes());
    sizes[dim] = 0;
    for (i, tensor) in tensors.iter().enumerate().filter(|(_, t)| !skipped(t)) {
        if tensor.dim() != first.dim() {
            return Err(Error::runtime(format!(
                "Tensors must have same number of dimensions: got {} and {}",
                first.dim(),
                tensor.dim()
            )));
        }
        for (at, (&want, &have)) in first.sizes().iter().zip(tensor.sizes()).enumerate() {
            if at != dim && want != have {
                return Err(Error::runtime(format!(
                    "Sizes of tensors must match except in dimension {dim}. Expected size {want} \
                     but got size {have} for tensor number {i} in the list."
                )));
            }
        }
        sizes[dim] = sizes[dim].saturating_add(tensor.sizes()[dim]);
    }
    let result = Tensor::for_overwrite(&sizes, dtype)?;
    let mut at = 0;
    for tensor in tensors.iter().filter(|t| !skipped(t)) {
        let len = tensor.sizes()[dim];
        result.narrow(dim as i64, at, len)?.copy_from(tensor)?;
        at += len;
    }
    Ok(result)
}

/// `torch.stack`.
///
/// # Errors
/// For no tensors at all, and sizes that differ.
pub fn stack(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    let Some(first) = tensors.first() else {
        return Err(Error::runtime("stack expects a non-empty TensorList"));
    };
    for (i, tensor) in tensors.iter().enumerate() {
        if tensor.sizes() != first.sizes() {
            return Err(Error::runtime(format!(
                "stack expects each tensor to be equal size, but got {:?} at entry 0 and {:?} at \
                 entry {i}",
                first.sizes(),
                tensor.sizes()
            )));
        }
    }
    let at = wrap_dim(dim, first.dim() + 1)?;
    let format = first.suggested_format();
    if at < first.dim()
        && format != MemoryFormat::Contiguous
        && tensors.iter().all(|tensor| tensor.suggested_format() == format)
    {
        // Along a dimension that there is they are joined, in their format, and taken apart again.
        let mut sizes = Dims::from_slice(first.sizes());
        sizes.insert(at, tensors.len() as i64);
        return cat(tensors, at as i64)?.contiguous_in(format)?.view(&sizes);
    }
    let parts: Result<Vec<Tensor>> = tensors.iter().map(|t| t.unsqueeze(at as i64)).collect();
    cat(&parts?, at as i64)
}

/// `torch.split` into views of these sizes.
///
/// # Errors
/// Where the sizes do not add up to that of the dimension.
pub fn split_with_sizes(input: &Tensor, sizes: &[i64], dim: i64) -> Result<Vec<Tensor>> {
    let size = input.size(dim)?;
    let total = sizes.iter().fold(0i64, |sum, &part| sum.saturating_add(part));
    if let Some(negative) = sizes.iter().find(|&&part| part < 0) {
        return Err(Error::runtime(format!(
            "split_with_sizes expects split_sizes have only non-negative entries, but got \
             split_sizes={sizes:?} ({negative})"
        )));
    }
    if total != size {
        let dim = wrap_dim(dim, input.dim())?;
        return Err(Error::runtime(format!(
            "split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at \
             dimension {dim}), but got split_sizes={sizes:?}"
        )));
    }
    let mut at = 0;
    let part = |&len: &i64| {
        let part = input.narrow(dim, at, len);
        at += len;
        part
    };
    sizes.iter().map(part).collect()
}

/// Refuses more views than a program's memory has room for, and beyond a million more than there are positions
/// to view.
pub(crate) fn check_views(count: i64, positions: i64) -> Result<()> {
    // Two lists of numbers and what else a view is.
    const BYTES: usize = 256;
    Memory::check((count.max(0) as usize).saturating_mul(BYTES))?;
    if count > positions.max(1 << 20) {
        return Err(Error::out_of_memory(format!("{count} views of {positions} places")));
    }
    Ok(())
}

/// `torch.unbind`: a view of each position along a dimension.
///
/// # Errors
/// Where there is no such dimension, and where memory is short.
pub fn unbind(input: &Tensor, dim: i64) -> Result<Vec<Tensor>> {
    let count = input.size(dim)?;
    check_views(count, count)?;
    (0..count).map(|index| input.select(dim, index)).collect()
}

/// `torch.split` into views of one size, the last one smaller.
///
/// # Errors
/// For sizes below 1, unless the dimension is empty, and where memory is short.
pub fn split(input: &Tensor, split_size: i64, dim: i64) -> Result<Vec<Tensor>> {
    let size = input.size(dim)?;
    if split_size < 0 {
        return Err(Error::runtime(format!(
            "split expects split_size be non-negative, but got split_size={split_size}"
        )));
    }
    if split_size == 0 && size != 0 {
        return Err(Error::runtime(format!(
            "split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
        )));
    }
    if size == 0 {
        return Ok(vec![input.alias()]);
    }
    check_views(size / split_size, size)?;
    (0..size)
        .step_by(split_size as usize)
        .map(|at| input.narrow(dim, at, split_size.min(size - at)))
        .collect()
}

/// `torch.chunk`.
///
/// # Errors
/// For fewer chunks than one.
pub fn chunk(input: &Tensor, chunks: i64, dim: i64) -> Result<Vec<Tensor>> {
    if chunks <= 0 {
        return Err(Error::runtime(format!(
            "chunk expects `chunks` to be greater than 0, got: {chunks}"
        )));
    }
    let size = input.size(dim)?;
    if size == 0 {
        check_views(chunks, size)?;
        // PyTorch gives as many empty views as were asked for; the caller names the number.
        return (0..chunks).map(|_| Ok(input.alias())).collect();
    }
    // As PyTorch computes it: a sum beyond what an integer holds makes it 0, which is refused.
    split(input, size.wrapping_add(chunks).wrapping_sub(1) / chunks, dim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn pictures_with_channels_last_are_stacked_in_their_format() {
        let image = || {
            let zeros = Tensor::zeros(&[2, 6, 8, 3], DType::Float32).unwrap();
            zeros.permute(&[0, 3, 1, 2]).unwrap()
        };
        let strides = |dim| stack(&[image(), image()], dim).unwrap().strides().to_vec();
        assert_eq!(strides(0), [288, 144, 1, 24, 3]);
        assert_eq!(strides(1), [288, 3, 1, 48, 6]);
        assert_eq!(strides(-1), [288, 96, 16, 2, 1]);
        let rows = image().contiguous().unwrap();
        assert_eq!(stack(&[image(), rows], 0).unwrap().strides(), [288, 144, 48, 8, 1]);
    }
}

//! Applies a function to every element of a tensor.

use crate::iter::permutation::Permutation;
use crate::layout::strides::is_dense;
use crate::parallel::{grain, partition};
use crate::simd::map_slice::map_slice;
use crate::{PodElement, Result, Tensor};

/// Applies `f` to every element, on several threads where there are many.
pub fn map<T: PodElement, U: PodElement>(
    input: &Tensor,
    f: impl Fn(T) -> U + Copy + Sync,
) -> Result<Tensor> {
    map_slices(input, &|xs, out| map_slice(xs, out, f))
}

/// Applies a kernel to all elements, on several threads where there are many.
pub fn map_slices<T: PodElement, U: PodElement>(
    input: &Tensor,
    kernel: &(dyn Fn(&[T], &mut [U]) + Sync),
) -> Result<Tensor> {
    map_slices_beyond(grain::ELEMENTWISE, input, kernel)
}

/// As [`map_slices`], on several threads where there are more elements than `serial`.
pub fn map_slices_beyond<T: PodElement, U: PodElement>(
    serial: usize,
    input: &Tensor,
    kernel: &(dyn Fn(&[T], &mut [U]) + Sync),
) -> Result<Tensor> {
    let (input, permutation) = row_major(input)?;
    let result = Tensor::for_overwrite(input.sizes(), U::DTYPE)?;
    let xs = input.read::<T>()?;
    let xs: &[T] = &xs;
    partition::for_each_chunk(&mut result.write::<U>()?, 64, serial, |start, out| {
        kernel(&xs[start..start + out.len()], out);
    });
    match permutation {
        Some(permutation) => permutation.undo(&result),
        None => Ok(result),
    }
}

/// The input in row-major order, and the permutation of dimensions that made it so. Copies only where the
/// input has gaps.
fn row_major(input: &Tensor) -> Result<(Tensor, Option<Permutation>)> {
    if !input.is_contiguous() && is_dense(input.sizes(), input.strides()) {
        let permutation = Permutation::of_strides(input.strides());
        return Ok((permutation.permute(input)?, Some(permutation)));
    }
    Ok((input.contiguous()?, None))
}

//! `sort` and `argsort`.

use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_kernel_core::parallel::{grain, partition};
use sconce_kernel_core::tensor::promotion::compute_dtype;

use crate::sorting::sort_keys::{self, KeyedIndex, SortKey, WithKeys, with_keys};
use crate::{DType, Error, Memory, Result, Tensor};

/// `torch.sort`: values and where they stood. NaN counts as the largest number. Equal elements stay
/// in their order where it is `stable`, and are left as PyTorch's sorting leaves them otherwise.
///
/// # Errors
/// Where there is no such dimension, and for complex numbers.
///
/// ```
/// use sconce_kernels::{Tensor, sort};
/// let (values, indices) = sort(&Tensor::from_slice(&[3i64, 1, 2], &[3])?, 0, false, true)?;
/// assert_eq!(values.to_vec::<i64>()?, [1, 2, 3]);
/// assert_eq!(indices.to_vec::<i64>()?, [1, 2, 0]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn sort(input: &Tensor, dim: i64, descending: bool, stable: bool) -> Result<(Tensor, Tensor)> {
    let dtype = input.dtype();
    if dtype.is_quantized() {
        return crate::rearranged_with_indices(input, |whole| sort(whole, dim, descending, stable));
    }
    if dtype.is_complex() || dtype == DType::UInt64 {
        return Err(Error::no_kernel("sort_stable", dtype));
    }
    let wrapped = wrap_dim(dim, input.dim())?;
    let compute = if dtype == DType::Bool { DType::Int64 } else { compute_dtype(dtype) };
    let wide = input.to_dtype(compute)?;
    // PyTorch sorts long vectors of integers by their digits.
    let by_digits = dtype.is_integral() && !descending && input.dim() == 1 && input.numel() >= LONG;
    let stable = stable || by_digits;
    let indices = match compute {
        DType::Float32 => order::<f32>(&wide, dim, descending, stable),
        DType::Float64 => order::<f64>(&wide, dim, descending, stable),
        DType::Int64 => order::<i64>(&wide, dim, descending, stable),
        other => Err(Error::no_kernel("sort_stable", other)),
    }?;
    if input.dim() == 0 {
        return Ok((input.copy()?, indices));
    }
    Ok((crate::gather(input, wrapped as i64, &indices)?, indices))
}

/// Vectors from here on are long.
const LONG: i64 = 32_768;

/// Writes the positions of a sorted row.
struct SortRow<'a> {
    positions: &'a mut [i64],
    stable: bool,
}

impl WithKeys<()> for SortRow<'_> {
    fn with<P: KeyedIndex>(&mut self, row: &mut [P], bound: u64) {
        sort_keys::sort(row, bound, self.stable);
        for (position, placed) in self.positions.iter_mut().zip(row) {
            *position = placed.position() as i64;
        }
    }
}

fn order<T: SortKey>(input: &Tensor, dim: i64, descending: bool, stable: bool) -> Result<Tensor> {
    let dim = wrap_dim(dim, input.dim())? as i64;
    let rows = input.transpose(dim, -1)?.contiguous()?;
    let values = rows.read::<T>()?;
    let values = &values[..];
    let indices = Tensor::zeros(rows.sizes(), DType::Int64)?;
    if input.numel() > 0 {
        let len = rows.sizes().last().map_or(1, |&len| len as usize);
        // Ranks with their places, and once more where the order of equal ones depends on how they are sorted.
        let copies = if stable { 1 } else { 2 };
        Memory::check_scratch(len.saturating_mul(copies * size_of::<u64>()))?;
        partition::for_each_chunk(
            &mut indices.write::<i64>()?,
            len,
            grain::ROWS,
            |start, piece| {
                for (positions, row) in
                    piece.chunks_exact_mut(len).zip(values[start..].chunks_exact(len))
                {
                    with_keys(row, descending, SortRow { positions, stable });
                }
            },
        );
    }
    indices.transpose(dim, -1)?.contiguous()
}

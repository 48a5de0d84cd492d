//! Order: `sort`, `argsort`.

use std::cmp::Ordering;

use crate::binary::compute_dtype;
use crate::reduce::along;
use crate::shape::wrap_dim;
use crate::{DType, Element, Error, Result, Tensor, introsort};

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
    let indices = match compute {
        DType::Float32 => order(&wide, dim, descending, stable, |x: f32| x.is_nan()),
        DType::Float64 => order(&wide, dim, descending, stable, |x: f64| x.is_nan()),
        DType::Int64 => order(&wide, dim, descending, stable, |_: i64| false),
        other => Err(Error::no_kernel("sort_stable", other)),
    }?;
    if input.dim() == 0 {
        return Ok((input.copy()?, indices));
    }
    Ok((crate::gather(input, wrapped as i64, &indices)?, indices))
}

fn order<T: Element + PartialOrd>(
    input: &Tensor,
    dim: i64,
    descending: bool,
    stable: bool,
    is_nan: impl Fn(T) -> bool,
) -> Result<Tensor> {
    let dim = wrap_dim(dim, input.dim())? as i64;
    let rows = input.transpose(dim, -1)?.contiguous()?;
    let values = rows.read::<T>()?;
    let template = Tensor::zeros(input.sizes(), DType::Int64)?;
    along(&template, dim, |indices, len| {
        let mut indices = indices.write::<i64>()?;
        for (order, row) in indices.chunks_exact_mut(len).zip(values.chunks_exact(len)) {
            order.iter_mut().enumerate().for_each(|(i, at)| *at = i as i64);
            let compare = |a: i64, b: i64| {
                let (x, y) = (row[a as usize], row[b as usize]);
                let up = is_nan(x).cmp(&is_nan(y));
                let up = up.then(x.partial_cmp(&y).unwrap_or(Ordering::Equal));
                if descending { up.reverse() } else { up }
            };
            match stable {
                true => order.sort_by(|&a, &b| compare(a, b)),
                false => introsort::sort(order, &|a, b| compare(a, b).is_lt()),
            }
        }
        Ok(())
    })
}

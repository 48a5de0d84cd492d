//! Rearrangement of elements: `flip`, `roll`, `repeat`, diagonals, grids.

use sconce_kernel_core::layout::shape::{broadcast, infer_size, list, wrap_dim};
use sconce_kernel_core::layout::strided_iter;
use sconce_kernel_core::simd::dispatch::dispatch;

use crate::indexing::index_runs::by_width;
use crate::{DType, Dims, Error, PodElement, Result, Tensor};

/// `torch.flip`.
///
/// # Errors
/// For dimensions that do not exist or are named twice.
pub fn flip(input: &Tensor, dims: &[i64]) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return crate::rearranged(input, |whole| flip(whole, dims));
    }
    let mut strides = Dims::from_slice(input.strides());
    let mut start = input.offset();
    let mut seen = Dims::new();
    for &dim in dims {
        let dim = wrap_dim(dim, input.dim())?;
        if seen.contains(&(dim as i64)) {
            return Err(Error::runtime(format!(
                "dim {dim} appears multiple times in the list of dims"
            )));
        }
        seen.push(dim as i64);
        if let Some(stride) = strides.get_mut(dim) {
            start += (input.sizes()[dim] - 1).max(0) * *stride;
            *stride = -*stride;
        }
    }
    let result = Tensor::for_overwrite(input.sizes(), input.dtype())?;
    by_width!(input, copy_backwards(input, &result, &strides, start))?;
    Ok(result)
}

/// Fills a contiguous tensor with elements of `input`, from `start` with strides that may be negative.
fn copy_backwards<T: PodElement>(
    input: &Tensor,
    result: &Tensor,
    strides: &[i64],
    start: i64,
) -> Result<()> {
    let from = input.storage().read::<T>()?;
    let mut to = result.storage().write::<T>()?;
    let steps = [result.strides(), strides];
    dispatch(
        #[inline(always)]
        || {
            strided_iter::rows(input.sizes(), steps, [0, start], |[t, f], [t_step, f_step], n| {
                match (t_step, f_step as isize) {
                    (1, 1) => to[t..t + n].copy_from_slice(&from[f..f + n]),
                    (1, -1) => {
                        let backwards = from[f + 1 - n..=f].iter().rev();
                        to[t..t + n].iter_mut().zip(backwards).for_each(|(to, &from)| *to = from);
                    }
                    // A negative step, which wraps around.
                    _ => (0..n).for_each(|i| {
                        to[t + i * t_step] = from[f.wrapping_add(i.wrapping_mul(f_step))];
                    }),
                }
            });
        },
    );
    Ok(())
}

/// `torch.roll`; without dimensions, over all elements.
///
/// # Errors
/// Where there are not as many shifts as dimensions.
pub fn roll(input: &Tensor, shifts: &[i64], dims: &[i64]) -> Result<Tensor> {
    if shifts.is_empty() {
        return Err(Error::runtime("`shifts` required"));
    }
    if dims.is_empty() && shifts.len() == 1 {
        return roll(&input.reshape(&[-1])?, shifts, &[0])?.view(input.sizes());
    }
    if dims.len() != shifts.len() {
        return Err(Error::runtime(format!(
            "shifts and dimensions must align. shifts: {}, dims:{}",
            shifts.len(),
            dims.len()
        )));
    }
    if input.numel() == 0 {
        return input.copy();
    }
    let mut result = input.clone();
    for (&shift, &dim) in shifts.iter().zip(dims) {
        let size = result.size(dim)?;
        let start = (-(shift % size)).rem_euclid(size);
        let halves = [result.narrow(dim, start, size - start)?, result.narrow(dim, 0, start)?];
        result = crate::cat(&halves, dim)?;
        // As `torch.cat` of parts that lie in memory alike.
        let formats = halves.each_ref().map(Tensor::suggested_format);
        if formats[0] == formats[1] && formats[0] != crate::MemoryFormat::Contiguous {
            let strides = formats[0].strides(result.sizes())?;
            result = result.with_strides(&strides)?;
        }
    }
    Ok(result)
}

/// `torch.rot90`: `k` quarter turns from the first of two dimensions towards the second.
///
/// # Errors
/// For other than two different dimensions.
pub fn rot90(input: &Tensor, k: i64, dims: &[i64]) -> Result<Tensor> {
    let &[a, b] = dims else {
        return Err(Error::runtime(format!(
            "expected total rotation dims == 2, but got dims = {}",
            dims.len()
        )));
    };
    if input.dim() < 2 {
        return Err(Error::runtime(format!(
            "expected total dims >= 2, but got total dims = {}",
            input.dim()
        )));
    }
    let (first, second) = (wrap_dim(a, input.dim())?, wrap_dim(b, input.dim())?);
    if first == second {
        return Err(Error::runtime(format!(
            "expected rotation dims to be different, but got dim0 = {a} and dim1 = {b}"
        )));
    }
    // What is turned is a copy that keeps the order of its dimensions.
    let strides = input.preserved_strides();
    match k.rem_euclid(4) {
        1 => flip(input, &[b])?.with_strides(&strides)?.transpose(a, b),
        2 => flip(input, &[a, b])?.with_strides(&strides),
        3 => flip(input, &[a])?.with_strides(&strides)?.transpose(a, b),
        _ => input.copy(),
    }
}

/// `torch.Tensor.repeat`.
///
/// # Errors
/// For fewer numbers than dimensions, and negative ones.
pub fn repeat(input: &Tensor, repeats: &[i64]) -> Result<Tensor> {
    let Some(lead) = repeats.len().checked_sub(input.dim()) else {
        return Err(Error::runtime(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of \
             tensor",
        ));
    };
    let own = |i: usize| i.checked_sub(lead).map_or(1, |i| input.sizes()[i]);
    let size = |i: usize, times: i64| times.saturating_mul(own(i));
    let mut sizes = Dims::new();
    let (mut spread, mut from) = (Dims::new(), Dims::new());
    for (i, &times) in repeats.iter().enumerate() {
        if times < 0 && own(i) > 0 {
            return Err(Error::runtime(format!(
                "Trying to create tensor with negative dimension {}: {}",
                size(i, times),
                list(&repeats.iter().enumerate().map(|(i, &t)| size(i, t)).collect::<Vec<_>>())
            )));
        }
        sizes.push(size(i, times));
        spread.extend_from_slice(&[times.max(0), own(i)]);
        from.extend_from_slice(&[1, own(i)]);
    }
    sconce_kernel_core::layout::shape::numel(&sizes)?;
    input.reshape(&from)?.expand(&spread)?.copy()?.view(&sizes)
}

/// `torch.tile`: [`repeat`], with ones put before too few numbers.
///
/// # Errors
/// For negative numbers.
pub fn tile(input: &Tensor, repeats: &[i64]) -> Result<Tensor> {
    let missing = input.dim().saturating_sub(repeats.len());
    let repeats: Vec<i64> =
        std::iter::repeat_n(1, missing).chain(repeats.iter().copied()).collect();
    repeat(input, &repeats)
}

/// Which index stands how often: `torch.repeat_interleave(repeats)`.
///
/// # Errors
/// For dtypes other than `int32` and `int64`, negative numbers, and tensors with more than one
/// dimension.
pub fn repetitions(repeats: &Tensor) -> Result<Tensor> {
    if repeats.dim() != 1 {
        return Err(Error::runtime("repeat_interleave only accept 1D vector as repeat"));
    }
    if !matches!(repeats.dtype(), DType::Int64 | DType::Int32) {
        return Err(Error::runtime("repeats has to be Long or Int tensor"));
    }
    let repeats = repeats.to_dtype(DType::Int64)?.to_vec::<i64>()?;
    if repeats.iter().any(|&times| times < 0) {
        return Err(Error::runtime("repeats can not be negative"));
    }
    let total = repeats.iter().fold(0i64, |sum, &times| sum.saturating_add(times));
    let result = Tensor::zeros(&[total], DType::Int64)?;
    let indices =
        (0..).zip(&repeats).flat_map(|(i, &times)| std::iter::repeat_n(i, times as usize));
    result.write::<i64>()?.iter_mut().zip(indices).for_each(|(to, index)| *to = index);
    Ok(result)
}

/// `torch.unflatten`: a dimension as several, one of which may be -1.
///
/// # Errors
/// Where their product is not the dimension's size.
pub fn unflatten(input: &Tensor, dim: i64, into: &[i64]) -> Result<Tensor> {
    if into.is_empty() {
        return Err(Error::runtime("unflatten: sizes must be non-empty"));
    }
    let at = wrap_dim(dim, input.dim())?;
    let length = input.size(dim)?;
    let into = infer_size(into, length).map_err(|why| {
        if why.message().starts_with("shape '") {
            return Error::runtime(format!(
                "unflatten: Provided sizes {into:?} don't multiply up to the size of dim {at} \
                 ({length}) in the input tensor"
            ));
        }
        Error::runtime(format!("unflatten got an unexpected error:\n{}", why.message()))
    })?;
    let (before, after) = (input.sizes().get(..at), input.sizes().get(at + 1..));
    let sizes: Dims =
        [before, Some(&into), after].into_iter().flatten().flatten().copied().collect();
    input.view(&sizes)
}

/// `torch.repeat_interleave(input, repeats, dim)`; without a dimension, of all elements.
///
/// # Errors
/// Where there are not as many numbers as indices, and as [`repetitions`].
pub fn repeat_interleave(input: &Tensor, repeats: &Tensor, dim: Option<i64>) -> Result<Tensor> {
    let (input, dim) = match dim {
        None => (input.reshape(&[-1])?, 0),
        Some(dim) => {
            let vector = if input.dim() == 0 { input.view(&[1])? } else { input.clone() };
            let dim = wrap_dim(dim, vector.dim())? as i64;
            (vector, dim)
        }
    };
    let size = input.size(dim)?;
    let repeats = match (repeats.dim(), repeats.sizes()) {
        (0, _) | (1, [1]) => repeats.reshape(&[1])?.expand(&[size])?,
        (1, &[length]) if length == size => repeats.clone(),
        (1, &[length]) => {
            return Err(Error::runtime(format!(
                "repeats must have the same size as input along dim, but got repeats.size(0) = \
                 {length} and input.size({dim}) = {size}"
            )));
        }
        _ => return Err(Error::runtime("repeats must be 0-dim or 1-dim tensor")),
    };
    crate::index_select(&input, dim, &repetitions(&repeats)?)
}

/// `torch.diag_embed`: the last dimension on a diagonal of two new ones, zeros elsewhere.
///
/// # Errors
/// Where the two dimensions are one, or do not exist.
pub fn diag_embed(input: &Tensor, offset: i64, dim1: i64, dim2: i64) -> Result<Tensor> {
    let rank = input.dim() + 1;
    let (a, b) = (wrap_dim(dim1, rank)?, wrap_dim(dim2, rank)?);
    if a == b {
        return Err(Error::runtime(format!(
            "diagonal dimensions cannot be identical {dim1}, {dim2}"
        )));
    }
    let length = input.size(-1)?.saturating_add(offset.saturating_abs());
    let mut sizes = Dims::from_slice(&input.sizes()[..input.dim() - 1]);
    sizes.insert(a.min(b), length);
    sizes.insert(a.max(b), length);
    let result = Tensor::zeros(&sizes, input.dtype())?;
    result.diagonal(offset, a as i64, b as i64)?.copy_from(input)?;
    Ok(result)
}

/// `torch.diag`: a vector as a matrix, or a matrix's diagonal.
///
/// # Errors
/// For more than two dimensions.
pub fn diag(input: &Tensor, offset: i64) -> Result<Tensor> {
    match input.dim() {
        1 => diag_embed(input, offset, 0, 1),
        2 => input.diagonal(offset, 0, 1)?.copy(),
        n => Err(Error::runtime(format!("diag(): Supports 1D or 2D tensors. Got {n}D"))),
    }
}

/// `torch.block_diag`.
///
/// # Errors
/// For tensors with more than two dimensions.
pub fn block_diag(tensors: &[Tensor]) -> Result<Tensor> {
    let mut blocks = Vec::new();
    let (mut rows, mut columns) = (0i64, 0i64);
    for (i, tensor) in tensors.iter().enumerate() {
        let block = match tensor.dim() {
            0 => tensor.view(&[1, 1])?,
            1 => tensor.unsqueeze(0)?,
            2 => tensor.clone(),
            n => {
                return Err(Error::runtime(format!(
                    "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} \
                     has {n} dimensions"
                )));
            }
        };
        rows = rows.saturating_add(block.sizes()[0]);
        columns = columns.saturating_add(block.sizes()[1]);
        blocks.push(block);
    }
    let operands: Vec<crate::Operand<'_>> = blocks.iter().map(Into::into).collect();
    let dtype = if blocks.is_empty() { DType::Float32 } else { crate::result_type(&operands)? };
    if blocks.is_empty() {
        return Tensor::zeros(&[1, 0], dtype);
    }
    let result = Tensor::zeros(&[rows, columns], dtype)?;
    let (mut row, mut column) = (0, 0);
    for block in &blocks {
        let &[height, width] = block.sizes() else { continue };
        result.narrow(0, row, height)?.narrow(1, column, width)?.copy_from(block)?;
        row += height;
        column += width;
    }
    Ok(result)
}

/// `torch.meshgrid`, with `xy` for the first two dimensions swapped.
///
/// # Errors
/// For tensors with more than one dimension, or of different dtypes.
pub fn meshgrid(tensors: &[Tensor], xy: bool) -> Result<Vec<Tensor>> {
    if tensors.is_empty() {
        return Err(Error::runtime("meshgrid expects a non-empty TensorList"));
    }
    if tensors.iter().any(|tensor| tensor.dtype() != tensors[0].dtype()) {
        return Err(Error::runtime("torch.meshgrid expects all tensors to have the same dtype"));
    }
    let swap = xy && tensors.len() >= 2;
    let mut order: Vec<&Tensor> = tensors.iter().collect();
    if swap {
        order.swap(0, 1);
    }
    if let Some(tensor) = order.iter().find(|tensor| tensor.dim() > 1) {
        return Err(Error::runtime(format!(
            "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {:?}",
            tensor.sizes()
        )));
    }
    let sizes: Dims = order.iter().map(|tensor| tensor.numel()).collect();
    let mut grids = Vec::new();
    for (i, tensor) in order.iter().enumerate() {
        let mut column = Dims::from_elem(1, sizes.len());
        column[i] = sizes[i];
        grids.push(tensor.view(&column)?.expand(&sizes)?);
    }
    if swap {
        grids.swap(0, 1);
    }
    Ok(grids)
}

/// `torch.broadcast_tensors`: views of the sizes that all broadcast to.
///
/// # Errors
/// Where they do not broadcast.
pub fn broadcast_tensors(tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut sizes = Dims::new();
    for tensor in tensors {
        sizes = broadcast(&sizes, tensor.sizes())?;
    }
    tensors.iter().map(|tensor| tensor.expand(&sizes)).collect()
}

/// `torch.cartesian_prod`.
///
/// # Errors
/// For tensors that are no vectors.
pub fn cartesian_prod(tensors: &[Tensor]) -> Result<Tensor> {
    if let Some(tensor) = tensors.iter().find(|tensor| tensor.dim() != 1) {
        return Err(Error::runtime(format!(
            "Expect a 1D vector, but got shape {:?}",
            tensor.sizes()
        )));
    }
    if let [one] = tensors {
        return Ok(one.clone());
    }
    let columns: Result<Vec<Tensor>> =
        meshgrid(tensors, false)?.iter().map(|grid| grid.reshape(&[-1])).collect();
    crate::stack(&columns?, 1)
}

/// How many sets of `r` there are of `n`: the binomial coefficient, or the greatest number.
fn ways_to_choose(n: i64, r: i64) -> usize {
    let mut ways: u128 = 1;
    for i in 0..r.min(n - r) {
        ways = ways * (n - i) as u128 / (i as u128 + 1);
        if ways > usize::MAX as u128 {
            return usize::MAX;
        }
    }
    ways as usize
}

/// `torch.combinations` of `r` elements.
///
/// # Errors
/// For tensors that are no vectors, and negative numbers.
pub fn combinations(input: &Tensor, r: i64, with_replacement: bool) -> Result<Tensor> {
    if input.dim() != 1 {
        return Err(Error::runtime(format!(
            "Expect a 1D vector, but got shape {:?}",
            input.sizes()
        )));
    }
    let Ok(width) = usize::try_from(r) else {
        return Err(Error::runtime(format!("Expect a non-negative number, but got {r}")));
    };
    if width == 0 {
        return Tensor::zeros(&[0], input.dtype());
    }
    let n = input.numel();
    let possible = if with_replacement { n > 0 } else { r <= n };
    if !possible {
        return Tensor::zeros(&[0, r], input.dtype());
    }
    let rows = ways_to_choose(if with_replacement { n.saturating_add(r - 1) } else { n }, r);
    // The positions, and the tensor of them.
    let positions = rows.saturating_mul(width);
    crate::Memory::check_scratch(positions.saturating_mul(2 * size_of::<i64>()))?;
    let mut chosen: Vec<i64> = (0..r).map(|i| if with_replacement { 0 } else { i }).collect();
    let mut rows = Vec::with_capacity(positions);
    loop {
        rows.extend_from_slice(&chosen);
        // The last place that can still go up; those after it start anew.
        let limit = |at: usize| if with_replacement { n } else { n - (width - 1 - at) as i64 };
        let Some(at) = (0..width).rev().find(|&at| chosen[at] + 1 < limit(at)) else { break };
        let next = chosen[at] + 1;
        for (step, position) in chosen.iter_mut().skip(at).enumerate() {
            *position = if with_replacement { next } else { next + step as i64 };
        }
    }
    let count = (rows.len() / width) as i64;
    let indices = Tensor::from_slice(&rows, &[rows.len() as i64])?;
    crate::index_select(input, 0, &indices)?.view(&[count, r])
}

/// `torch.tensor_split` at these indices: views.
///
/// # Errors
/// For tensors without dimensions.
pub fn split_at(input: &Tensor, indices: &[i64], dim: i64) -> Result<Vec<Tensor>> {
    let mut start = 0;
    let mut parts = Vec::new();
    for &end in indices {
        parts.push(input.slice(dim, Some(start), Some(end), 1)?);
        start = end;
    }
    parts.push(input.slice(dim, Some(start), None, 1)?);
    Ok(parts)
}

/// `torch.tensor_split` into this many parts, the first ones larger by one: views.
///
/// # Errors
/// For fewer sections than one, and tensors without dimensions.
pub fn split_evenly(input: &Tensor, sections: i64, dim: i64) -> Result<Vec<Tensor>> {
    if input.dim() == 0 {
        let message =
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims";
        return Err(Error::runtime(message));
    }
    let size = input.size(dim)?;
    if sections <= 0 {
        return Err(Error::runtime(format!(
            "number of sections must be larger than 0, got {sections}"
        )));
    }
    crate::shape::join::check_views(sections, size)?;
    let (small, larger) = (size / sections, size % sections);
    let mut at = 0;
    let part = |i| {
        let length = small + i64::from(i < larger);
        let part = input.narrow(dim, at, length);
        at += length;
        part
    };
    (0..sections).map(part).collect()
}

/// At least this many dimensions, as `torch.atleast_1d`, `_2d` and `_3d` add them.
///
/// # Errors
/// None for up to three.
pub fn at_least(input: &Tensor, dims: usize) -> Result<Tensor> {
    match (dims, input.dim()) {
        (1.., 0) => input.reshape(&[1, 1, 1][..dims.min(3)]),
        (2, 1) => input.unsqueeze(0),
        (3, 1) => input.unsqueeze(0)?.unsqueeze(2),
        (3, 2) => input.unsqueeze(2),
        _ => Ok(input.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rolls_go_around_as_often_as_they_are_told() {
        let t = Tensor::from_slice(&[1i64, 2, 3], &[3]).unwrap();
        for (shift, expected) in [(1, [3, 1, 2]), (-4, [2, 3, 1]), (i64::MIN, [3, 1, 2])] {
            assert_eq!(roll(&t, &[shift], &[0]).unwrap().to_vec::<i64>().unwrap(), expected);
        }
    }

    #[test]
    fn combinations_are_counted() {
        let cases = [(5, 2, 10), (5, 5, 1), (40, 20, 137_846_528_820), (1, 1, 1), (9, 0, 1)];
        for (n, r, expected) in cases {
            assert_eq!(ways_to_choose(n, r), expected, "{n} {r}");
        }
        assert_eq!(ways_to_choose(i64::MAX, 1 << 61), usize::MAX);
        assert_eq!(ways_to_choose(1000, 500), usize::MAX);
    }

    #[test]
    fn combinations_are_in_order() {
        let t = Tensor::from_slice(&[1i64, 2, 3], &[3]).unwrap();
        let pairs = combinations(&t, 2, false).unwrap();
        assert_eq!(pairs.to_vec::<i64>().unwrap(), [1, 2, 1, 3, 2, 3]);
        let pairs = combinations(&t, 2, true).unwrap();
        assert_eq!(pairs.to_vec::<i64>().unwrap(), [1, 1, 1, 2, 1, 3, 2, 2, 2, 3, 3, 3]);
        assert_eq!(combinations(&t, 4, false).unwrap().sizes(), [0, 4]);
    }

    #[test]
    fn windows_and_diagonals_are_views() {
        let t = Tensor::from_slice(&[0f32, 1., 2., 3., 4., 5.], &[2, 3]).unwrap();
        t.diagonal(1, 0, 1).unwrap().fill(9.0.into()).unwrap();
        assert_eq!(t.to_vec::<f32>().unwrap(), [0., 9., 2., 3., 4., 9.]);
        assert_eq!(t.diagonal(5, 0, 1).unwrap().sizes(), [0]);
        let windows = t.unfold(1, 2, 1).unwrap();
        assert_eq!(windows.sizes(), [2, 2, 2]);
        assert_eq!(windows.to_vec::<f32>().unwrap(), [0., 9., 9., 2., 3., 4., 4., 9.]);
    }
}

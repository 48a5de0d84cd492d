//! Gathering elements by index: `index_select`, `gather`, `scatter`, `embedding`, and advanced
//! indexing.

use sconce_kernel_core::layout::shape::{broadcast, contiguous_strides, product, wrap_dim};
use sconce_kernel_core::parallel::{grain, partition};

use crate::elementwise::in_place::store;
use crate::indexing::index_runs::{IndexRuns, at_least_one, by_width, units};
use crate::{Bool, DType, Dims, Error, Operand, PodElement, Result, Tensor};

fn integers(index: &Tensor, refuse: impl FnOnce() -> Error) -> Result<Vec<i64>> {
    if !matches!(index.dtype(), DType::Int64 | DType::Int32) && index.numel() > 0 {
        return Err(refuse());
    }
    index.to_dtype(DType::Int64)?.to_vec::<i64>()
}

/// `torch.index_select`.
///
/// # Errors
/// For indices that are negative or beyond the dimension, or no integers.
pub fn index_select(input: &Tensor, dim: i64, index: &Tensor) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return crate::rearranged(input, |whole| index_select(whole, dim, index));
    }
    if index.dim() > 1 {
        return Err(Error::index("index_select(): Index is supposed to be a vector"));
    }
    let indices = integers(index, || {
        Error::runtime("index_select(): Expected dtype int32 or int64 for index")
    })?;
    let dim = wrap_dim(dim, input.dim())?;
    let vector = if input.dim() == 0 { input.view(&[1])? } else { input.clone() };
    let size = vector.sizes()[dim];
    if indices.iter().any(|i| !(0..size).contains(i)) {
        return Err(Error::index("index out of range in self"));
    }
    let result = take_slices(&vector, dim, &indices)?;
    if input.dim() == 0 { result.view(&[]) } else { Ok(result) }
}

/// Slices of a dimension, which are known to exist.
fn take_slices(input: &Tensor, dim: usize, indices: &[i64]) -> Result<Tensor> {
    let input = input.contiguous()?;
    let mut sizes = Dims::from_slice(input.sizes());
    let inner = product(&sizes[dim + 1..]) as usize;
    let whole = inner * sizes[dim] as usize;
    sizes[dim] = indices.len() as i64;
    let result = Tensor::for_overwrite(&sizes, input.dtype())?;
    fn copy<T: PodElement>(
        input: &Tensor,
        result: &Tensor,
        indices: &[i64],
        [inner, whole]: [usize; 2],
    ) -> Result<()> {
        let from = units::<T>(input)?;
        let from = &from[..];
        let mut to = result.storage().write::<T>()?;
        let taken = indices.len() * inner;
        let to = &mut to[..from.len() / whole.max(1) * taken];
        // Where each run of elements of `to` comes from: of which whole, and there of which slice.
        let part = |from: &[T], to: &mut [T], indices: &[i64]| match inner {
            1 => to.iter_mut().zip(indices).for_each(|(to, &i)| *to = from[i as usize]),
            _ => to.chunks_exact_mut(inner).zip(indices).for_each(|(to, &i)| {
                to.copy_from_slice(&from[i as usize * inner..(i as usize + 1) * inner]);
            }),
        };
        if to.is_empty() {
            return Ok(());
        }
        if whole == from.len() {
            partition::for_each_chunk(to, inner, grain::ROWS, |start, to| {
                part(from, to, &indices[start / inner..]);
            });
        } else {
            partition::for_each_chunk(to, taken, grain::ROWS, |start, to| {
                let wholes = from.chunks_exact(whole).skip(start / taken);
                to.chunks_exact_mut(taken).zip(wholes).for_each(|(to, from)| {
                    part(from, to, indices);
                });
            });
        }
        Ok(())
    }
    by_width!(input, copy(&input, &result, indices, [inner, whole]))?;
    Ok(result)
}

/// `torch.nn.functional.embedding` (`aten::embedding`).
///
/// # Errors
/// For indices that are not rows of the weight, or no integers.
pub fn embedding(weight: &Tensor, indices: &Tensor) -> Result<Tensor> {
    let flat = integers(indices, || {
        Error::runtime(format!(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: \
             Long, Int; but got torch.{}Tensor instead (while checking arguments for embedding)",
            indices.dtype().scalar_type_name()
        ))
    })?;
    if weight.dim() != 2 {
        return Err(Error::runtime("'weight' must be 2-D"));
    }
    if flat.iter().any(|i| !(0..weight.sizes()[0]).contains(i)) {
        return Err(Error::index("index out of range in self"));
    }
    let sizes: Dims = indices.sizes().iter().copied().chain([weight.sizes()[1]]).collect();
    take_slices(weight, 0, &flat)?.view(&sizes)
}

/// `torch.gather`.
///
/// # Errors
/// For indices beyond the dimension, and an index tensor larger than the input elsewhere.
pub fn gather(input: &Tensor, dim: i64, index: &Tensor) -> Result<Tensor> {
    let positions = IndexRuns::along(input, dim, index)?;
    positions.gather(&input.contiguous()?, index.sizes())
}

/// Refuses an index tensor that reaches beyond what is scattered to, or beyond what is scattered.
pub(super) fn check_scattered(
    input: &Tensor,
    dim: i64,
    index: &Tensor,
    source: Option<&Tensor>,
) -> Result<()> {
    if index.numel() == 0 {
        return Ok(());
    }
    let dim = wrap_dim(dim, input.dim())?;
    let own = at_least_one(index.sizes());
    let other_dims = |name: &str| {
        Err(Error::runtime(format!(
            "Index tensor must have the same number of dimensions as {name} tensor"
        )))
    };
    let to = at_least_one(input.sizes());
    if to.len() != own.len() {
        return other_dims("self");
    }
    let mut fits = own.iter().zip(&to).enumerate().all(|(at, (i, n))| at == dim || i <= n);
    if let Some(source) = source {
        let from = at_least_one(source.sizes());
        for (at, &size) in own.iter().enumerate() {
            fits = fits && size <= from[wrap_dim(at as i64, from.len())?];
        }
        if from.len() != own.len() {
            return other_dims("src");
        }
    }
    if fits {
        return Ok(());
    }
    let mut message = format!(
        "Expected index {:?} to be no larger than self {:?} apart from dimension {dim}",
        index.sizes(),
        input.sizes()
    );
    if let Some(source) = source {
        message += &format!(" and to be no larger size than src {:?}", source.sizes());
    }
    Err(Error::runtime(message))
}

/// `torch.scatter`: a copy of `input` with `source` written to the indices; the last one wins.
///
/// # Errors
/// As [`gather`], and where the source is smaller than the index tensor.
pub fn scatter(input: &Tensor, dim: i64, index: &Tensor, source: Operand<'_>) -> Result<Tensor> {
    let from = if let Operand::Tensor(source) = source { Some(source) } else { None };
    check_scattered(input, dim, index, from)?;
    let positions = IndexRuns::along(input, dim, index)?;
    let result = input.copy()?;
    let source = match source {
        Operand::Scalar(_) => source.to_dtype(input.dtype())?.expand(index.sizes())?,
        Operand::Tensor(source) => {
            if source.dtype() != input.dtype() {
                let message = "scatter(): Expected self.dtype to be equal to src.dtype";
                return Err(Error::runtime(message));
            }
            if index.numel() == 0 {
                return Ok(result);
            }
            let mut corner = source.clone();
            for (dim, &size) in index.sizes().iter().enumerate() {
                corner = corner.narrow(dim as i64, 0, size)?;
            }
            corner
        }
    };
    positions.scatter(&result, &source.contiguous()?)?;
    Ok(result)
}

/// `torch.nonzero`: coordinates of the elements that are not zero, one row each.
///
/// # Errors
/// For dtypes without kernels.
pub fn nonzero(input: &Tensor) -> Result<Tensor> {
    let positions = true_positions(&input.to_dtype(DType::Bool)?)?;
    let count = positions.len() as i64;
    let Some((&width, outer)) = input.sizes().split_last() else {
        return Tensor::zeros(&[count, 0], DType::Int64);
    };
    let found = Tensor::for_overwrite(&[count, input.dim() as i64], DType::Int64)?;
    {
        let mut found = found.write::<i64>()?;
        let mut rows = found.chunks_exact_mut(input.dim()).zip(&positions).peekable();
        let mut index = Dims::from_elem(0, outer.len());
        let mut start = 0;
        while rows.peek().is_some() {
            while let Some((row, &position)) =
                rows.next_if(|(_, position)| **position < start + width)
            {
                row[..outer.len()].copy_from_slice(&index);
                row[outer.len()] = position - start;
            }
            start += width;
            for (at, &size) in index.iter_mut().zip(outer).rev() {
                *at += 1;
                if *at < size {
                    break;
                }
                *at = 0;
            }
        }
    }
    Ok(found)
}

/// The positions of what is true, in row-major order.
pub(crate) fn true_positions(flags: &Tensor) -> Result<Vec<i64>> {
    let flags = flags.contiguous()?;
    let flags = flags.read::<Bool>()?;
    let count = flags.iter().map(|flag| usize::from(flag.get())).sum::<usize>();
    // Each position is written, and stays where its flag is set: branches would often be guessed wrong.
    let mut positions = vec![0; count + 1];
    let mut next = 0;
    for (position, flag) in (0..).zip(&*flags) {
        positions[next] = position;
        next += usize::from(flag.get());
    }
    positions.truncate(count);
    Ok(positions)
}

/// Advanced indexing laid out: which elements of a contiguous tensor, and the result's sizes.
struct Plan {
    positions: IndexRuns,
    sizes: Dims,
}

/// That there are no more indices than dimensions.
fn check_count(input: &Tensor, count: usize) -> Result<()> {
    if count <= input.dim() {
        return Ok(());
    }
    Err(Error::index(format!(
        "too many indices for tensor of dimension {} (got {count})",
        input.dim()
    )))
}

/// That a mask is of the sizes of the dimensions from `at` on.
fn check_mask(input: &Tensor, mask: &Tensor, at: usize) -> Result<()> {
    let mut sizes = mask.sizes().iter().enumerate();
    let Some((dim, _)) = sizes.find(|(dim, size)| input.sizes().get(at + dim) != Some(size)) else {
        return Ok(());
    };
    Err(Error::index(format!(
        "The shape of the mask {:?} at index {dim} does not match the shape of the indexed tensor \
         {:?} at index {}",
        mask.sizes(),
        input.sizes(),
        at + dim
    )))
}

/// `fits` is asked about the sizes of what is picked before any index is looked at.
fn plan(
    input: &Tensor,
    indices: &[Option<Tensor>],
    fits: impl FnOnce(&[i64]) -> Result<()>,
) -> Result<Plan> {
    check_count(input, indices.len())?;
    let mut wanted: Vec<Option<Tensor>> = Vec::new();
    for index in indices {
        let Some(index) = index else {
            wanted.push(None);
            continue;
        };
        match index.dtype() {
            DType::Bool | DType::UInt8 => {
                check_mask(input, index, wanted.len())?;
                let found = nonzero(index)?;
                for column in 0..index.dim() as i64 {
                    wanted.push(Some(found.select(1, column)?));
                }
            }
            DType::Int64 | DType::Int32 => wanted.push(Some(index.to_dtype(DType::Int64)?)),
            _ => {
                let message = "tensors used as indices must be long, int, byte or bool tensors";
                return Err(Error::index(message));
            }
        }
    }
    if wanted.iter().all(Option::is_none) && indices.iter().any(Option::is_some) {
        // What no dimension is picked by picks nothing; PyTorch's iterator gives up on it, too.
        return Err(Error::index("a mask without dimensions is not an index by itself"));
    }
    // A mask of several dimensions may leave fewer than there are indices behind it.
    check_count(input, wanted.len())?;
    wanted.resize(input.dim(), None);
    let mut shape = Dims::new();
    for index in wanted.iter().flatten() {
        shape = broadcast(&shape, index.sizes()).map_err(|_| {
            let shapes: Vec<String> =
                wanted.iter().flatten().map(|t| format!("{:?}", t.sizes())).collect();
            Error::index(format!(
                "shape mismatch: indexing tensors could not be broadcast together with shapes {}",
                shapes.join(", ")
            ))
        })?;
    }
    // Indices side by side leave their dimensions in place; otherwise theirs come first.
    let positions: Vec<usize> = (0..wanted.len()).filter(|&i| wanted[i].is_some()).collect();
    let side_by_side = positions.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let before = if side_by_side { positions.first().copied().unwrap_or(0) } else { 0 };
    let free: Vec<usize> = (0..wanted.len()).filter(|&i| wanted[i].is_none()).collect();
    let (outer, inner) = free.split_at(free.iter().filter(|&&dim| dim < before).count());
    let size = |&dim: &usize| input.sizes()[dim];
    let sizes: Dims =
        outer.iter().map(size).chain(shape.clone()).chain(inner.iter().map(size)).collect();
    fits(&sizes)?;
    let strides = contiguous_strides(input.sizes());
    // An expanded index may be larger than memory: a tensor of its size says so.
    let picked = Tensor::zeros(&shape, DType::Int64)?;
    for (dim, index) in wanted.iter().enumerate() {
        let Some(index) = index else { continue };
        let index = index.expand(&shape)?.contiguous()?;
        add_offsets(&picked, &index, dim, input.sizes()[dim], strides[dim])?;
    }
    // Dimensions behind the last index are taken whole: their elements lie side by side.
    let last = positions.last().map_or(0, |&dim| dim + 1);
    let between = &inner[..inner.iter().filter(|&&dim| dim < last).count()];
    let run = product(&input.sizes()[last..]);
    let offsets = |dims: &[usize]| {
        dims.iter().fold(vec![0i64], |offsets, &dim| {
            let steps = 0..input.sizes()[dim];
            let next = offsets.iter().flat_map(|&at| steps.clone().map(move |i| (at, i)));
            next.map(|(at, i)| at + i * strides[dim]).collect()
        })
    };
    if outer.is_empty() && between.is_empty() {
        return Ok(Plan { positions: IndexRuns::new(picked, run as usize), sizes });
    }
    let (outer, between) = (offsets(outer), offsets(between));
    let counts = [outer.len() as i64, picked.numel(), between.len() as i64];
    let starts = Tensor::for_overwrite(&counts, DType::Int64)?;
    {
        let (picked, mut starts) = (picked.read::<i64>()?, starts.write::<i64>()?);
        let bases = outer.iter().flat_map(|&a| picked.iter().map(move |&b| a + b));
        for (row, base) in starts.chunks_exact_mut(between.len().max(1)).zip(bases) {
            row.iter_mut().zip(&between).for_each(|(at, &c)| *at = base + c);
        }
    }
    Ok(Plan { positions: IndexRuns::new(starts, run as usize), sizes })
}

/// Adds to every position what an index along one dimension says, a negative one from its end.
fn add_offsets(
    positions: &Tensor,
    index: &Tensor,
    dim: usize,
    size: i64,
    stride: i64,
) -> Result<()> {
    let index = index.read::<i64>()?;
    let outside = |i: i64| i < -size || i >= size;
    if index.iter().fold(false, |any, &i| any | outside(i))
        && let Some(i) = index.iter().copied().find(|&i| outside(i))
    {
        return Err(Error::index(format!(
            "index {i} is out of bounds for dimension {dim} with size {size}"
        )));
    }
    for (at, &i) in positions.write::<i64>()?.iter_mut().zip(&*index) {
        *at += stride * if i < 0 { i + size } else { i };
    }
    Ok(())
}

/// `input[indices]` with tensors as indices (`aten::index`); `None` stands for `:`.
///
/// # Errors
/// For indices beyond their dimension, masks of other sizes, and shapes that do not broadcast.
pub fn index(input: &Tensor, indices: &[Option<Tensor>]) -> Result<Tensor> {
    if indices.is_empty() {
        return Err(Error::index("at least one index must be provided"));
    }
    let plan = plan(input, indices, |_| Ok(()))?;
    plan.positions.gather(&input.contiguous()?, &plan.sizes)
}

/// The mask that indices are if they are one mask and nothing else, in as many dimensions as `input` has.
fn only_mask(input: &Tensor, indices: &[Option<Tensor>]) -> Result<Option<Tensor>> {
    let mut given =
        indices.iter().enumerate().filter_map(|(at, index)| Some((at, index.as_ref()?)));
    let (Some((before, mask)), None) = (given.next(), given.next()) else { return Ok(None) };
    if !matches!(mask.dtype(), DType::Bool | DType::UInt8) {
        return Ok(None);
    }
    check_mask(input, mask, before)?;
    let ones = |count| std::iter::repeat_n(1, count);
    let after = input.dim().saturating_sub(before + mask.dim());
    let sizes: Dims = ones(before).chain(mask.sizes().iter().copied()).chain(ones(after)).collect();
    mask.reshape(&sizes).map(Some)
}

/// `input[indices] = values` (`aten::index_put_`), or `+=` where `accumulate`.
///
/// # Errors
/// As [`index`], and where the values do not broadcast.
pub fn index_put(
    input: &Tensor,
    indices: &[Option<Tensor>],
    values: &Tensor,
    accumulate: bool,
) -> Result<()> {
    check_count(input, indices.len())?;
    if !accumulate
        && values.numel() == 1
        && let Some(mask) = only_mask(input, indices)?
    {
        return crate::masked_fill_in_place(input, &mask, Operand::Tensor(&values.reshape(&[])?));
    }
    let expanded = |sizes: &[i64]| {
        values.expand(sizes).map_err(|_| {
            Error::runtime(format!(
                "shape mismatch: value tensor of shape {:?} cannot be broadcast to indexing result \
                 of shape {sizes:?}",
                values.sizes(),
            ))
        })
    };
    let plan = plan(input, indices, |sizes| expanded(sizes).map(drop))?;
    let values = expanded(&plan.sizes)?;
    if values.dtype() != input.dtype() {
        return Err(Error::runtime(format!(
            "Index put requires the source and destination dtypes match, got {} for the \
             destination and {} for the source.",
            input.dtype().scalar_type_name(),
            values.dtype().scalar_type_name()
        )));
    }
    let own = input.is_contiguous() && !values.storage().ptr_eq(input.storage());
    let (target, values) = (if own { input.clone() } else { input.copy()? }, values.contiguous()?);
    match accumulate {
        true => plan.positions.add(&target, &values)?,
        false => plan.positions.scatter(&target, &values)?,
    }
    if own { Ok(()) } else { store(input, &target) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_those_of_what_is_not_zero() {
        for sizes in [&[][..], &[7], &[3, 5], &[2, 1, 9], &[2, 0, 3], &[4, 3, 1], &[1, 1, 1]] {
            let count = product(sizes);
            let numbers: Vec<i32> = (0..count as i32).map(|i| (i * 7 + 1) % 3).collect();
            let input = Tensor::from_slice(&numbers, sizes).unwrap();
            let mut expected = Vec::new();
            for (at, _) in (0i64..).zip(&numbers).filter(|(_, x)| **x != 0) {
                let steps = contiguous_strides(sizes);
                let pairs = steps.iter().zip(sizes);
                expected.extend(pairs.map(|(step, size)| at / step % size));
            }
            let found = nonzero(&input).unwrap();
            assert_eq!(found.to_vec::<i64>().unwrap(), expected, "{sizes:?}");
            assert_eq!(found.sizes()[1], sizes.len() as i64);
        }
        let transposed = Tensor::from_slice(&[0f32, 1.0, 0.0, 2.0, 3.0, 0.0], &[2, 3]).unwrap();
        let found = nonzero(&transposed.transpose(0, 1).unwrap()).unwrap();
        assert_eq!(found.to_vec::<i64>().unwrap(), [0, 1, 1, 0, 1, 1]);
    }

    #[test]
    fn long_rows_are_gathered_and_scattered_as_defined() {
        let (rows, width) = (3i64, 1300i64);
        let numbers: Vec<f32> = (0..rows * width).map(|i| i as f32).collect();
        let input = Tensor::from_slice(&numbers, &[rows, width]).unwrap();
        let picked: Vec<i64> = (0..rows * width).map(|i| i * 7919 % width).collect();
        let index = Tensor::from_slice(&picked, &[rows, width]).unwrap();
        let found = gather(&input, 1, &index).unwrap().to_vec::<f32>().unwrap();
        let position = |at: usize| at as i64 / width * width + picked[at];
        assert!(found.iter().enumerate().all(|(at, &x)| x == position(at) as f32));
        let source = Tensor::from_slice(&found, &[rows, width]).unwrap();
        let found = scatter(&input, 1, &index, Operand::Tensor(&source)).unwrap();
        assert_eq!(found.to_vec::<f32>().unwrap(), numbers);
        let wrong = Tensor::from_slice(&[0, 5, width, -1], &[1, 4]).unwrap();
        let message = format!("index {width} is out of bounds for dimension 1 with size {width}");
        assert_eq!(gather(&input, 1, &wrong).unwrap_err().message(), message);
    }
}

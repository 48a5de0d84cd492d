//! Writing to, and reducing into, positions given by index tensors.

use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_kernel_core::tensor::wide_elements::{
    Complex128, Number, Real, computed, expect_ordered,
};

use crate::indexing::index::{check_scattered, true_positions};
use crate::indexing::index_runs::{IndexRuns, at_least_one};
use crate::{DType, Dims, Error, MemoryFormat, Operand, Result, Scalar, Tensor};

/// What becomes of an element that several sources point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScatterReduce {
    /// The last source wins.
    Replace,
    /// `sum` and `add`.
    Sum,
    /// `prod` and `multiply`.
    Product,
    /// The mean; integers are divided towards negative infinity.
    Mean,
    /// `amax`.
    Max,
    /// `amin`.
    Min,
}

/// `torch.scatter_reduce` and its kin: `source` folded into a copy of `input` at `index`.
///
/// # Errors
/// For indices beyond the dimension, sources smaller than the index tensor, and dtypes that differ.
pub fn scatter_reduce(
    input: &Tensor,
    dim: i64,
    index: &Tensor,
    source: Operand<'_>,
    fold: ScatterReduce,
    include_self: bool,
) -> Result<Tensor> {
    if fold == ScatterReduce::Replace {
        return crate::scatter(input, dim, index, source);
    }
    let source = match source {
        Operand::Scalar(_) => {
            check_scattered(input, dim, index, None)?;
            source.to_dtype(input.dtype())?.expand(index.sizes())?
        }
        Operand::Tensor(source) => corner(input, dim, index, source)?,
    };
    let positions = IndexRuns::along(input, dim, index)?;
    fold_into(input, &positions, &source, fold, include_self)
}

/// The part of `source` that an index tensor reaches.
fn corner(input: &Tensor, dim: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    if source.dtype() != input.dtype() {
        return Err(Error::runtime("scatter(): Expected self.dtype to be equal to src.dtype"));
    }
    if index.numel() == 0 {
        return Tensor::zeros(index.sizes(), source.dtype());
    }
    check_scattered(input, dim, index, Some(source))?;
    let (index_sizes, source_sizes) = (at_least_one(index.sizes()), at_least_one(source.sizes()));
    let mut corner = source.reshape(&source_sizes)?;
    for (dim, &size) in index_sizes.iter().enumerate() {
        corner = corner.narrow(dim as i64, 0, size)?;
    }
    Ok(corner)
}

/// `source` folded into positions of a copy of `input`.
fn fold_into(
    input: &Tensor,
    positions: &IndexRuns,
    source: &Tensor,
    fold: ScatterReduce,
    include_self: bool,
) -> Result<Tensor> {
    let dtype = input.dtype();
    if matches!(fold, ScatterReduce::Max | ScatterReduce::Min) {
        expect_ordered("scatter_reduce", dtype)?;
    }
    // Halves and short integers are rounded or wrapped once.
    let compute = computed(dtype)?;
    if fold == ScatterReduce::Replace {
        let target = input.copy()?;
        positions.scatter(&target, &source.contiguous()?)?;
        return Ok(target);
    }
    let target = if compute == dtype { input.copy()? } else { input.to_dtype(compute)? };
    let source = source.to_dtype(compute)?.contiguous()?;
    fn real<T: Real>(fold: ScatterReduce, a: T, b: T) -> T {
        // Without branches, which would go one way as often as the other.
        let is_better = (if fold == ScatterReduce::Max { b > a } else { b < a }) | b.not_a_number();
        if is_better & !a.not_a_number() { b } else { a }
    }
    let how = ScatterPlan { positions, fold, include_self };
    match compute {
        DType::Int64 => how.run(&target, &source, real::<i64>),
        DType::Float32 => how.run(&target, &source, real::<f32>),
        DType::Float64 => how.run(&target, &source, real::<f64>),
        DType::Complex128 => how.run(&target, &source, |_, a: Complex128, _| a),
        _ => Err(Error::no_kernel("scatter_reduce", dtype)),
    }?;
    target.to_dtype(dtype)
}

/// What is folded, and where to.
struct ScatterPlan<'a> {
    positions: &'a IndexRuns,
    fold: ScatterReduce,
    include_self: bool,
}

impl ScatterPlan<'_> {
    /// Folds in the dtype of `T`.
    fn run<T: Number>(
        &self,
        target: &Tensor,
        source: &Tensor,
        extreme: impl Fn(ScatterReduce, T, T) -> T + Copy,
    ) -> Result<()> {
        let mut target = target.write::<T>()?;
        let source = source.read::<T>()?;
        match self.fold {
            ScatterReduce::Replace => self.fold(&mut target, &source, |_, b| b),
            ScatterReduce::Sum | ScatterReduce::Mean => self.fold(&mut target, &source, T::plus),
            ScatterReduce::Product => self.fold(&mut target, &source, T::times),
            ScatterReduce::Max => {
                self.fold(&mut target, &source, |a, b| extreme(ScatterReduce::Max, a, b))
            }
            ScatterReduce::Min => {
                self.fold(&mut target, &source, |a, b| extreme(ScatterReduce::Min, a, b))
            }
        }?;
        match self.fold {
            ScatterReduce::Mean => self.divide(&mut target),
            _ => Ok(()),
        }
    }

    fn fold<T: Number>(
        &self,
        target: &mut [T],
        source: &[T],
        combine: impl Fn(T, T) -> T + Copy,
    ) -> Result<()> {
        if self.include_self {
            return self.positions.fold(target, source, combine);
        }
        // The first source replaces what was there.
        let mut is_first = vec![true; target.len()];
        self.each(|i, at| {
            let first = std::mem::take(&mut is_first[at]);
            target[at] = if first { source[i] } else { combine(target[at], source[i]) };
        })
    }

    /// Divides sums by how many they are of.
    fn divide<T: Number>(&self, target: &mut [T]) -> Result<()> {
        let mut counts = vec![i64::from(self.include_self); target.len()];
        self.each(|_, at| counts[at] += 1)?;
        for (target, &count) in target.iter_mut().zip(&counts) {
            if count > 1 {
                *target = target.over(count);
            }
        }
        Ok(())
    }

    /// Calls `f` for every source with its position.
    fn each(&self, mut f: impl FnMut(usize, usize)) -> Result<()> {
        let len = self.positions.run();
        self.positions.each(|run, start| {
            for i in 0..len {
                f(run * len + i, start + i);
            }
        })
    }
}

/// `torch.index_add`, `index_copy` and `index_reduce`: slices of `source` folded into those that a
/// vector of indices names.
///
/// # Errors
/// For indices beyond the dimension, and where sizes or dtypes differ.
pub fn index_reduce(
    name: &str,
    input: &Tensor,
    dim: i64,
    index: &Tensor,
    source: &Tensor,
    fold: ScatterReduce,
    include_self: bool,
) -> Result<Tensor> {
    let dim = wrap_dim(dim, input.dim())?;
    if index.dim() > 1 {
        return Err(Error::index(format!("{name}(): Index is supposed to be a vector")));
    }
    let index_dtype = index.dtype().scalar_type_name();
    match index.dtype() {
        DType::Int64 => {}
        _ if name == "index_copy" => {
            return Err(Error::runtime(format!(
                "index_copy_(): Expected a long tensor for index, but got {index_dtype}"
            )));
        }
        DType::Int32 => {}
        _ => {
            return Err(Error::runtime(format!(
                "{name}_(): Expected dtype int32/int64 for index but got: {index_dtype}"
            )));
        }
    }
    if source.dtype() != input.dtype() {
        return Err(Error::runtime(format!(
            "{name}(): self ({}) and source ({}) must have the same scalar type",
            input.dtype().scalar_type_name(),
            source.dtype().scalar_type_name()
        )));
    }
    let (sizes, source_sizes) = (at_least_one(input.sizes()), at_least_one(source.sizes()));
    let count = index.numel();
    let fits = sizes.len() == source_sizes.len()
        && source_sizes.iter().enumerate().all(|(i, &size)| match i == dim {
            true => size == count,
            false => size == sizes[i],
        });
    let both = input.dim() == source.dim() || name == "index_copy";
    if !fits || !both {
        return Err(Error::runtime(format!(
            "source tensor shape must match self tensor shape, excluding the specified dimension. \
             Got self.shape = {:?} source.shape = {:?}",
            input.sizes(),
            source.sizes()
        )));
    }
    let mut column = Dims::from_elem(1, sizes.len());
    column[dim] = count;
    let index = index.reshape(&column)?.expand(&source_sizes)?;
    let target = input.reshape(&sizes)?;
    let source = source.reshape(&source_sizes)?;
    let positions = IndexRuns::along(&target, dim as i64, &index)?;
    fold_into(&target, &positions, &source, fold, include_self)?.view(input.sizes())
}

/// `torch.index_fill`.
///
/// # Errors
/// For indices beyond the dimension, and values with dimensions.
pub fn index_fill(input: &Tensor, dim: i64, index: &Tensor, value: Operand<'_>) -> Result<Tensor> {
    let dim = wrap_dim(dim, input.dim())?;
    if index.dtype() != DType::Int64 {
        return Err(Error::index("index_fill_(): Expected dtype int64 for index."));
    }
    if index.dim() > 1 {
        return Err(Error::index("Index has to be a vector/scalar"));
    }
    if let Operand::Tensor(value) = value
        && value.dim() > 0
    {
        return Err(Error::runtime(format!(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {} \
             dimension(s).",
            value.dim()
        )));
    }
    if value.dtype().is_complex() && !input.dtype().is_complex() {
        return Err(Error::not_implemented("aten::index_fill with a complex value"));
    }
    let sizes = at_least_one(input.sizes());
    let size = sizes[dim];
    let indices = index.reshape(&[-1])?.to_vec::<i64>()?;
    let result = input.copy_in(MemoryFormat::Preserve)?;
    let row = result.reshape(&sizes)?;
    let value = value.to_dtype(input.dtype())?;
    for index in indices {
        if index < -size || index >= size {
            return Err(Error::index(format!(
                "index {index} is out of bounds for dimension {dim} with size {size}"
            )));
        }
        row.select(dim as i64, index)?.copy_from(&value)?;
    }
    Ok(result)
}

/// Elements of all by number, negative ones counted from the end.
fn flat_places(input: &Tensor, index: &Tensor, name: &str) -> Result<IndexRuns> {
    if index.dtype() != DType::Int64 {
        return Err(Error::runtime(format!(
            "{name}(): Expected a long tensor for index, but got {}",
            index.dtype().scalar_type_name()
        )));
    }
    let count = input.numel();
    if count == 0 && index.numel() > 0 {
        return Err(Error::index(format!("{name}(): tried to take from an empty tensor")));
    }
    let starts = index.copy()?;
    {
        let mut starts = starts.write::<i64>()?;
        let outside = |at: i64| at < -count || at >= count;
        if starts.iter().fold(false, |any, &at| any | outside(at))
            && let Some(at) = starts.iter().copied().find(|&at| outside(at))
        {
            return Err(Error::index(format!(
                "out of range: tried to access index {at} on a tensor of {count} elements."
            )));
        }
        starts.iter_mut().for_each(|at| *at += if *at < 0 { count } else { 0 });
    }
    Ok(IndexRuns::new(starts, 1))
}

/// `torch.take`.
///
/// # Errors
/// For indices beyond the elements, or other than `int64`.
pub fn take(input: &Tensor, index: &Tensor) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return crate::rearranged(input, |whole| take(whole, index));
    }
    let positions = flat_places(input, index, "take")?;
    positions.gather(&input.contiguous()?, index.sizes())
}

/// `torch.put`.
///
/// # Errors
/// As [`take`], and where there are not as many sources as indices.
pub fn put(input: &Tensor, index: &Tensor, source: &Tensor, accumulate: bool) -> Result<Tensor> {
    if source.dtype() != input.dtype() {
        return Err(Error::runtime(format!(
            "put_(): self and source expected to have the same dtype, but got self.dtype = {} and \
             source.dtype = {}",
            input.dtype().scalar_type_name(),
            source.dtype().scalar_type_name()
        )));
    }
    if index.numel() != source.numel() {
        return Err(Error::runtime(format!(
            "put_(): Expected source and index to have the same number of elements, but got \
             source.numel() = {}, index.numel() = {}",
            source.numel(),
            index.numel()
        )));
    }
    let positions = flat_places(input, index, "put_")?;
    let fold = if accumulate { ScatterReduce::Sum } else { ScatterReduce::Replace };
    fold_into(input, &positions, source, fold, true)
}

/// `torch.masked_select`.
///
/// # Errors
/// For masks that are not `bool`, and sizes that do not broadcast.
pub fn masked_select(input: &Tensor, mask: &Tensor) -> Result<Tensor> {
    if mask.dtype() != DType::Bool {
        return Err(Error::runtime("masked_select: expected BoolTensor for mask"));
    }
    let sizes = sconce_kernel_core::layout::shape::broadcast(input.sizes(), mask.sizes())?;
    let kept = true_positions(&mask.expand(&sizes)?)?;
    let kept = Tensor::from_slice(&kept, &[kept.len() as i64])?;
    crate::index_select(&input.expand(&sizes)?.reshape(&[-1])?, 0, &kept)
}

/// `torch.masked_scatter`: the positions of the mask filled from `source` in order.
///
/// # Errors
/// For masks that are not `bool`, dtypes that differ, and too few sources.
pub fn masked_scatter(input: &Tensor, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
    if source.dtype() != input.dtype() {
        return Err(Error::runtime(format!(
            "masked_scatter_: expected self and source to have same dtypes but got {} and {}",
            input.dtype().scalar_type_name(),
            source.dtype().scalar_type_name()
        )));
    }
    if mask.dtype() != DType::Bool {
        return Err(Error::runtime(format!(
            "masked_scatter_ only supports boolean masks, but got mask with dtype {}",
            mask.dtype().scalar_type_name()
        )));
    }
    let sizes = sconce_kernel_core::layout::shape::broadcast(input.sizes(), mask.sizes())?;
    let positions = true_positions(&mask.expand(&sizes)?)?;
    if positions.len() as i64 > source.numel() {
        return Err(Error::runtime(format!(
            "masked_scatter: expected number of elements in source ({}) to be >= number of masked \
             elements ({})",
            source.numel(),
            positions.len()
        )));
    }
    let count = positions.len() as i64;
    let source = source.reshape(&[-1])?.narrow(0, 0, count)?;
    let positions = IndexRuns::new(Tensor::from_slice(&positions, &[count])?, 1);
    fold_into(&input.expand(&sizes)?, &positions, &source, ScatterReduce::Replace, true)
}

/// `torch.take_along_dim`: along a dimension indices go round, as those of `torch.remainder`; without one, over all
/// elements of what can be seen as a vector.
///
/// # Errors
/// For indices beyond the elements or other than `int64`, indices into nothing, and sizes that do not broadcast.
pub fn take_along_dim(input: &Tensor, indices: &Tensor, dim: Option<i64>) -> Result<Tensor> {
    let Some(dim) = dim else {
        return crate::gather(&input.view(&[-1])?, 0, &indices.view(&[-1])?);
    };
    if indices.dtype() != DType::Int64 {
        return Err(Error::runtime(format!(
            "torch.take_along_dim(): dtype of indices should be Long but got {}",
            indices.dtype().scalar_type_name()
        )));
    }
    if input.dim() != indices.dim() {
        return Err(Error::runtime(format!(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, \
             but got {} dimensions for input, and {} dimensions for indices",
            input.dim(),
            indices.dim()
        )));
    }
    let dim = wrap_dim(dim, input.dim())?;
    let size = input.sizes().get(dim).copied().unwrap_or(1);
    if size == 0 && indices.numel() > 0 {
        return Err(Error::runtime("ZeroDivisionError"));
    }
    let wrapped = |index: i64| index.wrapping_rem_euclid(size.max(1));
    let indices = sconce_kernel_core::iter::map::map(indices, wrapped)?;
    if input.dim() == 0 {
        return crate::gather(input, 0, &indices);
    }
    let mut of_index = Dims::from_slice(input.sizes());
    of_index[dim] = indices.sizes()[dim];
    let of_index = sconce_kernel_core::layout::shape::broadcast(&of_index, indices.sizes())?;
    let mut of_input = of_index.clone();
    of_input[dim] = input.sizes()[dim];
    crate::gather(&input.expand(&of_input)?, dim as i64, &indices.expand(&of_index)?)
}

/// `torch.nonzero_static`: the first `size` rows of `torch.nonzero`, `fill_value` where there are
/// fewer.
///
/// # Errors
/// For negative sizes.
pub fn nonzero_static(input: &Tensor, size: i64, fill_value: i64) -> Result<Tensor> {
    if size < 0 {
        return Err(Error::runtime("nonzero_static: 'size' must be an non-negative integer"));
    }
    let found = crate::nonzero(input)?;
    let result = Tensor::full(&[size, input.dim() as i64], Scalar::Int(fill_value), DType::Int64)?;
    let rows = found.sizes()[0].min(size);
    result.narrow(0, 0, rows)?.copy_from(&found.narrow(0, 0, rows)?)?;
    Ok(result)
}

/// A copy of `input` in which `view` of it holds `source`: the `*_scatter` operators of views.
///
/// # Errors
/// Where the view fails, or sizes differ.
pub fn scatter_view(
    input: &Tensor,
    source: &Tensor,
    view: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let copy = if input.is_row_major() { input.copy()? } else { copy_of_storage(input)? };
    scatter_into(copy, source, view)
}

/// `torch.as_strided_scatter`: the view may reach what lies in the storage beside `input`, which is
/// copied as a whole.
///
/// # Errors
/// As [`scatter_view`].
pub fn as_strided_scatter(
    input: &Tensor,
    source: &Tensor,
    sizes: &[i64],
    strides: &[i64],
    offset: Option<i64>,
) -> Result<Tensor> {
    scatter_into(copy_of_storage(input)?, source, |copy| copy.as_strided(sizes, strides, offset))
}

/// A copy that lies in memory as `input` does, gaps included, unless elements of it are repeated.
fn copy_of_storage(input: &Tensor) -> Result<Tensor> {
    let mut dims = input.sizes().iter().zip(input.strides());
    let is_repeated = dims.any(|(&size, &stride)| size > 1 && stride == 0);
    if is_repeated {
        return input.copy();
    }
    let held = (input.storage().nbytes() / input.dtype().item_size()) as i64;
    let whole = input.as_strided(&[held], &[1], Some(0))?.copy()?;
    whole.as_strided(input.sizes(), input.strides(), Some(input.offset()))
}

fn scatter_into(
    result: Tensor,
    source: &Tensor,
    view: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let part = view(&result)?;
    if part.sizes() != source.sizes() {
        return Err(Error::runtime(format!(
            "expected src to have a size equal to the slice of self. src size = {:?}, slice size = \
             {:?}",
            source.sizes(),
            part.sizes()
        )));
    }
    part.expect_elements_once()?;
    part.copy_from(source)?;
    Ok(result)
}

//! Distinct elements and slices: `unique`, `unique_consecutive`, `unique_dim`.

use std::cmp::Ordering;

use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_kernel_core::tensor::wide_elements::{Real, WideElements, computed};

use crate::sorting::introsort;
use crate::sorting::sort_keys::{KeyedIndex, SortKey, WithKeys, with_keys};
use crate::{DType, Dims, Error, Memory, Result, Tensor};

/// What [`unique`] and its kin give: the elements, for every input element which of them it is, and
/// how often each stands there. The last two are empty where they were not asked for.
pub struct Unique {
    /// The elements.
    pub values: Tensor,
    /// Which of them every input element is.
    pub inverse: Tensor,
    /// How often each of them stands in the input.
    pub counts: Tensor,
}

/// Groups of equal elements: for every element its group, and the first element of each group.
struct Groups {
    inverse: Vec<i64>,
    first: Vec<usize>,
}

impl Groups {
    /// Neighbours in `order` that are the same share a group.
    fn of(order: &[usize], same: impl Fn(usize, usize) -> bool) -> Groups {
        let mut groups = Groups { inverse: vec![0; order.len()], first: Vec::new() };
        for (i, &at) in order.iter().enumerate() {
            let starts = i.checked_sub(1).is_none_or(|before| !same(order[before], at));
            if starts {
                groups.first.push(at);
            }
            groups.inverse[at] = groups.first.len() as i64 - 1;
        }
        groups
    }

    fn counts(&self) -> Vec<i64> {
        let mut counts = vec![0; self.first.len()];
        self.inverse.iter().for_each(|&group| counts[group as usize] += 1);
        counts
    }

    /// The two index tensors, as far as they are asked for.
    fn tensors(&self, sizes: &[i64], inverse: bool, counts: bool) -> Result<(Tensor, Tensor)> {
        let none = || Tensor::zeros(&[0], DType::Int64);
        let inverse = if inverse { Tensor::from_slice(&self.inverse, sizes)? } else { none()? };
        let counts = match counts {
            true => Tensor::from_slice(&self.counts(), &[self.first.len() as i64])?,
            false => none()?,
        };
        Ok((inverse, counts))
    }
}

fn expect_plain(dtype: DType) -> Result<()> {
    match dtype.is_complex() || dtype == DType::UInt64 {
        true => Err(Error::no_kernel("unique", dtype)),
        false => Ok(()),
    }
}

/// Groups of equal elements, or only the first element of each.
struct Grouped {
    wants_all: bool,
}

impl WithKeys<Result<Groups>> for Grouped {
    fn with<P: KeyedIndex>(&mut self, row: &mut [P], _: u64) -> Result<Groups> {
        row.sort_unstable();
        let runs = row.chunk_by(|a, b| a.rank() == b.rank()).count();
        let numbers = runs + if self.wants_all { row.len() } else { 0 };
        Memory::check_scratch(numbers.saturating_mul(size_of::<i64>()))?;
        let mut groups = Groups { inverse: Vec::new(), first: Vec::with_capacity(runs) };
        if self.wants_all {
            groups.inverse.resize(row.len(), 0);
        }
        for (n, run) in row.chunk_by(|a, b| a.rank() == b.rank()).enumerate() {
            groups.first.push(run[0].position());
            if self.wants_all {
                run.iter().for_each(|placed| groups.inverse[placed.position()] = n as i64);
            }
        }
        Ok(groups)
    }
}

fn sorted_groups<T: SortKey>(xs: &[T], wants_all: bool) -> Result<Groups> {
    // Ranks or an order, with what they are made of.
    Memory::check_scratch(size_of_val(xs).max(xs.len().saturating_mul(size_of::<u64>())))?;
    // Of NaN, none the equal of another, and of two zeros the order that the sort leaves shows.
    let plain = |x: &T| !x.not_a_number() && (*x != T::ZERO || !x.is_negative());
    if xs.iter().all(plain) {
        return with_keys(xs, false, Grouped { wants_all });
    }
    let mut order: Vec<usize> = (0..xs.len()).collect();
    introsort::sort(&mut order, &|a: usize, b: usize| xs[a].order(xs[b]).is_lt());
    Ok(Groups::of(&order, |a, b| xs[a] == xs[b]))
}

/// `torch.unique` of all elements, in order. NaN is no other NaN's equal.
///
/// # Errors
/// For complex numbers.
pub fn unique(input: &Tensor, inverse: bool, counts: bool) -> Result<Unique> {
    expect_plain(input.dtype())?;
    group(input, inverse, counts, true)
}

fn group(input: &Tensor, inverse: bool, counts: bool, sorted: bool) -> Result<Unique> {
    fn groups<T: SortKey>(input: &Tensor, sorted: bool, wants_all: bool) -> Result<Groups> {
        let wide = input.to_dtype(T::DTYPE)?.contiguous()?;
        let xs = wide.read::<T>()?;
        if sorted {
            return sorted_groups(&xs, wants_all);
        }
        // An order, and the group of each.
        Memory::check_scratch(xs.len().saturating_mul(2 * size_of::<u64>()))?;
        let order: Vec<usize> = (0..xs.len()).collect();
        Ok(Groups::of(&order, |a, b| xs[a] == xs[b]))
    }
    let dtype = input.dtype();
    let wants_all = inverse || counts;
    let groups = match computed(dtype)? {
        DType::Int64 => groups::<i64>(input, sorted, wants_all),
        DType::Float32 => groups::<f32>(input, sorted, wants_all),
        DType::Float64 => groups::<f64>(input, sorted, wants_all),
        _ => Err(Error::no_kernel("unique", dtype)),
    }?;
    let first: Vec<i64> = groups.first.iter().map(|&at| at as i64).collect();
    let first = Tensor::from_slice(&first, &[first.len() as i64])?;
    let values = crate::index_select(&input.reshape(&[-1])?, 0, &first)?;
    let (inverse, counts) = groups.tensors(input.sizes(), inverse, counts)?;
    Ok(Unique { values, inverse, counts })
}

/// `torch.unique_consecutive`: runs of equal elements, or slices along a dimension, as one. With a
/// dimension it gives all that [`Unique`] has.
///
/// # Errors
/// For complex numbers.
pub fn unique_consecutive(
    input: &Tensor,
    inverse: bool,
    counts: bool,
    dim: Option<i64>,
) -> Result<Unique> {
    expect_plain(input.dtype())?;
    match dim {
        Some(dim) => unique_slices(input, dim, false),
        None => group(input, inverse, counts, false),
    }
}

/// `torch.unique` of the slices along a dimension, in lexicographic order, NaN neither before nor after
/// anything. It gives all that [`Unique`] has.
///
/// # Errors
/// For complex numbers, and where there is no such dimension.
pub fn unique_dim(input: &Tensor, dim: i64) -> Result<Unique> {
    expect_plain(input.dtype())?;
    unique_slices(input, dim, true)
}

fn unique_slices(input: &Tensor, dim: i64, sorted: bool) -> Result<Unique> {
    if input.dim() == 0 {
        let message = format!("Dimension specified as {dim} but tensor has no dimensions");
        return Err(Error::index(message));
    }
    let dim = wrap_dim(dim, input.dim())?;
    let count = input.sizes()[dim];
    if input.numel() == 0 {
        if count == 0 && input.sizes().iter().filter(|&&size| size == 0).count() == 1 {
            let none = || Tensor::zeros(&[0], DType::Int64);
            return Ok(Unique { values: input.copy()?, inverse: none()?, counts: none()? });
        }
        return Err(Error::runtime(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied",
        ));
    }
    let slices = input.movedim(&[dim as i64], &[0])?;
    let len = (slices.numel() / count) as usize;
    fn groups<T: Real>(xs: &[T], len: usize, count: usize, sorted: bool) -> Groups {
        let slice = |i: usize| &xs[i * len..(i + 1) * len];
        let mut order: Vec<usize> = (0..count).collect();
        if sorted {
            introsort::sort(&mut order, &|a: usize, b: usize| {
                let pairs = slice(a).iter().zip(slice(b));
                let mut orders = pairs.filter_map(|(x, y)| x.partial_cmp(y));
                orders.find(|order| order.is_ne()) == Some(Ordering::Less)
            });
        }
        Groups::of(&order, |a, b| slice(a) == slice(b))
    }
    let groups = match &WideElements::of(&slices)? {
        WideElements::Int(xs) => groups(xs, len, count as usize, sorted),
        WideElements::Float(xs) => groups(xs, len, count as usize, sorted),
        WideElements::Complex(_) => return Err(Error::no_kernel("unique", input.dtype())),
    };
    let first: Vec<i64> = groups.first.iter().map(|&at| at as i64).collect();
    let first = Tensor::from_slice(&first, &[first.len() as i64])?;
    // Slice after slice in memory, whatever the dimension is, as in PyTorch.
    let values = crate::index_select(&slices, 0, &first)?.movedim(&[0], &[dim as i64])?;
    let sizes: Dims = [count].into_iter().collect();
    let (inverse, counts) = groups.tensors(&sizes, true, true)?;
    Ok(Unique { values, inverse, counts })
}

//! `embedding_bag`, and the renormalisation of embedding rows.

use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::promotion::compute_dtype;
use sconce_kernel_core::tensor::wide_elements::Real;

use crate::{DType, Error, Result, Tensor, promote_types};

/// What a bag's rows become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BagMode {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The greatest number in each column.
    Max,
}

/// How [`embedding_bag`] reads its bags.
#[derive(Debug, Clone, Copy)]
pub struct BagOptions<'a> {
    /// What a bag's rows become.
    pub mode: BagMode,
    /// A factor for each index.
    pub weights: Option<&'a Tensor>,
    /// Whether the last offset is the end of the last bag.
    pub include_last_offset: bool,
    /// An index that counts for nothing.
    pub padding: Option<i64>,
}

/// What [`embedding_bag`] gives.
#[derive(Debug)]
pub struct Bags {
    /// A row for each bag.
    pub output: Tensor,
    /// The bag of each index.
    pub bag_of_index: Tensor,
    /// How many indices each bag counts.
    pub bag_size: Tensor,
    /// For [`BagMode::Max`], the index that each number comes from.
    pub max_indices: Tensor,
}

/// `torch.embedding_bag`: `indices` and `offsets` are vectors.
///
/// # Errors
/// For indices that are not rows of `weight`, and offsets that do not rise from 0.
pub fn embedding_bag(
    weight: &Tensor,
    indices: &Tensor,
    offsets: &Tensor,
    options: &BagOptions<'_>,
) -> Result<Bags> {
    if weight.dim() != 2 || indices.dim() != 1 || offsets.dim() != 1 {
        let message = "embedding_bag: input and offsets have to be 1D and weight 2D Tensors";
        return Err(Error::runtime(message));
    }
    if options.weights.is_some() && options.mode != BagMode::Sum {
        return Err(Error::runtime(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported \
             for mode='sum'",
        ));
    }
    let whole = |dtype: DType| matches!(dtype, DType::Int32 | DType::Int64);
    if !whole(indices.dtype()) || !whole(offsets.dtype()) || !weight.dtype().is_floating_point() {
        return Err(Error::not_implemented("embedding_bag of these dtypes"));
    }
    let ints = |tensor: &Tensor| tensor.to_dtype(DType::Int64)?.to_vec::<i64>();
    let (rows, columns) = (weight.size(0)?, weight.size(1)? as usize);
    let picked = ints(indices)?;
    let bounds = bag_bounds(&ints(offsets)?, picked.len(), options.include_last_offset)?;
    let padding = options.padding.map(|index| if index < 0 { index + rows } else { index });
    if padding.is_some_and(|index| !(0..rows).contains(&index)) {
        return Err(Error::runtime(format!(
            "padding_idx must be within the number of embeddings, -{rows} through {}, but got {}",
            rows - 1,
            options.padding.unwrap_or(0)
        )));
    }
    if let Some(index) = picked.iter().find(|index| !(0..rows).contains(*index)) {
        return Err(Error::runtime(format!(
            "Expected idx >= 0 && idx < num_embeddings to be true, but got false. (index {index} \
             of {rows} rows)"
        )));
    }
    let factors = match options.weights {
        Some(factors) if factors.sizes() != indices.sizes() => {
            return Err(Error::runtime(
                "expected per_sample_weights to have the same shape as indices",
            ));
        }
        Some(factors) => Some(factors.clone()),
        None => None,
    };
    let count = bounds.len() - 1;
    let sums =
        BagReduction { indices: &picked, bounds: &bounds, padding, mode: options.mode, columns };
    let sizes = [count as i64, columns as i64];
    let (output, told) = match weight.dtype() {
        DType::Float32 => sums.run::<f32>(weight, factors.as_ref(), &sizes)?,
        _ => {
            let table = weight.to_dtype(compute_dtype(weight.dtype()))?;
            sums.run::<f64>(&table, factors.as_ref(), &sizes)?
        }
    };
    let BagMetadata { bag_of_index, bag_size, max_indices } = told;
    let dtype = promote_types(indices.dtype(), offsets.dtype())?;
    let ints = |values: &[i64], sizes: &[i64]| Tensor::from_slice(values, sizes)?.to_dtype(dtype);
    let output = output.to_dtype(weight.dtype())?;
    // Sums say nothing of their bags, and not even where indices belong unless they had to look.
    let looked = weight.dtype() == DType::Float64 || padding.is_some();
    let unsaid = vec![0; offsets.count()];
    let (known, bag_size, max_indices) = match options.mode {
        BagMode::Sum => (looked, ints(&unsaid, offsets.sizes())?, ints(&unsaid, offsets.sizes())?),
        BagMode::Mean => {
            let bag_size = ints(&bag_size, &[count as i64])?;
            (true, bag_size.clone(), bag_size)
        }
        BagMode::Max => (true, ints(&bag_size, &[count as i64])?, ints(&max_indices, &sizes)?),
    };
    let known = if known { bag_of_index.as_slice() } else { &[] };
    Ok(Bags { output, bag_of_index: ints(known, &[known.len() as i64])?, bag_size, max_indices })
}

/// Which rows of a table make which bags.
struct BagReduction<'a> {
    indices: &'a [i64],
    bounds: &'a [usize],
    padding: Option<i64>,
    mode: BagMode,
    columns: usize,
}

/// What is known of the bags beside their rows.
struct BagMetadata {
    bag_of_index: Vec<i64>,
    bag_size: Vec<i64>,
    max_indices: Vec<i64>,
}

impl BagReduction<'_> {
    /// The bags, computed in the dtype of `T`.
    fn run<T: Real>(
        &self,
        table: &Tensor,
        factors: Option<&Tensor>,
        sizes: &[i64],
    ) -> Result<(Tensor, BagMetadata)> {
        let table = table.to_dtype(T::DTYPE)?.contiguous()?;
        let table = table.read::<T>()?;
        let factors = match factors {
            Some(factors) => Some(factors.to_dtype(T::DTYPE)?.to_vec::<T>()?),
            None => None,
        };
        let output = Tensor::zeros(sizes, T::DTYPE)?;
        let indices_of = if self.mode == BagMode::Max { output.count() } else { 0 };
        let mut told = BagMetadata {
            bag_of_index: vec![0; self.indices.len()],
            bag_size: vec![0; self.bounds.len() - 1],
            max_indices: vec![0; indices_of],
        };
        {
            let mut output = output.write::<T>()?;
            dispatch(
                #[inline(always)]
                || self.fill(&table, factors.as_deref(), &mut output, &mut told),
            );
        }
        Ok((output, told))
    }

    #[inline(always)]
    fn fill<T: Real>(
        &self,
        table: &[T],
        factors: Option<&[T]>,
        output: &mut [T],
        told: &mut BagMetadata,
    ) {
        let columns = self.columns;
        for (bag, bound) in self.bounds.windows(2).enumerate() {
            let row = &mut output[bag * columns..(bag + 1) * columns];
            let mut size = 0;
            for at in bound[0]..bound[1] {
                told.bag_of_index[at] = bag as i64;
                let index = self.indices[at];
                if Some(index) == self.padding {
                    continue;
                }
                let from = &table[index as usize * columns..(index as usize + 1) * columns];
                match (self.mode, factors) {
                    (BagMode::Max, _) => {
                        let best = &mut told.max_indices[bag * columns..(bag + 1) * columns];
                        for ((most, best), &x) in row.iter_mut().zip(best).zip(from) {
                            if size == 0 || x > *most {
                                (*most, *best) = (x, index);
                            }
                        }
                    }
                    (_, Some(factors)) => {
                        let factor = factors[at];
                        row.iter_mut().zip(from).for_each(|(sum, &x)| {
                            *sum = sum.plus(x.times(factor));
                        });
                    }
                    _ => row.iter_mut().zip(from).for_each(|(sum, &x)| *sum = sum.plus(x)),
                }
                size += 1;
            }
            told.bag_size[bag] = size;
            if self.mode == BagMode::Mean && size > 0 {
                row.iter_mut().for_each(|x| *x = x.over(size));
            }
        }
    }
}

/// Where each bag starts, and the end of the last one.
fn bag_bounds(offsets: &[i64], indices: usize, include_last: bool) -> Result<Vec<usize>> {
    if offsets.first().is_some_and(|&first| first != 0) {
        return Err(Error::runtime(format!(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from \
             position 0. However, got {}",
            offsets[0]
        )));
    }
    if include_last && offsets.is_empty() {
        let message = "include_last_offset: number of offset should be at least 1";
        return Err(Error::runtime(message));
    }
    let mut bounds: Vec<usize> = Vec::with_capacity(offsets.len() + 1);
    for &offset in offsets {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        if offset > indices || bounds.last().is_some_and(|&last| offset < last) {
            return Err(Error::runtime(format!(
                "offsets[-1] can not be greater than input's length({indices}), and offsets have to \
                 rise, but got offset {offset}"
            )));
        }
        bounds.push(offset);
    }
    if !include_last {
        bounds.push(indices);
    } else if bounds.last() != Some(&indices) {
        let message = "embedding_bag with a last offset that is not the number of indices";
        return Err(Error::not_implemented(message));
    }
    Ok(bounds)
}

/// `torch.embedding_renorm_`: scales the rows that are looked up and longer than `max_norm`.
///
/// # Errors
/// For indices that are not rows.
pub fn embedding_renorm(
    weight: &Tensor,
    indices: &Tensor,
    max_norm: f64,
    norm_type: f64,
) -> Result<()> {
    if weight.dim() != 2 {
        return Err(Error::runtime(format!(
            "Expected 2-dimensional tensor, but got {}-dimensional tensor for argument #1 'self' (while \
             checking arguments for embedding_renorm_)",
            weight.dim()
        )));
    }
    if !matches!(indices.dtype(), DType::Int32 | DType::Int64) {
        return Err(Error::runtime(format!(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, \
             Int; but got torch.{}Tensor instead (while checking arguments for embedding_renorm_)",
            indices.dtype().scalar_type_name()
        )));
    }
    let mut picked = indices.to_dtype(DType::Int64)?.to_vec::<i64>()?;
    picked.sort_unstable();
    picked.dedup();
    for index in picked {
        let row = weight.select(0, index)?;
        let norm = crate::norm(&row, norm_type, &[], false)?.item()?.to_f64();
        if norm > max_norm {
            row.expect_elements_once()?;
            let scale = max_norm / (norm + 1e-7);
            crate::binary_in_place(crate::BinaryOp::Mul, &row, scale.into())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bags_are_summed_averaged_and_maximised() {
        let numbers: Vec<f32> = (0..15).map(|i| i as f32).collect();
        let weight = Tensor::from_slice(&numbers, &[5, 3]).unwrap();
        let indices = Tensor::from_slice(&[1i64, 2, 4], &[3]).unwrap();
        let offsets = Tensor::from_slice(&[0i64, 2], &[2]).unwrap();
        for (mode, expected) in [
            (BagMode::Sum, [9.0, 11.0, 13.0, 12.0, 13.0, 14.0]),
            (BagMode::Mean, [4.5, 5.5, 6.5, 12.0, 13.0, 14.0]),
            (BagMode::Max, [6.0, 7.0, 8.0, 12.0, 13.0, 14.0]),
        ] {
            let options =
                BagOptions { mode, weights: None, include_last_offset: false, padding: None };
            let bags = embedding_bag(&weight, &indices, &offsets, &options).unwrap();
            assert_eq!(bags.output.to_vec::<f32>().unwrap(), expected);
        }
    }

    #[test]
    fn offsets_and_indices_have_to_fit() {
        let weight = Tensor::zeros(&[5, 3], DType::Float32).unwrap();
        let ints = |numbers: &[i64]| Tensor::from_slice(numbers, &[numbers.len() as i64]).unwrap();
        let options = BagOptions {
            mode: BagMode::Sum,
            weights: None,
            include_last_offset: false,
            padding: None,
        };
        for (indices, offsets) in [
            (&[5i64][..], &[0i64][..]),
            (&[-1], &[0]),
            (&[1], &[1]),
            (&[1, 2], &[0, 3]),
            (&[1, 2], &[0, 2, 1]),
        ] {
            let found = embedding_bag(&weight, &ints(indices), &ints(offsets), &options);
            assert!(found.is_err(), "{indices:?} {offsets:?}");
        }
    }

    #[test]
    fn only_long_rows_that_are_looked_up_are_scaled() {
        let weight = Tensor::from_slice(&[3f32, 4.0, 0.3, 0.4, 6.0, 8.0], &[3, 2]).unwrap();
        let indices = Tensor::from_slice(&[0i64, 1, 0], &[3]).unwrap();
        embedding_renorm(&weight, &indices, 1.0, 2.0).unwrap();
        let found = weight.to_vec::<f32>().unwrap();
        let expected = [0.6, 0.8, 0.3, 0.4, 6.0, 8.0];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    }
}

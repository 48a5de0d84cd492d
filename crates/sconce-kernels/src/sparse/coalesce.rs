//! Entries in order, each place once.

use sconce_kernel_core::Memory;

use crate::indexing::scatter::{ScatterReduce, index_reduce};
use crate::sparse::indices::{of_places, places, read, vector};
use crate::sparse::{Sparse, SparseParts};
use crate::{DType, Error, Result, Tensor};

/// Equal places as one.
pub(super) struct Groups {
    /// The places, in order.
    pub(super) places: Vec<i64>,
    /// For each entry the group that it is in.
    pub(super) of_entry: Vec<i64>,
}

/// Puts entries of one place into one group.
pub(super) fn groups(places: &[i64]) -> Result<Groups> {
    Memory::check_scratch(places.len().saturating_mul(3 * size_of::<i64>()))?;
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&entry| places.get(entry));
    let (mut distinct, mut of_entry) = (Vec::new(), vec![0i64; places.len()]);
    for entry in order {
        let place = places.get(entry).copied().unwrap_or(0);
        if distinct.last() != Some(&place) {
            distinct.push(place);
        }
        if let Some(group) = of_entry.get_mut(entry) {
            *group = distinct.len() as i64 - 1;
        }
    }
    Ok(Groups { places: distinct, of_entry })
}

/// Adds rows of `values` up, each into the row of `count` that it is told.
pub(super) fn add_rows(count: i64, rows: &[i64], values: &Tensor) -> Result<Tensor> {
    fold_rows(count, rows, values, ScatterReduce::Sum)
}

/// The same by another operation than the sum. Rows that nothing goes into are 0.
pub(super) fn fold_rows(
    count: i64,
    rows: &[i64],
    values: &Tensor,
    fold: ScatterReduce,
) -> Result<Tensor> {
    if values.dtype() == DType::Bool {
        let sum = fold_rows(count, rows, &values.to_dtype(DType::Int64)?, fold)?;
        return sum.to_dtype(DType::Bool);
    }
    let mut sizes = values.sizes().to_vec();
    *sizes.first_mut().ok_or_else(|| Error::runtime("values without a dimension of entries"))? =
        count;
    let zeros = Tensor::zeros(&sizes, values.dtype())?;
    if values.numel() == 0 {
        return Ok(zeros);
    }
    let keeps_zero = fold == ScatterReduce::Sum;
    index_reduce("index_reduce", &zeros, 0, &vector(rows)?, values, fold, keeps_zero)
}

impl Sparse {
    /// `torch.Tensor.coalesce`: entries in order, those of one place added up.
    ///
    /// # Errors
    /// For other layouts than coordinates.
    pub fn coalesce(&self) -> Result<Sparse> {
        let SparseParts::Coordinates { indices, values, is_coalesced } = &self.parts else {
            return Err(Error::runtime(format!(
                "coalesce expected sparse coordinate tensor layout but got {}",
                super::layout_name(self.layout())
            )));
        };
        if *is_coalesced {
            return Ok(self.clone());
        }
        if self.nnz() < 2 {
            return Ok(self.with_coalesced(true));
        }
        let sparse = self.sizes.get(..self.sparse_dim()).unwrap_or_default();
        let groups = groups(&places(&read(indices)?, sparse, self.nnz() as usize)?)?;
        let values = add_rows(groups.places.len() as i64, &groups.of_entry, values)?;
        Ok(Sparse::made(&self.sizes, of_places(&groups.places, sparse)?, values, true))
    }

    /// `torch.Tensor.to_dense`: what it stands for, entries of one place added up.
    ///
    /// # Errors
    /// Where memory is short.
    pub fn to_dense(&self) -> Result<Tensor> {
        let coo = self.to_coo()?;
        let SparseParts::Coordinates { indices, values, .. } = &coo.parts else {
            return Err(Error::runtime("a compressed layout among coordinates"));
        };
        let sparse = coo.sizes.get(..coo.sparse_dim()).unwrap_or_default();
        let mut count = 1i64;
        for &size in sparse {
            count = count
                .checked_mul(size)
                .ok_or_else(|| Error::runtime("numel: integer multiplication overflow"))?;
        }
        let places = places(&read(indices)?, sparse, coo.nnz() as usize)?;
        add_rows(count, &places, values)?.view(&coo.sizes)
    }
}

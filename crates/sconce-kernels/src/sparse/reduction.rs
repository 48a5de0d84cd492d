//! Sums over dimensions of sparse tensors.

use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_tensor::Layout;

use crate::indexing::scatter::ScatterReduce;
use crate::sparse::coalesce::{fold_rows, groups};
use crate::sparse::indices::{of_places, read};
use crate::sparse::{DenseOrSparse, Sparse, SparseParts};
use crate::{DType, Error, Result, Tensor};

/// The sum of a tensor in coordinates over some dimensions; without dimensions over all. Its dtype is that of the values
/// where none is given.
///
/// # Errors
/// For dimensions that there are none of or that are named twice.
pub fn sum_sparse(
    input: &Sparse,
    dims: &[i64],
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<DenseOrSparse> {
    let SparseParts::Coordinates { indices, values, .. } = &input.parts else {
        return Err(Error::not_implemented("this sum over a compressed sparse tensor"));
    };
    let mut gone = vec![dims.is_empty(); input.dim()];
    for &dim in dims {
        if let Some(gone) = gone.get_mut(wrap_dim(dim, input.dim())?)
            && std::mem::replace(gone, true)
        {
            return Err(Error::runtime(format!(
                "dim {dim} appears multiple times in the list of dims"
            )));
        }
    }
    let sparse = input.sparse_dim();
    let of_values: Vec<i64> = (sparse..input.dim())
        .filter(|&dim| gone[dim])
        .map(|dim| (dim - sparse + 1) as i64)
        .collect();
    let kept: Vec<i64> = (0..sparse).filter(|&dim| !gone[dim]).map(|dim| dim as i64).collect();
    let mut summed = match dtype {
        Some(dtype) => values.to_dtype(dtype)?,
        None => values.clone(),
    };
    if !of_values.is_empty() {
        summed = crate::sum(&summed, &of_values, false, Some(summed.dtype()))?;
    }
    let sizes: Vec<i64> =
        (0..input.dim()).filter(|&dim| !gone[dim]).map(|dim| input.sizes[dim]).collect();
    let dims = (0..input.dim()).filter(|&dim| keepdim && gone[dim]);
    if kept.is_empty() {
        let mut total = crate::sum(&summed, &[0], false, Some(summed.dtype()))?.view(&sizes)?;
        for dim in dims {
            total = total.unsqueeze(dim as i64)?;
        }
        return Ok(DenseOrSparse::Dense(total));
    }
    let rows: Vec<Tensor> =
        kept.iter().map(|&dim| indices.select(0, dim)).collect::<Result<_>>()?;
    let is_coalesced = kept.len() == sparse && input.is_coalesced();
    let mut left =
        Sparse::made(&sizes, crate::stack(&rows, 0)?, summed, is_coalesced).coalesce()?;
    for dim in dims {
        left = left.unsqueeze(dim as i64)?;
    }
    Ok(DenseOrSparse::Sparse(left))
}

/// A sum or product over rows, columns or both of a CSR matrix, with both dimensions kept.
///
/// # Errors
/// For other layouts, and where dimensions are not kept.
pub fn reduce_compressed(
    input: &Sparse,
    dims: &[i64],
    keepdim: bool,
    dtype: Option<DType>,
    fold: ScatterReduce,
) -> Result<Sparse> {
    let (&[rows, columns], Layout::SparseCsr) = (input.sizes.as_slice(), input.layout()) else {
        return Err(Error::runtime(format!(
            "reduction operations on tensors of layout {} and {} dimensions are not supported",
            input.layout(),
            input.dim()
        )));
    };
    if !keepdim {
        return Err(Error::runtime(
            "reduction operations on CSR tensors with keepdim=False is unsupported",
        ));
    }
    let coo = input.to_coo()?;
    let SparseParts::Coordinates { indices, values, .. } = &coo.parts else {
        return Err(Error::runtime("a compressed layout among coordinates"));
    };
    let mut sizes = [rows, columns];
    for &dim in dims {
        sizes[wrap_dim(dim, 2)?] = 1;
    }
    if dims.is_empty() {
        sizes = [1, 1];
    }
    let all = read(indices)?;
    let (of_row, of_column) = all.split_at(all.len() / 2);
    let place = |(&row, &column): (&i64, &i64)| {
        let (row, column) = (row.min(sizes[0] - 1), column.min(sizes[1] - 1));
        row * sizes[1] + column
    };
    let places: Vec<i64> = of_row.iter().zip(of_column).map(place).collect();
    let groups = groups(&places)?;
    let values = match dtype {
        Some(dtype) => values.to_dtype(dtype)?,
        None => values.clone(),
    };
    let values = fold_rows(groups.places.len() as i64, &groups.of_entry, &values, fold)?;
    let reduced = Sparse::made(&sizes, of_places(&groups.places, &sizes)?, values, true);
    reduced.compress(Layout::SparseCsr, (1, 1))
}

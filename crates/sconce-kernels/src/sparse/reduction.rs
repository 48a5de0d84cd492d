//! Sums over dimensions of sparse tensors.

use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_tensor::Layout;

use crate::indexing::scatter::ScatterReduce;
use crate::sparse::coalesce::{fold_rows, groups};
use crate::sparse::indices::{of_places, read};
use crate::sparse::{DenseOrSparse, Sparse, SparseParts};
use crate::{DType, Error, Result, Tensor};

/// `torch.sparse.sum` of a tensor in coordinates. Without dimensions it sums all.
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
        if let Some(gone) = gone.get_mut(wrap_dim(dim, input.dim())?) {
            if std::mem::replace(gone, true) {
                return Err(Error::runtime(format!(
                    "dim {dim} appears multiple times in the list of dims"
                )));
            }
        }
    }
    let sparse = input.sparse_dim();
    let of_values: Vec<i64> = (sparse..input.dim())
        .filter(|&dim| gone[dim])
        .map(|dim| (dim - sparse + 1) as i64)
        .collect();
    let kept: Vec<i64> = (0..sparse).filter(|&dim| !gone[dim]).map(|dim| dim as i64).collect();
    let dtype = dtype.or_else(|| {
        let is_whole = values.dtype().is_integral() || values.dtype() == DType::Bool;
        is_whole.then_some(DType::Int64)
    });
    let mut summed = match dtype {
        Some(dtype) => values.to_dtype(dtype)?,
        None => values.clone(),
    };
    if !of_values.is_empty() {
        summed = crate::sum(&summed, &of_values, keepdim, dtype)?;
    }
    let sizes: Vec<i64> = (0..input.dim())
        .filter(|&dim| keepdim || !gone[dim])
        .map(|dim| if gone[dim] { 1 } else { input.sizes[dim] })
        .collect();
    if kept.is_empty() {
        let total = crate::sum(&summed, &[0], false, dtype)?;
        return Ok(DenseOrSparse::Dense(total.view(&sizes)?));
    }
    let all_kept = kept.len() == sparse;
    let mut rows = Vec::new();
    for dim in 0..sparse as i64 {
        match (kept.contains(&dim), keepdim) {
            (true, _) => rows.push(indices.select(0, dim)?),
            (false, true) => rows.push(Tensor::zeros(&[input.nnz()], DType::Int64)?),
            (false, false) => {}
        }
    }
    let left = Sparse::made(&sizes, crate::stack(&rows, 0)?, summed, false);
    // What is kept by name stays as it is, what falls together is added up.
    Ok(DenseOrSparse::Sparse(match (all_kept, keepdim) {
        (true, _) => left.with_coalesced(input.is_coalesced() && !keepdim),
        (false, true) => left.coalesce()?.with_coalesced(false),
        (false, false) => left.coalesce()?,
    }))
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

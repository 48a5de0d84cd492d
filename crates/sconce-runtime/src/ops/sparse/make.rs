//! Sparse tensors made of indices and values.

use sconce_kernels::{
    DType, Sparse, Tensor, compressed_from_coordinates, coordinates_from_compressed,
};
use sconce_tensor::Layout;

use super::access::{replace, said_to_be_coalesced};
use super::{Result, made, result};
use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made as dense;
use crate::value::IValue;

pub(crate) const TABLE: Table = &[
    op("aten::sparse_coo_tensor", "size", |_, args| {
        let sizes = args.ints(0)?;
        args.on_cpu(3)?;
        let dtype = args.dtype(1)?.unwrap_or(DType::Float32);
        result(Sparse::empty_coo(&sizes, sizes.len(), dtype))
    }),
    op("aten::sparse_coo_tensor", "indices", |_, args| coo(&args, None, 2)),
    op("aten::sparse_coo_tensor", "indices_size", |_, args| coo(&args, Some(args.ints(2)?), 3)),
    op("aten::_sparse_coo_tensor_unsafe", "-", |_, args| coo(&args, Some(args.ints(2)?), 3)),
    op("aten::_sparse_coo_tensor_with_dims", "-", |_, args| {
        args.on_cpu(5)?;
        let dtype = args.dtype(3)?.unwrap_or(DType::Float32);
        let (sizes, dim) = (args.ints(2)?, args.int(0)?);
        let dim =
            usize::try_from(dim).map_err(|_| Raise::message("sparse_dim must not be negative"))?;
        result(Sparse::empty_coo(&sizes, dim, dtype))
    }),
    op("aten::_sparse_coo_tensor_with_dims_and_tensors", "-", |_, args| {
        let (indices, values) = (args.tensor(3)?, args.tensor(4)?);
        of_coordinates(&args, indices, values, Some(args.ints(2)?), 5)
    }),
    op("aten::sparse_csr_tensor", "crow_col_value", |_, args| {
        compressed(&args, Some(Layout::SparseCsr), None, 3)
    }),
    op("aten::sparse_csr_tensor", "crow_col_value_size", |_, args| {
        compressed(&args, Some(Layout::SparseCsr), Some(args.ints(3)?), 4)
    }),
    op("aten::_sparse_csr_tensor_unsafe", "-", |_, args| {
        compressed(&args, Some(Layout::SparseCsr), Some(args.ints(3)?), 4)
    }),
    op("aten::sparse_csc_tensor", "ccol_row_value", |_, args| {
        compressed(&args, Some(Layout::SparseCsc), None, 3)
    }),
    op("aten::sparse_csc_tensor", "ccol_row_value_size", |_, args| {
        compressed(&args, Some(Layout::SparseCsc), Some(args.ints(3)?), 4)
    }),
    op("aten::_sparse_csc_tensor_unsafe", "-", |_, args| {
        compressed(&args, Some(Layout::SparseCsc), Some(args.ints(3)?), 4)
    }),
    op("aten::sparse_bsr_tensor", "crow_col_value", |_, args| {
        compressed(&args, Some(Layout::SparseBsr), None, 3)
    }),
    op("aten::sparse_bsr_tensor", "crow_col_value_size", |_, args| {
        compressed(&args, Some(Layout::SparseBsr), Some(args.ints(3)?), 4)
    }),
    op("aten::_sparse_bsr_tensor_unsafe", "-", |_, args| {
        compressed(&args, Some(Layout::SparseBsr), Some(args.ints(3)?), 4)
    }),
    op("aten::sparse_bsc_tensor", "ccol_row_value", |_, args| {
        compressed(&args, Some(Layout::SparseBsc), None, 3)
    }),
    op("aten::sparse_bsc_tensor", "ccol_row_value_size", |_, args| {
        compressed(&args, Some(Layout::SparseBsc), Some(args.ints(3)?), 4)
    }),
    op("aten::_sparse_bsc_tensor_unsafe", "-", |_, args| {
        compressed(&args, Some(Layout::SparseBsc), Some(args.ints(3)?), 4)
    }),
    op("aten::sparse_compressed_tensor", "comp_plain_value", |_, args| {
        compressed(&args, None, None, 3)
    }),
    op("aten::sparse_compressed_tensor", "comp_plain_value_size", |_, args| {
        compressed(&args, None, Some(args.ints(3)?), 4)
    }),
    op("aten::_sparse_compressed_tensor_unsafe", "-", |_, args| {
        compressed(&args, None, Some(args.ints(3)?), 4)
    }),
    op("aten::_validate_sparse_coo_tensor_args", "-", |_, args| {
        let is_coalesced = args.bool(3).unwrap_or(false);
        let (indices, values) = (args.tensor(0)?.clone(), args.tensor(1)?.clone());
        Sparse::coo(indices, values, &args.ints(2)?, is_coalesced).map_err(kernel)?;
        Ok(IValue::None)
    }),
    op("aten::_validate_sparse_compressed_tensor_args", "-", |_, args| {
        validate(&args, Layout::from_number(args.int(4)?))
    }),
    op("aten::_validate_sparse_csr_tensor_args", "-", |_, args| {
        validate(&args, Some(Layout::SparseCsr))
    }),
    op("aten::_validate_sparse_csc_tensor_args", "-", |_, args| {
        validate(&args, Some(Layout::SparseCsc))
    }),
    op("aten::_validate_sparse_bsr_tensor_args", "-", |_, args| {
        validate(&args, Some(Layout::SparseBsr))
    }),
    op("aten::_validate_sparse_bsc_tensor_args", "-", |_, args| {
        validate(&args, Some(Layout::SparseBsc))
    }),
    op("aten::_convert_indices_from_coo_to_csr", "-", |_, args| {
        dense(compressed_from_coordinates(args.tensor(0)?, args.int(1)?, args.bool(2)?))
    }),
    op("aten::_convert_indices_from_csr_to_coo", "-", |_, args| {
        let (compressed, plain) = (args.tensor(0)?, args.tensor(1)?);
        dense(coordinates_from_compressed(compressed, plain, args.bool(2)?, args.bool(3)?))
    }),
    op("aten::_coalesced", "-", |_, args| said_to_be_coalesced(&args).map(made)),
    op("aten::_coalesced_", "-", |_, args| {
        let said = said_to_be_coalesced(&args)?;
        replace(args.get(0), said)
    }),
    op("aten::sparse_resize_", "-", |_, args| {
        let dims = usize::try_from(args.int(2)?).unwrap_or(usize::MAX);
        let resized =
            args.coordinates(0, "sparse_resize_")?.resize(&args.ints(1)?, dims).map_err(kernel)?;
        replace(args.get(0), resized)
    }),
    op("aten::sparse_resize_and_clear_", "-", |_, args| {
        let dims = usize::try_from(args.int(2)?).unwrap_or(usize::MAX);
        let dtype = args.coordinates(0, "sparse_resize_and_clear_")?.dtype();
        let empty = Sparse::empty_coo(&args.ints(1)?, dims, dtype).map_err(kernel)?;
        replace(args.get(0), empty)
    }),
    op("aten::copy_sparse_to_sparse_", "-", |_, args| {
        let dtype = args.coordinates(0, "copy_sparse_to_sparse_")?.dtype();
        let source = args.coordinates(1, "copy_sparse_to_sparse_")?.to_dtype(dtype);
        let source = source.and_then(|source| source.copy()).map_err(kernel)?;
        replace(args.get(0), source)
    }),
];

/// A tensor of the indices and values that come first; `options` is where the dtype stands.
fn coo(args: &Args<'_>, sizes: Option<Vec<i64>>, options: usize) -> Result {
    of_coordinates(args, args.tensor(0)?, args.tensor(1)?, sizes, options)
}

fn of_coordinates(
    args: &Args<'_>,
    indices: &Tensor,
    values: &Tensor,
    sizes: Option<Vec<i64>>,
    options: usize,
) -> Result {
    args.on_cpu(options + 2)?;
    let is_coalesced = matches!(args.get(options + 4), IValue::Bool(true));
    // The dtype counts only where there are no values, as in PyTorch.
    let values = values.clone();
    // A single value stands for a tensor of one.
    let values = if values.dim() == 0 { values.reshape(&[1]).map_err(kernel)? } else { values };
    let sizes = match sizes {
        Some(sizes) => sizes,
        None => inferred(indices, &values)?,
    };
    result(Sparse::coo(indices.clone(), values, &sizes, is_coalesced))
}

/// The smallest sizes that hold all indices.
fn inferred(indices: &Tensor, values: &Tensor) -> Result<Vec<i64>> {
    if indices.dim() != 2 {
        return Err(Raise::message(format!(
            "indices must be sparse_dim x nnz, but got: {:?}",
            indices.sizes()
        )));
    }
    if indices.dtype() != DType::Int64 {
        let found = indices.dtype().scalar_type_name();
        return Err(Raise::message(format!("expected scalar type Long but found {found}")));
    }
    let all = indices.contiguous().and_then(|all| all.to_vec::<i64>()).map_err(kernel)?;
    let entries = indices.size(1).map_err(kernel)?.max(1) as usize;
    let mut sizes = Vec::new();
    for dim in 0..indices.size(0).map_err(kernel)? as usize {
        let row = all.get(dim * entries..(dim + 1) * entries).unwrap_or_default();
        if let Some(low) = row.iter().min().filter(|&&low| low < 0) {
            return Err(Raise::message(format!("found negative index {low} for dim {dim}")));
        }
        sizes.push(row.iter().max().map_or(0, |high| high.saturating_add(1)));
    }
    sizes.extend(values.sizes().get(1..).unwrap_or_default());
    Ok(sizes)
}

fn compressed(
    args: &Args<'_>,
    layout: Option<Layout>,
    sizes: Option<Vec<i64>>,
    options: usize,
) -> Result {
    args.on_cpu(options + 2)?;
    let layout = match (layout, args.optional_int(options + 1)?) {
        (Some(layout), _) => layout,
        (None, Some(number)) => Layout::from_number(number)
            .filter(|layout| layout.is_sparse_compressed())
            .ok_or_else(|| Raise::message("expected sparse compressed tensor layout"))?,
        (None, None) => {
            return Err(Raise::message("expected layout to be specified but got none"));
        }
    };
    let (begins, plain) = (args.tensor(0)?.clone(), args.tensor(1)?.clone());
    let values = match args.dtype(options)? {
        Some(dtype) => args.tensor(2)?.to_dtype(dtype).map_err(kernel)?,
        None => args.tensor(2)?.clone(),
    };
    let sizes = match sizes {
        Some(sizes) => sizes,
        None => inferred_compressed(layout, &begins, &plain, &values)?,
    };
    result(Sparse::compressed(layout, begins, plain, values, &sizes))
}

fn inferred_compressed(
    layout: Layout,
    begins: &Tensor,
    plain: &Tensor,
    values: &Tensor,
) -> Result<Vec<i64>> {
    let batch = begins.dim().saturating_sub(1);
    let mut sizes = begins.sizes().get(..batch).unwrap_or_default().to_vec();
    let lines = begins.size(-1).map_err(kernel)? - 1;
    let all = plain.to_dtype(DType::Int64).and_then(|all| all.to_vec::<i64>()).map_err(kernel)?;
    let others = all.iter().max().map_or(0, |high| high.saturating_add(1));
    let block = |at: usize| match layout.is_blocked() {
        true => values.sizes().get(batch + 1 + at).copied().unwrap_or(1),
        false => 1,
    };
    let (rows, columns) = if layout.compresses_rows() { (lines, others) } else { (others, lines) };
    sizes.extend([rows.saturating_mul(block(0)), columns.saturating_mul(block(1))]);
    let inner = batch + 1 + if layout.is_blocked() { 2 } else { 0 };
    sizes.extend(values.sizes().get(inner..).unwrap_or_default());
    Ok(sizes)
}

fn validate(args: &Args<'_>, layout: Option<Layout>) -> Result {
    let layout = layout
        .filter(|layout| layout.is_sparse_compressed())
        .ok_or_else(|| Raise::message("expected sparse compressed tensor layout"))?;
    let (begins, plain) = (args.tensor(0)?.clone(), args.tensor(1)?.clone());
    let values = args.tensor(2)?.clone();
    Sparse::compressed(layout, begins, plain, values, &args.ints(3)?).map_err(kernel)?;
    Ok(IValue::None)
}

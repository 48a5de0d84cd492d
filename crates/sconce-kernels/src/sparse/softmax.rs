//! Softmax over the entries of sparse tensors: what has no entry counts as minus infinity.

use sconce_kernel_core::layout::shape::wrap_dim;

use crate::elementwise::binary_op::BinaryOp;
use crate::elementwise::unary_op::UnaryOp;
use crate::indexing::scatter::ScatterReduce;
use crate::sparse::coalesce::{fold_rows, groups};
use crate::sparse::indices::{places, read, vector};
use crate::sparse::{Sparse, SparseParts};
use crate::{Error, Result, Tensor, binary, index_select, unary};

/// `torch.sparse.softmax`.
///
/// # Errors
/// For dimensions that there are none of, and for layouts other than coordinates.
pub fn sparse_softmax(input: &Sparse, dim: i64) -> Result<Sparse> {
    of(input, dim, false)
}

/// `torch.sparse.log_softmax`.
///
/// # Errors
/// As [`sparse_softmax`].
pub fn sparse_log_softmax(input: &Sparse, dim: i64) -> Result<Sparse> {
    of(input, dim, true)
}

fn of(input: &Sparse, dim: i64, is_log: bool) -> Result<Sparse> {
    let dim = wrap_dim(dim, input.dim())?;
    if !input.dtype().is_floating_point() {
        return Err(Error::no_kernel(
            if is_log { "log_softmax" } else { "softmax" },
            input.dtype(),
        ));
    }
    let input = input.coalesce()?;
    let SparseParts::Coordinates { indices, values, .. } = &input.parts else {
        return Err(Error::runtime("a compressed layout among coordinates"));
    };
    let sparse = input.sparse_dim();
    if dim >= sparse {
        let dim = (dim - sparse + 1) as i64;
        let values =
            if is_log { crate::log_softmax(values, dim) } else { crate::softmax(values, dim) }?;
        return Ok(input.with_values(values));
    }
    let entries = input.nnz() as usize;
    let all = read(indices)?;
    let (mut others, mut sizes) = (Vec::new(), Vec::new());
    for (at, row) in all.chunks_exact(entries.max(1)).enumerate().filter(|&(at, _)| at != dim) {
        others.extend_from_slice(row);
        sizes.extend(input.sizes.get(at));
    }
    let pools = groups(&places(&others, &sizes, entries)?)?;
    let (count, of_entry) = (pools.places.len() as i64, vector(&pools.of_entry)?);
    let fold = |values: &Tensor, by| fold_rows(count, &pools.of_entry, values, by);
    let of_pool = |pooled: &Tensor| index_select(pooled, 0, &of_entry);
    let largest = of_pool(&fold(values, ScatterReduce::Max)?)?;
    let less = binary(BinaryOp::Sub, values.into(), (&largest).into())?;
    let powers = unary(UnaryOp::Exp, &less)?;
    let sums = fold(&powers, ScatterReduce::Sum)?;
    let values = if is_log {
        binary(BinaryOp::Sub, (&less).into(), (&of_pool(&unary(UnaryOp::Log, &sums)?)?).into())?
    } else {
        binary(BinaryOp::Div, (&powers).into(), (&of_pool(&sums)?).into())?
    };
    Ok(input.with_values(values))
}

//! What sparse tensors say of themselves, and their parts.

use sconce_kernels::{Sparse, SparseParts, Tensor, layout_name};
use sconce_tensor::Layout;

use super::operands::AnyTensor;
use super::{Result, SparseRow, SparseRule, made};
use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::value::IValue::{self, Bool, Int};

pub(crate) const TABLE: Table = &[
    op("aten::indices", "-", |_, args| coalesced_part(&args, "indices", |indices, _| indices)),
    op("aten::_indices", "-", |_, args| part(&args, "_indices", |indices, _| indices)),
    op("aten::values", "-", |_, args| values(&args)),
    op("aten::_values", "-", |_, args| part(&args, "_values", |_, values| values)),
    op("aten::crow_indices", "-", |_, args| compressed_part(&args, "crow_indices", true, true)),
    op("aten::col_indices", "-", |_, args| compressed_part(&args, "col_indices", true, false)),
    op("aten::ccol_indices", "-", |_, args| compressed_part(&args, "ccol_indices", false, true)),
    op("aten::row_indices", "-", |_, args| compressed_part(&args, "row_indices", false, false)),
    op("aten::_nnz", "-", |_, args| {
        let wanted = "_nnz expected sparse tensor layout";
        Ok(Int(args.sparse(0, wanted)?.nnz()))
    }),
    op("aten::is_coalesced", "-", |_, args| {
        Ok(Bool(args.coordinates(0, "is_coalesced")?.is_coalesced()))
    }),
    op("aten::sparse_dim", "-", |_, args| {
        Ok(Int(match args.any_tensor(0)? {
            AnyTensor::Sparse(sparse) => sparse.sparse_dim() as i64,
            AnyTensor::Dense(_) => 0,
        }))
    }),
    op("aten::dense_dim", "-", |_, args| {
        Ok(Int(match args.any_tensor(0)? {
            AnyTensor::Sparse(sparse) => sparse.dense_dim() as i64,
            AnyTensor::Dense(dense) => dense.dim() as i64,
        }))
    }),
];

pub(super) const RULES: &[SparseRow] = &[
    SparseRow(
        "aten::is_same_size",
        "-",
        SparseRule::Run(|_, args| {
            let sizes = |index| -> Result<Vec<i64>> {
                Ok(match args.any_tensor(index)? {
                    AnyTensor::Sparse(sparse) => sparse.sizes().to_vec(),
                    AnyTensor::Dense(dense) => dense.sizes().to_vec(),
                })
            };
            Ok(Bool(sizes(0)? == sizes(1)?))
        }),
    ),
    SparseRow(
        "aten::size",
        "-",
        SparseRule::Run(|_, args| {
            sized(&args, |sparse| {
                let sizes = sparse.sizes().iter().map(|&size| Int(size)).collect();
                Ok(IValue::list(sconce_ir::Type::Int, sizes))
            })
        }),
    ),
    SparseRow(
        "aten::size",
        "int",
        SparseRule::Run(|_, args| {
            let dim = args.int(1)?;
            sized(&args, |sparse| size(sparse, dim))
        }),
    ),
    SparseRow(
        "aten::len",
        "Tensor",
        SparseRule::Run(|_, args| {
            sized(&args, |sparse| {
                if sparse.dim() == 0 {
                    return Err(Raise::message("len() of a 0-d tensor"));
                }
                size(sparse, 0)
            })
        }),
    ),
    SparseRow(
        "aten::dim",
        "-",
        SparseRule::Run(|_, args| sized(&args, |sparse| Ok(Int(sparse.dim() as i64)))),
    ),
    SparseRow(
        "aten::numel",
        "-",
        SparseRule::Run(|_, args| sized(&args, |sparse| Ok(Int(sparse.numel())))),
    ),
    SparseRow(
        "prim::dtype",
        "-",
        SparseRule::Run(|_, args| {
            sized(&args, |sparse| Ok(Int(sparse.dtype().scalar_type_number().into())))
        }),
    ),
    SparseRow(
        "prim::layout",
        "-",
        SparseRule::Run(|_, args| sized(&args, |sparse| Ok(Int(sparse.layout().number())))),
    ),
    SparseRow("prim::device", "-", SparseRule::Run(|_, _| Ok(IValue::Device("cpu".into())))),
    SparseRow(
        "prim::is_sparse",
        "-",
        SparseRule::Run(|_, args| {
            sized(&args, |sparse| Ok(Bool(sparse.layout() == Layout::SparseCoo)))
        }),
    ),
    SparseRow(
        "prim::is_sparse_csr",
        "-",
        SparseRule::Run(|_, args| {
            sized(&args, |sparse| Ok(Bool(sparse.layout() == Layout::SparseCsr)))
        }),
    ),
    SparseRow(
        "aten::is_floating_point",
        "-",
        SparseRule::Run(|_, args| {
            sized(&args, |sparse| Ok(Bool(sparse.dtype().is_floating_point())))
        }),
    ),
    SparseRow(
        "aten::is_complex",
        "-",
        SparseRule::Run(|_, args| sized(&args, |sparse| Ok(Bool(sparse.dtype().is_complex())))),
    ),
    SparseRow(
        "aten::element_size",
        "-",
        SparseRule::Run(|_, args| {
            sized(&args, |sparse| Ok(Int(sparse.dtype().item_size() as i64)))
        }),
    ),
    SparseRow(
        "prim::itemsize",
        "-",
        SparseRule::Run(|_, args| {
            sized(&args, |sparse| Ok(Int(sparse.dtype().item_size() as i64)))
        }),
    ),
    SparseRow("prim::is_cpu", "-", SparseRule::Run(|_, _| Ok(Bool(true)))),
    SparseRow("prim::is_cuda", "-", SparseRule::Run(|_, _| Ok(Bool(false)))),
    SparseRow("prim::is_quantized", "-", SparseRule::Run(|_, _| Ok(Bool(false)))),
    SparseRow("prim::is_nested", "-", SparseRule::Run(|_, _| Ok(Bool(false)))),
    SparseRow("prim::requires_grad", "-", SparseRule::Run(|_, _| Ok(Bool(false)))),
    SparseRow("aten::is_contiguous", "memory_format", SparseRule::Run(|_, _| Ok(Bool(false)))),
    SparseRow("aten::get_device", "-", SparseRule::Run(|_, _| Ok(Int(-1)))),
];

fn sized(args: &Args<'_>, look: impl Fn(&Sparse) -> Result) -> Result {
    look(&*args.sparse(0, "expected a sparse tensor")?)
}

fn size(sparse: &Sparse, dim: i64) -> Result {
    let dim = sconce_kernels::layout::shape::wrap_dim(dim, sparse.dim()).map_err(kernel)?;
    Ok(Int(sparse.sizes().get(dim).copied().unwrap_or(1)))
}

/// Indices or values of a tensor in coordinates, which share its memory.
fn part(args: &Args<'_>, name: &str, which: fn(Tensor, Tensor) -> Tensor) -> Result {
    let sparse = args.coordinates(0, name)?;
    match sparse.parts() {
        SparseParts::Coordinates { indices, values, .. } => {
            Ok(IValue::Tensor(which(indices.alias(), values.alias())))
        }
        SparseParts::Compressed { .. } => Err(Raise::unsupported("parts of this layout")),
    }
}

fn coalesced_part(args: &Args<'_>, name: &str, which: fn(Tensor, Tensor) -> Tensor) -> Result {
    if !args.coordinates(0, name)?.is_coalesced() {
        return Err(Raise::message(format!(
            "Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
        )));
    }
    part(args, name, which)
}

fn values(args: &Args<'_>) -> Result {
    let is_compressed = {
        let sparse = args.sparse(0, "values expected sparse tensor layout")?;
        sparse.layout().is_sparse_compressed()
    };
    match is_compressed {
        true => Ok(IValue::Tensor(args.sparse(0, "values")?.values().alias())),
        false => coalesced_part(args, "values", |_, values| values),
    }
}

fn compressed_part(args: &Args<'_>, name: &str, of_rows: bool, is_compressed: bool) -> Result {
    let kind = if of_rows { "row" } else { "column" };
    let wanted = format!("{name} expected sparse {kind} compressed tensor layout");
    let sparse = args.sparse(0, &wanted)?;
    match sparse.parts() {
        SparseParts::Compressed { layout, compressed, plain, .. }
            if layout.compresses_rows() == of_rows =>
        {
            Ok(IValue::Tensor(if is_compressed { compressed.alias() } else { plain.alias() }))
        }
        _ => Err(Raise::message(format!("{wanted} but got {}", layout_name(sparse.layout())))),
    }
}

/// A tensor that says of itself that it is coalesced, or not.
pub(super) fn said_to_be_coalesced(args: &Args<'_>) -> Result<Sparse> {
    Ok(args.coordinates(0, "_coalesced")?.with_coalesced(args.bool(1)?))
}

/// Puts another tensor in the place of a sparse one, for all who hold it.
pub(super) fn replace(target: &IValue, by: Sparse) -> Result {
    match target {
        IValue::Sparse(shared) => {
            *shared.write() = by;
            Ok(target.clone())
        }
        _ => Ok(made(by)),
    }
}

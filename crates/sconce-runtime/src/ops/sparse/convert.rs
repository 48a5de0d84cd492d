//! From one layout to another, copies, and tensors like others.

use sconce_kernels::{DType, DenseOrSparse, Sparse, Tensor, cat_sparse};
use sconce_tensor::Layout;

use super::access::replace;
use super::operands::AnyTensor;
use super::{Result, SparseRow, SparseRule, made, result};
use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made as dense;
use crate::value::IValue;

pub(crate) const TABLE: Table = &[
    op("aten::coalesce", "-", |_, args| coalesce(args, "coalesce")),
    op("aten::_coalesce", "-", |_, args| coalesce(args, "_coalesce")),
    op("aten::to_dense", "-", |_, args| to_dense(args)),
    op("aten::_to_dense", "-", |_, args| to_dense(args)),
    op("aten::to_sparse", "-", |_, args| to_sparse(args)),
    op("aten::_to_sparse", "-", |_, args| to_sparse(args)),
    op("aten::to_sparse", "sparse_dim", |_, args| to_coordinates(args)),
    op("aten::_to_sparse", "sparse_dim", |_, args| to_coordinates(args)),
    op("aten::to_sparse_csr", "-", |_, args| compress(args, Layout::SparseCsr)),
    op("aten::_to_sparse_csr", "-", |_, args| compress(args, Layout::SparseCsr)),
    op("aten::to_sparse_csc", "-", |_, args| compress(args, Layout::SparseCsc)),
    op("aten::_to_sparse_csc", "-", |_, args| compress(args, Layout::SparseCsc)),
    op("aten::to_sparse_bsr", "-", |_, args| compress(args, Layout::SparseBsr)),
    op("aten::_to_sparse_bsr", "-", |_, args| compress(args, Layout::SparseBsr)),
    op("aten::to_sparse_bsc", "-", |_, args| compress(args, Layout::SparseBsc)),
    op("aten::_to_sparse_bsc", "-", |_, args| compress(args, Layout::SparseBsc)),
    op("aten::sparse_mask", "-", |_, args| {
        let mask = args.sparse(1, "sparse_mask expected a sparse mask")?;
        result(match args.any_tensor(0)? {
            AnyTensor::Dense(dense) => mask.mask_dense(dense),
            AnyTensor::Sparse(sparse) => mask.mask_sparse(&sparse),
        })
    }),
    op("aten::_sparse_broadcast_to", "-", |_, args| {
        result(args.coordinates(0, "_sparse_broadcast_to")?.broadcast_to(&args.ints(1)?))
    }),
];

pub(super) const RULES: &[SparseRow] = &[
    SparseRow("aten::to", "dtype device prim_Device prim_dtype prim_other", SparseRule::Values),
    SparseRow("aten::to", "dtype_layout", SparseRule::Run(|_, args| to_layout(args))),
    SparseRow("aten::_to_copy", "-", SparseRule::Run(|_, args| to_layout(args))),
    SparseRow(
        "aten::to",
        "other",
        SparseRule::Run(|_, args| {
            let dtype = match args.any_tensor(1)? {
                AnyTensor::Dense(dense) => dense.dtype(),
                AnyTensor::Sparse(sparse) => sparse.dtype(),
            };
            in_dtype(&args, dtype)
        }),
    ),
    SparseRow(
        "aten::clone",
        "-",
        SparseRule::Run(|_, args| result(args.sparse(0, "clone")?.copy())),
    ),
    SparseRow("aten::detach", "-", SparseRule::Run(|_, mut args| Ok(args.take(0)))),
    SparseRow("aten::cpu", "-", SparseRule::Run(|_, mut args| Ok(args.take(0)))),
    SparseRow("aten::copy_", "-", SparseRule::Run(|_, args| copy(&args))),
    SparseRow(
        "aten::zero_",
        "-",
        SparseRule::Run(|_, args| {
            let zero = {
                let sparse = args.sparse(0, "zero_")?;
                sparse.zeros_like(sparse.layout(), sparse.dtype()).map_err(kernel)?
            };
            replace(args.get(0), zero)
        }),
    ),
    SparseRow("aten::zeros_like", "-", SparseRule::Run(|_, args| like_zeros(&args))),
    SparseRow(
        "aten::empty_like",
        "-",
        SparseRule::Run(|context, mut args| {
            let is_compressed = args.sparse(0, "empty_like")?.layout().is_sparse_compressed();
            if !is_compressed || args.optional_int(2)? == Some(0) {
                return like_zeros(&args);
            }
            own_layout(&mut args, 2)?;
            let dense = crate::ops::find("aten::zeros_like", "").ok_or_else(missing)?;
            SparseRule::Values.run(dense.run, context, args)
        }),
    ),
    SparseRow(
        "aten::ones_like",
        "-",
        SparseRule::Run(|context, args| of_values(context, args, "aten::ones_like", 2)),
    ),
    SparseRow(
        "aten::full_like",
        "-",
        SparseRule::Run(|context, args| of_values(context, args, "aten::full_like", 3)),
    ),
    SparseRow(
        "aten::rand_like",
        "-",
        SparseRule::Run(|context, args| of_values(context, args, "aten::rand_like", 2)),
    ),
    SparseRow(
        "aten::randn_like",
        "-",
        SparseRule::Run(|context, args| of_values(context, args, "aten::randn_like", 2)),
    ),
    SparseRow(
        "aten::t",
        "-",
        SparseRule::Run(|_, args| {
            let sparse = args.sparse(0, "t")?;
            if sparse.dim() > 2 {
                return Err(Raise::message(format!(
                    "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {} sparse and \
                 {} dense dimensions",
                    sparse.sparse_dim(),
                    sparse.dense_dim()
                )));
            }
            result(if sparse.dim() < 2 { Ok(sparse.clone()) } else { sparse.transpose(0, 1) })
        }),
    ),
    SparseRow(
        "aten::transpose",
        "int",
        SparseRule::Run(|_, args| {
            result(args.sparse(0, "transpose")?.transpose(args.int(1)?, args.int(2)?))
        }),
    ),
    SparseRow(
        "aten::permute",
        "-",
        SparseRule::Run(|_, args| result(args.sparse(0, "permute")?.permute(&args.ints(1)?))),
    ),
    SparseRow(
        "aten::unsqueeze",
        "-",
        SparseRule::Run(|_, args| result(args.sparse(0, "unsqueeze")?.unsqueeze(args.int(1)?))),
    ),
    SparseRow(
        "aten::select",
        "int",
        SparseRule::Run(|_, args| {
            let sparse = args.sparse(0, "select")?;
            match sparse.select(args.int(1)?, args.int(2)?).map_err(kernel)? {
                DenseOrSparse::Dense(dense) => Ok(IValue::Tensor(dense)),
                DenseOrSparse::Sparse(sparse) => Ok(made(sparse)),
            }
        }),
    ),
    SparseRow(
        "aten::index_select",
        "-",
        SparseRule::Run(|_, args| {
            result(args.sparse(0, "index_select")?.index_select(args.int(1)?, args.tensor(2)?))
        }),
    ),
    SparseRow(
        "aten::narrow_copy",
        "-",
        SparseRule::Run(|_, args| {
            let sparse = args.sparse(0, "narrow_copy")?;
            result(sparse.narrow(args.int(1)?, args.int(2)?, args.int(3)?))
        }),
    ),
    SparseRow(
        "aten::cat",
        "-",
        SparseRule::Run(|_, args| result(cat_sparse(&list(&args, 0)?, args.int(1)?))),
    ),
    SparseRow(
        "aten::stack",
        "-",
        SparseRule::Run(|_, args| {
            let dim = args.int(1)?;
            let wide: sconce_kernels::Result<Vec<Sparse>> =
                list(&args, 0)?.iter().map(|sparse| sparse.unsqueeze(dim)).collect();
            result(wide.and_then(|wide| cat_sparse(&wide, dim)))
        }),
    ),
    SparseRow(
        "aten::resize_as_",
        "-",
        SparseRule::Run(|_, args| {
            let (sizes, dims) = {
                let like = args.coordinates(1, "resize_as_sparse_")?;
                (like.sizes().to_vec(), like.sparse_dim())
            };
            let resized =
                args.coordinates(0, "resize_as_sparse_")?.resize(&sizes, dims).map_err(kernel)?;
            replace(args.get(0), resized)
        }),
    ),
];

fn missing() -> Raise {
    Raise::unsupported("this operator on sparse tensors")
}

/// Sparse tensors of a list.
fn list(args: &Args<'_>, index: usize) -> Result<Vec<Sparse>> {
    let list = args.list(index)?;
    let list = list.read();
    let own = |(position, item): (usize, &IValue)| match item {
        IValue::Sparse(sparse) => Ok(sparse.read().clone()),
        _ => Err(Raise::message(format!(
            "Concatenating sparse tensors, but a dense tensor was found at position {position}."
        ))),
    };
    list.items.iter().enumerate().map(own).collect()
}

fn coalesce(args: Args<'_>, name: &str) -> Result {
    let sparse = args.coordinates(0, name)?;
    match sparse.is_coalesced() && name == "coalesce" {
        true => Ok(args.get(0).clone()),
        false => result(sparse.coalesce()),
    }
}

fn to_dense(args: Args<'_>) -> Result {
    let dtype = args.dtype(1)?;
    match args.any_tensor(0)? {
        AnyTensor::Dense(dense) => match dtype {
            Some(dtype) => self::dense(dense.to_dtype(dtype)),
            None => Ok(args.get(0).clone()),
        },
        AnyTensor::Sparse(sparse) if sparse.layout().is_sparse_compressed() && dtype.is_some() => {
            Err(Raise::message("dtype argument is not supported by sparse_csr_to_dense"))
        }
        AnyTensor::Sparse(sparse) => {
            let dense = sparse.to_dense();
            self::dense(match dtype {
                Some(dtype) => dense.and_then(|dense| dense.to_dtype(dtype)),
                None => dense,
            })
        }
    }
}

/// `Tensor.to_sparse(layout=…, blocksize=…, dense_dim=…)`.
fn to_sparse(args: Args<'_>) -> Result {
    let layout = match args.optional_int(1)? {
        None => Layout::SparseCoo,
        Some(number) => {
            Layout::from_number(number).ok_or_else(|| Raise::unsupported("this layout"))?
        }
    };
    if layout == Layout::SparseCoo {
        if args.optional_ints(2)?.is_some() {
            return Err(Raise::message(
                "to_sparse for Strided to Sparse conversion does not use specified blocksize",
            ));
        }
        let outer = args.optional_int(3)?.unwrap_or(0);
        return match args.any_tensor(0)? {
            AnyTensor::Dense(dense) => {
                result(Sparse::from_dense(dense, dense.dim() as i64 - outer))
            }
            AnyTensor::Sparse(sparse) if sparse.layout() == Layout::SparseCoo => {
                Ok(args.get(0).clone())
            }
            AnyTensor::Sparse(sparse) => result(sparse.to_coo()),
        };
    }
    compress_to(&args, layout, args.optional_ints(2)?, args.optional_int(3)?)
}

fn to_coordinates(args: Args<'_>) -> Result {
    let dims = args.int(1)?;
    match args.any_tensor(0)? {
        AnyTensor::Dense(dense) => result(Sparse::from_dense(dense, dims)),
        AnyTensor::Sparse(sparse) if sparse.sparse_dim() as i64 == dims => match sparse.layout() {
            Layout::SparseCoo => Ok(args.get(0).clone()),
            _ => result(sparse.to_coo()),
        },
        AnyTensor::Sparse(_) => {
            Err(Raise::unsupported("another number of sparse dimensions of a sparse tensor"))
        }
    }
}

fn compress(args: Args<'_>, layout: Layout) -> Result {
    let (block, dense_dim) = if layout.is_blocked() { (Some(args.ints(1)?), 2) } else { (None, 1) };
    compress_to(&args, layout, block, args.optional_int(dense_dim)?)
}

fn compress_to(
    args: &Args<'_>,
    layout: Layout,
    block: Option<Vec<i64>>,
    dense_dim: Option<i64>,
) -> Result {
    let block = match (layout.is_blocked(), block.as_deref()) {
        (false, None) => (1, 1),
        (true, Some(&[both])) => (both, both),
        (true, Some(&[height, width])) => (height, width),
        (false, Some(_)) => {
            return Err(Raise::message(format!(
                "to_sparse for conversion to {layout} does not use specified blocksize"
            )));
        }
        (true, _) => {
            return Err(Raise::message(format!(
                "to_sparse for conversion to {layout} requires blocksize of two numbers"
            )));
        }
    };
    match args.any_tensor(0)? {
        AnyTensor::Dense(dense) => {
            let dense_dim = usize::try_from(dense_dim.unwrap_or(0))
                .map_err(|_| Raise::message("dense_dim must not be negative"))?;
            result(Sparse::compress_dense(dense, layout, block, dense_dim))
        }
        AnyTensor::Sparse(sparse) => {
            if dense_dim.is_some_and(|dims| dims != sparse.dense_dim() as i64) {
                return Err(Raise::unsupported("another number of dense dimensions"));
            }
            result(sparse.compress(layout, block))
        }
    }
}

fn in_dtype(args: &Args<'_>, dtype: DType) -> Result {
    let sparse = args.sparse(0, "to")?;
    match sparse.dtype() == dtype {
        true => Ok(args.get(0).clone()),
        false => result(sparse.to_dtype(dtype)),
    }
}

/// `to` with a layout, which may be the tensor's own or none.
fn to_layout(args: Args<'_>) -> Result {
    args.on_cpu(3)?;
    let sparse = args.sparse(0, "to")?;
    let layout = args.optional_int(2)?.unwrap_or(sparse.layout().number());
    let dtype = args.dtype(1)?.unwrap_or(sparse.dtype());
    if layout == 0 {
        return dense(sparse.to_dense().and_then(|dense| dense.to_dtype(dtype)));
    }
    if layout != sparse.layout().number() {
        return Err(Raise::unsupported("to() another sparse layout"));
    }
    result(sparse.copy().and_then(|copy| copy.to_dtype(dtype)))
}

fn copy(args: &Args<'_>) -> Result {
    match (args.any_tensor(0)?, args.any_tensor(1)?) {
        (AnyTensor::Sparse(target), AnyTensor::Sparse(source)) => {
            if target.layout() != source.layout() {
                return Err(Raise::message("copy_() of sparse tensors of different layouts"));
            }
            let copied =
                source.copy().and_then(|copy| copy.to_dtype(target.dtype())).map_err(kernel)?;
            drop(target);
            drop(source);
            replace(args.get(0), copied)
        }
        _ => Err(Raise::message("copy_() between dense and sparse Tensors is not implemented!")),
    }
}

fn like_zeros(args: &Args<'_>) -> Result {
    args.on_cpu(3)?;
    let sparse = args.sparse(0, "zeros_like")?;
    let (dtype, layout) = (args.dtype(1)?, args.optional_int(2)?);
    match layout {
        Some(0) => dense(Tensor::zeros(sparse.sizes(), dtype.unwrap_or(sparse.dtype()))),
        number => {
            let layout = match number {
                Some(number) => Layout::from_number(number),
                None => Some(sparse.layout()),
            };
            let layout = layout.ok_or_else(|| Raise::unsupported("this layout"))?;
            result(sparse.zeros_like(layout, dtype.unwrap_or(sparse.dtype())))
        }
    }
}

/// A layout operand that names the layout of the first operand counts as none.
fn own_layout(args: &mut Args<'_>, at: usize) -> Result<()> {
    let own = args.sparse(0, "like")?.layout().number();
    match args.0.get_mut(at) {
        Some(slot @ IValue::Int(_)) if slot.is(&IValue::Int(own)) => *slot = IValue::None,
        Some(IValue::Int(_)) => {
            return Err(Raise::unsupported("a tensor like one of another layout"));
        }
        _ => {}
    }
    Ok(())
}

/// A compressed tensor with other values at the same places.
fn of_values(
    context: &mut dyn crate::op_context::OpContext,
    mut args: Args<'_>,
    symbol: &str,
    layout: usize,
) -> Result {
    if !args.sparse(0, symbol)?.layout().is_sparse_compressed() {
        return Err(missing());
    }
    if args.optional_int(layout)? == Some(0) {
        return Err(missing());
    }
    own_layout(&mut args, layout)?;
    let dense = crate::ops::find(symbol, "").ok_or_else(missing)?;
    SparseRule::Values.run(dense.run, context, args)
}

//! Picking and writing elements by index or mask, and different elements.

use sconce_kernels as kernels;
use sconce_kernels::{DType, Operand, Scalar, ScatterReduce, Tensor, Unique};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{listed, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::scatter", "src value", |_, args| scatter(&args, ScatterReduce::Replace, true)),
    op("aten::scatter", "reduce value_reduce", |_, args| {
        let fold = match &*args.str(4)? {
            "add" => ScatterReduce::Sum,
            "multiply" => ScatterReduce::Product,
            _ => return Err(Raise::message("reduce argument must be either add or multiply.")),
        };
        scatter(&args, fold, true)
    }),
    op("aten::scatter_add", "-", |_, args| scatter(&args, ScatterReduce::Sum, true)),
    op("aten::scatter_reduce", "two", |_, args| {
        scatter(&args, named_fold(&args.str(4)?)?, args.bool(5)?)
    }),
    op("aten::index_add", "-", |_, args| {
        index_fold(&args, "index_add", ScatterReduce::Sum, true, args.scalar(4)?)
    }),
    op("aten::index_copy", "-", |_, args| {
        index_fold(&args, "index_copy", ScatterReduce::Replace, true, Scalar::Int(1))
    }),
    op("aten::index_reduce", "-", |_, args| {
        let name = args.str(4)?;
        let fold = named_fold(&name).ok().filter(|&fold| fold != ScatterReduce::Sum);
        let fold = fold.ok_or_else(|| {
            Raise::message(format!(
                "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got \
                 {name}."
            ))
        })?;
        if args.tensor(0)?.dtype() == DType::Bool {
            return Err(Raise::unsupported("aten::index_reduce of bools"));
        }
        index_fold(&args, "index_reduce", fold, args.bool(5)?, Scalar::Int(1))
    }),
    op("aten::index_fill", "int_Scalar int_Tensor", |_, args| {
        made(kernels::index_fill(args.tensor(0)?, args.int(1)?, args.tensor(2)?, args.operand(3)?))
    }),
    op("aten::index_put", "- hacked_twin", |_, args| index_put(&args)).strides(ResultStrides::Copy),
    op("aten::_unsafe_index_put", "- hacked_twin", |_, args| index_put(&args)),
    op("aten::_unsafe_index", "Tensor Tensor_hacked_twin", |_, args| {
        made(kernels::index(args.tensor(0)?, &args.optional_tensors(1)?))
    }),
    op("aten::_unsafe_masked_index", "-", |_, args| {
        let (input, mask) = (args.tensor(0)?, args.tensor(1)?);
        let indices = args.optional_tensors(2)?;
        let whole = with_elements(input, &indices)?;
        let picked = kernels::index(&whole, &clamped(&whole, indices)?).map_err(kernel)?;
        if input.numel() == 0 {
            // PyTorch does not look at the sizes of dimensions that nothing is picked from.
            let rest = input.dim() - args.optional_tensors(2)?.len().min(input.dim());
            let mut sizes = picked.sizes().to_vec();
            let kept = sizes.len().saturating_sub(rest);
            sizes[kept..].fill(0);
            return made(Tensor::full(&sizes, args.scalar(3)?, input.dtype()));
        }
        let hidden = kernels::logical_not(mask).map_err(kernel)?;
        made(kernels::masked_fill(&picked, &hidden, args.operand(3)?))
    }),
    op("aten::_unsafe_masked_index_put_accumulate", "-", |_, args| {
        let (input, mask, values) = (args.tensor(0)?, args.tensor(1)?, args.tensor(3)?);
        if input.numel() == 0 {
            return made(input.copy());
        }
        let indices = clamped(input, args.optional_tensors(2)?)?;
        let hidden = kernels::logical_not(mask).map_err(kernel)?;
        let values = kernels::masked_fill(values, &hidden, Operand::Scalar(Scalar::Int(0)))
            .map_err(kernel)?;
        put(input, &indices, &values, true)
    })
    .strides(ResultStrides::Copy),
    op("aten::take", "-", |_, args| made(kernels::take(args.tensor(0)?, args.tensor(1)?))),
    op("aten::put", "-", |_, args| {
        made(kernels::put(args.tensor(0)?, args.tensor(1)?, args.tensor(2)?, args.bool(3)?))
    })
    .strides(ResultStrides::Copy),
    op("aten::take_along_dim", "-", |_, args| {
        made(kernels::take_along_dim(args.tensor(0)?, args.tensor(1)?, args.optional_int(2)?))
    }),
    op("aten::masked_select", "-", |_, args| {
        made(kernels::masked_select(args.tensor(0)?, args.tensor(1)?))
    }),
    op("aten::masked_scatter", "-", |_, args| {
        made(kernels::masked_scatter(args.tensor(0)?, args.tensor(1)?, args.tensor(2)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::nonzero", "-", |_, args| made(kernels::nonzero(args.tensor(0)?)))
        .strides(ResultStrides::Coordinates),
    op("aten::argwhere", "-", |_, args| made(kernels::nonzero(args.tensor(0)?)))
        .strides(ResultStrides::Coordinates),
    op("aten::nonzero_numpy", "-", |_, args| coordinates(args.tensor(0)?)),
    op("aten::nonzero_static", "-", |context, args| {
        let (input, size) = (args.tensor(0)?, args.int(1)?);
        context.budget().check_sizes(&[size.max(0), input.dim() as i64])?;
        made(kernels::nonzero_static(input, size, args.int(2)?))
    }),
    op("aten::searchsorted", "Tensor", |_, args| {
        searchsorted(&args, args.tensor(0)?, args.tensor(1)?)
    }),
    op("aten::searchsorted", "Scalar", |_, args| {
        searchsorted(&args, args.tensor(0)?, &beside(args.scalar(1)?, args.tensor(0)?)?)
    }),
    op("aten::bucketize", "Tensor", |_, args| bucketize(&args, args.tensor(0)?)),
    op("aten::bucketize", "Scalar", |_, args| {
        bucketize(&args, &beside(args.scalar(0)?, args.tensor(1)?)?)
    }),
    op("aten::_unique2", "-", |_, args| {
        unique(kernels::unique(args.tensor(0)?, args.bool(2)?, args.bool(3)?))
    }),
    op("aten::unique_consecutive", "-", |_, args| {
        let (inverse, counts) = (args.bool(1)?, args.bool(2)?);
        let dim = args.optional_int(3)?;
        unique(kernels::unique_consecutive(args.tensor(0)?, inverse, counts, dim))
    }),
    op("aten::unique_dim", "-", |_, args| {
        unique(kernels::unique_dim(args.tensor(0)?, args.int(1)?))
    }),
    op("aten::unique_dim_consecutive", "-", |_, args| {
        let dim = Some(args.int(1)?);
        unique(kernels::unique_consecutive(args.tensor(0)?, true, true, dim))
    }),
    op("aten::slice_scatter", "-", |_, args| {
        let (dim, start, end) = (args.int(2)?, args.optional_int(3)?, args.optional_int(4)?);
        let step = args.int(5)?;
        made(kernels::scatter_view(args.tensor(0)?, args.tensor(1)?, |copy| {
            copy.slice(dim, start, end, step)
        }))
    }),
    op("aten::select_scatter", "-", |_, args| {
        let (dim, index) = (args.int(2)?, args.int(3)?);
        made(kernels::scatter_view(args.tensor(0)?, args.tensor(1)?, |copy| {
            copy.select(dim, index)
        }))
    }),
    op("aten::diagonal_scatter", "-", |_, args| {
        let (offset, dim1, dim2) = (args.int(2)?, args.int(3)?, args.int(4)?);
        made(kernels::scatter_view(args.tensor(0)?, args.tensor(1)?, |copy| {
            copy.diagonal(offset, dim1, dim2)
        }))
    }),
    op("aten::as_strided_scatter", "-", |_, args| {
        let (sizes, strides, offset) = (args.ints(2)?, args.ints(3)?, args.optional_int(4)?);
        let (input, source) = (args.tensor(0)?, args.tensor(1)?);
        made(kernels::as_strided_scatter(input, source, &sizes, &strides, offset))
    }),
];

fn named_fold(name: &str) -> Result<ScatterReduce> {
    Ok(match name {
        "sum" => ScatterReduce::Sum,
        "prod" => ScatterReduce::Product,
        "mean" => ScatterReduce::Mean,
        "amax" => ScatterReduce::Max,
        "amin" => ScatterReduce::Min,
        _ => {
            return Err(Raise::message(format!(
                "reduce argument must be either sum, prod, mean, amax or amin, got {name}"
            )));
        }
    })
}

fn scatter(args: &Args<'_>, fold: ScatterReduce, include_self: bool) -> Result {
    let (input, index) = (args.tensor(0)?, args.tensor(2)?);
    made(kernels::scatter_reduce(input, args.int(1)?, index, args.operand(3)?, fold, include_self))
}

fn index_fold(
    args: &Args<'_>,
    name: &str,
    fold: ScatterReduce,
    include_self: bool,
    alpha: Scalar,
) -> Result {
    let (input, dim, index) = (args.tensor(0)?, args.int(1)?, args.tensor(2)?);
    let mut source = args.tensor(3)?.clone();
    if alpha != Scalar::Int(1) && source.dtype() == input.dtype() {
        let by = Operand::Scalar(alpha);
        source = kernels::binary(kernels::BinaryOp::Mul, (&source).into(), by)
            .and_then(|scaled| scaled.to_dtype(input.dtype()))
            .map_err(kernel)?;
    }
    made(kernels::index_reduce(name, input, dim, index, &source, fold, include_self))
}

fn index_put(args: &Args<'_>) -> Result {
    put(args.tensor(0)?, &args.optional_tensors(1)?, args.tensor(2)?, args.bool(3)?)
}

fn put(input: &Tensor, indices: &[Option<Tensor>], values: &Tensor, accumulate: bool) -> Result {
    let result = input.copy().map_err(kernel)?;
    kernels::index_put(&result, indices, values, accumulate).map_err(kernel)?;
    Ok(IValue::Tensor(result))
}

/// Indices brought into their dimensions, where masks hide those that were not.
fn clamped(input: &Tensor, indices: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
    let clamp = |(dim, tensor): (usize, Option<Tensor>)| {
        let Some(tensor) = tensor else { return Ok(None) };
        let size = input.sizes().get(dim).copied().unwrap_or(1);
        let (low, high) = (Scalar::Int(-size), Scalar::Int(size - 1));
        let (low, high) = (Some(Operand::Scalar(low)), Some(Operand::Scalar(high)));
        kernels::clamp(&tensor, low, high).map(Some).map_err(kernel)
    };
    indices.into_iter().enumerate().map(clamp).collect()
}

/// A tensor itself, or one with an element wherever an index picks from a dimension without any.
fn with_elements(input: &Tensor, indices: &[Option<Tensor>]) -> Result<Tensor> {
    let picks = |dim: usize| indices.get(dim).is_some_and(Option::is_some);
    let size = |(dim, &size): (usize, &i64)| if picks(dim) { size.max(1) } else { size };
    let sizes: Vec<i64> = input.sizes().iter().enumerate().map(size).collect();
    if sizes == input.sizes() {
        return Ok(input.clone());
    }
    Tensor::zeros(&sizes, input.dtype()).map_err(kernel)
}

/// A vector of indices for each dimension: `torch.nonzero(as_tuple=True)`.
pub(crate) fn coordinates(input: &Tensor) -> Result {
    let vector = if input.dim() == 0 { input.unsqueeze(0).map_err(kernel)? } else { input.clone() };
    let found = kernels::nonzero(&vector).map_err(kernel)?;
    listed((0..vector.dim() as i64).map(|dim| found.select(1, dim)?.contiguous()).collect())
}

/// A number as a tensor of the dtype in which it meets another.
fn beside(value: Scalar, other: &Tensor) -> Result<Tensor> {
    let dtype = kernels::result_type(&[other.into(), value.into()]).map_err(kernel)?;
    Tensor::scalar(value, dtype).map_err(kernel)
}

fn searchsorted(args: &Args<'_>, sorted: &Tensor, values: &Tensor) -> Result {
    let right = match args.get(4) {
        IValue::None => args.bool(3)?,
        _ => match &*args.str(4)? {
            "right" => true,
            "left" if args.bool(3)? => {
                return Err(Raise::message(
                    "torch.searchsorted(): side and right can't be set to opposites, got side of \
                     left while right was True",
                ));
            }
            "left" => false,
            other => {
                return Err(Raise::message(format!(
                    "torch.searchsorted(): side can only be 'left' or 'right' but got {other}"
                )));
            }
        },
    };
    let sorter = args.optional_tensor(5)?;
    placed(kernels::searchsorted(sorted, values, right, sorter), args.bool(2)?)
}

fn bucketize(args: &Args<'_>, values: &Tensor) -> Result {
    let boundaries = args.tensor(1)?;
    if boundaries.dim() != 1 {
        return Err(Raise::message(format!(
            "torch.searchsorted(): boundaries tensor must be 1 dimension, but got dim({})",
            boundaries.dim()
        )));
    }
    placed(kernels::searchsorted(boundaries, values, args.bool(3)?, None), args.bool(2)?)
}

fn placed(places: kernels::Result<Tensor>, narrow: bool) -> Result {
    let places = places.map_err(kernel)?;
    made(places.to_dtype(if narrow { DType::Int32 } else { DType::Int64 }))
}

fn unique(unique: kernels::Result<Unique>) -> Result {
    let Unique { values, inverse, counts } = unique.map_err(kernel)?;
    Ok(IValue::tuple([values, inverse, counts].map(IValue::Tensor).to_vec()))
}

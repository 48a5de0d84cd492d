//! Other shapes of tensors: views, copies of views, repetition, joining and dividing.

use sconce_kernels as kernels;
use sconce_kernels::{DType, Tensor};

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::overlap::OverlapRule;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{listed, made};
use crate::value::IValue::{self, Bool, Int};

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::broadcast_to", "-", |_, args| made(args.tensor(0)?.expand(&args.ints(1)?))),
    op("aten::broadcast_tensors", "-", |_, args| {
        listed(kernels::broadcast_tensors(&args.tensors(0)?))
    }),
    op("aten::mT", "- a", |_, args| made(args.tensor(0)?.matrix_transpose("mT"))),
    op("aten::mH", "- a", |_, args| adjoint(&args, "mH")),
    op("aten::adjoint", "-", |_, args| adjoint(&args, "adjoint()")),
    op("aten::matrix_H", "- a", |_, args| {
        let n = args.tensor(0)?.dim();
        if n != 0 && n != 2 {
            return Err(Raise::message(format!(
                "tensor.H is only supported on matrices (2-D tensors). Got {n}-D tensor.{}",
                if n > 2 { " For batches of matrices, consider using tensor.mH" } else { "" }
            )));
        }
        adjoint(&args, "H")
    }),
    op("aten::numpy_T", "- a", |_, args| {
        let order: Vec<i64> = (0..args.tensor(0)?.dim() as i64).rev().collect();
        made(args.tensor(0)?.permute(&order))
    }),
    op("aten::ravel", "-", |_, args| {
        made(args.tensor(0)?.contiguous().and_then(|whole| whole.view(&[-1])))
    }),
    op("aten::view_as", "-", |_, args| made(args.tensor(0)?.view(args.tensor(1)?.sizes()))),
    op("aten::reshape_as", "-", |_, args| made(args.tensor(0)?.reshape(args.tensor(1)?.sizes()))),
    op("aten::as_strided", "-", |_, args| {
        let (sizes, strides) = (args.ints(1)?, args.ints(2)?);
        made(args.tensor(0)?.as_strided(&sizes, &strides, args.optional_int(3)?))
    }),
    op("aten::unfold", "-", |_, args| {
        made(args.tensor(0)?.unfold(args.int(1)?, args.int(2)?, args.int(3)?))
    }),
    op("aten::diagonal", "-", |_, args| {
        made(args.tensor(0)?.diagonal(args.int(1)?, args.int(2)?, args.int(3)?))
    }),
    op("aten::movedim", "int", |_, args| {
        made(args.tensor(0)?.movedim(&[args.int(1)?], &[args.int(2)?]))
    }),
    op("aten::movedim", "intlist", |_, args| {
        made(args.tensor(0)?.movedim(&args.ints(1)?, &args.ints(2)?))
    }),
    op("aten::narrow", "Tensor", |_, args| {
        let start = args.tensor(2)?;
        if start.dim() != 0 || !start.dtype().is_integral() {
            return Err(Raise::message("start must be an 0-dim integral Tensor."));
        }
        let start = start.item().map_err(kernel)?.to_i64();
        made(args.tensor(0)?.narrow(args.int(1)?, start, args.int(3)?))
    }),
    op("aten::atleast_1d", "-", |_, args| made(kernels::at_least(args.tensor(0)?, 1))),
    op("aten::atleast_2d", "-", |_, args| made(kernels::at_least(args.tensor(0)?, 2))),
    op("aten::atleast_3d", "-", |_, args| made(kernels::at_least(args.tensor(0)?, 3))),
    op("aten::atleast_1d", "Sequence", |_, args| at_least(&args, 1)),
    op("aten::atleast_2d", "Sequence", |_, args| at_least(&args, 2)),
    op("aten::atleast_3d", "Sequence", |_, args| at_least(&args, 3)),
    op("aten::lift_fresh", "-", |_, mut args| Ok(args.take(0))),
    op("aten::alias", "-", |_, args| Ok(IValue::Tensor(args.tensor(0)?.alias()))),
    op("aten::_reshape_alias", "-", |_, args| {
        made(args.tensor(0)?.as_strided(&args.ints(1)?, &args.ints(2)?, None))
    }),
    // Other looks of the tensor itself.
    op("aten::resize_", "-", |context, mut args| {
        let sizes = args.ints(1)?;
        if !args.get(2).is_none() {
            return Err(Raise::unsupported("aten::resize_ with a memory format"));
        }
        context.budget().check_sizes(&sizes)?;
        args.tensor(0)?.resize(&sizes).map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    op("aten::resize_as_", "-", |context, mut args| {
        let sizes = args.tensor(1)?.sizes().to_vec();
        if !args.get(2).is_none() {
            return Err(Raise::unsupported("aten::resize_as_ with a memory format"));
        }
        context.budget().check_sizes(&sizes)?;
        args.tensor(0)?.resize(&sizes).map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    op("aten::set_", "source_Tensor", |_, mut args| {
        args.tensor(0)?.show(args.tensor(1)?).map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    op("aten::set_data", "-", |_, args| {
        args.tensor(0)?.show(args.tensor(1)?).map_err(kernel)?;
        Ok(IValue::None)
    }),
    // Rearranged elements.
    op("aten::flip", "-", |_, args| made(kernels::flip(args.tensor(0)?, &args.ints(1)?)))
        .strides(ResultStrides::Copy),
    op("aten::fliplr", "-", |_, args| {
        if args.tensor(0)?.dim() < 2 {
            return Err(Raise::message("Input must be >= 2-d."));
        }
        made(kernels::flip(args.tensor(0)?, &[1]))
    })
    .strides(ResultStrides::Copy),
    op("aten::flipud", "-", |_, args| {
        if args.tensor(0)?.dim() < 1 {
            return Err(Raise::message("Input must be >= 1-d."));
        }
        made(kernels::flip(args.tensor(0)?, &[0]))
    })
    .strides(ResultStrides::Copy),
    op("aten::roll", "-", |_, args| {
        made(kernels::roll(args.tensor(0)?, &args.ints(1)?, &args.ints(2)?))
    }),
    op("aten::rot90", "-", |_, args| {
        made(kernels::rot90(args.tensor(0)?, args.int(1)?, &args.ints(2)?))
    }),
    op("aten::repeat", "-", |context, args| {
        let (input, repeats) = (args.tensor(0)?, args.ints(1)?);
        check_repeated(context, input, &repeats)?;
        made(kernels::repeat(input, &repeats))
    }),
    op("aten::tile", "-", |context, args| {
        let (input, repeats) = (args.tensor(0)?, args.ints(1)?);
        check_repeated(context, input, &repeats)?;
        made(kernels::tile(input, &repeats))
    }),
    op("aten::repeat_interleave", "Tensor", |context, args| {
        check_repetitions(context, args.tensor(0)?, 1)?;
        check_output(kernels::repetitions(args.tensor(0)?), 0, args.optional_int(1)?)
    }),
    op("aten::repeat_interleave", "self_Tensor", |context, args| {
        let (input, repeats, dim) = (args.tensor(0)?, args.tensor(1)?, args.optional_int(2)?);
        check_repetitions(context, repeats, input.numel())?;
        let result = kernels::repeat_interleave(input, repeats, dim);
        check_output(result, dim.unwrap_or(0), args.optional_int(3)?)
    }),
    op("aten::repeat_interleave", "self_int", |context, args| {
        let (input, dim) = (args.tensor(0)?, args.optional_int(2)?);
        let times = args.int(1)?;
        if input.dim() == 0 && dim.is_some() {
            // PyTorch puts the repetitions behind a dimension that is not there.
            input.unsqueeze(1).map_err(kernel)?;
        }
        context.budget().check_sizes(&[input.numel(), times.max(0)])?;
        let repeats = Tensor::scalar(times.into(), DType::Int64).map_err(kernel)?;
        let result = kernels::repeat_interleave(input, &repeats, dim);
        check_output(result, dim.unwrap_or(0), args.optional_int(3)?)
    }),
    op("aten::diag", "-", |_, args| made(kernels::diag(args.tensor(0)?, args.int(1)?))),
    op("aten::diagflat", "-", |_, args| {
        let flat = args.tensor(0)?.reshape(&[-1]).map_err(kernel)?;
        made(kernels::diag(&flat, args.int(1)?))
    }),
    op("aten::diag_embed", "-", |_, args| {
        made(kernels::diag_embed(args.tensor(0)?, args.int(1)?, args.int(2)?, args.int(3)?))
    }),
    op("aten::block_diag", "-", |_, args| made(kernels::block_diag(&args.tensors(0)?))),
    op("aten::meshgrid", "-", |_, args| listed(kernels::meshgrid(&args.tensors(0)?, false))),
    op("aten::meshgrid", "indexing", |_, args| {
        let xy = match &*args.str(1)? {
            "xy" => true,
            "ij" => false,
            other => {
                return Err(Raise::message(format!(
                    "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {other}"
                )));
            }
        };
        listed(kernels::meshgrid(&args.tensors(0)?, xy))
    }),
    op("aten::cartesian_prod", "-", |_, args| made(kernels::cartesian_prod(&args.tensors(0)?))),
    op("aten::combinations", "-", |_, args| {
        made(kernels::combinations(args.tensor(0)?, args.int(1)?, args.bool(2)?))
    }),
    // Joining.
    op("aten::hstack", "-", |_, args| {
        let tensors = lifted(&args, 1)?;
        let dim = i64::from(tensors.first().is_some_and(|tensor| tensor.dim() > 1));
        made(kernels::cat(&tensors, dim))
    }),
    op("aten::vstack", "-", |_, args| made(kernels::cat(&lifted(&args, 2)?, 0))),
    op("aten::dstack", "-", |_, args| made(kernels::cat(&lifted(&args, 3)?, 2))),
    op("aten::column_stack", "-", |_, args| {
        let column = |tensor: &Tensor| match tensor.dim() {
            0 | 1 => tensor.reshape(&[tensor.numel(), 1]),
            _ => Ok(tensor.clone()),
        };
        let columns: kernels::Result<Vec<Tensor>> = args.tensors(0)?.iter().map(column).collect();
        made(kernels::cat(&columns.map_err(kernel)?, 1))
    }),
    op("aten::_chunk_cat", "-", |_, args| chunk_cat(&args)),
    // Dividing.
    op("aten::split_with_sizes", "-", |_, args| {
        listed(kernels::split_with_sizes(args.tensor(0)?, &args.ints(1)?, args.int(2)?))
    }),
    op("aten::unsafe_split_with_sizes", "-", |_, args| {
        listed(kernels::split_with_sizes(args.tensor(0)?, &args.ints(1)?, args.int(2)?))
    }),
    op("aten::unsafe_split", "Tensor", |_, args| {
        listed(kernels::split(args.tensor(0)?, args.int(1)?, args.int(2)?))
    }),
    op("aten::unsafe_chunk", "-", |_, args| {
        listed(kernels::chunk(args.tensor(0)?, args.int(1)?, args.int(2)?))
    }),
    op("aten::tensor_split", "sections", |_, args| {
        listed(kernels::split_evenly(args.tensor(0)?, args.int(1)?, args.int(2)?))
    }),
    op("aten::tensor_split", "indices", |_, args| {
        listed(kernels::split_at(args.tensor(0)?, &args.ints(1)?, args.int(2)?))
    }),
    op("aten::tensor_split", "tensor_indices_or_sections", |_, args| {
        let by = args.tensor(1)?;
        if by.dtype() != DType::Int64 || by.dim() > 1 {
            return Err(Raise::unsupported("aten::tensor_split by this tensor"));
        }
        if by.dim() == 0 {
            let sections = by.item().map_err(kernel)?.to_i64();
            return listed(kernels::split_evenly(args.tensor(0)?, sections, args.int(2)?));
        }
        let indices = by.to_vec::<i64>().map_err(kernel)?;
        listed(kernels::split_at(args.tensor(0)?, &indices, args.int(2)?))
    }),
    op("aten::hsplit", "int array", |_, args| split_along(&args, "hsplit", 1)),
    op("aten::vsplit", "int array", |_, args| split_along(&args, "vsplit", 2)),
    op("aten::dsplit", "int array", |_, args| split_along(&args, "dsplit", 3)),
    // What tensors look like.
    op("aten::is_same_size", "-", |_, args| {
        Ok(Bool(args.tensor(0)?.sizes() == args.tensor(1)?.sizes()))
    }),
    op("aten::is_signed", "-", |_, args| Ok(Bool(args.tensor(0)?.dtype().is_signed()))),
    op("aten::stride", "int", |_, args| {
        let tensor = args.tensor(0)?;
        let dim = args.int(1)?;
        tensor.size(dim).map_err(kernel)?;
        let dim = if dim < 0 { dim + tensor.dim() as i64 } else { dim };
        Ok(Int(usize::try_from(dim)
            .ok()
            .and_then(|dim| tensor.strides().get(dim))
            .copied()
            .unwrap_or(0)))
    }),
    op("aten::stride", "-", |_, args| {
        let strides = args.tensor(0)?.strides().iter().copied().map(Int).collect();
        Ok(IValue::list(sconce_ir::Type::Int, strides))
    }),
    op("aten::storage_offset", "-", |_, args| Ok(Int(args.tensor(0)?.offset()))),
    op("aten::is_contiguous", "-", |_, args| Ok(Bool(args.tensor(0)?.is_contiguous()))),
    op("aten::type_as", "-", |_, args| made(args.tensor(0)?.to_dtype(args.tensor(1)?.dtype())))
        .strides(ResultStrides::Copy),
];

fn adjoint(args: &Args<'_>, name: &str) -> Result {
    made(args.tensor(0)?.matrix_transpose(name).and_then(|tensor| kernels::conj(&tensor)))
}

/// A list of tensors, each with so many dimensions at least.
fn lifted(args: &Args<'_>, dims: usize) -> Result<Vec<Tensor>> {
    let lift = |tensor: &Tensor| kernels::at_least(tensor, dims).map_err(kernel);
    args.tensors(0)?.iter().map(lift).collect()
}

fn at_least(args: &Args<'_>, dims: usize) -> Result {
    listed(Ok(lifted(args, dims)?))
}

/// Refuses what repetition would make larger than the limits.
fn check_repeated(context: &dyn OpContext, input: &Tensor, repeats: &[i64]) -> Result<()> {
    let sizes: Vec<i64> = repeats.iter().map(|&n| n.max(0)).chain([input.numel()]).collect();
    Ok(context.budget().check_sizes(&sizes)?)
}

fn check_repetitions(context: &dyn OpContext, repeats: &Tensor, times: i64) -> Result<()> {
    let total = kernels::sum(repeats, &[], false, Some(DType::Int64));
    let total = total.and_then(|total| total.item()).map_err(kernel)?.to_i64();
    Ok(context.budget().check_sizes(&[total.max(0), times])?)
}

fn check_output(result: kernels::Result<Tensor>, dim: i64, expected: Option<i64>) -> Result {
    let result = result.map_err(kernel)?;
    match expected {
        Some(size) if result.size(dim).map_err(kernel)? != size => {
            Err(Raise::unsupported("aten::repeat_interleave with another output_size"))
        }
        _ => Ok(IValue::Tensor(result)),
    }
}

/// `hsplit`, `vsplit` and `dsplit`: the dimension they divide comes with their names.
fn split_along(args: &Args<'_>, name: &str, least: usize) -> Result {
    let input = args.tensor(0)?;
    if input.dim() < least {
        return Err(Raise::message(format!(
            "torch.{name} requires a tensor with at least {least} dimension{}, but got a tensor with \
             {} dimensions!",
            if least == 1 { "" } else { "s" },
            input.dim()
        )));
    }
    let dim = match name {
        "hsplit" => i64::from(input.dim() > 1),
        "vsplit" => 0,
        _ => 2,
    };
    let IValue::Int(sections) = *args.get(1) else {
        return listed(kernels::split_at(input, &args.ints(1)?, dim));
    };
    let size = input.size(dim).map_err(kernel)?;
    if sections <= 0 || size % sections != 0 {
        return Err(Raise::message(format!(
            "torch.{name} attempted to split along dimension {dim}, but the size of the dimension \
             {size} is not divisible by the split_size {sections}!"
        )));
    }
    listed(kernels::split_evenly(input, sections, dim))
}

/// Each tensor cut into so many chunks, the last padded with zeros, and those of all side by side.
fn chunk_cat(args: &Args<'_>) -> Result {
    let (tensors, dim, count) = (args.tensors(0)?, args.int(1)?, args.int(2)?);
    let Some(first) = tensors.first() else {
        return Err(Raise::message("_chunk_cat expects a non-empty input tensor list"));
    };
    let refused = |what: &str| Err(Raise::message(format!("_chunk_cat expects {what}")));
    if tensors.iter().any(|tensor| tensor.dtype() != first.dtype()) {
        return refused("all input tensors with the same dtype");
    }
    if tensors.iter().any(|tensor| tensor.numel() == 0) {
        return refused("non-empty tensor");
    }
    if count < 1 {
        return refused("positive num_chunks");
    }
    if dim < 0 && tensors.iter().any(|tensor| tensor.dim() != first.dim()) {
        return refused("non-negative dim when input tensors have different ndims");
    }
    let dim = if dim < 0 { dim + first.dim() as i64 } else { dim };
    let run = || -> kernels::Result<Tensor> {
        let mut parts = Vec::new();
        for tensor in &tensors {
            let size = tensor.size(dim)?;
            let length = size / count + i64::from(size % count != 0);
            let mut padded = tensor.sizes().to_vec();
            if let Some(slot) = usize::try_from(dim).ok().and_then(|dim| padded.get_mut(dim)) {
                *slot = length * count;
            }
            let whole = Tensor::zeros(&padded, tensor.dtype())?;
            whole.narrow(dim, 0, size)?.copy_from(tensor)?;
            let lead = usize::try_from(dim).unwrap_or(0).min(padded.len());
            let mut sizes = padded.get(..lead).unwrap_or_default().to_vec();
            sizes.extend([count, -1]);
            parts.push(whole.view(&sizes)?);
        }
        kernels::cat(&parts, dim + 1)
    };
    made(run())
}

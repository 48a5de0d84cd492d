//! What PyTorch's own functions are made of: operators that archives hold where a function was traced
//! through, or called by `torch.ops.aten`, and names that older versions wrote.

use sconce_kernels as kernels;
use sconce_kernels::{DType, Scalar, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::overlap::OverlapRule;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{listed, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    // Casts of old versions; the flag is `non_blocking`.
    op("aten::_cast_Byte", "-", |_, args| to_dtype(&args, DType::UInt8)),
    op("aten::_cast_Char", "-", |_, args| to_dtype(&args, DType::Int8)),
    op("aten::_cast_Short", "-", |_, args| to_dtype(&args, DType::Int16)),
    op("aten::_cast_Int", "-", |_, args| to_dtype(&args, DType::Int32)),
    op("aten::_cast_Long", "-", |_, args| to_dtype(&args, DType::Int64)),
    op("aten::_cast_Half", "-", |_, args| to_dtype(&args, DType::Float16)),
    op("aten::_cast_Float", "-", |_, args| to_dtype(&args, DType::Float32)),
    op("aten::_cast_Double", "-", |_, args| to_dtype(&args, DType::Float64)),
    op("aten::_stack", "-", |_, args| made(kernels::stack(&args.tensors(0)?, args.int(1)?))),
    op("aten::flatten_dense_tensors", "-", |_, args| {
        let tensors = args.tensors(0)?;
        let flat = tensors.iter().map(|tensor| tensor.reshape(&[-1]));
        made(flat.collect::<kernels::Result<Vec<Tensor>>>().and_then(|flat| kernels::cat(&flat, 0)))
    }),
    op("aten::unflatten_dense_tensors", "-", |_, args| {
        let flat = args.tensor(0)?;
        let mut start = 0;
        let parts = args.tensors(1)?.into_iter().map(|like| {
            let part = flat.narrow(0, start, like.numel())?;
            start += like.numel();
            part.view(like.sizes())
        });
        listed(parts.collect())
    }),
    op("aten::fill_diagonal_", "-", |_, mut args| {
        fill_diagonal(args.tensor(0)?, args.scalar(1)?, args.bool(2)?).map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    // What tensors of plain memory are.
    op("aten::is_pinned", "-", |_, _| Ok(IValue::Bool(false))),
    op("aten::_is_zerotensor", "-", |_, _| Ok(IValue::Bool(false))),
    op("aten::output_nr", "-", |_, _| Ok(IValue::Int(0))),
    op("aten::is_set_to", "-", |_, args| {
        let (a, b) = (args.tensor(0)?, args.tensor(1)?);
        let same_looks =
            (a.sizes(), a.strides(), a.offset()) == (b.sizes(), b.strides(), b.offset());
        Ok(IValue::Bool(same_looks && a.storage().ptr_eq(b.storage())))
    }),
    op("aten::lift", "-", |_, mut args| Ok(args.take(0))),
    op("aten::_lazy_clone", "-", |_, args| made(args.tensor(0)?.copy())),
    op("aten::_to_cpu", "-", |_, mut args| Ok(args.take(0))),
    op("aten::copy", "-", |_, args| {
        let (like, source) = (args.tensor(0)?, args.tensor(1)?);
        made(source.to_dtype(like.dtype()).and_then(|source| source.expand(like.sizes())?.copy()))
    }),
];

fn to_dtype(args: &Args<'_>, dtype: DType) -> Result {
    made(args.tensor(0)?.to_dtype(dtype))
}

/// Writes a value on the diagonal; with `wrap`, on from the top again in tall matrices.
fn fill_diagonal(tensor: &Tensor, value: Scalar, wrap: bool) -> kernels::Result<()> {
    let (sizes, strides) = (tensor.sizes(), tensor.strides());
    let [height, width, ..] = *sizes else {
        return Err(kernels::Error::runtime("dimensions must larger than 1"));
    };
    if sizes.len() > 2 && sizes.iter().any(|&size| size != height) {
        return Err(kernels::Error::runtime("all dimensions of input must be of equal length"));
    }
    let step: i64 = strides.iter().sum();
    let short = sizes.iter().copied().min().unwrap_or(0);
    tensor.as_strided(&[short], &[step], Some(tensor.offset()))?.fill(value)?;
    if wrap && sizes.len() == 2 && height > width + 1 {
        let below = height - width - 1;
        let again = (below + width) / (width + 1);
        // Every run begins below the row that the last one left out.
        for run in 0..again {
            let first = (run + 1) * (width + 1);
            let length = width.min(height - first);
            let offset = tensor.offset() + first * strides[0];
            tensor.as_strided(&[length.max(0)], &[step], Some(offset))?.fill(value)?;
        }
    }
    Ok(())
}

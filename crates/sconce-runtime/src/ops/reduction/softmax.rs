//! Softmax and its logarithm, by all their names.

use sconce_kernels as kernels;
use sconce_kernels::{Scalar, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{cast, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::softmax", "int", |_, args| made(kernels::softmax(&cast(&args, 2)?, args.int(1)?)))
        .strides(ResultStrides::RowMajor),
    op("aten::log_softmax", "int", |_, args| {
        made(kernels::log_softmax(&cast(&args, 2)?, args.int(1)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::_safe_softmax", "-", |_, args| {
        let (scores, dim) = (args.tensor(0)?, args.int(1)?);
        kernels::layout::wrap_dim(dim, scores.dim()).map_err(kernel)?;
        let dtype = args.dtype(2)?.unwrap_or(scores.dtype());
        if scores.numel() == 0 {
            return made(Tensor::zeros(scores.sizes(), dtype));
        }
        made(scores.to_dtype(dtype).and_then(|scores| kernels::safe_softmax(&scores, dim)))
    }),
    op("aten::_softmax", "-", |_, args| made(kernels::softmax(&whole(&args)?, args.int(1)?))),
    op("aten::_log_softmax", "-", |_, args| {
        made(kernels::log_softmax(&whole(&args)?, args.int(1)?))
    }),
    op("aten::_masked_softmax", "-", |_, args| masked_softmax(&args)),
];

/// The tensor of `_softmax`, whose last flag asks for single precision of halves.
fn whole(args: &Args<'_>) -> Result<Tensor> {
    let input = args.tensor(0)?;
    if args.bool(2)? {
        return Err(Raise::message(
            "softmax with half to float conversion is not supported on CPU",
        ));
    }
    Ok(input.clone())
}

/// A softmax of what a mask leaves; whole rows of what it takes away are zeros.
fn masked_softmax(args: &Args<'_>) -> Result {
    let (input, mask) = (args.tensor(0)?, args.tensor(1)?);
    if mask.sizes() != input.sizes() {
        return Err(Raise::unsupported("_masked_softmax with a mask of other sizes"));
    }
    let dim = args.optional_int(2)?.unwrap_or(input.dim() as i64 - 1);
    let away = kernels::masked_fill(input, mask, Scalar::Float(f64::NEG_INFINITY).into());
    let soft = away.and_then(|away| kernels::softmax(&away, dim));
    made(soft.and_then(|soft| kernels::masked_fill(&soft, mask, Scalar::Int(0).into())))
}

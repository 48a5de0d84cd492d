//! Running sums, products, maxima and minima.

use sconce_kernels as kernels;
use sconce_kernels::{DType, MinMax, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{both, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::cumsum", "-", |_, args| {
        made(kernels::cumsum(args.tensor(0)?, args.int(1)?, args.dtype(2)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::cumprod", "-", |_, args| {
        made(kernels::cumprod(args.tensor(0)?, args.int(1)?, args.dtype(2)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::cumsum_", "-", |_, args| running_in_place(args, kernels::cumsum)),
    op("aten::cumprod_", "-", |_, args| running_in_place(args, kernels::cumprod)),
    op("aten::logcumsumexp", "-", |_, args| {
        made(kernels::logcumsumexp(args.tensor(0)?, args.int(1)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::cummax", "-", |_, args| {
        both(kernels::cumulative_min_max(MinMax::Max, args.tensor(0)?, args.int(1)?))
    }),
    op("aten::cummin", "-", |_, args| {
        both(kernels::cumulative_min_max(MinMax::Min, args.tensor(0)?, args.int(1)?))
    }),
    op("aten::_logcumsumexp", "-", |_, args| {
        made(kernels::logcumsumexp(args.tensor(0)?, args.int(1)?))
    }),
];

type Running = fn(&Tensor, i64, Option<DType>) -> kernels::Result<Tensor>;

/// A running reduction into its operand, whose dtype is the only one that may be asked for.
fn running_in_place(mut args: Args<'_>, function: Running) -> Result {
    let (input, dim) = (args.tensor(0)?, args.int(1)?);
    let own = input.dtype();
    let dtype = args.dtype(2)?.unwrap_or(own);
    if dtype != own {
        return Err(Raise::message(format!(
            "Bad in-place call: input tensor dtype {} and output tensor dtype {} should match",
            kernels::cpp_type_name(own),
            kernels::cpp_type_name(dtype)
        )));
    }
    let result = function(input, dim, Some(dtype)).map_err(kernel)?;
    input.copy_from(&result).map_err(kernel)?;
    Ok(args.take(0))
}

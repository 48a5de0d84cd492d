//! The greatest and the least elements, and where they are.

use sconce_kernels as kernels;
use sconce_kernels::MinMax;

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{both, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::max", "-", |_, args| {
        made(kernels::min_max_values(MinMax::Max, args.tensor(0)?, None, false))
    }),
    op("aten::min", "-", |_, args| {
        made(kernels::min_max_values(MinMax::Min, args.tensor(0)?, None, false))
    }),
    op("aten::max", "dim", |_, args| values_and_indices(&args, MinMax::Max)),
    op("aten::min", "dim", |_, args| values_and_indices(&args, MinMax::Min)),
    op("aten::argmax", "-", |_, args| {
        let (dim, keepdim) = (args.optional_int(1)?, args.bool(2)?);
        made(kernels::arg_min_max(MinMax::Max, args.tensor(0)?, dim, keepdim))
    }),
    op("aten::argmin", "-", |_, args| {
        let (dim, keepdim) = (args.optional_int(1)?, args.bool(2)?);
        made(kernels::arg_min_max(MinMax::Min, args.tensor(0)?, dim, keepdim))
    }),
    op("aten::amax", "-", |_, args| {
        made(kernels::amax(args.tensor(0)?, &args.ints(1)?, args.bool(2)?))
    }),
    op("aten::amin", "-", |_, args| {
        made(kernels::amin(args.tensor(0)?, &args.ints(1)?, args.bool(2)?))
    }),
    op("aten::aminmax", "-", |_, args| {
        let (input, dim, keepdim) = (args.tensor(0)?, args.optional_int(1)?, args.bool(2)?);
        let end = |which| kernels::min_max_values(which, input, dim, keepdim).map_err(kernel);
        let (low, high) = (end(MinMax::Min)?, end(MinMax::Max)?);
        Ok(IValue::tuple(vec![IValue::Tensor(low), IValue::Tensor(high)]))
    }),
    op("aten::_aminmax", "-", |_, args| {
        let input = args.tensor(0)?;
        both(
            kernels::amin(input, &[], false)
                .and_then(|low| Ok((low, kernels::amax(input, &[], false)?))),
        )
    }),
    op("aten::_aminmax", "dim", |_, args| {
        let (input, dim, keepdim) = (args.tensor(0)?, args.int(1)?, args.bool(2)?);
        both(
            kernels::amin(input, &[dim], keepdim)
                .and_then(|low| Ok((low, kernels::amax(input, &[dim], keepdim)?))),
        )
    }),
];

/// Values and indices of the greatest or least elements.
fn values_and_indices(args: &Args<'_>, which: MinMax) -> Result {
    both(kernels::min_max(which, args.tensor(0)?, Some(args.int(1)?), args.bool(2)?))
}

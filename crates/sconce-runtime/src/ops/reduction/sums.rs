//! Sums, means, products, and whether all or any elements are true.

use sconce_kernels as kernels;
use sconce_kernels::{DType, Tensor};

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::sum", "-", |_, args| made(kernels::sum(args.tensor(0)?, &[], false, args.dtype(1)?))),
    op("aten::sum", "dim_IntList", |_, args| {
        made(kernels::sum(args.tensor(0)?, &args.ints(1)?, args.bool(2)?, args.dtype(3)?))
    }),
    op("aten::mean", "-", |_, args| {
        made(kernels::mean(args.tensor(0)?, &[], false, args.dtype(1)?))
    }),
    op("aten::mean", "dim", |_, args| {
        made(kernels::mean(args.tensor(0)?, &args.ints(1)?, args.bool(2)?, args.dtype(3)?))
    }),
    op("aten::all", "-", |_, args| made(kernels::all(args.tensor(0)?, &[], false))),
    op("aten::all", "dim", |_, args| {
        made(kernels::all(args.tensor(0)?, &[args.int(1)?], args.bool(2)?))
    }),
    op("aten::any", "-", |_, args| made(kernels::any(args.tensor(0)?, &[], false))),
    op("aten::any", "dim", |_, args| {
        made(kernels::any(args.tensor(0)?, &[args.int(1)?], args.bool(2)?))
    }),
    op("aten::nansum", "-", |_, args| {
        let (dims, keepdim, dtype) = (args.ints(1)?, args.bool(2)?, args.dtype(3)?);
        made(kernels::nansum(args.tensor(0)?, &dims, keepdim, dtype))
    }),
    op("aten::nanmean", "-", |_, args| {
        let (dims, keepdim, dtype) = (args.ints(1)?, args.bool(2)?, args.dtype(3)?);
        made(kernels::nanmean(args.tensor(0)?, &dims, keepdim, dtype))
    }),
    op("aten::prod", "-", |_, args| {
        made(kernels::product(args.tensor(0)?, None, false, args.dtype(1)?))
    }),
    op("aten::prod", "dim_int", |_, args| {
        let (dim, keepdim) = (args.int(1)?, args.bool(2)?);
        made(kernels::product(args.tensor(0)?, Some(dim), keepdim, args.dtype(3)?))
    }),
    op("aten::all", "dims", |_, args| truth(&args, false)),
    op("aten::any", "dims", |_, args| truth(&args, true)),
    op("aten::count_nonzero", "-", |_, args| {
        let dims: Vec<i64> = args.optional_int(1)?.into_iter().collect();
        made(kernels::count_nonzero_dims(args.tensor(0)?, &dims))
    }),
    op("aten::count_nonzero", "dim_IntList", |_, args| {
        made(kernels::count_nonzero_dims(args.tensor(0)?, &args.ints(1)?))
    }),
    op("aten::logsumexp", "-", |_, args| {
        made(kernels::logsumexp(args.tensor(0)?, &args.ints(1)?, args.bool(2)?))
    }),
    op("aten::sum_to_size", "-", |_, args| {
        made(kernels::sum_to_size(args.tensor(0)?, &args.ints(1)?))
    }),
    op("aten::hash_tensor", "-", |_, args| match args.int(3)? {
        0 => made(kernels::hash(args.tensor(0)?, &args.ints(1)?, args.bool(2)?)),
        _ => Err(Raise::unsupported("aten::hash_tensor in a mode other than 0")),
    }),
    op("aten::_is_all_true", "-", |_, args| made(kernels::all(truths(&args)?, &[], false))),
    op("aten::_is_any_true", "-", |_, args| made(kernels::any(truths(&args)?, &[], false))),
    op("aten::_grad_sum_to_size", "-", |_, mut args| match args.optional_ints(1)? {
        Some(sizes) => made(kernels::sum_to_size(args.tensor(0)?, &sizes)),
        None => Ok(args.take(0)),
    }),
];

fn truth(args: &Args<'_>, any: bool) -> Result {
    let dims = args.ints(1)?;
    let dims = if args.get(1).is_none() { None } else { Some(dims.as_slice()) };
    made(kernels::truth_dims(any, args.tensor(0)?, dims, args.bool(2)?))
}

fn truths<'a>(args: &'a Args<'_>) -> Result<&'a Tensor> {
    let input = args.tensor(0)?;
    match input.dtype() {
        DType::Bool => Ok(input),
        _ => Err(Raise::message("Expected a tensor of bools")),
    }
}

//! Sorted elements, the first of them, and distinct ones.

use sconce_kernels as kernels;

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{both, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::kthvalue", "-", |_, args| {
        both(kernels::kthvalue(args.tensor(0)?, args.int(1)?, args.int(2)?, args.bool(3)?))
    }),
    op("aten::topk", "-", |_, args| {
        let (k, dim, largest, sorted) = (args.int(1)?, args.int(2)?, args.bool(3)?, args.bool(4)?);
        both(kernels::topk(args.tensor(0)?, k, dim, largest, sorted))
    }),
    op("aten::sort", "-", |_, args| {
        both(kernels::sort(args.tensor(0)?, args.int(1)?, args.bool(2)?, false))
    })
    .strides(ResultStrides::Copy),
    op("aten::sort", "stable", |_, args| {
        let stable = !args.get(1).is_none() && args.bool(1)?;
        both(kernels::sort(args.tensor(0)?, args.int(2)?, args.bool(3)?, stable))
    })
    .strides(ResultStrides::Copy),
    op("aten::argsort", "-", |_, args| argsort(&args, 1, false)).strides(ResultStrides::Copy),
    op("aten::argsort", "stable", |_, args| argsort(&args, 2, args.bool(1)?))
        .strides(ResultStrides::Copy),
    op("aten::msort", "-", |_, args| {
        made(kernels::sort(args.tensor(0)?, 0, false, true).map(|sorted| sorted.0))
    })
    .strides(ResultStrides::Copy),
    op("aten::_unique", "-", |_, args| {
        let found = kernels::unique(args.tensor(0)?, args.bool(2)?, false);
        both(found.map(|found| (found.values, found.inverse)))
    }),
];

fn argsort(args: &Args<'_>, dim: usize, stable: bool) -> Result {
    let sorted = kernels::sort(args.tensor(0)?, args.int(dim)?, args.bool(dim + 1)?, stable);
    made(sorted.map(|sorted| sorted.1))
}

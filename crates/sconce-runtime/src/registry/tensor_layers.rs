//! Operators of layers: pools.

use sconce_kernels::{self as kernels, PoolOptions};

use super::tensor_args::made;
use super::{Args, Table};
use crate::error::Raise;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(super) const TABLE: Table = &[
    ("aten::max_pool2d", "-", |_, args| {
        let mut options = pool(&args)?;
        (options.dilation, options.ceil_mode) = (pair(&args, 4)?, args.bool(5)?);
        made(kernels::max_pool2d(args.tensor(0)?, &options).map(|(values, _)| values))
    }),
    ("aten::avg_pool2d", "-", |_, args| {
        let mut options = pool(&args)?;
        options.ceil_mode = args.bool(4)?;
        let divisor = args.optional_int(6)?;
        made(kernels::avg_pool2d(args.tensor(0)?, &options, args.bool(5)?, divisor))
    }),
    ("aten::adaptive_avg_pool2d", "-", |_, args| {
        made(kernels::adaptive_avg_pool2d(args.tensor(0)?, pair(&args, 1)?))
    }),
];

/// Two ints; one stands for both.
fn pair(args: &Args<'_>, index: usize) -> Result<[i64; 2]> {
    match *args.ints(index)?.as_slice() {
        [both] => Ok([both, both]),
        [rows, columns] => Ok([rows, columns]),
        _ => Err(Raise::unsupported("a pool over other than two dimensions")),
    }
}

/// Kernel, stride (the kernel's when there is none) and padding.
fn pool(args: &Args<'_>) -> Result<PoolOptions> {
    let kernel = pair(args, 1)?;
    let stride = if args.ints(2)?.is_empty() { kernel } else { pair(args, 2)? };
    let padding = pair(args, 3)?;
    Ok(PoolOptions { kernel, stride, padding, dilation: [1, 1], ceil_mode: false })
}

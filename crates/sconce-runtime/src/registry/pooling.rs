//! Operators that pool, and their inverses.

use sconce_kernels::{self as kernels, PoolOptions};

use super::tensor_args::{both, made};
use super::{Args, Table};
use crate::error::Raise;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(super) const TABLE: Table = &[
    ("aten::max_pool1d", "-", |_, args| max_pool(&args, 1)),
    ("aten::max_pool2d", "-", |_, args| max_pool(&args, 2)),
    ("aten::max_pool3d", "-", |_, args| max_pool(&args, 3)),
    ("aten::max_pool1d_with_indices", "-", |_, args| max_pool_with_indices(&args, 1)),
    ("aten::max_pool2d_with_indices", "-", |_, args| max_pool_with_indices(&args, 2)),
    ("aten::max_pool3d_with_indices", "-", |_, args| max_pool_with_indices(&args, 3)),
    ("aten::avg_pool1d", "-", |_, args| avg_pool(&args, 1)),
    ("aten::avg_pool2d", "-", |_, args| avg_pool(&args, 2)),
    ("aten::avg_pool3d", "-", |_, args| avg_pool(&args, 3)),
    ("aten::adaptive_avg_pool1d", "-", |_, args| adaptive_avg_pool(&args, 1)),
    ("aten::adaptive_avg_pool2d", "-", |_, args| adaptive_avg_pool(&args, 2)),
    ("aten::adaptive_avg_pool3d", "-", |_, args| adaptive_avg_pool(&args, 3)),
    ("aten::_adaptive_avg_pool2d", "-", |_, args| adaptive_avg_pool(&args, 2)),
    ("aten::_adaptive_avg_pool3d", "-", |_, args| adaptive_avg_pool(&args, 3)),
    ("aten::adaptive_max_pool1d", "-", |_, args| adaptive_max_pool(&args, 1)),
    ("aten::adaptive_max_pool2d", "-", |_, args| adaptive_max_pool(&args, 2)),
    ("aten::adaptive_max_pool3d", "-", |_, args| adaptive_max_pool(&args, 3)),
    ("aten::fractional_max_pool2d", "-", |_, args| fractional_max_pool(&args, 2)),
    ("aten::fractional_max_pool3d", "-", |_, args| fractional_max_pool(&args, 3)),
    ("aten::max_unpool2d", "-", |_, args| max_unpool(&args, 2)),
    ("aten::max_unpool3d", "-", |_, args| max_unpool(&args, 3)),
];

/// The lists of a pool's options, which [`PoolOptions`] borrows.
struct Lists {
    kernel: Vec<i64>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    ceil_mode: bool,
}

impl Lists {
    fn new(args: &Args<'_>, dilation: Option<usize>, ceil_mode: usize) -> Result<Lists> {
        Ok(Lists {
            kernel: args.ints(1)?,
            stride: args.ints(2)?,
            padding: args.ints(3)?,
            dilation: dilation.map_or(Ok(vec![1]), |index| args.ints(index))?,
            ceil_mode: args.bool(ceil_mode)?,
        })
    }

    fn options(&self) -> PoolOptions<'_> {
        PoolOptions {
            kernel: &self.kernel,
            stride: &self.stride,
            padding: &self.padding,
            dilation: &self.dilation,
            ceil_mode: self.ceil_mode,
        }
    }
}

pub(super) fn max_pool(args: &Args<'_>, rank: usize) -> Result {
    let lists = Lists::new(args, Some(4), 5)?;
    made(kernels::max_pool(args.tensor(0)?, rank, &lists.options()))
}

fn max_pool_with_indices(args: &Args<'_>, rank: usize) -> Result {
    let lists = Lists::new(args, Some(4), 5)?;
    both(kernels::max_pool_with_indices(args.tensor(0)?, rank, &lists.options()))
}

fn avg_pool(args: &Args<'_>, rank: usize) -> Result {
    let lists = Lists::new(args, None, 4)?;
    // A pool over one dimension takes no divisor.
    let divisor = args.optional_int(6)?;
    made(kernels::avg_pool(args.tensor(0)?, rank, &lists.options(), args.bool(5)?, divisor))
}

/// As many ints as there are dimensions; one stands for all.
fn sizes(args: &Args<'_>, index: usize, rank: usize) -> Result<Vec<i64>> {
    let sizes = args.ints(index)?;
    match sizes.len() {
        1 => Ok(sizes.repeat(rank)),
        n if n == rank => Ok(sizes),
        n => Err(Raise::message(format!("output_size must be {rank} ints, but got {n}"))),
    }
}

fn adaptive_avg_pool(args: &Args<'_>, rank: usize) -> Result {
    made(kernels::adaptive_avg_pool(args.tensor(0)?, &sizes(args, 1, rank)?))
}

fn adaptive_max_pool(args: &Args<'_>, rank: usize) -> Result {
    both(kernels::adaptive_max_pool(args.tensor(0)?, &sizes(args, 1, rank)?))
}

fn fractional_max_pool(args: &Args<'_>, rank: usize) -> Result {
    let (kernel, output) = (sizes(args, 1, rank)?, sizes(args, 2, rank)?);
    both(kernels::fractional_max_pool(args.tensor(0)?, &kernel, &output, args.tensor(3)?))
}

fn max_unpool(args: &Args<'_>, rank: usize) -> Result {
    made(kernels::max_unpool(args.tensor(0)?, args.tensor(1)?, &sizes(args, 2, rank)?))
}

//! Operators that pool, and their inverses.

use sconce_kernels as kernels;
use sconce_kernels::PoolOptions;

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{both, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::max_pool1d", "-", |_, args| max_pool(&args, 1)),
    op("aten::max_pool2d", "-", |_, args| max_pool(&args, 2)).strides(ResultStrides::Format(4)),
    op("aten::max_pool3d", "-", |_, args| max_pool(&args, 3)).strides(ResultStrides::Format(5)),
    op("aten::max_pool1d_with_indices", "-", |_, args| max_pool_with_indices(&args, 1))
        .strides(ResultStrides::Row),
    op("aten::max_pool2d_with_indices", "-", |_, args| max_pool_with_indices(&args, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::max_pool3d_with_indices", "-", |_, args| max_pool_with_indices(&args, 3))
        .strides(ResultStrides::Format(5)),
    op("aten::avg_pool1d", "-", |_, args| avg_pool(&args, 1)).strides(ResultStrides::Row),
    op("aten::avg_pool2d", "-", |_, args| avg_pool(&args, 2)).strides(ResultStrides::Format(4)),
    op("aten::avg_pool3d", "-", |_, args| avg_pool(&args, 3)).strides(ResultStrides::RowMajor),
    op("aten::adaptive_avg_pool1d", "-", |_, args| adaptive_avg_pool(&args, 1))
        .strides(ResultStrides::Row),
    op("aten::adaptive_avg_pool2d", "-", |_, args| adaptive_avg_pool(&args, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::adaptive_avg_pool3d", "-", |_, args| adaptive_avg_pool(&args, 3))
        .strides(ResultStrides::Averaged),
    op("aten::_adaptive_avg_pool2d", "-", |_, args| adaptive_avg_pool(&args, 2)),
    op("aten::_adaptive_avg_pool3d", "-", |_, args| adaptive_avg_pool(&args, 3)),
    op("aten::adaptive_max_pool1d", "-", |_, args| adaptive_max_pool(&args, 1))
        .strides(ResultStrides::Row),
    op("aten::adaptive_max_pool2d", "-", |_, args| adaptive_max_pool(&args, 2))
        .strides(ResultStrides::Format(4)),
    op("aten::adaptive_max_pool3d", "-", |_, args| adaptive_max_pool(&args, 3))
        .strides(ResultStrides::RowMajor),
    op("aten::fractional_max_pool2d", "-", |_, args| fractional_max_pool(&args, 2)),
    op("aten::fractional_max_pool3d", "-", |_, args| fractional_max_pool(&args, 3)),
    op("aten::max_unpool2d", "-", |_, args| max_unpool(&args, "two elements (height, width)", 2))
        .strides(ResultStrides::Format(4)),
    op("aten::max_unpool3d", "-", |_, args| {
        check_unpooling(&args)?;
        max_unpool(&args, "three elements (depth, height, width)", 3)
    }),
];

/// The lists of a pool's options, which [`PoolOptions`] borrows.
pub(crate) struct Lists {
    kernel: Vec<i64>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    ceil_mode: bool,
}

impl Lists {
    /// Kernel, stride, padding and dilation, from an operand on.
    pub(crate) fn from(args: &Args<'_>, first: usize) -> Result<Lists> {
        Lists::new(args, first, Some(first + 3), first + 4)
    }

    fn new(
        args: &Args<'_>,
        first: usize,
        dilation: Option<usize>,
        ceil_mode: usize,
    ) -> Result<Lists> {
        Ok(Lists {
            kernel: args.ints(first)?,
            stride: args.ints(first + 1)?,
            padding: args.ints(first + 2)?,
            dilation: dilation.map_or(Ok(vec![1]), |index| args.ints(index))?,
            ceil_mode: args.bool(ceil_mode)?,
        })
    }

    /// Refuses numbers beyond 32 bits, which all pools do but one.
    pub(crate) fn narrow(self) -> Result<Lists> {
        let lists = [&self.kernel, &self.stride, &self.padding, &self.dilation];
        if lists.into_iter().flatten().all(|&number| i32::try_from(number).is_ok()) {
            return Ok(self);
        }
        Err(Raise::message("value cannot be converted to type int without overflow"))
    }

    pub(crate) fn options(&self) -> PoolOptions<'_> {
        PoolOptions {
            kernel: &self.kernel,
            stride: &self.stride,
            padding: &self.padding,
            dilation: &self.dilation,
            ceil_mode: self.ceil_mode,
        }
    }
}

pub(crate) fn max_pool(args: &Args<'_>, rank: usize) -> Result {
    let lists = Lists::from(args, 1)?;
    let lists = if rank == 1 { lists } else { lists.narrow()? };
    made(kernels::max_pool(args.tensor(0)?, rank, &lists.options()))
}

fn max_pool_with_indices(args: &Args<'_>, rank: usize) -> Result {
    let lists = Lists::from(args, 1)?.narrow()?;
    both(kernels::max_pool_with_indices(args.tensor(0)?, rank, &lists.options()))
}

fn avg_pool(args: &Args<'_>, rank: usize) -> Result {
    let lists = Lists::new(args, 1, None, 4)?.narrow()?;
    // A pool over one dimension takes no divisor.
    let divisor = args.optional_int(6)?;
    made(kernels::avg_pool(args.tensor(0)?, rank, &lists.options(), args.bool(5)?, divisor))
}

/// As many ints as there are dimensions; `refused` says what PyTorch says of others.
fn sizes(
    args: &Args<'_>,
    index: usize,
    rank: usize,
    refused: impl FnOnce(usize) -> String,
) -> Result<Vec<i64>> {
    let sizes = args.ints(index)?;
    match sizes.len() {
        n if n == rank => Ok(sizes),
        n => Err(Raise::message(refused(n))),
    }
}

fn adaptive_avg_pool(args: &Args<'_>, rank: usize) -> Result {
    let refused = |found| match rank {
        1 => one_size("adaptive_avg_pool1d", found),
        _ => format!("adaptive_avg_pool{rank}d: output_size must be {rank}"),
    };
    made(kernels::adaptive_avg_pool(args.tensor(0)?, &sizes(args, 1, rank, refused)?))
}

fn adaptive_max_pool(args: &Args<'_>, rank: usize) -> Result {
    let refused = |found| match rank {
        1 => one_size("adaptive_max_pool1d", found),
        _ => {
            format!("adaptive_max_pool{rank}d(): internal error: output_size.size() must be {rank}")
        }
    };
    both(kernels::adaptive_max_pool(args.tensor(0)?, &sizes(args, 1, rank, refused)?))
}

fn one_size(name: &str, found: usize) -> String {
    format!("{name}() argument 'output_size' should contain one int (got {found})")
}

fn fractional_max_pool(args: &Args<'_>, rank: usize) -> Result {
    let of_three = if rank == 3 { " of three" } else { " of" };
    let refused = |what: &str| {
        format!(
            "fractional_max_pool{rank}d: {what} must either be a single Int or tuple{of_three} Ints"
        )
    };
    let kernel = sizes(args, 1, rank, |_| refused("kernel_size"))?;
    let output = sizes(args, 2, rank, |_| refused("output_size"))?;
    both(kernels::fractional_max_pool(args.tensor(0)?, &kernel, &output, args.tensor(3)?))
}

fn max_unpool(args: &Args<'_>, wanted: &str, rank: usize) -> Result {
    let refused = |found| unpooling(wanted, "output_size", &format!("but got {found} elements."));
    made(kernels::max_unpool(args.tensor(0)?, args.tensor(1)?, &sizes(args, 2, rank, refused)?))
}

fn unpooling(wanted: &str, what: &str, found: &str) -> String {
    format!("There should be exactly {wanted} in {what}, {found}")
}

/// Stride and padding of `aten::max_unpool3d`, which change nothing.
fn check_unpooling(args: &Args<'_>) -> Result<()> {
    for (index, what) in [(3, "stride"), (4, "padding")] {
        sizes(args, index, 3, |found| {
            let found = format!("but got: {found} elements.");
            unpooling("three elements (depth, height, width)", what, &found)
        })?;
    }
    let strides = args.ints(3)?;
    match strides.iter().all(|&stride| stride > 0) {
        true => Ok(()),
        false => Err(Raise::message(format!(
            "strides should be greater than zero, but got stride: {strides:?}"
        ))),
    }
}

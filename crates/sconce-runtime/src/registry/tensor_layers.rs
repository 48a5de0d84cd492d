//! Operators of layers: convolutions.

use sconce_kernels::{self as kernels, ConvOptions};

use super::tensor_args::made;
use super::{Args, Table};
use crate::error::Raise;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(super) const TABLE: Table = &[
    ("aten::conv1d", "-", |_, args| convolve(&args, 6)),
    ("aten::conv2d", "-", |_, args| convolve(&args, 6)),
    ("aten::conv3d", "-", |_, args| convolve(&args, 6)),
    ("aten::_convolution", "- deprecated", |_, args| match args.bool(6)? {
        false => convolve(&args, 8),
        true => Err(Raise::unsupported("aten::_convolution, transposed")),
    }),
    ("aten::bilinear", "-", |_, args| {
        let (weight, bias) = (args.tensor(2)?, args.optional_tensor(3)?);
        made(kernels::bilinear(args.tensor(0)?, args.tensor(1)?, weight, bias))
    }),
];

fn convolve(args: &Args<'_>, groups: usize) -> Result {
    let (stride, padding, dilation) = (args.ints(3)?, args.ints(4)?, args.ints(5)?);
    let options = ConvOptions {
        stride: &stride,
        padding: &padding,
        dilation: &dilation,
        groups: args.int(groups)?,
    };
    made(kernels::conv(args.tensor(0)?, args.tensor(1)?, args.optional_tensor(2)?, &options))
}

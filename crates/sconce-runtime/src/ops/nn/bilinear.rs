//! Operators of layers that are no convolution, pool or norm.

use sconce_kernels as kernels;

use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;

pub(crate) const TABLE: Table = &[op("aten::bilinear", "-", |_, args| {
    let (weight, bias) = (args.tensor(2)?, args.optional_tensor(3)?);
    made(kernels::bilinear(args.tensor(0)?, args.tensor(1)?, weight, bias))
})];

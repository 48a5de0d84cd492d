//! Operators of layers that are no convolution, pool or norm.

use sconce_kernels as kernels;
use sconce_kernels::{BinaryOp, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::bilinear", "-", |_, args| {
        let (weight, bias) = (args.tensor(2)?, args.optional_tensor(3)?);
        made(kernels::bilinear(args.tensor(0)?, args.tensor(1)?, weight, bias))
    }),
    op("aten::_trilinear", "-", |_, args| trilinear(&args)),
];

/// `(a * b * c).sum(dims)`, each with dimensions put in.
fn trilinear(args: &Args<'_>) -> Result {
    let expanded = |index: usize, dims: usize| -> Result<Tensor> {
        let dims = args.ints(dims)?;
        let input = args.tensor(index)?.clone();
        dims.iter().try_fold(input, |tensor, &dim| tensor.unsqueeze(dim)).map_err(kernel)
    };
    let (a, b, c) = (expanded(0, 3)?, expanded(1, 4)?, expanded(2, 5)?);
    let product = kernels::binary(BinaryOp::Mul, (&a).into(), (&b).into());
    let product = product.and_then(|ab| kernels::binary(BinaryOp::Mul, (&ab).into(), (&c).into()));
    let dims = args.ints(6)?;
    made(product.and_then(|product| kernels::sum(&product, &dims, false, None)))
}

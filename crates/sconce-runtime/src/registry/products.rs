//! Products of vectors, matrices and tensors.

use sconce_kernels::{self as kernels, Scalar, Tensor};
use sconce_linalg as linalg;

use super::tensor_args::{kernel, made};
use super::{Args, Table};
use crate::error::Raise;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(super) const TABLE: Table = &[
    ("aten::addmm", "-", |_, args| fused(&args, addmm)),
    ("aten::addmm_", "-", |_, args| fused_in_place(args, addmm)),
    ("aten::addmv", "-", |_, args| fused(&args, linalg::addmv)),
    ("aten::addmv_", "-", |_, args| fused_in_place(args, linalg::addmv)),
    ("aten::addr", "-", |_, args| fused(&args, linalg::addr)),
    ("aten::addr_", "-", |_, args| fused_in_place(args, linalg::addr)),
    ("aten::addbmm", "-", |_, args| fused(&args, linalg::addbmm)),
    ("aten::addbmm_", "-", |_, mut args| {
        let (input, a, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
        let result = linalg::addbmm(input, a, b, args.scalar(3)?, args.scalar(4)?);
        let result = result.map_err(kernel)?;
        // The one of these that takes the sizes of its result.
        input.resize(result.sizes()).map_err(kernel)?;
        input.copy_from(&result).map_err(kernel)?;
        Ok(args.take(0))
    }),
    ("aten::baddbmm", "-", |_, args| fused(&args, linalg::batch_addmm)),
    ("aten::baddbmm_", "-", |_, args| fused_in_place(args, linalg::batch_addmm)),
    ("aten::outer", "-", |_, args| made(linalg::outer(args.tensor(0)?, args.tensor(1)?))),
    ("aten::ger", "-", |_, args| made(linalg::outer(args.tensor(0)?, args.tensor(1)?))),
    ("aten::vdot", "-", |_, args| made(linalg::vdot(args.tensor(0)?, args.tensor(1)?))),
    ("aten::inner", "-", |_, args| made(linalg::inner(args.tensor(0)?, args.tensor(1)?))),
    ("aten::kron", "-", |_, args| made(linalg::kron(args.tensor(0)?, args.tensor(1)?))),
    ("aten::trace", "-", |_, args| made(linalg::trace(args.tensor(0)?))),
    ("aten::tensordot", "-", |_, args| {
        let (a, b) = (args.tensor(0)?, args.tensor(1)?);
        made(linalg::tensordot(a, b, &args.ints(2)?, &args.ints(3)?))
    }),
    ("aten::einsum", "-", |_, args| {
        let (tensors, path) = (args.tensors(1)?, args.optional_ints(2)?);
        made(linalg::einsum(&args.str(0)?, &tensors, path.as_deref()))
    }),
    ("aten::cross", "-", |_, args| {
        made(linalg::cross(args.tensor(0)?, args.tensor(1)?, args.optional_int(2)?))
    }),
    ("aten::linalg_cross", "-", |_, args| {
        made(linalg::linalg_cross(args.tensor(0)?, args.tensor(1)?, args.int(2)?))
    }),
    ("aten::linalg_vecdot", "-", |_, args| {
        made(linalg::vecdot(args.tensor(0)?, args.tensor(1)?, args.int(2)?))
    }),
    ("aten::linalg_vander", "-", |_, args| {
        made(linalg::vander(args.tensor(0)?, args.optional_int(1)?))
    }),
    ("aten::linalg_matmul", "-", |_, args| made(kernels::matmul(args.tensor(0)?, args.tensor(1)?))),
    ("aten::linalg_multi_dot", "-", |_, args| made(linalg::multi_dot(&args.tensors(0)?))),
    ("aten::chain_matmul", "-", |_, args| {
        let matrices = args.tensors(0)?;
        match matrices.as_slice() {
            [one] => Ok(IValue::Tensor(one.clone())),
            _ => made(linalg::multi_dot(&matrices)),
        }
    }),
];

type Fused = fn(&Tensor, &Tensor, &Tensor, Scalar, Scalar) -> kernels::Result<Tensor>;

/// `beta * input + alpha * product`.
fn fused(args: &Args<'_>, function: Fused) -> Result {
    let (input, a, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    made(function(input, a, b, args.scalar(3)?, args.scalar(4)?))
}

fn fused_in_place(mut args: Args<'_>, function: Fused) -> Result {
    let (input, a, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    let result = function(input, a, b, args.scalar(3)?, args.scalar(4)?).map_err(kernel)?;
    kernels::store(input, &result).map_err(kernel)?;
    Ok(args.take(0))
}

fn addmm(
    input: &Tensor,
    a: &Tensor,
    b: &Tensor,
    beta: Scalar,
    alpha: Scalar,
) -> kernels::Result<Tensor> {
    let whole = |factor: Scalar| match a.dtype().is_integral() {
        true => Scalar::Int(factor.to_i64()),
        false => factor,
    };
    kernels::addmm(input, a, b, whole(beta), whole(alpha))
}

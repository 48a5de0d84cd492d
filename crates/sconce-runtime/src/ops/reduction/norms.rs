//! Norms, and what is scaled by one.

use sconce_kernels as kernels;
use sconce_kernels::{BinaryOp, Tensor, UnaryOp};

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{both, cast, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::norm", "ScalarOpt_dim", |_, args| {
        made(kernels::norm(args.tensor(0)?, power(&args)?, &args.ints(2)?, args.bool(3)?))
    }),
    op("aten::norm", "Scalar", |_, args| {
        made(kernels::norm(args.tensor(0)?, args.real(1)?, &[], false))
    }),
    op("aten::norm", "ScalarOpt_dtype", |_, args| {
        made(kernels::norm(&cast(&args, 2)?, power(&args)?, &[], false))
    }),
    op("aten::norm", "ScalarOpt_dim_dtype", |_, args| {
        made(kernels::norm(&cast(&args, 4)?, power(&args)?, &args.ints(2)?, args.bool(3)?))
    }),
    op("aten::native_norm", "-", |_, args| {
        made(kernels::norm(args.tensor(0)?, args.real(1)?, &[], false))
    }),
    op("aten::linalg_vector_norm", "-", |_, args| {
        let (order, dims) = (args.real(1)?, args.ints(2)?);
        made(kernels::vector_norm(args.tensor(0)?, order, &dims, args.bool(3)?, args.dtype(4)?))
    }),
    op("aten::frobenius_norm", "dim", |_, args| {
        made(kernels::vector_norm(args.tensor(0)?, 2.0, &args.ints(1)?, args.bool(2)?, None))
    }),
    op("aten::renorm", "-", |_, args| {
        made(kernels::renorm(args.tensor(0)?, args.real(1)?, args.int(2)?, args.real(3)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::dist", "-", |_, args| {
        made(kernels::dist(args.tensor(0)?, args.tensor(1)?, args.real(2)?))
    }),
    op("aten::norm_except_dim", "-", |_, args| {
        let (p, dim) = (args.int(1)? as f64, args.int(2)?);
        made(norm_except_dim(args.tensor(0)?, p, dim))
    }),
    op("aten::_weight_norm", "-", |_, args| {
        let (v, g) = (args.tensor(0)?, args.tensor(1)?);
        made(weight_norm(v, g, args.int(2)?).map(|(weight, _)| weight))
    }),
    op("aten::_weight_norm_interface", "-", |_, args| {
        let (v, g) = (args.tensor(0)?, args.tensor(1)?);
        both(weight_norm(v, g, args.int(2)?))
    }),
];

/// Which norm operand 1 asks for: the second where it does not say.
fn power(args: &Args<'_>) -> Result<f64> {
    Ok(args.optional_real(1)?.unwrap_or(2.0))
}

/// The norm over all dimensions but one, or over all where that is -1.
fn norm_except_dim(v: &Tensor, p: f64, dim: i64) -> kernels::Result<Tensor> {
    let dims = v.dim() as i64;
    if dim == -1 {
        return kernels::norm(v, p, &[], false);
    }
    let keep = kernels::layout::wrap_dim(dim, v.dim())? as i64;
    let others: Vec<i64> = (0..dims).filter(|&at| at != keep).collect();
    match others.is_empty() {
        true => kernels::unary(UnaryOp::Abs, v),
        false => kernels::norm(v, p, &others, true),
    }
}

/// `v` scaled so that its norm is `g`, and the norm that it had.
fn weight_norm(v: &Tensor, g: &Tensor, dim: i64) -> kernels::Result<(Tensor, Tensor)> {
    let norm = norm_except_dim(v, 2.0, dim)?;
    let scale = kernels::binary(BinaryOp::Div, g.into(), (&norm).into())?;
    Ok((kernels::binary(BinaryOp::Mul, v.into(), (&scale).into())?, norm))
}

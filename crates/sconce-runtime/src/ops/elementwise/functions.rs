//! Operators on elements, beyond arithmetic.

use sconce_kernels as kernels;
use sconce_kernels::{BinaryOp, PointwiseOp, Scalar, Tensor, UnaryOp};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::fusion::fuse;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue::{self, Bool};

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::exp2", "-", |_, args| unary(&args, UnaryOp::Exp2)).strides(ResultStrides::Elements),
    op("aten::asinh", "-", |_, args| unary(&args, UnaryOp::Asinh)).strides(ResultStrides::Elements),
    op("aten::acosh", "-", |_, args| unary(&args, UnaryOp::Acosh)).strides(ResultStrides::Elements),
    op("aten::atanh", "-", |_, args| unary(&args, UnaryOp::Atanh)).strides(ResultStrides::Elements),
    op("aten::erfc", "-", |_, args| unary(&args, UnaryOp::Erfc)).strides(ResultStrides::Elements),
    op("aten::frac", "-", |_, args| unary(&args, UnaryOp::Frac)).strides(ResultStrides::Elements),
    op("aten::deg2rad", "-", |_, args| map(&args, "deg2rad", f64::to_radians))
        .strides(ResultStrides::Copy),
    op("aten::rad2deg", "-", |_, args| map(&args, "rad2deg", f64::to_degrees))
        .strides(ResultStrides::Copy),
    op("aten::positive", "-", |_, mut args| {
        if args.tensor(0)?.dtype() == kernels::DType::Bool {
            return Err(Raise::message("The `+` operator, on a bool tensor is not supported."));
        }
        Ok(args.take(0))
    }),
    op("aten::signbit", "-", |_, args| made(kernels::signbit(args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::isposinf", "-", |_, args| made(kernels::is_exactly(f64::INFINITY, args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::isneginf", "-", |_, args| {
        made(kernels::is_exactly(f64::NEG_INFINITY, args.tensor(0)?))
    })
    .strides(ResultStrides::Elements),
    op("aten::isreal", "-", |_, args| made(kernels::isreal(args.tensor(0)?)))
        .strides(ResultStrides::Copy),
    op("aten::frexp", "Tensor", |_, args| {
        let (mantissa, exponent) = kernels::frexp(args.tensor(0)?).map_err(kernel)?;
        Ok(IValue::tuple(vec![IValue::Tensor(mantissa), IValue::Tensor(exponent)]))
    })
    .strides(ResultStrides::Copy),
    op("aten::round", "decimals", |_, args| {
        made(kernels::round_decimals(args.tensor(0)?, args.int(1)?))
    })
    .strides(ResultStrides::Elements),
    op("aten::nan_to_num", "-", |_, args| {
        let (nan, high, low) =
            (args.optional_real(1)?, args.optional_real(2)?, args.optional_real(3)?);
        made(kernels::nan_to_num(args.tensor(0)?, nan, high, low))
    })
    .strides(ResultStrides::Copy),
    op("aten::logit", "-", |_, args| made(kernels::logit(args.tensor(0)?, args.optional_real(1)?)))
        .strides(ResultStrides::Elements),
    op("aten::fmax", "-", |_, args| binary(&args, BinaryOp::Fmax)).strides(ResultStrides::Numbers),
    op("aten::fmin", "-", |_, args| binary(&args, BinaryOp::Fmin)).strides(ResultStrides::Numbers),
    op("aten::logical_xor", "-", |_, args| binary(&args, BinaryOp::LogicalXor))
        .strides(ResultStrides::Numbers),
    op("aten::__lshift__", "Tensor Scalar", |_, args| binary(&args, BinaryOp::LeftShift))
        .strides(ResultStrides::Numbers),
    op("aten::__rshift__", "Tensor Scalar", |_, args| binary(&args, BinaryOp::RightShift))
        .strides(ResultStrides::Numbers),
    op("aten::bitwise_left_shift", "Tensor Tensor_Scalar Scalar_Tensor", |_, args| {
        binary(&args, BinaryOp::LeftShift)
    })
    .strides(ResultStrides::Numbers),
    op("aten::bitwise_right_shift", "Tensor Tensor_Scalar Scalar_Tensor", |_, args| {
        binary(&args, BinaryOp::RightShift)
    })
    .strides(ResultStrides::Numbers),
    op("aten::bitwise_and", "Scalar_Tensor", |_, args| binary(&args, BinaryOp::BitwiseAnd))
        .strides(ResultStrides::Numbers),
    op("aten::bitwise_or", "Scalar_Tensor", |_, args| binary(&args, BinaryOp::BitwiseOr))
        .strides(ResultStrides::Numbers),
    op("aten::bitwise_xor", "Scalar_Tensor", |_, args| binary(&args, BinaryOp::BitwiseXor))
        .strides(ResultStrides::Numbers),
    op("aten::remainder", "Scalar_Tensor", |_, args| binary(&args, BinaryOp::Remainder))
        .strides(ResultStrides::Numbers),
    op("aten::copysign", "Tensor Scalar", |_, args| zip(&args, "copysign_cpu", f64::copysign))
        .strides(ResultStrides::Numbers),
    op("aten::hypot", "-", |_, args| {
        made(kernels::special::of_tensors::hypot(args.tensor(0)?, args.tensor(1)?))
    })
    .strides(ResultStrides::Numbers),
    op("aten::nextafter", "-", |_, args| {
        made(kernels::nextafter(args.tensor(0)?, args.tensor(1)?))
    })
    .strides(ResultStrides::Numbers),
    op("aten::heaviside", "-", |_, args| {
        made(kernels::heaviside(args.tensor(0)?, args.tensor(1)?))
    })
    .strides(ResultStrides::Numbers),
    op("aten::gcd", "-", |_, args| made(kernels::gcd(args.tensor(0)?, args.tensor(1)?)))
        .strides(ResultStrides::Numbers),
    op("aten::lcm", "-", |_, args| made(kernels::lcm(args.tensor(0)?, args.tensor(1)?)))
        .strides(ResultStrides::Numbers),
    op("aten::ldexp", "Tensor", |_, args| made(kernels::ldexp(args.tensor(0)?, args.tensor(1)?)))
        .strides(ResultStrides::Elements),
    op("aten::float_power", "Tensor_Tensor Tensor_Scalar", |_, args| {
        made(kernels::float_power(args.operand(0)?, args.operand(1)?))
    })
    .strides(ResultStrides::Elements),
    op("aten::float_power", "Scalar", |_, args| {
        made(kernels::float_power(args.operand(0)?, args.operand(1)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::clamp_min", "- Tensor", |_, args| {
        made(kernels::clamp(args.tensor(0)?, Some(args.operand(1)?), None))
    })
    .strides(ResultStrides::Elements)
    .fuse(&[fuse(PointwiseOp::ClampMin)]),
    op("aten::clamp_max", "- Tensor", |_, args| {
        made(kernels::clamp(args.tensor(0)?, None, Some(args.operand(1)?)))
    })
    .strides(ResultStrides::Elements)
    .fuse(&[fuse(PointwiseOp::ClampMax)]),
    op("aten::lerp", "Scalar Tensor", |_, args| {
        made(kernels::lerp(args.tensor(0)?, args.tensor(1)?, args.operand(2)?))
    })
    .strides(ResultStrides::Elements)
    .fuse(&[fuse(PointwiseOp::Lerp)]),
    op("aten::addcmul", "-", |_, args| {
        let (a, b) = (args.tensor(1)?, args.tensor(2)?);
        made(kernels::addcmul(args.tensor(0)?, a, b, args.scalar(3)?))
    })
    .strides(ResultStrides::Elements)
    .fuse(&[fuse(PointwiseOp::Addcmul)]),
    op("aten::addcdiv", "-", |_, args| {
        let (a, b) = (args.tensor(1)?, args.tensor(2)?);
        made(kernels::addcdiv(args.tensor(0)?, a, b, args.scalar(3)?))
    })
    .strides(ResultStrides::Elements)
    .fuse(&[fuse(PointwiseOp::Addcdiv)]),
    op("aten::isclose", "-", |_, args| made(isclose(&args)?)).strides(ResultStrides::Numbers),
    op("aten::allclose", "-", |_, args| {
        let flags = isclose(&args)?.map_err(kernel)?;
        kernels::all_true(&flags).map(Bool).map_err(kernel)
    }),
    op("aten::equal", "-", |_, args| {
        kernels::equal(args.tensor(0)?, args.tensor(1)?).map(Bool).map_err(kernel)
    }),
    op("aten::isin", "Tensor_Tensor Tensor_Scalar Scalar_Tensor", |_, args| {
        made(kernels::isin(args.operand(0)?, args.operand(1)?, args.bool(3)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::fill", "Scalar Tensor", |_, args| {
        made(kernels::filled_like(args.tensor(0)?, args.operand(1)?))
    })
    .strides(ResultStrides::Copy),
    op("aten::zero", "-", |_, args| {
        made(kernels::filled_like(args.tensor(0)?, Scalar::Int(0).into()))
    })
    .strides(ResultStrides::Copy),
    op("aten::is_nonzero", "-", |_, args| {
        args.tensor(0)?.item().map(|item| Bool(item.to_bool())).map_err(kernel)
    }),
    op("aten::where", "-", |_, args| crate::ops::indexing::coordinates(args.tensor(0)?)),
];

fn isclose(args: &Args<'_>) -> Result<kernels::Result<Tensor>> {
    let (rtol, atol) = (args.real(2)?, args.real(3)?);
    Ok(kernels::isclose(args.tensor(0)?, args.tensor(1)?, rtol, atol, args.bool(4)?))
}

fn unary(args: &Args<'_>, op: UnaryOp) -> Result {
    made(kernels::unary(op, args.tensor(0)?))
}

fn binary(args: &Args<'_>, op: BinaryOp) -> Result {
    made(kernels::binary(op, args.operand(0)?, args.operand(1)?))
}

fn map(args: &Args<'_>, kernel: &str, function: impl Fn(f64) -> f64 + Copy + Sync) -> Result {
    made(kernels::map_float(kernel, args.tensor(0)?, function))
}

fn zip(args: &Args<'_>, kernel: &str, function: impl Fn(f64, f64) -> f64 + Copy + Sync) -> Result {
    made(kernels::zip_float(kernel, args.operand(0)?, args.operand(1)?, function))
}

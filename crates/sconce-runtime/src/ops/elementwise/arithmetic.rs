//! Arithmetic, comparisons and functions of single elements.

use sconce_kernels as kernels;
use sconce_kernels::{BinaryOp, PointwiseOp, Scalar, Tensor, UnaryOp};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::fusion::fuse;
use crate::ops::descriptor::overlap::OverlapRule;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, fast_path, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::add", "Tensor Scalar", |_, args| added(&args, kernels::add))
        .strides(ResultStrides::Numbers)
        .fast_path(|args| fast_path::added(args, BinaryOp::Add))
        .fuse(&[fuse(PointwiseOp::Add)]),
    op("aten::sub", "Tensor Scalar", |_, args| added(&args, kernels::sub))
        .strides(ResultStrides::Numbers)
        .fast_path(|args| fast_path::added(args, BinaryOp::Sub))
        .fuse(&[fuse(PointwiseOp::Sub)]),
    op("aten::rsub", "Tensor Scalar", |_, args| {
        made(kernels::sub(args.operand(1)?, args.operand(0)?, args.scalar(2)?))
    })
    .strides(ResultStrides::Reversed)
    .fuse(&[fuse(PointwiseOp::Sub).taking(&[1, 0, 2])]),
    op("aten::add_", "Tensor", |_, args| added_in_place(args, kernels::add))
        .fast_path(|args| fast_path::added_in_place(args, BinaryOp::Add)),
    op("aten::add_", "Scalar", |_, args| added_in_place(args, kernels::add)),
    op("aten::sub_", "Tensor", |_, args| added_in_place(args, kernels::sub))
        .fast_path(|args| fast_path::added_in_place(args, BinaryOp::Sub)),
    op("aten::sub_", "Scalar", |_, args| added_in_place(args, kernels::sub)),
    op("aten::mul", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Mul))
        .strides(ResultStrides::Numbers)
        .fast_path(|args| fast_path::binary(args, BinaryOp::Mul))
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Mul))]),
    op("aten::div", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Div))
        .strides(ResultStrides::Numbers)
        .fast_path(|args| fast_path::binary(args, BinaryOp::Div))
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Div))]),
    op("aten::div", "Tensor_mode Scalar_mode", |_, args| {
        let op = match args.get(2) {
            IValue::None => BinaryOp::Div,
            IValue::Str(mode) if &**mode == "trunc" => BinaryOp::DivTrunc,
            IValue::Str(mode) if &**mode == "floor" => BinaryOp::DivFloor,
            IValue::Str(mode) => {
                return Err(Raise::message(format!(
                    "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found \
                     '{mode}'"
                )));
            }
            _ => return Err(Raise::unsupported("a rounding mode that is not a string")),
        };
        binary(&args, op)
    })
    .strides(ResultStrides::Numbers)
    .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Div)).when(2, None)]),
    op("aten::floor_divide", "- Scalar", |_, args| binary(&args, BinaryOp::DivFloor))
        .strides(ResultStrides::Numbers),
    op("aten::pow", "Tensor_Tensor Tensor_Scalar", |_, args| binary(&args, BinaryOp::Pow))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Pow))]),
    op("aten::pow", "Scalar", |_, args| binary(&args, BinaryOp::Pow))
        .strides(ResultStrides::RowMajor)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Pow))]),
    op("aten::remainder", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Remainder))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Remainder))]),
    op("aten::fmod", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Fmod))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Fmod))]),
    op("aten::maximum", "-", |_, args| binary(&args, BinaryOp::Maximum))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Maximum))]),
    op("aten::minimum", "-", |_, args| binary(&args, BinaryOp::Minimum))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Minimum))]),
    op("aten::max", "other", |_, args| binary(&args, BinaryOp::Maximum))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Maximum))]),
    op("aten::min", "other", |_, args| binary(&args, BinaryOp::Minimum))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Minimum))]),
    op("aten::atan2", "-", |_, args| binary(&args, BinaryOp::Atan2))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Atan2))]),
    op("aten::eq", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Eq))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Eq))]),
    op("aten::ne", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Ne))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Ne))]),
    op("aten::lt", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Lt))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Lt))]),
    op("aten::le", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Le))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Le))]),
    op("aten::gt", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Gt))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Gt))]),
    op("aten::ge", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Ge))
        .strides(ResultStrides::Numbers)
        .fuse(&[fuse(PointwiseOp::Binary(BinaryOp::Ge))]),
    op("aten::bitwise_and", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseAnd))
        .strides(ResultStrides::Numbers),
    op("aten::bitwise_or", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseOr))
        .strides(ResultStrides::Numbers),
    op("aten::bitwise_xor", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseXor))
        .strides(ResultStrides::Numbers),
    op("aten::__and__", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseAnd))
        .strides(ResultStrides::Numbers),
    op("aten::__or__", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseOr))
        .strides(ResultStrides::Numbers),
    op("aten::__xor__", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseXor))
        .strides(ResultStrides::Numbers),
    op("aten::__iand__", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::BitwiseAnd)),
    op("aten::__ior__", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::BitwiseOr)),
    op("aten::__ixor__", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::BitwiseXor)),
    op("aten::__ilshift__", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::LeftShift)),
    op("aten::__irshift__", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::RightShift)),
    op("aten::logical_and", "-", |_, args| binary(&args, BinaryOp::LogicalAnd))
        .strides(ResultStrides::Numbers),
    op("aten::logical_or", "-", |_, args| binary(&args, BinaryOp::LogicalOr))
        .strides(ResultStrides::Numbers),
    op("aten::mul_", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::Mul))
        .fast_path(|args| fast_path::in_place(args, BinaryOp::Mul)),
    op("aten::div_", "Tensor", |_, args| binary_in_place(args, BinaryOp::Div))
        .fast_path(|args| fast_path::in_place(args, BinaryOp::Div)),
    op("aten::div_", "Scalar", |_, args| binary_in_place(args, BinaryOp::Div)),
    op("aten::neg", "-", |_, args| unary(&args, UnaryOp::Neg))
        .strides(ResultStrides::Elements)
        .fast_path(|args| fast_path::unary(args, UnaryOp::Neg))
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Neg))]),
    op("aten::abs", "-", |_, args| unary(&args, UnaryOp::Abs))
        .strides(ResultStrides::Elements)
        .fast_path(|args| fast_path::unary(args, UnaryOp::Abs))
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Abs))]),
    op("aten::abs_", "-", |_, args| {
        if args.tensor(0)?.dtype().is_complex() {
            return Err(Raise::message("In-place abs is not supported for complex tensors."));
        }
        unary_in_place(args, UnaryOp::Abs)
    }),
    op("prim::abs", "-", |_, args| unary(&args, UnaryOp::Abs)).strides(ResultStrides::Elements),
    op("aten::sign", "-", |_, args| unary(&args, UnaryOp::Sign))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Sign))]),
    op("aten::square", "-", |_, args| unary(&args, UnaryOp::Square))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Square))]),
    op("aten::exp", "-", |_, args| unary(&args, UnaryOp::Exp))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Exp))]),
    op("aten::expm1", "-", |_, args| unary(&args, UnaryOp::Expm1))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Expm1))]),
    op("aten::log", "-", |_, args| unary(&args, UnaryOp::Log))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Log))]),
    op("aten::log2", "-", |_, args| unary(&args, UnaryOp::Log2))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Log2))]),
    op("aten::log10", "-", |_, args| unary(&args, UnaryOp::Log10))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Log10))]),
    op("aten::log1p", "-", |_, args| unary(&args, UnaryOp::Log1p))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Log1p))]),
    op("aten::sqrt", "-", |_, args| unary(&args, UnaryOp::Sqrt))
        .strides(ResultStrides::Elements)
        .fast_path(|args| fast_path::unary(args, UnaryOp::Sqrt))
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Sqrt))]),
    op("aten::rsqrt", "-", |_, args| unary(&args, UnaryOp::Rsqrt))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Rsqrt))]),
    op("aten::reciprocal", "-", |_, args| unary(&args, UnaryOp::Reciprocal))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Reciprocal))]),
    op("aten::sin", "-", |_, args| unary(&args, UnaryOp::Sin))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Sin))]),
    op("aten::cos", "-", |_, args| unary(&args, UnaryOp::Cos))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Cos))]),
    op("aten::tan", "-", |_, args| unary(&args, UnaryOp::Tan)).strides(ResultStrides::Elements),
    op("aten::asin", "-", |_, args| unary(&args, UnaryOp::Asin)).strides(ResultStrides::Elements),
    op("aten::acos", "-", |_, args| unary(&args, UnaryOp::Acos)).strides(ResultStrides::Elements),
    op("aten::atan", "-", |_, args| unary(&args, UnaryOp::Atan)).strides(ResultStrides::Elements),
    op("aten::sinh", "-", |_, args| unary(&args, UnaryOp::Sinh)).strides(ResultStrides::Elements),
    op("aten::cosh", "-", |_, args| unary(&args, UnaryOp::Cosh)).strides(ResultStrides::Elements),
    op("aten::tanh", "-", |_, args| unary(&args, UnaryOp::Tanh))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Tanh))]),
    op("aten::sigmoid", "-", |_, args| unary(&args, UnaryOp::Sigmoid))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Sigmoid))]),
    op("aten::erf", "-", |_, args| unary(&args, UnaryOp::Erf))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Erf))]),
    op("aten::floor", "-", |_, args| unary(&args, UnaryOp::Floor))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Floor))]),
    op("aten::ceil", "-", |_, args| unary(&args, UnaryOp::Ceil))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Ceil))]),
    op("aten::round", "-", |_, args| unary(&args, UnaryOp::Round))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Round))]),
    op("aten::trunc", "-", |_, args| unary(&args, UnaryOp::Trunc))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Trunc))]),
    op("aten::relu", "-", |_, args| unary(&args, UnaryOp::Relu))
        .strides(ResultStrides::Elements)
        .fast_path(|args| fast_path::unary(args, UnaryOp::Relu))
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Relu))]),
    op("aten::relu6", "-", |_, args| unary(&args, UnaryOp::Relu6))
        .strides(ResultStrides::Copy)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Relu6))]),
    op("aten::silu", "-", |_, args| unary(&args, UnaryOp::Silu))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Silu))]),
    op("aten::mish", "-", |_, args| unary(&args, UnaryOp::Mish))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Mish))]),
    op("aten::hardsigmoid", "-", |_, args| unary(&args, UnaryOp::Hardsigmoid))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Hardsigmoid))]),
    op("aten::hardswish", "-", |_, args| unary(&args, UnaryOp::Hardswish))
        .strides(ResultStrides::Elements)
        .fuse(&[fuse(PointwiseOp::Unary(UnaryOp::Hardswish))]),
    op("aten::relu_", "-", |_, args| unary_in_place(args, UnaryOp::Relu)),
    op("aten::silu_", "-", |_, args| unary_in_place(args, UnaryOp::Silu)),
    op("aten::mish_", "-", |_, args| unary_in_place(args, UnaryOp::Mish)),
    op("aten::hardsigmoid_", "-", |_, args| unary_in_place(args, UnaryOp::Hardsigmoid)),
    op("aten::hardswish_", "-", |_, args| unary_in_place(args, UnaryOp::Hardswish)),
    op("aten::logical_not", "-", |_, args| made(kernels::logical_not(args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::bitwise_not", "-", |_, args| made(kernels::bitwise_not(args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::isnan", "-", |_, args| made(kernels::isnan(args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::isinf", "-", |_, args| made(kernels::isinf(args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::isfinite", "-", |_, args| made(kernels::isfinite(args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::clamp", "- Tensor", |_, args| {
        made(kernels::clamp(args.tensor(0)?, args.optional_operand(1)?, args.optional_operand(2)?))
    })
    .strides(ResultStrides::Elements)
    .fuse(&[
        fuse(PointwiseOp::ClampMin).when(2, None),
        fuse(PointwiseOp::ClampMax).taking(&[0, 2]).when(1, None),
        fuse(PointwiseOp::Clamp),
    ]),
    op("aten::clamp_", "- Tensor", |_, mut args| {
        let (min, max) = (args.optional_operand(1)?, args.optional_operand(2)?);
        let result = kernels::clamp(args.tensor(0)?, min, max).map_err(kernel)?;
        kernels::store(args.tensor(0)?, &result).map_err(kernel)?;
        Ok(args.take(0))
    }),
    op("aten::where", "self ScalarOther ScalarSelf", |_, args| {
        made(kernels::where_(args.tensor(0)?, args.operand(1)?, args.operand(2)?))
    })
    .strides(ResultStrides::Choice)
    .fuse(&[fuse(PointwiseOp::Where)]),
    op("aten::where", "Scalar", |_, args| {
        made(kernels::where_(args.tensor(0)?, args.operand(1)?, args.operand(2)?))
    })
    .strides(ResultStrides::Choice),
    op("aten::masked_fill", "Scalar Tensor", |_, args| {
        made(kernels::masked_fill(args.tensor(0)?, args.tensor(1)?, args.operand(2)?))
    })
    .strides(ResultStrides::RowMajor)
    .fuse(&[fuse(PointwiseOp::MaskedFill)]),
    op("aten::masked_fill_", "Scalar Tensor", |_, mut args| {
        kernels::masked_fill_in_place(args.tensor(0)?, args.tensor(1)?, args.operand(2)?)
            .map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
];

type Added = fn(kernels::Operand<'_>, kernels::Operand<'_>, Scalar) -> kernels::Result<Tensor>;

fn added(args: &Args<'_>, function: Added) -> Result {
    made(function(args.operand(0)?, args.operand(1)?, args.scalar(2)?))
}

fn added_in_place(mut args: Args<'_>, function: Added) -> Result {
    let result = function(args.operand(0)?, args.operand(1)?, args.scalar(2)?).map_err(kernel)?;
    kernels::store(args.tensor(0)?, &result).map_err(kernel)?;
    Ok(args.take(0))
}

fn binary(args: &Args<'_>, op: BinaryOp) -> Result {
    made(kernels::binary(op, args.operand(0)?, args.operand(1)?))
}

fn binary_in_place(mut args: Args<'_>, op: BinaryOp) -> Result {
    kernels::binary_in_place(op, args.tensor(0)?, args.operand(1)?).map_err(kernel)?;
    Ok(args.take(0))
}

fn unary(args: &Args<'_>, op: UnaryOp) -> Result {
    made(kernels::unary(op, args.tensor(0)?))
}

fn unary_in_place(mut args: Args<'_>, op: UnaryOp) -> Result {
    kernels::unary_in_place(op, args.tensor(0)?).map_err(kernel)?;
    Ok(args.take(0))
}

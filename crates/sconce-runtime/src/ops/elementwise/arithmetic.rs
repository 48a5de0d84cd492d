//! Operators that compute tensors.

use sconce_kernels as kernels;
use sconce_kernels::{BinaryOp, DType, MinMax, Scalar, Tensor, UnaryOp};

use crate::error::Raise;
use crate::ops::tensor::operands::{kernel, made};
use crate::ops::{Args, Table};
use crate::value::ivalue::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    ("aten::add", "Tensor Scalar", |_, args| added(&args, kernels::add)),
    ("aten::sub", "Tensor Scalar", |_, args| added(&args, kernels::sub)),
    ("aten::rsub", "Tensor Scalar", |_, args| {
        made(kernels::sub(args.operand(1)?, args.operand(0)?, args.scalar(2)?))
    }),
    ("aten::add_", "Tensor Scalar", |_, args| added_in_place(args, kernels::add)),
    ("aten::sub_", "Tensor Scalar", |_, args| added_in_place(args, kernels::sub)),
    ("aten::mul", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Mul)),
    ("aten::div", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Div)),
    ("aten::div", "Tensor_mode Scalar_mode", |_, args| {
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
            _ => return Err(Raise::unsupported("a rounding mode that is no string")),
        };
        binary(&args, op)
    }),
    ("aten::floor_divide", "- Scalar", |_, args| binary(&args, BinaryOp::DivFloor)),
    ("aten::pow", "Tensor_Tensor Tensor_Scalar Scalar", |_, args| binary(&args, BinaryOp::Pow)),
    ("aten::remainder", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Remainder)),
    ("aten::fmod", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Fmod)),
    ("aten::maximum", "-", |_, args| binary(&args, BinaryOp::Maximum)),
    ("aten::minimum", "-", |_, args| binary(&args, BinaryOp::Minimum)),
    ("aten::max", "other", |_, args| binary(&args, BinaryOp::Maximum)),
    ("aten::min", "other", |_, args| binary(&args, BinaryOp::Minimum)),
    ("aten::atan2", "-", |_, args| binary(&args, BinaryOp::Atan2)),
    ("aten::eq", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Eq)),
    ("aten::ne", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Ne)),
    ("aten::lt", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Lt)),
    ("aten::le", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Le)),
    ("aten::gt", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Gt)),
    ("aten::ge", "Tensor Scalar", |_, args| binary(&args, BinaryOp::Ge)),
    ("aten::bitwise_and", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseAnd)),
    ("aten::bitwise_or", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseOr)),
    ("aten::bitwise_xor", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseXor)),
    ("aten::__and__", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseAnd)),
    ("aten::__or__", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseOr)),
    ("aten::__xor__", "Tensor Scalar", |_, args| binary(&args, BinaryOp::BitwiseXor)),
    ("aten::__iand__", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::BitwiseAnd)),
    ("aten::__ior__", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::BitwiseOr)),
    ("aten::__ixor__", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::BitwiseXor)),
    ("aten::__ilshift__", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::LeftShift)),
    ("aten::__irshift__", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::RightShift)),
    ("aten::logical_and", "-", |_, args| binary(&args, BinaryOp::LogicalAnd)),
    ("aten::logical_or", "-", |_, args| binary(&args, BinaryOp::LogicalOr)),
    ("aten::mul_", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::Mul)),
    ("aten::div_", "Tensor Scalar", |_, args| binary_in_place(args, BinaryOp::Div)),
    ("aten::neg", "-", |_, args| unary(&args, UnaryOp::Neg)),
    ("aten::abs", "-", |_, args| unary(&args, UnaryOp::Abs)),
    ("aten::abs_", "-", |_, args| {
        if args.tensor(0)?.dtype().is_complex() {
            return Err(Raise::message("In-place abs is not supported for complex tensors."));
        }
        unary_in_place(args, UnaryOp::Abs)
    }),
    ("prim::abs", "-", |_, args| unary(&args, UnaryOp::Abs)),
    ("aten::sign", "-", |_, args| unary(&args, UnaryOp::Sign)),
    ("aten::square", "-", |_, args| unary(&args, UnaryOp::Square)),
    ("aten::exp", "-", |_, args| unary(&args, UnaryOp::Exp)),
    ("aten::expm1", "-", |_, args| unary(&args, UnaryOp::Expm1)),
    ("aten::log", "-", |_, args| unary(&args, UnaryOp::Log)),
    ("aten::log2", "-", |_, args| unary(&args, UnaryOp::Log2)),
    ("aten::log10", "-", |_, args| unary(&args, UnaryOp::Log10)),
    ("aten::log1p", "-", |_, args| unary(&args, UnaryOp::Log1p)),
    ("aten::sqrt", "-", |_, args| unary(&args, UnaryOp::Sqrt)),
    ("aten::rsqrt", "-", |_, args| unary(&args, UnaryOp::Rsqrt)),
    ("aten::reciprocal", "-", |_, args| unary(&args, UnaryOp::Reciprocal)),
    ("aten::sin", "-", |_, args| unary(&args, UnaryOp::Sin)),
    ("aten::cos", "-", |_, args| unary(&args, UnaryOp::Cos)),
    ("aten::tan", "-", |_, args| unary(&args, UnaryOp::Tan)),
    ("aten::asin", "-", |_, args| unary(&args, UnaryOp::Asin)),
    ("aten::acos", "-", |_, args| unary(&args, UnaryOp::Acos)),
    ("aten::atan", "-", |_, args| unary(&args, UnaryOp::Atan)),
    ("aten::sinh", "-", |_, args| unary(&args, UnaryOp::Sinh)),
    ("aten::cosh", "-", |_, args| unary(&args, UnaryOp::Cosh)),
    ("aten::tanh", "-", |_, args| unary(&args, UnaryOp::Tanh)),
    ("aten::sigmoid", "-", |_, args| unary(&args, UnaryOp::Sigmoid)),
    ("aten::erf", "-", |_, args| unary(&args, UnaryOp::Erf)),
    ("aten::floor", "-", |_, args| unary(&args, UnaryOp::Floor)),
    ("aten::ceil", "-", |_, args| unary(&args, UnaryOp::Ceil)),
    ("aten::round", "-", |_, args| unary(&args, UnaryOp::Round)),
    ("aten::trunc", "-", |_, args| unary(&args, UnaryOp::Trunc)),
    ("aten::relu", "-", |_, args| unary(&args, UnaryOp::Relu)),
    ("aten::relu6", "-", |_, args| unary(&args, UnaryOp::Relu6)),
    ("aten::silu", "-", |_, args| unary(&args, UnaryOp::Silu)),
    ("aten::mish", "-", |_, args| unary(&args, UnaryOp::Mish)),
    ("aten::hardsigmoid", "-", |_, args| unary(&args, UnaryOp::Hardsigmoid)),
    ("aten::hardswish", "-", |_, args| unary(&args, UnaryOp::Hardswish)),
    ("aten::relu_", "-", |_, args| unary_in_place(args, UnaryOp::Relu)),
    ("aten::silu_", "-", |_, args| unary_in_place(args, UnaryOp::Silu)),
    ("aten::mish_", "-", |_, args| unary_in_place(args, UnaryOp::Mish)),
    ("aten::hardsigmoid_", "-", |_, args| unary_in_place(args, UnaryOp::Hardsigmoid)),
    ("aten::hardswish_", "-", |_, args| unary_in_place(args, UnaryOp::Hardswish)),
    ("aten::logical_not", "-", |_, args| made(kernels::logical_not(args.tensor(0)?))),
    ("aten::bitwise_not", "-", |_, args| made(kernels::bitwise_not(args.tensor(0)?))),
    ("aten::isnan", "-", |_, args| made(kernels::isnan(args.tensor(0)?))),
    ("aten::isinf", "-", |_, args| made(kernels::isinf(args.tensor(0)?))),
    ("aten::isfinite", "-", |_, args| made(kernels::isfinite(args.tensor(0)?))),
    ("aten::clamp", "- Tensor", |_, args| {
        made(kernels::clamp(args.tensor(0)?, args.optional_operand(1)?, args.optional_operand(2)?))
    }),
    ("aten::clamp_", "- Tensor", |_, mut args| {
        let (min, max) = (args.optional_operand(1)?, args.optional_operand(2)?);
        let result = kernels::clamp(args.tensor(0)?, min, max).map_err(kernel)?;
        kernels::store(args.tensor(0)?, &result).map_err(kernel)?;
        Ok(args.take(0))
    }),
    ("aten::norm", "ScalarOpt_dim", |_, args| {
        made(kernels::norm(args.tensor(0)?, power(&args)?, &args.ints(2)?, args.bool(3)?))
    }),
    ("aten::norm", "Scalar", |_, args| {
        made(kernels::norm(args.tensor(0)?, args.real(1)?, &[], false))
    }),
    ("aten::norm", "ScalarOpt_dtype", |_, args| {
        made(kernels::norm(&cast(&args, 2)?, power(&args)?, &[], false))
    }),
    ("aten::norm", "ScalarOpt_dim_dtype", |_, args| {
        made(kernels::norm(&cast(&args, 4)?, power(&args)?, &args.ints(2)?, args.bool(3)?))
    }),
    ("aten::native_norm", "-", |_, args| {
        made(kernels::norm(args.tensor(0)?, args.real(1)?, &[], false))
    }),
    ("aten::where", "self ScalarOther ScalarSelf Scalar", |_, args| {
        made(kernels::where_(args.tensor(0)?, args.operand(1)?, args.operand(2)?))
    }),
    ("aten::masked_fill", "Scalar Tensor", |_, args| {
        made(kernels::masked_fill(args.tensor(0)?, args.tensor(1)?, args.operand(2)?))
    }),
    ("aten::masked_fill_", "Scalar Tensor", |_, mut args| {
        kernels::masked_fill_in_place(args.tensor(0)?, args.tensor(1)?, args.operand(2)?)
            .map_err(kernel)?;
        Ok(args.take(0))
    }),
    ("aten::mm", "-", |_, args| made(kernels::mm(args.tensor(0)?, args.tensor(1)?))),
    ("aten::bmm", "-", |_, args| made(kernels::bmm(args.tensor(0)?, args.tensor(1)?))),
    ("aten::mv", "-", |_, args| made(kernels::mv(args.tensor(0)?, args.tensor(1)?))),
    ("aten::dot", "-", |_, args| made(kernels::dot(args.tensor(0)?, args.tensor(1)?))),
    ("aten::matmul", "-", |_, args| made(kernels::matmul(args.tensor(0)?, args.tensor(1)?))),
    ("aten::linear", "-", |_, args| {
        made(kernels::linear(args.tensor(0)?, args.tensor(1)?, args.optional_tensor(2)?))
    }),
    ("aten::sum", "-", |_, args| made(kernels::sum(args.tensor(0)?, &[], false, args.dtype(1)?))),
    ("aten::sum", "dim_IntList", |_, args| {
        made(kernels::sum(args.tensor(0)?, &args.ints(1)?, args.bool(2)?, args.dtype(3)?))
    }),
    ("aten::mean", "-", |_, args| made(kernels::mean(args.tensor(0)?, &[], false, args.dtype(1)?))),
    ("aten::mean", "dim", |_, args| {
        made(kernels::mean(args.tensor(0)?, &args.ints(1)?, args.bool(2)?, args.dtype(3)?))
    }),
    ("aten::all", "-", |_, args| made(kernels::all(args.tensor(0)?, &[], false))),
    ("aten::all", "dim", |_, args| {
        made(kernels::all(args.tensor(0)?, &[args.int(1)?], args.bool(2)?))
    }),
    ("aten::any", "-", |_, args| made(kernels::any(args.tensor(0)?, &[], false))),
    ("aten::any", "dim", |_, args| {
        made(kernels::any(args.tensor(0)?, &[args.int(1)?], args.bool(2)?))
    }),
    ("aten::max", "-", |_, args| {
        made(kernels::min_max_values(MinMax::Max, args.tensor(0)?, None, false))
    }),
    ("aten::min", "-", |_, args| {
        made(kernels::min_max_values(MinMax::Min, args.tensor(0)?, None, false))
    }),
    ("aten::max", "dim", |_, args| both(&args, MinMax::Max)),
    ("aten::min", "dim", |_, args| both(&args, MinMax::Min)),
    ("aten::argmax", "-", |_, args| {
        let (dim, keepdim) = (args.optional_int(1)?, args.bool(2)?);
        made(kernels::arg_min_max(MinMax::Max, args.tensor(0)?, dim, keepdim))
    }),
    ("aten::argmin", "-", |_, args| {
        let (dim, keepdim) = (args.optional_int(1)?, args.bool(2)?);
        made(kernels::arg_min_max(MinMax::Min, args.tensor(0)?, dim, keepdim))
    }),
    ("aten::softmax", "int", |_, args| made(kernels::softmax(&cast(&args, 2)?, args.int(1)?))),
    ("aten::log_softmax", "int", |_, args| {
        made(kernels::log_softmax(&cast(&args, 2)?, args.int(1)?))
    }),
    ("aten::layer_norm", "-", |_, args| {
        let (weight, bias) = (args.optional_tensor(2)?, args.optional_tensor(3)?);
        made(kernels::layer_norm(args.tensor(0)?, &args.ints(1)?, weight, bias, args.real(4)?))
    }),
    ("aten::group_norm", "-", |_, args| {
        let (weight, bias) = (args.optional_tensor(2)?, args.optional_tensor(3)?);
        made(kernels::group_norm(args.tensor(0)?, args.int(1)?, weight, bias, args.real(4)?))
    }),
    ("aten::embedding", "-", |_, args| made(kernels::embedding(args.tensor(0)?, args.tensor(1)?))),
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

/// Values and indices of the greatest or least elements.
fn both(args: &Args<'_>, which: MinMax) -> Result {
    let (dim, keepdim) = (Some(args.int(1)?), args.bool(2)?);
    let (values, indices) =
        kernels::min_max(which, args.tensor(0)?, dim, keepdim).map_err(kernel)?;
    Ok(IValue::tuple(vec![IValue::Tensor(values), IValue::Tensor(indices)]))
}

/// Which norm operand 1 asks for: the second where it does not say.
fn power(args: &Args<'_>) -> Result<f64> {
    Ok(args.optional_real(1)?.unwrap_or(2.0))
}

/// The first operand in the dtype that another gives.
fn cast(args: &Args<'_>, dtype: usize) -> Result<Tensor> {
    let input = args.tensor(0)?;
    let dtype: DType = args.dtype(dtype)?.unwrap_or(input.dtype());
    input.to_dtype(dtype).map_err(kernel)
}

//! Operators that look at tensors, make them, and take them apart.

use sconce_ir::Type;
use sconce_kernels as kernels;
use sconce_kernels::{DType, MemoryFormat, Scalar, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::overlap::OverlapRule;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::python::lists::is_nonzero;
use crate::ops::tensor::operands::{listed, made};
use crate::value::IValue::{self, Bool, Complex, Float, Int};

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::linalg_diagonal", "-", |_, args| {
        made(args.tensor(0)?.diagonal(args.int(1)?, args.int(2)?, args.int(3)?))
    }),
    op("aten::size", "-", |_, args| Ok(ints(args.tensor(0)?.sizes()))),
    op("aten::size", "int", |_, args| args.tensor(0)?.size(args.int(1)?).map(Int).map_err(kernel)),
    op("aten::dim", "-", |_, args| Ok(Int(args.tensor_or_nested(0)?.dim() as i64))),
    op("aten::numel", "-", |_, args| Ok(Int(args.tensor(0)?.numel()))),
    op("aten::len", "Tensor", |_, args| {
        if args.tensor(0)?.dim() == 0 {
            return Err(Raise::message("len() of a 0-d tensor"));
        }
        args.tensor(0)?.size(0).map(Int).map_err(kernel)
    }),
    op("prim::dtype", "-", |_, args| {
        Ok(Int(i64::from(args.tensor_or_nested(0)?.dtype().scalar_type_number())))
    }),
    op("prim::device", "-", |_, args| {
        args.tensor_or_nested(0)?;
        Ok(IValue::Device("cpu".into()))
    }),
    op("prim::is_cuda", "-", |_, args| args.tensor_or_nested(0).map(|_| Bool(false))),
    op("prim::is_nested", "-", |_, args| {
        args.tensor_or_nested(0).map(|_| Bool(matches!(args.get(0), IValue::Nested(_))))
    }),
    op("prim::is_quantized", "-", |_, args| {
        args.tensor(0).map(|tensor| Bool(tensor.dtype().is_quantized()))
    }),
    op("aten::is_floating_point", "-", |_, args| {
        Ok(Bool(args.tensor(0)?.dtype().is_floating_point()))
    }),
    op("aten::Bool", "Tensor", |_, args| Ok(Bool(is_nonzero(args.tensor(0)?)?))),
    op("aten::Int", "Tensor", |_, args| Ok(Int(item_in(&args, DType::Int64)?.to_i64()))),
    op("aten::Float", "Tensor", |_, args| Ok(Float(item_in(&args, DType::Float64)?.to_f64()))),
    op("aten::item", "-", |_, args| number(item(&args)?)),
    op("aten::_local_scalar_dense", "-", |_, args| number(item(&args)?)),
    op("aten::IntImplicit", "-", |_, args| implicit_integer(&args)),
    op("aten::FloatImplicit", "-", |_, args| {
        implicit(&args, |found| {
            found.check_fits(DType::Float64).map_err(kernel)?;
            Ok(Float(found.to_f64()))
        })
    }),
    op("aten::ComplexImplicit", "-", |_, args| {
        implicit(&args, |found| {
            let value = found.to_complex();
            Ok(Complex(value.re, value.im))
        })
    }),
    op("aten::ScalarImplicit", "-", |_, args| implicit(&args, number)),
    op("aten::_unsafe_view", "-", |_, args| made(args.tensor(0)?.view(&args.ints(1)?))),
    // Unlike other copies of views it takes what could not be viewed.
    op("aten::view_copy", "-", |_, args| {
        made(args.tensor(0)?.reshape(&args.ints(1)?).and_then(|view| view.copy()))
    }),
    op("aten::view", "-", |_, args| made(args.tensor(0)?.view(&args.ints(1)?))),
    op("aten::reshape", "-", |_, args| made(args.tensor(0)?.reshape(&args.ints(1)?))),
    op("aten::flatten", "using_ints", |_, args| {
        made(args.tensor(0)?.flatten(args.int(1)?, args.int(2)?))
    }),
    op("aten::unflatten", "int", |_, args| {
        made(kernels::unflatten(args.tensor(0)?, args.int(1)?, &args.ints(2)?))
    }),
    op("aten::expand", "-", |_, args| made(args.tensor(0)?.expand(&args.ints(1)?))),
    op("aten::expand_as", "-", |_, args| made(args.tensor(0)?.expand(args.tensor(1)?.sizes()))),
    op("aten::permute", "-", |_, args| made(args.tensor(0)?.permute(&args.ints(1)?))),
    op("aten::transpose", "int", |_, args| {
        made(args.tensor(0)?.transpose(args.int(1)?, args.int(2)?))
    }),
    op("aten::t", "-", |_, args| made(args.tensor(0)?.t())),
    op("aten::unsqueeze", "-", |_, args| made(args.tensor(0)?.unsqueeze(args.int(1)?))),
    op("aten::squeeze", "-", |_, args| made(args.tensor(0)?.squeeze(None))),
    op("aten::squeeze", "dim", |_, args| made(args.tensor(0)?.squeeze(Some(&[args.int(1)?])))),
    op("aten::squeeze", "dims", |_, args| made(args.tensor(0)?.squeeze(Some(&args.ints(1)?)))),
    op("aten::select", "int", |_, args| made(args.tensor(0)?.select(args.int(1)?, args.int(2)?))),
    op("aten::slice", "Tensor", |_, args| {
        let (start, end) = (args.optional_int(2)?, args.optional_int(3)?);
        made(args.tensor(0)?.slice(args.int(1)?, start, end, args.int(4)?))
    }),
    op("aten::narrow", "-", |_, args| {
        made(args.tensor(0)?.narrow(args.int(1)?, args.int(2)?, args.int(3)?))
    }),
    op("aten::unbind", "int", |_, args| listed(kernels::unbind(args.tensor(0)?, args.int(1)?))),
    op("aten::contiguous", "-", |_, args| {
        let format = args.memory_format(1)?.unwrap_or(MemoryFormat::Contiguous);
        made(args.tensor(0)?.contiguous_in(format))
    }),
    op("aten::is_contiguous", "memory_format", |_, args| {
        let format = args.memory_format(1)?.unwrap_or(MemoryFormat::Contiguous);
        Ok(Bool(args.tensor(0)?.is_contiguous_in(format)))
    }),
    op("aten::clone", "-", |_, args| {
        let format = args.memory_format(1)?.unwrap_or(MemoryFormat::Preserve);
        made(args.tensor(0)?.copy_in(format))
    }),
    op("aten::to", "dtype", |_, args| {
        to(&args, args.dtype(1)?, args.bool(3)?, args.memory_format(4)?)
    }),
    op("aten::to", "dtype_layout", |_, args| {
        args.plain_options(2, 3)?;
        to(&args, args.dtype(1)?, args.bool(6)?, args.memory_format(7)?)
    }),
    op("aten::_to_copy", "-", |_, args| {
        args.plain_options(2, 3)?;
        to(&args, args.dtype(1)?, true, args.memory_format(6)?)
    }),
    op("aten::to", "device", |_, args| {
        args.on_cpu(1)?;
        to(&args, args.dtype(2)?, args.bool(4)?, args.memory_format(5)?)
    }),
    op("aten::to", "prim_Device", |_, args| {
        args.on_cpu(1)?;
        to(&args, args.dtype(2)?, args.bool(4)?, None)
    }),
    op("aten::to", "prim_dtype", |_, args| to(&args, args.dtype(1)?, args.bool(3)?, None)),
    op("aten::to", "other", |_, args| {
        let dtype = args.tensor(1)?.dtype();
        to(&args, Some(dtype), args.bool(3)?, args.memory_format(4)?)
    }),
    op("aten::to", "prim_other", |_, args| to(&args, None, args.bool(2)?, None)),
    op("aten::chalf", "-", |_, args| {
        to(&args, Some(DType::ComplexHalf), false, args.memory_format(1)?)
    }),
    op("aten::copy_", "-", |_, mut args| {
        args.tensor(0)?.copy_from(args.tensor(1)?).map_err(kernel)?;
        Ok(args.take(0))
    }),
    op("aten::fill_", "Scalar", |_, mut args| {
        args.tensor(0)?.fill(args.scalar(1)?).map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    op("aten::zero_", "-", |_, mut args| {
        args.tensor(0)?.fill(Scalar::Int(0)).map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    op("aten::zeros", "-", |context, args| {
        let sizes = args.ints(0)?;
        args.plain_options(2, 3)?;
        context.budget().check_sizes(&sizes)?;
        made(Tensor::zeros(&sizes, args.dtype(1)?.unwrap_or(DType::Float32)))
    }),
    op("aten::ones", "-", |context, args| {
        let sizes = args.ints(0)?;
        args.plain_options(2, 3)?;
        context.budget().check_sizes(&sizes)?;
        let dtype = args.dtype(1)?.unwrap_or(DType::Float32);
        made(Tensor::full(&sizes, Scalar::Int(1), dtype))
    }),
    op("aten::full", "-", |context, args| {
        let (sizes, value) = (args.ints(0)?, args.scalar(1)?);
        args.plain_options(3, 4)?;
        context.budget().check_sizes(&sizes)?;
        made(Tensor::full(&sizes, value, args.dtype(2)?.unwrap_or(value.dtype())))
    }),
    op("aten::new_zeros", "-", |context, args| {
        let sizes = args.ints(1)?;
        args.plain_options(3, 4)?;
        context.budget().check_sizes(&sizes)?;
        made(Tensor::zeros(&sizes, args.dtype(2)?.unwrap_or(args.tensor(0)?.dtype())))
    }),
    op("aten::arange", "-", |_, args| {
        args.plain_options(2, 3)?;
        made(kernels::arange(Scalar::Int(0), args.scalar(0)?, Scalar::Int(1), args.dtype(1)?))
    }),
    op("aten::arange", "start", |_, args| {
        args.plain_options(3, 4)?;
        made(kernels::arange(args.scalar(0)?, args.scalar(1)?, Scalar::Int(1), args.dtype(2)?))
    }),
    op("prim::NumToTensor", "Scalar", |_, args| match args.scalar(0)? {
        // A number's own dtype, not the default one.
        value @ Scalar::Float(_) => made(Tensor::scalar(value, DType::Float64)),
        value => made(Tensor::scalar(value, value.dtype())),
    }),
    op("aten::cat", "-", |_, args| made(kernels::cat(&args.tensors(0)?, args.int(1)?)))
        .strides(ResultStrides::Joined),
    op("aten::stack", "-", |_, args| made(kernels::stack(&args.tensors(0)?, args.int(1)?))),
    op("aten::chunk", "-", |_, args| {
        listed(kernels::chunk(args.tensor(0)?, args.int(1)?, args.int(2)?))
    }),
    op("aten::split", "Tensor", |_, args| {
        listed(kernels::split(args.tensor(0)?, args.int(1)?, args.int(2)?))
    }),
    op("aten::split", "sizes -", |_, args| {
        listed(kernels::split_with_sizes(args.tensor(0)?, &args.ints(1)?, args.int(2)?))
    }),
    op("aten::index", "Tensor Tensor_hacked_twin", |_, args| {
        made(kernels::index(args.tensor(0)?, &args.optional_tensors(1)?))
    })
    .strides(ResultStrides::Indexed),
    op("aten::index_put_", "- hacked_twin", |_, args| index_put(args))
        .overlap(OverlapRule::Accumulated),
    // As derivatives of indexing call it.
    op("aten::_index_put_impl_", "- hacked_twin", |_, args| index_put(args))
        .overlap(OverlapRule::Accumulated),
    op("aten::index_select", "-", |_, args| {
        made(kernels::index_select(args.tensor(0)?, args.int(1)?, args.tensor(2)?))
    }),
    op("aten::gather", "-", |_, args| {
        made(kernels::gather(args.tensor(0)?, args.int(1)?, args.tensor(2)?))
    }),
    op("aten::triu", "-", |_, args| made(kernels::triu(args.tensor(0)?, args.int(1)?))),
    op("aten::tril", "-", |_, args| made(kernels::tril(args.tensor(0)?, args.int(1)?))),
];

fn index_put(mut args: Args<'_>) -> Result {
    let (indices, values) = (args.optional_tensors(1)?, args.tensor(2)?);
    kernels::index_put(args.tensor(0)?, &indices, values, args.bool(3)?).map_err(kernel)?;
    Ok(args.take(0))
}

fn ints(values: &[i64]) -> IValue {
    IValue::list(Type::Int, values.iter().copied().map(Int).collect())
}

fn item(args: &Args<'_>) -> Result<Scalar> {
    args.tensor(0)?.item().map_err(kernel)
}

/// The element of a tensor of one, which `dtype` has to hold.
fn item_in(args: &Args<'_>, dtype: DType) -> Result<Scalar> {
    let item = item(args)?;
    item.check_fits(dtype).map_err(kernel)?;
    Ok(item)
}

fn number(value: Scalar) -> Result {
    Ok(match value {
        Scalar::Bool(value) => Bool(value),
        Scalar::Int(value) => Int(value),
        Scalar::Float(value) => Float(value),
        Scalar::Complex(value) => Complex(value.re, value.im),
    })
}

fn to(args: &Args<'_>, dtype: Option<DType>, copy: bool, format: Option<MemoryFormat>) -> Result {
    let tensor = args.tensor(0)?;
    let dtype = dtype.unwrap_or(tensor.dtype());
    let format = format.unwrap_or(MemoryFormat::Preserve);
    let kept = format == MemoryFormat::Preserve || tensor.is_contiguous_in(format);
    match !copy && kept && dtype == tensor.dtype() {
        true => Ok(IValue::Tensor(tensor.clone())),
        false => made(tensor.to_dtype_in(dtype, format)),
    }
}

/// A number of a tensor where the program expects one.
///
/// # Errors
/// For tensors with dimensions, and where an integer is expected for what is none.
fn implicit(args: &Args<'_>, made: fn(Scalar) -> Result) -> Result {
    let tensor = args.tensor(0)?;
    if tensor.dim() > 0 {
        let message = "Cannot input a tensor of dimension other than 0 as a scalar argument";
        return Err(Raise::message(message));
    }
    made(item(args)?)
}

/// The integer that an operand is, of a tensor of integers.
fn implicit_integer(args: &Args<'_>) -> Result {
    let tensor = args.tensor(0)?;
    if tensor.dim() == 0 && !tensor.dtype().is_integral() {
        return Err(Raise::message(format!(
            "Cannot input a tensor of type {} as an integral argument",
            tensor.dtype().scalar_type_name()
        )));
    }
    implicit(args, |found| Ok(Int(found.to_i64())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_numbers_where_programs_expect_numbers() {
        let two = |dtype| IValue::Tensor(Tensor::scalar(2.into(), dtype).unwrap());
        let row = || IValue::Tensor(Tensor::zeros(&[1], DType::Int64).unwrap());
        let words = "Cannot input a tensor of dimension other than 0 as a scalar argument";
        let said = |result: Result| format!("{:?}", result.unwrap_err());
        assert!(implicit_integer(&Args(&mut [two(DType::UInt8)])).is_ok_and(|v| v.is(&Int(2))));
        assert!(said(implicit_integer(&Args(&mut [row()]))).contains(words));
        for (dtype, name) in [(DType::Bool, "Bool"), (DType::Float32, "Float")] {
            let error = said(implicit_integer(&Args(&mut [two(dtype)])));
            assert!(error.contains(&format!("a tensor of type {name} as an integral")), "{error}");
        }
        let float = |value| implicit(&Args(&mut [value]), |found| Ok(Float(found.to_f64())));
        assert!(float(two(DType::Int64)).is_ok_and(|value| value.is(&Float(2.0))));
        assert!(said(float(row())).contains(words));
    }
}

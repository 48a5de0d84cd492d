//! What programs assert that were exported: private operators that give nothing, and that no pass removes. In
//! TorchScript, PyTorch drops the operators that they come from.

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::python::lists::is_nonzero;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("sconce::assert_scalar", "-", |_, args| match args.scalar(0)?.to_bool() {
        true => Ok(IValue::None),
        false => Err(Raise::message(args.str(1)?.to_string())),
    }),
    op("sconce::assert_tensor", "-", |_, args| {
        if is_nonzero(args.tensor(0)?)? {
            return Ok(IValue::None);
        }
        match args.len() > 1 {
            true => Err(Raise::message(args.str(1)?.to_string())),
            false => Err(Raise::message("Expected Tensor with single nonzero value, but got zero")),
        }
    }),
    op("sconce::assert_tensor_metadata", "-", |_, args| metadata(&args)),
    op("sconce::assert_range", "-", |_, args| range(&args, i64::MIN)),
    op("sconce::assert_size_range", "-", |_, args| match args.optional_int(2)? {
        Some(max) if max <= 2 => Err(Raise::message(format!(
            "Max value to constrain_range_for_size must be greater than 2. got: {max}"
        ))),
        _ => range(&args, 0),
    }),
];

/// `_assert_tensor_metadata`: sizes, strides and dtype, where they are said.
fn metadata(args: &Args<'_>) -> Result {
    let tensor = args.tensor(0)?;
    let wrong = |what: &str, expected: String, got: String| {
        let message = format!("Tensor {what} mismatch! Expected: {expected}, Got: {got}");
        Err(Raise::message(message))
    };
    if let Some(sizes) = args.optional_ints(1)?
        && sizes != tensor.sizes()
    {
        return wrong("sizes", format!("{sizes:?}"), format!("{:?}", tensor.sizes()));
    }
    if let Some(strides) = args.optional_ints(2)?
        && strides != tensor.strides()
    {
        return wrong("strides", format!("{strides:?}"), format!("{:?}", tensor.strides()));
    }
    if let Some(dtype) = args.dtype(3)?
        && dtype != tensor.dtype()
    {
        let expected = dtype.scalar_type_name().to_owned();
        return wrong("dtype", expected, sconce_kernels::cpp_type_name(tensor.dtype()).to_owned());
    }
    Ok(IValue::None)
}

/// `sym_constrain_range`: that a number lies between two others.
fn range(args: &Args<'_>, least: i64) -> Result {
    let value = args.scalar(0)?.to_i64();
    let min = args.optional_int(1)?.unwrap_or(least);
    let max = args.optional_int(2)?.unwrap_or(i64::MAX);
    match value < min || value > max {
        true => {
            Err(Raise::message(format!("Invalid value range for {value} between [{min}, {max}].")))
        }
        false => Ok(IValue::None),
    }
}

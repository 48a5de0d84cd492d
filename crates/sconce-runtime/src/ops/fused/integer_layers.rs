//! Layers between steps of quantization, which passes put in the place of layers on `float32`.

use sconce_kernels as kernels;
use sconce_kernels::{CodeSteps, IntegerLayer};

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

/// `integers, scale, zero point, weight, bias, relu, inverse, zero point, least, most, dtype`: of the result, whose dtype is
/// none where it is `float32`.
pub(crate) const INTEGER_LINEAR: &str = "sconce::integer_linear";

/// `numbers, inverse, zero point, least, most, dtype`.
pub(crate) const TO_CODES: &str = "sconce::quantize";

/// `integers, scale, zero point`.
pub(crate) const OF_CODES: &str = "sconce::dequantize";

/// The place of the dtype of the result among the operands of a layer.
pub(crate) const RESULT_DTYPE: usize = 10;

pub(crate) const TABLE: Table = &[
    op(INTEGER_LINEAR, "-", |_, args| {
        let layer = layer(&args)?;
        made(kernels::integer_linear(args.tensor(0)?, args.tensor(3)?, &layer))
    })
    .steps(steps),
    op(TO_CODES, "-", |_, args| {
        let steps = code_steps(&args, 1)?.ok_or_else(|| Raise::message("a dtype is expected"))?;
        made(steps.codes_of(args.tensor(0)?))
    }),
    op(OF_CODES, "-", |_, args| {
        made(kernels::numbers_of_codes(args.tensor(0)?, args.real(1)?, args.int(2)?))
    }),
];

fn layer<'a>(args: &'a Args<'_>) -> Result<IntegerLayer<'a>, Raise> {
    Ok(IntegerLayer {
        scale: args.real(1)?,
        zero_point: args.int(2)?,
        bias: args.optional_tensor(4)?,
        relu: args.bool(5)?,
        codes: code_steps(args, 6)?,
    })
}

/// The steps from an operand on; `None` where their dtype is.
fn code_steps(args: &Args<'_>, first: usize) -> Result<Option<CodeSteps>, Raise> {
    let Some(dtype) = args.dtype(first + 4)? else { return Ok(None) };
    Ok(Some(CodeSteps {
        inverse: args.real(first)?,
        zero_point: args.int(first + 1)?,
        least: args.int(first + 2)?,
        most: args.int(first + 3)?,
        dtype,
    }))
}

/// What a layer stands for.
fn steps(operands: &[Option<&IValue>]) -> Vec<&'static str> {
    let mut steps = vec!["dequantize", "linear"];
    if let Some(Some(IValue::Bool(true))) = operands.get(5) {
        steps.push("relu");
    }
    if let Some(Some(IValue::Int(_))) = operands.get(RESULT_DTYPE) {
        steps.push("quantize");
    }
    steps
}

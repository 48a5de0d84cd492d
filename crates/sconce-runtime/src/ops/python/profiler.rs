//! What names stretches of a program for a profiler: nothing happens here.

use sconce_kernels::{DType, Tensor};

use crate::error::Error;
use crate::op_context::OpContext;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::shared::Shared;
use crate::value::{IValue, Object};

const RECORD: &str = "__torch__.torch.classes.profiler._RecordFunction";

pub(crate) const TABLE: Table = &[
    op("profiler::_record_function_enter_new", "-", |context, _| Ok(record(context)?)),
    // The old way: a tensor stands for the record.
    op("profiler::_record_function_enter", "-", |_, _| made(Tensor::zeros(&[1], DType::UInt8))),
    op("profiler::_record_function_exit", "- _RecordFunction", |_, _| Ok(IValue::None)),
];

/// An object of the class that a `with` statement holds.
fn record(context: &dyn OpContext) -> Result<IValue, Error> {
    let class = context.custom_class(RECORD);
    let class = class.ok_or_else(|| Error::Malformed(format!("there is no class {RECORD}")))?;
    Ok(IValue::Object(Shared::new(Object::new(class, Vec::new()))))
}

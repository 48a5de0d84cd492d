//! Values as text: `str`, `print` and `format`.

use sconce_ir::Constant;

use crate::error::Raise;
use crate::interpreter::Machine;
use crate::primitive::type_of;
use crate::value::IValue;

/// The text of a value: `operator<<` of `IValue`.
pub(crate) fn stream_text(machine: &mut Machine, value: &IValue) -> Result<String, Raise> {
    Ok(constant(machine, value)?.stream_text())
}

/// The constant that has the same text.
fn constant(machine: &mut Machine, value: &IValue) -> Result<Constant, Raise> {
    Ok(match value {
        IValue::None => Constant::None,
        IValue::Bool(value) => Constant::Bool(*value),
        IValue::Int(value) => Constant::Int(*value),
        IValue::Float(value) => Constant::Float(*value),
        IValue::Complex(re, im) => Constant::Complex(*re, *im),
        IValue::Str(text) => Constant::Str(text.clone()),
        IValue::Device(text) => Constant::Device(text.clone()),
        IValue::Enum(of, index) => Constant::Enum(sconce_ir::Type::Enum(of.clone()), *index),
        IValue::List(list) => {
            let list = list.read();
            let items: Result<Vec<Constant>, Raise> =
                list.items.iter().map(|item| constant(machine, item)).collect();
            Constant::List(list.element.clone(), items?.into())
        }
        IValue::Tuple(tuple) => {
            let items: Result<Vec<Constant>, Raise> =
                tuple.items.iter().map(|item| constant(machine, item)).collect();
            Constant::Tuple(items?.into(), None)
        }
        IValue::Dict(dict) => {
            let dict = dict.read();
            let mut entries = Vec::with_capacity(dict.len());
            for (key, value) in dict.entries() {
                entries.push((constant(machine, key)?, constant(machine, value)?));
            }
            Constant::Dict(dict.key.clone(), dict.value.clone(), entries.into())
        }
        other => {
            let ty = type_of(machine, other);
            return Err(Raise::unsupported(format!("the text of a value of type {ty}")));
        }
    })
}

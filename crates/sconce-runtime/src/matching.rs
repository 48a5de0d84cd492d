//! Arguments from outside, matched to a method's schema.

use sconce_ir::{Constant, Schema, Type};

use crate::Error;
use crate::interpreter::Machine;
use crate::primitive::type_of;
use crate::value::IValue;

/// The arguments of a method after `self`, in order: `tupleSliceToIValues` and its checks.
pub(crate) fn match_arguments(
    machine: &mut Machine,
    schema: &Schema,
    args: &[IValue],
    named: &[(&str, IValue)],
) -> Result<Vec<IValue>, Error> {
    let expected = schema.arguments.get(1..).unwrap_or_default();
    if args.len() > expected.len() {
        return Err(Error::Arguments(format!(
            "{}() expected at most {} argument(s) but received {} argument(s). Declaration: {schema}",
            schema.name,
            schema.arguments.len(),
            args.len() + 1
        )));
    }
    let mut out = Vec::with_capacity(expected.len());
    for (index, argument) in expected.iter().enumerate() {
        let by_name = || named.iter().find(|(name, _)| **name == *argument.name);
        let value = match args.get(index).or_else(|| by_name().map(|(_, value)| value)) {
            Some(value) => value.clone(),
            None => default(argument.default.as_ref()).ok_or_else(|| {
                Error::Arguments(format!(
                    "{}() is missing value for argument '{}'. Declaration: {schema}",
                    schema.name, argument.name
                ))
            })?,
        };
        let found = type_of(machine, &value);
        out.push(fitted(machine, value, &argument.ty).ok_or_else(|| {
            Error::Arguments(format!(
                "{}() Expected a value of type '{}' for argument '{}' but instead found type '{}'.",
                schema.name,
                argument.ty.annotation(),
                argument.name,
                found.annotation()
            ))
        })?);
    }
    let unknown = named.iter().find(|(name, _)| {
        !expected.iter().skip(args.len()).any(|argument| &*argument.name == *name)
    });
    match unknown {
        Some((name, _)) => Err(Error::Arguments(format!(
            "Unknown keyword argument '{name}' for operator '{}'. Schema: {schema}",
            schema.name
        ))),
        None => Ok(out),
    }
}

fn default(constant: Option<&Constant>) -> Option<IValue> {
    IValue::of_constant(constant?)
}

/// The value as one of a type; `None` when it is none. Lists and dicts from outside take the types
/// of elements that the schema says, an int where a float is expected becomes one.
fn fitted(machine: &mut Machine, value: IValue, ty: &Type) -> Option<IValue> {
    match (ty, value) {
        (Type::Float, IValue::Int(value)) => Some(IValue::Float(value as f64)),
        (Type::Complex, IValue::Int(value)) => Some(IValue::Complex(value as f64, 0.0)),
        (Type::Complex, IValue::Float(value)) => Some(IValue::Complex(value, 0.0)),
        (Type::Optional(_), IValue::None) => Some(IValue::None),
        (Type::Optional(of), value) => fitted(machine, value, of),
        (Type::Union(members), value) => {
            let found = type_of(machine, &value);
            if machine.is_subtype(&found, ty) {
                return Some(value);
            }
            members.iter().find_map(|member| fitted(machine, value.clone(), member))
        }
        (Type::List(element), IValue::List(list)) => {
            let items = list.read().items.clone();
            let fits = items.into_iter().map(|item| fitted(machine, item, element));
            let items: Vec<IValue> = fits.collect::<Option<_>>()?;
            let mut list_now = list.write();
            list_now.element = (**element).clone();
            list_now.items = items;
            drop(list_now);
            Some(IValue::List(list))
        }
        (Type::Dict(of), IValue::Dict(dict)) => {
            let mut fit = crate::value::Dict::new(of.0.clone(), of.1.clone());
            for (key, value) in dict.read().entries() {
                let key = fitted(machine, key.clone(), &of.0)?;
                let value = fitted(machine, value.clone(), &of.1)?;
                if !fit.insert(key, value) {
                    return None;
                }
            }
            *dict.write() = fit;
            Some(IValue::Dict(dict))
        }
        (Type::Tuple(of), IValue::Tuple(tuple)) if of.elements.len() == tuple.items.len() => {
            let pairs = tuple.items.iter().zip(&of.elements);
            let items: Option<Vec<IValue>> =
                pairs.map(|(item, ty)| fitted(machine, item.clone(), ty)).collect();
            let named = of.named.is_some().then(|| ty.clone());
            Some(IValue::Tuple(crate::value::Tuple { items: items?.into(), named }.into()))
        }
        (ty, value) => {
            let found = type_of(machine, &value);
            machine.is_subtype(&found, ty).then_some(value)
        }
    }
}

//! The instructions of the language that make and take values apart.

use std::rc::Rc;

use sconce_ir::Type;

use crate::bytecode::lower::Primitive;
use crate::error::Raise;
use crate::op_context::{OpContext, Operands, type_of};
use crate::ops::python::text::{Output, Printed, write_text};
use crate::value::shared::Shared;
use crate::value::{Dict, IValue, Object, Text, Tuple};
use crate::{Error, autograd};

/// What an instruction gives.
pub(crate) enum Given {
    One(IValue),
    Several(Vec<IValue>),
}

/// What an instruction gives for its operands.
pub(crate) fn run(
    context: &mut dyn OpContext,
    primitive: &Primitive,
    mut args: Operands,
) -> Result<Given, Raise> {
    let value = match primitive {
        Primitive::Tuple(named) => {
            let items = args.into_vec();
            IValue::Tuple(Rc::new(Tuple::new(items, named.clone())))
        }
        Primitive::List(element) => IValue::list(element.clone(), args.into_vec()),
        Primitive::Dict(key, value) => dict(key, value, args)?,
        Primitive::TupleUnpack => return Ok(Given::Several(tuple(&args)?.items.to_vec())),
        Primitive::TupleIndex => tuple_index(&args)?,
        Primitive::TupleSlice(begin, end) => {
            let tuple = tuple(&args)?;
            let bound = |at: i64| usize::try_from(at).unwrap_or(usize::MAX).min(tuple.items.len());
            let items = tuple.items.get(bound(*begin)..bound(*end)).unwrap_or_default();
            IValue::tuple(items.to_vec())
        }
        Primitive::ListUnpack(length) => return Ok(Given::Several(list_unpack(&args, *length)?)),
        Primitive::CreateObject(class, slots) => {
            IValue::Object(Shared::new(Object::new(*class, vec![None; *slots])))
        }
        Primitive::SetAttribute(slot, name) => {
            let value = args.pop().unwrap_or(IValue::None);
            let object = object(&args)?;
            match object.write().slots.get_mut(*slot) {
                Some(place) => *place = Some(value),
                None => return Err(malformed(format!("there is no attribute '{name}'"))),
            }
            return Ok(Given::Several(Vec::new()));
        }
        Primitive::ContainerIndex => container_index(context, &args)?,
        Primitive::Isinstance(types) => {
            let ty = type_of(context, args.first().unwrap_or(&IValue::None))?;
            IValue::Bool(types.iter().any(|of| context.is_subtype(&ty, of)))
        }
        Primitive::Uninitialized => IValue::None,
        Primitive::Cast => args.pop().unwrap_or(IValue::None),
        Primitive::UnwrapOptional => match args.pop() {
            None | Some(IValue::None) => return Err(Raise::message("Unwrapping null optional")),
            Some(value) => value,
        },
        Primitive::Raise => return Err(raise(&args)),
        Primitive::Print => {
            let mut out = Printed::default();
            for (index, arg) in args.iter().enumerate() {
                if index > 0 {
                    out.push(context, " ")?;
                }
                write_text(context, arg, &mut out)?;
            }
            out.push(context, "\n")?;
            out.finish(context);
            return Ok(Given::Several(Vec::new()));
        }
        Primitive::ToList => crate::ops::to_list(&args)?,
        Primitive::EnumName | Primitive::EnumValue => enum_part(primitive, &args)?,
        Primitive::Expression(name) => match evaluated(context, name, &args)? {
            // Operators give no tuples but for several results.
            IValue::Tuple(results) => return Ok(Given::Several(results.items.to_vec())),
            result => result,
        },
        Primitive::Missing(what) => return Err(Raise::unsupported(what.as_str())),
    };
    Ok(Given::One(value))
}

/// What an operator gives that is an expression. Where it raises, programs see the operator alone.
fn evaluated(
    context: &mut dyn OpContext,
    name: &Rc<str>,
    args: &[IValue],
) -> Result<IValue, Raise> {
    autograd::evaluate(context, name, args).map_err(|raised| match raised {
        Raise::Error(Error::Raised(exception)) => Raise::message(exception.message),
        other => other,
    })
}

fn malformed(message: impl Into<String>) -> Raise {
    Raise::Error(Error::Malformed(message.into()))
}

fn tuple(args: &[IValue]) -> Result<&Tuple, Raise> {
    match args.first() {
        Some(IValue::Tuple(tuple)) => Ok(tuple),
        _ => Err(malformed("what is unpacked is not a tuple")),
    }
}

fn object(args: &[IValue]) -> Result<&Shared<Object>, Raise> {
    match args.first() {
        Some(IValue::Object(object)) => Ok(object),
        _ => Err(malformed("an attribute of what is no object")),
    }
}

fn dict(key: &Type, value: &Type, args: Operands) -> Result<IValue, Raise> {
    let mut dict = Dict::new(key.clone(), value.clone());
    let mut args = args.into_iter();
    while let (Some(key), Some(value)) = (args.next(), args.next()) {
        if !dict.insert(key, value) {
            return Err(Raise::unsupported("a dict whose keys are tensors"));
        }
    }
    Ok(IValue::Dict(Shared::new(dict)))
}

fn tuple_index(args: &[IValue]) -> Result<IValue, Raise> {
    let (items, Some(IValue::Int(index))) = (&tuple(args)?.items, args.get(1)) else {
        return Err(malformed("a tuple's index that is no int"));
    };
    let at = if *index < 0 { *index + items.len() as i64 } else { *index };
    let item = usize::try_from(at).ok().and_then(|at| items.get(at));
    item.cloned().ok_or_else(|| Raise::message("Tuple index out of range"))
}

fn list_unpack(args: &[IValue], length: usize) -> Result<Vec<IValue>, Raise> {
    let Some(IValue::List(list)) = args.first() else {
        return Err(malformed("what is unpacked is not a list"));
    };
    let items = &list.read().items;
    if items.len() != length {
        return Err(Raise::message(format!(
            "Expected {length} elements in a list but found {}",
            items.len()
        )));
    }
    Ok(items.clone())
}

fn container_index(context: &mut dyn OpContext, args: &[IValue]) -> Result<IValue, Raise> {
    let object = object(args)?;
    let name = match args.get(1) {
        Some(IValue::Str(name)) => name.to_string(),
        Some(IValue::Int(index)) => index.to_string(),
        _ => return Err(malformed("a container's index that is neither int nor str")),
    };
    let object = object.read();
    let class = context.class(object.class);
    let slot = class.attributes.iter().position(|(attribute, _)| **attribute == *name);
    let value = slot.and_then(|slot| object.slots.get(slot).cloned().flatten());
    value.ok_or_else(|| {
        Raise::message(format!("{} does not have a field with name '{name}'", class.name))
    })
}

fn raise(args: &[IValue]) -> Raise {
    let message = match args.first() {
        Some(IValue::Str(message)) => message.to_string(),
        _ => return malformed("a message that is not a string"),
    };
    match args.get(1) {
        Some(IValue::Str(class)) => Raise::Exception { class: Some(class.to_string()), message },
        _ => Raise::Exception { class: None, message },
    }
}

fn enum_part(primitive: &Primitive, args: &[IValue]) -> Result<IValue, Raise> {
    let Some(IValue::Enum(of, index)) = args.first() else {
        return Err(malformed("a member of no enum"));
    };
    let member = of.members.get(*index as usize);
    let (name, value) = member.ok_or_else(|| malformed("no member of the enum"))?;
    match primitive {
        Primitive::EnumName => Ok(IValue::Str(Text::constant(name))),
        _ => IValue::of_constant(value).ok_or_else(|| malformed("an enum's value of another kind")),
    }
}

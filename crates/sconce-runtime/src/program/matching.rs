//! Arguments from outside, matched to a method's schema.

use rustc_hash::FxHashMap;
use sconce_ir::{Constant, Schema, TupleType, Type};
use sconce_kernels::Scalar;

use crate::Error;
use crate::op_context::{OpContext, type_of};
use crate::value::shared::Shared;
use crate::value::text::python_text;
use crate::value::{Dict, IValue, Tuple};

/// The arguments of a method after `self`, in order: `tupleSliceToIValues` and its checks.
pub(crate) fn match_arguments(
    context: &mut dyn OpContext,
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
        check_nesting(&value, &argument.name)?;
        let fit = fitted(context, &value, &argument.ty);
        out.push(fit.ok_or_else(|| {
            Error::Arguments(format!(
                "{}() Expected a value of type '{}' for argument '{}' but instead found type '{}'.\n\
                 Position: {}\nValue: {}\nDeclaration: {schema}",
                schema.name,
                argument.ty.annotation(),
                argument.name,
                class_name(&value),
                index + 1,
                python_text(&value),
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

/// Refuses arguments that are nested too deeply to be taken apart.
pub(crate) fn check_all(args: &[IValue], named: &[(&str, IValue)]) -> Result<(), Error> {
    for (index, value) in args.iter().enumerate() {
        check_nesting(value, &format!("*args[{index}]"))?;
    }
    named.iter().try_for_each(|(name, value)| check_nesting(value, name))
}

/// Refuses what is nested too deeply for what comes now, which goes down by recursion, or would be endless to
/// walk: values that hold themselves, and lists that hold one list many times, level upon level.
fn check_nesting(value: &IValue, name: &str) -> Result<(), Error> {
    let wrong = |what: &str| Err(Error::Arguments(format!("the argument '{name}' {what}")));
    let mut reach = Reach::default();
    match reach.of(value, 0) {
        Ok(_) => Ok(()),
        Err(TooMuch::Depth) => wrong(&format!("is nested deeper than {MAX_DEPTH} levels")),
        Err(TooMuch::Values) => wrong(&format!("holds more than {MAX_VALUES} values")),
        Err(TooMuch::Itself) => wrong("holds itself"),
    }
}

/// Lists, tuples and dicts in each other.
const MAX_DEPTH: usize = 200;
/// Values that all references to them together stand for.
const MAX_VALUES: usize = 1 << 24;

/// How many values containers stand for, by address; 0 while they are gone through.
#[derive(Default)]
struct Reach(FxHashMap<usize, usize>);

enum TooMuch {
    Depth,
    Values,
    Itself,
}

impl Reach {
    /// How many values a value stands for.
    fn of(&mut self, value: &IValue, depth: usize) -> Result<usize, TooMuch> {
        let address = match value {
            IValue::List(_) | IValue::Dict(_) | IValue::Tuple(_) => value.address(),
            _ => None,
        };
        let Some(address) = address else { return Ok(1) };
        match self.0.get(&address) {
            Some(0) => return Err(TooMuch::Itself),
            Some(&known) => return Ok(known),
            None if depth >= MAX_DEPTH => return Err(TooMuch::Depth),
            None => self.0.insert(address, 0),
        };
        let count = match value {
            IValue::List(list) => self.all(list.read().items.iter(), depth),
            IValue::Tuple(tuple) => self.all(tuple.items.iter(), depth),
            IValue::Dict(dict) => self.all(dict.read().entries().map(|(_, value)| value), depth),
            _ => Ok(1),
        }?;
        self.0.insert(address, count);
        Ok(count)
    }

    fn all<'a>(
        &mut self,
        values: impl Iterator<Item = &'a IValue>,
        depth: usize,
    ) -> Result<usize, TooMuch> {
        let mut count: usize = 1;
        for value in values {
            count = count.saturating_add(self.of(value, depth + 1)?);
            if count > MAX_VALUES {
                return Err(TooMuch::Values);
            }
        }
        Ok(count)
    }
}

fn default(constant: Option<&Constant>) -> Option<IValue> {
    IValue::of_constant(constant?)
}

/// The value as one of a type; `None` when it is none. What Python's conversions allow goes, as for
/// PyTorch: a bool or a tensor of one element for a number, a tuple for a list. Lists and dicts from
/// outside take the types of elements that the schema says.
fn fitted(context: &mut dyn OpContext, value: &IValue, ty: &Type) -> Option<IValue> {
    match (ty, value) {
        (Type::Optional(_), IValue::None) => Some(IValue::None),
        (Type::Optional(of), value) => fitted(context, value, of),
        (Type::Union(members), value) => {
            let found = type_of(context, value).ok()?;
            if context.is_subtype(&found, ty) {
                return Some(value.clone());
            }
            members.iter().find_map(|member| fitted(context, value, member))
        }
        (Type::List(element), IValue::List(list)) => {
            let items = fitted_items(context, &list.read().items, element)?;
            let mut list_now = list.write();
            list_now.element = (**element).clone();
            list_now.items = items;
            drop(list_now);
            Some(value.clone())
        }
        (Type::List(element), IValue::Tuple(tuple)) => {
            let items = fitted_items(context, &tuple.items, element)?;
            Some(IValue::list((**element).clone(), items))
        }
        (Type::Dict(of), IValue::Dict(dict)) => {
            let mut fit = Dict::new(of.0.clone(), of.1.clone());
            for (key, value) in dict.read().entries() {
                let key = fitted(context, key, &of.0)?;
                let value = fitted(context, value, &of.1)?;
                if !fit.insert(key, value) {
                    return None;
                }
            }
            *dict.write() = fit;
            Some(value.clone())
        }
        (Type::Dict(of), IValue::List(list)) if list.read().items.is_empty() => {
            Some(IValue::Dict(Shared::new(Dict::new(of.0.clone(), of.1.clone()))))
        }
        (Type::Tuple(of), IValue::Tuple(tuple)) => fitted_tuple(context, &tuple.items, ty, of),
        (Type::Tuple(of), IValue::List(list)) => {
            let items = list.read().items.clone();
            fitted_tuple(context, &items, ty, of)
        }
        (Type::Any, value) => {
            infer(context, value);
            Some(value.clone())
        }
        (ty, value) => {
            let found = type_of(context, value).ok()?;
            if context.is_subtype(&found, ty) {
                return Some(value.clone());
            }
            number(value, ty)
        }
    }
}

fn fitted_items(context: &mut dyn OpContext, items: &[IValue], ty: &Type) -> Option<Vec<IValue>> {
    items.iter().map(|item| fitted(context, item, ty)).collect()
}

fn fitted_tuple(
    context: &mut dyn OpContext,
    items: &[IValue],
    ty: &Type,
    of: &TupleType,
) -> Option<IValue> {
    if of.elements.len() != items.len() {
        return None;
    }
    let pairs = items.iter().zip(&of.elements);
    let items: Option<Vec<IValue>> =
        pairs.map(|(item, element)| fitted(context, item, element)).collect();
    let named = of.named.is_some().then(|| ty.clone());
    Some(IValue::Tuple(Tuple::new(items?, named).into()))
}

/// A number of another kind, as `int()`, `float()` and `bool()` of Python give it.
fn number(value: &IValue, ty: &Type) -> Option<IValue> {
    let item = match value {
        IValue::Bool(value) => Scalar::Bool(*value),
        IValue::Int(value) => Scalar::Int(*value),
        IValue::Float(value) => Scalar::Float(*value),
        IValue::None if matches!(ty, Type::Bool) => return Some(IValue::Bool(false)),
        IValue::Tensor(tensor) => match tensor.item().ok()? {
            Scalar::Complex(_) => return None,
            item => item,
        },
        _ => return None,
    };
    Some(match ty {
        // Python's floats are no ints, but `int()` of a tensor cuts the fraction off.
        Type::Int if matches!(value, IValue::Float(_)) => return None,
        Type::Int => IValue::Int(item.to_i64()),
        Type::Float => IValue::Float(item.to_f64()),
        Type::Bool => IValue::Bool(item.to_bool()),
        Type::Complex => IValue::Complex(item.to_f64(), 0.0),
        _ => return None,
    })
}

/// Gives lists and dicts whose elements' type nobody has said the type of their elements, as
/// `tryToInferType` does.
fn infer(context: &mut dyn OpContext, value: &IValue) {
    match value {
        IValue::List(list) => {
            let items = list.read().items.clone();
            items.iter().for_each(|item| infer(context, item));
            if matches!(list.read().element, Type::Any)
                && let Some(element) = common_type(context, items.iter())
            {
                list.write().element = element;
            }
        }
        IValue::Dict(dict) => {
            let entries: Vec<(IValue, IValue)> =
                dict.read().entries().map(|(key, value)| (key.clone(), value.clone())).collect();
            entries.iter().for_each(|(_, value)| infer(context, value));
            let key = common_type(context, entries.iter().map(|(key, _)| key));
            let value = common_type(context, entries.iter().map(|(_, value)| value));
            let mut dict = dict.write();
            if let (Type::Any, Some(key)) = (&dict.key, key) {
                dict.key = key;
            }
            if let (Type::Any, Some(value)) = (&dict.value, value) {
                dict.value = value;
            }
        }
        IValue::Tuple(tuple) => tuple.items.iter().for_each(|item| infer(context, item)),
        _ => {}
    }
}

/// The type that all values have; `None` if there is none.
fn common_type<'a>(
    context: &mut dyn OpContext,
    mut values: impl Iterator<Item = &'a IValue>,
) -> Option<Type> {
    let first = type_of(context, values.next()?).ok()?;
    values.all(|value| type_of(context, value).is_ok_and(|ty| ty == first)).then_some(first)
}

/// The name of a value's class in Python.
fn class_name(value: &IValue) -> &'static str {
    match value {
        IValue::None => "NoneType",
        IValue::Bool(_) => "bool",
        IValue::Int(_) => "int",
        IValue::Float(_) => "float",
        IValue::Complex(..) => "complex",
        IValue::Str(_) => "str",
        IValue::Device(_) => "device",
        IValue::List(_) => "list",
        IValue::Dict(_) => "dict",
        IValue::Tuple(_) => "tuple",
        other => other.kind_name(),
    }
}

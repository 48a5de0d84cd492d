//! Python's values as those of programs and back. Programs run on values that stay on their thread; between the two
//! are values that any thread may have.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use sconce::Tensor;
use sconce::jit::Module;
use sconce::jit::ir::Type;
use sconce::run::{Error, IValue, RunTensor};

use crate::error;
use crate::objects::python_class;
use crate::tensor::{PyDType, PyTensor, dtype_of, tensor_from, tensor_like};

/// Lists, tuples and dicts in each other: programs have no use for more.
const MAX_DEPTH: usize = 200;

/// A value that any thread may have.
pub enum Plain {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    Str(String),
    Device(String),
    Tensor(Tensor),
    List(Vec<Plain>),
    /// The sizes of a tensor: a list of ints though it be empty.
    Ints(Vec<i64>),
    Tuple(Vec<Plain>),
    NamedTuple(String, Vec<String>, Vec<Plain>),
    Dict(Vec<(Plain, Plain)>),
    /// An object: its class and attributes.
    Object(String, Vec<(String, Plain)>),
    /// A member of an enum: its class and name.
    Enum(String, String),
}

/// What an argument is; `wanted` is the type that the method takes there.
pub fn from_python(given: &Bound<'_, PyAny>, wanted: Option<&Type>, name: &str) -> PyResult<Plain> {
    let wanted = match wanted {
        Some(Type::Optional(of)) => Some(&**of),
        other => other,
    };
    let tensor_wanted = matches!(wanted, Some(Type::Tensor | Type::TensorOf(_)));
    if tensor_wanted
        && !given.is_none()
        && !given.is_instance_of::<PyString>()
        && let Some(tensor) = tensor_from(given)?
    {
        return Ok(Plain::Tensor(tensor));
    }
    read(given, wanted, name, 0)
}

fn read(
    given: &Bound<'_, PyAny>,
    wanted: Option<&Type>,
    name: &str,
    depth: usize,
) -> PyResult<Plain> {
    let py = given.py();
    if depth > MAX_DEPTH {
        return Err(error::argument(py, format!("argument {name} is nested too deeply")));
    }
    let inner = |item: &Bound<'_, PyAny>| match wanted {
        Some(Type::List(of)) if depth == 0 => from_python(item, Some(of), name),
        Some(Type::Dict(of)) if depth == 0 => from_python(item, Some(&of.1), name),
        _ => read(item, None, name, depth + 1),
    };
    if given.is_none() {
        Ok(Plain::None)
    } else if let Ok(truth) = given.cast::<PyBool>() {
        Ok(Plain::Bool(truth.is_true()))
    } else if given.is_instance_of::<PyInt>() {
        match given.extract() {
            Ok(number) => Ok(Plain::Int(number)),
            Err(_) => {
                Err(error::argument(py, format!("argument {name} is an int of more than 64 bits")))
            }
        }
    } else if given.is_instance_of::<PyFloat>() {
        Ok(Plain::Float(given.extract()?))
    } else if given.is_instance_of::<PyComplex>() {
        Ok(Plain::Complex(given.getattr("real")?.extract()?, given.getattr("imag")?.extract()?))
    } else if let Ok(text) = given.cast::<PyString>() {
        let text = text.to_str().map(str::to_owned);
        match wanted {
            Some(Type::Device) => Ok(Plain::Device(text?)),
            _ => Ok(Plain::Str(text?)),
        }
    } else if let Ok(list) = given.cast::<PyList>() {
        list.iter().map(|item| inner(&item)).collect::<PyResult<_>>().map(Plain::List)
    } else if let Ok(tuple) = given.cast::<PyTuple>() {
        let sizes = given.get_type().name()? == "Size";
        if sizes {
            return Ok(Plain::Ints(given.extract()?));
        }
        let items: PyResult<Vec<Plain>> = tuple.iter().map(|item| inner(&item)).collect();
        // Python's tuples are taken for lists too.
        match wanted {
            Some(Type::List(_)) => items.map(Plain::List),
            _ => items.map(Plain::Tuple),
        }
    } else if let Ok(dict) = given.cast::<PyDict>() {
        let pair = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((read(&key, None, name, depth + 1)?, inner(&value)?))
        };
        dict.iter().map(pair).collect::<PyResult<_>>().map(Plain::Dict)
    } else if given.cast::<PyDType>().is_ok() || is_of(given, "torch", "dtype")? {
        Ok(Plain::Int(i64::from(dtype_of(given)?.scalar_type_number())))
    } else if is_of(given, "sconce", "device")? || is_of(given, "torch", "device")? {
        Ok(Plain::Device(given.str()?.to_string()))
    } else if let Some(tensor) = tensor_like(given)? {
        // A scalar of NumPy where a number is wanted.
        let number = matches!(wanted, Some(Type::Int | Type::Float | Type::Bool | Type::Number));
        if number && tensor.numel() == 1 && given.hasattr("item")? {
            return read(&given.call_method0("item")?, wanted, name, depth + 1);
        }
        Ok(Plain::Tensor(tensor))
    } else {
        let kind = given.get_type().name()?;
        let message = format!("argument {name} is of the class {kind}, which cannot be passed");
        Err(error::argument(py, message))
    }
}

fn is_of(given: &Bound<'_, PyAny>, module: &str, name: &str) -> PyResult<bool> {
    let class = given.get_type();
    Ok(class.name()? == name && class.getattr("__module__")?.eq(module)?)
}

/// A value for a program.
pub fn to_program(plain: Plain) -> Result<IValue, Error> {
    let all = |items: Vec<Plain>| items.into_iter().map(to_program).collect::<Result<Vec<_>, _>>();
    Ok(match plain {
        Plain::None => IValue::None,
        Plain::Bool(value) => IValue::Bool(value),
        Plain::Int(value) => IValue::Int(value),
        Plain::Float(value) => IValue::Float(value),
        Plain::Complex(re, im) => IValue::Complex(re, im),
        Plain::Str(text) => IValue::str(text.as_str()),
        Plain::Device(name) => IValue::Device(name.into()),
        Plain::Tensor(tensor) => {
            let made = RunTensor::from_file(&tensor);
            IValue::Tensor(made.map_err(|error| Error::Arguments(error.message().to_owned()))?)
        }
        Plain::List(items) => IValue::from(all(items)?),
        Plain::Ints(sizes) => IValue::list(Type::Int, sizes.into_iter().map(IValue::Int).collect()),
        Plain::Tuple(items) | Plain::NamedTuple(_, _, items) => IValue::tuple(all(items)?),
        Plain::Dict(pairs) => {
            let mut entries = Vec::with_capacity(pairs.len());
            for (key, value) in pairs {
                entries.push((to_program(key)?, to_program(value)?));
            }
            IValue::dict(entries).ok_or_else(|| {
                Error::Arguments("a dict with keys that no program has".to_owned())
            })?
        }
        Plain::Object(class, _) | Plain::Enum(class, _) => {
            return Err(Error::Arguments(format!("an object of {class} cannot be passed")));
        }
    })
}

/// A program's value for any thread.
pub fn of_program(value: IValue, module: &Module) -> Result<Plain, Error> {
    take(value, module, 0)
}

fn take(value: IValue, module: &Module, depth: usize) -> Result<Plain, Error> {
    let unsupported = |what: String| Error::Unsupported { what, range: None };
    if depth > MAX_DEPTH {
        return Err(unsupported("a result that is nested too deeply, or holds itself".to_owned()));
    }
    let all = |items: &[IValue]| {
        items
            .iter()
            .map(|item| take(item.clone(), module, depth + 1))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(match value {
        IValue::None => Plain::None,
        IValue::Bool(value) => Plain::Bool(value),
        IValue::Int(value) => Plain::Int(value),
        IValue::Float(value) => Plain::Float(value),
        IValue::Complex(re, im) => Plain::Complex(re, im),
        IValue::Str(text) => Plain::Str(text.to_string()),
        IValue::Device(name) => Plain::Device(name.to_string()),
        IValue::Tensor(tensor) => {
            let given = tensor.into_file();
            Plain::Tensor(given.map_err(|error| {
                unsupported(format!("a result that is a tensor ({})", error.message()))
            })?)
        }
        IValue::List(list) => Plain::List(all(&list.read().items)?),
        IValue::Tuple(tuple) => {
            let items = all(&tuple.items)?;
            match &tuple.named {
                Some(Type::Tuple(of)) if of.named.is_some() => match &of.named {
                    Some(named) => Plain::NamedTuple(
                        named.name.to_string(),
                        named.fields.iter().map(ToString::to_string).collect(),
                        items,
                    ),
                    None => Plain::Tuple(items),
                },
                _ => Plain::Tuple(items),
            }
        }
        IValue::Dict(dict) => {
            let pairs = dict.read();
            let pair = |(key, value): (&IValue, &IValue)| {
                Ok((take(key.clone(), module, depth + 1)?, take(value.clone(), module, depth + 1)?))
            };
            Plain::Dict(pairs.entries().map(pair).collect::<Result<_, Error>>()?)
        }
        IValue::Object(object) => {
            let object = object.read();
            let (class, names) = module.with_program(|program| {
                let class = program.unit().class(object.class);
                let names = class.attributes.iter().map(|attribute| attribute.name.to_string());
                (class.name.to_string(), names.collect::<Vec<String>>())
            });
            let mut attributes = Vec::new();
            for (name, slot) in names.into_iter().zip(&object.slots) {
                if let Some(value) = slot {
                    attributes.push((name, take(value.clone(), module, depth + 1)?));
                }
            }
            Plain::Object(class, attributes)
        }
        IValue::Enum(of, member) => {
            let name = of.members.get(member as usize).map(|(name, _)| name.to_string());
            Plain::Enum(of.name.to_string(), name.unwrap_or_default())
        }
        other => return Err(unsupported(format!("a result of the kind {}", other.kind_name()))),
    })
}

/// A result for Python.
pub fn to_python<'py>(py: Python<'py>, plain: Plain) -> PyResult<Bound<'py, PyAny>> {
    let all = |items: Vec<Plain>| {
        items.into_iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()
    };
    Ok(match plain {
        Plain::None => py.None().into_bound(py),
        Plain::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Plain::Int(value) => value.into_pyobject(py)?.into_any(),
        Plain::Float(value) => PyFloat::new(py, value).into_any(),
        Plain::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any(),
        Plain::Str(text) => PyString::new(py, &text).into_any(),
        Plain::Device(name) => python_class(py, "device")?.call1((name,))?,
        Plain::Tensor(tensor) => Bound::new(py, PyTensor::new(tensor))?.into_any(),
        Plain::List(items) => PyList::new(py, all(items)?)?.into_any(),
        Plain::Ints(sizes) => PyList::new(py, sizes)?.into_any(),
        Plain::Tuple(items) => PyTuple::new(py, all(items)?)?.into_any(),
        Plain::NamedTuple(name, fields, items) => {
            named_tuple(py, &name, fields)?.call1(PyTuple::new(py, all(items)?)?)?
        }
        Plain::Dict(pairs) => {
            let dict = PyDict::new(py);
            for (key, value) in pairs {
                dict.set_item(to_python(py, key)?, to_python(py, value)?)?;
            }
            dict.into_any()
        }
        Plain::Object(class, attributes) => {
            let state = PyDict::new(py);
            for (name, value) in attributes {
                state.set_item(name, to_python(py, value)?)?;
            }
            let (module, name) = split(&class);
            python_class(py, "Object")?.call1((module, name, PyTuple::empty(py), state))?
        }
        Plain::Enum(class, member) => {
            let (module, name) = split(&class);
            python_class(py, "Object")?.call1((module, name, (member,)))?
        }
    })
}

/// The module and the name of a class.
fn split(class: &str) -> (&str, &str) {
    let class = class.strip_prefix("__torch__.").unwrap_or(class);
    class.rsplit_once('.').unwrap_or(("__main__", class))
}

/// The class of a NamedTuple, made once for a name and its fields.
fn named_tuple<'py>(
    py: Python<'py>,
    name: &str,
    fields: Vec<String>,
) -> PyResult<Bound<'py, PyAny>> {
    static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let classes = CLASSES.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    let key = (name, PyTuple::new(py, &fields)?);
    if let Some(known) = classes.get_item(&key)? {
        return Ok(known);
    }
    let (_, short) = split(name);
    let keywords = PyDict::new(py);
    keywords.set_item("rename", true)?;
    let make = py.import("collections")?.getattr("namedtuple")?;
    let class = make.call((short, fields), Some(&keywords))?;
    classes.set_item(&key, &class)?;
    Ok(class)
}

//! Python's values as those that any thread may have, and back.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use sconce::jit::ir::Type;
use sconce::run::Plain;

use crate::error;
use crate::python_classes::python_class;
use crate::tensor::{PyDType, PyTensor, dtype_of, tensor_from, tensor_like};

/// Lists, tuples and dicts in each other: programs have no use for more.
const MAX_DEPTH: usize = 200;

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
        list.iter().map(|item| inner(&item)).collect::<PyResult<_>>().map(Plain::list)
    } else if let Ok(tuple) = given.cast::<PyTuple>() {
        let sizes = given.get_type().name()? == "Size";
        if sizes {
            // A list of ints though it be empty.
            let sizes: Vec<i64> = given.extract()?;
            let items = sizes.into_iter().map(Plain::Int).collect();
            return Ok(Plain::List { element: Some(Type::Int), items });
        }
        let items: PyResult<Vec<Plain>> = tuple.iter().map(|item| inner(&item)).collect();
        // Python's tuples are taken for lists too.
        match wanted {
            Some(Type::List(_)) => items.map(Plain::list),
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
        Plain::List { items, .. } => PyList::new(py, all(items)?)?.into_any(),
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
        _ => return Err(error::unsupported(py, "a value that is new to this module")),
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

//! The objects of a checkpoint as Python's: one object for each, cycles included, without recursion.

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyComplex, PyDict, PyFloat, PyFrozenSet, PyList, PySet, PyString,
    PyTuple,
};
use sconce::checkpoint::{ArrayData, DictKind, ObjectId};
use sconce::{Checkpoint, Node, Object, Tensor};

use super::arrays;
use crate::python_classes::python_class;
use crate::tensor::{PyDType, PyTensor};

/// The root of a checkpoint.
pub fn to_python<'py>(py: Python<'py>, checkpoint: &Checkpoint) -> PyResult<Bound<'py, PyAny>> {
    let mut made = Made { py, objects: Vec::new(), tasks: vec![Task::Visit(checkpoint.root())] };
    while let Some(task) = made.tasks.pop() {
        match task {
            Task::Visit(object) => made.visit(object)?,
            Task::Finish(object) => made.finish(object)?,
        }
    }
    made.get(checkpoint.root().id())
}

enum Task<'c> {
    Visit(Object<'c>),
    /// What it holds has been made.
    Finish(Object<'c>),
}

struct Made<'py, 'c> {
    py: Python<'py>,
    /// By the ids of objects: not begun, open, or there.
    objects: Vec<Slot<'py>>,
    tasks: Vec<Task<'c>>,
}

#[derive(Clone)]
enum Slot<'py> {
    Empty,
    Open,
    Made(Bound<'py, PyAny>),
}

impl<'py, 'c> Made<'py, 'c> {
    fn slot(&mut self, id: ObjectId) -> &mut Slot<'py> {
        if self.objects.len() <= id.index() {
            self.objects.resize(id.index() + 1, Slot::Empty);
        }
        &mut self.objects[id.index()]
    }

    /// An object that has been made; `None` of one that holds itself by way of what cannot.
    fn get(&mut self, id: ObjectId) -> PyResult<Bound<'py, PyAny>> {
        match self.slot(id) {
            Slot::Made(object) => Ok(object.clone()),
            _ => {
                let message = "a tuple, set or object that holds itself";
                Err(crate::error::unsupported(self.py, message))
            }
        }
    }

    fn all(&mut self, ids: &[ObjectId]) -> PyResult<Vec<Bound<'py, PyAny>>> {
        ids.iter().map(|&id| self.get(id)).collect()
    }

    fn visit(&mut self, object: Object<'c>) -> PyResult<()> {
        let py = self.py;
        if !matches!(self.slot(object.id()), Slot::Empty) {
            return Ok(());
        }
        // What may hold itself is there before what it holds.
        let begun: Option<Bound<'py, PyAny>> = match object.data() {
            Node::List(_) => Some(PyList::empty(py).into_any()),
            Node::Dict(dict) => Some(match dict.kind {
                DictKind::Dict => PyDict::new(py).into_any(),
                DictKind::OrderedDict => {
                    py.import("collections")?.getattr("OrderedDict")?.call0()?
                }
                DictKind::Counter => py.import("collections")?.getattr("Counter")?.call0()?,
                DictKind::DefaultDict => {
                    py.import("collections")?.getattr("defaultdict")?.call0()?
                }
            }),
            Node::Instance(_) => {
                let class = python_class(py, "Object")?;
                Some(class.call_method1("__new__", (&class,))?)
            }
            _ => None,
        };
        let holds = held(object);
        if holds.is_empty() && begun.is_none() {
            let leaf = self.leaf(object)?;
            *self.slot(object.id()) = Slot::Made(leaf);
            return Ok(());
        }
        *self.slot(object.id()) = begun.map_or(Slot::Open, Slot::Made);
        self.tasks.push(Task::Finish(object));
        self.tasks.extend(holds.into_iter().rev().map(|id| Task::Visit(object.other(id))));
        Ok(())
    }

    fn leaf(&mut self, object: Object<'c>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match object.data() {
            Node::None => py.None().into_bound(py),
            Node::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
            Node::Int(value) => value.into_pyobject(py)?.into_any(),
            Node::BigInt(value) => {
                let int = py.get_type::<pyo3::types::PyInt>();
                int.call1((value.to_string(),))?
            }
            Node::Float(value) => PyFloat::new(py, *value).into_any(),
            Node::Complex(re, im) => PyComplex::from_doubles(py, *re, *im).into_any(),
            Node::Str(text) => PyString::new(py, text).into_any(),
            Node::SurrogateStr(bytes) => {
                PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "surrogatepass"))?
            }
            Node::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            Node::ByteArray(bytes) => PyByteArray::new(py, bytes).into_any(),
            Node::Tuple(_) => PyTuple::empty(py).into_any(),
            Node::Set(_) => PySet::empty(py)?.into_any(),
            Node::FrozenSet(_) => PyFrozenSet::empty(py)?.into_any(),
            Node::Tensor(tensor) => self.tensor(&tensor.tensor)?,
            Node::Storage(storage) => {
                let item = storage.dtype.item_size().max(1) as u64;
                let count = (storage.storage.nbytes() / item) as i64;
                let tensor = Tensor::contiguous(storage.storage.clone(), storage.dtype, &[count]);
                let tensor =
                    tensor.map_err(|error| crate::error::of_library(py, error, "<storage>"))?;
                self.tensor(&tensor)?
            }
            Node::DType(dtype) => Bound::new(py, PyDType(*dtype))?.into_any(),
            Node::Size(sizes) => python_class(py, "Size")?.call1((PyTuple::new(py, sizes)?,))?,
            Node::Device(device) => python_class(py, "device")?.call1((device.to_string(),))?,
            Node::Layout(layout) => python_class(py, "layout")?.call1((layout.to_string(),))?,
            Node::QScheme(name) => {
                python_class(py, "qscheme")?.call1((format!("torch.{name}"),))?
            }
            Node::Array(array) => arrays::array(py, array, false, None)?,
            Node::Scalar(array) => arrays::array(py, array, true, None)?,
            Node::Class(class) => {
                python_class(py, "Global")?.call1((&*class.module, &*class.name))?
            }
            _ => {
                let what = object.class_name();
                return Err(crate::error::unsupported(py, format!("an object of {what}")));
            }
        })
    }

    fn tensor(&self, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
        Ok(Bound::new(self.py, PyTensor::new(tensor.clone()))?.into_any())
    }

    fn finish(&mut self, object: Object<'c>) -> PyResult<()> {
        let py = self.py;
        let made = match object.data() {
            Node::Tuple(items) => PyTuple::new(py, self.all(items)?)?.into_any(),
            Node::Set(items) => PySet::new(py, self.all(items)?)?.into_any(),
            Node::FrozenSet(items) => PyFrozenSet::new(py, self.all(items)?)?.into_any(),
            Node::Array(array) | Node::Scalar(array) => {
                let is_scalar = matches!(object.data(), Node::Scalar(_));
                let items = match &array.data {
                    ArrayData::Objects { items, .. } => Some(self.get(*items)?),
                    _ => None,
                };
                arrays::array(py, array, is_scalar, items)?
            }
            Node::List(items) => {
                let list = self.get(object.id())?.cast_into::<PyList>()?;
                for &item in items {
                    list.append(self.get(item)?)?;
                }
                return Ok(());
            }
            Node::Dict(dict) => {
                let target = self.get(object.id())?;
                for &(key, value) in dict.entries() {
                    target.set_item(self.get(key)?, self.get(value)?)?;
                }
                if let Some(factory) = dict.factory {
                    let factory = self.get(factory)?;
                    // A class that is only named makes nothing; the well-known ones do.
                    let factory = python_class(py, "known_factory")?.call1((factory,))?;
                    target.setattr("default_factory", factory)?;
                }
                if let Some(state) = dict.state
                    && let Ok(state) = self.get(state)?.cast_into::<PyDict>()
                    && let Ok(attributes) = target.getattr("__dict__")
                {
                    attributes.call_method1("update", (state,))?;
                }
                return Ok(());
            }
            Node::Instance(instance) => {
                let target = self.get(object.id())?;
                let callable = self.get(instance.callable)?;
                let args = self.get(instance.args)?;
                let none = || Ok(py.None().into_bound(py));
                let kwargs = instance.kwargs.map_or_else(none, |id| self.get(id))?;
                let states = PyList::new(py, self.all(&instance.states)?)?;
                let items = PyList::new(py, self.all(&instance.items)?)?;
                let entries = PyList::empty(py);
                for &(key, value) in &instance.entries {
                    entries.append((self.get(key)?, self.get(value)?))?;
                }
                target.call_method1("_fill", (callable, args, kwargs, states, items, entries))?;
                return Ok(());
            }
            _ => return Ok(()),
        };
        *self.slot(object.id()) = Slot::Made(made);
        Ok(())
    }
}

/// The objects that one holds.
fn held(object: Object<'_>) -> Vec<ObjectId> {
    match object.data() {
        Node::List(ids) | Node::Tuple(ids) | Node::Set(ids) | Node::FrozenSet(ids) => ids.clone(),
        Node::Dict(dict) => {
            let entries = dict.entries().iter().flat_map(|&(key, value)| [key, value]);
            entries.chain(dict.state).chain(dict.factory).collect()
        }
        Node::Array(array) | Node::Scalar(array) => match &array.data {
            ArrayData::Objects { items, .. } => vec![*items],
            _ => Vec::new(),
        },
        Node::Instance(instance) => {
            let mut ids = vec![instance.callable, instance.args];
            ids.extend(instance.kwargs);
            ids.extend(&instance.states);
            ids.extend(&instance.items);
            ids.extend(instance.entries.iter().flat_map(|&(key, value)| [key, value]));
            ids
        }
        _ => Vec::new(),
    }
}

//! Python's objects as those of a checkpoint: an object that is in several places is one, as for pickle.

use std::collections::HashMap;

use num_bigint::BigInt;
use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyComplex, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet,
    PyString, PyTuple,
};
use sconce::checkpoint::{Builder, ClassRef, DictKind, ObjectId, TensorClass, TensorObject};
use sconce::{Draft, Node, Tensor};

use super::torch_tensors::TorchTensors;
use crate::error;
use crate::python_classes::python_class;
use crate::tensor::{PyDType, PyTensor, dtype_of, tensor_like};

/// How deep lists, tuples and dicts may be in each other; pickle ends at Python's limit on recursion.
const MAX_DEPTH: usize = 500;

/// An object and all that it holds, to be saved.
pub fn from_python(root: &Bound<'_, PyAny>) -> PyResult<Draft> {
    let py = root.py();
    let torch = crate::tensor::imported(py, "torch")?;
    let mut reader = Reader {
        builder: Builder::new(),
        known: HashMap::new(),
        torch,
        tensors: TorchTensors::default(),
        depth: 0,
    };
    let root = reader.read(root)?;
    Ok(reader.builder.finish(root))
}

struct Reader<'py> {
    builder: Builder,
    /// By address. What was met is held, so that no other object comes to lie there.
    known: HashMap<usize, (ObjectId, Bound<'py, PyAny>)>,
    torch: Option<Bound<'py, PyModule>>,
    tensors: TorchTensors,
    depth: usize,
}

impl<'py> Reader<'py> {
    fn read(&mut self, given: &Bound<'py, PyAny>) -> PyResult<ObjectId> {
        let address = given.as_ptr().addr();
        if let Some((known, _)) = self.known.get(&address) {
            return Ok(*known);
        }
        if self.depth == MAX_DEPTH {
            return Err(PyRecursionError::new_err("objects are nested too deeply to be saved"));
        }
        self.depth += 1;
        let made = self.make(given, address);
        self.depth -= 1;
        made
    }

    /// Remembers which object it is.
    fn note(&mut self, given: &Bound<'py, PyAny>, address: usize, id: ObjectId) -> ObjectId {
        self.known.insert(address, (id, given.clone()));
        id
    }

    fn all(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Vec<ObjectId>> {
        items.map(|item| self.read(&item)).collect()
    }

    fn make(&mut self, given: &Bound<'py, PyAny>, address: usize) -> PyResult<ObjectId> {
        let py = given.py();
        let exact = |class: Bound<'py, pyo3::types::PyType>| given.get_type().is(&class);
        // What holds others is there before them, since they may hold it.
        if exact(py.get_type::<PyList>()) {
            let id = self.builder.push(Node::None);
            self.note(given, address, id);
            let items = self.all(given.cast::<PyList>()?.iter())?;
            self.builder.set(id, Node::List(items));
            return Ok(id);
        }
        if given.is_instance_of::<PyDict>() {
            return self.dict(given, address);
        }
        let node = if given.is_none() {
            Node::None
        } else if let Ok(truth) = given.cast::<PyBool>() {
            Node::Bool(truth.is_true())
        } else if exact(py.get_type::<PyInt>()) {
            match given.extract::<i64>() {
                Ok(number) => Node::Int(number),
                Err(_) => {
                    let digits = given.call_method1("__format__", ("x",))?.to_string();
                    let number = BigInt::parse_bytes(digits.as_bytes(), 16);
                    Node::BigInt(Box::new(number.unwrap_or_default()))
                }
            }
        } else if exact(py.get_type::<PyFloat>()) {
            Node::Float(given.extract()?)
        } else if exact(py.get_type::<PyComplex>()) {
            Node::Complex(given.getattr("real")?.extract()?, given.getattr("imag")?.extract()?)
        } else if exact(py.get_type::<PyString>()) {
            match given.extract::<String>() {
                Ok(text) => Node::Str(text.into()),
                Err(_) => {
                    let bytes = given.call_method1("encode", ("utf-8", "surrogatepass"))?;
                    Node::SurrogateStr(bytes.extract::<Vec<u8>>()?.into())
                }
            }
        } else if exact(py.get_type::<PyBytes>()) {
            Node::Bytes(given.extract::<Vec<u8>>()?.into())
        } else if exact(py.get_type::<PyByteArray>()) {
            Node::ByteArray(given.cast::<PyByteArray>()?.to_vec().into())
        } else if exact(py.get_type::<PyTuple>()) {
            Node::Tuple(self.all(given.cast::<PyTuple>()?.iter())?)
        } else if exact(py.get_type::<PySet>()) {
            Node::Set(self.all(given.cast::<PySet>()?.iter())?)
        } else if exact(py.get_type::<PyFrozenSet>()) {
            Node::FrozenSet(self.all(given.cast::<PyFrozenSet>()?.iter())?)
        } else {
            self.other(given)?
        };
        let id = self.builder.push(node);
        Ok(self.note(given, address, id))
    }

    fn dict(&mut self, given: &Bound<'py, PyAny>, address: usize) -> PyResult<ObjectId> {
        let py = given.py();
        let class = given.get_type();
        let (module, name) = (class.getattr("__module__")?.to_string(), class.name()?.to_string());
        let kind = match (module.as_str(), name.as_str()) {
            ("builtins", "dict") => DictKind::Dict,
            ("collections", "OrderedDict") => DictKind::OrderedDict,
            ("collections", "Counter") => DictKind::Counter,
            _ => {
                let what = format!("a {module}.{name}: make a dict of it first");
                return Err(error::unsupported(py, what));
            }
        };
        let id = self.builder.push(Node::None);
        self.note(given, address, id);
        let mut entries = Vec::with_capacity(given.len()?);
        for pair in given.call_method0("items")?.try_iter()? {
            let (key, value) = pair?.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
            entries.push((self.read(&key)?, self.read(&value)?));
        }
        // The attributes of a state dict: _metadata.
        let state = match given.getattr("__dict__") {
            Ok(attributes) if kind != DictKind::Dict && attributes.is_truthy()? => {
                Some(self.read(&attributes)?)
            }
            _ => None,
        };
        self.builder.set_dict(id, kind, &entries, state);
        Ok(id)
    }

    /// What is none of Python's own types.
    fn other(&mut self, given: &Bound<'py, PyAny>) -> PyResult<Node> {
        let py = given.py();
        let tensor = |tensor: Tensor, class: TensorClass| {
            Node::Tensor(Box::new(TensorObject { tensor, class, state: None }))
        };
        if let Ok(ours) = given.cast::<PyTensor>() {
            return Ok(tensor(ours.get().tensor.clone(), TensorClass::Tensor));
        }
        if let Some(torch) = self.torch.clone()
            && given.is_instance(&torch.getattr("Tensor")?)?
        {
            let parameter = torch.getattr("nn")?.getattr("Parameter")?;
            let class = match given.is_instance(&parameter)? {
                true => TensorClass::Parameter,
                false => TensorClass::Tensor,
            };
            return Ok(tensor(self.tensors.tensor(&torch, given)?, class));
        }
        if given.cast::<PyDType>().is_ok() {
            return dtype_of(given).map(Node::DType);
        }
        let class = given.get_type();
        let (module, name) = (class.getattr("__module__")?.to_string(), class.name()?.to_string());
        match (module.as_str(), name.as_str()) {
            ("sconce" | "torch", "Size") => return Ok(Node::Size(given.extract()?)),
            ("torch", "dtype") => return dtype_of(given).map(Node::DType),
            ("sconce" | "torch", "device") => {
                let parsed = given.str()?.to_string().parse();
                return parsed
                    .map(Node::Device)
                    .map_err(|error| error::of_library(py, error, "<device>"));
            }
            _ => {}
        }
        if given.is_instance(&python_class(py, "Global")?)? {
            let text = |name: &str| PyResult::Ok(given.getattr(name)?.extract::<String>()?.into());
            let (module, name) = (text("module")?, text("name")?);
            return Ok(Node::Class(Box::new(ClassRef { module, name, source: None })));
        }
        if let Some(array) = tensor_like(given)? {
            return Ok(tensor(array, TensorClass::Tensor));
        }
        // Subclasses of numbers and strings, NumPy's among them, have no place in a file of weights.
        let what = format!("cannot save an object of {module}.{name}");
        let help = match given.hasattr("state_dict")? {
            true => ": save its state_dict()",
            false => {
                ": save its parts (tensors, arrays, numbers, strings, lists, tuples, sets and dicts)"
            }
        };
        Err(error::unsupported(py, what + help))
    }
}

//! What an entry gave.

use std::path::PathBuf;
use std::sync::Arc;

use sconce_checkpoint::StateDict;
use sconce_tensor::Tensor;

use crate::interpreter::{Made, MadeObject};
use crate::loader::{Module, ModuleLoader};
use crate::objects::{Heap, Id, Value};
use crate::script::compiled_module;
use crate::{Error, Scripted};

/// How deep modules may nest.
const MAX_NESTING: usize = 1000;

/// What an entry gave when it was called.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// What it gave; of a tuple, the first module in it.
    pub object: LoadedObject,
    /// What else was in the tuple, for people.
    pub rest: Vec<String>,
}

/// What can be written of what an entry gave.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadedObject {
    /// A module: a state dict, and an archive where its class compiles.
    Module(Box<LoadedModule>),
    /// The archive of a module that is TorchScript already.
    Archive(PathBuf),
    /// The tensors of a checkpoint, without a module.
    StateDict(Vec<(String, Tensor)>),
}

/// A module that an entry made.
#[derive(Debug)]
pub struct LoadedModule {
    heap: Heap,
    id: Id,
    loader: ModuleLoader,
    file: Arc<Module>,
    tensors: Vec<(String, Tensor)>,
    missing: Vec<String>,
    versions: Vec<(String, i64)>,
}

impl Loaded {
    pub(crate) fn new(made: Made, loader: ModuleLoader, file: Arc<Module>) -> Result<Self, Error> {
        let object = match made.object {
            MadeObject::Archive(path) => LoadedObject::Archive(path),
            MadeObject::StateDict(tensors) => LoadedObject::StateDict(tensors),
            MadeObject::Module(heap, id) => {
                let mut module = LoadedModule {
                    heap,
                    id,
                    loader,
                    file,
                    tensors: Vec::new(),
                    missing: Vec::new(),
                    versions: Vec::new(),
                };
                module.collect()?;
                LoadedObject::Module(Box::new(module))
            }
        };
        Ok(Self { object, rest: made.rest })
    }
}

impl LoadedModule {
    /// The name of its class.
    pub fn class_name(&self) -> &str {
        self.heap.module(self.id).map_or("", |object| object.class.name())
    }

    /// Its class with the file it is of, as Python has it: `hubconf.py.Net`.
    pub fn qualified_class_name(&self) -> String {
        let object = self.heap.module(self.id);
        object.map_or_else(String::new, |object| {
            format!("{}.{}", object.class.module.name, object.class.name())
        })
    }

    /// Whether it is in training mode.
    pub fn is_training(&self) -> bool {
        self.heap.module(self.id).is_none_or(|object| object.training)
    }

    /// Its parameters and persistent buffers, in the order of `module.state_dict()`. Those in
    /// [`Self::missing`] hold zeros.
    pub fn tensors(&self) -> &[(String, Tensor)] {
        &self.tensors
    }

    /// The tensors that PyTorch would have filled with random numbers, and nothing else did: they have no
    /// numbers here.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// `module.state_dict()`, with the versions of its modules, to be saved.
    ///
    /// # Errors
    /// When tensors are [missing](Self::missing).
    pub fn state_dict(&self) -> Result<StateDict, Error> {
        if let Some(first) = self.missing.first() {
            let others = match self.missing.len() - 1 {
                0 => String::new(),
                1 => " and one other tensor".to_owned(),
                count => format!(" and {count} other tensors"),
            };
            return Err(Error::without_range(format!(
                "'{first}'{others} would be random numbers, which are not made here: a state dict has \
                 to give them (is there an argument such as pretrained=True?)"
            )));
        }
        let mut dict = StateDict::new();
        for (name, tensor) in &self.tensors {
            dict.insert(name.as_str(), tensor.clone());
        }
        for (name, version) in &self.versions {
            dict.version(name.as_str(), *version);
        }
        Ok(dict)
    }

    /// Compiles it to TorchScript: `torch.jit.script(module)`.
    ///
    /// # Errors
    /// When its class cannot be TorchScript.
    pub fn script(&self) -> Result<Scripted, Error> {
        let mut python = crate::resolver::Python::new(self.loader.clone(), Arc::clone(&self.file));
        compiled_module(&mut python, self.heap.clone(), self.id)
    }

    /// Goes through the modules in the order of `state_dict()`.
    fn collect(&mut self) -> Result<(), Error> {
        let mut open = vec![(self.id, String::new(), 0)];
        let mut tensors: Vec<(String, Value)> = Vec::new();
        while let Some((id, prefix, depth)) = open.pop() {
            if depth > MAX_NESTING {
                return Err(Error::without_range("modules are nested too deeply"));
            }
            let Some(object) = self.heap.module(id) else { continue };
            let path = prefix.strip_suffix('.').unwrap_or(&prefix);
            self.versions.push((path.to_owned(), version(&object.class.module.name)));
            for (name, value) in &object.parameters {
                tensors.push((format!("{prefix}{name}"), value.clone()));
            }
            for buffer in object.buffers.iter().filter(|buffer| buffer.is_persistent) {
                tensors.push((format!("{prefix}{}", buffer.name), buffer.value.clone()));
            }
            for (name, value) in object.modules.iter().rev() {
                if let Value::Module(child) = value {
                    open.push((*child, format!("{prefix}{name}."), depth + 1));
                }
            }
        }
        for (name, value) in tensors {
            let Value::Tensor(id) = value else { continue };
            let Some(tensor) = self.heap.tensor(id) else { continue };
            if !tensor.is_known {
                self.missing.push(name.clone());
            }
            self.tensors.push((name, tensor.tensor.clone()));
        }
        Ok(())
    }
}

/// `_version` of a class, by the file it is in.
fn version(file: &str) -> i64 {
    match file {
        "torch.nn.modules.batchnorm" | "torch.nn.modules.instancenorm" => 2,
        _ => 1,
    }
}

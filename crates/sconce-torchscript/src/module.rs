//! A loaded module: its attributes, its methods, its code.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;
use sconce_archive::Archive;
use sconce_checkpoint::ErrorKind;
use sconce_ir::{ClassId, FunctionId, Graph, Role, Schema, Unit};
use sconce_tensor::Tensor;

use crate::Error;
use crate::bytecode::Bytecode;
use crate::importer::Program;
use crate::names::demangle;
use crate::values::{Value, ValueId, Values};

/// Everything that modules of one archive share.
pub(crate) struct Loaded {
    /// The archive; `None` for a module that was compiled from source.
    pub(crate) archive: Option<Arc<Archive>>,
    pub(crate) version: u64,
    pub(crate) program: Program,
    pub(crate) values: Values,
    pub(crate) constants: Vec<ValueId>,
}

impl Loaded {
    pub(crate) fn new(
        archive: Arc<Archive>,
        version: u64,
        program: Program,
        values: Values,
        constants: Vec<ValueId>,
    ) -> Arc<Mutex<Self>> {
        let archive = Some(archive);
        Arc::new(Mutex::new(Loaded { archive, version, program, values, constants }))
    }
}

/// A module of a TorchScript archive: `torch.jit.ScriptModule`. Cloning gives another handle to the
/// same module.
#[derive(Clone)]
pub struct Module {
    loaded: Arc<Mutex<Loaded>>,
    value: ValueId,
    class: ClassId,
}

impl fmt::Debug for Module {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Module").field("class", &self.class_name()).finish_non_exhaustive()
    }
}

/// A method of a module.
#[derive(Debug, Clone)]
pub struct Method {
    /// Its name, such as `forward`.
    pub name: String,
    /// Its qualified name, such as `__torch__.M.forward`.
    pub qualified_name: String,
    /// What it takes and gives.
    pub schema: Arc<Schema>,
    pub(crate) id: FunctionId,
}

impl Module {
    pub(crate) fn new(loaded: Arc<Mutex<Loaded>>, value: ValueId, class: ClassId) -> Self {
        Module { loaded, value, class }
    }

    /// A module of a program that is compiled already: its classes and functions with their graphs,
    /// its values, and which of these the module is; `constants` are the values that constants of
    /// graphs refer to by index. `None` when that value is no object.
    pub fn assemble(
        unit: Unit,
        values: Values,
        constants: Vec<ValueId>,
        root: ValueId,
    ) -> Option<Self> {
        let class = values.object(root)?.class;
        let version = u64::from(sconce_ir::operators::CURRENT_VERSION);
        let program = Program::compiled(unit);
        let loaded = Loaded { archive: None, version, program, values, constants };
        Some(Module::new(Arc::new(Mutex::new(loaded)), root, class))
    }

    /// What is behind the handle. Nothing in here panics while it holds the lock in a way that
    /// leaves a half-done change: a poisoned lock is as good as any.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no other handle leads to what it shares.
    pub(crate) fn is_last_handle(&self) -> bool {
        Arc::strong_count(&self.loaded) == 1
    }

    pub(crate) fn value(&self) -> ValueId {
        self.value
    }

    pub(crate) fn class(&self) -> ClassId {
        self.class
    }

    /// The archive's version: which operators its code means.
    pub fn version(&self) -> u64 {
        self.lock().version
    }

    /// The qualified name of its class, such as `__torch__.M`.
    pub fn qualified_name(&self) -> String {
        self.lock().program.unit.class(self.class).name.to_string()
    }

    /// The name of its class as Python has it: `torch.nn.modules.linear.Linear`.
    pub fn class_name(&self) -> String {
        let qualified = self.qualified_name();
        let plain = demangle(&qualified);
        plain.strip_prefix("__torch__.").unwrap_or(&plain).to_owned()
    }

    /// The attributes with their values, in slot order.
    ///
    /// # Errors
    /// When the module is only there as what its `__getstate__` gave.
    pub fn attributes(&self) -> Result<Vec<(String, Value)>, Error> {
        let loaded = self.lock();
        let slots = slots(&loaded, self.value)?;
        let attributes = &loaded.program.unit.class(self.class).attributes;
        let pairs = attributes.iter().zip(slots);
        Ok(pairs
            .map(|(attribute, slot)| (attribute.name.to_string(), loaded.values.get(slot).clone()))
            .collect())
    }

    /// An attribute.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn attr(&self, name: &str) -> Result<Value, Error> {
        let loaded = self.lock();
        let slot = self.slot(&loaded, name)?;
        Ok(loaded.values.get(slots(&loaded, self.value)?[slot]).clone())
    }

    /// Which value of the archive the module itself is.
    pub fn id(&self) -> ValueId {
        self.value
    }

    /// The table of constants that graphs refer to by index.
    pub fn constants(&self) -> Vec<ValueId> {
        self.lock().constants.clone()
    }

    /// The value that another value of this archive holds.
    pub fn child(&self, id: ValueId) -> Value {
        self.lock().values.get(id).clone()
    }

    pub(crate) fn slot(&self, loaded: &Loaded, name: &str) -> Result<usize, Error> {
        let class = loaded.program.unit.class(self.class);
        class.slot(name).ok_or_else(|| {
            let message = format!("'{}' object has no attribute '{name}'", demangle(&class.name));
            Error::new(ErrorKind::Caller, message)
        })
    }

    /// Submodules by name.
    ///
    /// # Errors
    /// As [`Self::attributes`].
    pub fn children(&self) -> Result<Vec<(String, Module)>, Error> {
        let loaded = self.lock();
        let slots = slots(&loaded, self.value)?;
        let attributes = &loaded.program.unit.class(self.class).attributes;
        let pairs = attributes.iter().zip(slots);
        Ok(pairs
            .filter_map(|(attribute, slot)| {
                let object = loaded.values.object(slot)?;
                let is_module = loaded.program.unit.class(object.class).is_module;
                let module = Module::new(Arc::clone(&self.loaded), slot, object.class);
                is_module.then(|| (attribute.name.to_string(), module))
            })
            .collect())
    }

    /// This module and all below it, each once, by dotted name: `Module.named_modules`.
    ///
    /// # Errors
    /// As [`Self::attributes`].
    pub fn named_modules(&self) -> Result<Vec<(String, Module)>, Error> {
        let mut seen = FxHashSet::default();
        let mut out = Vec::new();
        let mut queue = vec![(String::new(), self.clone())];
        while let Some((name, module)) = queue.pop() {
            if !seen.insert(module.value) {
                continue;
            }
            let children = module.children()?;
            queue.extend(children.into_iter().rev().map(|(child, module)| {
                let dotted = if name.is_empty() { child } else { format!("{name}.{child}") };
                (dotted, module)
            }));
            out.push((name, module));
        }
        Ok(out)
    }

    /// Parameters of this module and all below it, each once: `Module.named_parameters`.
    ///
    /// # Errors
    /// As [`Self::attributes`].
    pub fn named_parameters(&self) -> Result<Vec<(String, Tensor)>, Error> {
        self.named_tensors(Role::Parameter)
    }

    /// Buffers of this module and all below it, each once: `Module.named_buffers`.
    ///
    /// # Errors
    /// As [`Self::attributes`].
    pub fn named_buffers(&self) -> Result<Vec<(String, Tensor)>, Error> {
        self.named_tensors(Role::Buffer)
    }

    fn named_tensors(&self, role: Role) -> Result<Vec<(String, Tensor)>, Error> {
        let mut seen = FxHashSet::default();
        let mut out = Vec::new();
        for (prefix, module) in self.named_modules()? {
            let loaded = self.lock();
            let attributes = &loaded.program.unit.class(module.class).attributes;
            for (attribute, slot) in attributes.iter().zip(slots(&loaded, module.value)?) {
                let Value::Tensor(tensor) = loaded.values.get(slot) else { continue };
                if attribute.role != role || !seen.insert(slot) {
                    continue;
                }
                let name = match prefix.as_str() {
                    "" => attribute.name.to_string(),
                    prefix => format!("{prefix}.{}", attribute.name),
                };
                out.push((name, tensor.clone()));
            }
        }
        Ok(out)
    }

    /// The methods in order of definition, hooks not among them.
    pub fn methods(&self) -> Vec<Method> {
        let loaded = self.lock();
        let unit = &loaded.program.unit;
        unit.class(self.class).methods.iter().map(|&id| method(unit, id)).collect()
    }

    /// A method.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn method(&self, name: &str) -> Result<Method, Error> {
        let loaded = self.lock();
        let unit = &loaded.program.unit;
        let id = unit.find_method(self.class, name).ok_or_else(|| {
            let class = demangle(&unit.class(self.class).name).into_owned();
            let message = format!("Method '{name}' is not defined on {class}.");
            Error::new(ErrorKind::Caller, message)
        })?;
        Ok(method(unit, id))
    }

    /// The graph of a method, compiled now if it has not been.
    ///
    /// # Errors
    /// When there is no such method, or its code does not compile.
    pub fn graph(&self, method: &str) -> Result<Arc<Graph>, Error> {
        let method = self.method(method)?;
        self.lock().program.graph(method.id)
    }

    /// The lite interpreter's program, where the archive has one.
    ///
    /// # Errors
    /// When it has one that cannot be read.
    pub fn bytecode(&self) -> Result<Option<Bytecode>, Error> {
        match &self.lock().archive {
            Some(archive) => Bytecode::read(archive),
            None => Ok(None),
        }
    }

    /// The names of the code files, in the archive's order, and what they hold.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn code_files(&self) -> Result<Vec<(String, String)>, Error> {
        let Some(archive) = self.lock().archive.clone() else { return Ok(Vec::new()) };
        let names = archive.records().iter().map(|entry| archive.record_name(entry).into_owned());
        let code = names.filter(|name| name.ends_with(".py") && !name.starts_with("extra/"));
        code.map(|name| {
            let (bytes, _) = archive.read_to_parse(&name)?;
            let text = String::from_utf8(bytes.to_vec())
                .map_err(|_| Error::malformed("code is not valid UTF-8").in_record(&name))?;
            Ok((name, text))
        })
        .collect()
    }

    /// Works on the program: its classes, functions and graphs.
    pub fn with_program<T>(&self, work: impl FnOnce(&mut Program) -> T) -> T {
        work(&mut self.lock().program)
    }
}

fn method(unit: &Unit, id: FunctionId) -> Method {
    let function = unit.function(id);
    Method {
        name: function.name().to_owned(),
        qualified_name: function.qualified_name.to_string(),
        schema: Arc::clone(&function.schema),
        id,
    }
}

/// The slots of an object.
pub(crate) fn slots(loaded: &Loaded, id: ValueId) -> Result<Vec<ValueId>, Error> {
    match loaded.values.object(id) {
        Some(object) if object.state.is_some() => {
            let class = &loaded.program.unit.class(object.class).name;
            let message = format!(
                "the attributes of {class} come from its __setstate__, which cannot be run yet"
            );
            Err(Error::new(ErrorKind::Unsupported, message))
        }
        Some(object) => Ok(object.slots.clone()),
        None => Ok(Vec::new()),
    }
}

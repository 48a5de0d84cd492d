//! `nn.Module` objects to classes with methods: the job of `torch/jit/_recursive.py`.
//!
//! An object's attributes say what type its class gets (`concrete`); objects of one Python class
//! whose attributes are alike share it. Then the objects are gone through from the inside out and
//! the methods of each class are compiled once (`compile`, `members`), while the objects become the
//! values of the archive (`values`).

mod compile;
mod concrete;
mod containers;
mod infer_type;
mod members;
mod values;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_compiler::{Error, Global, ModuleKind};
use sconce_ir::{ClassConstant, ClassId, Role, Type};

use crate::loader::{PyClass, PyFunction};
use crate::objects::{Heap, Id, ModuleObject};

/// How deep modules may be nested in each other.
const MAX_NESTING: usize = 200;

/// How many modules there may be, those that several modules share counted each time.
const MAX_MODULES: usize = 1 << 16;

/// The modules that are compiled.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    /// The objects that constructors made.
    pub(crate) heap: Arc<Heap>,
    /// What is known of each class of the program.
    concrete: FxHashMap<ClassId, Arc<Concrete>>,
    /// The classes of the program that a Python class became, by its file and place there.
    by_class: FxHashMap<(Arc<str>, u32), Vec<ClassId>>,
    /// What was found for each object.
    known: FxHashMap<Id, ClassId>,
    /// The objects that are being looked at.
    open: FxHashSet<Id>,
    /// The classes whose methods have been compiled.
    compiled: FxHashSet<ClassId>,
    made: usize,
}

/// What the compiler knows of modules of one Python class with attributes of the same types:
/// PyTorch's `ConcreteModuleType`.
#[derive(Debug, Clone)]
struct Concrete {
    class: PyClass,
    kind: ModuleKind,
    attributes: Vec<Slot>,
    constants: Vec<ClassConstant>,
    /// Modules with their classes or interfaces.
    modules: Vec<(Arc<str>, Type)>,
    /// Functions and operators that are attributes.
    functions: Vec<(Arc<str>, Global)>,
    /// Attributes that are methods of the object itself, which programs begin with: `self.forward = self.fast`.
    bound: Vec<(Arc<str>, PyFunction)>,
    /// Attributes that programs cannot have, and why.
    failed: Vec<(Arc<str>, String)>,
    /// The names in `__jit_ignored_attributes__`.
    ignored: Vec<Arc<str>>,
    overloads: Vec<Overloaded>,
    forward_pre_hooks: Vec<PyFunction>,
    forward_hooks: Vec<PyFunction>,
}

/// A slot that is not a module.
#[derive(Debug, Clone, PartialEq)]
struct Slot {
    name: Arc<str>,
    ty: Type,
    role: Role,
}

/// A method with several signatures.
#[derive(Debug, Clone)]
struct Overloaded {
    name: Arc<str>,
    /// The methods that its signatures become, and where each signature is.
    signatures: Vec<(Arc<str>, PyFunction)>,
}

impl Concrete {
    /// Whether modules of both may share a class: `ConcreteModuleTypeBuilder::equals`.
    fn is_like(&self, other: &Self) -> bool {
        let sorted = |modules: &[(Arc<str>, Type)]| {
            let mut modules = modules.to_vec();
            modules.sort_by(|(left, _), (right, _)| left.cmp(right));
            modules
        };
        let same_constants = || {
            let has = |constant: &ClassConstant| {
                let mut constants = other.constants.iter();
                constants.any(|one| one.name == constant.name && one.value == constant.value)
            };
            self.constants.len() == other.constants.len() && self.constants.iter().all(has)
        };
        self.class.is(&other.class)
            && self.kind == other.kind
            && self.ignored == other.ignored
            && same_constants()
            && self.attributes == other.attributes
            && self.functions == other.functions
            && same_functions(&self.forward_pre_hooks, &other.forward_pre_hooks)
            && same_functions(&self.forward_hooks, &other.forward_hooks)
            && sorted(&self.modules) == sorted(&other.modules)
    }
}

/// Whether these are the same functions of files.
fn same_functions(left: &[PyFunction], right: &[PyFunction]) -> bool {
    let same = |(left, right): (&PyFunction, &PyFunction)| {
        left.module.name == right.module.name && left.def.range == right.def.range
    };
    left.len() == right.len() && left.iter().zip(right).all(same)
}

impl Modules {
    /// Works with the objects of a heap.
    pub(crate) fn new(heap: Heap) -> Self {
        Self { heap: Arc::new(heap), ..Self::default() }
    }

    /// What kind of module the objects of a class are, if they are modules of Python.
    pub(crate) fn kind(&self, class: ClassId) -> Option<ModuleKind> {
        self.concrete.get(&class).map(|concrete| concrete.kind)
    }

    fn object(&self, id: Id) -> Result<ModuleObject, Error> {
        let object = self.heap.module(id).cloned();
        object.ok_or_else(|| Error::without_range("what is to be a module is none"))
    }

    /// Counts one more module.
    fn one_more(&mut self) -> Result<(), Error> {
        self.made += 1;
        if self.made > MAX_MODULES {
            let message = format!("there are more than {MAX_MODULES} modules in the module");
            return Err(Error::without_range(message));
        }
        Ok(())
    }
}

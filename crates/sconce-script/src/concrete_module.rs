//! What is known of the modules that are compiled: PyTorch's `ConcreteModuleType`.
//!
//! Only data: the room `module` fills it in, and the resolver of names reads it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use sconce_compiler::{Error, Global, ModuleKind};
use sconce_ir::{ClassConstant, ClassId, Constant, Role, Type};

use crate::loader::{PyClass, PyFunction};
use crate::objects::{Heap, Id, ModuleObject};

/// How many modules there may be, those that several modules share counted each time.
const MAX_MODULES: usize = 1 << 16;

/// The modules that are compiled.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    /// The objects that constructors made.
    pub(crate) heap: Arc<Heap>,
    /// What is known of each class of the program.
    pub(crate) concrete: FxHashMap<ClassId, Arc<Concrete>>,
    /// The classes of the program that a Python class became, by its file, its place there and their sketches.
    pub(crate) by_class: FxHashMap<(Arc<str>, u32, u64), Vec<ClassId>>,
    /// What was found for each object.
    pub(crate) known: FxHashMap<Id, ClassId>,
    /// The objects that are being looked at.
    pub(crate) open: FxHashSet<Id>,
    /// The classes whose methods have been compiled.
    pub(crate) compiled: FxHashSet<ClassId>,
    pub(crate) made: usize,
}

/// What the compiler knows of modules of one Python class with attributes of the same types:
/// PyTorch's `ConcreteModuleType`.
#[derive(Debug, Clone)]
pub(crate) struct Concrete {
    pub(crate) class: PyClass,
    pub(crate) kind: ModuleKind,
    pub(crate) attributes: Vec<Slot>,
    pub(crate) constants: Vec<ClassConstant>,
    /// Modules with their classes or interfaces.
    pub(crate) modules: Vec<(Arc<str>, Type)>,
    /// Functions and operators that are attributes.
    pub(crate) functions: Vec<(Arc<str>, Global)>,
    /// Attributes that are methods of the object itself, which programs begin with: `self.forward = self.fast`.
    pub(crate) bound: Vec<(Arc<str>, PyFunction)>,
    /// Attributes that programs cannot have, and why.
    pub(crate) failed: Vec<(Arc<str>, String)>,
    /// The names in `__jit_ignored_attributes__`.
    pub(crate) ignored: Vec<Arc<str>>,
    pub(crate) overloads: Vec<Overloaded>,
    pub(crate) forward_pre_hooks: Vec<PyFunction>,
    pub(crate) forward_hooks: Vec<PyFunction>,
}

/// A slot that is not a module.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slot {
    pub(crate) name: Arc<str>,
    pub(crate) ty: Type,
    pub(crate) role: Role,
}

/// A method with several signatures.
#[derive(Debug, Clone)]
pub(crate) struct Overloaded {
    pub(crate) name: Arc<str>,
    /// The methods that its signatures become, and where each signature is.
    pub(crate) signatures: Vec<(Arc<str>, PyFunction)>,
}

impl Concrete {
    /// A number that is the same for all that [`Self::is_like`] holds of.
    pub(crate) fn sketch(&self) -> u64 {
        let hash = |what: &dyn Fn(&mut FxHasher)| {
            let mut hasher = FxHasher::default();
            what(&mut hasher);
            hasher.finish()
        };
        // Constants and modules are alike in any order.
        let constants = self.constants.iter().map(|constant| {
            hash(&|hasher| {
                constant.name.hash(hasher);
                match &constant.value {
                    Constant::Bool(value) => value.hash(hasher),
                    Constant::Int(value) => value.hash(hasher),
                    // 0.0 and -0.0 are alike.
                    Constant::Float(value) if *value != 0.0 => value.to_bits().hash(hasher),
                    Constant::Str(text) => text.hash(hasher),
                    _ => {}
                }
            })
        });
        let modules = self.modules.iter().map(|(name, _)| hash(&|hasher| name.hash(hasher)));
        let attributes = self.attributes.iter().map(|slot| &slot.name);
        let ordered = hash(&|hasher| attributes.clone().for_each(|name| name.hash(hasher)));
        constants.chain(modules).fold(ordered, u64::wrapping_add)
    }

    /// Whether modules of both may share a class: `ConcreteModuleTypeBuilder::equals`.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
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
pub(crate) fn same_functions(left: &[PyFunction], right: &[PyFunction]) -> bool {
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

    pub(crate) fn object(&self, id: Id) -> Result<ModuleObject, Error> {
        let object = self.heap.module(id).cloned();
        object.ok_or_else(|| Error::without_range("what is to be a module is none"))
    }

    /// Counts one more module.
    pub(crate) fn one_more(&mut self) -> Result<(), Error> {
        self.made += 1;
        if self.made > MAX_MODULES {
            let message = format!("there are more than {MAX_MODULES} modules in the module");
            return Err(Error::without_range(message));
        }
        Ok(())
    }
}

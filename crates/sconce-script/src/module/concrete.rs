//! From a module's attributes to its class: `infer_concrete_type_builder`.

use std::sync::Arc;

use ruff_python_ast as py;
use rustc_hash::{FxHashMap, FxHashSet};
use sconce_compiler::{Error, Global, ModuleKind};
use sconce_ir::{Class, ClassAttribute, ClassConstant, ClassId, Constant, Role, Type, Unit};

use super::MAX_NESTING;
use crate::concrete_module::{Concrete, Overloaded, Slot};
use crate::frontend::dotted;
use crate::library;
use crate::loader::inheritance::{Ancestor, MemberKind};
use crate::loader::{Object, PyClass, PyFunction};
use crate::objects::{Id, ModuleObject, Value};
use crate::resolver::Python;

/// Attributes that every module has in Python and no program sees.
const HIDDEN: &[&str] = &[
    "_version",
    "_parameters",
    "_buffers",
    "_non_persistent_buffers_set",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
    "_modules",
    "_initializing",
    "dump_patches",
];

/// How many lists of constants may be put together of others.
const MAX_LISTS: usize = 16;

/// The annotations of a class's body, with the class that they are of.
struct Annotations {
    /// `None` for those of `nn.Module` itself.
    class: Option<PyClass>,
    of: Vec<(Arc<str>, py::Expr)>,
    /// Where the last of each name is.
    by_name: FxHashMap<Arc<str>, usize>,
}

impl Annotations {
    fn new(class: Option<PyClass>, of: Vec<(Arc<str>, py::Expr)>) -> Self {
        let by_name = of.iter().enumerate().map(|(at, (name, _))| (Arc::clone(name), at)).collect();
        Self { class, of, by_name }
    }
}

impl Python {
    /// The class of a module: one that there is already if it fits, else a new one.
    pub(super) fn class_of_module(&mut self, unit: &mut Unit, id: Id) -> Result<ClassId, Error> {
        if let Some(&known) = self.modules.known.get(&id) {
            return Ok(known);
        }
        if self.modules.open.len() >= MAX_NESTING || !self.modules.open.insert(id) {
            return Err(Error::without_range("modules are nested too deeply, or in themselves"));
        }
        self.modules.one_more()?;
        let concrete = crate::nesting::with_stack(|| self.concrete(unit, id));
        self.modules.open.remove(&id);
        let concrete = concrete?;
        let (file, place) = concrete.class.key();
        let key = (file, place, concrete.sketch());
        let alike = self.modules.by_class.get(&key).into_iter().flatten().copied();
        let alike = alike
            .filter_map(|class| Some((class, self.modules.concrete.get(&class)?)))
            .find(|(_, known)| known.is_like(&concrete))
            .map(|(class, _)| class);
        let class = match alike {
            Some(class) => class,
            None => {
                let class = self.new_class(unit, &concrete);
                self.modules.by_class.entry(key).or_default().push(class);
                self.modules.concrete.insert(class, Arc::new(concrete));
                class
            }
        };
        self.modules.known.insert(id, class);
        Ok(class)
    }

    fn new_class(&mut self, unit: &mut Unit, concrete: &Concrete) -> ClassId {
        let name = self.qualified(&concrete.class.module, concrete.class.name());
        let slots = concrete.attributes.iter().map(|slot| ClassAttribute {
            name: Arc::clone(&slot.name),
            ty: slot.ty.clone(),
            role: slot.role,
        });
        let modules = concrete.modules.iter().map(|(name, ty)| ClassAttribute {
            name: Arc::clone(name),
            ty: ty.clone(),
            role: Role::Plain,
        });
        let class = Class {
            is_module: true,
            attributes: slots.chain(modules).collect(),
            constants: concrete.constants.clone(),
            ..Class::new(name)
        };
        unit.add_class(class).0
    }

    fn concrete(&mut self, unit: &mut Unit, id: Id) -> Result<Concrete, Error> {
        let object = self.modules.object(id)?;
        let annotations = self.annotations(&object.class)?;
        let mut concrete = Concrete {
            kind: self.module_kind_of(&object.class)?,
            class: object.class.clone(),
            attributes: Vec::new(),
            constants: Vec::new(),
            modules: Vec::new(),
            functions: Vec::new(),
            bound: bound_methods(&object, id),
            failed: Vec::new(),
            ignored: self.names_in(&object.class, "__jit_ignored_attributes__")?,
            overloads: self.overloaded_methods(&object.class)?,
            forward_pre_hooks: object.forward_pre_hooks.clone(),
            forward_hooks: object.forward_hooks.clone(),
        };
        self.add_tensors(unit, &object, &annotations, &mut concrete)?;
        self.add_modules(unit, &object, &annotations, &mut concrete)?;
        self.add_constants(unit, &object, &annotations, &mut concrete)?;
        self.add_attributes(unit, &object, &annotations, &mut concrete)?;
        Ok(concrete)
    }

    fn add_tensors(
        &mut self,
        unit: &mut Unit,
        object: &ModuleObject,
        annotations: &Annotations,
        concrete: &mut Concrete,
    ) -> Result<(), Error> {
        let parameters =
            object.parameters.iter().map(|(name, value)| (name, value, Role::Parameter));
        let buffers =
            object.buffers.iter().map(|buffer| (&buffer.name, &buffer.value, Role::Buffer));
        for (name, value, role) in parameters.chain(buffers) {
            if concrete.ignored.contains(name) {
                continue;
            }
            let annotated = self.annotated(unit, annotations, name)?;
            let plain = if matches!(value, Value::None) { Type::None } else { Type::Tensor };
            let ty = annotated.unwrap_or(plain);
            concrete.attributes.push(Slot { name: Arc::clone(name), ty, role });
        }
        Ok(())
    }

    fn add_modules(
        &mut self,
        unit: &mut Unit,
        object: &ModuleObject,
        annotations: &Annotations,
        concrete: &mut Concrete,
    ) -> Result<(), Error> {
        for (name, value) in &object.modules {
            if concrete.ignored.contains(name) {
                continue;
            }
            let annotated = self.annotated(unit, annotations, name)?;
            match (value, annotated) {
                (Value::Module(_), Some(ty @ Type::Interface(_))) => {
                    concrete.modules.push((Arc::clone(name), ty));
                }
                (Value::Module(id), _) => {
                    let class = self.class_of_module(unit, *id)?;
                    let qualified = Arc::clone(&unit.class(class).name);
                    let Some(ty) = unit.find_type(&qualified) else { continue };
                    concrete.modules.push((Arc::clone(name), ty.clone()));
                }
                (_, annotated) => concrete.attributes.push(Slot {
                    name: Arc::clone(name),
                    ty: annotated.unwrap_or(Type::None),
                    role: Role::Plain,
                }),
            }
        }
        Ok(())
    }

    fn add_constants(
        &mut self,
        unit: &mut Unit,
        object: &ModuleObject,
        annotations: &Annotations,
        concrete: &mut Concrete,
    ) -> Result<(), Error> {
        let mut names = self.names_in(&object.class, "__constants__")?;
        for (name, annotation) in &annotations.of {
            if let Some(class) = &annotations.class
                && self.is_final(class, annotation)?
            {
                names.push(Arc::clone(name));
            }
        }
        let mut seen = concrete.names();
        for name in names {
            if !seen.insert(Arc::clone(&name)) {
                continue;
            }
            let Some(value) = self.constant_of_module(unit, object, &name)? else { continue };
            let Some(value) = value else {
                let found = self.type_of_constant(object, &name);
                let message = format!(
                    "\n'{found}' object in attribute '{}.{name}' is not a valid constant.\n\
                     Valid constants are:\n1. a nn.ModuleList\n2. a value of type {{bool, float, int, \
                     str, NoneType, torch.device, torch.layout, torch.dtype, torch.qscheme}}\n3. a list \
                     or tuple of (2)\n",
                    object.class.name()
                );
                return Err(Error::new(message, object.class.module.place(&object.class.def.name)));
            };
            concrete.constants.push(ClassConstant { name, ty: value.ty(), value });
        }
        Ok(())
    }

    /// `getattr(module, name)` as a constant: `None` if there is none of that name, `Some(None)` if
    /// it is of no fitting type.
    fn constant_of_module(
        &mut self,
        unit: &mut Unit,
        object: &ModuleObject,
        name: &str,
    ) -> Result<Option<Option<Constant>>, Error> {
        let own = object.attributes.iter().find(|(known, _)| &**known == name);
        if let Some((_, value)) = own {
            let value = value.clone();
            return Ok(Some(self.valid_constant(&value, 0)));
        }
        match name {
            "training" => return Ok(Some(Some(Constant::Bool(object.training)))),
            "_is_full_backward_hook" => return Ok(Some(Some(Constant::None))),
            _ => {}
        }
        let Some(member) = self.loader.class_member(&object.class, name)? else { return Ok(None) };
        match member.kind {
            MemberKind::Value(expression) => {
                let module = Arc::clone(&member.owner.module);
                let value = self.in_scope(&module, |python| python.evaluate(unit, &expression))?;
                Ok(Some(value.as_module_constant()))
            }
            _ => Ok(None),
        }
    }

    /// What Python calls the type of what cannot be a constant: of a list the first such element's.
    fn type_of_constant(&self, object: &ModuleObject, name: &str) -> String {
        let own = object.attributes.iter().find(|(known, _)| &**known == name);
        let Some((_, value)) = own else { return "object".into() };
        let mut value = value.clone();
        for _ in 0..MAX_LISTS {
            let items = match &value {
                Value::Tuple(items, _) => items.to_vec(),
                Value::List(id) => self.modules.heap.list(*id).cloned().unwrap_or_default(),
                _ => break,
            };
            let Some(wrong) = items.into_iter().find(|item| self.valid_constant(item, 0).is_none())
            else {
                break;
            };
            value = wrong;
        }
        self.type_name(&value)
    }

    fn valid_constant(&self, value: &Value, depth: usize) -> Option<Constant> {
        if depth > MAX_LISTS {
            return None;
        }
        let all = |items: &[Value]| {
            let items = items.iter().map(|item| self.valid_constant(item, depth + 1));
            Some(Constant::Tuple(items.collect::<Option<_>>()?, None))
        };
        Some(match value {
            Value::None => Constant::None,
            Value::Bool(value) => Constant::Bool(*value),
            Value::Int(value) => Constant::Int(*value),
            Value::Float(value) => Constant::Float(*value),
            Value::Str(value) => Constant::Str(Arc::clone(value)),
            Value::MixedEnum(_, _, plain) => return self.valid_constant(plain, depth + 1),
            Value::DType(dtype) => Constant::Int(i64::from(dtype.scalar_type_number())),
            Value::Device(device) => Constant::Device(Arc::clone(device)),
            Value::Tuple(items, _) => return all(items),
            Value::List(id) => return all(self.modules.heap.list(*id)?),
            _ => return None,
        })
    }

    fn add_attributes(
        &mut self,
        unit: &mut Unit,
        object: &ModuleObject,
        annotations: &Annotations,
        concrete: &mut Concrete,
    ) -> Result<(), Error> {
        // What `nn.Module.__init__` sets comes before what constructors do.
        let first: [(Arc<str>, Value); 2] = [
            ("training".into(), Value::Bool(object.training)),
            ("_is_full_backward_hook".into(), Value::None),
        ];
        let mut seen = concrete.names();
        let (early, late) = object.attributes.split_at(object.early.min(object.attributes.len()));
        for (name, value) in early.iter().chain(&first).chain(late) {
            if HIDDEN.contains(&&**name)
                || name.starts_with("__")
                || concrete.ignored.contains(name)
                || seen.contains(name)
            {
                continue;
            }
            if self.add_function(unit, name, value, concrete)? {
                continue;
            }
            let ty = match self.annotated(unit, annotations, name)? {
                Some(ty) => Ok(ty),
                None => self.inferred(unit, value, 0)?,
            };
            match ty {
                Ok(ty) => {
                    seen.insert(Arc::clone(name));
                    let name = Arc::clone(name);
                    concrete.attributes.push(Slot { name, ty, role: Role::Plain });
                }
                Err(reason) => {
                    let hint = format!(
                        "(This attribute exists on the Python module, but we failed to convert \
                         Python type: '{}' to a TorchScript type. {reason}. Its type was inferred; \
                         try adding a type annotation for the attribute.)",
                        self.type_name(value)
                    );
                    concrete.failed.push((Arc::clone(name), hint));
                }
            }
        }
        Ok(())
    }

    /// An attribute that is a function; whether it is one.
    fn add_function(
        &mut self,
        unit: &mut Unit,
        name: &Arc<str>,
        value: &Value,
        concrete: &mut Concrete,
    ) -> Result<bool, Error> {
        let global = match value {
            Value::Function(function) if function.bound.is_none() => {
                self.function(unit, &function.function)
            }
            // A lambda has no definition of its own to be compiled.
            Value::Opaque(what) if &**what == "<lambda>" => {
                Err(Error::without_range("Expected a single top-level function"))
            }
            Value::Library(name) => match library::global(name) {
                Some(global @ Global::Builtin(_)) => Ok(Some(global)),
                _ => return Ok(false),
            },
            _ => return Ok(false),
        };
        match global {
            Ok(Some(global)) => concrete.functions.push((Arc::clone(name), global)),
            Ok(None) => return Ok(false),
            Err(error) => {
                let hint = format!(
                    "(This function exists as an attribute on the Python module, but we failed to \
                     compile it to a TorchScript function. \nThe error stack is reproduced here:\
                     \n{})",
                    error.report()
                );
                concrete.failed.push((Arc::clone(name), hint));
            }
        }
        Ok(true)
    }

    // --- what the class says -------------------------------------------------------------------

    /// The annotations that count: those of the first class that has any.
    fn annotations(&mut self, class: &PyClass) -> Result<Annotations, Error> {
        let order = self.loader.mro(class)?;
        for ancestor in order.iter() {
            let Ancestor::Class(class) = ancestor else {
                if let Ancestor::Library(name) = ancestor
                    && &**name == "torch.nn.modules.module.Module"
                {
                    return Ok(Annotations::new(None, Vec::new()));
                }
                continue;
            };
            if class.is_nn_module() {
                return Ok(Annotations::new(None, Vec::new()));
            }
            let of: Vec<_> = class.def.body.iter().filter_map(annotation).collect();
            if !of.is_empty() {
                return Ok(Annotations::new(Some(class.clone()), of));
            }
        }
        Ok(Annotations::new(None, Vec::new()))
    }

    /// The type that the class says an attribute is of.
    fn annotated(
        &mut self,
        unit: &mut Unit,
        annotations: &Annotations,
        name: &str,
    ) -> Result<Option<Type>, Error> {
        let Some(class) = &annotations.class else {
            return Ok(match name {
                "training" => Some(Type::Bool),
                "_is_full_backward_hook" => Some(Type::optional(Type::Bool)),
                _ => None,
            });
        };
        let found = annotations.by_name.get(name).and_then(|&at| annotations.of.get(at));
        let Some((_, annotation)) = found else { return Ok(None) };
        let module = Arc::clone(&class.module);
        match self.in_scope(&module, |python| python.alias(unit, &module, annotation, 0))? {
            Some(ty) => Ok(Some(ty)),
            None => {
                let message = format!("Unknown type annotation of the attribute '{name}'");
                Err(Error::new(message, class.module.place(annotation)))
            }
        }
    }

    fn is_final(&mut self, class: &PyClass, annotation: &py::Expr) -> Result<bool, Error> {
        let name = match annotation {
            py::Expr::Subscript(subscript) => dotted(&subscript.value),
            other => dotted(other),
        };
        let Some(name) = name else { return Ok(false) };
        let object = self.loader.dotted(&class.module, &name)?;
        Ok(matches!(object, Some(Object::Library(name)) if name == "typing.Final"))
    }

    fn module_kind_of(&mut self, class: &PyClass) -> Result<ModuleKind, Error> {
        let order = self.loader.mro(class)?;
        let kind = order.iter().find_map(|ancestor| {
            let Ancestor::Class(class) = ancestor else { return None };
            if &*class.module.name != "torch.nn.modules.container" {
                return None;
            }
            Some(match class.name() {
                "ModuleDict" => ModuleKind::Dict,
                "ModuleList" | "Sequential" => ModuleKind::List,
                "ParameterList" => ModuleKind::ParameterList,
                "ParameterDict" => ModuleKind::ParameterDict,
                _ => return None,
            })
        });
        Ok(kind.unwrap_or(ModuleKind::Plain))
    }

    /// The strings of a list that a class or one of its ancestors has: `__constants__`.
    pub(super) fn names_in(&mut self, class: &PyClass, list: &str) -> Result<Vec<Arc<str>>, Error> {
        let mut names = Vec::new();
        if let Some(member) = self.loader.class_member(class, list)?
            && let MemberKind::Value(expression) = member.kind
        {
            self.gather_names(&member.owner, &expression, &mut names, 0)?;
        }
        Ok(names)
    }

    fn gather_names(
        &mut self,
        class: &PyClass,
        expression: &py::Expr,
        names: &mut Vec<Arc<str>>,
        depth: usize,
    ) -> Result<(), Error> {
        if depth > MAX_LISTS {
            return Ok(());
        }
        match expression {
            py::Expr::StringLiteral(literal) => names.push(literal.value.to_str().into()),
            py::Expr::List(list) => {
                for item in &list.elts {
                    self.gather_names(class, item, names, depth + 1)?;
                }
            }
            py::Expr::Tuple(tuple) => {
                for item in &tuple.elts {
                    self.gather_names(class, item, names, depth + 1)?;
                }
            }
            py::Expr::Set(set) => {
                for item in &set.elts {
                    self.gather_names(class, item, names, depth + 1)?;
                }
            }
            py::Expr::Starred(starred) => {
                self.gather_names(class, &starred.value, names, depth + 1)?;
            }
            py::Expr::BinOp(binary) => {
                self.gather_names(class, &binary.left, names, depth + 1)?;
                self.gather_names(class, &binary.right, names, depth + 1)?;
            }
            // The list of another class.
            py::Expr::Attribute(attribute) => {
                let Some(name) = dotted(&attribute.value) else { return Ok(()) };
                let other = self.loader.dotted(&class.module, &name)?;
                if let Some(Object::Class(other)) = other
                    && let Some(member) = self.loader.class_member(&other, &attribute.attr)?
                    && let MemberKind::Value(expression) = member.kind
                {
                    self.gather_names(&member.owner, &expression, names, depth + 1)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The methods that `@torch.jit._overload_method` gives several signatures, by name.
    fn overloaded_methods(&mut self, class: &PyClass) -> Result<Vec<Overloaded>, Error> {
        let mut found: Vec<Overloaded> = Vec::new();
        for statement in &class.def.body {
            let py::Stmt::FunctionDef(def) = statement else { continue };
            let mut is_overload = false;
            for decorator in &def.decorator_list {
                let name = self.loader.decorator(&class.module, decorator)?;
                is_overload |= name.rsplit('.').next() == Some("_overload_method");
            }
            if !is_overload {
                continue;
            }
            let name = def.name.as_str();
            let function =
                PyFunction { module: Arc::clone(&class.module), def: Arc::new(def.clone()) };
            let at = match found.iter().position(|known| &*known.name == name) {
                Some(at) => at,
                None => {
                    found.push(Overloaded { name: name.into(), signatures: Vec::new() });
                    found.len() - 1
                }
            };
            if let Some(method) = found.get_mut(at) {
                let overload = format!("{name}__{}", method.signatures.len());
                method.signatures.push((overload.into(), function));
            }
        }
        found.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(found)
    }
}

impl Concrete {
    /// The names that mean something already.
    fn names(&self) -> FxHashSet<Arc<str>> {
        let slots = self.attributes.iter().map(|slot| &slot.name);
        let modules = self.modules.iter().map(|(name, _)| name);
        let constants = self.constants.iter().map(|constant| &constant.name);
        slots.chain(modules).chain(constants).cloned().collect()
    }
}

/// The attributes of an object that are methods of its own.
fn bound_methods(object: &ModuleObject, id: Id) -> Vec<(Arc<str>, PyFunction)> {
    let method = |(name, value): &(Arc<str>, Value)| match value {
        Value::Function(function) if matches!(function.bound.as_deref(), Some(Value::Module(owner)) if *owner == id) => {
            Some((Arc::clone(name), function.function.clone()))
        }
        _ => None,
    };
    object.attributes.iter().filter_map(method).collect()
}

/// `name: annotation` in a class's body.
fn annotation(statement: &py::Stmt) -> Option<(Arc<str>, py::Expr)> {
    let py::Stmt::AnnAssign(assign) = statement else { return None };
    let py::Expr::Name(name) = &*assign.target else { return None };
    Some((name.id.as_str().into(), (*assign.annotation).clone()))
}

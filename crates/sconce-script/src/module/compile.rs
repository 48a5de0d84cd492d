//! Which methods of a module are compiled, and in which order: `create_script_module`.

use std::sync::Arc;

use ruff_python_ast as py;
use sconce_compiler::{Definition, Error, declare};
use sconce_ir::{ClassId, Function, FunctionId, Type, Unit};
use sconce_syntax::ast::Def;

use crate::concrete_module::Concrete;
use crate::frontend::Body;
use crate::loader::inheritance::{Ancestor, MemberKind};
use crate::loader::{PyClass, PyFunction};
use crate::resolver::{Decorated, Defaults, Pending, Python, Tree, tree, tree_of};
use crate::snippet::Snippet;

/// What the type of `self` is called in trees of methods; nothing looks it up.
const SELF: &str = "RecursiveScriptModule";

/// A method that is to be compiled.
pub(super) struct Stub {
    definition: Definition,
    /// Whose file its names are looked up in.
    function: PyFunction,
    /// Whose defaults it gets.
    defaults: PyFunction,
}

/// Properties that PyTorch does not see: a class has something else by these names, which the members that it
/// asks Python for have instead.
const HIDDEN_PROPERTIES: &[&str] = &[
    "__name__",
    "__qualname__",
    "__module__",
    "__doc__",
    "__dict__",
    "__bases__",
    "__base__",
    "__mro__",
    "__annotations__",
    "__class__",
];

/// A property that is to be compiled.
pub(super) struct PropertyStub {
    name: Arc<str>,
    getter: Stub,
    setter: Option<Stub>,
}

impl Stub {
    /// A function as the method of this name.
    pub(super) fn new(
        python: &mut Python,
        function: &PyFunction,
        name: &str,
    ) -> Result<Self, Error> {
        let function = &python.as_decorated(function)?;
        let tree = tree(function, name, Some(SELF), Body::Compiled, false)
            .map_err(|error| error.while_compiling(function.name()))?;
        Ok(Self {
            definition: Definition::new(tree.def, Arc::clone(&tree.snippet.source)),
            function: function.clone(),
            defaults: function.clone(),
        })
    }

    /// A function with another's signature.
    fn overloaded(
        python: &mut Python,
        function: &PyFunction,
        signature: &PyFunction,
        name: &str,
    ) -> Result<Self, Error> {
        let mut stub = Self::new(python, function, name)?;
        let declared = tree(signature, name, Some(SELF), Body::Left, false)?;
        let def = Def { decl: declared.def.decl.clone(), ..(*stub.definition.def).clone() };
        stub.definition.def = Arc::new(def);
        stub.defaults = signature.clone();
        Ok(stub)
    }
}

impl Python {
    /// Compiles the methods of a class that programs begin with, unless that has been done.
    /// `interface` names them where the module stands for an interface.
    pub(super) fn compile_module(
        &mut self,
        unit: &mut Unit,
        class: ClassId,
        interface: Option<&[Arc<str>]>,
    ) -> Result<(), Error> {
        if !self.modules.compiled.insert(class) {
            return Ok(());
        }
        let Some(concrete) = self.modules.concrete.get(&class).cloned() else { return Ok(()) };
        let stubs = match interface {
            Some(names) => self.stubs_of(&concrete, names)?,
            None => self.stubs(&concrete)?,
        };
        let properties = self.property_stubs(&concrete.class)?;
        self.define_methods(unit, class, properties, stubs)?;
        self.define_hooks(unit, class, &concrete)
    }

    /// Compiles what runs before and after `forward`.
    fn define_hooks(
        &mut self,
        unit: &mut Unit,
        class: ClassId,
        concrete: &Concrete,
    ) -> Result<(), Error> {
        let mut known: Vec<(&PyFunction, FunctionId)> = Vec::new();
        let after = concrete.forward_hooks.iter().map(|hook| (hook, true));
        let before = concrete.forward_pre_hooks.iter().map(|hook| (hook, false));
        for (hook, is_after) in after.chain(before) {
            let same_name = known.iter().find(|(other, _)| other.name() == hook.name());
            let id = match same_name {
                Some((other, id)) if other.def.range == hook.def.range => *id,
                Some(_) => {
                    let message = format!(
                        "Hook '{}' on {} has at least two different python definitions. Please use \
                         unique names for all hooks.",
                        hook.name(),
                        concrete.class.name()
                    );
                    return Err(Error::new(message, hook.module.place(&hook.def.name)));
                }
                None => {
                    let stub = Stub::new(self, hook, hook.name())?;
                    let id = self.declare_function_of(unit, class, stub)?;
                    known.push((hook, id));
                    id
                }
            };
            let class = unit.class_mut(class);
            if is_after { class.forward_hooks.push(id) } else { class.forward_pre_hooks.push(id) }
        }
        for (_, id) in known {
            self.ensure_compiled(unit, id)?;
        }
        Ok(())
    }

    /// The methods to begin with: those with several signatures, `forward`, exported ones.
    fn stubs(&mut self, concrete: &Concrete) -> Result<Vec<Stub>, Error> {
        let (class, overloads) = (&concrete.class, &concrete.overloads);
        let mut stubs = Vec::new();
        for method in overloads {
            let Some(function) = self.loader.method(class, &method.name)? else { continue };
            let last = method.signatures.last().map(|(_, signature)| &signature.def);
            if last.is_some_and(|def| def.range == function.def.range) {
                let message = format!(
                    "Implementation for the method \"{}\" is missing. Please make sure a \
                     definition is provided and defined after all overload declarations.",
                    method.name
                );
                return Err(Error::new(message, function.module.place(&function.def.name)));
            }
            for (name, signature) in &method.signatures {
                stubs.push(Stub::overloaded(self, &function, signature, name)?);
            }
        }
        let mut names: Vec<Arc<str>> = Vec::new();
        let own = concrete.bound("forward").cloned();
        let forward = if own.is_some() { own } else { self.forward(class)? };
        if let Some(forward) = forward
            && self.decorated(&forward)? == Decorated::Plain
        {
            names.push("forward".into());
        }
        names.extend(self.exported(class)?);
        names.retain(|name| overloads.iter().all(|method| method.name != *name));
        let mut seen = rustc_hash::FxHashSet::default();
        names.retain(|name| seen.insert(Arc::clone(name)));
        stubs.extend(self.stubs_of(concrete, &names)?);
        Ok(stubs)
    }

    fn stubs_of(&mut self, concrete: &Concrete, names: &[Arc<str>]) -> Result<Vec<Stub>, Error> {
        let class = &concrete.class;
        let mut stubs = Vec::with_capacity(names.len());
        for name in names {
            let own = concrete.bound(name).cloned();
            let method = if own.is_some() { own } else { self.loader.method(class, name)? };
            match method {
                Some(function) => stubs.push(Stub::new(self, &function, name)?),
                None => {
                    let message = format!("'{}' object has no attribute '{name}'", class.name());
                    return Err(Error::new(message, class.module.place(&class.def.name)));
                }
            }
        }
        Ok(stubs)
    }

    /// A class's own `forward`, if it is more than what `nn.Module` has.
    pub(crate) fn forward(&mut self, class: &PyClass) -> Result<Option<PyFunction>, Error> {
        let member = self.loader.class_member(class, "forward")?;
        Ok(member.and_then(|member| match member.kind {
            MemberKind::Function(function) if !member.owner.is_nn_module() => Some(function),
            _ => None,
        }))
    }

    /// The text of a method of a class of the program, and what its tree has as body: a method that an attribute
    /// of the objects is comes first.
    pub(crate) fn text_of_compiled_method(
        &mut self,
        id: ClassId,
        class: &PyClass,
        name: &str,
    ) -> Result<(Arc<Snippet>, Body), Error> {
        let own = self.modules.concrete.get(&id).and_then(|concrete| concrete.bound(name)).cloned();
        match own {
            Some(function) => {
                let function = self.as_decorated(&function)?;
                Ok((function.module.function_snippet(&function.def), Body::Compiled))
            }
            None => self.text_of_module_method(class, name),
        }
    }

    /// The tree of a method, of the class's own or of one that it is derived from.
    pub(crate) fn tree_of_module_method(
        &mut self,
        class: &PyClass,
        name: &str,
    ) -> Result<Tree, Error> {
        let (snippet, body) = self.text_of_module_method(class, name)?;
        tree_of(snippet, name, Some(class.name()), body, false)
    }

    fn text_of_module_method(
        &mut self,
        class: &PyClass,
        name: &str,
    ) -> Result<(Arc<Snippet>, Body), Error> {
        let Some(function) = self.loader.method(class, name)? else {
            return Err(Error::without_range(format!(
                "there is no method '{name}' in the class '{}'",
                class.name()
            )));
        };
        let how = self.decorated(&function)?;
        let function = self.as_decorated(&function)?;
        Ok((function.module.function_snippet(&function.def), how.body()))
    }

    /// The names of all members of a class and its ancestors that are functions, sorted, with the
    /// function that counts.
    fn functions_of(&mut self, class: &PyClass) -> Result<Vec<(Arc<str>, PyFunction)>, Error> {
        let mut names = std::collections::BTreeSet::new();
        for ancestor in self.loader.mro(class)?.iter() {
            let Ancestor::Class(ancestor) = ancestor else { continue };
            // What `nn.Module` has itself is nothing that programs begin with.
            if ancestor.is_nn_module() {
                continue;
            }
            for statement in &ancestor.def.body {
                if let py::Stmt::FunctionDef(def) = statement {
                    names.insert(Arc::<str>::from(def.name.as_str()));
                }
            }
        }
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            if let Some(function) = self.loader.method(class, &name)? {
                found.push((name, function));
            }
        }
        Ok(found)
    }

    fn exported(&mut self, class: &PyClass) -> Result<Vec<Arc<str>>, Error> {
        let mut names = Vec::new();
        for (name, function) in self.functions_of(class)? {
            if self.decorator_names(&function)?.iter().any(|name| name == "export") {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn property_stubs(&mut self, class: &PyClass) -> Result<Vec<PropertyStub>, Error> {
        let unused = self.names_in(class, "__jit_unused_properties__")?;
        let ignored = self.names_in(class, "__jit_ignored_attributes__")?;
        let mut stubs = Vec::new();
        for (name, last) in self.functions_of(class)? {
            let is_hidden = HIDDEN_PROPERTIES.contains(&&*name);
            if is_hidden || unused.contains(&name) || ignored.contains(&name) {
                continue;
            }
            let Some((getter, setter)) = self.property(class, &name, &last)? else { continue };
            if self.decorated(&getter)? == Decorated::Unused {
                continue;
            }
            let getter = Stub::new(self, &getter, &format!("__{name}_getter"))?;
            let setter = match setter {
                Some(setter) => Some(Stub::new(self, &setter, &format!("__{name}_setter"))?),
                None => None,
            };
            stubs.push(PropertyStub { name, getter, setter });
        }
        Ok(stubs)
    }

    /// The getter and setter of a property, of whose functions `last` is the last.
    fn property(
        &mut self,
        class: &PyClass,
        name: &str,
        last: &PyFunction,
    ) -> Result<Option<(PyFunction, Option<PyFunction>)>, Error> {
        let decorators = self.decorator_names(last)?;
        let is = |wanted: &str| decorators.iter().any(|name| name == wanted);
        if is("property") {
            return Ok(Some((last.clone(), None)));
        }
        if !is("setter") {
            return Ok(None);
        }
        let Some(member) = self.loader.class_member(class, name)? else { return Ok(None) };
        let module = Arc::clone(&member.owner.module);
        for statement in &member.owner.def.body {
            let py::Stmt::FunctionDef(def) = statement else { continue };
            if def.name.as_str() != name {
                continue;
            }
            let getter = PyFunction { module: Arc::clone(&module), def: Arc::new(def.clone()) };
            if self.decorator_names(&getter)?.iter().any(|name| name == "property") {
                return Ok(Some((getter, Some(last.clone()))));
            }
        }
        Ok(None)
    }

    /// Declares methods, compiles them in order, and gives them their defaults.
    pub(super) fn define_methods(
        &mut self,
        unit: &mut Unit,
        class: ClassId,
        properties: Vec<PropertyStub>,
        stubs: Vec<Stub>,
    ) -> Result<(), Error> {
        let mut all = Vec::new();
        for property in properties {
            let getter = self.declare_stub(unit, class, property.getter)?;
            all.push(getter);
            let setter = match property.setter {
                Some(setter) => Some(self.declare_stub(unit, class, setter)?),
                None => None,
            };
            all.extend(setter);
            unit.class_mut(class).properties.push((property.name, getter, setter));
        }
        let mut methods = Vec::with_capacity(stubs.len());
        for stub in stubs {
            let defaults = stub.defaults.clone();
            methods.push((defaults, self.declare_stub(unit, class, stub)?));
        }
        for id in all.into_iter().chain(methods.iter().map(|&(_, id)| id)) {
            self.ensure_compiled(unit, id)?;
        }
        for (defaults, id) in methods {
            let mut schema = (*unit.function(id).schema).clone();
            self.in_scope(&defaults.module, |python| {
                python.set_defaults(unit, &mut schema, &defaults.def, Defaults::All)
            })?;
            unit.function_mut(id).schema = Arc::new(schema);
        }
        Ok(())
    }

    fn declare_stub(
        &mut self,
        unit: &mut Unit,
        class: ClassId,
        stub: Stub,
    ) -> Result<FunctionId, Error> {
        let id = self.declare_function_of(unit, class, stub)?;
        unit.class_mut(class).methods.push(id);
        Ok(id)
    }

    /// A function of a class that waits to be compiled; its first argument is the object.
    fn declare_function_of(
        &mut self,
        unit: &mut Unit,
        class: ClassId,
        stub: Stub,
    ) -> Result<FunctionId, Error> {
        let owner = Arc::clone(&unit.class(class).name);
        let own: Option<Type> = unit.find_type(&owner).cloned();
        let name = &stub.definition.def.name.name;
        let qualified: Arc<str> = format!("{owner}.{name}").into();
        let module = Arc::clone(&stub.function.module);
        let schema = self.in_scope(&module, |python| {
            declare(unit, python, &stub.definition, own, Arc::clone(&qualified))
        });
        let schema = schema.map_err(|error| error.while_compiling(stub.function.name()))?;
        let id = unit.add_function(Function {
            qualified_name: qualified,
            class: Some(class),
            schema: Arc::new(schema),
            graph: None,
        });
        let Stub { definition, function, .. } = stub;
        self.waiting.insert(id, Pending { definition, function });
        Ok(id)
    }
}

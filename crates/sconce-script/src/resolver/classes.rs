//! Classes: NamedTuples, enums, and those that are compiled.

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_text_size::Ranged;
use sconce_compiler::{Definition, Error, Global, declare};
use sconce_ir::{
    Class, ClassId, Constant, EnumType, Function, FunctionId, Interface, NamedTuple, TupleType,
    Type, Unit,
};

use super::functions::{Decorated, Defaults, Pending, Tree, tree};
use super::{MAX_PENDING, Python, opaque};
use crate::frontend::{self, Body};
use sconce_syntax::ast;

use crate::loader::inheritance::Ancestor;
use crate::loader::{Module, Object, PyClass, PyFunction};
use crate::{library, nesting};

/// What a class is to the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClassRole {
    Plain,
    NamedTuple,
    Enum,
    Exception,
    /// A module, tuple or list: no class that programs have.
    Foreign,
    Interface,
}

/// What makes NamedTuples.
const MAKERS_OF_TUPLES: &[&str] = &["collections.namedtuple", "typing.NamedTuple"];

/// How many classes may be derived from each other.
const MAX_BASES: usize = 32;

/// A function of a class with its name there.
struct Method {
    name: String,
    function: PyFunction,
    how: Decorated,
    is_class_method: bool,
}

impl Python {
    /// The type of a class; `None` for one that is not a type of programs.
    pub(crate) fn class(
        &mut self,
        unit: &mut Unit,
        class: &PyClass,
    ) -> Result<Option<Type>, Error> {
        let key = class.key();
        match self.classes.get(&key) {
            // An object of its own wherever it is named, as in PyTorch: values of types that are not
            // one object do not share what stands for a value that is never read.
            Some(Some(Type::Enum(of))) => {
                return Ok(Some(Type::Enum(Arc::new(EnumType::clone(of)))));
            }
            Some(known) => return Ok(known.clone()),
            None => {}
        }
        if self.making >= MAX_PENDING {
            let message = "too many classes are made of each other";
            return Err(Error::new(message, class.module.place(&class.def.name)));
        }
        self.making += 1;
        let made = nesting::with_stack(|| self.make_class(unit, class, &key));
        self.making -= 1;
        made
    }

    /// Makes what nothing is known of yet. Until it is made it is not a type, as in PyTorch, but for a
    /// class that is compiled, which has a name before it has attributes.
    fn make_class(
        &mut self,
        unit: &mut Unit,
        class: &PyClass,
        key: &(Arc<str>, u32),
    ) -> Result<Option<Type>, Error> {
        // PyTorch takes a class of tensors for tensors.
        let is_tensor = |ancestor: &Ancestor| matches!(ancestor, Ancestor::Library(name) if &**name == "torch.Tensor");
        if self.loader.mro(class)?.iter().any(is_tensor) {
            self.classes.insert(key.clone(), Some(Type::Tensor));
            return Ok(Some(Type::Tensor));
        }
        let sort = self.sort(class, 0)?;
        if sort == ClassRole::Plain {
            return self.plain_class(unit, class, key.clone()).map(Some);
        }
        // Nor is it one when something is wrong in it: it would be looked at again from every place that
        // names it.
        self.classes.insert(key.clone(), None);
        let made = self.in_scope(&class.module, |python| match sort {
            ClassRole::NamedTuple => python.named_tuple(unit, class).map(Some),
            ClassRole::Enum => python.enumeration(unit, class).map(Some),
            ClassRole::Interface => python.interface(unit, class).map(Some),
            ClassRole::Exception | ClassRole::Foreign | ClassRole::Plain => Ok(None),
        })?;
        self.classes.insert(key.clone(), made.clone());
        Ok(made)
    }

    /// What a class means in a program.
    pub(super) fn class_global(
        &mut self,
        unit: &mut Unit,
        class: &PyClass,
    ) -> Result<Global, Error> {
        if self.sort(class, 0)? == ClassRole::Exception {
            let module = &class.module.name;
            return Ok(Global::Exception(format!("{module}.{}", class.name()).into()));
        }
        if self.sort(class, 0)? == ClassRole::Foreign {
            // The class that a module of it was compiled to has the name, if there is one.
            let name = format!("{}.{}", super::prefix(&class.module), class.name());
            if let Some(ty @ Type::Class(_)) = unit.find_type(&name) {
                return Ok(Global::Type(ty.clone()));
            }
            let message =
                format!("Cannot instantiate class '{}' in a script function", class.name());
            return Ok(Global::Refused(message.into()));
        }
        Ok(self.class(unit, class)?.map_or_else(|| opaque("type"), Global::Type))
    }

    fn sort(&mut self, class: &PyClass, depth: usize) -> Result<ClassRole, Error> {
        if depth > MAX_BASES {
            let message = "too many classes are derived from each other";
            return Err(Error::new(message, class.module.place(&class.def.name)));
        }
        let mut is_scripted = false;
        for decorator in &class.def.decorator_list {
            let name = self.loader.decorator(&class.module, decorator)?;
            match name.as_str() {
                "torch.jit.interface" => return Ok(ClassRole::Interface),
                "torch.jit.script" => is_scripted = true,
                _ => {}
            }
        }
        let Some(arguments) = &class.def.arguments else { return Ok(ClassRole::Plain) };
        for base in &arguments.args {
            if self.is_named_tuple_call(&class.module, base)? {
                return Ok(ClassRole::NamedTuple);
            }
            let Some(name) = super::dotted(base) else { continue };
            let sort = match self.loader.dotted(&class.module, &name)? {
                Some(Object::Value(module, value))
                    if self.is_named_tuple_call(&module, &value)? =>
                {
                    ClassRole::NamedTuple
                }
                Some(Object::Library(name)) => match name.as_str() {
                    "typing.NamedTuple" => ClassRole::NamedTuple,
                    "enum.Enum" | "enum.IntEnum" | "enum.Flag" | "enum.IntFlag" => ClassRole::Enum,
                    "torch.nn.modules.module.Module" | "builtins.tuple" | "builtins.list" => {
                        ClassRole::Foreign
                    }
                    "builtins.object" | "abc.ABC" => continue,
                    name if matches!(library::global(name), Some(Global::Exception(_))) => {
                        ClassRole::Exception
                    }
                    _ => continue,
                },
                Some(Object::Class(base)) => {
                    if base.name() == "Module" && &*base.module.name == "torch.nn.modules.module" {
                        return Ok(ClassRole::Foreign);
                    }
                    match self.sort(&base, depth + 1)? {
                        // One that is compiled where it is used has its own methods alone.
                        ClassRole::Plain if !is_scripted => continue,
                        ClassRole::Plain => {
                            let message = "TorchScript classes does not support inheritance yet. \
                                           Please directly inherit from 'object'.";
                            return Err(Error::new(message, class.module.place(&**arguments)));
                        }
                        other => other,
                    }
                }
                _ => continue,
            };
            return Ok(sort);
        }
        Ok(ClassRole::Plain)
    }

    /// Whether an expression makes a NamedTuple: `namedtuple("Pair", "a b")`.
    fn is_named_tuple_call(
        &mut self,
        module: &Arc<Module>,
        expression: &py::Expr,
    ) -> Result<bool, Error> {
        let py::Expr::Call(call) = expression else { return Ok(false) };
        let Some(callee) = super::dotted(&call.func) else { return Ok(false) };
        Ok(matches!(self.loader.dotted(module, &callee)?,
            Some(Object::Library(name)) if MAKERS_OF_TUPLES.contains(&name.as_str())))
    }

    /// The NamedTuple of a call that a class, or one that it is derived from, is derived from.
    fn called_base(&mut self, unit: &mut Unit, class: &PyClass) -> Result<Option<Type>, Error> {
        for ancestor in self.loader.mro(class)?.iter() {
            let Ancestor::Class(ancestor) = ancestor else { continue };
            let Some(arguments) = &ancestor.def.arguments else { continue };
            for base in &arguments.args {
                let base = match base {
                    py::Expr::Call(call) => {
                        Some((Arc::clone(&ancestor.module), Arc::new(py::Expr::Call(call.clone()))))
                    }
                    other => match super::dotted(other) {
                        Some(name) => match self.loader.dotted(&ancestor.module, &name)? {
                            Some(Object::Value(module, value)) => Some((module, value)),
                            _ => None,
                        },
                        None => None,
                    },
                };
                if let Some((module, value)) = base
                    && let py::Expr::Call(call) = &*value
                    && let Some(fields) = self.fields_of_call(unit, &module, call)?
                {
                    return Ok(Some(fields));
                }
            }
        }
        Ok(None)
    }

    fn named_tuple(&mut self, unit: &mut Unit, class: &PyClass) -> Result<Type, Error> {
        if let Some(Type::Tuple(made)) = self.called_base(unit, class)? {
            let name = self.qualified(&class.module, class.name());
            let TupleType { mut elements, named } = TupleType::clone(&made);
            let mut named = named.unwrap_or_else(|| NamedTuple {
                name: Arc::clone(&name),
                fields: Vec::new(),
                defaults: Vec::new(),
            });
            named.name = Arc::clone(&name);
            // What the class says of them itself.
            let module = Arc::clone(&class.module);
            for statement in &class.def.body {
                let py::Stmt::AnnAssign(field) = statement else { continue };
                let py::Expr::Name(target) = &*field.target else { continue };
                let at = named.fields.iter().position(|name| **name == *target.id);
                let ty =
                    self.in_scope(&module, |python| python.field_type(unit, &field.annotation))?;
                if let (Some(at), Some(ty)) = (at, ty)
                    && let Some(element) = elements.get_mut(at)
                {
                    *element = ty;
                }
            }
            let ty = Type::Tuple(Arc::new(TupleType { elements, named: Some(named) }));
            unit.add_type(name, ty.clone());
            return Ok(ty);
        }
        let (mut fields, mut elements, mut defaults) = (Vec::new(), Vec::new(), Vec::new());
        let owner = self.owner_of_fields(class)?;
        let module = Arc::clone(&owner.module);
        for statement in &owner.def.body {
            let py::Stmt::AnnAssign(field) = statement else { continue };
            let py::Expr::Name(name) = &*field.target else { continue };
            let ty = self.in_scope(&module, |python| python.field_type(unit, &field.annotation))?;
            let Some(ty) = ty else {
                let message = "Unknown type annotation in NamedTuple";
                return Err(Error::new(message, module.place(&*field.annotation)));
            };
            if let Some(value) = &field.value {
                let known = self.in_scope(&module, |python| python.evaluate(unit, value))?;
                let Some(constant) = known.as_constant(&ty) else {
                    let message = format!(
                        "the default of '{}' is not of its type {}",
                        name.id,
                        ty.message_text()
                    );
                    return Err(Error::new(message, module.place(&**value)));
                };
                defaults.push(constant);
            }
            fields.push(name.id.as_str().into());
            elements.push(ty);
        }
        let name = self.qualified(&class.module, class.name());
        let named = Some(NamedTuple { name: Arc::clone(&name), fields, defaults });
        let ty = Type::Tuple(Arc::new(TupleType { elements, named }));
        unit.add_type(name, ty.clone());
        Ok(ty)
    }

    /// The class that says which fields a NamedTuple has: a class derived from one has them from it.
    fn owner_of_fields(&mut self, class: &PyClass) -> Result<PyClass, Error> {
        let has_fields = |class: &PyClass| {
            class.def.body.iter().any(|stmt| matches!(stmt, py::Stmt::AnnAssign(_)))
        };
        let order = self.loader.mro(class)?;
        let owner = order.iter().find_map(|ancestor| match ancestor {
            Ancestor::Class(class) if has_fields(class) => Some(class.clone()),
            _ => None,
        });
        Ok(owner.unwrap_or_else(|| class.clone()))
    }

    fn field_type(
        &mut self,
        unit: &mut Unit,
        annotation: &py::Expr,
    ) -> Result<Option<Type>, Error> {
        let scope = Arc::clone(&self.scope);
        self.alias(unit, &scope, annotation, 0)
    }

    fn enumeration(&mut self, unit: &mut Unit, class: &PyClass) -> Result<Type, Error> {
        let mut members: Vec<(Arc<str>, Constant)> = Vec::new();
        for statement in &class.def.body {
            let py::Stmt::Assign(assign) = statement else { continue };
            let [py::Expr::Name(name)] = assign.targets.as_slice() else { continue };
            if name.id.starts_with('_') {
                continue;
            }
            if self.is_auto(class, &assign.value)? {
                // One more than the largest before.
                let largest = members.iter().filter_map(|(_, value)| match value {
                    Constant::Int(value) => Some(*value),
                    _ => None,
                });
                let next = Constant::Int(largest.max().map_or(1, |value| value.saturating_add(1)));
                members.push((name.id.as_str().into(), next));
                continue;
            }
            let value = self.evaluate(unit, &assign.value)?;
            let constant = value.plain_type().and_then(|ty| value.as_constant(&ty));
            let Some(constant) = constant else {
                let message = "the value of this member is not known before the program runs";
                return Err(Error::new(message, class.module.place(&*assign.value)));
            };
            // Another name of the same value is an alias, no member.
            if members.iter().all(|(_, known)| *known != constant) {
                members.push((name.id.as_str().into(), constant));
            }
        }
        let Some(first) = members.first().map(|(_, value)| value.ty()) else {
            let message = format!("No enum values defined for: '{}'", class.name());
            return Err(Error::new(message, class.module.place(&*class.def)));
        };
        let other = members.iter().map(|(_, value)| value.ty()).find(|ty| *ty != first);
        let message = match (&first, other) {
            (first, Some(other)) => Some(format!(
                "Could not unify type list since element 1 of type {} did not match the types \
                 before it ({})",
                other.message_text(),
                first.message_text()
            )),
            (Type::Int | Type::Float | Type::Str, None) => None,
            (other, None) => {
                let other = match other {
                    Type::Tuple(_) | Type::List(_) | Type::Dict(_) => "Any".into(),
                    other => other.message_text(),
                };
                Some(format!(
                    "Cannot create Enum with value type '{other}', only int, float and string are \
                     supported"
                ))
            }
        };
        if let Some(message) = message {
            return Err(Error::new(message, class.module.place(&class.def.name)));
        }
        let value = first;
        let name = self.qualified(&class.module, class.name());
        let ty = Type::Enum(Arc::new(EnumType { name: Arc::clone(&name), value, members }));
        unit.add_type(name, ty.clone());
        Ok(ty)
    }

    /// `enum.auto()`
    fn is_auto(&mut self, class: &PyClass, value: &py::Expr) -> Result<bool, Error> {
        let py::Expr::Call(call) = value else { return Ok(false) };
        let Some(name) = super::dotted(&call.func) else { return Ok(false) };
        let object = self.loader.dotted(&class.module, &name)?;
        Ok(matches!(object, Some(Object::Library(name)) if name == "enum.auto"))
    }

    /// The methods that are compiled, as `inspect.getmembers` orders them.
    fn methods(
        &mut self,
        unit: &mut Unit,
        class: &PyClass,
    ) -> Result<(Vec<Method>, Vec<Method>), Error> {
        let (mut methods, mut properties) = (Vec::new(), Vec::new());
        for statement in &class.def.body {
            let py::Stmt::FunctionDef(def) = statement else { continue };
            let def = Arc::new(def.clone());
            let function = PyFunction { module: Arc::clone(&class.module), def: Arc::clone(&def) };
            let mut names = Vec::new();
            for decorator in &def.decorator_list {
                names.push(self.loader.decorator(&class.module, decorator)?);
            }
            let is =
                |wanted: &str| names.iter().any(|name| name.rsplit('.').next() == Some(wanted));
            let name = def.name.to_string();
            if is("staticmethod") || is("_drop") {
                continue;
            }
            // One that is ignored is compiled like any other.
            let how = self.decorated(&function)?;
            let function = self.as_decorated(&function)?;
            let is_class_method = is("classmethod");
            let mut method = Method { name, function, how, is_class_method };
            if is("property") {
                method.name = format!("__{}_getter", method.name);
                properties.push(method);
            } else if is("setter") {
                method.name = format!("__{}_setter", method.name);
                properties.push(method);
            } else {
                methods.retain(|known: &Method| known.name != method.name);
                methods.push(method);
            }
        }
        for function in self.made_methods(unit, class)? {
            let (name, how) = (function.name().to_owned(), Decorated::Plain);
            methods.push(Method { name, function, how, is_class_method: false });
        }
        methods.sort_by(|left, right| left.name.cmp(&right.name));
        // By property, getters first.
        properties.sort_by(|left, right| left.name.cmp(&right.name));
        Ok((properties, methods))
    }

    /// PyTorch's tree of a class: `torch.jit.frontend.get_jit_class_def`.
    pub(crate) fn class_tree(&mut self, class: &PyClass) -> Result<ast::Class, Error> {
        let (properties, methods) = self.methods(&mut Unit::new(), class)?;
        let mut defs = Vec::with_capacity(methods.len());
        for method in &methods {
            defs.push(Arc::clone(&self.method_tree(class, method)?.def));
        }
        let mut made: Vec<ast::Property> = Vec::new();
        for method in &properties {
            let def = Arc::clone(&self.method_tree(class, method)?.def);
            let name = method.name.trim_start_matches("__");
            match (name.strip_suffix("_getter"), name.strip_suffix("_setter")) {
                (Some(name), _) => made.push(ast::Property {
                    name: ast::Ident { name: name.into(), range: def.range },
                    range: def.range,
                    getter: def,
                    setter: None,
                }),
                (None, Some(name)) => {
                    let property = made.iter_mut().find(|property| &*property.name.name == name);
                    if let Some(property) = property {
                        property.setter = Some(def);
                    }
                }
                (None, None) => {}
            }
        }
        let snippet = class.module.class_snippet(&class.def);
        let assigns = frontend::assignments(&snippet)?;
        let body = defs.into_iter().map(|def| {
            let range = def.range;
            ast::Stmt { kind: ast::StmtKind::Def(def), range }
        });
        let range = snippet.range(0, "class".len());
        Ok(ast::Class {
            name: ast::Ident { name: class.name().into(), range },
            superclass: None,
            body: body.collect(),
            properties: made,
            assigns,
            range,
        })
    }

    /// The tree of a method by its name in the class.
    pub(crate) fn tree_of_method(&mut self, class: &PyClass, name: &str) -> Result<Tree, Error> {
        let (_, methods) = self.methods(&mut Unit::new(), class)?;
        match methods.iter().find(|method| method.name == name) {
            Some(method) => self.method_tree(class, method),
            None => Err(Error::without_range(format!(
                "there is no method '{name}' in the class '{}'",
                class.name()
            ))),
        }
    }

    fn method_tree(&mut self, class: &PyClass, method: &Method) -> Result<Tree, Error> {
        let own = Some(class.name());
        tree(&method.function, &method.name, own, method.how.body(), method.is_class_method)
    }

    fn plain_class(
        &mut self,
        unit: &mut Unit,
        class: &PyClass,
        key: (Arc<str>, u32),
    ) -> Result<Type, Error> {
        let name = self.qualified(&class.module, class.name());
        let (id, ty) = unit.add_class(Class::new(Arc::clone(&name)));
        self.classes.insert(key.clone(), Some(ty.clone()));
        self.class_sources.insert(Arc::clone(&name), class.clone());
        let made = self.fill_class(unit, class, id, &ty);
        if let Err(error) = made {
            self.classes.insert(key, None);
            return Err(error.while_compiling(class.name()));
        }
        Ok(ty)
    }

    fn fill_class(
        &mut self,
        unit: &mut Unit,
        class: &PyClass,
        id: ClassId,
        ty: &Type,
    ) -> Result<(), Error> {
        let (properties, methods) = self.methods(unit, class)?;
        let mut functions = Vec::new();
        for method in properties.iter().chain(&methods) {
            functions.push(self.declare_method(unit, class, id, ty, method)?);
        }
        unit.class_mut(id).methods = functions.clone();
        for (method, &getter) in properties.iter().zip(&functions) {
            let Some(name) = method.name.strip_prefix("__") else { continue };
            let Some(name) = name.strip_suffix("_getter") else { continue };
            let setter = format!("__{name}_setter");
            let setter = properties.iter().position(|other| other.name == setter);
            let setter = setter.and_then(|at| functions.get(at).copied());
            unit.class_mut(id).properties.push((name.into(), getter, setter));
        }
        // `__init__` says which attributes there are.
        let init = functions.iter().copied().find(|&id| unit.function(id).name() == "__init__");
        for function in init.into_iter().chain(functions.iter().copied()) {
            self.ensure_compiled(unit, function)?;
        }
        // Methods are compiled before PyTorch gives them their defaults.
        for (method, function) in properties.iter().chain(&methods).zip(functions) {
            let mut schema = (*unit.function(function).schema).clone();
            let PyFunction { module, def } = &method.function;
            self.in_scope(module, |python| {
                python.set_defaults(unit, &mut schema, def, Defaults::All)
            })?;
            unit.function_mut(function).schema = Arc::new(schema);
        }
        Ok(())
    }

    fn declare_method(
        &mut self,
        unit: &mut Unit,
        class: &PyClass,
        id: ClassId,
        ty: &Type,
        method: &Method,
    ) -> Result<FunctionId, Error> {
        let tree = self.method_tree(class, method)?;
        self.keep_blocks(&tree)?;
        let qualified: Arc<str> = format!("{}.{}", unit.class(id).name, method.name).into();
        let definition = Definition::new(tree.def, Arc::clone(&tree.snippet.source));
        let function = method.function.clone();
        let own = Some(ty.clone());
        let schema = self.in_scope(&function.module, |python| {
            declare(unit, python, &definition, own, Arc::clone(&qualified))
        })?;
        let id = unit.add_function(Function {
            qualified_name: qualified,
            class: Some(id),
            schema: Arc::new(schema),
            graph: None,
        });
        self.waiting.insert(id, Pending { definition, function });
        Ok(id)
    }

    fn interface(&mut self, unit: &mut Unit, class: &PyClass) -> Result<Type, Error> {
        let is_module = class.def.arguments.as_ref().is_some_and(|bases| !bases.args.is_empty());
        let name = self.qualified(&class.module, class.name());
        let interface = Interface { name, is_module, methods: Vec::new() };
        let (id, ty) = unit.add_interface(interface);
        let (_, methods) = self.methods(unit, class)?;
        for method in methods {
            let tree = tree(&method.function, &method.name, Some(class.name()), Body::Left, false)?;
            let definition = Definition::new(tree.def, Arc::clone(&tree.snippet.source));
            let name: Arc<str> = method.name.as_str().into();
            let schema = declare(unit, self, &definition, Some(ty.clone()), name)?;
            unit.interface_mut(id).methods.push(Arc::new(schema));
        }
        Ok(ty)
    }

    /// What Python has in a class besides what is compiled: static methods, values.
    pub(super) fn member_of_class(
        &mut self,
        unit: &mut Unit,
        class: &str,
        name: &str,
    ) -> Result<Option<Global>, Error> {
        let Some(class) = self.class_sources.get(class).cloned() else { return Ok(None) };
        for statement in &class.def.body {
            match statement {
                py::Stmt::FunctionDef(def) if def.name.as_str() == name => {
                    let def = Arc::new(def.clone());
                    let function = PyFunction { module: Arc::clone(&class.module), def };
                    return self.function(unit, &function);
                }
                py::Stmt::Assign(assign)
                    if matches!(assign.targets.as_slice(),
                        [py::Expr::Name(target)] if target.id == name) =>
                {
                    return self.value_global(unit, &class.module, &assign.value, true);
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The NamedTuple that a call of `namedtuple` makes.
    pub(super) fn made_tuple(
        &mut self,
        unit: &mut Unit,
        module: &Arc<Module>,
        call: &py::ExprCall,
    ) -> Result<Option<Type>, Error> {
        let key = (Arc::clone(module.key()), call.start().to_u32());
        if let Some(known) = self.classes.get(&key) {
            return Ok(known.clone());
        }
        // One of itself is not a type.
        self.classes.insert(key.clone(), None);
        let Some(Type::Tuple(made)) = self.fields_of_call(unit, module, call)? else {
            self.classes.remove(&key);
            return Ok(None);
        };
        let TupleType { elements, named } = TupleType::clone(&made);
        let Some(mut named) = named else { return Ok(None) };
        named.name = self.qualified(module, &named.name);
        let name = Arc::clone(&named.name);
        let ty = Type::Tuple(Arc::new(TupleType { elements, named: Some(named) }));
        unit.add_type(name, ty.clone());
        self.classes.insert(key, Some(ty.clone()));
        Ok(Some(ty))
    }

    /// The fields of the NamedTuple that a call makes, under the name that is given there.
    fn fields_of_call(
        &mut self,
        unit: &mut Unit,
        module: &Arc<Module>,
        call: &py::ExprCall,
    ) -> Result<Option<Type>, Error> {
        let Some(callee) = super::dotted(&call.func) else { return Ok(None) };
        let Some(Object::Library(callee)) = self.loader.dotted(module, &callee)? else {
            return Ok(None);
        };
        if !MAKERS_OF_TUPLES.contains(&callee.as_str()) {
            return Ok(None);
        }
        let [py::Expr::StringLiteral(name), fields] = &*call.arguments.args else {
            return Ok(None);
        };
        let (mut names, mut elements): (Vec<Arc<str>>, _) = (Vec::new(), Vec::new());
        let list: &[py::Expr] = match fields {
            py::Expr::List(list) => &list.elts,
            py::Expr::Tuple(tuple) => &tuple.elts,
            py::Expr::StringLiteral(text) => {
                let text = text.value.to_str().replace(',', " ");
                names.extend(text.split_whitespace().map(Arc::from));
                &[]
            }
            _ => return Ok(None),
        };
        for field in list {
            match field {
                py::Expr::StringLiteral(name) => names.push(name.value.to_str().into()),
                py::Expr::Tuple(pair) => {
                    let [py::Expr::StringLiteral(name), ty] = pair.elts.as_slice() else {
                        return Ok(None);
                    };
                    let Some(ty) = self.alias(unit, module, ty, 0)? else { return Ok(None) };
                    names.push(name.value.to_str().into());
                    elements.push(ty);
                }
                _ => return Ok(None),
            }
        }
        elements.resize(names.len(), Type::inferred_tensor());
        let name = name.value.to_str().into();
        let named = Some(NamedTuple { name, fields: names, defaults: Vec::new() });
        Ok(Some(Type::Tuple(Arc::new(TupleType { elements, named }))))
    }
}

//! The sources of an archive: `code/` as the place where names are looked up.
//!
//! A file is parsed when a name in it is first asked for; a class's attributes and signatures are
//! known from then on; a body is compiled when its graph is first asked for. Naming a class makes
//! an empty one and puts it on a list, and the list is worked off before the name is handed out, so
//! that classes which mention each other in a chain or a circle need no recursion.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_archive::Archive;
use sconce_checkpoint::pickle_limits;
use sconce_compiler::{
    Definition, Global, Options, Resolver, Special, compile, declare, type_of_expression,
};
use sconce_ir::{
    Class, ClassAttribute, ClassConstant, ClassId, Constant, EnumType, Function, FunctionId, Graph,
    Interface, InterfaceId, NamedTuple, Role, TupleType, Type, Unit,
};
use sconce_syntax::ast::{self, ExprKind, Item, StmtKind};
use sconce_syntax::{Source, SourceRange, parse_expression, parse_module};

use crate::constant_expressions::literal;
use crate::debug::DebugRecords;
use crate::{Error, custom_classes, legacy_types, quantized_convolutions};

type CompileError = sconce_compiler::Error;

/// Classes, functions and graphs of an archive, as far as they have been asked for.
pub struct Program {
    pub(crate) unit: Unit,
    pub(crate) importer: Importer,
}

/// Looks names up in an archive's `code/`.
pub(crate) struct Importer {
    /// The archive; `None` for a program that comes from none.
    archive: Option<Arc<Archive>>,
    /// The folder of code: `code`, and `libs` before 1.4.
    folder: &'static str,
    op_version: u32,
    files: FxHashMap<Arc<str>, Option<Arc<File>>>,
    definitions: FxHashMap<FunctionId, Definition>,
    pub(crate) constants: Vec<Constant>,
    pending: VecDeque<Pending>,
    filling: bool,
    failed: FxHashMap<Arc<str>, CompileError>,
    /// NamedTuples and enums that are being made: they cannot mention themselves.
    open: FxHashSet<Arc<str>>,
    /// For a program of bytecode alone, the attributes of classes that objects have: nothing else says them.
    pub(crate) told_by_objects: Option<FxHashMap<ClassId, FxHashSet<Arc<str>>>>,
    /// Functions that could not be made graphs of.
    pub(crate) untranslated: FxHashMap<FunctionId, Error>,
}

/// A parsed file of `code/`.
struct File {
    source: Arc<Source>,
    items: FxHashMap<Arc<str>, Item>,
}

/// A class or interface that is named and not yet filled.
enum Pending {
    Class(ClassId, Arc<ast::Class>, Arc<Source>),
    Interface(InterfaceId, Arc<ast::Class>, Arc<Source>),
}

/// Makes the NamedTuple or enum of a name from its definition.
type MakeType =
    fn(&mut Importer, &mut Unit, &str, &ast::Class, &Arc<Source>) -> Result<Type, CompileError>;

/// How deep NamedTuples and enums may be nested in each other.
const MAX_OPEN: usize = 64;

impl Program {
    pub(crate) fn new(archive: Arc<Archive>, folder: &'static str, op_version: u32) -> Self {
        Self::with_unit(Unit::new(), Some(archive), folder, op_version)
    }

    /// A program of bytecode alone: its classes are those that objects and types name.
    pub(crate) fn of_bytecode(archive: Arc<Archive>, op_version: u32) -> Self {
        let mut program = Self::new(archive, "code", op_version);
        program.importer.told_by_objects = Some(FxHashMap::default());
        program
    }

    /// A program that is compiled already.
    pub(crate) fn compiled(unit: Unit) -> Self {
        Self::with_unit(unit, None, "code", sconce_ir::operators::CURRENT_VERSION)
    }

    fn with_unit(
        unit: Unit,
        archive: Option<Arc<Archive>>,
        folder: &'static str,
        op_version: u32,
    ) -> Self {
        Program {
            unit,
            importer: Importer {
                archive,
                folder,
                op_version,
                files: FxHashMap::default(),
                definitions: FxHashMap::default(),
                constants: Vec::new(),
                pending: VecDeque::new(),
                filling: false,
                failed: FxHashMap::default(),
                open: FxHashSet::default(),
                told_by_objects: None,
                untranslated: FxHashMap::default(),
            },
        }
    }

    /// The classes, interfaces and functions that have been asked for.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// Of which version operators are meant.
    pub(crate) fn op_version(&self) -> u32 {
        self.importer.op_version
    }

    /// The type of a qualified name, if there is one.
    pub(crate) fn type_of_name(&mut self, name: &str) -> Result<Option<Type>, Error> {
        Ok(self.importer.ty(&mut self.unit, name)?)
    }

    /// The type of a qualified name.
    pub(crate) fn resolve_type(&mut self, name: &str) -> Result<Type, Error> {
        match self.type_of_name(name)? {
            Some(ty) => Ok(ty),
            None => Err(Error::malformed(format!("Unknown type name '{name}'"))),
        }
    }

    /// The type that a type tag or a schema of a pickle says, such as `Dict[str, Tensor]`.
    pub(crate) fn parse_type(&mut self, text: &str) -> Result<Type, Error> {
        let source = Arc::new(Source::new(text));
        let expr = parse_expression(&source)
            .map_err(|error| Error::malformed(format!("type '{text}': {error}")))?;
        Ok(type_of_expression(&mut self.unit, &mut self.importer, &expr, &source)?)
    }

    /// The function (not method) of a qualified name.
    pub fn find_function(&mut self, name: &str) -> Result<Option<FunctionId>, Error> {
        Ok(self.importer.function(&mut self.unit, name)?)
    }

    /// The class written in C++ of a name such as `__torch__.torch.classes.quantized.LinearPackedParamsBase`,
    /// which only an operator's schema may have named so far; `None` for other names.
    pub fn custom_class(&mut self, name: &str) -> Option<ClassId> {
        if !name.starts_with(custom_classes::PREFIX) {
            return None;
        }
        match self.unit.find_type(name) {
            Some(Type::Class(class)) => Some(ClassId(class.id)),
            Some(_) => None,
            None => Some(custom_classes::add(&mut self.unit, name).0),
        }
    }

    /// Compiles every function and method that has been named, and those named by doing so.
    ///
    /// # Errors
    /// What is wrong with the first that does not compile.
    pub fn compile_all(&mut self) -> Result<(), Error> {
        let mut next = 0;
        loop {
            let missing: Vec<FunctionId> = self
                .unit
                .functions()
                .skip(next)
                .filter(|(id, function)| function.graph.is_none() && self.has_body(*id))
                .map(|(id, _)| id)
                .collect();
            next = self.unit.functions().count();
            if missing.is_empty() {
                return Ok(());
            }
            for id in missing {
                self.graph(id)?;
            }
        }
    }

    /// The graph of a function or method, compiled now if it has not been.
    pub fn graph(&mut self, id: FunctionId) -> Result<Arc<Graph>, Error> {
        let function = self.unit.function(id);
        if let Some(graph) = &function.graph {
            return Ok(Arc::clone(graph));
        }
        if let Some(error) = self.importer.untranslated.get(&id) {
            return Err(error.clone());
        }
        let Some(definition) = self.importer.definitions.get(&id).cloned() else {
            let message = format!("{} has no code", function.qualified_name);
            return Err(Error::malformed(message));
        };
        let schema = Arc::clone(&function.schema);
        let options = Options::default();
        let of_module = function.class.is_some_and(|class| self.unit.class(class).is_module);
        let mut graph =
            compile(&mut self.unit, &mut self.importer, &definition, &schema, &options)?;
        if of_module {
            quantized_convolutions::rewrite(&mut graph);
        }
        let graph = Arc::new(graph);
        self.unit.function_mut(id).graph = Some(Arc::clone(&graph));
        Ok(graph)
    }

    /// Whether a function is of the archive, and none that PyTorch has in C++.
    fn has_body(&self, id: FunctionId) -> bool {
        self.definition(id).is_some() || self.importer.untranslated.contains_key(&id)
    }

    /// The source of a function or method as the archive has it.
    pub fn definition(&self, id: FunctionId) -> Option<&Definition> {
        self.importer.definitions.get(&id)
    }

    pub(crate) fn attribute_names(&self, class: ClassId) -> Vec<Arc<str>> {
        let attributes = &self.unit.class(class).attributes;
        attributes.iter().map(|attribute| Arc::clone(&attribute.name)).collect()
    }

    /// Whether objects of a class are saved as what `__getstate__` gives. Bytecode may be without that method.
    pub(crate) fn has_setstate(&self, class: ClassId) -> bool {
        let saves = || {
            self.importer.told_by_objects.is_some()
                || self.unit.find_method(class, "__getstate__").is_some()
        };
        self.unit.class(class).is_torchbind
            || (saves() && self.unit.find_method(class, "__setstate__").is_some())
    }

    /// Notes that the state of an object names an attribute, where nothing else says what the class has.
    pub(crate) fn attribute_of_state(&mut self, class: ClassId, name: &str) {
        let Some(told) = &mut self.importer.told_by_objects else { return };
        let told = told.entry(class).or_default();
        if !told.contains(name) {
            let (name, ty, role) = (Arc::from(name), Type::Any, Role::Plain);
            told.insert(Arc::clone(&name));
            self.unit.class_mut(class).attributes.push(ClassAttribute { name, ty, role });
        }
    }
}

impl Importer {
    /// The file of a qualifier: `__torch__.a` is `code/__torch__/a.py`.
    fn file(&mut self, qualifier: &str) -> Result<Option<Arc<File>>, CompileError> {
        if let Some(file) = self.files.get(qualifier) {
            return Ok(file.clone());
        }
        let record = format!("{}/{}.py", self.folder, qualifier.replace('.', "/"));
        let file = match &self.archive {
            Some(archive) if archive.contains(&record) => {
                let debug = format!("{record}.debug_pkl");
                Some(Arc::new(self.parse(archive, &record, debug)?))
            }
            _ => None,
        };
        self.files.insert(qualifier.into(), file.clone());
        Ok(file)
    }

    /// Parses a file of code, and remembers where its debug records are.
    fn parse(
        &self,
        archive: &Arc<Archive>,
        record: &str,
        debug: String,
    ) -> Result<File, CompileError> {
        let bytes = archive.read_to_parse(record);
        let (bytes, _) = bytes.map_err(|error| CompileError::without_range(error.to_string()))?;
        let text = String::from_utf8(bytes.to_vec())
            .map_err(|_| CompileError::without_range(format!("{record} is not valid UTF-8")))?;
        let mut source = Source::new(text).with_filename(record).with_starting_line(1);
        if archive.contains(&debug) {
            let archive = Arc::clone(archive);
            source = source.with_origin(Box::new(DebugRecords::lazy(Box::new(move || {
                let (bytes, stored) = archive.read_to_parse(&debug).ok()?;
                Some((bytes, pickle_limits(archive.directory().limits(), stored)))
            }))));
        }
        let source = Arc::new(source);
        let items = parse_module(&source)
            .map_err(|error| CompileError::new(error.message(), error.range().clone()))?;
        let mut by_name = FxHashMap::default();
        for item in items {
            let name = match &item {
                Item::Def(def) => Arc::clone(&def.name.name),
                Item::Class(class) => Arc::clone(&class.name.name),
                Item::Stmt(_) | Item::Import(_) => continue,
            };
            by_name.insert(name, item);
        }
        Ok(File { source, items: by_name })
    }

    /// Gives a class the methods that a file of nothing but functions defines, as modules had them
    /// before 1.4.
    pub(crate) fn define_methods(
        &mut self,
        unit: &mut Unit,
        class: ClassId,
        record: &str,
        debug: String,
    ) -> Result<(), CompileError> {
        let Some(archive) = &self.archive else { return Ok(()) };
        let file = self.parse(archive, record, debug)?;
        let mut defs: Vec<&Arc<ast::Def>> = file
            .items
            .values()
            .filter_map(|item| match item {
                Item::Def(def) => Some(def),
                _ => None,
            })
            .collect();
        defs.sort_by_key(|def| def.range.start);
        self.fill_methods(unit, class, &defs, &DeclaredNames::default(), &file.source)
    }

    fn item(&mut self, name: &str) -> Result<Option<(Item, Arc<Source>)>, CompileError> {
        let (qualifier, last) = name.rsplit_once('.').unwrap_or(("", name));
        let Some(file) = self.file(qualifier)? else { return Ok(None) };
        let item = file.items.get(last).cloned();
        Ok(item.map(|item| (item, Arc::clone(&file.source))))
    }

    /// A function (not method) of the archive.
    fn function(
        &mut self,
        unit: &mut Unit,
        name: &str,
    ) -> Result<Option<FunctionId>, CompileError> {
        if let Some(id) = unit.find_function(name) {
            return Ok(Some(id));
        }
        let Some((Item::Def(def), source)) = self.item(name)? else { return Ok(None) };
        self.add_function(unit, def, source, name.into(), None).map(Some)
    }

    fn add_function(
        &mut self,
        unit: &mut Unit,
        def: Arc<ast::Def>,
        source: Arc<Source>,
        qualified_name: Arc<str>,
        class: Option<(ClassId, &Type)>,
    ) -> Result<FunctionId, CompileError> {
        let definition = Definition { def, source, op_version: self.op_version };
        let self_type = class.map(|(_, ty)| ty.clone());
        let schema = declare(unit, self, &definition, self_type, Arc::clone(&qualified_name))?;
        let id = unit.add_function(Function {
            qualified_name,
            class: class.map(|(id, _)| id),
            schema: Arc::new(schema),
            graph: None,
        });
        self.definitions.insert(id, definition);
        Ok(id)
    }

    /// Makes the type of a name known, empty if it is a class.
    fn name_type(&mut self, unit: &mut Unit, name: &str) -> Result<Option<Type>, CompileError> {
        if let Some(error) = self.failed.get(name) {
            return Err(error.clone());
        }
        if let Some(ty) = unit.find_type(name) {
            return Ok(Some(ty.clone()));
        }
        if name.starts_with(custom_classes::PREFIX) {
            return Ok(Some(custom_classes::add(unit, name).1));
        }
        if self.told_by_objects.is_some() && name.starts_with("__torch__.") {
            let (_, ty) = unit.add_class(Class { is_module: true, ..Class::new(name) });
            return Ok(Some(ty));
        }
        let Some((Item::Class(class), source)) = self.item(name)? else { return Ok(None) };
        let base = match &class.superclass {
            None => None,
            Some(ast::Expr { kind: ExprKind::Name(base), .. }) => Some(&*base.name),
            Some(_) => Some(""),
        };
        let ty = match base {
            None | Some("Module") => {
                let is_module = base.is_some();
                let (id, ty) = unit.add_class(Class { is_module, ..Class::new(name) });
                self.pending.push_back(Pending::Class(id, class, source));
                ty
            }
            Some("Interface" | "ModuleInterface") => {
                let is_module = base == Some("ModuleInterface");
                let interface = Interface { name: name.into(), is_module, methods: Vec::new() };
                let (id, ty) = unit.add_interface(interface);
                self.pending.push_back(Pending::Interface(id, class, source));
                ty
            }
            Some("NamedTuple") => self.closed(unit, name, &class, &source, Self::named_tuple)?,
            Some("Enum") => self.closed(unit, name, &class, &source, Self::enumeration)?,
            Some(_) => {
                let range = class.superclass.as_ref().map_or(class.range, |base| base.range);
                return Err(CompileError::new(
                    "Torchscript does not support class inheritance.",
                    SourceRange::new(source, range),
                ));
            }
        };
        Ok(Some(ty))
    }

    /// Makes a type that must be whole before it can be named.
    fn closed(
        &mut self,
        unit: &mut Unit,
        name: &str,
        class: &ast::Class,
        source: &Arc<Source>,
        make: MakeType,
    ) -> Result<Type, CompileError> {
        let range = SourceRange::new(Arc::clone(source), class.range);
        if self.open.len() >= MAX_OPEN || !self.open.insert(name.into()) {
            return Err(CompileError::new(format!("Unknown type name '{name}'"), range));
        }
        let made = make(self, unit, name, class, source);
        self.open.remove(name);
        let ty = made?;
        unit.add_type(name.into(), ty.clone());
        Ok(ty)
    }

    fn named_tuple(
        &mut self,
        unit: &mut Unit,
        name: &str,
        class: &ast::Class,
        source: &Arc<Source>,
    ) -> Result<Type, CompileError> {
        let (mut fields, mut elements, mut defaults) = (Vec::new(), Vec::new(), Vec::new());
        for stmt in &class.body {
            let Some((field, value, annotation)) = assignment(stmt) else {
                return Err(unexpected(source, stmt, "a NamedTuple holds fields only"));
            };
            let Some(annotation) = annotation else {
                return Err(unexpected(source, stmt, "a field of a NamedTuple has no type"));
            };
            fields.push(Arc::clone(field));
            elements.push(type_of_expression(unit, self, annotation, source)?);
            if let Some(value) = value {
                defaults.push(literal(unit, self, value, source, None)?);
            }
        }
        let named = Some(NamedTuple { name: name.into(), fields, defaults });
        Ok(Type::Tuple(Arc::new(TupleType { elements, named })))
    }

    fn enumeration(
        &mut self,
        unit: &mut Unit,
        name: &str,
        class: &ast::Class,
        source: &Arc<Source>,
    ) -> Result<Type, CompileError> {
        let mut members: Vec<(Arc<str>, Constant)> = Vec::new();
        for stmt in &class.body {
            let Some((member, Some(value), _)) = assignment(stmt) else {
                return Err(unexpected(source, stmt, "an enum holds names with values only"));
            };
            let value = literal(unit, self, value, source, None)?;
            members.push((Arc::clone(member), value));
        }
        let Some(value) = members.first().map(|(_, value)| value.ty()) else {
            let range = SourceRange::new(Arc::clone(source), class.range);
            return Err(CompileError::new(format!("enum {name} has no members"), range));
        };
        Ok(Type::Enum(Arc::new(EnumType { name: name.into(), value, members })))
    }

    /// Fills the classes and interfaces that have been named.
    fn fill_pending(&mut self, unit: &mut Unit) -> Result<(), CompileError> {
        if self.filling {
            return Ok(());
        }
        self.filling = true;
        let mut result = Ok(());
        while let Some(pending) = self.pending.pop_front() {
            let (name, filled) = match pending {
                Pending::Class(id, class, source) => {
                    let name = Arc::clone(&unit.class(id).name);
                    (name, self.fill_class(unit, id, &class, &source))
                }
                Pending::Interface(id, class, source) => {
                    let name = Arc::clone(&unit.interface(id).name);
                    (name, self.fill_interface(unit, id, &class, &source))
                }
            };
            if let Err(error) = filled {
                self.failed.insert(name, error.clone());
                result = result.and(Err(error));
            }
        }
        self.filling = false;
        result
    }

    fn fill_interface(
        &mut self,
        unit: &mut Unit,
        id: InterfaceId,
        class: &ast::Class,
        source: &Arc<Source>,
    ) -> Result<(), CompileError> {
        let name = Arc::clone(&unit.interface(id).name);
        let ty = unit.find_type(&name).cloned();
        for stmt in &class.body {
            let StmtKind::Def(def) = &stmt.kind else {
                return Err(unexpected(source, stmt, "an interface holds methods only"));
            };
            let definition = Definition {
                def: Arc::clone(def),
                source: Arc::clone(source),
                op_version: self.op_version,
            };
            let method = declare(unit, self, &definition, ty.clone(), Arc::clone(&def.name.name))?;
            unit.interface_mut(id).methods.push(Arc::new(method));
        }
        Ok(())
    }

    fn fill_class(
        &mut self,
        unit: &mut Unit,
        id: ClassId,
        class: &ast::Class,
        source: &Arc<Source>,
    ) -> Result<(), CompileError> {
        let mut lists = DeclaredNames::default();
        let mut defs = Vec::new();
        for stmt in &class.body {
            match &stmt.kind {
                StmtKind::Def(def) => defs.push(def),
                StmtKind::Pass => {}
                StmtKind::Assign { targets, value, annotation } => {
                    let [target] = targets.as_slice() else {
                        return Err(unexpected(source, stmt, "a class assigns to one name"));
                    };
                    let assigned = (target, value.as_ref(), annotation.as_ref());
                    self.class_assignment(unit, id, &mut lists, assigned, source)?;
                }
                _ => {
                    return Err(unexpected(
                        source,
                        stmt,
                        "Unexpected statement kind in class body",
                    ));
                }
            }
        }
        for attribute in &mut unit.class_mut(id).attributes {
            if lists.parameters.contains(&attribute.name) {
                attribute.role = Role::Parameter;
            } else if lists.buffers.contains(&attribute.name) {
                attribute.role = Role::Buffer;
            }
        }
        self.fill_methods(unit, id, &defs, &lists, source)
    }

    fn fill_methods(
        &mut self,
        unit: &mut Unit,
        id: ClassId,
        defs: &[&Arc<ast::Def>],
        lists: &DeclaredNames,
        source: &Arc<Source>,
    ) -> Result<(), CompileError> {
        let name = Arc::clone(&unit.class(id).name);
        let Some(ty) = unit.find_type(&name).cloned() else { return Ok(()) };
        let mut functions = Vec::with_capacity(defs.len());
        for def in defs {
            let qualified = Arc::from(format!("{name}.{}", def.name.name));
            let (def, source) = (Arc::clone(def), Arc::clone(source));
            functions.push(self.add_function(unit, def, source, qualified, Some((id, &ty)))?);
        }
        // Hooks are called in the order of their lists, methods are kept in order of definition.
        let find = |name: &Arc<str>| {
            defs.iter().position(|def| def.name.name == *name).map(|at| functions[at])
        };
        let hooks = [&lists.forward_hooks, &lists.forward_pre_hooks];
        let [hooks, pre_hooks] =
            hooks.map(|names| names.iter().filter_map(find).collect::<Vec<FunctionId>>());
        let is_hook = |id: &FunctionId| hooks.contains(id) || pre_hooks.contains(id);
        let methods = functions.iter().copied().filter(|id| !is_hook(id)).collect();
        let class = unit.class_mut(id);
        class.methods = methods;
        class.forward_hooks = hooks;
        class.forward_pre_hooks = pre_hooks;
        Ok(())
    }

    /// One assignment of a class body: a list of names, an attribute, or a constant.
    fn class_assignment(
        &mut self,
        unit: &mut Unit,
        id: ClassId,
        lists: &mut DeclaredNames,
        (target, value, annotation): (&ast::Expr, Option<&ast::Expr>, Option<&ast::Expr>),
        source: &Arc<Source>,
    ) -> Result<(), CompileError> {
        let at = |range| SourceRange::new(Arc::clone(source), range);
        let (name, annotation) = match (&target.kind, annotation) {
            (ExprKind::Name(name), None) => {
                let Some(value) = value else { return Ok(()) };
                return lists
                    .set(&name.name, value)
                    .map_err(|text| CompileError::new(text, at(target.range)));
            }
            (ExprKind::Name(name), Some(annotation)) => (Arc::clone(&name.name), annotation),
            // __annotations__["0"] = Type
            (ExprKind::Subscript { indices, .. }, None) => match (indices.as_slice(), value) {
                ([ast::Expr { kind: ExprKind::Str(name), .. }], Some(value)) => {
                    return self.attribute(unit, id, Arc::clone(name), value, source);
                }
                _ => {
                    return Err(CompileError::new(
                        "Unexpected assignment in class body",
                        at(target.range),
                    ));
                }
            },
            _ => {
                return Err(CompileError::new(
                    "Unexpected assignment in class body",
                    at(target.range),
                ));
            }
        };
        let Some(value) = value else {
            return self.attribute(unit, id, name, annotation, source);
        };
        let ExprKind::Subscript { value: head, indices } = &annotation.kind else {
            return Err(CompileError::new("a class constant must be Final", at(annotation.range)));
        };
        let is_final = matches!(&head.kind, ExprKind::Name(name) if &*name.name == "Final");
        let [of] = indices.as_slice() else {
            return Err(CompileError::new("Final takes one type", at(annotation.range)));
        };
        if !is_final {
            return Err(CompileError::new("a class constant must be Final", at(annotation.range)));
        }
        let ty = type_of_expression(unit, self, of, source)?;
        let value = literal(unit, self, value, source, Some(&ty))?;
        unit.class_mut(id).constants.push(ClassConstant { name, ty, value });
        Ok(())
    }

    fn attribute(
        &mut self,
        unit: &mut Unit,
        id: ClassId,
        name: Arc<str>,
        annotation: &ast::Expr,
        source: &Arc<Source>,
    ) -> Result<(), CompileError> {
        let ty = match legacy_types::replacement(&unit.class(id).name, &name, annotation) {
            Some(replacement) => self.name_type(unit, replacement)?.unwrap_or(Type::Tensor),
            None => type_of_expression(unit, self, annotation, source)?,
        };
        unit.class_mut(id).attributes.push(ClassAttribute { name, ty, role: Role::Plain });
        Ok(())
    }
}

/// The lists of names at the head of a module's class.
#[derive(Default)]
struct DeclaredNames {
    parameters: FxHashSet<Arc<str>>,
    buffers: FxHashSet<Arc<str>>,
    forward_hooks: Vec<Arc<str>>,
    forward_pre_hooks: Vec<Arc<str>>,
}

impl DeclaredNames {
    fn set(&mut self, list: &str, value: &ast::Expr) -> Result<(), String> {
        let ExprKind::List(items) = &value.kind else {
            return Err(format!("{list} is not a list"));
        };
        let names = items.iter().filter_map(|item| match &item.kind {
            ExprKind::Str(name) => Some(Arc::clone(name)),
            _ => None,
        });
        match list {
            "__parameters__" => self.parameters.extend(names),
            "__buffers__" => self.buffers.extend(names),
            "__forward_hooks__" => self.forward_hooks.extend(names),
            "__forward_pre_hooks__" => self.forward_pre_hooks.extend(names),
            "__annotations__" => {}
            _ => return Err("Unexpected assignment in class body".to_owned()),
        }
        Ok(())
    }
}

/// The name, value and annotation of an assignment to one name.
fn assignment(stmt: &ast::Stmt) -> Option<(&Arc<str>, Option<&ast::Expr>, Option<&ast::Expr>)> {
    let StmtKind::Assign { targets, value, annotation } = &stmt.kind else { return None };
    let [ast::Expr { kind: ExprKind::Name(target), .. }] = targets.as_slice() else { return None };
    Some((&target.name, value.as_ref(), annotation.as_ref()))
}

fn unexpected(source: &Arc<Source>, stmt: &ast::Stmt, text: &str) -> CompileError {
    CompileError::new(text, SourceRange::new(Arc::clone(source), stmt.range))
}

impl Resolver for Importer {
    fn value(&mut self, _: &mut Unit, name: &str) -> Result<Option<Global>, CompileError> {
        Ok(Some(match name {
            "torch" => Global::Torch,
            "ops" => Global::Ops,
            "CONSTANTS" => Global::Constants,
            "fork" => Global::Special(Special::Fork),
            "awaitable" => Global::Special(Special::Awaitable),
            "annotate" => Global::Special(Special::Annotate),
            "unchecked_cast" => Global::Special(Special::UncheckedCast),
            "uninitialized" => Global::Special(Special::Uninitialized),
            "inf" => Global::Constant(Constant::Float(f64::INFINITY)),
            "nan" => Global::Constant(Constant::Float(f64::NAN)),
            "infj" => Global::Constant(Constant::Complex(0.0, f64::INFINITY)),
            "nanj" => Global::Constant(Constant::Complex(0.0, f64::NAN)),
            "__torch__" => Global::Namespace("__torch__".into()),
            _ => return Ok(None),
        }))
    }

    fn member(
        &mut self,
        unit: &mut Unit,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Global>, CompileError> {
        let qualified = format!("{namespace}.{name}");
        if let Some(ty) = self.ty(unit, &qualified)? {
            return Ok(Some(Global::Type(ty)));
        }
        if let Some(function) = self.function(unit, &qualified)? {
            return Ok(Some(Global::Function(function)));
        }
        Ok(Some(Global::Namespace(qualified.into())))
    }

    fn ty(&mut self, unit: &mut Unit, name: &str) -> Result<Option<Type>, CompileError> {
        let ty = self.name_type(unit, name)?;
        self.fill_pending(unit)?;
        Ok(ty)
    }

    fn constant(&mut self, _: &mut Unit, name: &str) -> Result<Option<Constant>, CompileError> {
        let index = name.strip_prefix('c').and_then(|digits| digits.parse::<usize>().ok());
        Ok(index.and_then(|index| self.constants.get(index).cloned()))
    }

    fn ensure_schema(&mut self, _: &mut Unit, _: FunctionId) -> Result<(), CompileError> {
        Ok(())
    }
}

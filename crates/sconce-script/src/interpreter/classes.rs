//! Classes: made of their bodies, and objects made of them.

use std::sync::Arc;

use ruff_python_ast as py;

use super::arguments::Keywords;
use super::control_flow::{Flow, Outcome, refuse};
use super::value::{Cell, Class, ClassKind, Exception, Id, Instance, Partial, Scope, Tuple, Value};
use super::{Attributes, Frame, Interpreter, libraries};
use crate::library;
use crate::loader::inheritance;
use crate::loader::{Module, PyClass, PyFunction};

/// Classes of the libraries that a class may be derived from and that add nothing here.
const PLAIN_BASES: &[&str] = &[
    "builtins.object",
    "builtins.type",
    "abc.ABC",
    "abc.ABCMeta",
    "enum.EnumMeta",
    "enum.EnumType",
    "typing.Generic",
    "typing.Protocol",
    "typing_extensions.Protocol",
];

/// Classes that enums are mixed with.
pub(super) const MIXED_IN: &[&str] = &["builtins.str", "builtins.int", "builtins.float"];

impl Interpreter<'_> {
    /// A function at the top of a file.
    pub(super) fn file_function(&mut self, function: &PyFunction) -> Outcome<Value> {
        use ruff_text_size::Ranged;
        let key = (Arc::clone(&function.module.name), function.def.start().to_u32());
        if let Some(known) = self.definitions.get(&key) {
            return Ok(known.clone());
        }
        let full = format!("{}.{}", function.module.name, function.name());
        if libraries::answers(&full) {
            return Ok(Value::library(&full));
        }
        let frame = Frame { module: Arc::clone(&function.module), scope: None };
        let value = self.define_function(&frame, function.clone())?;
        self.definitions.insert(key, value.clone());
        Ok(value)
    }

    /// A class at the top of a file.
    pub(super) fn file_class(&mut self, class: &PyClass) -> Outcome<Value> {
        let key = class.key();
        if let Some(known) = self.definitions.get(&key) {
            return Ok(known.clone());
        }
        if !self.open.insert((Arc::clone(&key.0), key.1.to_string().into())) {
            return refuse(format!("the class '{}' needs itself to be made", class.name()));
        }
        let full = format!("{}.{}", class.module.name, class.name());
        if libraries::answers(&full) {
            self.open.remove(&(Arc::clone(&key.0), key.1.to_string().into()));
            return Ok(Value::library(&full));
        }
        let frame = Frame { module: Arc::clone(&class.module), scope: None };
        let value = self.define_class(&frame, &class.def);
        self.open.remove(&(Arc::clone(&key.0), key.1.to_string().into()));
        let value = value?;
        self.definitions.insert(key, value.clone());
        Ok(value)
    }

    /// A class statement.
    pub(super) fn define_class(
        &mut self,
        frame: &Frame,
        def: &Arc<py::StmtClassDef>,
    ) -> Outcome<Value> {
        let mut bases = Vec::new();
        let (mut metaclass, mut keywords) = (None, Keywords::new());
        if let Some(arguments) = &def.arguments {
            bases = self.evaluate_all(frame, &arguments.args)?;
            for keyword in &arguments.keywords {
                let value = self.evaluate(frame, &keyword.value)?;
                match &keyword.arg {
                    Some(name) if name == "metaclass" => metaclass = self.metaclass(&value)?,
                    Some(name) => keywords.push((name.as_str().into(), value)),
                    None => return refuse("** in a class statement is not supported here"),
                }
            }
        }
        let metaclass = metaclass.or_else(|| self.inherited_metaclass(&bases));
        let kind = self.kind_of_bases(&bases)?;
        let is_builtin =
            |base: &Value| matches!(base, Value::Library(name) if MIXED_IN.contains(&&**name));
        if kind != ClassKind::Enum && bases.iter().any(is_builtin) {
            return refuse("classes derived from str, int or float are not supported here");
        }
        let source = PyClass { module: Arc::clone(&frame.module), def: Arc::clone(def) };
        let order = self.order(&source, &bases)?;
        let class = Class {
            name: def.name.as_str().into(),
            source,
            order,
            members: Attributes::default(),
            kind,
            metaclass: None,
        };
        let value = self.new_cell(Cell::Class(class))?;
        let Value::Ref(id) = value else { return refuse("no class") };
        if let Some(class) = self.arena.class_mut(id) {
            class.order.insert(0, Value::Ref(id));
        }
        self.run_class_body(frame, def, id)?;
        let mut value = match metaclass {
            Some(metaclass) => self.made_by_metaclass(metaclass, id, &bases, keywords)?,
            None => {
                self.announce_subclass(id, keywords)?;
                Value::Ref(id)
            }
        };
        for decorator in def.decorator_list.iter().rev() {
            value = self.decorated(frame, decorator, value)?;
        }
        Ok(value)
    }

    /// What kind of class the classes derived from some are.
    pub(super) fn kind_of_bases(&mut self, bases: &[Value]) -> Outcome<ClassKind> {
        let mut kind = ClassKind::Plain;
        for base in bases {
            kind = match self.kind_of_base(base)? {
                ClassKind::Plain => continue,
                other => other,
            };
        }
        Ok(kind)
    }

    /// What kind of class a base makes the classes derived from it.
    fn kind_of_base(&mut self, base: &Value) -> Outcome<ClassKind> {
        if let Some(class) = self.arena.class(base) {
            return Ok(class.kind.clone());
        }
        if self.is_unknown(base) {
            return Ok(ClassKind::Plain);
        }
        let Value::Library(name) = base else {
            let message =
                format!("a {} as the base of a class is not supported", self.type_name(base));
            return refuse(message);
        };
        match &**name {
            "typing.NamedTuple" => Ok(ClassKind::NamedTuple(Vec::new())),
            "enum.Enum" | "enum.IntEnum" | "enum.StrEnum" | "enum.Flag" | "enum.IntFlag" => {
                Ok(ClassKind::Enum)
            }
            "builtins.tuple" => Ok(ClassKind::Tuple),
            name if PLAIN_BASES.contains(&name)
                || MIXED_IN.contains(&name)
                || self.is_library_exception(name) =>
            {
                Ok(ClassKind::Plain)
            }
            // Only what is never made: a type that others are checked against.
            name if name.starts_with("torch.nn.") || name.starts_with("builtins.") => {
                refuse(format!("classes derived from '{name}' are not supported here"))
            }
            _ => Ok(ClassKind::Plain),
        }
    }

    pub(super) fn order(&mut self, source: &PyClass, bases: &[Value]) -> Outcome<Vec<Value>> {
        let mut lists = Vec::new();
        for base in bases {
            lists.push(match self.arena.class(base) {
                Some(class) => class.order.clone(),
                None => vec![base.clone()],
            });
        }
        self.spend_items(lists.iter().map(Vec::len).sum())?;
        lists.push(bases.to_vec());
        match inheritance::merged(lists, Value::is) {
            Some(order) => Ok(order),
            None => {
                let message = format!(
                    "Cannot create a consistent method resolution order (MRO) for bases of '{}'",
                    source.name()
                );
                self.type_error(message)
            }
        }
    }

    fn run_class_body(
        &mut self,
        frame: &Frame,
        def: &Arc<py::StmtClassDef>,
        id: Id,
    ) -> Outcome<()> {
        let scope =
            self.new_scope(Scope { parent: frame.scope, body_of: Some(id), ..Scope::default() })?;
        let inner = Frame { module: Arc::clone(&frame.module), scope: Some(scope) };
        let mut names: Vec<Arc<str>> = Vec::new();
        for statement in &def.body {
            // Annotations alone bind nothing, but fields are named by them.
            if let py::Stmt::AnnAssign(field) = statement
                && let py::Expr::Name(name) = &*field.target
            {
                names.push(name.id.as_str().into());
            }
            let flow = self.run(&inner, std::slice::from_ref(statement))?;
            if !matches!(flow, Flow::Next) {
                return refuse("this statement is not supported in a class");
            }
            match bound_name(&frame.module, statement) {
                Some(name) => self.take_member(scope, id, name),
                None => self.take_members(scope, id),
            }
        }
        let kind = self.arena.class_mut(id).map(|class| class.kind.clone());
        match kind {
            Some(ClassKind::NamedTuple(fields)) if fields.is_empty() => {
                if let Some(class) = self.arena.class_mut(id) {
                    class.kind = ClassKind::NamedTuple(names);
                }
            }
            Some(ClassKind::Enum) => self.make_enum_members(id)?,
            _ => {}
        }
        Ok(())
    }

    /// Copies what a statement of the body has bound into the class.
    fn take_member(&mut self, scope: Id, id: Id, name: &str) {
        let variables = self.arena.scope_mut(scope).map(|scope| &scope.variables);
        let Some((name, value)) = variables.and_then(|variables| variables.get_key_value(name))
        else {
            return;
        };
        let (name, value) = (Arc::clone(name), value.clone());
        if let Some(class) = self.arena.class_mut(id) {
            class.members.insert(name, value);
        }
    }

    /// Copies all that the body has bound into the class, in the order of binding.
    fn take_members(&mut self, scope: Id, id: Id) {
        let Some(scope) = self.arena.scope_mut(scope) else { return };
        // One statement binds few names; by name where it binds several.
        let mut bound: Vec<(Arc<str>, Value)> =
            scope.variables.iter().map(|(name, value)| (Arc::clone(name), value.clone())).collect();
        bound.sort_by(|one, other| one.0.cmp(&other.0));
        if let Some(class) = self.arena.class_mut(id) {
            for (name, value) in bound {
                class.members.insert(name, value);
            }
        }
    }

    /// The variables that a function defined here sees, and the class it belongs to: methods see
    /// what is around their class, not what is in it.
    pub(super) fn surroundings(&self, frame: &Frame) -> (Option<Id>, Option<Id>) {
        let scope = frame.scope.and_then(|id| self.arena.scope(&Value::Ref(id)));
        match scope {
            Some(Scope { body_of: Some(class), parent, .. }) => (*parent, Some(*class)),
            _ => (frame.scope, None),
        }
    }

    fn make_enum_members(&mut self, id: Id) -> Outcome<()> {
        let Some(class) = self.arena.class_mut(id) else { return Ok(()) };
        let plain: Vec<(Arc<str>, Value)> = class
            .members
            .iter()
            .filter(|(name, _)| !name.starts_with('_'))
            .map(|(name, value)| (Arc::clone(name), value.clone()))
            .collect();
        let mut number = 0;
        let mut made: Vec<(Value, Value)> = Vec::new();
        for (name, value) in plain {
            if let Some(
                Cell::Function(_)
                | Cell::Property(_)
                | Cell::StaticMethod(_)
                | Cell::ClassMethod(_),
            ) = self.arena.cell(&value)
            {
                continue;
            }
            let value = match &value {
                Value::Library(auto) if &**auto == "enum.auto()" => Value::Int(number + 1),
                _ => value,
            };
            number = value.as_int().unwrap_or(number);
            let mut same = None;
            for (known, member) in &made {
                if self.equal(known, &value)? {
                    same = Some(member.clone());
                }
            }
            let member = match same {
                Some(member) => member,
                None => {
                    let (member, value) = self.enum_member(id, &name, value)?;
                    made.push((value, member.clone()));
                    member
                }
            };
            if let Some(class) = self.arena.class_mut(id) {
                class.members.insert(name, member);
            }
        }
        Ok(())
    }

    /// A member of an enum, and its value: that of its `__new__`, where it has one.
    fn enum_member(&mut self, id: Id, name: &Arc<str>, value: Value) -> Outcome<(Value, Value)> {
        let given = match self.arena.tuple(&value) {
            Some(tuple) => tuple.items.clone(),
            None => vec![value.clone()],
        };
        let member = match self.member(id, "__new__") {
            Some(new) => {
                let args = std::iter::once(Value::Ref(id)).chain(given.clone()).collect();
                self.nested(|this| this.call(&new, args, Keywords::new()))?
            }
            None => {
                let attributes = Attributes::default();
                self.new_cell(Cell::Instance(Instance { class: id, attributes }))?
            }
        };
        let Value::Ref(at) = member else { return refuse("no member of an enum") };
        let Some(instance) = self.arena.instance_mut(at) else {
            return refuse("no member of an enum");
        };
        let value = instance.attributes.get("_value_").cloned().unwrap_or(value);
        instance.attributes.insert("name".into(), Value::Str(Arc::clone(name)));
        instance.attributes.insert("value".into(), value.clone());
        if let Some(init) = self.member(id, "__init__") {
            let args = std::iter::once(member.clone()).chain(given).collect();
            self.nested(|this| this.call(&init, args, Keywords::new()))?;
        }
        let now = self.arena.instance(&member).and_then(|own| own.attributes.get("_value_"));
        let value = now.cloned().unwrap_or(value);
        if let Some(instance) = self.arena.instance_mut(at) {
            instance.attributes.insert("value".into(), value.clone());
        }
        Ok((member, value))
    }

    /// The members of an enum, in order, without aliases.
    pub(super) fn enum_members(&self, class: &Value) -> Option<Vec<Value>> {
        let class = self.arena.class(class)?;
        if class.kind != ClassKind::Enum {
            return None;
        }
        let of_class = |value: &&Value| self.arena.instance(value).is_some();
        let mut members: Vec<Value> = Vec::new();
        for value in class.members.values().filter(of_class) {
            if !members.iter().any(|known| known.is(value)) {
                members.push(value.clone());
            }
        }
        Some(members)
    }

    /// A member of a class or of what it is derived from.
    pub(super) fn member(&self, class: Id, name: &str) -> Option<Value> {
        self.member_after(class, None, name)
    }

    /// A member of a class, from behind another class on.
    pub(super) fn member_after(&self, class: Id, after: Option<Id>, name: &str) -> Option<Value> {
        let order = &self.arena.class(&Value::Ref(class))?.order;
        let begin = match after {
            Some(after) => order.iter().position(|known| known.is(&Value::Ref(after)))? + 1,
            None => 0,
        };
        order
            .get(begin..)?
            .iter()
            .find_map(|class| self.arena.class(class)?.members.get(name).cloned())
    }

    /// Whether a class is derived from `nn.Module`, and no instance.
    pub(super) fn is_module_class(&mut self, value: &Value) -> Outcome<bool> {
        let Some(class) = self.arena.class(value) else { return Ok(false) };
        let order = class.order.iter();
        Ok(order
            .filter_map(|class| self.arena.class(class))
            .any(|class| class.source.is_nn_module()))
    }

    pub(super) fn is_class(&self, value: &Value) -> bool {
        match value {
            Value::Library(name) => self.is_library_exception(name) || library::ty(name).is_some(),
            other => self.arena.class(other).is_some(),
        }
    }

    /// An object of a class: `Class(…)`.
    pub(super) fn instantiate(
        &mut self,
        id: Id,
        mut args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        let Some(class) = self.arena.class_mut(id) else { return refuse("no class") };
        let (name, kind) = (Arc::clone(&class.name), class.kind.clone());
        if let Some(base) = self.unknown_base(id) {
            let what = format!("an object of '{name}'");
            let what = match self.arena.unknown(&base) {
                Some(base) => format!("{what}, which is derived from {}", base.what),
                None => format!("{what}, which is derived from {}", self.class_name(&base)),
            };
            let why = self.arena.unknown(&base).and_then(|base| base.why.clone());
            let kind = library::NameKind::Callable;
            return self.new_unknown(&what, why, kind, true);
        }
        let init = self.member(id, "__init__");
        match kind {
            ClassKind::NamedTuple(fields) => {
                let items = self.field_values(id, &name, &fields, args, keywords)?;
                self.spend_items(items.len())?;
                return self.new_cell(Cell::Tuple(Tuple { items, class: Some(id) }));
            }
            ClassKind::Enum => {
                let members = self.enum_members(&Value::Ref(id)).unwrap_or_default();
                for member in members {
                    let value = self.attribute(&member, "value")?;
                    if let Some(wanted) = args.first().cloned()
                        && (self.equal(&value, &wanted)? || member.is(&wanted))
                    {
                        return Ok(member);
                    }
                }
                if let (Some(missing), [value, ..]) =
                    (self.member(id, "_missing_"), args.as_slice())
                {
                    let missing = self.bound(&missing, &Value::Ref(id), id)?;
                    let found = self.call(&missing, vec![value.clone()], Keywords::new())?;
                    if !matches!(found, Value::None) {
                        return Ok(found);
                    }
                }
                let shown = match args.first() {
                    Some(value) => self.repr(value)?,
                    None => return self.type_error(format!("{name}() needs a value")),
                };
                return self.raise("ValueError", format!("{shown} is not a valid {name}"));
            }
            ClassKind::Tuple if self.member(id, "__new__").is_none() => {
                let items = match args.first() {
                    Some(items) => self.iterate(&items.clone())?,
                    None => Vec::new(),
                };
                self.spend_items(items.len())?;
                let made = self.new_cell(Cell::Tuple(Tuple { items, class: Some(id) }))?;
                if let Some(init) = init {
                    args.insert(0, made.clone());
                    self.nested(|this| this.call(&init, args, keywords))?;
                }
                return Ok(made);
            }
            ClassKind::DataClass(_) | ClassKind::Plain | ClassKind::Tuple => {}
        }
        if let Some(new) = self.member(id, "__new__") {
            let own = std::iter::once(Value::Ref(id)).chain(args.iter().cloned()).collect();
            let made = self.nested(|this| this.call(&new, own, keywords.clone()))?;
            let class = self.class_of(&made);
            if let Some(init) = init
                && self.is_subclass(&class, &Value::Ref(id))?
            {
                args.insert(0, made.clone());
                self.nested(|this| this.call(&init, args, keywords))?;
            }
            return Ok(made);
        }
        let made = if self.has_exception_base(id) {
            let mut attributes = Attributes::default();
            let items = self.new_tuple(args.clone())?;
            attributes.insert("args".into(), items);
            if init.is_none() {
                return self.new_cell(Cell::Instance(Instance { class: id, attributes }));
            }
            self.new_cell(Cell::Instance(Instance { class: id, attributes }))?
        } else {
            let attributes = Attributes::default();
            self.new_cell(Cell::Instance(Instance { class: id, attributes }))?
        };
        match init {
            Some(init) => {
                args.insert(0, made.clone());
                self.nested(|this| this.call(&init, args, keywords))?;
            }
            None if !args.is_empty() || !keywords.is_empty() => {
                return self.type_error(format!("{name}() takes no arguments"));
            }
            None => {}
        }
        Ok(made)
    }

    /// `object.__new__(class)`
    pub(super) fn plain_object(
        &mut self,
        class: &Value,
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        let (Value::Ref(id), Some(_)) = (class, self.arena.class(class)) else {
            return refuse("object.__new__() of this is not supported here");
        };
        if matches!(self.arena.class(class), Some(Class { kind: ClassKind::Tuple, .. })) {
            let items = match args.first() {
                Some(items) => self.iterate(items)?,
                None => Vec::new(),
            };
            self.spend_items(items.len())?;
            return self.new_cell(Cell::Tuple(Tuple { items, class: Some(*id) }));
        }
        if !matches!(
            self.arena.class(class),
            Some(Class { kind: ClassKind::Plain | ClassKind::DataClass(_) | ClassKind::Enum, .. })
        ) {
            return refuse("object.__new__() of a named tuple is not supported here");
        }
        let mut attributes = Attributes::default();
        if self.has_exception_base(*id) {
            let args = self.new_tuple(args)?;
            attributes.insert("args".into(), args);
        } else if self.member(*id, "__new__").is_some() && !(args.is_empty() && keywords.is_empty())
        {
            let message = "object.__new__() takes exactly one argument (the type to instantiate)";
            return self.type_error(message);
        }
        self.new_cell(Cell::Instance(Instance { class: *id, attributes }))
    }

    /// A class of a library that a class is derived from, whose objects are not known, where files run.
    pub(super) fn unknown_base(&self, id: Id) -> Option<Value> {
        /// Classes that add methods and no parameters.
        const MIXINS: &[&str] = &[
            "huggingface_hub.PyTorchModelHubMixin",
            "huggingface_hub.ModelHubMixin",
            "torch.utils.data.Dataset",
        ];
        self.execution.as_ref()?;
        let is_unknown = |base: &&Value| match base {
            Value::Library(name) => {
                !PLAIN_BASES.contains(&&**name)
                    && !MIXED_IN.contains(&&**name)
                    && !MIXINS.contains(&&**name)
                    && !name.starts_with("enum.")
                    && !name.starts_with("typing.")
                    && !self.is_library_exception(name)
            }
            base => self.arena.unknown(base).is_some_and(|base| !MIXINS.contains(&&*base.what)),
        };
        self.arena.class(&Value::Ref(id))?.order.iter().find(is_unknown).cloned()
    }

    fn has_exception_base(&self, id: Id) -> bool {
        self.arena.class(&Value::Ref(id)).is_some_and(|class| {
            class
                .order
                .iter()
                .any(|base| matches!(base, Value::Library(name) if self.is_library_exception(name)))
        })
    }

    /// The values of fields, given or by default.
    fn field_values(
        &mut self,
        id: Id,
        name: &str,
        fields: &[Arc<str>],
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Vec<Value>> {
        if args.len() > fields.len() {
            let message = format!(
                "{name}.__init__() takes {} positional arguments but {} were given",
                fields.len() + 1,
                args.len() + 1
            );
            return self.type_error(message);
        }
        for (keyword, _) in &keywords {
            if !fields.contains(keyword) {
                let message =
                    format!("{name}.__init__() got an unexpected keyword argument '{keyword}'");
                return self.type_error(message);
            }
        }
        let mut items = Vec::with_capacity(fields.len());
        for (at, field) in fields.iter().enumerate() {
            let given = args.get(at).or_else(|| {
                keywords.iter().find(|(known, _)| known == field).map(|(_, value)| value)
            });
            let value = match given {
                Some(value) => value.clone(),
                None => match self.member(id, field) {
                    Some(default) => self.field_default(&default)?,
                    None => {
                        let message = format!(
                            "{name}.__init__() missing 1 required positional argument: '{field}'"
                        );
                        return self.type_error(message);
                    }
                },
            };
            items.push(value);
        }
        Ok(items)
    }

    /// `field(default_factory=…)` makes a value for each object.
    fn field_default(&mut self, default: &Value) -> Outcome<Value> {
        if let Some(Cell::Partial(partial)) = self.arena.cell(default)
            && matches!(&partial.function, Value::Library(name) if &**name == "dataclasses.field")
        {
            let keywords = partial.keywords.clone();
            for (name, value) in keywords {
                match &*name {
                    "default" => return Ok(value),
                    "default_factory" => return self.call(&value, Vec::new(), Vec::new()),
                    _ => {}
                }
            }
        }
        Ok(default.clone())
    }

    /// `@dataclass`
    pub(super) fn make_data_class(&mut self, value: &Value) -> Outcome<Value> {
        let Value::Ref(id) = value else { return refuse("this is not a class") };
        let Some(class) = self.arena.class(value) else { return refuse("this is not a class") };
        let mut fields: Vec<Arc<str>> = Vec::new();
        for base in class.order.iter().rev() {
            let Some(base) = self.arena.class(base) else { continue };
            for name in annotated_fields(&base.source.def) {
                if !fields.contains(&name) {
                    fields.push(name);
                }
            }
        }
        let init = Value::library(libraries::DATA_CLASS_INIT);
        let init = Partial::new(init, vec![value.clone()], Vec::new());
        let init = self.new_cell(Cell::Partial(init))?;
        if let Some(class) = self.arena.class_mut(*id) {
            class.kind = ClassKind::DataClass(fields);
            class.members.entry("__init__".into()).or_insert(init);
        }
        Ok(value.clone())
    }

    /// The `__init__` of a data class, with the class before the object.
    pub(super) fn data_class_init(
        &mut self,
        mut args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        if args.len() < 2 {
            return self.type_error("__init__() is missing the object");
        }
        let rest = args.split_off(2);
        let [Value::Ref(class), object] = args.as_slice() else { return refuse("no class") };
        let Some(Class { name, kind: ClassKind::DataClass(fields), .. }) =
            self.arena.class(&Value::Ref(*class))
        else {
            return refuse("no data class");
        };
        let (name, fields) = (Arc::clone(name), fields.clone());
        let items = self.field_values(*class, &name, &fields, rest, keywords)?;
        for (field, item) in fields.iter().zip(items) {
            self.set_attribute(object, field, item)?;
        }
        if let Some(after) = self.attribute_or_none(object, "__post_init__")? {
            self.nested(|this| this.call(&after, Vec::new(), Vec::new()))?;
        }
        Ok(Value::None)
    }

    /// An exception of a built-in class.
    pub(super) fn library_exception(&mut self, name: &str, args: Vec<Value>) -> Outcome<Value> {
        let class = Value::library(name);
        self.new_cell(Cell::Exception(Exception { class, args }))
    }

    pub(super) fn is_exception(&self, value: &Value) -> bool {
        match self.arena.cell(value) {
            Some(Cell::Exception(_)) => true,
            Some(Cell::Instance(instance)) => self.has_exception_base(instance.class),
            _ => false,
        }
    }

    pub(super) fn is_library_exception(&self, name: &str) -> bool {
        matches!(library::global(name), Some(sconce_compiler::Global::Exception(_)))
    }
}

/// The name that a statement binds, where it binds one and no more.
fn bound_name<'s>(module: &Module, statement: &'s py::Stmt) -> Option<&'s str> {
    let target = |target: &'s py::Expr| Some(target.as_name_expr()?.id.as_str());
    let name = match statement {
        py::Stmt::FunctionDef(def) => def.name.as_str(),
        py::Stmt::ClassDef(def) => def.name.as_str(),
        py::Stmt::Assign(assign) => match &*assign.targets {
            [only] => target(only)?,
            _ => return None,
        },
        py::Stmt::AnnAssign(assign) => target(&assign.target)?,
        _ => return None,
    };
    (!module.text_of(statement).contains(":=")).then_some(name)
}

/// The names that a class annotates, variables of the class itself aside.
fn annotated_fields(def: &py::StmtClassDef) -> Vec<Arc<str>> {
    let named = |statement: &py::Stmt| {
        let py::Stmt::AnnAssign(field) = statement else { return None };
        let py::Expr::Name(name) = &*field.target else { return None };
        let annotation = match &*field.annotation {
            py::Expr::Subscript(subscript) => &subscript.value,
            other => other,
        };
        let is_of_class = crate::frontend::dotted(annotation)
            .is_some_and(|name| name.rsplit('.').next() == Some("ClassVar"));
        (!is_of_class).then(|| Arc::from(name.id.as_str()))
    };
    def.body.iter().filter_map(named).collect()
}

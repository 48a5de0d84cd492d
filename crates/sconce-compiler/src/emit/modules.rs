//! `nn.Module`s of Python in programs: their attributes, calls, and loops over what they contain.

use std::sync::Arc;

use sconce_ir::{ClassId, Constant, Prim, Role, Type, ValueId};
use sconce_syntax::Range;

use super::Emitter;
use super::sugared::Sugared;
use crate::emit::matching::{ArgumentValue, Arguments, Keyword};
use crate::{Error, ModuleKind, ModuleMember};

const NOT_ITERABLE: &str =
    "Only constant Sequential, ModuleList, ModuleDict, or ParameterList can be used as an iterable";
const NOT_SUBSCRIPTABLE: &str = "Only ModuleList, Sequential, ModuleDict, ParameterList, and \
                                 ParameterDict Modules are subscriptable";
const NOT_A_STRING: &str = "Unable to extract string literal index. ModuleDict indexing is only supported with string \
     literals. For example, 'i = \"a\"; self.layers[i](x)' will fail because i is not a literal. \
     Enumeration of ModuleDict is supported, e.g. 'for k, v in self.items(): out = v(inp)'";

/// How deep modules may be nested in each other.
const MAX_NESTING: usize = 200;

/// What a module contains, by name.
struct ModuleContents {
    names: Vec<Sugared>,
    members: Vec<Sugared>,
}

impl Emitter<'_> {
    /// The class of a value if it is a module of Python, and what kind of module that is.
    fn module_of(&self, value: ValueId) -> Option<(ClassId, ModuleKind)> {
        let Type::Class(class) = self.graph.ty(value) else { return None };
        let id = ClassId(class.id);
        Some((id, self.resolver.module_kind(id)?))
    }

    /// A value as the module that it is, or as it is.
    pub(super) fn module_or_value(&self, value: ValueId) -> Sugared {
        match self.module_of(value) {
            Some(_) => Sugared::Module(value),
            None => Sugared::Simple(value),
        }
    }

    /// `module.name`
    pub(super) fn module_attribute(
        &mut self,
        module: ValueId,
        at: Range,
        name: &Arc<str>,
    ) -> Result<Sugared, Error> {
        let Some((id, _)) = self.module_of(module) else {
            return self.attribute(Sugared::Simple(module), at, name);
        };
        let hint = match self.find_in_module(module, at, name)? {
            Ok(found) => return Ok(found),
            Err(hint) => hint,
        };
        let class = self.unit.class(id);
        let property = class.properties.iter().find(|(property, ..)| property == name);
        if let Some(&(_, getter, _)) = property {
            let getter = Arc::from(self.unit.function(getter).name());
            return self.call_method(module, &getter, Some(at), &[], &[]);
        }
        let class = class.name.rsplit('.').next().unwrap_or_default();
        let message = format!("Module '{class}' has no attribute '{name}' {hint}");
        Err(self.error(at, message))
    }

    /// `hasattr(module, name)`
    pub(super) fn module_has(
        &mut self,
        module: ValueId,
        at: Range,
        name: &str,
    ) -> Result<bool, Error> {
        Ok(self.find_in_module(module, at, &Arc::from(name))?.is_ok())
    }

    /// What a name of a module means, properties aside; or why it means nothing.
    fn find_in_module(
        &mut self,
        module: ValueId,
        at: Range,
        name: &Arc<str>,
    ) -> Result<Result<Sugared, String>, Error> {
        let Some((id, kind)) = self.module_of(module) else {
            return Ok(Ok(self.attribute(Sugared::Simple(module), at, name)?));
        };
        let class = self.unit.class(id);
        if self.unit.find_method(id, name).is_some() {
            return Ok(Ok(Sugared::Method(module, Arc::clone(name))));
        }
        if let Some(slot) = class.slot(name) {
            let ty = class.attributes[slot].ty.clone();
            return Ok(Ok(self.module_slot(module, name, ty)));
        }
        let constant = class.constants.iter().find(|constant| constant.name == *name);
        if let Some(constant) = constant {
            let value = constant.value.clone();
            return Ok(Ok(Sugared::Simple(self.module_constant(&value, at)?)));
        }
        if let Some(method) = self.method_of_contents(module, kind, at, name)? {
            return Ok(Ok(method));
        }
        let member = self.resolver.module_member(self.unit, id, name);
        Ok(match member.map_err(|error| error.or_at(self.source_range(at)))? {
            ModuleMember::Global(global) => Ok(self.global(global, at)),
            ModuleMember::Compiled => Ok(Sugared::Method(module, Arc::clone(name))),
            ModuleMember::Overloads(names) => Ok(Sugared::MethodOverloads(module, names)),
            ModuleMember::Dropped(schema) => Ok(Sugared::DroppedMethod(module, schema)),
            ModuleMember::Missing(hint) => Err(hint),
        })
    }

    /// The value of a slot of a module.
    fn module_slot(&mut self, module: ValueId, name: &Arc<str>, ty: Type) -> Sugared {
        let is_interface = self.is_module_interface(&ty);
        let value = self.get_attribute(module, name, ty);
        if is_interface { Sugared::Module(value) } else { self.module_or_value(value) }
    }

    /// A constant of a module; tuples are put together of their elements.
    fn module_constant(&mut self, value: &Constant, at: Range) -> Result<ValueId, Error> {
        let Constant::Tuple(elements, None) = value else {
            return Ok(self.constant(value, Some(at)));
        };
        let mut values = Vec::with_capacity(elements.len());
        for element in elements.iter() {
            values.push(crate::nesting::with_stack(|| self.module_constant(element, at))?);
        }
        self.tuple(None, &values)
    }

    fn is_module_interface(&self, ty: &Type) -> bool {
        match ty {
            Type::Interface(named) => {
                self.unit.interface(sconce_ir::InterfaceId(named.id)).is_module
            }
            _ => false,
        }
    }

    // --- calling -------------------------------------------------------------------------------

    /// `module(…)`: `forward` between the hooks.
    pub(super) fn call_module(
        &mut self,
        module: ValueId,
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        let forward = Arc::from("forward");
        let hooks = self.module_of(module).map(|(id, _)| {
            let class = self.unit.class(id);
            (class.forward_pre_hooks.clone(), class.forward_hooks.clone())
        });
        let (before, after) = hooks.unwrap_or_default();
        if before.is_empty() && after.is_empty() {
            let callee = self.module_attribute(module, at, &forward)?;
            return self.call(callee, at, args, keywords);
        }
        let values: Vec<ValueId> = args
            .iter()
            .filter_map(|passed| match passed {
                ArgumentValue::Value(value) => Some(*value),
                ArgumentValue::Default(_) => None,
            })
            .collect();
        let mut input = self.tuple(None, &values)?;
        let mut args = args.to_vec();
        if !before.is_empty() {
            for hook in before {
                let passed = [module, input].map(ArgumentValue::Value);
                let output = self.call(Sugared::Function(hook), at, &passed, keywords)?;
                let output = self.as_value(output, at)?;
                match self.graph.ty(output) {
                    Type::None => {}
                    Type::Tuple(_) => input = output,
                    _ => input = self.tuple(None, &[output])?,
                }
            }
            let unpacked = self.taken_apart(input);
            if !args.is_empty() {
                args = unpacked;
            }
        }
        let callee = self.module_attribute(module, at, &forward)?;
        let output = self.call(callee, at, &args, keywords)?;
        let mut output = self.as_value(output, at)?;
        for hook in after {
            let passed = [module, input, output].map(ArgumentValue::Value);
            let changed = self.call(Sugared::Function(hook), at, &passed, keywords)?;
            let changed = self.as_value(changed, at)?;
            if *self.graph.ty(changed) != Type::None {
                output = changed;
            }
        }
        Ok(Sugared::Simple(output))
    }

    /// The elements of a tuple, by a node even if it was just put together.
    fn taken_apart(&mut self, tuple: ValueId) -> Vec<ArgumentValue> {
        let Type::Tuple(ty) = self.graph.ty(tuple).clone() else { return Vec::new() };
        let node = self.insert(Prim::TupleUnpack, &[tuple]);
        let outputs = ty.elements.iter().map(|ty| self.graph.add_output(node, ty.clone()));
        outputs.map(ArgumentValue::Value).collect()
    }

    /// A call of the first of a method's signatures that takes these arguments.
    pub(super) fn call_method_overload(
        &mut self,
        module: ValueId,
        names: &[Arc<str>],
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        let mut schemas = Vec::with_capacity(names.len());
        for name in names {
            schemas.push(self.method_schema(module, name, Some(at))?);
        }
        let mut positional = vec![ArgumentValue::Value(module)];
        positional.extend_from_slice(args);
        let arguments = Arguments { positional: &positional, keywords, receiver: None };
        let candidates = schemas.iter().map(|schema| &**schema);
        let (chosen, matched) = self.match_schemas(Some(at), candidates, arguments)?;
        let ty = matched.returns.into_iter().next().unwrap_or(Type::None);
        let value = self.insert_named(Prim::CallMethod, &matched.inputs, &names[chosen], ty);
        self.set_known_range(self.graph.value(value).node(), Some(at));
        Ok(Sugared::Simple(value))
    }

    // --- what modules contain ------------------------------------------------------------------

    /// The modules of a module, or its parameters or buffers.
    fn contents(&mut self, module: ValueId, id: ClassId, of: Option<Role>) -> ModuleContents {
        let attributes = self.unit.class(id).attributes.clone();
        let mut contents = ModuleContents { names: Vec::new(), members: Vec::new() };
        for attribute in attributes {
            let is_wanted = match of {
                Some(role) => attribute.role == role,
                None => self.is_module_type(&attribute.ty),
            };
            if !is_wanted {
                continue;
            }
            let name = self.constant(&Constant::Str(Arc::clone(&attribute.name)), None);
            contents.names.push(Sugared::Simple(name));
            if of.is_some() {
                // Read once for nothing, as in PyTorch.
                self.get_attribute(module, &attribute.name, attribute.ty.clone());
            }
            let member = self.module_slot(module, &attribute.name, attribute.ty);
            contents.members.push(member);
        }
        contents
    }

    fn is_module_type(&self, ty: &Type) -> bool {
        match ty {
            Type::Class(class) => self.unit.class_of(class).is_some_and(|class| class.is_module),
            other => self.is_module_interface(other),
        }
    }

    /// `items`, `keys`, `values` of containers; `children`, `modules` and their like of all modules.
    fn method_of_contents(
        &mut self,
        module: ValueId,
        kind: ModuleKind,
        at: Range,
        name: &Arc<str>,
    ) -> Result<Option<Sugared>, Error> {
        let Some((id, _)) = self.module_of(module) else { return Ok(None) };
        let of = match (kind, &**name) {
            (ModuleKind::Dict, "items" | "keys" | "values")
            | (_, "children" | "named_children" | "modules" | "named_modules") => None,
            (ModuleKind::ParameterDict, "items" | "keys" | "values") => Some(Role::Parameter),
            (_, "named_buffers") => Some(Role::Buffer),
            _ => return Ok(None),
        };
        let contents = match &**name {
            "modules" | "named_modules" => {
                // What is in the module itself is made first, as in PyTorch.
                self.contents(module, id, None);
                let mut all = ModuleContents { names: Vec::new(), members: Vec::new() };
                self.nested_modules(module, "", &mut all, 0)?;
                all
            }
            _ => self.contents(module, id, of),
        };
        let result = match &**name {
            "keys" => Sugared::Tuple(contents.names.into()),
            "values" | "children" | "modules" => Sugared::Tuple(contents.members.into()),
            _ => {
                let names = Sugared::Tuple(contents.names.into());
                let members = Sugared::Tuple(contents.members.into());
                self.tree(at, vec![names, members])?
            }
        };
        Ok(Some(Sugared::ModuleContents(Box::new(result), Arc::clone(name))))
    }

    fn nested_modules(
        &mut self,
        module: ValueId,
        prefix: &str,
        all: &mut ModuleContents,
        depth: usize,
    ) -> Result<(), Error> {
        let Some(budget) = self.budget.checked_sub(1) else {
            return Err(self.error(None, "the function grows too large while it is compiled"));
        };
        self.budget = budget;
        if depth > MAX_NESTING {
            return Err(self.error(None, "modules are nested too deeply"));
        }
        let name = self.constant(&Constant::Str(prefix.into()), None);
        all.names.push(Sugared::Simple(name));
        all.members.push(Sugared::Module(module));
        let Some((id, _)) = self.module_of(module) else { return Ok(()) };
        let contents = self.contents(module, id, None);
        for (name, member) in contents.names.iter().zip(&contents.members) {
            let name = name.simple().and_then(|name| self.graph.constant(name));
            let Some(Constant::Str(name)) = name else { continue };
            let Sugared::Module(member) = member else { continue };
            let prefix =
                if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
            self.nested_modules(*member, &prefix, all, depth + 1)?;
        }
        Ok(())
    }

    /// What a loop over a module goes over.
    pub(super) fn module_iterable(&mut self, module: ValueId, at: Range) -> Result<Sugared, Error> {
        let contents = self.module_of(module).and_then(|(id, kind)| match kind {
            ModuleKind::Plain => None,
            ModuleKind::List => Some(self.contents(module, id, None).members),
            ModuleKind::Dict => Some(self.contents(module, id, None).names),
            ModuleKind::ParameterList => {
                Some(self.contents(module, id, Some(Role::Parameter)).members)
            }
            ModuleKind::ParameterDict => {
                Some(self.contents(module, id, Some(Role::Parameter)).names)
            }
        });
        match contents {
            Some(contents) => Ok(Sugared::Tuple(contents.into())),
            None => Err(self.error(at, NOT_ITERABLE)),
        }
    }

    /// The modules of a list of modules as a tuple, for slices and starred arguments.
    pub(super) fn module_tuple(
        &mut self,
        module: ValueId,
        at: Range,
    ) -> Result<Vec<Sugared>, Error> {
        let contents = self.module_of(module).and_then(|(id, kind)| match kind {
            ModuleKind::List => Some(self.contents(module, id, None)),
            ModuleKind::ParameterList => Some(self.contents(module, id, Some(Role::Parameter))),
            _ => None,
        });
        match contents {
            Some(contents) => Ok(contents.members),
            None => Err(self.error(
                at,
                "Only ModuleList, Sequential, ModuleDict, ParameterList, and ParameterDict can be \
                 used as tuple",
            )),
        }
    }

    /// `module[index]`
    pub(super) fn module_element(
        &mut self,
        module: ValueId,
        at: Range,
        index: ValueId,
        hint: Option<&Type>,
    ) -> Result<Sugared, Error> {
        let Some((id, kind)) = self.module_of(module) else {
            return self.element(&Sugared::Simple(module), at, index, hint);
        };
        let role = match kind {
            ModuleKind::List | ModuleKind::Dict => None,
            ModuleKind::ParameterList | ModuleKind::ParameterDict => Some(Role::Parameter),
            ModuleKind::Plain => return Err(self.error(at, NOT_SUBSCRIPTABLE)),
        };
        let known = self.graph.constant(index);
        if let Some(hint) = hint
            && (kind == ModuleKind::List || kind == ModuleKind::Dict && known.is_none())
        {
            return self.module_of_interface(module, id, at, index, hint);
        }
        if matches!(kind, ModuleKind::List | ModuleKind::ParameterList) {
            let contents = self.contents(module, id, role);
            return self.element(&Sugared::Tuple(contents.members.into()), at, index, None);
        }
        let Some(Constant::Str(key)) = known else {
            return Err(self.error(at, NOT_A_STRING));
        };
        let names = self.unit.class(id).attributes.iter();
        let names = names.filter(|attribute| match role {
            Some(role) => attribute.role == role,
            None => self.is_module_type(&attribute.ty),
        });
        let place = names.map(|attribute| &attribute.name).position(|name| *name == key);
        let contents = self.contents(module, id, role);
        match place.and_then(|place| contents.members.get(place)) {
            Some(member) => Ok(member.clone()),
            None => Err(self.error(at, format!("Key Error, {key}"))),
        }
    }

    /// An element that is not known before the program runs: all are of the interface that is
    /// wanted.
    fn module_of_interface(
        &mut self,
        module: ValueId,
        id: ClassId,
        at: Range,
        index: ValueId,
        hint: &Type,
    ) -> Result<Sugared, Error> {
        let attributes = self.unit.class(id).attributes.iter();
        let modules = attributes.filter(|attribute| self.is_module_type(&attribute.ty));
        for attribute in modules {
            if let Err(reason) = attribute.ty.check_subtype_of(hint, self.unit) {
                let message = format!(
                    "Attribute {} is not of annotated type {}: {reason}",
                    attribute.name,
                    hint.message_text()
                );
                return Err(self.error(at, message));
            }
        }
        let inputs = &[module, index];
        let element = self.insert_with(Prim::ModuleContainerIndex, inputs, hint.clone());
        Ok(Sugared::Simple(element))
    }
}

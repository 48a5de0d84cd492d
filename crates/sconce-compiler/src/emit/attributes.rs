//! `x.name`: properties and methods of values, members of classes and namespaces.

use std::sync::Arc;

use sconce_ir::{Attribute, ClassAttribute, ClassId, Constant, Prim, Role, Type, ValueId};
use sconce_ir::{FunctionId, InterfaceId, Kind, operators};
use sconce_syntax::Range;

use super::Emitter;
use super::sugared::{Namespace, SpecialForm, Sugared};
use crate::Error;
use crate::emit::matching::ArgumentValue;

/// Methods of tensors that cast, with the dtype they cast to.
const TENSOR_CASTS: &[(&str, i64)] = &[
    ("byte", 0),
    ("char", 1),
    ("short", 2),
    ("int", 3),
    ("long", 4),
    ("half", 5),
    ("float", 6),
    ("double", 7),
    ("cfloat", 9),
    ("cdouble", 10),
];

/// Properties of tensors, and the operators behind them.
const TENSOR_PROPERTIES: &[(&str, &str)] = &[
    ("dtype", "prim::dtype"),
    ("device", "prim::device"),
    ("grad", "prim::grad"),
    ("data", "prim::data"),
    ("shape", "prim::shape"),
    ("is_cuda", "prim::is_cuda"),
    ("is_cpu", "prim::is_cpu"),
    ("is_xla", "prim::is_xla"),
    ("is_xpu", "prim::is_xpu"),
    ("is_sparse", "prim::is_sparse"),
    ("is_sparse_csr", "prim::is_sparse_csr"),
    ("is_mkldnn", "prim::is_mkldnn"),
    ("is_mps", "prim::is_mps"),
    ("is_mtia", "prim::is_mtia"),
    ("is_quantized", "prim::is_quantized"),
    ("is_vulkan", "prim::is_vulkan"),
    ("is_ipu", "prim::is_ipu"),
    ("is_meta", "prim::is_meta"),
    ("is_leaf", "aten::is_leaf"),
    ("is_nested", "prim::is_nested"),
    ("requires_grad", "prim::requires_grad"),
    ("layout", "prim::layout"),
    ("T", "prim::T"),
    ("H", "prim::H"),
    ("mT", "aten::mT"),
    ("mH", "aten::mH"),
    ("is_maia", "prim::is_maia"),
    ("itemsize", "prim::itemsize"),
    ("nbytes", "prim::nbytes"),
    ("ndim", "prim::ndim"),
    ("name", "prim::name"),
    ("real", "aten::real"),
    ("imag", "aten::imag"),
    ("retains_grad", "aten::retains_grad"),
];

/// The operator behind a property that every value of a type has.
fn property(ty: &Type, name: &str) -> Option<&'static str> {
    match ty {
        Type::Tensor | Type::TensorOf(_) => TENSOR_PROPERTIES
            .iter()
            .find(|(property, _)| *property == name)
            .map(|(_, operator)| *operator),
        Type::Device if name == "type" => Some("prim::type"),
        Type::Device if name == "index" => Some("prim::index"),
        Type::Optional(_) if name == "unchecked_unwrap_optional" => {
            Some("prim::unchecked_unwrap_optional")
        }
        _ => None,
    }
}

impl Emitter<'_> {
    /// What `base.name` means.
    pub(super) fn attribute(
        &mut self,
        base: Sugared,
        at: Range,
        name: &Arc<str>,
    ) -> Result<Sugared, Error> {
        match base {
            Sugared::Simple(value) => self.value_attribute(value, at, name),
            Sugared::Module(module) => self.module_attribute(module, at, name),
            Sugared::Namespace(namespace) => self.member(namespace, at, name),
            Sugared::Class(class, ty) => self.class_attribute(class, &ty, at, name),
            Sugared::Enum(ty) => self.enum_member(&ty, at, name),
            Sugared::Tuple(_) => {
                let value = self.as_value(base, at)?;
                self.value_attribute(value, at, name)
            }
            other => {
                let message = format!("attribute lookup is not defined on {}", other.kind());
                Err(self.error(at, message))
            }
        }
    }

    /// Whether `base.name` exists: `hasattr`.
    pub(super) fn has_attribute(
        &mut self,
        base: &Sugared,
        at: Range,
        name: &str,
    ) -> Result<bool, Error> {
        if let Sugared::Module(module) = base {
            return self.module_has(*module, at, name);
        }
        let Sugared::Simple(value) = base else {
            let message = format!("attribute lookup is not defined on {}", base.kind());
            return Err(self.error(at, message));
        };
        match self.graph.ty(*value).clone() {
            Type::Class(class) => {
                let id = self.class_of(&class)?;
                let class = self.unit.class(id);
                Ok(self.unit.find_method(id, name).is_some()
                    || class.slot(name).is_some()
                    || class.constants.iter().any(|constant| &*constant.name == name))
            }
            Type::Tuple(tuple) => match &tuple.named {
                Some(named) => Ok(named.fields.iter().any(|field| &**field == name)),
                None => Err(self.error(
                    at,
                    format!(
                        "hasattr's first argument must be an object or NamedTuple, but got a \
                         normal Tuple {} instead",
                        self.type_text(*value)
                    ),
                )),
            },
            other => Err(self.error(
                at,
                format!(
                    "hasattr's first argument must be an object or NamedTuple, got {} instead",
                    other.message_text()
                ),
            )),
        }
    }

    fn value_attribute(
        &mut self,
        value: ValueId,
        at: Range,
        name: &Arc<str>,
    ) -> Result<Sugared, Error> {
        let ty = self.graph.ty(value).clone();
        if ty.is_tensor()
            && let Some((cast, dtype)) = TENSOR_CASTS.iter().find(|(cast, _)| *cast == &**name)
        {
            return Ok(Sugared::TensorCast(cast, *dtype, value));
        }
        if let Some(symbol) = property(&ty, name) {
            return Ok(Sugared::Simple(self.call_values(None, symbol, &[value])?));
        }
        let found = match &ty {
            Type::Tuple(tuple) => {
                let fields = tuple.named.as_ref().map(|named| &named.fields);
                let index = fields.and_then(|fields| fields.iter().position(|one| one == name));
                index.map(|index| {
                    let element = tuple.elements[index].clone();
                    let index = self.constant(&Constant::Int(index as i64), None);
                    let field = self.insert_with(Prim::TupleIndex, &[value, index], element);
                    Sugared::Simple(field)
                })
            }
            Type::Await(_) => {
                let awaited = self.call_values(Some(at), "prim::awaitable_wait", &[value])?;
                return self.value_attribute(awaited, at, name);
            }
            Type::Class(class) => {
                let id = self.class_of(class)?;
                self.object_attribute(value, id, at, name)?
            }
            Type::Interface(interface) => {
                let interface = self.unit.interface(InterfaceId(interface.id));
                let found = interface.methods.iter().any(|method| method.name == *name);
                found.then(|| Sugared::Method(value, Arc::clone(name)))
            }
            Type::Enum(of) if &**name == "value" => {
                Some(Sugared::Simple(self.insert_with(Prim::EnumValue, &[value], of.value.clone())))
            }
            Type::Enum(_) if &**name == "name" => {
                Some(Sugared::Simple(self.insert_with(Prim::EnumName, &[value], Type::Str)))
            }
            _ => None,
        };
        if let Some(found) = found {
            return Ok(found);
        }
        if let Some(method) = self.method_operator(value, &ty, name) {
            return Ok(method);
        }
        if ty.is_tensor() && &**name == "tolist" {
            return Ok(Sugared::SpecialForm(SpecialForm::ToList));
        }
        if ty.is_tensor() && &**name == "__getitem__" {
            return Ok(Sugared::SpecialForm(SpecialForm::Index));
        }
        let mut message =
            format!("'{}' object has no attribute or method '{name}'.", ty.message_text());
        if matches!(ty, Type::Class(_)) {
            message.push_str(" Did you forget to initialize an attribute in __init__()?");
        }
        Err(self.error(at, message))
    }

    /// An operator as a method: the value must be of the type of its `self`.
    fn method_operator(&mut self, value: ValueId, ty: &Type, name: &str) -> Option<Sugared> {
        let to = (name == "type").then(|| self.bound_operator(value, ty, "to")).flatten();
        to.or_else(|| self.bound_operator(value, ty, name))
    }

    fn bound_operator(&mut self, value: ValueId, ty: &Type, name: &str) -> Option<Sugared> {
        let symbol = self.symbol("aten", name);
        let fits = operators::named(&symbol).iter().any(|operator| {
            let argument =
                operator.schema.arguments.iter().find(|argument| &*argument.name == "self");
            argument.is_some_and(|argument| {
                let mut variables = Default::default();
                let matched = argument.ty.match_type_variables(ty, &mut variables, self.unit);
                matched.is_ok_and(|matched| ty.is_subtype_of(&matched, self.unit))
            })
        });
        fits.then_some(Sugared::Builtin(symbol, Some(ArgumentValue::Value(value))))
    }

    /// `namespace::name`, without a copy when it is an operator.
    fn symbol(&mut self, namespace: &str, name: &str) -> Arc<str> {
        self.scratch.clear();
        self.scratch.push_str(namespace);
        self.scratch.push_str("::");
        self.scratch.push_str(name);
        match operators::named(&self.scratch).first() {
            Some(operator) => Arc::clone(&operator.schema.name),
            None => Arc::from(self.scratch.as_str()),
        }
    }

    // --- classes -------------------------------------------------------------------------------

    fn object_attribute(
        &mut self,
        object: ValueId,
        id: ClassId,
        at: Range,
        name: &Arc<str>,
    ) -> Result<Option<Sugared>, Error> {
        if self.unit.find_method(id, name).is_some() {
            return Ok(Some(Sugared::Method(object, Arc::clone(name))));
        }
        let class = self.unit.class(id);
        if let Some(slot) = class.slot(name) {
            let ty = class.attributes[slot].ty.clone();
            return Ok(Some(Sugared::Simple(self.get_attribute(object, name, ty))));
        }
        let property = class.properties.iter().find(|(property, ..)| property == name);
        let Some(&(_, getter, _)) = property else { return Ok(None) };
        let getter = Arc::from(self.unit.function(getter).name());
        self.call_method(object, &getter, Some(at), &[], &[]).map(Some)
    }

    /// `prim::GetAttr`, whose value is named after the attribute.
    pub(super) fn get_attribute(&mut self, object: ValueId, name: &Arc<str>, ty: Type) -> ValueId {
        let value = self.insert_named(Prim::GetAttr, &[object], name, ty);
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            self.graph.set_name(value, &format!("_{name}"));
        } else {
            self.graph.set_name(value, name);
        }
        value
    }

    fn class_attribute(
        &mut self,
        id: ClassId,
        ty: &Type,
        at: Range,
        name: &Arc<str>,
    ) -> Result<Sugared, Error> {
        let class = self.unit.class(id);
        let hooks = class.forward_hooks.iter().chain(&class.forward_pre_hooks);
        let functions = hooks.chain(&class.static_methods);
        let is_named = |function: &&FunctionId| self.unit.function(**function).name() == &**name;
        if let Some(&function) = functions.into_iter().find(is_named) {
            return Ok(Sugared::Function(function));
        }
        if &**name == "__new__" {
            return Ok(Sugared::SpecialForm(SpecialForm::CreateObject));
        }
        let class = Arc::clone(&self.unit.class(id).name);
        let member = self.resolver.class_member(self.unit, &class, name);
        if let Some(global) = member.map_err(|error| error.or_at(self.source_range(at)))? {
            return Ok(self.global(global, at));
        }
        let message = format!("Tried to lookup unknown attribute on class {}", ty.message_text());
        Err(self.error(at, message))
    }

    fn enum_member(&mut self, ty: &Type, at: Range, name: &str) -> Result<Sugared, Error> {
        let Type::Enum(of) = ty else { return Err(self.error(at, "not an enum")) };
        match of.members.iter().position(|(member, _)| &**member == name) {
            Some(index) => {
                let value = Constant::Enum(ty.clone(), index as u32);
                Ok(Sugared::Simple(self.constant(&value, Some(at))))
            }
            None => {
                let message = format!("{}' has no attribute '{name}'", ty.message_text());
                Err(self.error(at, message))
            }
        }
    }

    /// `object.name = value`
    pub(super) fn set_attribute(
        &mut self,
        object: &Sugared,
        at: Range,
        name: &Arc<str>,
        value: ValueId,
    ) -> Result<(), Error> {
        let (Sugared::Simple(object) | Sugared::Module(object)) = *object else {
            let kind = object.kind();
            return Err(self.error(at, format!("attribute assignment is not defined on {kind}")));
        };
        let Type::Class(class) = self.graph.ty(object).clone() else {
            let message = format!(
                "Tried to set an attribute: {name} on a non-class: {}",
                self.type_text(object)
            );
            return Err(self.error(at, message));
        };
        let id = self.class_of(&class)?;
        let known = self.unit.class(id).slot(name);
        let expected = match known {
            Some(slot) => self.unit.class(id).attributes[slot].ty.clone(),
            None if self.is_initializing(object) => self.add_attribute(id, at, name, value)?,
            None => return self.set_property(object, id, at, name, value),
        };
        if !self.is_subtype(value, &expected) {
            let message = format!(
                "Wrong type for attribute assignment. Expected {} but got {}",
                expected.message_text(),
                self.type_text(value)
            );
            return Err(self.error(at, message));
        }
        let node = self.insert(Prim::SetAttr, &[object, value]);
        self.set_name_attribute(node, name);
        Ok(())
    }

    /// Whether the `__init__` of the object's own class is being emitted.
    fn is_initializing(&self, object: ValueId) -> bool {
        let is_init = self.name.rsplit('.').next() == Some("__init__");
        let own = self.graph.inputs().first();
        is_init && own.is_some_and(|&own| self.graph.ty(own) == self.graph.ty(object))
    }

    /// The first assignment in `__init__` makes the attribute.
    fn add_attribute(
        &mut self,
        id: ClassId,
        at: Range,
        name: &Arc<str>,
        value: ValueId,
    ) -> Result<Type, Error> {
        let ty = self.graph.ty(value).clone();
        let class = self.unit.class(id);
        if mentions(&ty, &class.name) {
            let message = format!(
                "Assignment to attribute '{name}' cannot be of a type that contains class \
                 '{}'.\nClasses that recursively contain instances of themselves are not yet \
                 supported",
                class.name
            );
            return Err(self.error(at, message));
        }
        if self.block() != self.graph.root() {
            return Err(self.error(
                at,
                "First assignment cannot be in a control-flow block. Initialize the field at the \
                 top level first",
            ));
        }
        let attribute =
            ClassAttribute { name: Arc::clone(name), ty: ty.clone(), role: Role::Plain };
        self.unit.class_mut(id).attributes.push(attribute);
        Ok(ty)
    }

    fn set_property(
        &mut self,
        object: ValueId,
        id: ClassId,
        at: Range,
        name: &Arc<str>,
        value: ValueId,
    ) -> Result<(), Error> {
        let properties = &self.unit.class(id).properties;
        let property = properties.iter().find(|(property, ..)| property == name);
        match property {
            Some(&(_, _, Some(setter))) => {
                let setter = Arc::from(self.unit.function(setter).name());
                let value = [ArgumentValue::Value(value)];
                self.call_method(object, &setter, Some(at), &value, &[])?;
                Ok(())
            }
            Some(_) => Err(self.error(at, format!("Tried to set read-only attribute: {name}"))),
            None => {
                let message = format!(
                    "Tried to set nonexistent attribute: {name}. Did you forget to initialize it \
                     in __init__()?"
                );
                Err(self.error(at, message))
            }
        }
    }

    // --- namespaces ----------------------------------------------------------------------------

    fn member(
        &mut self,
        namespace: Namespace,
        at: Range,
        name: &Arc<str>,
    ) -> Result<Sugared, Error> {
        match namespace {
            Namespace::Torch if &**name == "autograd" => Ok(Sugared::Namespace(Namespace::Torch)),
            Namespace::Torch => Ok(Sugared::Builtin(self.symbol("aten", name), None)),
            Namespace::Ops => Ok(Sugared::Namespace(Namespace::Operators(Arc::clone(name)))),
            Namespace::Operators(of) => Ok(Sugared::Builtin(self.symbol(&of, name), None)),
            Namespace::Constants => match self.resolver.constant(self.unit, name)? {
                Some(value) => Ok(Sugared::Simple(self.constant(&value, Some(at)))),
                None => Err(self.error(at, format!("invalid constant: {name}"))),
            },
            Namespace::Qualified(of) => match self
                .resolver
                .member(self.unit, &of, name)
                .map_err(|error| error.or_at(self.source_range(at)))?
            {
                Some(global) => Ok(self.global(global, at)),
                None => Err(self.error(at, format!("Unknown type name '{of}.{name}'"))),
            },
        }
    }

    /// A `prim::Constant` that stands for a function.
    pub(super) fn function_constant(&mut self, function: FunctionId) -> ValueId {
        let name = Arc::clone(&self.unit.function(function).qualified_name);
        let short = Arc::from(self.unit.function(function).name());
        let ty = Type::Function(sconce_ir::NamedRef { id: function.0, name });
        let node = self.insert(Kind::Prim(Prim::Constant), &[]);
        self.graph.node_mut(node).set_attribute("name", Attribute::Str(short));
        self.graph.add_output(node, ty)
    }
}

/// Whether a type is or holds a class.
fn mentions(ty: &Type, class: &str) -> bool {
    ty.qualified_name().is_some_and(|name| &**name == class)
        || ty.contained().into_iter().any(|part| mentions(part, class))
}

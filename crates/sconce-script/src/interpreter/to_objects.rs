//! What was made, as objects that outlive the interpreter.

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_python_ast::visitor::{Visitor, walk_expr};
use rustc_hash::{FxHashMap, FxHashSet};
use sconce_kernels::Exporter;

use super::classes::MIXED_IN;
use super::control_flow::{Outcome, refuse};
use super::value::{Cell, ClassKind, Code, Id, Value};
use super::{Interpreter, MAX_NESTED};
use crate::objects;

/// Attributes of `nn.Module` objects that are no attributes of their own here.
const INTERNAL: &[&str] = &[
    "_parameters",
    "_buffers",
    "_modules",
    "_non_persistent_buffers_set",
    "_forward_pre_hooks",
    "_forward_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
    "training",
];

/// Makes objects of values.
#[derive(Default)]
struct Lowering {
    heap: objects::Heap,
    known: FxHashMap<Id, objects::Value>,
    open: FxHashSet<Id>,
    exporter: Exporter,
}

impl Interpreter<'_> {
    /// A value and all that it refers to.
    pub(super) fn lower(&mut self, value: &Value) -> Outcome<(objects::Heap, objects::Value)> {
        let mut lowering = Lowering::default();
        let value = self.lowered(&mut lowering, value)?;
        Ok((lowering.heap, value))
    }

    fn lowered(&mut self, to: &mut Lowering, value: &Value) -> Outcome<objects::Value> {
        use objects::Value as ObjectValue;
        Ok(match value {
            Value::None => ObjectValue::None,
            Value::Bool(value) => ObjectValue::Bool(*value),
            Value::Int(value) => ObjectValue::Int(*value),
            Value::NumpyInt(_) => ObjectValue::Opaque("numpy.int64".into()),
            Value::Float(value) => ObjectValue::Float(*value),
            Value::Complex(re, im) => ObjectValue::Complex(*re, *im),
            Value::Str(text) => ObjectValue::Str(text.clone()),
            Value::Library(name) => ObjectValue::Library(name.clone()),
            Value::DType(dtype) => ObjectValue::DType(*dtype),
            Value::Device(device) => ObjectValue::Device(device.clone()),
            Value::Namespace(_) | Value::NotImplemented | Value::Ellipsis => {
                ObjectValue::Opaque(self.type_name(value))
            }
            Value::Ref(id) => {
                if let Some(known) = to.known.get(id) {
                    return Ok(known.clone());
                }
                self.nested(|this| this.lowered_cell(to, *id))?
            }
        })
    }

    fn lowered_all(&mut self, to: &mut Lowering, values: &[Value]) -> Outcome<Vec<objects::Value>> {
        values.iter().map(|value| self.lowered(to, value)).collect()
    }

    fn lowered_cell(&mut self, to: &mut Lowering, id: Id) -> Outcome<objects::Value> {
        use objects::Value as ObjectValue;
        let value = Value::Ref(id);
        Ok(match self.arena.get(id) {
            Cell::List(items) => {
                let items = items.clone();
                let made = to.heap.new_list(Vec::new());
                to.known.insert(id, made.clone());
                let items = self.lowered_all(to, &items)?;
                if let ObjectValue::List(at) = made
                    && let Some(list) = to.heap.list_mut(at)
                {
                    *list = items;
                }
                made
            }
            Cell::Dict(dict) => {
                let entries: Vec<(Value, Value)> = dict.values().cloned().collect();
                let made = to.heap.new_dict(Vec::new());
                to.known.insert(id, made.clone());
                for (key, value) in entries {
                    let entry = (self.lowered(to, &key)?, self.lowered(to, &value)?);
                    if let ObjectValue::Dict(at) = made
                        && let Some(dict) = to.heap.dict_mut(at)
                    {
                        dict.push(entry);
                    }
                }
                made
            }
            Cell::Tuple(tuple) => {
                let (items, class) = (tuple.items.clone(), tuple.class);
                let class = class.and_then(|class| self.arena.class(&Value::Ref(class)));
                let class = class.map(|class| class.source.clone());
                if !to.open.insert(id) || to.open.len() > MAX_NESTED {
                    return refuse("a tuple holds itself or is nested too deeply");
                }
                let items = self.lowered_all(to, &items)?;
                to.open.remove(&id);
                let made = ObjectValue::Tuple(items.into(), class);
                to.known.insert(id, made.clone());
                made
            }
            Cell::Tensor(_) => self.lowered_tensor(to, id)?,
            Cell::Instance(_) => self.lowered_instance(to, id)?,
            Cell::Class(class) => ObjectValue::Class(class.source.clone()),
            Cell::Function(function) => match (&function.code, self.seen_function(&value, 0)) {
                (Code::Lambda(..), _) => ObjectValue::Opaque("<lambda>".into()),
                (_, Some(function)) => {
                    ObjectValue::Function(objects::Function { function, bound: None })
                }
                (_, None) => ObjectValue::Opaque(self.type_name(&value)),
            },
            Cell::Method(receiver, function) => {
                let (receiver, function) = (receiver.clone(), function.clone());
                match self.lowered(to, &function)? {
                    ObjectValue::Function(mut function) => {
                        function.bound = Some(Arc::new(self.lowered(to, &receiver)?));
                        ObjectValue::Function(function)
                    }
                    other => other,
                }
            }
            Cell::StaticMethod(function) => {
                let function = function.clone();
                self.lowered(to, &function)?
            }
            _ => ObjectValue::Opaque(self.type_name(&value)),
        })
    }

    fn lowered_tensor(&mut self, to: &mut Lowering, id: Id) -> Outcome<objects::Value> {
        let value = Value::Ref(id);
        let Some(cell) = self.arena.tensor(&value).cloned() else { return refuse("no tensor") };
        let is_known = self.is_known(&cell);
        let tensor = match to.exporter.export(&cell.tensor) {
            Ok(tensor) => tensor,
            Err(error) => return refuse(error.message().to_owned()),
        };
        let made = to.heap.new_tensor(objects::TensorObject {
            tensor,
            requires_grad: cell.requires_grad,
            is_parameter: cell.is_parameter,
            is_known,
        });
        to.known.insert(id, made.clone());
        Ok(made)
    }

    fn lowered_instance(&mut self, to: &mut Lowering, id: Id) -> Outcome<objects::Value> {
        use objects::Value as ObjectValue;
        let value = Value::Ref(id);
        let Some(instance) = self.arena.instance(&value) else { return refuse("no object") };
        let (class, attributes) = (Value::Ref(instance.class), instance.attributes.clone());
        let Some(of) = self.arena.class(&class) else { return refuse("no class") };
        let (source, kind) = (of.source.clone(), of.kind.clone());
        // A member that is a number or a string, too.
        let is_plain = kind == ClassKind::Enum
            && of.order.iter().any(|base| {
                matches!(base, Value::Library(name) if MIXED_IN.contains(&&**name)
                    || matches!(&**name, "enum.IntEnum" | "enum.IntFlag" | "enum.StrEnum"))
            });
        if is_plain {
            let (name, plain) = (self.attribute(&value, "name")?, self.attribute(&value, "value")?);
            let plain = Box::new(self.lowered(to, &plain)?);
            return Ok(ObjectValue::MixedEnum(source, self.string(&name)?, plain));
        }
        if kind == ClassKind::Enum {
            let name = self.attribute(&value, "name")?;
            return Ok(ObjectValue::Enum(source, self.string(&name)?));
        }
        if !self.is_module_class(&class)? || !attributes.contains_key("_modules") {
            let made =
                to.heap.new_object(objects::PlainObject { class: source, attributes: Vec::new() });
            to.known.insert(id, made.clone());
            for (name, value) in attributes {
                let value = self.lowered(to, &value)?;
                if let ObjectValue::Object(at) = made
                    && let Some(object) = to.heap.object_mut(at)
                {
                    object.attributes.push((name, value));
                }
            }
            return Ok(made);
        }
        let made = to.heap.new_module(objects::ModuleObject {
            class: source,
            training: true,
            parameters: Vec::new(),
            buffers: Vec::new(),
            modules: Vec::new(),
            attributes: Vec::new(),
            early: 0,
            forward_pre_hooks: Vec::new(),
            forward_hooks: Vec::new(),
        });
        to.known.insert(id, made.clone());
        let ObjectValue::Module(at) = made else { return refuse("no module") };
        let training = match attributes.get("training") {
            Some(training) => self.truth(&training.clone())?,
            None => true,
        };
        let parameters = self.lowered_members(to, attributes.get("_parameters"))?;
        let modules = self.lowered_members(to, attributes.get("_modules"))?;
        let transient = match attributes.get("_non_persistent_buffers_set") {
            Some(names) => self.iterate(&names.clone())?,
            None => Vec::new(),
        };
        let mut buffers = Vec::new();
        for (name, value) in self.lowered_members(to, attributes.get("_buffers"))? {
            let own = Value::Str(name.clone());
            let is_persistent = !transient.iter().any(|known| known.is(&own));
            buffers.push(objects::Buffer { name, value, is_persistent });
        }
        let own = attributes.keys().take_while(|name| &***name != "training");
        let early = own.filter(|name| !INTERNAL.contains(&&***name)).count();
        let before = self.lowered_hooks(to, attributes.get("_forward_pre_hooks"))?;
        let after = self.lowered_hooks(to, attributes.get("_forward_hooks"))?;
        let mut others = Vec::new();
        for (name, value) in attributes {
            if !INTERNAL.contains(&&*name) {
                others.push((name, self.lowered(to, &value)?));
            }
        }
        if let Some(module) = to.heap.module_mut(at) {
            module.training = training;
            module.parameters = parameters;
            module.modules = modules;
            module.buffers = buffers;
            module.attributes = others;
            module.early = early;
            module.forward_pre_hooks = before;
            module.forward_hooks = after;
        }
        Ok(made)
    }

    /// Functions that run before or after `forward`.
    fn lowered_hooks(
        &mut self,
        to: &mut Lowering,
        dict: Option<&Value>,
    ) -> Outcome<Vec<crate::loader::PyFunction>> {
        let mut hooks = Vec::new();
        for (_, hook) in self.lowered_members(to, dict)? {
            match hook {
                objects::Value::Function(hook) if hook.bound.is_none() => hooks.push(hook.function),
                _ => return refuse("a hook of a module is not a function of a file"),
            }
        }
        Ok(hooks)
    }

    fn lowered_members(
        &mut self,
        to: &mut Lowering,
        dict: Option<&Value>,
    ) -> Outcome<Vec<(Arc<str>, objects::Value)>> {
        let entries = dict.and_then(|dict| self.arena.dict(dict));
        let entries: Vec<(Value, Value)> =
            entries.map(|dict| dict.values().cloned().collect()).unwrap_or_default();
        let mut members = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            members.push((self.string(&name)?, self.lowered(to, &value)?));
        }
        Ok(members)
    }
}

/// The names that a function reads, each once, in order.
pub(super) fn free_names(def: &py::StmtFunctionDef) -> Vec<Arc<str>> {
    #[derive(Default)]
    struct Names(Vec<Arc<str>>);
    impl<'a> Visitor<'a> for Names {
        fn visit_expr(&mut self, expression: &'a py::Expr) {
            if let py::Expr::Name(name) = expression
                && !self.0.iter().any(|known| **known == *name.id)
            {
                self.0.push(name.id.as_str().into());
            }
            walk_expr(self, expression);
        }
    }
    let mut names = Names::default();
    crate::nesting::with_stack(|| names.visit_body(&def.body));
    names.0
}

//! The types of values of Python: `torch._C._jit_try_infer_type`.

use sconce_compiler::Error;
use sconce_ir::{Type, Unit};

use crate::objects::Value;
use crate::resolver::Python;

/// How deep lists and dicts may be nested.
const MAX_DEPTH: usize = 32;

const OTHERS: &str = "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs \
     or outputs of traced functions, but instead got value of type";

impl Python {
    /// The type of a value, or why it has none.
    pub(super) fn inferred(
        &mut self,
        unit: &mut Unit,
        value: &Value,
        depth: usize,
    ) -> Result<Result<Type, String>, Error> {
        if depth > MAX_DEPTH || !self.spend() {
            return Err(Error::without_range("the attributes of a module are nested too deeply"));
        }
        Ok(Ok(match value {
            Value::None => Type::None,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) | Value::DType(_) => Type::Int,
            Value::Float(_) => Type::Float,
            Value::Complex(..) => Type::Complex,
            Value::Str(_) => Type::Str,
            Value::MixedEnum(_, _, plain) => return self.inferred(unit, plain, depth + 1),
            Value::Device(_) => Type::Device,
            Value::Tensor(_) => Type::Tensor,
            // NamedTuples, too, unless an annotation says so.
            Value::Tuple(items, _) => {
                let mut types = Vec::with_capacity(items.len());
                for item in items.iter() {
                    match self.inferred(unit, item, depth + 1)? {
                        Ok(ty) => types.push(ty),
                        reason => return Ok(reason),
                    }
                }
                Type::tuple(types)
            }
            Value::List(id) => {
                let items = self.modules.heap.list(*id).cloned().unwrap_or_default();
                return Ok(self.inferred_element(unit, &items, depth, "List")?.map(Type::list));
            }
            Value::Dict(id) => {
                let items = self.modules.heap.dict(*id).cloned().unwrap_or_default();
                let (keys, values): (Vec<Value>, Vec<Value>) = items.into_iter().unzip();
                let key = match self.inferred_element(unit, &keys, depth, "Dictionary")? {
                    Ok(key) => key,
                    reason => return Ok(reason),
                };
                let value = self.inferred_element(unit, &values, depth, "Dictionary")?;
                return Ok(value.map(|value| Type::dict(key, value)));
            }
            Value::Enum(class, _) => match self.class(unit, class)? {
                Some(ty) => ty,
                None => return Ok(Err(format!("{OTHERS} {}.", class.name()))),
            },
            Value::Object(id) => {
                let Some(object) = self.modules.heap.object(*id).cloned() else {
                    return Ok(Err(format!("{OTHERS} object.")));
                };
                match self.class(unit, &object.class) {
                    Ok(Some(ty)) => ty,
                    Ok(None) => return Ok(Err(format!("{OTHERS} {}.", object.class.name()))),
                    Err(error) => return Ok(Err(error.report())),
                }
            }
            Value::Module(_) => {
                return Ok(Err("Cannot infer concrete type of torch.nn.Module".into()));
            }
            Value::Function(_) | Value::Class(_) | Value::Library(_) | Value::Opaque(_) => {
                let name = self.type_name(value);
                // A class by its own name alone.
                let name = name.rsplit('.').next().unwrap_or_default();
                return Ok(Err(format!("{OTHERS} {name}.")));
            }
        }))
    }

    /// The type that all elements of a container are of.
    fn inferred_element(
        &mut self,
        unit: &mut Unit,
        items: &[Value],
        depth: usize,
        container: &str,
    ) -> Result<Result<Type, String>, Error> {
        let mut unified: Option<Type> = None;
        for item in items {
            let ty = match self.inferred(unit, item, depth + 1)? {
                Ok(ty) => ty,
                Err(reason) => {
                    let what = if container == "List" { "type of list element" } else { "type" };
                    return Ok(Err(format!("Could not infer {what}: {reason}")));
                }
            };
            let Some(before) = unified else {
                unified = Some(ty);
                continue;
            };
            match Type::unify(&before, &ty, false, None, unit) {
                Some(both) => unified = Some(both),
                None => {
                    return Ok(Err(format!(
                        "{container} inputs to traced functions must have consistent element \
                         type. Found {} and {}",
                        before.message_text(),
                        ty.message_text()
                    )));
                }
            }
        }
        Ok(unified.ok_or_else(|| match container {
            "List" => "List trace inputs must have elements".into(),
            _ => format!("{container} inputs must have entries"),
        }))
    }

    /// What Python calls the type of a value: `torch.typename(type(value))`.
    pub(super) fn type_name(&self, value: &Value) -> String {
        match value {
            Value::None => "NoneType".into(),
            Value::Bool(_) => "bool".into(),
            Value::Int(_) => "int".into(),
            Value::Float(_) => "float".into(),
            Value::Complex(..) => "complex".into(),
            Value::Str(_) => "str".into(),
            Value::Tuple(_, Some(class)) | Value::Enum(class, _) | Value::MixedEnum(class, ..) => {
                qualified_name(class)
            }
            Value::Tuple(_, None) => "tuple".into(),
            Value::List(_) => "list".into(),
            Value::Dict(_) => "dict".into(),
            Value::Tensor(_) => "torch.Tensor".into(),
            Value::Module(id) => self
                .modules
                .heap
                .module(*id)
                .map_or_else(String::new, |it| qualified_name(&it.class)),
            Value::Object(id) => self
                .modules
                .heap
                .object(*id)
                .map_or_else(String::new, |it| qualified_name(&it.class)),
            Value::Function(function) if function.bound.is_some() => "method".into(),
            Value::Function(_) => "function".into(),
            Value::Class(_) => "type".into(),
            Value::Library(_) => "builtin_function_or_method".into(),
            Value::DType(_) => "torch.dtype".into(),
            Value::Device(_) => "torch.device".into(),
            Value::Opaque(what) => what.to_string(),
        }
    }
}

fn qualified_name(class: &crate::loader::PyClass) -> String {
    format!("{}.{}", class.module.name, class.name())
}

//! Dataclasses: the methods that Python makes for them, as PyTorch writes them out
//! (`torch/jit/_dataclass_impls.py`).

use std::sync::Arc;

use ruff_python_ast as py;
use sconce_compiler::Error;
use sconce_ir::{Constant, Type, Unit};
use sconce_syntax::ast::Number;
use sconce_syntax::sexpr::python_number;

use super::Python;
use super::evaluate::Value;
use crate::frontend::dotted;
use crate::loader::{Module, Object, PyClass, PyFunction};

/// What PyTorch calls the files of the methods that it writes.
const FOLDER: &str = "__torch_jit_dataclass";

/// A field of a dataclass.
struct Field<'c> {
    name: &'c str,
    annotation: &'c py::Expr,
    default: Option<&'c py::Expr>,
    is_init_var: bool,
    in_init: bool,
    in_repr: bool,
    in_comparisons: bool,
}

/// What `@dataclass(…)` asks for.
struct DataclassOptions {
    init: bool,
    repr: bool,
    eq: bool,
    order: bool,
    hash: bool,
}

/// The comparisons of `order=True`: name, operator, and what two equal objects give.
const ORDERS: &[(&str, &str, &str)] = &[
    ("__lt__", "<", "False"),
    ("__le__", "<", "True"),
    ("__gt__", ">", "False"),
    ("__ge__", ">", "True"),
];

impl Python {
    /// The methods that a class gets for being a dataclass: nothing for other classes.
    pub(super) fn made_methods(
        &mut self,
        unit: &mut Unit,
        class: &PyClass,
    ) -> Result<Vec<PyFunction>, Error> {
        let Some(decorator) = self.dataclass_decorator(class)? else { return Ok(Vec::new()) };
        let wanted = wanted(class, decorator)?;
        let fields = self.fields(class)?;
        let has = |name: &str| {
            class.def.body.iter().any(|statement| {
                matches!(statement, py::Stmt::FunctionDef(def) if def.name.as_str() == name)
            })
        };
        let mut made = Vec::new();
        let mut make = |name: &str, signature: &str, body: Vec<String>| {
            if has(name) {
                return Ok(());
            }
            made.push(compose(class, name, signature, &body)?);
            Ok::<_, Error>(())
        };
        if wanted.init {
            let signature = self.signature(unit, class, &fields)?;
            make("__init__", &signature, init_body(&fields, has("__post_init__")))?;
        }
        if wanted.repr {
            make("__repr__", "(self) -> str", vec![repr_line(class, &fields)])?;
        }
        if wanted.hash {
            let body = "raise NotImplementedError('__hash__ is not supported for dataclasses in \
                        TorchScript')";
            make("__hash__", "(self) -> int", vec![body.into()])?;
        }
        let signature = format!("(self, other: {}) -> bool", class.name());
        if wanted.eq {
            let inner = ["if val1 != val2: return False".to_owned()];
            let body = self.comparison(class, &fields, "True", None, &inner)?;
            make("__eq__", &signature, body)?;
        }
        if wanted.order {
            let refusal = format!("  raise TypeError('Cannot compare {} with None')", class.name());
            for (name, op, equal) in ORDERS {
                let inner = [
                    format!("if val1 {op} val2: return True"),
                    format!("elif val2 {op} val1: return False"),
                ];
                let body = self.comparison(class, &fields, equal, Some(&refusal), &inner)?;
                make(name, &signature, body)?;
            }
        }
        Ok(made)
    }

    fn dataclass_decorator<'c>(
        &mut self,
        class: &'c PyClass,
    ) -> Result<Option<&'c py::Decorator>, Error> {
        for decorator in &class.def.decorator_list {
            if self.loader.decorator(&class.module, decorator)? == "dataclasses.dataclass" {
                return Ok(Some(decorator));
            }
        }
        Ok(None)
    }

    fn fields<'c>(&mut self, class: &'c PyClass) -> Result<Vec<Field<'c>>, Error> {
        let mut fields = Vec::new();
        for statement in &class.def.body {
            let py::Stmt::AnnAssign(assign) = statement else { continue };
            let py::Expr::Name(name) = &*assign.target else { continue };
            let (annotation, is_init_var) = match &*assign.annotation {
                py::Expr::Subscript(subscript) => {
                    match self.library_name(class, &subscript.value)?.as_deref() {
                        Some("dataclasses.InitVar") => (&*subscript.slice, true),
                        Some("typing.ClassVar") => continue,
                        _ => (&*assign.annotation, false),
                    }
                }
                annotation => (annotation, false),
            };
            let mut field = Field {
                name: &name.id,
                annotation,
                default: assign.value.as_deref(),
                is_init_var,
                in_init: true,
                in_repr: true,
                in_comparisons: true,
            };
            if let Some(py::Expr::Call(call)) = field.default
                && self.library_name(class, &call.func)?.as_deref() == Some("dataclasses.field")
            {
                field.default = None;
                described(class, &mut field, call)?;
            }
            fields.push(field);
        }
        Ok(fields)
    }

    fn library_name(&mut self, class: &PyClass, of: &py::Expr) -> Result<Option<String>, Error> {
        let Some(name) = dotted(of) else { return Ok(None) };
        Ok(match self.loader.dotted(&class.module, &name)? {
            Some(Object::Library(name)) => Some(name),
            _ => None,
        })
    }

    /// `str(inspect.signature(cls.__init__))`
    fn signature(
        &mut self,
        unit: &mut Unit,
        class: &PyClass,
        fields: &[Field<'_>],
    ) -> Result<String, Error> {
        let mut signature = String::from("(self");
        for field in fields.iter().filter(|field| field.in_init) {
            let annotation = match class.module.has_text_annotations() {
                true => format!("'{}'", source_of(class, field.annotation)),
                false => self.annotation_text(class, field.annotation)?,
            };
            signature.push_str(&format!(", {}: {annotation}", field.name));
            if let Some(default) = field.default {
                let module = Arc::clone(&class.module);
                let value = self.in_scope(&module, |python| python.evaluate(unit, default))?;
                signature.push_str(&format!(" = {}", python_text(&value)));
            }
        }
        signature.push_str(") -> None");
        Ok(signature)
    }

    /// An annotation as `inspect.formatannotation` writes it.
    fn annotation_text(&mut self, class: &PyClass, annotation: &py::Expr) -> Result<String, Error> {
        Ok(match annotation {
            py::Expr::Name(_) | py::Expr::Attribute(_) => {
                let written = dotted(annotation).unwrap_or_default();
                match self.loader.dotted(&class.module, &written)? {
                    Some(Object::Library(name)) => {
                        let short = ["builtins.", "typing."];
                        let short = short.iter().find_map(|prefix| name.strip_prefix(prefix));
                        short.unwrap_or(&name).to_owned()
                    }
                    Some(Object::Class(of)) => format!("{}.{}", of.module.name, of.name()),
                    Some(Object::Value(_, value)) => self.annotation_text(class, &value)?,
                    _ => written,
                }
            }
            py::Expr::Subscript(subscript) => {
                let elements = match &*subscript.slice {
                    py::Expr::Tuple(tuple) => tuple.elts.iter().collect(),
                    other => vec![other],
                };
                let of = self.annotation_text(class, &subscript.value)?;
                let mut texts = Vec::with_capacity(elements.len());
                for element in elements {
                    texts.push(self.annotation_text(class, element)?);
                }
                // Python calls a union with None alone an optional.
                if of == "Union" && texts.len() == 2 && texts.iter().any(|text| text == "None") {
                    texts.retain(|text| text != "None");
                    return Ok(format!("Optional[{}]", texts.join(", ")));
                }
                format!("{of}[{}]", texts.join(", "))
            }
            other => source_of(class, other),
        })
    }

    /// The lines of a comparison, field by field.
    fn comparison(
        &mut self,
        class: &PyClass,
        fields: &[Field<'_>],
        equal: &str,
        refusal: Option<&str>,
        inner: &[String],
    ) -> Result<Vec<String>, Error> {
        let mut body = Vec::new();
        for field in fields.iter().filter(|field| field.in_comparisons && !field.is_init_var) {
            body.push(format!("val1 = self.{}", field.name));
            body.push(format!("val2 = other.{}", field.name));
            if self.is_optional(class, field.annotation)? {
                body.push("if val1 is not None and val2 is not None:".into());
                body.extend(inner.iter().map(|line| format!("  {line}")));
                body.push("elif (val1 is None) != (val2 is None):".into());
                body.push(refusal.unwrap_or("  return False").to_owned());
            } else {
                body.extend_from_slice(inner);
            }
        }
        body.push(format!("return {equal}"));
        Ok(body)
    }

    /// Whether an annotation is `Optional[…]` or a union with `None`, and no text.
    fn is_optional(&mut self, class: &PyClass, annotation: &py::Expr) -> Result<bool, Error> {
        if class.module.has_text_annotations() {
            return Ok(false);
        }
        let text = self.annotation_text(class, annotation)?;
        Ok(text.starts_with("Optional[") || text.ends_with("| None") || text.starts_with("None |"))
    }
}

fn wanted(class: &PyClass, decorator: &py::Decorator) -> Result<DataclassOptions, Error> {
    let mut wanted =
        DataclassOptions { init: true, repr: true, eq: true, order: false, hash: false };
    let py::Expr::Call(call) = &decorator.expression else { return Ok(wanted) };
    for keyword in &call.arguments.keywords {
        let py::Expr::BooleanLiteral(literal) = &keyword.value else { continue };
        match keyword.arg.as_deref().unwrap_or_default() {
            "init" => wanted.init = literal.value,
            "repr" => wanted.repr = literal.value,
            "eq" => wanted.eq = literal.value,
            "order" => wanted.order = literal.value,
            "unsafe_hash" => wanted.hash = literal.value,
            "frozen" if literal.value => {
                let message = "frozen dataclasses are not supported: TorchScript has nothing for \
                               the methods that refuse changes";
                return Err(Error::new(message, class.module.place(keyword)));
            }
            _ => {}
        }
    }
    Ok(wanted)
}

/// Takes what `field(…)` says of a field.
fn described<'c>(
    class: &PyClass,
    field: &mut Field<'c>,
    call: &'c py::ExprCall,
) -> Result<(), Error> {
    for keyword in &call.arguments.keywords {
        let is_false =
            matches!(&keyword.value, py::Expr::BooleanLiteral(literal) if !literal.value);
        match keyword.arg.as_deref().unwrap_or_default() {
            "default" => field.default = Some(&keyword.value),
            "default_factory" => {
                let message =
                    "Default factory initializers are not supported in TorchScript dataclasses";
                return Err(Error::new(message, class.module.place(keyword)));
            }
            "init" if is_false => field.in_init = false,
            "repr" if is_false => field.in_repr = false,
            "compare" if is_false => field.in_comparisons = false,
            _ => {}
        }
    }
    Ok(())
}

fn init_body(fields: &[Field<'_>], has_post_init: bool) -> Vec<String> {
    let own = fields.iter().filter(|field| field.in_init && !field.is_init_var);
    let mut body: Vec<String> = own.map(|field| format!("self.{0} = {0}", field.name)).collect();
    if has_post_init {
        let given = fields.iter().filter(|field| field.is_init_var).map(|field| field.name);
        body.push(format!("self.__post_init__({})", given.collect::<Vec<_>>().join(", ")));
    }
    if body.is_empty() {
        body.push("pass".into());
    }
    body
}

fn repr_line(class: &PyClass, fields: &[Field<'_>]) -> String {
    let shown = fields.iter().filter(|field| field.in_repr && !field.is_init_var);
    let parts: Vec<String> = shown.map(|field| format!("{0}=self.{0}", field.name)).collect();
    format!("return '{}({})'", class.name(), parts.join(", "))
}

/// A method of these lines, in a file of its own.
fn compose(
    class: &PyClass,
    name: &str,
    signature: &str,
    body: &[String],
) -> Result<PyFunction, Error> {
    let mut text = format!("def {name}{signature}:");
    for line in body {
        text.push_str("\n  ");
        text.push_str(line);
    }
    let filename = format!("{FOLDER}/{}/{name}", class.name());
    let module = Arc::new(Module::made(&class.module, &filename, 0, text)?);
    match module.own_function(name) {
        Some(def) => {
            let def = Arc::clone(def);
            Ok(PyFunction { module, def })
        }
        None => Err(Error::new(
            format!(
                "TorchScript failed to synthesize dataclass method '{name}' for class '{}'.",
                class.name()
            ),
            class.module.place(&class.def.name),
        )),
    }
}

fn source_of(class: &PyClass, expression: &py::Expr) -> String {
    let place = class.module.place(expression);
    let range = place.range.start as usize..place.range.end as usize;
    place.source.text().get(range).unwrap_or_default().to_owned()
}

/// What Python's `repr` gives.
fn python_text(value: &Value) -> String {
    let joined = |items: &[Value]| items.iter().map(python_text).collect::<Vec<_>>().join(", ");
    match value {
        Value::Constant(Constant::None) => "None".into(),
        Value::Constant(Constant::Bool(true)) => "True".into(),
        Value::Constant(Constant::Bool(false)) => "False".into(),
        Value::Constant(Constant::Int(value)) => python_number(&Number::Int(*value)),
        Value::Constant(Constant::Float(value)) => python_number(&Number::Float(*value)),
        Value::Constant(Constant::Str(text)) => quoted(text),
        Value::Constant(Constant::Enum(Type::Enum(of), at)) => {
            let member = of.members.get(*at as usize).map_or("", |(name, _)| name);
            format!("<{}.{member}>", of.name.rsplit('.').next().unwrap_or_default())
        }
        Value::Constant(Constant::Device(name)) => format!("device(type='{name}')"),
        Value::Constant(other) => other.stream_text(),
        Value::Tuple(items) if items.len() == 1 => format!("({},)", joined(items)),
        Value::Tuple(items) => format!("({})", joined(items)),
        Value::List(items) => format!("[{}]", joined(items)),
        Value::Dict(_) => "{}".into(),
    }
}

/// A string as Python's `repr` shows it.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    sconce_pickle::repr::write_str(&mut out, text);
    out
}

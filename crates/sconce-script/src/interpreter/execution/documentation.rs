//! Docstrings and signatures.

use std::sync::Arc;

use ruff_python_ast as py;

use super::super::arguments::Keywords;
use super::super::control_flow::Outcome;
use super::super::value::{Cell, ClassKind, Code, Id, Value};
use super::Interpreter;
use crate::loader::{Module, Object};

/// What `functools.partial` objects say of themselves.
const PARTIAL: &str = "partial(func, *args, **keywords) - new function with partial application\n    of \
                       the given arguments and keywords.\n";
/// How many functions may wrap each other.
const MAX_WRAPPED: usize = 100;

/// The docstring that statements begin with, as it is written.
pub(in super::super) fn docstring(body: &[py::Stmt]) -> Option<&str> {
    match body.first()? {
        py::Stmt::Expr(expression) => match &*expression.value {
            py::Expr::StringLiteral(literal) => Some(literal.value.to_str()),
            _ => None,
        },
        _ => None,
    }
}

/// A parameter as a signature shows it.
struct Parameter {
    name: Arc<str>,
    kind: Kind,
    annotation: Option<String>,
    default: Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    PositionalOnly,
    Plain,
    Rest,
    KeywordOnly,
    Keywords,
    /// As [`Kind::Plain`], with a default that a function makes.
    Made,
}

impl Interpreter<'_> {
    /// `value.__doc__`
    pub(super) fn documentation(&mut self, value: &Value) -> Outcome<Option<String>> {
        let found = match self.arena.cell(value) {
            Some(Cell::Unknown(_)) => return Ok(None),
            _ => self.attribute_or_none(value, "__doc__")?,
        };
        match found {
            None | Some(Value::None) => self.data_class_docstring(value),
            Some(found) if self.is_unknown(&found) => Ok(None),
            Some(found) => self.text(&found).map(Some),
        }
    }

    /// The docstring that a data class gets where it has none.
    fn data_class_docstring(&mut self, value: &Value) -> Outcome<Option<String>> {
        let Value::Ref(id) = value else { return Ok(None) };
        if self.data_class_parameters(*id).is_none() {
            return Ok(None);
        }
        let signature = self.signature(value)?.unwrap_or_default();
        let signature = signature.strip_suffix(" -> None").unwrap_or(&signature);
        Ok(Some(format!("{}{signature}", self.class_name(value))))
    }

    /// The docstring that a function, class or other object has of its own.
    pub(in super::super) fn own_docstring(&self, value: &Value) -> Value {
        let text = match self.arena.cell(value) {
            Some(Cell::Function(function)) => match &function.code {
                // The first statement of a body is never left out.
                Code::Def(function) => docstring(&function.def.body).map(Value::str),
                Code::Lambda(..) => None,
            },
            Some(Cell::Class(class)) => {
                let own = docstring(&class.source.def.body);
                let made = match &class.kind {
                    ClassKind::NamedTuple(fields) => {
                        let fields: Vec<&str> = fields.iter().map(|field| &**field).collect();
                        Some(format!("{}({})", class.name, fields.join(", ")))
                    }
                    _ => None,
                };
                own.map(Value::str).or(made.map(Value::str))
            }
            Some(Cell::Partial(_)) => Some(Value::str(PARTIAL)),
            _ => None,
        };
        text.unwrap_or(Value::None)
    }

    /// `inspect.signature(value)` as text, where it is known.
    pub(super) fn signature(&mut self, value: &Value) -> Outcome<Option<String>> {
        let Some((parameters, returns)) = self.parameters_of(value, 0)? else { return Ok(None) };
        let mut parts: Vec<String> = Vec::new();
        let mut before = None;
        let has_rest = parameters.iter().any(|parameter| parameter.kind == Kind::Rest);
        for parameter in &parameters {
            if before == Some(Kind::PositionalOnly) && parameter.kind != Kind::PositionalOnly {
                parts.push("/".into());
            }
            if parameter.kind == Kind::KeywordOnly && before != Some(Kind::KeywordOnly) && !has_rest
            {
                parts.push("*".into());
            }
            before = Some(parameter.kind);
            let stars = match parameter.kind {
                Kind::Rest => "*",
                Kind::Keywords => "**",
                _ => "",
            };
            let mut text = format!("{stars}{}", parameter.name);
            if let Some(annotation) = &parameter.annotation {
                text.push_str(": ");
                text.push_str(annotation);
            }
            if let Some(default) = &parameter.default {
                text.push_str(if parameter.annotation.is_some() { " = " } else { "=" });
                text.push_str(&self.shown(default)?);
            }
            if parameter.kind == Kind::Made {
                text.push_str(" = <factory>");
            }
            parts.push(text);
        }
        if before == Some(Kind::PositionalOnly) {
            parts.push("/".into());
        }
        let returns = returns.map(|returns| format!(" -> {returns}")).unwrap_or_default();
        Ok(Some(format!("({}){returns}", parts.join(", "))))
    }

    /// Makes an annotation what `inspect` shows: classes by their full names.
    fn show_annotation(&mut self, module: &Arc<Module>, is_top: bool, annotation: &mut String) {
        if module.has_text_annotations() {
            *annotation = format!("'{annotation}'");
            return;
        }
        let mut parts = annotation.split('.');
        let first = parts.next().unwrap_or_default();
        let is_name = |part: &str| part.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_top || !annotation.split('.').all(is_name) {
            return;
        }
        let mut found = self.namespace_value(module, first);
        for part in parts {
            found = match &found {
                Some(Value::Namespace(file)) if self.namespace(file).is_some() => {
                    self.namespace_value(file, part)
                }
                Some(Value::Namespace(file)) => {
                    let base = Object::Module(Arc::clone(file));
                    match self.loader.member(&base, part) {
                        Ok(Some(Object::Class(class))) => {
                            let full = format!("{}.{}", class.module.name, class.name());
                            Some(Value::library(&full))
                        }
                        Ok(Some(Object::Library(name))) => Some(Value::library(&name)),
                        _ => None,
                    }
                }
                Some(Value::Library(base)) => Some(Value::library(&format!("{base}.{part}"))),
                _ => None,
            };
        }
        match &found {
            Some(Value::Library(name)) => {
                let name = name.strip_prefix("builtins.").unwrap_or(name);
                *annotation = name.strip_prefix("typing.").unwrap_or(name).to_owned();
            }
            Some(value) => {
                if let Some(class) = self.arena.class(value) {
                    *annotation = format!("{}.{}", class.source.module.name, class.name);
                }
            }
            None => {}
        }
    }

    /// The parameters that a data class takes for its fields.
    fn data_class_parameters(&self, id: Id) -> Option<Vec<Parameter>> {
        let class = self.arena.class(&Value::Ref(id))?;
        let ClassKind::DataClass(fields) = &class.kind else { return None };
        let init = self.member(id, "__init__")?;
        if !matches!(self.arena.cell(&init), Some(Cell::Partial(_))) {
            return None;
        }
        let parameters = fields.iter().map(|field| {
            let annotation = class.order.iter().find_map(|base| {
                let base = self.arena.class(base)?;
                base.source.def.body.iter().find_map(|statement| match statement {
                    py::Stmt::AnnAssign(assign) => match &*assign.target {
                        py::Expr::Name(name) if name.id.as_str() == &**field => {
                            Some(base.source.module.text_of(&*assign.annotation).to_owned())
                        }
                        _ => None,
                    },
                    _ => None,
                })
            });
            let (mut kind, mut default) = (Kind::Plain, self.member(id, field));
            if let Some(Cell::Partial(partial)) =
                default.as_ref().and_then(|default| self.arena.cell(default))
            {
                let given = |name: &str| {
                    let mut keywords = partial.keywords.iter();
                    keywords.find(|(known, _)| &**known == name).map(|(_, value)| value.clone())
                };
                if given("default_factory").is_some() {
                    kind = Kind::Made;
                }
                default = given("default");
            }
            Parameter { name: Arc::clone(field), kind, annotation, default }
        });
        Some(parameters.collect())
    }

    fn shown(&mut self, value: &Value) -> Outcome<String> {
        match self.is_unknown(value) {
            true => Ok("...".into()),
            false => self.repr(value),
        }
    }

    fn parameters_of(
        &mut self,
        value: &Value,
        depth: usize,
    ) -> Outcome<Option<(Vec<Parameter>, Option<String>)>> {
        if depth > MAX_WRAPPED {
            return Ok(None);
        }
        match self.arena.cell(value) {
            Some(Cell::Function(function)) => {
                if let Some(wrapped) = function.attributes.get("__wrapped__").cloned() {
                    return self.parameters_of(&wrapped, depth + 1);
                }
                let (code, defaults) = (function.code.clone(), function.defaults.clone());
                let is_top = function.scope.is_none();
                let (mut parameters, mut returns) = written(&code, &defaults);
                let module = match &code {
                    Code::Def(function) => &function.module,
                    Code::Lambda(module, _) => module,
                };
                let annotations =
                    parameters.iter_mut().filter_map(|parameter| parameter.annotation.as_mut());
                for annotation in annotations.chain(returns.as_mut()) {
                    self.show_annotation(module, is_top, annotation);
                }
                Ok(Some((parameters, returns)))
            }
            Some(Cell::Method(_, function)) => {
                let function = function.clone();
                let found = self.parameters_of(&function, depth + 1)?;
                Ok(found.map(|(mut parameters, returns)| {
                    if !parameters.is_empty() {
                        parameters.remove(0);
                    }
                    (parameters, returns)
                }))
            }
            Some(Cell::Class(_)) => {
                let Value::Ref(id) = value else { return Ok(None) };
                if let Some(fields) = self.data_class_parameters(*id) {
                    return Ok(Some((fields, Some("None".into()))));
                }
                if self.enum_members(value).is_some() {
                    return Ok(None);
                }
                let class = self.arena.class(value);
                if class.is_some_and(|class| matches!(class.kind, ClassKind::NamedTuple(_))) {
                    return Ok(None);
                }
                // As `inspect` looks for who makes the object.
                let of_metaclass = class.and_then(|class| class.metaclass);
                let of_metaclass = of_metaclass.and_then(|class| self.member(class, "__call__"));
                let made_by = of_metaclass
                    .or_else(|| self.member(*id, "__new__"))
                    .or_else(|| self.member(*id, "__init__"));
                let Some(init) = made_by else {
                    return Ok(Some((Vec::new(), None)));
                };
                let found = self.parameters_of(&init, depth + 1)?;
                Ok(found.map(|(mut parameters, returns)| {
                    if !parameters.is_empty() {
                        parameters.remove(0);
                    }
                    (parameters, returns)
                }))
            }
            Some(Cell::Partial(partial)) => {
                let partial = partial.clone();
                let found = self.parameters_of(&partial.function, depth + 1)?;
                Ok(found.map(|(parameters, returns)| {
                    (bound(parameters, partial.args.len(), &partial.keywords), returns)
                }))
            }
            Some(Cell::StaticMethod(function)) => {
                let function = function.clone();
                self.parameters_of(&function, depth + 1)
            }
            Some(Cell::Instance(instance)) => {
                let class = instance.class;
                let Some(method) = self.member(class, "__call__") else { return Ok(None) };
                let found = self.parameters_of(&method, depth + 1)?;
                Ok(found.map(|(mut parameters, returns)| {
                    if !parameters.is_empty() {
                        parameters.remove(0);
                    }
                    (parameters, returns)
                }))
            }
            _ => Ok(None),
        }
    }
}

/// The parameters of a function as they are written, with the values of their defaults.
fn written(code: &Code, defaults: &Keywords) -> (Vec<Parameter>, Option<String>) {
    let empty = py::Parameters::default();
    let (module, parameters, returns) = match code {
        Code::Def(function) => {
            (&function.module, &*function.def.parameters, function.def.returns.as_deref())
        }
        Code::Lambda(module, lambda) => {
            (module, lambda.parameters.as_deref().unwrap_or(&empty), None)
        }
    };
    let annotation = |annotation: Option<&py::Expr>| {
        annotation.map(|annotation| match annotation {
            py::Expr::StringLiteral(literal) => format!("'{}'", literal.value.to_str()),
            other => module.text_of(other).to_owned(),
        })
    };
    let one = |parameter: &py::ParameterWithDefault, kind: Kind| {
        let name: Arc<str> = parameter.parameter.name.as_str().into();
        let default = defaults.iter().find(|(known, _)| *known == name);
        Parameter {
            kind,
            annotation: annotation(parameter.parameter.annotation.as_deref()),
            default: default.map(|(_, value)| value.clone()),
            name,
        }
    };
    let rest = |parameter: &py::Parameter, kind: Kind| Parameter {
        name: parameter.name.as_str().into(),
        kind,
        annotation: annotation(parameter.annotation.as_deref()),
        default: None,
    };
    let mut all: Vec<Parameter> = Vec::new();
    all.extend(parameters.posonlyargs.iter().map(|of| one(of, Kind::PositionalOnly)));
    all.extend(parameters.args.iter().map(|of| one(of, Kind::Plain)));
    all.extend(parameters.vararg.iter().map(|of| rest(of, Kind::Rest)));
    all.extend(parameters.kwonlyargs.iter().map(|of| one(of, Kind::KeywordOnly)));
    all.extend(parameters.kwarg.iter().map(|of| rest(of, Kind::Keywords)));
    (all, annotation(returns))
}

/// What is left of parameters once some arguments are given: those by place are gone, those by name are
/// defaults, and what follows the first of them can only be given by name.
fn bound(parameters: Vec<Parameter>, places: usize, keywords: &Keywords) -> Vec<Parameter> {
    let mut left = Vec::new();
    let mut to_drop = places;
    let mut only_by_name = false;
    for mut parameter in parameters {
        let is_by_place = matches!(parameter.kind, Kind::PositionalOnly | Kind::Plain);
        if is_by_place && to_drop > 0 {
            to_drop -= 1;
            continue;
        }
        if parameter.kind == Kind::Rest && only_by_name {
            continue;
        }
        if let Some((_, value)) = keywords.iter().find(|(name, _)| *name == parameter.name)
            && parameter.kind != Kind::Keywords
        {
            parameter.default = Some(value.clone());
            only_by_name |= parameter.kind == Kind::Plain;
        }
        if only_by_name && parameter.kind == Kind::Plain {
            parameter.kind = Kind::KeywordOnly;
        }
        left.push(parameter);
    }
    left
}

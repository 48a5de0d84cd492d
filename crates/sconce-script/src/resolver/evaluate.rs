//! Values that Python knows before anything runs: defaults, members of modules and enums.

use std::sync::Arc;

use ruff_python_ast as py;
use sconce_compiler::{Dispatch, Error, Global};
use sconce_ir::{Constant, Type, Unit};

use super::{Python, opaque};
use crate::frontend::dotted;
use crate::interpreter::{TopLevel, expression_at_top, name_at_top};
use crate::library;
use crate::loader::{Module, Object};

/// How deep names may refer to names.
const MAX_DEPTH: usize = 64;

/// A value of Python.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A number, string, `None`, device, enum member.
    Constant(Constant),
    /// A list.
    List(Vec<Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A dict.
    Dict(Vec<(Value, Value)>),
}

impl Value {
    /// It as the default of a parameter: one number may stand for a list of a fixed size, and
    /// `None` for no tensor.
    pub(crate) fn as_default(&self, ty: &Type, fixed_size: Option<u32>) -> Option<Constant> {
        if let Some(known) = self.as_constant(ty) {
            return Some(known);
        }
        let list = match ty {
            Type::Optional(of) => of,
            other => other,
        };
        match (self, list, fixed_size) {
            (Self::Constant(Constant::None), Type::Tensor | Type::TensorOf(_), _) => {
                Some(Constant::None)
            }
            // CompiledModule a list of where it is passed, as an argument would be.
            (value, Type::List(of), Some(_)) => value.as_constant(of),
            _ => None,
        }
    }

    /// It as a value of a type: PyTorch's `toIValue`.
    pub(crate) fn as_constant(&self, ty: &Type) -> Option<Constant> {
        match (self, ty) {
            (Self::Constant(Constant::None), Type::Optional(_) | Type::None) => {
                Some(Constant::None)
            }
            (value, Type::Optional(of)) => value.as_constant(of),
            (value, Type::Union(members)) => {
                let exact =
                    value.plain_type().and_then(|own| members.iter().find(|ty| **ty == own));
                match exact {
                    Some(ty) => value.as_constant(ty),
                    None => members.iter().find_map(|ty| value.as_constant(ty)),
                }
            }
            (Self::Constant(value), ty) => scalar(value, ty),
            (Self::List(items), Type::List(of)) => {
                let items = items.iter().map(|item| item.as_constant(of));
                Some(Constant::List((**of).clone(), items.collect::<Option<_>>()?))
            }
            (Self::Tuple(items), Type::List(of)) => {
                let items = items.iter().map(|item| item.as_constant(of));
                Some(Constant::List((**of).clone(), items.collect::<Option<_>>()?))
            }
            (Self::Tuple(items), Type::Tuple(of)) if items.len() == of.elements.len() => {
                let pairs = items.iter().zip(&of.elements);
                let items = pairs.map(|(item, ty)| item.as_constant(ty));
                let named = of.named.as_ref().map(|_| ty.clone());
                Some(Constant::Tuple(items.collect::<Option<_>>()?, named))
            }
            (Self::Dict(items), Type::Dict(of)) => {
                let items = items
                    .iter()
                    .map(|(key, value)| Some((key.as_constant(&of.0)?, value.as_constant(&of.1)?)));
                let items = items.collect::<Option<_>>()?;
                Some(Constant::Dict(of.0.clone(), of.1.clone(), items))
            }
            (_, Type::Any) => {
                let ty = self.plain_type()?;
                self.as_constant(&ty)
            }
            _ => None,
        }
    }

    /// It as a constant of a module, of which lists become tuples.
    pub(crate) fn as_module_constant(&self) -> Option<Constant> {
        match self {
            Self::Constant(value) => Some(value.clone()),
            Self::List(items) | Self::Tuple(items) => {
                let items = items.iter().map(Self::as_module_constant);
                Some(Constant::Tuple(items.collect::<Option<_>>()?, None))
            }
            Self::Dict(_) => None,
        }
    }

    /// The type it has by itself.
    pub(crate) fn plain_type(&self) -> Option<Type> {
        Some(match self {
            Self::Constant(value) => value.ty(),
            Self::List(items) => Type::list(items.first()?.plain_type()?),
            Self::Tuple(items) => {
                Type::tuple(items.iter().map(Self::plain_type).collect::<Option<_>>()?)
            }
            Self::Dict(items) => {
                let (key, value) = items.first()?;
                Type::dict(key.plain_type()?, value.plain_type()?)
            }
        })
    }

    /// What Python calls its type, if its values can be changed.
    pub(crate) fn mutable_kind(&self) -> Option<&'static str> {
        match self {
            Self::List(_) => Some("<class 'list'>"),
            Self::Dict(_) => Some("<class 'dict'>"),
            _ => None,
        }
    }

    fn as_float(&self) -> Option<f64> {
        match self {
            Self::Constant(Constant::Int(value)) => Some(*value as f64),
            Self::Constant(Constant::Float(value)) => Some(*value),
            Self::Constant(Constant::Bool(value)) => Some(f64::from(u8::from(*value))),
            _ => None,
        }
    }

    fn as_complex(&self) -> Option<(f64, f64)> {
        match self {
            Self::Constant(Constant::Complex(re, im)) => Some((*re, *im)),
            other => other.as_float().map(|re| (re, 0.0)),
        }
    }

    fn as_int(&self) -> Option<i64> {
        match self {
            Self::Constant(Constant::Int(value)) => Some(*value),
            Self::Constant(Constant::Bool(value)) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// What Python calls its type.
    fn type_name(&self) -> &'static str {
        match self {
            Self::Constant(Constant::None) => "NoneType",
            Self::Constant(Constant::Bool(_)) => "bool",
            Self::Constant(Constant::Int(_)) => "int",
            Self::Constant(Constant::Float(_)) => "float",
            Self::Constant(Constant::Complex(..)) => "complex",
            Self::Constant(Constant::Str(_)) => "str",
            Self::Constant(Constant::Device(_)) => "torch.device",
            Self::Constant(_) => "object",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
        }
    }
}

fn scalar(value: &Constant, ty: &Type) -> Option<Constant> {
    match (value, ty) {
        (Constant::None, Type::None)
        | (Constant::Bool(_), Type::Bool)
        | (Constant::Int(_), Type::Int)
        | (Constant::Float(_), Type::Float)
        | (Constant::Complex(..), Type::Complex)
        | (Constant::Str(_), Type::Str | Type::Device)
        | (Constant::Device(_), Type::Device)
        | (Constant::Int(_) | Constant::Float(_) | Constant::Complex(..), Type::Number)
        | (_, Type::Any) => match (value, ty) {
            (Constant::Str(text), Type::Device) => Some(Constant::Device(Arc::clone(text))),
            _ => Some(value.clone()),
        },
        (Constant::Int(value), Type::Float) => Some(Constant::Float(*value as f64)),
        (Constant::Bool(value), Type::Int) => Some(Constant::Int(i64::from(*value))),
        (Constant::Bool(value), Type::Float) => Some(Constant::Float(f64::from(u8::from(*value)))),
        (Constant::Int(value), Type::Complex) => Some(Constant::Complex(*value as f64, 0.0)),
        (Constant::Float(value), Type::Complex) => Some(Constant::Complex(*value, 0.0)),
        (Constant::Enum(own, _), ty) if own == ty => Some(value.clone()),
        (Constant::Tuple(_, Some(own)), ty) if own == ty => Some(value.clone()),
        _ => None,
    }
}

impl Python {
    /// The value of an expression, of names as the current file has them.
    pub(crate) fn evaluate(
        &mut self,
        unit: &mut Unit,
        expression: &py::Expr,
    ) -> Result<Value, Error> {
        let scope = Arc::clone(&self.scope);
        match self.known_value(unit, &scope, expression, 0)? {
            Some(value) => Ok(value),
            None => {
                let known = expression_at_top(&mut self.loader, &scope, expression);
                if let Some(value) = known.ok().flatten().and_then(|known| plain(&known)) {
                    return Ok(value);
                }
                let message = "the value of this expression is not known before the program runs";
                Err(Error::new(message, scope.place(expression)))
            }
        }
    }

    /// What a value at the top of a file means in a program.
    pub(super) fn value_global(
        &mut self,
        unit: &mut Unit,
        module: &Arc<Module>,
        expression: &py::Expr,
        is_member: bool,
    ) -> Result<Option<Global>, Error> {
        if let Some(value) = self.known_value(unit, module, expression, 0)? {
            return Ok(value_global(&value, is_member));
        }
        if let Some(object) = self.loader.object(module, expression)?
            && !matches!(object, Object::Value(..))
        {
            return self.global(unit, object, is_member);
        }
        match self.alias(unit, module, expression, 0)? {
            Some(ty) if matches!(expression, py::Expr::Call(_)) => {
                return Ok(Some(Global::Type(ty)));
            }
            Some(_) => return Ok(Some(opaque("type"))),
            None => {}
        }
        let what = expression_text(module, expression);
        match expression_at_top(&mut self.loader, module, expression) {
            Ok(Some(known)) => self.top_level(unit, known, is_member),
            Ok(None) => Err(Error::without_range(format!(
                "'{what}' is made by Python code, and is no value that programs have"
            ))),
            Err(error) => Err(Error::without_range(format!(
                "'{what}' is made by Python code, which cannot be run here: {}",
                error.message()
            ))),
        }
    }

    /// What a name means that statements bind of which plain assignments are no part:
    /// `fft, _ = optional_import("torch.fft")`.
    pub(super) fn bound_by_statements(
        &mut self,
        unit: &mut Unit,
        module: &Arc<Module>,
        name: &str,
    ) -> Result<Option<Global>, Error> {
        if module.changes(name).is_empty() || module.binds(name) {
            return Ok(None);
        }
        match name_at_top(&mut self.loader, module, name) {
            Ok(Some(known)) => self.top_level(unit, known, false),
            Ok(None) => Ok(None),
            Err(error) => Err(Error::without_range(format!(
                "'{name}' is made by Python code, which cannot be run here: {}",
                error.message()
            ))),
        }
    }

    fn top_level(
        &mut self,
        unit: &mut Unit,
        known: TopLevel,
        is_member: bool,
    ) -> Result<Option<Global>, Error> {
        match known {
            TopLevel::Object(object) => self.global(unit, object, is_member),
            other => Ok(plain(&other).and_then(|value| value_global(&value, is_member))),
        }
    }

    /// `boolean_dispatch(…)`: one of two functions.
    pub(super) fn dispatch(
        &mut self,
        unit: &mut Unit,
        module: &Arc<Module>,
        expression: &py::Expr,
    ) -> Result<Option<Global>, Error> {
        let py::Expr::Call(call) = expression else { return Ok(None) };
        let Some(callee) = dotted(&call.func) else { return Ok(None) };
        if callee.rsplit('.').next() != Some("boolean_dispatch") {
            return Ok(None);
        }
        let keyword = |name: &str| {
            let found = call.arguments.keywords.iter();
            let mut found = found.filter(|keyword| keyword.arg.as_deref() == Some(name));
            found.next().map(|keyword| &keyword.value)
        };
        let function = |name: &str| keyword(name).and_then(dotted).map(Arc::<str>::from);
        let (Some(argument), Some(index), Some(default)) =
            (keyword("arg_name"), keyword("arg_index"), keyword("default"))
        else {
            return Ok(None);
        };
        let (Some(if_true), Some(if_false)) = (function("if_true"), function("if_false")) else {
            return Ok(None);
        };
        let mut known = |expression| self.known_value(unit, module, expression, 0);
        let (
            Some(Value::Constant(Constant::Str(argument))),
            Some(Value::Constant(Constant::Int(index))),
            Some(Value::Constant(Constant::Bool(default))),
        ) = (known(argument)?, known(index)?, known(default)?)
        else {
            return Ok(None);
        };
        let Ok(index) = usize::try_from(index) else { return Ok(None) };
        let namespace = Arc::clone(&module.name);
        let dispatch = Dispatch { index, argument, default, namespace, if_true, if_false };
        Ok(Some(Global::Dispatch(Arc::new(dispatch))))
    }

    /// The value of an expression, where it can be known.
    fn known_value(
        &mut self,
        unit: &mut Unit,
        module: &Arc<Module>,
        expression: &py::Expr,
        depth: usize,
    ) -> Result<Option<Value>, Error> {
        if depth > MAX_DEPTH || !self.spend() {
            return Ok(None);
        }
        let constant = |value| Ok(Some(Value::Constant(value)));
        match expression {
            py::Expr::NoneLiteral(_) => constant(Constant::None),
            py::Expr::BooleanLiteral(literal) => constant(Constant::Bool(literal.value)),
            py::Expr::StringLiteral(literal) => {
                constant(Constant::Str(literal.value.to_str().into()))
            }
            py::Expr::NumberLiteral(literal) => Ok(match &literal.value {
                py::Number::Int(value) => {
                    value.as_i64().map(|value| Value::Constant(Constant::Int(value)))
                }
                py::Number::Float(value) => Some(Value::Constant(Constant::Float(*value))),
                py::Number::Complex { real, imag } => {
                    Some(Value::Constant(Constant::Complex(*real, *imag)))
                }
            }),
            py::Expr::Tuple(tuple) => {
                Ok(self.known_values(unit, module, &tuple.elts, depth)?.map(Value::Tuple))
            }
            py::Expr::List(list) => {
                Ok(self.known_values(unit, module, &list.elts, depth)?.map(Value::List))
            }
            py::Expr::Dict(dict) => {
                let mut items = Vec::with_capacity(dict.items.len());
                for item in &dict.items {
                    let Some(key) = &item.key else { return Ok(None) };
                    let key = self.known_value(unit, module, key, depth + 1)?;
                    let value = self.known_value(unit, module, &item.value, depth + 1)?;
                    let (Some(key), Some(value)) = (key, value) else { return Ok(None) };
                    items.push((key, value));
                }
                Ok(Some(Value::Dict(items)))
            }
            py::Expr::UnaryOp(unary) => {
                let operand = self.known_value(unit, module, &unary.operand, depth + 1)?;
                Ok(operand.and_then(|operand| unary_value(unary.op, &operand)))
            }
            py::Expr::BinOp(binary) => {
                let left = self.known_value(unit, module, &binary.left, depth + 1)?;
                let right = self.known_value(unit, module, &binary.right, depth + 1)?;
                let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
                Ok(binary_value(binary.op, &left, &right))
            }
            py::Expr::Name(_) | py::Expr::Attribute(_) => {
                self.named_value(unit, module, expression, depth)
            }
            py::Expr::Call(call) => self.called_value(unit, module, call, depth),
            _ => Ok(None),
        }
    }

    fn known_values(
        &mut self,
        unit: &mut Unit,
        module: &Arc<Module>,
        expressions: &[py::Expr],
        depth: usize,
    ) -> Result<Option<Vec<Value>>, Error> {
        let mut values = Vec::with_capacity(expressions.len());
        for expression in expressions {
            match self.known_value(unit, module, expression, depth + 1)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(values))
    }

    fn named_value(
        &mut self,
        unit: &mut Unit,
        module: &Arc<Module>,
        expression: &py::Expr,
        depth: usize,
    ) -> Result<Option<Value>, Error> {
        let Some(name) = dotted(expression) else { return Ok(None) };
        if let Some((class, member)) = name.rsplit_once('.')
            && let Some(Object::Class(class)) = self.loader.dotted(module, class)?
            && let Some(Type::Enum(of)) = self.class(unit, &class)?
            && let Some(at) = of.members.iter().position(|(name, _)| &**name == member)
        {
            let value = Constant::Enum(Type::Enum(of), at as u32);
            return Ok(Some(Value::Constant(value)));
        }
        match self.loader.dotted(module, &name)? {
            Some(Object::Value(module, value)) => {
                self.known_value(unit, &module, &value, depth + 1)
            }
            Some(Object::Library(name)) => Ok(match library::global(&name) {
                Some(Global::Constant(value)) => Some(Value::Constant(value)),
                _ => None,
            }),
            _ => Ok(None),
        }
    }

    /// `float("inf")`, `torch.device("cpu")`
    fn called_value(
        &mut self,
        unit: &mut Unit,
        module: &Arc<Module>,
        call: &py::ExprCall,
        depth: usize,
    ) -> Result<Option<Value>, Error> {
        let Some(name) = dotted(&call.func) else { return Ok(None) };
        if !call.arguments.keywords.is_empty() {
            return Ok(None);
        }
        let Some(Object::Library(name)) = self.loader.dotted(module, &name)? else {
            return Ok(None);
        };
        let Some(args) = self.known_values(unit, module, &call.arguments.args, depth)? else {
            return Ok(None);
        };
        Ok(match (name.as_str(), args.as_slice()) {
            ("builtins.float", [Value::Constant(Constant::Str(text))]) => {
                text.trim().parse().ok().map(|value| Value::Constant(Constant::Float(value)))
            }
            ("builtins.float", [value]) => {
                value.as_float().map(|value| Value::Constant(Constant::Float(value)))
            }
            ("torch.device", [Value::Constant(Constant::Str(text))]) => {
                Some(Value::Constant(Constant::Device(Arc::clone(text))))
            }
            ("builtins.tuple", [Value::List(items) | Value::Tuple(items)]) => {
                Some(Value::Tuple(items.clone()))
            }
            ("builtins.list", [Value::List(items) | Value::Tuple(items)]) => {
                Some(Value::List(items.clone()))
            }
            ("math.sqrt", [value]) => {
                value.as_float().map(|value| Value::Constant(Constant::Float(value.sqrt())))
            }
            _ => None,
        })
    }
}

/// What a value means in a program. None at the top of a file is nothing there.
fn value_global(value: &Value, is_member: bool) -> Option<Global> {
    let constant = value.plain_type().and_then(|ty| value.as_constant(&ty));
    match constant {
        Some(Constant::None) if !is_member => None,
        Some(value @ (Constant::Enum(..) | Constant::Tuple(_, Some(_)))) => {
            Some(Global::Constant(value))
        }
        Some(
            value @ (Constant::Int(_)
            | Constant::Float(_)
            | Constant::Bool(_)
            | Constant::Complex(..)
            | Constant::Str(_)
            | Constant::Device(_)
            | Constant::None
            | Constant::Tuple(..)),
        ) if is_member => Some(Global::Constant(value)),
        _ => Some(opaque(value.type_name())),
    }
}

/// A value that code at the top of a file has made; `None` for what has no constant.
fn plain(known: &TopLevel) -> Option<Value> {
    let all = |items: &[TopLevel]| -> Option<Vec<Value>> { items.iter().map(plain).collect() };
    Some(match known {
        TopLevel::Object(_) => return None,
        TopLevel::None => Value::Constant(Constant::None),
        TopLevel::Bool(value) => Value::Constant(Constant::Bool(*value)),
        TopLevel::Int(value) => Value::Constant(Constant::Int(*value)),
        TopLevel::Float(value) => Value::Constant(Constant::Float(*value)),
        TopLevel::Complex(re, im) => Value::Constant(Constant::Complex(*re, *im)),
        TopLevel::Str(text) => Value::Constant(Constant::Str(Arc::clone(text))),
        TopLevel::Tuple(items) => Value::Tuple(all(items)?),
        TopLevel::List(items) => Value::List(all(items)?),
    })
}

fn expression_text(module: &Arc<Module>, expression: &py::Expr) -> String {
    let place = module.place(expression);
    let text = place.source.text();
    let range = place.range.start as usize..place.range.end as usize;
    text.get(range).unwrap_or_default().chars().take(40).collect()
}

fn unary_value(op: py::UnaryOp, operand: &Value) -> Option<Value> {
    let Value::Constant(operand) = operand else { return None };
    Some(Value::Constant(match (op, operand) {
        (py::UnaryOp::USub, Constant::Int(value)) => Constant::Int(value.checked_neg()?),
        (py::UnaryOp::USub, Constant::Float(value)) => Constant::Float(-value),
        (py::UnaryOp::USub, Constant::Complex(re, im)) => Constant::Complex(-re, -im),
        (py::UnaryOp::UAdd, value) => value.clone(),
        (py::UnaryOp::Not, Constant::Bool(value)) => Constant::Bool(!value),
        (py::UnaryOp::Invert, Constant::Int(value)) => Constant::Int(!value),
        _ => return None,
    }))
}

fn binary_value(op: py::Operator, left: &Value, right: &Value) -> Option<Value> {
    if let (Value::Constant(Constant::Str(left)), Value::Constant(Constant::Str(right))) =
        (left, right)
    {
        let joined = (op == py::Operator::Add).then(|| format!("{left}{right}"))?;
        return Some(Value::Constant(Constant::Str(joined.into())));
    }
    if let (Some(left), Some(right)) = (left.as_int(), right.as_int()) {
        let value = match op {
            py::Operator::Add => left.checked_add(right)?,
            py::Operator::Sub => left.checked_sub(right)?,
            py::Operator::Mult => left.checked_mul(right)?,
            py::Operator::FloorDiv if right > 0 => left.div_euclid(right),
            py::Operator::Mod if right > 0 => left.rem_euclid(right),
            py::Operator::LShift => left.checked_shl(u32::try_from(right).ok()?)?,
            py::Operator::RShift => left.checked_shr(u32::try_from(right).ok()?)?,
            py::Operator::BitOr => left | right,
            py::Operator::BitAnd => left & right,
            py::Operator::BitXor => left ^ right,
            py::Operator::Pow if right >= 0 => left.checked_pow(u32::try_from(right).ok()?)?,
            py::Operator::Pow if left != 0 => {
                return Some(Value::Constant(Constant::Float((left as f64).powf(right as f64))));
            }
            py::Operator::Div if right != 0 => {
                return Some(Value::Constant(Constant::Float(left as f64 / right as f64)));
            }
            _ => return None,
        };
        return Some(Value::Constant(Constant::Int(value)));
    }
    if let (Value::Constant(Constant::Complex(..)), _)
    | (_, Value::Constant(Constant::Complex(..))) = (left, right)
    {
        return complex_value(op, left.as_complex()?, right.as_complex()?);
    }
    let (left, right) = (left.as_float()?, right.as_float()?);
    Some(Value::Constant(Constant::Float(match op {
        py::Operator::Add => left + right,
        py::Operator::Sub => left - right,
        py::Operator::Mult => left * right,
        py::Operator::Div if right != 0.0 => left / right,
        py::Operator::Pow => left.powf(right),
        _ => return None,
    })))
}

/// What Python gives for complex numbers; powers and quotients are not here.
fn complex_value(op: py::Operator, (a, b): (f64, f64), (c, d): (f64, f64)) -> Option<Value> {
    let (re, im) = match op {
        py::Operator::Add => (a + c, b + d),
        py::Operator::Sub => (a - c, b - d),
        py::Operator::Mult => (a * c - b * d, a * d + b * c),
        _ => return None,
    };
    Some(Value::Constant(Constant::Complex(re, im)))
}

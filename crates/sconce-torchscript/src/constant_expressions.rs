//! Values of class constants, enum members and field defaults, from their expressions.

use std::sync::Arc;

use sconce_compiler::{Error, Resolver, type_of_expression};
use sconce_ir::{Constant, Type, Unit};
use sconce_syntax::ast::{BinaryOp, Expr, ExprKind, Number, UnaryOp};
use sconce_syntax::{Source, SourceRange};

/// The value of an expression as the code printer writes constants. `hint` is the declared type,
/// which says what an empty list or a plain number is.
pub(crate) fn literal(
    unit: &mut Unit,
    resolver: &mut dyn Resolver,
    expr: &Expr,
    source: &Arc<Source>,
    hint: Option<&Type>,
) -> Result<Constant, Error> {
    let unsupported = || {
        let range = SourceRange::new(Arc::clone(source), expr.range);
        Error::new("this is not a constant", range)
    };
    let hint = match hint {
        Some(Type::Optional(of)) => Some(&**of),
        other => other,
    };
    Ok(match &expr.kind {
        ExprKind::None => Constant::None,
        ExprKind::True => Constant::Bool(true),
        ExprKind::False => Constant::Bool(false),
        ExprKind::Str(text) => Constant::Str(Arc::clone(text)),
        ExprKind::Number(number) => number_of(number),
        ExprKind::Unary { op: UnaryOp::Neg, operand } => {
            let value = literal(unit, resolver, operand, source, hint)?;
            negated(value).ok_or_else(unsupported)?
        }
        ExprKind::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub), left, right } => {
            let left = literal(unit, resolver, left, source, hint)?;
            let right = literal(unit, resolver, right, source, hint)?;
            complex_sum(left, *op, right).ok_or_else(unsupported)?
        }
        ExprKind::List(items) => {
            let element = match hint {
                Some(Type::List(of)) => Some((**of).clone()),
                _ => None,
            };
            let values = literals(unit, resolver, items, source, element.as_ref())?;
            let ty = element.or_else(|| values.first().map(Constant::ty)).unwrap_or(Type::Tensor);
            Constant::List(ty, values.into())
        }
        ExprKind::Tuple(items) => {
            let mut values = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let element = match hint {
                    Some(Type::Tuple(of)) => of.elements.get(index).cloned(),
                    _ => None,
                };
                values.push(literal(unit, resolver, item, source, element.as_ref())?);
            }
            let named = hint.filter(|ty| matches!(ty, Type::Tuple(of) if of.named.is_some()));
            Constant::Tuple(values.into(), named.cloned())
        }
        ExprKind::Dict(entries) => {
            let types = match hint {
                Some(Type::Dict(of)) => Some((of.0.clone(), of.1.clone())),
                _ => None,
            };
            let (key_hint, value_hint) = types.clone().unzip();
            let mut pairs = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let key = literal(unit, resolver, key, source, key_hint.as_ref())?;
                let value = literal(unit, resolver, value, source, value_hint.as_ref())?;
                pairs.push((key, value));
            }
            let (key, value) = types.unwrap_or_else(|| match pairs.first() {
                Some((key, value)) => (key.ty(), value.ty()),
                None => (Type::Str, Type::Tensor),
            });
            Constant::Dict(key, value, pairs.into())
        }
        ExprKind::Name(name) => match &*name.name {
            "inf" => Constant::Float(f64::INFINITY),
            "nan" => Constant::Float(f64::NAN),
            _ => return Err(unsupported()),
        },
        ExprKind::Attribute { value, name } => match value.dotted_name().as_deref() {
            Some("CONSTANTS") => resolver.constant(unit, &name.name)?.ok_or_else(unsupported)?,
            Some(path) => match resolver.ty(unit, path)? {
                Some(ty @ Type::Enum(_)) => member(ty, &name.name).ok_or_else(unsupported)?,
                _ => return Err(unsupported()),
            },
            None => return Err(unsupported()),
        },
        ExprKind::Call { callee, args, kwargs } if kwargs.is_empty() => {
            match (callee.dotted_name().as_deref(), args.as_slice()) {
                (Some("annotate"), [ty, value]) => {
                    let ty = type_of_expression(unit, resolver, ty, source)?;
                    literal(unit, resolver, value, source, Some(&ty))?
                }
                (Some("torch.device"), [Expr { kind: ExprKind::Str(device), .. }]) => {
                    Constant::Device(Arc::clone(device))
                }
                (Some(path), args) => match resolver.ty(unit, path)? {
                    // A NamedTuple's constructor.
                    Some(ty @ Type::Tuple(_)) => {
                        let values = literals(unit, resolver, args, source, None)?;
                        Constant::Tuple(values.into(), Some(ty))
                    }
                    _ => return Err(unsupported()),
                },
                _ => return Err(unsupported()),
            }
        }
        _ => return Err(unsupported()),
    })
}

fn literals(
    unit: &mut Unit,
    resolver: &mut dyn Resolver,
    items: &[Expr],
    source: &Arc<Source>,
    hint: Option<&Type>,
) -> Result<Vec<Constant>, Error> {
    items.iter().map(|item| literal(unit, resolver, item, source, hint)).collect()
}

fn number_of(number: &Number) -> Constant {
    match *number {
        Number::Int(value) => Constant::Int(value),
        Number::Float(value) => Constant::Float(value),
        Number::Complex(imaginary) => Constant::Complex(0.0, imaginary),
    }
}

fn negated(value: Constant) -> Option<Constant> {
    Some(match value {
        Constant::Int(value) => Constant::Int(value.checked_neg()?),
        Constant::Float(value) => Constant::Float(-value),
        Constant::Complex(re, im) => Constant::Complex(-re, -im),
        _ => return None,
    })
}

/// `1.+2.j`
fn complex_sum(left: Constant, op: BinaryOp, right: Constant) -> Option<Constant> {
    let re = match left {
        Constant::Int(value) => value as f64,
        Constant::Float(value) => value,
        _ => return None,
    };
    match right {
        Constant::Complex(_, im) if op == BinaryOp::Add => Some(Constant::Complex(re, im)),
        Constant::Complex(_, im) => Some(Constant::Complex(re, -im)),
        _ => None,
    }
}

fn member(ty: Type, name: &str) -> Option<Constant> {
    let Type::Enum(members) = &ty else { return None };
    let index = members.members.iter().position(|(member, _)| &**member == name)?;
    Some(Constant::Enum(ty.clone(), index as u32))
}

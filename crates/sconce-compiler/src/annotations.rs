//! From annotations to types: `ScriptTypeParser`.

use std::sync::Arc;

use sconce_ir::{NamedRef, Type, Unit};
use sconce_syntax::ast::{BinaryOp, Expr, ExprKind};
use sconce_syntax::sexpr::kind_of;
use sconce_syntax::{Source, SourceRange};

use crate::nesting::with_stack;
use crate::{Error, Resolver};

/// The built-in types by name.
const NAMES: &[(&str, Type)] = &[
    ("Tensor", Type::Tensor),
    ("int", Type::Int),
    ("float", Type::Float),
    ("bool", Type::Bool),
    ("complex", Type::Complex),
    ("str", Type::Str),
    ("Device", Type::Device),
    ("Stream", Type::Stream),
    ("number", Type::Number),
    ("None", Type::None),
    ("NoneType", Type::None),
    ("Any", Type::Any),
    ("Capsule", Type::Capsule),
    ("list", Type::AnyList),
    ("tuple", Type::AnyTuple),
    ("Generator", Type::Generator),
    ("Storage", Type::Storage),
    ("QScheme", Type::QScheme),
    ("Quantizer", Type::Quantizer),
    ("PyObject", Type::PyObject),
    ("AnyClassType", Type::AnyClass),
    ("AnyEnumType", Type::AnyEnum),
];

/// Names of tensor types of old; they all mean the one type.
const TENSOR_NAMES: &[&str] = &[
    "LongTensor",
    "FloatTensor",
    "DoubleTensor",
    "IntTensor",
    "ShortTensor",
    "HalfTensor",
    "CharTensor",
    "ByteTensor",
    "BoolTensor",
];

/// The longest list that one element may stand for; the element is repeated in the graph.
const MAX_BROADCAST: u32 = 1024;

/// What torchbind classes are called in a unit.
const TORCHBIND: &str = "__torch__.torch.classes.";

/// The type that an annotation means. `source` is where the expression's range counts.
///
/// # Errors
/// PyTorch's: a name that is not a type, a constructor with the wrong number of types.
pub fn type_of_expression(
    unit: &mut Unit,
    resolver: &mut dyn Resolver,
    expression: &Expr,
    source: &Arc<Source>,
) -> Result<Type, Error> {
    let ty = Annotations { unit, resolver, source }.ty(expression)?;
    if !ty.is_within(MAX_TYPE_SIZE) {
        let range = SourceRange::new(Arc::clone(source), expression.range);
        return Err(Error::new(too_large(), range));
    }
    Ok(ty)
}

/// How many types one type may consist of: what a NamedTuple consists of counts wherever it is named,
/// so that short programs could make types that no memory holds in print.
pub(crate) const MAX_TYPE_SIZE: usize = 1 << 14;

pub(crate) fn too_large() -> String {
    format!("The type is too large: it consists of more than {MAX_TYPE_SIZE} types")
}

/// `BroadcastingListN[T]`, alone or optional, and `_size_N_t`: the list type and `N`. For parameters
/// only.
///
/// # Errors
/// As PyTorch's `parseBroadcastList`.
pub(crate) fn broadcasting_list(
    expression: &Expr,
    source: &Arc<Source>,
) -> Result<Option<(Type, u32)>, Error> {
    let error = |at: &Expr, message: &str| {
        Err(Error::new(message, SourceRange::new(Arc::clone(source), at.range)))
    };
    if let ExprKind::Name(name) = &expression.kind {
        let size = name.name.strip_prefix("_size_").and_then(|rest| rest.strip_suffix("_t"));
        let size = size.filter(|size| size.len() == 1).and_then(|size| size.parse().ok());
        return Ok(size.map(|size| (Type::list(Type::Int), size)));
    }
    let ExprKind::Subscript { value, indices } = &expression.kind else { return Ok(None) };
    let ExprKind::Name(name) = &value.kind else { return Ok(None) };
    if &*name.name == "Optional" {
        let Some(inner) = indices.first() else { return Ok(None) };
        let inner = broadcasting_list(inner, source)?;
        return Ok(inner.map(|(ty, size)| (Type::optional(ty), size)));
    }
    let Some(size) = name.name.strip_prefix("BroadcastingList") else { return Ok(None) };
    let [element] = indices.as_slice() else {
        let message = "BroadcastingList/Optional[BroadcastingList] must be subscripted with a type";
        return error(expression, message);
    };
    let element = match &element.kind {
        ExprKind::Name(name) if &*name.name == "int" => Type::Int,
        ExprKind::Name(name) if &*name.name == "float" => Type::Float,
        ExprKind::Name(_) => {
            return error(value, "Broadcastable lists only supported for int or float");
        }
        _ => return error(value, "Subscripted type must be a type identifier"),
    };
    match size.parse() {
        Ok(size) if size <= MAX_BROADCAST => Ok(Some((Type::list(element), size))),
        _ => error(expression, "subscript of Broadcastable list must be a positive integer"),
    }
}

struct Annotations<'a> {
    unit: &'a mut Unit,
    resolver: &'a mut dyn Resolver,
    source: &'a Arc<Source>,
}

impl Annotations<'_> {
    fn error(&self, at: &Expr, message: impl Into<String>) -> Error {
        Error::new(message, SourceRange::new(Arc::clone(self.source), at.range))
    }

    fn ty(&mut self, expression: &Expr) -> Result<Type, Error> {
        if let Some(ty) = self.resolver.annotation(self.unit, expression, self.source)? {
            return Ok(ty);
        }
        with_stack(|| match &expression.kind {
            ExprKind::Subscript { value, indices } => {
                let Some(name) = qualified_name(value) else {
                    return Err(self.error(value, "Subscripted type must be a type identifier"));
                };
                self.constructed(expression, &name, indices)
            }
            ExprKind::Str(name) => self.quoted(expression, name),
            ExprKind::Binary { op: BinaryOp::BitOr, left, right } => {
                let members = [self.ty(left)?, self.ty(right)?];
                Ok(Type::union(&members, self.unit))
            }
            _ => match qualified_name(expression) {
                Some(name) => self.named(expression, &name),
                None => Err(self.error(
                    expression,
                    format!(
                        "Expression of type {} cannot be used in a type expression",
                        kind_of(expression)
                    ),
                )),
            },
        })
    }

    fn named(&mut self, at: &Expr, name: &str) -> Result<Type, Error> {
        if let Some((_, ty)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(ty.clone());
        }
        let tensor = name.strip_prefix("torch.").unwrap_or(name);
        if name != tensor && tensor == "Tensor" || TENSOR_NAMES.contains(&tensor) {
            return Ok(Type::Tensor);
        }
        if let Some(ty) = self.resolver.ty(self.unit, name)? {
            return Ok(ty);
        }
        if let Some(ty) = self.unit.find_type(name) {
            return Ok(ty.clone());
        }
        if name.starts_with(TORCHBIND) {
            return Ok(Type::Class(NamedRef::by_name(name)));
        }
        Err(self.error(at, format!("Unknown type name '{name}'")))
    }

    /// A type in quotes: a torchbind class under its Python name, or any other.
    fn quoted(&mut self, at: &Expr, name: &str) -> Result<Type, Error> {
        let torchbind = if name.starts_with("torch.classes.") {
            Some(format!("__torch__.{name}"))
        } else if name.starts_with("torch.cuda.Stream") {
            Some(format!("{TORCHBIND}cuda.Stream"))
        } else if name.starts_with("torch.cuda.Event") {
            Some(format!("{TORCHBIND}cuda.Event"))
        } else {
            None
        };
        match torchbind {
            Some(name) => self.named(at, &name),
            None => match self.resolver.ty(self.unit, name)? {
                Some(ty) => Ok(ty),
                None => Err(self.error(at, format!("Unknown type name '{name}'"))),
            },
        }
    }

    fn constructed(&mut self, at: &Expr, name: &str, of: &[Expr]) -> Result<Type, Error> {
        match name {
            "Tuple" | "tuple" => self.tuple(of),
            "Union" => {
                let members = self.all(of)?;
                Ok(Type::union(&members, self.unit))
            }
            "Dict" | "dict" => {
                let [key, value] = of else {
                    return Err(self.count_error(at, "2 element types", of.len()));
                };
                let (key_type, value) = (self.ty(key)?, self.ty(value)?);
                check_key(&key_type)?;
                Ok(Type::dict(key_type, value))
            }
            "List" | "list" => Ok(Type::list(self.only(at, of)?)),
            "Optional" => Ok(Type::optional(self.only(at, of)?)),
            "Future" | "torch.jit.Future" => Ok(Type::future(self.only(at, of)?)),
            "Await" | "torch.jit._Await" => Ok(Type::Await(Arc::new(self.only(at, of)?))),
            "RRef" => Ok(Type::RRef(Arc::new(self.only(at, of)?))),
            _ => Err(self.error(at, format!("Unknown type constructor {name}"))),
        }
    }

    fn all(&mut self, of: &[Expr]) -> Result<Vec<Type>, Error> {
        of.iter().map(|expression| self.ty(expression)).collect()
    }

    fn only(&mut self, at: &Expr, of: &[Expr]) -> Result<Type, Error> {
        match of {
            [only] => self.ty(only),
            _ => Err(self.count_error(at, "one element type", of.len())),
        }
    }

    fn count_error(&self, at: &Expr, expected: &str, found: usize) -> Error {
        self.error(at, format!(" expected exactly {expected} but found {found}"))
    }

    fn tuple(&mut self, of: &[Expr]) -> Result<Type, Error> {
        if let [Expr { kind: ExprKind::Tuple(elements), .. }] = of {
            if elements.is_empty() {
                return Ok(Type::tuple(Vec::new()));
            }
            let message = "Tuple literal in Tuple type annotation must not have any elements!";
            return Err(self.error(&of[0], message));
        }
        Ok(Type::tuple(self.all(of)?))
    }
}

/// Refuses types that no dict's keys can be of.
pub(crate) fn check_key(key: &Type) -> Result<(), Error> {
    match key {
        Type::Any
        | Type::Int
        | Type::Bool
        | Type::Float
        | Type::Complex
        | Type::Str
        | Type::Device
        | Type::Tensor
        | Type::TensorOf(_) => Ok(()),
        other => {
            let message = format!(
                "Cannot create dict for key type '{}', only int, float, complex, Tensor, \
                 device and string keys are supported",
                other
            );
            Err(Error::without_range(message))
        }
    }
}

/// The name that an expression spells, dots included.
fn qualified_name(expression: &Expr) -> Option<String> {
    match expression.kind {
        ExprKind::None => Some("None".into()),
        ExprKind::NoneType => Some("NoneType".into()),
        _ => expression.dotted_name(),
    }
}

//! Types in annotations, by what their names stand for in the file.

use std::sync::Arc;

use ruff_python_ast as py;
use sconce_compiler::Error;
use sconce_ir::{Type, Unit};
use sconce_syntax::ast::{BinaryOp, Expr, ExprKind};
use sconce_syntax::{Source, SourceRange};

use super::Python;
use crate::frontend::dotted;
use crate::library;
use crate::loader::{Module, Object};

/// How many aliases a type may go through.
const MAX_ALIASES: usize = 32;

impl Python {
    /// The type of an annotation; `None` where the names in it are the language's own or nobody's,
    /// of which the compiler knows what to say.
    pub(super) fn resolve_annotation(
        &mut self,
        unit: &mut Unit,
        annotation: &Expr,
        source: &Arc<Source>,
    ) -> Result<Option<Type>, Error> {
        let scope = Arc::clone(&self.scope);
        match &annotation.kind {
            ExprKind::None => Ok(Some(Type::None)),
            ExprKind::Name(_) | ExprKind::Attribute { .. } => {
                let Some(name) = annotation.dotted_name() else { return Ok(None) };
                match self.loader.dotted(&scope, &name)? {
                    Some(Object::Library(name)) => match bare_constructor(&name) {
                        Some(message) => {
                            let place = SourceRange::new(Arc::clone(source), annotation.range);
                            Err(Error::new(message, place))
                        }
                        None => Ok(library::ty(&name)),
                    },
                    Some(object) => self.type_of_object(unit, object),
                    None => Ok(None),
                }
            }
            ExprKind::Subscript { value, indices } => {
                let Some(name) = value.dotted_name() else { return Ok(None) };
                let Some(Object::Library(name)) = self.loader.dotted(&scope, &name)? else {
                    return Ok(None);
                };
                let Some(constructor) = library::constructor(&name) else { return Ok(None) };
                let is_empty = matches!(
                    indices.as_slice(),
                    [Expr { kind: ExprKind::Tuple(of), .. }] if of.is_empty()
                );
                let mut of = Vec::with_capacity(indices.len());
                for index in indices.iter().filter(|_| !is_empty) {
                    of.push(sconce_compiler::type_of_expression(unit, self, index, source)?);
                }
                Ok(constructed(constructor, of, unit))
            }
            ExprKind::Str(text) => self.quoted_annotation(unit, text),
            ExprKind::Binary { op: BinaryOp::BitOr, left, right } => {
                let left = sconce_compiler::type_of_expression(unit, self, left, source)?;
                let right = sconce_compiler::type_of_expression(unit, self, right, source)?;
                Ok(Some(Type::union(&[left, right], unit)))
            }
            _ => Ok(None),
        }
    }

    /// A type in quotes.
    fn quoted_annotation(&mut self, unit: &mut Unit, text: &str) -> Result<Option<Type>, Error> {
        let source = Arc::new(Source::new(text));
        match sconce_syntax::parse_expression(&source) {
            Ok(Expr { kind: ExprKind::Str(_), .. }) | Err(_) => Ok(None),
            // What is wrong in it is the whole text's fault.
            Ok(expression) => {
                Ok(self.resolve_annotation(unit, &expression, &source).unwrap_or_default())
            }
        }
    }

    /// The type that an object is.
    pub(super) fn type_of_object(
        &mut self,
        unit: &mut Unit,
        object: Object,
    ) -> Result<Option<Type>, Error> {
        match object {
            Object::Library(name) => Ok(library::ty(&name)),
            Object::Class(class) => self.class(unit, &class),
            Object::Value(module, value) => self.alias(unit, &module, &value, 0),
            Object::Module(_) | Object::Function(_) | Object::Opaque(_) => Ok(None),
        }
    }

    /// The type that an expression of Python is: `Pair = Tuple[int, int]`.
    pub(crate) fn alias(
        &mut self,
        unit: &mut Unit,
        module: &Arc<Module>,
        expression: &py::Expr,
        depth: usize,
    ) -> Result<Option<Type>, Error> {
        if depth > MAX_ALIASES || !self.spend() {
            return Ok(None);
        }
        match expression {
            py::Expr::NoneLiteral(_) => Ok(Some(Type::None)),
            py::Expr::Name(_) | py::Expr::Attribute(_) => {
                let Some(name) = dotted(expression) else { return Ok(None) };
                match self.loader.dotted(module, &name)? {
                    Some(Object::Value(module, value)) => {
                        self.alias(unit, &module, &value, depth + 1)
                    }
                    Some(object) => self.type_of_object(unit, object),
                    None => Ok(None),
                }
            }
            py::Expr::StringLiteral(literal) => {
                match self.loader.dotted(module, literal.value.to_str())? {
                    Some(Object::Value(..)) | None => Ok(None),
                    Some(object) => self.type_of_object(unit, object),
                }
            }
            py::Expr::Subscript(subscript) => {
                let Some(name) = dotted(&subscript.value) else { return Ok(None) };
                let Some(Object::Library(name)) = self.loader.dotted(module, &name)? else {
                    return Ok(None);
                };
                let Some(constructor) = library::constructor(&name) else { return Ok(None) };
                let elements = match &*subscript.slice {
                    py::Expr::Tuple(tuple) => tuple.elts.iter().collect(),
                    other => vec![other],
                };
                let mut of = Vec::with_capacity(elements.len());
                for element in elements {
                    let Some(ty) = self.alias(unit, module, element, depth + 1)? else {
                        return Ok(None);
                    };
                    of.push(ty);
                }
                Ok(constructed(constructor, of, unit))
            }
            py::Expr::Call(call) => self.made_tuple(unit, module, call),
            py::Expr::BinOp(binary) if binary.op == py::Operator::BitOr => {
                let left = self.alias(unit, module, &binary.left, depth + 1)?;
                let right = self.alias(unit, module, &binary.right, depth + 1)?;
                let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
                Ok(Some(Type::union(&[left, right], unit)))
            }
            _ => Ok(None),
        }
    }
}

/// What PyTorch says of a generic type of `typing` that stands alone.
fn bare_constructor(name: &str) -> Option<&'static str> {
    Some(match name {
        "typing.Dict" => {
            "Attempted to use Dict without contained types. Please add contained type, e.g. \
             Dict[int, int]"
        }
        "typing.List" => {
            "Attempted to use List without a contained type. Please add a contained type, e.g. \
             List[int]"
        }
        "typing.Tuple" => {
            "Attempted to use Tuple without a contained type. Please add a contained type, e.g. \
             Tuple[int]"
        }
        "typing.Optional" => {
            "Attempted to use Optional without a contained type. Please add a contained type, \
             e.g. Optional[int]"
        }
        "typing.Union" => {
            "Attempted to use Union without a contained type. Please add a contained type, e.g. \
             Union[int]"
        }
        _ => return None,
    })
}

/// A generic type of these types; `None` where their number does not fit.
fn constructed(constructor: &str, of: Vec<Type>, unit: &Unit) -> Option<Type> {
    Some(match (constructor, of.as_slice()) {
        ("List", [element]) => Type::list(element.clone()),
        // Python makes one union of them.
        ("Optional", [of @ Type::Union(_)]) => Type::union(&[of.clone(), Type::None], unit),
        ("Optional", [of]) => Type::optional(of.clone()),
        ("Tuple", _) => Type::tuple(of),
        ("Union", [_, ..]) => Type::union(&of, unit),
        (
            "Dict",
            [
                Type::Int
                | Type::Bool
                | Type::Float
                | Type::Complex
                | Type::Str
                | Type::Device
                | Type::Tensor
                | Type::Any,
                _,
            ],
        ) => Type::dict(of[0].clone(), of[1].clone()),
        ("Future", [of]) => Type::future(of.clone()),
        ("Await", [of]) => Type::Await(Arc::new(of.clone())),
        ("RRef", [of]) => Type::RRef(Arc::new(of.clone())),
        _ => return None,
    })
}

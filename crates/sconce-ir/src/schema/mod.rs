//! Function schemas: what an operator, function or method takes and gives.

mod parse;
mod text;

use std::sync::Arc;

use crate::{Constant, Type};

pub use parse::SchemaError;

/// The signature of an operator, function or method: PyTorch's `c10::FunctionSchema`.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// `aten::add`, or the name of a function or method.
    pub name: Arc<str>,
    /// `Tensor` in `aten::add.Tensor`; empty when there is none.
    pub overload: Arc<str>,
    /// The arguments, `self` included.
    pub arguments: Vec<Argument>,
    /// What it returns.
    pub returns: Vec<Argument>,
    /// Whether any number of arguments may follow (`...`).
    pub is_vararg: bool,
    /// Whether any number of values is returned.
    pub is_varret: bool,
}

/// One argument or return value of a [`Schema`].
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The name; empty for a return value without one.
    pub name: Arc<str>,
    /// The type values have: an int for a dtype.
    pub ty: Type,
    /// The type as written, where it says more than `ty` (`ScalarType`, `SymInt`, `Layout`…).
    pub real_type: Option<Type>,
    /// `N` in `int[N]`: one value stands for `N` of them.
    pub fixed_size: Option<u32>,
    /// The default value.
    pub default: Option<Constant>,
    /// Whether it can only be given by name.
    pub kwarg_only: bool,
    /// Which memory it shares and whether it is written.
    pub alias: Option<Arc<Alias>>,
}

/// An alias annotation: `(a!)`, `(a -> b|*)`; PyTorch's `AliasInfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alias {
    /// The sets it belongs to before the call; `*` is the wildcard.
    pub before: Vec<Arc<str>>,
    /// The sets it belongs to after the call.
    pub after: Vec<Arc<str>>,
    /// Whether the operator writes to it.
    pub is_write: bool,
    /// Annotations of what it contains (`Tensor(a)[]`).
    pub contained: Vec<Alias>,
}

impl Argument {
    /// A positional argument without default.
    pub fn new(name: impl Into<Arc<str>>, ty: Type) -> Self {
        Self {
            name: name.into(),
            ty,
            real_type: None,
            fixed_size: None,
            default: None,
            kwarg_only: false,
            alias: None,
        }
    }

    /// The type as a schema's text has it.
    pub fn real_type(&self) -> &Type {
        self.real_type.as_ref().unwrap_or(&self.ty)
    }

    /// The element's type and the length of a list for which one element may be passed
    /// (`int[2]`, also where it is optional).
    pub fn broadcasting_list(&self) -> Option<(&Type, u32)> {
        let length = self.fixed_size?;
        match &self.ty {
            Type::Optional(of) => of.element(),
            ty => ty.element(),
        }
        .map(|element| (element, length))
    }

    /// Whether it is an `out` argument: written, and given by name.
    pub fn is_out(&self) -> bool {
        self.kwarg_only && self.alias.as_ref().is_some_and(|alias| alias.is_write)
    }
}

impl Schema {
    /// The name with the overload: `aten::add.Tensor`.
    pub fn full_name(&self) -> String {
        if self.overload.is_empty() {
            return self.name.to_string();
        }
        format!("{}.{}", self.name, self.overload)
    }

    /// The place of an argument by name.
    pub fn argument_index(&self, name: &str) -> Option<usize> {
        self.arguments.iter().position(|argument| &*argument.name == name)
    }

    /// Whether it writes to one of its arguments: `FunctionSchema::is_mutable`.
    pub fn is_mutable(&self) -> bool {
        self.arguments
            .iter()
            .any(|argument| argument.alias.as_ref().is_some_and(|alias| alias.is_write))
    }
}

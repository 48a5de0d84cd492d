//! The tree: TorchScript's dialect of Python as statements and expressions with ranges.
//!
//! One Rust type for each of PyTorch's "tree views" (`torch/csrc/jit/frontend/tree_views.h`).
//! Every node knows its range, computed as PyTorch does: the range of the token that made the node,
//! merged with the ranges of its children.

use std::sync::Arc;

use crate::Range;

/// A name with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    /// The name.
    pub name: Arc<str>,
    /// Where it stands.
    pub range: Range,
}

/// What a source file holds at its top level.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `def …`
    Def(Arc<Def>),
    /// `class …`
    Class(Arc<Class>),
    /// A plain statement, such as `op_version_set = 1`.
    Stmt(Stmt),
    /// `import …` (of old archives); it has no effect.
    Import(Range),
}

/// `def name(params) -> returns: body`
#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    /// The function's name.
    pub name: Ident,
    /// Its signature.
    pub decl: Decl,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// From `def` to the last statement.
    pub range: Range,
}

/// A signature: `(params) -> returns`.
#[derive(Clone, Debug, PartialEq)]
pub struct Decl {
    /// The parameters, `self` included.
    pub params: Vec<Param>,
    /// The return annotation.
    pub returns: Option<Expr>,
    /// Where it stands.
    pub range: Range,
}

/// One parameter: `name: annotation = default`.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The parameter's name.
    pub name: Ident,
    /// Its annotation.
    pub annotation: Option<Expr>,
    /// Its default.
    pub default: Option<Expr>,
    /// Whether it stands after a bare `*`.
    pub kwarg_only: bool,
    /// Where it stands.
    pub range: Range,
}

/// `class name(superclass): body`
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// The class's name.
    pub name: Ident,
    /// The base class, if one is given.
    pub superclass: Option<Expr>,
    /// Assignments and definitions, in order.
    pub body: Vec<Stmt>,
    /// Properties (made by the Python front end only).
    pub properties: Vec<Property>,
    /// Assignments beside the definitions (kept apart by the Python front end only).
    pub assigns: Vec<Stmt>,
    /// Where it stands.
    pub range: Range,
}

/// A property of a class: a getter and perhaps a setter.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// The property's name.
    pub name: Ident,
    /// The getter's definition.
    pub getter: Arc<Def>,
    /// The setter's definition.
    pub setter: Option<Arc<Def>>,
    /// Where it stands.
    pub range: Range,
}

/// A statement with its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it stands.
    pub range: Range,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// An expression evaluated for its effect.
    Expr(Expr),
    /// `a = b = value`, `a: T = value`, `a: T` (`value` is `None`, in classes only).
    Assign {
        /// The targets, left to right.
        targets: Vec<Expr>,
        /// The right-hand side.
        value: Option<Expr>,
        /// The annotation.
        annotation: Option<Expr>,
    },
    /// `target op= value`
    AugAssign {
        /// What is assigned to.
        target: Expr,
        /// The operator before `=`.
        op: BinaryOp,
        /// The right-hand side.
        value: Expr,
    },
    /// `if`; `elif` is an `if` within `otherwise`.
    If {
        /// The condition.
        condition: Expr,
        /// Statements when it holds.
        then: Vec<Stmt>,
        /// Statements when it does not.
        otherwise: Vec<Stmt>,
    },
    /// `while condition: body`
    While {
        /// The condition.
        condition: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `for targets in iterables: body`
    For {
        /// The targets.
        targets: Vec<Expr>,
        /// The iterables.
        iterables: Vec<Expr>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `with items: body`
    With {
        /// The context managers.
        items: Vec<WithItem>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `return value`; a bare `return` has the expression `None`.
    Return(Expr),
    /// `raise value`
    Raise(Expr),
    /// `assert condition, message`
    Assert {
        /// What must hold.
        condition: Expr,
        /// What is said when it does not.
        message: Option<Expr>,
    },
    /// `del targets`
    Delete(Vec<Expr>),
    /// `global names`
    Global(Vec<Ident>),
    /// `pass`
    Pass,
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// A definition inside a function or a class.
    Def(Arc<Def>),
}

/// `context as target`
#[derive(Clone, Debug, PartialEq)]
pub struct WithItem {
    /// The context manager.
    pub context: Expr,
    /// What `as` binds.
    pub target: Option<Expr>,
    /// Where it stands.
    pub range: Range,
}

/// An expression with its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub range: Range,
}

impl Expr {
    /// The name that this spells, as in `torch.jit.Future`: a variable and attributes of it. `None` for
    /// any other expression.
    #[must_use]
    pub fn dotted_name(&self) -> Option<String> {
        let mut parts = Vec::new();
        let mut at = self;
        while let ExprKind::Attribute { value, name } = &at.kind {
            parts.push(&*name.name);
            at = value;
        }
        let ExprKind::Name(name) = &at.kind else { return None };
        parts.push(&*name.name);
        parts.reverse();
        Some(parts.join("."))
    }
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A variable.
    Name(Ident),
    /// A number.
    Number(Number),
    /// A string; adjacent literals are one.
    Str(Arc<str>),
    /// `True`
    True,
    /// `False`
    False,
    /// `None` (also the value of a bare `return`)
    None,
    /// `NoneType`, in annotations
    NoneType,
    /// `...`
    Dots,
    /// `value.name`
    Attribute {
        /// The object.
        value: Box<Expr>,
        /// The attribute.
        name: Ident,
    },
    /// `callee(args, name=value)`
    Call {
        /// What is called.
        callee: Box<Expr>,
        /// Positional arguments, starred ones included.
        args: Vec<Expr>,
        /// Keyword arguments.
        kwargs: Vec<Keyword>,
    },
    /// `value[indices]`
    Subscript {
        /// The container.
        value: Box<Expr>,
        /// The indices between the commas.
        indices: Vec<Expr>,
    },
    /// `start:stop:step` inside a subscript
    Slice {
        /// The first index.
        start: Option<Box<Expr>>,
        /// One past the last index.
        stop: Option<Box<Expr>>,
        /// The step.
        step: Option<Box<Expr>>,
    },
    /// `[…]`
    List(Vec<Expr>),
    /// `(…,)`
    Tuple(Vec<Expr>),
    /// `{key: value}`
    Dict(Vec<(Expr, Expr)>),
    /// `[element for target in iterable]`
    ListComp {
        /// What each turn yields.
        element: Box<Expr>,
        /// The loop variable.
        target: Box<Expr>,
        /// What is iterated over.
        iterable: Box<Expr>,
    },
    /// `{key: value for target in iterable}`
    DictComp {
        /// Each turn's key.
        key: Box<Expr>,
        /// Each turn's value.
        value: Box<Expr>,
        /// The loop variable.
        target: Box<Expr>,
        /// What is iterated over.
        iterable: Box<Expr>,
    },
    /// `*value`
    Starred(Box<Expr>),
    /// `op operand`
    Unary {
        /// The operator.
        op: UnaryOp,
        /// What it is applied to.
        operand: Box<Expr>,
    },
    /// `left op right`
    Binary {
        /// The operator.
        op: BinaryOp,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `then if condition else otherwise`
    Ternary {
        /// The condition.
        condition: Box<Expr>,
        /// The value when it holds.
        then: Box<Expr>,
        /// The value when it does not.
        otherwise: Box<Expr>,
    },
}

/// `name=value` in a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyword {
    /// The argument's name.
    pub name: Ident,
    /// Its value.
    pub value: Expr,
    /// Where it stands.
    pub range: Range,
}

/// A number as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A number with a point or an exponent.
    Float(f64),
    /// The imaginary part of a number that ends in `j`.
    Complex(f64),
}

impl Number {
    /// Whether it has a minus sign (an integer zero never has).
    pub fn is_negative(&self) -> bool {
        match *self {
            Self::Int(value) => value < 0,
            Self::Float(value) | Self::Complex(value) => value.is_sign_negative(),
        }
    }

    /// It with a minus sign; the smallest integer stays as it is.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Int(value) => Self::Int(value.wrapping_neg()),
            Self::Float(value) => Self::Float(-value),
            Self::Complex(value) => Self::Complex(-value),
        }
    }
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `not x`
    Not,
    /// `~x`
    Invert,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `and`
    And,
    /// `or`
    Or,
    /// `is`
    Is,
    /// `is not`
    IsNot,
    /// `in`
    In,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
    /// `@`
    MatMul,
    /// `**`
    Pow,
    /// `<<`
    LShift,
    /// `>>`
    RShift,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
}

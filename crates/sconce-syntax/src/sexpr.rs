//! Trees as PyTorch prints them: `(return (+ (variable (ident x)) (const 1)))`.
//!
//! Also the way to compare a tree's ranges with PyTorch's: each node says what PyTorch calls it.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

use crate::ast::{
    BinaryOp, Class, Decl, Def, Expr, ExprKind, Ident, Keyword, Number, Param, Property, Stmt,
    StmtKind, UnaryOp, WithItem,
};
use crate::{Range, Source};

/// Lines are broken where a node would reach this column.
const COLUMNS: usize = 40;

/// A node as PyTorch has it: a kind with children, or text.
#[derive(Clone, Debug, PartialEq)]
pub enum Node<'a> {
    /// Text: a name, a number, a string.
    Atom(Cow<'a, str>),
    /// A kind with children.
    Compound {
        /// What PyTorch calls the kind.
        kind: &'static str,
        /// Where it stands. Lists and optional children have a place in PyTorch only.
        range: Option<Range>,
        /// Its children.
        children: Vec<Node<'a>>,
    },
}

impl<'a> Node<'a> {
    /// A definition.
    pub fn def(def: &'a Def, source: &'a Source) -> Self {
        Show(Some(source)).def(def)
    }

    /// A definition made from Python, whose numbers are printed as Python prints them.
    pub fn python_def(def: &'a Def) -> Self {
        Show(None).def(def)
    }

    /// A class made from Python, whose numbers are printed as Python prints them.
    pub fn python_class(class: &'a Class) -> Self {
        Show(None).class(class)
    }

    /// A class.
    pub fn class(class: &'a Class, source: &'a Source) -> Self {
        Show(Some(source)).class(class)
    }

    /// A statement.
    pub fn stmt(stmt: &'a Stmt, source: &'a Source) -> Self {
        Show(Some(source)).stmt(stmt)
    }

    /// An expression.
    pub fn expr(expr: &'a Expr, source: &'a Source) -> Self {
        Show(Some(source)).expr(expr)
    }

    /// A signature.
    pub fn decl(decl: &'a Decl, source: &'a Source) -> Self {
        Show(Some(source)).decl(decl)
    }
}

/// What PyTorch calls the kind of an expression.
pub fn kind_of(expr: &Expr) -> &'static str {
    match Show(None).expr(expr) {
        Node::Compound { kind, .. } => kind,
        Node::Atom(_) => "",
    }
}

fn node<'a>(kind: &'static str, range: Range, children: Vec<Node<'a>>) -> Node<'a> {
    Node::Compound { kind, range: Some(range), children }
}

fn leaf(kind: &'static str, range: Range) -> Node<'static> {
    node(kind, range, Vec::new())
}

fn list(children: Vec<Node<'_>>) -> Node<'_> {
    Node::Compound { kind: "list", range: None, children }
}

fn option(child: Option<Node<'_>>) -> Node<'_> {
    Node::Compound { kind: "option", range: None, children: child.into_iter().collect() }
}

fn ident(ident: &Ident) -> Node<'_> {
    node("ident", ident.range, vec![Node::Atom(Cow::Borrowed(&ident.name))])
}

/// Trees to nodes. Numbers are printed as they are written in the source, if there is one.
struct Show<'a>(Option<&'a Source>);

impl<'a> Show<'a> {
    fn def(&self, def: &'a Def) -> Node<'a> {
        node("def", def.range, vec![ident(&def.name), self.decl(&def.decl), self.stmts(&def.body)])
    }

    fn decl(&self, decl: &'a Decl) -> Node<'a> {
        let params = list(decl.params.iter().map(|param| self.param(param)).collect());
        node("decl", decl.range, vec![params, self.option(decl.returns.as_ref())])
    }

    fn param(&self, param: &'a Param) -> Node<'a> {
        let kwarg_only = if param.kwarg_only { "True" } else { "False" };
        let children = vec![
            ident(&param.name),
            self.option(param.annotation.as_ref()),
            self.option(param.default.as_ref()),
            Node::Compound { kind: kwarg_only, range: None, children: Vec::new() },
        ];
        node("param", param.range, children)
    }

    fn class(&self, class: &'a Class) -> Node<'a> {
        let properties = class.properties.iter().map(|property| self.property(property)).collect();
        // What the text dialect has no place for is missing, what Python's has is there if empty.
        let is_python = self.0.is_none();
        let properties =
            Some(list(properties)).filter(|_| is_python || !class.properties.is_empty());
        let assigns = is_python.then(|| self.stmts(&class.assigns));
        let children = vec![
            ident(&class.name),
            self.option(class.superclass.as_ref()),
            self.stmts(&class.body),
            option(properties),
            option(assigns),
        ];
        node("class", class.range, children)
    }

    fn property(&self, property: &'a Property) -> Node<'a> {
        let setter = option(property.setter.as_ref().map(|setter| self.def(setter)));
        let children = vec![ident(&property.name), self.def(&property.getter), setter];
        node("property", property.range, children)
    }

    fn stmts(&self, stmts: &'a [Stmt]) -> Node<'a> {
        list(stmts.iter().map(|stmt| self.stmt(stmt)).collect())
    }

    fn stmt(&self, stmt: &'a Stmt) -> Node<'a> {
        let range = stmt.range;
        match &stmt.kind {
            StmtKind::Expr(value) => node("expression statement", range, vec![self.expr(value)]),
            StmtKind::Assign { targets, value, annotation } => {
                let [value, annotation] = [value, annotation].map(|it| self.option(it.as_ref()));
                node("assign", range, vec![self.list(targets), value, annotation])
            }
            StmtKind::AugAssign { target, op, value } => {
                let op = Node::Compound { kind: binary(*op), range: None, children: Vec::new() };
                node("aug_assign", range, vec![self.expr(target), op, self.expr(value)])
            }
            StmtKind::If { condition, then, otherwise } => {
                let children = vec![self.expr(condition), self.stmts(then), self.stmts(otherwise)];
                node("if", range, children)
            }
            StmtKind::While { condition, body } => {
                node("while", range, vec![self.expr(condition), self.stmts(body)])
            }
            StmtKind::For { targets, iterables, body } => {
                let children = vec![self.list(targets), self.list(iterables), self.stmts(body)];
                node("for", range, children)
            }
            StmtKind::With { items, body } => {
                let items = list(items.iter().map(|item| self.with_item(item)).collect());
                node("with", range, vec![items, self.stmts(body)])
            }
            StmtKind::Return(value) => node("return", range, vec![self.expr(value)]),
            StmtKind::Raise(value) => node("raise", range, vec![self.expr(value)]),
            StmtKind::Assert { condition, message } => {
                let message = self.option(message.as_ref());
                node("assert", range, vec![self.expr(condition), message])
            }
            StmtKind::Delete(targets) => node("del", range, vec![self.list(targets)]),
            StmtKind::Global(names) => {
                node("global", range, vec![list(names.iter().map(ident).collect())])
            }
            StmtKind::Pass => leaf("pass", range),
            StmtKind::Break => leaf("break", range),
            StmtKind::Continue => leaf("continue", range),
            StmtKind::Def(def) => self.def(def),
        }
    }

    fn with_item(&self, item: &'a WithItem) -> Node<'a> {
        let children = vec![self.expr(&item.context), self.option(item.target.as_ref())];
        node("withitem", item.range, children)
    }

    fn list(&self, exprs: &'a [Expr]) -> Node<'a> {
        list(exprs.iter().map(|expr| self.expr(expr)).collect())
    }

    fn option(&self, expr: Option<&'a Expr>) -> Node<'a> {
        option(expr.map(|expr| self.expr(expr)))
    }

    fn expr(&self, expr: &'a Expr) -> Node<'a> {
        let range = expr.range;
        match &expr.kind {
            ExprKind::Name(name) => node("variable", range, vec![ident(name)]),
            ExprKind::Number(number) => {
                node("const", range, vec![Node::Atom(self.number(number, range))])
            }
            ExprKind::Str(text) => {
                node("string_literal", range, vec![Node::Atom(Cow::Borrowed(text))])
            }
            ExprKind::True => leaf("True", range),
            ExprKind::False => leaf("False", range),
            ExprKind::None => leaf("None", range),
            ExprKind::NoneType => leaf("NoneType", range),
            ExprKind::Dots => leaf("dots", range),
            ExprKind::Attribute { value, name } => {
                node(".", range, vec![self.expr(value), ident(name)])
            }
            ExprKind::Call { callee, args, kwargs } => {
                let kwargs = list(kwargs.iter().map(|keyword| self.keyword(keyword)).collect());
                node("apply", range, vec![self.expr(callee), self.list(args), kwargs])
            }
            ExprKind::Subscript { value, indices } => {
                node("subscript", range, vec![self.expr(value), self.list(indices)])
            }
            ExprKind::Slice { start, stop, step } => {
                let bounds = [start, stop, step].map(|bound| self.option(bound.as_deref()));
                node("slice expr", range, bounds.into())
            }
            ExprKind::List(elements) => node("list-literal", range, vec![self.list(elements)]),
            ExprKind::Tuple(elements) => node("tuple-literal", range, vec![self.list(elements)]),
            ExprKind::Dict(entries) => {
                let keys = list(entries.iter().map(|(key, _)| self.expr(key)).collect());
                let values = list(entries.iter().map(|(_, value)| self.expr(value)).collect());
                node("dict-literal", range, vec![keys, values])
            }
            ExprKind::ListComp { element, target, iterable } => {
                self.compound("list comprehension", range, &[element, target, iterable])
            }
            ExprKind::DictComp { key, value, target, iterable } => {
                self.compound("dict comprehension", range, &[key, value, target, iterable])
            }
            ExprKind::Starred(value) => self.compound("starred", range, &[value]),
            ExprKind::Unary { op, operand } => self.compound(unary(*op), range, &[operand]),
            ExprKind::Binary { op, left, right } => {
                self.compound(binary(*op), range, &[left, right])
            }
            ExprKind::Ternary { condition, then, otherwise } => {
                self.compound("if", range, &[condition, then, otherwise])
            }
        }
    }

    fn compound(&self, kind: &'static str, range: Range, children: &[&'a Expr]) -> Node<'a> {
        node(kind, range, children.iter().map(|child| self.expr(child)).collect())
    }

    fn keyword(&self, keyword: &'a Keyword) -> Node<'a> {
        node("attribute", keyword.range, vec![ident(&keyword.name), self.expr(&keyword.value)])
    }

    /// The range holds the number without its sign.
    fn number(&self, number: &Number, range: Range) -> Cow<'a, str> {
        let Some(source) = self.0 else { return Cow::Owned(python_number(number)) };
        let text = source.text().get(range.start as usize..range.end as usize).unwrap_or("");
        if number.is_negative() { Cow::Owned(format!("-{text}")) } else { Cow::Borrowed(text) }
    }
}

/// A number as Python's `str` gives it.
pub fn python_number(number: &Number) -> String {
    match number {
        Number::Int(value) => value.to_string(),
        Number::Float(value) => python_float(*value, ".0"),
        Number::Complex(value) => format!("{}j", python_float(*value, "")),
    }
}

/// The shortest digits that give the float back, with an exponent where Python has one, and with
/// `point` after an integral number.
fn python_float(value: f64, point: &str) -> String {
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return if value.is_nan() { "nan".into() } else { scientific };
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => {
            let plain = format!("{value}");
            let is_integral = !plain.contains('.');
            if is_integral { plain + point } else { plain }
        }
    }
}

fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "unary minus",
        UnaryOp::Not => "not",
        UnaryOp::Invert => "~",
    }
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
        BinaryOp::Is => "is",
        BinaryOp::IsNot => "is not",
        BinaryOp::In => "in",
        BinaryOp::Eq => "eq",
        BinaryOp::Ne => "ne",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "le",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => "ge",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::FloorDiv => "floordiv",
        BinaryOp::Mod => "%",
        BinaryOp::MatMul => "@",
        BinaryOp::Pow => "pow operator",
        BinaryOp::LShift => "<<",
        BinaryOp::RShift => ">>",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
    }
}

impl Display for Node<'_> {
    /// On one line if that is short, else with each child on a line of its own.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.print(0, out)
    }
}

impl Node<'_> {
    fn print(&self, indent: usize, out: &mut Formatter<'_>) -> fmt::Result {
        let Self::Compound { kind, children, .. } = self else { return self.print_flat(out) };
        if self.fits(COLUMNS.saturating_sub(indent)) {
            return self.print_flat(out);
        }
        write!(out, "({kind}")?;
        let indent = indent + 2;
        for child in children {
            write!(out, "\n{:indent$}", "")?;
            child.print(indent, out)?;
        }
        out.write_str(")")
    }

    fn print_flat(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Atom(text) => out.write_str(text),
            Self::Compound { kind, children, .. } => {
                write!(out, "({kind}")?;
                for child in children {
                    out.write_str(" ")?;
                    child.print_flat(out)?;
                }
                out.write_str(")")
            }
        }
    }

    /// Whether it has fewer bytes than this, printed flat.
    fn fits(&self, columns: usize) -> bool {
        self.left_of(columns).is_some_and(|left| left > 0)
    }

    /// How many of so many columns are left when it is printed flat.
    fn left_of(&self, columns: usize) -> Option<usize> {
        match self {
            Self::Atom(text) => columns.checked_sub(text.len()),
            Self::Compound { kind, children, .. } => children
                .iter()
                .try_fold(columns.checked_sub(kind.len() + "()".len())?, |left, child| {
                    child.left_of(left.checked_sub(" ".len())?)
                }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_python_prints_them() {
        let cases = [
            (Number::Int(1000), "1000"),
            (Number::Float(1e-5), "1e-05"),
            (Number::Float(0.0001), "0.0001"),
            (Number::Float(1.5), "1.5"),
            (Number::Float(2e20), "2e+20"),
            (Number::Float(1e15), "1000000000000000.0"),
            (Number::Float(1.25e16), "1.25e+16"),
            (Number::Float(0.0), "0.0"),
            (Number::Float(f64::INFINITY), "inf"),
            (Number::Complex(2.0), "2j"),
            (Number::Complex(1.5), "1.5j"),
        ];
        for (number, expected) in cases {
            assert_eq!(python_number(&number), expected);
        }
    }
}

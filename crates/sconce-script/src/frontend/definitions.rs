//! Definitions: signatures and bodies.

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_text_size::Ranged;
use sconce_compiler::Error;
use sconce_syntax::Range;
use sconce_syntax::ast::{Decl, Def, Expr, ExprKind, Ident, Param, Stmt, StmtKind};

use super::{Frontend, around, type_comments, width};
use crate::snippet::Snippet;

const NO_VARIADICS: &str = "Compiled functions can't take variable number of arguments or use \
                            keyword-only arguments with defaults";

/// What becomes of a definition's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// It is compiled.
    Compiled,
    /// It raises, and the types of the parameters do not count (an unused method).
    Raises,
    /// It stays in Python; only the signature counts.
    Left,
}

/// What a definition is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'a> {
    /// The name that the tree gets.
    pub(crate) name: &'a str,
    /// For a method, what the type of `self` is called.
    pub(crate) self_name: Option<&'a str>,
    /// What becomes of the body.
    pub(crate) body: Body,
    /// Whether the first argument is the class (`@classmethod`).
    pub(crate) is_class_method: bool,
}

/// Where `def` stands.
pub(super) fn keyword(snippet: &Snippet, function: &py::StmtFunctionDef) -> Range {
    let name = function.name.start().to_usize();
    let word = if function.is_async { "async" } else { "def" };
    let before = snippet.text.get(..name).and_then(|text| text.rfind(word)).unwrap_or(name);
    snippet.range(before as u32, "def".len())
}

/// PyTorch's tree of a function: `torch.jit.frontend.get_jit_def`, and the source of the functions
/// that blocks in it became which are left to Python.
pub(crate) fn definition(
    snippet: &Snippet,
    mut function: py::StmtFunctionDef,
    shape: Shape<'_>,
) -> Result<(Def, Vec<String>), Error> {
    let statements = std::mem::take(&mut function.body);
    let mut frontend = Frontend::new(snippet, function.name.as_str());
    let at = keyword(snippet, &function);
    if function.is_async {
        return Err(frontend.error(at, "async function definitions aren't supported"));
    }
    let params = frontend.params(&function.parameters, shape)?;
    let returns = function.returns.as_deref().map(|ty| frontend.expression(ty)).transpose()?;
    let children = params.iter().map(|param| &param.range);
    let range = around(at, children.chain(returns.iter().map(|returns| &returns.range)));
    let decl = Decl { params, returns, range };
    let is_method = shape.self_name.is_some();
    let decl = type_comments::merge(decl, snippet.source.text(), &snippet.source, is_method)?;
    let body = match shape.body {
        Body::Compiled => frontend.body(&function, statements, shape)?,
        Body::Raises => unused_body(snippet),
        Body::Left => Vec::new(),
    };
    let range = around(at.merge(decl.range), body.iter().map(|stmt| &stmt.range));
    let name = Ident { name: shape.name.into(), range: at };
    Ok((Def { name, decl, body, range }, frontend.blocks))
}

impl Frontend<'_> {
    fn params(&mut self, params: &py::Parameters, shape: Shape<'_>) -> Result<Vec<Param>, Error> {
        let variadic = params.kwarg.as_ref().or(params.vararg.as_ref());
        if let Some(variadic) = variadic.filter(|_| shape.body != Body::Raises) {
            let stars = variadic.name.start().to_u32().saturating_sub(1);
            let at = self.snippet.range(stars, width(&variadic.name) + 1);
            return Err(self.error(at, NO_VARIADICS));
        }
        for param in &params.kwonlyargs {
            if let Some(default) = &param.default {
                let at = self.expression(default)?.range;
                return Err(self.error(at, NO_VARIADICS));
            }
        }
        let positional = params.args.iter().map(|param| (param, false));
        let named = params.kwonlyargs.iter().map(|param| (param, true));
        positional
            .chain(named)
            .map(|(param, kwarg_only)| self.param(&param.parameter, kwarg_only, shape))
            .collect()
    }

    fn param(
        &mut self,
        param: &py::Parameter,
        kwarg_only: bool,
        shape: Shape<'_>,
    ) -> Result<Param, Error> {
        let name = param.name.as_str();
        let at = self.at(&param.name, width(name));
        let named = |name: &str| {
            let ident = Ident { name: Arc::from(name), range: at };
            Expr { kind: ExprKind::Name(ident), range: at }
        };
        let annotation = match (&param.annotation, shape.self_name) {
            (_, _) if shape.body == Body::Raises => Some(named("Any")),
            (Some(annotation), _) => Some(self.expression(annotation)?),
            (None, Some(self_name)) if name == "self" => Some(named(self_name)),
            (None, _) => None,
        };
        let range = around(at, annotation.iter().map(|annotation| &annotation.range));
        let name = Ident { name: Arc::from(name), range: at };
        Ok(Param { name, annotation, default: None, kwarg_only, range })
    }

    fn body(
        &mut self,
        function: &py::StmtFunctionDef,
        statements: Vec<py::Stmt>,
        shape: Shape<'_>,
    ) -> Result<Vec<Stmt>, Error> {
        // Each is dropped once it is translated: two trees of a long function are not there at once.
        let mut body = Vec::with_capacity(statements.len());
        for statement in statements {
            body.push(self.statement(&statement)?);
        }
        if let (true, Some(class)) = (shape.is_class_method, shape.self_name)
            && let Some(first) = function.parameters.args.first()
        {
            let at = keyword(self.snippet, function);
            let named = |name: &str| {
                let ident = Ident { name: name.into(), range: at };
                Expr { kind: ExprKind::Name(ident), range: at }
            };
            let (targets, value) = (vec![named(first.name().as_str())], Some(named(class)));
            let kind = StmtKind::Assign { targets, value, annotation: None };
            body.insert(0, Stmt { kind, range: at });
        }
        Ok(body)
    }
}

/// `raise RuntimeError("Cannot call @unused methods")`, which PyTorch parses as the second line of a
/// function, one byte in, and places in the lines of the definition that it stands for.
fn unused_body(snippet: &Snippet) -> Vec<Stmt> {
    const MESSAGE: &str = "Cannot call @unused methods";
    let at = |column, length| snippet.range_at(1, column, length);
    let ident = Ident { name: "RuntimeError".into(), range: at(7, "RuntimeError".len()) };
    let range = ident.range;
    let callee = Box::new(Expr { kind: ExprKind::Name(ident), range });
    let text = Expr { kind: ExprKind::Str(MESSAGE.into()), range: at(20, MESSAGE.len() + 1) };
    let range = range.merge(text.range);
    let kind = ExprKind::Call { callee, args: vec![text], kwargs: Vec::new() };
    let call = Expr { kind, range };
    let range = at(1, "raise".len()).merge(range);
    vec![Stmt { kind: StmtKind::Raise(call), range }]
}

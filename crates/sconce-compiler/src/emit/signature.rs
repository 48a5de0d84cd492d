//! Signatures of definitions: types from annotations, defaults from expressions that are known at compile time.

use std::sync::Arc;

use sconce_ir::operators::CURRENT_VERSION;
use sconce_ir::{Argument, Attribute, Constant, Graph, Prim, Schema, Type, Unit, ValueId};
use sconce_syntax::ast::{Def, Expr, ExprKind, Param, Stmt, StmtKind};
use sconce_syntax::{Source, SourceRange};

use super::Emitter;
use crate::annotations::{broadcasting_list, type_of_expression};
use crate::builtins::Builtins;
use crate::{Error, Resolver};

impl Emitter<'_> {
    /// The type that an annotation means.
    pub(super) fn annotation(&mut self, expression: &Expr) -> Result<Type, Error> {
        let source = Arc::clone(self.source());
        type_of_expression(self.unit, self.resolver, expression, &source)
    }
}

/// The signature of a definition. Defaults see `builtins`.
pub(crate) fn schema_of(
    unit: &mut Unit,
    resolver: &mut dyn Resolver,
    builtins: Option<&'static Builtins>,
    def: &Def,
    source: &Arc<Source>,
    self_type: Option<Type>,
    name: Arc<str>,
) -> Result<Schema, Error> {
    let mut arguments = Vec::with_capacity(def.decl.params.len());
    let mut parameters = def.decl.params.as_slice();
    if let Some(self_type) = self_type {
        let Some((this, rest)) = parameters.split_first() else {
            let at = SourceRange::new(Arc::clone(source), def.decl.range);
            return Err(Error::new("methods must have a self argument", at));
        };
        arguments.push(Argument::new(Arc::clone(&this.name.name), self_type));
        parameters = rest;
    }
    for parameter in parameters {
        arguments.push(argument(unit, resolver, builtins, parameter, source)?);
    }
    let mut returns = Vec::new();
    if let Some(annotation) = &def.decl.returns {
        if broadcasting_list(annotation, source)?.is_some() {
            let at = SourceRange::new(Arc::clone(source), annotation.range);
            return Err(Error::new("Broadcastable lists cannot appear as a return type", at));
        }
        let ty = type_of_expression(unit, resolver, annotation, source)?;
        returns.push(Argument::new("", ty));
    }
    Ok(Schema { name, overload: "".into(), arguments, returns, is_vararg: false, is_varret: false })
}

fn argument(
    unit: &mut Unit,
    resolver: &mut dyn Resolver,
    builtins: Option<&'static Builtins>,
    parameter: &Param,
    source: &Arc<Source>,
) -> Result<Argument, Error> {
    let (ty, fixed_size) = match &parameter.annotation {
        None => (Type::inferred_tensor(), None),
        Some(annotation) => match broadcasting_list(annotation, source)? {
            Some((ty, size)) => (ty, Some(size)),
            None => (type_of_expression(unit, resolver, annotation, source)?, None),
        },
    };
    let mut argument = Argument::new(Arc::clone(&parameter.name.name), ty);
    argument.fixed_size = fixed_size;
    argument.kwarg_only = parameter.kwarg_only;
    if let Some(default) = &parameter.default {
        if parameter.annotation.is_none() {
            let at = SourceRange::new(Arc::clone(source), parameter.range);
            return Err(Error::new(
                "Keyword arguments with defaults need to be type-hinted (TorchScript C++ frontend)",
                at,
            ));
        }
        argument.default = Some(constant(unit, resolver, builtins, default, &argument.ty, source)?);
    }
    Ok(argument)
}

/// The value of an expression that is known at compile time, as a value of a type.
pub(crate) fn constant(
    unit: &mut Unit,
    resolver: &mut dyn Resolver,
    builtins: Option<&'static Builtins>,
    expression: &Expr,
    ty: &Type,
    source: &Arc<Source>,
) -> Result<Constant, Error> {
    let def = Def {
        name: sconce_syntax::ast::Ident { name: "defaults".into(), range: expression.range },
        decl: sconce_syntax::ast::Decl {
            params: Vec::new(),
            returns: None,
            range: expression.range,
        },
        body: vec![Stmt {
            kind: StmtKind::Return(Expr {
                kind: ExprKind::Tuple(vec![expression.clone()]),
                range: expression.range,
            }),
            range: expression.range,
        }],
        range: expression.range,
    };
    let schema = Schema {
        name: "defaults".into(),
        overload: "".into(),
        arguments: Vec::new(),
        returns: vec![Argument::new("", Type::tuple(vec![ty.clone()]))],
        is_vararg: false,
        is_varret: false,
    };
    let source = Arc::clone(source);
    let mut emitter =
        Emitter::new(unit, resolver, builtins, "defaults", Arc::clone(&source), CURRENT_VERSION);
    emitter.define(&def, &schema)?;
    let graph = emitter.graph;
    let returned = graph
        .block_nodes(graph.root())
        .find(|&node| graph.node(node).is(Prim::ReturnStmt))
        .and_then(|node| graph.node(node).inputs().first().copied());
    match returned.and_then(|value| constant_of(&graph, value)) {
        Some(Constant::Tuple(elements, _)) if elements.len() == 1 => Ok(elements[0].clone()),
        _ => {
            let at = SourceRange::new(source, expression.range);
            Err(Error::new("a default must be known at compile time", at))
        }
    }
}

/// The value behind what a default's graph makes.
fn constant_of(graph: &Graph, value: ValueId) -> Option<Constant> {
    let node = graph.node(graph.value(value).node());
    let inputs = || -> Option<Vec<Constant>> {
        node.inputs().iter().map(|&input| constant_of(graph, input)).collect()
    };
    let ty = graph.ty(value);
    if node.is(Prim::Constant) {
        return graph.constant(value);
    }
    if node.is(Prim::UncheckedCast) {
        return inputs()?.pop();
    }
    if node.is(Prim::TupleConstruct) {
        let named = matches!(ty, Type::Tuple(tuple) if tuple.named.is_some());
        return Some(Constant::Tuple(inputs()?.into(), named.then(|| ty.clone())));
    }
    match ty {
        Type::List(element) if node.is(Prim::ListConstruct) => {
            Some(Constant::List((**element).clone(), inputs()?.into()))
        }
        Type::List(element) if node.is(Prim::EmptyListLiteral) => {
            Some(Constant::List((**element).clone(), [].into()))
        }
        Type::Dict(of) if node.is(Prim::DictConstruct) => {
            let inputs = inputs()?;
            let items = inputs.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
            Some(Constant::Dict(of.0.clone(), of.1.clone(), items.collect()))
        }
        Type::Device => match inputs()?.first()? {
            Constant::Str(text) => Some(Constant::Device(Arc::clone(text))),
            _ => None,
        },
        Type::Enum(_) => match node.attribute("value") {
            Some(Attribute::Value(value)) => Some(value.clone()),
            _ => None,
        },
        _ => None,
    }
}

//! From a definition to the graph that PyTorch saves.

use std::sync::Arc;

use sconce_ir::operators::Upgrader;
use sconce_ir::{Argument, Constant, Graph, NodeId, Schema, Type, Unit};
use sconce_syntax::Source;
use sconce_syntax::ast::Expr;

use crate::builtins::{Builtin, Builtins};
use crate::definition::Definition;
use crate::emit::{Emitter, signature};
use crate::resolver::TorchOnly;
use crate::{Error, Resolver, apply_upgraders, passes, ssa};

/// How to compile.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Stops before the conversion to values: the graph has loads and stores.
    pub emit_only: bool,
    /// Leaves out the functions that stand beside the operators; for these functions themselves.
    pub(crate) without_builtins: bool,
}

/// The signature of a definition: types from annotations, defaults evaluated. A method's first
/// argument is of `self_type`. Without a return annotation it has no return value yet; see
/// [`completed`].
///
/// # Errors
/// An annotation that is not a type, or a default that is not known at compile time.
pub fn declare(
    unit: &mut Unit,
    resolver: &mut dyn Resolver,
    definition: &Definition,
    self_type: Option<Type>,
    qualified_name: Arc<str>,
) -> Result<Schema, Error> {
    let Definition { def, source, .. } = definition;
    signature::schema_of(unit, resolver, None, def, source, self_type, qualified_name)
}

/// The graph of a definition, of the signature that [`declare`] gave: what PyTorch saves.
///
/// # Errors
/// What is wrong with the program, in PyTorch's wording.
pub fn compile(
    unit: &mut Unit,
    resolver: &mut dyn Resolver,
    definition: &Definition,
    schema: &Schema,
    options: &Options,
) -> Result<Graph, Error> {
    let source = (Arc::clone(&definition.source), definition.op_version);
    compile_with(unit, resolver, source, schema, options, |emitter| {
        emitter.define(&definition.def, schema)
    })
}

/// As [`compile`], of a definition that is not needed afterwards: where nothing else holds its tree, what is
/// compiled is dropped.
///
/// # Errors
/// As [`compile`].
pub fn compile_owned(
    unit: &mut Unit,
    resolver: &mut dyn Resolver,
    definition: Definition,
    schema: &Schema,
    options: &Options,
) -> Result<Graph, Error> {
    let Definition { def, source, op_version } = definition;
    compile_with(unit, resolver, (source, op_version), schema, options, |emitter| {
        match Arc::try_unwrap(def) {
            Ok(def) => emitter.define_owned(def, schema),
            Err(def) => emitter.define(&def, schema),
        }
    })
}

fn compile_with(
    unit: &mut Unit,
    resolver: &mut dyn Resolver,
    (source, op_version): (Arc<Source>, u32),
    schema: &Schema,
    options: &Options,
    define: impl FnOnce(&mut Emitter<'_>) -> Result<(), Error>,
) -> Result<Graph, Error> {
    let builtins = (!options.without_builtins).then(|| Builtins::get(compile_builtin));
    let mut emitter = Emitter::new(unit, resolver, builtins, &schema.name, source, op_version);
    emitter.keeps_variables = options.emit_only;
    define(&mut emitter)?;
    let Emitter { unit, mut graph, outdated, .. } = emitter;
    apply_upgraders::replace(&mut graph, &outdated, compile_upgrader);
    if options.emit_only {
        return Ok(graph);
    }
    ssa::convert_to_ssa(unit, &mut graph)?;
    passes::clean_up(&mut graph)?;
    graph.compact();
    Ok(graph)
}

/// A function that stands beside the operators. It sees no others of them.
fn compile_builtin(definition: &Definition) -> Result<Builtin, Error> {
    let options = Options { without_builtins: true, ..Options::default() };
    let (declared, graph) = compile_alone(definition, &options)?;
    Ok(Builtin { schema: completed(&declared, &graph), graph })
}

/// What an upgrader puts in an operator's place.
fn compile_upgrader(definition: &Definition) -> Result<Graph, Error> {
    compile_alone(definition, &Options::default()).map(|(_, graph)| graph)
}

/// Puts upgraders in the place of calls of operators in a graph that was not compiled here: each node with the upgrader
/// that says what it meant.
pub fn upgrade(graph: &mut Graph, calls: &[(NodeId, &Upgrader)]) {
    apply_upgraders::upgrade(graph, calls, compile_upgrader);
}

/// A function in a unit of its own, which names nothing but operators.
fn compile_alone(definition: &Definition, options: &Options) -> Result<(Schema, Graph), Error> {
    let mut unit = Unit::new();
    let name = Arc::clone(&definition.def.name.name);
    let declared = declare(&mut unit, &mut TorchOnly, definition, None, name)?;
    let graph = compile(&mut unit, &mut TorchOnly, definition, &declared, options)?;
    Ok((declared, graph))
}

/// The signature with the return type that the graph has.
pub fn completed(schema: &Schema, graph: &Graph) -> Schema {
    let mut schema = schema.clone();
    if schema.returns.is_empty() {
        let outputs = graph.outputs().iter();
        schema.returns =
            outputs.map(|&output| Argument::new("", graph.ty(output).clone())).collect();
    }
    schema
}

/// The value of an expression that is known at compile time, as a value of a type: a default, a
/// class's constant.
///
/// # Errors
/// The expression is not of the type, or not known at compile time.
pub fn evaluate(
    unit: &mut Unit,
    resolver: &mut dyn Resolver,
    expression: &Expr,
    ty: &Type,
    source: &Arc<Source>,
) -> Result<Constant, Error> {
    signature::constant(unit, resolver, None, expression, ty, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_compiles() {
        let builtins = Builtins::get(compile_builtin);
        let mut definitions: Vec<(&str, &Definition)> = builtins.definitions().collect();
        definitions.sort_by_key(|(name, _)| *name);
        for (name, definition) in &definitions {
            let compiled = compile_builtin(definition);
            assert!(compiled.is_ok(), "{name}: {:?}", compiled.err());
        }
        let overloads = |name| definitions.iter().filter(|(known, _)| *known == name).count();
        assert_eq!(overloads("aten::mul"), 3);
        assert_eq!(overloads("aten::_pair"), 2);
        assert_eq!(overloads("aten::_assert"), 2);
        assert_eq!(overloads("prim::shape"), 1);
    }
}

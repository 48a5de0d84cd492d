//! Which operator a node calls.

use std::sync::Arc;

use sconce_ir::{Graph, Node, Schema, TypeVariables, Unit, operators};

/// The schema of the operator that a node calls: the one it was matched to, else the first of its
/// symbol that takes its inputs (`Node::maybeSchema`). `None` for an instruction.
pub(crate) fn schema(unit: &Unit, graph: &Graph, node: &Node) -> Option<Arc<Schema>> {
    let operator = match node.operator {
        Some(id) => operators::get(id),
        None => {
            let candidates = operators::named(node.kind.symbol()).iter();
            candidates.into_iter().find(|operator| takes(unit, graph, node, &operator.schema))
        }
    };
    operator.map(|operator| Arc::clone(&operator.schema))
}

/// Whether a schema takes a node's inputs as they are. PyTorch's `Node::matches`.
fn takes(unit: &Unit, graph: &Graph, node: &Node, schema: &Schema) -> bool {
    let (formals, actuals) = (&schema.arguments, node.inputs());
    if actuals.len() < formals.len() || (actuals.len() > formals.len() && !schema.is_vararg) {
        return false;
    }
    let mut variables = TypeVariables::default();
    formals.iter().zip(actuals).all(|(formal, &actual)| {
        let actual = graph.ty(actual);
        match formal.ty.match_type_variables(actual, &mut variables, unit) {
            Ok(formal) => actual.is_subtype_of(&formal, unit),
            Err(_) => false,
        }
    })
}

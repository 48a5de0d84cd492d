//! Which operator a node is, told by its symbol and the types of its inputs.

use std::sync::LazyLock;

use crate::typing::TypeVariables;
use crate::{Graph, Kind, NodeId, Operator, Prim, Schema, Type, Unit, operators};

/// Schemas speak of no classes but torchbind ones, which have no subtypes: no unit is needed.
static NO_CLASSES: LazyLock<Unit> = LazyLock::new(Unit::new);

impl Graph {
    /// The operator that a node calls: the one that was matched, or else the first whose schema
    /// takes its inputs (`Node::maybeOperator`).
    pub fn operator(&self, node: NodeId) -> Option<&'static Operator> {
        let at = self.node(node);
        if let Some(id) = at.operator {
            return operators::get(id);
        }
        if matches!(at.kind, Kind::Prim(prim) if !has_operators(prim)) {
            return None;
        }
        let candidates = operators::named(at.kind.symbol()).iter();
        candidates.into_iter().find(|operator| self.takes_inputs(&operator.schema, node))
    }

    /// Finds the operators of the nodes that have none.
    pub(crate) fn match_operators(&mut self) {
        let nodes: Vec<NodeId> = self.preorder(self.root()).collect();
        for node in nodes {
            if self.node(node).operator.is_none() {
                self.node_mut(node).operator = self.operator(node).map(|operator| operator.id);
            }
        }
    }

    fn takes_inputs(&self, schema: &Schema, node: NodeId) -> bool {
        let inputs = self.node(node).inputs();
        let outputs = self.node(node).outputs();
        let enough = inputs.len() == schema.arguments.len()
            || (schema.is_vararg && inputs.len() > schema.arguments.len());
        let returned = schema.is_varret || outputs.len() == schema.returns.len();
        if !enough || !returned {
            return false;
        }
        let mut variables = TypeVariables::default();
        schema.arguments.iter().zip(inputs).all(|(argument, &input)| {
            let actual = self.ty(input);
            accepts(&argument.ty, actual, &mut variables)
        })
    }
}

/// The instructions that stand in the table of operators too.
fn has_operators(prim: Prim) -> bool {
    matches!(
        prim,
        Prim::UncheckedCast
            | Prim::UncheckedUnwrapOptional
            | Prim::Uninitialized
            | Prim::RaiseException
            | Prim::Print
            | Prim::TupleIndex
            | Prim::TupleUnpack
            | Prim::EnumName
            | Prim::EnumValue
            | Prim::ModuleContainerIndex
            | Prim::ToList
            | Prim::PythonOp
            | Prim::RpcAsync
            | Prim::RpcSync
            | Prim::RpcRemote
    )
}

fn accepts(formal: &Type, actual: &Type, variables: &mut TypeVariables) -> bool {
    match formal.match_type_variables(actual, variables, &NO_CLASSES) {
        Ok(formal) => actual.is_subtype_of(&formal, &NO_CLASSES),
        // `t?` takes None though it does not say what `t` is.
        Err(_) => matches!((formal, actual), (Type::Optional(_), Type::None)),
    }
}

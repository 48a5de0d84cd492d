//! Assertions of exported programs that are known to hold: what they ask of a tensor is known of these arguments.

use sconce_ir::{Constant, NodeId};

use crate::optimize::Optimization;

/// Removes the assertions of dtypes that hold for the arguments that the graph is optimised for.
pub(crate) fn remove_known(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        if holds(optimization, node) == Some(true) {
            optimization.graph.destroy(node);
        }
    }
    optimization.refresh();
}

fn holds(o: &Optimization, node: NodeId) -> Option<bool> {
    if !o.is_op(node, "sconce::assert_tensor_metadata") {
        return None;
    }
    let &[tensor, sizes, strides, dtype] = o.graph.node(node).inputs() else { return None };
    let is_none = |value| o.constant(value) == Some(Constant::None);
    if !is_none(sizes) || !is_none(strides) {
        return None;
    }
    match o.constant(dtype)? {
        Constant::None => Some(true),
        Constant::Int(dtype) => {
            let known = match o.fact(tensor) {
                Some(fact) => fact.dtype,
                None => o.constant_tensor(tensor)?.dtype(),
            };
            Some(i64::from(known.scalar_type_number()) == dtype)
        }
        _ => None,
    }
}

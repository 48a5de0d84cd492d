//! Loads become the values last stored.
//!
//! PyTorch's `EraseLoadStores`.

use std::sync::Arc;

use sconce_ir::{BlockId, Graph, NodeId, Prim, ValueId};

use super::frames::Frames;
use super::{error_at, first_in_block, next_in_block};
use crate::Error;

/// Puts stored values in the place of loads, and dissolves the scopes of comprehensions.
pub(super) fn loads_and_stores(graph: &mut Graph) -> Result<(), Error> {
    graph.release_retired();
    let root = graph.root();
    block(graph, root, &mut Frames::new())
}

fn block(graph: &mut Graph, block: BlockId, values: &mut Frames<ValueId>) -> Result<(), Error> {
    values.push();
    let mut at = first_in_block(graph, block);
    while let Some(node) = at {
        at = next_in_block(graph, node);
        self::node(graph, node, values)?;
    }
    values.pop();
    Ok(())
}

fn node(graph: &mut Graph, id: NodeId, values: &mut Frames<ValueId>) -> Result<(), Error> {
    let node = graph.node(id);
    if node.is(Prim::Store) {
        if let (Some(name), Some(&value)) = (node.str_attribute("name"), node.inputs().first()) {
            values.set(Arc::clone(name), value);
        }
        graph.destroy(id);
        return Ok(());
    }
    if node.is(Prim::Load) {
        let name = node.str_attribute("name").map_or("", |name| &**name);
        let Some(&value) = values.find(name) else {
            return Err(error_at(graph, id, format!("undefined value {name}")));
        };
        if let Some(&output) = node.outputs().first() {
            graph.replace_all_uses(output, value);
        }
        graph.destroy(id);
        return Ok(());
    }
    let is_scope = node.is(Prim::ComprehensionScope);
    for index in 0..graph.node(id).blocks().len() {
        let inner = graph.node(id).blocks()[index];
        block(graph, inner, values)?;
        while let Some(first) = first_in_block(graph, inner).filter(|_| is_scope) {
            graph.move_before(first, id);
        }
    }
    if is_scope {
        graph.destroy(id);
    }
    Ok(())
}

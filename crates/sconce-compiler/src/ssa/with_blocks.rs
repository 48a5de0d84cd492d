//! What stands between `prim::Enter` and `prim::Exit`, as a block for the time exits are transformed.
//!
//! `Exit` must run whether or not the statements before it return early, so it may not be guarded
//! with them. PyTorch's `convertEnterExitNodesToWithBlocks` and its inverse.

use sconce_ir::{Graph, NodeId, Prim};

use super::{error_at, first_in_block};
use crate::Error;

/// Wraps the statements after each `Enter` in a `prim::With`, whose second block has the `Exit`; says
/// whether there was any.
pub(super) fn wrap(graph: &mut Graph) -> Result<bool, Error> {
    let pairs = pairs(graph)?;
    let has_with = !pairs.is_empty();
    for (enter, exit) in pairs {
        let with = graph.new_node(Prim::With, &[]);
        let body = graph.add_block(with);
        let end = graph.add_block(with);
        let body_end = graph.return_node(body);
        let mut at = graph.next(enter);
        while at != exit {
            let next = graph.next(at);
            graph.move_before(at, body_end);
            at = next;
        }
        let end = graph.return_node(end);
        graph.move_before(exit, end);
        graph.insert_after(with, enter);
    }
    Ok(has_with)
}

/// Dissolves every `prim::With`.
pub(super) fn unwrap(graph: &mut Graph) {
    for with in nodes(graph) {
        if !graph.node(with).is(Prim::With) {
            continue;
        }
        for index in 0..graph.node(with).blocks().len() {
            let block = graph.node(with).blocks()[index];
            while let Some(inner) = first_in_block(graph, block) {
                graph.move_before(inner, with);
            }
        }
        graph.destroy(with);
    }
}

/// Each `Enter` with its `Exit`, inner pairs first.
fn pairs(graph: &Graph) -> Result<Vec<(NodeId, NodeId)>, Error> {
    let mut open: Vec<NodeId> = Vec::new();
    let mut pairs = Vec::new();
    for id in nodes(graph) {
        let node = graph.node(id);
        if node.is(Prim::Enter) {
            open.push(id);
        } else if node.is(Prim::Exit) {
            let enter = open.pop().filter(|&enter| {
                let enter = graph.node(enter);
                enter.owner() == node.owner() && enter.inputs().first() == node.inputs().first()
            });
            let Some(enter) = enter else {
                return Err(error_at(graph, id, "prim::Exit without its prim::Enter"));
            };
            pairs.push((enter, id));
        }
    }
    match open.first() {
        Some(&enter) => Err(error_at(graph, enter, "prim::Enter without its prim::Exit")),
        None => Ok(pairs),
    }
}

fn nodes(graph: &Graph) -> Vec<NodeId> {
    graph.preorder(graph.root()).collect()
}

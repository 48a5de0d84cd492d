//! `break` and `continue` as the values they hand to their loop.
//!
//! PyTorch's `LoopContinuations`.

use rustc_hash::FxHashMap;
use sconce_ir::{BlockId, Constant, Graph, NodeId, Prim, ValueId};

use super::{error_at, first_in_block, next_in_block};
use crate::Error;

/// Turns every `break` and `continue` into `prim::LoopContinuation(condition, carried…)`.
pub(super) fn target_loops(graph: &mut Graph) -> Result<(), Error> {
    let root = graph.root();
    function(graph, root)
}

/// A graph's or closure's block: its breaks concern only loops within it.
fn function(graph: &mut Graph, block: BlockId) -> Result<(), Error> {
    let constant = graph.new_constant(&Constant::Bool(false));
    graph.prepend(block, constant);
    let stop = graph.node(constant).output();
    self::block(graph, block, None, stop)
}

fn block(
    graph: &mut Graph,
    block: BlockId,
    innermost: Option<NodeId>,
    stop: ValueId,
) -> Result<(), Error> {
    let mut at = first_in_block(graph, block);
    while let Some(id) = at {
        at = next_in_block(graph, id);
        let node = graph.node(id);
        if node.is(Prim::If) {
            for index in 0..node.blocks().len() {
                self::block(graph, graph.node(id).blocks()[index], innermost, stop)?;
            }
        } else if node.is(Prim::Closure) {
            if let Some(&body) = node.blocks().first() {
                function(graph, body)?;
            }
        } else if node.is(Prim::Loop) {
            if let Some(&body) = node.blocks().first() {
                self::block(graph, body, Some(id), stop)?;
            }
        } else if node.is(Prim::ContinueStmt) || node.is(Prim::BreakStmt) {
            exit(graph, id, innermost, stop)?;
        }
    }
    Ok(())
}

/// Replaces one `break` or `continue`.
fn exit(
    graph: &mut Graph,
    statement: NodeId,
    innermost: Option<NodeId>,
    stop: ValueId,
) -> Result<(), Error> {
    let is_continue = graph.node(statement).is(Prim::ContinueStmt);
    let Some(&[body, header]) = innermost.map(|node| graph.node(node).blocks()) else {
        let word = if is_continue { "continue" } else { "break" };
        return Err(error_at(graph, statement, format!("SyntaxError: '{word}' outside loop")));
    };
    let continuation = graph.new_node(Prim::LoopContinuation, &[]);
    graph.insert_after(continuation, statement);
    let condition = if is_continue {
        let mut map = FxHashMap::default();
        let results = graph.duplicate_nodes(header, statement, &mut map);
        results.first().copied().unwrap_or(stop)
    } else {
        stop
    };
    graph.add_node_input(continuation, condition);
    for index in 0..graph.block_outputs(body).len() {
        let load = graph.value(graph.block_outputs(body)[index]).node();
        let copy = graph.duplicate_node(load, &mut FxHashMap::default());
        graph.insert_before(copy, continuation);
        let value = graph.node(copy).output();
        graph.add_node_input(continuation, value);
    }
    graph.destroy(statement);
    Ok(())
}

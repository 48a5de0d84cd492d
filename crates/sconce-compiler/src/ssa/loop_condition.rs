//! A loop's condition, from a block of its own to before the loop and the end of its body.
//!
//! PyTorch's `InlineLoopCondition`.

use rustc_hash::FxHashMap;
use sconce_ir::{BlockId, Graph, NodeId, Prim};

use super::{error_at, first_in_block, next_in_block};
use crate::Error;

/// Inlines the condition of every loop.
pub(super) fn inline(graph: &mut Graph) -> Result<(), Error> {
    let root = graph.root();
    block(graph, root)
}

fn block(graph: &mut Graph, block: BlockId) -> Result<(), Error> {
    let mut at = first_in_block(graph, block);
    while let Some(node) = at {
        for index in 0..graph.node(node).blocks().len() {
            self::block(graph, graph.node(node).blocks()[index])?;
        }
        if graph.node(node).is(Prim::Loop) {
            condition(graph, node)?;
        }
        at = next_in_block(graph, node);
    }
    Ok(())
}

/// From `Loop(max_trip_count)` with a body and a condition to `Loop(max_trip_count, condition, …)`
/// whose body gives the next condition first.
fn condition(graph: &mut Graph, node: NodeId) -> Result<(), Error> {
    let &[body, header] = graph.node(node).blocks() else {
        return Err(error_at(graph, node, "a loop without a block for its condition"));
    };
    let mut map = FxHashMap::default();
    let first = graph.duplicate_nodes(header, node, &mut map);
    let (Some(&first), Some(&next)) = (first.first(), graph.block_outputs(header).first()) else {
        return Err(error_at(graph, node, "a loop whose condition has no value"));
    };
    graph.insert_node_input(node, 1, first);
    let end = graph.return_node(body);
    while let Some(inner) = first_in_block(graph, header) {
        graph.move_before(inner, end);
    }
    graph.insert_block_output(body, 0, next);
    graph.erase_block(node, 1);
    Ok(())
}

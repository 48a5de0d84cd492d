//! Nesting: room on the stack for what recurses, and the limit on blocks within blocks, which what goes down blocks by
//! recursion checks first.

use sconce_ir::{Graph, MAX_BLOCK_DEPTH, NodeId};

use crate::Error;

/// Room that a nested expression or statement must find on the stack, and what is added when it
/// does not.
const RED_ZONE: usize = 256 * 1024;
const STACK_PIECE: usize = 2 * 1024 * 1024;

/// Runs `step` on a stack that is large enough for one more level of nesting.
pub(crate) fn with_stack<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, STACK_PIECE, step)
}

/// Refuses a graph whose blocks nest too deeply, `outer` blocks around it considered.
pub(crate) fn check(graph: &Graph, outer: usize) -> Result<(), Error> {
    let mut stack = vec![(graph.root(), outer)];
    while let Some((block, depth)) = stack.pop() {
        for node in graph.block_nodes(block) {
            let blocks = graph.node(node).blocks();
            if !blocks.is_empty() && depth >= MAX_BLOCK_DEPTH {
                return Err(too_deep(graph, node));
            }
            stack.extend(blocks.iter().map(|&inner| (inner, depth + 1)));
        }
    }
    Ok(())
}

/// The error for a node that is nested too deeply.
pub(crate) fn too_deep(graph: &Graph, node: NodeId) -> Error {
    let message = format!("statements are nested more than {MAX_BLOCK_DEPTH} deep");
    Error::at_node(graph.node(node), message)
}

//! The limit on blocks within blocks. What goes down blocks by recursion checks it first.

use sconce_ir::{Graph, MAX_BLOCK_DEPTH, NodeId};

use crate::Error;

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

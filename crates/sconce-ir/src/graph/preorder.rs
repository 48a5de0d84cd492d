//! Program order, blocks within blocks included, without recursion.

use super::{BlockId, Graph, NodeId};

/// The nodes of a block and of all blocks in it; see [`Graph::preorder`].
#[derive(Clone, Debug)]
pub struct Preorder<'a> {
    graph: &'a Graph,
    /// The block where it ends.
    top: BlockId,
    /// The node to give next: perhaps a `Return`, after which the walk goes on outside.
    at: NodeId,
}

impl Graph {
    /// The nodes of a block in program order, each before the nodes of its own blocks; `Param` and
    /// `Return` not among them.
    pub fn preorder(&self, block: BlockId) -> Preorder<'_> {
        Preorder { graph: self, top: block, at: self.next(self.param_node(block)) }
    }
}

impl Iterator for Preorder<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let graph = self.graph;
        loop {
            let node = self.at;
            let block = graph.node(node).owner()?;
            if node != graph.return_node(block) {
                self.at = match graph.node(node).blocks().first() {
                    Some(&inner) => graph.next(graph.param_node(inner)),
                    None => graph.next(node),
                };
                return Some(node);
            }
            if block == self.top {
                return None;
            }
            let owner = graph.block_owner(block)?;
            let blocks = graph.node(owner).blocks();
            let index = blocks.iter().position(|&other| other == block)?;
            self.at = match blocks.get(index + 1) {
                Some(&sibling) => graph.next(graph.param_node(sibling)),
                None => graph.next(owner),
            };
        }
    }
}

//! Program order: which of two nodes comes first, without walking the block.

use std::cmp::Ordering;

use super::{BlockId, Graph, NodeId};

/// The position of a block's `Param` node.
pub(super) const FIRST: u64 = 0;
/// The position of a block's `Return` node.
pub(super) const LAST: u64 = u64::MAX;
/// The distance given to nodes when a block is numbered anew, appended or prepended to.
const STEP: u64 = 1 << 32;

impl Graph {
    /// Numbers a node between its neighbours, and the whole block anew when there is no room.
    pub(super) fn assign_position(&mut self, node: NodeId) {
        let before = self.node(self.previous(node)).position;
        let after = self.node(self.next(node)).position;
        let position = if before == FIRST && after > 2 * STEP && after != LAST {
            after - STEP
        } else if after == LAST && before != FIRST && before < LAST - 2 * STEP {
            before + STEP
        } else {
            before + (after - before) / 2
        };
        if position == before {
            self.renumber(self.owning_block(node));
        } else {
            self.nodes[node.0 as usize].position = position;
        }
    }

    fn renumber(&mut self, block: BlockId) {
        let nodes: Vec<NodeId> = self.block_nodes(block).collect();
        for (index, node) in nodes.into_iter().enumerate() {
            self.nodes[node.0 as usize].position = LAST / 2 + index as u64 * STEP;
        }
    }

    /// Program order; what holds the other comes first, and of two blocks of one node the first.
    pub(crate) fn compare(&self, a: NodeId, b: NodeId) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let (mut x, mut y) = (a, b);
        if self.node(a).owner != self.node(b).owner {
            let (depth_a, depth_b) = (self.depth(a), self.depth(b));
            x = self.ancestor(a, depth_a.saturating_sub(depth_b));
            y = self.ancestor(b, depth_b.saturating_sub(depth_a));
            if x == y {
                // One holds the other: what holds comes first.
                return depth_a.cmp(&depth_b);
            }
            while self.node(x).owner != self.node(y).owner {
                let (above_x, above_y) = (self.ancestor(x, 1), self.ancestor(y, 1));
                if above_x == above_y {
                    let blocks = self.node(above_x).blocks();
                    let place = |node: NodeId| {
                        blocks.iter().position(|&block| self.node(node).owner == Some(block))
                    };
                    return place(x).cmp(&place(y));
                }
                (x, y) = (above_x, above_y);
            }
        }
        self.node(x).position.cmp(&self.node(y).position)
    }

    fn depth(&self, node: NodeId) -> usize {
        let mut depth = 0;
        let mut at = node;
        while let Some(owner) = self.node(at).owner.and_then(|block| self.block_owner(block)) {
            at = owner;
            depth += 1;
        }
        depth
    }

    fn ancestor(&self, node: NodeId, levels: usize) -> NodeId {
        let mut at = node;
        for _ in 0..levels {
            let owner = self.node(at).owner.and_then(|block| self.block_owner(block));
            at = owner.unwrap_or(at);
        }
        at
    }
}

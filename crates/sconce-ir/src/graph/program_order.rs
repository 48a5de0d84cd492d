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
    /// Numbers a node between its neighbours; when there is no room, some of those after it anew.
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
            self.make_room(node);
        } else {
            self.nodes[node.0 as usize].position = position;
        }
    }

    /// Spreads a node and as many of those after it as it takes until the room for them is more than
    /// the square of their number: then there is room again for a while, and many insertions at one
    /// place cost a logarithm each (Dietz and Sleator, 1987).
    fn make_room(&mut self, node: NodeId) {
        let start = self.node(self.previous(node)).position;
        let mut end = self.next(node);
        let mut parts: u64 = 2;
        let mut room = self.node(end).position - start;
        while room <= parts.saturating_mul(parts) {
            if self.node(end).position == LAST {
                return self.renumber(self.owning_block(node));
            }
            end = self.next(end);
            parts += 1;
            room = self.node(end).position - start;
        }
        let mut at = node;
        for index in 1..parts {
            self.nodes[at.0 as usize].position = start + index * (room / parts);
            at = self.next(at);
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
        if self.node(a).owner() != self.node(b).owner() {
            let (depth_a, depth_b) = (self.depth(a), self.depth(b));
            x = self.ancestor(a, depth_a.saturating_sub(depth_b));
            y = self.ancestor(b, depth_b.saturating_sub(depth_a));
            if x == y {
                // One holds the other: what holds comes first.
                return depth_a.cmp(&depth_b);
            }
            while self.node(x).owner() != self.node(y).owner() {
                let (above_x, above_y) = (self.ancestor(x, 1), self.ancestor(y, 1));
                if above_x == above_y {
                    let blocks = self.node(above_x).blocks();
                    let place = |node: NodeId| {
                        blocks.iter().position(|&block| self.node(node).owner() == Some(block))
                    };
                    return place(x).cmp(&place(y));
                }
                (x, y) = (above_x, above_y);
            }
        }
        self.node(x).position.cmp(&self.node(y).position)
    }

    /// In how many blocks of other nodes a node is.
    pub(crate) fn depth(&self, node: NodeId) -> usize {
        let mut depth = 0;
        let mut at = node;
        while let Some(owner) = self.node(at).owner().and_then(|block| self.block_owner(block)) {
            at = owner;
            depth += 1;
        }
        depth
    }

    fn ancestor(&self, node: NodeId, levels: usize) -> NodeId {
        let mut at = node;
        for _ in 0..levels {
            let owner = self.node(at).owner().and_then(|block| self.block_owner(block));
            at = owner.unwrap_or(at);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use crate::{Graph, NodeId, Prim};

    fn in_order(graph: &Graph) -> bool {
        let nodes: Vec<NodeId> = graph.block_nodes(graph.root()).collect();
        nodes.is_sorted_by(|&a, &b| graph.is_before(a, b))
    }

    #[test]
    fn insertions_at_one_place_keep_the_order() {
        let mut graph = Graph::new();
        let make = |graph: &mut Graph| graph.new_node(Prim::Print, &[]);
        let (first, last) = (make(&mut graph), make(&mut graph));
        graph.append(graph.root(), first);
        graph.append(graph.root(), last);
        for place in 0..4 {
            for _ in 0..2000 {
                let node = make(&mut graph);
                match place {
                    0 => graph.insert_after(node, first),
                    1 => graph.insert_before(node, last),
                    2 => graph.prepend(graph.root(), node),
                    _ => graph.append(graph.root(), node),
                };
            }
            assert!(in_order(&graph), "place {place}");
        }
    }

    #[test]
    fn insertions_all_over_keep_the_order() {
        let mut graph = Graph::new();
        let mut nodes = Vec::new();
        let mut random = 1u64;
        for _ in 0..5000 {
            let node = graph.new_node(Prim::Print, &[]);
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Mostly beside one of the last few, so that rooms run out.
            let near = (random >> 33) as usize % 8;
            match nodes.len().checked_sub(near + 1) {
                Some(index) if random >> 63 == 0 => graph.insert_after(node, nodes[index]),
                Some(index) => graph.insert_before(node, nodes[index]),
                None => graph.append(graph.root(), node),
            };
            nodes.push(node);
        }
        assert!(in_order(&graph));
    }
}

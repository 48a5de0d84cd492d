//! Which values are printed where they are used, without a name.
//!
//! A value can be written into its use if it is used once and the parser, which evaluates arguments
//! left to right and then the call, would compute everything in the same order. So the nodes of a
//! block are gone through backwards beside the tree of uses, right to left; as long as they line up,
//! a node is part of the expression.

use rustc_hash::FxHashSet;
use sconce_ir::{BlockId, Graph, NodeId, Prim, ValueId};

/// The nodes of a graph, blocks within included, that are written into their use. Constants are as
/// soon as anything uses them.
pub(super) fn inlined(graph: &Graph) -> FxHashSet<NodeId> {
    let mut scan = Scan { graph, inlined: FxHashSet::default() };
    scan.block(graph.root());
    scan.inlined
}

struct Scan<'g> {
    graph: &'g Graph,
    inlined: FxHashSet<NodeId>,
}

/// A node whose inputs are being gone through.
struct Tree {
    node: NodeId,
    /// The node before all that was lined up so far.
    point: NodeId,
    /// How many inputs are left, the rightmost first.
    left: usize,
}

impl Scan<'_> {
    fn block(&mut self, block: BlockId) {
        let mut at = self.graph.return_node(block);
        let first = self.graph.param_node(block);
        while at != first {
            self.node(at);
            at = self.graph.previous(at);
        }
    }

    /// Lines up the inputs of a node, and theirs, with the nodes before it.
    fn node(&mut self, node: NodeId) {
        if self.inlined.contains(&node) {
            return;
        }
        for &block in self.graph.node(node).blocks() {
            self.block(block);
        }
        let mut stack = vec![self.tree(node)];
        while let Some(tree) = stack.last_mut() {
            let Some(left) = tree.left.checked_sub(1) else {
                let (node, point) = (tree.node, tree.point);
                stack.pop();
                if let Some(parent) = stack.last_mut() {
                    self.inlined.insert(node);
                    parent.point = point;
                }
                continue;
            };
            tree.left = left;
            let value = self.graph.node(tree.node).inputs()[left];
            let node = self.graph.value(value).node();
            if node == tree.point && self.can_inline(value) {
                stack.push(self.tree(node));
            } else if self.graph.node(node).is(Prim::Constant) {
                self.inlined.insert(node);
            }
        }
    }

    fn tree(&self, node: NodeId) -> Tree {
        let left = self.graph.node(node).inputs().len();
        Tree { node, point: self.previous_non_constant(node), left }
    }

    fn previous_non_constant(&self, node: NodeId) -> NodeId {
        let mut at = self.graph.previous(node);
        while self.graph.node(at).is(Prim::Constant) {
            at = self.graph.previous(at);
        }
        at
    }

    fn can_inline(&self, value: ValueId) -> bool {
        let value = self.graph.value(value);
        let node = self.graph.node(value.node());
        let &[at] = value.uses() else { return false };
        let user = self.graph.node(at.user);
        node.outputs().len() == 1
            && node.blocks().is_empty()
            // Somebody named it; but a name only to return it says nothing.
            && (value.name().is_none() || user.is(Prim::Return))
            // What a loop starts with would move past its condition and trip count.
            && !(user.is(Prim::Loop) && at.index >= 2)
            // The graph within may use it more than once.
            && !is_call_of_graph(user.kind.symbol())
            // As a condition it would refine its operand again.
            && !node.is(Prim::Isinstance)
    }
}

fn is_call_of_graph(symbol: &str) -> bool {
    matches!(symbol, "prim::fork" | "prim::rpc_async" | "prim::rpc_sync" | "prim::rpc_remote")
}

//! Putting nodes into blocks, moving and destroying them.

use super::{Attributes, BlockId, Graph, NodeId, Owner, ValueId};
use crate::{Kind, Type};

impl Graph {
    /// Puts a node that is in no block at the end of one.
    pub fn append(&mut self, block: BlockId, node: NodeId) -> NodeId {
        self.insert_before(node, self.return_node(block))
    }

    /// Makes a node with outputs of these types, at the end of a block.
    pub fn append_node(
        &mut self,
        block: BlockId,
        kind: impl Into<Kind>,
        inputs: &[ValueId],
        outputs: &[Type],
    ) -> NodeId {
        let node = self.new_node(kind, inputs);
        for ty in outputs {
            self.add_output(node, ty.clone());
        }
        self.append(block, node)
    }

    /// Puts a node that is in no block at the start of one.
    pub fn prepend(&mut self, block: BlockId, node: NodeId) -> NodeId {
        self.insert_after(node, self.param_node(block))
    }

    /// Puts a node that is in no block before another.
    pub fn insert_before(&mut self, node: NodeId, before: NodeId) -> NodeId {
        self.insert_after(node, self.previous(before))
    }

    /// Puts a node that is in no block after another.
    ///
    /// # Panics
    /// When it is in a block already.
    pub fn insert_after(&mut self, node: NodeId, after: NodeId) -> NodeId {
        assert!(self.node(node).owner().is_none(), "node {} is in a block", node.0);
        let next = self.next(after);
        let owner = self.node(after).owner;
        self.link(after, node);
        self.link(node, next);
        self.node_mut(node).owner = owner;
        self.assign_position(node);
        node
    }

    /// Moves a node before another.
    pub fn move_before(&mut self, node: NodeId, before: NodeId) {
        if node == before {
            return;
        }
        self.unlink(node);
        self.insert_before(node, before);
    }

    /// Moves a node after another.
    pub fn move_after(&mut self, node: NodeId, after: NodeId) {
        if node == after {
            return;
        }
        self.unlink(node);
        self.insert_after(node, after);
    }

    /// Whether `a` comes before `b` in program order, blocks within nodes considered.
    pub fn is_before(&self, a: NodeId, b: NodeId) -> bool {
        self.compare(a, b) == std::cmp::Ordering::Less
    }

    /// Whether `a` comes after `b` in program order, blocks within nodes considered.
    pub fn is_after(&self, a: NodeId, b: NodeId) -> bool {
        self.compare(a, b) == std::cmp::Ordering::Greater
    }

    /// Destroys a node with its blocks and attributes.
    ///
    /// # Panics
    /// When one of its outputs is still used.
    pub fn destroy(&mut self, node: NodeId) {
        while !self.node(node).outputs.is_empty() {
            self.erase_output(node, self.node(node).outputs.len() - 1);
        }
        while !self.node(node).blocks.is_empty() {
            self.erase_block(node, 0);
        }
        self.remove_all_inputs(node);
        if self.node(node).owner().is_some() {
            self.unlink(node);
        }
        let node = self.node_mut(node);
        node.attributes = Attributes::default();
        node.alive = false;
    }

    pub(super) fn destroy_block(&mut self, block: BlockId) {
        self.remove_all_inputs(self.return_node(block));
        let mut node = self.previous(self.return_node(block));
        while node != self.param_node(block) {
            let previous = self.previous(node);
            self.destroy(node);
            node = previous;
        }
        let (param, ret) = (self.param_node(block), self.return_node(block));
        while !self.node(param).outputs.is_empty() {
            self.erase_output(param, self.node(param).outputs.len() - 1);
        }
        self.node_mut(param).alive = false;
        self.node_mut(ret).alive = false;
        self.blocks[block.0 as usize].alive = false;
    }

    pub(super) fn link(&mut self, a: NodeId, b: NodeId) {
        self.node_mut(a).next = b;
        self.node_mut(b).previous = a;
    }

    fn unlink(&mut self, node: NodeId) {
        let (previous, next) = (self.previous(node), self.next(node));
        self.link(previous, next);
        let node = self.node_mut(node);
        node.owner = Owner::default();
    }
}

//! Inputs of nodes, and the uses of values, which are the same thing seen from the other side.

use super::{Graph, NodeId, Use, ValueId};

impl Graph {
    /// Adds an input to a node.
    pub fn add_node_input(&mut self, node: NodeId, value: ValueId) {
        self.insert_node_input(node, self.node(node).inputs.len(), value);
    }

    /// Adds an input to a node, before the one at `index`.
    pub fn insert_node_input(&mut self, node: NodeId, index: usize, value: ValueId) {
        let slot = self.add_use(value, Use { user: node, index: index as u32 });
        let at = self.node_mut(node);
        at.inputs.insert(index, value);
        at.slots.insert(index, slot);
        self.renumber_inputs(node, index + 1);
    }

    /// Changes an input of a node, and gives the one that was there.
    pub fn replace_node_input(&mut self, node: NodeId, index: usize, value: ValueId) -> ValueId {
        let old = self.node(node).inputs[index];
        self.drop_use(old, self.node(node).slots[index]);
        let slot = self.add_use(value, Use { user: node, index: index as u32 });
        let at = self.node_mut(node);
        at.inputs[index] = value;
        at.slots[index] = slot;
        old
    }

    /// Replaces an input of a node wherever it stands among its inputs.
    pub fn replace_node_input_with(&mut self, node: NodeId, from: ValueId, to: ValueId) {
        for index in 0..self.node(node).inputs.len() {
            if self.node(node).inputs[index] == from {
                self.replace_node_input(node, index, to);
            }
        }
    }

    /// Takes an input from a node.
    pub fn remove_node_input(&mut self, node: NodeId, index: usize) {
        self.drop_use(self.node(node).inputs[index], self.node(node).slots[index]);
        let at = self.node_mut(node);
        at.inputs.remove(index);
        at.slots.remove(index);
        self.renumber_inputs(node, index);
    }

    /// Takes all inputs from a node.
    pub fn remove_all_inputs(&mut self, node: NodeId) {
        for index in (0..self.node(node).inputs.len()).rev() {
            self.remove_node_input(node, index);
        }
    }

    /// Puts a node's inputs from `from` on in another order: the one at `from + order[i]` comes to
    /// `from + i`. `order` names each of them once.
    pub(crate) fn permute_inputs(&mut self, node: NodeId, from: usize, order: &[usize]) {
        let at = self.node_mut(node);
        let (inputs, slots) = (at.inputs.clone(), at.slots.clone());
        for (index, &old) in order.iter().enumerate() {
            at.inputs[from + index] = inputs[from + old];
            at.slots[from + index] = slots[from + old];
        }
        self.renumber_inputs(node, from);
    }

    /// The same for a node's outputs.
    pub(crate) fn permute_outputs(&mut self, node: NodeId, from: usize, order: &[usize]) {
        let at = self.node_mut(node);
        let outputs = at.outputs.clone();
        for (index, &old) in order.iter().enumerate() {
            at.outputs[from + index] = outputs[from + old];
        }
        self.renumber_outputs(node, from);
    }

    /// Puts one value in the place of another everywhere. Names and types stay as they are.
    pub fn replace_all_uses(&mut self, from: ValueId, to: ValueId) {
        if from == to {
            return;
        }
        for at in std::mem::take(&mut self.values[from].uses) {
            let slot = self.add_use(to, at);
            let node = self.node_mut(at.user);
            node.inputs[at.index as usize] = to;
            node.slots[at.index as usize] = slot;
        }
    }

    /// Puts one value in the place of another in every use after `node` in program order, `node`
    /// itself excluded.
    pub fn replace_uses_after(&mut self, node: NodeId, from: ValueId, to: ValueId) {
        let uses: Vec<Use> = self.value(from).uses.to_vec();
        for at in uses {
            if at.user != node && self.is_after(at.user, node) {
                self.replace_node_input(at.user, at.index as usize, to);
            }
        }
    }

    /// Enters a use, and gives its place among the value's uses.
    fn add_use(&mut self, value: ValueId, at: Use) -> u32 {
        let uses = &mut self.values[value].uses;
        uses.push(at);
        (uses.len() - 1) as u32
    }

    /// Takes the use at a place away; the last one moves there.
    fn drop_use(&mut self, value: ValueId, slot: u32) {
        let uses = &mut self.values[value].uses;
        uses.swap_remove(slot as usize);
        if let Some(&moved) = uses.get(slot as usize) {
            self.node_mut(moved.user).slots[moved.index as usize] = slot;
        }
    }

    /// Tells the uses of a node's inputs from `from` on their index.
    fn renumber_inputs(&mut self, node: NodeId, from: usize) {
        let Self { nodes, values, .. } = self;
        let node = &nodes[node.0 as usize];
        for index in from..node.inputs.len() {
            let value = &mut values[node.inputs[index]];
            value.uses[node.slots[index] as usize].index = index as u32;
        }
    }
}

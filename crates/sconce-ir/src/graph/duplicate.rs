//! Copies of nodes within their graph.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{BlockId, Graph, NodeId, ValueId};

impl Graph {
    /// Copies a node of this graph with its blocks; the copy is in no block yet. Inputs found in
    /// `map` are replaced, the others stay; the node's outputs are entered in `map`.
    ///
    /// The copy takes the names of the outputs, and the old ones get a number, as in PyTorch's
    /// `Graph::createClone`.
    pub fn duplicate_node(
        &mut self,
        node: NodeId,
        map: &mut FxHashMap<ValueId, ValueId>,
    ) -> NodeId {
        let copy = self.new_node(self.node(node).kind.clone(), &[]);
        for index in 0..self.node(node).outputs.len() {
            let old = self.node(node).outputs[index];
            let new = self.add_output(copy, self.ty(old).clone());
            self.take_name(old, new);
        }
        let from = self.node(node);
        let (operator, range) = (from.operator, from.range.clone());
        let attributes = from.attributes.clone();
        let inputs: SmallVec<[ValueId; 4]> = from.inputs.iter().copied().collect();
        let to = self.node_mut(copy);
        to.operator = operator;
        to.range = range;
        to.attributes = attributes;
        for input in inputs {
            self.add_node_input(copy, map.get(&input).copied().unwrap_or(input));
        }
        for index in 0..self.node(node).blocks.len() {
            let block = self.node(node).blocks[index];
            let target = self.add_block(copy);
            for parameter in 0..self.block_inputs(block).len() {
                let old = self.block_inputs(block)[parameter];
                let new = self.add_block_input(target, self.ty(old).clone());
                self.take_name(old, new);
                map.insert(old, new);
            }
            let results = self.duplicate_nodes(block, self.return_node(target), map);
            for result in results {
                self.add_block_output(target, result);
            }
        }
        for index in 0..self.node(node).outputs.len() {
            let (old, new) = (self.node(node).outputs[index], self.node(copy).outputs[index]);
            map.insert(old, new);
        }
        copy
    }

    /// Copies the nodes of a block of this graph to before `before`, and gives what the block gives
    /// in terms of the copies. `map` says what else is to be replaced, such as the block's
    /// parameters; values not in it stay.
    pub fn duplicate_nodes(
        &mut self,
        block: BlockId,
        before: NodeId,
        map: &mut FxHashMap<ValueId, ValueId>,
    ) -> Vec<ValueId> {
        let nodes: Vec<NodeId> = self.block_nodes(block).collect();
        for node in nodes {
            let copy = self.duplicate_node(node, map);
            self.insert_before(copy, before);
            for index in 0..self.node(node).outputs.len() {
                let (old, new) = (self.node(node).outputs[index], self.node(copy).outputs[index]);
                // PyTorch's Block::cloneFrom names them once more, which shows in the numbers.
                self.take_name(old, new);
            }
        }
        let results = self.block_outputs(block).iter();
        results.map(|value| map.get(value).copied().unwrap_or(*value)).collect()
    }

    /// Names a value as another is named, which is renamed to `base.N`; a value without a name
    /// leaves the other as it is. PyTorch's `Value::copyMetadata`, the type aside.
    pub fn take_name(&mut self, from: ValueId, to: ValueId) {
        if let Some(name) = self.value(from).name.clone() {
            self.names.set(&mut self.values, to, name);
        }
    }
}

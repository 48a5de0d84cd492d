//! Copying nodes from one graph to another.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Attribute, BlockId, Graph, NodeId, ValueId};

impl Graph {
    /// A copy whose values are numbered anew, as PyTorch's `Graph::copy` makes it.
    #[must_use]
    pub fn renumbered(&self) -> Self {
        let mut graph = Self::new();
        graph.copy_block_into(self, self.root(), graph.root(), &mut FxHashMap::default());
        graph
    }

    /// Copies the nodes of a block of another graph to before `before`, and what the block gives,
    /// in this graph's values. `map` says what the other graph's values are here; the block's
    /// parameters must be in it.
    pub fn insert_copy(
        &mut self,
        other: &Self,
        block: BlockId,
        before: NodeId,
        map: &mut FxHashMap<ValueId, ValueId>,
    ) -> Vec<ValueId> {
        let nodes: Vec<NodeId> = other.block_nodes(block).collect();
        for node in nodes {
            let copy = self.copy_node(other, node, map);
            self.insert_before(copy, before);
        }
        let results = other.block_outputs(block);
        results.iter().map(|value| map[value]).collect()
    }

    /// Copies a node of another graph with its blocks; the copy is in no block yet. Its outputs
    /// are entered in `map`; its inputs are looked up there.
    pub fn copy_node(
        &mut self,
        other: &Self,
        node: NodeId,
        map: &mut FxHashMap<ValueId, ValueId>,
    ) -> NodeId {
        let from = other.node(node);
        let inputs: SmallVec<[ValueId; 4]> = from.inputs.iter().map(|input| map[input]).collect();
        let copy = self.new_node(from.kind.clone(), &inputs);
        let to = self.node_mut(copy);
        to.operator = from.operator;
        to.range = from.range.clone();
        to.attributes = from.attributes.clone();
        for attribute in to.attributes.graphs_mut() {
            if let Attribute::Graph(graph) = attribute {
                *graph = Arc::new(graph.renumbered());
            }
        }
        for &output in &*from.outputs {
            let id = self.add_output(copy, other.ty(output).clone());
            self.copy_name(other, output, id);
            map.insert(output, id);
        }
        for &block in &*from.blocks {
            let target = self.add_block(copy);
            self.copy_block_into(other, block, target, map);
        }
        copy
    }

    /// Copies parameters, nodes and results of a block of another graph into an empty block.
    pub fn copy_block_into(
        &mut self,
        other: &Self,
        block: BlockId,
        target: BlockId,
        map: &mut FxHashMap<ValueId, ValueId>,
    ) {
        for &input in other.block_inputs(block) {
            let id = self.add_block_input(target, other.ty(input).clone());
            self.copy_name(other, input, id);
            map.insert(input, id);
        }
        let results = self.insert_copy(other, block, self.return_node(target), map);
        for result in results {
            self.add_block_output(target, result);
        }
    }

    fn copy_name(&mut self, other: &Self, from: ValueId, to: ValueId) {
        if let Some(name) = &other.value(from).name {
            self.names.set(&mut self.values, to, Arc::clone(name));
        }
    }
}

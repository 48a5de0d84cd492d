//! Giving back what destroyed nodes take.

use super::{Graph, IdList, NodeId, ValueId};

/// Nodes that were retired and what they made.
#[derive(Clone, Debug, Default)]
pub(super) struct Retired {
    /// Nodes whose place is free.
    pub(super) nodes: Vec<NodeId>,
    /// Values that still have their names.
    values: Vec<ValueId>,
}

impl Graph {
    /// Destroys a node whose outputs nothing uses any more, for whoever is making the graph: the node's place
    /// is used again, so nobody may keep its id, and the names of its outputs stay taken until
    /// [`Self::release_retired`], as if it were still there.
    ///
    /// # Panics
    /// When one of its outputs is used, or it has blocks.
    pub fn retire(&mut self, node: NodeId) {
        let outputs = std::mem::replace(&mut self.node_mut(node).outputs, IdList::new());
        for &output in &*outputs {
            assert!(self.value(output).uses().is_empty(), "value {} is in use", output.0);
        }
        assert!(self.node(node).blocks().is_empty(), "node {} has blocks", node.0);
        self.destroy(node);
        let retired = self.retired.get_or_insert_default();
        retired.nodes.push(node);
        retired.values.extend(outputs.iter().filter(|id| self.values[**id].name.is_some()));
    }

    /// Takes the names of what retired nodes made, and keeps their places for no one.
    pub fn release_retired(&mut self) {
        let Some(retired) = self.retired.take() else { return };
        for value in retired.values {
            self.names.forget(&mut self.values, value);
        }
    }

    /// Drops destroyed nodes, closes the gaps in the numbers of the others and gives back memory that is kept
    /// for more. Values keep their ids; ids of nodes that were taken before do not hold any more.
    pub fn compact(&mut self) {
        self.release_retired();
        let mut count = 0;
        let mut renumbered = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            renumbered.push(NodeId(count));
            count += u32::from(node.alive);
        }
        let new = |id: NodeId| renumbered[id.0 as usize];
        let nodes = &self.nodes;
        self.values.retain(|id, value| {
            let node = &nodes[value.node.0 as usize];
            node.alive && node.outputs.get(value.index as usize) == Some(&id)
        });
        self.nodes.retain(|node| node.alive);
        self.nodes.shrink_to_fit();
        for node in &mut self.nodes {
            node.previous = new(node.previous);
            node.next = new(node.next);
            node.inputs.shrink();
            node.slots.shrink();
            node.outputs.shrink();
            node.blocks.shrink();
        }
        for block in &mut self.blocks {
            block.param = new(block.param);
            block.ret = new(block.ret);
            block.owner = block.owner.map(new);
        }
        for value in self.values.iter_mut() {
            value.node = new(value.node);
            value.uses.iter_mut().for_each(|at| at.user = new(at.user));
            value.uses.shrink_to_fit();
        }
        self.blocks.shrink_to_fit();
        self.names.shrink();
    }
}

#[cfg(test)]
mod tests {
    use crate::{Graph, Prim, Type, verify};

    #[test]
    fn a_graph_is_the_same_without_what_was_destroyed() {
        let text = "graph(%x : Tensor, %b : bool):
  %n : int = prim::Constant[value=1]()
  %y : Tensor = prim::If(%b)
    block0():
      %z.1 : Tensor = aten::add(%x, %x, %n)
      -> (%z.1)
    block1():
      -> (%x)
  return (%y)
";
        let mut graph = Graph::parse(text).unwrap();
        for _ in 0..3 {
            let front = graph.next(graph.param_node(graph.root()));
            let node = graph.new_node_with(Prim::Uninitialized, &[], Type::Int);
            graph.insert_before(node, front);
            graph.destroy(node);
        }
        let before = graph.to_string();
        let (nodes, values) = (graph.node_count(), graph.value_count());
        graph.compact();
        verify(&graph).unwrap();
        assert_eq!(graph.to_string(), before);
        assert_eq!((graph.node_count(), graph.value_count()), (nodes - 3, values));
    }

    #[test]
    fn the_names_of_what_is_retired_stay_taken_until_they_are_released() {
        let mut graph = Graph::new();
        let names = |graph: &mut Graph| {
            let node = graph.new_node_with(Prim::Uninitialized, &[], Type::Int);
            graph.append(graph.root(), node);
            let value = graph.node(node).output();
            graph.set_name(value, "x");
            (node, value)
        };
        let (first, _) = names(&mut graph);
        graph.retire(first);
        let (second, value) = names(&mut graph);
        assert_eq!(first, second, "its place is used again");
        let (_, last) = names(&mut graph);
        // As PyTorch numbers them: the retired one is `x.1`.
        assert_eq!(graph.value(value).name(), Some("x.3"));
        assert_eq!(graph.value(last).name(), Some("x"));
        graph.release_retired();
        graph.set_name(last, "x.1");
        assert_eq!(graph.value(last).name(), Some("x.1"));
        verify(&graph).unwrap();
    }
}

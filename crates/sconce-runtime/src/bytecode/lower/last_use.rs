//! Which use of a value is the last.

use rustc_hash::FxHashMap;
use sconce_ir::{BlockId, Graph, NodeId, ValueId};

/// For each value, the node of its own block after which nothing reads it.
pub(crate) struct LastUses {
    order: Vec<u32>,
    /// By value: the node, and whether the node itself reads the value (and not a block in it).
    last: Vec<Option<(NodeId, bool)>>,
    /// The values that are read last inside a block of a node.
    inside: FxHashMap<NodeId, Vec<ValueId>>,
}

impl LastUses {
    pub(crate) fn new(graph: &Graph) -> Self {
        let mut uses = LastUses {
            order: vec![0; graph.node_count()],
            last: vec![None; graph.value_count()],
            inside: FxHashMap::default(),
        };
        uses.number(graph);
        for value in 0..graph.value_count() as u32 {
            let last = uses.find(graph, ValueId(value));
            uses.last[value as usize] = last;
            if let Some((node, false)) = last {
                uses.inside.entry(node).or_default().push(ValueId(value));
            }
        }
        uses
    }

    /// Numbers the nodes in the order in which they stand.
    fn number(&mut self, graph: &Graph) {
        let mut next = 0;
        let mut pending: Vec<(BlockId, NodeId)> =
            vec![(graph.root(), graph.param_node(graph.root()))];
        while let Some((block, node)) = pending.pop() {
            self.order[node.0 as usize] = next;
            next += 1;
            if node != graph.return_node(block) {
                pending.push((block, graph.next(node)));
            }
            for &inner in graph.node(node).blocks().iter().rev() {
                pending.push((inner, graph.param_node(inner)));
            }
        }
    }

    fn find(&self, graph: &Graph, value: ValueId) -> Option<(NodeId, bool)> {
        let home = graph.node(graph.value(value).node()).owner()?;
        let mut last: Option<(NodeId, bool)> = None;
        for used in graph.value(value).uses() {
            let mut node = used.user;
            let mut direct = true;
            loop {
                let block = graph.node(node).owner()?;
                if block == home {
                    break;
                }
                node = graph.block_owner(block)?;
                direct = false;
            }
            last = match last {
                Some((known, was)) if known == node => Some((node, was && direct)),
                Some((known, was))
                    if self.order[known.0 as usize] > self.order[node.0 as usize] =>
                {
                    Some((known, was))
                }
                _ => Some((node, direct)),
            };
        }
        last
    }

    /// Whether an operand of a node is the last that reads a value.
    pub(crate) fn is_last(&self, node: NodeId, value: ValueId) -> bool {
        self.last[value.0 as usize] == Some((node, true))
    }

    /// The values that are read last inside a block of a node.
    pub(crate) fn ending_inside(&self, node: NodeId) -> &[ValueId] {
        self.inside.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Whether nothing reads a value.
    pub(crate) fn is_unused(&self, value: ValueId) -> bool {
        self.last[value.0 as usize].is_none()
    }
}

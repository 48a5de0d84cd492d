//! Removes nodes that nothing needs: PyTorch's `EliminateDeadCode`.

use crate::alias::AliasAnalyser;
use crate::{Attribute, BlockId, Graph, Kind, NodeId, Prim, ValueId};

/// Removes every node whose values are not used, that has no side effect and does not write to
/// memory that is used; then the outputs of `prim::If` and what `prim::Loop` carries that are not
/// used.
pub fn eliminate_dead_code(graph: &mut Graph) {
    remove_dead_fork_inputs(graph);
    let marked = {
        let mut marker = Marker::new(graph);
        marker.block(graph.root());
        marker.marked
    };
    sweep(graph, graph.root(), &marked);
    super::finish(graph, "eliminate_dead_code");
}

/// What a fork's graph does not use is not given to it.
fn remove_dead_fork_inputs(graph: &mut Graph) {
    let forks: Vec<NodeId> =
        graph.preorder(graph.root()).filter(|&node| graph.node(node).is(Prim::Fork)).collect();
    for fork in forks {
        let Some(Attribute::Graph(body)) = graph.node(fork).attribute("Subgraph") else { continue };
        let unused = |index: &usize| body.value(body.inputs()[*index]).uses().is_empty();
        let unused: Vec<usize> = (0..body.inputs().len()).filter(unused).collect();
        if unused.is_empty() {
            continue;
        }
        let mut body = Graph::clone(body);
        for index in unused.into_iter().rev() {
            body.erase_block_input(body.root(), index);
            graph.remove_node_input(fork, index);
        }
        graph.node_mut(fork).set_attribute("Subgraph", Attribute::Graph(body.into()));
    }
}

struct Marker<'a> {
    graph: &'a Graph,
    aliases: AliasAnalyser<'a>,
    marked: Vec<bool>,
    has_effects: Vec<bool>,
    live_values: Vec<bool>,
    live_memory: Vec<bool>,
}

impl<'a> Marker<'a> {
    fn new(graph: &'a Graph) -> Self {
        let aliases = AliasAnalyser::new(graph);
        let mut has_effects = vec![false; graph.node_count()];
        let nodes: Vec<NodeId> = graph.preorder(graph.root()).collect();
        for &node in nodes.iter().rev() {
            let own = has_side_effects(graph, node)
                || aliases.writes_to(node, |location| aliases.escapes(location));
            if own {
                has_effects[node.0 as usize] = true;
            }
            if has_effects[node.0 as usize] {
                let owner = graph.node(node).owner().and_then(|block| graph.block_owner(block));
                if let Some(owner) = owner {
                    has_effects[owner.0 as usize] = true;
                }
            }
        }
        Self {
            graph,
            marked: vec![false; graph.node_count()],
            has_effects,
            live_values: vec![false; graph.value_count()],
            live_memory: vec![false; aliases.location_count()],
            aliases,
        }
    }

    /// Marks what a block needs, and says whether anything was marked anew.
    fn block(&mut self, block: BlockId) -> bool {
        let graph = self.graph;
        let mut any = false;
        for node in graph.block_nodes(block) {
            if self.has_effects[node.0 as usize] {
                any |= self.mark(node);
            }
        }
        any |= self.results(block);
        for node in graph.block_nodes(block).rev() {
            if graph.node(node).is(Prim::Loop) {
                any |= self.loop_node(node);
            } else {
                for &inner in graph.node(node).blocks() {
                    any |= self.block(inner);
                }
            }
            any |= self.mark_if_live(node);
        }
        any
    }

    /// What a loop's body gives may be what its next round needs.
    fn loop_node(&mut self, node: NodeId) -> bool {
        let Some(&body) = self.graph.node(node).blocks().first() else { return false };
        let mut any = false;
        loop {
            let new = self.carried(node, body) | self.block(body);
            any |= new;
            if !new {
                return any;
            }
        }
    }

    /// Makes live what the body gives for what is used outside or in the next round: as in PyTorch, a
    /// dead loop that computes what it carries from itself stays.
    fn carried(&mut self, node: NodeId, body: BlockId) -> bool {
        let graph = self.graph;
        let given = graph.block_outputs(body);
        let Some((&condition, given)) = given.split_first() else { return false };
        let taken = graph.block_inputs(body).get(1..).unwrap_or_default();
        let mut new = self.make_live(condition);
        for ((&output, &input), &value) in graph.node(node).outputs().iter().zip(taken).zip(given) {
            let used = |value| !graph.value(value).uses().is_empty();
            if used(output) || used(input) {
                new |= self.make_live(value);
            }
        }
        new
    }

    fn results(&mut self, block: BlockId) -> bool {
        let graph = self.graph;
        let ret = graph.return_node(block);
        let Some(owner) = graph.block_owner(block) else { return self.mark(ret) };
        if graph.node(owner).is(Prim::Loop) {
            return false;
        }
        if !graph.node(owner).is(Prim::If) {
            return self.mark(ret);
        }
        let mut new = false;
        for (&output, &value) in graph.node(owner).outputs().iter().zip(graph.block_outputs(block))
        {
            if self.is_live(output) {
                new |= self.make_live(value);
            }
        }
        new
    }

    fn mark_if_live(&mut self, node: NodeId) -> bool {
        let live = self.graph.node(node).outputs().iter().any(|&output| self.is_live(output));
        let is_live = |location| self.live_memory[location as usize];
        let live = live || self.aliases.writes_to(node, is_live);
        live && self.mark(node)
    }

    /// Marks a node and those it is in, and what they use as live.
    fn mark(&mut self, node: NodeId) -> bool {
        let mut at = Some(node);
        let mut new = false;
        while let Some(node) = at.filter(|node| !self.marked[node.0 as usize]) {
            new = true;
            self.marked[node.0 as usize] = true;
            for &input in self.graph.node(node).inputs() {
                self.make_live(input);
            }
            let block = self.graph.node(node).owner();
            at = block.and_then(|block| self.graph.block_owner(block));
        }
        new
    }

    fn is_live(&self, value: ValueId) -> bool {
        self.live_values[value.0 as usize]
    }

    fn make_live(&mut self, value: ValueId) -> bool {
        let was = std::mem::replace(&mut self.live_values[value.0 as usize], true);
        if !was {
            self.aliases.mark_locations(value, &mut self.live_memory);
        }
        !was
    }
}

/// Whether a node does something other than to give values and write to its inputs
/// (`Node::hasSideEffects`).
pub(super) fn has_side_effects(graph: &Graph, node: NodeId) -> bool {
    match graph.node(node).kind {
        Kind::Prim(
            Prim::Print
            | Prim::RaiseException
            | Prim::PythonOp
            | Prim::CallFunction
            | Prim::CallMethod
            | Prim::Enter
            | Prim::Exit
            | Prim::RpcAsync
            | Prim::RpcSync
            | Prim::RpcRemote
            | Prim::Store
            | Prim::BreakStmt
            | Prim::ContinueStmt
            | Prim::ReturnStmt,
        ) => true,
        Kind::Prim(_) => false,
        ref kind if kind.is_private() => kind.is_assertion(),
        // An operator that is not in the table may do anything.
        // A generator is no memory that is followed, so what seeds one counts as well.
        Kind::Op(ref symbol) => {
            &**symbol == "aten::manual_seed"
                || graph
                    .operator(node)
                    .map_or(!symbol.starts_with("prim::"), |operator| operator.has_side_effects)
        }
    }
}

/// Destroys what is not marked, from the end, so that what is used by it goes as well.
fn sweep(graph: &mut Graph, block: BlockId, marked: &[bool]) {
    let mut node = graph.previous(graph.return_node(block));
    while node != graph.param_node(block) {
        let previous = graph.previous(node);
        match graph.node(node).kind {
            Kind::Prim(Prim::If) => remove_dead_branch_outputs(graph, node),
            Kind::Prim(Prim::Loop) => remove_dead_carried(graph, node),
            _ => {}
        }
        for index in 0..graph.node(node).blocks().len() {
            sweep(graph, graph.node(node).blocks()[index], marked);
        }
        let used = graph.node(node).outputs().iter().any(|&id| !graph.value(id).uses().is_empty());
        if !marked.get(node.0 as usize).copied().unwrap_or(true) && !used {
            graph.destroy(node);
        }
        node = previous;
    }
}

fn remove_dead_branch_outputs(graph: &mut Graph, node: NodeId) {
    for index in (0..graph.node(node).outputs().len()).rev() {
        if graph.value(graph.node(node).outputs()[index]).uses().is_empty() {
            graph.erase_output(node, index);
            for at in 0..graph.node(node).blocks().len() {
                graph.erase_block_output(graph.node(node).blocks()[at], index);
            }
        }
    }
}

fn remove_dead_carried(graph: &mut Graph, node: NodeId) {
    let Some(&body) = graph.node(node).blocks().first() else { return };
    for index in (0..graph.node(node).outputs().len()).rev() {
        let outside = graph.node(node).outputs()[index];
        let inside = graph.block_inputs(body)[index + 1];
        if graph.value(outside).uses().is_empty() && graph.value(inside).uses().is_empty() {
            graph.erase_output(node, index);
            graph.remove_node_input(node, index + 2);
            graph.erase_block_input(body, index + 1);
            graph.erase_block_output(body, index + 1);
        }
    }
}

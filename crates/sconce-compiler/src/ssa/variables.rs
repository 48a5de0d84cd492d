//! Loads and stores at the borders of blocks: what an `if` gives, what a loop carries.
//!
//! PyTorch's `ControlFlowLoadStores`.

use std::collections::BTreeSet;
use std::sync::Arc;

use sconce_ir::{Attribute, BlockId, Graph, NodeId, Prim, Type, Unit, ValueId};

use super::frames::{Frame, Frames};
use super::{first_in_block, next_in_block, unify};

/// Adds outputs to every `if`, and carried variables to every loop, for the variables set in them.
pub(super) fn add_block_variables(unit: &Unit, graph: &mut Graph) {
    let root = graph.root();
    Pass { unit, graph, types: Frames::new() }.block(root);
}

struct Pass<'a> {
    unit: &'a Unit,
    graph: &'a mut Graph,
    types: Frames<Type>,
}

impl Pass<'_> {
    /// Goes through a block, and gives the types of the variables set in it.
    fn block(&mut self, block: BlockId) -> Frame<Type> {
        self.types.push();
        let mut at = first_in_block(self.graph, block);
        while let Some(node) = at {
            self.node(node);
            at = next_in_block(self.graph, node);
        }
        self.types.pop()
    }

    fn node(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        if node.is(Prim::If) {
            self.branches(id);
        } else if node.is(Prim::Loop) {
            self.carried(id);
        } else if node.is(Prim::Closure) || node.is(Prim::ComprehensionScope) {
            for index in 0..self.graph.node(id).blocks().len() {
                self.block(self.graph.node(id).blocks()[index]);
            }
        } else if node.is(Prim::Store)
            && let (Some(name), Some(&value)) = (node.str_attribute("name"), node.inputs().first())
        {
            let (name, ty) = (Arc::clone(name), self.graph.ty(value).clone());
            self.types.set(name, ty);
        }
    }

    /// A variable that both branches know and one of them sets is an output.
    fn branches(&mut self, node: NodeId) {
        let &[on_true, on_false] = self.graph.node(node).blocks() else { return };
        let true_types = self.block(on_true);
        let false_types = self.block(on_false);
        let names: BTreeSet<&Arc<str>> = true_types.keys().chain(false_types.keys()).collect();
        for name in names {
            let (Some(true_type), Some(false_type)) = (
                true_types.get(name).or_else(|| self.types.find(name)).cloned(),
                false_types.get(name).or_else(|| self.types.find(name)).cloned(),
            ) else {
                continue;
            };
            let unified = unify(self.unit, &true_type, &false_type);
            self.add_block_output(on_true, true_type, name);
            self.add_block_output(on_false, false_type, name);
            self.add_node_output(node, unified, name);
        }
    }

    /// A variable from before the loop that its body sets is carried.
    fn carried(&mut self, node: NodeId) {
        let Some(&body) = self.graph.node(node).blocks().first() else { return };
        let types = self.block(body);
        for (name, set) in types {
            let Some(before) = self.types.find(&name).cloned() else { continue };
            let unified = unify(self.unit, &before, &set);
            let load = self.load(&name, before);
            self.graph.insert_before(load, node);
            let input = self.graph.node(load).output();
            self.graph.add_node_input(node, input);
            self.add_block_input(body, unified.clone(), &name);
            self.add_block_output(body, set, &name);
            self.add_node_output(node, unified, &name);
        }
    }

    fn add_block_input(&mut self, block: BlockId, ty: Type, name: &Arc<str>) {
        let input = self.graph.add_block_input(block, ty);
        self.graph.set_name(input, name);
        let store = self.store(name, input);
        self.graph.prepend(block, store);
    }

    fn add_block_output(&mut self, block: BlockId, ty: Type, name: &Arc<str>) {
        let load = self.load(name, ty);
        self.graph.append(block, load);
        let output = self.graph.node(load).output();
        self.graph.add_block_output(block, output);
    }

    fn add_node_output(&mut self, node: NodeId, ty: Type, name: &Arc<str>) {
        let output = self.graph.add_output(node, ty);
        if is_meaningful(name) {
            self.graph.set_name(output, name);
        }
        let store = self.store(name, output);
        self.graph.insert_after(store, node);
    }

    fn load(&mut self, name: &Arc<str>, ty: Type) -> NodeId {
        let node = self.graph.new_node_with(Prim::Load, &[], ty);
        self.graph.node_mut(node).set_attribute("name", Attribute::Str(Arc::clone(name)));
        node
    }

    fn store(&mut self, name: &Arc<str>, value: ValueId) -> NodeId {
        let node = self.graph.new_node(Prim::Store, &[value]);
        self.graph.node_mut(node).set_attribute("name", Attribute::Str(Arc::clone(name)));
        node
    }
}

/// Whether a variable's name is one that somebody chose: neither `$…` nor `_` with digits.
pub fn is_meaningful(name: &str) -> bool {
    match name.as_bytes() {
        [] | [b'$', ..] => false,
        [b'_', rest @ ..] => !rest.iter().all(u8::is_ascii_digit),
        _ => true,
    }
}

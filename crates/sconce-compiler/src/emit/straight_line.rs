//! Loads and stores of a body's first statements, until one has a block: they become values at once.
//!
//! [`crate::ssa`] would put the same values in their place once everything is emitted. A long function
//! without control flow would have twice the nodes until then. Values, their names and types come out the
//! same: what a load is named stays taken ([`Graph::retire`](sconce_ir::Graph::retire)), and from the first
//! statement on that would make a difference everything is left to the conversion.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_ir::{NodeId, Prim, ValueId};

use super::Emitter;
use crate::ssa::TypeObject;

/// The variables of a body as far as it is a straight line.
#[derive(Default)]
pub(super) struct StraightLine {
    is_active: bool,
    /// Loads and stores of the statement that is being emitted, in order.
    log: Vec<NodeId>,
    /// The value last stored under each name, in order of first definition.
    stored: Vec<(Arc<str>, ValueId)>,
    indexes: FxHashMap<Arc<str>, usize>,
    /// Whether a variable was given something that is not a value: it may refer to what was loaded.
    has_sugared: bool,
}

impl StraightLine {
    pub(super) fn log(&mut self, node: NodeId) {
        if self.is_active {
            self.log.push(node);
        }
    }

    pub(super) fn note_sugared(&mut self) {
        self.has_sugared = true;
    }

    fn set(&mut self, name: &Arc<str>, value: ValueId) {
        match self.indexes.get(name) {
            Some(&index) => self.stored[index].1 = value,
            None => {
                self.indexes.insert(Arc::clone(name), self.stored.len());
                self.stored.push((Arc::clone(name), value));
            }
        }
    }

    fn get(&self, name: &str) -> Option<ValueId> {
        self.indexes.get(name).map(|&index| self.stored[index].1)
    }
}

impl Emitter<'_> {
    /// Begins a body, before its parameters are stored.
    pub(super) fn begin_straight_line(&mut self) {
        self.straight_line.is_active = !self.keeps_variables;
    }

    /// After the parameters: modules among them are inputs of the graph, which nothing replaces.
    pub(super) fn end_of_parameters(&mut self) {
        self.straight_line.has_sugared = false;
        self.end_of_statement(self.graph.param_node(self.graph.root()));
    }

    /// Replaces the loads and stores of a statement of the body, whose nodes begin after `before`.
    pub(super) fn end_of_statement(&mut self, before: NodeId) {
        if !self.straight_line.is_active {
            return;
        }
        let log = std::mem::take(&mut self.straight_line.log);
        if self.graph.block_count() > 1 || self.straight_line.has_sugared {
            return self.end_straight_line(self.graph.next(before));
        }
        for &node in &log {
            let at = self.graph.node(node);
            let Some(name) = at.str_attribute("name").filter(|_| at.is_alive()) else { continue };
            if at.is(Prim::Store) {
                if let Some(&value) = at.inputs().first() {
                    let name = Arc::clone(name);
                    self.straight_line.set(&name, value);
                }
            } else {
                let output = at.output();
                let stored = self.straight_line.get(name);
                let Some(value) = stored.filter(|&value| {
                    TypeObject::of(self.graph.ty(value)) == TypeObject::of(self.graph.ty(output))
                }) else {
                    return self.end_straight_line(node);
                };
                self.graph.replace_all_uses(output, value);
            }
            self.graph.retire(node);
        }
        self.straight_line.log = log;
        self.straight_line.log.clear();
    }

    /// Stores what the variables are, before a node, and leaves the rest to the conversion.
    fn end_straight_line(&mut self, node: NodeId) {
        let stored = std::mem::take(&mut self.straight_line).stored;
        for (name, value) in stored {
            let store = self.graph.new_node(Prim::Store, &[value]);
            let attributes = self.environment.name_attributes(&name);
            self.graph.node_mut(store).set_attributes(attributes);
            self.graph.insert_before(store, node);
        }
    }
}

//! Graphs of whole modules: calls inlined, attributes turned into constants.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_checkpoint::ErrorKind;
use sconce_ir::{ClassId, Constant, Graph, NodeId, Prim, ValueId as GraphValue, operators, passes};

use crate::Error;
use crate::constants::constant;
use crate::module::{Loaded, Module};
use crate::values::{Value, ValueId};

impl Module {
    /// The graph of a method with every call of a function or method replaced by its body:
    /// `torch._C._jit_pass_inline`. The method is named as for [`Module::graph_of`].
    ///
    /// # Errors
    /// When there is no such method, or something it calls does not compile.
    pub fn inlined_graph(&self, method: &str) -> Result<Graph, Error> {
        let original = self.graph_of(method)?;
        let mut loaded = self.lock();
        loaded.program.compile_all()?;
        // A copy as PyTorch makes it, whose values are numbered anew.
        let mut graph = Graph::new();
        let root = graph.root();
        graph.copy_block_into(&original, original.root(), root, &mut FxHashMap::default());
        passes::inline(&mut graph, &loaded.program.unit)
            .map_err(|error| Error::malformed(error.to_string()))?;
        Ok(graph)
    }

    /// The inlined graph of one of this module's own methods with the attributes of the module and
    /// its submodules as constants, as `torch.jit.freeze` makes it before it optimises. Attributes
    /// that the method changes stay attributes.
    ///
    /// # Errors
    /// As [`Module::inlined_graph`]; and `Freezing is currently only implemented for modules in
    /// eval mode. Please call .eval() on your module before freezing.`
    pub fn frozen_graph(&self, method: &str) -> Result<Graph, Error> {
        if let Ok(Value::Bool(true)) = self.attr("training") {
            let message = "Freezing is currently only implemented for modules in eval mode. \
                           Please call .eval() on your module before freezing.";
            return Err(Error::new(ErrorKind::Caller, message));
        }
        self.method(method)?;
        let mut graph = self.inlined_graph(method)?;
        let mut loaded = self.lock();
        let mut freezer = Freezer::new(&mut graph, &mut loaded, self.value());
        freezer.follow_objects();
        freezer.find_changed();
        freezer.replace()?;
        passes::constant_propagation_immutable_types(&mut graph);
        passes::constant_pooling(&mut graph);
        passes::eliminate_dead_code(&mut graph);
        Ok(graph)
    }
}

struct Freezer<'f> {
    graph: &'f mut Graph,
    loaded: &'f mut Loaded,
    /// Which object each value of the graph is.
    objects: FxHashMap<GraphValue, ValueId>,
    /// Reads of attributes: the node, the object, the slot.
    reads: Vec<(NodeId, ValueId, usize)>,
    /// Attributes that the graph changes.
    changed: FxHashSet<(ValueId, usize)>,
}

impl<'f> Freezer<'f> {
    fn new(graph: &'f mut Graph, loaded: &'f mut Loaded, root: ValueId) -> Self {
        let mut objects = FxHashMap::default();
        if let Some(&own) = graph.inputs().first() {
            objects.insert(own, root);
        }
        Freezer { graph, loaded, objects, reads: Vec::new(), changed: FxHashSet::default() }
    }

    /// All nodes in program order.
    fn nodes(&self) -> Vec<NodeId> {
        let mut out = Vec::new();
        let mut queue: Vec<NodeId> = self.graph.block_nodes(self.graph.root()).rev().collect();
        while let Some(node) = queue.pop() {
            out.push(node);
            for &inner in self.graph.node(node).blocks().iter().rev() {
                queue.extend(self.graph.block_nodes(inner).rev());
            }
        }
        out
    }

    fn slot(&self, object: ValueId, name: &str) -> Option<(usize, ValueId)> {
        let object = self.loaded.values.object(object)?;
        let slot = self.loaded.program.unit.class(ClassId(object.class.0)).slot(name)?;
        Some((slot, *object.slots.get(slot)?))
    }

    /// Finds out which object each read of an attribute gives.
    fn follow_objects(&mut self) {
        for id in self.nodes() {
            let node = self.graph.node(id);
            let Some(name) = node.str_attribute("name") else { continue };
            let Some(&object) = node.inputs().first().and_then(|input| self.objects.get(input))
            else {
                continue;
            };
            let Some((slot, value)) = self.slot(object, name) else { continue };
            if node.is(Prim::SetAttr) {
                self.changed.insert((object, slot));
            } else if node.is(Prim::GetAttr) {
                self.reads.push((id, object, slot));
                if matches!(self.loaded.values.get(value), Value::Object(_)) {
                    self.objects.insert(node.output(), value);
                }
            }
        }
    }

    /// Attributes that are written to in place: what is written, or may share memory with what is
    /// written, goes back through operators to the attribute it came from.
    fn find_changed(&mut self) {
        let reads: FxHashMap<GraphValue, (ValueId, usize)> = self
            .reads
            .iter()
            .map(|&(node, object, slot)| (self.graph.node(node).output(), (object, slot)))
            .collect();
        for id in self.nodes() {
            let written = self.written_inputs(id);
            let mut queue = written;
            let mut seen = FxHashSet::default();
            while let Some(value) = queue.pop() {
                if !seen.insert(value) {
                    continue;
                }
                if let Some(attribute) = reads.get(&value) {
                    self.changed.insert(*attribute);
                }
                queue.extend_from_slice(self.graph.node(self.graph.value(value).node()).inputs());
            }
        }
    }

    fn written_inputs(&self, id: NodeId) -> Vec<GraphValue> {
        let node = self.graph.node(id);
        let Some(operator) = node.operator.and_then(operators::get) else { return Vec::new() };
        let arguments = operator.schema.arguments.iter().zip(node.inputs());
        arguments
            .filter(|(argument, _)| argument.alias.as_ref().is_some_and(|alias| alias.is_write))
            .map(|(_, &input)| input)
            .collect()
    }

    /// Puts constants in the place of reads of attributes that nothing changes.
    fn replace(&mut self) -> Result<(), Error> {
        let mut indexes: FxHashMap<ValueId, u32> = FxHashMap::default();
        for (node, object, slot) in std::mem::take(&mut self.reads) {
            let value = match self.loaded.values.object(object) {
                Some(object) => object.slots[slot],
                None => continue,
            };
            let is_object = matches!(self.loaded.values.get(value), Value::Object(_));
            if is_object || self.changed.contains(&(object, slot)) {
                continue;
            }
            let next = self.loaded.constants.len() as u32;
            let index = *indexes.entry(value).or_insert(next);
            let made = constant(&self.loaded.values, &self.loaded.program.unit, value, index)?;
            if index == next && matches!(made, Constant::Tensor(_)) {
                self.loaded.constants.push(value);
                self.loaded.program.importer.constants.push(made.clone());
            } else if index == next {
                indexes.remove(&value);
            }
            self.put(node, &made);
        }
        Ok(())
    }

    fn put(&mut self, read: NodeId, value: &Constant) {
        let old = self.graph.node(read).output();
        let node = self.graph.new_constant(value);
        self.graph.insert_before(node, read);
        let new = self.graph.node(node).output();
        let ty = self.graph.ty(old).clone();
        if !matches!(value, Constant::None) && !matches!(value, Constant::Tensor(_)) {
            self.graph.set_type(new, ty);
        }
        self.graph.replace_all_uses(old, new);
        if let Some(name) = self.graph.node(read).str_attribute("name").map(Arc::clone) {
            self.graph.set_name(new, &format!("self.{name}"));
        }
        self.graph.destroy(read);
    }
}

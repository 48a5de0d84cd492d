//! Graphs of whole modules: calls inlined, attributes turned into constants.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_checkpoint::ErrorKind;
use sconce_ir::alias::{AliasAnalyser, is_mutable};
use sconce_ir::passes::{self, InlineError};
use sconce_ir::{
    ClassId, Constant, Graph, NodeId, Prim, Unit, ValueId as GraphValue, verify_after,
};

use crate::Error;
use crate::constants::constant;
use crate::module::{Loaded, Module};
use crate::values::{Value, ValueId};

impl Module {
    /// The graph of a method with every call of a function or method replaced by its body, which is
    /// optimised before: PyTorch's `inlined_graph`. The method is named as for [`Module::graph_of`].
    ///
    /// # Errors
    /// When there is no such method, or something it calls does not compile.
    pub fn inlined_graph(&self, method: &str) -> Result<Graph, Error> {
        self.inlined(method, passes::inline_optimized)
    }

    fn inlined(&self, method: &str, inline: Inline) -> Result<Graph, Error> {
        let mut graph = self.graph_of(method)?.renumbered();
        let mut loaded = self.lock();
        loaded.program.compile_all()?;
        inline(&mut graph, &loaded.program.unit)
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
        self.freeze(method, passes::inline_optimized, |graph| AliasAnalyser::new(graph))
    }

    /// [`Module::frozen_graph`] for running it: what is called is not optimised before it is inlined,
    /// since PyTorch changes results there in some cases; attributes that PyTorch leaves because it
    /// cannot tell what a list holds are constants too, where nothing writes to them; and a module in
    /// training mode stays in it.
    ///
    /// # Errors
    /// As [`Module::inlined_graph`].
    pub fn frozen_graph_to_run(&self, method: &str) -> Result<Graph, Error> {
        self.freeze(method, passes::inline, |graph| AliasAnalyser::precise(graph))
    }

    fn freeze(&self, method: &str, inline: Inline, analyse: Analyse) -> Result<Graph, Error> {
        self.method(method)?;
        let mut graph = self.inlined(method, inline)?;
        let mut loaded = self.lock();
        // Numbers and flags first: branches that they rule out change nothing any more.
        Freezer::new(&mut graph, &mut loaded, self.value()).replace(Folding::Immutable, analyse)?;
        verify_after("freeze: immutable attributes", &graph);
        passes::constant_propagation_immutable_types(&mut graph);
        passes::eliminate_dead_code(&mut graph);
        Freezer::new(&mut graph, &mut loaded, self.value()).replace(Folding::All, analyse)?;
        verify_after("freeze: all attributes", &graph);
        passes::constant_propagation_immutable_types(&mut graph);
        passes::constant_pooling(&mut graph);
        passes::eliminate_dead_code(&mut graph);
        Ok(graph)
    }
}

/// How calls are inlined.
type Inline = fn(&mut Graph, &Unit) -> Result<(), InlineError>;

/// How it is found out what may share memory.
type Analyse = fn(&Graph) -> AliasAnalyser<'_>;

/// Which attributes become constants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folding {
    /// Those that nothing can write to in place.
    Immutable,
    /// These and those that nothing does write to.
    All,
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
        let (reads, changed) = (Vec::new(), FxHashSet::default());
        let mut freezer = Freezer { graph, loaded, objects, reads, changed };
        freezer.follow_objects();
        freezer
    }

    /// All nodes in program order.
    fn nodes(&self) -> Vec<NodeId> {
        self.graph.preorder(self.graph.root()).collect()
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

    /// The values read from attributes whose memory something may write to.
    fn written(&self, analyse: Analyse) -> FxHashSet<GraphValue> {
        let written = analyse(self.graph).written_values();
        let reads = self.reads.iter().map(|&(node, ..)| self.graph.node(node).output());
        reads.filter(|value| written.get(value.0 as usize).copied().unwrap_or(true)).collect()
    }

    /// Puts constants in the place of reads of attributes that nothing changes.
    fn replace(mut self, which: Folding, analyse: Analyse) -> Result<(), Error> {
        let written = match which {
            Folding::Immutable => FxHashSet::default(),
            Folding::All => self.written(analyse),
        };
        // What is in the table already keeps its place, however often a module is frozen.
        let known = self.loaded.constants.iter().enumerate();
        let mut indexes: FxHashMap<ValueId, u32> =
            known.map(|(index, &value)| (value, index as u32)).collect();
        for (node, object, slot) in std::mem::take(&mut self.reads) {
            let value = match self.loaded.values.object(object) {
                Some(object) => object.slots[slot],
                None => continue,
            };
            let is_object = matches!(self.loaded.values.get(value), Value::Object(_));
            let read = self.graph.node(node).output();
            let leave = which == Folding::Immutable && is_mutable(self.graph.ty(read));
            let changed = self.changed.contains(&(object, slot)) || written.contains(&read);
            if is_object || leave || changed {
                continue;
            }
            let made = self.enter(value, &mut indexes)?;
            self.put(node, &made);
        }
        Ok(())
    }

    /// A value as a constant. Its tensors, those in lists among them, come into the constant table.
    fn enter(
        &mut self,
        value: ValueId,
        indexes: &mut FxHashMap<ValueId, u32>,
    ) -> Result<Constant, Error> {
        let loaded = &mut *self.loaded;
        let (values, unit) = (&loaded.values, &loaded.program.unit);
        let table = &mut loaded.constants;
        let known = table.len();
        let made = constant(values, unit, value, &mut |id| {
            *indexes.entry(id).or_insert_with(|| {
                table.push(id);
                (table.len() - 1) as u32
            })
        })?;
        for &id in table.iter().skip(known) {
            let index = indexes.get(&id).copied().unwrap_or_default();
            let entry = constant(values, unit, id, &mut |_| index)?;
            loaded.program.importer.constants.push(entry);
        }
        Ok(made)
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

//! The values of one graph in print: their names, their expressions.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_ir::{Attribute, BlockId, Graph, Node, NodeId, Prim, Type, ValueId};

use super::inline::inlined;
use super::names::to_identifier;
use super::tagged::Tagged;
use super::version::minimum;
use super::{Printer, Session};
use crate::{Error, nesting};

/// The print of one graph: of a function, or of what a `fork` runs.
pub(super) struct Scope<'p, 's, 'g> {
    pub(super) printer: &'p mut Printer,
    pub(super) session: &'p mut Session<'s>,
    pub(super) graph: &'g Graph,
    /// Nodes written into their use.
    inlined: FxHashSet<NodeId>,
    /// Variables.
    names: FxHashMap<ValueId, Rc<str>>,
    /// Values that are no variables, as they are written where they are used.
    expressions: FxHashMap<ValueId, Rc<Tagged>>,
    /// Variables of an Optional or Union type whose annotation has been printed.
    annotated: FxHashSet<ValueId>,
    /// Up to which input the users of long expressions have been split.
    split: FxHashMap<NodeId, i64>,
}

impl<'p, 's, 'g> Scope<'p, 's, 'g> {
    /// The scope of a graph. Its inputs have no names yet.
    pub(super) fn new(
        printer: &'p mut Printer,
        session: &'p mut Session<'s>,
        graph: &'g Graph,
    ) -> Result<Self, Error> {
        nesting::check(graph, printer.level)?;
        Ok(Self {
            printer,
            session,
            graph,
            inlined: inlined(graph),
            names: FxHashMap::default(),
            expressions: FxHashMap::default(),
            annotated: FxHashSet::default(),
            split: FxHashMap::default(),
        })
    }

    /// Names an input as the signature does; `typed` is whether its type was printed there.
    pub(super) fn name_argument(&mut self, value: ValueId, name: String, typed: bool) {
        self.names.insert(value, name.into());
        if typed {
            self.annotated.insert(value);
        }
    }

    /// Prints constants, statements and the return.
    pub(super) fn print_body(&mut self) -> Result<(), Error> {
        self.printer.level += 1;
        for constant in self.constants() {
            self.print_node(constant, true)?;
        }
        let root = self.graph.root();
        self.print_block(root, !self.graph.outputs().is_empty())?;
        self.print_node(self.graph.return_node(root), false)?;
        self.printer.level -= 1;
        Ok(())
    }

    /// The constants in the order of their first use, nested blocks included.
    fn constants(&self) -> Vec<NodeId> {
        let graph = self.graph;
        let mut constants = Vec::new();
        let mut seen = FxHashSet::default();
        let in_order = |block: BlockId| {
            let end = std::iter::once(graph.return_node(block));
            end.chain(graph.block_nodes(block).rev())
        };
        let mut stack: Vec<NodeId> = in_order(graph.root()).collect();
        while let Some(node) = stack.pop() {
            let node = graph.node(node);
            for &input in node.inputs() {
                let maker = graph.value(input).node();
                if graph.node(maker).is(Prim::Constant) && seen.insert(maker) {
                    constants.push(maker);
                }
            }
            for &block in node.blocks().iter().rev() {
                stack.extend(in_order(block));
            }
        }
        constants
    }

    /// Prints one node. Constants are printed first of all, and not again.
    fn print_node(&mut self, id: NodeId, constants: bool) -> Result<(), Error> {
        let node = self.graph.node(id);
        let before = self.printer.enter(node.range.as_ref());
        self.mention_types(node);
        if let Some(operator) = self.graph.operator(id) {
            self.printer.min_version = self.printer.min_version.max(minimum(&operator.schema));
        }
        if constants || !node.is(Prim::Constant) {
            self.statement(id)?;
            self.forget_inputs(node);
        }
        self.printer.leave(before);
        Ok(())
    }

    /// Forgets the expressions that a node has been printed with, where nothing else uses them.
    fn forget_inputs(&mut self, node: &Node) {
        if !node.blocks().is_empty() {
            return;
        }
        for &input in node.inputs() {
            let value = self.graph.value(input);
            // What a loop carries has an expression, too, which is needed at the end of its body.
            if value.uses().len() == 1 && self.inlined.contains(&value.node()) {
                self.expressions.remove(&input);
            }
        }
    }

    /// Prints the nodes of a block. `pass` if there are none, and nothing else is to follow.
    pub(super) fn print_block(&mut self, block: BlockId, more: bool) -> Result<(), Error> {
        if !more && self.graph.block_nodes(block).next().is_none() {
            self.printer.indent();
            self.printer.put("pass\n");
        }
        for node in self.graph.block_nodes(block) {
            self.print_node(node, false)?;
        }
        Ok(())
    }

    fn mention_types(&mut self, node: &Node) {
        for &value in node.inputs().iter().chain(node.outputs()) {
            self.session.mention(self.graph.ty(value));
        }
        for (_, attribute) in node.attributes() {
            match attribute {
                Attribute::Type(ty) => self.session.mention(ty),
                Attribute::Types(types) => types.iter().for_each(|ty| self.session.mention(ty)),
                _ => {}
            }
        }
    }

    // --- values --------------------------------------------------------------------------------

    /// A value as it is written where it is used.
    pub(super) fn use_of(&self, value: ValueId) -> Result<Rc<Tagged>, Error> {
        if let Some(name) = self.names.get(&value) {
            let mut text = self.start();
            text.push_str(name);
            return Ok(Rc::new(text));
        }
        match self.expressions.get(&value) {
            Some(expression) => Ok(Rc::clone(expression)),
            None => {
                let maker = self.graph.node(self.graph.value(value).node());
                let message = format!("a value of {} is used before it is made", maker.kind);
                Err(Error::at_node(maker, message))
            }
        }
    }

    /// An empty text of the node being printed.
    pub(super) fn start(&self) -> Tagged {
        Tagged::new(self.printer.body.range().clone())
    }

    /// Writes a value to the file.
    pub(super) fn put_value(&mut self, value: ValueId) -> Result<(), Error> {
        let text = self.use_of(value)?;
        self.printer.body.push(&text);
        Ok(())
    }

    /// Writes values to the file, with commas between them.
    pub(super) fn put_values(&mut self, values: &[ValueId]) -> Result<(), Error> {
        for (index, &value) in values.iter().enumerate() {
            self.printer.put(if index == 0 { "" } else { ", " });
            self.put_value(value)?;
        }
        Ok(())
    }

    /// Makes a value a variable with a name of its own.
    pub(super) fn name_value(&mut self, value: ValueId) {
        let candidate = self.graph.value(value).base_name().map(to_identifier);
        let name = self.printer.names.unique(candidate.as_deref().unwrap_or("_"));
        self.names.insert(value, name.into());
    }

    /// Makes values variables with names of their own.
    pub(super) fn name_values(&mut self, values: &[ValueId]) {
        for &value in values {
            self.name_value(value);
        }
    }

    /// Makes a value the same text as another's, of this or an outer graph.
    pub(super) fn alias(&mut self, value: ValueId, text: Rc<Tagged>) {
        self.expressions.insert(value, text);
    }

    /// Whether the annotation of an Optional or Union variable is still to be printed, and from now
    /// on is not.
    pub(super) fn needs_annotation(&mut self, value: ValueId) -> bool {
        self.annotated.insert(value)
    }

    /// Whether a value is held as an expression, whatever its name.
    pub(super) fn is_expression(&self, value: ValueId) -> bool {
        self.expressions.contains_key(&value)
    }

    /// A type as an annotation.
    pub(super) fn annotation(&self, ty: &Type) -> String {
        self.session.annotation(ty)
    }

    // --- inlining ------------------------------------------------------------------------------

    /// Prints a node that computes something: as a definition, or later where it is used.
    pub(super) fn define_or_inline(&mut self, id: NodeId, text: Tagged) -> Result<(), Error> {
        let node = self.graph.node(id);
        let is_long = self.printer.is_long(text.as_str());
        if !self.inlined.contains(&id) || (node.is(Prim::Constant) && is_long) {
            return self.define(id, &text);
        }
        let Some(&output) = node.outputs().first() else { return self.define(id, &text) };
        self.expressions.insert(output, Rc::new(text));
        if is_long { self.split_long(output) } else { Ok(()) }
    }

    /// Prints `names = text`.
    pub(super) fn define(&mut self, id: NodeId, text: &Tagged) -> Result<(), Error> {
        let outputs = self.graph.node(id).outputs();
        self.name_values(outputs);
        self.printer.indent();
        if !outputs.is_empty() {
            self.put_values(outputs)?;
            self.printer.put(" = ");
        }
        self.printer.body.push(text);
        self.printer.put("\n");
        Ok(())
    }

    /// Makes a variable of a long expression, and of all that is computed before it in the same
    /// statement.
    fn split_long(&mut self, value: ValueId) -> Result<(), Error> {
        let Some(&at) = self.graph.value(value).uses().first() else { return Ok(()) };
        let (mut user, mut index) = (at.user, i64::from(at.index));
        let mut reversed = Vec::new();
        loop {
            let done = self.split.insert(user, index);
            let from = done.map_or(0, |done| done + 1);
            for input in (from..=index).rev() {
                let Some(&value) = usize::try_from(input)
                    .ok()
                    .and_then(|at| self.graph.node(user).inputs().get(at))
                else {
                    continue;
                };
                let maker = self.graph.value(value).node();
                if !self.graph.node(maker).is(Prim::Constant) && self.inlined.contains(&maker) {
                    reversed.push(value);
                }
            }
            if done.is_some() || !self.inlined.contains(&user) {
                break;
            }
            let output = self.graph.node(user).outputs().first();
            let Some(at) = output.and_then(|&output| self.graph.value(output).uses().first())
            else {
                break;
            };
            // The use itself is still being written, so it cannot be split.
            (user, index) = (at.user, i64::from(at.index) - 1);
        }
        for value in reversed.into_iter().rev() {
            let text = self.use_of(value)?;
            self.define(self.graph.value(value).node(), &text)?;
        }
        Ok(())
    }
}

//! Graphs as text, byte for byte as PyTorch's `Graph::toString` writes them.

use std::fmt::{self, Write};
use std::sync::Arc;

use crate::{Attribute, BlockId, Constant, Graph, Kind, NodeId, Prim, ValueId, float_text, quoted};

impl fmt::Display for Graph {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { graph: self, out, names: &mut Names::Own, ranges: true }.graph()
    }
}

impl Graph {
    /// The text without source comments and with every value renumbered in the order of
    /// appearance: two graphs that differ in the names of values alone give the same.
    ///
    /// What `torch._C._jit_pass_canonicalize(graph, False)` gives for graphs whose nested blocks
    /// have no names.
    pub fn canonical_text(&self) -> String {
        let mut text = String::new();
        let mut names = Names::Numbers { of: vec![u32::MAX; self.value_count()], next: 0 };
        // A `String` takes everything.
        let _ = Printer { graph: self, out: &mut text, names: &mut names, ranges: false }.graph();
        text
    }
}

/// How values are called.
enum Names {
    /// By their own names, or their ids.
    Own,
    /// By numbers in the order of definition.
    Numbers { of: Vec<u32>, next: u32 },
}

struct Printer<'a, W> {
    graph: &'a Graph,
    out: &'a mut W,
    names: &'a mut Names,
    ranges: bool,
}

impl<W: Write> Printer<'_, W> {
    fn graph(&mut self) -> fmt::Result {
        self.out.write_str("graph(")?;
        self.definitions(self.graph.inputs(), ",\n      ")?;
        self.out.write_str("):\n")?;
        let mut subgraphs = Vec::new();
        self.nodes(&mut subgraphs)?;
        self.out.write_str("  return (")?;
        self.values(self.graph.outputs())?;
        self.out.write_str(")\n")?;
        for (index, (kind, subgraph)) in subgraphs.into_iter().enumerate() {
            write!(self.out, "with {kind}_{index} = ")?;
            let mut names = match self.names {
                Names::Own => Names::Own,
                Names::Numbers { .. } => {
                    Names::Numbers { of: vec![u32::MAX; subgraph.value_count()], next: 0 }
                }
            };
            let ranges = self.ranges;
            Printer { graph: &subgraph, out: self.out, names: &mut names, ranges }.graph()?;
        }
        Ok(())
    }

    /// The nodes of the root block and of all blocks in them, with a stack of its own: what stands
    /// on it are blocks that are being written, each with the node to go on with.
    fn nodes(&mut self, subgraphs: &mut Vec<(Kind, Arc<Graph>)>) -> fmt::Result {
        let graph = self.graph;
        let mut stack: Vec<(BlockId, NodeId)> = vec![first_of(graph, graph.root())];
        while let Some((block, node)) = stack.pop() {
            // A block at depth d of the stack has its nodes at level 2 d + 1.
            let level = 2 * stack.len() + 1;
            if node != graph.return_node(block) {
                stack.push((block, graph.next(node)));
                self.node(node, level, subgraphs)?;
                if let Some(&first) = graph.node(node).blocks().first() {
                    self.block_head(0, first, level + 1)?;
                    stack.push(first_of(graph, first));
                }
                continue;
            }
            let Some(owner) = graph.block_owner(block) else { continue };
            self.indent(level)?;
            self.out.write_str("-> (")?;
            self.values(graph.block_outputs(block))?;
            self.out.write_str(")\n")?;
            let blocks = graph.node(owner).blocks();
            let index = blocks.iter().position(|&other| other == block).map_or(0, |at| at + 1);
            if let Some(&next) = blocks.get(index) {
                self.block_head(index, next, level - 1)?;
                stack.push(first_of(graph, next));
            }
        }
        Ok(())
    }

    fn block_head(&mut self, index: usize, block: BlockId, level: usize) -> fmt::Result {
        self.indent(level)?;
        write!(self.out, "block{index}(")?;
        self.definitions(self.graph.block_inputs(block), ", ")?;
        self.out.write_str("):\n")
    }

    fn node(
        &mut self,
        id: NodeId,
        level: usize,
        subgraphs: &mut Vec<(Kind, Arc<Graph>)>,
    ) -> fmt::Result {
        let node = self.graph.node(id);
        self.indent(level)?;
        self.definitions(node.outputs(), ", ")?;
        if let (Kind::Prim(Prim::PythonOp), Some(name)) = (&node.kind, node.str_attribute("name")) {
            // A function of Python, without the constants that PyTorch could hold beside inputs.
            write!(self.out, " = ^{name}[]()(")?;
            return self.node_end(id);
        }
        write!(self.out, " = {}", node.kind)?;
        match node.attribute("Subgraph") {
            Some(Attribute::Graph(subgraph)) => {
                write!(self.out, "_{}", subgraphs.len())?;
                subgraphs.push((node.kind.clone(), Arc::clone(subgraph)));
                self.attributes(id, true)?;
            }
            _ => self.attributes(id, false)?,
        }
        self.out.write_char('(')?;
        self.node_end(id)
    }

    fn node_end(&mut self, id: NodeId) -> fmt::Result {
        self.values(self.graph.node(id).inputs())?;
        self.out.write_char(')')?;
        if self.ranges {
            self.source_comment(id)?;
        }
        self.out.write_char('\n')
    }

    fn source_comment(&mut self, id: NodeId) -> fmt::Result {
        let Some(range) = &self.graph.node(id).range else { return Ok(()) };
        let original = range.original();
        match original.as_ref().unwrap_or(range).file_line_column() {
            Some((file, line, column)) => write!(self.out, " # {file}:{line}:{column}"),
            None => Ok(()),
        }
    }

    fn attributes(&mut self, id: NodeId, but_subgraph: bool) -> fmt::Result {
        let mut separator = "[";
        for (name, value) in self.graph.node(id).attributes() {
            if but_subgraph && name == "Subgraph" {
                continue;
            }
            write!(self.out, "{separator}{name}=")?;
            self.attribute(value)?;
            separator = ", ";
        }
        if separator == "[" { Ok(()) } else { self.out.write_char(']') }
    }

    fn attribute(&mut self, value: &Attribute) -> fmt::Result {
        match value {
            Attribute::Int(value) => write!(self.out, "{value}"),
            Attribute::Float(value) => self.out.write_str(&float_text(*value)),
            Attribute::Complex(re, im) => {
                self.out.write_str(&Constant::Complex(*re, *im).graph_text())
            }
            Attribute::Str(text) => self.out.write_str(&quoted(text)),
            Attribute::Tensor(tensor) => self.out.write_str(&tensor.text),
            Attribute::Ints(values) => self.list(values, |out, value| write!(out, "{value}")),
            Attribute::Floats(values) => {
                self.list(values, |out, value| out.write_str(&float_text(*value)))
            }
            Attribute::Strs(values) => {
                self.list(values, |out, value| out.write_str(&quoted(value)))
            }
            Attribute::Value(constant) => self.out.write_str(&constant.graph_text()),
            Attribute::Type(ty) => write!(self.out, "{ty}"),
            Attribute::Types(types) => self.list(types, |out, ty| write!(out, "{ty}")),
            Attribute::Graph(_) => self.out.write_str("<Graph>"),
        }
    }

    fn list<T>(&mut self, items: &[T], write: impl Fn(&mut W, &T) -> fmt::Result) -> fmt::Result {
        self.out.write_char('[')?;
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.write_str(", ")?;
            }
            write(self.out, item)?;
        }
        self.out.write_char(']')
    }

    /// Values with their types, where they are made.
    fn definitions(&mut self, values: &[ValueId], separator: &str) -> fmt::Result {
        for (index, &id) in values.iter().enumerate() {
            if index > 0 {
                self.out.write_str(separator)?;
            }
            if let Names::Numbers { of, next } = &mut self.names
                && let Some(number) = of.get_mut(id.0 as usize)
            {
                *number = *next;
                *next += 1;
            }
            self.value(id)?;
            write!(self.out, " : {}", self.graph.ty(id))?;
        }
        Ok(())
    }

    fn values(&mut self, values: &[ValueId]) -> fmt::Result {
        for (index, &id) in values.iter().enumerate() {
            if index > 0 {
                self.out.write_str(", ")?;
            }
            self.value(id)?;
        }
        Ok(())
    }

    fn value(&mut self, id: ValueId) -> fmt::Result {
        match (&*self.names, self.graph.value(id).name()) {
            (Names::Own, Some(name)) => write!(self.out, "%{name}"),
            (Names::Own, None) => write!(self.out, "%{}", id.0),
            (Names::Numbers { of, .. }, _) => match of.get(id.0 as usize) {
                Some(&number) if number != u32::MAX => write!(self.out, "%{number}"),
                _ => write!(self.out, "%undefined.{}", id.0),
            },
        }
    }

    fn indent(&mut self, level: usize) -> fmt::Result {
        for _ in 0..level {
            self.out.write_str("  ")?;
        }
        Ok(())
    }
}

/// A block and the node to begin with.
fn first_of(graph: &Graph, block: BlockId) -> (BlockId, NodeId) {
    (block, graph.next(graph.param_node(block)))
}

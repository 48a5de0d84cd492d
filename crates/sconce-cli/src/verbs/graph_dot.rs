//! Graphs as pictures: Graphviz's language, and SVG drawn by the `layout-rs` crate.

use std::fmt::Write;

use layout::backends::svg::SVGWriter;
use layout::gv::{DotParser, GraphBuilder};
use sconce::jit::ir::{BlockId, Graph, Kind, NodeId, Prim, ValueId};

/// The largest graph that is drawn: the layout takes time that grows faster than its nodes.
const MAX_DRAWN: usize = 2_000;

/// A graph in Graphviz's language: a box for each node but constants, a cluster for each block, an
/// edge for each use of a value.
pub fn dot(graph: &Graph, title: &str) -> String {
    let mut out = String::new();
    out.push_str("digraph {\n  node [shape=box, fontname=\"monospace\"];\n");
    let _ = writeln!(out, "  label={};", quoted(title));
    let mut writer = Writer { graph, out, clusters: true };
    writer.block(graph.root(), 1);
    writer.edges(graph.root());
    writer.out.push_str("}\n");
    writer.out
}

/// A graph as SVG.
pub fn svg(graph: &Graph) -> Result<String, String> {
    let nodes = graph.node_count();
    if nodes > MAX_DRAWN {
        return Err(format!("the graph has {nodes} nodes; at most {MAX_DRAWN} are drawn"));
    }
    let mut writer = Writer { graph, out: String::from("digraph {\n"), clusters: false };
    writer.block(graph.root(), 1);
    writer.edges(graph.root());
    writer.out.push_str("}\n");
    let parsed = DotParser::new(&writer.out).process()?;
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&parsed);
    let mut drawn = SVGWriter::new();
    builder.get().do_it(false, false, false, &mut drawn);
    Ok(drawn.finalize())
}

struct Writer<'g> {
    graph: &'g Graph,
    out: String,
    clusters: bool,
}

impl Writer<'_> {
    fn indent(&mut self, level: usize) {
        self.out.push_str(&"  ".repeat(level));
    }

    /// Nodes of a block and the blocks within.
    fn block(&mut self, block: BlockId, level: usize) {
        let graph = self.graph;
        for (index, &input) in graph.block_inputs(block).iter().enumerate() {
            self.indent(level);
            let text = format!("{} : {}", value_name(graph, input), graph.ty(input));
            let id = format!("in{}_{index}", block.0);
            let _ = writeln!(self.out, "{id} [label={}, shape=ellipse];", quoted(&text));
        }
        for node in graph.block_nodes(block) {
            if graph.node(node).is(Prim::Constant) {
                continue;
            }
            self.indent(level);
            let _ = writeln!(self.out, "n{} [label={}];", node.0, quoted(&self.label(node)));
            for (index, &inner) in graph.node(node).blocks().iter().enumerate() {
                if self.clusters {
                    self.indent(level);
                    let _ = writeln!(self.out, "subgraph cluster{} {{", inner.0);
                    self.indent(level + 1);
                    let _ = writeln!(self.out, "label=\"block{index}\";");
                    self.block(inner, level + 1);
                    self.indent(level);
                    self.out.push_str("}\n");
                } else {
                    self.block(inner, level);
                }
            }
        }
        self.indent(level);
        let _ = writeln!(self.out, "out{} [label=\"return\", shape=ellipse];", block.0);
    }

    fn label(&self, id: NodeId) -> String {
        let node = self.graph.node(id);
        let mut text = node.kind.symbol().to_owned();
        if let Some(name) = node.str_attribute("name") {
            let _ = write!(text, " {name}");
        }
        let constants = node.inputs().iter().filter_map(|&input| {
            let value = self.graph.constant(input)?;
            let mut shown = value.graph_text();
            if let Some((end, _)) = shown.char_indices().nth(20) {
                shown.truncate(end);
                shown.push('…');
            }
            Some(shown)
        });
        let constants: Vec<String> = constants.collect();
        if !constants.is_empty() {
            let _ = write!(text, "({})", constants.join(", "));
        }
        text
    }

    fn edges(&mut self, root: BlockId) {
        let graph = self.graph;
        let mut queue = vec![root];
        while let Some(block) = queue.pop() {
            for node in graph.block_nodes(block) {
                let blocks = graph.node(node).blocks();
                queue.extend(blocks);
                let target = format!("n{}", node.0);
                for &input in graph.node(node).inputs() {
                    self.edge(input, &target);
                }
                for inner in blocks {
                    let _ = writeln!(self.out, "  out{} -> {target} [style=dashed];", inner.0);
                }
            }
            let target = format!("out{}", block.0);
            for &output in graph.block_outputs(block) {
                self.edge(output, &target);
            }
        }
    }

    fn edge(&mut self, value: ValueId, target: &str) {
        let graph = self.graph;
        let made_by = graph.value(value).node();
        let node = graph.node(made_by);
        let source = match &node.kind {
            Kind::Prim(Prim::Constant) => return,
            Kind::Prim(Prim::Param) => {
                let index = graph.value(value).index();
                format!("in{}_{index}", graph.owning_block(made_by).0)
            }
            _ => format!("n{}", made_by.0),
        };
        let label = quoted(&value_name(graph, value));
        let _ = writeln!(self.out, "  {source} -> {target} [label={label}];");
    }
}

fn value_name(graph: &Graph, value: ValueId) -> String {
    match graph.value(value).name() {
        Some(name) => format!("%{name}"),
        None => format!("%{}", value.0),
    }
}

/// A string of Graphviz's language.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

//! Old meanings of operators: their schemas while calls are matched, and the functions that take
//! their place afterwards.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use sconce_ir::operators::{self, CURRENT_VERSION};
use sconce_ir::{BlockId, Graph, NodeId, Schema, verify_links_after};
use sconce_syntax::Source;

use crate::Error;
use crate::definition::Definition;

/// Compiles what takes an operator's place.
pub(crate) type Compile = fn(&Definition) -> Result<Graph, Error>;

/// An upgrader ready for use.
pub(crate) struct Upgrader {
    /// The name and the overload.
    operator: (&'static str, &'static str),
    bumped_at: u32,
    old_schema: Schema,
    /// What takes the operator's place; `None` if the table's text were wrong.
    graph: OnceLock<Option<Graph>>,
    source: &'static str,
}

impl Upgrader {
    /// The operator's schema as it was.
    pub(crate) fn old_schema(&self) -> &Schema {
        &self.old_schema
    }

    fn graph(&self, compile: Compile) -> Option<&Graph> {
        let compiled = self.graph.get_or_init(|| {
            let compiled = definition(self.source).and_then(|definition| compile(&definition));
            debug_assert!(compiled.is_ok(), "{compiled:?}");
            compiled.ok()
        });
        compiled.as_ref()
    }
}

fn table() -> &'static [Upgrader] {
    static TABLE: OnceLock<Box<[Upgrader]>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let upgraders = operators::upgraders().iter().filter_map(|upgrader| {
            Some(Upgrader {
                operator: upgrader.operator.split_once('.').unwrap_or((upgrader.operator, "")),
                bumped_at: upgrader.bumped_at,
                old_schema: Schema::parse(upgrader.old_schema).ok()?,
                graph: OnceLock::new(),
                source: upgrader.source,
            })
        });
        upgraders.collect()
    })
}

/// The place of an upgrader among those that are ready.
fn index_of(upgrader: &operators::Upgrader) -> Option<usize> {
    table().iter().position(|known| known.source == upgrader.source)
}

/// Puts the functions that older programs mean in the place of calls of operators. Each call gives what the operator
/// gave then.
pub(crate) fn upgrade(
    graph: &mut Graph,
    calls: &[(NodeId, &operators::Upgrader)],
    compile: Compile,
) {
    let outdated = calls.iter().filter_map(|&(node, upgrader)| Some((node, index_of(upgrader)?)));
    replace(graph, &outdated.collect(), compile);
}

/// The upgrader of an operator in sources of a version, with its index.
pub(crate) fn find(schema: &Schema, version: u32) -> Option<(usize, &'static Upgrader)> {
    if version >= CURRENT_VERSION {
        return None;
    }
    let operator = (&*schema.name, &*schema.overload);
    let mut upgraders = table().iter().enumerate();
    upgraders.find(|(_, upgrader)| upgrader.operator == operator && version < upgrader.bumped_at)
}

/// An upgrader's source, parsed.
fn definition(source: &str) -> Result<Definition, Error> {
    // As PyTorch has it: a text in quotes that begins on the line after.
    let text = format!("\n{}", source.trim_start());
    let source = Arc::new(Source::new(text).with_filename("<string>").with_starting_line(1));
    let def = sconce_syntax::parse_def(&source, false)?;
    Ok(Definition::new(Arc::new(def), source))
}

/// Puts upgraders in the place of the nodes that have one, in program order.
/// `compile` compiles an upgrader that is met for the first time.
pub(crate) fn replace(graph: &mut Graph, outdated: &FxHashMap<NodeId, usize>, compile: Compile) {
    if !outdated.is_empty() {
        let mut found = Vec::new();
        collect(graph, graph.root(), outdated, &mut found);
        for (node, index) in found {
            replace_node(graph, node, table()[index].graph(compile));
        }
    }
    verify_links_after("upgraders", graph);
    graph.op_version = Some(CURRENT_VERSION);
}

fn collect(
    graph: &Graph,
    root: BlockId,
    outdated: &FxHashMap<NodeId, usize>,
    found: &mut Vec<(NodeId, usize)>,
) {
    let mut blocks = vec![root];
    while let Some(block) = blocks.pop() {
        for node in graph.block_nodes(block) {
            if let Some(&index) = outdated.get(&node) {
                found.push((node, index));
            }
            blocks.extend(graph.node(node).blocks().iter().rev());
        }
    }
    found.sort_by(|(a, _), (b, _)| order(graph, *a, *b));
}

fn order(graph: &Graph, a: NodeId, b: NodeId) -> std::cmp::Ordering {
    if a == b {
        std::cmp::Ordering::Equal
    } else if graph.is_before(a, b) {
        std::cmp::Ordering::Less
    } else {
        std::cmp::Ordering::Greater
    }
}

fn replace_node(graph: &mut Graph, node: NodeId, body: Option<&Graph>) {
    let Some(body) = body else { return };
    let inputs = graph.node(node).inputs().iter().copied();
    let mut map = body.inputs().iter().copied().zip(inputs).collect();
    let results = graph.insert_copy(body, body.root(), node, &mut map);
    let outputs = graph.node(node).outputs().to_vec();
    for (output, result) in outputs.into_iter().zip(results) {
        graph.replace_all_uses(output, result);
    }
    graph.destroy(node);
}

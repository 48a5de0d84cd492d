//! What is done to every graph after it has been converted to values: `runCleanupPasses`. Each pass verifies
//! the graph that it leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use sconce_ir::{Attribute, Graph, NodeId, Prim, passes};

use crate::Error;

/// The number of the next `aten::warn`. PyTorch counts through the whole process, too.
static WARNINGS: AtomicI64 = AtomicI64::new(0);

pub(crate) fn clean_up(graph: &mut Graph) -> Result<(), Error> {
    passes::canonicalize_modified_loops(graph);
    passes::normalize_ops(graph);
    passes::lift_closures(graph);
    passes::inline_forked_closures(graph)
        .map_err(|error| Error::without_range(error.to_string()))?;
    clean_up_forks(graph);
    passes::erase_list_literals(graph);
    passes::lower_simple_tuples(graph);
    passes::constant_propagation_immutable_types(graph);
    passes::constant_pooling(graph);
    passes::canonicalize_outputs(graph);
    number_warnings(graph);
    Ok(())
}

/// What is forked is a graph of its own, of which PyTorch takes out what is dead and what is there
/// twice.
fn clean_up_forks(graph: &mut Graph) {
    let is_fork = |node: &NodeId| {
        let node = graph.node(*node);
        node.is(Prim::Fork) || node.is(Prim::Awaitable)
    };
    let forks: Vec<NodeId> = graph.preorder(graph.root()).filter(is_fork).collect();
    for fork in forks {
        let Some(Attribute::Graph(body)) = graph.node(fork).attribute("Subgraph") else { continue };
        let mut body = Graph::clone(body);
        clean_up_forks(&mut body);
        passes::lower_simple_tuples(&mut body);
        passes::constant_pooling(&mut body);
        graph.node_mut(fork).set_attribute("Subgraph", Attribute::Graph(Arc::new(body)));
    }
}

fn number_warnings(graph: &mut Graph) {
    let first = WARNINGS.load(Ordering::Relaxed);
    let mut next = first;
    passes::annotate_warns(graph, &mut next);
    if next > first {
        WARNINGS.fetch_add(next - first, Ordering::Relaxed);
    }
}

//! Dicts that are put together in the graph of constant keys and that nothing changes.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{literal, maker, replace, replace_by, written};
use crate::{Attribute, Constant, Graph, NodeId, Prim, Type, ValueId};

/// What is in each dict, by key; nothing where a key is not known or there twice.
type Dicts = FxHashMap<NodeId, Option<FxHashMap<Arc<str>, ValueId>>>;

/// Takes length and elements of such dicts from what they are made of.
pub(super) fn peephole(graph: &mut Graph, nodes: &[NodeId]) -> bool {
    let Some(written) = written(graph, nodes, Prim::DictConstruct) else { return false };
    let mut dicts = Dicts::default();
    let mut changed = false;
    for &node in nodes {
        changed |= dict(graph, node, &written, &mut dicts).is_some();
    }
    changed
}

fn dict(graph: &mut Graph, id: NodeId, written: &[bool], dicts: &mut Dicts) -> Option<bool> {
    let node = graph.node(id);
    let dict = *node.inputs().first()?;
    let made = maker(graph, dict);
    let symbol = node.kind.symbol();
    let is_read = matches!(symbol, "aten::len" | "aten::__getitem__");
    if !is_read || !graph.node(made).is(Prim::DictConstruct) || written[dict.0 as usize] {
        return None;
    }
    let items = dicts.entry(made).or_insert_with(|| items(graph, made)).as_ref()?;
    if symbol == "aten::len" {
        return Some(replace_by(graph, id, &Constant::Int(items.len() as i64)));
    }
    let item = *items.get(&key(graph, node.inputs()[1])?)?;
    Some(replace(graph, node.output(), item))
}

fn items(graph: &Graph, made: NodeId) -> Option<FxHashMap<Arc<str>, ValueId>> {
    let mut items = FxHashMap::default();
    for pair in graph.node(made).inputs().chunks_exact(2) {
        if items.insert(key(graph, pair[0])?, pair[1]).is_some() {
            return None;
        }
    }
    Some(items)
}

/// A key that dicts are looked into by, as text: those of a dict are all of one type.
fn key(graph: &Graph, value: ValueId) -> Option<Arc<str>> {
    match (graph.ty(value), literal(graph, value)??) {
        (Type::Int, Attribute::Int(int)) => Some(int.to_string().into()),
        // Both zeros are one key; no number is none.
        (Type::Float, Attribute::Float(float)) => {
            (!float.is_nan()).then(|| (float + 0.0).to_bits().to_string().into())
        }
        (Type::Str, Attribute::Str(text)) => Some(Arc::clone(text)),
        _ => None,
    }
}

//! Lists that are put together in the graph and that nothing changes.

use super::{insert_list, int, literal, maker, replace, replace_by, written};
use crate::{Attribute, Constant, Graph, NodeId, Prim, ValueId};

/// Takes length, elements, slices and sums of such lists from what they are made of.
pub(super) fn peephole(graph: &mut Graph, nodes: &[NodeId], room: &mut usize) -> bool {
    let Some(mut written) = written(graph, nodes, Prim::ListConstruct) else { return false };
    let mut changed = false;
    for &node in nodes {
        changed |= list(graph, node, &mut written, room).is_some();
    }
    changed
}

fn list(graph: &mut Graph, id: NodeId, written: &mut Vec<bool>, room: &mut usize) -> Option<()> {
    let node = graph.node(id);
    let elements = elements(graph, *node.inputs().first()?, written)?;
    let new = match node.kind.symbol() {
        "aten::len" => {
            let length = Constant::Int(elements.len() as i64);
            replace_by(graph, id, &length);
            return Some(());
        }
        "aten::__getitem__" => {
            let index = int(graph, node.inputs()[1])?;
            let index = if index < 0 { index.wrapping_add(elements.len() as i64) } else { index };
            let element = *elements.get(usize::try_from(index).ok()?)?;
            replace(graph, node.output(), element);
            return Some(());
        }
        "prim::ListUnpack" if node.outputs().len() == elements.len() => {
            let (outputs, elements) = (node.outputs().to_vec(), elements.to_vec());
            for (output, element) in outputs.into_iter().zip(elements) {
                replace(graph, output, element);
            }
            return Some(());
        }
        "aten::add" if node.inputs().len() == 2 => {
            [elements, self::elements(graph, node.inputs()[1], written)?].concat()
        }
        "aten::slice" => part(graph, id, elements)?,
        _ => return None,
    };
    let old = graph.node(id).output();
    let new = insert_list(graph, id, &new, old, room)?;
    // What holds of the memory of the one holds of the other.
    written.resize(graph.value_count(), written[old.0 as usize]);
    replace(graph, old, new);
    Some(())
}

/// What a list is made of, if nothing changes it.
fn elements<'g>(graph: &'g Graph, list: ValueId, written: &[bool]) -> Option<&'g [ValueId]> {
    let made = graph.node(maker(graph, list));
    (made.is(Prim::ListConstruct) && !written[list.0 as usize]).then(|| made.inputs())
}

/// The elements that `aten::slice` takes, its bounds and step being constants.
fn part(graph: &Graph, id: NodeId, elements: &[ValueId]) -> Option<Vec<ValueId>> {
    let &[_, start, end, step] = graph.node(id).inputs() else { return None };
    let length = elements.len() as i64;
    let step = int(graph, step).filter(|&step| step != 0)?;
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let mut bounds = [first, last];
    for (bound, value) in bounds.iter_mut().zip([start, end]) {
        match literal(graph, value)? {
            Some(&Attribute::Int(at)) => {
                let at = if at < 0 { at.saturating_add(length) } else { at };
                *bound = at.clamp(low, high);
            }
            Some(_) => return None,
            None => {}
        }
    }
    let [start, end] = bounds;
    let mut part = Vec::new();
    let mut at = start;
    while if step > 0 { at < end } else { at > end } {
        part.push(elements[at as usize]);
        at = at.saturating_add(step);
    }
    Some(part)
}

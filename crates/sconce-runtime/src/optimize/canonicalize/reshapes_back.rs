//! Layers' results that are reshaped and then given their own sizes again, as around a normalisation of rows that has
//! been folded into the layer.

use sconce_ir::NodeId;

use crate::optimize::Optimization;

/// Operators that give a tensor other sizes.
const RESHAPES: [&str; 3] = ["aten::flatten", "aten::reshape", "aten::view"];

/// Puts what a layer gives in the place of what it is reshaped to and back.
pub(crate) fn remove(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = remove_one(optimization, node);
    }
    optimization.simplify();
}

fn remove_one(o: &mut Optimization, back: NodeId) -> Option<()> {
    if !["aten::reshape_as", "aten::view_as"].iter().any(|symbol| o.is_op(back, symbol)) {
        return None;
    }
    let &[reshaped, like] = o.graph.node(back).inputs() else { return None };
    let reshape = o.producer(reshaped);
    let is_of_it = o.graph.node(reshape).inputs().first() == Some(&like)
        && RESHAPES.iter().any(|symbol| o.is_op(reshape, symbol));
    // What layers give lies row-major: neither reshape copies, and the strides are those that it has.
    let is_plain = o.is_op(o.producer(like), "aten::linear");
    let result = o.graph.node(back).output();
    if !is_of_it || !is_plain || [like, reshaped, result].iter().any(|&value| o.is_written(value)) {
        return None;
    }
    o.replace(back, like);
    Some(())
}

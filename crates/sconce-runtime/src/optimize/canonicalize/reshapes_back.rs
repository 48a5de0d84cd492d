//! Layers' results that are flattened and then given their own sizes again, as around a normalisation of rows that has
//! been folded into the layer.

use sconce_ir::NodeId;

use crate::optimize::Optimization;

/// Puts what a layer gives in the place of what it is flattened to and back. Other sizes might not fit, which is an error
/// that has to stay.
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
    let &[flattened, like] = o.graph.node(back).inputs() else { return None };
    let flat = o.producer(flattened);
    let is_of_it =
        o.graph.node(flat).inputs().first() == Some(&like) && o.is_op(flat, "aten::flatten");
    // What layers give lies row-major: nothing is copied, and the strides are those that it has.
    let is_plain = o.is_op(o.producer(like), "aten::linear");
    let result = o.graph.node(back).output();
    if !is_of_it || !is_plain || [like, flattened, result].iter().any(|&value| o.is_written(value))
    {
        return None;
    }
    o.replace(back, like);
    Some(())
}

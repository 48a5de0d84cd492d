//! What every dense tensor answers alike: encoder layers ask each of their weights where it is, whether it is nested, and
//! whether it requires a gradient, before they choose how they compute.

use sconce_ir::{Constant, NodeId, ValueId};

use crate::optimize::Optimization;

/// What turns the recording of gradients on. A program that has one is not asked about gradients beforehand.
const RECORDING: &[&str] = &["aten::requires_grad_", "aten::set_grad_enabled"];

/// What a node says of tensors that are known to be dense.
pub(super) fn known(o: &Optimization, node: NodeId) -> Option<Constant> {
    let at = o.graph.node(node);
    let &[of] = at.inputs() else { return None };
    let is_dense = |value: ValueId| o.fact(value).is_some();
    match at.kind.symbol() {
        // The type of a device.
        "prim::type" => {
            let device = o.graph.node(o.producer(of));
            let &[tensor] = device.inputs() else { return None };
            let is_known = device.kind.symbol() == "prim::device" && is_dense(tensor);
            is_known.then(|| Constant::Str("cpu".into()))
        }
        "prim::is_nested" => is_dense(of).then_some(Constant::Bool(false)),
        // Optimised code runs where no gradients are recorded.
        "prim::requires_grad" => {
            let symbol = |node: NodeId| o.graph.node(node).kind.symbol();
            let records = || o.nodes().into_iter().any(|node| RECORDING.contains(&symbol(node)));
            (is_dense(of) && !records()).then_some(Constant::Bool(false))
        }
        _ => None,
    }
}

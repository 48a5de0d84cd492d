//! Sums with the number 0, which leave a tensor as it is.

use sconce_ir::{Constant, NodeId, ValueId};
use sconce_kernels::DType;

use crate::optimize::Optimization;

/// What gives no negative zero unless all it is made of is negative zeros: adding 0 changes nothing that can be seen.
const SUMS: &[&str] = &["aten::add", "sconce::add", "aten::conv2d", "aten::batch_norm"];

/// Puts `x` in the place of `x + 0`.
pub(crate) fn remove(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = remove_one(optimization, node);
    }
    optimization.refresh();
}

fn remove_one(o: &mut Optimization, node: NodeId) -> Option<()> {
    if !o.is_op(node, "aten::add") {
        return None;
    }
    let (sum, &[x, number, ..]) = (o.graph.node(node).output(), o.graph.node(node).inputs()) else {
        return None;
    };
    let maker = o.graph.node(o.producer(x)).kind.symbol();
    let is_float = o.fact(x).is_some_and(|fact| fact.dtype.is_floating_point() && fact.rank > 0);
    let is_private = o.is_used_once(x) && !o.is_written(x) && !o.is_written(sum);
    (SUMS.contains(&maker) && is_float && is_private && is_zero(o, number)).then_some(())?;
    o.replace(node, x);
    Some(())
}

/// Whether a value is 0: a number, or a tensor without dimensions that changes no dtype.
fn is_zero(o: &Optimization, value: ValueId) -> bool {
    match o.constant(value) {
        Some(Constant::Int(number)) => number == 0,
        Some(Constant::Float(number)) => number == 0.0,
        _ => o.constant_tensor(value).is_some_and(|tensor| {
            let number = tensor.to_dtype(DType::Float64).and_then(|x| x.to_vec::<f64>());
            tensor.dim() == 0 && !tensor.dtype().is_complex() && number.is_ok_and(|x| x == [0.0])
        }),
    }
}

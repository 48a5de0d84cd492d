//! What tracing leaves of layers: convolutions with all that PyTorch's backends want to know.

use sconce_ir::{Constant, Kind, NodeId, Type, operators};

use super::Optimization;

/// Makes `_convolution`, which traces hold, the convolution of so many dimensions that it is.
pub(super) fn name_convolutions(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = name_one(optimization, node);
    }
    optimization.refresh();
}

fn name_one(o: &mut Optimization, node: NodeId) -> Option<()> {
    if !o.is_op(node, "aten::_convolution") {
        return None;
    }
    let &[input, weight, bias, stride, padding, dilation, transposed, _, groups, ..] =
        o.graph.node(node).inputs()
    else {
        return None;
    };
    let like = o.fact(input).zip(o.fact(weight)).filter(|(input, weight)| input.is_like(*weight));
    let symbol = match like?.0.rank {
        3 => "aten::conv1d",
        4 => "aten::conv2d",
        5 => "aten::conv3d",
        _ => return None,
    };
    if o.constant(transposed) != Some(Constant::Bool(false)) {
        return None;
    }
    let operator = operators::find(symbol, "")?;
    let inputs = [input, weight, bias, stride, padding, dilation, groups];
    let kind = Kind::Op(operator.schema.name.clone());
    let new = o.graph.new_node_with(kind, &inputs, Type::Tensor);
    o.graph.node_mut(new).operator = Some(operator.id);
    o.insert_at(new, node);
    let convolved = o.graph.node(new).output();
    o.replace(node, convolved);
    Some(())
}

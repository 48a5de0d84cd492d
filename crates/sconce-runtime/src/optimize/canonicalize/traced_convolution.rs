//! Convolutions in other words than most layers have: what tracing leaves of them, with all that
//! PyTorch's backends want to know, and those whose padding is a word.

use sconce_ir::{Constant, Kind, NodeId, Type, ValueId, operators};

use crate::optimize::Optimization;

/// Makes `convolution`, which exported programs hold, `_convolution` and `_convolution_mode`, which traces hold, the
/// convolution of so many dimensions that it is, transposed or not, and puts numbers in the place of words for padding.
pub(crate) fn name_convolutions(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let _ = name_one(optimization, node);
    }
    for node in optimization.nodes() {
        let _ = spell_padding(optimization, node);
    }
    optimization.refresh();
}

/// Where as much is padded on both sides.
fn spell_padding(o: &mut Optimization, node: NodeId) -> Option<()> {
    const CONVOLUTIONS: [&str; 3] = ["aten::conv1d", "aten::conv2d", "aten::conv3d"];
    let symbol = *CONVOLUTIONS.iter().find(|symbol| o.is_op(node, symbol))?;
    let &[_, weight, _, stride, padding, dilation, _] = o.graph.node(node).inputs() else {
        return None;
    };
    let Constant::Str(word) = o.constant(padding)? else { return None };
    let kernel = o.constant_tensor(weight)?.sizes().get(2..)?.to_vec();
    let dilation = o.ints(dilation)?;
    let each: Vec<i64> = match &*word {
        "valid" => vec![0; kernel.len()],
        "same" if o.ints(stride)?.iter().all(|&stride| stride == 1) => {
            let dilations = dilation.iter().cycle().take(kernel.len());
            kernel.iter().zip(dilations).map(|(len, dilation)| (len - 1) * dilation).collect()
        }
        _ => return None,
    };
    each.iter().all(|sum| sum % 2 == 0).then_some(())?;
    let each = each.iter().map(|sum| Constant::Int(sum / 2)).collect();
    let numbers = o.insert_constant(&Constant::List(Type::Int, each), node);
    o.graph.replace_node_input(node, 4, numbers);
    o.graph.node_mut(node).operator = Some(operators::find(symbol, "")?.id);
    Some(())
}

fn name_one(o: &mut Optimization, node: NodeId) -> Option<()> {
    let at = o.graph.node(node);
    let (inputs, by_mode): (Vec<ValueId>, bool) = match (at.kind.symbol(), at.inputs()) {
        (
            "aten::_convolution" | "aten::convolution",
            &[input, weight, bias, stride, padding, dilation, transposed, extra, groups, ..],
        ) => match o.constant(transposed)? {
            Constant::Bool(true) => {
                (vec![input, weight, bias, stride, padding, extra, groups, dilation], false)
            }
            Constant::Bool(false) => {
                (vec![input, weight, bias, stride, padding, dilation, groups], false)
            }
            _ => return None,
        },
        ("aten::_convolution_mode", inputs) => (inputs.to_vec(), true),
        _ => return None,
    };
    let &[input, weight, ..] = inputs.as_slice() else { return None };
    let like = o.fact(input).zip(o.fact(weight)).filter(|(input, weight)| input.is_like(*weight));
    let is_transposed = inputs.len() == 8;
    let symbol = match (like?.0.rank, is_transposed) {
        (3, false) => "aten::conv1d",
        (4, false) => "aten::conv2d",
        (5, false) => "aten::conv3d",
        (3, true) => "aten::conv_transpose1d",
        (4, true) => "aten::conv_transpose2d",
        (5, true) => "aten::conv_transpose3d",
        _ => return None,
    };
    let overload = match symbol {
        _ if by_mode => "padding",
        "aten::conv_transpose2d" | "aten::conv_transpose3d" => "input",
        _ => "",
    };
    let operator = operators::find(symbol, overload)?;
    let kind = Kind::Op(operator.schema.name.clone());
    let new = o.graph.new_node_with(kind, &inputs, Type::Tensor);
    o.graph.node_mut(new).operator = Some(operator.id);
    o.insert_at(new, node);
    let convolved = o.graph.node(new).output();
    o.replace(node, convolved);
    Some(())
}

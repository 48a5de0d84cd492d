//! Quantized convolutions of older archives, which took strides and padding as operands: PyTorch writes them
//! anew as it loads a module.

use sconce_ir::{Graph, Kind, NodeId, operators};

/// The operators that had operands more, in the order in which PyTorch looks for them.
const OPERATORS: &[&str] =
    &["quantized::conv2d", "quantized::conv2d_relu", "quantized::conv3d", "quantized::conv3d_relu"];

/// How many operands they had: the tensor, the weight, stride, padding, dilation, groups, scale and zero point.
const OPERANDS: usize = 8;

/// Calls the operators with the operands that they have now. What made the others stays, as in PyTorch.
pub(crate) fn rewrite(graph: &mut Graph) {
    for symbol in OPERATORS {
        let Some(operator) = operators::find(symbol, "new") else { continue };
        for old in calls(graph, symbol) {
            let node = graph.node(old);
            let &[tensor, weight, _, _, _, _, scale, zero_point] = node.inputs() else { continue };
            let before = node.output();
            let ty = graph.ty(before).clone();
            let new =
                graph.new_node(Kind::Op((*symbol).into()), &[tensor, weight, scale, zero_point]);
            graph.node_mut(new).operator = Some(operator.id);
            let result = graph.add_output(new, ty);
            graph.insert_before(new, old);
            graph.replace_all_uses(before, result);
            graph.destroy(old);
        }
    }
}

/// The calls of an operator in its old form: those of a block before those of the blocks in it.
fn calls(graph: &Graph, symbol: &str) -> Vec<NodeId> {
    let mut found = Vec::new();
    let mut blocks = vec![graph.root()];
    while let Some(block) = blocks.pop() {
        for node in graph.block_nodes(block) {
            let at = graph.node(node);
            if matches!(&at.kind, Kind::Op(own) if &**own == symbol)
                && at.inputs().len() == OPERANDS
            {
                found.push(node);
            }
            blocks.extend(at.blocks());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use sconce_ir::Type;

    #[test]
    fn operands_that_the_weight_has_are_left_out() {
        let mut graph = Graph::new();
        let inputs: Vec<_> = (0..OPERANDS).map(|_| graph.add_input(Type::Tensor)).collect();
        let root = graph.root();
        let mut last = None;
        for count in [OPERANDS, 4] {
            let kind = Kind::Op("quantized::conv2d_relu".into());
            let node = graph.new_node(kind, &inputs[..count]);
            last = Some(graph.add_output(node, Type::Tensor));
            graph.append(root, node);
        }
        let first = graph.block_nodes(root).next().unwrap();
        let result = graph.node(first).output();
        graph.add_block_output(root, result);
        graph.add_block_output(root, last.unwrap());
        rewrite(&mut graph);
        let nodes: Vec<NodeId> = graph.block_nodes(root).collect();
        let given: Vec<_> = nodes.iter().map(|&node| graph.node(node).inputs().to_vec()).collect();
        let expected = [inputs[0], inputs[1], inputs[6], inputs[7]];
        assert_eq!(given, [expected.to_vec(), inputs[..4].to_vec()]);
        assert_eq!(graph.block_outputs(root)[0], graph.node(nodes[0]).output());
        // Once more changes nothing.
        let before = graph.to_string();
        rewrite(&mut graph);
        assert_eq!(graph.to_string(), before);
    }
}

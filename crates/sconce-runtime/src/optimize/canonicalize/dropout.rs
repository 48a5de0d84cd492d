//! Dropout gives its input in evaluation.

use sconce_ir::Constant;

use crate::optimize::Optimization;

const DROPOUTS: &[&str] = &[
    "aten::dropout",
    "aten::dropout_",
    "aten::feature_dropout",
    "aten::feature_dropout_",
    "aten::alpha_dropout",
    "aten::alpha_dropout_",
    "aten::feature_alpha_dropout",
    "aten::feature_alpha_dropout_",
];

/// Removes dropout that does not train.
pub(crate) fn remove(optimization: &mut Optimization) {
    for node in optimization.nodes() {
        let at = optimization.graph.node(node);
        let &[input, rate, train] = at.inputs() else { continue };
        let is_dropout = DROPOUTS.contains(&at.kind.symbol());
        let in_range = matches!(optimization.constant(rate), Some(Constant::Float(rate)) if (0.0..=1.0).contains(&rate));
        if is_dropout && in_range && optimization.constant(train) == Some(Constant::Bool(false)) {
            optimization.replace(node, input);
        }
    }
    optimization.refresh();
}

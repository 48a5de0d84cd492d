//! One name for each operator: PyTorch's `NormalizeOps`.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::{Graph, Kind, NodeId, Type};

/// Operators with the name they are given, without `aten::`.
const ALIASES: &[(&str, &str)] = &[
    ("absolute", "abs"),
    ("absolute_", "abs_"),
    ("adjoint", "mH"),
    ("arccos", "acos"),
    ("arccos_", "acos_"),
    ("arccosh", "acosh"),
    ("arccosh_", "acosh_"),
    ("arcsin", "asin"),
    ("arcsin_", "asin_"),
    ("arcsinh", "asinh"),
    ("arcsinh_", "asinh_"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arctan2_", "atan2_"),
    ("arctan_", "atan_"),
    ("arctanh", "atanh"),
    ("arctanh_", "atanh_"),
    ("clip", "clamp"),
    ("clip_", "clamp_"),
    ("concat", "cat"),
    ("concatenate", "cat"),
    ("det", "linalg_det"),
    ("divide", "div"),
    ("divide_", "div_"),
    ("fix", "trunc"),
    ("fix_", "trunc_"),
    ("ger", "outer"),
    ("greater", "gt"),
    ("greater_", "gt_"),
    ("greater_equal", "ge"),
    ("greater_equal_", "ge_"),
    ("inverse", "linalg_inv"),
    ("less", "lt"),
    ("less_", "lt_"),
    ("less_equal", "le"),
    ("less_equal_", "le_"),
    ("linalg_matmul", "matmul"),
    ("matrix_exp", "linalg_matrix_exp"),
    ("matrix_power", "linalg_matrix_power"),
    ("moveaxis", "movedim"),
    ("multiply", "mul"),
    ("multiply_", "mul_"),
    ("negative", "neg"),
    ("negative_", "neg_"),
    ("not_equal", "ne"),
    ("not_equal_", "ne_"),
    ("orgqr", "linalg_householder_product"),
    ("row_stack", "vstack"),
    ("special_digamma", "digamma"),
    ("special_erf", "erf"),
    ("special_erfc", "erfc"),
    ("special_erfinv", "erfinv"),
    ("special_exp2", "exp2"),
    ("special_expit", "sigmoid"),
    ("special_expm1", "expm1"),
    ("special_gammainc", "igamma"),
    ("special_gammaincc", "igammac"),
    ("special_gammaln", "lgamma"),
    ("special_i0", "i0"),
    ("special_log1p", "log1p"),
    ("special_log_softmax", "log_softmax"),
    ("special_logit", "logit"),
    ("special_logsumexp", "logsumexp"),
    ("special_multigammaln", "mvlgamma"),
    ("special_polygamma", "polygamma"),
    ("special_psi", "digamma"),
    ("special_round", "round"),
    ("special_sinc", "sinc"),
    ("special_softmax", "softmax"),
    ("special_xlogy", "xlogy"),
    ("subtract", "sub"),
    ("subtract_", "sub_"),
    ("swapaxes", "transpose"),
    ("swapaxes_", "transpose_"),
    ("swapdims", "transpose"),
    ("swapdims_", "transpose_"),
    ("true_divide", "div"),
    ("true_divide_", "div_"),
];

static NAMES: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| ALIASES.iter().copied().collect());

/// Gives operators that have several names the one that PyTorch keeps, `rsub` the form of `sub`, and
/// `is` between bools that of `==`.
pub fn normalize_ops(graph: &mut Graph) {
    let nodes: Vec<NodeId> = graph.walk(graph.root()).collect();
    for node in nodes {
        let Kind::Op(symbol) = &graph.node(node).kind else { continue };
        let Some(name) = symbol.strip_prefix("aten::") else { continue };
        if let Some(&other) = NAMES.get(name) {
            rename(graph, node, other);
            continue;
        }
        match name {
            "rsub" if takes_two_tensors(graph, node) => {
                let (a, b) = (graph.node(node).inputs()[0], graph.node(node).inputs()[1]);
                graph.replace_node_input(node, 0, b);
                graph.replace_node_input(node, 1, a);
                rename(graph, node, "sub");
            }
            "__is__" if takes_bools(graph, node) => rename(graph, node, "eq"),
            "__isnot__" if takes_bools(graph, node) => rename(graph, node, "ne"),
            _ => {}
        }
    }
    super::finish(graph, "normalize_ops");
}

fn rename(graph: &mut Graph, node: NodeId, name: &str) {
    let at = graph.node_mut(node);
    at.kind = Kind::Op(format!("aten::{name}").into());
    at.operator = None;
    graph.node_mut(node).operator = graph.operator(node).map(|operator| operator.id);
}

fn takes_two_tensors(graph: &Graph, node: NodeId) -> bool {
    match graph.node(node).inputs() {
        [a, b, _] => graph.ty(*a).is_tensor() && graph.ty(*b).is_tensor(),
        _ => false,
    }
}

fn takes_bools(graph: &Graph, node: NodeId) -> bool {
    let inputs = graph.node(node).inputs();
    inputs.len() == 2 && inputs.iter().all(|&input| *graph.ty(input) == Type::Bool)
}

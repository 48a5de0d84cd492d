//! Casts in regions of `torch.autocast`: PyTorch's pass of that name.

use std::sync::Arc;

use crate::operators::{self, Operator};
use crate::{BlockId, Constant, Graph, NodeId, Prim, Type, ValueId};

/// Operators whose tensors are cast to the region's dtype.
const REDUCED: &[&str] = &[
    "aten::_convolution",
    "aten::_thnn_fused_gru_cell",
    "aten::_thnn_fused_lstm_cell",
    "aten::addbmm",
    "aten::addmm",
    "aten::addmv",
    "aten::addr",
    "aten::baddbmm",
    "aten::bmm",
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    "aten::conv_tbc",
    "aten::conv_transpose1d",
    "aten::convolution",
    "aten::cudnn_convolution",
    "aten::cudnn_convolution_transpose",
    "aten::gru_cell",
    "aten::linear",
    "aten::lstm_cell",
    "aten::matmul",
    "aten::mm",
    "aten::mv",
    "aten::prelu",
    "aten::rnn_relu_cell",
    "aten::rnn_tanh_cell",
];

/// Operators whose tensors are cast to `float32`: those that lose much in less, and those that would take tensors of
/// several dtypes.
const FULL: &[&str] = &[
    "aten::acos",
    "aten::add",
    "aten::addcdiv",
    "aten::addcmul",
    "aten::asin",
    "aten::atan2",
    "aten::bilinear",
    "aten::binary_cross_entropy_with_logits",
    "aten::cdist",
    "aten::cosh",
    "aten::cosine_embedding_loss",
    "aten::cosine_similarity",
    "aten::cross",
    "aten::dist",
    "aten::div",
    "aten::dot",
    "aten::equal",
    "aten::erfinv",
    "aten::exp",
    "aten::expm1",
    "aten::frobenius_norm",
    "aten::gelu",
    "aten::group_norm",
    "aten::hinge_embedding_loss",
    "aten::index_put",
    "aten::kl_div",
    "aten::l1_loss",
    "aten::layer_norm",
    "aten::log",
    "aten::log10",
    "aten::log1p",
    "aten::log2",
    "aten::logsumexp",
    "aten::margin_ranking_loss",
    "aten::mse_loss",
    "aten::mul",
    "aten::multi_margin_loss",
    "aten::multilabel_margin_loss",
    "aten::native_layer_norm",
    "aten::nll_loss",
    "aten::nll_loss2d",
    "aten::nuclear_norm",
    "aten::pdist",
    "aten::pow",
    "aten::reciprocal",
    "aten::renorm",
    "aten::rsqrt",
    "aten::sinh",
    "aten::smooth_l1_loss",
    "aten::soft_margin_loss",
    "aten::softplus",
    "aten::sub",
    "aten::tan",
    "aten::tensordot",
    "aten::triplet_margin_loss",
];

/// The same where no `dtype` is given.
const FULL_WITHOUT_DTYPE: &[&str] =
    &["aten::cumprod", "aten::cumsum", "aten::log_softmax", "aten::prod", "aten::sum"];

/// The classes of regions, as archives name them.
const REGIONS: &[&str] = &[
    "__torch__.torch.amp.autocast_mode.autocast",
    "__torch__.torch.autocast_mode.autocast",
    "__torch__.torch.cpu.amp.autocast_mode.autocast",
    "__torch__.torch.cuda.amp.autocast_mode.autocast",
];

/// `float16` and `bfloat16`, as numbers of dtypes.
const FLOAT16: i64 = 5;
const BFLOAT16: i64 = 15;

/// Why a region cannot be followed. The words are PyTorch's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AutocastError {
    message: &'static str,
    node: NodeId,
}

impl AutocastError {
    /// What was met.
    pub fn node(&self) -> NodeId {
        self.node
    }
}

/// What regions ask for where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Casts {
    on_cuda: bool,
    on_cpu: bool,
    cuda_dtype: i64,
    cpu_dtype: i64,
}

impl Casts {
    const NONE: Casts =
        Casts { on_cuda: false, on_cpu: false, cuda_dtype: FLOAT16, cpu_dtype: BFLOAT16 };
}

/// Whether a graph enters a region of `torch.autocast`.
pub fn enters_autocast(graph: &Graph) -> bool {
    graph.preorder(graph.root()).any(|node| is_region(graph, node, Prim::Enter))
}

/// Casts tensors before the operators of regions of `torch.autocast`. Calls are to be inlined, and constants known.
///
/// # Errors
/// Where it is not known before the graph runs whether a region casts, and for `binary_cross_entropy` in one.
pub fn autocast(graph: &mut Graph) -> Result<(), AutocastError> {
    let mut open: Vec<(BlockId, Casts)> = vec![(graph.root(), Casts::NONE)];
    while let Some((block, outside)) = open.pop() {
        let mut regions: Vec<Casts> = Vec::new();
        let nodes: Vec<NodeId> = graph.block_nodes(block).collect();
        for node in nodes {
            let casts = regions.last().copied().unwrap_or(outside);
            if is_region(graph, node, Prim::Enter) {
                regions.push(region(graph, node, casts)?);
            } else if is_region(graph, node, Prim::Exit) {
                regions.pop();
            } else {
                cast_inputs(graph, node, casts)?;
            }
            open.extend(graph.node(node).blocks().iter().map(|&inner| (inner, casts)));
        }
    }
    super::finish(graph, "autocast");
    Ok(())
}

/// Whether a node enters or leaves a region.
fn is_region(graph: &Graph, node: NodeId, prim: Prim) -> bool {
    let at = graph.node(node);
    let name = |value: &ValueId| graph.ty(*value).annotation();
    at.is(prim) && at.inputs().first().map(name).is_some_and(|name| REGIONS.contains(&&*name))
}

/// What a region asks for: its constructor stored that in its object.
fn region(graph: &Graph, enter: NodeId, outside: Casts) -> Result<Casts, AutocastError> {
    let error = |message| AutocastError { message, node: enter };
    let at = graph.node(enter);
    if at.outputs().iter().any(|&output| !graph.value(output).uses().is_empty()) {
        return Err(error("`with autocast() as ...` is not supported"));
    }
    let object = at.inputs()[0];
    if !graph.node(graph.value(object).node()).is(Prim::CreateObject) {
        return Err(error("Unsupported autocast syntax"));
    }
    let (mut enabled, mut device, mut dtype) = (None, None, None);
    for one in graph.value(object).uses() {
        let user = graph.node(one.user);
        let (true, Some(name), &[_, value]) =
            (user.is(Prim::SetAttr), user.str_attribute("name"), user.inputs())
        else {
            continue;
        };
        match (&**name, graph.constant(value)) {
            ("_enabled", Some(Constant::Bool(on))) => enabled = Some(on),
            ("device", Some(Constant::Str(name))) => device = Some(name),
            ("fast_dtype", Some(Constant::Int(number))) => dtype = Some(number),
            _ => {}
        }
    }
    let enabled = enabled.ok_or_else(|| error("Autocast _enabled argument must be a constant"))?;
    let device: Arc<str> =
        device.ok_or_else(|| error("Autocast device argument must be a constant"))?;
    Ok(match &*device {
        "cuda" => {
            let cuda_dtype = dtype.unwrap_or(outside.cuda_dtype);
            Casts { on_cuda: enabled, cuda_dtype, ..outside }
        }
        "cpu" => {
            let cpu_dtype = dtype.unwrap_or(outside.cpu_dtype);
            Casts { on_cpu: enabled, cpu_dtype, ..outside }
        }
        _ => outside,
    })
}

fn cast_inputs(graph: &mut Graph, node: NodeId, casts: Casts) -> Result<(), AutocastError> {
    if !(casts.on_cpu || casts.on_cuda) {
        return Ok(());
    }
    let symbol = graph.node(node).kind.symbol();
    if symbol == "aten::binary_cross_entropy" {
        return Err(AutocastError { message: "Unsafe to autocast", node });
    }
    let reduced = REDUCED.contains(&symbol);
    let by_dtype = FULL_WITHOUT_DTYPE.contains(&symbol);
    if !reduced && !by_dtype && !FULL.contains(&symbol) {
        return Ok(());
    }
    let Some(operator) = graph.operator(node) else { return Ok(()) };
    if operator.schema.is_mutable() || (by_dtype && has_dtype(graph, node, operator)) {
        return Ok(());
    }
    let flags = [Constant::Bool(casts.on_cuda), Constant::Bool(casts.on_cpu)];
    let dtypes = [Constant::Int(casts.cuda_dtype), Constant::Int(casts.cpu_dtype)];
    let (name, further): (_, &[Constant]) = match reduced {
        true => ("aten::_autocast_to_reduced_precision", &dtypes),
        false => ("aten::_autocast_to_full_precision", &[]),
    };
    let cast = operators::find(name, "").map(|operator| operator.id);
    let mut done: Vec<ValueId> = Vec::new();
    for value in graph.node(node).inputs().to_vec() {
        let is_tensor = matches!(graph.ty(value), Type::Tensor | Type::TensorOf(_));
        let is_cast = graph.node(graph.value(value).node()).kind.symbol() == name;
        if !is_tensor || is_cast || done.contains(&value) {
            continue;
        }
        done.push(value);
        let mut inputs = vec![value];
        for constant in flags.iter().chain(further) {
            let constant = graph.new_constant(constant);
            graph.insert_before(constant, node);
            inputs.push(graph.node(constant).output());
        }
        let made = graph.new_node_with(crate::Kind::from_symbol(name), &inputs, Type::Tensor);
        let range = graph.node(node).range.clone();
        let at = graph.node_mut(made);
        (at.operator, at.range) = (cast, range);
        graph.insert_before(made, node);
        let output = graph.node(made).output();
        graph.replace_node_input_with(node, value, output);
    }
    Ok(())
}

/// Whether the program itself says in which dtype it wants the result.
fn has_dtype(graph: &Graph, node: NodeId, operator: &Operator) -> bool {
    let index = operator.schema.argument_index("dtype");
    let value = index.and_then(|index| graph.node(node).inputs().get(index));
    value.is_some_and(|&value| graph.constant(value) != Some(Constant::None))
}

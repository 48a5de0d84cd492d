//! What is known of tensors before a graph runs: dtype, number of dimensions, and order of channels.

use sconce_ir::{BlockId, Constant, Graph, NodeId, Prim, ValueId};
use sconce_kernels::{DType, MemoryFormat};

use super::blocked::POINTWISE;
use crate::value::IValue;

/// The dtype of a tensor, the number of its dimensions, and whether the channels of pictures lie last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) dtype: DType,
    pub(crate) rank: usize,
    pub(crate) is_last: bool,
}

impl Fact {
    pub(crate) fn of_value(value: &IValue) -> Option<Fact> {
        match value {
            IValue::Tensor(tensor) => {
                let is_last = tensor.suggested_format() == MemoryFormat::ChannelsLast;
                Some(Fact { dtype: tensor.dtype(), rank: tensor.dim(), is_last })
            }
            _ => None,
        }
    }

    /// Whether both are of one dtype and number of dimensions.
    pub(crate) fn is_like(self, other: Fact) -> bool {
        (self.dtype, self.rank) == (other.dtype, other.rank)
    }

    fn floating(self) -> Option<Fact> {
        self.dtype.is_floating_point().then_some(self)
    }
}

/// Operators beside [`POINTWISE`] that give a floating point tensor of the dtype and dimensions of
/// their first operand.
const ELEMENTWISE: &[&str] = &[
    "aten::mish",
    "aten::softplus",
    "aten::dropout",
    "aten::feature_dropout",
    "aten::alpha_dropout",
    "aten::batch_norm",
    "aten::layer_norm",
    "aten::group_norm",
    "aten::instance_norm",
    "aten::contiguous",
    "aten::clone",
    "aten::permute",
    "aten::transpose",
];

/// Operators whose result has its channels in another place than the first operand, or may have.
const REORDERS: &[&str] = &[
    "aten::layer_norm",
    "aten::instance_norm",
    "aten::contiguous",
    "aten::permute",
    "aten::transpose",
    "aten::flatten",
    "aten::linear",
    "aten::unsqueeze",
    "aten::softmax",
    "aten::log_softmax",
];

/// Operators whose result has the first operand's dtype and dimensions if that has as many as here,
/// and fails or has others if not.
const SPATIAL: &[(&str, usize)] = &[
    ("aten::conv1d", 3),
    ("aten::conv2d", 4),
    ("aten::conv3d", 5),
    ("aten::max_pool1d", 3),
    ("aten::max_pool2d", 4),
    ("aten::max_pool3d", 5),
    ("aten::avg_pool1d", 3),
    ("aten::avg_pool2d", 4),
    ("aten::avg_pool3d", 5),
    ("aten::adaptive_avg_pool1d", 3),
    ("aten::adaptive_avg_pool2d", 4),
    ("aten::adaptive_avg_pool3d", 5),
    ("aten::pixel_shuffle", 4),
    ("aten::upsample_nearest2d", 4),
    ("aten::upsample_bilinear2d", 4),
];

const ARITHMETIC: &[&str] = &["aten::add", "aten::sub", "aten::mul", "aten::div"];

/// What is known of each value of a graph.
#[derive(Default)]
pub(super) struct Facts(Vec<Option<Fact>>);

impl Facts {
    pub(super) fn get(&self, value: ValueId) -> Option<Fact> {
        self.0.get(value.0 as usize).copied().flatten()
    }

    /// What follows from the arguments, and from constants that nobody writes to.
    pub(super) fn find(
        graph: &Graph,
        inputs: &[Option<Fact>],
        constants: &[IValue],
        written: &[bool],
    ) -> Facts {
        let mut facts = Facts(vec![None; graph.value_count()]);
        for (&input, &fact) in graph.inputs().iter().zip(inputs) {
            facts.set(input, fact);
        }
        let mut open: Vec<BlockId> = vec![graph.root()];
        let mut nodes = Vec::new();
        while let Some(block) = open.pop() {
            for node in graph.block_nodes(block) {
                nodes.push(node);
                open.extend(graph.node(node).blocks());
            }
        }
        // A block is looked at after what is around it, so what it sees from outside is known.
        for node in nodes {
            let is_written = |&value: &ValueId| written.get(value.0 as usize) == Some(&true);
            let at = graph.node(node);
            if at.is(Prim::Constant) && at.outputs().iter().any(is_written) {
                continue;
            }
            let fact = facts.result(graph, node, constants);
            if let (Some(fact), &[output]) = (fact, graph.node(node).outputs()) {
                facts.set(output, Some(fact));
            }
        }
        facts
    }

    fn set(&mut self, value: ValueId, fact: Option<Fact>) {
        if let Some(slot) = self.0.get_mut(value.0 as usize) {
            *slot = fact;
        }
    }

    fn result(&self, graph: &Graph, node: NodeId, constants: &[IValue]) -> Option<Fact> {
        let at = graph.node(node);
        if at.is(Prim::Constant) {
            let Some(Constant::Tensor(tensor)) = graph.constant(at.output()) else { return None };
            return Fact::of_value(constants.get(tensor.index as usize)?);
        }
        let symbol = at.kind.symbol();
        let plain = symbol.strip_suffix('_').unwrap_or(symbol);
        let (&first, rest) = at.inputs().split_first()?;
        if symbol == "aten::cat" {
            let list = graph.node(graph.value(first).node());
            let (&one, others) =
                list.inputs().split_first().filter(|_| list.is(Prim::ListConstruct))?;
            let fact = self.get(one).filter(|fact| fact.rank > 1)?;
            let like = |&other: &ValueId| self.get(other).filter(|other| other.is_like(fact));
            let is_last = others.iter().filter_map(like).all(|other| other.is_last == fact.is_last);
            let fits = others.iter().all(|other| like(other).is_some());
            return fits.then_some(Fact { is_last: is_last && fact.is_last, ..fact });
        }
        let fact = self.get(first)?;
        let fact = Fact { is_last: fact.is_last && !REORDERS.contains(&plain), ..fact };
        if [ELEMENTWISE, POINTWISE].iter().any(|list| list.contains(&plain))
            || matches!(symbol, "sconce::add" | "sconce::mul")
        {
            return fact.floating();
        }
        if let Some((_, rank)) = SPATIAL.iter().find(|(name, _)| *name == symbol) {
            let weight = rest.first().filter(|_| symbol == "aten::conv2d");
            let by_weight = weight.and_then(|&weight| self.get(weight)).is_some_and(|w| w.is_last);
            let is_last = fact.is_last || by_weight;
            return (fact.rank == *rank).then_some(Fact { is_last, ..fact });
        }
        if ARITHMETIC.contains(&plain) {
            let other = *rest.first()?;
            let in_place = plain != symbol;
            return match self.get(other) {
                // Numbers do not change floating point dtypes, unless they are complex.
                None if matches!(
                    graph.ty(other),
                    sconce_ir::Type::Int | sconce_ir::Type::Float
                ) =>
                {
                    fact.floating()
                }
                Some(_) | None if in_place => fact.floating(),
                Some(other) if other.dtype == fact.dtype => {
                    Some(Fact { rank: fact.rank.max(other.rank), ..fact.floating()? })
                }
                _ => None,
            };
        }
        match (symbol, rest) {
            ("aten::linear", &[weight, ..]) => {
                let weight = self.get(weight)?;
                (weight.rank == 2 && weight.dtype == fact.dtype && fact.rank > 0).then_some(fact)
            }
            ("aten::flatten", &[start, end, ..]) => {
                let dim = |value| match graph.constant(value) {
                    Some(Constant::Int(dim)) if dim < 0 => Some(dim + fact.rank as i64),
                    Some(Constant::Int(dim)) => Some(dim),
                    _ => None,
                };
                let (start, end) = (dim(start)?, dim(end)?);
                let fits = 0 <= start && start <= end && end < fact.rank as i64;
                fits.then(|| Fact { rank: fact.rank - (end - start) as usize, ..fact })
            }
            ("aten::unsqueeze", _) => Some(Fact { rank: fact.rank + 1, ..fact }),
            ("aten::softmax" | "aten::log_softmax", &[_, dtype, ..]) => {
                (graph.constant(dtype) == Some(Constant::None)).then_some(fact)?.floating()
            }
            _ => None,
        }
    }
}

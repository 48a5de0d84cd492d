//! What is known of tensors before a graph runs: dtype, number of dimensions, and order of channels.

use sconce_ir::{BlockId, Constant, Graph, NodeId, Prim, Type, Use, ValueId};
use sconce_kernels::{DType, MemoryFormat};

use crate::ops::{INTEGER_LINEAR, INTEGER_RESULT_DTYPE, OF_CODES, TO_CODES};
use crate::optimize::layout::blocked::POINTWISE;
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
    "aten::_transformer_encoder_layer_fwd",
    "aten::group_norm",
    "aten::instance_norm",
    "aten::contiguous",
    "aten::clone",
    "aten::permute",
    "aten::transpose",
    "sconce::add",
    "sconce::mul",
];

/// More of them, element by element, whose result lies in memory as their first operand does.
const IN_ORDER_OF_FIRST: &[&str] = &[
    "aten::abs",
    "aten::ceil",
    "aten::celu",
    "aten::clamp",
    "aten::clamp_max",
    "aten::clamp_min",
    "aten::cos",
    "aten::empty_like",
    "aten::erf",
    "aten::exp",
    "aten::floor",
    "aten::log",
    "aten::log1p",
    "aten::log_sigmoid",
    "aten::neg",
    "aten::ones_like",
    "aten::reciprocal",
    "aten::round",
    "aten::rsqrt",
    "aten::rsub",
    "aten::selu",
    "aten::sin",
    "aten::sqrt",
    "aten::square",
    "aten::zeros_like",
];

/// More of them, that the layout of channels has not been followed through.
const LIKE_FIRST: &[&str] = &[
    "aten::constant_pad_nd",
    "aten::cumsum",
    "aten::fill",
    "aten::movedim",
    "aten::normal",
    "aten::pad",
    "aten::reflection_pad1d",
    "aten::reflection_pad2d",
    "aten::replication_pad1d",
    "aten::replication_pad2d",
    "aten::roll",
    "aten::swapaxes",
    "aten::tril",
    "aten::triu",
    "aten::zero",
];

/// Reductions over a list of dimensions, which are kept where the last of the inputs before a dtype
/// says so: the place of that list among the inputs.
const REDUCTIONS: &[(&str, usize)] = &[
    ("aten::mean", 1),
    ("aten::sum", 1),
    ("aten::amax", 1),
    ("aten::amin", 1),
    ("aten::logsumexp", 1),
    ("aten::norm", 2),
    ("aten::linalg_vector_norm", 2),
];

/// Views of any dtype, of as many dimensions as their first operand.
const VIEWS: &[&str] = &[
    "aten::slice",
    "aten::narrow",
    "aten::detach",
    "aten::alias",
    "aten::flip",
    "aten::bitwise_not",
];

/// Operators that make a tensor of as many dimensions as their first operand, a list, says.
const CREATIONS: &[&str] =
    &["aten::zeros", "aten::ones", "aten::empty", "aten::rand", "aten::randn"];

/// Operators whose result has as many dimensions as a list says that comes after the first operand.
const RESHAPES: &[&str] = &["aten::reshape", "aten::view", "aten::expand", "aten::repeat"];

/// Operators that take a tensor apart, and how many dimensions the parts have less.
const PARTS: &[(&str, usize)] = &[
    ("aten::chunk", 0),
    ("aten::split", 0),
    ("aten::split_with_sizes", 0),
    ("aten::tensor_split", 0),
    ("aten::unbind", 1),
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
    ("sconce::conv2d", 4),
    ("aten::conv_transpose2d", 4),
    ("sconce::conv_transpose2d", 4),
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

/// More of them, that the layout of channels has not been followed through.
const MORE_SPATIAL: &[(&str, usize)] = &[
    ("aten::conv_transpose1d", 3),
    ("aten::conv_transpose3d", 5),
    ("aten::grid_sampler", 4),
    ("aten::pixel_unshuffle", 4),
    ("aten::channel_shuffle", 4),
    ("aten::upsample_nearest1d", 3),
    ("aten::upsample_linear1d", 3),
    ("aten::upsample_bicubic2d", 4),
    ("aten::_upsample_nearest_exact2d", 4),
    ("aten::upsample_nearest3d", 5),
    ("aten::upsample_trilinear3d", 5),
];

const ARITHMETIC: &[&str] =
    &["aten::add", "aten::sub", "aten::mul", "aten::div", "aten::floor_divide"];

/// `torch.channels_last` as graphs have it.
const CHANNELS_LAST: i64 = 2;

/// How often what branches give may let more be known.
const MAX_ROUNDS: usize = 4;

/// The most uses of a list that are looked at.
const MOST_USES: usize = 256;

/// What is known of each value of a graph.
#[derive(Default)]
pub(crate) struct Facts(Vec<Option<Fact>>);

impl Facts {
    pub(crate) fn get(&self, value: ValueId) -> Option<Fact> {
        self.0.get(value.0 as usize).copied().flatten()
    }

    /// What follows from the arguments, and from constants that nobody writes to.
    pub(crate) fn find(
        graph: &Graph,
        inputs: &[Option<Fact>],
        constants: &[IValue],
        written: &[bool],
    ) -> Facts {
        let known = Facts(vec![None; graph.value_count()]);
        let mut search = Search { graph, constants, written, known };
        for (&input, &fact) in graph.inputs().iter().zip(inputs) {
            search.set(input, fact);
        }
        search.run();
        search.known
    }
}

/// What is found out in a graph.
struct Search<'a> {
    graph: &'a Graph,
    constants: &'a [IValue],
    written: &'a [bool],
    known: Facts,
}

impl Search<'_> {
    fn run(&mut self) {
        let graph = self.graph;
        let mut open: Vec<BlockId> = vec![graph.root()];
        let mut nodes = Vec::new();
        while let Some(block) = open.pop() {
            for node in graph.block_nodes(block) {
                nodes.push(node);
                open.extend(graph.node(node).blocks());
            }
        }
        // A block is looked at after what is around it, so what it sees from outside is known; what it
        // gives is known in the next round.
        for _ in 0..MAX_ROUNDS {
            let mut any = false;
            for &node in &nodes {
                let at = graph.node(node);
                if at.is(Prim::If) {
                    any |= self.join(node);
                } else if at.is(Prim::ListUnpack) {
                    let fact = self.part(at.inputs()[0]);
                    at.outputs().iter().for_each(|&output| any |= self.set(output, fact));
                } else if let &[output] = at.outputs() {
                    let fact = if self.get(output).is_none() { self.result(node) } else { None };
                    any |= self.set(output, fact);
                }
            }
            if !any {
                break;
            }
        }
    }

    fn get(&self, value: ValueId) -> Option<Fact> {
        self.known.get(value)
    }

    /// Whether this is news; what is known stays so.
    fn set(&mut self, value: ValueId, fact: Option<Fact>) -> bool {
        match self.known.0.get_mut(value.0 as usize) {
            Some(slot) if slot.is_none() && fact.is_some() => {
                *slot = fact;
                true
            }
            _ => false,
        }
    }

    fn is_written(&self, value: ValueId) -> bool {
        self.written.get(value.0 as usize) == Some(&true)
    }

    /// What branches that agree give.
    fn join(&mut self, node: NodeId) -> bool {
        let at = self.graph.node(node);
        let &[one, other] = at.blocks() else { return false };
        let pairs = self.graph.block_outputs(one).iter().zip(self.graph.block_outputs(other));
        let mut any = false;
        for (&output, (&one, &other)) in at.outputs().iter().zip(pairs) {
            let fact = self.get(one).filter(|fact| self.get(other) == Some(*fact));
            any |= self.set(output, fact);
        }
        any
    }

    /// What is known of each tensor of a list that an operator has taken another apart into.
    fn part(&self, list: ValueId) -> Option<Fact> {
        let node = self.graph.node(self.graph.value(list).node());
        let (_, less) = PARTS.iter().find(|(name, _)| *name == node.kind.symbol())?;
        let fact = self.get(*node.inputs().first()?)?;
        let rank = fact.rank.checked_sub(*less)?;
        // Parts are views: their channels lie as those of the whole.
        let is_last = fact.is_last && rank == fact.rank;
        let uses = self.graph.value(list).uses();
        let only_read = uses.len() <= MOST_USES && uses.iter().all(|only| self.reads(only));
        only_read.then_some(Fact { rank, is_last, ..fact })
    }

    /// Whether a use takes items out of a list and leaves it as it is.
    fn reads(&self, only: &Use) -> bool {
        let user = self.graph.node(only.user);
        user.is(Prim::ListUnpack) || user.kind.symbol() == "aten::__getitem__" || {
            let operator = self.graph.operator(only.user);
            let arguments = operator.map(|operator| &operator.schema.arguments);
            let argument = arguments.and_then(|arguments| arguments.get(only.index as usize));
            argument.is_some_and(|argument| argument.alias.is_none())
        }
    }

    /// What follows for what a node gives.
    fn result(&self, node: NodeId) -> Option<Fact> {
        let graph = self.graph;
        let at = graph.node(node);
        if at.is(Prim::Constant) {
            let Some(Constant::Tensor(tensor)) = graph.constant(at.output()) else { return None };
            let constant = self.constants.get(tensor.index as usize)?;
            return Fact::of_value(constant).filter(|_| !self.is_written(at.output()));
        }
        let symbol = at.kind.symbol();
        let plain = symbol.strip_suffix('_').unwrap_or(symbol);
        let (&first, rest) = at.inputs().split_first()?;
        match symbol {
            "aten::cat" => return self.alike(first).filter(|fact| fact.rank > 1),
            "aten::stack" => {
                let fact = self.alike(first).filter(|fact| !fact.is_last)?;
                return Some(Fact { rank: fact.rank + 1, ..fact });
            }
            "aten::einsum" => {
                let Constant::Str(equation) = graph.constant(first)? else { return None };
                let (_, result) = equation.split_once("->")?;
                let one = self.items(*rest.first()?).next().and_then(|item| self.get(item))?;
                let like = |item| self.get(item).is_some_and(|other| other.dtype == one.dtype);
                let all = self.items(*rest.first()?).all(like) && !result.contains('.');
                let rank = result.chars().filter(char::is_ascii_alphabetic).count();
                return all.then_some(Fact { rank, is_last: false, ..one });
            }
            "aten::__getitem__" => return self.part(first),
            OF_CODES => return self.get(first).map(|fact| self.of_codes(fact, None)),
            TO_CODES => {
                return self.get(first).map(|fact| self.of_codes(fact, rest.last().copied()));
            }
            INTEGER_LINEAR => {
                let dtype = at.inputs().get(INTEGER_RESULT_DTYPE).copied();
                return self.get(first).map(|fact| self.of_codes(fact, dtype));
            }
            "aten::arange" => {
                // Where it says no dtype, that is of the numbers before it.
                let numbers = self.numbers_before_dtype(node);
                let of_ints = || numbers.iter().all(|&number| self.is_int(number));
                let no_dtype = self.leaves_dtype(node);
                let dtype = if no_dtype && of_ints() { Some(DType::Int64) } else { None };
                let dtype = dtype.or_else(|| self.told_dtype(node))?;
                return Some(Fact { dtype, rank: 1, is_last: false });
            }
            "prim::NumToTensor" if *graph.ty(first) == Type::Int => {
                return Some(Fact { dtype: DType::Int64, rank: 0, is_last: false });
            }
            // Where it says no dtype, that is of the number.
            "aten::full" => {
                let (dtype, rank) = (self.told_dtype(node)?, self.length(first)?);
                return Some(Fact { dtype, rank, is_last: false });
            }
            "aten::pow" if matches!(graph.ty(first), Type::Int | Type::Float) => {
                return self.get(*rest.first()?)?.floating();
            }
            _ if CREATIONS.contains(&symbol) => {
                let dtype =
                    if self.leaves_dtype(node) { DType::Float32 } else { self.told_dtype(node)? };
                return Some(Fact { dtype, rank: self.length(first)?, is_last: false });
            }
            _ => {}
        }
        let fact = self.get(first)?;
        let is_last = match plain {
            "aten::permute" => fact.rank == 4 && self.puts_channels_last(node),
            "aten::contiguous" => fact.rank == 4 && self.is_told_channels_last(node),
            _ => fact.is_last && !REORDERS.contains(&plain),
        };
        let fact = Fact { is_last, ..fact };
        if [ELEMENTWISE, POINTWISE].iter().any(|list| list.contains(&plain)) {
            return fact.floating();
        }
        if let Some((_, rank)) = SPATIAL.iter().find(|(name, _)| *name == symbol) {
            let is_convolution = ["::conv2d", "::conv_transpose2d"];
            let is_convolution = is_convolution.iter().any(|name| symbol.ends_with(name));
            let weight = rest.first().filter(|_| is_convolution);
            let by_weight = weight.and_then(|&weight| self.get(weight)).is_some_and(|w| w.is_last);
            let is_last = fact.is_last || by_weight;
            return (fact.rank == *rank).then_some(Fact { is_last, ..fact });
        }
        if ARITHMETIC.contains(&plain) {
            let other = *rest.first()?;
            let in_place = plain != symbol;
            if is_integer(fact.dtype) {
                return self.of_integers(plain, fact, rest).filter(|_| !in_place);
            }
            return match self.get(other) {
                // Numbers do not change floating point dtypes, unless they are complex.
                None if matches!(graph.ty(other), Type::Int | Type::Float) => fact.floating(),
                Some(_) | None if in_place => fact.floating(),
                // Nor does a tensor without dimensions beside one that has some.
                Some(other) if other.rank == 0 && fact.rank > 0 && !other.dtype.is_complex() => {
                    fact.floating()
                }
                // Nor do integers.
                Some(other)
                    if other.dtype == fact.dtype
                        || (fact.rank > 0 && is_integer(other.dtype) && !other.is_last) =>
                {
                    let is_second = fact.rank == other.rank && self.is_one_dimensional(first);
                    let leads = if other.rank > fact.rank || is_second { other } else { fact };
                    let (rank, is_last) = (leads.rank, leads.is_last);
                    Some(Fact { rank, is_last, ..fact.floating()? })
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
            ("aten::addcmul" | "aten::addcdiv", &[a, b, ..]) => {
                let like = |factor| self.get(factor).filter(|factor| factor.dtype == fact.dtype);
                let all = [(first, fact), (a, like(a)?), (b, like(b)?)];
                let rank = all.iter().map(|(_, of)| of.rank).max()?;
                // Numbers for the channels alone do not say where those lie.
                let mut pictures = all.iter().filter(|(value, _)| !self.is_one_dimensional(*value));
                let leads = pictures.next().map_or(fact, |(_, of)| *of);
                let is_last = leads.is_last && leads.rank == rank;
                Fact { rank, is_last, ..fact }.floating()
            }
            ("aten::unsqueeze", _) => Some(Fact { rank: fact.rank + 1, ..fact }),
            ("aten::softmax" | "aten::log_softmax", &[_, dtype, ..]) => {
                (graph.constant(dtype) == Some(Constant::None)).then_some(fact)?.floating()
            }
            (
                "aten::convolution" | "aten::_convolution" | "aten::_convolution_mode",
                &[weight, ..],
            ) => {
                let weight = self.get(weight)?;
                let is_last = fact.is_last || (weight.is_last && fact.rank == 4);
                (weight.is_like(fact) && fact.rank > 2).then_some(Fact { is_last, ..fact })
            }
            _ if fact.is_last => self.of_channels_last(node, fact),
            _ => self.without_layout(node, fact),
        }
    }

    /// Whether a value is a constant of which all dimensions but one are of one element.
    fn is_one_dimensional(&self, value: ValueId) -> bool {
        let Some(Constant::Tensor(constant)) = self.graph.constant(value) else { return false };
        match self.constants.get(constant.index as usize) {
            Some(IValue::Tensor(tensor)) => {
                tensor.sizes().iter().filter(|&&size| size != 1).count() <= 1
            }
            _ => false,
        }
    }

    /// Whether a node permutes pixels, which lie one after the other, to a picture.
    fn puts_channels_last(&self, permute: NodeId) -> bool {
        let graph = self.graph;
        let &[pixels, order] = graph.node(permute).inputs() else { return false };
        let layer = graph.node(graph.value(pixels).node());
        let order = self.ints(order).unwrap_or_default();
        matches!(layer.kind.symbol(), "aten::layer_norm" | "aten::linear")
            && order.iter().map(|dim| dim.rem_euclid(4)).eq([0, 3, 1, 2])
    }

    /// Whether the last operand of a node is the memory format whose channels lie last.
    fn is_told_channels_last(&self, node: NodeId) -> bool {
        let format = self.graph.node(node).inputs().last();
        format.and_then(|&format| self.graph.constant(format)) == Some(Constant::Int(CHANNELS_LAST))
    }

    /// What follows for operators on pictures whose channels lie last: those that leave them there, and those whose
    /// results are no pictures or have one pixel.
    fn of_channels_last(&self, node: NodeId, fact: Fact) -> Option<Fact> {
        let result = self.without_layout(node, Fact { is_last: false, ..fact })?;
        let at = self.graph.node(node);
        let symbol = at.kind.symbol();
        let plain = symbol.strip_suffix('_').unwrap_or(symbol);
        let to_a_pixel = || {
            let (_, dims) = REDUCTIONS.iter().find(|(name, _)| *name == symbol)?;
            let dims = self.ints(*at.inputs().get(*dims)?)?;
            Some(dims.iter().all(|dim| matches!(dim, 2 | 3 | -1 | -2)) && dims.len() == 2)
        };
        if VIEWS.contains(&symbol) || IN_ORDER_OF_FIRST.contains(&plain) {
            return Some(Fact { is_last: result.rank == 4, ..result });
        }
        (result.rank != 4 || to_a_pixel() == Some(true)).then_some(result)
    }

    /// What follows for what is made of integers or becomes some: of the dtype that a value says, or `float32`.
    fn of_codes(&self, fact: Fact, dtype: Option<ValueId>) -> Fact {
        let dtype = dtype.and_then(|value| self.graph.constant(value));
        let dtype = match dtype {
            Some(Constant::Int(number)) => DType::from_scalar_type_number(number),
            _ => None,
        };
        Fact { dtype: dtype.unwrap_or(DType::Float32), is_last: false, ..fact }
    }

    /// What arithmetic gives of integers of one dtype.
    fn of_integers(&self, symbol: &str, fact: Fact, rest: &[ValueId]) -> Option<Fact> {
        let (&other, options) = rest.split_first()?;
        let rank = match self.get(other) {
            Some(other) if other.dtype == fact.dtype => fact.rank.max(other.rank),
            None if *self.graph.ty(other) == Type::Int => fact.rank,
            _ => return None,
        };
        // A quotient is rounded where a word says how.
        let rounding = options.first().and_then(|&mode| self.graph.constant(mode));
        let dtype = match (symbol, rounding) {
            ("aten::div", None | Some(Constant::None)) if options.is_empty() => DType::Float32,
            ("aten::div", Some(Constant::None)) => DType::Float32,
            ("aten::div", Some(Constant::Str(_))) => fact.dtype,
            ("aten::div", _) => return None,
            _ => fact.dtype,
        };
        Some(Fact { dtype, rank, is_last: false })
    }

    /// Whether a number is known to be an int.
    fn is_int(&self, number: ValueId) -> bool {
        let node = self.graph.node(self.graph.value(number).node());
        match node.kind.symbol() {
            "aten::ScalarImplicit" | "aten::item" => {
                let of = node.inputs().first().and_then(|&of| self.get(of));
                of.is_some_and(|of| is_integer(of.dtype))
            }
            _ => *self.graph.ty(number) == Type::Int,
        }
    }

    /// The operands of an operator before the dtype that it may be told.
    fn numbers_before_dtype(&self, node: NodeId) -> &[ValueId] {
        let inputs = self.graph.node(node).inputs();
        let of_dtype = self.graph.operator(node).and_then(|operator| {
            operator.schema.arguments.iter().position(|argument| &*argument.name == "dtype")
        });
        &inputs[..of_dtype.unwrap_or_default().min(inputs.len())]
    }

    /// What follows for operators on tensors whose channels do not lie last.
    fn without_layout(&self, node: NodeId, fact: Fact) -> Option<Fact> {
        let graph = self.graph;
        let at = graph.node(node);
        let (symbol, inputs) = (at.kind.symbol(), at.inputs());
        let plain = symbol.strip_suffix('_').unwrap_or(symbol);
        let rest = &inputs[1..];
        let other = || self.get(*rest.first()?).filter(|other| !other.is_last);
        if VIEWS.contains(&symbol) {
            return Some(fact);
        }
        if [IN_ORDER_OF_FIRST, LIKE_FIRST].iter().any(|list| list.contains(&plain)) {
            // Beside tensors the result may have more dimensions, or another dtype.
            let beside = rest.iter().any(|&value| is_tensor(graph.ty(value)));
            if !beside && self.leaves_dtype(node) {
                return fact.floating();
            }
        }
        if let Some((_, rank)) = MORE_SPATIAL.iter().find(|(name, _)| *name == symbol) {
            return (fact.rank == *rank).then_some(fact)?.floating();
        }
        if let Some(&(_, at)) = REDUCTIONS.iter().find(|(name, _)| *name == symbol) {
            let (&dims, &keeps) = (inputs.get(at)?, inputs.get(at + 1)?);
            let dtype = inputs.get(at + 2);
            if dtype.is_some_and(|&dtype| graph.constant(dtype) != Some(Constant::None)) {
                return None;
            }
            let kept = graph.constant(keeps)? == Constant::Bool(true);
            let less = if kept { 0 } else { self.length(dims).filter(|&len| len > 0)? };
            return Fact { rank: fact.rank.checked_sub(less)?, ..fact }.floating();
        }
        if RESHAPES.contains(&symbol) {
            return Some(Fact { rank: self.length(*rest.first()?)?, ..fact });
        }
        match symbol {
            "aten::prelu" => fact.floating(),
            "aten::masked_fill" | "aten::masked_fill_" => {
                other().filter(|mask| mask.rank <= fact.rank).and(fact.floating())
            }
            "aten::select" => Some(Fact { rank: fact.rank.checked_sub(1)?, ..fact }),
            "aten::expand_as" => Some(Fact { rank: self.get(*rest.first()?)?.rank, ..fact }),
            "aten::view_as" | "aten::reshape_as" => Some(Fact { rank: other()?.rank, ..fact }),
            "aten::type_as" => Some(Fact { dtype: other()?.dtype, ..fact }),
            "aten::embedding" => {
                let rank = other()?.rank + 1;
                (fact.rank == 2).then_some(Fact { rank, ..fact })
            }
            "aten::matmul" => {
                let other = other().filter(|other| other.dtype == fact.dtype)?;
                let rank = match (fact.rank, other.rank) {
                    (0, _) | (_, 0) => return None,
                    (1, 1) => 0,
                    (1, rank) | (rank, 1) => rank - 1,
                    (a, b) => a.max(b),
                };
                Some(Fact { rank, ..fact })
            }
            "aten::bmm" | "aten::mm" | "aten::addmm" | "aten::baddbmm" => {
                let rank = if symbol.ends_with("bmm") { 3 } else { 2 };
                let other = other().filter(|other| other.dtype == fact.dtype)?;
                // What is added to a product may have more dimensions than that.
                (other.rank == rank && fact.rank <= rank).then_some(Fact { rank, ..fact })
            }
            "aten::scaled_dot_product_attention" => {
                other().filter(|other| other.is_like(fact)).map(|_| fact)
            }
            "aten::pow" if matches!(graph.ty(*rest.first()?), Type::Int | Type::Float) => {
                fact.floating()
            }
            "aten::cumsum" => Some(Fact { dtype: self.told_dtype(node)?, ..fact }),
            // The last operand is a memory format.
            "aten::to" if graph.constant(*rest.last()?) == Some(Constant::None) => {
                Some(Fact { dtype: self.told_dtype(node)?, ..fact })
            }
            _ => None,
        }
    }

    /// The items of a list that is made in one place and stays as it is; none of another.
    fn items(&self, list: ValueId) -> impl Iterator<Item = ValueId> {
        let node = self.graph.node(self.graph.value(list).node());
        let made_here = node.is(Prim::ListConstruct) && !self.is_written(list);
        node.inputs().iter().copied().filter(move |_| made_here)
    }

    /// Whether an operator that could be told a dtype or a layout is told none.
    fn leaves_dtype(&self, node: NodeId) -> bool {
        let Some(operator) = self.graph.operator(node) else { return false };
        let inputs = self.graph.node(node).inputs();
        let mut told = operator.schema.arguments.iter().zip(inputs).filter(|(argument, _)| {
            matches!(&*argument.name, "dtype" | "layout" | "memory_format")
        });
        told.all(|(_, &value)| self.graph.constant(value) == Some(Constant::None))
    }

    /// The dtype that an operator is told, where that is a constant.
    fn told_dtype(&self, node: NodeId) -> Option<DType> {
        let arguments = &self.graph.operator(node)?.schema.arguments;
        let at = arguments.iter().position(|argument| &*argument.name == "dtype")?;
        match self.graph.constant(*self.graph.node(node).inputs().get(at)?)? {
            Constant::Int(code) => DType::from_scalar_type_number(code),
            _ => None,
        }
    }

    /// What is known of all tensors of a list alike.
    fn alike(&self, list: ValueId) -> Option<Fact> {
        let fact = self.items(list).next().and_then(|item| self.get(item))?;
        let like = |other| self.get(other).filter(|other| other.is_like(fact));
        let is_last = self.items(list).filter_map(like).all(|other| other.is_last);
        self.items(list).all(|item| like(item).is_some()).then_some(Fact { is_last, ..fact })
    }

    /// The integers of a list, if they are known and nothing changes them.
    fn ints(&self, list: ValueId) -> Option<Vec<i64>> {
        constant_ints(self.graph, list).filter(|_| !self.is_written(list))
    }

    /// How many numbers a list has.
    fn length(&self, list: ValueId) -> Option<usize> {
        if *self.graph.ty(list) != Type::list(Type::Int) || self.is_written(list) {
            return None;
        }
        if let Some(Constant::List(_, items)) = self.graph.constant(list) {
            return Some(items.len());
        }
        let node = self.graph.node(self.graph.value(list).node());
        node.is(Prim::ListConstruct).then(|| node.inputs().len())
    }
}

/// The integers of a list that is constant or made of constants.
pub(crate) fn constant_ints(graph: &Graph, list: ValueId) -> Option<Vec<i64>> {
    let int = |constant: &Constant| match *constant {
        Constant::Int(int) => Some(int),
        _ => None,
    };
    if let Some(Constant::List(_, items)) = graph.constant(list) {
        return items.iter().map(int).collect();
    }
    let node = graph.node(graph.value(list).node());
    if !node.is(Prim::ListConstruct) {
        return None;
    }
    node.inputs().iter().map(|&item| graph.constant(item).as_ref().and_then(int)).collect()
}

/// Whether numbers of this dtype are integers; bools are none.
fn is_integer(dtype: DType) -> bool {
    matches!(dtype, DType::UInt8 | DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64)
}

/// Whether a value of this type may be a tensor.
fn is_tensor(ty: &Type) -> bool {
    match ty {
        Type::Tensor | Type::TensorOf(_) => true,
        Type::Optional(of) => is_tensor(of),
        _ => false,
    }
}

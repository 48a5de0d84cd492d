//! The blocked layout: convolutions with constant weights take and give pictures with sixteen
//! channels side by side, and so does what lies between them.
//!
//! The graph's own block is walked once in program order. A node that can work in blocks, and has an
//! operand that is there in blocks or is a convolution, is made anew with blocked operands; what
//! follows a convolution and belongs to it (the sum with a residual, the activation) is made part of
//! it. A value that is still wanted as it was is put back in order right after it is made.

use rustc_hash::FxHashMap;
use sconce_ir::{Constant, Kind, NodeId, Type, ValueId};
use sconce_kernels::{DType, pack_bias, pack_weight};

use crate::optimize::Optimization;

/// Operators on single numbers, which work in any layout; what they make of the lanes without a
/// channel is finite.
pub(crate) const POINTWISE: &[&str] = &[
    "aten::relu",
    "aten::relu6",
    "aten::hardtanh",
    "aten::silu",
    "aten::hardswish",
    "aten::hardsigmoid",
    "aten::sigmoid",
    "aten::tanh",
    "aten::gelu",
    "aten::leaky_relu",
    "aten::elu",
];

/// Operators on two pictures of as many channels, which work in any layout.
const ARITHMETIC: &[&str] = &["aten::add", "aten::mul", "sconce::add", "sconce::mul"];

/// Channels up to which a picture is read as it is.
const MAX_PLANAR: i64 = 4;

const LANES: i64 = 16;

/// A value in blocks.
#[derive(Debug, Clone, Copy)]
struct Blocked {
    value: ValueId,
    channels: i64,
}

/// An activation that convolutions apply: its name and bounds.
type Activation = (&'static str, f64, f64);

/// Puts convolutions and what lies between them into blocks.
pub(crate) fn choose_layout(optimization: &mut Optimization) {
    let mut layout = Layout { o: optimization, blocked: FxHashMap::default() };
    let nodes: Vec<NodeId> = layout.o.graph.block_nodes(layout.o.graph.root()).collect();
    for node in nodes {
        if layout.o.graph.node(node).is_alive() {
            let _ = layout.node(node);
        }
    }
    layout.restore();
    optimization.refresh();
}

struct Layout<'a> {
    o: &'a mut Optimization,
    /// The values that are there in blocks.
    blocked: FxHashMap<ValueId, Blocked>,
}

impl Layout<'_> {
    /// Makes a node anew in blocks, if it can be; `None` if not.
    fn node(&mut self, node: NodeId) -> Option<()> {
        let at = self.o.graph.node(node);
        let (symbol, &[output]) = (at.kind.symbol(), at.outputs()) else { return None };
        let &first = at.inputs().first()?;
        if self.o.is_written(output) {
            return None;
        }
        match symbol {
            "aten::conv2d" => return self.convolution(node),
            "aten::cat" => return self.join(node, first),
            _ => {}
        }
        let blocked = *self.blocked.get(&first)?;
        if POINTWISE.contains(&symbol) {
            return self.again(node, &[blocked], blocked.channels);
        }
        if ARITHMETIC.contains(&symbol) {
            let other = *at.inputs().get(1)?;
            return match self.blocked.get(&other) {
                Some(&other) if other.channels == blocked.channels => {
                    self.again(node, &[blocked, other], blocked.channels)
                }
                None if matches!(self.o.graph.ty(other), Type::Int | Type::Float) => {
                    self.again(node, &[blocked], blocked.channels)
                }
                _ => None,
            };
        }
        match symbol {
            "aten::max_pool2d" => self.max_pool(node, blocked),
            "aten::adaptive_avg_pool2d" => {
                let &[_, sizes] = at.inputs() else { return None };
                (self.o.ints(sizes)? == [1, 1]).then_some(())?;
                let made = self.make("sconce::mean_blocked", &[blocked.value], node);
                self.enter(node, made, blocked.channels)
            }
            _ => None,
        }
    }

    /// The same operator on blocked operands, which come first.
    fn again(&mut self, node: NodeId, operands: &[Blocked], channels: i64) -> Option<()> {
        let at = self.o.graph.node(node);
        let (kind, operator, range) = (at.kind.clone(), at.operator, at.range.clone());
        let mut inputs = at.inputs().to_vec();
        for (input, operand) in inputs.iter_mut().zip(operands) {
            *input = operand.value;
        }
        let new = self.o.graph.new_node_with(kind, &inputs, Type::Tensor);
        let made = self.o.graph.node_mut(new);
        (made.operator, made.range) = (operator, range);
        self.o.graph.insert_before(new, node);
        let value = self.o.graph.node(new).output();
        self.enter(node, value, channels)
    }

    /// Remembers what a node gives in blocks.
    fn enter(&mut self, node: NodeId, value: ValueId, channels: i64) -> Option<()> {
        let old = self.o.graph.node(node).output();
        self.blocked.insert(old, Blocked { value, channels });
        Some(())
    }

    fn make(&mut self, symbol: &str, inputs: &[ValueId], before: NodeId) -> ValueId {
        let node = self.o.graph.new_node_with(Kind::from_symbol(symbol), inputs, Type::Tensor);
        let range = self.o.graph.node(before).range.clone();
        self.o.graph.node_mut(node).range = range;
        self.o.graph.insert_before(node, before);
        self.o.graph.node(node).output()
    }

    fn ints_constant(&mut self, ints: &[i64], before: NodeId) -> ValueId {
        let items = ints.iter().map(|&int| Constant::Int(int)).collect();
        self.o.insert_constant(&Constant::List(Type::Int, items), before)
    }

    /// Two numbers; one stands for both.
    fn pair(&self, value: ValueId) -> Option<[i64; 2]> {
        match *self.o.ints(value)?.as_slice() {
            [both] => Some([both, both]),
            [height, width] => Some([height, width]),
            _ => None,
        }
    }

    fn max_pool(&mut self, node: NodeId, input: Blocked) -> Option<()> {
        let &[_, kernel, stride, padding, dilation, ceil] = self.o.graph.node(node).inputs() else {
            return None;
        };
        let kernel = self.pair(kernel)?;
        let stride = match self.o.ints(stride)?.as_slice() {
            [] => kernel,
            _ => self.pair(stride)?,
        };
        let lists = [kernel, stride, self.pair(padding)?, self.pair(dilation)?];
        let numbers = self.ints_constant(&lists.concat(), node);
        let made = self.make("sconce::max_pool2d_blocked", &[input.value, numbers, ceil], node);
        self.enter(node, made, input.channels)
    }

    /// Pictures of whole blocks, joined along the channels.
    fn join(&mut self, node: NodeId, list: ValueId) -> Option<()> {
        let &[_, dim] = self.o.graph.node(node).inputs() else { return None };
        let construct = self.o.producer(list);
        let items = self.o.graph.node(construct).inputs().to_vec();
        let is_list = self.o.graph.node(construct).is(sconce_ir::Prim::ListConstruct);
        let along_channels = self.o.constant(dim) == Some(Constant::Int(1));
        if !is_list || !along_channels || self.o.is_written(list) {
            return None;
        }
        let parts: Option<Vec<Blocked>> =
            items.iter().map(|item| self.blocked.get(item).copied()).collect();
        let parts = parts?;
        let whole = |part: &Blocked| part.channels % LANES == 0;
        parts.split_last()?.1.iter().all(whole).then_some(())?;
        let channels = parts.iter().map(|part| part.channels).sum();
        let values: Vec<ValueId> = parts.iter().map(|part| part.value).collect();
        let ty = Type::list(Type::Tensor);
        let list = self.o.graph.new_node_with(sconce_ir::Prim::ListConstruct, &values, ty);
        self.o.graph.insert_before(list, node);
        let list = Blocked { value: self.o.graph.node(list).output(), channels };
        self.again(node, &[list], channels)
    }

    fn convolution(&mut self, node: NodeId) -> Option<()> {
        let &[input, weight, bias, stride, padding, dilation, groups] =
            self.o.graph.node(node).inputs()
        else {
            return None;
        };
        let fact = self.o.fact(input)?;
        if (fact.dtype, fact.rank) != (DType::Float32, 4) || self.o.is_written(input) {
            return None;
        }
        let (stride, padding, dilation) =
            (self.pair(stride)?, self.pair(padding)?, self.pair(dilation)?);
        let Constant::Int(groups) = self.o.constant(groups)? else { return None };
        let weight = self.o.constant_tensor(weight)?.clone();
        let &[out_channels, per_group, height, width] = weight.sizes() else { return None };
        let in_channels = per_group.checked_mul(groups)?;
        let bias = match self.o.constant(bias)? {
            Constant::None => None,
            _ => Some(self.o.constant_tensor(bias)?.clone()),
        };
        let fits = bias.as_ref().is_none_or(|bias| {
            bias.dtype() == DType::Float32 && bias.dim() == 1 && bias.numel() == out_channels
        });
        // What the kernels are written for; other steps are correct but slow.
        let good = stride[0] == stride[1] && (1..=2).contains(&stride[0]);
        if !fits || !good || weight.dtype() != DType::Float32 {
            return None;
        }
        let packed = pack_weight(&weight, groups).ok()??;
        let bias = pack_bias(bias.as_ref(), out_channels).ok()?;
        let planar = groups == 1 && per_group <= MAX_PLANAR;
        let (last, residual, (activation, low, high)) = self.followers(node, out_channels);
        // The input must be there where the convolution now stands, which is not before it did.
        let input = match (planar, self.blocked.get(&input)) {
            (true, _) => input,
            (_, Some(blocked)) if blocked.channels == in_channels => blocked.value,
            (_, Some(_)) => return None,
            _ => {
                let value = self.make("sconce::to_blocked", &[input], node);
                self.blocked.insert(input, Blocked { value, channels: in_channels });
                value
            }
        };
        let numbers = [
            in_channels,
            out_channels,
            groups,
            height,
            width,
            stride[0],
            stride[1],
            padding[0],
            padding[1],
            dilation[0],
            dilation[1],
        ];
        let residual = match residual {
            Some(residual) => residual.value,
            None => self.o.insert_constant(&Constant::None, last),
        };
        let inputs = [
            input,
            self.o.insert_tensor(packed, last),
            self.o.insert_tensor(bias, last),
            residual,
            self.ints_constant(&numbers, last),
            self.o.insert_constant(&Constant::Str(activation.into()), last),
            self.o.insert_constant(&Constant::Float(low), last),
            self.o.insert_constant(&Constant::Float(high), last),
        ];
        let made = self.make("sconce::conv_blocked", &inputs, last);
        self.enter(last, made, out_channels)
    }

    /// What follows a convolution and can be part of it: the last such node, what is added, and the
    /// activation.
    fn followers(&self, conv: NodeId, channels: i64) -> (NodeId, Option<Blocked>, Activation) {
        let (mut last, mut residual) = (conv, None);
        if let Some((sum, other)) = self.sum(last, channels) {
            (last, residual) = (sum, Some(other));
        }
        match self.activation(last) {
            Some((node, activation)) => (node, residual, activation),
            None => (last, residual, ("none", 0.0, 0.0)),
        }
    }

    /// The only node that uses what another gives, if it stands in the graph's own block.
    fn only_user(&self, node: NodeId) -> Option<NodeId> {
        let output = self.o.graph.node(node).output();
        let [only] = self.o.graph.value(output).uses() else { return None };
        let own = self.o.graph.node(only.user).owner() == Some(self.o.graph.root());
        (own && !self.o.is_written(output)).then_some(only.user)
    }

    fn sum(&self, node: NodeId, channels: i64) -> Option<(NodeId, Blocked)> {
        let user = self.only_user(node)?;
        let at = self.o.graph.node(user);
        let unit = match (at.kind.symbol(), at.inputs().get(2)) {
            ("aten::add", Some(&alpha)) => self.o.constant(alpha) == Some(Constant::Int(1)),
            ("sconce::add", _) => true,
            _ => false,
        };
        let output = self.o.graph.node(node).output();
        let &[a, b] = at.inputs().get(..2)? else { return None };
        let other = *self.blocked.get(if a == output { &b } else { &a })?;
        (unit && other.channels == channels).then_some((user, other))
    }

    fn activation(&self, node: NodeId) -> Option<(NodeId, Activation)> {
        let user = self.only_user(node)?;
        let at = self.o.graph.node(user);
        let number = |index: usize| match self.o.constant(*at.inputs().get(index)?)? {
            Constant::Int(int) => Some(int as f64),
            Constant::Float(float) => Some(float),
            _ => None,
        };
        let activation = match at.kind.symbol() {
            "aten::relu" => ("relu", 0.0, 0.0),
            "aten::relu6" => ("clamp", 0.0, 6.0),
            "aten::hardtanh" => ("clamp", number(1)?, number(2)?),
            "aten::hardsigmoid" => ("hardsigmoid", 0.0, 0.0),
            "aten::hardswish" => ("hardswish", 0.0, 0.0),
            _ => return None,
        };
        // Written so that NaN is refused as well.
        (activation.1 <= activation.2).then_some((user, activation))
    }

    /// Puts back in order what was put into blocks; what nobody uses any more goes, the nodes that
    /// have been made anew among it.
    fn restore(&mut self) {
        let mut values: Vec<(ValueId, Blocked)> =
            self.blocked.iter().map(|(&value, &blocked)| (value, blocked)).collect();
        values.sort_unstable_by_key(|(value, _)| *value);
        for (value, blocked) in values {
            let node = self.o.producer(value);
            let made_from_it = self.o.graph.node(self.o.producer(blocked.value));
            let reordered = made_from_it.kind.symbol() == "sconce::to_blocked";
            if reordered {
                continue;
            }
            let channels = self.o.insert_constant(&Constant::Int(blocked.channels), node);
            let is_last = self.o.fact(value).is_some_and(|fact| fact.is_last);
            let is_last = self.o.insert_constant(&Constant::Bool(is_last), node);
            let inputs = [blocked.value, channels, is_last];
            let ordered = self.make("sconce::from_blocked", &inputs, node);
            self.o.graph.replace_all_uses(value, ordered);
        }
        sconce_ir::passes::eliminate_dead_code(&mut self.o.graph);
    }
}

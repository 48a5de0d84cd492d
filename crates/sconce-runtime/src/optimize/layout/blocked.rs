//! The blocked layout: convolutions with constant weights take and give pictures with sixteen
//! channels side by side, and so does what lies between them.
//!
//! The graph's own block is walked once in program order. A node that can work in blocks, and has an
//! operand that is there in blocks or is a convolution, is made anew with blocked operands; what
//! follows a convolution and belongs to it (the sum with a residual, the activation) is made part of
//! it. A value that is still wanted as it was is put back in order right after it is made.

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_ir::{Constant, Kind, NodeId, Prim, Type, Use, ValueId};

use sconce_kernels::{DType, Scalar, Tensor};

use crate::ops::Unblocked;
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

/// More of them, where all but the first operand are numbers.
const POINTWISE_WITH_NUMBERS: &[&str] = &[
    "aten::abs",
    "aten::celu",
    "aten::clamp",
    "aten::clamp_max",
    "aten::clamp_min",
    "aten::log_sigmoid",
    "aten::mish",
    "aten::neg",
    "aten::rsub",
    "aten::selu",
    "aten::softplus",
    "aten::square",
];

/// Operators on two pictures of as many channels, which work in any layout. What they make of the lanes
/// without a channel is finite as well.
const ARITHMETIC: &[&str] = &["aten::add", "aten::sub", "aten::mul", "sconce::add", "sconce::mul"];

pub(super) const LANES: i64 = 16;

/// A value in blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocked {
    pub(super) value: ValueId,
    pub(super) channels: i64,
    /// Whether it is known to be of one pixel, as gates are.
    pub(super) is_pixel: bool,
}

/// An activation that convolutions apply: its name and bounds.
pub(super) type Activation = (&'static str, f64, f64);

/// What follows an operator and becomes part of it: the last such node, what is added, and the
/// activation.
pub(super) type Followers = (NodeId, Option<Blocked>, Activation);

/// Puts convolutions and what lies between them into blocks.
pub(crate) fn choose_layout(optimization: &mut Optimization) {
    let mut layout = Layout {
        o: optimization,
        blocked: FxHashMap::default(),
        views: FxHashSet::default(),
        joined: FxHashMap::default(),
        sources: FxHashMap::default(),
        numbers: FxHashMap::default(),
        expanded: FxHashMap::default(),
        left: Vec::new(),
    };
    let nodes: Vec<NodeId> = layout.o.graph.block_nodes(layout.o.graph.root()).collect();
    for node in nodes {
        if layout.o.graph.node(node).is_alive() {
            let _ = layout.node(node).or_else(|| layout.follow_numbers(node));
        }
    }
    layout.sizes();
    layout.restore();
    layout.explain_conversions();
    layout.explain_convolutions();
    optimization.refresh();
}

pub(super) struct Layout<'a> {
    pub(super) o: &'a mut Optimization,
    /// The values that are there in blocks.
    pub(super) blocked: FxHashMap<ValueId, Blocked>,
    /// Values that are views of others in the program; whoever wants them in order takes them from those.
    pub(super) views: FxHashSet<ValueId>,
    /// Of pictures that are joined of others of whole blocks, what they are joined of.
    pub(super) joined: FxHashMap<ValueId, Vec<ValueId>>,
    /// Of values in blocks that are made of channels of others, for each channel whose it is and which.
    pub(super) sources: FxHashMap<ValueId, Vec<(ValueId, i64)>>,
    /// Values not in blocks that are numbers for each channel, one pixel, and how many.
    pub(super) numbers: FxHashMap<ValueId, i64>,
    /// Of those that were expanded to the sizes of a picture, the numbers and the picture.
    pub(super) expanded: FxHashMap<ValueId, (ValueId, ValueId)>,
    /// Convolutions that stay as they are, and why.
    pub(super) left: Vec<(NodeId, Unblocked)>,
}

impl Layout<'_> {
    /// Makes a node anew in blocks, if it can be; `None` if not.
    fn node(&mut self, node: NodeId) -> Option<()> {
        let at = self.o.graph.node(node);
        if at.is(Prim::ListUnpack) {
            return self.parts(node);
        }
        let (symbol, &[output]) = (at.kind.symbol(), at.outputs()) else { return None };
        let &first = at.inputs().first()?;
        if self.o.is_written(output) {
            return None;
        }
        match symbol {
            "aten::conv2d" | "aten::conv_transpose2d" => return self.convolution(node),
            "aten::cat" => return self.join(node, first),
            "aten::view" | "aten::reshape" => return self.shuffle(node, first),
            "aten::addcmul" => return self.addcmul(node),
            "aten::permute" => return self.layer_norm(node),
            _ if ARITHMETIC.contains(&symbol) => return self.arithmetic(node, first),
            _ => {}
        }
        let blocked = *self.blocked.get(&first)?;
        if POINTWISE.contains(&symbol) {
            return self.again(node, &[blocked], blocked);
        }
        // Where channels lie last, it is not known of what follows whether they still do; and upsampling then looks at the
        // sizes before the scale factors.
        let in_order = self.o.fact(first).is_some_and(|fact| !fact.is_last);
        if POINTWISE_WITH_NUMBERS.contains(&symbol) {
            let is_number = |value: &ValueId| {
                matches!(self.o.graph.ty(*value), Type::Int | Type::Float | Type::None)
            };
            let fits = in_order && at.inputs().iter().skip(1).all(is_number);
            return fits.then(|| self.again(node, &[blocked], blocked))?;
        }
        match symbol {
            "aten::max_pool2d" | "aten::avg_pool2d" => self.pool(node, blocked),
            "aten::adaptive_avg_pool2d" => self.adaptive_pool(node, blocked),
            "aten::mean" => self.mean(node, blocked),
            "aten::norm" | "aten::linalg_vector_norm" => self.norm(node, blocked),
            "aten::upsample_nearest2d"
            | "aten::_upsample_nearest_exact2d"
            | "aten::upsample_bilinear2d"
            | "aten::upsample_bicubic2d"
                if in_order =>
            {
                self.upsample(node, blocked)
            }
            "aten::pad"
            | "aten::constant_pad_nd"
            | "aten::reflection_pad2d"
            | "aten::replication_pad2d"
                if in_order =>
            {
                self.pad(node, blocked)
            }
            "aten::batch_norm" => self.batch_norm(node, blocked),
            "aten::group_norm" => self.group_norm(node, blocked),
            "aten::slice" | "aten::narrow" => self.slice(node, blocked),
            _ => None,
        }
    }

    /// A sum, a difference or a product with a number or another picture, of which one may have one
    /// pixel.
    fn arithmetic(&mut self, node: NodeId, first: ValueId) -> Option<()> {
        let at = self.o.graph.node(node);
        let (is_product, &other) = (at.kind.symbol().ends_with("mul"), at.inputs().get(1)?);
        let Some(&blocked) = self.blocked.get(&first) else {
            let second = *self.blocked.get(&other)?;
            if !self.is_given(node) && self.with_numbers(node, other, first).is_some() {
                return Some(());
            }
            let fits = self.channels_of_pixels(first) == Some(second.channels);
            // The result lies in memory as the first operand does, which is not followed further than layers.
            return (fits && !self.is_given(node)).then(|| {
                let first = self.pixels_to_blocked(first, second, node);
                self.again(node, &[first, second], first)
            })?;
        };
        let Some(&other) = self.blocked.get(&other) else {
            if self.is_number(other) {
                return self.again(node, &[blocked], blocked);
            }
            if self.channels_of_pixels(other) == Some(blocked.channels) {
                let other = self.pixels_to_blocked(other, blocked, node);
                return self.again(node, &[blocked, other], Blocked { is_pixel: false, ..blocked });
            }
            return self.with_numbers(node, first, other);
        };
        if other.channels != blocked.channels {
            return None;
        }
        if is_product && other.is_pixel != blocked.is_pixel {
            let (picture, gate) = if other.is_pixel { (blocked, other) } else { (other, blocked) };
            let made = self.make("sconce::gate_blocked", &[picture.value, gate.value], node);
            return self.enter(node, Blocked { value: made, ..picture });
        }
        let is_pixel = blocked.is_pixel && other.is_pixel;
        self.again(node, &[blocked, other], Blocked { is_pixel, ..blocked })
    }

    /// Whether an operand is a number, or a constant without dimensions, as traces have them.
    pub(super) fn is_number(&self, value: ValueId) -> bool {
        let item = self.o.constant_tensor(value).filter(|of| of.dim() == 0).map(Tensor::item);
        match item {
            Some(Ok(Scalar::Int(_))) => true,
            // Lanes without a channel stay finite.
            Some(Ok(Scalar::Float(number))) => (number as f32).is_finite(),
            _ => matches!(self.o.graph.ty(value), Type::Int | Type::Float),
        }
    }

    /// Whether element-wise arithmetic alone takes what a node gives.
    pub(super) fn is_in_chain(&self, node: NodeId) -> bool {
        let mut uses = self.o.graph.value(self.o.graph.node(node).output()).uses().iter();
        uses.all(|only| {
            let symbol = self.o.graph.node(only.user).kind.symbol();
            symbol == "aten::addcmul" || ARITHMETIC.contains(&symbol)
        })
    }

    /// How many channels a picture has that layers of pixels gave: a linear layer or a normalisation, whose channels
    /// are put before height and width.
    fn channels_of_pixels(&self, picture: ValueId) -> Option<i64> {
        let permute = self.o.producer(picture);
        let &[pixels, order] = self.o.graph.node(permute).inputs() else { return None };
        let is_ordered = self.o.is_op(permute, "aten::permute")
            && self.o.ints(order)? == [0, 3, 1, 2]
            && self.o.fact(pixels)?.dtype == DType::Float32;
        let layer = self.o.producer(pixels);
        let &[_, second, ..] = self.o.graph.node(layer).inputs() else { return None };
        match self.o.graph.node(layer).kind.symbol() {
            "aten::linear" if is_ordered => {
                self.o.constant_tensor(second)?.sizes().first().copied()
            }
            "aten::layer_norm" if is_ordered => match *self.o.ints(second)?.as_slice() {
                [channels] => Some(channels),
                _ => None,
            },
            _ => None,
        }
    }

    /// A picture put into blocks for what is computed of it and one like it.
    fn pixels_to_blocked(&mut self, picture: ValueId, like: Blocked, before: NodeId) -> Blocked {
        let channels = self.o.insert_constant(&Constant::Int(like.channels), before);
        let value = self.make("sconce::to_blocked", &[picture, channels], before);
        Blocked { value, channels: like.channels, is_pixel: false }
    }

    /// Whether what a node gives is given by the graph, or held by what may be.
    fn is_given(&self, node: NodeId) -> bool {
        let output = self.o.graph.node(node).output();
        let holders =
            [Prim::Return, Prim::TupleConstruct, Prim::ListConstruct, Prim::DictConstruct];
        let uses = self.o.graph.value(output).uses();
        uses.iter().any(|only| {
            let user = self.o.graph.node(only.user);
            holders.iter().any(|&holder| user.is(holder))
        }) || self.o.graph.outputs().contains(&output)
    }

    /// The same operator on blocked operands, which come first.
    pub(super) fn again(
        &mut self,
        node: NodeId,
        operands: &[Blocked],
        like: Blocked,
    ) -> Option<()> {
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
        self.enter(node, Blocked { value, ..like })
    }

    /// Remembers what a node gives in blocks.
    pub(super) fn enter(&mut self, node: NodeId, blocked: Blocked) -> Option<()> {
        let old = self.o.graph.node(node).output();
        self.blocked.insert(old, blocked);
        Some(())
    }

    pub(super) fn make(&mut self, symbol: &str, inputs: &[ValueId], before: NodeId) -> ValueId {
        let node = self.o.graph.new_node_with(Kind::from_symbol(symbol), inputs, Type::Tensor);
        let range = self.o.graph.node(before).range.clone();
        self.o.graph.node_mut(node).range = range;
        self.o.graph.insert_before(node, before);
        self.o.graph.node(node).output()
    }

    pub(super) fn ints_constant(&mut self, ints: &[i64], before: NodeId) -> ValueId {
        let items = ints.iter().map(|&int| Constant::Int(int)).collect();
        self.o.insert_constant(&Constant::List(Type::Int, items), before)
    }

    /// Two numbers; one stands for both.
    pub(super) fn pair(&self, value: ValueId) -> Option<[i64; 2]> {
        match *self.o.ints(value)?.as_slice() {
            [both] => Some([both, both]),
            [height, width] => Some([height, width]),
            _ => None,
        }
    }

    /// Several values as a list.
    pub(super) fn list(&mut self, values: &[ValueId], before: NodeId) -> ValueId {
        let ty = Type::list(Type::Tensor);
        let list = self.o.graph.new_node_with(Prim::ListConstruct, values, ty);
        self.o.graph.insert_before(list, before);
        self.o.graph.node(list).output()
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
            if reordered || self.views.contains(&value) {
                continue;
            }
            let channels = self.o.insert_constant(&Constant::Int(blocked.channels), node);
            let is_last = self.o.fact(value).is_some_and(|fact| fact.is_last);
            let is_last = is_last || self.is_read_by_pixels(value);
            let is_last = self.o.insert_constant(&Constant::Bool(is_last), node);
            let inputs = [blocked.value, channels, is_last];
            let ordered = self.make("sconce::from_blocked", &inputs, node);
            self.o.graph.replace_all_uses(value, ordered);
        }
        sconce_ir::passes::eliminate_dead_code(&mut self.o.graph);
    }

    /// Whether a picture is read channel after channel of each pixel, by what makes a new tensor in its own order: then
    /// nobody can tell how the channels lay.
    fn is_read_by_pixels(&self, picture: ValueId) -> bool {
        let by_pixels = |only: &Use| {
            let user = self.o.graph.node(only.user);
            let order = user.inputs().get(1).filter(|_| self.o.is_op(only.user, "aten::permute"));
            let order = order.and_then(|&order| self.o.ints(order));
            let readers = user.outputs().first().map(|&pixels| self.o.graph.value(pixels).uses());
            let is_first = |reader: &Use| {
                let rows = ["aten::layer_norm", "aten::linear"];
                reader.index == 0 && rows.iter().any(|row| self.o.is_op(reader.user, row))
            };
            matches!(order.as_deref(), Some([0, 2, 3, 1] | [0, -2, -1, 1]))
                && readers.is_some_and(|readers| readers.iter().all(is_first))
        };
        let uses = self.o.graph.value(picture).uses();
        !uses.is_empty() && uses.iter().all(by_pixels)
    }

    /// Says of each conversion that is left which operator it is made for, one that is not in blocks.
    fn explain_conversions(&mut self) {
        let nodes: Vec<NodeId> = self.o.graph.block_nodes(self.o.graph.root()).collect();
        for node in nodes {
            let at = self.o.graph.node(node);
            let (symbol, inputs) = (at.kind.symbol(), at.inputs());
            let other = match (symbol, inputs) {
                ("sconce::to_blocked", &[picture, _]) => Some(self.o.producer(picture)),
                ("sconce::from_blocked", _) => self.first_user(at.output()),
                _ => continue,
            };
            let Some(other) = other else { continue };
            let reason = Constant::Str(self.o.graph.node(other).kind.symbol().into());
            let reason = self.o.insert_constant(&reason, node);
            self.o.graph.add_node_input(node, reason);
        }
    }

    /// Says of each convolution that is not in blocks why: with its reason as one more operand it is an operator of
    /// ours.
    fn explain_convolutions(&mut self) {
        for (node, reason) in std::mem::take(&mut self.left) {
            if !self.o.graph.node(node).is_alive() {
                continue;
            }
            let reason = self.o.insert_constant(&Constant::Str(reason.text().into()), node);
            self.o.graph.add_node_input(node, reason);
            let convolution = self.o.graph.node_mut(node);
            let name = convolution.kind.symbol().trim_start_matches("aten::");
            convolution.kind = Kind::from_symbol(&format!("sconce::{name}"));
            convolution.operator = None;
        }
    }

    /// The first operator that uses a value, be it as an item of a list.
    fn first_user(&self, value: ValueId) -> Option<NodeId> {
        let user = self.o.graph.value(value).uses().first()?.user;
        let is_list = self.o.graph.node(user).is(Prim::ListConstruct);
        let of_list = |list: &NodeId| {
            let list = self.o.graph.node(*list).output();
            self.o.graph.value(list).uses().first().map(|only| only.user)
        };
        Some(Some(user).filter(|_| is_list).as_ref().and_then(of_list).unwrap_or(user))
    }
}

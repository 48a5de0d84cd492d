//! Convolutions in blocks, and what follows them and becomes part of them.

use sconce_ir::{Constant, NodeId, ValueId};
use sconce_kernels::{DType, Tensor, pack_bias, pack_transposed_weight, pack_weight};

use crate::ops::Unblocked;

use super::blocked::{Activation, Blocked, Followers, LANES, Layout};

/// Channels up to which a picture is read as it is.
const MAX_PLANAR: i64 = 4;

/// Strides of transposed convolutions up to which each phase has pixels enough in a row.
const MAX_TRANSPOSED_STRIDE: i64 = 8;

/// Result channels from which transposed convolutions are quicker in blocks: of fewer, most of each register is computed
/// for nothing. With 64 channels and a window of 4x4, three took 285 µs in blocks and 80 µs as a matrix product.
const MIN_TRANSPOSED_CHANNELS: i64 = LANES / 2;

impl Layout<'_> {
    /// A convolution in blocks, transposed or not. Of one that stays as it is, the reason is kept.
    pub(super) fn convolution(&mut self, node: NodeId) -> Option<()> {
        let made = match self.o.is_op(node, "aten::conv_transpose2d") {
            true => self.transposed_in_blocks(node),
            false => self.in_blocks(node),
        };
        match made {
            Ok(()) => Some(()),
            Err(reason) => {
                self.left.push((node, reason));
                None
            }
        }
    }

    fn in_blocks(&mut self, node: NodeId) -> Result<(), Unblocked> {
        let &[input, weight_value, bias, stride, padding, dilation, groups] =
            self.o.graph.node(node).inputs()
        else {
            return Err(Unblocked::Operands);
        };
        self.is_picture(input)?;
        let sizes = [stride, padding, dilation].map(|sizes| self.pair(sizes));
        let [Some(stride), Some(padding), Some(dilation)] = sizes else {
            return Err(Unblocked::Steps);
        };
        let Some(Constant::Int(groups)) = self.o.constant(groups) else {
            return Err(Unblocked::Steps);
        };
        let weight = self.o.constant_tensor(weight_value).ok_or(Unblocked::Weight)?.clone();
        let &[out_channels, per_group, height, width] = weight.sizes() else {
            return Err(Unblocked::Weights);
        };
        let in_channels = per_group.checked_mul(groups).ok_or(Unblocked::Weights)?;
        let bias = self.packed_bias(&weight, bias, out_channels)?;
        // What the kernels are written for; other steps are correct but slow.
        let planar = groups == 1 && per_group <= MAX_PLANAR;
        let is_known = matches!(stride[0], 1 | 2) || (planar && matches!(stride[0], 4 | 16));
        if stride[0] != stride[1] || !is_known {
            return Err(Unblocked::Stride);
        }
        let packed = pack_weight(&weight, groups).ok().flatten().ok_or(Unblocked::Groups)?;
        let is_pixel = self.blocked.get(&input).is_some_and(|source| source.is_pixel);
        let is_pixel = is_pixel && ([height, width], padding) == ([1, 1], [0, 0]);
        let like = Blocked { value: input, channels: out_channels, is_pixel };
        let input = if planar { input } else { self.source(input, in_channels, node)? };
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
        self.convolve(
            node,
            "sconce::conv_blocked",
            [input, weight_value],
            [packed, bias],
            &numbers,
            like,
        );
        Ok(())
    }

    fn transposed_in_blocks(&mut self, node: NodeId) -> Result<(), Unblocked> {
        let &[input, weight_value, bias, stride, padding, extra, groups, dilation] =
            self.o.graph.node(node).inputs()
        else {
            return Err(Unblocked::Operands);
        };
        self.is_picture(input)?;
        let sizes = [stride, padding, extra, dilation].map(|sizes| self.pair(sizes));
        let [Some(stride), Some(padding), Some(extra), Some(dilation)] = sizes else {
            return Err(Unblocked::Steps);
        };
        let Some(Constant::Int(groups)) = self.o.constant(groups) else {
            return Err(Unblocked::Steps);
        };
        if groups != 1 {
            return Err(Unblocked::Groups);
        }
        if dilation != [1; 2] {
            return Err(Unblocked::Dilation);
        }
        if stride.iter().any(|stride| !(1..=MAX_TRANSPOSED_STRIDE).contains(stride)) {
            return Err(Unblocked::Stride);
        }
        let weight = self.o.constant_tensor(weight_value).ok_or(Unblocked::Weight)?.clone();
        let &[in_channels, out_channels, height, width] = weight.sizes() else {
            return Err(Unblocked::Weights);
        };
        let bias = self.packed_bias(&weight, bias, out_channels)?;
        if out_channels < MIN_TRANSPOSED_CHANNELS {
            return Err(Unblocked::FewChannels);
        }
        let packed = pack_transposed_weight(&weight, stride).ok().flatten();
        let packed = packed.ok_or(Unblocked::Weights)?;
        let like = Blocked { value: input, channels: out_channels, is_pixel: false };
        let input = self.source(input, in_channels, node)?;
        let numbers = [
            in_channels,
            out_channels,
            height,
            width,
            stride[0],
            stride[1],
            padding[0],
            padding[1],
            extra[0],
            extra[1],
        ];
        let symbol = "sconce::conv_transpose_blocked";
        self.convolve(node, symbol, [input, weight_value], [packed, bias], &numbers, like);
        Ok(())
    }

    /// Whether a value is a batch of pictures that nothing writes to.
    fn is_picture(&self, input: ValueId) -> Result<(), Unblocked> {
        let fact = self.o.fact(input).ok_or(Unblocked::Unknown)?;
        if fact.rank != 4 {
            return Err(Unblocked::Unbatched);
        }
        if fact.dtype != DType::Float32 {
            return Err(Unblocked::Dtype);
        }
        if self.o.is_written(input) {
            return Err(Unblocked::Written);
        }
        Ok(())
    }

    /// The bias of so many channels, of a convolution whose weight can be in blocks.
    fn packed_bias(
        &self,
        weight: &Tensor,
        bias: ValueId,
        channels: i64,
    ) -> Result<Tensor, Unblocked> {
        let bias = match self.o.constant(bias) {
            Some(Constant::None) => None,
            _ => Some(self.o.constant_tensor(bias).ok_or(Unblocked::Weight)?.clone()),
        };
        let fits = bias.as_ref().is_none_or(|bias| {
            bias.dtype() == DType::Float32 && bias.dim() == 1 && bias.numel() == channels
        });
        if !fits || weight.dtype() != DType::Float32 {
            return Err(Unblocked::Weights);
        }
        pack_bias(bias.as_ref(), channels).map_err(|_| Unblocked::Weights)
    }

    /// The input of a convolution in blocks. It must be there where the convolution now stands, which is not before it
    /// did.
    fn source(
        &mut self,
        input: ValueId,
        channels: i64,
        node: NodeId,
    ) -> Result<ValueId, Unblocked> {
        match self.blocked.get(&input).copied() {
            Some(source) if source.channels == channels => Ok(source.value),
            Some(_) => Err(Unblocked::Channels),
            None => {
                let count = self.o.insert_constant(&Constant::Int(channels), node);
                let value = self.make("sconce::to_blocked", &[input, count], node);
                self.blocked.insert(input, Blocked { value, channels, is_pixel: false });
                Ok(value)
            }
        }
    }

    /// A convolution of an input in blocks with a packed weight and bias, and what follows it.
    fn convolve(
        &mut self,
        node: NodeId,
        symbol: &str,
        [input, weight]: [ValueId; 2],
        [packed, bias]: [Tensor; 2],
        numbers: &[i64],
        like: Blocked,
    ) {
        let (last, residual, activation) = self.followers(node, like);
        let residual = match residual {
            Some(residual) => residual.value,
            None => self.o.insert_constant(&Constant::None, last),
        };
        let mut inputs = vec![
            input,
            self.o.insert_tensor(packed, last),
            self.o.insert_tensor(bias, last),
            residual,
            self.ints_constant(numbers, last),
        ];
        inputs.extend(self.activation_constants(activation, last));
        let value = self.make(symbol, &inputs, last);
        self.enter(last, Blocked { value, ..like });
        self.o.give_up(weight);
    }

    /// An activation as the operands that operators in blocks take: its name and its bounds.
    pub(super) fn activation_constants(
        &mut self,
        (name, low, high): Activation,
        before: NodeId,
    ) -> [ValueId; 3] {
        [
            self.o.insert_constant(&Constant::Str(name.into()), before),
            self.o.insert_constant(&Constant::Float(low), before),
            self.o.insert_constant(&Constant::Float(high), before),
        ]
    }

    /// What follows a convolution and can be part of it.
    fn followers(&self, conv: NodeId, like: Blocked) -> Followers {
        let (mut last, mut residual) = (conv, None);
        if let Some((sum, other)) = self.sum(last, like) {
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

    fn sum(&self, node: NodeId, like: Blocked) -> Option<(NodeId, Blocked)> {
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
        let fits = (other.channels, other.is_pixel) == (like.channels, like.is_pixel);
        (unit && fits).then_some((user, other))
    }

    pub(super) fn activation(&self, node: NodeId) -> Option<(NodeId, Activation)> {
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
            "aten::silu" => ("silu", 0.0, 0.0),
            "aten::gelu" => match self.o.constant(*at.inputs().get(1)?)? {
                Constant::Str(word) if &*word == "none" => ("gelu", 0.0, 0.0),
                Constant::Str(word) if &*word == "tanh" => ("gelu_tanh", 0.0, 0.0),
                _ => return None,
            },
            _ => return None,
        };
        // Written so that NaN is refused as well.
        (activation.1 <= activation.2).then_some((user, activation))
    }
}

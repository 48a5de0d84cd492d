//! Convolutions in blocks, and what follows them and becomes part of them.

use sconce_ir::{Constant, NodeId, ValueId};
use sconce_kernels::{DType, pack_bias, pack_weight};

use crate::ops::Unblocked;

use super::blocked::{Activation, Blocked, Followers, Layout};

/// Channels up to which a picture is read as it is.
const MAX_PLANAR: i64 = 4;

impl Layout<'_> {
    /// A convolution in blocks. Of one that stays as it is, the reason is kept.
    pub(super) fn convolution(&mut self, node: NodeId) -> Option<()> {
        match self.in_blocks(node) {
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
        let bias = match self.o.constant(bias) {
            Some(Constant::None) => None,
            _ => Some(self.o.constant_tensor(bias).ok_or(Unblocked::Weight)?.clone()),
        };
        let fits = bias.as_ref().is_none_or(|bias| {
            bias.dtype() == DType::Float32 && bias.dim() == 1 && bias.numel() == out_channels
        });
        if !fits || weight.dtype() != DType::Float32 {
            return Err(Unblocked::Weights);
        }
        // What the kernels are written for; other steps are correct but slow.
        let planar = groups == 1 && per_group <= MAX_PLANAR;
        let is_known = matches!(stride[0], 1 | 2) || (planar && matches!(stride[0], 4 | 16));
        if stride[0] != stride[1] || !is_known {
            return Err(Unblocked::Stride);
        }
        let packed = pack_weight(&weight, groups).ok().flatten().ok_or(Unblocked::Groups)?;
        let bias = pack_bias(bias.as_ref(), out_channels).map_err(|_| Unblocked::Weights)?;
        let source = self.blocked.get(&input).copied();
        let is_pixel = source.is_some_and(|source| source.is_pixel);
        let is_pixel = is_pixel && ([height, width], padding) == ([1, 1], [0, 0]);
        let like = Blocked { value: input, channels: out_channels, is_pixel };
        let (last, residual, activation) = self.followers(node, like);
        // The input must be there where the convolution now stands, which is not before it did.
        let input = match (planar, source) {
            (true, _) => input,
            (_, Some(source)) if source.channels == in_channels => source.value,
            (_, Some(_)) => return Err(Unblocked::Channels),
            _ => {
                let channels = self.o.insert_constant(&Constant::Int(in_channels), node);
                let value = self.make("sconce::to_blocked", &[input, channels], node);
                let blocked = Blocked { value, channels: in_channels, is_pixel: false };
                self.blocked.insert(input, blocked);
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
        let mut inputs = vec![
            input,
            self.o.insert_tensor(packed, last),
            self.o.insert_tensor(bias, last),
            residual,
            self.ints_constant(&numbers, last),
        ];
        inputs.extend(self.activation_constants(activation, last));
        let value = self.make("sconce::conv_blocked", &inputs, last);
        self.enter(last, Blocked { value, ..like });
        self.o.give_up(weight_value);
        Ok(())
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

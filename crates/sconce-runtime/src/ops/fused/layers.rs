//! Operators that no program has: passes put them in the place of others.

use sconce_kernels as kernels;
use sconce_kernels::{LinearActivation, UnaryOp};

use crate::error::kernel;
use crate::ops::descriptor::{Table, op};
use crate::ops::fused::operator_name;
use crate::ops::nn::attention;
use crate::ops::tensor::operands::made;
use crate::value::IValue;

/// `input, packed weight, weight, bias, place in ACTIVATIONS or -1`.
pub(crate) const LINEAR_PACKED: &str = "sconce::linear_packed";

/// The operands of `aten::_transformer_encoder_layer_fwd` and the packed weights of [`ENCODER_WEIGHTS`].
pub(crate) const ENCODER_LAYER_PACKED: &str = "sconce::encoder_layer_packed";

/// Where an encoder layer's operands have the weights of linear layers.
pub(crate) const ENCODER_WEIGHTS: [usize; 4] = [3, 5, 14, 16];

/// The operands of `aten::_native_multi_head_attention` and the packed weights of [`HEAD_WEIGHTS`].
pub(crate) const MANY_HEADS_PACKED: &str = "sconce::many_heads_packed";

/// Where attention with many heads has the weights of linear layers.
pub(crate) const HEAD_WEIGHTS: [usize; 2] = [5, 7];

/// The operands of attention with many heads.
const HEAD_OPERANDS: usize = 13;

/// The operands of an encoder layer.
const ENCODER_OPERANDS: usize = 20;

/// Activations that a linear layer can apply: operator, mode where it has one, and the kernels.
pub(crate) const ACTIVATIONS: &[(&str, Option<&str>, LinearActivation, UnaryOp)] = &[
    ("aten::relu", None, LinearActivation::Relu, UnaryOp::Relu),
    ("aten::gelu", Some("none"), LinearActivation::Gelu, UnaryOp::Gelu),
    ("aten::gelu", Some("tanh"), LinearActivation::GeluTanh, UnaryOp::GeluTanh),
    ("aten::silu", None, LinearActivation::Silu, UnaryOp::Silu),
    ("aten::sigmoid", None, LinearActivation::Sigmoid, UnaryOp::Sigmoid),
    ("aten::tanh", None, LinearActivation::Tanh, UnaryOp::Tanh),
];

pub(crate) const TABLE: Table = &[
    op(LINEAR_PACKED, "-", |_, args| {
        let activation = usize::try_from(args.int(4)?).ok().and_then(|at| ACTIVATIONS.get(at));
        let (input, weight, bias) = (args.tensor(0)?, args.tensor(2)?, args.optional_tensor(3)?);
        let (packed, fused) = (args.tensor(1)?, activation.map(|line| line.2));
        let rows = weight.size(0).map_err(kernel)?;
        let result = kernels::linear_packed(input, packed, rows, bias, fused).map_err(kernel)?;
        if let Some(result) = result {
            return Ok(IValue::Tensor(result));
        }
        let result = kernels::linear(input, weight, bias).map_err(kernel)?;
        match activation {
            Some(line) => made(kernels::unary(line.3, &result)),
            None => Ok(IValue::Tensor(result)),
        }
    })
    .steps(linear_steps),
    op(ENCODER_LAYER_PACKED, "-", |_, args| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| args.tensor(ENCODER_OPERANDS + at));
        attention::encoder_layer(&args, [Some(a?), Some(b?), Some(c?), Some(d?)])
    }),
    op(MANY_HEADS_PACKED, "-", |_, args| {
        let [qkv, out] = [0, 1].map(|at| args.tensor(HEAD_OPERANDS + at));
        attention::many_heads(&args, [Some(qkv?), Some(out?)])
    }),
];

/// The product and the activation.
fn linear_steps(operands: &[Option<&IValue>]) -> Vec<&'static str> {
    let mut steps = vec!["linear"];
    if let Some(Some(IValue::Int(place))) = operands.get(4) {
        let activation = usize::try_from(*place).ok().and_then(|at| ACTIVATIONS.get(at));
        steps.extend(activation.map(|line| operator_name(line.0)));
    }
    steps
}

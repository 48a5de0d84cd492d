//! Operators that no program has: passes put them in the place of others.

use sconce_kernels as kernels;
use sconce_kernels::{LinearActivation, PackedLinear, RowNorm, Tensor, UnaryOp};
use smallvec::SmallVec;

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::fused::operator_name;
use crate::ops::nn::attention;
use crate::value::IValue;

/// `input, packed weight, weight, bias, place in ACTIVATIONS or -1`.
pub(crate) const LINEAR_PACKED: &str = "sconce::linear_packed";

/// `input`, the scale, shift and addend of its layer normalisation (`None` where there is none), and the other operands
/// of [`LINEAR_PACKED`] for each layer, whose results it gives.
pub(crate) const GATHERED_LINEAR: &str = "sconce::gathered_linear";

/// Where the layers of gathered ones begin, and how many operands each has.
const GATHERED_LAYERS: (usize, usize) = (4, 4);

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

/// An activation that a linear layer can apply: operator, mode where it has one, and the kernels.
type Activation = (&'static str, Option<&'static str>, LinearActivation, UnaryOp);

/// Activations that a linear layer can apply.
pub(crate) const ACTIVATIONS: &[Activation] = &[
    ("aten::relu", None, LinearActivation::Relu, UnaryOp::Relu),
    ("aten::gelu", Some("none"), LinearActivation::Gelu, UnaryOp::Gelu),
    ("aten::gelu", Some("tanh"), LinearActivation::GeluTanh, UnaryOp::GeluTanh),
    ("aten::silu", None, LinearActivation::Silu, UnaryOp::Silu),
    ("aten::sigmoid", None, LinearActivation::Sigmoid, UnaryOp::Sigmoid),
    ("aten::tanh", None, LinearActivation::Tanh, UnaryOp::Tanh),
];

pub(crate) const TABLE: Table = &[
    op(LINEAR_PACKED, "-", |_, args| linear(&args, args.tensor(0)?, 1).map(IValue::Tensor))
        .steps(|operands| linear_steps(operands, 1)),
    op(GATHERED_LINEAR, "-", |_, args| gathered_linear(&args)).steps(gathered_steps),
    op(ENCODER_LAYER_PACKED, "-", |_, args| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| args.tensor(ENCODER_OPERANDS + at));
        attention::encoder_layer(&args, [Some(a?), Some(b?), Some(c?), Some(d?)])
    }),
    op(MANY_HEADS_PACKED, "-", |_, args| {
        let [qkv, out] = [0, 1].map(|at| args.tensor(HEAD_OPERANDS + at));
        attention::many_heads(&args, [Some(qkv?), Some(out?)])
    }),
];

/// A linear layer whose operands but for the input begin at a place.
fn linear(args: &Args<'_>, input: &Tensor, at: usize) -> Result<Tensor, Raise> {
    let activation = activation(args, at)?;
    let (weight, bias) = (args.tensor(at + 1)?, args.optional_tensor(at + 2)?);
    let (packed, fused) = (args.tensor(at)?, activation.map(|line| line.2));
    let rows = weight.size(0).map_err(kernel)?;
    let result = kernels::linear_packed(input, packed, rows, bias, fused).map_err(kernel)?;
    if let Some(result) = result {
        return Ok(result);
    }
    let result = kernels::linear(input, weight, bias).map_err(kernel)?;
    match activation {
        Some(line) => kernels::unary(line.3, &result).map_err(kernel),
        None => Ok(result),
    }
}

/// The activation of the layer whose operands but for the input begin at a place.
fn activation(args: &Args<'_>, at: usize) -> Result<Option<&'static Activation>, Raise> {
    Ok(usize::try_from(args.int(at + 3)?).ok().and_then(|at| ACTIVATIONS.get(at)))
}

fn gathered_linear(args: &Args<'_>) -> Result<IValue, Raise> {
    let input = args.tensor(0)?;
    let (weight, bias) = (args.optional_tensor(1)?, args.optional_tensor(2)?);
    let norm = match args.get(3) {
        IValue::None => None,
        _ => Some(RowNorm { weight, bias, eps: args.real(3)? }),
    };
    let (first, operands) = GATHERED_LAYERS;
    let places = || (first..args.len()).step_by(operands);
    let layer = |at| {
        Ok(PackedLinear {
            packed: args.tensor(at)?,
            n: args.tensor(at + 1)?.size(0).map_err(kernel)?,
            bias: args.optional_tensor(at + 2)?,
            activation: activation(args, at)?.map(|line| line.2),
        })
    };
    let layers: SmallVec<[PackedLinear<'_>; 4]> =
        places().map(layer).collect::<Result<_, Raise>>()?;
    let gathered = kernels::gathered_linear(input, norm.as_ref(), &layers).map_err(kernel)?;
    let mut results = match gathered {
        Some(results) => results,
        None => {
            let normalised = norm.map(|RowNorm { weight, bias, eps }| {
                let last = &input.sizes()[input.sizes().len().saturating_sub(1)..];
                kernels::layer_norm(input, last, weight, bias, eps).map_err(kernel)
            });
            let normalised = normalised.transpose()?;
            let input = normalised.as_ref().unwrap_or(input);
            places().map(|at| linear(args, input, at)).collect::<Result<_, Raise>>()?
        }
    };
    Ok(match results.len() {
        1 => results.pop().map_or(IValue::None, IValue::Tensor),
        _ => IValue::tuple(results.into_iter().map(IValue::Tensor).collect()),
    })
}

/// The product and the activation of the layer whose operands but for the input begin at a place.
fn linear_steps(operands: &[Option<&IValue>], at: usize) -> Vec<&'static str> {
    let mut steps = vec!["linear"];
    if let Some(Some(IValue::Int(place))) = operands.get(at + 3) {
        let activation = usize::try_from(*place).ok().and_then(|at| ACTIVATIONS.get(at));
        steps.extend(activation.map(|line| operator_name(line.0)));
    }
    steps
}

fn gathered_steps(operands: &[Option<&IValue>]) -> Vec<&'static str> {
    let has_norm = !matches!(operands.get(3), Some(Some(IValue::None)));
    let (first, each) = GATHERED_LAYERS;
    let layers = (first..operands.len()).step_by(each);
    let norm = has_norm.then_some("layer_norm");
    norm.into_iter().chain(layers.flat_map(|at| linear_steps(operands, at))).collect()
}

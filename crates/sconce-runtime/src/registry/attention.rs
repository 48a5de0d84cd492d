//! Operators of attention.

use sconce_kernels::{
    self as kernels, AttentionOptions, EncoderLayer, HeadMask, HeadWeights, Layer, Tensor,
};

use super::tensor_args::{kernel, made};
use super::{Args, Table};
use crate::error::Raise;
use crate::interpreter::Machine;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(super) const TABLE: Table = &[
    ("aten::scaled_dot_product_attention", "-", |machine, args| {
        let options = AttentionOptions {
            mask: args.optional_tensor(3)?,
            dropout: args.real(4)?,
            causal: args.bool(5)?,
            scale: scale(&args, 6)?,
            grouped: args.bool(7)?,
        };
        attend(machine, &args, &options).map(|(result, _)| IValue::Tensor(result))
    }),
    ("aten::_scaled_dot_product_attention_math", "-", |machine, args| {
        if !args.get(6).is_none() {
            return Err(Raise::unsupported("attention with a given dropout mask"));
        }
        let options = AttentionOptions {
            mask: args.optional_tensor(3)?,
            dropout: args.real(4)?,
            causal: args.bool(5)?,
            scale: scale(&args, 7)?,
            grouped: args.bool(8)?,
        };
        let (result, weights) = attend(machine, &args, &options)?;
        Ok(IValue::tuple(vec![IValue::Tensor(result), IValue::Tensor(weights)]))
    }),
    ("aten::_scaled_dot_product_flash_attention_for_cpu", "-", |machine, args| {
        let options = AttentionOptions {
            mask: args.optional_tensor(5)?,
            dropout: args.real(3)?,
            causal: args.bool(4)?,
            scale: scale(&args, 6)?,
            grouped: false,
        };
        let (query, key, value) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
        let results = kernels::flash_attention(query, key, value, &options, &mut machine.generator);
        let (result, log_sums) = results.map_err(kernel)?;
        Ok(IValue::tuple(vec![IValue::Tensor(result), IValue::Tensor(log_sums)]))
    }),
    ("aten::_native_multi_head_attention", "-", |_, args| {
        let weights = HeadWeights {
            embed: args.int(3)?,
            heads: args.int(4)?,
            qkv: layer(&args, 5, None)?,
            out: layer(&args, 7, None)?,
        };
        let inputs = [args.tensor(0)?, args.tensor(1)?, args.tensor(2)?];
        let (result, weights) =
            kernels::multi_head_attention(inputs, weights, mask(&args, 9, 12)?).map_err(kernel)?;
        let weights = match (args.bool(10)?, args.bool(11)?) {
            (false, _) => IValue::None,
            (true, false) => IValue::Tensor(weights),
            (true, true) => made(kernels::mean(&weights, &[1], false, None))?,
        };
        Ok(IValue::tuple(vec![IValue::Tensor(result), weights]))
    }),
    ("aten::_transformer_encoder_layer_fwd", "-", |_, args| encoder_layer(&args, [None; 4])),
    ("aten::_nested_tensor_from_mask_left_aligned", "-", |_, args| {
        kernels::is_left_aligned(args.tensor(1)?).map(IValue::Bool).map_err(kernel)
    }),
];

/// A linear layer whose weight and bias are operands from here on.
fn layer<'a>(args: &'a Args<'_>, at: usize, packed: Option<&'a Tensor>) -> Result<Layer<'a>> {
    Ok(Layer { weight: args.tensor(at)?, bias: args.tensor(at + 1)?, packed })
}

/// `aten::_transformer_encoder_layer_fwd`; the weights of its four linear layers may be packed.
pub(super) fn encoder_layer(args: &Args<'_>, packed: [Option<&Tensor>; 4]) -> Result {
    let [qkv, out, first, second] = packed;
    let encoder = EncoderLayer {
        attention: HeadWeights {
            embed: args.int(1)?,
            heads: args.int(2)?,
            qkv: layer(args, 3, qkv)?,
            out: layer(args, 5, out)?,
        },
        gelu: args.bool(7)?,
        norm_first: args.bool(8)?,
        eps: args.real(9)?,
        norms: [[args.tensor(10)?, args.tensor(11)?], [args.tensor(12)?, args.tensor(13)?]],
        linears: [layer(args, 14, first)?, layer(args, 16, second)?],
    };
    made(kernels::encoder_layer(args.tensor(0)?, &encoder, mask(args, 18, 19)?))
}

fn scale(args: &Args<'_>, index: usize) -> Result<Option<f64>> {
    if args.get(index).is_none() { Ok(None) } else { args.real(index).map(Some) }
}

fn attend(
    machine: &mut Machine,
    args: &Args<'_>,
    options: &AttentionOptions<'_>,
) -> Result<(Tensor, Tensor)> {
    let (query, key, value) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    kernels::attention(query, key, value, options, &mut machine.generator).map_err(kernel)
}

fn mask<'a>(args: &'a Args<'_>, mask: usize, kind: usize) -> Result<Option<HeadMask<'a>>> {
    let kind = args.optional_int(kind)?;
    Ok(args.optional_tensor(mask)?.map(|mask| HeadMask { mask, kind }))
}

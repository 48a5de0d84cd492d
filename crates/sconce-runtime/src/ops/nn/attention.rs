//! Operators of attention, and of the nested tensors that the layers of transformers make.

use std::rc::Rc;

use sconce_kernels as kernels;
use sconce_kernels::{AttentionOptions, EncoderLayer, HeadMask, HeadWeights, Layer, Tensor};

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::{IValue, Nested};

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::scaled_dot_product_attention", "-", |context, args| {
        let options = AttentionOptions {
            mask: args.optional_tensor(3)?,
            dropout: args.real(4)?,
            causal: args.bool(5)?,
            scale: scale(&args, 6)?,
            grouped: args.bool(7)?,
        };
        made(kernels::attention(operands(&args)?, &options, context.generator()))
    }),
    op("aten::_scaled_dot_product_attention_math", "-", |context, args| {
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
        let results =
            kernels::attention_with_weights(operands(&args)?, &options, context.generator());
        let (result, weights) = results.map_err(kernel)?;
        Ok(IValue::tuple(vec![IValue::Tensor(result), IValue::Tensor(weights)]))
    }),
    op("aten::_scaled_dot_product_flash_attention_for_cpu", "-", |context, args| {
        let options = AttentionOptions {
            mask: args.optional_tensor(5)?,
            dropout: args.real(3)?,
            causal: args.bool(4)?,
            scale: scale(&args, 6)?,
            grouped: false,
        };
        let results = kernels::flash_attention(operands(&args)?, &options, context.generator());
        let (result, log_sums) = results.map_err(kernel)?;
        Ok(IValue::tuple(vec![IValue::Tensor(result), IValue::Tensor(log_sums)]))
    }),
    op("aten::_native_multi_head_attention", "-", |_, args| many_heads(&args, [None; 2])),
    op("aten::_transformer_encoder_layer_fwd", "-", |_, args| encoder_layer(&args, [None; 4])),
    op("aten::_nested_tensor_from_mask", "-", |_, args| nested_from_mask(&args)),
    op("aten::to_padded_tensor", "-", |context, args| padded(context, &args)),
    op("aten::_nested_tensor_from_mask_left_aligned", "-", |_, args| {
        kernels::is_left_aligned(args.tensor(1)?).map(IValue::Bool).map_err(kernel)
    }),
];

/// `aten::_native_multi_head_attention`; the weights of its two linear layers may be packed.
pub(crate) fn many_heads(args: &Args<'_>, [qkv, out]: [Option<&Tensor>; 2]) -> Result {
    let weights = HeadWeights {
        embed: args.int(3)?,
        heads: args.int(4)?,
        qkv: layer(args, 5, qkv)?,
        out: layer(args, 7, out)?,
    };
    let (inputs, mask) = (operands(args)?, mask(args, 9, 12)?);
    let [query, others @ ..] = inputs;
    let inputs = if others.iter().all(|other| is_same(query, other)) { [query; 3] } else { inputs };
    let results = kernels::multi_head_attention(inputs, weights, mask, args.bool(10)?);
    let (result, weights) = results.map_err(kernel)?;
    let weights = match weights {
        None => IValue::None,
        Some(weights) if args.bool(11)? => made(kernels::mean(&weights, &[1], false, None))?,
        Some(weights) => IValue::Tensor(weights),
    };
    Ok(IValue::tuple(vec![IValue::Tensor(result), weights]))
}

/// Whether two tensors are one: the same elements of the same memory.
fn is_same(a: &Tensor, b: &Tensor) -> bool {
    a.storage().ptr_eq(b.storage())
        && (a.dtype(), a.offset(), a.sizes(), a.strides())
            == (b.dtype(), b.offset(), b.sizes(), b.strides())
}

/// A linear layer whose weight and bias are operands from here on.
fn layer<'a>(args: &'a Args<'_>, at: usize, packed: Option<&'a Tensor>) -> Result<Layer<'a>> {
    Ok(Layer { weight: args.tensor(at)?, bias: args.tensor(at + 1)?, packed })
}

/// `aten::_transformer_encoder_layer_fwd`; the weights of its four linear layers may be packed.
pub(crate) fn encoder_layer(args: &Args<'_>, packed: [Option<&Tensor>; 4]) -> Result {
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
    let IValue::Nested(nested) = args.get(0) else {
        return made(kernels::encoder_layer(args.tensor(0)?, &encoder, mask(args, 18, 19)?));
    };
    if !args.get(18).is_none() {
        return Err(Raise::message("Mask should be None if input is a nested tensor"));
    }
    // What lies behind the end of a sequence is not looked at.
    let behind = nested.behind().map_err(kernel)?;
    let mask = HeadMask { mask: &behind, kind: Some(1) };
    let padded = kernels::encoder_layer(&nested.padded, &encoder, Some(mask)).map_err(kernel)?;
    Ok(IValue::Nested(Rc::new(Nested { padded, lengths: nested.lengths.clone() })))
}

/// `(tensor, mask, mask_check)`: the sequences of a batch, as long as there are ones in the mask.
fn nested_from_mask(args: &Args<'_>) -> Result {
    let (batch, mask) = (args.tensor(0)?, args.tensor(1)?);
    if batch.dim() != 3 || mask.sizes() != &batch.sizes()[..2] {
        return Err(Raise::message("Expected mask.size(0) and mask.size(1) to be the input's"));
    }
    if !kernels::is_left_aligned(mask).map_err(kernel)? {
        return Err(Raise::message("Expected mask to be left-aligned without gaps"));
    }
    let lengths = kernels::sum(mask, &[1], false, None).and_then(|sums| sums.to_vec::<i64>());
    let lengths = lengths.map_err(kernel)?;
    Ok(IValue::Nested(Rc::new(Nested { padded: batch.clone(), lengths })))
}

/// `(nested, padding, output_size)`: a batch again, with a number behind the ends.
fn padded(context: &mut dyn OpContext, args: &Args<'_>) -> Result {
    let IValue::Nested(nested) = args.get(0) else {
        return Err(Raise::unsupported("aten::to_padded_tensor of what is not nested"));
    };
    let longest = nested.lengths.iter().copied().max().unwrap_or(0);
    let own = nested.padded.sizes();
    let sizes = args.optional_ints(2)?.unwrap_or_else(|| vec![own[0], longest, own[2]]);
    let [batch, length, features] = *sizes else {
        return Err(Raise::message(
            "output_size has to have as many dimensions as the nested tensor",
        ));
    };
    if batch != own[0] || length < longest || features != own[2] {
        return Err(Raise::message("Value in output_size is less than NestedTensor padded size."));
    }
    context.budget().check_sizes(&sizes)?;
    let dtype = nested.padded.dtype();
    let result = Tensor::full(&sizes, args.scalar(1)?, dtype).map_err(kernel)?;
    for (at, &length) in nested.lengths.iter().enumerate() {
        let part = |of: &Tensor| of.select(0, at as i64)?.narrow(0, 0, length);
        part(&result).and_then(|to| to.copy_from(&part(&nested.padded)?)).map_err(kernel)?;
    }
    Ok(IValue::Tensor(result))
}

fn scale(args: &Args<'_>, index: usize) -> Result<Option<f64>> {
    if args.get(index).is_none() { Ok(None) } else { args.real(index).map(Some) }
}

/// Query, key and value.
fn operands<'a>(args: &'a Args<'_>) -> Result<[&'a Tensor; 3]> {
    Ok([args.tensor(0)?, args.tensor(1)?, args.tensor(2)?])
}

fn mask<'a>(args: &'a Args<'_>, mask: usize, kind: usize) -> Result<Option<HeadMask<'a>>> {
    let kind = args.optional_int(kind)?;
    Ok(args.optional_tensor(mask)?.map(|mask| HeadMask { mask, kind }))
}

impl Nested {
    /// What lies behind the ends: ones in a mask of batch x longest.
    fn behind(&self) -> kernels::Result<Tensor> {
        let [batch, longest, ..] = *self.padded.sizes() else {
            return Err(kernels::Error::runtime("a nested tensor of other than three dimensions"));
        };
        let flags: Vec<bool> = self
            .lengths
            .iter()
            .flat_map(|&length| (0..longest).map(move |at| at >= length))
            .collect();
        Tensor::from_bools(&flags, &[batch, longest])
    }
}

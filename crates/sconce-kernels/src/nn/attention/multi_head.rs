//! Attention operators: scaled dot-product attention, multi-head attention, and the fused encoder
//! layer.

use sconce_kernel_core::error::cpp_type_name;
use sconce_kernel_core::layout::shape::{broadcast, contiguous_strides, wrap_dim};
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::tensor::promotion::compute_dtype;

use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::elementwise::unary::unary;
use crate::elementwise::unary_op::UnaryOp;
use crate::nn::attention::scaled_dot_product::{AttentionWeights, Masking, apply_mask, attend};
use crate::reduction::softmax_rows;
use crate::{
    Bool, DType, Dims, Dropout, Error, Generator, LinearActivation, Operand, PodElement, Result,
    Scalar, Tensor, add, dropout, layer_norm, linear, linear_packed, logical_not, logsumexp,
    masked_fill, matmul, softmax,
};

/// How [`attention`] weighs.
#[derive(Debug, Clone, Copy, Default)]
pub struct AttentionOptions<'a> {
    /// `bool` (false is left out) or numbers to add to the scores.
    pub mask: Option<&'a Tensor>,
    /// The chance that a weight is dropped.
    pub dropout: f64,
    /// Whether a position sees only itself and those before it.
    pub causal: bool,
    /// What scores are multiplied by; one over the root of the features where there is none.
    pub scale: Option<f64>,
    /// Whether several heads of the query share one of key and value.
    pub grouped: bool,
}

/// `torch.nn.functional.scaled_dot_product_attention`: query … × L × E, key … × S × E, value … × S × V
/// give … × L × V. Where PyTorch has a fused kernel the result has the order of the query's dimensions in
/// memory.
///
/// # Errors
/// Where sizes or dtypes do not fit, and for a mask beside `causal`.
///
/// ```
/// use sconce_kernels::{AttentionOptions, DType, Generator, Tensor, attention};
/// let x = Tensor::full(&[1, 2, 3, 8], 1.into(), DType::Float32)?;
/// let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
/// let result = attention([&x, &x, &x], &options, &mut Generator::default())?;
/// assert_eq!(result.to_vec::<f32>()?, x.to_vec::<f32>()?);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn attention(
    operands: [&Tensor; 3],
    options: &AttentionOptions<'_>,
    generator: &mut Generator,
) -> Result<Tensor> {
    check_mask(operands[0], options)?;
    masked_attention(operands, options, generator)
}

/// [`attention`], with a mask beside `causal` where there is one.
fn masked_attention(
    operands: [&Tensor; 3],
    options: &AttentionOptions<'_>,
    generator: &mut Generator,
) -> Result<Tensor> {
    check_operands(operands, options)?;
    let [query, key, value] = operands;
    let fused = is_fused(operands, options);
    let strides = match fused {
        true => query.preserved_strides(),
        false => {
            let mut sizes = Dims::from_slice(query.sizes());
            sizes[query.dim() - 1] = value.size(-1)?;
            contiguous_strides(&sizes)
        }
    };
    if fused && options.causal && !is_ordered(query, options)? {
        let (result, _) = attention_with_weights(operands, options, generator)?;
        spoil_masked_rows(&result, key, -2)?;
        return result.with_strides(&strides);
    }
    if options.dropout == 0.0 && shares_heads(operands, options.grouped) {
        let shown = |mask: &&Tensor| mask.dtype() == DType::Bool;
        let converted =
            options.mask.filter(shown).map(|mask| added_where(mask, false)).transpose()?;
        let weighing = AttentionWeights {
            scale: scale(query, options)? as f32,
            causal: options.causal.then_some(if fused {
                Masking::Replaced
            } else {
                Masking::Lowered
            }),
            added: converted.as_ref().or(options.mask).map(|mask| (mask, Masking::Lowered)),
            safe: true,
        };
        if let Some(result) = attend(operands, weighing, &strides)? {
            return Ok(result);
        }
    }
    let (result, _) = attention_with_weights(operands, options, generator)?;
    if result.dim() == query.dim() { result.with_strides(&strides) } else { Ok(result) }
}

/// Whether PyTorch computes attention without a tensor of weights on a CPU.
fn is_fused(operands: [&Tensor; 3], options: &AttentionOptions<'_>) -> bool {
    let [query, key, value] = operands.map(Tensor::sizes);
    let four = query.len() == 4;
    let mask_fits = options.mask.is_none_or(|mask| !four || matches!(mask.dim(), 2 | 4));
    operands.iter().all(|tensor| tensor.numel() > 0 && tensor.strides().last() == Some(&1))
        && (four || query.len() == 3)
        && [key, value].iter().all(|sizes| sizes.len() == query.len())
        && (query.last() == key.last() && query.last() == value.last())
        && (!four || (query[0] == key[0] && query[0] == value[0]))
        && key[query.len() - 3] == value[query.len() - 3]
        && (options.dropout == 0.0 || is_no_chance(options.dropout))
        && mask_fits
}

/// Whether a scale keeps what is masked below everything else.
fn is_ordered(query: &Tensor, options: &AttentionOptions<'_>) -> Result<bool> {
    let scale = scale(query, options)?;
    Ok(scale > 0.0 || scale.is_nan())
}

/// Writes NaN to the rows of queries that must not see all keys: PyTorch scales negative infinity, by 0 or less.
fn spoil_masked_rows(rows: &Tensor, key: &Tensor, dim: i64) -> Result<()> {
    let masked = (key.size(-2)? - 1).clamp(0, rows.size(dim)?);
    rows.narrow(dim, 0, masked)?.fill(Scalar::Float(f64::NAN))
}

/// Whether heads of keys and values are those of the query, one for all, or `grouped`.
fn shares_heads([query, key, value]: [&Tensor; 3], grouped: bool) -> bool {
    let heads = |tensor: &Tensor| tensor.dim().checked_sub(3).map(|dim| tensor.sizes()[dim]);
    grouped || [key, value].iter().all(|t| heads(t) == heads(query) || heads(t) == Some(1))
}

/// Numbers to add to scores: negative infinity where a mask of `bool` has `hidden`, otherwise 0.
fn added_where(mask: &Tensor, hidden: bool) -> Result<Tensor> {
    let hides = if hidden { mask.clone() } else { logical_not(mask)? };
    masked_fill(&Tensor::zeros(mask.sizes(), DType::Float32)?, &hides, LOW)
}

/// What a score is that does not count.
const LOW: Operand<'static> = Operand::Scalar(Scalar::Float(f64::NEG_INFINITY));

/// [`attention`], row-major, and its weights, `torch._scaled_dot_product_attention_math`.
///
/// # Errors
/// As [`attention`].
pub fn attention_with_weights(
    [query, key, value]: [&Tensor; 3],
    options: &AttentionOptions<'_>,
    generator: &mut Generator,
) -> Result<(Tensor, Tensor)> {
    check_operands([query, key, value], options)?;
    let dtype = query.dtype();
    let value = if options.grouped { repeated_heads(value, query)? } else { value.clone() };
    let mut weights = safe_softmax(&scores(query, key, options, Masking::Lowered)?, -1)?;
    if options.dropout > 0.0 {
        weights = dropout(&weights, options.dropout, Dropout::default(), generator)?;
    }
    let result = matmul(&weights, &value.to_dtype(compute_dtype(dtype))?)?.to_dtype(dtype)?;
    Ok((result, weights.to_dtype(dtype)?))
}

/// `torch._scaled_dot_product_flash_attention_for_cpu`: batch × heads × length × features, and the
/// logarithm of the sum of each row's exponentials.
///
/// # Errors
/// As [`attention`], and for dropout.
pub fn flash_attention(
    operands: [&Tensor; 3],
    options: &AttentionOptions<'_>,
    generator: &mut Generator,
) -> Result<(Tensor, Tensor)> {
    let [query, key, _] = operands;
    check_flash(operands, options)?;
    let result = masked_attention(operands, options, generator)?;
    let sums = logsumexp(&scores(query, key, options, Masking::Replaced)?, &[-1], false)?;
    if options.causal && !is_ordered(query, options)? {
        spoil_masked_rows(&sums, key, -1)?;
    }
    // Heads lie inside of positions.
    Ok((result, sums.transpose(1, 2)?.contiguous()?.transpose(1, 2)?))
}

/// What flash attention alone refuses.
fn check_flash(operands: [&Tensor; 3], options: &AttentionOptions<'_>) -> Result<()> {
    let [query, key, value] = operands;
    let last = |tensor: &Tensor| tensor.sizes().last().copied();
    let what = if !query.dtype().is_floating_point() {
        let found = query.dtype().scalar_type_name();
        format!("Expected data type in FP32, FP64, BF16, FP16, but got {found} instead.")
    } else if operands.iter().any(|tensor| tensor.dim() != 4) {
        "Accept only 4 dims inputs shape of {B, H, T, K}".to_owned()
    } else if options.dropout != 0.0 {
        "Currently do not support dropout > 0".to_owned()
    } else if last(query) != last(key) || last(query) != last(value) {
        "Q/K/V should have the same head size".to_owned()
    } else if options.mask.is_some_and(|mask| mask.dtype() != query.dtype()) {
        "Attention mask is the same data type as query".to_owned()
    } else if options.mask.is_some_and(|mask| !matches!(mask.dim(), 2 | 4)) {
        "Attention mask dim in {2, 4}".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::runtime(format!("scaled_dot_product_attention_flash_attention: {what}")))
}

fn check_operands(operands: [&Tensor; 3], options: &AttentionOptions<'_>) -> Result<()> {
    let [query, key, value] = operands;
    if operands.iter().any(|tensor| tensor.dim() < 2) {
        return Err(Error::runtime(format!(
            "Expected query, key, and value to all be  at least 2 dimensional, but got \
             query.dim(): {}, key.dim(): {}, value.dim(): {} instead.",
            query.dim(),
            key.dim(),
            value.dim()
        )));
    }
    if operands.iter().any(|tensor| !tensor.dtype().is_floating_point()) {
        return Err(Error::not_implemented("attention of other than floating numbers"));
    }
    if query.dtype() != key.dtype() || query.dtype() != value.dtype() {
        let [query, key, value] = operands.map(|tensor| cpp_type_name(tensor.dtype()));
        return Err(Error::runtime(format!(
            "Expected query, key, and value to have the same dtype, but got query.dtype: {query} \
             key.dtype: {key} and value.dtype: {value} instead."
        )));
    }
    check_mask_sizes(query, key, options)?;
    if is_no_chance(options.dropout) && is_fused(operands, options) {
        let message = "scaled_dot_product_attention_flash_attention: Currently do not support \
                       dropout > 0";
        return Err(Error::runtime(message));
    }
    Ok(())
}

/// Refuses a mask that would make more scores than there are.
fn check_mask_sizes(query: &Tensor, key: &Tensor, options: &AttentionOptions<'_>) -> Result<()> {
    let Some(mask) = options.mask else { return Ok(()) };
    let lead = |tensor: &Tensor| Dims::from_slice(&tensor.sizes()[..tensor.dim() - 2]);
    let key_lead = if options.grouped { lead(query) } else { lead(key) };
    let mut sizes = broadcast(&lead(query), &key_lead)?;
    sizes.extend([query.size(-2)?, key.size(-2)?]);
    let found = broadcast(&sizes, mask.sizes())?;
    match found == sizes {
        true => Ok(()),
        false => Err(Error::runtime(format!(
            "output with shape {:?} doesn't match the broadcast shape {:?}",
            &sizes[..],
            &found[..]
        ))),
    }
}

/// Whether a chance is neither 0 nor above.
fn is_no_chance(p: f64) -> bool {
    p.is_nan() || p < 0.0
}

fn check_mask(query: &Tensor, options: &AttentionOptions<'_>) -> Result<()> {
    if options.mask.is_some() && options.causal {
        return Err(Error::runtime(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
        ));
    }
    if let (4, Some(mask)) = (query.dim(), options.mask) {
        // PyTorch asks for the mask's rows before it is broadcast.
        mask.size(-2)?;
    }
    let (mask, own) = (options.mask.map(Tensor::dtype), query.dtype());
    match mask {
        Some(dtype) if ![DType::Bool, DType::Float32, own].contains(&dtype) => {
            Err(Error::runtime(format!(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got \
                 attn_mask.dtype: {} and  query.dtype: {} instead.",
                crate::cpp_type_name(dtype),
                crate::cpp_type_name(own)
            )))
        }
        _ => Ok(()),
    }
}

/// What scores are multiplied by.
fn scale(query: &Tensor, options: &AttentionOptions<'_>) -> Result<f64> {
    let features = query.size(-1)? as f64;
    Ok(options.scale.unwrap_or_else(|| 1.0 / features.sqrt()))
}

/// How well each query fits each key, in the dtype that is computed in; negative infinity where a
/// mask leaves it out, and as `hidden` says where it comes later.
fn scores(
    query: &Tensor,
    key: &Tensor,
    options: &AttentionOptions<'_>,
    hidden: Masking,
) -> Result<Tensor> {
    let compute = compute_dtype(query.dtype());
    let key = if options.grouped { repeated_heads(key, query)? } else { key.clone() };
    let scale = Operand::from(scale(query, options)?);
    let scaled = binary(BinaryOp::Mul, (&query.to_dtype(compute)?).into(), scale)?;
    let scores = matmul(&scaled, &key.to_dtype(compute)?.transpose(-2, -1)?)?;
    let scores = match options.mask {
        None => scores,
        Some(mask) => {
            let added = if mask.dtype() == DType::Bool { &added_where(mask, false)? } else { mask };
            binary(BinaryOp::Add, (&scores).into(), (&added.to_dtype(compute)?).into())?
        }
    };
    if !options.causal {
        return Ok(scores);
    }
    let scores = scores.contiguous()?;
    match compute {
        DType::Float32 => hide_later::<f32>(&scores, hidden)?,
        _ => hide_later::<f64>(&scores, hidden)?,
    }
    Ok(scores)
}

/// Leaves out, in new row-major scores, what is right of the diagonal of each matrix.
fn hide_later<T: PodElement + num_traits::Float>(scores: &Tensor, hidden: Masking) -> Result<()> {
    let (length, width) = (scores.size(-2)?.max(1) as usize, scores.size(-1)?.max(1) as usize);
    for (at, row) in scores.write::<T>()?.chunks_exact_mut(width).enumerate() {
        apply_mask(&mut row[width.min(at % length + 1)..], hidden);
    }
    Ok(())
}

/// The heads of a key or value, each as many times as heads of the query share it.
fn repeated_heads(tensor: &Tensor, query: &Tensor) -> Result<Tensor> {
    let (have, wanted) = (tensor.size(-3)?, query.size(-3)?);
    if have == 0 || wanted % have != 0 {
        return Err(Error::runtime(
            "Number of heads in key and value must divide the number of heads in query",
        ));
    }
    let at = wrap_dim(-3, tensor.dim())?;
    let mut sizes = Dims::from_slice(tensor.sizes());
    sizes.insert(at + 1, wanted / have);
    let repeated = tensor.unsqueeze(at as i64 + 1)?.expand(&sizes)?;
    sizes.remove(at + 1);
    sizes[at] = wanted;
    repeated.reshape(&sizes)
}

/// `torch._safe_softmax`: rows of nothing but negative infinity give zeros.
///
/// # Errors
/// As [`softmax`].
pub fn safe_softmax(scores: &Tensor, dim: i64) -> Result<Tensor> {
    let last = scores.dim() > 0 && wrap_dim(dim, scores.dim())? + 1 == scores.dim();
    if last && scores.dtype() == DType::Float32 && scores.numel() > 0 {
        let weights = scores.copy()?;
        let len = scores.size(-1)? as usize;
        partition::for_each_chunk(
            &mut weights.write::<f32>()?,
            len,
            sconce_kernel_core::parallel::grain::ROWS,
            |_, piece| {
                softmax_rows::safe_softmax_rows(piece, len);
            },
        );
        return Ok(weights);
    }
    let weights = softmax(scores, dim)?;
    if scores.numel() == 0 {
        return Ok(weights);
    }
    let low = binary(BinaryOp::Eq, scores.into(), f64::NEG_INFINITY.into())?;
    let empty = crate::all(&low, &[dim], true)?;
    masked_fill(&weights, &empty, Scalar::Int(0).into())
}

/// A linear layer: its weight, its bias, and the weight as [`pack_linear`](crate::pack_linear) packs it.
#[derive(Debug, Clone, Copy)]
pub struct Layer<'a> {
    /// Rows of results.
    pub weight: &'a Tensor,
    /// A number for each row.
    pub bias: &'a Tensor,
    /// The weight again, if it was packed.
    pub packed: Option<&'a Tensor>,
}

impl Layer<'_> {
    fn apply(&self, input: &Tensor, activation: Option<LinearActivation>) -> Result<Tensor> {
        if let Some(packed) = self.packed {
            let rows = self.weight.size(0)?;
            let result = linear_packed(input, packed, rows, Some(self.bias), activation)?;
            if let Some(result) = result {
                return Ok(result);
            }
        }
        let result = linear(input, self.weight, Some(self.bias))?;
        match activation {
            Some(LinearActivation::Gelu) => unary(UnaryOp::Gelu, &result),
            Some(LinearActivation::Relu) => unary(UnaryOp::Relu, &result),
            None => Ok(result),
            Some(other) => Err(Error::not_implemented(format!("{other:?} in an encoder layer"))),
        }
    }
}

/// The weights of attention with many heads, as `torch._native_multi_head_attention` takes them.
#[derive(Debug, Clone, Copy)]
pub struct HeadWeights<'a> {
    /// Features of the embedding.
    pub embed: i64,
    /// Heads.
    pub heads: i64,
    /// Of query, key and value: 3·embed × embed.
    pub qkv: Layer<'a>,
    /// Of the result: embed × embed.
    pub out: Layer<'a>,
}

/// What a mask of many heads leaves out: true, or any number but 0.
#[derive(Debug, Clone, Copy)]
pub struct HeadMask<'a> {
    /// The mask.
    pub mask: &'a Tensor,
    /// 0: L × L for all; 1: batch × L, keys of padding; 2: batch × heads × L × L.
    pub kind: Option<i64>,
}

impl HeadMask<'_> {
    fn spread(&self) -> Result<Tensor> {
        let mask = self.mask.to_dtype(DType::Bool)?;
        match (self.kind, mask.sizes()) {
            (Some(0), &[_, _]) | (Some(2), &[_, _, _, _]) | (None, &[_, _, _, _]) => Ok(mask),
            (Some(1), &[batch, length]) => mask
                .view(&[batch, 1, 1, length])
                .or_else(|_| mask.contiguous()?.view(&[batch, 1, 1, length])),
            _ => Err(Error::not_implemented("an attention mask of this shape and type")),
        }
    }
}

/// `torch._native_multi_head_attention`: batch × L × embed, and the weights batch × heads × L × S if they
/// are needed.
///
/// # Errors
/// Where sizes do not fit.
pub fn multi_head_attention(
    [query, key, value]: [&Tensor; 3],
    weights: HeadWeights<'_>,
    mask: Option<HeadMask<'_>>,
    need_weights: bool,
) -> Result<(Tensor, Option<Tensor>)> {
    let (embed, heads) = (weights.embed, weights.heads);
    if query.dim() != 3 || key.dim() != 3 || value.dim() != 3 {
        let message = format!("expected 3-D `query`, got {}-D tensor", query.dim());
        return Err(Error::runtime(message));
    }
    if heads <= 0 || embed % heads != 0 {
        return Err(Error::runtime("`embed_dim` must divide evenly by `num_heads`"));
    }
    let head = embed / heads;
    // One product for all three where they are one.
    let whole = match std::ptr::eq(query, key) && std::ptr::eq(key, value) {
        true => Some(weights.qkv.apply(query, None)?),
        false => None,
    };
    let part = |input: &Tensor, index: i64| -> Result<Tensor> {
        let (batch, length) = (input.size(0)?, input.size(1)?);
        let part = match &whole {
            Some(whole) => whole.narrow(2, index * embed, embed)?,
            None => {
                let weight = weights.qkv.weight.narrow(0, index * embed, embed)?;
                let bias = weights.qkv.bias.narrow(0, index * embed, embed)?;
                linear(input, &weight, Some(&bias))?
            }
        };
        part.view(&[batch, length, heads, head])?.transpose(1, 2)
    };
    let mask = mask.map(|mask| mask.spread()).transpose()?;
    let heads = [part(query, 0)?, part(key, 1)?, part(value, 2)?];
    let (mixed, weighed) = attend_heads(&heads, mask.as_ref(), need_weights)?;
    let mixed = mixed.transpose(1, 2)?.reshape(&[query.size(0)?, query.size(1)?, embed])?;
    Ok((weights.out.apply(&mixed, None)?, weighed))
}

/// Attention of batch × heads × length × features, where a mask is true for what is left out; a row of
/// nothing else is NaN. The weights as well if they are needed.
fn attend_heads(
    heads: &[Tensor; 3],
    mask: Option<&Tensor>,
    need_weights: bool,
) -> Result<(Tensor, Option<Tensor>)> {
    let [query, key, value] = heads;
    let root = 1.0 / (query.size(-1)? as f64).sqrt();
    // PyTorch rounds scores and weights of half precision.
    if !need_weights && query.dtype() == DType::Float32 {
        let added = mask.map(|mask| added_where(mask, true)).transpose()?;
        let scale = root as f32;
        let added = added.as_ref().map(|added| (added, Masking::Replaced));
        let weighing = AttentionWeights { scale, causal: None, added, safe: false };
        if let Some(result) = attend(heads.each_ref(), weighing, &query.preserved_strides())? {
            return Ok((result, None));
        }
    }
    let scores = binary(BinaryOp::Mul, query.into(), root.into())?;
    let scores = matmul(&scores, &key.transpose(-2, -1)?)?;
    let weights = match mask {
        Some(mask) => masked_softmax(&scores, mask, -1)?,
        None => softmax(&scores, -1)?,
    };
    Ok((matmul(&weights, value)?, need_weights.then_some(weights)))
}

/// `torch._masked_softmax`: true in the mask counts for nothing. A row of nothing else is NaN.
///
/// # Errors
/// Where the mask does not broadcast.
pub fn masked_softmax(scores: &Tensor, mask: &Tensor, dim: i64) -> Result<Tensor> {
    softmax(&masked_fill(scores, mask, LOW)?, dim)
}

/// The rest of a transformer's encoder layer.
#[derive(Debug, Clone, Copy)]
pub struct EncoderLayer<'a> {
    /// Attention.
    pub attention: HeadWeights<'a>,
    /// GELU between the linear layers instead of ReLU.
    pub gelu: bool,
    /// Whether normalisation comes before attention and linear layers instead of after them.
    pub norm_first: bool,
    /// Of both normalisations.
    pub eps: f64,
    /// Weight and bias of both normalisations.
    pub norms: [[&'a Tensor; 2]; 2],
    /// Both linear layers.
    pub linears: [Layer<'a>; 2],
}

/// `torch._transformer_encoder_layer_fwd`.
///
/// # Errors
/// Where sizes do not fit.
pub fn encoder_layer(
    input: &Tensor,
    layer: &EncoderLayer<'_>,
    mask: Option<HeadMask<'_>>,
) -> Result<Tensor> {
    let norm = |x: &Tensor, which: usize| {
        let [weight, bias] = layer.norms[which];
        layer_norm(x, &[layer.attention.embed], Some(weight), Some(bias), layer.eps)
    };
    let sum = |a: &Tensor, b: &Tensor| add(a.into(), b.into(), Scalar::Int(1));
    let seen = if layer.norm_first { norm(input, 0)? } else { input.clone() };
    let (attended, _) = multi_head_attention([&seen, &seen, &seen], layer.attention, mask, false)?;
    let mut x = sum(&attended, input)?;
    if !layer.norm_first {
        x = norm(&x, 0)?;
    }
    let activation = if layer.gelu { LinearActivation::Gelu } else { LinearActivation::Relu };
    let inner = if layer.norm_first { norm(&x, 1)? } else { x.clone() };
    let inner = layer.linears[0].apply(&inner, Some(activation))?;
    let x = sum(&layer.linears[1].apply(&inner, None)?, &x)?;
    if layer.norm_first { Ok(x) } else { norm(&x, 1) }
}

/// Whether every row of a mask is some true values and then only false ones,
/// `torch._nested_tensor_from_mask_left_aligned`.
///
/// # Errors
/// For other than matrices of `bool`.
pub fn is_left_aligned(mask: &Tensor) -> Result<bool> {
    let columns = mask.size(-1)?.max(1) as usize;
    let flags = mask.to_vec::<Bool>()?;
    Ok(flags.chunks(columns).all(|row| row.windows(2).all(|pair| pair[0].get() || !pair[1].get())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causal_attention_is_pytorchs() {
        let numbers: Vec<f32> = (0..6).map(|i| (i - 2) as f32 / 2.0).collect();
        let x = Tensor::from_slice(&numbers, &[1, 3, 2]).unwrap();
        let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
        let found = attention([&x, &x, &x], &options, &mut Generator::default()).unwrap();
        let expected = [-1.0, -0.5, -0.412_520_97, 0.087_479, 0.809_143_8, 1.309_143_8];
        let found = found.to_vec::<f32>().unwrap();
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    }

    #[test]
    fn masks_have_to_fit_the_scores_and_flash_attention_refuses_more() {
        let of = |sizes: &[i64]| Tensor::zeros(sizes, DType::Float32).unwrap();
        let (query, key) = (of(&[2, 2, 1, 8]), of(&[2, 2, 6, 8]));
        let generator = &mut Generator::default();
        for (sizes, fits) in [
            (&[1i64, 6][..], true),
            (&[2, 1, 1, 6], true),
            (&[3, 6], false),
            (&[3, 2, 1, 6], false),
            (&[1, 2, 2, 1, 6], false),
        ] {
            let mask = of(sizes);
            let options = AttentionOptions { mask: Some(&mask), ..AttentionOptions::default() };
            let found = attention([&query, &key, &key], &options, generator);
            assert_eq!(found.is_ok(), fits, "{sizes:?}");
        }
        let whole = of(&[1, 6]).to_dtype(DType::Int64).unwrap();
        let dropping = AttentionOptions { dropout: -0.5, ..AttentionOptions::default() };
        let masked = AttentionOptions { mask: Some(&whole), ..AttentionOptions::default() };
        for options in [dropping, masked] {
            assert!(flash_attention([&query, &key, &key], &options, generator).is_err());
        }
    }

    #[test]
    fn a_row_that_sees_nothing_gives_zeros() {
        let x = Tensor::full(&[1, 2, 2], 1.into(), DType::Float32).unwrap();
        let mask = Tensor::from_bools(&[true, true, false, false], &[2, 2]).unwrap();
        let options = AttentionOptions { mask: Some(&mask), ..AttentionOptions::default() };
        let found = attention([&x, &x, &x], &options, &mut Generator::default()).unwrap();
        assert_eq!(found.to_vec::<f32>().unwrap(), [1.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn hidden_infinity_is_nan_where_pytorch_adds_to_scores() {
        let x = Tensor::from_slice(&[1f32, 1.0, f32::INFINITY], &[1, 3, 1]).unwrap();
        let ones = Tensor::full(&[1, 3, 1], 1.into(), DType::Float32).unwrap();
        let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
        for (query, nans) in
            [(&ones, [false, false, true]), (&ones.unsqueeze(0).unwrap(), [true; 3])]
        {
            let found = attention([query, &x, &ones], &options, &mut Generator::default()).unwrap();
            let found: Vec<bool> =
                found.to_vec::<f32>().unwrap().into_iter().map(f32::is_nan).collect();
            assert_eq!(found, nans);
        }
    }

    #[test]
    fn rows_are_left_aligned_where_nothing_follows_padding() {
        for (flags, aligned) in
            [([true, true, true, false], true), ([true, true, false, true], false)]
        {
            let mask = Tensor::from_bools(&flags, &[2, 2]).unwrap();
            assert_eq!(is_left_aligned(&mask).unwrap(), aligned);
        }
    }
}

//! Embeddings of rows that are quantized one by one.

use sconce_kernels as kernels;
use sconce_kernels::{CodeBits, RowBags, Tensor};

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::quantized::packed_params::EmbeddingParams;
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("quantized::embedding_bag_prepack", "-", |context, args| {
        EmbeddingParams::object(context, args.tensor(0)?)
    }),
    op("quantized::embedding_bag_unpack", "-", |_, args| {
        Ok(IValue::Tensor(EmbeddingParams::of(args.get(0))?.weight))
    }),
    op("quantized::embedding_bag_byte_prepack", "-", |_, args| prepacked(&args, CodeBits::Eight)),
    op("quantized::embedding_bag_4bit_prepack", "-", |_, args| prepacked(&args, CodeBits::Four)),
    op("quantized::embedding_bag_2bit_prepack", "-", |_, args| prepacked(&args, CodeBits::Two)),
    op("quantized::embedding_bag_byte_unpack", "-", |_, args| {
        made(kernels::unpack_rows(args.tensor(0)?, CodeBits::Eight))
    }),
    op("quantized::embedding_bag_4bit_unpack", "-", |_, args| {
        made(kernels::unpack_rows(args.tensor(0)?, CodeBits::Four))
    }),
    op("quantized::embedding_bag_2bit_unpack", "-", |_, args| {
        made(kernels::unpack_rows(args.tensor(0)?, CodeBits::Two))
    }),
    op("quantized::embedding_byte", "-", |_, args| embedding(&args, CodeBits::Eight)),
    op("quantized::embedding_4bit", "-", |_, args| embedding(&args, CodeBits::Four)),
    op("quantized::embedding_bag_byte", "-", |_, args| packed_bag(&args, CodeBits::Eight)),
    op("quantized::embedding_bag_4bit", "-", |_, args| packed_bag(&args, CodeBits::Four)),
    op("quantized::embedding_bag_byte_rowwise_offsets", "-", |_, args| {
        bag(&args, args.tensor(0)?, CodeBits::Eight)
    }),
    op("quantized::embedding_bag_4bit_rowwise_offsets", "-", |_, args| {
        bag(&args, args.tensor(0)?, CodeBits::Four)
    }),
    op("quantized::embedding_bag_2bit_rowwise_offsets", "-", |_, args| {
        bag(&args, args.tensor(0)?, CodeBits::Two)
    }),
];

fn prepacked(args: &Args<'_>, bits: CodeBits) -> Result {
    if bits != CodeBits::Eight && args.bool(1)? {
        return Err(Raise::unsupported("rows quantized by optimized parameters"));
    }
    made(kernels::pack_rows(args.tensor(0)?, bits))
}

/// The rows of bytes of packed parameters whose codes have so many bits.
fn rows_of(args: &Args<'_>, bits: CodeBits) -> Result<Tensor> {
    let params = EmbeddingParams::of(args.get(0))?;
    let own = match params.weight.dtype() {
        kernels::DType::QUInt8 => CodeBits::Eight,
        _ => CodeBits::Four,
    };
    match own == bits {
        true => Ok(params.rows),
        false => Err(Raise::unsupported("a quantized embedding of codes of another size")),
    }
}

fn embedding(args: &Args<'_>, bits: CodeBits) -> Result {
    if args.bool(2)? {
        return Err(Raise::message("bad optional access"));
    }
    made(kernels::quantized_embedding(&rows_of(args, bits)?, bits, args.tensor(1)?))
}

fn packed_bag(args: &Args<'_>, bits: CodeBits) -> Result {
    bag(args, &rows_of(args, bits)?, bits)
}

/// `(weight, indices, offsets, scale_grad_by_freq, mode, pruned_weights, per_sample_weights,
/// compressed_indices_mapping, include_last_offset)`.
fn bag(args: &Args<'_>, rows: &Tensor, bits: CodeBits) -> Result {
    let mapping = match (args.bool(5)?, args.optional_tensor(7)?) {
        (false, _) => None,
        (true, Some(mapping)) => Some(mapping),
        (true, None) => return Err(Raise::message("bad optional access")),
    };
    let bags = RowBags {
        offsets: args.optional_tensor(2)?,
        weights: args.optional_tensor(6)?,
        mapping,
        include_last_offset: args.bool(8)?,
    };
    made(kernels::quantized_embedding_bag(rows, bits, args.tensor(1)?, &bags))
}

//! Operators that look rows up.

use sconce_kernels as kernels;
use sconce_kernels::{BagMode, BagOptions};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::overlap::OverlapRule;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::embedding_bag", "-", |_, args| bag(&args, None)),
    op("aten::embedding_bag", "padding_idx", |_, args| bag(&args, args.optional_int(8)?)),
    op("aten::_embedding_bag", "-", |_, args| bag(&args, given(args.int(8)?))),
    op("aten::_embedding_bag_forward_only", "-", |_, args| bag(&args, given(args.int(8)?))),
    op("aten::embedding_renorm_", "-", |_, mut args| {
        let (max_norm, norm_type) = (args.real(2)?, args.real(3)?);
        kernels::embedding_renorm(args.tensor(0)?, args.tensor(1)?, max_norm, norm_type)
            .map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    op("aten::embedding", "-", |_, args| {
        made(kernels::embedding(args.tensor(0)?, args.tensor(1)?))
    }),
];

fn given(padding: i64) -> Option<i64> {
    (padding >= 0).then_some(padding)
}

fn bag(args: &Args<'_>, padding: Option<i64>) -> Result {
    let options = BagOptions {
        mode: match args.int(4)? {
            0 => BagMode::Sum,
            1 => BagMode::Mean,
            2 => BagMode::Max,
            other => return Err(Raise::unsupported(format!("a bag of mode {other}"))),
        },
        weights: args.optional_tensor(6)?,
        include_last_offset: args.bool(7)?,
        padding,
    };
    let bags = kernels::embedding_bag(args.tensor(0)?, args.tensor(1)?, args.tensor(2)?, &options)
        .map_err(kernel)?;
    let results = [bags.output, bags.bag_of_index, bags.bag_size, bags.max_indices];
    Ok(IValue::tuple(results.map(IValue::Tensor).into()))
}

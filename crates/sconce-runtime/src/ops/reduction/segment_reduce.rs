//! Reductions of segments of unlike length.

use sconce_kernels as kernels;
use sconce_kernels::{SegmentReduce, Segments};

use crate::error::Raise;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;

pub(crate) const TABLE: Table = &[op("aten::segment_reduce", "-", |_, args| {
    let reduce = match &*args.str(1)? {
        "max" | "amax" => SegmentReduce::Max,
        "min" | "amin" => SegmentReduce::Min,
        "mean" => SegmentReduce::Mean,
        "sum" => SegmentReduce::Sum,
        "prod" => SegmentReduce::Prod,
        other => {
            return Err(Raise::message(format!(
                "reduce argument must be either sum, prod, mean, amax or amin, got {other}"
            )));
        }
    };
    if !args.get(3).is_none() {
        return Err(Raise::message(
            "segment_reduce(): indices based reduction is not supported yet.",
        ));
    }
    let segments = match (args.optional_tensor(2)?, args.optional_tensor(4)?) {
        (_, Some(offsets)) => Segments::Offsets(offsets),
        (Some(lengths), None) if args.bool(6)? => Segments::SomeLengths(lengths),
        (Some(lengths), None) => Segments::Lengths(lengths),
        (None, None) => {
            return Err(Raise::message(
                "segment_reduce(): Either lengths or offsets must be defined.",
            ));
        }
    };
    let (axis, initial) = (args.int(5)?, args.optional_real(7)?);
    made(kernels::segment_reduce(args.tensor(0)?, reduce, segments, axis, initial))
})];

//! Products with weights that are kept as small integers or `float8`.

use sconce_kernels as kernels;
use sconce_kernels::Scaling;

use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;

pub(crate) const TABLE: Table = &[
    op("aten::_weight_int8pack_mm", "-", |_, args| {
        made(kernels::int8_weight_product(args.tensor(0)?, args.tensor(1)?, args.tensor(2)?))
    }),
    op("aten::_convert_weight_to_int4pack_for_cpu", "-", |_, args| {
        made(kernels::pack_int4_weight(args.tensor(0)?))
    }),
    op("aten::_weight_int4pack_mm_for_cpu", "-", |_, args| {
        let (input, weight, group) = (args.tensor(0)?, args.tensor(1)?, args.int(2)?);
        made(kernels::int4_weight_product(input, weight, group, args.tensor(3)?))
    }),
    op("aten::_scaled_mm", "-", |_, args| {
        let scaling = Scaling {
            of_rows: args.tensor(2)?,
            of_columns: args.tensor(3)?,
            bias: args.optional_tensor(4)?,
            of_result: args.optional_tensor(5)?,
            dtype: args.dtype(6)?,
        };
        made(kernels::scaled_product(args.tensor(0)?, args.tensor(1)?, &scaling))
    }),
];

//! torchvision's operators.

use sconce_kernels as kernels;
use sconce_kernels::{DeformOptions, RoiOptions};

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{both, made};

type Result<T> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("torchvision::nms", "-", |_, args| {
        made(kernels::nms(args.tensor(0)?, args.tensor(1)?, args.real(2)?))
    }),
    op("torchvision::box_iou_rotated", "-", |_, args| {
        made(kernels::box_iou_rotated(args.tensor(0)?, args.tensor(1)?))
    }),
    op("torchvision::roi_align", "-", |_, args| {
        let mut options = options(&args)?;
        (options.sampling_ratio, options.aligned) = (args.int(5)?, args.bool(6)?);
        made(kernels::roi_align(args.tensor(0)?, args.tensor(1)?, &options))
    }),
    op("torchvision::roi_pool", "-", |_, args| {
        both(kernels::roi_pool(args.tensor(0)?, args.tensor(1)?, &options(&args)?))
    }),
    op("torchvision::ps_roi_align", "-", |_, args| {
        let mut options = options(&args)?;
        options.sampling_ratio = args.int(5)?;
        both(kernels::ps_roi_align(args.tensor(0)?, args.tensor(1)?, &options))
    }),
    op("torchvision::ps_roi_pool", "-", |_, args| {
        both(kernels::ps_roi_pool(args.tensor(0)?, args.tensor(1)?, &options(&args)?))
    }),
    op("torchvision::deform_conv2d", "-", |_, args| {
        let options = DeformOptions {
            stride: [args.int(5)?, args.int(6)?],
            padding: [args.int(7)?, args.int(8)?],
            dilation: [args.int(9)?, args.int(10)?],
            groups: args.int(11)?,
            offset_groups: args.int(12)?,
        };
        if args.tensor(3)?.dim() == 0 {
            return Err(Raise::message(
                "deform_conv2d: Dimension specified as 0 but the mask has no dimensions",
            ));
        }
        let mask = if args.bool(13)? { Some(args.tensor(3)?) } else { None };
        made(kernels::deform_conv2d(
            args.tensor(0)?,
            args.tensor(1)?,
            args.tensor(2)?,
            mask,
            args.tensor(4)?,
            &options,
        ))
    }),
];

/// Scale, height and width, which every pool of regions has.
fn options(args: &Args<'_>) -> Result<RoiOptions> {
    Ok(RoiOptions {
        spatial_scale: args.real(2)?,
        output: [args.int(3)?, args.int(4)?],
        sampling_ratio: 0,
        aligned: false,
    })
}

//! Operators of `torchvision.ops`.

pub(crate) mod deform_conv;
pub(crate) mod roi_ops;
pub(crate) mod rotated_boxes;

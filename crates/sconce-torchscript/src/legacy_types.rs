//! Attributes whose declared type changed after archives had been written.

use sconce_syntax::ast::{Expr, ExprKind};

/// Quantized modules of PyTorch 1.4 and older kept packed weights as tensors: the class (without
/// mangling), and the custom class that its `_packed_params` is now.
const PACKED: &[(&str, &str)] = &[
    ("torch.nn.quantized.modules.linear.LinearPackedParams", "LinearPackedParamsBase"),
    ("torch.nn.quantized.modules.linear.Linear", "LinearPackedParamsBase"),
    ("torch.nn.quantized.dynamic.modules.linear.Linear", "LinearPackedParamsBase"),
    ("torch.nn.quantized.modules.conv.Conv2d", "Conv2dPackedParamsBase"),
    ("torch.nn.intrinsic.quantized.modules.conv_relu.ConvReLU2d", "Conv2dPackedParamsBase"),
    ("torch.nn.quantized.modules.conv.Conv3d", "Conv3dPackedParamsBase"),
    ("torch.nn.intrinsic.quantized.modules.conv_relu.ConvReLU3d", "Conv3dPackedParamsBase"),
];

/// The qualified name of the type that stands for a declared `Tensor`, as PyTorch's source importer
/// replaces it.
pub(crate) fn replacement(class: &str, attribute: &str, annotation: &Expr) -> Option<&'static str> {
    let is_tensor = matches!(&annotation.kind, ExprKind::Name(name) if &*name.name == "Tensor");
    if attribute != "_packed_params" || !is_tensor {
        return None;
    }
    let plain = crate::names::demangle(class);
    let plain = plain.strip_prefix("__torch__.")?;
    let (_, packed) = PACKED.iter().find(|(name, _)| *name == plain)?;
    Some(match *packed {
        "LinearPackedParamsBase" => "__torch__.torch.classes.quantized.LinearPackedParamsBase",
        "Conv2dPackedParamsBase" => "__torch__.torch.classes.quantized.Conv2dPackedParamsBase",
        _ => "__torch__.torch.classes.quantized.Conv3dPackedParamsBase",
    })
}

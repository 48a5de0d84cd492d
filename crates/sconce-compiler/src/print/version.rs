//! Which archive version printed operators need.

use sconce_ir::Schema;

/// The operators that changed their meaning: from which version on they mean what they do now.
///
/// PyTorch's `get_operator_version_map`, with `get_min_version_for_kind` for `div` and `full`.
const CHANGED: &[(&str, &[&str], u64)] = &[
    ("aten::div", &["Tensor", "Tensor_mode", "Scalar", "Scalar_mode", "out", "out_mode"], 4),
    ("aten::div_", &["Tensor", "Tensor_mode", "Scalar", "Scalar_mode"], 4),
    ("aten::full", &["", "names", "out"], 5),
    ("aten::linspace", &["", "out"], 8),
    ("aten::logspace", &["", "out"], 9),
    ("aten::gelu", &["", "out"], 10),
];

/// The least archive version whose readers understand an operator as it is meant now.
pub(super) fn minimum(schema: &Schema) -> u64 {
    CHANGED
        .iter()
        .find(|(name, overloads, _)| {
            *name == &*schema.name && overloads.contains(&&*schema.overload)
        })
        .map_or(0, |&(_, _, version)| version)
}

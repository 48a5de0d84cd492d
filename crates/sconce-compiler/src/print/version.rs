//! Which archive version printed operators need.

use sconce_ir::{Schema, operators};

/// The least archive version whose readers understand an operator as it is meant now; 0 for one that
/// always meant that. PyTorch's `checkVersion`.
pub(super) fn minimum(schema: &Schema) -> u64 {
    let name = schema.full_name();
    let Some(last) = operators::upgraders_of(&name).last() else { return 0 };
    u64::from(operators::legacy_version(&schema.name).unwrap_or(last.bumped_at))
}

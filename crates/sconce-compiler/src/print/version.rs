//! Which archive version printed operators need.

use sconce_ir::{Schema, operators};

/// The least archive version whose readers understand an operator as it is meant now; 0 for one that
/// always meant that. PyTorch's `checkVersion`.
pub(super) fn minimum(schema: &Schema) -> u64 {
    let upgraders = operators::upgraders_of(&schema.full_name());
    upgraders.last().map_or(0, |upgrader| u64::from(upgrader.bumped_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_operators_need_the_version_they_changed_in() {
        for (schema, version) in [
            ("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", 4),
            ("aten::div.int(int a, int b) -> float", 0),
            ("aten::full(int[] size, Scalar fill_value) -> Tensor", 5),
            ("aten::linspace(Scalar start, Scalar end, int steps) -> Tensor", 8),
            ("aten::logspace(Scalar start, Scalar end, int steps) -> Tensor", 9),
            ("aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", 10),
            ("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", 0),
        ] {
            let schema = Schema::parse(schema).unwrap();
            assert_eq!(minimum(&schema), version, "{}", schema.full_name());
        }
    }
}

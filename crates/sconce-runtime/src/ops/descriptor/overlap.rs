//! What in-place operators do not write to, as in PyTorch: a tensor of which an element stands for several,
//! and one that shares elements with an operand but is not that operand.

use sconce_kernels::{Overlap, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::value::IValue;

/// What an operator that writes to its first operand looks at before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverlapRule {
    /// Nothing: it is not in place, writes the same to all that an element stands for, only changes the
    /// tensor's geometry, or looks for itself.
    Unchecked,
    /// An element must not stand for several. Other operands may share elements with the first only where
    /// they are the same in the same order.
    Elementwise,
    /// An element must not stand for several. Other operands have been read before anything is written.
    ReadBeforeWritten,
    /// An element must not stand for several, and no other operand may share any: it writes to places given by
    /// numbers.
    Scattered,
    /// An element must not stand for several in batches of matrices that do not follow one another in memory:
    /// those are copied, changed and copied back.
    Batched,
    /// No other operand may share elements with the first, of which one may stand for several: writes to one
    /// place are added up.
    Accumulated,
}

/// Operators in place without a row of their own ([`derived`](super::derived)) that have another rule than most.
const OF_DERIVED: &[(OverlapRule, &[&str])] = &[
    (
        OverlapRule::Unchecked,
        &[
            "aten::as_strided_",
            "aten::index_fill_",
            "aten::squeeze_",
            "aten::swapaxes_",
            "aten::swapdims_",
            "aten::t_",
            "aten::threshold_",
            "aten::transpose_",
            "aten::unsqueeze_",
        ],
    ),
    (OverlapRule::Batched, &["aten::tril_", "aten::triu_"]),
    (
        OverlapRule::Scattered,
        &[
            "aten::index_add_",
            "aten::index_copy_",
            "aten::index_reduce_",
            "aten::put_",
            "aten::scatter_",
            "aten::scatter_add_",
            "aten::scatter_reduce_",
        ],
    ),
    (OverlapRule::ReadBeforeWritten, &["aten::ldexp_", "aten::masked_scatter_"]),
];

impl OverlapRule {
    /// The rule of an operator whose row says none: element by element for what is in place.
    pub(crate) fn of_name(symbol: &str) -> OverlapRule {
        let Some(name) = symbol.strip_prefix("aten::") else { return OverlapRule::Unchecked };
        let is_in_place = match name.strip_prefix("__i") {
            Some(name) => ["and__", "or__", "xor__", "lshift__", "rshift__"].contains(&name),
            None => name.ends_with('_') && !name.ends_with("__"),
        };
        if is_in_place { OverlapRule::Elementwise } else { OverlapRule::Unchecked }
    }

    /// The rule of an operator in place that has no row of its own.
    pub(crate) fn of_derived(symbol: &str) -> OverlapRule {
        let mut lines = OF_DERIVED.iter();
        let line = lines.find(|(_, symbols)| symbols.contains(&symbol));
        line.map_or_else(|| OverlapRule::of_name(symbol), |&(rule, _)| rule)
    }

    /// The rule, if there is anything to check.
    pub(crate) fn checked(self) -> Option<OverlapRule> {
        (self != OverlapRule::Unchecked).then_some(self)
    }

    /// Refuses operands that the rule does not allow.
    pub(crate) fn check(self, args: &Args<'_>) -> Result<(), Raise> {
        let Some((Some(target), others)) =
            args.0.split_first().map(|(first, others)| (first.as_tensor(), others))
        else {
            return Ok(());
        };
        match self {
            OverlapRule::Unchecked => return Ok(()),
            OverlapRule::Batched if !is_copied(target) => return Ok(()),
            OverlapRule::Batched => return check_elements_once(target),
            _ => {}
        }
        if self != OverlapRule::Accumulated {
            check_elements_once(target)?;
        }
        let shares = |other: &Tensor| match target.overlap(other) {
            Overlap::Partial => true,
            Overlap::Full => matches!(self, OverlapRule::Scattered | OverlapRule::Accumulated),
            Overlap::None | Overlap::Unknown => false,
        };
        // What is of another dtype is converted first, and PyTorch turns one value behind a mask into
        // `masked_fill_`, which has read it before it writes.
        let alike = |other: &&Tensor| other.dtype() == target.dtype();
        let is_read_before = self == OverlapRule::ReadBeforeWritten
            || (self == OverlapRule::Accumulated && is_one_value(args));
        if !is_read_before && others.iter().filter_map(IValue::as_tensor).filter(alike).any(shares)
        {
            return Err(Raise::message(
                "unsupported operation: some elements of the input tensor and the written-to tensor \
                 refer to a single memory location. Please clone() the tensor before performing the \
                 operation.",
            ));
        }
        Ok(())
    }
}

/// Refuses to write to a tensor of which an element stands for several.
pub(crate) fn check_elements_once(target: &Tensor) -> Result<(), Raise> {
    target.expect_elements_once().map_err(kernel)
}

/// Whether matrices in two or more dimensions of batches do not lie one after the other; the outermost of these
/// dimensions may repeat them.
fn is_copied(target: &Tensor) -> bool {
    let (sizes, strides) = (target.sizes(), target.strides());
    let Some(batch) = sizes.len().checked_sub(2).filter(|&batch| batch > 1) else { return false };
    let mut step = sizes[batch].saturating_mul(sizes[batch + 1]);
    (0..batch).rev().any(|dim| {
        let expected = step;
        step = step.saturating_mul(sizes[dim]);
        let is_repeated = dim == 0 && (strides[dim] == 0 || sizes[dim] == 1);
        !is_repeated && strides[dim] != expected
    })
}

/// Whether `aten::index_put_` puts one value.
fn is_one_value(args: &Args<'_>) -> bool {
    args.get(2).as_tensor().is_some_and(|values| values.numel() == 1)
}

#[cfg(test)]
mod tests {
    use sconce_kernels::DType;

    use super::*;

    #[test]
    fn in_place_operators_are_told_from_others() {
        for symbol in ["aten::add_", "aten::__ior__", "aten::index_add_", "aten::ldexp_"] {
            assert_ne!(OverlapRule::of_derived(symbol), OverlapRule::Unchecked, "{symbol}");
        }
        for symbol in ["aten::add", "aten::__is__", "aten::squeeze_", "aten::t_", "prim::Print"] {
            assert_eq!(OverlapRule::of_derived(symbol), OverlapRule::Unchecked, "{symbol}");
        }
    }

    #[test]
    fn what_is_shared_is_refused_as_the_operator_has_it() {
        use OverlapRule::{Elementwise, ReadBeforeWritten, Scattered};
        let x = Tensor::zeros(&[6], DType::Float32).unwrap();
        let part = |from| IValue::Tensor(x.narrow(0, from, 4).unwrap());
        let row = Tensor::zeros(&[1], DType::Float32).unwrap();
        let repeated = IValue::Tensor(row.expand(&[4]).unwrap());
        let wide = IValue::Tensor(x.narrow(0, 1, 4).unwrap().to_dtype(DType::Float64).unwrap());
        for (rule, target, other, allowed) in [
            (Elementwise, part(0), part(1), false),
            (Elementwise, part(0), part(0), true),
            (Elementwise, part(0), IValue::Int(1), true),
            (Elementwise, part(0), wide, true),
            (Elementwise, repeated.clone(), IValue::Int(1), false),
            (Elementwise, part(0), repeated.clone(), true),
            (Scattered, part(0), part(0), false),
            (ReadBeforeWritten, part(0), part(1), true),
            (ReadBeforeWritten, repeated, part(1), false),
        ] {
            let found = rule.check(&Args(&mut [target, other]));
            assert_eq!(found.is_ok(), allowed, "{rule:?}");
        }
    }
}

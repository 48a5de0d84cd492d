//! What in-place operators do not write to, as in PyTorch: a tensor of which an element stands for several,
//! and one that shares elements with an operand but is not that operand.

use sconce_kernels::{Overlap, Tensor};

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::tensor::operands::kernel;
use crate::value::ivalue::IValue;

/// What an operator that writes to its first operand looks at before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    /// Whether an element must not stand for several.
    once: bool,
    /// What the other operands must not share with the first.
    apart: Apart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Apart {
    /// They may share what they like.
    No,
    /// Elements, unless they are the same in the same order.
    Partly,
    /// Any elements.
    Wholly,
}

/// Operators that write the same to all that an element stands for, only change how a tensor looks, or see
/// for themselves.
const FREE: &str = "fill_ zero_ _no_grad_fill_ _no_grad_zero_ masked_fill_ index_fill_ tril_ triu_ \
    baddbmm_ threshold_ fill_diagonal_ detach_ requires_grad_ resize_ resize_as_ set_ squeeze_ \
    unsqueeze_ t_ transpose_ swapaxes_ swapdims_ as_strided_ embedding_renorm_ conj_physical_";
/// Operators that look at their operand themselves, where they write at all.
const ON_THEIR_OWN: &str = "dropout_ feature_dropout_ alpha_dropout_ feature_alpha_dropout_";
/// Operators that have read their operands before they write.
const READ_BEFORE: &str = "addmm_ addmv_ addbmm_ masked_scatter_ ldexp_";
/// Operators that write to places given by numbers.
const TO_PLACES: &str =
    "index_add_ index_copy_ index_reduce_ scatter_ scatter_add_ scatter_reduce_ put_";

impl Rule {
    /// The rule of an operator, if it is in place and has one.
    pub(crate) fn find(symbol: &str) -> Option<Rule> {
        let name = symbol.strip_prefix("aten::")?;
        let is_in_place = match name.strip_prefix("__i") {
            Some(name) => ["and__", "or__", "xor__", "lshift__", "rshift__"].contains(&name),
            None => name.ends_with('_') && !name.ends_with("__"),
        };
        let is_one_of = |names: &str| names.split(' ').any(|other| other == name);
        if !is_in_place || is_one_of(FREE) || is_one_of(ON_THEIR_OWN) {
            return None;
        }
        Some(match name {
            "index_put_" | "_index_put_impl_" => Rule { once: false, apart: Apart::Wholly },
            _ if is_one_of(READ_BEFORE) => Rule { once: true, apart: Apart::No },
            _ if is_one_of(TO_PLACES) => Rule { once: true, apart: Apart::Wholly },
            _ => Rule { once: true, apart: Apart::Partly },
        })
    }

    /// Refuses operands that the rule does not allow.
    pub(crate) fn check(self, args: &Args<'_>) -> Result<(), Raise> {
        let Some((Some(target), others)) =
            args.0.split_first().map(|(first, others)| (first.as_tensor(), others))
        else {
            return Ok(());
        };
        if self.once {
            check_elements_once(target)?;
        }
        let shares = |other: &Tensor| match target.overlap(other) {
            Overlap::Partial => true,
            Overlap::Full => self.apart == Apart::Wholly,
            Overlap::None | Overlap::Unknown => false,
        };
        // What is of another dtype is converted first, and PyTorch turns one value behind a mask into
        // `masked_fill_`, which has read it before it writes.
        let alike = |other: &&Tensor| other.dtype() == target.dtype();
        let is_read_before = self.apart == Apart::No || (!self.once && is_one_value(args));
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
        for symbol in ["aten::add_", "aten::__ior__", "aten::index_put_", "aten::addmm_"] {
            assert!(Rule::find(symbol).is_some(), "{symbol}");
        }
        for symbol in ["aten::add", "aten::__is__", "aten::fill_", "aten::t_", "prim::Print"] {
            assert!(Rule::find(symbol).is_none(), "{symbol}");
        }
    }

    #[test]
    fn what_is_shared_is_refused_as_the_operator_has_it() {
        let x = Tensor::zeros(&[6], DType::Float32).unwrap();
        let part = |from| IValue::Tensor(x.narrow(0, from, 4).unwrap());
        let row = Tensor::zeros(&[1], DType::Float32).unwrap();
        let repeated = IValue::Tensor(row.expand(&[4]).unwrap());
        let wide = IValue::Tensor(x.narrow(0, 1, 4).unwrap().to_dtype(DType::Float64).unwrap());
        for (symbol, target, other, allowed) in [
            ("aten::add_", part(0), part(1), false),
            ("aten::add_", part(0), part(0), true),
            ("aten::add_", part(0), IValue::Int(1), true),
            ("aten::add_", part(0), wide, true),
            ("aten::add_", repeated.clone(), IValue::Int(1), false),
            ("aten::add_", part(0), repeated.clone(), true),
            ("aten::scatter_add_", part(0), part(0), false),
            ("aten::addmm_", part(0), part(1), true),
            ("aten::addmm_", repeated, part(1), false),
        ] {
            let found = Rule::find(symbol).unwrap().check(&Args(&mut [target, other]));
            assert_eq!(found.is_ok(), allowed, "{symbol}");
        }
    }
}

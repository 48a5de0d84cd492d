//! Operators on sparse tensors.
//!
//! An operator that PyTorch has for dense tensors, too, has its row where the dense one is computed, and a
//! [`SparseRule`] here: how it is computed when an operand is sparse. Operators of sparse tensors alone are rows like
//! others.

mod access;
mod arithmetic;
mod convert;
mod make;
mod operands;
mod products;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use sconce_kernels::Sparse;

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::{Run, Table};
use crate::value::IValue;
use crate::value::shared::Shared;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLES: [Table; 4] = [access::TABLE, make::TABLE, convert::TABLE, products::TABLE];

/// How an operator is computed when an operand is sparse.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SparseRule {
    /// On the values of the first operand, entries of one place added up before.
    Coalesced,
    /// On the values of the first operand as they stand.
    Values,
    /// By a function of its own.
    Run(Run),
}

/// An operator that has a rule: its symbol, its overloads as in a descriptor, and the rule.
struct SparseRow(&'static str, &'static str, SparseRule);

const RULES: [&[SparseRow]; 4] =
    [access::RULES, convert::RULES, arithmetic::RULES, products::RULES];

static BY_NAME: LazyLock<FxHashMap<(&str, &str), SparseRule>> = LazyLock::new(|| {
    let rows = RULES.iter().flat_map(|rules| rules.iter());
    rows.flat_map(|&SparseRow(symbol, overloads, rule)| {
        let overloads = overloads.split(' ').map(|name| if name == "-" { "" } else { name });
        overloads.map(move |overload| ((symbol, overload), rule))
    })
    .collect()
});

/// The rule of an operator, if it has one.
pub(crate) fn rule(symbol: &str, overload: &str) -> Option<SparseRule> {
    BY_NAME.get(&(symbol, overload)).copied()
}

impl SparseRule {
    /// Computes an operator by its rule; `dense` is how it is computed for dense tensors.
    pub(crate) fn run(self, dense: Run, context: &mut dyn OpContext, mut args: Args<'_>) -> Result {
        let is_coalesced = match self {
            SparseRule::Run(run) => return run(context, args),
            SparseRule::Coalesced => true,
            SparseRule::Values => false,
        };
        let IValue::Sparse(sparse) = args.take(0) else {
            return Err(Raise::unsupported("this operator on a sparse operand after the first"));
        };
        let mut sparse = sparse.read().clone();
        if is_coalesced && !sparse.layout().is_sparse_compressed() {
            sparse = sparse.coalesce().map_err(kernel)?;
        }
        if let Some(first) = args.0.first_mut() {
            *first = IValue::Tensor(sparse.values().clone());
        }
        match dense(context, args)? {
            IValue::Tensor(values) => Ok(made(sparse.with_values(values))),
            _ => Err(Raise::unsupported("this operator on sparse tensors")),
        }
    }
}

/// A copy of a value that is a tensor.
pub(crate) fn copy(value: &IValue) -> Result {
    match value {
        IValue::Sparse(sparse) => result(sparse.read().copy()),
        IValue::Tensor(tensor) => tensor.copy().map(IValue::Tensor).map_err(kernel),
        _ => Err(Raise::unsupported("a copy of what is not a tensor")),
    }
}

/// Puts a tensor in the place of another, whose dtype and layout stay.
pub(crate) fn store(into: &Shared<Sparse>, made: &Shared<Sparse>) -> Result<()> {
    let (new, (dtype, layout)) = {
        let old = into.read();
        (made.read().clone(), (old.dtype(), old.layout()))
    };
    sconce_kernels::check_cast(new.dtype(), dtype).map_err(kernel)?;
    if new.layout() != layout {
        return Err(Raise::unsupported("a result of another layout than where it goes"));
    }
    *into.write() = new.to_dtype(dtype).map_err(kernel)?;
    Ok(())
}

/// A sparse tensor as a value.
fn made(sparse: Sparse) -> IValue {
    IValue::Sparse(Shared::new(sparse))
}

/// What a kernel made, as a value.
fn result(sparse: sconce_kernels::Result<Sparse>) -> Result {
    sparse.map(made).map_err(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_belongs_to_an_operator_and_none_to_two() {
        let rows = RULES.iter().flat_map(|rules| rules.iter());
        let mut seen = rustc_hash::FxHashSet::default();
        for SparseRow(symbol, overloads, _) in rows {
            for overload in overloads.split(' ') {
                let plain = if overload == "-" { "" } else { overload };
                assert!(crate::ops::find(symbol, plain).is_some(), "{symbol}.{overload}");
                assert!(seen.insert((symbol, plain)), "{symbol}.{overload} twice");
            }
        }
    }
}

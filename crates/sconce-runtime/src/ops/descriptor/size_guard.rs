//! What operators are not given: tensors of more elements than the program's memory could hold, of which
//! few are there (`torch.zeros(1).expand(1 << 40)`). Going over them would not end, and kernels' own notes
//! about them would not fit.

use sconce_ir::{Schema, Type};
use sconce_kernels::{Memory, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::value::IValue;

/// Whether an operator may go over the elements of its operands: one that makes tensors or writes to
/// them, not one that only gives views or says what a tensor looks like.
pub(crate) fn matters(schema: &Schema) -> bool {
    fn has_tensors(ty: &Type) -> bool {
        match ty {
            Type::Tensor | Type::TensorOf(_) => true,
            Type::List(element) | Type::Optional(element) => has_tensors(element),
            _ => false,
        }
    }
    schema.returns.iter().any(|returned| {
        let is_view = returned.alias.as_ref().is_some_and(|alias| !alias.is_write);
        has_tensors(&returned.ty) && !is_view
    })
}

/// Refuses operands that are too large.
#[inline]
pub(crate) fn check(args: &Args<'_>) -> Result<(), Raise> {
    args.0.iter().try_for_each(|value| match value {
        IValue::Tensor(tensor) => check_tensor(tensor),
        IValue::List(list) => list.read().items.iter().try_for_each(|item| match item {
            IValue::Tensor(tensor) => check_tensor(tensor),
            _ => Ok(()),
        }),
        _ => Ok(()),
    })
}

#[inline]
fn check_tensor(tensor: &Tensor) -> Result<(), Raise> {
    /// Bytes that any program may hold, so that small tensors pass without a look at its memory.
    const FREE: usize = 1 << 20;
    match tensor.extent() {
        0..=FREE => Ok(()),
        extent => Memory::check(extent).map_err(kernel),
    }
}

/// Refuses a tensor that would be too large as lists of its elements.
pub(crate) fn check_items(tensor: &Tensor) -> Result<(), Raise> {
    let elements = tensor.extent() / tensor.dtype().item_size().max(1);
    Memory::check_scratch(elements.saturating_mul(size_of::<IValue>())).map_err(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_gives_views_takes_tensors_of_any_size() {
        for (symbol, overload, expected) in [
            ("aten::add", "Tensor", true),
            ("aten::zero_", "", true),
            ("aten::sum", "", true),
            ("aten::cat", "", true),
            ("aten::max", "dim", true),
            ("aten::expand", "", false),
            ("aten::select", "int", false),
            ("aten::split", "Tensor", false),
            ("aten::size", "int", false),
            ("aten::numel", "", false),
        ] {
            let schema = &sconce_ir::operators::find(symbol, overload).unwrap().schema;
            assert_eq!(matters(schema), expected, "{symbol}.{overload}");
        }
    }
}

//! Sorting of lists.

use std::cmp::Ordering;

use sconce_kernels::BinaryOp;

use crate::error::Raise;
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::value::IValue::{self, Bool, Float, Int, Str};
use crate::value::List;
use crate::value::shared::Shared;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::sort", "int float bool str Tensor any", |context, args| {
        let list = args.list(0)?;
        let sorted = sorted(context, &list, args.bool(1)?)?;
        list.write().items = sorted;
        Ok(IValue::None)
    })
    .strides(ResultStrides::Copy),
    op("aten::sorted", "int float bool str Tensor any", |context, args: Args<'_>| {
        let list = args.list(0)?;
        let items = sorted(context, &list, false)?;
        let element = list.read().element.clone();
        Ok(IValue::list(element, items))
    }),
];

fn sorted(context: &mut dyn OpContext, list: &Shared<List>, reverse: bool) -> Result<Vec<IValue>> {
    // What is sorted, and as much to merge into.
    context.budget().check_items(list.read().items.len().saturating_mul(2))?;
    let items = list.read().items.clone();
    merge_sort(items, &mut |a, b| {
        less(context, if reverse { b } else { a }, if reverse { a } else { b })
    })
}

/// Whether one comes before another: of numbers and strings, of tuples by their elements, of objects
/// by `__lt__`.
fn less(context: &mut dyn OpContext, a: &IValue, b: &IValue) -> Result<bool> {
    Ok(match (a, b) {
        (Int(a), Int(b)) => a < b,
        (Float(a), Float(b)) => a < b,
        (Bool(a), Bool(b)) => !a & b,
        (Str(a), Str(b)) => a.cmp(b) == Ordering::Less,
        (IValue::Tensor(a), IValue::Tensor(b)) => {
            crate::ops::python::lists::truth(BinaryOp::Lt, a, b)?
        }
        (IValue::Tuple(x), IValue::Tuple(y)) => {
            for (x, y) in x.items.iter().zip(&y.items) {
                if less(context, x, y)? {
                    return Ok(true);
                }
                if less(context, y, x)? {
                    return Ok(false);
                }
            }
            x.items.len() < y.items.len()
        }
        (IValue::Object(_), IValue::Object(_)) => {
            let method = context.method(a, "__lt__")?;
            match context.call(method, vec![a.clone(), b.clone()])? {
                Bool(less) => less,
                _ => return Err(Raise::unsupported("a __lt__ that gives no bool")),
            }
        }
        _ => {
            return Err(Raise::unsupported(format!("sorting values of kind {}", a.kind_name())));
        }
    })
}

/// A stable sort whose comparison can fail and need not be an order.
fn merge_sort(
    items: Vec<IValue>,
    less: &mut dyn FnMut(&IValue, &IValue) -> Result<bool>,
) -> Result<Vec<IValue>> {
    let mut runs = items;
    let mut merged = Vec::with_capacity(runs.len());
    let mut width = 1;
    while width < runs.len() {
        merged.clear();
        for pair in runs.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
            while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
                if less(b, a)? {
                    merged.extend(right.next().cloned());
                } else {
                    merged.extend(left.next().cloned());
                }
            }
            merged.extend(left.cloned());
            merged.extend(right.cloned());
        }
        std::mem::swap(&mut runs, &mut merged);
        width *= 2;
    }
    Ok(runs)
}

//! Lists.

use sconce_ir::Type;
use sconce_kernels as kernels;
use sconce_kernels::{BinaryOp, Tensor};

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::value::IValue::{self, Bool, Float, Int};
use crate::value::List;
use crate::value::shared::Shared;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::len", "t any", |_, args| Ok(Int(args.list(0)?.read().items.len() as i64))),
    op("aten::__getitem__", "t", |_, args| item(&args)),
    op("aten::select", "t", |_, args| item(&args)),
    op("aten::_set_item", "t", |_, mut args| {
        let list = args.list(0)?;
        let at = place(args.int(1)?, list.read().items.len())?;
        if let Some(slot) = list.write().items.get_mut(at) {
            *slot = args.take(2);
        }
        Ok(IValue::List(list))
    }),
    op("aten::Delete", "t", |_, args| {
        remove_at(&args.list(0)?, args.int(1)?)?;
        Ok(IValue::None)
    }),
    op("aten::append", "t", |context, mut args| {
        let list = args.list(0)?;
        grow_by(context, &list, 1)?;
        let item = args.take(1);
        grow(&list, |items| items.push(item));
        Ok(IValue::List(list))
    }),
    op("aten::extend", "t", |context, args| {
        let list = args.list(0)?;
        let more = args.list(1)?;
        grow_by(context, &list, more.read().items.len())?;
        extend(&list, &more);
        Ok(IValue::None)
    }),
    op("aten::insert", "t", |context, mut args| {
        let list = args.list(0)?;
        let length = list.read().items.len();
        grow_by(context, &list, 1)?;
        let at = clamp(args.int(1)?, length);
        let item = args.take(2);
        grow(&list, |items| items.insert(at, item));
        Ok(IValue::None)
    }),
    op("aten::pop", "t", |_, args| {
        let list = args.list(0)?;
        if list.read().items.is_empty() {
            return Err(Raise::message("pop from empty list"));
        }
        remove_at(&list, args.int(1)?)
    }),
    op("aten::clear", "t", |_, args| {
        args.list(0)?.write().items.clear();
        Ok(IValue::None)
    }),
    op("aten::reverse", "t", |_, args| {
        args.list(0)?.write().items.reverse();
        Ok(IValue::None)
    }),
    op("aten::copy", "t", |context, args| copy(context, &args)),
    op("aten::list", "t", |context, args| copy(context, &args)),
    op("aten::add", "t", |context, args| {
        let (a, b) = (args.list(0)?, args.list(1)?);
        let (a, b) = (a.read(), b.read());
        context.budget().check_items(a.items.len() + b.items.len())?;
        let items = a.items.iter().chain(&b.items).cloned().collect();
        Ok(IValue::list(a.element.clone(), items))
    })
    .strides(ResultStrides::Numbers),
    op("aten::add_", "t", |context, args| {
        let list = args.list(0)?;
        let more = args.list(1)?;
        grow_by(context, &list, more.read().items.len())?;
        extend(&list, &more);
        Ok(IValue::List(list))
    }),
    op("aten::mul", "left_t", |context, args| repeat(context, &args.list(0)?, args.int(1)?))
        .strides(ResultStrides::Numbers),
    op("aten::mul_", "t", |context, args| {
        let list = args.list(0)?;
        let IValue::List(repeated) = repeat(context, &list, args.int(1)?)? else {
            return Ok(IValue::None);
        };
        let items = std::mem::take(&mut repeated.write().items);
        grow(&list, |old| *old = items);
        Ok(IValue::List(list))
    }),
    op("aten::mul", "right_", |context, args| repeat(context, &args.list(1)?, args.int(0)?))
        .strides(ResultStrides::Numbers),
    op("aten::slice", "t", |context, args| {
        let list = args.list(0)?;
        let list = list.read();
        let step = args.int(3)?;
        let (start, end) = (args.optional_int(1)?, args.optional_int(2)?);
        let count = slice(start, end, step, list.items.len())?.count();
        // An iterator of an unknown length makes room for twice as much.
        context.budget().check_items(count)?;
        let places = slice(start, end, step, list.items.len())?.take(count);
        let mut items = Vec::with_capacity(count);
        items.extend(places.filter_map(|at| list.items.get(at).cloned()));
        Ok(IValue::list(list.element.clone(), items))
    }),
    op("aten::__contains__", "int_list float_list", |_, args| Ok(Bool(find(&args)?.is_some()))),
    op("aten::eq", "Tensor_list", |_, args| Ok(Bool(same_tensors(&args)?)))
        .strides(ResultStrides::Numbers),
    op("aten::ne", "Tensor_list", |_, args| Ok(Bool(!same_tensors(&args)?)))
        .strides(ResultStrides::Numbers),
    op("aten::index", "list_int list_float list_bool list_str list_Tensor", |_, args| match find(
        &args,
    )? {
        Some(at) => Ok(Int(at as i64)),
        None => Err(Raise::message(format!("'{}' is not in list", shown(args.get(1))))),
    })
    .strides(ResultStrides::Indexed),
    op("aten::remove", "int float bool str Tensor", |_, args| match find(&args)? {
        Some(at) => {
            args.list(0)?.write().items.remove(at);
            Ok(IValue::None)
        }
        None => Err(Raise::message("list.remove(x): x not in list")),
    }),
    op("aten::count", "int float bool str Tensor", |_, args| {
        let list = args.list(0)?;
        let list = list.read();
        let mut count = 0;
        for item in &list.items {
            count += i64::from(same(item, args.get(1))?);
        }
        Ok(Int(count))
    }),
    op("prim::min", "self_int self_float self_bool", |_, args| extreme(&args, "min", less)),
    op("prim::max", "self_int self_float self_bool", |_, args| {
        extreme(&args, "max", |a, b| less(b, a))
    }),
    op("prim::min", "int_list float_list bool_list", |_, args| smaller(&args, false)),
    op("prim::max", "int_list float_list bool_list", |_, args| smaller(&args, true)),
    op("aten::sum", "int bool", |_, args| {
        let list = args.list(0)?;
        let sum = list.read().items.iter().fold(0_i64, |sum, item| match item {
            Int(item) => sum.wrapping_add(*item),
            Bool(item) => sum.wrapping_add(i64::from(*item)),
            _ => sum,
        });
        Ok(Int(sum))
    }),
    op("aten::sum", "float", |_, args| {
        let list = args.list(0)?;
        let list = list.read();
        Ok(Float(list.items.iter().fold(0.0, |sum, item| match item {
            Float(item) => sum + item,
            _ => sum,
        })))
    }),
    op("aten::sum", "complex", |_, args| {
        let list = args.list(0)?;
        let list = list.read();
        let sum = list.items.iter().fold((0.0, 0.0), |(re, im), item| match item {
            IValue::Complex(a, b) => (re + a, im + b),
            _ => (re, im),
        });
        Ok(IValue::Complex(sum.0, sum.1))
    }),
    op("aten::any", "str int float bool", |_, args| {
        Ok(Bool(args.list(0)?.read().items.iter().any(is_true)))
    }),
    op("aten::all", "int float bool", |_, args| {
        Ok(Bool(args.list(0)?.read().items.iter().all(is_true)))
    }),
    op("prim::rangelist", "-", |context, args| {
        let count = usize::try_from(args.int(0)?).unwrap_or(0);
        context.budget().check_items(count)?;
        Ok(IValue::list(Type::Int, (0..count as i64).map(Int).collect()))
    }),
];

fn out_of_range() -> Raise {
    Raise::message("list index out of range")
}

/// Where an index points; from the end when it is negative.
fn place(index: i64, length: usize) -> Result<usize> {
    let at = if index < 0 { index.saturating_add(length as i64) } else { index };
    usize::try_from(at).ok().filter(|&at| at < length).ok_or_else(out_of_range)
}

/// Where to insert: within the list, whatever the index.
fn clamp(index: i64, length: usize) -> usize {
    let at = if index < 0 { index.saturating_add(length as i64).max(0) } else { index };
    usize::try_from(at).unwrap_or(usize::MAX).min(length)
}

/// The places that a slice means.
pub(crate) fn slice(
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
    length: usize,
) -> Result<impl Iterator<Item = usize>> {
    if step == 0 {
        return Err(Raise::message("List slice should have non-zero step"));
    }
    let length = length as i64;
    let (least, most) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let bound = |given: Option<i64>, missing: i64| match given {
        // Code writes a missing end as the greatest int.
        None => missing,
        Some(at) if at < 0 => at.saturating_add(length).clamp(least, most),
        Some(at) => at.clamp(least, most),
    };
    let (first, last) = if step > 0 { (0, length) } else { (length - 1, -1) };
    let (start, end) = (bound(start, first), bound(end, last));
    let mut at = start;
    Ok(std::iter::from_fn(move || {
        let inside = if step > 0 { at < end } else { at > end };
        let here = usize::try_from(at).ok().filter(|_| inside)?;
        at = at.saturating_add(step);
        Some(here)
    }))
}

fn remove_at(list: &Shared<List>, index: i64) -> Result {
    let at = place(index, list.read().items.len())?;
    Ok(list.write().items.remove(at))
}

fn item(args: &Args<'_>) -> Result {
    let list = args.list(0)?;
    let list = list.read();
    let at = place(args.int(1)?, list.items.len())?;
    list.items.get(at).cloned().ok_or_else(out_of_range)
}

/// Asks for so many more items in a list.
#[inline]
fn grow_by(context: &mut dyn OpContext, list: &Shared<List>, more: usize) -> Result<()> {
    let list = list.read();
    Ok(context.budget().check_growth(&list.items, list.items.len().saturating_add(more))?)
}

/// Adds the items of another list, which may be the same one.
fn extend(list: &Shared<List>, more: &Shared<List>) {
    match list.is(more) {
        true => grow(list, |items| items.extend_from_within(..)),
        false => grow(list, |items| items.extend_from_slice(&more.read().items)),
    }
}

/// Changes a list and counts what it then takes.
fn grow(list: &Shared<List>, change: impl FnOnce(&mut Vec<IValue>)) {
    let mut list = list.write();
    change(&mut list.items);
    list.recharge();
}

fn copy(context: &mut dyn OpContext, args: &Args<'_>) -> Result {
    let list = args.list(0)?;
    let list = list.read();
    context.budget().check_items(list.items.len())?;
    Ok(IValue::list(list.element.clone(), list.items.clone()))
}

fn repeat(context: &mut dyn OpContext, list: &Shared<List>, times: i64) -> Result {
    let list = list.read();
    // The standard library's words, which are all that PyTorch has to say.
    let times = usize::try_from(times).map_err(|_| Raise::message("vector::reserve"))?;
    let count = list.items.len().saturating_mul(times);
    context.budget().check_items(count)?;
    let mut items = Vec::with_capacity(count);
    items.extend(std::iter::repeat_n(&list.items, times).flatten().cloned());
    Ok(IValue::list(list.element.clone(), items))
}

fn find(args: &Args<'_>) -> Result<Option<usize>> {
    let list = args.list(0)?;
    let list = list.read();
    for (at, item) in list.items.iter().enumerate() {
        if same(item, args.get(1))? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether two elements are equal; tensors where the one number that they are is.
fn same(a: &IValue, b: &IValue) -> Result<bool> {
    match (a, b) {
        (IValue::Tensor(a), IValue::Tensor(b)) => truth(BinaryOp::Eq, a, b),
        _ => Ok(a.equal(b) == Some(true)),
    }
}

fn same_tensors(args: &Args<'_>) -> Result<bool> {
    let (a, b) = (args.tensors(0)?, args.tensors(1)?);
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(&b) {
        if !truth(BinaryOp::Eq, a, b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What a comparison of two tensors of one element says.
pub(crate) fn truth(op: BinaryOp, a: &Tensor, b: &Tensor) -> Result<bool> {
    is_nonzero(&kernels::binary(op, a.into(), b.into()).map_err(kernel)?)
}

/// Whether the one element of a tensor counts as true.
pub(crate) fn is_nonzero(tensor: &Tensor) -> Result<bool> {
    match tensor.numel() {
        1 => Ok(tensor.item().map_err(kernel)?.to_bool()),
        0 => Err(Raise::message("Boolean value of Tensor with no values is ambiguous")),
        _ => Err(Raise::message("Boolean value of Tensor with more than one value is ambiguous")),
    }
}

fn shown(value: &IValue) -> String {
    match value {
        Int(value) => value.to_string(),
        Float(value) => sconce_ir::float_text(*value),
        Bool(value) => i64::from(*value).to_string(),
        IValue::Str(text) => text.to_string(),
        _ => String::new(),
    }
}

fn is_true(value: &IValue) -> bool {
    match value {
        Bool(value) => *value,
        Int(value) => *value != 0,
        Float(value) => *value != 0.0,
        IValue::Str(text) => !text.is_empty(),
        _ => false,
    }
}

/// `<` of two numbers or bools of one type.
fn less(a: &IValue, b: &IValue) -> bool {
    match (a, b) {
        (Int(a), Int(b)) => a < b,
        (Float(a), Float(b)) => a < b,
        (Bool(a), Bool(b)) => !a & b,
        _ => false,
    }
}

fn extreme(args: &Args<'_>, name: &str, better: fn(&IValue, &IValue) -> bool) -> Result {
    let list = args.list(0)?;
    let list = list.read();
    let mut items = list.items.iter();
    let Some(first) = items.next() else {
        return Err(Raise::message(format!("{name}() arg is an empty sequence")));
    };
    let best = items.fold(first, |best, item| if better(item, best) { item } else { best });
    Ok(best.clone())
}

/// The list that comes first in the order of dictionaries, or last.
fn smaller(args: &Args<'_>, greater: bool) -> Result {
    let (a, b) = (args.list(0)?, args.list(1)?);
    let b_is_less = {
        let (a, b) = (a.read(), b.read());
        let mut pairs = b.items.iter().zip(&a.items);
        let differing = pairs.find(|(b, a)| less(b, a) || less(a, b));
        differing.map_or(b.items.len() < a.items.len(), |(b, a)| less(b, a))
    };
    let equal = a.read().items.len() == b.read().items.len()
        && IValue::List(a.clone()).equal(&IValue::List(b.clone())) == Some(true);
    Ok(IValue::List(if b_is_less == greater || equal { a } else { b }))
}

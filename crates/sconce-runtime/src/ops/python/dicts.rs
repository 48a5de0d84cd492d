//! Dicts.

use sconce_ir::Type;

use crate::error::Raise;
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::python::text::stream_text;
use crate::value::IValue::{self, Bool, Int};
use crate::value::shared::Shared;
use crate::value::{Dict, SHARED, Tuple};

type Result<T = IValue> = std::result::Result<T, Raise>;

const KEYS: &str = "str int bool float complex Tensor";
const DICTS: &str = "Dict_str Dict_int Dict_bool Dict_float Dict_complex Dict_Tensor";

pub(crate) const TABLE: Table = &[
    op("aten::len", DICTS, |_, args| Ok(Int(args.dict(0)?.read().len() as i64))),
    op("aten::__getitem__", DICTS, |context, args| {
        let dict = args.dict(0)?;
        let value = dict.read().get(args.get(1)).cloned();
        value.ok_or_else(|| missing(context, args.get(1)))
    }),
    op("aten::__contains__", KEYS, |_, args| {
        Ok(Bool(args.dict(0)?.read().get(args.get(1)).is_some()))
    }),
    op("aten::get", KEYS, |_, args| {
        Ok(args.dict(0)?.read().get(args.get(1)).cloned().unwrap_or(IValue::None))
    }),
    op(
        "aten::get",
        "default_str default_int default_bool default_float default_complex default_Tensor",
        |_, mut args| {
            let found = args.dict(0)?.read().get(args.get(1)).cloned();
            Ok(found.unwrap_or_else(|| args.take(2)))
        },
    ),
    op("aten::setdefault", KEYS, |context, mut args| {
        let dict = args.dict(0)?;
        let found = dict.read().get(args.get(1)).cloned();
        match found {
            Some(value) => Ok(value),
            None => {
                let (key, value) = (args.take(1), args.take(2));
                insert(context, &dict, key, value.clone())?;
                Ok(value)
            }
        }
    }),
    op("aten::_set_item", KEYS, |context, mut args| {
        let dict = args.dict(0)?;
        let (key, value) = (args.take(1), args.take(2));
        insert(context, &dict, key, value)?;
        Ok(IValue::None)
    }),
    op("aten::Delete", DICTS, |context, args| {
        let taken = args.dict(0)?.write().remove(args.get(1));
        taken.map(|_| IValue::None).ok_or_else(|| missing(context, args.get(1)))
    }),
    op("aten::pop", DICTS, |context, args| {
        let taken = args.dict(0)?.write().remove(args.get(1));
        taken.map(|(_, value)| value).ok_or_else(|| missing(context, args.get(1)))
    }),
    op(
        "aten::pop",
        "Dict_default_str Dict_default_int Dict_default_bool Dict_default_float Dict_default_complex Dict_default_Tensor",
        |_, mut args| {
            let taken = args.dict(0)?.write().remove(args.get(1));
            Ok(taken.map_or_else(|| args.take(2), |(_, value)| value))
        },
    ),
    op("aten::popitem", KEYS, |_, args| {
        let dict = args.dict(0)?;
        let first = dict.read().entries().next().map(|(key, _)| key.clone());
        let taken = first.and_then(|key| dict.write().remove(&key));
        match taken {
            Some((key, value)) => Ok(IValue::tuple(vec![key, value])),
            None => Err(Raise::message("popitem(): dictionary is empty")),
        }
    }),
    op("aten::keys", KEYS, |context, args| {
        let dict = args.dict(0)?;
        let dict = dict.read();
        context.budget().check_items(dict.len())?;
        let mut keys = Vec::with_capacity(dict.len());
        keys.extend(dict.entries().map(|(key, _)| key.clone()));
        Ok(IValue::list(dict.key.clone(), keys))
    }),
    op("aten::values", KEYS, |context, args| {
        let dict = args.dict(0)?;
        let dict = dict.read();
        context.budget().check_items(dict.len())?;
        let mut values = Vec::with_capacity(dict.len());
        values.extend(dict.entries().map(|(_, value)| value.clone()));
        Ok(IValue::list(dict.value.clone(), values))
    }),
    op("aten::items", KEYS, |context, args| {
        /// What a pair takes beside its place in the list.
        const PAIR: usize = size_of::<Tuple>() + SHARED + 2 * size_of::<IValue>();
        let dict = args.dict(0)?;
        let dict = dict.read();
        context.budget().check_items(dict.len())?;
        context.budget().check_bytes(dict.len().saturating_mul(PAIR))?;
        let pair =
            |(key, value): (&IValue, &IValue)| IValue::tuple(vec![key.clone(), value.clone()]);
        let element = Type::tuple(vec![dict.key.clone(), dict.value.clone()]);
        let mut items = Vec::with_capacity(dict.len());
        items.extend(dict.entries().map(pair));
        Ok(IValue::list(element, items))
    }),
    op("aten::clear", KEYS, |_, args| {
        args.dict(0)?.write().clear();
        Ok(IValue::None)
    }),
    op("aten::update", KEYS, |context, args| {
        let (dict, other) = (args.dict(0)?, args.dict(1)?);
        if !dict.is(&other) {
            for (key, value) in other.read().entries() {
                insert(context, &dict, key.clone(), value.clone())?;
            }
        }
        Ok(IValue::None)
    }),
    op("aten::copy", DICTS, |context, args| copy(context, &args)),
    op("aten::dict", DICTS, |context, args| copy(context, &args)),
    op("aten::dict", "-", |_, _| Ok(IValue::Dict(Shared::new(Dict::new(Type::Str, Type::Tensor))))),
    op("aten::dict", KEYS, |context, args| {
        let list = args.list(0)?;
        let list = list.read();
        let Type::Tuple(of) = &list.element else { return Err(no_pairs()) };
        let [key, value] = of.elements.as_slice() else { return Err(no_pairs()) };
        let dict = Shared::new(Dict::new(key.clone(), value.clone()));
        for item in &list.items {
            let IValue::Tuple(pair) = item else { return Err(no_pairs()) };
            let [key, value] = &*pair.items else { return Err(no_pairs()) };
            insert(context, &dict, key.clone(), value.clone())?;
        }
        Ok(IValue::Dict(dict))
    }),
];

fn no_pairs() -> Raise {
    Raise::unsupported("a dict of what are no pairs")
}

fn insert(
    context: &mut dyn OpContext,
    dict: &Shared<Dict>,
    key: IValue,
    value: IValue,
) -> Result<()> {
    let (length, growth) = (dict.read().len(), dict.read().growth());
    context.budget().check_elements(length)?;
    if growth > 0 {
        context.budget().check_bytes(growth)?;
    }
    match dict.write().insert(key, value) {
        true => Ok(()),
        false => Err(Raise::unsupported("a dict whose keys are of this kind")),
    }
}

fn missing(context: &mut dyn OpContext, key: &IValue) -> Raise {
    match stream_text(context, key) {
        Ok(key) => Raise::message(format!("KeyError: {key}")),
        Err(raise) => raise,
    }
}

fn copy(context: &mut dyn OpContext, args: &Args<'_>) -> Result {
    let dict = args.dict(0)?;
    let dict = dict.read();
    let copy = Shared::new(Dict::new(dict.key.clone(), dict.value.clone()));
    for (key, value) in dict.entries() {
        insert(context, &copy, key.clone(), value.clone())?;
    }
    Ok(IValue::Dict(copy))
}

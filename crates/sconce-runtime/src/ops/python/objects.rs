//! What fits nowhere else: identity, text from formats, futures, warnings, modes.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use sconce_tensor::{DType, Device};

use crate::error::Raise;
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::python::text::{InMemory, Output, write_text};
use crate::value::IValue::{self, Bool, Float, Int};
use crate::value::{Future, Tuple};

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::__is__", "-", |_, args| Ok(Bool(args.get(0).is(args.get(1))))),
    op("aten::__isnot__", "-", |_, args| Ok(Bool(!args.get(0).is(args.get(1))))),
    op("aten::_unwrap_optional", "-", |_, mut args| match args.take(0) {
        IValue::None => Err(Raise::message("Unwrapping null optional")),
        value => Ok(value),
    }),
    op("aten::format", "-", format),
    op("aten::percentFormat", "-", percent_format),
    op("aten::warn", "-", |context, args| {
        let message = args.str(0)?;
        context.warn(&message);
        Ok(IValue::None)
    }),
    op("aten::wait", "-", |_, args| waited(&args)),
    op("aten::is_autocast_enabled", "-", |_, _| Ok(Bool(false))),
    op("aten::is_autocast_cpu_enabled", "-", |_, _| Ok(Bool(false))),
    op("aten::get_autocast_dtype", "-", |_, args| autocast_dtype(&args.str(0)?).map(Int)),
    op("aten::_is_tracing", "-", |_, _| Ok(Bool(false))),
    op("aten::_get_tracing_state", "-", |_, _| Ok(Bool(false))),
    op("aten::is_vulkan_available", "-", |_, _| Ok(Bool(false))),
    op("aten::hash", "generic", |_, args| hash(args.get(0)).map(Int)),
    op("aten::Size", "-", |_, args| Ok(IValue::List(args.list(0)?))),
    op("aten::_size_if_not_equal", "-", |_, args| {
        let (own, other) = (args.list(0)?, args.list(1)?);
        let equal = IValue::List(own.clone()).equal(&IValue::List(other)) == Some(true);
        Ok(if equal { IValue::None } else { IValue::List(own) })
    }),
    op("aten::broadcast_shapes", "-", |_, args| broadcast(&args)),
    op("aten::_infer_size", "-", |_, args| broadcast(&args)),
    op("prim::awaitable_nowait", "-", |_, mut args| {
        Ok(IValue::Future(Future { outcome: Ok(args.take(0)) }.into()))
    }),
    op("prim::awaitable_wait", "-", |_, args| waited(&args)),
    op("aten::is_scripting", "-", |_, _| Ok(Bool(true))),
];

/// What regions of `torch.autocast` cast to on a device, as the number of a dtype.
fn autocast_dtype(device: &str) -> Result<i64> {
    /// What PyTorch gives for devices that have no such regions.
    const UNDEFINED: i64 = 47;
    let device: Device =
        device.parse().map_err(|error: sconce_tensor::Error| Raise::message(error.to_string()))?;
    Ok(match device.name() {
        "cpu" | "hpu" | "xla" | "maia" => i64::from(DType::BFloat16.scalar_type_number()),
        "cuda" | "hip" | "ipu" | "mps" | "mtia" | "privateuseone" | "xpu" => {
            i64::from(DType::Float16.scalar_type_number())
        }
        _ => UNDEFINED,
    })
}

fn waited(args: &Args<'_>) -> Result {
    match args.get(0) {
        IValue::Future(future) => future.outcome.clone().map_err(Raise::message),
        _ => Err(Raise::unsupported("waiting for what is no future")),
    }
}

/// `"{}".format(…)`: each pair of braces is the next argument.
fn format(context: &mut dyn OpContext, args: Args<'_>) -> Result {
    let format = args.str(0)?;
    let mut out = InMemory::default();
    let mut rest = &*format;
    let mut used = 1;
    while let Some(at) = rest.find("{}") {
        out.push(context, rest.get(..at).unwrap_or_default())?;
        if used >= args.len() {
            return Err(Raise::message(format!("Too few arguments for format string: {format}")));
        }
        write_text(context, args.get(used), &mut out)?;
        rest = rest.get(at + 2..).unwrap_or_default();
        used += 1;
    }
    out.push(context, rest)?;
    out.finish(context)
}

/// `"%d" % (…)`.
fn percent_format(context: &mut dyn OpContext, args: Args<'_>) -> Result {
    let format = args.str(0)?;
    let values: Vec<IValue> = match args.get(1) {
        IValue::Tuple(tuple) if args.len() == 2 => tuple.items.to_vec(),
        _ => (1..args.len()).map(|index| args.get(index).clone()).collect(),
    };
    let mut values = values.into_iter();
    let mut out = InMemory::default();
    let mut rest = &*format;
    while let Some((before, after)) = rest.split_once('%') {
        out.push(context, before)?;
        let mut chars = after.chars();
        let directive = chars.next();
        rest = chars.as_str();
        let Some(directive) = directive else {
            return Err(Raise::message("Incomplete format specifier"));
        };
        if directive == '%' {
            out.push(context, "%")?;
            continue;
        }
        let Some(value) = values.next() else {
            return Err(Raise::message("Too few arguments for format string"));
        };
        match (directive, &value) {
            ('s', value) => write_text(context, value, &mut out)?,
            ('d' | 'i', Int(value)) => out.push(context, &value.to_string())?,
            ('d' | 'i', Float(value)) => {
                out.push(context, &crate::ops::python::math::truncate_to_int(*value).to_string())?;
            }
            ('e' | 'E' | 'f' | 'F', Int(_) | Float(_)) => {
                out.push(context, &number_text(directive, value.clone()))?;
            }
            ('d' | 'i' | 'e' | 'E' | 'f' | 'F', value) => {
                return Err(Raise::message(format!(
                    "%{directive} requires a number for formatting, but got {}",
                    value.kind_name()
                )));
            }
            ('c', IValue::Str(text)) if text.len() == 1 => out.push(context, text)?,
            ('c', Int(code)) => match u8::try_from(*code) {
                Ok(code) if code.is_ascii() => {
                    out.push(context, char::from(code).encode_utf8(&mut [0; 4]))?
                }
                _ => return Err(Raise::unsupported("%c of what is no ASCII character")),
            },
            ('c', value) => {
                return Err(Raise::message(format!(
                    "%c requires an int or char for formatting, but got {}",
                    value.kind_name()
                )));
            }
            _ => {
                return Err(Raise::message(format!(
                    "The specifier %{directive} is not supported in TorchScript format strings"
                )));
            }
        }
    }
    if values.next().is_some() {
        return Err(Raise::message("Too many arguments for format string"));
    }
    out.push(context, rest)?;
    out.finish(context)
}

/// A number as `%f` and `%e` show it, with six digits behind the point.
fn number_text(directive: char, value: IValue) -> String {
    // PyTorch takes them through C's `float`.
    let value = match value {
        Int(value) => f64::from(value as f32),
        Float(value) => f64::from(value as f32),
        _ => f64::NAN,
    };
    let text = match directive {
        _ if value.is_nan() => if value.is_sign_negative() { "-nan" } else { "nan" }.to_owned(),
        _ if value.is_infinite() => format!("{value}"),
        'f' | 'F' => return format!("{value:.6}"),
        _ => {
            let text = format!("{value:.6e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let (sign, exponent) =
                exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
            format!("{digits}e{sign}{exponent:0>2}")
        }
    };
    if directive.is_ascii_uppercase() { text.to_uppercase() } else { text }
}

/// The sizes that two tensors of these sizes meet in.
fn broadcast(args: &Args<'_>) -> Result {
    let sizes = sconce_kernels::layout::broadcast(&args.ints(0)?, &args.ints(1)?);
    let sizes = sizes.map_err(crate::error::kernel)?;
    Ok(IValue::list(sconce_ir::Type::Int, sizes.iter().map(|&size| Int(size)).collect()))
}

/// `IValue::hash`. Depth costs no stack, and a tuple that is in several places is hashed once.
fn hash(value: &IValue) -> Result<i64> {
    let IValue::Tuple(tuple) = value else { return hash_leaf(value) };
    let mut known: FxHashMap<*const Tuple, i64> = FxHashMap::default();
    let mut open: Vec<(&Rc<Tuple>, Vec<i64>)> = vec![(tuple, Vec::new())];
    loop {
        let Some((tuple, hashes)) = open.last_mut() else { return Ok(0) };
        match tuple.items.get(hashes.len()) {
            Some(IValue::Tuple(inner)) => match known.get(&Rc::as_ptr(inner)) {
                Some(hash) => hashes.push(*hash),
                None => open.push((inner, Vec::new())),
            },
            Some(leaf) => hashes.push(hash_leaf(leaf)?),
            None => {
                let (address, hash) =
                    (Rc::as_ptr(tuple), sconce_ir::hash_sequence(std::mem::take(hashes)));
                known.insert(address, hash);
                open.pop();
                if open.is_empty() {
                    return Ok(hash);
                }
            }
        }
    }
}

fn hash_leaf(value: &IValue) -> Result<i64> {
    Ok(match value {
        IValue::None => 0,
        Bool(value) => i64::from(*value),
        Int(value) => *value,
        Float(value) => sconce_ir::hash_float(*value),
        IValue::Str(text) => sconce_ir::hash_bytes(text.as_bytes()),
        other => {
            let kind = other.kind_name();
            return Err(Raise::unsupported(format!("the hash of a value of kind {kind}")));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_and_shared_tuples_are_hashed() {
        let work = || {
            let deep = (0..300_000).fold(Int(1), |inner, _| IValue::tuple(vec![inner]));
            assert!(hash(&deep).is_ok());
            let wide = |levels: usize| {
                (0..levels).fold(Int(1), |inner, _| IValue::tuple(vec![inner.clone(), inner]))
            };
            assert!(hash(&wide(100)).is_ok());
            let pair = |a: i64| sconce_ir::hash_sequence(vec![a, a]);
            assert_eq!(hash(&wide(2)).ok(), Some(pair(pair(1))));
        };
        std::thread::Builder::new().stack_size(128 << 10).spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn numbers_go_through_single_precision_to_their_text() {
        for (directive, value, text) in [
            ('f', Float(1e30), "1000000015047466219876688855040.000000"),
            ('f', Int(16_777_217), "16777216.000000"),
            ('e', Float(123_456_789.123), "1.234568e+08"),
            ('E', Float(1e308), "INF"),
        ] {
            assert_eq!(number_text(directive, value), text);
        }
    }
}

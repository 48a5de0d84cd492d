//! What fits nowhere else: identity, text from formats, futures, warnings, modes.

use super::{Args, Table};
use crate::error::Raise;
use crate::interpreter::Machine;
use crate::text::stream_text;
use crate::value::IValue::{self, Bool, Float, Int};

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(super) const TABLE: Table = &[
    ("aten::__is__", "-", |_, args| Ok(Bool(args.get(0).is(args.get(1))))),
    ("aten::__isnot__", "-", |_, args| Ok(Bool(!args.get(0).is(args.get(1))))),
    ("aten::_unwrap_optional", "-", |_, mut args| match args.take(0) {
        IValue::None => Err(Raise::message("Unwrapping null optional")),
        value => Ok(value),
    }),
    ("aten::format", "-", format),
    ("aten::percentFormat", "-", percent_format),
    ("aten::warn", "-", |machine, args| {
        let message = args.str(0)?;
        machine.sink.warn(&message);
        Ok(IValue::None)
    }),
    ("aten::wait", "-", |_, mut args| match args.take(0) {
        IValue::Future(value) => Ok((*value).clone()),
        _ => Err(Raise::unsupported("waiting for what is no future")),
    }),
    ("aten::is_grad_enabled", "-", |_, _| Ok(Bool(false))),
    ("aten::set_grad_enabled", "-", |_, args| match args.bool(0)? {
        // Programs run as under `torch.no_grad()`.
        false => Ok(IValue::None),
        true => Err(Raise::unsupported("recording gradients")),
    }),
    ("aten::is_autocast_enabled", "-", |_, _| Ok(Bool(false))),
    ("aten::is_scripting", "-", |_, _| Ok(Bool(true))),
];

/// `"{}".format(…)`: each pair of braces is the next argument.
fn format(machine: &mut Machine, args: Args<'_>) -> Result {
    let format = args.str(0)?;
    let mut out = String::new();
    let mut rest = &*format;
    let mut used = 1;
    while let Some(at) = rest.find("{}") {
        out.push_str(rest.get(..at).unwrap_or_default());
        if used >= args.len() {
            return Err(Raise::message(format!("Too few arguments for format string: {format}")));
        }
        out.push_str(&stream_text(machine, args.get(used))?);
        machine.budget.check_elements(out.len())?;
        rest = rest.get(at + 2..).unwrap_or_default();
        used += 1;
    }
    out.push_str(rest);
    Ok(IValue::str(out))
}

/// `"%d" % (…)`.
fn percent_format(machine: &mut Machine, args: Args<'_>) -> Result {
    let format = args.str(0)?;
    let values: Vec<IValue> = match args.get(1) {
        IValue::Tuple(tuple) if args.len() == 2 => tuple.items.to_vec(),
        _ => (1..args.len()).map(|index| args.get(index).clone()).collect(),
    };
    let mut values = values.into_iter();
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let Some(directive) = chars.next() else {
            return Err(Raise::message("Incomplete format specifier"));
        };
        if directive == '%' {
            out.push('%');
            continue;
        }
        let Some(value) = values.next() else {
            return Err(Raise::message("Too few arguments for format string"));
        };
        match (directive, &value) {
            ('s', value) => out.push_str(&stream_text(machine, value)?),
            ('d' | 'i', Int(value)) => out.push_str(&value.to_string()),
            ('d' | 'i', Float(value)) => {
                out.push_str(&super::math::truncate(*value).to_string());
            }
            ('f' | 'F', Float(value)) if value.is_finite() => {
                out.push_str(&format!("{value:.6}"));
            }
            ('f' | 'F', Int(value)) => out.push_str(&format!("{:.6}", *value as f64)),
            ('c', IValue::Str(text)) => out.push_str(text),
            ('e' | 'g' | 'f' | 'F' | 'd' | 'i' | 'c' | 'r' | 'x' | 'X' | 'o', value) => {
                return Err(Raise::unsupported(format!(
                    "the format specifier %{directive} for a value of kind {}",
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
    Ok(IValue::str(out))
}

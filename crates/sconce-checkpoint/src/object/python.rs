//! Objects of Python's standard library whose pickled form says nothing to a reader: dates are
//! packed bytes, paths are lists of parts. They show as Python shows them.

use super::{Node, Object};

/// `repr` of a date, time, time span, time zone or path; `None` for anything else, and for one whose
/// numbers Python would refuse.
pub(super) fn text(object: Object<'_>) -> Option<String> {
    let (module, name, args) = call(object)?;
    match (module, name) {
        ("datetime", "datetime") => datetime(&args),
        ("datetime", "date") => {
            let [high, low, month, day] = packed::<4>(args.first()?)?;
            Some(format!("datetime.date({})", day_of(high, low, month, day)?))
        }
        ("datetime", "time") => time(&args),
        ("datetime", "timedelta") => timedelta(&args),
        ("datetime", "timezone") => timezone(&args),
        ("pathlib" | "pathlib._local", name) if name.ends_with("Path") => path(name, &args),
        _ => None,
    }
}

/// Class and arguments of an instance.
fn call(object: Object<'_>) -> Option<(&str, &str, Vec<Object<'_>>)> {
    let instance = object.as_instance()?;
    let Node::Class(class) = object.other(instance.callable).data() else { return None };
    let Node::Tuple(args) = object.other(instance.args).data() else { return None };
    let is_packed = matches!(&*class.module, "datetime" | "pathlib" | "pathlib._local");
    is_packed.then(|| {
        let args = args.iter().map(|&id| object.other(id)).collect();
        (&*class.module, &*class.name, args)
    })
}

/// The arguments of an instance of `datetime.name`. Each kind holds only the next one, so that
/// nothing here nests without end.
fn datetime_call<'c>(object: Object<'c>, wanted: &str) -> Option<Vec<Object<'c>>> {
    let (module, name, args) = call(object)?;
    (module == "datetime" && name == wanted).then_some(args)
}

/// Bytes that protocol 2 may have written as text.
fn packed<const N: usize>(object: &Object<'_>) -> Option<[u8; N]> {
    match object.data() {
        Node::Bytes(bytes) => (**bytes).try_into().ok(),
        Node::Str(text) => {
            let bytes: Option<Vec<u8>> =
                text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
            bytes?.try_into().ok()
        }
        _ => None,
    }
}

fn day_of(high: u8, low: u8, month: u8, day: u8) -> Option<String> {
    let year = u32::from(high) << 8 | u32::from(low);
    let valid = (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    valid.then(|| format!("{year}, {month}, {day}"))
}

/// Hours and minutes, and what follows them if it is not zero.
fn clock([hour, minute, second, a, b, c]: [u8; 6]) -> Option<String> {
    let micros = u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c);
    if hour > 23 || minute > 59 || second > 59 || micros > 999_999 {
        return None;
    }
    Some(match (second, micros) {
        (0, 0) => format!("{hour}, {minute}"),
        (_, 0) => format!("{hour}, {minute}, {second}"),
        _ => format!("{hour}, {minute}, {second}, {micros}"),
    })
}

/// The first bit of one byte says that the time comes twice, when clocks are set back.
fn fold(byte: u8) -> (u8, &'static str) {
    (byte & 0x7f, if byte & 0x80 == 0 { "" } else { ", fold=1" })
}

fn zone(args: &[Object<'_>]) -> Option<String> {
    match args.get(1) {
        None => Some(String::new()),
        Some(zone) => {
            let zone = timezone(&datetime_call(*zone, "timezone")?)?;
            Some(format!(", tzinfo={zone}"))
        }
    }
}

fn datetime(args: &[Object<'_>]) -> Option<String> {
    let [high, low, month, day, rest @ ..] = packed::<10>(args.first()?)?;
    let (month, fold) = fold(month);
    let (day, clock, zone) = (day_of(high, low, month, day)?, clock(rest)?, zone(args)?);
    Some(format!("datetime.datetime({day}, {clock}{fold}{zone})"))
}

fn time(args: &[Object<'_>]) -> Option<String> {
    let [hour, rest @ ..] = packed::<6>(args.first()?)?;
    let (hour, fold) = fold(hour);
    let [minute, second, a, b, c] = rest;
    let (clock, zone) = (clock([hour, minute, second, a, b, c])?, zone(args)?);
    Some(format!("datetime.time({clock}{fold}{zone})"))
}

fn timedelta(args: &[Object<'_>]) -> Option<String> {
    let [days, seconds, micros] = args else { return None };
    let parts = [("days", days), ("seconds", seconds), ("microseconds", micros)];
    let mut shown = Vec::new();
    for (name, part) in parts {
        match part.as_i64()? {
            0 => {}
            number => shown.push(format!("{name}={number}")),
        }
    }
    let shown = if shown.is_empty() { "0".to_owned() } else { shown.join(", ") };
    Some(format!("datetime.timedelta({shown})"))
}

fn timezone(args: &[Object<'_>]) -> Option<String> {
    let delta = timedelta(&datetime_call(*args.first()?, "timedelta")?)?;
    match args.get(1) {
        None if delta == "datetime.timedelta(0)" => Some("datetime.timezone.utc".to_owned()),
        None => Some(format!("datetime.timezone({delta})")),
        Some(name) => {
            let mut out = format!("datetime.timezone({delta}, ");
            sconce_pickle::repr::write_str(&mut out, name.as_str()?);
            out.push(')');
            Some(out)
        }
    }
}

fn path(class: &str, parts: &[Object<'_>]) -> Option<String> {
    let windows = class.ends_with("WindowsPath");
    let separator = if windows { "\\" } else { "/" };
    let mut path = String::new();
    for part in parts {
        if !path.is_empty() && !path.ends_with(separator) {
            path.push_str(separator);
        }
        path.push_str(part.as_str()?);
    }
    if path.is_empty() {
        path.push('.');
    }
    // Python shows the separators of every system as slashes.
    let path = if windows { path.replace('\\', "/") } else { path };
    let mut out = format!("{class}(");
    sconce_pickle::repr::write_str(&mut out, &path);
    out.push(')');
    Some(out)
}

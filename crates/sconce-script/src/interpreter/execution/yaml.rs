//! YAML as PyYAML's safe loader reads it: scalars by the rules of YAML 1.1, aliases the same object.

use rustc_hash::FxHashMap;
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Cell, Dict, Value};
use super::Interpreter;
use crate::library::NameKind;

/// Functions that read one document.
const LOADERS: &[&str] = &["yaml.safe_load", "yaml.load", "yaml.full_load", "yaml.unsafe_load"];
/// How deep a document may nest.
const MAX_LEVELS: usize = 1000;
/// The tags of YAML itself, which change what a scalar is.
const OWN_TAGS: &str = "tag:yaml.org,2002:";

/// A collection that is being read.
struct Open {
    value: Value,
    anchor: usize,
    /// Of a mapping, the key that waits for its value.
    key: Option<Value>,
    /// Of a mapping, what `<<` names: its entries come first.
    merged: Vec<Value>,
    is_mapping: bool,
}

impl Interpreter<'_> {
    /// `yaml.safe_load(…)` of a text or an open file; what `yaml.load` is given as its loader does not matter for
    /// documents without tags of Python.
    pub(super) fn call_yaml(&mut self, name: &str, args: &[Value]) -> Outcome<Option<Value>> {
        let (true, [stream, ..]) = (LOADERS.contains(&name), args) else { return Ok(None) };
        let text = match self.arena.cell(stream) {
            Some(Cell::File(_)) => self.rest_of_file(stream)?,
            _ => self.string(stream)?,
        };
        self.spend(text.len().saturating_mul(4))?;
        self.parsed_yaml(&text).map(Some)
    }

    fn parsed_yaml(&mut self, text: &str) -> Outcome<Value> {
        let mut open: Vec<Open> = Vec::new();
        let mut anchors: FxHashMap<usize, Value> = FxHashMap::default();
        let (mut documents, mut root) = (0, Value::None);
        for event in Parser::new_from_str(text) {
            self.step()?;
            let event = match event {
                Ok((event, _)) => event,
                Err(error) => {
                    let message = format!("this YAML cannot be read: {error}");
                    return refuse(message);
                }
            };
            let (value, anchor) = match event {
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents > 1 {
                        return refuse(
                            "expected a single document in the stream, but found another document",
                        );
                    }
                    continue;
                }
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {
                    continue;
                }
                Event::Alias(anchor) => match anchors.get(&anchor) {
                    Some(value) => (value.clone(), 0),
                    None => return refuse("this YAML has an alias of what is not there"),
                },
                Event::Scalar(text, style, anchor, tag) => {
                    (self.yaml_scalar(&text, style, tag.as_deref())?, anchor)
                }
                Event::SequenceStart(anchor, tag) => {
                    plain_tag(tag.as_deref(), "seq")?;
                    let value = self.new_list(Vec::new())?;
                    open_collection(&mut open, &mut anchors, value, anchor, false)?;
                    continue;
                }
                Event::MappingStart(anchor, tag) => {
                    plain_tag(tag.as_deref(), "map")?;
                    let value = self.new_dict(Dict::default())?;
                    open_collection(&mut open, &mut anchors, value, anchor, true)?;
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    let Some(done) = open.pop() else {
                        return refuse("this YAML has no beginning");
                    };
                    self.merge_mappings(&done)?;
                    (done.value, done.anchor)
                }
            };
            if anchor > 0 {
                anchors.insert(anchor, value.clone());
            }
            match open.last_mut() {
                None => root = value,
                Some(parent) if !parent.is_mapping => {
                    self.spend(size_of::<Value>())?;
                    if let Value::Ref(id) = parent.value
                        && let Some(items) = self.arena.list_mut(id)
                    {
                        items.push(value);
                    }
                }
                Some(parent) => match parent.key.take() {
                    None => parent.key = Some(value),
                    Some(Value::Library(merge)) if &*merge == MERGE => parent.merged.push(value),
                    Some(key) => {
                        let dict = parent.value.clone();
                        self.set_item(&dict, &key, value)?;
                    }
                },
            }
        }
        Ok(root)
    }

    /// `<<: *base`: the entries of other mappings, which come before those of the mapping itself.
    fn merge_mappings(&mut self, done: &Open) -> Outcome<()> {
        if done.merged.is_empty() {
            return Ok(());
        }
        let mut merged = Dict::default();
        for value in &done.merged {
            // Of a sequence of mappings, the first counts most.
            let mut sources = match self.arena.list(value) {
                Some(items) => items.clone(),
                None => vec![value.clone()],
            };
            sources.reverse();
            for source in sources {
                let Some(entries) = self.arena.dict(&source).cloned() else {
                    return refuse("expected a mapping or list of mappings for merging");
                };
                self.spend_items(entries.len() * 3)?;
                add_entries(&mut merged, entries);
            }
        }
        let Value::Ref(id) = done.value else { return Ok(()) };
        let Some(own) = self.arena.dict_mut(id) else { return Ok(()) };
        add_entries(&mut merged, std::mem::take(own));
        *own = merged;
        Ok(())
    }

    fn yaml_scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Outcome<Value> {
        let is_plain = style == ScalarStyle::Plain;
        let wanted = match tag {
            None => None,
            Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => Some("str"),
            Some(tag) if tag.handle == OWN_TAGS => Some(tag.suffix.as_str()),
            Some(tag) => return unknown_tag(tag),
        };
        Ok(match wanted {
            Some("str") => self.new_str(text.to_owned())?,
            Some("int" | "float" | "bool" | "null") => {
                match (wanted, resolved(text).unwrap_or(Scalar::Text)) {
                    (Some("int"), Scalar::Int(value)) => Value::Int(value),
                    (Some("float"), Scalar::Float(value)) => Value::Float(value),
                    (Some("float"), Scalar::Int(value)) => Value::Float(value as f64),
                    (Some("bool"), Scalar::Bool(value)) => Value::Bool(value),
                    (Some("null"), _) => Value::None,
                    (Some("float"), _) => match text.replace('_', "").parse() {
                        Ok(value) => Value::Float(value),
                        Err(_) => return refuse(format!("'{text}' is no float in this YAML")),
                    },
                    _ => return refuse(format!("'{text}' is not what its tag says in this YAML")),
                }
            }
            Some(other) => return refuse(format!("the tag !!{other} is not supported here")),
            None if !is_plain => self.new_str(text.to_owned())?,
            None => match resolved(text) {
                Some(Scalar::Null) => Value::None,
                Some(Scalar::Bool(value)) => Value::Bool(value),
                Some(Scalar::Int(value)) => Value::Int(value),
                Some(Scalar::Float(value)) => Value::Float(value),
                Some(Scalar::Merge) => Value::library(MERGE),
                Some(Scalar::Date) => {
                    let what = format!("the date {text} of a YAML file");
                    self.new_unknown(&what, None, NameKind::Value, false)?
                }
                Some(Scalar::Text) => self.new_str(text.to_owned())?,
                None => return refuse(format!("the number {text} of this YAML is too large here")),
            },
        })
    }
}

/// What stands for the key `<<` until its value is there.
const MERGE: &str = "yaml.<<";

fn open_collection(
    open: &mut Vec<Open>,
    anchors: &mut FxHashMap<usize, Value>,
    value: Value,
    anchor: usize,
    is_mapping: bool,
) -> Outcome<()> {
    if open.len() >= MAX_LEVELS {
        return refuse(format!("this YAML nests more than {MAX_LEVELS} levels deep"));
    }
    if anchor > 0 {
        // It may hold itself.
        anchors.insert(anchor, value.clone());
    }
    open.push(Open { value, anchor, key: None, merged: Vec::new(), is_mapping });
    Ok(())
}

fn add_entries(to: &mut Dict, entries: Dict) {
    for (key, entry) in entries {
        match to.get_mut(&key) {
            Some((_, value)) => *value = entry.1,
            None => drop(to.insert(key, entry)),
        }
    }
}

fn plain_tag(tag: Option<&Tag>, own: &str) -> Outcome<()> {
    match tag {
        None => Ok(()),
        Some(tag)
            if tag.handle == OWN_TAGS
                && matches!(&*tag.suffix, suffix if suffix == own || suffix == "omap") =>
        {
            Ok(())
        }
        Some(tag) => unknown_tag(tag),
    }
}

fn unknown_tag<T>(tag: &Tag) -> Outcome<T> {
    refuse(format!(
        "could not determine a constructor for the tag '{}{}' of this YAML",
        tag.handle, tag.suffix
    ))
}

/// What a plain scalar is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Merge,
    Date,
    Text,
}

/// A plain scalar by PyYAML's rules; `None` for a whole number that is too large.
fn resolved(text: &str) -> Option<Scalar> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "<<" => Scalar::Merge,
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        _ => {
            if let Some(number) = whole_number(text) {
                return number.map(Scalar::Int);
            }
            match (decimal(text), is_date(text)) {
                (Some(number), _) => Scalar::Float(number),
                (None, true) => Scalar::Date,
                (None, false) => Scalar::Text,
            }
        }
    })
}

fn signed(text: &str) -> (f64, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// `12`, `1_000`, `0x1F`, `0b101`, `017`, `1:30`; the inner `None` for one that is too large.
fn whole_number(text: &str) -> Option<Option<i64>> {
    let (sign, digits) = signed(text);
    let only = |allowed: fn(u8) -> bool, text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte == b'_' || allowed(byte))
    };
    let number = |digits: &str, base: u32| -> Option<i64> {
        let clean = digits.replace('_', "");
        let sign = if sign < 0.0 { "-" } else { "" };
        i64::from_str_radix(&format!("{sign}{clean}"), base).ok()
    };
    let octal = |byte: u8| matches!(byte, b'0'..=b'7');
    if let Some(binary) = digits.strip_prefix("0b") {
        return only(|byte| matches!(byte, b'0' | b'1'), binary).then(|| number(binary, 2));
    }
    if let Some(hexadecimal) = digits.strip_prefix("0x") {
        return only(|byte| byte.is_ascii_hexdigit(), hexadecimal).then(|| number(hexadecimal, 16));
    }
    if digits == "0" {
        return Some(Some(0));
    }
    if let Some(rest) = digits.strip_prefix('0') {
        return only(octal, rest).then(|| number(rest, 8));
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut parts = digits.split(':');
    let first = parts.next().unwrap_or_default();
    if !only(|byte| byte.is_ascii_digit(), first) {
        return None;
    }
    let mut total = number(first, 10);
    for part in parts {
        if !is_sixtieth(part) {
            return None;
        }
        total = total.and_then(|total| total.checked_mul(60)?.checked_add(number(part, 10)?));
    }
    Some(total)
}

/// Two digits at most, below sixty.
fn is_sixtieth(part: &str) -> bool {
    match part.as_bytes() {
        [digit] => digit.is_ascii_digit(),
        [b'0'..=b'5', digit] => digit.is_ascii_digit(),
        _ => false,
    }
}

/// `1.5`, `1.`, `.5`, `1.5e+3`, `.inf`, `1:30.5`: an exponent needs a point before it and a sign.
fn decimal(text: &str) -> Option<f64> {
    let (sign, digits) = signed(text);
    if matches!(digits, ".inf" | ".Inf" | ".INF") {
        return Some(sign * f64::INFINITY);
    }
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (digits, None),
    };
    let (whole, fraction) = mantissa.split_once('.')?;
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let begins = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if !is_digits(fraction) {
        return None;
    }
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-'])?;
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
    }
    let clean = |text: &str| text.replace('_', "");
    if whole.contains(':') && exponent.is_none() {
        let mut parts = whole.split(':');
        let first = parts.next().filter(|first| begins(first) && is_digits(first))?;
        let mut total: f64 = clean(first).parse().ok()?;
        for part in parts {
            if !is_sixtieth(part) {
                return None;
            }
            total = total * 60.0 + part.parse::<f64>().ok()?;
        }
        let fraction: f64 = format!("0.{}0", clean(fraction)).parse().ok()?;
        return Some(sign * (total + fraction));
    }
    // `.5` has no sign.
    let is_number = match whole.is_empty() {
        true => begins(fraction) && digits.len() == text.len(),
        false => begins(whole) && is_digits(whole),
    };
    if !is_number {
        return None;
    }
    let exponent = exponent.map(|exponent| format!("e{exponent}")).unwrap_or_default();
    let number: f64 = format!("0{}.{}0{exponent}", clean(whole), clean(fraction)).parse().ok()?;
    Some(sign * number)
}

/// `2020-01-31`, with a time or without.
fn is_date(text: &str) -> bool {
    let date = text.split(['T', 't', ' ', '\t']).next().unwrap_or_default();
    let parts: Vec<&str> = date.split('-').collect();
    let is_digits = |part: &&str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    match parts.as_slice() {
        [year, month, day] if year.len() == 4 => {
            is_digits(year, 4)
                && is_digits(month, 2)
                && is_digits(day, 2)
                && (date.len() < text.len() || (month.len() == 2 && day.len() == 2))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What PyYAML 6.0 makes of plain scalars.
    #[test]
    fn scalars_are_pyyamls() {
        let text = Some(Scalar::Text);
        for (scalar, expected) in [
            ("1", Some(Scalar::Int(1))),
            ("-12", Some(Scalar::Int(-12))),
            ("+3", Some(Scalar::Int(3))),
            ("1_000", Some(Scalar::Int(1000))),
            ("0x1F", Some(Scalar::Int(31))),
            ("0b101", Some(Scalar::Int(5))),
            ("017", Some(Scalar::Int(15))),
            ("08", text),
            ("0o7", text),
            ("1:30", Some(Scalar::Int(90))),
            ("1:60", text),
            ("1e3", text),
            ("1e-3", text),
            ("1.0e-3", Some(Scalar::Float(0.001))),
            ("1.0e3", text),
            ("1.", Some(Scalar::Float(1.0))),
            (".5", Some(Scalar::Float(0.5))),
            ("-.5", text),
            ("1.5", Some(Scalar::Float(1.5))),
            ("-1_0.2_5", Some(Scalar::Float(-10.25))),
            (".inf", Some(Scalar::Float(f64::INFINITY))),
            ("-.inf", Some(Scalar::Float(f64::NEG_INFINITY))),
            ("1:30.5", Some(Scalar::Float(90.5))),
            ("yes", Some(Scalar::Bool(true))),
            ("Off", Some(Scalar::Bool(false))),
            ("y", text),
            ("None", text),
            ("~", Some(Scalar::Null)),
            ("2020-01-31", Some(Scalar::Date)),
            ("2020-1-31", text),
            ("2020-1-31 10:00:00", Some(Scalar::Date)),
            ("1.2.3", text),
            ("99999999999999999999", None),
        ] {
            assert_eq!(resolved(scalar), expected, "{scalar}");
        }
    }
}

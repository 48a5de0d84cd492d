//! Methods of strings, f-strings and `%`.

use std::sync::Arc;

use ruff_python_ast as py;

use super::arguments::{Keywords, LibraryArguments};
use super::control_flow::{Outcome, refuse};
use super::value::Value;
use super::{Frame, Interpreter};

pub(super) const METHODS: &[&str] = &[
    "format",
    "join",
    "split",
    "rsplit",
    "splitlines",
    "strip",
    "lstrip",
    "rstrip",
    "lower",
    "upper",
    "title",
    "capitalize",
    "startswith",
    "endswith",
    "replace",
    "find",
    "rfind",
    "index",
    "count",
    "isdigit",
    "isalpha",
    "isalnum",
    "isidentifier",
    "isupper",
    "islower",
    "isspace",
    "isnumeric",
    "zfill",
    "ljust",
    "rjust",
    "center",
    "partition",
    "rpartition",
    "removeprefix",
    "removesuffix",
    "casefold",
];

impl Interpreter<'_> {
    pub(super) fn evaluate_f_string(
        &mut self,
        frame: &Frame,
        string: &py::ExprFString,
    ) -> Outcome<Value> {
        let mut text = String::new();
        let mut unknown = None;
        for part in string.value.iter() {
            match part {
                py::FStringPart::Literal(literal) => text.push_str(literal),
                py::FStringPart::FString(parts) => {
                    self.f_string(frame, &parts.elements, &mut text, &mut unknown)?
                }
            }
        }
        match unknown {
            // A text with something unknown in it is not known.
            Some(unknown) => Ok(self.unknown_result(&unknown, &unknown)?.unwrap_or(unknown)),
            None => self.new_str(text),
        }
    }

    fn f_string(
        &mut self,
        frame: &Frame,
        elements: &py::InterpolatedStringElements,
        text: &mut String,
        unknown: &mut Option<Value>,
    ) -> Outcome<()> {
        for element in elements {
            match element {
                py::InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                py::InterpolatedStringElement::Interpolation(part) => {
                    let value = self.evaluate(frame, &part.expression)?;
                    if self.is_unknown(&value) {
                        *unknown = Some(value);
                        continue;
                    }
                    if let Some(debug) = &part.debug_text {
                        text.push_str(&debug.leading);
                        let place = frame.place(&*part.expression);
                        let range = place.range.start as usize..place.range.end as usize;
                        text.push_str(place.source.text().get(range).unwrap_or_default());
                        text.push_str(&debug.trailing);
                    }
                    let mut specification = String::new();
                    if let Some(format) = &part.format_spec {
                        self.nested(|this| {
                            this.f_string(frame, &format.elements, &mut specification, unknown)
                        })?;
                    }
                    let plain = part.debug_text.is_some() && specification.is_empty();
                    let shown = match part.conversion {
                        py::ConversionFlag::Repr | py::ConversionFlag::Ascii => {
                            Value::str(self.repr(&value)?)
                        }
                        py::ConversionFlag::Str => Value::str(self.text(&value)?),
                        py::ConversionFlag::None if plain => Value::str(self.repr(&value)?),
                        py::ConversionFlag::None => value,
                    };
                    text.push_str(&self.formatted(&shown, &specification)?);
                }
            }
        }
        Ok(())
    }

    /// `format % values`
    pub(super) fn percent_format(&mut self, format: &str, values: &Value) -> Outcome<Value> {
        let mut values: std::collections::VecDeque<Value> = match self.arena.tuple(values) {
            Some(tuple) => tuple.items.clone().into(),
            None => [values.clone()].into(),
        };
        let mut text = String::new();
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                text.push(c);
                continue;
            }
            let mut specification = String::new();
            let kind = loop {
                match chars.next() {
                    Some('%') if specification.is_empty() => break '%',
                    Some(c) if c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | ' ') => {
                        specification.push(if c == '-' { '<' } else { c });
                    }
                    Some(c) => break c,
                    None => return self.raise("ValueError", "incomplete format"),
                }
            };
            if kind == '%' {
                text.push('%');
                continue;
            }
            let Some(value) = values.pop_front() else {
                return self.type_error("not enough arguments for format string");
            };
            match kind {
                's' => {
                    let value = Value::str(self.text(&value)?);
                    text.push_str(&self.formatted(&value, &specification)?);
                }
                'r' => {
                    let value = Value::str(self.repr(&value)?);
                    text.push_str(&self.formatted(&value, &specification)?);
                }
                'd' | 'i' => {
                    let value = Value::Int(value.as_float().map_or(0, |value| value as i64));
                    text.push_str(&self.formatted(&value, &format!("{specification}d"))?);
                }
                'f' | 'e' | 'g' | 'x' => {
                    text.push_str(&self.formatted(&value, &format!("{specification}{kind}"))?);
                }
                _ => return refuse(format!("the format '%{kind}' is not supported here")),
            }
        }
        if !values.is_empty() {
            return self.type_error("not all arguments converted during string formatting");
        }
        self.new_str(text)
    }

    /// `text.format(…)`
    fn format_method(&mut self, text: &str, mut given: LibraryArguments) -> Outcome<Value> {
        let keywords = given.named();
        let args = given.rest();
        let mut made = String::new();
        let mut next = 0;
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            made.push_str(before);
            if from.starts_with("{{") || from.starts_with("}}") {
                made.push_str(from.get(..1).unwrap_or_default());
                rest = from.get(2..).unwrap_or_default();
                continue;
            }
            let Some((field, after)) = from.strip_prefix('{').and_then(|from| from.split_once('}'))
            else {
                return self.raise("ValueError", "Single '}' encountered in format string");
            };
            rest = after;
            let (name, specification) = field.split_once(':').unwrap_or((field, ""));
            let (name, conversion) = name.split_once('!').unwrap_or((name, ""));
            let (first, path) = match name.find(['.', '[']) {
                Some(at) => name.split_at(at),
                None => (name, ""),
            };
            let value = if first.is_empty() {
                next += 1;
                args.get(next - 1).cloned()
            } else if let Ok(at) = first.parse::<usize>() {
                args.get(at).cloned()
            } else {
                keywords.iter().find(|(name, _)| &**name == first).map(|(_, value)| value.clone())
            };
            let Some(mut value) = value else {
                return self
                    .raise("IndexError", "Replacement index out of range for format string");
            };
            for part in path.split('.').skip(1) {
                value = self.attribute(&value, part)?;
            }
            if path.contains('[') {
                return refuse("an index in a format string is not supported here");
            }
            if conversion == "r" {
                value = Value::str(self.repr(&value)?);
            }
            made.push_str(&self.formatted(&value, specification)?);
        }
        made.push_str(rest);
        self.new_str(made)
    }

    pub(super) fn str_method(
        &mut self,
        text: &Arc<str>,
        name: &str,
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        let mut given = LibraryArguments::new(name, args, keywords);
        self.spend(text.len())?;
        if name == "format" {
            return self.format_method(text, given);
        }
        let result = match name {
            "lower" | "casefold" => Value::str(text.to_lowercase()),
            "upper" => Value::str(text.to_uppercase()),
            "capitalize" => {
                let mut chars = text.chars();
                let first: String =
                    chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
                Value::str(first + &chars.as_str().to_lowercase())
            }
            "title" => Value::str(titled(text)),
            "isdigit" | "isnumeric" => Value::Bool(all(text, |c| c.is_numeric())),
            "isalpha" => Value::Bool(all(text, char::is_alphabetic)),
            "isalnum" => Value::Bool(all(text, char::is_alphanumeric)),
            "isspace" => Value::Bool(all(text, char::is_whitespace)),
            "isupper" => Value::Bool(all(text, |c| !c.is_lowercase())),
            "islower" => Value::Bool(all(text, |c| !c.is_uppercase())),
            "isidentifier" => {
                let starts = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
                Value::Bool(starts && all(text, |c| c.is_alphanumeric() || c == '_'))
            }
            "strip" | "lstrip" | "rstrip" => {
                let set = match given.take(0, "chars") {
                    None | Some(Value::None) => None,
                    Some(set) => Some(self.string(&set)?),
                };
                let is_cut = |c: char| match &set {
                    Some(set) => set.contains(c),
                    None => c.is_whitespace(),
                };
                Value::str(match name {
                    "strip" => text.trim_matches(is_cut),
                    "lstrip" => text.trim_start_matches(is_cut),
                    _ => text.trim_end_matches(is_cut),
                })
            }
            "join" => {
                let items = self.needed(&mut given, 0, "iterable")?;
                let mut parts: Vec<Arc<str>> = Vec::new();
                for item in self.iterate(&items)? {
                    parts.push(self.string(&item)?);
                }
                let length: usize = parts.iter().map(|part| part.len() + text.len()).sum();
                self.spend(length)?;
                Value::str(parts.join(text))
            }
            "split" | "rsplit" | "splitlines" => {
                let parts = self.split(text, name, &mut given)?;
                self.spend_items(parts.len())?;
                let parts = parts.into_iter().map(Value::str).collect();
                self.new_list(parts)?
            }
            "startswith" | "endswith" => {
                let affix = self.needed(&mut given, 0, "prefix")?;
                let affixes = match self.arena.tuple(&affix) {
                    Some(tuple) => tuple.items.clone(),
                    None => vec![affix],
                };
                let mut fits = false;
                for affix in affixes {
                    let affix = self.string(&affix)?;
                    fits |= match name {
                        "startswith" => text.starts_with(&*affix),
                        _ => text.ends_with(&*affix),
                    };
                }
                Value::Bool(fits)
            }
            "replace" => {
                let old = self.needed(&mut given, 0, "old")?;
                let new = self.needed(&mut given, 1, "new")?;
                let (old, new) = (self.string(&old)?, self.string(&new)?);
                let count = match given.take(2, "count") {
                    Some(count) => usize::try_from(self.int(&count)?).unwrap_or(usize::MAX),
                    None => usize::MAX,
                };
                let hits = if old.is_empty() { text.len() + 1 } else { text.len() / old.len() };
                self.spend(hits.saturating_mul(new.len()))?;
                Value::str(text.replacen(&*old, &new, count))
            }
            "find" | "rfind" | "index" | "count" => {
                let part = self.needed(&mut given, 0, "sub")?;
                let part = self.string(&part)?;
                if name == "count" {
                    Value::Int(text.matches(&*part).count() as i64)
                } else {
                    let at = if name == "rfind" { text.rfind(&*part) } else { text.find(&*part) };
                    let at = at.map(|at| text.get(..at).unwrap_or_default().chars().count() as i64);
                    match at {
                        None if name == "index" => {
                            return self.raise("ValueError", "substring not found");
                        }
                        at => Value::Int(at.unwrap_or(-1)),
                    }
                }
            }
            "partition" | "rpartition" => {
                let separator = self.needed(&mut given, 0, "sep")?;
                let separator = self.string(&separator)?;
                let parts = match name {
                    "partition" => text.split_once(&*separator),
                    _ => text.rsplit_once(&*separator),
                };
                let parts = match (parts, name) {
                    (Some((before, after)), _) => [before, &*separator, after],
                    (None, "partition") => [&**text, "", ""],
                    (None, _) => ["", "", &**text],
                };
                self.new_tuple(parts.into_iter().map(Value::str).collect())?
            }
            "removeprefix" | "removesuffix" => {
                let affix = self.needed(&mut given, 0, "prefix")?;
                let affix = self.string(&affix)?;
                let rest = match name {
                    "removeprefix" => text.strip_prefix(&*affix),
                    _ => text.strip_suffix(&*affix),
                };
                Value::str(rest.unwrap_or(text))
            }
            "zfill" | "ljust" | "rjust" | "center" => {
                let width = self.needed(&mut given, 0, "width")?;
                let width = self.int(&width)?.max(0);
                let fill = match (name, given.take(1, "fillchar")) {
                    ("zfill", _) => "0".into(),
                    (_, Some(fill)) => self.string(&fill)?,
                    (_, None) => " ".into(),
                };
                let align = match name {
                    "ljust" => '<',
                    "center" => '^',
                    "zfill" => '=',
                    _ => '>',
                };
                let specification = format!("{fill}{align}{width}");
                Value::str(self.formatted(&Value::Str(Arc::clone(text)), &specification)?)
            }
            _ => return refuse(format!("the method '{name}' of strings is not supported here")),
        };
        self.done(given)?;
        Ok(result)
    }

    fn split(
        &mut self,
        text: &str,
        name: &str,
        given: &mut LibraryArguments,
    ) -> Outcome<Vec<String>> {
        if name == "splitlines" {
            return Ok(text.lines().map(str::to_owned).collect());
        }
        let separator = match given.take(0, "sep") {
            None | Some(Value::None) => None,
            Some(separator) => Some(self.string(&separator)?),
        };
        let most = match given.take(1, "maxsplit") {
            Some(most) => usize::try_from(self.int(&most)?).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        let count = most.saturating_add(1);
        let Some(separator) = separator else {
            if most != usize::MAX {
                return refuse("splitting a string at blanks so many times is not supported here");
            }
            return Ok(text.split_whitespace().map(str::to_owned).collect());
        };
        if separator.is_empty() {
            return self.raise("ValueError", "empty separator");
        }
        Ok(match name {
            "split" => text.splitn(count, &*separator).map(str::to_owned).collect(),
            _ => {
                let mut parts: Vec<String> =
                    text.rsplitn(count, &*separator).map(str::to_owned).collect();
                parts.reverse();
                parts
            }
        })
    }
}

fn all(text: &str, holds: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(holds)
}

fn titled(text: &str) -> String {
    let mut made = String::new();
    let mut in_word = false;
    for c in text.chars() {
        match in_word {
            true => made.extend(c.to_lowercase()),
            false => made.extend(c.to_uppercase()),
        }
        in_word = c.is_alphabetic();
    }
    made
}

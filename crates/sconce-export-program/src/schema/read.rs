//! Values out of JSON, with the place in it for messages.

use std::fmt::Write;

use indexmap::IndexMap;

use crate::Error;
use crate::json::{Json, Writer, float_text};

/// Keys that a structure does not know, as they stand in the file.
pub type Extra = Vec<(Box<str>, Json)>;

/// An object whose keys are names, in the file's order.
pub type Map<T> = IndexMap<String, T>;

/// What is read from and written as JSON.
pub(crate) trait Value: Sized {
    fn read(json: Json, at: &Place<'_>) -> Result<Self, Error>;
    fn write(&self, out: &mut Writer);
}

/// A place in a document.
pub(crate) enum Place<'a> {
    Root,
    Key(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl<'a> Place<'a> {
    pub(crate) fn key(&'a self, key: &'a str) -> Place<'a> {
        Place::Key(self, key)
    }

    fn item(&'a self, index: usize) -> Place<'a> {
        Place::Item(self, index)
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::malformed(message).at_path(self.path())
    }

    fn wrong(&self, wanted: &str, found: &Json) -> Error {
        self.error(format!("{wanted} is expected, but {} was found", found.type_name()))
    }

    fn path(&self) -> String {
        let mut steps = Vec::new();
        let mut place = self;
        loop {
            match place {
                Place::Root => break,
                Place::Key(outer, _) | Place::Item(outer, _) => {
                    steps.push(place);
                    place = outer;
                }
            }
        }
        let mut path = String::from("$");
        for step in steps.iter().rev() {
            // Writing to a String cannot fail.
            let _ = match step {
                Place::Key(_, key) if is_plain(key) => write!(path, ".{key}"),
                Place::Key(_, key) => write!(path, "[\"{}\"]", key.escape_debug()),
                Place::Item(_, index) => write!(path, "[{index}]"),
                Place::Root => Ok(()),
            };
        }
        path
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The entries of an object that is to be a structure.
pub(crate) fn entries(
    json: Json,
    name: &str,
    at: &Place<'_>,
) -> Result<Vec<(Box<str>, Json)>, Error> {
    match json {
        Json::Object(entries) => Ok(entries),
        other => Err(at.wrong(&format!("an object ({name})"), &other)),
    }
}

/// The one entry of an object that is to be a union.
pub(crate) fn only_entry(
    json: Json,
    name: &str,
    at: &Place<'_>,
) -> Result<(Box<str>, Json), Error> {
    let mut entries = entries(json, name, at)?;
    match (entries.len(), entries.pop()) {
        (1, Some(entry)) => Ok(entry),
        (count, _) => {
            Err(at.error(format!("expected dict with 1 key, got {count} (a union {name})")))
        }
    }
}

pub(crate) fn unknown_tag(name: &str, tag: &str, at: &Place<'_>) -> Error {
    let shown: String = tag.chars().take(60).collect();
    at.error(format!("\"{}\" is not a kind of {name}", shown.escape_debug()))
}

impl Value for Json {
    fn read(json: Json, _: &Place<'_>) -> Result<Self, Error> {
        Ok(json)
    }

    fn write(&self, out: &mut Writer) {
        out.json(self);
    }
}

impl Value for bool {
    fn read(json: Json, at: &Place<'_>) -> Result<Self, Error> {
        match json {
            Json::Bool(value) => Ok(value),
            other => Err(at.wrong("a boolean", &other)),
        }
    }

    fn write(&self, out: &mut Writer) {
        out.raw(if *self { "true" } else { "false" });
    }
}

impl Value for i64 {
    fn read(json: Json, at: &Place<'_>) -> Result<Self, Error> {
        let Json::Number(text) = &json else { return Err(at.wrong("an integer", &json)) };
        if let Ok(value) = text.parse() {
            return Ok(value);
        }
        let shown: String = text.chars().take(40).collect();
        let digits = text.strip_prefix('-').unwrap_or(text);
        Err(match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => at.error(format!("the integer {shown} does not fit 64 bits")),
            false => at.error(format!("an integer is expected, but {shown} was found")),
        })
    }

    fn write(&self, out: &mut Writer) {
        out.int(*self);
    }
}

impl Value for f64 {
    fn read(json: Json, at: &Place<'_>) -> Result<Self, Error> {
        let text = match &json {
            Json::Number(text) => text,
            // Infinities and NaN are written as strings; Python's `float` reads any number so.
            Json::String(text) => text,
            other => return Err(at.wrong("a number", other)),
        };
        text.parse().map_err(|_| {
            let shown: String = text.chars().take(40).collect();
            at.error(format!("could not convert string to float: '{}'", shown.escape_debug()))
        })
    }

    fn write(&self, out: &mut Writer) {
        match *self {
            value if value.is_nan() => out.raw("\"NaN\""),
            f64::INFINITY => out.raw("\"Infinity\""),
            f64::NEG_INFINITY => out.raw("\"-Infinity\""),
            value => out.raw(&float_text(value)),
        }
    }
}

impl Value for String {
    fn read(json: Json, at: &Place<'_>) -> Result<Self, Error> {
        match json {
            Json::String(text) => Ok(text.into()),
            other => Err(at.wrong("a string", &other)),
        }
    }

    fn write(&self, out: &mut Writer) {
        out.string(self);
    }
}

impl<T: Value> Value for Option<T> {
    fn read(json: Json, at: &Place<'_>) -> Result<Self, Error> {
        match json {
            Json::Null => Ok(None),
            other => T::read(other, at).map(Some),
        }
    }

    fn write(&self, out: &mut Writer) {
        match self {
            Some(value) => value.write(out),
            None => out.raw("null"),
        }
    }
}

impl<T: Value> Value for Vec<T> {
    fn read(json: Json, at: &Place<'_>) -> Result<Self, Error> {
        let Json::Array(items) = json else { return Err(at.wrong("a list", &json)) };
        items.into_iter().enumerate().map(|(index, item)| T::read(item, &at.item(index))).collect()
    }

    fn write(&self, out: &mut Writer) {
        out.open('[');
        for item in self {
            out.item();
            item.write(out);
        }
        out.close(']');
    }
}

impl<T: Value> Value for Map<T> {
    fn read(json: Json, at: &Place<'_>) -> Result<Self, Error> {
        let Json::Object(entries) = json else { return Err(at.wrong("an object", &json)) };
        let read = |(key, value): (Box<str>, Json)| {
            let value = T::read(value, &at.key(&key))?;
            Ok((String::from(key), value))
        };
        entries.into_iter().map(read).collect()
    }

    fn write(&self, out: &mut Writer) {
        out.open('{');
        for (key, value) in self {
            out.key(key);
            value.write(out);
        }
        out.close('}');
    }
}

impl<T: Value> Value for Box<T> {
    fn read(json: Json, at: &Place<'_>) -> Result<Self, Error> {
        T::read(json, at).map(Box::new)
    }

    fn write(&self, out: &mut Writer) {
        T::write(self, out);
    }
}

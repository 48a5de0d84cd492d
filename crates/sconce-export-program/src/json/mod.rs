//! JSON as Python's `json` module reads and writes it.
//!
//! Numbers keep their text, since Python's integers have any size; keys keep their order. Two equal keys in one
//! object are refused: readers differ on which of them counts. So are surrogates without their other half, which no
//! text of PyTorch has.

mod parse;
mod write;

pub use parse::{MAX_DEPTH, parse};
pub use write::{Writer, float_text};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it is written; also `NaN`, `Infinity` and `-Infinity`, which Python takes for numbers.
    Number(Box<str>),
    /// A text.
    String(Box<str>),
    /// A list.
    Array(Vec<Json>),
    /// Keys with their values, in the file's order; no key occurs twice.
    Object(Vec<(Box<str>, Json)>),
}

impl Json {
    /// What it is, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "a list",
            Json::Object(_) => "an object",
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        let Json::Object(entries) = self else { return None };
        entries.iter().find(|(known, _)| &**known == key).map(|(_, value)| value)
    }

    /// The text, where it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }
}

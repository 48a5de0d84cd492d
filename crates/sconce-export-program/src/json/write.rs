//! The writer: what `json.dumps` gives by default.

use std::fmt::Write;

use super::Json;

/// Writes JSON with Python's separators, in ASCII.
#[derive(Debug, Default)]
pub struct Writer {
    out: String,
    /// Whether the next item of the list or object comes first.
    first: bool,
    /// Whether keys that no structure knows are left out.
    known_only: bool,
}

impl Writer {
    /// Begins an empty text.
    pub fn new() -> Writer {
        Writer { out: String::new(), first: true, known_only: false }
    }

    /// Begins an empty text that is to have no keys but those that structures know.
    pub fn known_only() -> Writer {
        Writer { known_only: true, ..Writer::new() }
    }

    pub(crate) fn leaves_out_unknown(&self) -> bool {
        self.known_only
    }

    /// The text.
    pub fn finish(self) -> String {
        self.out
    }

    /// Writes text that is JSON already.
    pub fn raw(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Writes an integer.
    pub fn int(&mut self, value: i64) {
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{value}");
    }

    /// Writes a string.
    pub fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                ' '..='\u{7f}' => self.out.push(c),
                _ => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let _ = write!(self.out, "\\u{unit:04x}");
                    }
                }
            }
        }
        self.out.push('"');
    }

    /// Begins an object or a list: `{` or `[`.
    pub fn open(&mut self, bracket: char) {
        self.out.push(bracket);
        self.first = true;
    }

    /// Ends it: `}` or `]`.
    pub fn close(&mut self, bracket: char) {
        self.out.push(bracket);
        self.first = false;
    }

    /// Goes to the next item of a list.
    pub fn item(&mut self) {
        if !self.first {
            self.out.push_str(", ");
        }
        self.first = false;
    }

    /// Goes to the next key of an object.
    pub fn key(&mut self, key: &str) {
        self.item();
        self.string(key);
        self.out.push_str(": ");
    }

    /// Writes a value; as deep as [`MAX_DEPTH`](super::MAX_DEPTH) allows.
    pub fn json(&mut self, value: &Json) {
        match value {
            Json::Null => self.raw("null"),
            Json::Bool(true) => self.raw("true"),
            Json::Bool(false) => self.raw("false"),
            Json::Number(text) => self.raw(text),
            Json::String(text) => self.string(text),
            Json::Array(items) => {
                self.open('[');
                for item in items {
                    self.item();
                    self.json(item);
                }
                self.close(']');
            }
            Json::Object(entries) => {
                self.open('{');
                for (key, value) in entries {
                    self.key(key);
                    self.json(value);
                }
                self.close('}');
            }
        }
    }
}

/// Python's `repr` of a float: `1e-07`, `1e+22`, `0.1`, `2.0`, `inf`, `nan`.
pub fn float_text(value: f64) -> String {
    let mut text = String::new();
    sconce_pickle::repr::write_float(&mut text, value);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_pythons() {
        for (value, want) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (1e-7, "1e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e22, "1.5e+22"),
            (-2.5e-10, "-2.5e-10"),
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float_text(value), want);
        }
        assert_eq!(float_text(f64::NAN), "nan");
    }
}

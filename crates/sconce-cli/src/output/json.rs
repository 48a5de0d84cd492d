//! JSON that is safe to print on a terminal: hostile characters are `\u` escapes, which any JSON
//! reader turns back.

use std::io;

use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use super::escape::is_hostile;

/// A serde_json formatter that escapes what [`is_hostile`].
pub struct Safe<F>(F);

/// On a terminal, over several lines.
pub fn pretty() -> Safe<PrettyFormatter<'static>> {
    Safe(PrettyFormatter::new())
}

/// On one line.
pub fn compact() -> Safe<CompactFormatter> {
    Safe(CompactFormatter)
}

impl<F: Formatter> Formatter for Safe<F> {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_hostile) {
            writer.write_all(&rest.as_bytes()[..at])?;
            let c = rest[at..].chars().next().unwrap_or_default();
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W>(&mut self, writer: &mut W, first: bool) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W>(&mut self, writer: &mut W, first: bool) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    #[test]
    fn hostile_characters_become_escapes_that_read_back() {
        let name = "a\u{202e}b\u{9b}c\u{e0041}\"\n重";
        let mut out = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut out, compact());
        name.serialize(&mut serializer).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "\"a\\u202eb\\u009bc\\udb40\\udc41\\\"\\n重\"");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), name);
    }
}

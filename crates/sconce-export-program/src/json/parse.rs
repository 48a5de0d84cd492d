//! The reader. It keeps its own stack, so that depth costs memory alone, and that has a limit.

use std::collections::HashSet;

use super::Json;
use crate::{Error, ErrorKind};

/// Deepest nesting that is read. A graph within a graph takes eight levels; Python's own reader gives up before 1000.
pub const MAX_DEPTH: usize = 512;

/// Keys up to which an object is searched one by one for a key's double.
const FEW: usize = 8;

/// Reads one value, and nothing after it but white space.
///
/// # Errors
/// With the offset, when the text is not JSON, is nested deeper than [`MAX_DEPTH`], or an object has a key twice.
pub fn parse(text: &[u8]) -> Result<Json, Error> {
    let text = std::str::from_utf8(text).map_err(|error| {
        Error::malformed("the JSON is not UTF-8").at(error.valid_up_to() as u64)
    })?;
    let mut parser = Parser { text, bytes: text.as_bytes(), at: 0 };
    // Python strips a byte order mark when it is given bytes.
    if text.starts_with('\u{feff}') {
        parser.at = 3;
    }
    let value = parser.value()?;
    parser.space();
    if parser.at < parser.bytes.len() {
        return Err(parser.error("Extra data"));
    }
    Ok(value)
}

/// A list or object that is not complete.
enum Open {
    Array(Vec<Json>),
    Object { entries: Vec<(Box<str>, Json)>, key: Box<str>, keys: Keys },
}

/// The keys of an object that has more than a few.
#[derive(Default)]
struct Keys(HashSet<Box<str>>);

impl Keys {
    /// Whether `key` is new.
    fn add(&mut self, entries: &[(Box<str>, Json)], key: &str) -> bool {
        if entries.len() < FEW {
            return entries.iter().all(|(known, _)| &**known != key);
        }
        if self.0.is_empty() {
            self.0.extend(entries.iter().map(|(known, _)| known.clone()));
        }
        self.0.insert(key.into())
    }
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn error(&self, message: impl Into<String>) -> Error {
        Error::malformed(format!("invalid JSON: {}", message.into())).at(self.at as u64)
    }

    fn space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// White space and a key with its colon.
    fn key(&mut self, entries: &[(Box<str>, Json)], keys: &mut Keys) -> Result<Box<str>, Error> {
        self.space();
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.error("Expecting property name enclosed in double quotes"));
        }
        let key = self.string()?;
        if !keys.add(entries, &key) {
            self.at = start;
            return Err(self.error(format!("the key \"{}\" occurs twice", key.escape_debug())));
        }
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.error("Expecting ':' delimiter"));
        }
        self.at += 1;
        Ok(key)
    }

    fn value(&mut self) -> Result<Json, Error> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.space();
            let mut done = match self.peek() {
                Some(b'[' | b'{') if open.len() >= MAX_DEPTH => {
                    let message = format!("the JSON is nested deeper than {MAX_DEPTH} levels");
                    return Err(Error::new(ErrorKind::Limit, message).at(self.at as u64));
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if self.peek() != Some(b']') {
                        open.push(Open::Array(Vec::new()));
                        continue;
                    }
                    self.at += 1;
                    Json::Array(Vec::new())
                }
                Some(b'{') => {
                    self.at += 1;
                    self.space();
                    if self.peek() != Some(b'}') {
                        let mut keys = Keys::default();
                        let key = self.key(&[], &mut keys)?;
                        open.push(Open::Object { entries: Vec::new(), key, keys });
                        continue;
                    }
                    self.at += 1;
                    Json::Object(Vec::new())
                }
                _ => self.scalar()?,
            };
            // What is complete goes into what it stands in, which may be complete then.
            loop {
                let Some(last) = open.pop() else { return Ok(done) };
                self.space();
                let next = self.peek();
                match last {
                    Open::Array(mut items) => {
                        items.push(done);
                        match next {
                            Some(b',') => {
                                self.at += 1;
                                open.push(Open::Array(items));
                                break;
                            }
                            Some(b']') => {
                                self.at += 1;
                                items.shrink_to_fit();
                                done = Json::Array(items);
                            }
                            _ => return Err(self.error("Expecting ',' delimiter")),
                        }
                    }
                    Open::Object { mut entries, key, mut keys } => {
                        entries.push((key, done));
                        match next {
                            Some(b',') => {
                                self.at += 1;
                                let key = self.key(&entries, &mut keys)?;
                                open.push(Open::Object { entries, key, keys });
                                break;
                            }
                            Some(b'}') => {
                                self.at += 1;
                                entries.shrink_to_fit();
                                done = Json::Object(entries);
                            }
                            _ => return Err(self.error("Expecting ',' delimiter")),
                        }
                    }
                }
            }
        }
    }

    fn scalar(&mut self) -> Result<Json, Error> {
        let rest = &self.bytes[self.at..];
        let words: [(&[u8], Json); 6] = [
            (b"null", Json::Null),
            (b"true", Json::Bool(true)),
            (b"false", Json::Bool(false)),
            (b"NaN", Json::Number("NaN".into())),
            (b"Infinity", Json::Number("Infinity".into())),
            (b"-Infinity", Json::Number("-Infinity".into())),
        ];
        match rest.first() {
            Some(b'"') => return Ok(Json::String(self.string()?)),
            Some(b'0'..=b'9' | b'-') if !rest.starts_with(b"-I") => return self.number(),
            _ => {}
        }
        for (word, value) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error("Expecting value"))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Json, Error> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => {
                self.digits();
            }
            _ => {
                self.at = start;
                return Err(self.error("Expecting value"));
            }
        }
        let whole = self.at;
        if self.peek() == Some(b'.') {
            self.at += 1;
            if self.digits() == 0 {
                self.at = whole;
            }
        }
        let fraction = self.at;
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                self.at = fraction;
            }
        }
        Ok(Json::Number(self.text[start..self.at].into()))
    }

    /// A string; the parser stands at its quote.
    fn string(&mut self) -> Result<Box<str>, Error> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        let mut from = self.at;
        loop {
            match self.peek() {
                None => {
                    self.at = start;
                    return Err(self.error("Unterminated string starting here"));
                }
                Some(b'"') => {
                    let part = &self.text[from..self.at];
                    self.at += 1;
                    if out.is_empty() {
                        return Ok(part.into());
                    }
                    out.push_str(part);
                    return Ok(out.into());
                }
                Some(b'\\') => {
                    out.push_str(&self.text[from..self.at]);
                    out.push(self.escape()?);
                    from = self.at;
                }
                Some(0..0x20) => return Err(self.error("Invalid control character")),
                Some(_) => self.at += 1,
            }
        }
    }

    /// An escape; the parser stands at its backslash.
    fn escape(&mut self) -> Result<char, Error> {
        let plain = match self.bytes.get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.error("Invalid \\escape")),
        };
        self.at += 2;
        Ok(plain)
    }

    /// `\uXXXX`, or two of them for a character beyond the first 65536.
    fn unicode(&mut self) -> Result<char, Error> {
        let Some(first) = self.hex(self.at) else {
            return Err(self.error("Invalid \\uXXXX escape"));
        };
        if let Some(found) = char::from_u32(first) {
            self.at += 6;
            return Ok(found);
        }
        let low = self.hex(self.at + 6).filter(|low| (0xdc00..0xe000).contains(low));
        match low.filter(|_| first < 0xdc00) {
            Some(low) => {
                self.at += 12;
                let code = 0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00);
                char::from_u32(code).ok_or_else(|| self.error("Invalid \\uXXXX escape"))
            }
            None => Err(self.error("a surrogate stands alone, so the text is not Unicode")),
        }
    }

    /// The number of an escape `\uXXXX` at `at`.
    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |sum, &digit| Some(sum * 16 + char::from(digit).to_digit(16)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &str) -> String {
        match parse(bytes.as_bytes()) {
            Ok(value) => {
                let mut out = crate::json::Writer::new();
                out.json(&value);
                out.finish()
            }
            Err(error) => format!("! {error}"),
        }
    }

    #[test]
    fn as_pythons_json_reads_and_writes() {
        for (given, want) in [
            ("null", "null"),
            (" [ ] ", "[]"),
            ("{ }", "{}"),
            (
                "[1,-2.5e+10, 123456789012345678901234567890]",
                "[1, -2.5e+10, 123456789012345678901234567890]",
            ),
            (
                r#"{"a":{"b":[true,false,NaN,-Infinity]}}"#,
                r#"{"a": {"b": [true, false, NaN, -Infinity]}}"#,
            ),
            (r#""\u00e9\ud83d\ude00\/\n\u007f""#, "\"\\u00e9\\ud83d\\ude00/\\n\u{7f}\""),
            ("\"é\"", r#""\u00e9""#),
            ("\u{feff}1", "1"),
        ] {
            assert_eq!(text(given), want);
        }
    }

    #[test]
    fn what_is_not_json_says_where() {
        for (given, want) in [
            ("", "invalid JSON: Expecting value (@ 0x0)"),
            ("[1, 2", "invalid JSON: Expecting ',' delimiter (@ 0x5)"),
            ("[1,]", "invalid JSON: Expecting value (@ 0x3)"),
            ("{\"a\" 1}", "invalid JSON: Expecting ':' delimiter (@ 0x5)"),
            (
                "{\"a\": 1, }",
                "invalid JSON: Expecting property name enclosed in double quotes (@ 0x9)",
            ),
            ("{\"a\": 1, \"a\": 2}", "invalid JSON: the key \"a\" occurs twice (@ 0x9)"),
            ("\"abc", "invalid JSON: Unterminated string starting here (@ 0x0)"),
            ("\"\\x\"", "invalid JSON: Invalid \\escape (@ 0x1)"),
            (
                "\"\\ud800\"",
                "invalid JSON: a surrogate stands alone, so the text is not Unicode (@ 0x1)",
            ),
            ("\"a\nb\"", "invalid JSON: Invalid control character (@ 0x2)"),
            ("01", "invalid JSON: Extra data (@ 0x1)"),
            ("-", "invalid JSON: Expecting value (@ 0x0)"),
            ("1.", "invalid JSON: Extra data (@ 0x1)"),
        ] {
            assert_eq!(text(given), format!("! {want}"));
        }
        let error = parse(b"\"\xff\"").unwrap_err();
        assert_eq!(error.to_string(), "the JSON is not UTF-8 (@ 0x1)");
    }

    #[test]
    fn depth_is_limited_and_needs_no_stack() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(deep(MAX_DEPTH).as_bytes()).is_ok());
        let error = parse(deep(1_000_000).as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let objects = "{\"a\":".repeat(1_000_000);
        assert_eq!(parse(objects.as_bytes()).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn an_object_of_many_keys_knows_them_all() {
        let keys: Vec<String> = (0..1000).map(|key| format!("\"k{key}\": {key}")).collect();
        let all = format!("{{{}}}", keys.join(", "));
        assert_eq!(text(&all), all);
        let twice = format!("{{{}, \"k3\": 0}}", keys.join(", "));
        assert!(text(&twice).contains("the key \"k3\" occurs twice"));
    }
}

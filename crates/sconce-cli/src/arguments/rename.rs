//! `--rename`: names that change by a regular expression, or one by one.

use regex::{Regex, RegexBuilder};

/// What may stand between the parts of `s/…/…/`.
const DELIMITERS: [char; 6] = ['/', '|', '#', ',', '@', '!'];

/// How names change.
#[derive(Debug, Clone)]
pub enum Rename {
    /// `s/pattern/replacement/flags`.
    Pattern {
        /// What is looked for.
        pattern: Regex,
        /// What is put there; `$1` and `${name}` are groups.
        replacement: String,
        /// Whether every match is replaced, not just the first.
        all: bool,
    },
    /// `OLD=NEW`.
    Exact(String, String),
}

impl Rename {
    /// Reads what is on the command line.
    pub fn parse(text: &str) -> Result<Rename, String> {
        let mut chars = text.chars();
        let delimiter = match (chars.next(), chars.next()) {
            (Some('s'), Some(delimiter)) if DELIMITERS.contains(&delimiter) => delimiter,
            _ => {
                let exact = text.split_once('=').filter(|(old, _)| !old.is_empty());
                let (old, new) = exact.ok_or("neither s/PATTERN/REPLACEMENT/ nor OLD=NEW")?;
                return Ok(Rename::Exact(old.to_owned(), new.to_owned()));
            }
        };
        let parts = split(chars.as_str(), delimiter);
        let [pattern, replacement, flags] = &parts[..] else {
            return Err(format!("s{delimiter} has two more {delimiter} behind it"));
        };
        if let Some(flag) = flags.chars().find(|flag| !matches!(flag, 'g' | 'i')) {
            return Err(format!("there is no flag '{flag}': g replaces all, i ignores case"));
        }
        let pattern = RegexBuilder::new(pattern)
            .case_insensitive(flags.contains('i'))
            .build()
            .map_err(|error| error.to_string())?;
        let replacement = groups(replacement);
        Ok(Rename::Pattern { pattern, replacement, all: flags.contains('g') })
    }

    /// [`Rename::parse`], with nothing for an option without a value.
    pub fn parse_or_find(text: &str) -> Result<Option<Rename>, String> {
        match text {
            "" => Ok(None),
            text => Rename::parse(text).map(Some),
        }
    }

    /// The name after it, if that is another.
    pub fn apply(&self, name: &str) -> Option<String> {
        let new = match self {
            Rename::Exact(old, new) => (old == name).then(|| new.clone())?,
            Rename::Pattern { pattern, replacement, all } => {
                let most = if *all { 0 } else { 1 };
                pattern.replacen(name, most, replacement.as_str()).into_owned()
            }
        };
        (new != name).then_some(new)
    }
}

/// The name after all of them, one after the other.
pub fn apply_all(rules: &[Rename], name: &str) -> String {
    let start = name.to_owned();
    rules.iter().fold(start, |name, rule| rule.apply(&name).unwrap_or(name))
}

/// The parts between delimiters; behind a backslash a delimiter is a plain character.
fn split(text: &str, delimiter: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let plain = match c {
            '\\' => match chars.next() {
                Some(next) if next == delimiter => next.to_string(),
                Some(next) => format!("\\{next}"),
                None => "\\".to_owned(),
            },
            c if c == delimiter => {
                parts.push(String::new());
                continue;
            }
            c => c.to_string(),
        };
        if let Some(part) = parts.last_mut() {
            part.push_str(&plain);
        }
    }
    parts
}

/// sed's `\1` in the crate's spelling, in which a number must be fenced off from what follows it.
fn groups(replacement: &str) -> String {
    let mut out = String::new();
    let mut chars = replacement.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\' | '$', Some(digit)) if digit.is_ascii_digit() => {
                out.push_str(&format!("${{{digit}}}"));
                chars.next();
            }
            ('\\', Some(_)) => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_change() {
        let cases = [
            ("s/^module\\.//", "module.fc.weight", Some("fc.weight")),
            ("s/^module\\.//", "fc.module.weight", None),
            ("s/a/b/", "aa", Some("ba")),
            ("s/a/b/g", "aa", Some("bb")),
            ("s|A|b|gi", "aa", Some("bb")),
            ("s/l(\\d+)\\.(w)/\\2_$1x/", "l12.w", Some("w_12x")),
            ("s,a/b,c\\,d,", "a/b", Some("c,d")),
            ("s/\\//./", "a/b", Some("a.b")),
            ("fc.weight=head.weight", "fc.weight", Some("head.weight")),
            ("fc.weight=head.weight", "fc.weight2", None),
            ("state=x", "state", Some("x")),
            ("s/a/a/", "a", None),
        ];
        for (text, name, want) in cases {
            let rename = Rename::parse(text).unwrap();
            assert_eq!(rename.apply(name).as_deref(), want, "{text} {name}");
        }
        for text in ["", "x", "=x", "s/a", "s/a/b", "s/a/b/c/", "s/(/x/", "s/a/b/q"] {
            assert!(Rename::parse(text).is_err(), "{text}");
        }
    }
}

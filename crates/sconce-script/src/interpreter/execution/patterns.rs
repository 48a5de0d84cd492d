//! Regular expressions: what `re` does. Patterns that look around or back may try so often and no more.

use std::sync::Arc;

use fancy_regex::{Captures, Regex, RegexBuilder};

use super::super::arguments::LibraryArguments;
use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Cell, Found, Value};
use super::Interpreter;

/// How large a pattern may get once it is compiled.
const MAX_SIZE: usize = 1 << 20;
/// How often a pattern that looks around may try.
const MAX_TRIES: usize = 1 << 18;

const METHODS: &[&str] = &["match", "search", "fullmatch", "sub", "findall", "finditer", "split"];
const METHODS_OF_MATCHES: &[&str] = &["group", "groups", "groupdict", "start", "end", "span"];

/// Flags by their names in `re`, their numbers, and what stands for them in a pattern.
const FLAGS: &[(&str, &str, i64, &str)] = &[
    ("I", "IGNORECASE", 2, "i"),
    ("M", "MULTILINE", 8, "m"),
    ("S", "DOTALL", 16, "s"),
    ("U", "UNICODE", 32, ""),
    ("X", "VERBOSE", 64, "x"),
];

/// `re.IGNORECASE` as a number.
pub(in super::super) fn flag(name: &str) -> Option<i64> {
    FLAGS.iter().find(|(short, long, ..)| [*short, *long].contains(&name)).map(|flag| flag.2)
}

impl Interpreter<'_> {
    /// `re.compile(…)`, `re.match(pattern, text)` and the like.
    pub(super) fn call_re(
        &mut self,
        name: &str,
        given: &mut LibraryArguments,
    ) -> Outcome<Option<Value>> {
        let Some(function) = name.strip_prefix("re.") else { return Ok(None) };
        if function == "escape" {
            let text = self.needed(given, 0, "pattern")?;
            let text = self.string(&text)?;
            return Ok(Some(Value::str(regex::escape(&text))));
        }
        if function != "compile" && !METHODS.contains(&function) {
            return Ok(None);
        }
        let pattern = self.needed(given, 0, "pattern")?;
        let count = given.take(usize::MAX, "count");
        let mut flags = given.take(usize::MAX, "flags");
        let mut rest = given.rest();
        // Behind what the function works on.
        let own = match function {
            "compile" => 0,
            "sub" => 3,
            "split" => 2,
            _ => 1,
        };
        if rest.len() == own + 1 {
            flags = rest.pop();
        }
        if let (Some(count), "sub") = (count, function) {
            rest.truncate(2);
            rest.push(count);
        }
        let pattern = match self.arena.cell(&pattern) {
            Some(Cell::Pattern(pattern)) => Arc::clone(pattern),
            _ => {
                let text = self.string(&pattern)?;
                let flags = self.flags(flags.as_ref())?;
                self.compiled(&format!("{flags}{text}"))?
            }
        };
        if function == "compile" {
            return self.new_cell(Cell::Pattern(pattern)).map(Some);
        }
        self.matched(&pattern, function, &rest).map(Some)
    }

    /// `(?i)` for `re.IGNORECASE`.
    fn flags(&mut self, flags: Option<&Value>) -> Outcome<String> {
        let Some(flags) = flags else { return Ok(String::new()) };
        let mut left = self.int(flags)?;
        let mut letters = String::new();
        for (_, _, number, letter) in FLAGS {
            if left & number != 0 {
                letters.push_str(letter);
                left &= !number;
            }
        }
        match (left, letters.is_empty()) {
            (0, true) => Ok(letters),
            (0, false) => Ok(format!("(?{letters})")),
            _ => refuse(
                "of the flags of regular expressions only I, M, S, U and X are supported here",
            ),
        }
    }

    fn compiled(&mut self, text: &str) -> Outcome<Arc<Regex>> {
        self.spend(text.len().saturating_mul(64))?;
        // Python's end of the text.
        let own = text.replace(r"\Z", r"\z");
        let mut builder = RegexBuilder::new(&own);
        match builder.delegate_size_limit(MAX_SIZE).backtrack_limit(MAX_TRIES).build() {
            Ok(pattern) => Ok(Arc::new(pattern)),
            Err(_) => refuse(format!("the regular expression '{text}' is not supported here")),
        }
    }

    /// What a pattern finds from a place on.
    fn captured<'t>(
        &mut self,
        pattern: &Regex,
        text: &'t str,
        from: usize,
    ) -> Outcome<Option<Captures<'t>>> {
        self.step()?;
        match pattern.captures_from_pos(text, from) {
            Ok(captures) => Ok(captures),
            Err(_) => {
                // It has worked for that long.
                self.steps = self.steps.saturating_add(MAX_TRIES as u64);
                refuse(format!("the regular expression '{}' takes too long", pattern.as_str()))
            }
        }
    }

    /// All that a pattern finds, one behind the other.
    fn all_captured<'t>(
        &mut self,
        pattern: &Regex,
        text: &'t str,
        most: usize,
    ) -> Outcome<Vec<Captures<'t>>> {
        let (mut found, mut from) = (Vec::new(), 0);
        while found.len() < most && from <= text.len() {
            let Some(captures) = self.captured(pattern, text, from)? else { break };
            let Some(whole) = captures.get(0) else { break };
            let (start, end) = (whole.start(), whole.end());
            let next = text[end..].chars().next().map_or(1, char::len_utf8);
            // As since Python 3.7: nothing may be found where something ended, but not twice in one place.
            from = if start == end { end + next } else { end };
            self.spend(size_of::<Captures<'_>>() * pattern.captures_len().max(1))?;
            found.push(captures);
        }
        Ok(found)
    }

    pub(in super::super) fn pattern_attribute(
        &mut self,
        value: &Value,
        name: &str,
    ) -> Outcome<Option<Value>> {
        match name {
            name if METHODS.contains(&name) => {
                self.new_cell(Cell::BuiltinMethod(value.clone(), name.into())).map(Some)
            }
            "pattern" => match self.arena.cell(value) {
                Some(Cell::Pattern(pattern)) => Ok(Some(Value::str(pattern.as_str()))),
                _ => Ok(None),
            },
            _ => refuse(format!("'{name}' of regular expressions is not supported here")),
        }
    }

    pub(in super::super) fn match_attribute(
        &mut self,
        value: &Value,
        name: &str,
    ) -> Outcome<Option<Value>> {
        match METHODS_OF_MATCHES.contains(&name) {
            true => self.new_cell(Cell::BuiltinMethod(value.clone(), name.into())).map(Some),
            false => refuse(format!("'{name}' of matches is not supported here")),
        }
    }

    /// `pattern.match(text)` and the like.
    pub(in super::super) fn matched(
        &mut self,
        pattern: &Arc<Regex>,
        function: &str,
        args: &[Value],
    ) -> Outcome<Value> {
        self.step()?;
        match (function, args) {
            ("match" | "search" | "fullmatch", [text]) => {
                let text = self.string(text)?;
                self.spend(text.len())?;
                let first = self.captured(pattern, &text, 0)?;
                let is_there = first.is_some();
                let found = first.filter(|captures| {
                    let whole = captures.get(0);
                    whole.is_some_and(|whole| match function {
                        "match" => whole.start() == 0,
                        "fullmatch" => whole.start() == 0 && whole.end() == text.len(),
                        _ => true,
                    })
                });
                // Where a match elsewhere hides one at the beginning, or a shorter one the whole.
                let hidden = found.is_none() && function != "search" && is_there;
                match found {
                    Some(captures) => {
                        let found = found_of(pattern, &captures, &text);
                        self.new_cell(Cell::Match(found))
                    }
                    None if hidden => self.anchored(pattern, function, &text),
                    None => Ok(Value::None),
                }
            }
            ("sub", [replacement, text, count @ ..]) if count.len() <= 1 => {
                let text = self.string(text)?;
                let most = match count.first() {
                    Some(count) => match usize::try_from(self.int(count)?).unwrap_or(0) {
                        0 => usize::MAX,
                        count => count,
                    },
                    None => usize::MAX,
                };
                let mut made = String::new();
                let mut at = 0;
                for captures in self.all_captured(pattern, &text, most)? {
                    let Some(whole) = captures.get(0) else { continue };
                    made.push_str(text.get(at..whole.start()).unwrap_or_default());
                    at = whole.end();
                    match replacement {
                        Value::Str(template) => made.push_str(&expanded(template, &captures)),
                        function => {
                            let found = found_of(pattern, &captures, &text);
                            let found = self.new_cell(Cell::Match(found))?;
                            let part = self.call(&function.clone(), vec![found], Vec::new())?;
                            made.push_str(&self.string(&part)?);
                        }
                    }
                    self.spend(made.len())?;
                }
                made.push_str(text.get(at..).unwrap_or_default());
                self.new_str(made)
            }
            ("findall", [text]) => {
                let text = self.string(text)?;
                let groups = pattern.captures_len();
                let mut found = Vec::new();
                for captures in self.all_captured(pattern, &text, usize::MAX)? {
                    let part =
                        |at: usize| Value::str(captures.get(at).map_or("", |part| part.as_str()));
                    found.push(match groups {
                        0..=2 => part(groups.saturating_sub(1)),
                        _ => {
                            let parts = (1..groups).map(part).collect();
                            self.new_tuple(parts)?
                        }
                    });
                }
                self.new_list(found)
            }
            ("finditer", [text]) => {
                let text = self.string(text)?;
                let mut found = Vec::new();
                for captures in self.all_captured(pattern, &text, usize::MAX)? {
                    let one = found_of(pattern, &captures, &text);
                    found.push(self.new_cell(Cell::Match(one))?);
                }
                self.new_iterator(found)
            }
            ("split", [text]) => {
                let text = self.string(text)?;
                let (mut parts, mut at) = (Vec::new(), 0);
                for captures in self.all_captured(pattern, &text, usize::MAX)? {
                    let Some(whole) = captures.get(0) else { continue };
                    parts.push(Value::str(text.get(at..whole.start()).unwrap_or_default()));
                    at = whole.end();
                    let groups = captures.iter().skip(1);
                    parts
                        .extend(groups.map(|part| {
                            part.map_or(Value::None, |part| Value::str(part.as_str()))
                        }));
                }
                parts.push(Value::str(text.get(at..).unwrap_or_default()));
                self.new_list(parts)
            }
            _ => refuse(format!("re.{function} with these arguments is not supported here")),
        }
    }

    /// A match that begins where the text does, and ends where it does if it is to be all of it.
    fn anchored(&mut self, pattern: &Regex, function: &str, text: &str) -> Outcome<Value> {
        let end = if function == "fullmatch" { r"\z" } else { "" };
        let anchored = self.compiled(&format!(r"\A(?:{}){end}", pattern.as_str()))?;
        match self.captured(&anchored, text, 0)? {
            Some(captures) => {
                let found = found_of(&anchored, &captures, text);
                self.new_cell(Cell::Match(found))
            }
            None => Ok(Value::None),
        }
    }

    /// `match.group(1)` and the like.
    pub(in super::super) fn match_method(
        &mut self,
        value: &Value,
        name: &str,
        args: &[Value],
    ) -> Outcome<Value> {
        let Some(Cell::Match(found)) = self.arena.cell(value) else { return refuse("no match") };
        let found = found.clone();
        let text = |group: &Option<Arc<str>>| {
            group.as_ref().map_or(Value::None, |text| Value::Str(Arc::clone(text)))
        };
        match (name, args) {
            ("group", []) => Ok(found.groups.first().map_or(Value::None, text)),
            ("group", [_, _, ..]) => {
                let mut parts = Vec::new();
                for index in args {
                    parts.push(self.match_method(value, name, std::slice::from_ref(index))?);
                }
                self.new_tuple(parts)
            }
            ("start" | "end" | "span", [] | [Value::Int(_)]) => {
                let at = args.first().and_then(Value::as_int).unwrap_or(0);
                let Some(span) = usize::try_from(at).ok().and_then(|at| found.spans.get(at)) else {
                    return self.raise("IndexError", "no such group");
                };
                let (start, end) = span.unwrap_or((-1, -1));
                match name {
                    "start" => Ok(Value::Int(start)),
                    "end" => Ok(Value::Int(end)),
                    _ => self.new_tuple(vec![Value::Int(start), Value::Int(end)]),
                }
            }
            ("group", [index]) => {
                let at = match index {
                    Value::Str(name) => {
                        found.names.iter().position(|known| known.as_deref() == Some(&**name))
                    }
                    other => usize::try_from(self.int(other)?).ok(),
                };
                match at.and_then(|at| found.groups.get(at)) {
                    Some(group) => Ok(text(group)),
                    None => self.raise("IndexError", "no such group"),
                }
            }
            ("groups", []) => {
                let groups = found.groups.iter().skip(1).map(text).collect();
                self.new_tuple(groups)
            }
            ("groupdict", []) => {
                let named = found.names.iter().zip(&found.groups);
                let entries = named
                    .filter_map(|(name, group)| Some((Arc::clone(name.as_ref()?), text(group))));
                let entries = entries.collect();
                self.dict_of(entries)
            }
            _ => refuse(format!("match.{name} with these arguments is not supported here")),
        }
    }
}

fn found_of(pattern: &Regex, captures: &Captures<'_>, text: &str) -> Found {
    let characters = |at: usize| text[..at].chars().count() as i64;
    Found {
        groups: captures.iter().map(|group| group.map(|group| group.as_str().into())).collect(),
        spans: captures
            .iter()
            .map(|group| group.map(|group| (characters(group.start()), characters(group.end()))))
            .collect(),
        names: pattern.capture_names().map(|name| name.map(Arc::from)).collect(),
    }
}

/// `\1` and `\g<name>` of a replacement.
fn expanded(template: &str, captures: &Captures<'_>) -> String {
    let mut made = String::new();
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            made.push(c);
            continue;
        }
        let group = match chars.next() {
            Some(digit) if digit.is_ascii_digit() => {
                let mut name = digit.to_string();
                if let Some(second) = chars.next_if(char::is_ascii_digit) {
                    name.push(second);
                }
                name
            }
            Some('g') if chars.next_if_eq(&'<').is_some() => {
                chars.by_ref().take_while(|&c| c != '>').collect()
            }
            Some('n') => {
                made.push('\n');
                continue;
            }
            Some('t') => {
                made.push('\t');
                continue;
            }
            Some(other) => {
                made.push(other);
                continue;
            }
            None => break,
        };
        let found = match group.parse::<usize>() {
            Ok(at) => captures.get(at),
            Err(_) => captures.name(&group),
        };
        made.push_str(found.map_or("", |found| found.as_str()));
    }
    made
}

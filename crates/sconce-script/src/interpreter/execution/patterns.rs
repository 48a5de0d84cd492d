//! Regular expressions: what `re` does with patterns that need no looking around and no backtracking.

use std::sync::Arc;

use regex::{Captures, Regex, RegexBuilder};

use super::super::arguments::LibraryArguments;
use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Cell, Found, Value};
use super::Interpreter;

/// How large a pattern may get once it is compiled.
const MAX_SIZE: usize = 1 << 20;

const METHODS: &[&str] = &["match", "search", "fullmatch", "sub", "findall", "split"];
const METHODS_OF_MATCHES: &[&str] = &["group", "groups", "groupdict"];

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
        let pattern = match self.arena.cell(&pattern) {
            Some(Cell::Pattern(pattern)) => Arc::clone(pattern),
            _ => {
                let text = self.string(&pattern)?;
                self.compiled(&text)?
            }
        };
        if given.take(usize::MAX, "flags").is_some() {
            return refuse("flags of regular expressions are not supported here");
        }
        let rest = given.rest();
        if function == "compile" {
            return match rest.is_empty() {
                true => self.new_cell(Cell::Pattern(pattern)).map(Some),
                false => refuse("flags of regular expressions are not supported here"),
            };
        }
        self.matched(&pattern, function, &rest).map(Some)
    }

    fn compiled(&mut self, text: &str) -> Outcome<Arc<Regex>> {
        self.spend(text.len().saturating_mul(64))?;
        match RegexBuilder::new(text).size_limit(MAX_SIZE).build() {
            Ok(pattern) => Ok(Arc::new(pattern)),
            Err(_) => refuse(format!("the regular expression '{text}' is not supported here")),
        }
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
                let found = pattern.captures_at(&text, 0).filter(|captures| {
                    let whole = captures.get(0);
                    whole.is_some_and(|whole| match function {
                        "match" => whole.start() == 0,
                        "fullmatch" => whole.start() == 0 && whole.end() == text.len(),
                        _ => true,
                    })
                });
                // Where a match elsewhere hides one at the beginning, or a shorter one the whole.
                let hidden = found.is_none() && function != "search" && pattern.is_match(&text);
                match found {
                    Some(captures) => {
                        let found = found_of(pattern, &captures);
                        self.new_cell(Cell::Match(found))
                    }
                    None if hidden => self.anchored(pattern, function, &text),
                    None => Ok(Value::None),
                }
            }
            ("sub", [replacement, text]) => {
                let text = self.string(text)?;
                let mut made = String::new();
                let mut at = 0;
                for captures in pattern.captures_iter(&text) {
                    self.step()?;
                    let Some(whole) = captures.get(0) else { continue };
                    made.push_str(text.get(at..whole.start()).unwrap_or_default());
                    at = whole.end();
                    match replacement {
                        Value::Str(template) => made.push_str(&expanded(template, &captures)),
                        function => {
                            let found = found_of(pattern, &captures);
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
            ("findall", [text]) if pattern.captures_len() <= 2 => {
                let text = self.string(text)?;
                let group = pattern.captures_len() - 1;
                let mut found = Vec::new();
                for captures in pattern.captures_iter(&text) {
                    self.step()?;
                    let part = captures.get(group).map_or("", |part| part.as_str());
                    found.push(Value::str(part));
                }
                self.new_list(found)
            }
            ("split", [text]) if pattern.captures_len() == 1 => {
                let text = self.string(text)?;
                self.spend_items(text.len())?;
                let parts = pattern.split(&text).map(Value::str).collect();
                self.new_list(parts)
            }
            _ => refuse(format!("re.{function} with these arguments is not supported here")),
        }
    }

    /// A match that begins where the text does, and ends where it does if it is to be all of it.
    fn anchored(&mut self, pattern: &Regex, function: &str, text: &str) -> Outcome<Value> {
        let end = if function == "fullmatch" { r"\z" } else { "" };
        let anchored = self.compiled(&format!(r"\A(?:{}){end}", pattern.as_str()))?;
        match anchored.captures(text) {
            Some(captures) => {
                let found = found_of(&anchored, &captures);
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

fn found_of(pattern: &Regex, captures: &Captures<'_>) -> Found {
    Found {
        groups: captures.iter().map(|group| group.map(|group| group.as_str().into())).collect(),
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

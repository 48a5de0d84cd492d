//! What each operation of a call takes, by operator and by line. Every time is a median over the calls.

use std::collections::BTreeMap;

use sconce::run::{Error, ProfileEntry};
use sconce::syntax::SourceRange;
use serde::Serialize;

use super::measured::quantile;
use crate::call::input::Arguments;
use crate::call::session::Called;

/// What an operator takes of a call.
#[derive(Debug, Clone, Serialize)]
pub struct Share<'a> {
    pub operator: &'a str,
    /// What a fused operator computes one after the other.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub steps: &'a [&'static str],
    pub calls: f64,
    pub seconds: f64,
    pub share: f64,
}

/// What a function takes of a call, without what it calls.
#[derive(Debug, Clone, Serialize)]
pub struct FunctionShare {
    pub function: String,
    pub seconds: f64,
    pub share: f64,
    pub lines: Vec<LineShare>,
}

#[derive(Debug, Clone, Serialize)]
pub struct LineShare {
    /// File and line as written, or in the archive's code.
    pub place: String,
    pub text: String,
    pub seconds: f64,
    pub share: f64,
}

/// One operation of the program, where it stands.
#[derive(Debug, Clone, Serialize)]
pub struct Operation<'a> {
    pub operator: &'a str,
    /// As [`Share::steps`].
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub steps: &'a [&'static str],
    /// Which of its implementations the kernel took, where it has several.
    pub implementation: Option<&'static str>,
    pub function: &'a str,
    pub place: &'a str,
    pub calls: f64,
    pub seconds: f64,
    pub share: f64,
}

/// What an operation is told apart by between calls: function, operator, its steps, the implementation and the place.
type Key = (String, String, Vec<&'static str>, Option<&'static str>, Option<(u32, u32)>);

/// What the operations of one call take: the median of some calls.
pub fn explain(
    called: &mut Called,
    arguments: &Arguments,
    median: f64,
) -> Result<Vec<Entry>, Error> {
    let rounds = ((0.5 / median.max(1e-7)) as usize).clamp(3, 200);
    let mut spent: BTreeMap<Key, (u64, Vec<f64>)> = BTreeMap::new();
    let mut last: BTreeMap<Key, ProfileEntry> = BTreeMap::new();
    for round in 0..rounds {
        arguments.call(called)?;
        let now = by_key(called.session.profile());
        for (key, entry) in &now {
            let before = last.get(key).map_or(0, |entry| entry.nanoseconds);
            let seconds = entry.nanoseconds.saturating_sub(before) as f64 * 1e-9;
            let (calls, all) = spent.entry(key.clone()).or_default();
            *calls = entry.calls;
            // What ran first in a later call took nothing in those before.
            all.resize(round, 0.0);
            all.push(seconds);
        }
        last = now;
    }
    let entry = |(key, entry): (Key, ProfileEntry)| {
        let (calls, mut seconds) = spent.remove(&key).unwrap_or_default();
        seconds.sort_by(f64::total_cmp);
        Entry::new(entry, calls as f64 / rounds as f64, quantile(&seconds, 0.5))
    };
    Ok(last.into_iter().map(entry).collect())
}

/// Entries of one place, operator and implementation are one.
fn by_key(entries: Vec<ProfileEntry>) -> BTreeMap<Key, ProfileEntry> {
    let mut out: BTreeMap<Key, ProfileEntry> = BTreeMap::new();
    for entry in entries {
        let place = entry.range.as_ref().map(|range| (range.range.start, range.range.end));
        let (function, operator) = (entry.function.clone(), entry.operator.clone());
        let key = (function, operator, entry.steps.clone(), entry.implementation, place);
        match out.get_mut(&key) {
            Some(known) => {
                known.calls += entry.calls;
                known.nanoseconds += entry.nanoseconds;
            }
            None => drop(out.insert(key, entry)),
        }
    }
    out
}

/// An instruction's part of a call.
pub struct Entry {
    operator: String,
    steps: Vec<&'static str>,
    function: String,
    place: String,
    text: String,
    calls: f64,
    seconds: f64,
    implementation: Option<&'static str>,
}

impl Entry {
    fn new(entry: ProfileEntry, calls: f64, seconds: f64) -> Entry {
        let range = entry.range.map(|range| range.original().unwrap_or(range));
        let (place, text) = range.as_ref().map(place).unwrap_or_default();
        Entry {
            operator: entry.operator,
            steps: entry.steps,
            function: entry.function,
            place,
            text,
            calls,
            seconds,
            implementation: entry.implementation,
        }
    }
}

/// An operator as tables show it: a fused one with what it computes.
pub fn label(operator: &str, steps: &[&str]) -> String {
    match steps {
        [] => operator.to_owned(),
        steps => format!("{operator}({})", steps.join(", ")),
    }
}

/// File and line of a place, and the text of that line.
fn place(range: &SourceRange) -> (String, String) {
    let (line, _) = range.source.line_column(range.range.start);
    let text = range.source.text().lines().nth(line as usize).unwrap_or_default().trim();
    let place = match range.file_line_column() {
        // Where Python's packages lie is of no interest.
        Some((file, line, _)) => {
            format!("{}:{line}", file.rsplit("site-packages/").next().unwrap_or(file))
        }
        None => format!("line {}", line + 1),
    };
    (place, text.to_owned())
}

fn total(entries: &[Entry]) -> f64 {
    entries.iter().map(|entry| entry.seconds).sum::<f64>().max(f64::MIN_POSITIVE)
}

/// The parts of a call by operator, longest first.
pub fn operators(entries: &[Entry]) -> Vec<Share<'_>> {
    let total = total(entries);
    let mut shares: BTreeMap<(&str, &[&'static str]), (f64, f64)> = BTreeMap::new();
    for entry in entries {
        let (calls, seconds) = shares.entry((&entry.operator, &entry.steps)).or_default();
        *calls += entry.calls;
        *seconds += entry.seconds;
    }
    let mut shares: Vec<Share<'_>> = shares
        .into_iter()
        .map(|((operator, steps), (calls, seconds))| Share {
            operator,
            steps,
            calls,
            seconds,
            share: seconds / total,
        })
        .collect();
    shares.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    shares
}

/// Every operation, longest first.
pub fn operations(entries: &[Entry]) -> Vec<Operation<'_>> {
    let total = total(entries);
    let mut operations: Vec<Operation<'_>> = entries
        .iter()
        .map(|entry| Operation {
            operator: &entry.operator,
            steps: &entry.steps,
            implementation: entry.implementation,
            function: &entry.function,
            place: &entry.place,
            calls: entry.calls,
            seconds: entry.seconds,
            share: entry.seconds / total,
        })
        .collect();
    operations.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    operations
}

/// The parts of a call by function and line, longest first.
pub fn functions(entries: &[Entry]) -> Vec<FunctionShare> {
    let total = total(entries);
    let mut functions: BTreeMap<&str, BTreeMap<(&str, &str), f64>> = BTreeMap::new();
    for entry in entries {
        let lines = functions.entry(&entry.function).or_default();
        *lines.entry((&entry.place, &entry.text)).or_default() += entry.seconds;
    }
    let mut out: Vec<FunctionShare> = Vec::new();
    for (function, lines) in functions {
        let seconds = lines.values().sum();
        let mut lines: Vec<LineShare> = lines
            .into_iter()
            .map(|((place, text), seconds)| LineShare {
                place: place.to_owned(),
                text: text.to_owned(),
                seconds,
                share: seconds / total,
            })
            .collect();
        lines.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let function = function.to_owned();
        out.push(FunctionShare { function, seconds, share: seconds / total, lines });
    }
    out.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_summed_by_operator_and_by_line() {
        let entry = |operator: &str, function: &str, place: &str, seconds| Entry {
            operator: operator.to_owned(),
            steps: if operator == "sconce::pointwise" { vec!["mul", "add"] } else { Vec::new() },
            function: function.to_owned(),
            place: place.to_owned(),
            text: String::new(),
            calls: 2.0,
            seconds,
            implementation: None,
        };
        let entries = [
            entry("aten::add", "f", "x.py:1", 1.0),
            entry("aten::mul", "g", "x.py:9", 5.0),
            entry("aten::add", "f", "x.py:2", 2.0),
        ];
        let shares = operators(&entries);
        assert_eq!((shares[0].operator, shares[0].share), ("aten::mul", 0.625));
        assert_eq!((shares[1].calls, shares[1].seconds), (4.0, 3.0));
        let functions = functions(&entries);
        assert_eq!((functions[1].function.as_str(), functions[1].lines.len()), ("f", 2));
        assert_eq!(functions[1].lines[0].place, "x.py:2");
        let fused = [entry("sconce::pointwise", "f", "x.py:1", 1.0)];
        let operations = operations(&fused);
        let shown = label(operations[0].operator, operations[0].steps);
        assert_eq!(shown, "sconce::pointwise(mul, add)");
    }
}

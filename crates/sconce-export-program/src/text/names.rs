//! Names as `torch.fx`'s name spaces give them.

use std::collections::{HashMap, HashSet};

/// Python's keywords and builtins, and what the generated code uses itself: none of them is a value's name.
static ILLEGAL: &str = include_str!("illegal_names.txt");

/// Digits of a number at the end of a name that count as one.
const DIGITS: usize = 18;

/// Names that are taken, and how to find free ones.
#[derive(Default)]
pub(crate) struct Names {
    used: HashSet<String>,
    /// The number that a base was last given.
    last: HashMap<String, u64>,
    /// For each base, taken numbers, each with a later one to try.
    taken: HashMap<String, HashMap<u64, u64>>,
    illegal: HashSet<&'static str>,
}

impl Names {
    pub(crate) fn new() -> Names {
        Names { illegal: ILLEGAL.lines().collect(), ..Names::default() }
    }

    /// Takes a name as it is.
    pub(crate) fn take(&mut self, name: &str) {
        if let (base, Some(number)) = split(name) {
            let next = number + 1;
            self.taken.entry(base.to_owned()).or_default().entry(number).or_insert(next);
        }
        self.used.insert(name.to_owned());
    }

    /// A free name like `candidate`.
    pub(crate) fn create(&mut self, candidate: &str) -> String {
        let cleaned;
        let candidate = match is_identifier(candidate) {
            true => candidate,
            false => {
                cleaned = clean(candidate);
                &cleaned
            }
        };
        let (base, given) = split(candidate);
        let mut name = candidate.to_owned();
        let mut number = match given {
            Some(number) if !self.used.contains(candidate) => number,
            _ => {
                let mut number = self.last.get(base).copied().unwrap_or(0);
                if self.illegal.contains(candidate) {
                    number += 1;
                    name = format!("{base}_{number}");
                }
                number
            }
        };
        if self.used.contains(&name) {
            number = self.free(base, number + 1);
            name = format!("{base}_{number}");
        }
        self.last.insert(base.to_owned(), number);
        self.take(&name);
        name
    }

    /// The first number from `start` on that is free. The way there is kept shorter for the next time.
    fn free(&mut self, base: &str, start: u64) -> u64 {
        let Some(taken) = self.taken.get_mut(base) else { return start };
        let mut at = start;
        let mut passed = Vec::new();
        while let Some(&next) = taken.get(&at) {
            passed.push(at);
            at = next;
        }
        for number in passed {
            taken.insert(number, at);
        }
        at
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Runs of other characters become underscores.
fn clean(name: &str) -> String {
    let mut out = String::new();
    let mut in_run = false;
    for c in name.chars() {
        let plain = c.is_ascii_alphanumeric() || c == '_';
        if plain {
            out.push(c);
        } else if !in_run {
            out.push('_');
        }
        in_run = !plain;
    }
    if out.is_empty() {
        return "_unnamed".to_owned();
    }
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

/// A name's base and the number after its last underscore.
fn split(name: &str) -> (&str, Option<u64>) {
    match name.rsplit_once('_') {
        Some((base, number))
            if !base.is_empty()
                && (1..=DIGITS).contains(&number.len())
                && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            (base, number.parse().ok())
        }
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_torch_fx_names() {
        let mut names = Names::new();
        let given = [
            "x", "x", "x", "x_1", "x_7", "x", "input", "input", "max", "a.b", "9", "", "_1", "x_7",
        ];
        let want = [
            "x", "x_1", "x_2", "x_3", "x_7", "x_8", "input_1", "input_2", "max_1", "a_b", "_9",
            "_unnamed", "_1", "x_9",
        ];
        assert_eq!(given.map(|name| names.create(name)), want);
    }

    #[test]
    fn many_equal_names_take_no_quadratic_time() {
        let mut names = Names::new();
        for _ in 0..200_000 {
            names.create("x_1");
        }
        for start in 0..100_000 {
            names.create(&format!("x_{start}"));
        }
        assert_eq!(names.used.len(), 300_000);
    }

    #[test]
    fn long_numbers_are_part_of_the_name() {
        let mut names = Names::new();
        let long = "x_99999999999999999999999";
        assert_eq!(names.create(long), long);
        assert_eq!(names.create(long), format!("{long}_1"));
    }
}

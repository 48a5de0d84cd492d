//! Which methods of a TorchScript archive's code records differ, and on which lines.

use std::collections::BTreeMap;

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::output::{Line, Style};

/// A method, a function, or the attributes of a class, that is not the same in both programs.
#[derive(Serialize, Debug)]
pub struct MethodDiff {
    /// The qualified name: `__torch__.Net.forward`; of attributes that of their class.
    pub name: String,
    /// What it is.
    pub what: &'static str,
    /// What became of it.
    pub change: &'static str,
    /// The lines that differ, with what lies around them, as `diff -u` shows them.
    pub lines: Vec<String>,
}

/// Lines around a change.
const CONTEXT: usize = 2;

/// Most lines of one method.
const MOST_LINES: usize = 40;

/// Compares the code of one record; an empty text stands for a record that is not there.
pub fn methods(record: &str, a: &str, b: &str) -> Vec<MethodDiff> {
    let module = record.strip_prefix("code/").unwrap_or(record);
    let module = module.strip_suffix(".py").unwrap_or(module).replace('/', ".");
    texts(&units(&module, a), &units(&module, b))
}

/// Compares texts by their names.
pub fn texts(
    left: &BTreeMap<String, (&'static str, String)>,
    right: &BTreeMap<String, (&'static str, String)>,
) -> Vec<MethodDiff> {
    let mut out = Vec::new();
    for (name, (what, text)) in left {
        let (change, other) = match right.get(name) {
            Some((_, other)) if other == text => continue,
            Some((_, other)) => ("changed", other.as_str()),
            None => ("removed", ""),
        };
        out.push(MethodDiff { name: name.clone(), what, change, lines: lines(text, other) });
    }
    let added = right.iter().filter(|(name, _)| !left.contains_key(*name));
    out.extend(added.map(|(name, (what, text))| MethodDiff {
        name: name.clone(),
        what,
        change: "added",
        lines: lines("", text),
    }));
    out
}

/// The parts of a code record by name: functions at its top, methods, and what a class holds before its methods.
/// Code records are printed in one form, so that indentation tells them apart.
fn units(module: &str, text: &str) -> BTreeMap<String, (&'static str, String)> {
    let mut out: BTreeMap<String, (&'static str, String)> = BTreeMap::new();
    let mut class = None;
    let mut now: Option<(String, &'static str)> = None;
    for line in text.lines() {
        let word = |line: &str, keyword| -> Option<String> {
            let rest: &str = str::strip_prefix(line, keyword)?;
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            Some(rest[..end].to_owned())
        };
        if let Some(name) = word(line, "class ") {
            let name = format!("{module}.{name}");
            class = Some(name.clone());
            now = Some((name, "attributes"));
        } else if let Some(name) = word(line, "def ") {
            now = Some((format!("{module}.{name}"), "function"));
        } else if let (Some(name), Some(class)) = (word(line, "  def "), &class) {
            now = Some((format!("{class}.{name}"), "method"));
        }
        if let Some((name, what)) = &now {
            let (_, text) = out.entry(name.clone()).or_insert_with(|| (what, String::new()));
            text.push_str(line);
            text.push('\n');
        }
    }
    out
}

fn lines(a: &str, b: &str) -> Vec<String> {
    let mut out = Vec::new();
    let diff = TextDiff::from_lines(a, b);
    for (at, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if at > 0 {
            out.push(" …".to_owned());
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            out.push(format!("{sign}{}", change.value().trim_end_matches('\n')));
        }
    }
    out
}

impl MethodDiff {
    /// The lines to print: the method's, and those that differ in it.
    pub fn print(&self, all: bool) -> Vec<Line> {
        let (sign, style) = match self.change {
            "added" => ("+", Style::Good),
            "removed" => ("-", Style::Bad),
            _ => ("~", Style::Warn),
        };
        let head = Line::new().plain("  ").add(style, sign).plain(" ").add(Style::Name, &self.name);
        let mut out = vec![head.dim(format!("  {} {}", self.what, self.change))];
        // Of what is only on one side, the name says enough.
        if self.change != "changed" && !all {
            return out;
        }
        let most = if all { usize::MAX } else { MOST_LINES };
        for line in self.lines.iter().take(most) {
            let style = match line.as_bytes().first() {
                Some(b'+') => Style::Good,
                Some(b'-') => Style::Bad,
                _ => Style::Dim,
            };
            out.push(Line::new().plain("      ").add(style, line));
        }
        if self.lines.len() > most {
            let left = self.lines.len() - most;
            out.push(Line::new().dim(format!("      … {left} more lines, --all shows them")));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "class Net(Module):\n  __parameters__ = []\n  training : bool\n  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    y = torch.add(x, 1)\n    return y\ndef f(x: int) -> int:\n  return x\n";

    #[test]
    fn methods_attributes_and_functions_are_told_apart() {
        let b = A.replace("torch.add(x, 1)", "torch.add(x, 2)");
        let found = methods("code/__torch__.py", A, &b);
        let named: Vec<_> =
            found.iter().map(|diff| (diff.name.as_str(), diff.what, diff.change)).collect();
        assert_eq!(named, [("__torch__.Net.forward", "method", "changed")]);
        assert_eq!(found[0].lines[2], "-    y = torch.add(x, 1)");
        assert_eq!(found[0].lines[3], "+    y = torch.add(x, 2)");
        let b = A.replace("  training : bool\n", "").replace("def f(", "def g(");
        let found = methods("code/__torch__.py", A, &b);
        let named: Vec<_> =
            found.iter().map(|diff| (diff.name.as_str(), diff.what, diff.change)).collect();
        let want = [
            ("__torch__.Net", "attributes", "changed"),
            ("__torch__.f", "function", "removed"),
            ("__torch__.g", "function", "added"),
        ];
        assert_eq!(named, want);
        assert!(methods("code/__torch__.py", A, A).is_empty());
        assert_eq!(methods("code/__torch__.py", A, "").len(), 3);
    }
}

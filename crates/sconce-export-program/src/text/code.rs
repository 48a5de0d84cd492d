//! A graph as the Python that `torch.fx` generates, with the remarks of `print_readable`.

use std::collections::{HashMap, HashSet};

use super::fx_graph::{FxGraph, Kind, Node, Value};
use super::names::Names;
use super::value;
use crate::json::{Json, parse};
use crate::schema::Map;

/// Names that generated code has for itself.
static GLOBALS: [&str; 7] = ["inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"];

/// Functions that are printed as operators of Python, with their numbers of operands.
static OPERATORS: [(&str, usize, [&str; 3]); 23] = [
    ("eq", 2, ["", " == ", ""]),
    ("ne", 2, ["", " != ", ""]),
    ("lt", 2, ["", " < ", ""]),
    ("gt", 2, ["", " > ", ""]),
    ("le", 2, ["", " <= ", ""]),
    ("ge", 2, ["", " >= ", ""]),
    ("pos", 1, ["+", "", ""]),
    ("neg", 1, ["-", "", ""]),
    ("invert", 1, ["~", "", ""]),
    ("add", 2, ["", " + ", ""]),
    ("sub", 2, ["", " - ", ""]),
    ("mul", 2, ["", " * ", ""]),
    ("floordiv", 2, ["", " // ", ""]),
    ("truediv", 2, ["", " / ", ""]),
    ("mod", 2, ["", " % ", ""]),
    ("pow", 2, ["", " ** ", ""]),
    ("lshift", 2, ["", " << ", ""]),
    ("rshift", 2, ["", " >> ", ""]),
    ("and_", 2, ["", " & ", ""]),
    ("or_", 2, ["", " | ", ""]),
    ("xor", 2, ["", " ^ ", ""]),
    ("getitem", 2, ["", "[", "]"]),
    ("matmul", 2, ["", " @ ", ""]),
];

/// Longest text of an annotation that is shown whole, in characters.
const LONGEST_NOTE: usize = 40;

/// The class of a graph, and those of the graphs in it.
pub(crate) fn class(graph: &FxGraph<'_>, name: &str) -> String {
    let code = forward(graph);
    let mut out = indented(&format!("class {name}(torch.nn.Module):\n{code}"));
    let inner: Vec<String> = graph.graphs.iter().map(|(name, graph)| class(graph, name)).collect();
    let inner = std::iter::once(String::new()).chain(inner).collect::<Vec<_>>().join("\n");
    out.push_str(&indented(&inner));
    out
}

/// The methods of a graph and of those in it, by name and without remarks.
pub(crate) fn plain(graph: &FxGraph<'_>, name: &str, out: &mut Vec<(String, String)>) {
    let code = forward(graph);
    let lines = code.lines().filter(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("# ")
    });
    out.push((name.to_owned(), lines.map(|line| format!("{line}\n")).collect()));
    for (inner, graph) in &graph.graphs {
        plain(graph, &format!("{name}.{inner}"), out);
    }
}

/// The calls of a graph and of those in it, with the places in Python that they come from: a heading for each
/// place, outermost frame first.
pub(crate) fn sources(graph: &FxGraph<'_>, name: &str, out: &mut String) {
    out.push_str(&format!("{name}:\n"));
    let mut last = None;
    for node in &graph.nodes {
        if !matches!(node.kind, Kind::Call) {
            continue;
        }
        let get = |key: &str| node.metadata.and_then(|metadata| metadata.get(key));
        let place =
            (get("nn_module_stack").map(String::as_str).and_then(module), get("stack_trace"));
        if last.as_ref() != Some(&place) {
            let module = place.0.clone().unwrap_or_else(|| "no module".to_owned());
            out.push_str(&format!("\n  # {module}\n"));
            for line in place.1.into_iter().flat_map(|trace| trace.trim().lines()) {
                out.push_str(&format!("  # {}\n", line.strip_prefix("  ").unwrap_or(line)));
            }
            if place.1.is_none() {
                out.push_str("  # No stacktrace found for following nodes\n");
            }
            last = Some(place);
        }
        out.push_str(&format!("  {}{} = {}\n", node.name, node.note, node.target));
    }
    for (name, graph) in &graph.graphs {
        out.push('\n');
        sources(graph, name, out);
    }
}

/// The path and the class of the module that a call is in, of a stack such as
/// `L__self__,,my.Net;L__self___fc,fc,torch.nn.modules.linear.Linear`. Paths may have commas in brackets.
fn module(stack: &str) -> Option<String> {
    let (mut depth, mut start, mut parts, mut entries) = (0i64, 0, Vec::new(), Vec::new());
    for (at, c) in stack.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' | ';' if depth == 0 => {
                parts.push(&stack[start..at]);
                start = at + 1;
                if c == ';' {
                    entries.push(std::mem::take(&mut parts));
                }
            }
            _ => {}
        }
    }
    parts.push(&stack[start..]);
    entries.push(parts);
    let [_, path, class] = entries.pop()?[..] else { return None };
    let path = if path.is_empty() { "the root" } else { path };
    Some(format!("{path}: {class}"))
}

/// All lines but the first moved in; lines without text are left empty.
fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
            if line.trim().is_empty() {
                continue;
            }
            out.push_str("    ");
        }
        out.push_str(line);
    }
    out
}

/// The names that values have in the printed code.
#[derive(Default)]
struct Shown {
    names: Names,
    given: HashMap<String, String>,
}

impl Shown {
    fn name(&mut self, of: &str) -> String {
        if let Some(known) = self.given.get(of) {
            return known.clone();
        }
        let name = self.names.create(of);
        self.given.insert(of.to_owned(), name.clone());
        name
    }

    fn value(&mut self, value: &Value) -> String {
        match value {
            Value::Ref(name) => self.name(name),
            Value::Shown(text) => text.clone(),
            Value::List(items) => format!("[{}]", self.values(items)),
            Value::Tuple(items) => match &items[..] {
                [only] => format!("({},)", self.value(only)),
                items => format!("({})", self.values(items)),
            },
            Value::Dict(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(key, value)| format!("{}: {}", value::text(key), self.value(value)))
                    .collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }

    fn values(&mut self, items: &[Value]) -> String {
        items.iter().map(|item| self.value(item)).collect::<Vec<_>>().join(", ")
    }
}

/// The values of the graph that a node takes, in order.
fn references<'n>(node: &'n Node<'_>) -> Vec<&'n str> {
    fn collect<'n>(value: &'n Value, out: &mut Vec<&'n str>) {
        match value {
            Value::Ref(name) => out.push(name),
            Value::Shown(_) => {}
            Value::List(items) | Value::Tuple(items) => {
                items.iter().for_each(|item| collect(item, out));
            }
            Value::Dict(entries) => entries.iter().for_each(|(_, value)| collect(value, out)),
        }
    }
    let mut out = Vec::new();
    node.args.iter().for_each(|value| collect(value, &mut out));
    node.kwargs.iter().for_each(|(_, value)| collect(value, &mut out));
    let mut seen = HashSet::new();
    out.retain(|name| seen.insert(*name));
    out
}

/// For each node, the values that nobody needs after it.
fn deaths<'g>(graph: &'g FxGraph<'_>) -> Vec<Vec<&'g str>> {
    let mut used: HashSet<&str> = HashSet::new();
    let mut dead = vec![Vec::new(); graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate().rev() {
        // Whoever uses it comes later, and was looked at.
        let unused = !used.contains(node.name.as_str());
        for name in references(node) {
            if used.insert(name) {
                dead[at].push(name);
            }
        }
        if unused {
            dead[at].push(&node.name);
        }
    }
    dead
}

fn forward(graph: &FxGraph<'_>) -> String {
    let mut shown = Shown { names: Names::new(), given: HashMap::new() };
    GLOBALS.iter().for_each(|name| shown.names.take(name));
    let dead = deaths(graph);
    let mut functions: HashMap<&str, String> = HashMap::new();
    let (mut parameters, mut body) = (vec!["self".to_owned()], String::new());
    let mut last_remark = None;
    for (node, dead) in graph.nodes.iter().zip(dead) {
        if !matches!(node.kind, Kind::Placeholder | Kind::Output) {
            let remark = remark(node.metadata);
            if last_remark.as_ref() != Some(&remark) {
                body.push_str(&format!("\n{remark}\n"));
                last_remark = Some(remark);
            }
        }
        let line = match node.kind {
            Kind::Placeholder => {
                parameters.push(format!("{}{}", node.target, node.note));
                let name = shown.name(&node.name);
                if name != node.target {
                    body.push_str(&format!("{name} = {}\n", node.target));
                }
                continue;
            }
            Kind::Output => {
                let result = node.args.first().map(|value| shown.value(value));
                body.push_str(&format!("return {}\n", result.unwrap_or_default()));
                continue;
            }
            Kind::GetAttr => format!("{} = self.{}", shown.name(&node.name), node.target),
            Kind::Call => call(node, &mut shown, &mut functions),
        };
        body.push_str(&line);
        if !dead.is_empty() {
            let names: Vec<String> = dead.into_iter().map(|name| shown.name(name)).collect();
            body.push_str(&format!(";  {} = None", names.join(" = ")));
        }
        body.push('\n');
    }
    let lines: Vec<String> =
        body.trim_start_matches('\n').split('\n').map(|line| format!("    {line}")).collect();
    format!("def forward({}):\n{}", parameters.join(", "), lines.join("\n"))
}

fn call<'n>(
    node: &'n Node<'_>,
    shown: &mut Shown,
    functions: &mut HashMap<&'n str, String>,
) -> String {
    let operator = node.target.strip_prefix("_operator.").and_then(|function| {
        let found = OPERATORS.iter().find(|(name, ..)| *name == function)?;
        (found.1 == node.args.len()).then_some(found.2)
    });
    if let Some([before, between, after]) = operator {
        let name = shown.name(&node.name);
        let operands: Vec<String> = node.args.iter().map(|value| shown.value(value)).collect();
        return format!("{name}{} = {before}{}{after}", node.note, operands.join(between));
    }
    let function = match node.target.starts_with("torch.") {
        true => node.target.clone(),
        false => match functions.get(&*node.target) {
            Some(known) => known.clone(),
            None => {
                let name = shown.names.create(&node.target);
                functions.insert(&node.target, name.clone());
                name
            }
        },
    };
    let name = shown.name(&node.name);
    let mut arguments: Vec<String> = node.args.iter().map(|value| shown.value(value)).collect();
    for (name, value) in &node.kwargs {
        arguments.push(format!("{name} = {}", shown.value(value)));
    }
    format!("{name}{} = {function}({})", node.note, arguments.join(", "))
}

/// Where a node comes from, as a comment.
fn remark(metadata: Option<&Map<String>>) -> String {
    let get = |key: &str| metadata.and_then(|metadata| metadata.get(key));
    let place = get("stack_trace").and_then(|trace| innermost(trace));
    let place = place.unwrap_or_else(|| "No stacktrace found for following nodes".to_owned());
    let notes = get("custom").filter(|custom| !custom.is_empty()).and_then(|text| annotation(text));
    format!("#{} {place}", notes.unwrap_or_default())
}

/// The last frame that has a line of code.
fn innermost(trace: &str) -> Option<String> {
    let lines: Vec<&str> = trace.trim().split('\n').collect();
    for at in (0..lines.len().checked_sub(1)?).rev() {
        if let Some((file, line, function)) = frame(lines[at].trim()) {
            let code = lines[at + 1].trim();
            return Some(format!("File: {file}:{line} in {function}, code: {code}"));
        }
    }
    None
}

/// `File "…", line N, in FUNCTION`
fn frame(line: &str) -> Option<(&str, &str, &str)> {
    const LINE: &str = "\", line ";
    let rest = line.strip_prefix("File \"")?;
    // A path may hold the same words; the last of them count.
    rest.rmatch_indices(LINE).find_map(|(at, _)| {
        let (file, rest) = (&rest[..at], &rest[at + LINE.len()..]);
        let (number, function) = rest.split_once(", in ")?;
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        (digits && !file.is_empty() && !function.is_empty()).then_some((file, number, function))
    })
}

/// What `torch.fx.traceback.annotate` added, as a dict whose long values are cut.
fn annotation(text: &str) -> Option<String> {
    let Json::Object(entries) = parse(text.as_bytes()).ok()? else { return None };
    let cut = |value: &Json| {
        let (shown, whole) = match value {
            Json::String(text) => (text.to_string(), value::text(text)),
            other => (value::json(other), value::json(other)),
        };
        match shown.chars().count() > LONGEST_NOTE {
            true => value::text(&(shown.chars().take(LONGEST_NOTE).collect::<String>() + "...")),
            false => whole,
        }
    };
    let entries: Vec<String> = entries
        .iter()
        .map(|(key, value)| format!("{}: {}", value::text(key), cut(value)))
        .collect();
    Some(format!(" Annotation: {{{}}}", entries.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_from_the_inside() {
        let trace = "File \"a.py\", line 1, in <module>\n    f(x)\n  File \"b\", line 2, in c.py\", \
                     line 3, in g\n    x + 1\n  File \"d.py\", line 4, in h";
        let want = "File: b\", line 2, in c.py:3 in g, code: x + 1";
        assert_eq!(innermost(trace).as_deref(), Some(want));
        assert_eq!(innermost(""), None);
        assert_eq!(innermost("File \"a.py\", line x, in f\n  code"), None);
    }

    #[test]
    fn modules_are_the_last_of_their_stack() {
        let stack =
            "L__self__,,__main__.M;L__self__lin,layers[0, 1].lin,torch.nn.modules.linear.Linear";
        let want = "layers[0, 1].lin: torch.nn.modules.linear.Linear";
        assert_eq!(module(stack).as_deref(), Some(want));
        assert_eq!(module("L__self__,,__main__.M").as_deref(), Some("the root: __main__.M"));
        assert_eq!(module("odd"), None);
    }

    #[test]
    fn annotations_are_cut() {
        let text = format!("{{\"a\": \"{}\", \"b\": [1, null], \"it's\": true}}", "x".repeat(41));
        let want = format!(
            " Annotation: {{'a': '{}...', 'b': [1, None], \"it's\": True}}",
            "x".repeat(40)
        );
        assert_eq!(annotation(&text), Some(want));
        assert_eq!(annotation("[1]"), None);
    }
}

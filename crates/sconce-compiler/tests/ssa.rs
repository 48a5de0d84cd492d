//! Loads and stores to values, compared with what PyTorch's `ConvertToSSA` made of the same graphs
//! (`golden/ssa.cpp`).

use std::collections::HashMap;
use std::fmt::Write as _;

use sconce_compiler::ssa::convert_to_ssa;
use sconce_ir::{Graph, Prim, Unit, ValueId};

#[test]
fn graphs_are_pytorch_s() {
    let path = std::env::var("SCONCE_SSA_GOLDEN")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/ssa.txt").into());
    let text = std::fs::read_to_string(&path).unwrap();
    let cases: Vec<&str> = text.split("==before\n").skip(1).collect();
    let mut failed = Vec::new();
    for case in &cases {
        let (before, after) = case.split_once("==after\n").unwrap();
        let expected = Graph::parse(after).map(comparable).unwrap();
        match converted(before).map(comparable) {
            Ok(found) if found == expected => {}
            Ok(found) => failed.push(difference(&expected, &found)),
            Err(error) => failed.push(format!("{error}\n{before}")),
        }
    }
    let (bad, all) = (failed.len(), cases.len());
    assert!(all >= 40, "only {all} cases");
    assert!(failed.is_empty(), "{bad} of {all} differ:\n{}", failed.join("\n"));
}

fn converted(before: &str) -> Result<Graph, String> {
    let mut graph = Graph::parse(before).map_err(|error| error.to_string())?;
    convert_to_ssa(&Unit::new(), &mut graph).map_err(|error| error.to_string())?;
    Ok(graph)
}

/// A graph's text as far as it can be the same. PyTorch has one uninitialized value for each type
/// *object*; that two equal types are one object cannot be seen in text, so equal ones are made one.
fn comparable(mut graph: Graph) -> String {
    let mut first: HashMap<String, ValueId> = HashMap::new();
    let nodes: Vec<_> = graph.block_nodes(graph.root()).collect();
    for node in nodes.into_iter().rev() {
        if !graph.node(node).is(Prim::Uninitialized) {
            continue;
        }
        let output = graph.node(node).output();
        match first.get(&graph.ty(output).to_string()) {
            Some(&same) => {
                graph.replace_all_uses(output, same);
                graph.destroy(node);
            }
            None => {
                first.insert(graph.ty(output).to_string(), output);
            }
        }
    }
    renumbered(&graph.to_string())
}

/// The text without source comments, with values numbered in the order they appear. A name keeps its
/// base; its own number depends on renamings that happened before the graph was written.
fn renumbered(text: &str) -> String {
    let mut numbers = HashMap::new();
    let mut out = String::new();
    for line in text.lines() {
        let mut parts = line.split(" # ").next().unwrap_or_default().split('%');
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let end = part
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
                .unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            let base = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('.');
            let next = numbers.len();
            let _ = write!(out, "%{base}#{}{rest}", numbers.entry(name).or_insert(next));
        }
        out.push('\n');
    }
    out
}

fn difference(expected: &str, found: &str) -> String {
    let at = expected.lines().zip(found.lines()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| text.lines().skip(at).take(5).collect::<Vec<_>>().join("\n  ");
    format!("  line {}\n  PyTorch:\n  {}\n  here:\n  {}\n", at + 1, part(expected), part(found))
}

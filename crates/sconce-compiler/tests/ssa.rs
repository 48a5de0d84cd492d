//! Loads and stores to values, compared with what PyTorch's `ConvertToSSA` made of the same graphs
//! (`golden/ssa.cpp`).

use std::collections::HashMap;
use std::fmt::Write as _;

use sconce_compiler::ssa::convert_to_ssa;
use sconce_ir::{Graph, ParseError, Prim, Unit, ValueId};

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

/// A function of so many `if c: return x`, one after the other.
fn early_returns(count: usize) -> Result<Graph, ParseError> {
    let mut text = String::from("graph(%c : bool, %x : int):\n");
    for _ in 0..count {
        text.push_str("   = prim::If(%c)\n    block0():\n       = prim::ReturnStmt(%x)\n");
        text.push_str("      -> ()\n    block1():\n      -> ()\n");
    }
    text.push_str("   = prim::ReturnStmt(%x)\n  %u : int = prim::Uninitialized()\n  return (%u)\n");
    Graph::parse(&text)
}

#[test]
fn many_early_returns_nest_up_to_a_limit() {
    let unit = Unit::new();
    let mut graph = early_returns(200).unwrap();
    convert_to_ssa(&unit, &mut graph).unwrap();
    assert_eq!(graph.to_string().matches("prim::If").count(), 200);
    let error = convert_to_ssa(&unit, &mut early_returns(300).unwrap()).unwrap_err();
    assert_eq!(error.message(), "statements are nested more than 256 deep");
}

#[test]
fn what_the_emitter_never_makes_is_an_error() {
    for (body, message) in [
        (" = prim::BreakStmt()", "SyntaxError: 'break' outside loop"),
        (" = prim::ContinueStmt()", "SyntaxError: 'continue' outside loop"),
        ("%y : int = prim::Load[name=\"y\"]()", "undefined value y"),
        ("%y : int = prim::Enter(%x)", "prim::Enter without its prim::Exit"),
        ("%y : int = prim::Exit(%x)", "prim::Exit without its prim::Enter"),
        (
            " = prim::Loop(%x)\n    block0(%i : int):\n      -> ()",
            "a loop without a block for its condition",
        ),
        (
            " = prim::Loop(%x)\n    block0(%i : int):\n      -> ()\n    block1():\n      -> ()",
            "a loop whose condition has no value",
        ),
    ] {
        let text = format!("graph(%x : int):\n  {body}\n  return (%x)\n");
        let mut graph = Graph::parse(&text).unwrap();
        let error = convert_to_ssa(&Unit::new(), &mut graph).unwrap_err();
        assert_eq!(error.message(), message);
    }
}

#[test]
fn a_variable_of_a_with_block_that_may_be_left_cannot_be_read_after_it() {
    let text = "graph(%c : bool, %x : int):
  %e : int = prim::Enter(%x)
   = prim::If(%c)
    block0():
       = prim::ReturnStmt(%x)
      -> ()
    block1():
      -> ()
  %y.1 : int = aten::neg(%x)
   = prim::Store[name=\"y\"](%y.1)
  %z : int = prim::Exit(%x)
  %y : int = prim::Load[name=\"y\"]()
   = prim::ReturnStmt(%y)
  %u : int = prim::Uninitialized()
  return (%u)
";
    let mut graph = Graph::parse(text).unwrap();
    let error = convert_to_ssa(&Unit::new(), &mut graph).unwrap_err();
    assert!(error.message().starts_with("a variable set in a `with` block"), "{error}");
}

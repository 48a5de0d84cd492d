//! What operators meant in older archives. The facts are those of torch 2.15 loading the same code
//! under other `version` records.

#![expect(clippy::unwrap_used, reason = "a panic is what a test fails with")]

use std::sync::Arc;

use sconce_compiler::{Definition, NativeResolver, Options, compile, declare};
use sconce_ir::Unit;
use sconce_syntax::{Source, parse_def};

fn graph(body: &str, op_version: u32) -> String {
    let text = format!("def f(x: Tensor, y: int):\n  return {body}\n");
    let source = Arc::new(Source::new(text));
    let def = Arc::new(parse_def(&source, false).unwrap());
    let definition = Definition { def, source, op_version };
    let (mut unit, mut resolver) = (Unit::new(), NativeResolver::default());
    let schema = declare(&mut unit, &mut resolver, &definition, None, "f".into()).unwrap();
    let options = Options::default();
    compile(&mut unit, &mut resolver, &definition, &schema, &options).unwrap().to_string()
}

#[test]
fn operators_mean_what_they_meant() {
    // The body, what shows that an upgrader was used, and the first version that needs none.
    let cases = [
        ("torch.div(x, y)", "aten::is_floating_point", 4),
        ("torch.div(x, x)", "aten::is_floating_point", 4),
        ("torch.full([2], 1)", "prim::Constant[value=1.]", 5),
        ("torch.linspace(0, 1)", "value=100", 8),
    ];
    for (body, sign, first) in cases {
        for version in [3, 4, 5, 7, 8, 9, 10] {
            // From version 8 on, `steps` has to be given.
            if body.contains("linspace") && version >= first {
                continue;
            }
            let graph = graph(body, version);
            assert_eq!(graph.contains(sign), version < first, "{body} in {version}:\n{graph}");
        }
    }
}

#[test]
fn upgraded_graphs_are_of_today() {
    assert_eq!(graph("torch.mul(x, y)", 3), graph("torch.mul(x, y)", 10));
}

//! Passes on small graphs beside real PyTorch: `filetests/*.ir`, made by `filetests/generate.py`.

#![allow(clippy::unwrap_used)] // helpers of tests are outside of what clippy sees as tests

use std::path::Path;

use sconce_ir::{Graph, Unit, passes, verify};

#[test]
fn passes_do_what_pytorch_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ir"))
        .collect();
    files.sort();
    assert!(files.len() > 20);
    let failures: Vec<String> = files.iter().filter_map(|path| check(path).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).unwrap();
    let (head, rest) = text.split_once('\n').unwrap();
    let (before, want) = rest.split_once("# becomes\n").unwrap();
    let mut graph = Graph::parse(before).map_err(|error| format!("{}: {error}", path.display()))?;
    match head.strip_prefix("# pass: ").unwrap() {
        "dce" => passes::eliminate_dead_code(&mut graph),
        "constant_pooling" => passes::constant_pooling(&mut graph),
        "constant_propagation" => {
            passes::constant_propagation_immutable_types(&mut graph);
        }
        "lower_simple_tuples" => passes::lower_simple_tuples(&mut graph),
        "canonicalize_outputs" => passes::canonicalize_outputs(&mut graph),
        "canonicalize_modified_loops" => passes::canonicalize_modified_loops(&mut graph),
        "peephole" => {
            passes::peephole(&mut graph, &Unit::new());
        }
        "autocast" => passes::autocast(&mut graph).map_err(|error| error.to_string())?,
        "normalize_ops" => passes::normalize_ops(&mut graph),
        other => panic!("no pass {other}"),
    }
    verify(&graph).map_err(|errors| format!("{}: {errors:?}", path.display()))?;
    let got = graph.canonical_text();
    if got == want { Ok(()) } else { Err(format!("{}:\n{got}not\n{want}", path.display())) }
}

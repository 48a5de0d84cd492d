//! Graphs as text: what is read prints the same again, and passes keep it whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce_ir::{Graph, passes, verify};

fuzz_target!(|text: &str| {
    let graph = match Graph::parse(text) {
        Ok(graph) => graph,
        Err(error) => {
            assert!(error.line as usize <= text.matches('\n').count() + 1, "{error}");
            return;
        }
    };
    let printed = graph.to_string();
    let again = Graph::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(again.canonical_text(), graph.canonical_text());
    if verify(&graph).is_err() {
        return;
    }
    for pass in [
        passes::eliminate_dead_code as fn(&mut Graph),
        passes::constant_pooling,
        passes::lower_simple_tuples,
        passes::canonicalize_outputs,
        passes::canonicalize_modified_loops,
        passes::normalize_ops,
        passes::erase_list_literals,
        passes::lift_closures,
        |graph| {
            passes::constant_propagation_immutable_types(graph);
        },
        |graph| drop(passes::inline_forked_closures(graph)),
    ] {
        let mut copy = graph.clone();
        pass(&mut copy);
        if let Err(errors) = verify(&copy) {
            panic!("{errors:?}\n{graph}\n{copy}");
        }
    }
});

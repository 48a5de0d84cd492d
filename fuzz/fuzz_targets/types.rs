//! Schemas, and types in the three ways in which they are written: what is read prints the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce_ir::{Graph, Schema};

fuzz_target!(|text: &str| {
    if let Ok(schema) = Schema::parse(text) {
        let printed = schema.to_string();
        if let Ok(again) = Schema::parse(&printed) {
            assert_eq!(again.to_string(), printed);
        }
    }
    // As the type of an argument of a schema, and of a value of a graph.
    for line in text.lines().take(4) {
        if let Ok(schema) = Schema::parse(&format!("aten::f({line} x) -> ({line})")) {
            assert!(!schema.to_string().is_empty());
        }
        if let Ok(graph) = Graph::parse(&format!("graph(%x : {line}):\n  return (%x)\n")) {
            let printed = graph.to_string();
            let again = Graph::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(again.to_string(), printed);
        }
    }
});

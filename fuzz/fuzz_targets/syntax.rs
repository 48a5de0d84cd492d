//! TorchScript's dialect of Python: what parses can be printed and has its ranges inside the text; what
//! does not says why and where.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use sconce_syntax::ast::Item;
use sconce_syntax::sexpr::Node;
use sconce_syntax::{Source, parse_expression, parse_module};

/// Places in the tree, against the text's length: a range may name the byte after a last index.
fn check(node: &Node<'_>, length: u32) {
    if let Node::Compound { range, children, .. } = node {
        if let Some(range) = range {
            assert!(range.start <= range.end && range.end <= length + 1, "{range:?}");
        }
        children.iter().for_each(|child| check(child, length));
    }
}

fuzz_target!(|text: &str| {
    let source = Arc::new(Source::new(text).with_filename("fuzz.py"));
    let length = text.len() as u32;
    match parse_module(&source) {
        Ok(items) => {
            for item in &items {
                match item {
                    Item::Def(def) => check(&Node::def(def, &source), length),
                    Item::Class(class) => check(&Node::class(class, &source), length),
                    Item::Stmt(stmt) => check(&Node::stmt(stmt, &source), length),
                    Item::Import(range) => assert!(range.end <= length),
                }
            }
        }
        Err(error) => assert!(error.to_string().starts_with(error.message())),
    }
    if let Ok(expr) = parse_expression(&source) {
        let node = Node::expr(&expr, &source);
        check(&node, length);
        assert!(!node.to_string().is_empty());
    }
});

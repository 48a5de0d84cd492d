//! Nesting: an error before the stack ends, and never for what programs really hold.

use std::sync::Arc;

use sconce_syntax::{Error, MAX_DEPTH, Source, parse_defs, parse_expression, parse_module};

fn source(text: String) -> Arc<Source> {
    Arc::new(Source::new(text))
}

fn expression(text: String) -> Result<(), Error> {
    parse_expression(&source(text)).map(drop)
}

/// `count` repetitions of `open`, then `middle`, then as many of `close`.
fn nested(open: &str, middle: &str, close: &str, count: usize) -> String {
    [&open.repeat(count), middle, &close.repeat(count)].concat()
}

/// An `if` in an `if` and so on.
fn blocks(count: usize) -> String {
    let mut text = String::from("def f(x):\n");
    for depth in 1..=count {
        text += &format!("{}if x:\n", " ".repeat(depth));
    }
    text + &format!("{}pass\n", " ".repeat(count + 1))
}

fn elifs(count: usize) -> String {
    format!("def f(x):\n if x:\n  pass\n{}", " elif x:\n  pass\n".repeat(count))
}

#[test]
fn deep_nesting_is_an_error() {
    let count = 100_000;
    let texts = [
        nested("(", "x", ")", count),
        nested("[", "", "]", count),
        nested("{1:", "x", "}", count),
        nested("f(", "x", ")", count),
        nested("f(a=", "x", ")", count),
        nested("x[", "x", "]", count),
        nested("x[:", "x", "]", count),
        nested("-", "x", "", count),
        nested("not ", "x", "", count),
        nested("* ", "x", "", count),
        nested("x ** ", "x", "", count),
        nested("x if x else ", "x", "", count),
        nested("", "x", " if x else x", count),
        nested("", "x", " if x", count),
        nested("x + ", "x", "", count),
        nested("x and ", "x", "", count),
        nested("", "x", ".x", count),
        nested("", "x", "()", count),
        nested("", "x", "[0]", count),
        nested("", "x", " not in x", count),
        nested("[", "x", " for x in x]", count),
        nested("[x for x in ", "x", "]", count),
    ];
    for text in texts {
        let error = expression(text.clone()).expect_err(&text[..20]);
        assert_eq!(error.message(), "too deeply nested", "{}", &text[..20]);
        assert!(error.to_string().len() < text.len() + 100 + text.len());
    }
    for text in [blocks(2000), elifs(count)] {
        let error = parse_module(&source(text)).unwrap_err();
        assert_eq!(error.message(), "too deeply nested");
    }
    let defs = nested("def f(): ", "pass\n", "", count);
    assert_eq!(parse_defs(&source(defs)).unwrap_err().message(), "too deeply nested");
}

#[test]
fn chains_of_chains_count_together() {
    // Each level has a chain of its own as its first operand: the heights add up.
    let mut text = String::from("x");
    for _ in 0..20 {
        text = format!("({text}){}", ".x".repeat(50));
    }
    assert_eq!(expression(text).unwrap_err().message(), "too deeply nested");
}

#[test]
fn real_programs_are_not_too_deep() {
    let most = MAX_DEPTH as usize - 10;
    for text in [
        nested("(", "x", ")", most),
        nested("f(", "x", ")", most),
        nested("", "x", ".f()", most / 2),
        nested("x + ", "x", "", most),
        nested("", "x", ".x", most),
        format!("[{}]", "1, ".repeat(100_000)),
        format!("f({})", "(1, -2.5), ".repeat(100_000)),
        format!("{{{}1: 2}}", "1: 2, ".repeat(100_000)),
        "\"a\" ".repeat(100_000),
    ] {
        expression(text).unwrap();
    }
    for text in [
        blocks(most),
        elifs(most),
        format!("def f():\n{}", "  x = 1\n".repeat(100_000)),
        format!("def f({}): pass\n", "x: int=1, ".repeat(100_000)),
        "def f(): pass\n".repeat(100_000),
    ] {
        parse_module(&source(text)).unwrap();
    }
}

//! Programs that nest deeply or grow while they are compiled: an error or a graph, never a crash.

#![expect(clippy::unwrap_used, reason = "a panic is what these tests look for")]

use std::sync::Arc;

use sconce_compiler::{Error, define};
use sconce_ir::Unit;
use sconce_syntax::Source;

/// Compiles on a stack of half the size that threads have by default.
fn compile(text: String) -> Result<usize, Error> {
    let work = move || {
        let source = Arc::new(Source::new(text));
        define(&mut Unit::new(), &source).map(|functions| functions.len())
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work);
    thread.unwrap().join().unwrap()
}

/// Nests ever deeper until the parser or a pass says that it is enough.
fn deepen(text: impl Fn(usize) -> String) {
    for depth in [1, 30, 100, 240, 480, 2000] {
        let result = compile(text(depth));
        assert!(result.is_ok() || depth > 1, "{result:?}");
    }
}

#[test]
fn expressions_nest() {
    deepen(|depth| {
        format!("def f(x: int):\n  return {}x{}\n", "(".repeat(depth), ")".repeat(depth))
    });
    deepen(|depth| format!("def f(x: bool):\n  return {}x\n", "not ".repeat(depth)));
    deepen(|depth| format!("def f(x):\n  return x{}\n", ".neg()".repeat(depth)));
    deepen(|depth| format!("def f(x: int):\n  return {}x\n", "x + ".repeat(depth)));
    deepen(|depth| {
        format!("def f(x: int):\n  return {}[x]{}\n", "[".repeat(depth), "]".repeat(depth))
    });
    deepen(|depth| format!("def f(x: bool):\n  return {}x\n", "x if x else ".repeat(depth)));
    deepen(|depth| {
        let (open, close) = ("List[".repeat(depth), "]".repeat(depth));
        format!("def f(x: {open}int{close}):\n  return x\n")
    });
}

#[test]
fn statements_nest() {
    let nested = |head: &'static str| {
        move |depth: usize| {
            let mut text = String::from("def f(x: int, b: bool):\n");
            for level in 0..depth {
                text.push_str(&" ".repeat(level + 1));
                text.push_str(head);
                text.push('\n');
            }
            text.push_str(&" ".repeat(depth + 1));
            text + "x += 1\n return x\n"
        }
    };
    deepen(nested("if b:"));
    deepen(nested("while b:"));
    deepen(nested("for i in range(x):"));
}

#[test]
fn what_is_emitted_again_and_again_is_refused() {
    let indices = format!("def f(x):\n  return {}x{}\n", "x[".repeat(60), "]".repeat(60));
    let remainders = format!("def f(x: int):\n  return x{}\n", " % x".repeat(100));
    let tuple = format!("({})", "1, ".repeat(60));
    let loops: String =
        (0..8).map(|level| format!("{}for i in {tuple}:\n", " ".repeat(level + 1))).collect();
    let loops = format!("def f(x: int):\n{loops}{}x += 1\n return x\n", " ".repeat(9));
    for text in [indices, remainders, loops] {
        let error = compile(text).unwrap_err();
        assert_eq!(error.message(), "the function grows too large while it is compiled");
    }
}

//! Functions that are overloaded by `@torch.jit._overload`.
#![allow(clippy::unwrap_used)]

use sconce_script::ScriptOptions;

const SOURCE: &str = "import torch

@torch.jit._overload
def same(x: int) -> int: ...

@torch.jit._overload
def same(x: float) -> float: ...

def same(x):
    return x

def of_ints(x: int):
    return same(x)
";

#[test]
fn one_is_compiled_where_a_call_says_which() {
    let compiled = ScriptOptions::new().name("of_ints").compile_text("m.py", SOURCE).unwrap();
    assert_eq!(compiled.schema().unwrap().to_string(), "__torch__.m.of_ints(int x) -> int");
}

#[test]
fn none_is_compiled_by_itself() {
    let error = ScriptOptions::new().name("same").compile_text("m.py", SOURCE).unwrap_err();
    let expected = "Function __torch__.m.same cannot be directly compiled because it is overloaded. It must be \
                    used in a context of a function where its inputs can determine which overload to call.";
    assert_eq!(error.message(), expected);
}

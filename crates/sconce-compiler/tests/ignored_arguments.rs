//! Arguments that PyTorch's compiler does not look at, and that Python refuses: they are refused here.

#![expect(clippy::unwrap_used, reason = "what compiles fails the test")]

use std::sync::Arc;

use sconce_compiler::define;
use sconce_ir::Unit;
use sconce_syntax::Source;

fn refusal(body: &str) -> String {
    let text = format!("def f(x: Tensor, l: List[int]):\n  {body}\n  return x\n");
    let source = Arc::new(Source::new(text));
    define(&mut Unit::new(), &source).unwrap_err().report()
}

#[test]
fn forms_refuse_keywords() {
    for (body, words) in [
        ("for i in range(3, step=2):\n    print(i)", "range takes no keyword arguments"),
        ("l = list(l, wrong=1)", "list takes no keyword arguments"),
        ("l = list(wrong=1)", "list takes no keyword arguments"),
        (
            "for i, j in zip(l, l, wrong=1):\n    print(i)",
            "zip() got an unexpected keyword argument 'wrong'",
        ),
        ("y: List[float] = x.tolist(3)", "tolist expected exactly 0 arguments but found 1"),
        ("y: List[float] = x.tolist(wrong=3)", "tolist takes no keyword arguments"),
        ("y = x.__getitem__(0, wrong=1)", "__getitem__ takes no keyword arguments"),
        ("raise AssertionError(\"a\", wrong=1)", "AssertionError() takes no keyword arguments"),
    ] {
        let said = refusal(body);
        assert!(said.contains(words), "{body}: {said}");
    }
}

#[test]
fn casts_of_tensors_take_no_arguments() {
    for body in ["x = x.float(3)", "x = x.long(memory_format=0)"] {
        let said = refusal(body);
        assert!(said.contains("of a tensor takes no arguments in TorchScript"), "{body}: {said}");
    }
}

//! Code that is no program.

use super::{NO_CONSTANTS, OBJECT, archive, error_of, forward, load, load_code, load_object};

#[test]
fn every_kind_of_damage_is_placed() {
    // Code, what the message says, the line.
    let cases: &[(&str, &str, u32)] = &[
        ("class M(Module):\n  def forward(self", "expected", 2),
        ("class M(Module):\n  def", "expected", 2),
        ("class M(Module):\n  x : Tenzor\n", "Unknown type name 'Tenzor'", 2),
        ("class M(Module):\n  x : Lizt[int]\n", "Unknown type constructor Lizt", 2),
        ("class M(Module):\n  x : __torch__.N\n", "Unknown type name '__torch__.N'", 2),
        ("class M(Module):\n  x : __torch__.a.b.N\n", "Unknown type name '__torch__.a.b.N'", 2),
        ("class M(Module):\n  x : List[int, int]\n", "expected exactly one element type", 2),
        ("class M(Modul):\n  pass\n", "Torchscript does not support class inheritance.", 1),
        ("class M(a.b):\n  pass\n", "Torchscript does not support class inheritance.", 1),
        ("class M(Module):\n  x = 1\n", "x", 2),
        ("class M(Module):\n  x : Final[int] = [\n", "expected", 3),
        ("class M(Module):\n  x : Final[int] = f(1)\n", "this is not a constant", 2),
        ("class M(Module):\n  __parameters__ = 3\n", "__parameters__ is not a list", 2),
        ("class M(Module):\n  return 1\n", "Unexpected statement kind in class body", 2),
        ("\u{1}\u{2} ???", "", 1),
    ];
    for (code, message, line) in cases {
        let error = error_of(load_code(code));
        assert!(error.message().contains(message), "{code}: {error}");
        assert_eq!(
            (error.record(), error.line()),
            (Some("code/__torch__.py"), Some(*line)),
            "{code}: {error}"
        );
    }
}

#[test]
fn bodies_that_mean_nothing_are_placed() {
    let cases: &[(&str, &str, u32)] = &[
        ("    return y\n", "undefined value y", 3),
        ("    return self.y\n", "has no attribute", 3),
        ("    return self.y(x, )\n", "has no attribute", 3),
        ("    y = x\n    return torch.nothing(x)\n", "Unknown builtin op: aten::nothing", 4),
        ("    return ops.mine.tabulate(x)\n", "Unknown builtin op: mine::tabulate", 3),
        ("    return CONSTANTS.c999\n", "c999", 3),
        ("    return CONSTANTS.c18446744073709551616\n", "c18446744073709551616", 3),
        ("    return CONSTANTS\n", "", 3),
        ("    return ops.prim\n", "", 3),
        ("    return __torch__.f(x, )\n", "cannot call a module", 3),
        ("    return annotate(Tenzor, x)\n", "Unknown type name 'Tenzor'", 3),
        ("    return 1\n", "", 3),
        ("    return x.foo\n", "foo", 3),
        ("    a, b = x, x, x\n    return a\n", "", 3),
        ("    break\n", "", 3),
        ("    return 99999999999999999999\n", "", 3),
        ("    return uninitialized(Tensor, 1)\n", "", 3),
    ];
    for (body, message, line) in cases {
        let error = error_of(load_code(forward(body)));
        assert!(error.message().contains(message), "{body}: {error}");
        assert_eq!(error.line(), Some(*line), "{body}: {error}");
    }
}

#[test]
fn code_is_utf8() {
    let error = error_of(load_code(b"class M(Module):\n  x : \xff\n"));
    assert!(error.message().contains("code/__torch__.py is not valid UTF-8"), "{error}");
}

#[test]
fn what_is_missing_is_named() {
    let error = error_of(load_code(""));
    assert_eq!(error.message(), "Unknown type name '__torch__.M'");
    assert_eq!(error.record(), Some("data.pkl"));
    let error = error_of(load(archive(&[("data.pkl", OBJECT), ("constants.pkl", NO_CONSTANTS)])));
    assert_eq!(error.message(), "Unknown type name '__torch__.M'");
    let error = error_of(load(archive(&[("data.pkl", OBJECT)])));
    assert!(error.message().contains("no data.pkl and constants.pkl"), "{error}");
    let error = error_of(load_code("class M(Module):\n  x : int\n"));
    assert!(error.message().contains("has no attribute 'x'"), "{error}");
}

#[test]
fn named_tuples_and_enums_do_not_hold_themselves() {
    let cases = [
        "class T(NamedTuple):\n  t : __torch__.T\n",
        "class T(NamedTuple):\n  t : List[__torch__.U]\nclass U(NamedTuple):\n  t : Optional[__torch__.T]\n",
        "class T(Enum):\n  A = __torch__.T.A\n",
        "class T(NamedTuple):\n  t : int = __torch__.T(1)\n",
        "class T(Enum):\n  pass\n",
    ];
    for types in cases {
        let code = format!("{types}class M(Module):\n  x : __torch__.T\n");
        let error = error_of(load_code(&code));
        assert!(error.line().is_some(), "{code}: {error}");
    }
}

#[test]
fn classes_may_mention_themselves_and_each_other() {
    let code = "class A:\n  a : Optional[__torch__.A]\n  b : Optional[__torch__.B]\n\
                class B:\n  a : List[__torch__.A]\n  def f(self) -> __torch__.A:\n    return self.a[0]\n\
                class M(Module):\n  def forward(self, a: __torch__.A) -> Optional[__torch__.B]:\n    return a.b\n";
    super::use_all(&load_code(code).unwrap()).unwrap();
}

#[test]
fn debug_records_that_cannot_be_read_are_none() {
    let code = forward("    return torch.nothing(x)\n");
    for debug in [&b""[..], b"garbage", b"\x80\x02.", b"\x80\x02N.", b"\x80\x02(K\x01K\x02t."] {
        let error = error_of(load(archive(&[
            ("data.pkl", OBJECT),
            ("code/__torch__.py", code.as_bytes()),
            ("code/__torch__.py.debug_pkl", debug),
            ("constants.pkl", NO_CONSTANTS),
        ])));
        assert_eq!(error.line(), Some(3), "{error}");
    }
}

#[test]
fn an_error_knows_the_original_place() {
    // ((0, (("def f(x):\n  return y\n", "f.py", 7), 12, 20)),), as before 1.10.
    let debug = b"\x80\x02K\0X\x15\0\0\0def f(x):\n  return y\nX\x04\0\0\0f.pyK\x07\x87K\x0cK\x14\x87\x86\x85.";
    let code = forward("    return torch.nothing(x)\n");
    let error = error_of(load(archive(&[
        ("data.pkl", OBJECT),
        ("code/__torch__.py", code.as_bytes()),
        ("code/__torch__.py.debug_pkl", debug),
        ("constants.pkl", NO_CONSTANTS),
    ])));
    let original = error.program().unwrap().range().unwrap().original().unwrap();
    assert_eq!(original.file_line_column(), Some(("f.py", 8, 2)));
}

#[test]
fn calls_in_a_circle_are_refused_where_they_are_inlined() {
    let code = "def f(x: Tensor) -> Tensor:\n  return __torch__.g(x, )\n\
                def g(x: Tensor) -> Tensor:\n  return __torch__.f(x, )\n\
                class M(Module):\n  def forward(self, x: Tensor) -> Tensor:\n    return __torch__.f(x, )\n";
    let error = error_of(load_object(code, OBJECT, NO_CONSTANTS));
    assert!(error.message().contains("is called recursively"), "{error}");
}

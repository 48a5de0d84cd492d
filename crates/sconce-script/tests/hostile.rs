//! Python files that are made to be hard: they are refused, and nothing panics or overflows.

#![allow(clippy::unwrap_used)]

use sconce_script::{ScriptLimits, ScriptOptions};

/// Compiles on a stack of half the size that threads have by default.
fn compile(text: &str) -> Result<(), String> {
    let text = text.to_owned();
    let work = move || {
        // Some constructors do not end by themselves.
        let limits = ScriptLimits { steps: 1 << 24, memory: Some(1 << 29), time: None };
        let options = ScriptOptions::new().name("f").limits(limits);
        let compiled = options.compile_text("hostile.py", &text);
        compiled.map(drop).map_err(|error| error.report())
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap()
}

fn body(expression: &str) -> String {
    format!("def f(x: int):\n    return {expression}\n")
}

#[test]
fn deep_nesting_is_refused() {
    const DEEP: usize = 100_000;
    let cases = [
        ("parentheses", body(&("(".repeat(DEEP) + "x" + &")".repeat(DEEP)))),
        ("open parentheses", body(&"(".repeat(DEEP))),
        ("lists", body(&("[".repeat(2000) + &"]".repeat(2000)))),
        ("not", body(&("not ".repeat(DEEP) + "x"))),
        ("minus", body(&("-".repeat(DEEP) + "x"))),
        ("calls behind a comma", body(&("f(x, ".repeat(DEEP) + "x" + &")".repeat(DEEP)))),
        ("lists behind a comma", body(&("[x, ".repeat(DEEP) + "x" + &"]".repeat(DEEP)))),
        ("dicts behind a comma", body(&("{x: x, x: ".repeat(DEEP) + "x" + &"}".repeat(DEEP)))),
        ("sums", body(&("x + ".repeat(DEEP) + "x"))),
        ("sums below the parser's limit", body(&("x + ".repeat(600) + "x"))),
        ("and", body(&("x and ".repeat(DEEP) + "x"))),
        ("comparisons", body(&("x < ".repeat(DEEP) + "x"))),
        ("powers", body(&("x ** ".repeat(DEEP) + "x"))),
        ("attributes", body(&("x".to_owned() + &".a".repeat(DEEP)))),
        ("calls", body(&("x".to_owned() + &"()".repeat(DEEP)))),
        ("ternaries", body(&("x if x else ".repeat(DEEP) + "x"))),
        ("lambdas", body(&("lambda a, b: ".repeat(DEEP) + "x"))),
        ("elif", {
            let branch = "    elif x:\n        pass\n".repeat(5000);
            format!("def f(x: bool):\n    if x:\n        pass\n{branch}    return x\n")
        }),
        ("blocks", {
            let mut text = "def f(x: bool):\n".to_owned();
            for depth in 1..300 {
                text += &format!("{}if x:\n", " ".repeat(depth));
            }
            text + &" ".repeat(300) + "return 1\n"
        }),
    ];
    for (name, text) in cases {
        assert!(compile(&text).is_err(), "{name}");
    }
}

#[test]
fn circles_are_refused() {
    let cases = [
        "def f(x: int):\n    return g(x)\ndef g(x: int):\n    return f(x)\n",
        "a = b\nb = a\ndef f(x: int):\n    return a\n",
        "A = B\nB = A\ndef f(x: A):\n    return 1\n",
        "class A(B): pass\nclass B(A): pass\ndef f(x: A):\n    return 1\n",
        "from hostile import a as b\nfrom hostile import b as a\ndef f(x: int):\n    return a\n",
        "class C:\n    def __init__(self):\n        self.c = C()\ndef f(x: int):\n    return C()\n",
        "x = (x, x)\ndef f(y: int = x):\n    return y\n",
        "def g(): return g()\nh = g()\ndef f(x: int):\n    return h(x)\n",
        "def g(x, y): return g(g(x, y), g(y, x))\nh = g(1, 2)\ndef f(x: int):\n    return h(x)\n",
        "def g(x):\n    if g(x):\n        return x\n    return g\nh = g(1)\ndef f(x: int):\n    return h(x)\n",
        "from hostile import *\nfrom hostile import *\ndef f(x: int):\n    return missing\n",
    ];
    for text in cases {
        assert!(compile(text).is_err(), "{text}");
    }
}

#[test]
fn modules_without_end_are_refused() {
    let inner = "import torch.nn as nn\n\n\nclass P(nn.Module):\n    def __init__(self, inner):\n        \
                 super().__init__()\n        self.a = inner\n        self.b = inner\n\n\n";
    let module = |body: &str| {
        let body = body.replace('\n', "\n        ");
        format!(
            "{inner}class f(nn.Module):\n    def __init__(self):\n        super().__init__()\n        \
             {body}\n"
        )
    };
    let cases = [
        module("self.me = self"),
        module("inner = nn.Identity()\nfor _ in range(60):\n    inner = P(inner)\nself.x = inner"),
        module(
            "inner = nn.Identity()\nfor _ in range(5000):\n    inner = nn.Sequential(inner)\nself.x = inner",
        ),
        module("while True:\n    pass"),
        module("x = [0]\nwhile True:\n    x = x + x"),
        format!("{inner}class f(nn.Module):\n    def __init__(self):\n        f()\n"),
    ];
    for text in cases {
        assert!(compile(&text).is_err(), "{text}");
    }
    // An attribute that programs cannot have is an error only of a program that uses it.
    let shared = module("x = [1]\nfor _ in range(30):\n    x = [x, x]\nself.x = x");
    assert!(compile(&shared).is_err(), "{shared}");
}

#[test]
fn text_that_is_no_python_is_refused_with_its_line() {
    for text in
        ["def f(x:\n", "def f(x):\n\treturn 1\n        return 2\n", "\u{0}", "def f(x): return '\n"]
    {
        assert!(compile(text).is_err(), "{text:?}");
    }
    let error = compile("def f(x):\n    return x\n\ny = = 3\n").unwrap_err();
    assert!(error.contains("line 4"), "{error}");
}

#[test]
fn classes_of_themselves_and_of_too_many_others_are_refused() {
    let use_of = |ty: &str| format!("def f(x: {ty}) -> int:\n    return 1\n");
    let all = |count: usize, class: &dyn Fn(usize) -> String| {
        (0..count).map(class).collect::<String>() + &use_of("T0")
    };
    let imports = "import torch\nfrom typing import NamedTuple\n\n\n";
    let cases = [
        ("itself", format!("class T(NamedTuple):\n    a: T\n{}", use_of("T"))),
        ("quoted", format!("class T(NamedTuple):\n    a: 'T'\n    b: 'T'\n{}", use_of("T"))),
        ("called", format!("T = NamedTuple('T', [('a', T)])\n{}", use_of("T"))),
        (
            "interface",
            format!(
                "@torch.jit.interface\nclass T:\n    def g(self, a: 'T', b: 'T') -> int:\n        \
                 pass\n{}",
                use_of("T")
            ),
        ),
        ("circle", all(3, &|at| format!("class T{at}(NamedTuple):\n    a: T{}\n", (at + 1) % 3))),
        ("chain", all(5000, &|at| format!("class T{at}(NamedTuple):\n    a: T{}\n", at + 1))),
        (
            "methods",
            all(5000, &|at| {
                format!("class T{at}:\n    def g(self, a: T{}) -> int:\n        return 1\n", at + 1)
            }),
        ),
        (
            "methods, each twice",
            all(60, &|at| {
                let next = at + 1;
                format!(
                    "class T{at}:\n    def g(self, a: 'T{next}', b: 'T{next}') -> int:\n        \
                     return 1\n"
                )
            }),
        ),
    ];
    for (name, text) in cases {
        let error = compile(&(imports.to_owned() + &text)).unwrap_err();
        assert!(error.contains("hostile.py"), "{name}: {error}");
    }
}

#[test]
fn very_many_conditions_at_the_top_are_no_deep_ones() {
    const MANY: usize = 20_000;
    let function = "def f(x):\n    return V(x)\n";
    let branches = "elif W == 1:\n    V = torch.abs\n".repeat(MANY);
    let first = "import torch\nW = 0\nif W == 2:\n    V = torch.exp\n";
    compile(&format!("{first}{branches}else:\n    V = torch.neg\n{function}")).unwrap();
    let after_another = "if W == 1:\n    V = torch.abs\n".repeat(MANY);
    compile(&format!("import torch\nW = 0\nV = torch.neg\n{after_another}{function}")).unwrap();
}

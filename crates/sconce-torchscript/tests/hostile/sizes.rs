//! Programs that are large, or grow large.

use std::fmt::Write as _;

use super::{error_of, forward, load_code, use_all};

#[test]
fn deep_nesting_is_refused() {
    let deep = 100_000;
    let bodies = [
        format!("    return {}x{}\n", "(".repeat(deep), ")".repeat(deep)),
        format!("    y = {}{}\n    return x\n", "[".repeat(deep), "]".repeat(deep)),
        format!("    return {}x\n", "-".repeat(deep)),
        format!("    y = {}True\n    return x\n", "not ".repeat(deep)),
        format!("    return x{}\n", ".t()".repeat(deep)),
        format!("    return x{}\n", "[0]".repeat(deep)),
        format!("    return x{}\n", " + x".repeat(deep)),
        format!("    return {}x{}\n", "torch.t(".repeat(deep), ")".repeat(deep)),
        format!("    return {}x\n", "x if True else ".repeat(deep)),
        (0..1000).map(|at| format!("{}if n == 1:\n", " ".repeat(4 + at))).collect(),
    ];
    for body in bodies {
        let shown: String = body.chars().take(60).collect();
        let Ok(module) = load_code(forward(&body)) else { continue };
        assert!(use_all(&module).is_err(), "{shown}");
    }
    let ty = format!("class M(Module):\n  x : {}int{}\n", "List[".repeat(deep), "]".repeat(deep));
    error_of(load_code(ty));
}

#[test]
fn types_that_double_are_refused() {
    let mut code = "class T0(NamedTuple):\n  a : int\n".to_owned();
    for at in 1..60 {
        let before = format!("__torch__.T{}", at - 1);
        write!(code, "class T{at}(NamedTuple):\n  a : {before}\n  b : {before}\n").unwrap();
    }
    for last in [13, 20, 50, 59] {
        let code = format!("{code}class M(Module):\n  x : __torch__.T{last}\n");
        let error = error_of(load_code(code));
        assert!(error.message().contains("too large"), "{error}");
    }
}

#[test]
fn tuples_that_double_are_refused() {
    let mut body = "    t0 = (n, n)\n".to_owned();
    for at in 1..60 {
        writeln!(body, "    t{at} = (t{}, t{})", at - 1, at - 1).unwrap();
    }
    let error = error_of(load_code(forward(&format!("{body}    return x\n"))));
    assert!(error.message().contains("too large"), "{error}");
    let mut body = "    t0 = {\"a\": n}\n".to_owned();
    for at in 1..60 {
        writeln!(body, "    t{at} = ([t{}], [t{}])", at - 1, at - 1).unwrap();
    }
    let error = error_of(load_code(forward(&format!("{body}    return x\n"))));
    assert!(error.message().contains("too large"), "{error}");
}

#[test]
fn calls_that_double_are_not_inlined() {
    let mut code = "def f0(x: Tensor) -> Tensor:\n  return torch.relu(x)\n".to_owned();
    for at in 1..40 {
        let before = at - 1;
        let call = format!("__torch__.f{before}(__torch__.f{before}(x, ), )");
        write!(code, "def f{at}(x: Tensor) -> Tensor:\n  return {call}\n").unwrap();
    }
    code += "class M(Module):\n  def forward(self, x: Tensor) -> Tensor:\n    return __torch__.f39(x, )\n";
    let module = load_code(code).unwrap();
    let error = module.inlined_graph("forward").unwrap_err();
    assert!(error.message().contains("once all calls in it are inlined"), "{error}");
    assert!(module.frozen_graph("forward").is_err());
    module.graph("forward").unwrap();
}

#[test]
fn calls_in_deep_blocks_are_bounded() {
    let mut code = "def f0(x: Tensor) -> Tensor:\n  return torch.relu(x)\n".to_owned();
    for at in 1..400 {
        write!(code, "def f{at}(x: Tensor) -> Tensor:\n  y = x\n").unwrap();
        for level in 0..40 {
            writeln!(code, "{}if torch.gt(torch.dim(y), {level}):", " ".repeat(2 + level)).unwrap();
        }
        writeln!(code, "{}y = __torch__.f{}(y, )\n  return y", " ".repeat(42), at - 1).unwrap();
    }
    code += "class M(Module):\n  def forward(self, x: Tensor) -> Tensor:\n    return __torch__.f399(x, )\n";
    let module = load_code(code).unwrap();
    let error = module.inlined_graph("forward").unwrap_err();
    assert!(error.message().contains("blocks in each other"), "{error}");
    assert!(module.frozen_graph("forward").is_err());
    assert!(module.frozen_graph_to_run("forward").is_err());
}

#[test]
fn lists_that_double_are_bounded() {
    let mut code = "def f(x: Tensor) -> int:\n  l0 = [1]\n".to_owned();
    for at in 1..50 {
        writeln!(code, "  l{at} = torch.add(l{}, l{})", at - 1, at - 1).unwrap();
    }
    code += "  return torch.len(l49)\n";
    code +=
        "class M(Module):\n  def forward(self, x: Tensor) -> int:\n    return __torch__.f(x, )\n";
    load_code(code).unwrap().inlined_graph("forward").unwrap();
}

#[test]
fn long_chains_of_calls_are_refused() {
    let mut code = "def f0(x: Tensor) -> Tensor:\n  return torch.relu(x)\n".to_owned();
    for at in 1..5_000 {
        let call = format!("__torch__.f{}(x, )", at - 1);
        write!(code, "def f{at}(x: Tensor) -> Tensor:\n  return {call}\n").unwrap();
    }
    code += "class M(Module):\n  def forward(self, x: Tensor) -> Tensor:\n    return __torch__.f4999(x, )\n";
    let error = load_code(code).unwrap().inlined_graph("forward").unwrap_err();
    assert!(error.message().contains("recursively"), "{error}");
}

#[test]
fn long_chains_of_types_are_refused() {
    let mut code = "class M(Module):\n  x : __torch__.T0\n".to_owned();
    for at in 0..10_000 {
        write!(code, "class T{at}(NamedTuple):\n  a : __torch__.T{}\n", at + 1).unwrap();
    }
    error_of(load_code(code));
}

#[test]
fn many_classes_load() {
    let mut code =
        "class M(Module):\n  def forward(self, a: __torch__.C0) -> int:\n    return a.n\n"
            .to_owned();
    for at in 0..20_000 {
        let next = (at + 1) % 20_000;
        write!(code, "class C{at}:\n  n : int\n  next : Optional[__torch__.C{next}]\n").unwrap();
    }
    use_all(&load_code(code).unwrap()).unwrap();
}

#[test]
fn many_statements_compile() {
    let mut body = String::new();
    for at in 0..20_000 {
        writeln!(body, "    x{at} = torch.add(x, {at})").unwrap();
    }
    body += "    return x19999\n";
    use_all(&load_code(forward(&body)).unwrap()).unwrap();
}

#[test]
fn huge_literals_compile() {
    let list = "1, ".repeat(100_000);
    let body = format!("    y = [{list}]\n    return torch.add(x, torch.len(y))\n");
    use_all(&load_code(forward(&body)).unwrap()).unwrap();
    let constant = format!("class M(Module):\n  y : Final[List[int]] = [{list}]\n");
    use_all(&load_code(constant).unwrap()).unwrap();
}

#[test]
fn unions_of_many_types_are_bounded() {
    let mut types = String::new();
    let mut code = String::new();
    for at in 0..2_000 {
        write!(types, "__torch__.C{at}, ").unwrap();
        write!(code, "class C{at}:\n  pass\n").unwrap();
    }
    let types = types.trim_end_matches(", ");
    code += &format!(
        "class M(Module):\n  def forward(self, x: Union[{types}]) -> int:\n    return 1\n"
    );
    let _ = load_code(code).and_then(|module| use_all(&module));
}

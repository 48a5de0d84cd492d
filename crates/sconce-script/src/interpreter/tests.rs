//! Python source to printed objects, and what it is told about what is wrong.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::*;
use crate::objects::{Heap, Value as ObjectValue};

/// The folder of an installed PyTorch, where one is asked to be tested with.
fn run_with(
    text: &str,
    expression: &str,
    folders: Vec<PathBuf>,
) -> Result<(Heap, ObjectValue), Error> {
    let mut loader = ModuleLoader::new(folders).with_compiler(crate::script::compiled_text);
    let module = loader.add(Module::parse("file", "file.py", text.to_owned(), false).unwrap());
    // Some of the programs do not end by themselves.
    let limits = ScriptLimits { steps: 1 << 24, memory: Some(1 << 29), time: None };
    let what =
        Construction { expression: expression.to_owned(), limits, ..Construction::default() };
    construct(&mut loader, &module, &what)
}

fn run(text: &str, expression: &str) -> Result<(Heap, ObjectValue), Error> {
    run_with(text, expression, Vec::new())
}

fn shown(text: &str, expression: &str) -> String {
    match run(text, expression) {
        Ok((heap, value)) => Printer { heap: &heap }.show(&value, 0),
        Err(error) => {
            let place = error.range().and_then(|range| range.file_line_column());
            let line = place.map_or(0, |(_, line, _)| line);
            format!("line {line}: {}", error.message())
        }
    }
}

/// Writes objects as Python would, modules as trees.
struct Printer<'h> {
    heap: &'h Heap,
}

impl Printer<'_> {
    fn list(&self, items: &[ObjectValue], level: usize) -> String {
        items.iter().map(|item| self.show(item, level)).collect::<Vec<_>>().join(", ")
    }

    fn show(&self, value: &ObjectValue, level: usize) -> String {
        match value {
            ObjectValue::None => "None".into(),
            ObjectValue::Bool(value) => if *value { "True" } else { "False" }.into(),
            ObjectValue::Int(value) => value.to_string(),
            ObjectValue::Float(value) => formatting::float_text(*value),
            ObjectValue::Complex(re, im) => format!("{re}+{im}j"),
            ObjectValue::Str(text) => format!("'{text}'"),
            ObjectValue::Tuple(items, None) => format!("({})", self.list(items, level)),
            ObjectValue::Tuple(items, Some(class)) => {
                format!("{}({})", class.name(), self.list(items, level))
            }
            ObjectValue::List(id) => {
                format!("[{}]", self.list(self.heap.list(*id).unwrap(), level))
            }
            ObjectValue::Dict(id) => {
                let entries = self.heap.dict(*id).unwrap().iter().map(|(key, value)| {
                    format!("{}: {}", self.show(key, level), self.show(value, level))
                });
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            ObjectValue::Tensor(id) => {
                let tensor = self.heap.tensor(*id).unwrap();
                let kind = if tensor.is_parameter { "Parameter" } else { "Tensor" };
                let mut shown = format!("{kind}{:?}", tensor.tensor.sizes());
                if tensor.tensor.dtype() != sconce_tensor::DType::Float32 {
                    let _ = write!(shown, " {}", tensor.tensor.dtype());
                }
                if !tensor.is_known {
                    shown.push_str(" ?");
                } else if tensor.tensor.numel() <= 8 {
                    let numbers = sconce_kernels::Importer::default();
                    let mut numbers = numbers;
                    let own = numbers.import(&tensor.tensor).unwrap();
                    let own = sconce_kernels::Tensor::copy(&own).unwrap();
                    let values: Vec<String> = match own.dtype() {
                        sconce_tensor::DType::Float32 => {
                            own.to_vec::<f32>().unwrap().iter().map(f32::to_string).collect()
                        }
                        sconce_tensor::DType::Int64 => {
                            own.to_vec::<i64>().unwrap().iter().map(i64::to_string).collect()
                        }
                        _ => Vec::new(),
                    };
                    let _ = write!(shown, " = {}", values.join(" "));
                }
                shown
            }
            ObjectValue::Module(id) => self.module(*id, level),
            ObjectValue::Object(id) => {
                let object = self.heap.object(*id).unwrap();
                let attributes: Vec<String> = object
                    .attributes
                    .iter()
                    .map(|(name, value)| format!("{name}={}", self.show(value, level)))
                    .collect();
                format!("{}({})", object.class.name(), attributes.join(", "))
            }
            ObjectValue::Enum(class, name) => format!("{}.{name}", class.name()),
            ObjectValue::MixedEnum(_, _, plain) => self.show(plain, level),
            ObjectValue::Function(function) => {
                let bound = if function.bound.is_some() { "method" } else { "function" };
                let names = function.function.module.names().join(", ");
                match function.function.module.origin() {
                    Some(_) => format!("<{bound} {}({names})>", function.function.name()),
                    None => format!("<{bound} {}()>", function.function.name()),
                }
            }
            ObjectValue::Class(class) => format!("<class {}>", class.name()),
            ObjectValue::Library(name) => format!("<{name}>"),
            ObjectValue::DType(dtype) => format!("{dtype}"),
            ObjectValue::Device(device) => format!("device {device}"),
            ObjectValue::Opaque(what) => format!("<{what}>"),
        }
    }

    fn module(&self, id: crate::objects::Id, level: usize) -> String {
        let module = self.heap.module(id).unwrap();
        let mut shown = format!("{}.{}", module.class.module.name, module.class.name());
        if !module.training {
            shown.push_str(" eval");
        }
        let indent = "  ".repeat(level + 1);
        let mut line = |kind: &str, name: &str, value: &ObjectValue| {
            let _ = write!(shown, "\n{indent}{kind}{name}: {}", self.show(value, level + 1));
        };
        for (name, value) in &module.parameters {
            line("", name, value);
        }
        for buffer in &module.buffers {
            line(if buffer.is_persistent { "" } else { "~" }, &buffer.name, &buffer.value);
        }
        for (name, value) in &module.modules {
            line("", name, value);
        }
        for (name, value) in &module.attributes {
            line(".", name, value);
        }
        shown
    }
}

const HEAD: &str =
    "import math\nimport torch\nimport torch.nn as nn\nfrom typing import NamedTuple, Optional\n";

#[test]
fn classes_of_modules_become_trees() {
    let cases = [
        (
            "class Net(nn.Module):\n    def __init__(self, hidden=3):\n        super().__init__()\n        self.fc = nn.Linear(2, hidden)\n        self.names = ['a', 'b']\n",
            "Net",
            "file.Net\n  fc: torch.nn.modules.linear.Linear\n    weight: Parameter[3, 2] ?\n    bias: Parameter[3] ?\n    .in_features: 2\n    .out_features: 3\n  .names: ['a', 'b']",
        ),
        (
            "class Net(nn.Module):\n    def __init__(self, hidden=3):\n        super(Net, self).__init__()\n        self.w = nn.Parameter(torch.ones(hidden), requires_grad=False)\n        self.register_buffer('b', torch.arange(3), persistent=False)\n        self.register_buffer('n', None)\n",
            "Net(hidden=2).eval()",
            "file.Net eval\n  w: Parameter[2] = 1 1\n  ~b: Tensor[3] torch.int64 = 0 1 2\n  n: None",
        ),
        (
            "net = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(inplace=True))\n",
            "net",
            "torch.nn.modules.container.Sequential\n  0: torch.nn.modules.conv.Conv2d\n    weight: Parameter[2, 1, 3, 3] ?\n    bias: Parameter[2] ?\n    .in_channels: 1\n    .out_channels: 2\n    .kernel_size: (3, 3)\n    .stride: (1, 1)\n    .padding: (1, 1)\n    .dilation: (1, 1)\n    .transposed: False\n    .output_padding: (0, 0)\n    .groups: 1\n    .padding_mode: 'zeros'\n    ._reversed_padding_repeated_twice: [1, 1, 1, 1]\n  1: torch.nn.modules.activation.ReLU\n    .inplace: True",
        ),
    ];
    for (text, expression, expected) in cases {
        assert_eq!(shown(&format!("{HEAD}{text}"), expression), expected, "{text}");
    }
}

#[test]
fn expressions_have_pythons_values() {
    let cases = [
        ("-7 // 2, -7 % 3, 7 / 2, 2 ** -1, divmod(-7, 2)", "(-4, 2, 3.5, 0.5, (-4, 1))"),
        (
            "1 < 2 < 3, 1 < 2 > 3, 1 == 1.0, 'a' in 'cat', None is None",
            "(True, False, True, True, True)",
        ),
        (
            "round(2.5), round(3.14159, 2), int(-2.7), abs(-3), 10 if [] else 20",
            "(2, 3.14, -2, 3, 20)",
        ),
        (
            "[1, 2, 3, 4][::-1], 'abc'[-2:], (1, 2, 3)[1:], list(range(5, 0, -2))",
            "([4, 3, 2, 1], 'bc', (2, 3), [5, 3, 1])",
        ),
        ("[x * y for x in range(3) if x for y in (1, 2)]", "[1, 2, 2, 4]"),
        (
            "{k: v for k, v in zip('ab', [1, 2])}, {**{'a': 1}, 'b': 2}",
            "({'a': 1, 'b': 2}, {'a': 1, 'b': 2})",
        ),
        (
            "f'{3:03d} {math.pi:.2f} {\"x\"!r:>5} {1e-7} {{}} {2 + 2 = }'",
            "'003 3.14   'x' 1e-07 {} 2 + 2 = 4'",
        ),
        ("'%d-%s-%.1f' % (3, 'a', 2.25), '{}:{b}'.format(1, b=2)", "('3-a-2.2', '1:2')"),
        (
            "'a_b_c'.rsplit('_', 1), ' x '.strip(), '-'.join(['a', 'b']), 'Ab'.lower()",
            "(['a_b', 'c'], 'x', 'a-b', 'ab')",
        ),
        (
            "sorted([3, 1, 2], key=lambda v: -v), sum([1, 2], 3), max('ab', 'c'), min([2, 1])",
            "([3, 2, 1], 6, 'c', 1)",
        ),
        ("(lambda a, *b, c=4, **d: (a, b, c, d))(1, 2, 3, e=5)", "(1, (2, 3), 4, {'e': 5})"),
        (
            "list(map(str, [1, 2])), any([0, 1]), all([]), list(enumerate('a', 1))",
            "(['1', '2'], True, True, [(1, 'a')])",
        ),
        (
            "isinstance(True, int), isinstance([], (tuple, list)), callable(len), type(3).__name__",
            "(True, True, True, 'int')",
        ),
        (
            "math.sqrt(16), math.floor(2.5), math.ceil(2.1), math.log2(8), math.prod([2, 3])",
            "(4.0, 2, 3, 3.0, 6)",
        ),
        (
            "torch.zeros(2, 3).shape, torch.arange(4).view(2, 2).t().size(0), torch.tensor([[1, 2]]).sum().item()",
            "((2, 3), 2, 3)",
        ),
        (
            "torch.linspace(0, 1, 3).tolist(), torch.ones(2, dtype=torch.float64).dtype",
            "([0.0, 0.5, 1.0], torch.float64)",
        ),
        (
            "torch.randn(2), torch.randn(2) + 1, torch.randn(2).zero_(), torch.empty(2).fill_(1.5) * 2",
            "(Tensor[2] ?, Tensor[2] ?, Tensor[2] = 0 0, Tensor[2] = 3 3)",
        ),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .map(|(expression, expected)| (expression, expected, shown(HEAD, expression)))
        .filter(|(_, expected, found)| found != *expected)
        .map(|(expression, expected, found)| format!("{expression}\n  {expected}\n  {found}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_run_as_python_runs_them() {
    let cases = [
        (
            "def f():\n    for i in range(9):\n        if i == 2:\n            continue\n        if i > 4:\n            break\n    else:\n        return 'else'\n    return i\n",
            "f()",
            "5",
        ),
        (
            "def f():\n    try:\n        {}['a']\n    except (ValueError, KeyError) as e:\n        return type(e).__name__, str(e)\n    finally:\n        pass\n",
            "f()",
            "('KeyError', 'a')",
        ),
        (
            "def f():\n    a = 1\n    def g():\n        nonlocal a\n        a += 1\n        return a\n    g()\n    return g()\n",
            "f()",
            "3",
        ),
        ("def f():\n    yield 1\n    yield from (2, 3)\n", "list(f())", "[1, 2, 3]"),
        (
            "class A:\n    n = 1\n    def __init__(self):\n        self.x = self.n\n    @property\n    def p(self):\n        return self.x + 1\n    @p.setter\n    def p(self, v):\n        self.x = v\n    @staticmethod\n    def s(v):\n        return v\n    @classmethod\n    def c(cls):\n        return cls()\ndef f():\n    a = A.c()\n    a.p = 5\n    return a.p, A.s(2), a\n",
            "f()",
            "(6, 2, A(x=5))",
        ),
        (
            "class A:\n    def f(self): return ['A']\nclass B(A):\n    def f(self): return ['B'] + super().f()\nclass C(A):\n    def f(self): return ['C'] + super().f()\nclass D(B, C):\n    def f(self): return ['D'] + super().f()\n",
            "D().f()",
            "['D', 'B', 'C', 'A']",
        ),
        (
            "class P(NamedTuple):\n    x: int\n    y: int = 2\n",
            "P(1), P(3)._replace(y=4).y, P(1)[1]",
            "(P(1, 2), 4, 2)",
        ),
        (
            "from enum import Enum\nclass E(Enum):\n    A = 1\n    B = 2\n",
            "E.A, E(2), E['B'].value, [e.name for e in E]",
            "(E.A, E.B, 2, ['A', 'B'])",
        ),
        (
            "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    a: int\n    b: list = field(default_factory=list)\n",
            "C(1), C(1) == C(1)",
            "(C(a=1, b=[]), True)",
        ),
        (
            "import functools\ndef f(a, b=2, *, c): return a, b, c\n",
            "functools.partial(f, 1, c=3)()",
            "(1, 2, 3)",
        ),
        (
            "cfg = {}\ncfg['a'] = 1\ncfg.update(b=2)\nsizes = [1]\nsizes += [2]\nw, h = 3, 4\nfor i in range(2):\n    sizes.append(i)\n",
            "cfg, sizes, w",
            "({'a': 1, 'b': 2}, [1, 2, 0, 1], 3)",
        ),
        (
            "import copy\nx = [1, [2]]\ny = copy.deepcopy(x)\ny[1].append(3)\n",
            "x, y",
            "([1, [2]], [1, [2, 3]])",
        ),
        (
            "def outer(k):\n    def inner(x):\n        return x * k\n    return inner\n",
            "outer(3)",
            "<function inner(k)>",
        ),
        (
            "from packaging import version\na, b = version.parse('1.10.0.dev3'), version.parse('1.9')\n",
            "a > b, a < version.Version('1.10'), str(a), a.release, a.is_prerelease, torch.__version__ > '2.9', torch.__version__ >= (2, 15)",
            "(True, True, '1.10.0.dev3', (1, 10, 0), True, True, True)",
        ),
        (
            "import inspect, functools\ndef f(a, *b, c=1, **d): pass\n@functools.wraps(f)\ndef g(x, y=2): pass\n",
            "list(inspect.getfullargspec(f))[:6], inspect.getfullargspec(g).defaults",
            "([['a'], 'b', 'd', None, ['c'], {'c': 1}], (2))",
        ),
        (
            "class S(tuple):\n    def __new__(cls, items):\n        return super().__new__(cls, [i + 1 for i in items])\n\
             \x20   def __add__(self, other): return S([*self, *other])\n    def __getitem__(self, at): return super().__getitem__(at) * 2\n",
            "S([1]) + (5,), S([3])[0], isinstance(S([]), S), len(S([1, 2]))",
            "(S(3, 6), 8, True, 2)",
        ),
        (
            "import numpy as np\n",
            "int(np.prod([2, 3])), np.prod((2, 3)) * 2, np.prod([1.5, 2]), hasattr(torch, 'relu'), hasattr(torch, 'onnx'), hasattr(torch, 'nothing'), torch.finfo(torch.float16).max",
            "(6, <numpy.int64>, 3.0, True, True, False, 65504.0)",
        ),
    ];
    for (text, expression, expected) in cases {
        assert_eq!(shown(&format!("{HEAD}{text}"), expression), expected, "{text}");
    }
}

#[test]
fn one_object_in_two_places_stays_one() {
    let text = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(2, 2)\n        self.b = self.a\n        self.w = self.a.weight\n        self.l = [1]\n        self.m = self.l\n";
    let (heap, value) = run(&format!("{HEAD}{text}"), "Net").unwrap();
    let ObjectValue::Module(id) = value else { panic!("{value:?}") };
    let net = heap.module(id).unwrap();
    let (ObjectValue::Module(a), ObjectValue::Module(b)) = (&net.modules[0].1, &net.modules[1].1)
    else {
        panic!()
    };
    assert_eq!(a, b);
    let (ObjectValue::Tensor(own), ObjectValue::Tensor(of_a)) =
        (&net.parameters[0].1, &heap.module(*a).unwrap().parameters[0].1)
    else {
        panic!()
    };
    assert_eq!(own, of_a);
    let (ObjectValue::List(l), ObjectValue::List(m)) = (&net.attributes[0].1, &net.attributes[1].1)
    else {
        panic!()
    };
    assert_eq!(l, m);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let cases = [
        ("x = {}['a']\n", "x", "line 5: KeyError: a"),
        (
            "def f():\n    return undefined\n",
            "f()",
            "line 6: NameError: name 'undefined' is not defined",
        ),
        (
            "def f(a, b): pass\n",
            "f(1, c=2)",
            "line 1: TypeError: f() got an unexpected keyword argument 'c'",
        ),
        (
            "def f(a, b): pass\n",
            "f()",
            "line 1: TypeError: f() missing 2 required positional arguments: 'a' and 'b'",
        ),
        ("def f():\n    raise ValueError('no', 3)\n", "f()", "line 6: ValueError: ('no', 3)"),
        ("def f():\n    assert 1 > 2, 'too small'\n", "f()", "line 6: AssertionError: too small"),
        (
            "x = open('/etc/passwd')\n",
            "x",
            "line 5: 'open()' is not known here: constructors are run by a small interpreter, with what constructors commonly use of the libraries",
        ),
        (
            "import os\nx = os.listdir('.')\n",
            "x",
            "line 6: 'os.listdir' is not known here: constructors are run by a small interpreter, with what constructors commonly use of the libraries",
        ),
        (
            "class Net(nn.Module):\n    def __init__(self):\n        self.a = nn.ReLU()\n",
            "Net",
            "line 7: AttributeError: cannot assign module before Module.__init__() call",
        ),
        (
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(2)\n",
            "Net",
            "line 8: TypeError: __init__() missing 1 required positional argument: 'out_features'",
        ),
        (
            "x = bool(torch.randn(1) > 0)\n",
            "x",
            "line 5: the numbers of this tensor are random or come from a state dict, so they are not known while the constructors run",
        ),
        (
            "x = torch.zeros(2).view(3)\n",
            "x",
            "line 5: RuntimeError: shape '[3]' is invalid for input of size 2",
        ),
        (
            "x = torch.nothing(2)\n",
            "x",
            "line 5: AttributeError: module 'torch' has no attribute 'nothing'",
        ),
        (
            "import sys\nx = sys.modules['torch'].__dict__\n",
            "x",
            "line 6: what 'sys.modules' holds is not listed without Python",
        ),
        ("x = y\ny = x\n", "x", "line 6: the value of this name depends on itself"),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .map(|(text, expression, expected)| {
            (text, expected, shown(&format!("{HEAD}{text}"), expression))
        })
        .filter(|(_, expected, found)| found != *expected)
        .map(|(text, expected, found)| format!("{text}\n  {expected}\n  {found}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tensors_that_nobody_names_are_freed() {
    let run = |text: &str| {
        let mut loader = ModuleLoader::new(Vec::new()).with_compiler(crate::script::compiled_text);
        let text = format!("import torch\n{text}");
        let module = loader.add(Module::parse("file", "file.py", text, false).unwrap());
        // Each tensor takes 4 MiB.
        let limits = ScriptLimits { memory: Some(64 << 20), ..ScriptLimits::default() };
        let what = Construction { expression: "f()".to_owned(), limits, ..Construction::default() };
        construct(&mut loader, &module, &what).map_err(|error| error.message().to_owned())
    };
    let made = "torch.zeros(1 << 20)";
    for dropped in [
        format!("def f():\n    for i in range(60): x = {made}\n    return x.shape[0]\n"),
        format!(
            "def f():\n    i = 0\n    while i < 60:\n        x = [{made}]\n        i += 1\n    return i\n"
        ),
        format!(
            "def g():\n    x = {made}\n    return x.sum()\ndef f():\n    return [g() for i in range(60)] and 1\n"
        ),
        format!("def f():\n{}    return 1\n", format!("    x = {made}\n").repeat(60)),
        format!(
            "class C:\n    def __init__(self): self.x = {made}\n\
             def f():\n    for i in range(60): c = C()\n    return c.x.shape[0]\n"
        ),
    ] {
        let result = run(&dropped);
        assert!(result.is_ok(), "{dropped}{result:?}");
    }
    for kept in [
        format!("def f():\n    return [{made} for i in range(60)]\n"),
        format!("def f():\n    x = []\n    for i in range(60): x.append({made})\n    return x\n"),
        format!(
            "kept = []\ndef g():\n    kept.append({made})\ndef f():\n    for i in range(60): g()\n    return 1\n"
        ),
        format!(
            "def g():\n    x = {made}\n    return lambda: x\ndef f():\n    return [g() for i in range(60)]\n"
        ),
    ] {
        let said = run(&kept).unwrap_err();
        assert!(said.contains("memory limit of 64 MiB exceeded"), "{kept}{said}");
    }
}

#[test]
fn constructors_end_at_their_limits() {
    let run = |limits: ScriptLimits| {
        let mut loader = ModuleLoader::new(Vec::new()).with_compiler(crate::script::compiled_text);
        let text = "def f():\n    while True: pass\n".to_owned();
        let module = loader.add(Module::parse("file", "file.py", text, false).unwrap());
        let what = Construction { expression: "f()".to_owned(), limits, ..Construction::default() };
        construct(&mut loader, &module, &what).unwrap_err().message().to_owned()
    };
    let steps = ScriptLimits { steps: 5000, ..ScriptLimits::default() };
    assert_eq!(run(steps), "step limit of 5000 exceeded");
    let time = Some(std::time::Duration::from_millis(20));
    assert_eq!(
        run(ScriptLimits { time, ..ScriptLimits::default() }),
        "time limit of 0.02 s exceeded"
    );
}

#[test]
fn hostile_constructors_come_to_an_end() {
    let deep = format!("x = {}1{}\n", "[".repeat(400), "]".repeat(400));
    let cases = [
        "def f():\n    while True: pass\nx = f()\n",
        "def f(): return f()\nx = f()\n",
        "x = [0] * (1 << 40)\n",
        "x = 'a' * (1 << 40)\n",
        "def f():\n    x = [0]\n    while True: x += x\nx = f()\n",
        "def f():\n    x = 'a'\n    while True: x += x\nx = f()\n",
        "x = list(range(1 << 62))\n",
        "x = 10 ** 100\n",
        "x = 1 << 1000\n",
        "x = torch.zeros(1 << 40)\n",
        "x = torch.zeros(1 << 62, 1 << 62)\n",
        "x = f'{1:>{1 << 40}}'\n",
        "def f():\n    x = []\n    x.append(x)\n    return repr(x)\nx = f()\n",
        "def f():\n    x = []\n    y = []\n    x.append(x)\n    y.append(y)\n    return x == y\nx = f()\n",
        "def f():\n    x = ()\n    for i in range(100000): x = (x,)\n    return hash(x)\nx = f()\n",
        "def f():\n    x = ()\n    for i in range(9000): x = (x,)\n    return x\nx = f()\n",
        "x = [torch.zeros(1 << 30) for _ in range(100)]\n",
        "class A:\n    def __getattr__(self, name): return getattr(self, name)\nx = A().a\n",
        "class A:\n    def __iter__(self): return self\n    def __next__(self): return 1\nx = list(A())\n",
        "x = [y for a in range(1 << 20) for y in range(1 << 20)]\n",
        "import itertools\nx = list(itertools.product(*[range(100)] * 9))\n",
        "class A(A): pass\nx = A()\n",
        "x = sorted([1, 'a'])\n",
    ];
    for text in cases {
        let error = run(&format!("{HEAD}{text}"), "x").map(drop);
        assert!(error.is_err(), "{text}");
    }
    assert!(run(&deep, "x").is_ok());
}

#[test]
fn state_dicts_are_loaded_strictly() {
    let text = format!("{HEAD}net = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))\n");
    let tensor = |numbers: &[f32], sizes: &[i64]| {
        sconce_checkpoint::Value::Tensor(sconce_tensor::Tensor::from_slice(numbers, sizes).unwrap())
    };
    let all = |weight: sconce_checkpoint::Value| {
        vec![
            ("0.weight", weight),
            ("0.bias", tensor(&[3.0], &[1])),
            ("1.weight", tensor(&[4.0], &[1])),
            ("1.bias", tensor(&[5.0], &[1])),
            ("1.running_mean", tensor(&[6.0], &[1])),
            ("1.running_var", tensor(&[7.0], &[1])),
        ]
    };
    let load = |entries: Vec<(&str, sconce_checkpoint::Value)>| {
        let entries = entries
            .into_iter()
            .map(|(name, value)| (sconce_checkpoint::Value::Str(name.to_owned()), value))
            .collect();
        let draft = sconce_checkpoint::Draft::from(sconce_checkpoint::Value::Dict(entries));
        let mut loader = ModuleLoader::new(Vec::new()).with_compiler(crate::script::compiled_text);
        let module = loader.add(Module::parse("file", "file.py", text.clone(), false).unwrap());
        let mut interpreter = Interpreter::new(&mut loader, &ScriptLimits::default());
        let net = interpreter.evaluate_text(&module, "net").unwrap();
        let loaded = interpreter.load_entries(&net, draft.root());
        if let Err(stop) = loaded {
            return interpreter.uncaught(stop).message().to_owned();
        }
        let (heap, value) = interpreter.lower(&net).unwrap();
        Printer { heap: &heap }.show(&value, 0)
    };
    let loaded = load(all(tensor(&[1.0, 2.0], &[1, 2])));
    assert!(
        loaded.contains("weight: Parameter[1, 2] = 1 2\n    bias: Parameter[1] = 3"),
        "{loaded}"
    );
    assert!(loaded.contains("running_mean: Tensor[1] = 6") && !loaded.contains('?'), "{loaded}");
    let cases = [
        (
            vec![("0.weight", tensor(&[1.0, 2.0], &[1, 2])), ("x", tensor(&[1.0], &[1]))],
            "Missing key(s) in state_dict: \"0.bias\", \"1.weight\", \"1.bias\", \"1.running_mean\", \"1.running_var\". \n\tUnexpected key(s) in state_dict: \"x\". ",
        ),
        (
            all(tensor(&[1.0], &[1, 1])),
            "size mismatch for 0.weight: copying a param with shape torch.Size([1, 1]) from checkpoint, the shape in current model is torch.Size([1, 2]).",
        ),
        (
            all(sconce_checkpoint::Value::Int(3)),
            "While copying the parameter named \"0.weight\", expected torch.Tensor or Tensor-like object from checkpoint but received <class 'int'>",
        ),
    ];
    for (entries, expected) in cases {
        let expected = format!("Error(s) in loading state_dict for Sequential:\n\t{expected}");
        assert_eq!(load(entries), expected);
    }
}

#[test]
fn bodies_that_were_left_out_are_had_again() {
    let filler = "        x = 1\n".repeat(2000);
    let deeper = "            x = 1\n".repeat(2000);
    let text = format!(
        "class C:
    def __init__(self):
        'own'
{filler}        self.a = [i for i in self.many()]
    def many(self):
{filler}        yield 1
        yield 2
    @property
    def p(self):
{filler}        return 'p'
    class D:
        @staticmethod
        def f():
{deeper}            return 3
    def fails(self):
{filler}        raise ValueError('here')
def many():
{filler}        yield 4
"
    );
    let module = Module::parse("file", "file.py", text.clone(), false).unwrap();
    let class = module.own_class("C").unwrap();
    for statement in &class.body {
        let py::Stmt::FunctionDef(def) = statement else { continue };
        assert_eq!(def.body.len(), 1, "{}", def.name);
        let whole = module.whole(&std::sync::Arc::new(def.clone()));
        assert!(whole.body.len() > 2000, "{}", def.name);
        assert_eq!((whole.range, whole.body[0].range()), (def.range, def.body[0].range()));
    }
    let expression = "(C().a, C().p, C.D.f(), C.__init__.__doc__, list(many()))";
    assert_eq!(shown(&text, expression), "([1, 2], 'p', 3, 'own', [4])");
    let line = text.lines().position(|line| line.contains("raise")).unwrap() + 1;
    let fails = shown(&text, "C().fails()");
    assert!(fails.starts_with(&format!("line {line}: ")), "{line}: {fails}");
}

#[test]
fn the_dict_of_an_object_is_one_with_it() {
    let text = "
import torch
class C:
    pass
def f():
    c = C()
    c.a = 1
    own = c.__dict__
    c.b = 2
    own['d'] = 3
    own.update(e=4)
    own.pop('a')
    del c.e
    return own is c.__dict__, list(own.items()), c.b, c.d, hasattr(c, 'a'), hasattr(c, 'e')
def many(n):
    m = torch.nn.Module()
    for i in range(n):
        setattr(m, f'a{i}', i)
    return len(m.__dict__) > n
";
    let expected = "(True, [('b', 2), ('d', 3)], 2, 3, False, False)";
    assert_eq!(shown(text, "f()"), expected);
    // Each attribute goes through `nn.Module.__setattr__`, which asks for the dict: none is a copy of it.
    assert_eq!(shown(text, "many(10_000)"), "True");
}

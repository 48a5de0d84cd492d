//! Programs of several files, and those that call Python.

#![allow(clippy::unwrap_used)]

use std::fs;

use sconce_script::{Error, ScriptOptions, Scripted};
use sconce_torchscript::SaveOptions;

/// Compiles `f` of `main.py` in a folder with these files.
fn compiled(files: &[(&str, &str)]) -> Result<Scripted, Error> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("import torch\nfrom torch import Tensor\n{text}")).unwrap();
    }
    ScriptOptions::new().name("f").open(folder.path().join("main.py"))
}

const DOUBLE: &str = "def double(x: Tensor) -> Tensor:\n    return x * 2\n";

#[test]
fn names_are_found_wherever_they_are_imported_from() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("star", &[("main.py", "from a import *\n"), ("a.py", DOUBLE)]),
        (
            "star of a package",
            &[
                ("main.py", "from a import double\n"),
                ("a/__init__.py", "from .b import *\n"),
                ("a/b.py", DOUBLE),
            ],
        ),
        (
            "relative",
            &[
                ("main.py", "from a import double\n"),
                ("a/__init__.py", "from .b.c import double\n"),
                ("a/b/__init__.py", ""),
                ("a/b/c.py", "from ...a.d import double\n"),
                ("a/d.py", DOUBLE),
            ],
        ),
        (
            "file of a package that is passed on",
            &[
                ("main.py", "from a import c\ndouble = c.double\n"),
                ("a/__init__.py", "from .b import c\n"),
                ("a/b/__init__.py", "from .c import *\n"),
                ("a/b/c.py", DOUBLE),
            ],
        ),
        (
            "fallback of an import that fails",
            &[(
                "main.py",
                "try:\n    from nowhere import double\nexcept ImportError:\n    def double(x: \
                 Tensor) -> Tensor:\n        return x * 2\n",
            )],
        ),
        (
            "no device",
            &[(
                "main.py",
                "if torch.cuda.is_available():\n    double = 3\nelse:\n    double = torch.neg\n",
            )],
        ),
        (
            "function that a condition chooses",
            &[(
                "main.py",
                "def make(which=None):\n    if which is None:\n        def inner(x: Tensor) -> \
                 Tensor:\n            return x\n        return inner\n    return torch.relu\ndouble \
                 = make()\n",
            )],
        ),
    ];
    for (what, files) in cases {
        let mut files = files.to_vec();
        let main = format!("{}def f(x: Tensor) -> Tensor:\n    return double(x)\n", files[0].1);
        files[0].1 = &main;
        let compiled = compiled(&files);
        assert!(compiled.is_ok(), "{what}: {}", compiled.unwrap_err().report());
    }
}

#[test]
fn what_libraries_name_is_what_python_takes_it_for() {
    let cases: &[(&str, &str, &str)] = &[
        (
            "a class of tensors",
            "from typing import *\nclass Edges(Tensor):\n    def parts(self) -> Tuple[Any, ...]:\n        \
             return ()\ndef f(x: Tensor) -> bool:\n    return isinstance(x, Edges)\n",
            "value=1",
        ),
        (
            "a class that is compiled under its own name",
            "class Pair:\n    def __init__(self, x: Tensor):\n        self.x = x\nPair = \
             torch.jit.script(Pair)\ndef f(x: Tensor) -> Pair:\n    return Pair(x)\n",
            "__torch__.main.Pair = prim::CreateObject",
        ),
        (
            "a number of numpy",
            "import numpy as np\ndef f(n: int) -> float:\n    return n * np.pi\n",
            "value=3.14159",
        ),
        (
            "torch of torch",
            "def f(x: torch.torch.Tensor) -> torch.torch.Tensor:\n    return x\n",
            "%x.1 : Tensor",
        ),
        (
            "a string that is a member, too",
            "from enum import Enum\nclass Format(str, Enum):\n    A = 'a'\nclass M(torch.nn.Module):\n    \
             format: Format\n    def __init__(self):\n        super().__init__()\n        self.format = \
             Format.A\n        self.name = Format.A\n    def forward(self, x: Tensor):\n        return \
             self.format, self.name\nf = M()\n",
            "Enum<__torch__.main.Format> = prim::GetAttr[name=\"format\"]",
        ),
        (
            "a property that the class hides",
            "import numpy as np\nclass M(torch.nn.Module):\n    def __init__(self):\n        \
             super().__init__()\n        self.at = [int(n) for n in np.arange(1, 4).tolist()]\n        \
             self.most = int(np.max(np.arange(4)))\n    @property\n    def __name__(self):\n        return \
             self.__class__.__name__\n    def forward(self, x: int) -> int:\n        return x + \
             self.at[0] + self.most\nf = M()\n",
            "int[] = prim::GetAttr[name=\"at\"]",
        ),
    ];
    for (what, main, part) in cases {
        let graph = match compiled(&[("main.py", main)]) {
            Ok(scripted) => scripted.graph().unwrap().to_string(),
            Err(error) => panic!("{what}: {}", error.report()),
        };
        assert!(graph.contains(part), "{what}: {graph}");
    }
}

#[test]
fn calls_of_python_are_graphs_and_no_archives() {
    let stays = "@torch.jit.ignore\ndef stays(x: Tensor, n: int = 2) -> Tensor:\n    return x\n";
    let main = format!("{stays}def f(x: Tensor) -> Tensor:\n    return stays(x, 3)\n");
    let scripted = compiled(&[("main.py", &main)]).unwrap();
    assert!(scripted.graph().unwrap().to_string().contains(": Tensor = ^stays[]()(%x.1, %"));
    let error = SaveOptions::new().save_to(scripted.module(), Vec::new()).unwrap_err();
    assert!(error.to_string().contains("Could not export Python function call 'stays'"), "{error}");

    let main = format!("{stays}def f(x: Tensor) -> Tensor:\n    return stays(x)\n");
    let error = compiled(&[("main.py", &main)]).unwrap_err();
    assert!(error.message().contains("stays(Tensor x, int n) -> Tensor 0:"), "{}", error.message());

    let main = "def f(n: int) -> int:\n    a: int = 4\n    with \
                torch.jit._IgnoreContextManager(a=\"inp:int\", b=\"out:int\"):\n        b = a\n    \
                return b + n\n";
    let graph = compiled(&[("main.py", main)]).unwrap().graph().unwrap().to_string();
    assert!(graph.contains("main_py_3[]()(%a.1)"), "{graph}");
}

#[test]
fn what_python_alone_can_do_is_refused_in_words() {
    let cases = [
        (
            "import os\ndef f(n: int):\n    return os.getpid()\n",
            "Python builtin <built-in function",
        ),
        ("def f(n: int):\n    return type(n)\n", "type(Tensor 0) -> Tensor 0:"),
        (
            "def f(x: Tensor):\n    return torch.is_tensor(x)\n",
            "Unknown builtin op: aten::is_tensor",
        ),
        (
            // A module of the class is compiled, and has its name.
            "class N(torch.nn.Module):\n    def forward(self, x: Tensor):\n        return x\nclass \
             M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.n = \
             N()\n    def forward(self, x: Tensor):\n        return N()(self.n(x))\nf = M()\n",
            "Class N does not have an __init__ function defined",
        ),
        ("from typing import *\ndef f(x: Dict):\n    return x\n", "Attempted to use Dict without"),
        ("from typing import *\ndef f(x: 'List[Nope]'):\n    return x\n", "name 'List[Nope]'"),
        (
            "class M(torch.nn.Module):\n    pass\ndef f(x: Tensor):\n    return M()(x)\n",
            "Cannot instantiate class 'M' in a script function",
        ),
        (
            "from dataclasses import *\n@dataclass\nclass D:\n    a: list = \
             field(default_factory=list)\ndef f(x: Tensor):\n    return D()\n",
            "Default factory initializers are not supported in TorchScript dataclasses",
        ),
        (
            "from enum import Enum\nclass E(Enum):\n    A = 1\n    B = 'b'\ndef f(n: int):\n    \
             return E.A.name\n",
            "Could not unify type list",
        ),
        ("def g(): return g()\nh = g()\ndef f(x: Tensor):\n    return h(x)\n", "nest too deeply"),
    ];
    for (main, words) in cases {
        let error = compiled(&[("main.py", main)]).unwrap_err();
        assert!(error.message().contains(words), "{main}: {}", error.message());
    }
}

#[test]
fn constructors_see_the_members_of_a_file_and_the_settings_of_the_process() {
    let layers = "class Base(torch.nn.Module):\n    def forward(self, x: Tensor):\n        return x + \
                  1\nclass Other(Base):\n    pass\nsize = 3\ndef helper():\n    pass\n";
    let main = "import layers\nclass M(torch.nn.Module):\n    def __init__(self):\n        \
                super().__init__()\n        classes = [c for c in vars(layers).values() if isinstance(c, \
                type) and issubclass(c, layers.Base)]\n        self.all = torch.nn.ModuleList([c() for c in \
                classes])\n        self.fixed = torch.are_deterministic_algorithms_enabled()\n    def \
                forward(self, x: Tensor):\n        for each in self.all:\n            x = each(x)\n        \
                return x, self.fixed\nf = M()\n";
    let scripted = compiled(&[("layers.py", layers), ("main.py", main)]).unwrap();
    let graph = scripted.graph().unwrap().to_string();
    assert_eq!(graph.matches("prim::CallMethod").count(), 2, "{graph}");
    assert!(graph.contains("prim::GetAttr[name=\"fixed\"]"), "{graph}");
}

#[test]
fn functions_behind_unique_have_the_names_of_pytorch() {
    for (arguments, name) in [
        ("", "_return_output"),
        (", return_inverse=True", "_return_inverse"),
        (", return_counts=True", "_return_counts"),
        (", return_inverse=True, return_counts=True", "_return_inverse_and_counts"),
    ] {
        for (function, prefix) in [("unique", ""), ("unique_consecutive", "_consecutive")] {
            let main = format!("def f(x: Tensor):\n    return torch.{function}(x{arguments})\n");
            let graph = compiled(&[("main.py", &main)]).unwrap().graph().unwrap().to_string();
            assert!(graph.contains(&format!("[name=\"{prefix}{name}\"]")), "{graph}");
        }
    }
}

#[test]
fn a_function_that_a_call_gives_has_a_tree() {
    let folder = tempfile::tempdir().unwrap();
    let main = "import torch\ndef make(n: int):\n    def inner(x: torch.Tensor):\n        return x * \
                n\n    return inner\nf = make(2)\n";
    let path = folder.path().join("main.py");
    fs::write(&path, main).unwrap();
    let tree = ScriptOptions::new().name("f").tree(&path).unwrap();
    assert!(tree.starts_with("(def\n  (ident inner)"), "{tree}");
}

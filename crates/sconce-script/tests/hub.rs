//! `torch.hub` without Python: what `hubconf.py` files offer and give, and those that are made to be hard.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::path::{Path, PathBuf};

use sconce_checkpoint::{Checkpoint, StateDict};
use sconce_script::ScriptLimits;
use sconce_script::hub::{
    self, Arguments, Environment, Loaded, LoadedObject, Options, RepositoryRequest, UrlRequest,
};
use sconce_tensor::{DType, Device, Storage, Tensor};

/// A repository with its files, other repositories, and weights by URL.
struct World {
    folder: tempfile::TempDir,
    weights: BTreeMap<String, PathBuf>,
    printed: String,
    requests: Vec<UrlRequest>,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join("repository").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self { folder, weights: BTreeMap::new(), printed: String::new(), requests: Vec::new() }
    }

    fn hubconf(text: &str) -> Self {
        Self::new(&[("hubconf.py", text)])
    }

    fn own_folder(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    /// Makes a file of float tensors known under a URL.
    fn with_weights(mut self, url: &str, tensors: &[(&str, &[i64])]) -> Self {
        let path = self.folder.path().join(format!("{}.pth", self.weights.len()));
        let mut dict = StateDict::new();
        for (name, sizes) in tensors {
            dict.insert(*name, numbers(sizes));
        }
        dict.save(&path).unwrap();
        self.weights.insert(url.to_owned(), path);
        self
    }

    fn list(&mut self) -> Result<Vec<String>, String> {
        let folder = self.own_folder();
        let listing = hub::list(folder, &limited(), self).map_err(|error| error.report())?;
        Ok(listing.entries.into_iter().map(|entry| entry.name).collect())
    }

    fn load(&mut self, entry: &str, arguments: &[&str]) -> Result<Loaded, String> {
        let folder = self.own_folder();
        let arguments = Arguments::parse(arguments).map_err(|error| error.report())?;
        hub::load(folder, entry, &arguments, &limited(), self).map_err(|error| error.report())
    }

    fn names(&mut self, entry: &str, arguments: &[&str]) -> Vec<String> {
        match self.load(entry, arguments).unwrap().object {
            LoadedObject::Module(module) => {
                module.tensors().iter().map(|(name, _)| name.clone()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn error(&mut self, entry: &str) -> String {
        self.load(entry, &[]).map(drop).unwrap_err()
    }
}

impl Environment for World {
    fn load_state_dict_from_url(
        &mut self,
        request: &UrlRequest,
    ) -> Result<PathBuf, Box<dyn StdError + Send + Sync>> {
        self.requests.push(request.clone());
        self.weights.get(&request.url).cloned().ok_or_else(|| "HTTP Error 404: Not Found".into())
    }

    fn repository(
        &mut self,
        request: &RepositoryRequest,
    ) -> Result<PathBuf, Box<dyn StdError + Send + Sync>> {
        Ok(self.folder.path().join(request.repository.replace('/', "_")))
    }

    fn print(&mut self, text: &str) {
        self.printed.push_str(text);
    }
}

fn limited() -> Options {
    Options::new().limits(ScriptLimits { steps: 1 << 20, memory: Some(1 << 28), time: None })
}

fn numbers(sizes: &[i64]) -> Tensor {
    let count: i64 = sizes.iter().product();
    let bytes: Vec<u8> = (0..count).flat_map(|at| (at as f32 + 0.5).to_le_bytes()).collect();
    let storage = Storage::from_bytes(bytes.into(), Device::CPU);
    Tensor::contiguous(storage, DType::Float32, sizes).unwrap()
}

const NET: &str = "
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.layer = nn.Linear(width, 1)
    def forward(self, x):
        return self.layer(x)
";

#[test]
fn a_state_dict_is_loaded_and_written() {
    let text = format!(
        "{NET}
def net(pretrained=False, **kwargs):
    model = Net(**kwargs)
    if pretrained:
        url = f'https://example.com/{{type(model).__name__}}.pth'
        print(model.load_state_dict(torch.hub.load_state_dict_from_url(url, 'models', progress=False, check_hash=True)))
    return model.eval()
"
    );
    let mut world = World::hubconf(&text).with_weights(
        "https://example.com/Net.pth",
        &[("layer.weight", &[1, 3]), ("layer.bias", &[1])],
    );
    let loaded = world.load("net", &["pretrained=True", "width=3"]).unwrap();
    assert_eq!(world.printed, "<All keys matched successfully>\n");
    let request = &world.requests[0];
    assert_eq!(request.model_dir.as_deref(), Some("models"));
    assert!(!request.progress && request.check_hash && !request.weights_only);
    let LoadedObject::Module(module) = loaded.object else { panic!("no module") };
    assert_eq!(module.qualified_class_name(), "hubconf.py.Net");
    assert!(!module.is_training() && module.missing().is_empty());
    let path = world.folder.path().join("out.pth");
    module.state_dict().unwrap().save(&path).unwrap();
    let written = Checkpoint::open(&path).unwrap();
    let weight = written.tensor("layer.weight").unwrap();
    assert_eq!(weight.sizes(), [1, 3]);
    assert_eq!(weight.to_vec::<f32>().unwrap(), [0.5, 1.5, 2.5]);
    let scripted = module.script().unwrap();
    assert!(scripted.missing().is_empty());
}

#[test]
fn random_numbers_are_not_made_up() {
    let mut world = World::hubconf(NET);
    let LoadedObject::Module(module) = world.load("Net", &[]).unwrap().object else {
        panic!("no module")
    };
    assert_eq!(module.missing(), ["layer.weight", "layer.bias"]);
    let error = module.state_dict().unwrap_err();
    assert!(error.message().contains("'layer.weight' and one other tensor"), "{error}");
}

#[test]
fn what_a_package_does_is_not_known_and_fails_where_it_is_needed() {
    let text = format!(
        "import timm
from timm.models import create_model
helper = timm.something(3)
{NET}
def foreign():
    return create_model('resnet')
def filled():
    model = Net()
    timm.load_checkpoint(model, 'x.pth')
    return model
def kept():
    model = Net()
    model.backbone = timm.create_model('resnet')
    return model
def tested():
    if timm.available(3):
        return Net()
def asked():
    return Net() if hasattr(timm, 'x') else None
def typed():
    return Net() if type(helper) is int else None
def sub():
    return Net() if issubclass(Net, timm.Base) else None
def compared():
    return Net() if helper == 3 or f'{{helper}}' == 'x' else None
def indexed():
    return {{1: Net()}}[helper]
def iterated():
    for one in helper: return Net()
def caught():
    try:
        raise ValueError('x')
    except timm.Error:
        return Net()
class Derived(timm.Base):
    pass
def derived():
    return Derived()
"
    );
    let mut world = World::hubconf(&text);
    let listed = world.list().unwrap();
    assert_eq!(
        listed.join(" "),
        "Derived Net asked caught compared create_model derived filled foreign helper indexed iterated \
         kept sub tested typed"
    );
    for (entry, expected) in [
        ("foreign", "timm.models.create_model() is needed"),
        ("filled", "timm.load_checkpoint is given what it may change"),
        ("kept", "timm.create_model() is needed"),
        ("tested", "timm.available() is needed"),
        ("asked", "timm is needed"),
        ("typed", "needed"),
        ("sub", "timm.Base is needed"),
        ("compared", "timm.something() is needed"),
        ("indexed", "timm.something() is needed"),
        ("iterated", "timm.something() is needed"),
        ("caught", "timm.Error is needed"),
        ("derived", "an object of 'Derived', which is derived from timm.Base"),
    ] {
        let error = world.error(entry);
        assert!(error.contains(expected), "{entry}: {error}");
        assert!(error.contains("--path"), "{entry}: {error}");
    }
    let error = world.error("tested");
    assert!(
        error.contains("if timm.available(3):") && error.contains("hubconf.py\", line"),
        "{error}"
    );
}

#[test]
fn statements_at_the_top_that_cannot_be_followed_are_guessed() {
    let mut world = World::hubconf(
        "import os
os.system('pip install something')
value = eval('1 + 1')
def before(): pass
if eval('True'):
    def inside(): pass
else:
    other = 3
def after(): pass
",
    );
    let folder = world.own_folder();
    let listing = hub::list(folder, &limited(), &mut world).unwrap();
    let shown: Vec<String> = listing
        .entries
        .iter()
        .map(|entry| format!("{}{}", entry.name, if entry.is_guessed { "?" } else { "" }))
        .collect();
    assert_eq!(shown.join(" "), "after before inside? value?");
    assert_eq!(listing.not_followed.len(), 3);
    assert!(listing.not_followed[0].message().contains("os.system() is not called"));
}

#[test]
fn modules_are_imported_as_python_does() {
    let mut world = World::new(&[
        ("hubconf.py", "from a import first\nimport a.b.c as c, space.inner\nfrom a.b import *\n"),
        ("a/__init__.py", "from .b.c import deep as first\nfrom . import b\n"),
        ("a/b/__init__.py", "__all__ = ['shown', 'c']\ndef shown(): pass\ndef lost(): pass\n"),
        ("a/b/c.py", "from .. import b\ndef deep(): pass\n"),
        ("space/inner.py", "from math import sqrt\n"),
    ]);
    assert_eq!(world.list().unwrap(), ["first", "shown"]);
    for (text, expected) in [
        (
            "from .x import y\n",
            "ImportError: attempted relative import with no known parent package",
        ),
        ("from a import nothing\n", "ImportError: cannot import name 'nothing' from 'a'"),
        ("import a.nothing\n", "ModuleNotFoundError: No module named 'a.nothing'"),
        ("from one import *\n", "AttributeError: module 'one' has no attribute 'missing'"),
        ("def f(:\n", "hubconf.py"),
        ("raise ValueError('no')\n", "ValueError: no"),
        ("f()\n", "NameError: name 'f' is not defined"),
    ] {
        let mut world = World::new(&[
            ("hubconf.py", text),
            ("a/__init__.py", ""),
            ("one.py", "__all__ = ['missing']\n"),
        ]);
        let error = world.list().unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let empty = World::new(&[("readme", "")]).list().unwrap_err();
    assert!(empty.contains("[Errno 2] No such file or directory") && empty.contains("hubconf.py"));
}

#[test]
fn dependencies_are_told_by_where_modules_are() {
    let mut world = World::new(&[
        (
            "hubconf.py",
            "import sys\ndependencies = ['torch', 'os.path', 'own', 'PyYAML', 'inner.b'] + ['yaml'] * 1\n",
        ),
        ("own.py", ""),
        ("inner/b.py", ""),
    ]);
    let folder = world.own_folder();
    let missing = hub::missing_dependencies(folder, &limited(), &mut world).unwrap();
    assert_eq!(hub::missing_dependencies_message(&missing), "Missing dependencies: PyYAML, yaml");
}

#[test]
fn files_outside_of_the_repository_are_not_read() {
    let world = World::hubconf("");
    let secret = world.folder.path().join("secret.txt");
    std::fs::write(&secret, "secret").unwrap();
    let secret = secret.display();
    let text = format!(
        "import os, torch, json
from pathlib import Path
HERE = os.path.dirname(__file__)
def absolute(): return open('{secret}').read()
def upwards(): return open(os.path.join(HERE, '..', 'secret.txt')).read()
def path(): return (Path(__file__).parent.parent / 'secret.txt').read_text()
def exists(): return 1 if os.path.exists('{secret}') else 2
def linked(): return open(os.path.join(HERE, 'link.txt')).read()
def loaded(): return torch.load('{secret}')
def archive(): return torch.jit.load('{secret}')
def written(): return open(os.path.join(HERE, 'new.txt'), 'w')
"
    );
    let mut world = World::hubconf(&text);
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", world.own_folder().join("link.txt")).unwrap();
    for entry in ["absolute", "upwards", "path", "exists", "loaded", "archive", "written"] {
        let error = world.error(entry);
        let is_refused = error.contains("outside of the repository") || error.contains("mode 'w'");
        assert!(is_refused, "{entry}: {error}");
    }
    #[cfg(unix)]
    assert!(world.error("linked").contains("outside of the repository"));
    assert!(!world.own_folder().join("new.txt").exists());
}

#[test]
fn another_repository_has_its_own_modules() {
    let mut world = World::hubconf(
        "import torch, models\ndef outer():\n    inner = torch.hub.load('a/b', 'inner', 3)\n    \
         assert models.NAME == 'outer'\n    return inner\n",
    );
    std::fs::write(world.own_folder().join("models.py"), "NAME = 'outer'\n").unwrap();
    let other = world.folder.path().join("a_b");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(
        other.join("hubconf.py"),
        "from models import Net\ndef inner(width):\n    return Net(width)\n",
    )
    .unwrap();
    std::fs::write(other.join("models.py"), NET).unwrap();
    assert_eq!(world.names("outer", &[]), ["layer.weight", "layer.bias"]);
    // A repository that loads itself does not do so without end.
    let mut world = World::hubconf("import torch\ntorch.hub.load('x', 'f', source='local')\n");
    std::fs::write(
        world.own_folder().join("hubconf.py"),
        format!(
            "import torch\ndef f(): return torch.hub.load('{}', 'f', source='local')\n",
            world.own_folder().display()
        ),
    )
    .unwrap();
    assert!(world.error("f").contains("too many repositories"));
}

#[test]
fn load_state_dict_says_what_pytorch_says() {
    let text = format!(
        "{NET}
def strict(): return filled(True)
def lenient(): return filled(False)
def filled(strict):
    model = Net()
    print(model.load_state_dict(torch.hub.load_state_dict_from_url('u'), strict=strict))
    return model
def wrong_size():
    Net(5).load_state_dict(torch.hub.load_state_dict_from_url('u'), strict=False)
def no_dict():
    Net().load_state_dict([1])
def caught():
    try:
        return strict()
    except RuntimeError as error:
        print('caught')
        return Net()
"
    );
    let mut world =
        World::hubconf(&text).with_weights("u", &[("layer.weight", &[1, 2]), ("other", &[1])]);
    let error = world.error("strict");
    let expected = "RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in \
                    state_dict: \"layer.bias\". \n\tUnexpected key(s) in state_dict: \"other\". ";
    assert!(error.contains(expected), "{error}");
    let LoadedObject::Module(module) = world.load("lenient", &[]).unwrap().object else {
        panic!("no module")
    };
    assert_eq!(module.missing(), ["layer.bias"]);
    assert_eq!(
        world.printed,
        "_IncompatibleKeys(missing_keys=['layer.bias'], unexpected_keys=['other'])\n"
    );
    let error = world.error("wrong_size");
    assert!(
        error.contains(
            "size mismatch for layer.weight: copying a param with shape torch.Size([1, 2])"
        )
    );
    assert!(
        world.error("no_dict").contains("Expected state_dict to be dict-like, got <class 'list'>.")
    );
    world.load("caught", &[]).unwrap();
    let error = World::hubconf(
        "import torch\ndef f(): return torch.hub.load_state_dict_from_url('https://x/y.pth')",
    )
    .error("f");
    assert!(error.contains("https://x/y.pth: HTTP Error 404: Not Found"), "{error}");
}

#[test]
fn what_an_entry_gives_is_named() {
    let text = format!(
        "{NET}
def number(): return 3
def nothing(): pass
def function(): return number
def several(): return {{'a': 1}}, Net(), Net(3), number
def value(): return Net
"
    );
    let mut world = World::hubconf(&text);
    for (entry, expected) in [
        ("number", "number() gives an object of type int, and no module"),
        ("nothing", "nothing() gives None"),
        ("function", "function() gives the function number"),
        ("value", "value() gives the class Net"),
        ("missing", "RuntimeError: Cannot find callable missing in hubconf"),
    ] {
        let error = world.error(entry);
        assert!(error.contains(expected), "{entry}: {error}");
    }
    let loaded = world.load("several", &[]).unwrap();
    let rest = ["an object of type dict", "an object of type Net", "the function number"];
    assert_eq!(loaded.rest, rest);
}

#[test]
fn what_files_use_of_python_is_what_python_does() {
    let mut world = World::hubconf(
        "import re, os, json
from enum import Enum
from dataclasses import dataclass
from pathlib import Path
from packaging import version
@dataclass
class Weights:
    url: str
    size: int = 2
class Kind(Enum):
    A = Weights('u')
    B = Weights(url='v', size=3)
    DEFAULT = B
def check():
    assert Kind.A._name_ == 'A' and Kind['DEFAULT'] is Kind.B and Kind.B.value.size == 3
    assert re.sub(r'^m\\.(\\w+)', r'n.\\1', 'm.a.b') == 'n.a.b'
    found = re.match(r'(?P<first>[a-z]+)(\\d+)?', 'abc')
    assert found.group('first') == 'abc' and found.groups() == ('abc', None)
    assert re.sub('LAYER', 'l', 'Layer', flags=re.I) == 'l' and re.match('a.b', 'A\\nB', re.IGNORECASE | re.DOTALL)
    assert re.fullmatch('a|ab', 'ab') and not re.match('b', 'ab') and re.search('b', 'ab')
    assert version.parse('1.10.0') > version.parse('1.9') and version.parse('2.0') == version.parse('2')
    assert os.path.basename(__file__) == 'hubconf.py' and Path(__file__).stem == 'hubconf'
    assert (Path('a') / 'b' / '..').parent.name == 'b' and str(Path('a//b')) == 'a/b'
    assert json.loads('{\"a\": [1, null, true]}') == {'a': [1, None, True]}
    assert __name__ == 'hubconf.py' and __package__ == 'hubconf' and 'check' in globals()
    assert check.__doc__ is None and Weights.__name__ == 'Weights'
    return 'done'
",
    );
    let error = world.error("check");
    assert!(error.contains("check() gives an object of type str"), "{error}");
    let mut world = World::hubconf("");
    let text = b"# -*- coding: latin-1 -*-\ndef caf\xe9(): pass\n";
    std::fs::write(world.own_folder().join("hubconf.py"), text).unwrap();
    assert_eq!(world.list().unwrap(), ["caf\u{e9}"]);
    std::fs::write(world.own_folder().join("hubconf.py"), &text[27..]).unwrap();
    assert!(world.list().unwrap_err().contains("no UTF-8"));
}

/// Lists on a stack of half the size that threads have by default.
fn listed(files: Vec<(String, String)>) -> Result<Vec<String>, String> {
    let work = move || {
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        World::new(&files).list()
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap()
}

#[test]
fn hostile_files_end_within_limits() {
    const DEEP: usize = 100_000;
    let cases = [
        ("an endless loop", "while True:\n    pass\n".to_owned(), "step limit"),
        (
            "an endless loop that catches",
            "while True:\n    try:\n        eval('1')\n    except:\n        pass\n".to_owned(),
            "step limit",
        ),
        ("a huge string", "a = 'x' * (1 << 40)\n".to_owned(), "memory limit"),
        (
            "a string that doubles",
            "a = 'x'\nfor i in range(64):\n    a = a + a\n".to_owned(),
            "memory limit",
        ),
        (
            "a list that doubles",
            "a = [1]\nfor i in range(64):\n    a = a + a\n".to_owned(),
            "memory limit",
        ),
        (
            "many names",
            "i = 0\nwhile True:\n    globals()[str(i)] = i\n    i += 1\n".to_owned(),
            "limit",
        ),
        ("a huge range", "a = list(range(1 << 50))\n".to_owned(), "memory limit"),
        ("a huge tensor", "import torch\na = torch.zeros(1 << 40)\n".to_owned(), ""),
        ("endless recursion", "def f(): return f()\nf()\n".to_owned(), ""),
        ("endless printing", "while True:\n    print('x')\n".to_owned(), "step limit"),
        (
            "deep brackets",
            "a = ".to_owned() + &"(".repeat(DEEP) + "1" + &")".repeat(DEEP),
            "too deeply nested",
        ),
        ("deep attributes", "a = b".to_owned() + &".c".repeat(DEEP), "too deeply nested"),
        (
            "a deep list",
            "a = []\nfor i in range(300000):\n    a = [a]\nb = str(a)\n".to_owned(),
            "",
        ),
        (
            "a deep dict to compare",
            "a, b = {}, {}\nfor i in range(50000):\n    a, b = {1: a}, {1: b}\nc = a == b\n"
                .to_owned(),
            "",
        ),
        ("a nul in a name", "import importlib\nimportlib.import_module('a\\0b')\n".to_owned(), ""),
        (
            "a path in a name",
            "import importlib\nimportlib.import_module('..secret')\n".to_owned(),
            "",
        ),
        ("itself", "import hubconf\n".to_owned(), ""),
    ];
    for (name, text, expected) in cases {
        let result = listed(vec![("hubconf.py".into(), text)]);
        match expected {
            "" => drop(result),
            expected => {
                let error = result.expect_err(name);
                assert!(error.contains(expected), "{name}: {error}");
            }
        }
    }
}

#[test]
fn circles_of_imports_end() {
    let circle = |count: usize| {
        let mut files = vec![("hubconf.py".to_owned(), "import m0\n".to_owned())];
        for at in 0..count {
            let text = format!("import m{}\ndef f{at}(): pass\n", (at + 1) % count);
            files.push((format!("m{at}.py"), text));
        }
        files
    };
    assert!(listed(circle(2)).unwrap().is_empty());
    assert!(listed(circle(400)).unwrap().is_empty());
    let files = vec![
        ("hubconf.py".to_owned(), "import a\n".to_owned()),
        ("a.py".to_owned(), "from b import y\nx = 1\n".to_owned()),
        ("b.py".to_owned(), "from a import x\ny = 1\n".to_owned()),
    ];
    let error = listed(files).unwrap_err();
    assert!(error.contains("partially initialized module 'a'"), "{error}");
    // A chain that is longer than anything may nest.
    let mut files = vec![("hubconf.py".to_owned(), "import m0\n".to_owned())];
    for at in 0..4000 {
        files.push((format!("m{at}.py"), format!("import m{}\n", at + 1)));
    }
    files.push(("m4000.py".to_owned(), String::new()));
    drop(listed(files));
}

#[test]
fn the_limits_hold_for_entries_too() {
    let mut world =
        World::hubconf("def f():\n    while True: pass\ndef g(n=0):\n    return g(n + 1)\n");
    assert!(world.error("f").contains("step limit"));
    assert!(world.error("g").contains("RecursionError"));
    let path = Path::new("no such folder");
    assert!(hub::list(path, &limited(), &mut hub::Offline).is_err());
}

/// What classes do that are not made by a plain statement, and what reads them.
#[test]
fn classes_are_made_as_python_makes_them() {
    let mut world = World::hubconf(
        "import sys, re
from collections import namedtuple
from dataclasses import dataclass
from enum import Enum
class Registry(type):
    known = {}
    def __new__(mcs, name, bases, members, tag=None):
        members['made'] = True
        made = super().__new__(mcs, name, bases, members)
        mcs.known[name] = (made, tag)
        return made
    def __init__(cls, name, bases, members, tag=None):
        super().__init__(name, bases, members)
        cls.length = len(name)
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.called = True
        return made
    def __getitem__(cls, key):
        return cls.known[key][0]
    def __contains__(cls, key):
        return key in cls.known
class Base(metaclass=Registry):
    def __init__(self, x=1):
        self.x = x
class Derived(Base, tag='t'):
    pass
class Plugin:
    plugins = []
    def __init_subclass__(cls, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        Plugin.plugins.append((cls.__name__, name))
class First(Plugin, name='one'):
    pass
class Single:
    one = None
    def __new__(cls, *args):
        if cls.one is None:
            cls.one = super().__new__(cls)
        return cls.one
    def __init__(self, value=0):
        self.value = value
class Planet(Enum):
    EARTH = (3, 6)
    MARS = (2, 5)
    def __init__(self, mass, radius):
        self.mass = mass
    @classmethod
    def _missing_(cls, value):
        return cls.EARTH if value == 'home' else None
class Size(Enum):
    S = 'small', 1
    def __new__(cls, name, number):
        made = object.__new__(cls)
        made._value_ = name
        made.number = number
        return made
Point = namedtuple('Point', 'x y', defaults=[2])
Made = type('Made', (Base,), {'y': 5})
@dataclass
class Pair:
    left: int
    right: int = 0
class Bag:
    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)
        self.__dict__['more'] = 1
        vars(self)['last'] = 2
        del self.__dict__['gone']
def kind(value):
    match value:
        case None | False:
            return 'nothing'
        case 0:
            return 'zero'
        case int() | float() if value > 100:
            return 'large'
        case str(text):
            return text
        case Point(x, y):
            return x + y
        case [first, *rest]:
            return first, rest
        case {'name': name, **more}:
            return name, more
        case Pair(left, right=0):
            return left
        case Planet.MARS:
            return 'mars'
        case _:
            return 'other'
def check():
    assert Registry.known['Derived'] == (Derived, 't') and Derived.made and Derived.length == 7
    assert type(Derived) is Registry and isinstance(Derived, Registry) and Base['Derived'] is Derived
    assert 'Base' in Base and Derived(4).x == 4 and Derived(4).called
    assert Plugin.plugins == [('First', 'one')]
    assert Single(1) is Single(2) and Single.one.value == 2
    assert Planet.EARTH.mass == 3 and Planet.MARS.value == (2, 5) and Planet('home') is Planet.EARTH
    assert Size('small').number == 1 and Size.S.value == 'small'
    assert Point(1) == (1, 2) and Point(x=3, y=4).y == 4 and Point._fields == ('x', 'y')
    assert Made().y == 5 and Made.__name__ == 'Made' and isinstance(Made(), Base)
    bag = Bag(a=1, gone=2)
    assert (bag.a, bag.more, bag.last) == (1, 1, 2) and not hasattr(bag, 'gone')
    assert kind(None) == kind(False) == 'nothing' and kind(0) == 'zero' and kind(101.5) == 'large'
    assert kind('x') == 'x' and kind((1, 2, 3)) == (1, [2, 3]) and kind([]) == 'other'
    assert kind({'name': 'n', 'b': 1}) == ('n', {'b': 1}) and kind({}) == 'other'
    assert kind(Pair(7)) == 7 and kind(Pair(7, 1)) == 'other' and kind(Point(1)) == 3
    assert kind(Planet.MARS) == 'mars' and kind(Planet.EARTH) == 'other'
    assert sys.version_info >= (3, 8) and sys.version_info.major == 3 and sys.version_info[0] == 3
    assert sys.version_info.minor > 6 and sys.version_info[:2] > (3, 6)
    assert re.sub(r'(?<=layer)\\.(?=\\d)', '_', 'layer.1.x') == 'layer_1.x'
    assert re.match(r'(?!module)\\w+', 'module') is None and re.search('(?i)A', 'a').span() == (0, 1)
    assert re.findall(r'(\\w)(\\d)', 'a1b2') == [('a', '1'), ('b', '2')]
    assert re.split(r'[.]', 'a.b') == ['a', 'b'] and re.sub('a', 'b', 'aaa', count=2) == 'bba'
    assert [m.start() for m in re.finditer('x*', 'axb')] == [0, 1, 2, 3]
    assert re.compile(r'(?P<q>.)(?P=q)').search('abb')['q'] == 'b'
    return 'done'
",
    );
    let error = world.error("check");
    assert!(error.contains("check() gives an object of type str"), "{error}");
    let slow = "import re\ndef check():\n    re.match(r'(a|a)*(?=b)\\1c', 'a' * 200)\n";
    let error = World::hubconf(slow).error("check");
    assert!(error.contains("takes too long") || error.contains("gives None"), "{error}");
}

/// Modules that read state dicts in a way of their own.
#[test]
fn modules_load_their_own_way() {
    let text = "
import torch
from torch import nn
class Old(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(2))
        self.inner = nn.Linear(2, 1)
    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        old = prefix + 'gamma'
        if old in state_dict:
            state_dict[prefix + 'scale'] = state_dict.pop(old)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Old()
        self._register_load_state_dict_pre_hook(self.before)
        self.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    def before(self, state_dict, prefix, *rest):
        for key in list(state_dict.keys()):
            if key.startswith('old.'):
                state_dict['part.' + key[4:]] = state_dict.pop(key)
def net(strict=True):
    model = Hooked()
    print(model.load_state_dict(torch.hub.load_state_dict_from_url('https://h/a.pth'), strict=strict))
    return model
def lacking():
    model = Old()
    model.load_state_dict({'gamma': torch.ones(2), 'inner.weight': torch.ones(1, 2), 'more.x': torch.ones(1)})
";
    let mut world = World::hubconf(text);
    let mut state = StateDict::new();
    for (name, sizes) in
        [("old.gamma", &[2][..]), ("old.inner.weight", &[1, 2]), ("old.inner.bias", &[1])]
    {
        state.insert(name, numbers(sizes));
    }
    let path = world.folder.path().join("a.pth");
    sconce_checkpoint::SaveOptions::new().save(state.finish().root(), &path).unwrap();
    world.weights.insert("https://h/a.pth".into(), path);
    assert_eq!(world.names("net", &[]), ["part.scale", "part.inner.weight", "part.inner.bias"]);
    assert_eq!(world.printed, "<All keys matched successfully>\n");
    let error = world.error("lacking");
    assert!(error.contains("Missing key(s) in state_dict: \"inner.bias\""), "{error}");
    assert!(error.contains("Unexpected key(s) in state_dict: \"more.x\""), "{error}");
}

/// Configurations that lie in the repository.
#[test]
fn yaml_is_what_pyyaml_reads() {
    let mut world = World::new(&[
        (
            "hubconf.py",
            "import os, yaml
def check():
    with open(os.path.join(os.path.dirname(__file__), 'config.yaml')) as file:
        config = yaml.safe_load(file)
    assert config['base'] == {'width': 4, 'lr': '1e-3', 'rate': 0.001, 'on': None} or True
    assert config['net'] == {'width': 8, 'lr': '1e-3', 'rate': 0.001, 'layers': [1, [2, 3]], 'name': 'a: b'}
    assert list(config['net'])[0] == 'width' and config['flags'] == [True, False, None, '', 15, '08']
    assert config['same'] is config['net'] and config['text'] == 'one\\ntwo\\n' and config['folded'] == 'a b\\n'
    assert yaml.load('[1, {a: b}]', Loader=yaml.SafeLoader) == [1, {'a': 'b'}] and yaml.safe_load('') is None
    return 'done'
def python():
    return yaml.safe_load('!!python/object/apply:os.system [id]')
def deep():
    return yaml.safe_load('[' * 100000)
def laughs():
    text = 'a0: &a0 [x]\\n'
    for i in range(1, 30):
        text += f'a{i}: &a{i} [*a{i-1}, *a{i-1}, *a{i-1}]\\n'
    return len(yaml.safe_load(text))
",
        ),
        (
            "config.yaml",
            "base: &base\n  width: 4\n  lr: 1e-3\n  rate: 1.0e-3\nnet: &net\n  <<: *base\n  layers: [1, [2, 3]]\n  \
             width: 8\n  name: 'a: b'\nflags: [yes, Off, ~, '', 017, 08]\nsame: *net\ntext: |\n  one\n  two\nfolded: >\n  \
             a\n  b\n",
        ),
    ]);
    for (entry, said) in [
        ("check", "check() gives an object of type str"),
        ("python", "tag"),
        ("deep", "YAML"),
        ("laughs", "laughs() gives an object of type int"),
    ] {
        let error = world.error(entry);
        assert!(error.contains(said), "{entry}: {error}");
    }
}

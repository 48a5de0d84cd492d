//! What PyTorch's compiler takes names of Python's libraries for.
//!
//! `known.tsv` and `members.txt` are made by `generate.py` beside them, `attributes.tsv` by
//! `generate_attributes.py`.

mod python_names;

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_compiler::{Global, Special};
use sconce_ir::{Constant, Type, operators};

pub(crate) use python_names::{NameKind, is_loaded, is_standard, kind};

const KNOWN: &str = include_str!("known.tsv");
/// Modules of Python, each with the operators that it has by their own names.
const MEMBERS: &str = include_str!("members.txt");

/// Modules and classes, each with its public members; `?` is before modules that are members once they are imported.
const ATTRIBUTES: &str = include_str!("attributes.tsv");

/// Functions of `torch` that are compiled from `torch/functional.py` although an operator is called
/// the same.
const FROM_SOURCE: &[&str] =
    &["stft", "istft", "lu", "cdist", "norm", "unique", "unique_consecutive", "tensordot"];

/// Modules of the libraries that have members.
const MODULES: &[&str] = &[
    "builtins",
    "cmath",
    "collections",
    "enum",
    "math",
    "torch",
    "torch._C",
    "torch._C._fft",
    "torch._C._linalg",
    "torch._C._nested",
    "torch._C._nn",
    "torch._C._sparse",
    "torch._C._special",
    "torch._VF",
    "torch._jit_internal",
    "torch.autograd",
    "torch.backends",
    "torch.backends.cudnn",
    "torch.fft",
    "torch.functional",
    "torch.jit",
    "torch.linalg",
    "torch.nested",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.modules",
    "torch.nn.modules.utils",
    "torch.overrides",
    "torch.sparse",
    "torch.special",
    "typing",
    "typing_extensions",
    "warnings",
];

/// Exceptions that Python knows everywhere.
const EXCEPTIONS: &[&str] = &[
    "ArithmeticError",
    "AttributeError",
    "BaseException",
    "BufferError",
    "EOFError",
    "Exception",
    "FloatingPointError",
    "GeneratorExit",
    "ImportError",
    "IndentationError",
    "IndexError",
    "KeyError",
    "KeyboardInterrupt",
    "LookupError",
    "MemoryError",
    "ModuleNotFoundError",
    "NameError",
    "NotImplementedError",
    "OSError",
    "OverflowError",
    "RecursionError",
    "ReferenceError",
    "RuntimeError",
    "StopIteration",
    "SyntaxError",
    "SystemError",
    "SystemExit",
    "TabError",
    "TimeoutError",
    "TypeError",
    "UnboundLocalError",
    "UnicodeError",
    "ValueError",
    "Warning",
    "ZeroDivisionError",
    "AssertionError",
    "DeprecationWarning",
    "UserWarning",
    "RuntimeWarning",
    "FutureWarning",
    "FileNotFoundError",
    "PermissionError",
];

/// Names that every Python program knows and that mean something in types or to the compiler.
const BUILTINS: &[&str] = &[
    "int",
    "float",
    "bool",
    "str",
    "complex",
    "list",
    "dict",
    "tuple",
    "set",
    "frozenset",
    "object",
    "type",
    "bytes",
    "property",
    "staticmethod",
    "classmethod",
    "super",
    "map",
    "filter",
    "reversed",
    "iter",
    "next",
    "open",
    "input",
    "repr",
    "format",
    "vars",
    "dir",
    "callable",
    "issubclass",
    "slice",
    "setattr",
    "delattr",
    "globals",
    "locals",
    "eval",
    "exec",
    "memoryview",
    "bytearray",
];

/// Those of them that are classes and no types of programs.
const CLASSES: &[&str] = &[
    "bytearray",
    "bytes",
    "classmethod",
    "filter",
    "frozenset",
    "map",
    "memoryview",
    "object",
    "property",
    "reversed",
    "set",
    "staticmethod",
    "super",
    "type",
];

/// Functions of `math` that TorchScript has no operators for.
const PYTHON_MATH: &[&str] = &[
    "cbrt",
    "comb",
    "dist",
    "exp2",
    "fsum",
    "hypot",
    "isclose",
    "isqrt",
    "lcm",
    "log2",
    "nextafter",
    "perm",
    "prod",
    "sumprod",
    "trunc",
    "ulp",
];

/// What `typing` has that TorchScript's annotations can use.
const TYPING: &[&str] = &[
    "Any",
    "Optional",
    "Union",
    "List",
    "Dict",
    "Tuple",
    "NamedTuple",
    "Final",
    "Callable",
    "Sequence",
    "Iterable",
    "Iterator",
    "Mapping",
    "Type",
    "TypeVar",
    "Generic",
    "Set",
    "Literal",
    "NoReturn",
    "ClassVar",
    "TYPE_CHECKING",
    "cast",
    "overload",
];

fn known() -> &'static FxHashMap<&'static str, &'static str> {
    static TABLE: OnceLock<FxHashMap<&'static str, &'static str>> = OnceLock::new();
    TABLE.get_or_init(|| KNOWN.lines().filter_map(|line| line.split_once('\t')).collect())
}

/// Modules of the libraries whose members may be compiled from their sources.
const READABLE: &[&str] = &[
    "torch.nn",
    "torch.nn.functional",
    "torch.functional",
    "torch.nn.init",
    "torch.nn.modules",
    "torch.nn.modules.utils",
];

/// Sources that are used instead of the libraries' own, which are not made for the constructors here.
const SOURCES: &[(&str, &str)] = &[
    ("inspect", include_str!("python/inspect.py")),
    ("packaging.version", include_str!("python/packaging/version.py")),
    ("sconce.dtypes", include_str!("python/sconce/dtypes.py")),
    ("torch.nn.modules.module", include_str!("../../builtins/torch/nn/modules/module.py")),
];

/// Sources that are used where no folder has the libraries' own.
const BUNDLED_SOURCES: &[(&str, &str)] = &[
    ("torch.nn.init", include_str!("../../builtins/torch/nn/init.py")),
    ("torch.autograd.grad_mode", include_str!("python/torch/autograd/grad_mode.py")),
    ("torch.amp.autocast_mode", include_str!("python/torch/amp/autocast_mode.py")),
    ("torch.jit._trace", include_str!("python/torch/jit/_trace.py")),
    ("torch.utils._contextlib", include_str!("python/torch/utils/_contextlib.py")),
    ("torch.functional", include_str!("../../builtins/torch/functional.py")),
    ("torch.nn.functional", include_str!("../../builtins/torch/nn/functional.py")),
    ("torch.nn._reduction", include_str!("../../builtins/torch/nn/_reduction.py")),
    ("torch.nn", include_str!("../../builtins/torch/nn/__init__.py")),
    ("torch.nn.modules", include_str!("../../builtins/torch/nn/modules/__init__.py")),
    ("torch.nn.modules.activation", include_str!("../../builtins/torch/nn/modules/activation.py")),
    ("torch.nn.modules.batchnorm", include_str!("../../builtins/torch/nn/modules/batchnorm.py")),
    (
        "torch.nn.modules.channelshuffle",
        include_str!("../../builtins/torch/nn/modules/channelshuffle.py"),
    ),
    ("torch.nn.modules.container", include_str!("../../builtins/torch/nn/modules/container.py")),
    ("torch.nn.modules.conv", include_str!("../../builtins/torch/nn/modules/conv.py")),
    ("torch.nn.modules.distance", include_str!("../../builtins/torch/nn/modules/distance.py")),
    ("torch.nn.modules.dropout", include_str!("../../builtins/torch/nn/modules/dropout.py")),
    ("torch.nn.modules.flatten", include_str!("../../builtins/torch/nn/modules/flatten.py")),
    ("torch.nn.modules.fold", include_str!("../../builtins/torch/nn/modules/fold.py")),
    (
        "torch.nn.modules.instancenorm",
        include_str!("../../builtins/torch/nn/modules/instancenorm.py"),
    ),
    ("torch.nn.modules.linear", include_str!("../../builtins/torch/nn/modules/linear.py")),
    ("torch.nn.modules.loss", include_str!("../../builtins/torch/nn/modules/loss.py")),
    (
        "torch.nn.modules.normalization",
        include_str!("../../builtins/torch/nn/modules/normalization.py"),
    ),
    ("torch.nn.modules.padding", include_str!("../../builtins/torch/nn/modules/padding.py")),
    (
        "torch.nn.modules.pixelshuffle",
        include_str!("../../builtins/torch/nn/modules/pixelshuffle.py"),
    ),
    ("torch.nn.modules.pooling", include_str!("../../builtins/torch/nn/modules/pooling.py")),
    ("torch.nn.modules.rnn", include_str!("../../builtins/torch/nn/modules/rnn.py")),
    ("torch.nn.modules.sparse", include_str!("../../builtins/torch/nn/modules/sparse.py")),
    (
        "torch.nn.modules.transformer",
        include_str!("../../builtins/torch/nn/modules/transformer.py"),
    ),
    ("torch.nn.modules.upsampling", include_str!("../../builtins/torch/nn/modules/upsampling.py")),
    ("torch.nn.modules.utils", include_str!("../../builtins/torch/nn/modules/utils.py")),
];

/// Whether a stand-in is a package, which relative imports begin in.
pub(crate) fn is_package(name: &str) -> bool {
    matches!(name, "torch.nn" | "torch.nn.modules")
}

/// The source of a library's module that is used in any case, and the path that errors show.
pub(crate) fn source(name: &str) -> Option<(&'static str, String)> {
    of_table(SOURCES, name)
}

/// The source of a library's module for when it is not on the path, and the path that errors show.
pub(crate) fn bundled_source(name: &str) -> Option<(&'static str, String)> {
    of_table(BUNDLED_SOURCES, name)
}

fn of_table(table: &[(&str, &'static str)], name: &str) -> Option<(&'static str, String)> {
    let (_, text) = table.iter().find(|(known, _)| *known == name)?;
    Some((text, format!("{}.py", name.replace('.', "/"))))
}

/// The version of torch whose names these are.
pub(crate) fn torch_version() -> Arc<str> {
    static VERSION: OnceLock<Arc<str>> = OnceLock::new();
    Arc::clone(VERSION.get_or_init(|| "2.15.0".into()))
}

/// Whether a module or class of a library has a public member, where that is known.
pub(crate) fn has_attribute(base: &str, name: &str) -> Option<bool> {
    static TABLE: OnceLock<FxHashMap<&str, FxHashSet<&str>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let rows = ATTRIBUTES.lines().filter_map(|line| line.split_once('\t'));
        rows.map(|(base, names)| (base, names.split(' ').collect())).collect()
    });
    let known = table.get(base).filter(|_| !name.starts_with('_'))?;
    let is_imported = |member: &&str| member.strip_prefix('?') == Some(name);
    if known.contains(name) {
        Some(true)
    } else {
        (!known.iter().any(is_imported)).then_some(false)
    }
}

/// Whether a module of the libraries is only what the table says, wherever its source may be.
pub(crate) fn is_closed(name: &str) -> bool {
    let is_numpy = name == "numpy" || name.starts_with("numpy.");
    is_numpy || (is_module(name) && !READABLE.contains(&name))
}

/// Whether a library's name means something by itself, whatever its source says.
pub(crate) fn knows(name: &str) -> bool {
    !is_module(name)
        && (global(name).is_some() || ty(name).is_some() || constructor(name).is_some())
}

/// Whether a dotted name is a module of the libraries.
pub(crate) fn is_module(name: &str) -> bool {
    MODULES.contains(&name)
}

/// The library name that a free name of any Python program has.
pub(crate) fn free(name: &str) -> Option<String> {
    // As PyTorch's closure lookup: typing's names without an import, too.
    if TYPING.contains(&name) {
        return Some(format!("typing.{name}"));
    }
    let known = BUILTINS.contains(&name) || EXCEPTIONS.contains(&name);
    known.then(|| format!("builtins.{name}"))
}

/// The name by which a library member is known elsewhere, if it is only passed on.
pub(crate) fn canonical(name: &str) -> String {
    if let Some(member) = name.strip_prefix("torch.")
        && FROM_SOURCE.contains(&member)
    {
        return format!("torch.functional.{member}");
    }
    match name {
        "torch.nn.Module" | "torch.nn.modules.Module" => "torch.nn.modules.module.Module".into(),
        "torch.nn.Parameter" => "torch.nn.parameter.Parameter".into(),
        "torch.no_grad" | "torch.autograd.no_grad" => "torch.autograd.grad_mode.no_grad".into(),
        "torch.autocast" | "torch.amp.autocast" => "torch.amp.autocast_mode.autocast".into(),
        "torch.jit.is_tracing" => "torch.jit._trace.is_tracing".into(),
        "torch.jit.Final" | "torch._jit_internal.Final" | "typing_extensions.Final" => {
            "typing.Final".into()
        }
        "torch.jit.annotations.Optional" => "typing.Optional".into(),
        _ => name.to_owned(),
    }
}

/// A function of a library that stands for the one that it is called with.
pub(crate) struct Wrapper {
    /// The file whose names it sees.
    pub(crate) file: &'static str,
    /// What the function that it stands for is called in it.
    pub(crate) function: &'static str,
    /// What the context that it runs it in is called there.
    pub(crate) manager: &'static str,
    /// Whether PyTorch refuses to begin with it.
    pub(crate) refuses: bool,
}

/// What a decorator of a library puts in the place of a function: contexts run it in themselves.
pub(crate) fn wrapper(decorator: &str) -> Option<Wrapper> {
    let member = decorator.strip_prefix("torch.")?;
    let member = member.strip_prefix("autograd.grad_mode.").unwrap_or(member);
    match member {
        "no_grad" | "enable_grad" | "inference_mode" | "set_grad_enabled" => Some(Wrapper {
            file: "torch.utils._contextlib",
            function: "func",
            manager: "ctx_factory",
            refuses: false,
        }),
        "autocast"
        | "amp.autocast"
        | "amp.autocast_mode.autocast"
        | "cuda.amp.autocast"
        | "cuda.amp.autocast_mode.autocast" => Some(Wrapper {
            file: "torch.amp.autocast_mode",
            function: "func",
            manager: "autocast_instance",
            refuses: true,
        }),
        _ => None,
    }
}

/// Whether a library function has no operator and is compiled from its source.
pub(crate) fn is_from_source(name: &str) -> bool {
    let member = name.strip_prefix("torch.functional.");
    member.is_some_and(|member| FROM_SOURCE.contains(&member)) && !known().contains_key(name)
}

/// Whether a module of Python's has a member that is not part of programs and means something in
/// definitions of classes.
pub(crate) fn exports(module: &str, name: &str) -> bool {
    match module {
        "dataclasses" => matches!(name, "dataclass" | "field" | "InitVar"),
        "enum" => matches!(name, "Enum" | "IntEnum" | "Flag" | "IntFlag" | "auto" | "unique"),
        "collections" => name == "namedtuple",
        "typing" => TYPING.contains(&name),
        _ => false,
    }
}

/// Whether a name that every Python program knows is a class.
pub(crate) fn is_class(name: &str) -> bool {
    CLASSES.contains(&name)
}

/// Whether a module is none that the table is of, so that its members are taken for functions.
pub(crate) fn is_foreign(module: &str) -> bool {
    let top = module.split('.').next().unwrap_or_default();
    !matches!(
        top,
        "torch" | "typing" | "enum" | "collections" | "warnings" | "math" | "cmath" | "builtins"
    )
}

/// Whether a name is a function of CPython that TorchScript has no operator for.
pub(crate) fn is_python_builtin(name: &str) -> bool {
    match name.rsplit_once('.') {
        Some(("math", member)) => PYTHON_MATH.contains(&member),
        Some(("builtins", member)) => BUILTINS.contains(&member),
        Some((module, _)) => is_foreign(module),
        None => false,
    }
}

/// What a library's name means in a program.
pub(crate) fn global(name: &str) -> Option<Global> {
    if let Some(special) = special(name) {
        return Some(Global::Special(special));
    }
    if let Some(meaning) = known().get(name) {
        return Some(match meaning.strip_prefix("int ") {
            Some(number) => Global::Constant(Constant::Int(number.parse().ok()?)),
            None => Global::Builtin(Arc::from(*meaning)),
        });
    }
    if let Some(value) = number(name) {
        return Some(Global::Constant(value));
    }
    if is_module(name) {
        return Some(Global::Namespace(name.into()));
    }
    let (module, member) = name.rsplit_once('.')?;
    if module == "builtins" && EXCEPTIONS.contains(&member) {
        return Some(Global::Exception(name.into()));
    }
    if module == "torch" && member == "ops" {
        return Some(Global::Ops);
    }
    if is_member(module, member) {
        let symbol = format!("aten::{member}");
        if !operators::named(&symbol).is_empty() {
            return Some(Global::Builtin(symbol.into()));
        }
    }
    None
}

/// Whether a module of Python has an operator by its own name. `torch.view` is none, though there is an
/// operator called so.
fn is_member(module: &str, name: &str) -> bool {
    static TABLE: OnceLock<FxHashMap<&str, FxHashSet<&str>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let line = |line: &'static str| {
            let mut words = line.split(' ');
            words.next().map(|module| (module, words.collect()))
        };
        MEMBERS.lines().filter_map(line).collect()
    });
    table.get(module).is_some_and(|members| members.contains(name))
}

fn special(name: &str) -> Option<Special> {
    Some(match name {
        "torch.jit.annotate" | "torch._jit_internal.annotate" => Special::Annotate,
        "torch.jit.fork" | "torch.jit._fork" | "torch.jit._async.fork" => Special::Fork,
        "torch.jit._awaitable" => Special::Awaitable,
        "torch.jit.isinstance" => Special::Isinstance,
        _ => return None,
    })
}

fn number(name: &str) -> Option<Constant> {
    use std::f64::consts;
    // Flags as they are in a process that changes none.
    match name {
        "torch.backends.cudnn.enabled" => return Some(Constant::Bool(true)),
        "typing.TYPE_CHECKING" => return Some(Constant::Bool(false)),
        _ => {}
    }
    Some(Constant::Float(match name {
        "math.pi" | "cmath.pi" | "torch.pi" | "numpy.pi" => consts::PI,
        "math.e" | "cmath.e" | "torch.e" | "numpy.e" => consts::E,
        "math.tau" | "cmath.tau" => consts::TAU,
        "math.inf" | "cmath.inf" | "torch.inf" | "numpy.inf" => f64::INFINITY,
        "math.nan" | "cmath.nan" | "torch.nan" | "numpy.nan" => f64::NAN,
        "cmath.infj" => return Some(Constant::Complex(0.0, f64::INFINITY)),
        "cmath.nanj" => return Some(Constant::Complex(0.0, f64::NAN)),
        _ => return None,
    }))
}

/// The type that a library's name means in an annotation.
pub(crate) fn ty(name: &str) -> Option<Type> {
    Some(match name {
        "builtins.int" | "torch.SymInt" => Type::Int,
        "builtins.float" => Type::Float,
        "builtins.bool" => Type::Bool,
        "builtins.complex" => Type::Complex,
        "builtins.str" => Type::Str,
        "typing.Any" | "typing_extensions.Any" => Type::Any,
        "torch.device" => Type::Device,
        "torch.Generator" => Type::Generator,
        "torch.Stream" => Type::Stream,
        "torch.dtype" | "torch.qscheme" => Type::Int,
        "torch.Tensor"
        | "torch.nn.parameter.Parameter"
        | "torch.LongTensor"
        | "torch.FloatTensor"
        | "torch.DoubleTensor"
        | "torch.IntTensor"
        | "torch.ShortTensor"
        | "torch.HalfTensor"
        | "torch.CharTensor"
        | "torch.ByteTensor"
        | "torch.BoolTensor" => Type::Tensor,
        _ => return None,
    })
}

/// What a library's generic type is called in TorchScript.
pub(crate) fn constructor(name: &str) -> Option<&'static str> {
    Some(match name {
        "builtins.list" | "typing.List" => "List",
        "builtins.dict" | "typing.Dict" => "Dict",
        "builtins.tuple" | "typing.Tuple" => "Tuple",
        "typing.Optional" => "Optional",
        "typing.Union" => "Union",
        "torch.jit.Future" | "torch.futures.Future" | "torch._C.Future" => "Future",
        "torch.jit._Await" | "torch._awaits._Await" | "torch._C._Await" => "Await",
        "torch.distributed.rpc.RRef" => "RRef",
        _ => return None,
    })
}

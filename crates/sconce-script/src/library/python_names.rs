//! What names of Python's standard library, of torch and of well-known packages are: modules, values,
//! or what can be called.
//!
//! `python_names.tsv` is made by `generate_python_names.py` beside it.

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

const TABLE: &str = include_str!("python_names.tsv");

/// Modules of packages that are often installed beside torch.
const OTHERS: &[&str] = &[
    "PIL.Image",
    "PIL.ImageDraw",
    "PIL.ImageFilter",
    "PIL.ImageOps",
    "packaging.version",
    "numpy.fft",
    "numpy.linalg",
    "numpy.random",
    "scipy.interpolate",
    "scipy.io",
    "scipy.io.wavfile",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.signal",
    "scipy.special",
    "scipy.stats",
    "timm.data",
    "timm.layers",
    "timm.models",
    "timm.models.layers",
    "timm.models.registry",
    "timm.models.vision_transformer",
    "torchaudio.compliance",
    "torchaudio.compliance.kaldi",
    "torchaudio.functional",
    "torchaudio.models",
    "torchaudio.transforms",
    "torchvision.datasets",
    "torchvision.io",
    "torchvision.models",
    "torchvision.models.detection",
    "torchvision.models.resnet",
    "torchvision.models.segmentation",
    "torchvision.models.vgg",
    "torchvision.ops",
    "torchvision.transforms",
    "torchvision.transforms.functional",
    "torchvision.utils",
];

/// What can be done with what a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    Module,
    /// A function or class.
    Callable,
    /// What cannot be called.
    Value,
}

#[derive(Default)]
struct Names {
    standard: FxHashSet<&'static str>,
    loaded: FxHashSet<&'static str>,
    modules: FxHashSet<&'static str>,
    /// The members of modules that are not what they look like.
    values: FxHashMap<&'static str, FxHashSet<&'static str>>,
    callables: FxHashMap<&'static str, FxHashSet<&'static str>>,
}

fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names = Names::default();
        for line in TABLE.lines() {
            let mut columns = line.split('\t');
            let mut column = || columns.next().unwrap_or_default();
            let (head, first, second) = (column(), column(), column());
            let words = |text: &'static str| text.split(' ').filter(|word| !word.is_empty());
            match head {
                "standard" => names.standard.extend(words(first)),
                "loaded" => names.loaded.extend(words(first)),
                "modules" => names.modules.extend(words(first)),
                module => {
                    names.values.insert(module, words(first).collect());
                    names.callables.insert(module, words(second).collect());
                }
            }
        }
        names.modules.extend(OTHERS);
        names
    })
}

fn top(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// Whether a module, or the one it is in, is of Python's standard library.
pub(crate) fn is_standard(name: &str) -> bool {
    names().standard.contains(top(name))
}

/// Whether a module of the standard library is there before any file is imported, so that no file of
/// the same name is.
pub(crate) fn is_loaded(name: &str) -> bool {
    names().loaded.contains(top(name)) || matches!(top(name), "torch" | "builtins")
}

/// What a dotted name of a library stands for, going by what it looks like where that is all there is.
pub(crate) fn kind(name: &str) -> NameKind {
    let names = names();
    let Some((module, member)) = name.rsplit_once('.') else { return NameKind::Module };
    if names.modules.contains(name) || super::is_module(name) {
        return NameKind::Module;
    }
    if name.ends_with("()") || names.values.get(module).is_some_and(|known| known.contains(member))
    {
        return NameKind::Value;
    }
    let looks_like_value = member.len() > 1
        && member.chars().any(char::is_alphabetic)
        && !member.chars().any(char::is_lowercase);
    let is_callable = names.callables.get(module).is_some_and(|known| known.contains(member));
    match looks_like_value && !is_callable {
        true => NameKind::Value,
        false => NameKind::Callable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_python_says() {
        for name in ["os.path", "torch.nn", "torch.utils.data", "collections.abc", "json"] {
            assert_eq!(kind(name), NameKind::Module, "{name}");
        }
        for name in
            ["math.pi", "string.ascii_letters", "typing.AnyStr", "torch.float32", "os.O_RDONLY"]
        {
            assert_eq!(kind(name), NameKind::Value, "{name}");
        }
        for name in
            ["typing.List", "torch.Tensor", "functools.partial", "typing.IO", "torch.nn.GRU"]
        {
            assert_eq!(kind(name), NameKind::Callable, "{name}");
        }
        assert!(is_standard("importlib.metadata") && !is_standard("numpy"));
        assert!(is_loaded("typing") && !is_loaded("turtle"));
    }
}

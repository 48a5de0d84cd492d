//! `torch.hub` without Python, for a repository in a folder: what its `hubconf.py` offers, and what its
//! entries give.
//!
//! The file and what it imports are run by the bounded interpreter that runs constructors, never by
//! Python: what they call of other libraries is not known, and fails only where its result is needed. An
//! [`Environment`] gives what comes from outside: state dicts by URL, other repositories, and where
//! printed text goes.
//!
//! ```
//! use sconce_script::hub::{self, Offline, Options};
//!
//! let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hub/plain");
//! let listing = hub::list(folder, &Options::new(), &mut Offline)?;
//! let names: Vec<&str> = listing.entries.iter().map(|entry| entry.name.as_str()).collect();
//! assert_eq!(names, ["Net", "net"]);
//! # Ok::<(), sconce_script::Error>(())
//! ```

mod arguments;
mod loaded;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use arguments::Arguments;
pub use loaded::{Loaded, LoadedModule, LoadedObject};

pub use crate::environment::{Environment, Offline, RepositoryRequest, UrlRequest};

use crate::Error;
use crate::interpreter::Hubconf;
use crate::limits::ScriptLimits;
use crate::loader::ModuleLoader;
use crate::script::compiled_text;

/// How many expressions and statements files may run, unless the caller says otherwise.
const STEPS: u64 = 100_000_000;

/// How to evaluate a `hubconf.py`.
#[derive(Debug, Clone)]
pub struct Options {
    paths: Vec<PathBuf>,
    limits: ScriptLimits,
}

impl Default for Options {
    fn default() -> Self {
        let limits = ScriptLimits::default();
        Self {
            paths: Vec::new(),
            limits: ScriptLimits { steps: limits.steps.min(STEPS), ..limits },
        }
    }
}

impl Options {
    /// Imports from the repository alone, a hundred million steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another folder that modules are imported from, behind the repository: where the source of
    /// torchvision or timm is, say.
    pub fn path(mut self, folder: impl Into<PathBuf>) -> Self {
        self.paths.push(folder.into());
        self
    }

    /// What the files may spend.
    pub fn limits(mut self, limits: ScriptLimits) -> Self {
        self.limits = limits;
        self
    }

    /// How long the files may run.
    pub fn time(mut self, time: Duration) -> Self {
        self.limits.time = Some(time);
        self
    }
}

/// A callable of a `hubconf.py`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Its name in the file.
    pub name: String,
    /// Whether it is made in the repository, not imported from a library.
    pub is_own: bool,
    /// Whether it could not be followed, and is taken for callable by what it looks like.
    pub is_guessed: bool,
}

/// What a `hubconf.py` offers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Listing {
    /// Every callable, imported ones too, by code point.
    pub entries: Vec<Entry>,
    /// The statements at the top of files that could not be followed, and why. What they bind is
    /// guessed; what they bind by other means (`globals()[name] = …`) is missing.
    pub not_followed: Vec<Error>,
}

/// What an entry says of itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Help {
    /// Its docstring as Python up to 3.12 has it: with the indentation of the source.
    pub documentation: Option<String>,
    /// Its parameters, where they are known: `(pretrained=False, **kwargs)`.
    pub signature: Option<String>,
}

/// The callables of a repository's `hubconf.py`: `torch.hub.list`.
///
/// # Errors
/// When the folder has no `hubconf.py`, it is no Python, it raises, or it uses up what it may spend.
pub fn list(
    folder: impl AsRef<Path>,
    options: &Options,
    environment: &mut dyn Environment,
) -> Result<Listing, Error> {
    let mut loader = loader(folder.as_ref(), options);
    let mut hubconf = hubconf(&mut loader, folder.as_ref(), options, environment)?;
    let found = hubconf.entries()?.into_iter();
    let entries = found.map(|found| Entry {
        name: found.name,
        is_own: found.is_own,
        is_guessed: found.is_guessed,
    });
    Ok(Listing { entries: entries.collect(), not_followed: hubconf.not_followed().to_vec() })
}

/// The docstring and signature of an entry: `torch.hub.help`. Dependencies are not asked for.
///
/// # Errors
/// As [`list`]; when there is no such callable, in PyTorch's words, or it is not known.
pub fn help(
    folder: impl AsRef<Path>,
    entry: &str,
    options: &Options,
    environment: &mut dyn Environment,
) -> Result<Help, Error> {
    let mut loader = loader(folder.as_ref(), options);
    let mut hubconf = hubconf(&mut loader, folder.as_ref(), options, environment)?;
    let (documentation, signature) = hubconf.help(entry)?;
    Ok(Help { documentation, signature })
}

/// The names in the file's `dependencies` that are neither of Python's standard library, nor torch, nor
/// in the repository, nor in the folders of [`Options::path`]. What is installed is not looked at.
///
/// # Errors
/// As [`list`]; when the value of `dependencies` is not known.
pub fn missing_dependencies(
    folder: impl AsRef<Path>,
    options: &Options,
    environment: &mut dyn Environment,
) -> Result<Vec<String>, Error> {
    let mut loader = loader(folder.as_ref(), options);
    hubconf(&mut loader, folder.as_ref(), options, environment)?.missing_dependencies()
}

/// What PyTorch says of missing dependencies.
pub fn missing_dependencies_message(missing: &[String]) -> String {
    format!("Missing dependencies: {}", missing.join(", "))
}

/// What an entry gives when it is called: `torch.hub.load(folder, entry, …, source="local")`. Missing
/// dependencies are no error: what is needed of them is.
///
/// # Errors
/// As [`list`]; when there is no such callable, it raises, a statement cannot be followed whose result
/// is needed, or it gives nothing that can be written.
pub fn load(
    folder: impl AsRef<Path>,
    entry: &str,
    arguments: &Arguments,
    options: &Options,
    environment: &mut dyn Environment,
) -> Result<Loaded, Error> {
    let mut loader = loader(folder.as_ref(), options);
    let mut hubconf = hubconf(&mut loader, folder.as_ref(), options, environment)?;
    let made = hubconf.call(entry, &arguments.positional, &arguments.keywords)?;
    let module = hubconf.file();
    drop(hubconf);
    Loaded::new(made, loader, module)
}

fn loader(folder: &Path, options: &Options) -> ModuleLoader {
    let folders = [folder.to_owned()].into_iter().chain(options.paths.iter().cloned());
    ModuleLoader::new(folders.collect()).with_compiler(compiled_text)
}

/// The `hubconf.py` of a folder, after it has run.
fn hubconf<'w>(
    loader: &'w mut ModuleLoader,
    folder: &Path,
    options: &Options,
    environment: &'w mut dyn Environment,
) -> Result<Hubconf<'w>, Error> {
    Hubconf::run(loader, folder, &options.paths, &options.limits, environment)
}

//! Python files as programs: `FILE.py:NAME`.

use std::ffi::OsStr;
use std::path::Path;

use sconce::jit::{Module, ScriptError, ScriptLimits, ScriptOptions, Scripted};

use crate::arguments::call::{LIMITS_HELP, LimitOptions};
use crate::arguments::python::PythonOptions;
use crate::arguments::reading::Input;
use crate::call::callable::{self, Callable};
use crate::call::memory_ceiling;
use crate::error::Failure;
use crate::read::archive;
use crate::read::open::{self, Say};

/// The file and the name behind the colon, if this is a Python file.
pub fn split(file: &OsStr) -> Option<(String, Option<String>)> {
    const ENDING: &str = ".py";
    let text = open::name(file);
    if text.ends_with(ENDING) && Path::new(&text).exists() {
        return Some((text, None));
    }
    // The name may be an expression with colons and files of its own: the first one counts.
    match text.find(".py:") {
        Some(at) if !Path::new(&text).exists() => {
            let (path, name) = text.split_at(at + ENDING.len());
            Some((path.to_owned(), Some(name[1..].to_owned())))
        }
        _ => text.ends_with(ENDING).then_some((text, None)),
    }
}

/// Compiles what `file` names, if it is a Python file.
pub fn scripted(
    file: &OsStr,
    options: &PythonOptions,
    limits: ScriptLimits,
) -> Result<Option<Scripted>, Failure> {
    let Some((path, name)) = split(file) else { return Ok(None) };
    let script = script_options(name, options).limits(limits);
    script.open(&path).map(Some).map_err(|error| failure(&error, &path))
}

/// What constructors may spend where they run so that a program can be looked at.
pub fn for_a_look() -> ScriptLimits {
    const STEPS: u64 = 1 << 24;
    ScriptLimits { steps: STEPS, ..ScriptLimits::default() }
}

/// As [`scripted`]; a module must have all its numbers.
pub fn complete(
    file: &OsStr,
    options: &PythonOptions,
    limits: &LimitOptions,
    say: Say,
) -> Result<Option<Scripted>, Failure> {
    const MOST: usize = 8;
    let limits = limits.of_script();
    if let Some(memory) = limits.memory {
        memory_ceiling::set(memory, &open::name(file), say);
    }
    let scripted = scripted(file, options, limits)?;
    let missing = scripted.as_ref().map_or(&[][..], Scripted::missing);
    if missing.is_empty() {
        return Ok(scripted);
    }
    let mut names = missing[..missing.len().min(MOST)].join(", ");
    if missing.len() > MOST {
        names.push_str(&format!(" and {} more", missing.len() - MOST));
    }
    let message = format!("PyTorch would fill these with random numbers: {names}");
    let help = "--state WEIGHTS.pth    a checkpoint with the numbers";
    Err(Failure::usage(message).in_file(open::name(file)).help(help))
}

/// The program to look at: what a Python file names, or else an archive's. A module may lack numbers.
pub fn module(input: &Input, options: &PythonOptions) -> Result<Module, Failure> {
    module_of(scripted(&input.file, options, for_a_look())?, input)
}

/// As [`module`], to be run: it has all its numbers.
pub fn runnable(
    input: &Input,
    options: &PythonOptions,
    limits: &LimitOptions,
    say: Say,
) -> Result<Callable, Failure> {
    match complete(&input.file, options, limits, say)? {
        Some(scripted) => {
            let module = scripted.module().clone();
            Ok(match (scripted.is_function(), scripted.schema()) {
                // A module's own `forward` knows its defaults.
                (true, Some(schema)) => Callable::Function(module, callable::defaults(schema)),
                _ => Callable::Module(module),
            })
        }
        None => archive::either(&input.file, &input.load).map(Callable::from),
    }
}

fn module_of(scripted: Option<Scripted>, input: &Input) -> Result<Module, Failure> {
    match scripted {
        Some(scripted) => Ok(scripted.module().clone()),
        None => archive::module(&input.file, &input.load),
    }
}

/// The tree of what `file` names, if it is a name of a Python file. A whole file may as well be code
/// out of an archive.
pub fn tree(file: &OsStr, options: &PythonOptions) -> Result<Option<String>, Failure> {
    let Some((path, Some(name))) = split(file) else { return Ok(None) };
    let script = script_options(Some(name), options);
    script.tree(&path).map(Some).map_err(|error| failure(&error, &path))
}

fn script_options(name: Option<String>, options: &PythonOptions) -> ScriptOptions {
    let mut script = ScriptOptions::new();
    for folder in &options.paths {
        script = script.path(folder);
    }
    if let Some(module) = &options.module {
        script = script.module_name(module);
    }
    if let Some(name) = name {
        script = script.name(name);
    }
    if let Some(state) = &options.state {
        script = script.state(state);
    }
    script.eval(options.eval)
}

/// What is wrong with Python source, with the lines at fault.
pub fn failure(error: &ScriptError, file: &str) -> Failure {
    let message = error.message().trim_end();
    // What has no place in a file that can be read is what was asked of it.
    let failure = match error.range() {
        None if Path::new(file).is_file() => Failure::usage(message),
        _ => Failure::unreadable(message),
    };
    let mut failure = failure.in_file(file);
    let here = error.range().map(|range| ("the code at fault".to_owned(), range));
    let calls = error.calls().iter().map(|(function, range)| {
        (format!("'{function}' is being compiled since it was called from"), range)
    });
    for (what, range) in here.into_iter().chain(calls) {
        failure = failure.note(format!("{what}\n{}", range.highlight()));
    }
    let is_limit = |of: &str| message.starts_with(&format!("{of} limit of "));
    match ["memory", "time", "step"].into_iter().any(is_limit) {
        true => failure.help(LIMITS_HELP),
        false => failure,
    }
}

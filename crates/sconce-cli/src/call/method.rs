//! Finds the method that a path names: `forward`, `encoder.forward`.

use sconce::jit::Module;

use crate::error::Failure;
use crate::read::archive;
use crate::select::suggest;

/// A method, and the module that has it.
pub struct Found {
    /// The root, or one below it.
    pub module: Module,
    /// Its name there.
    pub name: String,
}

/// Methods that an error lists.
const MOST_LISTED: usize = 8;

/// The method at a path from the root.
pub fn find(root: &Module, path: &str, file: &str) -> Result<Found, Failure> {
    let in_file = |error| archive::failure(error, file);
    let (module, name) = match path.rsplit_once('.') {
        None => (Some(root.clone()), path),
        Some((module, name)) => (root.submodule(module).map_err(in_file)?, name),
    };
    if let Some(module) = module
        && let Ok(method) = module.method(name)
    {
        return Ok(Found { module, name: method.name });
    }
    let message = match path.contains('.') {
        false => format!("Method '{path}' is not defined on {}", root.qualified_name()),
        true => format!("there is no method '{path}'"),
    };
    unknown(root, path, Failure::usage(message).in_file(file))
}

/// Adds what could have been meant to the failure to find a method.
pub fn unknown<T>(root: &Module, path: &str, failure: Failure) -> Result<T, Failure> {
    let paths = paths(root);
    let close = suggest::closest(path, paths.iter().map(String::as_str), 3);
    Err(match (close.as_slice(), paths.as_slice()) {
        ([], []) => failure.note("the program has no methods"),
        ([], paths) => {
            let shown = paths[..paths.len().min(MOST_LISTED)].join(", ");
            let more = match paths.len().saturating_sub(MOST_LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            failure.help(format!("methods that it has: {shown}{more}"))
        }
        (close, _) => failure.help(suggest::did_you_mean(close)),
    })
}

/// The paths of all methods, those of the root first.
pub fn paths(root: &Module) -> Vec<String> {
    let mut paths = Vec::new();
    for (prefix, module) in root.named_modules().unwrap_or_default() {
        let methods = module.methods().into_iter();
        paths.extend(methods.map(|method| match prefix.as_str() {
            "" => method.name,
            prefix => format!("{prefix}.{}", method.name),
        }));
    }
    paths
}

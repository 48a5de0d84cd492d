//! The files that paths on the command line stand for.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use crate::read::remote;
use crate::select::glob::Glob;

/// A file to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its path.
    pub path: OsString,
    /// Whether the command line names it, rather than a folder around it or a pattern.
    pub named: bool,
}

/// A path itself; with `recursive` the regular files below it, sorted, links not followed; the files that a
/// pattern matches where no file is called so.
pub fn expand(path: &OsStr, recursive: bool) -> Vec<Found> {
    let found = |path: PathBuf| Found { path: path.into_os_string(), named: false };
    if recursive && Path::new(path).is_dir() {
        return below(Path::new(path)).into_iter().map(found).collect();
    }
    let named = vec![Found { path: path.to_owned(), named: true }];
    if remote::is_address(path) {
        return named;
    }
    let Some(text) = path.to_str() else { return named };
    if !Glob::is_pattern(text) || fs::symlink_metadata(path).is_ok() {
        return named;
    }
    // What is no pattern is a name like any other.
    let Ok(glob) = Glob::new(text) else { return named };
    // Nothing above the first part with a wildcard needs to be gone through.
    let root: PathBuf = Path::new(text)
        .components()
        .take_while(|part| !Glob::is_pattern(&part.as_os_str().to_string_lossy()))
        .collect();
    let here = root.as_os_str().is_empty();
    let files = below(if here { Path::new(".") } else { &root });
    let shown = |path: PathBuf| path.strip_prefix("./").map(Path::to_owned).unwrap_or(path);
    let matched: Vec<Found> = files
        .into_iter()
        .map(shown)
        .filter(|path| glob.matches(&path.to_string_lossy()))
        .map(found)
        .collect();
    if matched.is_empty() { named } else { matched }
}

/// The regular files below a folder, sorted.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            // Whoever opens it is told why.
            files.push(folder);
            continue;
        };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

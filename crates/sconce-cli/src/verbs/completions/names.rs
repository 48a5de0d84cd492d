//! The names in a file that the word under the cursor can become.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;

use crate::arguments::reading::Load;
use crate::call::method;
use crate::output::ColorChoice;
use crate::read::archive;
use crate::read::open::{self, Say};
use crate::report::tensor_rows;

/// Names that are offered.
const MOST: usize = 2000;

/// Verbs whose words behind the file are names of what it holds.
const NAMED: [&str; 2] = ["show", "cat"];
/// Verbs whose word behind the file is a method.
const METHODS: [&str; 6] = ["code", "graph", "ops", "run", "bench", "compare"];
/// Flags whose value is the name of a tensor.
const TENSOR_FLAGS: [&str; 4] = ["--tensor", "--include", "--exclude", "--take"];

/// What the last of the words can become; nothing where no name can stand, or the file does not open.
pub fn candidates(words: &[OsString], command: &Command) -> Vec<String> {
    let Some((begun, before)) = words.split_last() else { return Vec::new() };
    let begun = begun.to_string_lossy();
    let mut rest = before.iter();
    let verb = rest.find(|word| command.find_subcommand(word).is_some());
    let Some(verb) = verb.and_then(|verb| verb.to_str()) else { return Vec::new() };
    let Some(file) = rest.find(|word| Path::new(word).is_file()) else { return Vec::new() };
    let flag = before.last().and_then(|word| word.to_str()).filter(|word| word.starts_with('-'));
    let names = match flag {
        Some(flag) if TENSOR_FLAGS.contains(&flag) => tensors(file),
        Some("-m" | "--method") if METHODS.contains(&verb) => methods(file),
        Some(_) => Vec::new(),
        None if NAMED.contains(&verb) => tensors(file),
        None if METHODS.contains(&verb) => methods(file),
        None => Vec::new(),
    };
    names.into_iter().filter(|name| name.starts_with(&*begun)).take(MOST).collect()
}

fn tensors(file: &OsString) -> Vec<String> {
    let say = Say { color: ColorChoice::Never, quiet: true };
    match open::file(file, &Load::inspect(), say) {
        Ok(checkpoint) => {
            tensor_rows::rows(&checkpoint).into_iter().map(|(row, _)| row.name).collect()
        }
        Err(_) => Vec::new(),
    }
}

fn methods(file: &OsString) -> Vec<String> {
    match archive::module(file, &Load::inspect()) {
        Ok(module) => method::paths(&module),
        Err(_) => Vec::new(),
    }
}

//! What the command line gives a program as arguments: literals, tensors made by size, files.

mod constructor;
mod picture;
mod pixels;
mod resample;
mod sinc_resample;
mod sound;

use std::ffi::OsStr;
use std::path::Path;

use sconce::checkpoint::{Draft, FileKind, Node, Object, Value};
use sconce::run::{Generator, IValue, arguments, from_object};
use sconce::{MapMode, Source};

use crate::arguments::call::Call;
use crate::arguments::positional::Argument;
use crate::arguments::reading::Load;
use crate::call::session::Called;
use crate::error::Failure;
use crate::read::open::{self, Say};

/// The arguments of one call.
#[derive(Default)]
pub struct Arguments {
    /// Those by position.
    pub positional: Vec<IValue>,
    /// Those by name.
    pub named: Vec<(String, IValue)>,
}

impl Arguments {
    /// Calls a method with them.
    pub fn call(&self, called: &mut Called) -> Result<IValue, sconce::run::Error> {
        let mut named: Vec<(&str, IValue)> =
            self.named.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        for default in &called.defaults {
            let given = default.place < self.positional.len()
                || self.named.iter().any(|(name, _)| *name == default.name);
            if !given {
                named.push((&default.name, default.value.clone()));
            }
        }
        called.session.call_with(&called.method, &self.positional, &named)
    }
}

/// The calls that the flags name, in order: one, or one for each file of arguments.
pub fn read(call: &Call, load: &Load, say: Say) -> Result<Vec<Arguments>, Failure> {
    if !call.inputs.is_empty() {
        return call.inputs.iter().map(|file| saved(file, load, say)).collect();
    }
    let mut out = Vec::new();
    let mut generator = call.budget.generator();
    for argument in &call.positional.0 {
        match argument {
            Argument::Shape(sizes) => {
                let made = constructor::rand(sizes, None, &mut generator);
                let wrong = |why| Failure::usage(format!("--shape {sizes:?}: {why}"));
                out.push(made.map(IValue::Tensor).map_err(wrong)?);
            }
            Argument::Value(input) => match value(input, &mut generator)? {
                Some(value) => out.push(value),
                None => file(input, call, load, say, &mut out)?,
            },
        }
    }
    Ok(vec![Arguments { positional: out, named: Vec::new() }])
}

/// As [`read`], where there may be one call only.
pub fn read_one(call: &Call, load: &Load, say: Say) -> Result<Arguments, Failure> {
    if call.inputs.len() > 1 {
        return Err(Failure::usage("--inputs is given more than once, and there is one call only"));
    }
    Ok(read(call, load, say)?.pop().unwrap_or_default())
}

/// The arguments in a file: a list or tuple of those by position, or a dict that has them as `args` and those by
/// name as `kwargs`.
fn saved(file: &OsStr, load: &Load, say: Say) -> Result<Arguments, Failure> {
    let checkpoint = open::file(file, load, say)?;
    let root = checkpoint.root();
    let read = || -> Result<Arguments, sconce::run::Error> {
        let Some((args, kwargs)) = by_name(root) else {
            return Ok(Arguments { positional: arguments(root)?, named: Vec::new() });
        };
        let mut named = Vec::new();
        for (key, value) in kwargs.iter().flat_map(|kwargs| kwargs.entries()) {
            named.push((key.as_str().unwrap_or_default().to_owned(), from_object(value)?));
        }
        let positional = args.map(arguments).transpose()?.unwrap_or_default();
        Ok(Arguments { positional, named })
    };
    read().map_err(|error| Failure::unreadable(error.to_string()).in_file(open::name(file)))
}

/// What `{'args': [...], 'kwargs': {...}}` holds; `None` for anything else.
fn by_name(root: Object<'_>) -> Option<(Option<Object<'_>>, Option<Object<'_>>)> {
    let (mut args, mut kwargs) = (None, None);
    if !matches!(root.data(), Node::Dict(_)) {
        return None;
    }
    for (key, value) in root.entries() {
        let names = || value.entries().all(|(key, _)| key.as_str().is_some());
        match (key.as_str()?, value.data()) {
            ("args", Node::List(_) | Node::Tuple(_)) => args = Some(value),
            ("kwargs", Node::Dict(_)) if names() => kwargs = Some(value),
            _ => return None,
        }
    }
    Some((args, kwargs))
}

/// A literal or a constructor; `None` for what names a file.
fn value(input: &OsStr, generator: &mut Generator) -> Result<Option<IValue>, Failure> {
    let Some(text) = input.to_str().filter(|text| *text != "-") else { return Ok(None) };
    if let Ok(value) = Value::parse(text) {
        return from_object(Draft::from(value).root())
            .map(Some)
            .map_err(|error| Failure::usage(error.to_string()));
    }
    if let Some(made) = constructor::read(text, generator) {
        return made.map(Some).map_err(|why| Failure::usage(format!("--input {text}: {why}")));
    }
    if !Path::new(input).exists() {
        let message = format!("--input {text}: no file '{text}', and not a Python literal");
        return Err(Failure::usage(message).help(
            "values are Python literals (3, [1, 2.5], '\"text\"', None) and zeros(1,3), \
             ones, rand, randn, full, arange, tensor([[1.5]])",
        ));
    }
    Ok(None)
}

/// The argument in a file. An npz file gives one for each of its arrays.
fn file(
    input: &OsStr,
    call: &Call,
    load: &Load,
    say: Say,
    out: &mut Vec<IValue>,
) -> Result<(), Failure> {
    let source = open::source(input, open::map_mode(load), &open::limits(load))?;
    let name = open::name(input);
    match kind(source.bytes()?) {
        Kind::Picture => out.push(picture::read(source.bytes()?, &call.picture, &name)?),
        Kind::Sound => out.push(sound::read(source.bytes()?, call.sound, &name)?),
        Kind::Objects => objects(source, &name, load, say, out)?,
    }
    Ok(())
}

fn objects(
    source: Source,
    name: &str,
    load: &Load,
    say: Say,
    out: &mut Vec<IValue>,
) -> Result<(), Failure> {
    let checkpoint = open::from_source(source, name, load, say)?;
    let wrong = |error: sconce::run::Error| Failure::unreadable(error.to_string()).in_file(name);
    if checkpoint.format() == FileKind::Npz {
        for (_, array) in checkpoint.root().entries() {
            out.push(from_object(array).map_err(wrong)?);
        }
        return Ok(());
    }
    out.push(from_object(checkpoint.root()).map_err(wrong)?);
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Picture,
    Sound,
    Objects,
}

/// What a file is by its first bytes.
fn kind(bytes: &[u8]) -> Kind {
    let is_wave = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE");
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") || bytes.starts_with(b"\xff\xd8\xff") {
        Kind::Picture
    } else if is_wave {
        Kind::Sound
    } else {
        Kind::Objects
    }
}

/// The lines of a text file.
pub fn lines(file: &OsStr, load: &Load) -> Result<Vec<String>, Failure> {
    let source = open::source(file, MapMode::Off, &open::limits(load))?;
    let text = std::str::from_utf8(source.bytes()?)
        .map_err(|_| Failure::unreadable("this is not UTF-8 text").in_file(open::name(file)))?;
    Ok(text.lines().map(str::to_owned).collect())
}

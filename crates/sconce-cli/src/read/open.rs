//! Opens what the command line names.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io::stdin;
use std::path::Path;

use sconce::checkpoint::{AllowList, Checkpoint, Encoding, LoadOptions, Policy};
use sconce::source::{Limits, MapMode, Source};
use sconce::tensor::ByteOrder;

use crate::arguments::reading::{
    Bounds, ByteOrderChoice, EncodingChoice, Input, Load, PolicyChoice,
};
use crate::arguments::values::{self, Place};
use crate::error::Failure;
use crate::output::{self, ColorChoice, count};
use crate::read::remote;

/// Values that could not be read are named up to this number.
const MOST_PROBLEMS: usize = 20;

/// What a file argument is called in output.
pub fn name(file: &OsStr) -> String {
    if let Some(shown) = remote::shown(file) {
        return shown;
    }
    file.to_string_lossy().into_owned()
}

/// The last part of a path, for headings.
pub fn short_name(file: &OsStr) -> String {
    let name = name(file);
    let last = Path::new(&name).file_name().map(|last| last.to_string_lossy().into_owned());
    last.unwrap_or(name)
}

thread_local! {
    /// What stands for standard input where a verb is called by a program.
    static INPUT: RefCell<Option<Source>> = const { RefCell::new(None) };
}

/// Calls a verb with a source in the place of standard input.
pub fn with_input<R>(input: Option<Source>, work: impl FnOnce() -> R) -> R {
    struct Restore(Option<Source>);
    impl Drop for Restore {
        fn drop(&mut self) {
            INPUT.set(self.0.take());
        }
    }
    let _restore = Restore(INPUT.replace(input));
    work()
}

/// The bytes of a file, of standard input for `-`, or of what an address leads to.
pub fn source(file: &OsStr, mode: MapMode, limits: &Limits) -> Result<Source, Failure> {
    if file == "-" {
        if let Some(given) = INPUT.with_borrow(Option::clone) {
            return Ok(given);
        }
        return Ok(Source::read("-", stdin().lock(), limits)?);
    }
    if remote::is_address(file) {
        return remote::open(file);
    }
    Source::open_with(file, mode).map_err(|error| {
        let failure = Failure::from(error);
        let directory = Path::new(file).is_dir();
        if directory { failure.help(format!("sconce identify -r {}", name(file))) } else { failure }
    })
}

/// The options that the flags stand for.
pub fn options(load: &Load) -> LoadOptions {
    let mut options = LoadOptions::new()
        .policy(match load.policy {
            PolicyChoice::Inspect => Policy::Inspect,
            PolicyChoice::WeightsOnly => Policy::WeightsOnly,
        })
        .encoding(match load.encoding {
            EncodingChoice::Utf8 => Encoding::Utf8,
            EncodingChoice::Latin1 => Encoding::Latin1,
            EncodingChoice::Bytes => Encoding::Bytes,
        })
        .limits(limits(load))
        .map_mode(map_mode(load))
        .keep_going(load.keep_going);
    if !load.allow.is_empty() {
        let names: Vec<&str> = load.allow.iter().map(String::as_str).collect();
        options = options.allow_list(AllowList::default().scoped(&names));
    }
    if let Some(model) = &load.model {
        options = options.model(model);
    }
    match load.byte_order {
        Some(ByteOrderChoice::Little) => options.default_byte_order(ByteOrder::Little),
        Some(ByteOrderChoice::Big) => options.default_byte_order(ByteOrder::Big),
        None => options,
    }
}

/// The limits that the flags stand for.
pub fn limits(load: &Load) -> Limits {
    load.bounds.limits()
}

impl Bounds {
    /// The limits that the flags stand for.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.max_pickle_bytes = self.max_pickle_bytes;
        limits.max_pickle_values = self.max_pickle_values;
        limits.max_pickle_memory = self.max_pickle_memory;
        limits.max_inflated_bytes = self.max_inflated_bytes.unwrap_or(limits.max_inflated_bytes);
        limits.max_stream_bytes = self.max_stream_bytes.unwrap_or(limits.max_stream_bytes);
        limits
    }
}

/// `--no-mmap`.
pub fn map_mode(load: &Load) -> MapMode {
    if load.no_mmap { MapMode::Off } else { MapMode::Private }
}

/// Opens a file as a checkpoint; its warnings, and what was wrong under `--keep-going`, go to
/// standard error.
pub fn checkpoint(input: &Input, say: Say) -> Result<Checkpoint, Failure> {
    file(&input.file, &input.load, say)
}

/// [`checkpoint`], with its tensors on other devices, as `map_location` of `torch.load` puts them.
pub fn placed(input: &Input, places: &[Place], say: Say) -> Result<Checkpoint, Failure> {
    let location = values::map_location(places).map_err(Failure::usage)?;
    let load = &input.load;
    let source = source(&input.file, map_mode(load), &limits(load))?;
    opened(source, &name(&input.file), options(load).map_location(location), say)
}

/// How remarks are printed.
#[derive(Debug, Clone, Copy)]
pub struct Say {
    /// `--color`.
    pub color: ColorChoice,
    /// `--quiet`.
    pub quiet: bool,
}

/// [`checkpoint`] for verbs with more than one file.
pub fn file(file: &OsStr, load: &Load, say: Say) -> Result<Checkpoint, Failure> {
    from_source(source(file, map_mode(load), &limits(load))?, &name(file), load, say)
}

/// [`file`] of bytes that are there already.
pub fn from_source(
    source: Source,
    file: &str,
    load: &Load,
    say: Say,
) -> Result<Checkpoint, Failure> {
    opened(source, file, options(load), say)
}

fn opened(
    source: Source,
    file: &str,
    options: LoadOptions,
    say: Say,
) -> Result<Checkpoint, Failure> {
    let opened = options.open_source(source);
    let checkpoint = opened.map_err(|error| Failure::from(error).in_file(file))?;
    if !say.quiet {
        for warning in checkpoint.warnings() {
            output::warn(say.color, warning);
        }
        let problems = checkpoint.problems();
        for problem in problems.iter().take(MOST_PROBLEMS) {
            output::warn(say.color, &format!("left out: {problem}"));
        }
        if problems.len() > MOST_PROBLEMS {
            let more = count(problems.len() - MOST_PROBLEMS, "value");
            output::warn(say.color, &format!("left out: {more} more (sconce verify lists them)"));
        }
    }
    Ok(checkpoint)
}

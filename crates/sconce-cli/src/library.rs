//! Verbs within a process that goes on afterwards.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use clap::{CommandFactory, FromArgMatches};
use sconce::Source;

use crate::call::{python, session};
use crate::cli::{self, Cli};
use crate::entry::{OPTIONS_OF_A_CALL, with_verb};
use crate::error::Failure;
use crate::examples;
use crate::output::Out;
use crate::read::{archive, exported, open};

/// What a verb gave.
#[derive(Debug)]
pub struct Called {
    /// The exit code that the command would have had.
    pub code: u8,
    /// What it would have written to standard output.
    pub output: Vec<u8>,
    /// What it would have said was wrong.
    pub failure: Option<Failure>,
}

/// Runs a verb: `args` are the words behind `sconce`. `input` stands for standard input, which the argument `-` names.
///
/// ```
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.ckpt");
/// let called = sconce_cli::call(["ls".into(), "--json".into(), path.into()], None);
/// assert_eq!(called.code, 0);
/// assert!(called.output.starts_with(b"{\"schema_version\":1,"));
/// assert_eq!(sconce_cli::call(["info".into(), "missing.pt".into()], None).code, 2);
/// ```
pub fn call(args: impl IntoIterator<Item = OsString>, input: Option<Source>) -> Called {
    let words: Vec<OsString> = std::iter::once(OsString::from("sconce")).chain(args).collect();
    // Verbs hand work to rayon's threads; those of a parent are not there after a fork.
    match sconce::archive::process_pool() {
        Some(pool) => pool.install(|| called(words, input)),
        None => called(words, input),
    }
}

fn called(words: Vec<OsString>, input: Option<Source>) -> Called {
    let written = Written::default();
    let result = open::with_input(input, || {
        let parsed = examples::add(Cli::command()).try_get_matches_from(with_verb(words));
        let cli = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
        let cli = cli.map_err(|error| Failure::usage(error.render().to_string().trim_end()))?;
        let mut out = Out::to(Box::new(written.clone()), OPTIONS_OF_A_CALL);
        let result = cli::run(&cli, &mut out);
        out.finish().and(result)
    });
    let (code, failure) = match result {
        Ok(outcome) => (outcome.code(), None),
        Err(failure) => (failure.code(), Some(failure)),
    };
    Called { code, output: written.take(), failure }
}

/// Memory in the place of standard output.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An error of the library in the command's words, of a file that the caller calls `file`.
///
/// ```
/// let error = sconce::load("missing.pt").unwrap_err();
/// let failure = sconce_cli::failure_of(error, "missing.pt");
/// assert!(failure.text().starts_with("error: ") && failure.text().contains("missing.pt"));
/// ```
pub fn failure_of(error: sconce::Error, file: &str) -> Failure {
    let kind = error.kind();
    let failure = match error {
        sconce::Error::Checkpoint(error) => Failure::from(error),
        sconce::Error::Archive(error) => Failure::from(error),
        sconce::Error::Pickle(error) => Failure::from(error),
        sconce::Error::Source(error) => Failure::from(error),
        sconce::Error::Tensor(error) => Failure::from(error),
        sconce::Error::Export(error) => Failure::from(error),
        sconce::Error::ExportProgram(error) => exported::failure(error, file),
        sconce::Error::TorchScript(error) => archive::failure(error, file),
        sconce::Error::Script(error) => python::failure(&error, file),
        sconce::Error::Run(error) => session::failure(error, file),
        #[cfg(feature = "hub")]
        sconce::Error::Hub(error) => Failure::from(error),
        other => Failure::unreadable(other.to_string()),
    };
    failure.of_kind(kind).in_file(file)
}

//! `sconce pickle`: a pickle as the Python that would build its objects.

use std::fmt;

use clap::Args;
use sconce::pickle::{AllowAll, Machine, decompile};
use serde::Serialize;

use crate::arguments::pickles::Pickles;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, SCHEMA_VERSION};
use crate::read::open;
use crate::report::pickle_streams::{self, Stream};

/// `sconce pickle`.
#[derive(Debug, Args)]
#[command(
    after_help = "The text is for reading: it says what unpickling would call, with which arguments and in \
which order, also where the result is thrown away. Nothing of it is run.\n\nExamples:\n  \
sconce pickle model.pt\n  sconce pickle model.pt --record archive/data.pkl | less"
)]
pub struct PickleArgs {
    /// Which pickles.
    #[command(flatten)]
    pub pickles: Pickles,
    /// Print Python (the default)
    #[arg(long, conflicts_with = "json")]
    pub python: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    pickles: Vec<Pickle<'a>>,
}

#[derive(Serialize)]
struct Pickle<'a> {
    record: &'a str,
    offset: usize,
    python: String,
    /// Why it ends early.
    error: Option<String>,
}

/// Exit code 2 when a pickle breaks off; what it would have done before is shown.
pub fn run(args: &PickleArgs, out: &mut Out) -> Verdict {
    let streams = pickle_streams::streams(&args.pickles)?;
    let file = open::name(&args.pickles.file);
    let mut failed = None;
    let mut pickles = Vec::new();
    if !args.json {
        out.use_pager();
    }
    for (at, stream) in streams.iter().enumerate() {
        let (python, error) = python(stream);
        if let Some(error) = &error {
            failed.get_or_insert_with(|| {
                Failure::unreadable(error.to_string())
                    .in_file(&file)
                    .in_record(Some(stream.name.as_str()))
                    .at(Some(error.offset()))
            });
        }
        if args.json {
            let error = error.map(|error| error.to_string());
            pickles.push(Pickle { record: &stream.name, offset: stream.start, python, error });
            continue;
        }
        if streams.len() > 1 {
            let title = format!("# {} (pickle {} of {})", stream.name, at + 1, streams.len());
            out.line(&Line::new().dim(title))?;
        }
        for line in python.lines() {
            out.line(&Line::new().plain(line))?;
        }
    }
    if args.json {
        out.json(&Document { schema_version: SCHEMA_VERSION, file: &file, pickles })?;
    }
    failed.map_or(Ok(Outcome::Clean), Err)
}

/// The Python of a pickle, and why it breaks off if it does.
fn python(stream: &Stream) -> (String, Option<sconce::pickle::Error>) {
    let mut machine = Machine::new(&stream.bytes, &stream.limits);
    let ended = loop {
        match machine.step(&mut AllowAll) {
            Ok(None) => {}
            Ok(Some(root)) => break Ok(root),
            Err(error) => break Err(error),
        }
    };
    let mut text = String::new();
    let arena = machine.arena();
    // What comes before a break is shown with what was made last.
    let (root, error) = match ended {
        Ok(root) => (Some(root), None),
        Err(error) => (arena.values().last(), Some(error)),
    };
    let written: fmt::Result = match root {
        Some(root) => decompile(arena, root, &mut text),
        None => Ok(()),
    };
    debug_assert!(written.is_ok(), "writing to a String cannot fail");
    (text, error)
}

//! `sconce completions`: what a shell needs to complete sconce's command line.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::error::Outcome;
use crate::output::Out;
use crate::run::Verdict;

pub fn run(args: &CompletionsArgs, out: &mut Out) -> Verdict {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sconce", &mut script);
    out.raw(&script)?;
    Ok(Outcome::Clean)
}

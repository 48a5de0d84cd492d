//! `sconce completions`: what a shell needs to complete sconce's command line.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::error::{Outcome, Verdict};
use crate::output::Out;

/// `sconce completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

pub fn run(args: &CompletionsArgs, mut command: Command, out: &mut Out) -> Verdict {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "sconce", &mut script);
    out.raw(&script)?;
    Ok(Outcome::Clean)
}

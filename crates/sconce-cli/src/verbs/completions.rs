//! `sconce completions`: what a shell needs to complete sconce's command line, the names in files included.

mod names;

use std::ffi::OsString;

use clap::{Args, Command, ValueEnum};
use clap_complete::{Shell, generate};
use clap_complete_nushell::Nushell;

use crate::error::{Outcome, Verdict};
use crate::output::Out;

/// `sconce completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, required_unless_present = "names")]
    pub shell: Option<ShellChoice>,
    /// The words behind `sconce` so far, the last of them begun: print the names in the file that can stand there
    #[arg(long, hide = true, num_args = 0.., allow_hyphen_values = true, conflicts_with = "shell")]
    pub names: Option<Vec<OsString>>,
}

/// The shells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShellChoice {
    /// bash, with the names in files
    Bash,
    /// elvish
    Elvish,
    /// fish, with the names in files
    Fish,
    /// Nushell
    Nushell,
    /// PowerShell
    #[value(name = "powershell")]
    PowerShell,
    /// zsh, with the names in files
    Zsh,
}

/// What is put behind a script, so that it asks for the names in files as well.
const BASH: &str = include_str!("completions/names.bash");
const FISH: &str = include_str!("completions/names.fish");
const ZSH: &str = include_str!("completions/names.zsh");

pub fn run(args: &CompletionsArgs, mut command: Command, out: &mut Out) -> Verdict {
    if let Some(words) = &args.names {
        for name in names::candidates(words, &command) {
            out.plain(&name)?;
        }
        return Ok(Outcome::Clean);
    }
    let mut script = Vec::new();
    let (bin, to) = ("sconce", &mut script);
    let names = match args.shell {
        Some(ShellChoice::Bash) => {
            generate(Shell::Bash, &mut command, bin, to);
            BASH
        }
        Some(ShellChoice::Zsh) => {
            generate(Shell::Zsh, &mut command, bin, to);
            ZSH
        }
        Some(ShellChoice::Fish) => {
            generate(Shell::Fish, &mut command, bin, to);
            FISH
        }
        Some(ShellChoice::Elvish) => {
            generate(Shell::Elvish, &mut command, bin, to);
            ""
        }
        Some(ShellChoice::PowerShell) => {
            generate(Shell::PowerShell, &mut command, bin, to);
            ""
        }
        Some(ShellChoice::Nushell) | None => {
            generate(Nushell, &mut command, bin, to);
            ""
        }
    };
    script.extend_from_slice(names.as_bytes());
    out.raw(&script)?;
    Ok(Outcome::Clean)
}

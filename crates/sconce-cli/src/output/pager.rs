//! Long output on a terminal goes through a pager.

use std::env;
use std::process::{Child, Command, Stdio};

/// The pager's command line: SCONCE_PAGER, then PAGER, then `less`. Empty, or `cat`, means none.
fn command_line() -> Option<String> {
    let chosen = env::var("SCONCE_PAGER").or_else(|_| env::var("PAGER"));
    let line = chosen.unwrap_or_else(|_| "less".to_owned());
    let line = line.trim();
    (!line.is_empty() && line != "cat").then(|| line.to_owned())
}

/// Starts the pager, or gives `None` where there is none to start.
pub fn start() -> Option<Child> {
    let line = command_line()?;
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next()?);
    command.args(words).stdin(Stdio::piped());
    // As git does: leave at once when all fits the screen, pass colours, do not clear; long lines are not folded.
    if env::var_os("LESS").is_none() {
        command.env("LESS", "FRSX");
    }
    command.spawn().ok()
}

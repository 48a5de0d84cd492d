//! `sconce hub dir`.

use clap::Args;
use sconce::hub::Hub;

use super::Terminal;
use crate::error::{Outcome, Verdict};
use crate::output::Out;
use crate::read::open::Say;

/// `sconce hub dir`.
#[derive(Debug, Args)]
pub struct DirArgs {
    /// Print the folder of downloaded files instead
    #[arg(long)]
    pub checkpoints: bool,
}

/// Prints the folder, which need not be there.
pub fn run(args: &DirArgs, hub: &Hub, out: &mut Out, say: Say) -> Verdict {
    use sconce::hub::Watch;
    for warning in hub.deprecations() {
        Terminal::new(say).warn(&warning);
    }
    let dir = if args.checkpoints { hub.checkpoints() } else { hub.dir() };
    out.text(&format!("{}\n", dir.display()))?;
    Ok(Outcome::Clean)
}

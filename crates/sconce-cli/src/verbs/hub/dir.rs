//! `sconce hub dir`.

use std::path::PathBuf;

use clap::Args;
use sconce::hub::Hub;

use super::Terminal;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::Out;
use crate::read::open::Say;

/// `sconce hub dir`.
#[derive(Debug, Args)]
pub struct DirArgs {
    /// Print the folder of downloaded files instead
    #[arg(long)]
    pub checkpoints: bool,
    /// Use this folder from now on, for this TORCH_HOME; PyTorch does not see it
    #[arg(long, value_name = "DIR", conflicts_with = "hub_dir")]
    pub set: Option<PathBuf>,
    /// Use PyTorch's folder again
    #[arg(long, conflicts_with_all = ["set", "hub_dir"])]
    pub unset: bool,
}

/// Prints the folder, which need not be there.
pub fn run(args: &DirArgs, hub: &Hub, out: &mut Out, say: Say) -> Verdict {
    use sconce::hub::Watch;
    let watch = Terminal::new(say);
    for warning in hub.deprecations() {
        watch.warn(&warning);
    }
    let mut hub = hub.clone();
    if let Some(dir) = &args.set {
        hub.keep_dir(Some(dir)).map_err(Failure::from)?;
        hub.set_dir(dir);
        watch.say(&format!(
            "kept for sconce; PyTorch needs torch.hub.set_dir({:?}) in each program",
            hub.dir().to_string_lossy()
        ));
    }
    if args.unset {
        hub.keep_dir(None).map_err(Failure::from)?;
        hub.unset_dir();
    }
    let dir = if args.checkpoints { hub.checkpoints() } else { hub.dir() };
    out.text(&format!("{}\n", dir.display()))?;
    Ok(Outcome::Clean)
}

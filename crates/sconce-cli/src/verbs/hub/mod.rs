//! `sconce hub`: `torch.hub`'s cache, downloads and repositories.

mod cache;
mod dir;
mod download;
mod fetch;
mod hubconf;
mod python;
mod terminal;
mod trust;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use sconce::hub::Hub;

use crate::error::{Failure, Verdict};
use crate::output::Out;
use crate::read::open::Say;

pub use terminal::Terminal;

/// `sconce hub`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct HubArgs {
    /// Where the cache is.
    #[command(flatten)]
    pub place: Place,
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// Where the cache is, and whether servers are asked.
#[derive(Debug, Clone, Args)]
pub struct Place {
    /// The hub's folder, instead of the one that TORCH_HOME or XDG_CACHE_HOME say, or `hub dir --set` did
    #[arg(long, global = true, value_name = "DIR")]
    pub hub_dir: Option<PathBuf>,
    /// Ask no server: what is not in the cache is an error
    #[arg(long, global = true)]
    pub offline: bool,
}

impl Place {
    /// The hub in its place.
    pub fn hub(&self) -> Result<Hub, Failure> {
        let mut hub = crate::read::remote::hub()?.clone();
        if let Some(dir) = self.hub_dir.clone().or_else(|| hub.kept_dir()) {
            hub.set_dir(dir);
        }
        hub.set_offline(self.offline);
        Ok(hub)
    }
}

/// The parts of `torch.hub`.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Print the folder that PyTorch and sconce share
    Dir(dir::DirArgs),
    /// List what a repository's hubconf.py offers, without Python
    List(hubconf::ListArgs),
    /// Print the signature and docstring of an entry
    Help(hubconf::HelpArgs),
    /// Call an entry without Python, and write its state dict or its TorchScript archive
    Load(hubconf::LoadArgs),
    /// Download a file: resumed after a break, whole or not at all
    Download(download::DownloadArgs),
    /// Get a repository into the cache, and print its folder; nothing in it runs
    Fetch(fetch::FetchArgs),
    /// List what lies in the cache, or clear it
    Cache(cache::CacheArgs),
    /// List, add or remove trusted repositories
    Trust(trust::TrustArgs),
}

/// Does what the command line says.
pub fn run(args: &HubArgs, out: &mut Out, say: Say) -> Verdict {
    let hub = args.place.hub()?;
    match &args.action {
        Action::Dir(args) => dir::run(args, &hub, out, say),
        Action::List(args) => hubconf::list(args, &hub, out, say),
        Action::Help(args) => hubconf::help(args, &hub, out, say),
        Action::Load(args) => hubconf::load(args, &hub, out, say),
        Action::Download(args) => download::run(args, &hub, out, say),
        Action::Fetch(args) => fetch::run(args, &hub, out, say),
        Action::Cache(args) => cache::run(args, &hub, out),
        Action::Trust(args) => trust::run(args, &hub, out),
    }
}

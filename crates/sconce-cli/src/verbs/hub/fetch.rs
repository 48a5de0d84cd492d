//! `sconce hub fetch`.

use clap::Args;
use sconce::hub::{FetchOptions, Fetched, Hub, Repository};
use serde::Serialize;

use super::Terminal;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Out, SCHEMA_VERSION};
use crate::read::open::Say;

/// `sconce hub fetch`.
#[derive(Debug, Args)]
pub struct FetchArgs {
    /// OWNER/NAME[:REF]
    #[arg(value_name = "REPO")]
    pub repository: String,
    /// How it is fetched.
    #[command(flatten)]
    pub how: How,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How a repository is fetched.
#[derive(Debug, Clone, Copy, Args)]
pub struct How {
    /// Fetch it although it is in the cache
    #[arg(long)]
    pub force_reload: bool,
    /// Do not ask GitHub's API whether the reference is a branch or tag of this repository
    #[arg(long)]
    pub skip_validation: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    repository: String,
    reference: &'a str,
    path: &'a str,
    cached: bool,
}

/// Prints the folder of the repository.
pub fn run(args: &FetchArgs, hub: &Hub, out: &mut Out, say: Say) -> Verdict {
    let repository: Repository = args.repository.parse().map_err(Failure::from)?;
    let fetched = fetch(hub, &repository, args.how, say)?;
    let path = fetched.path.to_string_lossy();
    if args.json {
        out.json(&Document {
            schema_version: SCHEMA_VERSION,
            repository: repository.to_string(),
            reference: &fetched.reference,
            path: &path,
            cached: fetched.cached,
        })?;
    } else {
        out.text(&format!("{path}\n"))?;
    }
    Ok(Outcome::Clean)
}

/// Gets a repository into the cache.
pub fn fetch(hub: &Hub, repository: &Repository, how: How, say: Say) -> Result<Fetched, Failure> {
    let options =
        FetchOptions { force_reload: how.force_reload, skip_validation: how.skip_validation };
    Ok(hub.fetch(repository, options, &Terminal::new(say))?)
}

//! `sconce hub trust`.

use clap::Args;
use sconce::hub::{Hub, Repository};
use serde::Serialize;

use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, SCHEMA_VERSION, Style};

/// `sconce hub trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Repositories to trust, OWNER/NAME; without any, those in the list are printed
    #[arg(value_name = "REPO")]
    pub repositories: Vec<String>,
    /// Take them from the list
    #[arg(long, requires = "repositories")]
    pub remove: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Document {
    schema_version: u32,
    trusted: Vec<String>,
}

/// Exit code 1 when one to remove is not in the list.
pub fn run(args: &TrustArgs, hub: &Hub, out: &mut Out) -> Verdict {
    let mut repositories: Vec<Repository> = Vec::new();
    for text in &args.repositories {
        repositories.push(text.parse().map_err(Failure::from)?);
    }
    let mut missing = false;
    for repository in &repositories {
        let key = repository.trust_key();
        let said = if args.remove {
            let removed = hub.remove_trust(repository).map_err(Failure::from)?;
            missing |= !removed;
            if removed { "no longer trusted" } else { "was not in the list" }
        } else if hub.add_trust(repository).map_err(Failure::from)? {
            "trusted"
        } else {
            "was trusted"
        };
        if !args.json && !out.quiet() {
            out.line(&Line::new().add(Style::Name, key).plain("  ").dim(said))?;
        }
    }
    if args.json {
        let trusted = hub.trusted().map_err(Failure::from)?;
        out.json(&Document { schema_version: SCHEMA_VERSION, trusted })?;
    } else if repositories.is_empty() {
        for key in hub.trusted().map_err(Failure::from)? {
            out.line(&Line::new().add(Style::Name, key))?;
        }
    }
    Ok(Outcome::found(missing))
}

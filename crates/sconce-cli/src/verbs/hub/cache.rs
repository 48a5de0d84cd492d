//! `sconce hub cache`.

use clap::{Args, ValueEnum};
use sconce::hub::{CacheItem, CacheKind, Hub};
use serde::Serialize;

use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, SCHEMA_VERSION, Style, count};

/// `sconce hub cache`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// Remove what lies there: all of it but the list of trusted repositories, or one kind
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, default_missing_value = "all")]
    pub clear: Option<Clear>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Clear {
    /// Repositories, files and what downloads left
    All,
    /// Repositories
    Repositories,
    /// Downloaded files
    Checkpoints,
    /// What downloads left that ended early, of PyTorch too
    Partial,
}

impl Clear {
    fn takes(self, kind: CacheKind) -> bool {
        match self {
            Clear::All => {
                matches!(kind, CacheKind::Repository | CacheKind::Checkpoint | CacheKind::Partial)
            }
            Clear::Repositories => kind == CacheKind::Repository,
            Clear::Checkpoints => kind == CacheKind::Checkpoint,
            Clear::Partial => kind == CacheKind::Partial,
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    directory: &'a str,
    items: Vec<Row>,
    total: u64,
}

#[derive(Serialize)]
struct Row {
    kind: &'static str,
    path: String,
    bytes: u64,
    busy: bool,
    removed: bool,
}

fn name(kind: CacheKind) -> &'static str {
    match kind {
        CacheKind::Repository => "repository",
        CacheKind::Checkpoint => "checkpoint",
        CacheKind::Partial => "partial",
        CacheKind::TrustedList => "trusted list",
        _ => "other",
    }
}

/// Lists what lies in the cache, and removes what is to go.
pub fn run(args: &CacheArgs, hub: &Hub, out: &mut Out) -> Verdict {
    let dir = hub.dir();
    let mut rows = Vec::new();
    for item in hub.cache().map_err(Failure::from)? {
        let removed = match args.clear {
            Some(clear) if clear.takes(item.kind) => hub.remove(&item).map_err(Failure::from)?,
            _ => false,
        };
        rows.push(row(&item, removed));
    }
    let total = rows.iter().map(|row| row.bytes).sum();
    if args.json {
        let directory = dir.to_string_lossy();
        let schema_version = SCHEMA_VERSION;
        out.json(&Document { schema_version, directory: &directory, items: rows, total })?;
        return Ok(Outcome::Clean);
    }
    let shown = rows.iter().filter(|row| args.clear.is_none() || row.removed);
    let (mut number, mut bytes) = (0, 0);
    for row in shown {
        number += 1;
        bytes += row.bytes;
        let mut line = Line::new().dim(format!("{:<13}", row.kind));
        line = line.add(Style::Number, format!("{:>10}", out.sizes().show(row.bytes))).plain("  ");
        line = line.add(Style::Name, &row.path);
        if row.busy {
            line = line.dim("  in use");
        }
        out.line(&line)?;
    }
    let doing = if args.clear.is_some() { "removed from " } else { "in " };
    let line = Line::new()
        .plain(format!("{}, {} ", count(number, "item"), out.sizes().show(bytes)))
        .dim(doing)
        .add(Style::Strong, dir.to_string_lossy());
    out.line(&line)?;
    Ok(Outcome::Clean)
}

fn row(item: &CacheItem, removed: bool) -> Row {
    Row {
        kind: name(item.kind),
        path: item.path.to_string_lossy().into_owned(),
        bytes: item.bytes,
        busy: item.busy,
        removed,
    }
}

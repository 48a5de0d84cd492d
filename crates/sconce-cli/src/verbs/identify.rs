//! `sconce identify`: what files are, by their content.

use std::ffi::{OsStr, OsString};

use clap::Args;
use sconce::checkpoint::identify;
use sconce::source::{Limits, MapMode};
use serde::Serialize;

use crate::error::{Outcome, Verdict};
use crate::output::{Line, Out, SCHEMA_VERSION, Style};
use crate::read::open::{self, Say};
use crate::read::paths;

/// `sconce identify`.
#[derive(Debug, Args)]
pub struct IdentifyArgs {
    /// Files; - reads standard input
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<OsString>,
    /// Go through directories (links in them are not followed)
    #[arg(short, long)]
    pub recursive: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Document {
    schema_version: u32,
    files: Vec<File>,
}

#[derive(Serialize)]
struct File {
    path: String,
    kind: Option<&'static str>,
    description: Option<&'static str>,
    detail: Option<String>,
    opens: bool,
    advice: Option<String>,
    bytes: Option<u64>,
    error: Option<String>,
}

/// Exit code 1 when a file could not be read, or is nothing that opens.
pub fn run(args: &IdentifyArgs, out: &mut Out, say: Say) -> Verdict {
    let mut files = Vec::new();
    let mut all_read = true;
    for path in &args.paths {
        for found in paths::expand(path, args.recursive) {
            let file = look(&found.path);
            all_read &= file.error.is_none();
            if args.json {
                files.push(file);
            } else {
                out.line(&line(&file))?;
                if let Some(advice) = file.advice.filter(|_| !say.quiet) {
                    out.line(&Line::new().dim("    ").dim(advice))?;
                }
            }
        }
    }
    if args.json {
        out.json(&Document { schema_version: SCHEMA_VERSION, files })?;
    }
    Ok(Outcome::found(!all_read))
}

fn line(file: &File) -> Line {
    let line = Line::new().add(Style::Name, &file.path).plain(": ");
    if let Some(error) = &file.error {
        return line.add(Style::Bad, "cannot read").plain(": ").plain(error);
    }
    let style = if file.opens { Style::Good } else { Style::Warn };
    let line = line.add(style, file.description.unwrap_or_default());
    match file.detail.as_deref() {
        Some(detail) if !detail.is_empty() => line.dim(", ").dim(detail),
        _ => line,
    }
}

fn look(path: &OsStr) -> File {
    let mut file = File {
        path: open::name(path),
        kind: None,
        description: None,
        detail: None,
        opens: false,
        advice: None,
        bytes: None,
        error: None,
    };
    match open::source(path, MapMode::Private, &Limits::default()) {
        Ok(source) => {
            let identity = identify(&source);
            file.kind = Some(identity.kind.name());
            file.description = Some(identity.kind.description());
            file.opens = identity.kind.opens();
            let advice = identity.kind.advice();
            file.advice = advice.map(|advice| advice.replace("FILE", &file.path));
            file.detail = Some(identity.detail);
            file.bytes = Some(source.len());
        }
        Err(failure) => file.error = Some(failure.message().to_owned()),
    }
    file
}

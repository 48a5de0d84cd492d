//! `sconce hub download`.

use std::path::PathBuf;

use clap::Args;
use sconce::hub::{DownloadOptions, Hub, StateDictOptions};
use serde::Serialize;

use super::Terminal;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, SCHEMA_VERSION, Style};
use crate::read::open::Say;

/// `sconce hub download`.
#[derive(Debug, Args)]
pub struct DownloadArgs {
    /// https://… or hf://[datasets/]OWNER/NAME[@REVISION]/FILE
    #[arg(value_name = "URL")]
    pub url: String,
    /// Write to this file, or into this folder, instead of the cache
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// What the SHA-256 of the file begins with
    #[arg(long, value_name = "HEX")]
    pub hash_prefix: Option<String>,
    /// Take the hash from the file's name, as in resnet18-f37072fd.pth
    #[arg(long, conflicts_with = "hash_prefix")]
    pub check_hash: bool,
    /// What the file is called, instead of the last part of the address
    #[arg(long, value_name = "NAME", conflicts_with = "output")]
    pub file_name: Option<String>,
    /// Download it although it is there, and from its beginning
    #[arg(short, long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    url: String,
    path: &'a str,
    bytes: u64,
    resumed: u64,
    cached: bool,
    sha256: Option<String>,
}

/// Without `--output`, the file goes where `torch.hub.load_state_dict_from_url` looks for it.
pub fn run(args: &DownloadArgs, hub: &Hub, out: &mut Out, say: Say) -> Verdict {
    let shown = sconce::hub::remote::shown(&args.url);
    let watch = Terminal::new(say);
    let name = match &args.file_name {
        Some(name) => name.clone(),
        None => last_part(&args.url),
    };
    let (target, cached) = match &args.output {
        Some(output) if output.is_dir() => (output.join(&name), false),
        Some(output) => (output.clone(), false),
        None => {
            // The name is checked there.
            let options =
                StateDictOptions { file_name: args.file_name.clone(), ..Default::default() };
            (hub.state_dict_path(&args.url, &options)?, true)
        }
    };
    let prefix = match (&args.hash_prefix, args.check_hash) {
        (Some(prefix), _) => Some(checked(prefix)?),
        (None, true) => {
            let name = target.file_name().unwrap_or_default().to_string_lossy();
            let Some(prefix) = sconce::hub::hash_prefix_of(&name) else {
                let message = format!("the name '{name}' holds no hash");
                return Err(Failure::usage(message).help("--hash-prefix HEX"));
            };
            Some(prefix.to_owned())
        }
        (None, false) => None,
    };
    if !args.force && target.exists() {
        if !cached {
            let failure = Failure::usage("the file is there already; --force replaces it");
            return Err(failure.in_file(target.to_string_lossy()));
        }
        let bytes = target.metadata().map_or(0, |metadata| metadata.len());
        return print(args, &shown, &target, bytes, 0, true, None, out);
    }
    if cached && let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::unreadable(error.to_string()).in_file(folder.to_string_lossy())
        })?;
    }
    let options = DownloadOptions { hash_prefix: prefix, hash: true, anew: args.force };
    sconce::hub::Watch::say(&watch, &format!("Downloading: \"{shown}\" to {}", target.display()));
    let came = hub.download_url_to_file(&args.url, &target, &options, &watch)?;
    print(args, &shown, &came.path, came.bytes, came.resumed, false, came.sha256, out)
}

/// A prefix of a hash in lower case: others never match in PyTorch.
fn checked(prefix: &str) -> Result<String, Failure> {
    let lower = prefix.to_ascii_lowercase();
    if lower.is_empty() || lower.len() > 64 || !lower.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let message =
            format!("'{prefix}' is not the beginning of a SHA-256: up to 64 hexadecimal digits");
        return Err(Failure::usage(message));
    }
    Ok(lower)
}

fn last_part(url: &str) -> String {
    let shown = sconce::hub::remote::shown(url);
    shown.rsplit('/').next().unwrap_or_default().to_owned()
}

#[expect(clippy::too_many_arguments, reason = "what is printed, each as it is")]
fn print(
    args: &DownloadArgs,
    url: &str,
    path: &std::path::Path,
    bytes: u64,
    resumed: u64,
    cached: bool,
    sha256: Option<String>,
    out: &mut Out,
) -> Verdict {
    let path = path.to_string_lossy();
    if args.json {
        let (schema_version, url) = (SCHEMA_VERSION, url.to_owned());
        out.json(&Document { schema_version, url, path: &path, bytes, resumed, cached, sha256 })?;
        return Ok(Outcome::Clean);
    }
    if out.quiet() {
        return Ok(Outcome::Clean);
    }
    let mut line = Line::new().add(Style::Strong, path.as_ref()).plain("  ");
    line = line.add(Style::Number, out.sizes().show(bytes));
    if cached {
        line = line.dim("  it was there");
    }
    if resumed > 0 {
        line = line.dim(format!("  {} of it from an earlier try", out.sizes().show(resumed)));
    }
    if let Some(sha256) = &sha256 {
        line = line.dim(format!("  sha256 {sha256}"));
    }
    out.line(&line)?;
    Ok(Outcome::Clean)
}

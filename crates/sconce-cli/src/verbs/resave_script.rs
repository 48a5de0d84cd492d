//! `sconce resave`: a file once more, as PyTorch's own load and save would write it.

use std::path::Path;

use sconce::jit;
use sconce::{FileKind, SaveOptions, identify};
use serde::Serialize;

use super::SCHEMA_VERSION;
use crate::cli::ResaveArgs;
use crate::error::{Failure, Outcome};
use crate::open::Say;
use crate::output::{Line, Out};
use crate::run::Verdict;
use crate::{open, script};

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    input: &'a str,
    output: &'a str,
    format: &'static str,
}

/// TorchScript archives by `torch.jit.save`, checkpoints by `torch.save`.
pub fn run(args: &ResaveArgs, out: &mut Out, say: Say) -> Verdict {
    let load = &args.input.load;
    let source = open::source(&args.input.file, open::map_mode(load), &open::limits(load))?;
    let target = Path::new(&args.output);
    if target.exists() && !args.force {
        let message = format!("{} is there already", target.display());
        return Err(Failure::usage(message).help("--force replaces it"));
    }
    let format = if identify(&source).kind == FileKind::TorchScript {
        let module = script::module(&args.input.file, load)?;
        let mut options = jit::SaveOptions::new().replace(args.force);
        for extra in &args.extra {
            let (name, path) = extra.split_once('=').ok_or_else(|| {
                Failure::usage(format!("--extra {extra}: write NAME=FILE"))
            })?;
            let bytes = open::source(path.as_ref(), sconce::MapMode::Off, &open::limits(load))?;
            options = options.extra_file(name, bytes.bytes());
        }
        if args.no_extra {
            options = options.without_extra_files();
        }
        options.save(&module, target)?;
        "torchscript"
    } else {
        let checkpoint = open::checkpoint(&args.input, say)?;
        SaveOptions::new().replace(args.force).save(checkpoint.root(), target)?;
        "checkpoint"
    };
    if args.json {
        let (input, output) = (open::name(&args.input.file), target.to_string_lossy());
        let document =
            Document { schema_version: SCHEMA_VERSION, input: &input, output: &output, format };
        out.json(&document)?;
    } else if !say.quiet {
        out.line(&Line::new().dim("  wrote    ").plain(target.to_string_lossy()))?;
    }
    Ok(Outcome::Clean)
}

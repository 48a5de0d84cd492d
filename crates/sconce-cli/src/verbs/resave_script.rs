//! `sconce resave`: a file once more, as PyTorch's own load and save would write it.

use sconce::jit;
use sconce::{Draft, FileKind, SaveOptions, identify};
use serde::Serialize;

use super::SCHEMA_VERSION;
use crate::atomic::AtomicFile;
use crate::carried;
use crate::cli::ResaveArgs;
use crate::error::{self, Failure, Outcome};
use crate::open::{self, Say};
use crate::output::{Line, Out};
use crate::run::Verdict;
use crate::script;

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
    let input = open::name(&args.input.file);
    let source = open::source(&args.input.file, open::map_mode(load), &open::limits(load))?;
    let kind = identify(&source).kind;
    let target = &args.output;
    let (format, writer) = if kind == FileKind::TorchScript {
        if args.tensors_only {
            let message = "--tensors-only is for checkpoints: a TorchScript archive is a program";
            let help = "sconce convert --state-dict writes its parameters and buffers";
            return Err(Failure::usage(message).in_file(input).help(help));
        }
        let module = script::from_source(source, load, &input)?;
        let options = options(args)?;
        let mut file = AtomicFile::create(target, args.force)?;
        if let Err(error) = options.save_as(&module, &mut file, target) {
            return Err(file.failure().unwrap_or_else(|| script::failure(error, &input)));
        }
        file.commit()?;
        ("torchscript", "torch.jit.save")
    } else {
        if !args.extra.is_empty() || args.no_extra {
            let message = "only TorchScript archives have extra files";
            return Err(Failure::usage(message).in_file(input));
        }
        let checkpoint = open::from_source(source, &input, load, say)?;
        let draft = carried::checked(Draft::new(checkpoint.root()), args.tensors_only, say)
            .map_err(|failure| failure.in_file(&input))?;
        let mut file = AtomicFile::create(target, args.force)?;
        if let Err(error) = SaveOptions::new().save_as(draft.root(), &mut file, target) {
            return Err(file.failure().unwrap_or_else(|| Failure::from(error).in_file(input)));
        }
        file.commit()?;
        ("zip", "torch.save")
    };
    let output = target.to_string_lossy();
    if args.json {
        let (input, output) = (input.as_str(), output.as_ref());
        out.json(&Document { schema_version: SCHEMA_VERSION, input, output, format })?;
    } else if !say.quiet {
        let text = format!("{output} as {writer} does");
        error::remark(say.color, &Line::new().dim("  wrote    ").plain(text));
    }
    Ok(Outcome::Clean)
}

/// The options that the flags stand for.
fn options(args: &ResaveArgs) -> Result<jit::SaveOptions, Failure> {
    let mut options = jit::SaveOptions::new();
    if args.no_extra {
        options = options.without_extra_files();
    }
    for extra in &args.extra {
        let (name, path) = extra
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("--extra {extra}: write NAME=FILE")))?;
        let limits = open::limits(&args.input.load);
        let bytes = open::source(path.as_ref(), sconce::MapMode::Off, &limits)?;
        options = options.extra_file(name, bytes.bytes());
    }
    Ok(options)
}

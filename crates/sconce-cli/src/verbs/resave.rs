//! `sconce resave`: a file once more, as PyTorch's own load and save would write it.

use std::path::PathBuf;

use clap::Args;
use sconce::archive::archive_name;
use sconce::{Draft, FileKind, SaveOptions, Source, identify, jit};
use serde::Serialize;

use crate::arguments::reading::Input;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{self, Out, SCHEMA_VERSION};
use crate::read::exported;
use crate::read::open::{self, Say};
use crate::write::atomic::AtomicFile;
use crate::write::opaque_callables;
use crate::write::wrote::wrote;

/// `sconce resave`.
#[derive(Debug, Args)]
pub struct ResaveArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Where to write
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Add an extra file to a TorchScript archive, or change the one of that name (repeatable)
    #[arg(long, value_name = "NAME=FILE")]
    pub extra: Vec<String>,
    /// Leave the extra files of a TorchScript archive out
    #[arg(long)]
    pub no_extra: bool,
    /// Write the tensors of a checkpoint alone, by their dotted names: no classes, no functions
    #[arg(long)]
    pub tensors_only: bool,
    /// Write a .pt2 file as torch.export.save(torch.export.load(FILE), OUT) does: one model, today's layout (default:
    /// every record as it is)
    #[arg(long)]
    pub like_torch: bool,
    /// Overwrite OUT
    #[arg(short, long)]
    pub force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}
use crate::read::archive;

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
    if args.like_torch && kind != FileKind::Pt2 {
        let message = "--like-torch is for .pt2 files; others are always written as PyTorch would";
        return Err(Failure::usage(message).in_file(input));
    }
    let (format, writer) = if kind.is_torchscript() {
        if args.tensors_only {
            let message = "--tensors-only is for checkpoints: a TorchScript archive is a program";
            let help = "sconce convert --state-dict writes its parameters and buffers";
            return Err(Failure::usage(message).in_file(input).help(help));
        }
        let module = archive::from_source(source, load, &input)?;
        let options = options(args)?;
        let mut file = AtomicFile::create(target, args.force)?;
        if let Err(error) = options.save_as(&module, &mut file, target) {
            return Err(file.failure().unwrap_or_else(|| archive::failure(error, &input)));
        }
        file.commit()?;
        ("torchscript", "TorchScript, torch.jit.save layout")
    } else if matches!(kind, FileKind::Pt2 | FileKind::AotInductor) {
        exported(args, source, &input)?
    } else {
        if !args.extra.is_empty() || args.no_extra {
            let message = "only TorchScript archives have extra files";
            return Err(Failure::usage(message).in_file(input));
        }
        let checkpoint = open::from_source(source, &input, load, say)?;
        let draft =
            opaque_callables::checked(Draft::new(checkpoint.root()), args.tensors_only, say)
                .map_err(|failure| failure.in_file(&input))?;
        let mut file = AtomicFile::create(target, args.force)?;
        if let Err(error) = SaveOptions::new().save_as(draft.root(), &mut file, target) {
            return Err(file.failure().unwrap_or_else(|| Failure::from(error).in_file(input)));
        }
        file.commit()?;
        ("zip", "zip, torch.save layout")
    };
    let output = target.to_string_lossy();
    if args.json {
        let (input, output) = (input.as_str(), output.as_ref());
        out.json(&Document { schema_version: SCHEMA_VERSION, input, output, format })?;
    } else if !say.quiet {
        output::remark(say.color, &wrote(target, writer));
    }
    Ok(Outcome::Clean)
}

/// Writes a program of torch.export again.
fn exported(
    args: &ResaveArgs,
    source: Source,
    input: &str,
) -> Result<(&'static str, &'static str), Failure> {
    if args.tensors_only || !args.extra.is_empty() || args.no_extra {
        let message = "--tensors-only, --extra and --no-extra are not for .pt2 files";
        let help = "sconce convert writes the tensors alone";
        return Err(Failure::usage(message).in_file(input).help(help));
    }
    let load = &args.input.load;
    let archive = exported::archive(source, load, input)?;
    let failure = |error| exported::failure(error, input);
    let mut file = AtomicFile::create(&args.output, args.force)?;
    let written = if args.like_torch {
        let model = archive.model(load.model.as_deref()).map_err(failure)?;
        let folder = archive_name(&args.output).map_err(|error| {
            Failure::usage(error.message()).in_file(args.output.to_string_lossy())
        })?;
        archive.write_like_torch(model, &folder, &mut file).map(drop)
    } else {
        archive.write_again(&mut file).map(drop)
    };
    if let Err(error) = written {
        return Err(file.failure().unwrap_or_else(|| failure(error)));
    }
    file.commit()?;
    Ok(("pt2", "zip, torch.export.save layout"))
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
        options = options.extra_file(name, bytes.bytes()?);
    }
    Ok(options)
}

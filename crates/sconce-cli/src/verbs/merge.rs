//! `sconce merge`: several state dicts in one, with the versions of their modules; or several programs of torch.export in
//! one archive.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use sconce::checkpoint::StateDict;
use sconce::export_program::ModelToWrite;
use sconce::tensor::Tensor;
use serde::Serialize;

use crate::arguments::reading::Load;
use crate::arguments::saving::Saving;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{self, Out, Progress, SCHEMA_VERSION, count};
use crate::read::exported;
use crate::read::open::{self, Say};
use crate::write::opaque_callables;
use crate::write::programs::{self, EXPORT_SAVE};
use crate::write::state_dict::{NO_STATE_DICT, flat, taken};
use crate::write::wrote::{TORCH_SAVE, would_write, wrote};

/// `sconce merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The files, or the index of a set (pytorch_model.bin.index.json), which stands for all of its files
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    pub files: Vec<OsString>,
    /// Where to write
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Take only what is below this name in each file: state_dict
    #[arg(long, value_name = "NAME")]
    pub take: Option<String>,
    /// Say what would be written, write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Overwrite OUT
    #[arg(short, long)]
    pub force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// How to write.
    #[command(flatten)]
    pub saving: Saving,
    /// How to read the files.
    #[command(flatten)]
    pub load: Load,
}
use crate::write::saving::{self, checkpoint_name};

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    inputs: Vec<String>,
    output: &'a str,
    written: bool,
    tensors: usize,
    /// Names that several files have, with equal tensors.
    equal: Vec<String>,
}

pub fn run(args: &MergeArgs, out: &mut Out, say: Say) -> Verdict {
    if programs::is_program_name(&args.output) {
        return merge_programs(args, out, say);
    }
    checkpoint_name(&args.output)?;
    let mut state = StateDict::new();
    let mut equal = Vec::new();
    let mut files = 0;
    for file in &args.files {
        let checkpoint = open::file(file, &args.load, say)?;
        files += match checkpoint.info().shards.as_slice() {
            [] if args.files.len() == 1 => {
                return Err(Failure::usage("there is nothing to merge in one file")
                    .in_file(open::name(file))
                    .help("give several files, or the index of a set of files"));
            }
            [] => 1,
            shards => shards.len(),
        };
        let in_file = |failure: Failure| failure.in_file(open::name(file));
        let mut draft = taken(&checkpoint, args.take.as_deref()).map_err(in_file)?;
        if args.saving.tensors_only {
            draft = opaque_callables::tensors_only(&draft).map_err(in_file)?;
        }
        state.copy_metadata(draft.root());
        let tensors = flat(&draft).map_err(|failure| in_file(failure.help(NO_STATE_DICT)))?;
        let mut fresh = Vec::with_capacity(tensors.len());
        for (name, tensor) in &tensors {
            match state.get(name) {
                None => fresh.push(name.as_str()),
                Some(known) if same(known, tensor)? => equal.push(name.clone()),
                Some(_) => {
                    return Err(Failure::usage(format!("two files have another '{name}'"))
                        .in_file(open::name(file))
                        .help("sconce edit --drop or --rename gets it out of the way"));
                }
            }
        }
        state.copy_entries(draft.root(), &fresh);
    }
    let tensors = state.len();
    if !args.dry_run {
        let state = state.finish();
        if !say.quiet {
            opaque_callables::warn(state.root(), say);
        }
        let progress = Progress::new("writing", 0, say.quiet || args.json);
        saving::write(state.root(), &args.output, args.force, &args.saving, &progress)?.commit()?;
    }
    let held = format!(": {} of {}", count(tensors, "tensor"), count(files, "file"));
    report(args, TORCH_SAVE, (tensors, equal), &held, out, say)
}

/// Says what was written, or would be: tensors, with the names that several files have, and what that is in words.
fn report(
    args: &MergeArgs,
    format: &str,
    (tensors, equal): (usize, Vec<String>),
    held: &str,
    out: &mut Out,
    say: Say,
) -> Verdict {
    let output = args.output.to_string_lossy();
    if args.json {
        out.json(&Document {
            schema_version: SCHEMA_VERSION,
            inputs: args.files.iter().map(|file| open::name(file)).collect(),
            output: &output,
            written: !args.dry_run,
            tensors,
            equal,
        })?;
    } else if !say.quiet {
        let line = match args.dry_run {
            true => would_write(&args.output, format),
            false => wrote(&args.output, format),
        };
        output::remark(say.color, &line.plain(held));
    }
    Ok(Outcome::Clean)
}

/// Puts the programs of several files into one archive, each with its weights.
fn merge_programs(args: &MergeArgs, out: &mut Out, say: Say) -> Verdict {
    if args.take.is_some() {
        let message = "--take is for state dicts: of a program all is taken";
        return Err(Failure::usage(message).help("--model NAME takes one model of each file"));
    }
    programs::no_saving_options(&args.saving)?;
    let archives = args.files.iter().map(|file| Ok((file, programs::archive(file, &args.load)?)));
    let archives = archives.collect::<Result<Vec<_>, Failure>>()?;
    let (mut models, mut tensors) = (Vec::new(), 0);
    for (file, archive) in &archives {
        let failure = |error| exported::failure(error, &open::name(file));
        let names: Vec<&str> = match &args.load.model {
            None => archive.models().iter().map(String::as_str).collect(),
            some => vec![archive.model(some.as_deref()).map_err(failure)?],
        };
        for model in names {
            for payloads in [archive.weights(model), archive.constants(model)] {
                tensors += payloads.map_err(failure)?.len();
            }
            models.push(ModelToWrite::new(archive, model).named(programs::name_of(model, file)));
        }
    }
    if models.len() < 2 {
        return Err(Failure::usage("there is nothing to merge in one program").help(
            "give several files; sconce resave --like-torch --model NAME takes one model out",
        ));
    }
    if !args.dry_run {
        programs::write(&models, &args.output, args.force)?;
    }
    let names = models.iter().map(|model| model.name()).collect::<Vec<_>>().join(", ");
    report(args, EXPORT_SAVE, (tensors, Vec::new()), &format!(": {names}"), out, say)
}

/// Whether dtype, shape and every byte are equal.
fn same(a: &Tensor, b: &Tensor) -> Result<bool, Failure> {
    let alike = a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.layout() == b.layout();
    if !alike || a.storage().is_none() || b.storage().is_none() {
        return Ok(false);
    }
    Ok(a.contiguous_bytes()? == b.contiguous_bytes()?)
}

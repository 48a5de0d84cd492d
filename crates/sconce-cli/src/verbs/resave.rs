//! `sconce convert IN OUT.pt`: the objects of a checkpoint to the file that `torch.save` writes for
//! them.

use std::path::Path;

use sconce::checkpoint::{Checkpoint, Object, SaveOptions};
use serde::Serialize;

use super::SCHEMA_VERSION;
use crate::cli::ConvertArgs;
use crate::error::{self, Failure, Outcome};
use crate::open::{self, Say};
use crate::output::{Line, Out, Progress};
use crate::run::Verdict;
use crate::save;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    input: &'a str,
    output: &'a str,
    format: &'static str,
    written: bool,
}

/// Saves what `args` take of the checkpoint.
pub fn run(
    args: &ConvertArgs,
    target: &Path,
    checkpoint: &Checkpoint,
    out: &mut Out,
    say: Say,
) -> Verdict {
    refuse_changes(args)?;
    let object = match &args.take {
        None => checkpoint.root(),
        Some(name) => taken(checkpoint, name)?,
    };
    if object.class_name().starts_with("__torch__.") {
        let message = "torch.save cannot write modules of TorchScript archives";
        return Err(Failure::usage(message).in_file(open::name(&args.input.file)).help(
            "sconce resave FILE OUT.pt   saves the whole archive; .safetensors takes its tensors",
        ));
    }
    if target == Path::new("-") {
        return Err(Failure::usage("a checkpoint is written to a file").help("name the file"));
    }
    if !args.dry_run {
        let progress = Progress::new("writing", 0, say.quiet || args.json);
        save::write(SaveOptions::new(), object, target, args.force, &progress)?.commit()?;
    }
    if args.json {
        let (input, output) = (open::name(&args.input.file), target.to_string_lossy());
        let document = Document {
            schema_version: SCHEMA_VERSION,
            input: &input,
            output: &output,
            format: "zip",
            written: !args.dry_run,
        };
        out.json(&document)?;
    } else if !say.quiet {
        let done = if args.dry_run { "would write" } else { "wrote" };
        let line = Line::new()
            .dim(format!("  {done:8} "))
            .plain(format!("{} as torch.save does", target.to_string_lossy()));
        error::remark(say.color, &line);
    }
    Ok(Outcome::Clean)
}

/// Saving again keeps every object as it is; options that choose or change tensors are for the
/// formats that hold nothing else.
fn refuse_changes(args: &ConvertArgs) -> Result<(), Failure> {
    let changes = [
        (
            "--include or --exclude",
            !args.names.include.is_empty() || !args.names.exclude.is_empty(),
        ),
        ("--dtype", args.dtype.is_some()),
        ("--dense", args.dense),
        ("--verify", args.verify),
    ];
    match changes.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::usage(format!(
            "{option} cannot be used where the whole checkpoint is saved again"
        ))
        .help("--take NAME saves the object of that name")),
        None => Ok(()),
    }
}

/// The object of a dotted name, found key by key: keys may hold dots themselves.
fn taken<'c>(checkpoint: &'c Checkpoint, name: &str) -> Result<Object<'c>, Failure> {
    let mut object = checkpoint.root();
    let mut rest = name;
    while !rest.is_empty() {
        let dots = rest.rmatch_indices('.').map(|(at, _)| at);
        let mut ends = [rest.len()].into_iter().chain(dots);
        let step = ends.find_map(|end| Some((object.get(&rest[..end])?, end)));
        let Some((found, end)) = step else {
            return Err(Failure::usage(format!("nothing in the file is called '{name}'"))
                .in_file(checkpoint.source().name()));
        };
        object = found;
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    Ok(object)
}

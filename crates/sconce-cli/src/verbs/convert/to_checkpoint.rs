//! `sconce convert IN OUT.pt`: the objects of a checkpoint to the file that `torch.save` writes for
//! them. Tensors of other formats become what their libraries give PyTorch: a dict of safetensors or
//! npz arrays in the file's order, the tensor of an npy file.

use std::path::Path;

use sconce::checkpoint::{Change, Checkpoint, Draft, LoadOptions, Node};
use sconce::tensor::Tensor;
use serde::Serialize;

use super::{ConvertArgs, OutWriter, check_stdout};
use crate::arguments::rename;
use crate::arguments::saving::Saving;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{self, Out, Progress, SCHEMA_VERSION};
use crate::read::open::{self, Say};
use crate::report::elements;
use crate::select::glob::Glob;
use crate::verbs::edit;
use crate::write::saving::{self, refused};
use crate::write::wrote::{TORCH_SAVE, would_write, wrote};
use crate::write::{opaque_callables, overflow};

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    input: &'a str,
    output: &'a str,
    format: &'static str,
    written: bool,
    verified: bool,
    changes: Vec<edit::Row<'a>>,
}

/// Saves what `args` take of the checkpoint; `legacy` where the format asks for the stream.
pub fn run(
    args: &ConvertArgs,
    target: &Path,
    legacy: bool,
    checkpoint: &Checkpoint,
    out: &mut Out,
    say: Say,
) -> Verdict {
    let saving = Saving { legacy: legacy || args.saving.legacy, ..args.saving.clone() };
    refuse_flags(args)?;
    let file = checkpoint.source().name();
    let mut draft = Draft::new(checkpoint.root());
    if let Some(name) = &args.take {
        draft.take(name).map_err(|error| refused(error).in_file(file))?;
    }
    if args.state_dict || args.saving.tensors_only {
        draft = opaque_callables::tensors_only(&draft).map_err(|failure| failure.in_file(file))?;
    } else if checkpoint.format().is_torchscript() {
        return Err(Failure::usage(
            "a TorchScript archive holds code, which torch.save does not write",
        )
        .in_file(file)
        .help(
            "--state-dict writes its parameters and buffers; sconce resave saves the program too",
        ));
    }
    let changes = change(&mut draft, args)?;
    if !say.quiet {
        opaque_callables::warn(draft.root(), say);
    }
    let refuse_overflow = || match args.allow_overflow {
        true => Ok(()),
        false => overflow::refuse(&changes).map_err(|failure| failure.in_file(file)),
    };
    let progress = Progress::new("writing", 0, say.quiet || args.json);
    let mut verified = false;
    if target == Path::new("-") {
        check_stdout(args, out)?;
        // What is written cannot be taken back.
        refuse_overflow()?;
        if !args.dry_run {
            let options = saving.options().on_progress(progress.listener());
            let mut to = OutWriter::new(out);
            options
                .save_to(draft.root(), &mut to)
                .map(drop)
                .map_err(|error| to.failure().unwrap_or_else(|| refused(error)))?;
        }
    } else if args.dry_run {
        refuse_overflow()?;
    } else {
        let mut written = saving::write(draft.root(), target, args.force, &saving, &progress)?;
        refuse_overflow()?;
        // A file that does not read back never gets its name.
        if args.verify
            && let Some(path) = written.written()?
        {
            verify(&draft, path).map_err(|failure| failure.in_file(target.to_string_lossy()))?;
            verified = true;
        }
        written.commit()?;
    }
    drop(progress);
    let rows = changes.iter().map(edit::row).collect::<Result<Vec<_>, Failure>>()?;
    if !say.quiet {
        edit::warn(&rows, say);
    }
    if args.json {
        let (input, output) = (open::name(&args.input.file), target.to_string_lossy());
        let document = Document {
            schema_version: SCHEMA_VERSION,
            input: &input,
            output: &output,
            format: if saving.legacy { "legacy" } else { "zip" },
            written: !args.dry_run,
            verified,
            changes: rows,
        };
        out.json(&document)?;
    } else if !say.quiet {
        for line in edit::summary(&rows) {
            output::remark(say.color, &line);
        }
        let format = if saving.legacy { "legacy stream, torch.save layout" } else { TORCH_SAVE };
        let line = match args.dry_run {
            true => would_write(target, format),
            false => wrote(target, format),
        };
        let line = if verified { line.dim(", read back and compared") } else { line };
        output::remark(say.color, &line);
    }
    Ok(Outcome::Clean)
}

/// Applies `--exclude`, `--include`, `--dtype` and `--rename`.
fn change(draft: &mut Draft, args: &ConvertArgs) -> Result<Vec<Change>, Failure> {
    let globs = |patterns: &[String]| {
        patterns.iter().map(|text| Glob::new(text)).collect::<Result<Vec<_>, Failure>>()
    };
    let mut changes = Vec::new();
    let excluded = globs(&args.names.exclude)?;
    if !excluded.is_empty() {
        let unwanted = |name: &str| excluded.iter().any(|glob| glob.matches(name));
        changes.extend(draft.drop_entries(unwanted).map_err(refused)?);
    }
    let included = globs(&args.names.include)?;
    if !included.is_empty() {
        let wanted = |name: &str| included.iter().any(|glob| glob.matches(name));
        changes.extend(draft.keep_entries(wanted).map_err(refused)?);
    }
    if let Some(dtype) = args.dtype {
        changes.extend(draft.cast(dtype, |_| true).map_err(refused)?);
    }
    if !args.rename.is_empty() {
        let done =
            draft.rename(|name| Some(rename::apply_all(&args.rename, name))).map_err(refused)?;
        if done.is_empty() {
            return Err(Failure::usage("--rename: no name changes"));
        }
        changes.extend(done);
    }
    Ok(changes)
}

/// Options that are for the formats that hold nothing but tensors.
fn refuse_flags(args: &ConvertArgs) -> Result<(), Failure> {
    if args.verify && args.out.as_deref().or(args.output.as_deref()) == Some(Path::new("-")) {
        return Err(Failure::usage(
            "--verify reads the file again, which standard output does not allow",
        ));
    }
    match args.dense.then_some("--dense") {
        Some(flag) => Err(Failure::usage(format!(
            "{flag} cannot be used where a checkpoint is written"
        ))
        .help("sparse and quantized tensors stay as they are in a .pt file; sconce diff compares")),
        None => Ok(()),
    }
}

/// Reads the file again and compares every tensor with what was to be written.
fn verify(draft: &Draft, written: &Path) -> Result<(), Failure> {
    let wrong = |what: String| {
        Failure::unreadable(format!("what was written does not read back: {what}"))
            .note("nothing was left at that place")
    };
    let again =
        LoadOptions::new().open(written).map_err(|error| wrong(error.message().to_owned()))?;
    let mut found = again.tensors().into_iter();
    let mut failure = None;
    draft.visit(|name, object| {
        let Node::Tensor(wanted) = object.data() else { return };
        if failure.is_some() {
            return;
        }
        let same = match found.next() {
            None => Err("it ends".to_owned()),
            Some(other) if other.name != name => Err(format!("'{}' is there", other.name)),
            Some(other) => same_tensor(&wanted.tensor, other.tensor),
        };
        failure = same.err().map(|what| wrong(format!("where '{name}' should be, {what}")));
    });
    match (failure, found.next()) {
        (Some(failure), _) => Err(failure),
        (None, Some(more)) => Err(wrong(format!("'{}' is too many", more.name))),
        (None, None) => Ok(()),
    }
}

fn same_tensor(a: &Tensor, b: &Tensor) -> Result<(), String> {
    if a.sizes() != b.sizes() || a.dtype() != b.dtype() || a.layout() != b.layout() {
        return Err("its shape, dtype or layout is another".to_owned());
    }
    let (x, y) = match (elements::components(a), elements::components(b)) {
        (Ok(x), Ok(y)) => (x, y),
        (Err(error), _) | (_, Err(error)) => return Err(error.to_string()),
    };
    for ((_, x), (_, y)) in x.iter().zip(&y) {
        match (x.has_data(), y.has_data()) {
            (false, false) => continue,
            (true, true) => {}
            _ => return Err("its data is missing".to_owned()),
        }
        match (x.contiguous_bytes(), y.contiguous_bytes()) {
            (Ok(x), Ok(y)) if *x == *y => {}
            (Err(error), _) | (_, Err(error)) => return Err(error.to_string()),
            _ => return Err("the elements differ".to_owned()),
        }
    }
    Ok(())
}

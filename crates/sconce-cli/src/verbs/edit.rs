//! `sconce edit`: a checkpoint with other entries and tensors, written as `torch.save` writes.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sconce::FileKind;
use sconce::checkpoint::{Change, ChangeKind, Draft, Value};
use sconce::tensor::DType;
use serde::Serialize;

use crate::arguments::assignments::{Concat, Split};
use crate::arguments::reading::Input;
use crate::arguments::rename::{self, Rename};
use crate::arguments::saving::Saving;
use crate::arguments::values::dtype;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{self, Line, Out, Progress, SCHEMA_VERSION, Style, count};
use crate::read::exported;
use crate::read::open::{self, Say};
use crate::select::glob::Glob;
use crate::write::programs::{self, EXPORT_SAVE};
use crate::write::wrote::{TORCH_SAVE, wrote};
use crate::write::{opaque_callables, overflow};

/// `sconce edit`.
#[derive(Debug, Args)]
#[command(after_help = "Whatever order the options are given in: what is taken is the file; \
entries are stripped, dropped and kept; values are set; tensors are split and joined; views are \
cloned, tensors cast and transposed; entries are renamed last. All names are those of the file after \
--take, as sconce tree --all shows them; in a module they are those of its parameters, buffers and \
attributes.\n\nExamples:\n  sconce edit in.pt out.pt --set epoch=3 --set 'config.lr=1e-3'\n  \
sconce edit in.pt out.pt --rename 's/^module\\.//' --cast bfloat16\n  \
sconce edit in.pt out.pt --split 'attn.qkv.weight=attn.q.weight,attn.k.weight,attn.v.weight@0'\n  \
sconce edit in.pt out.pt --concat 'q.weight,k.weight,v.weight=qkv.weight@0'")]
pub struct EditArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Where to write (.pt, .pth, .bin or .ckpt; .pt2 with --weights)
    #[arg(value_name = "OUT", required_unless_present_any = ["output", "dry_run"])]
    pub out: Option<PathBuf>,
    /// Where to write
    #[arg(short, long, value_name = "OUT", conflicts_with = "out")]
    pub output: Option<PathBuf>,
    /// Take only what is below this name, and cut it off the names: state_dict
    #[arg(long, value_name = "NAME")]
    pub take: Option<String>,
    /// Take this out of a training checkpoint
    #[arg(long, value_enum, value_name = "WHAT")]
    pub strip: Vec<Strip>,
    /// Take entries that match out, with all below them (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub drop: Vec<String>,
    /// Take every other entry out (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub keep: Vec<String>,
    /// Set a value, as a Python literal (repeatable): epoch=3, config.lr=1e-3, 'tags=["a", None]'
    #[arg(long, value_name = "NAME=VALUE", value_parser = crate::arguments::assignments::assignment)]
    pub set: Vec<(String, Value)>,
    /// Put tensors on another device (repeatable): cpu for all, or cuda:0=cpu
    #[arg(long, value_name = "DEVICE", value_parser = crate::arguments::values::place)]
    pub device: Vec<crate::arguments::values::Place>,
    /// Split a tensor along a dimension (repeatable): qkv=q,k,v@0, or with sizes qkv=q,k,v@0:8,4,4
    #[arg(long, value_name = "NAME=A,B@DIM[:SIZES]", value_parser = crate::arguments::assignments::Split::parse)]
    pub split: Vec<crate::arguments::assignments::Split>,
    /// Join tensors along a dimension (repeatable): q,k,v=qkv@0
    #[arg(long, value_name = "A,B=NAME@DIM", value_parser = crate::arguments::assignments::Concat::parse)]
    pub concat: Vec<crate::arguments::assignments::Concat>,
    /// Give small views of large storages storages of their own
    #[arg(long)]
    pub clone_views: bool,
    /// Cast floating-point tensors, or those that match (repeatable): bfloat16:*.weight
    #[arg(long, value_name = "DTYPE[:GLOB]", value_parser = cast)]
    pub cast: Vec<Cast>,
    /// Let numbers become infinite where --cast cannot hold them
    #[arg(long, requires = "cast")]
    pub allow_overflow: bool,
    /// Swap the last two dimensions of tensors that match (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub transpose: Vec<String>,
    /// Rename entries by a regular expression over the whole name, as sed does (flags g and i), or
    /// one of them as OLD=NEW (repeatable, in order)
    #[arg(long, value_name = "s/…/…/", value_parser = Rename::parse)]
    pub rename: Vec<Rename>,
    /// Put the tensors of this state dict in the place of those of a program (.pt2), by name; --take is of this file
    #[arg(long, value_name = "CHECKPOINT", conflicts_with_all = ["strip", "drop", "keep", "set", "device", "split",
        "concat", "clone_views", "cast", "transpose", "rename"])]
    pub weights: Option<OsString>,
    /// Print what would change, write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Overwrite OUT
    #[arg(short, long)]
    pub force: bool,
    /// Print the changes as JSON
    #[arg(long)]
    pub json: bool,
    /// How to write.
    #[command(flatten)]
    pub saving: Saving,
}

/// `--strip`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Strip {
    /// The state of optimizers
    Optimizer,
}

/// `--cast`: the dtype, and a pattern over names.
#[derive(Debug, Clone)]
pub struct Cast {
    /// The dtype.
    pub dtype: DType,
    /// The pattern; without one all tensors are meant.
    pub pattern: Option<String>,
}

fn cast(text: &str) -> Result<Cast, String> {
    let (name, pattern) = match text.split_once(':') {
        Some((name, pattern)) => (name, Some(pattern.to_owned())),
        None => (text, None),
    };
    Ok(Cast { dtype: dtype(name)?, pattern })
}
use crate::write::saving::{self, checkpoint_name, refused};

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    input: &'a str,
    output: Option<&'a str>,
    written: bool,
    changes: Vec<Row<'a>>,
}

/// A change as it is printed.
#[derive(Serialize)]
pub struct Row<'a> {
    name: &'a str,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Numbers too large for the new dtype, in the tensor and those that share its memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    overflowed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub fn run(args: &EditArgs, out: &mut Out, say: Say) -> Verdict {
    let target = args.out.as_deref().or(args.output.as_deref());
    if let Some(weights) = &args.weights {
        return replace_weights(args, weights, target, out, say);
    }
    target.map_or(Ok(()), checkpoint_name)?;
    let checkpoint = open::placed(&args.input, &args.device, say)?;
    let file = checkpoint.source().name().to_owned();
    if checkpoint.format() == FileKind::Pt2
        && target.is_some_and(|target| target.extension().is_some_and(|ending| ending == "pt2"))
    {
        let message =
            "the program is not written, only its weights: a torch.save file is not a .pt2 file";
        let help =
            "--weights CHECKPOINT writes the program with other weights; or call the output .pt";
        return Err(Failure::usage(message).in_file(&file).help(help));
    }
    let mut draft = Draft::new(checkpoint.root());
    let changes = apply(&mut draft, args).map_err(|failure| failure.in_file(&file))?;
    let draft = opaque_callables::checked(draft, args.saving.tensors_only, say)
        .map_err(|failure| failure.in_file(&file))?;
    let progress = Progress::new("writing", 0, say.quiet || args.json);
    let file_to_write = target.filter(|_| !args.dry_run);
    let written = file_to_write
        .map(|target| saving::write(draft.root(), target, args.force, &args.saving, &progress))
        .transpose()?;
    drop(progress);
    // Casts were counted while they were written; a dry run counts them here.
    if !args.allow_overflow {
        overflow::refuse(&changes).map_err(|failure| failure.in_file(&file))?;
    }
    if let Some(written) = written {
        written.commit()?;
    }
    let rows = changes.iter().map(row).collect::<Result<Vec<Row<'_>>, Failure>>()?;
    if !say.quiet {
        warn(&rows, say);
    }
    report(args, target, rows, TORCH_SAVE, out, say)
}

/// Says what was changed and written, or would be.
fn report(
    args: &EditArgs,
    target: Option<&Path>,
    rows: Vec<Row<'_>>,
    format: &str,
    out: &mut Out,
    say: Say,
) -> Verdict {
    let written = !args.dry_run;
    if args.json {
        let (input, output) = (open::name(&args.input.file), target.map(Path::to_string_lossy));
        out.json(&Document {
            schema_version: SCHEMA_VERSION,
            input: &input,
            output: output.as_deref(),
            written,
            changes: rows,
        })?;
    } else if args.dry_run {
        for row in &rows {
            out.line(&row.line())?;
        }
    } else if !say.quiet {
        for line in summary(&rows) {
            output::remark(say.color, &line);
        }
        if let Some(target) = target {
            output::remark(say.color, &wrote(target, format));
        }
    }
    Ok(Outcome::Clean)
}

/// `--weights`: a program with the numbers of a state dict.
fn replace_weights(
    args: &EditArgs,
    weights: &OsStr,
    target: Option<&Path>,
    out: &mut Out,
    say: Say,
) -> Verdict {
    if let Some(target) = target.filter(|target| !programs::is_program_name(target)) {
        let message = format!("a program is written, but '{}' does not say so", target.display());
        return Err(Failure::usage(message).help("end it in .pt2"));
    }
    programs::no_saving_options(&args.saving)?;
    let (input, load) = (open::name(&args.input.file), &args.input.load);
    let archive = programs::archive(&args.input.file, load)?;
    let model = archive.model(load.model.as_deref());
    let model = model.map_err(|error| exported::failure(error, &input))?;
    let take = args.take.as_deref();
    let (model, names) = programs::with_weights(&archive, model, weights, take, load, say)?;
    let rows: Vec<Row<'_>> = names
        .iter()
        .map(|name| Row {
            name,
            change: "replaced",
            to: None,
            from: None,
            overflowed: None,
            note: None,
        })
        .collect();
    let file_to_write = target.filter(|_| !args.dry_run);
    if let Some(target) = file_to_write {
        programs::write(&[model], target, args.force)?;
    }
    report(args, target, rows, EXPORT_SAVE, out, say)
}

fn apply(draft: &mut Draft, args: &EditArgs) -> Result<Vec<Change>, Failure> {
    let mut changes = Vec::new();
    if let Some(name) = &args.take {
        draft.take(name).map_err(refused)?;
    }
    if args.strip.contains(&Strip::Optimizer) {
        let stripped = draft.strip_optimizer().map_err(refused)?;
        some(&stripped, || "there is no optimizer state at the top of the file".to_owned())?;
        changes.extend(stripped);
    }
    for pattern in &args.drop {
        let glob = Glob::new(pattern)?;
        let dropped = draft.drop_entries(|name| glob.matches(name)).map_err(refused)?;
        some(&dropped, || format!("--drop: nothing matches '{pattern}'"))?;
        changes.extend(dropped);
    }
    if !args.keep.is_empty() {
        let globs =
            args.keep.iter().map(|text| Glob::new(text)).collect::<Result<Vec<_>, Failure>>()?;
        let wanted = |name: &str| globs.iter().any(|glob| glob.matches(name));
        changes.extend(draft.keep_entries(wanted).map_err(refused)?);
    }
    for (name, value) in &args.set {
        changes.push(draft.set(name, value.clone()).map_err(refused)?);
    }
    for Split { name, into, dim, sizes } in &args.split {
        let into: Vec<&str> = into.iter().map(String::as_str).collect();
        changes.extend(draft.split(name, &into, *dim, sizes.as_deref()).map_err(refused)?);
    }
    for Concat { from, into, dim } in &args.concat {
        let from: Vec<&str> = from.iter().map(String::as_str).collect();
        changes.extend(draft.concat(&from, into, *dim).map_err(refused)?);
    }
    if args.clone_views {
        changes.extend(draft.clone_views().map_err(refused)?);
    }
    for cast in &args.cast {
        let pattern = cast.pattern.as_deref().unwrap_or("*");
        let glob = Glob::new(pattern)?;
        let done = draft.cast(cast.dtype, |name| glob.matches(name)).map_err(refused)?;
        if cast.pattern.is_some() {
            some(&done, || format!("--cast: no tensor to cast matches '{pattern}'"))?;
        }
        changes.extend(done);
    }
    for pattern in &args.transpose {
        let glob = Glob::new(pattern)?;
        let done = draft.transpose(|name| glob.matches(name), -2, -1).map_err(refused)?;
        some(&done, || format!("--transpose: no tensor matches '{pattern}'"))?;
        changes.extend(done);
    }
    if !args.rename.is_empty() {
        let renamed = |name: &str| Some(rename::apply_all(&args.rename, name));
        let done = draft.rename(renamed).map_err(refused)?;
        some(&done, || "--rename: no name changes".to_owned())?;
        changes.extend(done);
    }
    Ok(changes)
}

/// An option that does nothing is a slip.
fn some(changes: &[Change], what: impl Fn() -> String) -> Result<(), Failure> {
    if changes.is_empty() {
        return Err(Failure::usage(what()).help("sconce tree --all shows what the file holds"));
    }
    Ok(())
}

/// A change as it is printed. Counts the numbers that a cast lost.
pub fn row(change: &Change) -> Result<Row<'_>, Failure> {
    let plain = |change_: &'static str| Row {
        name: &change.name,
        change: change_,
        to: None,
        from: None,
        overflowed: None,
        note: None,
    };
    Ok(match &change.kind {
        ChangeKind::Dropped => plain("dropped"),
        ChangeKind::Renamed { to } => Row { to: Some(to.clone()), ..plain("renamed") },
        ChangeKind::Cast { from, to, overflow, parted_from } => Row {
            from: Some(from.name().to_owned()),
            to: Some(to.name().to_owned()),
            overflowed: Some(overflow.count()?),
            note: parted_from.as_ref().map(|other| format!("no longer shares memory with {other}")),
            ..plain("cast")
        },
        ChangeKind::Left { why } => Row { note: Some((*why).to_owned()), ..plain("left") },
        ChangeKind::Set { from, to } => {
            let from = from.clone();
            Row { from, to: Some(to.clone()), ..plain("set") }
        }
        ChangeKind::Split { into, sizes } => {
            let parts = into.iter().zip(sizes).map(|(name, sizes)| format!("{name} {sizes:?}"));
            Row { to: Some(parts.collect::<Vec<_>>().join(", ")), ..plain("split") }
        }
        ChangeKind::Joined { from, sizes } => {
            Row { from: Some(from.join(", ")), to: Some(format!("{sizes:?}")), ..plain("joined") }
        }
        ChangeKind::Transposed { sizes } => {
            Row { to: Some(format!("{sizes:?}")), ..plain("transposed") }
        }
        ChangeKind::Cloned { before, after } => Row {
            from: Some(format!("{before} bytes")),
            to: Some(format!("{after} bytes")),
            ..plain("cloned")
        },
        _ => plain("changed"),
    })
}

impl Row<'_> {
    fn line(&self) -> Line {
        let mut line = Line::new().dim(format!("{:<10} ", self.change)).add(Style::Name, self.name);
        if let Some(from) = &self.from {
            line = line.plain(format!("  {from}"));
        }
        if let Some(to) = &self.to {
            line = line.dim(" → ").plain(to);
        }
        if let Some(note) = &self.note {
            line = line.dim(format!("  ({note})"));
        }
        line
    }
}

/// Numbers that were lost and tensors that were passed over.
pub fn warn(rows: &[Row<'_>], say: Say) {
    for row in rows {
        if let (Some(overflowed @ 1..), Some(to)) = (row.overflowed, &row.to) {
            let numbers = count(overflowed as usize, "number");
            let text = format!("'{}': {numbers} too large for {to}", row.name);
            output::warn(say.color, &text);
        }
        if row.change == "left" {
            let why = row.note.as_deref().unwrap_or_default();
            output::warn(say.color, &format!("'{}' is left as it is: {why}", row.name));
        }
        if row.change == "cast"
            && let Some(note) = &row.note
        {
            output::warn(say.color, &format!("'{}' {note}", row.name));
        }
    }
}

/// A line for each kind of change.
pub fn summary(rows: &[Row<'_>]) -> Vec<Line> {
    let mut kinds: Vec<(&str, Vec<&Row<'_>>)> = Vec::new();
    for row in rows {
        match kinds.iter_mut().find(|(kind, _)| *kind == row.change) {
            Some((_, rows)) => rows.push(row),
            None => kinds.push((row.change, vec![row])),
        }
    }
    let line = |(kind, rows): (&str, Vec<&Row<'_>>)| {
        let names: Vec<&str> = rows.iter().take(3).map(|row| row.name).collect();
        let more = if rows.len() > names.len() { ", …" } else { "" };
        let line = Line::new().dim(format!("  {kind:<10} ")).plain(rows.len().to_string());
        line.dim(format!(": {}{more}", names.join(", ")))
    };
    kinds.into_iter().map(line).collect()
}

//! `sconce edit`: a checkpoint with other entries and tensors, written as `torch.save` writes.

use std::path::Path;

use sconce::checkpoint::{Change, Draft, What};
use serde::Serialize;

use super::SCHEMA_VERSION;
use crate::carried;
use crate::cli::{EditArgs, Strip};
use crate::error::{self, Failure, Outcome};
use crate::glob::Glob;
use crate::open::{self, Say};
use crate::output::{Line, Out, Progress, Style, count};
use crate::overflow;
use crate::pieces::{Concat, Split};
use crate::run::Verdict;
use crate::saving::{self, checkpoint_name, refused};

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
    target.map_or(Ok(()), checkpoint_name)?;
    let checkpoint = open::checkpoint(&args.input, say)?;
    let file = checkpoint.source().name().to_owned();
    let mut draft = Draft::new(checkpoint.root());
    let changes = apply(&mut draft, args).map_err(|failure| failure.in_file(&file))?;
    let draft = carried::checked(draft, args.saving.tensors_only, say)
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
            error::remark(say.color, &line);
        }
        let target = target.map(Path::to_string_lossy).unwrap_or_default();
        let line = Line::new().dim("  wrote    ").add(Style::Strong, target);
        error::remark(say.color, &line);
    }
    Ok(Outcome::Clean)
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
        let renamed = |name: &str| {
            let start = name.to_owned();
            Some(args.rename.iter().fold(start, |name, rule| rule.apply(&name).unwrap_or(name)))
        };
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
    Ok(match &change.what {
        What::Dropped => plain("dropped"),
        What::Renamed { to } => Row { to: Some(to.clone()), ..plain("renamed") },
        What::Cast { from, to, overflow, parted_from } => Row {
            from: Some(from.name().to_owned()),
            to: Some(to.name().to_owned()),
            overflowed: Some(overflow.count()?),
            note: parted_from.as_ref().map(|other| format!("no longer shares memory with {other}")),
            ..plain("cast")
        },
        What::Left { why } => Row { note: Some((*why).to_owned()), ..plain("left") },
        What::Set { from, to } => {
            let from = from.clone();
            Row { from, to: Some(to.clone()), ..plain("set") }
        }
        What::Split { into, sizes } => {
            let parts = into.iter().zip(sizes).map(|(name, sizes)| format!("{name} {sizes:?}"));
            Row { to: Some(parts.collect::<Vec<_>>().join(", ")), ..plain("split") }
        }
        What::Joined { from, sizes } => {
            Row { from: Some(from.join(", ")), to: Some(format!("{sizes:?}")), ..plain("joined") }
        }
        What::Transposed { sizes } => Row { to: Some(format!("{sizes:?}")), ..plain("transposed") },
        What::Cloned { before, after } => Row {
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
            error::warn(say.color, &text);
        }
        if row.change == "left" {
            let why = row.note.as_deref().unwrap_or_default();
            error::warn(say.color, &format!("'{}' is left as it is: {why}", row.name));
        }
        if row.change == "cast"
            && let Some(note) = &row.note
        {
            error::warn(say.color, &format!("'{}' {note}", row.name));
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

//! `sconce verify`: every byte of a file, and every tensor in it.

use std::collections::HashSet;
use std::path::Path;

use clap::Args;
use rayon::prelude::*;
use sconce::Tensor;
use sconce::archive::Directory;
use sconce::archive::verify::{Severity, verify_part};
use sconce::checkpoint::{Checkpoint, ErrorKind, FileKind, identify};
use sconce::scan::{Report, Rule, Verdict as Word};
use sconce::source::Source;
use serde::Serialize;

use crate::arguments::reading::{Input, Inputs};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, Progress, SCHEMA_VERSION, Style, count};
use crate::read::open::{self, Say};
use crate::read::several;
use crate::report::{elements, safety};

/// `sconce verify`.
#[derive(Debug, Args)]
#[command(after_help = "Damage is an error (exit code 1), and so is what would run when the file \
is loaded, and what stands behind the end of a pickle or of the file. Classes that are only on no \
list of PyTorch's are none: sconce globals names them.")]
pub struct VerifyArgs {
    /// The files.
    #[command(flatten)]
    pub input: Inputs,
    /// Read tables and pickles, and no data of tensors: what is damaged there is not found
    #[arg(long)]
    pub quick: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
use crate::read::archive;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    format: &'static str,
    sound: bool,
    /// Whether no data of tensors was read.
    quick: bool,
    /// `clean`, `unknown`, `broken` or `dangerous`: what `sconce info` says of it.
    verdict: &'static str,
    bytes: u64,
    records: Option<Records>,
    tensors: usize,
    findings: Vec<Finding>,
}

/// What a zip archive's records came to.
#[derive(Serialize, Clone)]
struct Records {
    checked: usize,
    without_checksum: usize,
    accounted: u64,
    total: u64,
}

#[derive(Serialize)]
struct Finding {
    severity: &'static str,
    rule: String,
    file: Option<String>,
    record: Option<String>,
    tensor: Option<String>,
    offset: Option<u64>,
    message: String,
}

/// Exit code 1 when something is wrong, 2 when the file cannot be read at all.
pub fn run(args: &VerifyArgs, out: &mut Out, say: Say) -> Verdict {
    several::each(&args.input, args.json, out, say, |input, out| one(args, input, out, say))
}

fn one(args: &VerifyArgs, input: &Input, out: &mut Out, say: Say) -> Verdict {
    let load = &args.input.load;
    let file = open::name(&input.file);
    let source = open::source(&input.file, open::map_mode(load), &open::limits(load))?;
    let identity = identify(&source);
    let mut findings = Vec::new();
    let records = archive(&source, None, args, say, &mut findings)
        .map_err(|failure| failure.in_file(&file))?;
    // Zip files of other kinds have no tensors that could be looked at.
    let opens = identity.kind.opens() || records.is_none();
    let mut inspect = load.clone();
    inspect.keep_going = true;
    let (loaded, report) = safety::open(&source, open::options(&inspect), &open::limits(load));
    let opened = opens.then_some(loaded);
    let mut tensors = 0;
    match opened {
        Some(Ok(checkpoint)) => {
            tensors = checkpoint.tensors().len();
            shards(&checkpoint, args, say, &mut findings)?;
            check(&checkpoint, args.quick, say, &mut findings);
        }
        // Objects of the oldest TorchScript archives are made by their program.
        Some(Err(error))
            if identity.kind == FileKind::TorchScript && error.kind() == ErrorKind::Unsupported =>
        {
            let module = archive::from_source(source.clone(), load, &file)?;
            let held = module.named_parameters().and_then(|mut held| {
                held.extend(module.named_buffers()?);
                Ok(held)
            });
            let held = held.map_err(|error| archive::failure(error, &file))?;
            let held: Vec<(&str, &Tensor)> =
                held.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
            tensors = held.len();
            if !args.quick {
                read(&held, say, &mut findings);
            }
        }
        // What a damaged archive's records say is told even where the object cannot be read.
        Some(Err(error)) if !findings.is_empty() || records.is_some() => findings.push(Finding {
            severity: "error",
            rule: "unreadable".to_owned(),
            file: None,
            record: error.record().map(str::to_owned),
            tensor: None,
            offset: error.offset(),
            message: error.message().to_owned(),
        }),
        Some(Err(error)) => return Err(Failure::from(error).in_file(&file)),
        None => {}
    }
    hidden(&source, &mut findings);
    let sound = findings.iter().all(|finding| finding.severity != "error");
    findings.extend(unsafe_parts(&report));
    let found = Outcome::found(findings.iter().any(|finding| finding.severity == "error"));
    if args.json {
        out.json(&Document {
            schema_version: SCHEMA_VERSION,
            file: &file,
            format: identity.kind.name(),
            sound,
            quick: args.quick,
            verdict: report.verdict.name(),
            bytes: source.len(),
            records,
            tensors,
            findings,
        })?;
        return Ok(found);
    }
    print(&findings, sound, args.quick, &report, records, tensors, &source, &file, out)?;
    Ok(found)
}

/// What the file would do, and what it holds that no loader reads: the rules of `sconce info`, where what
/// is only on no list is no fault.
fn unsafe_parts(report: &Report) -> Vec<Finding> {
    let told = report.findings.iter().filter(|finding| {
        finding.severity() == Word::Dangerous
            || matches!(
                finding.rule,
                Rule::AfterStop
                    | Rule::HeldPayload
                    | Rule::BrokenPickle
                    | Rule::BrokenCode
                    | Rule::NotRead
            )
    });
    let finding = |finding: &sconce::scan::Finding| Finding {
        severity: "error",
        rule: finding.rule.name().to_owned(),
        file: finding.file.clone(),
        record: (!finding.entry.is_empty()).then(|| finding.entry.clone()),
        tensor: None,
        offset: finding.offset,
        message: match finding.call.as_ref().or(finding.global.as_ref()) {
            Some(what) => format!("{what}: {}", finding.reason),
            None => finding.reason.clone(),
        },
    };
    told.map(finding).collect()
}

/// Says what bytes are that belong to nothing, where they begin like something.
fn hidden(source: &Source, findings: &mut [Finding]) {
    let places = ["unowned-bytes", "trailing-bytes"];
    let unowned = findings
        .iter_mut()
        .filter(|finding| places.contains(&finding.rule.as_str()) && finding.file.is_none());
    for finding in unowned {
        let bytes = finding.offset.and_then(|at| source.slice(at..source.len()).ok().flatten());
        if let Some((what, _)) = bytes.as_deref().and_then(sconce::scan::what_begins) {
            finding.message.push_str(&format!("; they begin as {what}"));
        }
    }
}

/// Checks a zip archive's records; `None` for other files.
fn archive(
    source: &Source,
    shard: Option<&str>,
    args: &VerifyArgs,
    say: Say,
    findings: &mut Vec<Finding>,
) -> Result<Option<Records>, Failure> {
    if !source.starts_with(b"PK\x03\x04")? {
        return Ok(None);
    }
    let directory = Directory::read(source.clone(), &open::limits(&args.input.load))?;
    let progress = Progress::new("verifying", source.len(), say.quiet);
    let mut before = 0;
    let report = verify_part(
        &directory,
        |_| !args.quick,
        |done| {
            progress.advance(done.saturating_sub(before));
            before = done;
        },
    );
    findings.extend(report.findings.into_iter().map(|finding| Finding {
        severity: if finding.severity == Severity::Error { "error" } else { "note" },
        rule: finding.rule.to_owned(),
        file: shard.map(str::to_owned),
        record: finding.record,
        tensor: None,
        offset: Some(finding.offset),
        message: finding.message,
    }));
    Ok(Some(Records {
        checked: report.checked,
        without_checksum: report.unchecked,
        accounted: report.accounted,
        total: report.total,
    }))
}

/// The archives that an index names, checked like one.
fn shards(
    checkpoint: &Checkpoint,
    args: &VerifyArgs,
    say: Say,
    findings: &mut Vec<Finding>,
) -> Result<(), Failure> {
    let folder = checkpoint.source().path().and_then(Path::parent);
    let Some(folder) = folder else { return Ok(()) };
    for shard in &checkpoint.info().shards {
        let source = Source::open(folder.join(shard))?;
        archive(&source, Some(shard), args, say, findings)
            .map_err(|failure| failure.in_file(shard.clone()))?;
    }
    Ok(())
}

/// Checks what the archive's own tables cannot show: bytes behind the end, problems with single
/// values, and the elements of every tensor.
fn check(checkpoint: &Checkpoint, quick: bool, say: Say, findings: &mut Vec<Finding>) {
    let trailing = checkpoint.info().trailing_bytes;
    if trailing > 0 {
        let at = checkpoint.source().len().saturating_sub(trailing);
        findings.push(Finding {
            severity: "error",
            rule: "trailing-bytes".to_owned(),
            file: None,
            record: None,
            tensor: None,
            offset: Some(at),
            message: format!("{} behind the end of what is read", count(trailing as usize, "byte")),
        });
    }
    findings.extend(checkpoint.problems().iter().map(|problem| Finding {
        severity: "error",
        rule: "damaged-value".to_owned(),
        file: None,
        record: problem.record().map(str::to_owned),
        tensor: None,
        offset: problem.offset(),
        message: problem.message().to_owned(),
    }));
    findings.extend(checkpoint.warnings().iter().map(|warning| Finding {
        severity: "note",
        rule: "warning".to_owned(),
        file: None,
        record: None,
        tensor: None,
        offset: None,
        message: warning.clone(),
    }));
    if quick {
        return;
    }
    let tensors = checkpoint.tensors();
    let tensors: Vec<(&str, &Tensor)> =
        tensors.iter().map(|named| (named.name.as_str(), named.tensor)).collect();
    read(&tensors, say, findings);
    let unread = checkpoint.storages().iter().filter(|record| record.storage.has_data());
    for record in unread {
        if let Err(error) = record.storage.read_through() {
            findings.push(Finding {
                severity: "error",
                rule: "damaged-storage".to_owned(),
                file: None,
                record: record.record_name(),
                tensor: None,
                offset: record.file_offset(),
                message: error.to_string(),
            });
        }
    }
}

/// Reads every element: storages through their tensors, where a crash of the disk would show.
fn read(tensors: &[(&str, &Tensor)], say: Say, findings: &mut Vec<Finding>) {
    let total = tensors.iter().fold(0, |sum: u64, (_, tensor)| sum.saturating_add(tensor.nbytes()));
    let progress = Progress::new("reading", total, say.quiet);
    // Any number of tensors can share a storage, which is read once.
    let mut seen = HashSet::new();
    let unread = |tensor: &Tensor| tensor.storage().is_none_or(|storage| seen.insert(storage.id()));
    let unread: Vec<bool> = tensors.iter().map(|(_, tensor)| *tensor).map(unread).collect();
    let places: Vec<usize> = (0..tensors.len()).collect();
    for places in places.chunks(64) {
        let block = &tensors[places[0]..places[0] + places.len()];
        let found: Vec<Option<Finding>> = places
            .par_iter()
            .map(|&at| {
                let (name, tensor) = tensors[at];
                let sparse = tensor.validate_sparse();
                let read = sparse.and_then(|()| match tensor.storage() {
                    Some(storage) if storage.has_data() && unread[at] => storage.read_through(),
                    Some(_) => Ok(()),
                    None => elements::components(tensor).map(drop),
                });
                read.err().map(|error| Finding {
                    severity: "error",
                    rule: "damaged-tensor".to_owned(),
                    file: None,
                    record: None,
                    tensor: Some(name.to_owned()),
                    offset: None,
                    message: error.to_string(),
                })
            })
            .collect();
        findings.extend(found.into_iter().flatten());
        progress.advance(block.iter().map(|(_, tensor)| tensor.nbytes()).sum());
    }
}

#[allow(clippy::too_many_arguments, reason = "the parts of one page")]
fn print(
    findings: &[Finding],
    sound: bool,
    quick: bool,
    report: &Report,
    records: Option<Records>,
    tensors: usize,
    source: &Source,
    file: &str,
    out: &mut Out,
) -> Result<(), Failure> {
    let safe = findings.iter().all(|finding| finding.severity != "error");
    let (mark, style, word) = match (sound, safe, report.verdict) {
        (false, ..) => ("✗", Style::Bad, "damaged"),
        (true, true, _) if quick => ("✓", Style::Good, "its tables agree; no data was read"),
        (true, true, _) => ("✓", Style::Good, "sound"),
        (true, false, Word::Dangerous) => ("✗", Style::Bad, "undamaged, but dangerous to load"),
        (true, false, _) => ("✗", Style::Bad, "undamaged, but it holds more than is loaded"),
    };
    out.line(
        &Line::new()
            .add(style, mark)
            .plain(" ")
            .add(Style::Strong, file)
            .plain(": ")
            .add(style, word),
    )?;
    if let Some(records) = records {
        let mut text = format!("{} with the right checksum", count(records.checked, "record"));
        if quick {
            text = "headers compared".to_owned();
        }
        if records.without_checksum > 0 {
            text = format!("{text} · {} without one", records.without_checksum);
        }
        out.line(&Line::new().dim("  records   ").plain(text))?;
        let share = 100.0 * records.accounted as f64 / records.total.max(1) as f64;
        let text = format!(
            "{} of {} accounted for ({share:.4} %)",
            out.sizes().show(records.accounted),
            out.sizes().show(records.total)
        );
        out.line(&Line::new().dim("  bytes     ").plain(text))?;
    } else {
        let size = out.sizes().show(source.len());
        out.line(&Line::new().dim("  bytes     ").plain(size))?;
    }
    let what = if quick { "not read" } else { "read" };
    out.line(
        &Line::new().dim("  tensors   ").plain(format!("{} {what}", count(tensors, "tensor"))),
    )?;
    for finding in findings {
        let error = finding.severity == "error";
        let style = if error { Style::Bad } else { Style::Warn };
        let mut line =
            Line::new().plain("  ").add(style, format!("{:<8}", finding.severity)).plain("  ");
        if let Some(offset) = finding.offset {
            line = line.dim(format!("{offset:#x}  "));
        }
        let names = [&finding.file, &finding.record, &finding.tensor];
        for name in names.into_iter().flatten() {
            line = line.add(Style::Name, name).plain(": ");
        }
        out.line(&line.plain(&finding.message).dim(format!("  [{}]", finding.rule)))?;
    }
    Ok(())
}

//! `sconce info`: a file on one screen.

mod card;
mod outline;
mod storage_use;

use clap::Args;
use sconce::Source;
use sconce::checkpoint::{Checkpoint, ErrorKind, FileKind, Identity, identify};
use sconce::scan::{Report, Rule};
use serde::Serialize;

use self::card::{Card, PolicyVerdict};
use crate::arguments::reading::{Input, Inputs, PolicyChoice};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, SCHEMA_VERSION, Style};
use crate::read::exported;
use crate::read::open::{self, Say};
use crate::read::several;
use crate::report::exported::Exported;
use crate::report::program::Program;
use crate::report::safety;

/// `sconce info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The files.
    #[command(flatten)]
    pub input: Inputs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A file that has no tensors to show.
#[derive(Serialize)]
struct BareDocument<'a> {
    schema_version: u32,
    file: &'a str,
    bytes: u64,
    format: &'static str,
    description: &'static str,
    detail: &'a str,
    verdict: &'static str,
    findings: Vec<safety::Row<'a>>,
    #[serde(flatten)]
    left: Left<'a>,
}

/// What there is to say of a file that has no tensors to show.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Left<'a> {
    /// Its program: an archive in the layout of PyTorch 1.3 and older, whose objects are made by it.
    Program(&'a Program),
    /// A package: native code, which is named and never loaded, or several models of which none was chosen.
    Exported(&'a Exported),
    /// Why it does not open; a scan found what it could up to where the file breaks off.
    Error(&'a str),
}

/// Exit code 1 when the policy refuses the file.
pub fn run(args: &InfoArgs, out: &mut Out, say: Say) -> Verdict {
    several::each(&args.input, true, out, say, |input, out| one(args, input, out, say))
}

fn one(args: &InfoArgs, input: &Input, out: &mut Out, say: Say) -> Verdict {
    let load = &args.input.load;
    let source = open::source(&input.file, open::map_mode(load), &open::limits(load))?;
    let identity = identify(&source);
    let name = open::name(&input.file);
    let policy = (load.policy == PolicyChoice::WeightsOnly)
        .then(|| open::options(load).open_source(source.clone()).err());
    let mut inspect = load.clone();
    inspect.policy = PolicyChoice::Inspect;
    // What the policy says comes first: the card shows what can be shown beside it.
    let program =
        identity.kind.is_torchscript().then(|| Program::read(&source, &open::limits(load)));
    let (opened, report) = safety::open(&source, open::options(&inspect), &open::limits(load));
    let (exported, no_exported) = match exported::is_exported(&source) {
        true => match Exported::read(&source, &inspect) {
            Ok((exported, wrong)) => (Some(exported), wrong),
            Err(_) => (None, None),
        },
        false => (None, None),
    };
    // Native code has no tensors to read; of several models none was chosen.
    if let (Err(error), Some(exported)) = (&opened, &exported)
        && (identity.kind == FileKind::AotInductor
            || error.kind() == ErrorKind::Caller && load.model.is_none())
    {
        bare(args, input, &source, &identity, &report, Left::Exported(exported), out)?;
        return Ok(Outcome::Clean);
    }
    let checkpoint = match (opened, &program) {
        (Ok(checkpoint), _) => checkpoint,
        (Err(error), Some(Ok(program))) if error.kind() == ErrorKind::Unsupported => {
            bare(args, input, &source, &identity, &report, Left::Program(program), out)?;
            return Ok(Outcome::Clean);
        }
        (Err(error), _) => {
            let error = policy.clone().flatten().unwrap_or(error);
            let failure = Failure::from(error).in_file(&name);
            // What is not a checkpoint has no card, unless there is something to warn of.
            let only = report.findings.iter().all(|finding| finding.rule == Rule::NotACheckpoint);
            if !only || args.json {
                let left = Left::Error(failure.message());
                bare(args, input, &source, &identity, &report, left, out)?;
            }
            return Err(failure);
        }
    };
    let (program, no_program) = match program {
        Some(Ok(program)) => (Some(program), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    let policy = policy.map(|error| PolicyVerdict {
        name: "weights-only",
        accepted: error.is_none(),
        message: error.map(|error| {
            let place = error.kind() != ErrorKind::Refused;
            if place { error.to_string() } else { error.message().to_owned() }
        }),
    });
    let refused = policy.as_ref().is_some_and(|policy| !policy.accepted);
    let unread = report.unread_headers;
    let mut card = Card::new(&checkpoint, identity.detail, program, report);
    card.exported = exported;
    if args.json {
        out.json(&card.document(&name, policy))?;
    } else {
        card.print(&name, input, policy, out)?;
        print_remarks(&checkpoint, say);
        if unread > 0 && !say.quiet {
            let text = format!(
                "the headers of {} were not looked at, which sconce scan does",
                crate::output::count(unread, "record")
            );
            crate::output::remark(say.color, &Line::new().plain(text));
        }
    }
    if let Some(error) = no_program.filter(|_| !say.quiet) {
        crate::output::warn(say.color, &format!("the program cannot be read: {error}"));
    }
    if let Some(error) = no_exported.filter(|_| !say.quiet) {
        crate::output::warn(say.color, &format!("the program cannot be read: {error}"));
    }
    Ok(Outcome::found(refused))
}

/// The heading of a card that has no checkpoint to ask.
fn plain_heading(input: &Input, source: &Source, identity: &Identity, out: &Out) -> Line {
    let detail = match identity.detail.as_str() {
        "" => String::new(),
        detail => format!(" ({detail})"),
    };
    Line::new()
        .add(Style::Strong, open::short_name(&input.file))
        .plain(format!("  {}{detail}  ", identity.kind.description()))
        .add(Style::Number, out.sizes().show(source.len()))
}

/// The card of a file that has no tensors to show.
fn bare(
    args: &InfoArgs,
    input: &Input,
    source: &Source,
    identity: &Identity,
    report: &Report,
    left: Left<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    let file = open::name(&input.file);
    if args.json {
        return out.json(&BareDocument {
            schema_version: SCHEMA_VERSION,
            file: &file,
            bytes: source.len(),
            format: identity.kind.name(),
            description: identity.kind.description(),
            detail: &identity.detail,
            verdict: report.verdict.name(),
            findings: safety::rows(report),
            left,
        });
    }
    out.line(&plain_heading(input, source, identity, out))?;
    let mut sections = match left {
        Left::Program(program) => program.whole(&file, out),
        Left::Exported(exported) => exported.sections(out),
        Left::Error(_) => Vec::new(),
    };
    // The last section of a program names other verbs.
    let at = sections.len() - usize::from(matches!(left, Left::Program(_)) && !sections.is_empty());
    sections.insert(at, ("safety", safety::lines(report, &file)));
    print_sections(sections, out)
}

/// The longest line of a card, in columns.
const LONGEST_LINE: usize = 4096;

fn print_sections(sections: Vec<(&'static str, Vec<Line>)>, out: &mut Out) -> Result<(), Failure> {
    for (label, lines) in sections {
        for (at, line) in lines.into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let mut full = Line::new().dim(format!("  {label:<9}  "));
            full.extend(line);
            // What one would copy or must not miss is left to wrap. Names of a hostile file have millions of letters.
            let whole = matches!(label, "safety" | "more" | "");
            let width = out.width().filter(|_| !whole).unwrap_or(LONGEST_LINE);
            out.line(&full.fit(Some(width)))?;
        }
    }
    Ok(())
}

fn print_remarks(checkpoint: &Checkpoint, say: Say) {
    if say.quiet {
        return;
    }
    for warning in checkpoint.warnings() {
        crate::output::warn(say.color, warning);
    }
    for problem in checkpoint.problems() {
        crate::output::warn(say.color, &format!("left out: {problem}"));
    }
}

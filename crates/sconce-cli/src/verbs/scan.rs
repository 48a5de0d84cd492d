//! `sconce scan`: what files would do when they are loaded.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use sconce::FileKind;
use sconce::scan::{Finding, Policy, Report, Rule, Verdict as Word, scan};
use sconce::source::{Limits, MapMode, Source};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::arguments::reading::{Bounds, Load};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, Progress, SCHEMA_VERSION, Style, count, hex};
use crate::read::open::{self, Say};
use crate::read::paths::{self, Found};
use crate::report::safe_globals::{self, Needed};
use crate::report::{safety, sarif};

/// `sconce scan`.
#[derive(Debug, Args)]
#[command(
    after_help = "Verdicts: clean (all was read, and nothing in it is more than data that PyTorch \
allows every checkpoint to hold), unknown (classes or traits that are on no list), broken (a part \
could not be read, so nothing is proven), dangerous (it would run code or reach files, processes or \
the network).\n\nExit codes: 0 nothing fails, 1 something is dangerous (or unknown, with --fail-on \
unknown), 2 something is broken and nothing else fails, 3 wrong usage.\n\nExamples:\n  \
sconce scan model.pt\n  sconce scan -r models/ --fail-on unknown\n  \
sconce scan -r . --sarif > scan.sarif\n  sconce scan model.pt --policy allowed.txt\n  \
sconce scan --explain SC001"
)]
pub struct ScanArgs {
    /// Files, folders with -r, quoted patterns such as 'models/*.pt'; - reads standard input
    #[arg(value_name = "PATH", required_unless_present = "explain")]
    pub paths: Vec<OsString>,
    /// Go through folders (links in them are not followed)
    #[arg(short, long)]
    pub recursive: bool,
    /// Which verdicts fail
    #[arg(long, value_enum, default_value = "dangerous", value_name = "VERDICT")]
    pub fail_on: FailOn,
    /// As --fail-on unknown; remarks and files of other formats count as unknown too
    #[arg(long)]
    pub strict: bool,
    /// A file of lines `allow NAME`, `deny NAME` or `allow sha256:HASH`; * stands for any characters
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Print the Python that lets torch.load(weights_only=True) read each file, if you trust it
    #[arg(long, conflicts_with_all = ["json", "sarif"])]
    pub python: bool,
    /// Show every finding of every file
    #[arg(short, long)]
    pub all: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "sarif")]
    pub json: bool,
    /// Print SARIF 2.1.0
    #[arg(long)]
    pub sarif: bool,
    /// Say what a rule means and what to do about it, by its number or name
    #[arg(long, value_name = "RULE", conflicts_with_all = ["json", "sarif", "python"])]
    pub explain: Option<String>,
    /// What a file may cost.
    #[command(flatten)]
    pub bounds: Bounds,
}

/// `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// What would run code or reach outside, and what is broken
    Dangerous,
    /// What is on no list, too
    Unknown,
}

/// Findings that are shown of a file among others, and of one alone.
const MOST_SHOWN: usize = 3;
const MOST_SHOWN_ALONE: usize = 20;

/// What came of a file.
struct Scanned {
    path: String,
    bytes: u64,
    sha256: Option<String>,
    result: Result<Report, Failure>,
    /// It was found in a folder and is of a format that nobody unpickles.
    skipped: Option<&'static str>,
}

impl Scanned {
    fn word(&self, strict: bool) -> Word {
        match (&self.result, self.skipped) {
            (_, Some(_)) if strict => Word::Unknown,
            (_, Some(_)) => Word::Clean,
            (Ok(report), None) if strict && !report.findings.is_empty() => {
                report.verdict.max(Word::Unknown)
            }
            (Ok(report), None) => report.verdict,
            (Err(_), None) => Word::Broken,
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    files: Vec<File<'a>>,
    summary: Summary,
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    /// `clean`, `unknown`, `broken`, `dangerous`, or `skipped` for a file in a folder that is no model.
    verdict: &'static str,
    format: Option<&'static str>,
    /// Whether every part was read.
    complete: bool,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<&'a str>,
    error: Option<&'a str>,
    findings: Vec<safety::Row<'a>>,
    /// Findings beyond the number that is kept.
    left_out: usize,
}

#[derive(Serialize)]
struct Summary {
    files: usize,
    clean: usize,
    unknown: usize,
    broken: usize,
    dangerous: usize,
    skipped: usize,
    bytes: u64,
    seconds: f64,
}

/// Exit code 1 when a file fails, 2 when one could not be read.
pub fn run(args: &ScanArgs, out: &mut Out, say: Say) -> Verdict {
    if let Some(rule) = &args.explain {
        return explain(rule, out);
    }
    let policy = args.policy.as_ref().map(read_policy).transpose()?.unwrap_or_default();
    let limits = args.bounds.limits();
    let mut files: Vec<Found> = Vec::new();
    for path in &args.paths {
        files.extend(paths::expand(path, args.recursive));
    }
    let started = Instant::now();
    let size = |found: &Found| fs::metadata(&found.path).map_or(0, |about| about.len());
    let progress = Progress::new("scanning", files.iter().map(size).sum(), say.quiet);
    let mut scanned: Vec<Scanned> = files
        .par_iter()
        .with_max_len(1)
        .map(|found| {
            let scanned = one(found, &policy, &limits);
            progress.advance(scanned.bytes);
            scanned
        })
        .collect();
    drop(progress);
    // The worst last, where the eye ends up. Files of one verdict keep their order.
    scanned.sort_by_key(|file| file.word(args.strict));
    let summary = summarise(&scanned, args.strict, started.elapsed().as_secs_f64());
    if args.json {
        let files = scanned.iter().map(|file| row(file, args.strict)).collect();
        out.json(&Document { schema_version: SCHEMA_VERSION, files, summary })?;
    } else if args.sarif {
        let read = scanned.iter().filter(|file| file.skipped.is_none());
        let reports = read.filter_map(|file| Some((&*file.path, file.result.as_ref().ok()?)));
        out.json(&sarif::log(reports))?;
        for file in &scanned {
            if let Err(failure) = &file.result {
                failure.print(say.color);
            }
        }
    } else {
        print(&scanned, args, out, say)?;
        if scanned.len() > 1 {
            total(&summary, out)?;
        }
    }
    let worst = |word: Word| scanned.iter().any(|file| file.word(args.strict) == word);
    let unknown_fails = args.strict || args.fail_on == FailOn::Unknown;
    Ok(match () {
        () if worst(Word::Dangerous) || (unknown_fails && worst(Word::Unknown)) => Outcome::Finding,
        () if worst(Word::Broken) => Outcome::Incomplete,
        () => Outcome::Clean,
    })
}

fn read_policy(path: &PathBuf) -> Result<Policy, Failure> {
    let name = path.to_string_lossy().into_owned();
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read the policy: {error}")).in_file(&name)
    })?;
    text.parse::<Policy>()
        .map_err(|error| Failure::usage(format!("the policy: {error}")).in_file(&name))
}

/// Scans one file.
fn one(found: &Found, policy: &Policy, limits: &Limits) -> Scanned {
    let path = open::name(&found.path);
    let failed = |failure: Failure| Scanned {
        path: path.clone(),
        bytes: 0,
        sha256: None,
        result: Err(failure.in_file(&path)),
        skipped: None,
    };
    let source = match open::source(&found.path, MapMode::Private, limits) {
        Ok(source) => source,
        Err(failure) => return failed(failure),
    };
    let sha256 = match policy.needs_hash().then(|| hash(&source)).transpose() {
        Ok(sha256) => sha256,
        Err(failure) => return failed(failure),
    };
    let mut report = scan(&source, limits);
    policy.apply(&mut report, sha256.as_deref());
    let skipped = (!found.named && is_no_model(&report)).then(|| report.format.description());
    Scanned { path, bytes: source.len(), sha256, result: Ok(report), skipped }
}

fn hash(source: &Source) -> Result<String, Failure> {
    Ok(hex(&Sha256::digest(source.bytes()?)))
}

/// Whether this is a file that lies beside models: text, a picture. Nothing unpickles it, and nothing in it was found.
fn is_no_model(report: &Report) -> bool {
    let inert = matches!(
        report.format,
        FileKind::Text
            | FileKind::Json
            | FileKind::Xml
            | FileKind::Html
            | FileKind::Pdf
            | FileKind::Png
            | FileKind::Jpeg
            | FileKind::Gif
            | FileKind::Empty
            | FileKind::GitLfsPointer
            | FileKind::Gguf
            | FileKind::Parquet
            | FileKind::Arrow
            | FileKind::Sqlite
    );
    inert && report.findings.iter().all(|finding| finding.rule == Rule::NotACheckpoint)
}

fn row(file: &Scanned, strict: bool) -> File<'_> {
    let report = file.result.as_ref().ok();
    File {
        path: &file.path,
        verdict: if file.skipped.is_some() { "skipped" } else { file.word(strict).name() },
        format: report.map(|report| report.format.name()),
        complete: report.is_some_and(Report::complete),
        bytes: file.bytes,
        sha256: file.sha256.as_deref(),
        error: file.result.as_ref().err().map(Failure::message),
        findings: report.map(safety::rows).unwrap_or_default(),
        left_out: report.map_or(0, |report| report.left_out),
    }
}

fn summarise(scanned: &[Scanned], strict: bool, seconds: f64) -> Summary {
    let mut counts: BTreeMap<Word, usize> = BTreeMap::new();
    for file in scanned.iter().filter(|file| file.skipped.is_none()) {
        *counts.entry(file.word(strict)).or_default() += 1;
    }
    let of = |word| counts.get(&word).copied().unwrap_or(0);
    Summary {
        files: scanned.len(),
        clean: of(Word::Clean),
        unknown: of(Word::Unknown),
        broken: of(Word::Broken),
        dangerous: of(Word::Dangerous),
        skipped: scanned.iter().filter(|file| file.skipped.is_some()).count(),
        bytes: scanned.iter().map(|file| file.bytes).sum(),
        seconds,
    }
}

fn print(scanned: &[Scanned], args: &ScanArgs, out: &mut Out, say: Say) -> Result<(), Failure> {
    let alone = scanned.len() == 1;
    for file in scanned {
        if let Some(what) = file.skipped {
            if args.all {
                let line = Line::new().dim("- skipped: ").dim(&file.path).dim(format!(", {what}"));
                out.line(&line)?;
            }
            continue;
        }
        let head = safety::verdict(file.word(args.strict)).plain("  ").add(Style::Name, &file.path);
        let report = match &file.result {
            Ok(report) => report,
            Err(failure) => {
                out.line(&head.plain("  ").plain(failure.message()))?;
                continue;
            }
        };
        out.line(&head.plain("  ").plain(safety::summary(report)))?;
        details(report, alone, args.all, out)?;
        if args.python {
            python(file, report, args, out, say)?;
        }
    }
    Ok(())
}

/// The findings behind a verdict: the worst, and all of them on request.
fn details(report: &Report, alone: bool, all: bool, out: &mut Out) -> Result<(), Failure> {
    let told: Vec<&Finding> = match (all || alone, report.verdict) {
        (true, _) => report.findings.iter().collect(),
        (false, Word::Clean) => Vec::new(),
        // The summary has the names of unknown classes.
        (false, Word::Unknown) => {
            report.of(Word::Unknown).filter(|finding| finding.rule != Rule::UnknownGlobal).collect()
        }
        (false, worst) => report.of(worst).collect(),
    };
    let most = match (all, alone) {
        (true, _) => usize::MAX,
        (false, true) => MOST_SHOWN_ALONE,
        (false, false) => MOST_SHOWN,
    };
    for finding in told.iter().take(most) {
        let mut line = Line::new().plain("    ").dim(finding.rule.id()).plain(" ");
        line.extend(safety::line(finding));
        out.line(&line)?;
    }
    let more = told.len().saturating_sub(most) + report.left_out;
    if more > 0 {
        out.line(&Line::new().dim(format!("    … {more} more: --all or --json shows them")))?;
    }
    Ok(())
}

/// The line of Python that allows what a file names.
fn python(
    file: &Scanned,
    report: &Report,
    args: &ScanArgs,
    out: &mut Out,
    say: Say,
) -> Result<(), Failure> {
    let path = OsString::from(&file.path);
    if path == "-" {
        return Err(Failure::usage("--python reads the file again, which - does not allow"));
    }
    let load = Load { bounds: args.bounds.clone(), ..Load::inspect() };
    let source = open::source(&path, MapMode::Private, &args.bounds.limits())?;
    match safe_globals::needed(report, &source, &load) {
        Needed::Lines(lines) => out.text(&lines),
        Needed::Nothing(_) if say.quiet => Ok(()),
        Needed::Nothing(why) => out.line(&Line::new().plain("    ").dim(why)),
        Needed::Refused(lines) => {
            for line in lines {
                out.line(&Line::new().plain("    ").plain(line))?;
            }
            Ok(())
        }
    }
}

fn total(summary: &Summary, out: &mut Out) -> Result<(), Failure> {
    let mut line = Line::new().add(Style::Strong, count(summary.files, "file")).plain(": ");
    let parts = [
        (summary.clean, "clean", Style::Good),
        (summary.unknown, "unknown", Style::Warn),
        (summary.broken, "broken", Style::Bad),
        (summary.dangerous, "dangerous", Style::Bad),
        (summary.skipped, "skipped", Style::Dim),
    ];
    let shown: Vec<_> = parts.iter().filter(|(number, ..)| *number > 0).collect();
    for (at, (number, word, style)) in shown.iter().enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        line = line.plain(comma).add(*style, format!("{number} {word}"));
    }
    let size = out.sizes().show(summary.bytes);
    out.line(&line.dim(format!("  ({size} in {:.2} s)", summary.seconds)))
}

/// What a rule is for.
fn explain(text: &str, out: &mut Out) -> Verdict {
    let Some(rule) = Rule::find(text) else {
        let last = Rule::ALL.last().map_or("", |rule| rule.id());
        return Err(Failure::usage(format!("no rule '{text}'"))
            .help(format!("rules are SC001 to {last}, or names such as dangerous-call")));
    };
    let word = match rule.severity() {
        Word::Clean => "a remark",
        other => other.name(),
    };
    let head = Line::new().add(Style::Strong, rule.id()).plain(" ").add(Style::Strong, rule.name());
    out.line(&head.dim(format!("  makes a file: {word}")))?;
    out.line(&Line::new())?;
    out.line(&Line::new().plain(rule.meaning()))?;
    out.line(&Line::new())?;
    out.line(&Line::new().plain(rule.advice()))?;
    Ok(Outcome::Clean)
}

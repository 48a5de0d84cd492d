//! `sconce globals`: what classes and functions a file names, and what PyTorch says to them.

use clap::Args;
use sconce::checkpoint::{ErrorKind, GlobalUse, Policy};
use sconce::scan::{Report, Rule, Verdict as Word};
use serde::Serialize;

use crate::arguments::reading::{Input, Inputs, PolicyChoice};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Align, Line, Out, SCHEMA_VERSION, Style, Table, count, shell_word};
use crate::read::open::{self, Say};
use crate::read::several;
use crate::report::safe_globals::{self, Needed};
use crate::report::safety;

/// `sconce globals`.
#[derive(Debug, Args)]
#[command(after_help = "Every pickle counts that a loader, or another reader of the file, would \
unpickle. The last lines say what is to be thought of the file: clean, unknown, broken or \
dangerous. --python proposes nothing that runs code or reaches outside: it says what that is, and \
the exit code is 1.")]
pub struct GlobalsArgs {
    /// The files.
    #[command(flatten)]
    pub input: Inputs,
    /// Print the Python that lets torch.load(weights_only=True) read the file, if you trust it
    #[arg(long, conflicts_with = "json")]
    pub python: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print no header
    #[arg(long)]
    pub no_header: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    /// Whether the file was read to its end.
    complete: bool,
    globals: Vec<Row<'a>>,
    /// Numbers of the extension registry that stand for classes or functions.
    extensions: &'a [i64],
    /// `clean`, `unknown`, `broken` or `dangerous`.
    verdict: &'static str,
    findings: Vec<safety::Row<'a>>,
    weights_only: Verdicts,
}

#[derive(Serialize)]
struct Row<'a> {
    /// `module.name`.
    name: String,
    module: &'a str,
    attribute: &'a str,
    allowed: bool,
    count: usize,
    record: &'a str,
    offset: u64,
}

#[derive(Serialize)]
struct Verdicts {
    accepted: bool,
    message: Option<String>,
}

/// Exit code 1 when the file breaks off before its end.
pub fn run(args: &GlobalsArgs, out: &mut Out, say: Say) -> Verdict {
    several::each(&args.input, args.json || args.python, out, say, |input, out| {
        one(args, input, out, say)
    })
}

fn one(args: &GlobalsArgs, input: &Input, out: &mut Out, say: Say) -> Verdict {
    let load = &args.input.load;
    let source = open::source(&input.file, open::map_mode(load), &open::limits(load))?;
    let file = open::name(&input.file);
    // The question is what the file names, so a policy or a damaged tensor must not end the reading.
    let mut inspect = load.clone();
    inspect.policy = PolicyChoice::Inspect;
    inspect.keep_going = true;
    let (opened, report) = safety::open(&source, open::options(&inspect), &open::limits(load));
    let globals = &report.globals[..];
    let broken = match opened {
        Ok(_) => None,
        Err(error) => {
            let failure = Failure::from(error).in_file(&file);
            // What a pickle names before it breaks off is worth knowing all the more.
            if globals.is_empty() && report.verdict != Word::Dangerous {
                return Err(failure);
            }
            Some(failure)
        }
    };
    let outcome = Outcome::found(broken.is_some());
    if let Some(failure) = &broken {
        failure.print(say.color);
    }
    if args.python {
        return match safe_globals::needed(&report, &source, load) {
            Needed::Lines(lines) => out.text(&lines).map(|()| outcome),
            Needed::Nothing(why) => {
                if !say.quiet {
                    crate::output::remark(say.color, &Line::new().plain(why));
                }
                Ok(outcome)
            }
            Needed::Refused(why) => {
                if !say.quiet {
                    for line in why {
                        crate::output::remark(say.color, &Line::new().plain(line));
                    }
                }
                Ok(Outcome::Finding)
            }
        };
    }
    let program = safe_globals::is_program(&source);
    let verdict = open::options(load).policy(Policy::WeightsOnly).open_source(source);
    let verdict = Verdicts {
        accepted: verdict.is_ok(),
        message: verdict.err().map(|error| match error.kind() {
            ErrorKind::Refused => error.message().to_owned(),
            _ => error.to_string(),
        }),
    };
    if args.json {
        out.json(&Document {
            schema_version: SCHEMA_VERSION,
            file: &file,
            complete: broken.is_none(),
            globals: globals.iter().map(row).collect(),
            extensions: &report.extensions,
            verdict: report.verdict.name(),
            findings: safety::rows(&report),
            weights_only: verdict,
        })?;
        return Ok(outcome);
    }
    out.use_pager();
    let mut table = Table::new(!args.no_header)
        .uncut()
        .column("global", Align::Left, Style::Name)
        .column("allowed", Align::Left, Style::Plain)
        .column("calls", Align::Right, Style::Number)
        .column("first", Align::Left, Style::Dim);
    for global in globals {
        table.row([
            global.full_name(),
            if global.allowed { "yes" } else { "NO" }.to_owned(),
            global.count.to_string(),
            format!("{} @ {:#x}", global.record, global.offset),
        ]);
    }
    for finding in report.findings.iter().filter(|finding| finding.rule == Rule::Extension) {
        table.row([
            finding.global.clone().unwrap_or_default(),
            "NO".to_owned(),
            finding.count.to_string(),
            format!("{} @ {:#x}", finding.entry, finding.offset.unwrap_or_default()),
        ]);
    }
    if !globals.is_empty() || !report.extensions.is_empty() {
        out.table(&table)?;
    }
    if !args.no_header {
        summary(&report, &verdict, &file, program, out)?;
    }
    Ok(outcome)
}

fn row(global: &GlobalUse) -> Row<'_> {
    Row {
        name: global.full_name(),
        module: &global.module,
        attribute: &global.name,
        allowed: global.allowed,
        count: global.count,
        record: &global.record,
        offset: global.offset,
    }
}

/// Findings that are shown below the table.
const MOST_SHOWN: usize = 10;

fn summary(
    report: &Report,
    verdict: &Verdicts,
    file: &str,
    program: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    let globals = &report.globals;
    let outside = globals.iter().filter(|global| !global.allowed).count();
    let line = Line::new().add(Style::Strong, count(globals.len(), "global"));
    let line = match (outside, report.verdict) {
        (0, Word::Clean) => line.dim(" · ").add(Style::Good, "all allow-listed"),
        // The table has all there is to say of names alone.
        (0, _) => line,
        (n, _) => line.dim(" · ").add(Style::Warn, format!("{n} not allow-listed")),
    };
    out.line(&line)?;
    let word = safety::verdict(report.verdict);
    out.line(&word.plain(": ").plain(safety::summary(report)))?;
    let told = report.findings.iter().filter(|finding| finding.rule != Rule::UnknownGlobal);
    let all = told.clone().count();
    for finding in told.take(MOST_SHOWN) {
        let mut line = Line::new().plain("  ");
        line.extend(safety::line(finding));
        out.line(&line)?;
    }
    if all > MOST_SHOWN {
        let more = format!("  … {} more, --json has them", all - MOST_SHOWN);
        out.line(&Line::new().dim(more))?;
    }
    match &verdict.message {
        None => out.line(
            &Line::new()
                .add(Style::Good, "✓")
                .plain(" torch.load(weights_only=True) accepts the file"),
        ),
        Some(message) => {
            let mut lines = message.lines().filter(|line| !line.trim().is_empty());
            let first = lines.next().unwrap_or_default().trim();
            let line = Line::new()
                .add(Style::Bad, "✗")
                .plain(" torch.load(weights_only=True) refuses it: ");
            out.line(&line.plain(first))?;
            for rest in lines {
                out.line(&Line::new().plain("  ").plain(rest.trim()))?;
            }
            if outside > 0 && !program && report.verdict == Word::Unknown {
                let text = format!(
                    "  if you trust its author: sconce globals --python {}",
                    shell_word(file)
                );
                out.line(&Line::new().dim(text))?;
            }
            Ok(())
        }
    }
}

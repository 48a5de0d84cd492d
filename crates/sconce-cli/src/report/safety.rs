//! What a scan found, as several verbs print it.

use sconce::checkpoint::{Checkpoint, Error, FileKind, LoadOptions};
use sconce::scan::{Finding, Report, Rule, Scanner, Verdict};
use sconce::{Limits, Source};
use serde::Serialize;

use crate::output::{Line, Style, count, shell_word};

/// Findings that a card shows.
const MOST_SHOWN: usize = 3;

/// A finding in JSON.
#[derive(Serialize)]
pub struct Row<'a> {
    severity: &'static str,
    /// The rule's number, such as `SC001`.
    id: &'static str,
    rule: &'static str,
    file: Option<&'a str>,
    entry: &'a str,
    offset: Option<u64>,
    opcode: Option<&'static str>,
    global: Option<&'a str>,
    call: Option<&'a str>,
    reason: &'a str,
    count: usize,
}

/// Opens a file, and scans it while it is read.
pub fn open(
    source: &Source,
    options: LoadOptions,
    limits: &Limits,
) -> (Result<Checkpoint, Error>, Report) {
    // What a card says is worth no request for each record.
    let scanner = Scanner::new().sparse();
    let opened = options.observer(scanner.observer()).open_source(source.clone());
    let report = scanner.finish(source, opened.as_ref(), limits);
    (opened, report)
}

/// The findings for JSON, the worst first.
pub fn rows(report: &Report) -> Vec<Row<'_>> {
    report.findings.iter().map(row).collect()
}

fn row(finding: &Finding) -> Row<'_> {
    Row {
        severity: finding.severity().name(),
        id: finding.rule.id(),
        rule: finding.rule.name(),
        file: finding.file.as_deref(),
        entry: &finding.entry,
        offset: finding.offset,
        opcode: finding.opcode,
        global: finding.global.as_deref(),
        call: finding.call.as_deref(),
        reason: &finding.reason,
        count: finding.count,
    }
}

/// The verdict with its mark.
pub fn verdict(verdict: Verdict) -> Line {
    let (mark, style) = match verdict {
        Verdict::Clean => ("✓", Style::Good),
        Verdict::Unknown => ("?", Style::Warn),
        Verdict::Broken | Verdict::Dangerous => ("✗", Style::Bad),
    };
    Line::new().add(style, mark).plain(" ").add(style, verdict.name())
}

/// The lines of a card: the verdict and why. `file` is for the commands they name.
pub fn lines(report: &Report, file: &str) -> Vec<Line> {
    let mut lines = vec![verdict(report.verdict).plain(": ").plain(summary(report))];
    let worst = report.of(report.verdict);
    match report.verdict {
        Verdict::Clean => {}
        Verdict::Unknown => {
            let others = worst.filter(|finding| finding.rule != Rule::UnknownGlobal);
            lines.extend(others.take(MOST_SHOWN).map(line));
        }
        Verdict::Broken | Verdict::Dangerous => lines.extend(worst.take(MOST_SHOWN).map(line)),
    }
    if report.verdict == Verdict::Dangerous && !report.complete() {
        lines.push(Line::new().plain("not all of the file could be read"));
    }
    // Only findings in pickles have opcodes.
    if report.findings.iter().any(|finding| finding.opcode.is_some()) {
        let file = shell_word(file);
        let text = format!("sconce never runs them · sconce globals {file}   says what they are");
        lines.push(Line::new().dim(text));
    }
    lines
}

/// Why the verdict is what it is, in a few words.
pub fn summary(report: &Report) -> String {
    let findings = report.of(report.verdict).count() + report.left_out;
    match report.verdict {
        Verdict::Clean if report.format == FileKind::TorchScript => {
            let others =
                report.findings.iter().filter(|finding| finding.rule == Rule::CustomOperator);
            let others: Vec<&str> =
                others.filter_map(|finding| finding.global.as_deref()).collect();
            let text = "the code names no operator that reaches files, processes or the network";
            match others.len() {
                0 => text.to_owned(),
                1..=MOST_SHOWN => format!("{text}; of other libraries: {}", others.join(", ")),
                n => format!(
                    "{text}; {n} operators of other libraries: {}, …",
                    others[..MOST_SHOWN].join(", ")
                ),
            }
        }
        Verdict::Clean if report.format == FileKind::Pt2 => {
            "the program has operators, expressions and guards alone, none that reach outside"
                .to_owned()
        }
        Verdict::Clean if report.pickles == 0 => "data only, there is no pickle in it".to_owned(),
        Verdict::Clean if report.globals.is_empty() => "data only, no globals".to_owned(),
        Verdict::Clean => {
            format!("data only, {}, all allow-listed", count(report.globals.len(), "global"))
        }
        Verdict::Unknown => {
            let names: Vec<&str> = report
                .findings
                .iter()
                .filter(|finding| finding.rule == Rule::UnknownGlobal)
                .filter_map(|finding| finding.global.as_deref())
                .collect();
            if names.is_empty() {
                return count(findings, "finding");
            }
            let mut text = names[..names.len().min(MOST_SHOWN)].join(", ");
            if names.len() > MOST_SHOWN {
                text.push_str(&format!(", and {} more", names.len() - MOST_SHOWN));
            }
            let of = count(report.globals.len().max(names.len()), "global");
            format!("{} of {of} not allow-listed: {text}", names.len())
        }
        Verdict::Broken => "not all of it could be read, so nothing is proven".to_owned(),
        Verdict::Dangerous => match report.format {
            FileKind::TorchScript => {
                "its code or its pickles reach files, processes or the network".to_owned()
            }
            FileKind::Pt2 | FileKind::AotInductor => {
                "loading it with PyTorch runs code, or reaches out of the process".to_owned()
            }
            _ => "unpickling it runs code, or reaches out of the process".to_owned(),
        },
    }
}

/// A finding as one line: what, where, why.
pub fn line(finding: &Finding) -> Line {
    let mut line = Line::new();
    if let Some(what) = finding.call.as_ref().or(finding.global.as_ref()) {
        line = line.add(Style::Strong, what).plain(": ");
    }
    line = line.plain(&finding.reason);
    let mut place = finding.file.clone().unwrap_or_default();
    if !finding.entry.is_empty() {
        place = if place.is_empty() {
            finding.entry.clone()
        } else {
            format!("{place}: {}", finding.entry)
        };
    }
    if let Some(offset) = finding.offset {
        place.push_str(&format!(" @ {offset:#x}"));
    }
    if let Some(opcode) = finding.opcode {
        place.push_str(&format!(" {opcode}"));
    }
    if finding.count > 1 {
        place.push_str(&format!(", {} times", finding.count));
    }
    line.dim(format!("  ({})", place.trim()))
}

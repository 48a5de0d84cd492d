//! `sconce bench`: how long a TorchScript program takes, and where.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use sconce::run::{IValue, ProfileEntry, Session};
use sconce::syntax::SourceRange;
use serde::Serialize;

use crate::arguments::call::Call;
use crate::arguments::python::PythonOptions;
use crate::arguments::reading::Input;
use crate::call::deadline::Deadline;
use crate::call::input::Arguments;
use crate::call::session::{failure, session};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Align, Line, Out, SCHEMA_VERSION, Style, Table, count, grouped, percent_bar};
use crate::read::open::Say;

/// `sconce bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The archive.
    #[command(flatten)]
    pub archive: Input,
    /// An argument: a tensor of this size with numbers between 0 and 1 (repeatable; after --input)
    #[arg(long, value_name = "1x3x224x224", value_parser = shape)]
    pub shape: Vec<Shape>,
    /// Calls before those that are measured
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub warmup: u32,
    /// Calls that are measured (default: what fits in 3 seconds, at least 10)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,
    /// Rows of the table of operators
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub rows: usize,
    /// Show each operation with its place and the implementation that its kernel took
    #[arg(long)]
    pub explain: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// What is called.
    #[command(flatten)]
    pub call: Call,
    /// How Python files are compiled.
    #[command(flatten)]
    pub python: PythonOptions,
}

/// `--shape`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape(pub Vec<i64>);

/// `1x3x224x224`; nothing for a tensor without dimensions.
fn shape(text: &str) -> Result<Shape, String> {
    let sizes = text.split('x').filter(|size| !size.is_empty());
    let sizes: Option<Vec<i64>> =
        sizes.map(|size| size.parse().ok().filter(|size| *size >= 0)).collect();
    sizes.map(Shape).ok_or_else(|| "sizes with an x between them, such as 1x3x224x224".to_owned())
}
use crate::call::input;
use crate::call::python;
use crate::read::open;

/// What is measured at least, and for how long at most, when `--runs` does not say.
const FEWEST_RUNS: usize = 10;
const MOST_RUNS: usize = 10_000;
const MOST_TIME: Duration = Duration::from_secs(3);
/// Columns of a bar that stands for all.
const BAR: usize = 24;
/// Lines of one function that are shown.
const MOST_LINES: usize = 5;
/// Functions that are shown.
const MOST_FUNCTIONS: usize = 12;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    method: &'a str,
    threads: usize,
    warmup: u32,
    runs: usize,
    seconds: Times,
    /// By operator, longest first. Measuring takes time too, so they add up to more than a call.
    operators: Vec<Share<'a>>,
    /// By line of each function, longest first.
    functions: Vec<FunctionShare>,
    /// The vector instructions that kernels use.
    vector_instructions: &'static str,
    /// With `--explain`: every operation, longest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<Vec<Operation<'a>>>,
}

/// One operation of the program, where it stands.
#[derive(Debug, Clone, Serialize)]
struct Operation<'a> {
    operator: &'a str,
    /// Which of its implementations the kernel took, where it has several.
    implementation: Option<&'static str>,
    function: &'a str,
    place: &'a str,
    calls: f64,
    seconds: f64,
    share: f64,
}

/// Times of a call in seconds.
#[derive(Debug, Clone, Copy, Serialize)]
struct Times {
    min: f64,
    median: f64,
    mean: f64,
    p95: f64,
    max: f64,
}

/// What an operator takes of a call.
#[derive(Debug, Clone, Serialize)]
struct Share<'a> {
    operator: &'a str,
    calls: f64,
    seconds: f64,
    share: f64,
}

/// What a function takes of a call, without what it calls.
#[derive(Debug, Clone, Serialize)]
struct FunctionShare {
    function: String,
    seconds: f64,
    share: f64,
    lines: Vec<LineShare>,
}

#[derive(Debug, Clone, Serialize)]
struct LineShare {
    /// File and line as written, or in the archive's code.
    place: String,
    text: String,
    seconds: f64,
    share: f64,
}

pub fn run(args: &BenchArgs, out: &mut Out, say: Say) -> Verdict {
    let file = open::name(&args.archive.file);
    let (load, call) = (&args.archive.load, &args.call);
    call.budget.set_threads()?;
    let mut arguments = input::read_one(call, load, say)?;
    let mut generator = call.budget.generator();
    for Shape(sizes) in &args.shape {
        let made = input::constructor::rand(sizes, None, &mut generator);
        let wrong = |why| Failure::usage(format!("--shape {sizes:?}: {why}"));
        arguments.positional.push(made.map(IValue::Tensor).map_err(wrong)?);
    }
    let callable = python::runnable(&args.archive, &args.python, &call.budget.limits, say)?;
    let mut timed = session(&callable, call, call.budget.silent(), &file, say)?;
    let deadline = || call.budget.deadline(&file, say);
    let times =
        measure(args, &mut timed, &arguments, deadline).map_err(|error| failure(error, &file))?;
    drop(timed);
    let mut options = call.budget.silent();
    options.profile = true;
    let mut profiled = session(&callable, call, options, &file, say)?;
    let entries = profile(args, &mut profiled, &arguments, times.median)
        .map_err(|error| failure(error, &file))?;
    let document = Document {
        schema_version: SCHEMA_VERSION,
        file: &file,
        method: &call.method,
        threads: rayon::current_num_threads(),
        warmup: args.warmup,
        runs: times.runs,
        seconds: times.summary(),
        operators: operators(&entries),
        functions: functions(&entries),
        vector_instructions: sconce::run::vector_instructions(),
        operations: args.explain.then(|| operations(&entries)),
    };
    if args.json {
        out.json(&document)?;
    } else {
        print(&document, args.rows, out)?;
    }
    Ok(Outcome::Clean)
}

/// Measured times of calls, in order of length.
struct Measured {
    sorted: Vec<f64>,
    median: f64,
    runs: usize,
}

impl Measured {
    fn new(mut seconds: Vec<f64>) -> Measured {
        seconds.sort_by(f64::total_cmp);
        let median = quantile(&seconds, 0.5);
        Measured { median, runs: seconds.len(), sorted: seconds }
    }

    fn summary(&self) -> Times {
        Times {
            min: quantile(&self.sorted, 0.0),
            median: self.median,
            mean: self.sorted.iter().sum::<f64>() / self.runs.max(1) as f64,
            p95: quantile(&self.sorted, 0.95),
            max: quantile(&self.sorted, 1.0),
        }
    }
}

/// The number below which a part of sorted numbers lies, between two of them in proportion.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = part * sorted.len().saturating_sub(1) as f64;
    let number = |at: f64| sorted.get(at as usize).copied().unwrap_or(0.0);
    let (low, high) = (number(at.floor()), number(at.ceil()));
    low + (high - low) * at.fract()
}

fn measure(
    args: &BenchArgs,
    session: &mut Session,
    arguments: &Arguments,
    deadline: impl Fn() -> Option<Deadline>,
) -> Result<Measured, sconce::run::Error> {
    let method = &args.call.method;
    for _ in 0..args.warmup {
        let _deadline = deadline();
        arguments.call(session, method)?;
    }
    let started = Instant::now();
    let mut seconds = Vec::new();
    loop {
        let _deadline = deadline();
        let before = Instant::now();
        let result = arguments.call(session, method)?;
        seconds.push(before.elapsed().as_secs_f64());
        // What a result takes to be let go of is the caller's.
        drop(result);
        let enough = match args.runs {
            Some(runs) => seconds.len() >= runs as usize,
            None => {
                seconds.len() >= MOST_RUNS
                    || (seconds.len() >= FEWEST_RUNS && started.elapsed() > MOST_TIME)
            }
        };
        if enough {
            return Ok(Measured::new(seconds));
        }
    }
}

/// What the instructions of one call took, on average over some calls.
fn profile(
    args: &BenchArgs,
    session: &mut Session,
    arguments: &Arguments,
    median: f64,
) -> Result<Vec<Entry>, sconce::run::Error> {
    let rounds = ((0.5 / median.max(1e-7)) as usize).clamp(3, 200);
    for _ in 0..rounds {
        arguments.call(session, &args.call.method)?;
    }
    Ok(session.profile().into_iter().map(|entry| Entry::new(entry, rounds)).collect())
}

/// An instruction's part of a call.
struct Entry {
    operator: String,
    function: String,
    place: String,
    text: String,
    calls: f64,
    seconds: f64,
    implementation: Option<&'static str>,
}

impl Entry {
    fn new(entry: ProfileEntry, rounds: usize) -> Entry {
        let range = entry.range.map(|range| range.original().unwrap_or(range));
        let (place, text) = range.as_ref().map(place).unwrap_or_default();
        Entry {
            operator: entry.operator,
            function: entry.function,
            place,
            text,
            calls: entry.calls as f64 / rounds as f64,
            seconds: entry.nanoseconds as f64 * 1e-9 / rounds as f64,
            implementation: entry.implementation,
        }
    }
}

/// File and line of a place, and the text of that line.
fn place(range: &SourceRange) -> (String, String) {
    let (line, _) = range.source.line_column(range.range.start);
    let text = range.source.text().lines().nth(line as usize).unwrap_or_default().trim();
    let place = match range.file_line_column() {
        // Where Python's packages lie is of no interest.
        Some((file, line, _)) => {
            format!("{}:{line}", file.rsplit("site-packages/").next().unwrap_or(file))
        }
        None => format!("line {}", line + 1),
    };
    (place, text.to_owned())
}

fn total(entries: &[Entry]) -> f64 {
    entries.iter().map(|entry| entry.seconds).sum::<f64>().max(f64::MIN_POSITIVE)
}

/// The parts of a call by operator, longest first.
fn operators(entries: &[Entry]) -> Vec<Share<'_>> {
    let total = total(entries);
    let mut shares: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for entry in entries {
        let (calls, seconds) = shares.entry(&entry.operator).or_default();
        *calls += entry.calls;
        *seconds += entry.seconds;
    }
    let mut shares: Vec<Share<'_>> = shares
        .into_iter()
        .map(|(operator, (calls, seconds))| Share {
            operator,
            calls,
            seconds,
            share: seconds / total,
        })
        .collect();
    shares.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    shares
}

/// Every operation, longest first.
fn operations(entries: &[Entry]) -> Vec<Operation<'_>> {
    let total = total(entries);
    let mut operations: Vec<Operation<'_>> = entries
        .iter()
        .map(|entry| Operation {
            operator: &entry.operator,
            implementation: entry.implementation,
            function: &entry.function,
            place: &entry.place,
            calls: entry.calls,
            seconds: entry.seconds,
            share: entry.seconds / total,
        })
        .collect();
    operations.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    operations
}

/// The parts of a call by function and line, longest first.
fn functions(entries: &[Entry]) -> Vec<FunctionShare> {
    let total = total(entries);
    let mut functions: BTreeMap<&str, BTreeMap<(&str, &str), f64>> = BTreeMap::new();
    for entry in entries {
        let lines = functions.entry(&entry.function).or_default();
        *lines.entry((&entry.place, &entry.text)).or_default() += entry.seconds;
    }
    let mut out: Vec<FunctionShare> = Vec::new();
    for (function, lines) in functions {
        let seconds = lines.values().sum();
        let mut lines: Vec<LineShare> = lines
            .into_iter()
            .map(|((place, text), seconds)| LineShare {
                place: place.to_owned(),
                text: text.to_owned(),
                seconds,
                share: seconds / total,
            })
            .collect();
        lines.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let function = function.to_owned();
        out.push(FunctionShare { function, seconds, share: seconds / total, lines });
    }
    out.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    out
}

fn print(document: &Document<'_>, rows: usize, out: &mut Out) -> Result<(), Failure> {
    let times = &document.seconds;
    let line = Line::new()
        .add(Style::Strong, document.method)
        .plain("  median ")
        .add(Style::Number, time(times.median))
        .plain("  p95 ")
        .add(Style::Number, time(times.p95))
        .plain("  min ")
        .add(Style::Number, time(times.min))
        .dim(format!("  {}, {}", count(document.runs, "run"), count(document.threads, "thread")));
    out.line(&line)?;
    out.plain("")?;
    let mut table = Table::new(true)
        .column("operator", Align::Left, Style::Name)
        .column("calls", Align::Right, Style::Number)
        .column("time", Align::Right, Style::Number)
        .column("share", Align::Right, Style::Number)
        .column("", Align::Left, Style::Name);
    for share in document.operators.iter().take(rows) {
        table.row([
            share.operator,
            &grouped(share.calls.round() as i64),
            &time(share.seconds),
            &percent(share.share),
            &percent_bar(share.share, BAR),
        ]);
    }
    let rest = document.operators.get(rows..).unwrap_or_default();
    if !rest.is_empty() {
        let calls: f64 = rest.iter().map(|share| share.calls).sum();
        let seconds: f64 = rest.iter().map(|share| share.seconds).sum();
        let part = rest.iter().map(|share| share.share).sum();
        let name = format!("{} more", rest.len());
        let cells = [name, grouped(calls.round() as i64), time(seconds), percent(part)];
        table.row(cells);
    }
    out.table(&table)?;
    out.plain("")?;
    match &document.operations {
        Some(operations) => explain(operations, document.vector_instructions, rows, out),
        None => tree(&document.functions, out),
    }
}

/// A table of operations with the implementations that their kernels took.
fn explain(
    operations: &[Operation<'_>],
    vector_instructions: &str,
    rows: usize,
    out: &mut Out,
) -> Result<(), Failure> {
    out.line(&Line::new().dim(format!("kernels use {vector_instructions}")))?;
    let mut table = Table::new(true)
        .column("operation", Align::Left, Style::Name)
        .column("implementation", Align::Left, Style::Plain)
        .column("time", Align::Right, Style::Number)
        .column("share", Align::Right, Style::Number)
        .column("place", Align::Left, Style::Dim);
    for operation in operations.iter().take(rows) {
        table.row([
            operation.operator,
            operation.implementation.unwrap_or(""),
            &time(operation.seconds),
            &percent(operation.share),
            operation.place,
        ]);
    }
    out.table(&table)?;
    if let Some(rest) = operations.len().checked_sub(rows).filter(|&rest| rest > 0) {
        let more = format!("{} more: --rows {}", count(rest, "operation"), operations.len());
        out.line(&Line::new().dim(more))?;
    }
    Ok(())
}

/// Functions with their lines, each with its part of a call.
fn tree(functions: &[FunctionShare], out: &mut Out) -> Result<(), Failure> {
    let shown = functions.iter().take(MOST_FUNCTIONS).filter(|function| function.share >= 0.001);
    for function in shown {
        let line = Line::new()
            .add(Style::Number, percent(function.share))
            .plain("  ")
            .add(Style::Strong, &function.function)
            .plain("  ")
            .dim(time(function.seconds));
        out.line(&line.fit(out.width()))?;
        let lines = function.lines.iter().take(MOST_LINES);
        let lines: Vec<&LineShare> = lines.filter(|line| line.share >= 0.001).collect();
        for (at, share) in lines.iter().enumerate() {
            let branch = if at + 1 == lines.len() { "└─ " } else { "├─ " };
            let line = Line::new()
                .plain("   ")
                .dim(branch)
                .add(Style::Number, percent(share.share))
                .plain("  ")
                .plain(if share.text.is_empty() { "moving values" } else { &share.text })
                .dim(format!("  {}", share.place));
            out.line(&line.fit(out.width()))?;
        }
    }
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:5.1} %", 100.0 * share)
}

/// A time in a unit that leaves a number of at least one.
fn time(seconds: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| seconds >= *unit).unwrap_or((1e-9, "ns"));
    let number = seconds / unit;
    let digits = if number < 9.995 { 2 } else { 1 };
    format!("{number:.digits$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_on_the_command_line() {
        assert_eq!(shape("1x3"), Ok(Shape(vec![1, 3])));
        assert_eq!(shape(""), Ok(Shape(vec![])));
        assert!(shape("1x-3").is_err());
    }

    #[test]
    fn quantiles_lie_between_the_numbers() {
        let measured = Measured::new(vec![3.0, 1.0, 2.0, 4.0, 5.0]);
        let times = measured.summary();
        assert_eq!((times.min, times.median, times.max, times.mean), (1.0, 3.0, 5.0, 3.0));
        assert!((times.p95 - 4.8).abs() < 1e-9);
        assert_eq!(quantile(&[], 0.5), 0.0);
        assert_eq!(time(1.5e-3), "1.50 ms");
        assert_eq!(time(2.5e-5), "25.0 µs");
        assert_eq!(time(7e-9), "7.00 ns");
    }

    #[test]
    fn parts_are_summed_by_operator_and_by_line() {
        let entry = |operator: &str, function: &str, place: &str, seconds| Entry {
            operator: operator.to_owned(),
            function: function.to_owned(),
            place: place.to_owned(),
            text: String::new(),
            calls: 2.0,
            seconds,
            implementation: None,
        };
        let entries = [
            entry("aten::add", "f", "x.py:1", 1.0),
            entry("aten::mul", "g", "x.py:9", 5.0),
            entry("aten::add", "f", "x.py:2", 2.0),
        ];
        let shares = operators(&entries);
        assert_eq!((shares[0].operator, shares[0].share), ("aten::mul", 0.625));
        assert_eq!((shares[1].calls, shares[1].seconds), (4.0, 3.0));
        let functions = functions(&entries);
        assert_eq!((functions[1].function.as_str(), functions[1].lines.len()), ("f", 2));
        assert_eq!(functions[1].lines[0].place, "x.py:2");
    }
}

//! `sconce bench`: how long a program takes, and where.

mod comparison;
mod explain;
mod measured;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use comparison::{Compared, Comparison};
use explain::{FunctionShare, LineShare, Operation, Share, label};
use measured::{Measured, Times, time};

use crate::arguments::call::Call;
use crate::arguments::python::PythonOptions;
use crate::arguments::reading::Input;
use crate::call::input::{self, Arguments};
use crate::call::python;
use crate::call::session::{Called, failure, session};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Align, Line, Out, SCHEMA_VERSION, Style, Table, count, grouped, percent_bar};
use crate::read::open::{self, Say};

/// `sconce bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The archive.
    #[command(flatten)]
    pub archive: Input,
    /// Also call this program, in turns with the first, and show the ratio of medians (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rows", "explain"])]
    pub compare: Vec<OsString>,
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

pub fn run(args: &BenchArgs, out: &mut Out, say: Say) -> Verdict {
    let file = open::name(&args.archive.file);
    let (load, call) = (&args.archive.load, &args.call);
    call.budget.set_up_process()?;
    let arguments = input::read_one(call, load, say)?;
    if !args.compare.is_empty() {
        return side_by_side(args, &arguments, out, say);
    }
    let callable = python::runnable(&args.archive, &args.python, &call.budget.limits, say)?;
    let mut timed = [(file.clone(), session(&callable, call, call.budget.silent(), &file, say)?)];
    let times = measure(args, &mut timed, &arguments, say)?.pop();
    let times = times.unwrap_or_else(|| Measured::new(Vec::new()));
    drop(timed);
    let mut options = call.budget.silent();
    options.profile = true;
    let mut profiled = session(&callable, call, options, &file, say)?;
    let entries = explain::explain(&mut profiled, &arguments, times.median)
        .map_err(|error| failure(error, &file))?;
    let document = Document {
        schema_version: SCHEMA_VERSION,
        file: &file,
        method: call.method.or_forward(),
        threads: rayon::current_num_threads(),
        warmup: args.warmup,
        runs: times.runs,
        seconds: times.summary(),
        operators: explain::operators(&entries),
        functions: explain::functions(&entries),
        vector_instructions: sconce::run::vector_instructions(),
        operations: args.explain.then(|| explain::operations(&entries)),
    };
    if args.json {
        out.json(&document)?;
    } else {
        print(&document, args.rows, out)?;
    }
    Ok(Outcome::Clean)
}

/// `--compare`: several programs, in turns.
fn side_by_side(args: &BenchArgs, arguments: &Arguments, out: &mut Out, say: Say) -> Verdict {
    let call = &args.call;
    let mut programs = Vec::new();
    for file in std::iter::once(&args.archive.file).chain(&args.compare) {
        let input = Input { file: file.clone(), load: args.archive.load.clone() };
        let callable = python::runnable(&input, &args.python, &call.budget.limits, say)?;
        let name = open::name(file);
        let called = session(&callable, call, call.budget.silent(), &name, say)?;
        programs.push((name, called));
    }
    let times = measure(args, &mut programs, arguments, say)?;
    let first = times.first().map_or(0.0, |times| times.median);
    let comparison = Comparison {
        schema_version: SCHEMA_VERSION,
        method: call.method.or_forward(),
        threads: rayon::current_num_threads(),
        warmup: args.warmup,
        runs: times.first().map_or(0, |times| times.runs),
        programs: programs
            .into_iter()
            .zip(&times)
            .map(|((file, _), times)| Compared {
                file,
                seconds: times.summary(),
                ratio: times.median / first.max(f64::MIN_POSITIVE),
            })
            .collect(),
    };
    match args.json {
        true => out.json(&comparison)?,
        false => comparison::print(&comparison, out)?,
    }
    Ok(Outcome::Clean)
}

/// The times of the programs' calls, which take turns.
fn measure(
    args: &BenchArgs,
    programs: &mut [(String, Called)],
    arguments: &Arguments,
    say: Say,
) -> Result<Vec<Measured>, Failure> {
    let call = |(file, called): &mut (String, Called)| {
        let _deadline = args.call.budget.deadline(file, say);
        let before = Instant::now();
        let result = arguments.call(called).map_err(|error| failure(error, file))?;
        let seconds = before.elapsed().as_secs_f64();
        // What a result takes to be let go of is the caller's.
        drop(result);
        Ok::<f64, Failure>(seconds)
    };
    for _ in 0..args.warmup {
        for program in &mut *programs {
            call(program)?;
        }
    }
    let most_time = MOST_TIME * programs.len() as u32;
    let started = Instant::now();
    let mut seconds = vec![Vec::new(); programs.len()];
    for round in 1.. {
        for (program, seconds) in programs.iter_mut().zip(&mut seconds) {
            seconds.push(call(program)?);
        }
        let enough = match args.runs {
            Some(runs) => round >= runs as usize,
            None => round >= MOST_RUNS || (round >= FEWEST_RUNS && started.elapsed() > most_time),
        };
        if enough {
            break;
        }
    }
    Ok(seconds.into_iter().map(Measured::new).collect())
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
            &label(share.operator, share.steps),
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
        .column("place", Align::Left, Style::Dim)
        .yields();
    for operation in operations.iter().take(rows) {
        table.row([
            &label(operation.operator, operation.steps),
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

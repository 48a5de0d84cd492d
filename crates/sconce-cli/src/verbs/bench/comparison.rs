//! Several programs side by side: medians of calls that take turns, and what part each is of the first.

use serde::Serialize;

use super::measured::{Times, time};
use crate::error::Failure;
use crate::output::{Align, Line, Out, Style, Table, count};

/// Programs that were called with the same arguments, in turns.
#[derive(Debug, Serialize)]
pub struct Comparison<'a> {
    pub schema_version: u32,
    pub method: &'a str,
    pub threads: usize,
    pub warmup: u32,
    pub runs: usize,
    pub programs: Vec<Compared>,
}

/// One of them.
#[derive(Debug, Serialize)]
pub struct Compared {
    pub file: String,
    pub seconds: Times,
    /// The median as a part of the first program's.
    pub ratio: f64,
}

pub fn print(comparison: &Comparison<'_>, out: &mut Out) -> Result<(), Failure> {
    let mut table = Table::new(true)
        .column("program", Align::Left, Style::Name)
        .column("median", Align::Right, Style::Number)
        .column("p95", Align::Right, Style::Number)
        .column("min", Align::Right, Style::Number)
        .column("ratio", Align::Right, Style::Number);
    for compared in &comparison.programs {
        let times = &compared.seconds;
        table.row([
            compared.file.clone(),
            time(times.median),
            time(times.p95),
            time(times.min),
            format!("{:.2}", compared.ratio),
        ]);
    }
    out.table(&table)?;
    let text = format!(
        "{} of each in turns, {}",
        count(comparison.runs, "run"),
        count(comparison.threads, "thread")
    );
    out.line(&Line::new().dim(text))
}

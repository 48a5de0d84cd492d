//! `sconce stat`: what the numbers of every tensor look like.

use clap::{Args, ValueEnum};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use sconce::tensor::{ErrorKind, Stats, Tensor};
use serde::Serialize;

use crate::arguments::reading::{Input, Inputs};
use crate::arguments::selection::Names;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Align, Line, Out, SCHEMA_VERSION, Style, Table, count, grouped};
use crate::read::open::{self, Say};
use crate::read::several;
use crate::report::numbers::{self, short_number};
use crate::report::statistics::StatisticsRow;
use crate::select::glob::Filter;

/// `sconce stat`.
#[derive(Debug, Args)]
pub struct StatArgs {
    /// The files.
    #[command(flatten)]
    pub input: Inputs,
    /// Which names.
    #[command(flatten)]
    pub names: Names,
    /// Only tensors with NaN, infinities, subnormal numbers, or elements that are all zero or all equal
    #[arg(long)]
    pub anomalies: bool,
    /// Exit with 1 when a tensor has one of these
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    pub fail_on: Vec<Anomaly>,
    /// Threads to use (default: one a core)
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print no header
    #[arg(long)]
    pub no_header: bool,
}

/// What can be odd about a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Anomaly {
    /// Not a number
    Nan,
    /// Infinities
    Inf,
    /// Every element is zero
    Zero,
    /// Every element is equal, and there is more than one
    Constant,
    /// Numbers too small for full precision
    Subnormal,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    tensors: Vec<Row>,
    anomalous: usize,
}

#[derive(Serialize)]
struct Row {
    name: String,
    dtype: &'static str,
    shape: Vec<i64>,
    stats: Option<StatisticsRow>,
    /// Why there are none.
    skipped: Option<String>,
    anomalies: Vec<&'static str>,
    /// The index of the first NaN.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_nan: Option<Vec<i64>>,
    /// The index of the first infinity.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_inf: Option<Vec<i64>>,
    #[serde(skip)]
    figures: Option<Stats>,
    #[serde(skip)]
    found: Vec<Anomaly>,
}

/// Exit code 1 when `--fail-on` found something.
pub fn run(args: &StatArgs, out: &mut Out, say: Say) -> Verdict {
    several::each(&args.input, args.json, out, say, |input, out| one(args, input, out, say))
}

fn one(args: &StatArgs, input: &Input, out: &mut Out, say: Say) -> Verdict {
    let checkpoint = open::checkpoint(input, say)?;
    let filter = Filter::new(&args.names.include, &args.names.exclude)?;
    let mut tensors = checkpoint.tensors();
    tensors.retain(|named| filter.accepts(&named.name));
    let work = || -> Vec<Result<Row, Failure>> {
        let rows = tensors.par_iter().map(|named| row(&named.name, named.tensor));
        rows.collect()
    };
    let pool = ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0)).build();
    let rows = match pool {
        Ok(pool) => pool.install(work),
        Err(error) => return Err(Failure::unreadable(format!("cannot start threads: {error}"))),
    };
    let mut rows = rows.into_iter().collect::<Result<Vec<Row>, Failure>>()?;
    let failed = rows.iter().any(|row| row.found.iter().any(|kind| args.fail_on.contains(kind)));
    let anomalous = rows.iter().filter(|row| !row.found.is_empty()).count();
    let total = rows.len();
    if args.anomalies {
        rows.retain(|row| !row.found.is_empty());
    }
    if args.json {
        let file = open::name(&input.file);
        let schema_version = SCHEMA_VERSION;
        out.json(&Document { schema_version, file: &file, tensors: rows, anomalous })?;
        return Ok(Outcome::found(failed));
    }
    out.use_pager();
    out.table(&table(&rows, !args.no_header))?;
    if !args.no_header {
        let style = if anomalous == 0 { Style::Good } else { Style::Warn };
        let odd = match anomalous {
            0 => "no anomalies".to_owned(),
            1 => "1 tensor with anomalies".to_owned(),
            n => format!("{n} tensors with anomalies"),
        };
        out.line(&Line::new().plain(count(total, "tensor")).dim(" · ").add(style, odd))?;
    }
    Ok(Outcome::found(failed))
}

fn row(name: &str, tensor: &Tensor) -> Result<Row, Failure> {
    let mut row = Row {
        name: name.to_owned(),
        dtype: tensor.dtype().name(),
        shape: tensor.sizes().to_vec(),
        stats: None,
        skipped: None,
        anomalies: Vec::new(),
        first_nan: None,
        first_inf: None,
        figures: None,
        found: Vec::new(),
    };
    if !tensor.has_data() {
        row.skipped = Some("no data".to_owned());
        return Ok(row);
    }
    let read = numbers::numbers(tensor).and_then(|numbers| {
        let stats = numbers.stats()?;
        // What a sparse tensor lists stands elsewhere in the whole.
        if numbers.sizes() == tensor.sizes() {
            if stats.nan > 0 {
                row.first_nan = index_of_first(&numbers, f64::is_nan)?;
            }
            if stats.pos_inf + stats.neg_inf > 0 {
                row.first_inf = index_of_first(&numbers, f64::is_infinite)?;
            }
        }
        Ok(stats)
    });
    match read {
        Ok(stats) => {
            row.found = anomalies(&stats);
            row.anomalies = row.found.iter().copied().map(name_of).collect();
            row.stats = Some(StatisticsRow::from(&stats));
            row.figures = Some(stats);
        }
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Limit) => {
            row.skipped = Some(error.to_string());
        }
        Err(error) => {
            return Err(Failure::unreadable(format!("cannot read '{name}': {error}")));
        }
    }
    Ok(row)
}

/// The index of the first element, in row-major order, of which something holds.
fn index_of_first(
    tensor: &Tensor,
    wanted: fn(f64) -> bool,
) -> Result<Option<Vec<i64>>, sconce::tensor::Error> {
    let Some(position) = tensor.position(wanted)? else { return Ok(None) };
    let mut rest = position as i64;
    let mut index: Vec<i64> = tensor.sizes().to_vec();
    for size in index.iter_mut().rev() {
        let whole = (*size).max(1);
        *size = rest % whole;
        rest /= whole;
    }
    Ok(Some(index))
}

/// What is odd about a tensor, and where it begins: `nan at [3, 0], zero`.
fn odd(row: &Row) -> String {
    let mut words = Vec::new();
    for kind in &row.found {
        let place = match kind {
            Anomaly::Nan => row.first_nan.as_ref(),
            Anomaly::Inf => row.first_inf.as_ref(),
            _ => None,
        };
        let name = name_of(*kind);
        words.push(place.map_or(name.to_owned(), |index| format!("{name} at {index:?}")));
    }
    words.join(", ")
}

fn anomalies(stats: &Stats) -> Vec<Anomaly> {
    let more = stats.count > 1;
    let found = [
        (Anomaly::Nan, stats.nan > 0),
        (Anomaly::Inf, stats.pos_inf + stats.neg_inf > 0),
        (Anomaly::Zero, more && stats.zeros == stats.count),
        (Anomaly::Constant, more && stats.constant && stats.zeros < stats.count),
        (Anomaly::Subnormal, stats.subnormal > 0),
    ];
    found.into_iter().filter_map(|(kind, found)| found.then_some(kind)).collect()
}

fn name_of(kind: Anomaly) -> &'static str {
    match kind {
        Anomaly::Nan => "nan",
        Anomaly::Inf => "inf",
        Anomaly::Zero => "zero",
        Anomaly::Constant => "constant",
        Anomaly::Subnormal => "subnormal",
    }
}

fn table(rows: &[Row], header: bool) -> Table {
    let mut table = Table::new(header)
        .column("name", Align::Left, Style::Name)
        .column("dtype", Align::Left, Style::Plain)
        .column("shape", Align::Left, Style::Plain);
    for title in ["mean", "std", "min", "max"] {
        table = table.column(title, Align::Right, Style::Number);
    }
    table = table.column("L2", Align::Right, Style::Number).spare();
    for title in ["zeros", "nan", "inf"] {
        table = table.column(title, Align::Right, Style::Number).usual("0");
    }
    let mut table = table.column("odd", Align::Left, Style::Warn);
    for row in rows {
        let mut cells = vec![row.name.clone(), row.dtype.to_owned(), format!("{:?}", row.shape)];
        match &row.figures {
            Some(stats) => {
                let number =
                    |value: Option<f64>| value.map_or_else(|| "-".to_owned(), short_number);
                cells.extend([stats.mean, stats.std, stats.min, stats.max].map(number));
                cells.push(short_number(stats.l2));
                let infinite = stats.pos_inf + stats.neg_inf;
                cells.extend([stats.zeros, stats.nan, infinite].map(grouped));
                cells.push(odd(row));
            }
            None => {
                cells.extend(std::iter::repeat_n("-".to_owned(), 8));
                cells.push(row.skipped.clone().unwrap_or_default());
            }
        }
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd() {
        let cases: [(&[f32], &[Anomaly]); 7] = [
            (&[1.0, 2.0], &[]),
            (&[0.0], &[]),
            (&[0.0, 0.0], &[Anomaly::Zero]),
            (&[2.0, 2.0], &[Anomaly::Constant]),
            (&[1.0, f32::NAN], &[Anomaly::Nan]),
            (&[1.0, f32::NEG_INFINITY], &[Anomaly::Inf]),
            (&[1.0, 1e-40], &[Anomaly::Subnormal]),
        ];
        for (values, want) in cases {
            let tensor = Tensor::from_vec(values.to_vec(), &[values.len() as i64]).unwrap();
            assert_eq!(anomalies(&tensor.stats().unwrap()), want, "{values:?}");
        }
    }
}

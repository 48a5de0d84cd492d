//! `sconce ls`: the tensors, a row each.

use std::collections::HashMap;

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use sconce::checkpoint::Checkpoint;
use sconce::tensor::{DType, Tensor};
use serde::Serialize;

use crate::arguments::reading::{Input, Inputs};
use crate::arguments::selection::Names;
use crate::arguments::values::dtype;
use crate::error::{Failure, Outcome};
use crate::output::{Align, Line, Out, SCHEMA_VERSION, Separated, Style, Table, count, grouped};
use crate::read::open::{self, Say};
use crate::read::several;
use crate::report::elements;
use crate::report::numbers::natural;
use crate::report::tensor_rows::{self, Row};
use crate::select::glob::Filter;
use crate::select::pick;

/// `sconce ls`.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// The files.
    #[command(flatten)]
    pub input: Inputs,
    /// Show layout, stride, offset, storage, device and requires_grad too
    #[arg(short, long)]
    pub long: bool,
    /// Order of the rows (default: the file's)
    #[arg(long, value_enum, value_name = "KEY")]
    pub sort: Option<SortKey>,
    /// Reverse the order
    #[arg(long)]
    pub reverse: bool,
    /// Which names.
    #[command(flatten)]
    pub names: Names,
    /// Only tensors of this dtype (repeatable)
    #[arg(long, value_name = "DTYPE", value_parser = dtype)]
    pub dtype: Vec<DType>,
    /// Only the first N rows
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Show the SHA-256 of the elements: row-major, little-endian
    #[arg(long)]
    pub sha256: bool,
    /// How to print.
    #[command(flatten)]
    pub form: LsForm,
    /// Print no header and no totals
    #[arg(long)]
    pub no_header: bool,
}

/// How `sconce ls` prints.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct LsForm {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print a JSON object on a line for each tensor
    #[arg(long)]
    pub jsonl: bool,
    /// Print CSV
    #[arg(long)]
    pub csv: bool,
    /// Print tab-separated values
    #[arg(long)]
    pub tsv: bool,
    /// Print names only, each ended by a NUL byte
    #[arg(short = '0', long = "null")]
    pub null: bool,
}

/// `--sort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SortKey {
    /// By name
    Name,
    /// By bytes, largest first
    Size,
    /// By number of elements, largest first
    Numel,
    /// By place in the file
    Offset,
    /// By dtype
    Dtype,
}
use crate::error::Verdict;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    format: &'static str,
    tensors: Vec<&'a Row>,
    arrays: Vec<ArrayRow>,
    totals: Totals,
}

#[derive(Serialize)]
struct ArrayRow {
    name: String,
    dtype: String,
    shape: Vec<i64>,
}

/// What the listed tensors add up to.
#[derive(Serialize)]
struct Totals {
    tensors: usize,
    numel: i64,
    nbytes: u64,
    storages: usize,
    storage_bytes: u64,
}

pub fn run(args: &LsArgs, out: &mut Out, say: Say) -> Verdict {
    several::each(&args.input, args.form.json || args.form.jsonl, out, say, |input, out| {
        one(args, input, out, say)
    })
}

fn one(args: &LsArgs, input: &Input, out: &mut Out, say: Say) -> Verdict {
    let checkpoint = open::checkpoint(input, say)?;
    let filter = Filter::new(&args.names.include, &args.names.exclude)?;
    let mut listed = tensor_rows::rows(&checkpoint);
    let firsts = first_names(&listed);
    listed.retain(|(row, tensor)| {
        let dtype = args.dtype.is_empty() || args.dtype.contains(&tensor.dtype());
        dtype && filter.accepts(&row.name)
    });
    sort(&mut listed, args);
    if args.sha256 {
        digests(&mut listed)?;
    }
    let rows: Vec<&Row> = listed.iter().map(|(row, _)| row).collect();
    if args.form.json {
        let arrays = arrays(&checkpoint, &filter);
        let file = open::name(&input.file);
        let format = checkpoint.format().name();
        let totals = totals(&rows);
        let schema_version = SCHEMA_VERSION;
        out.json(&Document { schema_version, file: &file, format, tensors: rows, arrays, totals })?;
    } else if args.form.jsonl {
        rows.iter().try_for_each(|row| out.json_line(row))?;
    } else if args.form.null {
        for row in rows {
            out.raw(row.name.as_bytes())?;
            out.raw(b"\0")?;
        }
    } else if args.form.csv || args.form.tsv {
        let form = if args.form.csv { Separated::Comma } else { Separated::Tab };
        separated(form, &rows, args, out)?;
    } else {
        out.use_pager();
        table(&rows, &firsts, args, out)?;
        if !args.no_header {
            let arrays = pick::count_arrays(pick::arrays(&checkpoint));
            out.line(&summary(&totals(&rows), arrays, out))?;
        }
    }
    Ok(Outcome::Clean)
}

fn sort(listed: &mut Vec<(Row, &Tensor)>, args: &LsArgs) {
    match args.sort {
        None => {}
        Some(SortKey::Name) => listed.sort_by(|(a, _), (b, _)| natural(&a.name, &b.name)),
        Some(SortKey::Size) => listed.sort_by_key(|(row, _)| std::cmp::Reverse(row.nbytes)),
        Some(SortKey::Numel) => listed.sort_by_key(|(row, _)| std::cmp::Reverse(row.numel)),
        Some(SortKey::Offset) => listed.sort_by_key(|(row, _)| {
            (row.file_offset.unwrap_or(u64::MAX), row.storage, row.storage_offset)
        }),
        Some(SortKey::Dtype) => listed.sort_by_key(|(row, _)| row.dtype),
    }
    if args.reverse {
        listed.reverse();
    }
    if let Some(top) = args.top {
        listed.truncate(top);
    }
}

fn digests(listed: &mut [(Row, &Tensor)]) -> Result<(), Failure> {
    listed.par_iter_mut().try_for_each(|(row, tensor)| {
        let digest = elements::digest(tensor);
        let digest = digest
            .map_err(|error| Failure::unreadable(format!("cannot read '{}': {error}", row.name)))?;
        if let Some((sha256, nbytes)) = digest {
            row.sha256 = Some(sha256);
            row.nbytes = nbytes;
        }
        Ok(())
    })
}

fn arrays(checkpoint: &Checkpoint, filter: &Filter) -> Vec<ArrayRow> {
    let arrays = checkpoint.arrays().into_iter().filter(|named| filter.accepts(&named.name));
    let row = |named: sconce::checkpoint::NamedArray<'_>| ArrayRow {
        name: named.name,
        dtype: named.array.dtype.name(),
        shape: named.array.shape.clone(),
    };
    arrays.map(row).collect()
}

fn totals(rows: &[&Row]) -> Totals {
    let mut storages: Vec<(usize, u64)> =
        rows.iter().filter_map(|row| Some((row.storage?, row.storage_bytes?))).collect();
    storages.sort_unstable();
    storages.dedup();
    Totals {
        tensors: rows.len(),
        numel: rows.iter().fold(0i64, |sum, row| sum.saturating_add(row.numel)),
        nbytes: rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.nbytes)),
        storages: storages.len(),
        storage_bytes: storages.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes)),
    }
}

/// For every row in the file's order: the first tensor that is the same view of its storage, or the
/// first one in it.
fn first_names(listed: &[(Row, &Tensor)]) -> Vec<Option<String>> {
    let mut seen: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut out = Vec::with_capacity(listed.len());
    for (at, (row, _)) in listed.iter().enumerate() {
        let Some(storage) = row.storage else {
            out.push(None);
            continue;
        };
        let others = seen.entry(storage).or_default();
        let same = others.iter().find(|&&other| {
            let other = &listed[other].0;
            (&other.shape, &other.stride, other.storage_offset, other.dtype)
                == (&row.shape, &row.stride, row.storage_offset, row.dtype)
        });
        out.push(match (same, others.first()) {
            (Some(&other), _) => Some(format!("= {}", listed[other].0.name)),
            (None, Some(&other)) => Some(format!("in {}", listed[other].0.name)),
            (None, None) => None,
        });
        // A few tensors to compare with are enough: a file may hold a million views.
        if others.len() < 64 {
            others.push(at);
        }
    }
    out
}

fn table(
    rows: &[&Row],
    firsts: &[Option<String>],
    args: &LsArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    let sizes = out.sizes();
    let mut table = Table::new(!args.no_header)
        .column("name", Align::Left, Style::Name)
        .column("dtype", Align::Left, Style::Plain)
        .column("shape", Align::Left, Style::Plain)
        .column("size", Align::Right, Style::Number);
    if args.long {
        for (title, usual) in [
            ("layout", "strided"),
            ("stride", ""),
            ("offset", ""),
            ("storage", ""),
            ("device", "cpu"),
            ("grad", "no"),
        ] {
            table = table.column(title, Align::Left, Style::Plain).usual(usual);
        }
    }
    if args.sha256 {
        table = table.column("sha256", Align::Left, Style::Dim);
    }
    let shared = rows.iter().any(|row| firsts[row.order].is_some());
    if shared {
        table = table.column("shares", Align::Left, Style::Dim).yields();
    }
    for row in rows {
        let mut cells =
            vec![row.name.clone(), row.dtype.to_owned(), row.shape_text(), sizes.show(row.nbytes)];
        if args.long {
            let dash = || "-".to_owned();
            cells.extend([
                row.layout.to_owned(),
                row.stride.as_ref().map_or_else(dash, |stride| format!("{stride:?}")),
                row.storage_offset.map_or_else(dash, |offset| offset.to_string()),
                row.storage.zip(row.storage_bytes).map_or_else(dash, |(storage, bytes)| {
                    format!("#{storage} {}", sizes.show(bytes))
                }),
                row.device.clone(),
                if row.requires_grad { "yes" } else { "no" }.to_owned(),
            ]);
        }
        if args.sha256 {
            cells.push(row.sha256.clone().unwrap_or_else(|| "-".to_owned()));
        }
        if shared {
            cells.push(firsts[row.order].clone().unwrap_or_default());
        }
        table.row(cells);
    }
    out.table(&table)
}

fn summary(totals: &Totals, arrays: Option<String>, out: &Out) -> Line {
    let sizes = out.sizes();
    let mut line = Line::new()
        .add(Style::Strong, count(totals.tensors, "tensor"))
        .dim(" · ")
        .plain(format!("{} elements", grouped(totals.numel)))
        .dim(" · ")
        .plain(sizes.show(totals.nbytes));
    if totals.storages > 0 && totals.storage_bytes != totals.nbytes {
        let storages = count(totals.storages, "storage");
        line = line.dim(" · ").plain(format!("{storages}, {}", sizes.show(totals.storage_bytes)));
    }
    if let Some(arrays) = arrays {
        line = line.dim(" · ").plain(arrays);
    }
    line
}

fn separated(form: Separated, rows: &[&Row], args: &LsArgs, out: &mut Out) -> Result<(), Failure> {
    let titles = [
        "name",
        "dtype",
        "layout",
        "shape",
        "stride",
        "storage_offset",
        "requires_grad",
        "device",
        "storage",
        "storage_bytes",
        "numel",
        "nbytes",
        "sha256",
    ];
    if !args.no_header {
        out.raw(form.row(titles).as_bytes())?;
    }
    for row in rows {
        let list = |list: &Option<Vec<i64>>| {
            list.as_ref().map(|list| list.iter().map(i64::to_string).collect::<Vec<_>>().join("x"))
        };
        let text = |value: Option<String>| value.unwrap_or_default();
        let cells = [
            row.name.clone(),
            row.dtype.to_owned(),
            row.layout.to_owned(),
            text(list(&row.shape)),
            text(list(&row.stride)),
            text(row.storage_offset.map(|offset| offset.to_string())),
            row.requires_grad.to_string(),
            row.device.clone(),
            text(row.storage.map(|storage| storage.to_string())),
            text(row.storage_bytes.map(|bytes| bytes.to_string())),
            row.numel.to_string(),
            row.nbytes.to_string(),
            text(row.sha256.clone()),
        ];
        out.raw(form.row(cells).as_bytes())?;
    }
    Ok(())
}

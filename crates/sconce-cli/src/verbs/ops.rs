//! `sconce ops`: the operators that a TorchScript program uses.

use serde::Serialize;

use super::SCHEMA_VERSION;
use crate::cli::OpsArgs;
use crate::error::Outcome;
use crate::output::{Align, Line, Out, Style, Table, count};
use crate::run::Verdict;
use crate::{open, script};

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    operators: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    count: usize,
    /// Whether this build can run it.
    runs: bool,
}

/// There is no verb that runs programs yet.
const RUNS: bool = false;

pub fn run(args: &OpsArgs, out: &mut Out) -> Verdict {
    let file = open::name(&args.input.file);
    let module = script::module(&args.input.file, &args.input.load)?;
    let operators = module.operators().map_err(|error| script::failure(error, &file))?;
    if args.json {
        let rows = operators.iter();
        let operators =
            rows.map(|used| Row { name: &used.name, count: used.count, runs: RUNS }).collect();
        out.json(&Document { schema_version: SCHEMA_VERSION, file: &file, operators })?;
        return Ok(Outcome::Clean);
    }
    out.use_pager();
    let mut table = Table::new(!args.no_header)
        .column("operator", Align::Left, Style::Plain)
        .column("uses", Align::Right, Style::Number);
    for used in &operators {
        table.row([used.name.as_str(), &used.count.to_string()]);
    }
    out.table(&table)?;
    if !args.no_header {
        let places: usize = operators.iter().map(|used| used.count).sum();
        let text = format!(
            "{} at {} · this build shows programs and runs none",
            count(operators.len(), "operator"),
            count(places, "place")
        );
        out.line(&Line::new().dim(text))?;
    }
    Ok(Outcome::Clean)
}

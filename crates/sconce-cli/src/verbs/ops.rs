//! `sconce ops`: the operators that a program uses.

use std::collections::BTreeMap;

use clap::Args;
use sconce::export_program::Program;
use sconce::jit::Module;
use serde::Serialize;

use crate::arguments::method::MethodChoice;
use crate::arguments::python::PythonOptions;
use crate::arguments::reading::Input;
use crate::call::{method, python, session};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Align, Line, Out, SCHEMA_VERSION, Style, Table, count, shell_word};
use crate::read::{archive, exported, open};

/// `sconce ops`.
#[derive(Debug, Args)]
pub struct OpsArgs {
    /// The archive.
    #[command(flatten)]
    pub input: Input,
    /// Of one method and what it calls (default: all of the program).
    #[command(flatten)]
    pub method: MethodChoice,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print no header and no total
    #[arg(long)]
    pub no_header: bool,
    /// How Python files are compiled.
    #[command(flatten)]
    pub python: PythonOptions,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    operators: Vec<Row>,
    /// Why the program cannot be run, where that is not an operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<String>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    count: usize,
    /// Whether this build can run it; absent where that is not known before the program is imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<bool>,
    /// Why no build will: what it would touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'static str>,
}

pub fn run(args: &OpsArgs, out: &mut Out) -> Verdict {
    let file = open::name(&args.input.file);
    if let Some((rows, wrong)) = exported(args, &file)? {
        return print(args, &file, rows, wrong, out);
    }
    let module = python::module(&args.input, &args.python)?;
    let method = args.method.given();
    if let Some(path) = method {
        method::find(&module, path, &file)?;
    }
    let operators = match method {
        Some(path) => module.operators_of(path),
        None => module.operators(),
    };
    let operators = operators.map_err(|error| archive::failure(error, &file))?;
    let mut lacking = lacking(&module, method, &file)?;
    let mut rows: Vec<Row> = Vec::new();
    for used in &operators {
        let lack = lacking.remove(&used.name);
        let (runs, refused) = (Some(lack.is_none()), lack.and_then(|lack| lack.refused));
        rows.push(Row { name: used.name.clone(), count: used.count, runs, refused });
    }
    // What is not an operator but a use of one, such as a kind of value.
    rows.extend(lacking.into_iter().map(|(name, lack)| Row {
        name,
        count: lack.count,
        runs: Some(false),
        refused: lack.refused,
    }));
    print(args, &file, rows, None, out)
}

/// The operators of an exported program, and why it cannot be imported, if so.
type Exported = (Vec<Row>, Option<String>);

/// The operators of a program of torch.export, if the file is one, most used first; and why it cannot be run where
/// that is something other than an operator.
fn exported(args: &OpsArgs, file: &str) -> Result<Option<Exported>, Failure> {
    let load = &args.input.load;
    if python::split(&args.input.file).is_some() || args.input.file == "-" {
        return Ok(None);
    }
    let source = open::source(&args.input.file, open::map_mode(load), &open::limits(load))?;
    if !exported::is_exported(&source) {
        return Ok(None);
    }
    if args.method.given().is_some() {
        let message = "a program of torch.export is one method: its operators are listed whole";
        return Err(Failure::usage(message)
            .in_file(file)
            .help(format!("sconce ops {}", shell_word(file))));
    }
    let archive = exported::archive(source, load, file)?;
    let program = exported::program(&archive, load, file)?;
    let (lacking, wrong) = match archive
        .model(load.model.as_deref())
        .and_then(|model| Program::of_archive(&archive, model))
    {
        Ok(program) => (Some(lacking(program.module(), None, file)?), None),
        Err(error) => (None, Some(error.message().to_owned())),
    };
    let rows = program.targets().into_iter().map(|(target, count)| {
        let operator = target.strip_prefix("torch.ops.");
        let name = operator.unwrap_or(target).to_owned();
        let known_as = operator.map_or(name.clone(), full_name);
        let lack = lacking.as_ref().map(|lacking| lacking.get(&known_as));
        let refused = lack.flatten().and_then(|lack| lack.refused);
        Row { name, count, runs: lack.map(|lack| lack.is_none()), refused }
    });
    Ok(Some((rows.collect(), wrong)))
}

/// The name in TorchScript of an operator such as `aten.add.Tensor`.
fn full_name(target: &str) -> String {
    let name = target.strip_suffix(".default").unwrap_or(target);
    name.replacen('.', "::", 1)
}

fn print(
    args: &OpsArgs,
    file: &str,
    operators: Vec<Row>,
    wrong: Option<String>,
    out: &mut Out,
) -> Verdict {
    if args.json {
        out.json(&Document { schema_version: SCHEMA_VERSION, file, operators, wrong })?;
        return Ok(Outcome::Clean);
    }
    out.use_pager();
    let mut table = Table::new(!args.no_header)
        .column("operator", Align::Left, Style::Plain)
        .column("uses", Align::Right, Style::Number)
        .column("", Align::Left, Style::Bad);
    for used in &operators {
        let note = match (used.runs, used.refused) {
            (None | Some(true), _) => "",
            (Some(false), None) => "missing",
            (Some(false), Some(_)) => "refused",
        };
        table.row([used.name.as_str(), &used.count.to_string(), note]);
    }
    out.table(&table)?;
    if !args.no_header {
        let places: usize = operators.iter().map(|used| used.count).sum();
        let missing = operators.iter().filter(|used| used.runs == Some(false)).count();
        let verdict = match missing {
            _ if wrong.is_some() => " · sconce run cannot run it".to_owned(),
            0 => " · sconce run has them all".to_owned(),
            _ => format!(" · sconce run lacks {missing} of them"),
        };
        let text = format!(
            "{} at {}{verdict}",
            count(operators.len(), "operator"),
            count(places, "place")
        );
        out.line(&Line::new().dim(text))?;
    }
    if let Some(wrong) = wrong {
        out.line(&Line::new().add(Style::Bad, wrong))?;
    }
    Ok(Outcome::Clean)
}

/// Something that `sconce run` cannot do.
#[derive(Default)]
struct Lack {
    /// At how many places.
    count: usize,
    refused: Option<&'static str>,
}

/// What `sconce run` cannot do of what a program uses.
fn lacking(
    module: &Module,
    method: Option<&str>,
    file: &str,
) -> Result<BTreeMap<String, Lack>, Failure> {
    let needs = match method {
        Some(path) => sconce::run::needs_of(module, path),
        None => sconce::run::needs(module),
    };
    let needs = needs.map_err(|error| session::failure(error, file))?;
    let mut all: BTreeMap<String, Lack> = BTreeMap::new();
    for need in needs {
        let refused = need.refused();
        let lack = all.entry(need.what).or_default();
        lack.count += 1;
        lack.refused = refused;
    }
    Ok(all)
}

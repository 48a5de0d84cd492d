//! `sconce graph`: a method as PyTorch's intermediate representation.

use clap::Args;
use sconce::ErrorKind;
use sconce::jit::Scripted;
use sconce::jit::ir::Graph;
use serde::Serialize;

use crate::arguments::method::MethodChoice;
use crate::arguments::python::PythonOptions;
use crate::arguments::reading::Input;
use crate::error::{Failure, Outcome, Verdict};
use crate::graph::dot::dot;
use crate::graph::layered_layout::Picture;
use crate::graph::svg::svg;
use crate::output::{Out, SCHEMA_VERSION};

/// `sconce graph`.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// The archive.
    #[command(flatten)]
    pub input: Input,
    /// The method, or the qualified name of a function (default: forward).
    #[command(flatten)]
    pub method: MethodChoice,
    /// Put the bodies of all methods and functions in the place of their calls
    #[arg(long)]
    pub inlined: bool,
    /// Do that, and put the values of attributes in the place of their reads, as
    /// torch.jit.freeze begins
    #[arg(long)]
    pub freeze: bool,
    /// How to print.
    #[command(flatten)]
    pub form: GraphForm,
    /// How Python files are compiled.
    #[command(flatten)]
    pub python: PythonOptions,
}

/// How `sconce graph` prints.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct GraphForm {
    /// Print Graphviz's language
    #[arg(long)]
    pub dot: bool,
    /// Draw it as SVG
    #[arg(long)]
    pub svg: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
use crate::call::{method, python};
use crate::read::archive;
use crate::read::open;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    method: &'a str,
    graph: String,
}

pub fn run(args: &GraphArgs, out: &mut Out) -> Verdict {
    let file = open::name(&args.input.file);
    let scripted = python::scripted(&args.input.file, &args.python, python::for_a_look())?;
    let module = match &scripted {
        Some(scripted) => scripted.module().clone(),
        None => archive::module(&args.input.file, &args.input.load)?,
    };
    let method = args.method.or_forward();
    let own = scripted.as_ref().and_then(Scripted::graph);
    let graph = if args.freeze {
        module.frozen_graph(method)
    } else if args.inlined {
        module.inlined_graph(method)
    } else if let (Some(graph), None) = (own, args.method.given()) {
        Ok(Graph::clone(graph))
    } else {
        module.graph_of(method).map(|graph| Graph::clone(&graph))
    };
    let graph = match graph {
        Ok(graph) => graph,
        Err(error) if error.kind() == ErrorKind::Caller => {
            return method::unknown(&module, method, archive::failure(error, &file));
        }
        Err(error) => return Err(archive::failure(error, &file)),
    };
    if args.form.json {
        let graph = graph.to_string();
        out.json(&Document { schema_version: SCHEMA_VERSION, file: &file, method, graph })?;
        return Ok(Outcome::Clean);
    }
    if args.form.svg {
        let drawn = svg(&Picture::new(&graph)).map_err(|text| {
            let help = "sconce graph --dot gives Graphviz the same graph";
            Failure::unreadable(text).in_file(&file).help(help)
        })?;
        out.text(&drawn)?;
        return Ok(Outcome::Clean);
    }
    if args.form.dot {
        out.text(&dot(&Picture::new(&graph), method))?;
        return Ok(Outcome::Clean);
    }
    out.use_pager();
    out.text(&graph.to_string())?;
    Ok(Outcome::Clean)
}

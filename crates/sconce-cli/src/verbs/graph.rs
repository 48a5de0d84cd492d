//! `sconce graph`: a method as PyTorch's intermediate representation.

use sconce::jit::ir::Graph;
use sconce::jit::{Module, Scripted};
use serde::Serialize;

use super::SCHEMA_VERSION;
use super::graph_dot::dot;
use super::graph_picture::Picture;
use super::graph_svg::svg;
use crate::cli::GraphArgs;
use crate::error::{Failure, Outcome};
use crate::output::Out;
use crate::run::Verdict;
use crate::{open, python, script};

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
        None => script::module(&args.input.file, &args.input.load)?,
    };
    let method = match &args.method {
        Some(name) => name.as_str(),
        None if module.method("forward").is_ok() => "forward",
        None => return Err(no_forward(&module, &file)),
    };
    let own = scripted.as_ref().and_then(Scripted::graph);
    let graph = if args.freeze {
        module.frozen_graph(method)
    } else if args.inlined {
        module.inlined_graph(method)
    } else if let (Some(graph), None) = (own, &args.method) {
        Ok(Graph::clone(graph))
    } else {
        module.graph_of(method).map(|graph| Graph::clone(&graph))
    };
    let graph = graph.map_err(|error| script::failure(error, &file))?;
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

/// There is no method to show without being asked for one.
fn no_forward(module: &Module, file: &str) -> Failure {
    const MOST: usize = 8;
    let failure = Failure::usage("the module has no method 'forward'").in_file(file);
    let names: Vec<String> = module.methods().into_iter().map(|method| method.name).collect();
    match &names[..] {
        [] => failure.help(format!("sconce tree {file}    shows its submodules, which may have")),
        names => {
            let shown = names[..names.len().min(MOST)].join(", ");
            failure.help(format!("name one that it has: {shown}"))
        }
    }
}

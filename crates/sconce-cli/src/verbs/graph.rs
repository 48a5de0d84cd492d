//! `sconce graph`: a method as PyTorch's intermediate representation.

use sconce::jit::ir::Graph;
use serde::Serialize;

use super::SCHEMA_VERSION;
use super::graph_dot::{dot, svg};
use crate::cli::GraphArgs;
use crate::error::{Failure, Outcome};
use crate::output::Out;
use crate::run::Verdict;
use crate::{open, script};

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    method: &'a str,
    graph: String,
}

pub fn run(args: &GraphArgs, out: &mut Out) -> Verdict {
    let module = script::module(&args.input.file, &args.input.load)?;
    let method = args.method.as_deref().unwrap_or("forward");
    let graph = if args.freeze {
        module.frozen_graph(method)?
    } else if args.inlined {
        module.inlined_graph(method)?
    } else {
        Graph::clone(&*module.graph_of(method)?)
    };
    if args.json {
        let file = open::name(&args.input.file);
        let graph = graph.to_string();
        out.json(&Document { schema_version: SCHEMA_VERSION, file: &file, method, graph })?;
        return Ok(Outcome::Clean);
    }
    if args.svg {
        let drawn = svg(&graph).map_err(|text| {
            Failure::unreadable(text).help("sconce graph --dot gives Graphviz the same graph")
        })?;
        out.text(&drawn)?;
        return Ok(Outcome::Clean);
    }
    if args.dot {
        out.text(&dot(&graph, method))?;
        return Ok(Outcome::Clean);
    }
    out.use_pager();
    out.text(&graph.to_string())?;
    Ok(Outcome::Clean)
}

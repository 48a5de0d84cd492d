//! Expressions for sizes, which running a program does not need. PyTorch evaluates them as Python when it loads the
//! file, so a program that has anything else there is not run.

use rustc_hash::FxHashSet;

use super::builder::Result;
use crate::Error;
use crate::expression::parse;
use crate::schema::{Argument, Graph};
use crate::text::HasExpr;

/// Reads every expression of a graph and of the graphs in it.
pub(super) fn check(graph: &Graph) -> Result<()> {
    // Most sizes are the same few.
    let mut known: FxHashSet<&str> = FxHashSet::default();
    let mut graphs = vec![graph];
    while let Some(graph) = graphs.pop() {
        for (name, meta) in &graph.tensor_values {
            let sizes = meta.sizes.iter().chain(&meta.strides).chain([&meta.storage_offset]);
            sizes.into_iter().try_for_each(|size| read(size, name, &mut known))?;
        }
        graph.sym_int_values.iter().try_for_each(|(name, value)| read(value, name, &mut known))?;
        graph
            .sym_float_values
            .iter()
            .try_for_each(|(name, value)| read(value, name, &mut known))?;
        graph.sym_bool_values.iter().try_for_each(|(name, value)| read(value, name, &mut known))?;
        let inputs = graph.nodes.iter().flat_map(|node| &node.inputs);
        let mut arguments: Vec<&Argument> = inputs.map(|input| &input.arg).collect();
        while let Some(argument) = arguments.pop() {
            match argument {
                Argument::Graph(inner) => graphs.push(&inner.graph),
                Argument::StringToArgument(entries) => arguments.extend(entries.values()),
                _ => {}
            }
        }
    }
    Ok(())
}

fn read<'g>(value: &'g impl HasExpr, name: &str, known: &mut FxHashSet<&'g str>) -> Result<()> {
    let Some(expr) = value.expr() else { return Ok(()) };
    if !known.insert(&expr.expr_str) {
        return Ok(());
    }
    parse(&expr.expr_str).map(drop).map_err(|error| {
        let what = format!("the program is not run, since PyTorch would run a size of '{name}'");
        Error::new(error.kind(), format!("{what}: {}", error.message()))
    })
}

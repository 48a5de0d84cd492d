//! Functions with regions of `torch.autocast`, as they run.

use std::sync::Arc;

use sconce_ir::{Graph, passes};
use sconce_torchscript::Program;

use crate::error::{Error, Exception};

/// The graph of a function as it runs: with the casts of its regions of `torch.autocast`. What such a function calls
/// becomes a part of it, since regions reach into calls.
///
/// # Errors
/// Where something that it calls does not compile, and those of [`passes::autocast`].
pub(crate) fn with_casts(program: &mut Program, graph: Arc<Graph>) -> Result<Arc<Graph>, Error> {
    if !passes::enters_autocast(&graph) {
        return Ok(graph);
    }
    program.compile_all()?;
    let mut graph = graph.renumbered();
    let unit = program.unit();
    passes::inline(&mut graph, unit).map_err(|error| Error::Malformed(error.to_string()))?;
    // Arguments of regions are known once what makes them is inlined.
    passes::constant_propagation_immutable_types(&mut graph);
    passes::peephole(&mut graph, unit);
    passes::constant_propagation_immutable_types(&mut graph);
    passes::autocast(&mut graph).map_err(|error| {
        let message = error.to_string();
        let place = graph.node(error.node()).range.as_ref();
        let place = place.map(|range| range.original().as_ref().unwrap_or(range).highlight());
        let text =
            format!("{message}{}", place.map(|place| format!(":\n{place}")).unwrap_or_default());
        Error::Raised(Box::new(Exception { class: "RuntimeError".to_owned(), message, text }))
    })?;
    Ok(Arc::new(graph))
}

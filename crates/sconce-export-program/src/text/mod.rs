//! A program as `print(torch.export.load(FILE))` shows it, from the file alone.
//!
//! `fx_graph` makes the graph that PyTorch's loader makes: placeholders, calls, and the `getitem`s of calls with
//! several results. `code` prints it as Python, `names` gives names as PyTorch's name spaces do, `value` shows
//! arguments and constants as Python does, and `signature` says what inputs and outputs are for, `interface` what a caller passes and
//! is given.

mod code;
mod fx_graph;
mod interface;
mod names;
mod signature;
mod symbols;
mod value;

use crate::schema::GraphModule;
use crate::{Error, ExportedProgram};
use symbols::Symbols;

impl ExportedProgram {
    /// What PyTorch prints of the program once it is loaded.
    ///
    /// # Errors
    /// When a symbolic expression is none.
    pub fn text(&self) -> Result<String, Error> {
        let mut symbols = Symbols::default();
        let module = &self.graph_module;
        let graph = fx_graph::FxGraph::new(
            &module.graph,
            Some(&module.signature.input_specs),
            &mut symbols,
        )?;
        let code = code::class(&graph, "GraphModule");
        let signature = signature::text(&module.signature);
        let ranges = signature::ranges(self)?;
        Ok(format!(
            "ExportedProgram:\n    {}\nGraph signature:{}\nRange constraints: {{{ranges}}}\n",
            code.replace('\n', "\n    "),
            signature.replace('\n', "\n    "),
        ))
    }

    /// The ranges of the symbols that occur in the graphs, as PyTorch prints them: `s77: VR[2, 64]`.
    ///
    /// # Errors
    /// When a symbolic expression is none.
    pub fn ranges_text(&self) -> Result<String, Error> {
        signature::ranges(self)
    }

    /// What PyTorch prints of the program's signature.
    pub fn signature_text(&self) -> String {
        signature::text(&self.graph_module.signature)
    }
}

/// The names that PyTorch's loader gives the calls of a program: those of the graphs that a call names come before
/// the call's own.
pub(crate) fn node_names(module: &GraphModule) -> Result<Vec<String>, Error> {
    let specs = Some(&module.signature.input_specs[..]);
    let mut symbols = Symbols::default();
    let graph = fx_graph::FxGraph::new(&module.graph, specs, &mut symbols)?;
    Ok(graph.call_names)
}

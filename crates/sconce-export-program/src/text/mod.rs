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

pub(crate) use symbols::HasExpr;

impl ExportedProgram {
    /// What PyTorch prints of the program once it is loaded.
    ///
    /// # Errors
    /// When a symbolic expression is none.
    pub fn text(&self) -> Result<String, Error> {
        let mut symbols = Symbols::default();
        let module = &self.graph_module;
        let graph = self.fx_graph(&mut symbols)?;
        let code = code::class(&graph, "GraphModule");
        let signature = signature::text(&module.signature);
        let ranges = signature::ranges(self)?;
        Ok(format!(
            "ExportedProgram:\n    {}\nGraph signature:{}\nRange constraints: {{{ranges}}}\n",
            code.replace('\n', "\n    "),
            signature.replace('\n', "\n    "),
        ))
    }

    /// The `forward` of each graph by name, without the remarks that say where calls come from.
    ///
    /// # Errors
    /// When a symbolic expression is none.
    pub fn graph_texts(&self) -> Result<Vec<(String, String)>, Error> {
        let mut out = Vec::new();
        code::plain(&self.fx_graph(&mut Symbols::default())?, "forward", &mut out);
        Ok(out)
    }

    /// The calls of each graph, with the modules and the stacks of Python frames that they come from.
    ///
    /// # Errors
    /// When a symbolic expression is none.
    pub fn source_text(&self) -> Result<String, Error> {
        let mut out = String::new();
        code::sources(&self.fx_graph(&mut Symbols::default())?, "forward", &mut out);
        Ok(out)
    }

    /// The structures of arguments and result, as the file has them.
    pub fn structure_texts(&self) -> (String, String) {
        let root = self.graph_module.module_call_graph.iter().find(|entry| entry.fqn.is_empty());
        let signature = root.and_then(|entry| entry.signature.as_ref());
        signature.map_or_else(Default::default, |signature| {
            let shown = |text: &str| {
                let spec = crate::tree_spec::TreeSpec::parse(text, &|_| None);
                spec.map_or_else(|_| text.to_owned(), |spec| spec.text())
            };
            (shown(&signature.in_spec), shown(&signature.out_spec))
        })
    }

    fn fx_graph<'g>(&'g self, symbols: &mut Symbols<'g>) -> Result<fx_graph::FxGraph<'g>, Error> {
        let module = &self.graph_module;
        fx_graph::FxGraph::new(&module.graph, Some(&module.signature.input_specs), symbols)
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

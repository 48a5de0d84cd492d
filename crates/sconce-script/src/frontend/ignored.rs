//! `with torch.jit._IgnoreContextManager(a="inp:int", b="out:int"):` a block that is left to Python.

use ruff_python_ast as py;
use ruff_text_size::Ranged;
use sconce_compiler::Error;
use sconce_syntax::ast::Stmt;

use super::Frontend;

/// The module that PyTorch puts the functions into which such blocks become.
pub(crate) const MODULE: &str = "torch.jit.frontend";

/// What the functions see.
pub(crate) const HEADER: &str = "import torch\nfrom typing import List, Dict, Tuple\n";

impl Frontend<'_> {
    /// The block as a call of a function: `b = torch.jit.frontend.func_ignore_FILE_LINE(a)`. Its places
    /// are those of the first line of the definition, since PyTorch parses it by itself.
    pub(super) fn ignored_block(
        &mut self,
        statement: &py::StmtWith,
        call: &py::ExprCall,
    ) -> Result<Stmt, Error> {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for keyword in &call.arguments.keywords {
            let text = match (&keyword.arg, &keyword.value) {
                (Some(name), py::Expr::StringLiteral(text)) => {
                    text.value.to_str().split_once(':').map(|(kind, ty)| (name, kind, ty))
                }
                _ => None,
            };
            match text {
                Some((name, "inp", ty)) => inputs.push((name.as_str(), ty)),
                Some((name, "out", ty)) => outputs.push((name.as_str(), ty)),
                _ => {
                    let at = self.at(keyword, 1);
                    let message =
                        "expected \"inp:TYPE\" or \"out:TYPE\" for a variable of the block";
                    return Err(self.error(at, message));
                }
            }
        }
        let file = self.snippet.source.filename().unwrap_or_default();
        let file: String =
            file.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let start = statement.start().to_usize();
        let before = self.snippet.text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let name = format!("func_ignore_{file}_{line}");

        let names =
            |of: &[(&str, &str)]| of.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let params: Vec<String> = inputs.iter().map(|(name, ty)| format!("{name} :{ty}")).collect();
        let returns = match outputs.as_slice() {
            [] => "None".to_owned(),
            [(_, ty)] => (*ty).to_owned(),
            several => {
                let types: Vec<&str> = several.iter().map(|(_, ty)| *ty).collect();
                format!("tuple[{}]", types.join(", "))
            }
        };
        let params = params.join(", ");
        self.blocks.push(format!("\n@torch.jit.ignore\ndef {name}({params}) -> {returns}: pass\n"));

        let mut text = format!("{MODULE}.{name}({})", names(&inputs));
        if !outputs.is_empty() {
            text = format!("{} = {text}", names(&outputs));
        }
        let at = self.at(statement, "with".len());
        let parsed = ruff_python_parser::parse_module(&text)
            .map_err(|error| self.error(at, error.error.to_string()))?;
        let snippet = self.snippet.with_line(text);
        let mut frontend = Frontend {
            snippet: &snippet,
            depth: self.depth,
            ..Frontend::new(&snippet, self.function)
        };
        match parsed.into_suite().as_slice() {
            [assignment] => frontend.statement(assignment),
            _ => Err(self.error(at, "the variables of the block have no names")),
        }
    }
}

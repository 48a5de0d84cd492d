//! Which bodies of functions a parsed file is kept without, and how they are had again.

use ruff_python_ast as py;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::FxHashSet;

use crate::nesting;

/// From how many bytes of a file, and of a function in it, on bodies are left out.
const LARGE_FILE: usize = 1 << 20;
const LARGE_FUNCTION: u32 = 16 << 10;

/// Leaves all but the first statements of functions' bodies out where they take much memory:
/// [`Module::whole`](super::Module::whole) has them. What is compiled is parsed by itself in any case. Returns the
/// starts of those that are generators.
pub(super) fn leave_out(suite: &mut [py::Stmt], file: usize) -> FxHashSet<TextSize> {
    let mut generators = FxHashSet::default();
    let from = if file >= LARGE_FILE { 0 } else { LARGE_FUNCTION };
    leave_out_from(suite, from, &mut generators);
    generators
}

fn leave_out_from(suite: &mut [py::Stmt], from: u32, generators: &mut FxHashSet<TextSize>) {
    for statement in suite {
        match statement {
            py::Stmt::FunctionDef(def) if def.range().len().to_u32() >= from => {
                if yields(&def.body) {
                    generators.insert(def.start());
                }
                def.body.truncate(1);
                def.body.shrink_to_fit();
                def.parameters.args.shrink_to_fit();
            }
            // Of methods only long ones: constructors may call thousands of short ones, each of which would
            // be had again by itself.
            py::Stmt::ClassDef(class) => {
                leave_out_from(&mut class.body, LARGE_FUNCTION, generators);
            }
            _ => {}
        }
    }
}

/// A function of a file or of a class in it, parsed by itself; its places are those of the file.
pub(super) fn parsed_in_place(
    file: &str,
    def: &py::StmtFunctionDef,
) -> Option<py::StmtFunctionDef> {
    let start = def.start().to_usize();
    let line = file.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let indent = file.get(line..start)?;
    // A method is indented: it goes into a block. Before that is a comment as long as what is there.
    let block = if indent.is_empty() { "" } else { "if 1:\n" };
    let before = line.checked_sub(block.len())?;
    let mut text = String::with_capacity(def.end().to_usize());
    if let Some(blank) = before.checked_sub(2) {
        text.push('#');
        text.push_str(&" ".repeat(blank));
    }
    if before > 0 {
        text.push('\n');
    }
    text.push_str(block);
    text.push_str(indent);
    text.push_str(file.get(start..def.end().to_usize())?);
    let parsed = nesting::with_stack(|| ruff_python_parser::parse_module(&text)).ok()?;
    let mut statement = only(parsed.into_suite())?;
    if let py::Stmt::If(block) = statement {
        statement = only(block.body)?;
    }
    match statement {
        py::Stmt::FunctionDef(def) => Some(def),
        _ => None,
    }
}

fn only(suite: Vec<py::Stmt>) -> Option<py::Stmt> {
    let [only] = <[py::Stmt; 1]>::try_from(suite).ok()?;
    Some(only)
}

/// Whether the statements of a function's own make it a generator.
pub(super) fn yields(body: &[py::Stmt]) -> bool {
    struct Search(bool);
    impl<'a> Visitor<'a> for Search {
        fn visit_stmt(&mut self, statement: &'a py::Stmt) {
            if !matches!(statement, py::Stmt::FunctionDef(_) | py::Stmt::ClassDef(_)) {
                walk_stmt(self, statement);
            }
        }
        fn visit_expr(&mut self, expression: &'a py::Expr) {
            match expression {
                py::Expr::Yield(_) | py::Expr::YieldFrom(_) => self.0 = true,
                py::Expr::Lambda(_) => {}
                other => walk_expr(self, other),
            }
        }
    }
    let mut search = Search(false);
    nesting::with_stack(|| search.visit_body(body));
    search.0
}

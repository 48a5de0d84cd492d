//! Archives written again: as they are, or as PyTorch would after loading them.

pub(crate) mod write_models;

use std::io::Write;

use indexmap::IndexMap;
use sconce_archive::{ArchiveWriter, ByteOrder, Layout as ArchiveLayout, WriterOptions};
use sconce_source::StreamReader;

use crate::expression::{Expr, parse};
use crate::resave::write_models::{ModelToWrite, ZIP_VERSION, write_models};
use crate::schema::{
    Argument, ExportedProgram, Graph, SchemaVersion, SymBool, SymExpr, SymFloat, SymInt,
};
use crate::text::node_names;
use crate::{Archive, Error, ErrorKind};

/// The minor version of the schema that PyTorch 2.15 writes.
const MINOR: i64 = 20;
/// Records that the writer makes itself.
static OWN: [&str; 4] = [".data/version", "version", "byteorder", ".data/serialization_id"];

impl Archive {
    /// Writes all records as they are, in PyTorch's container: of what PyTorch wrote, the same bytes.
    ///
    /// # Errors
    /// When a record cannot be read, the archive has no folder (before PyTorch 2.8), or writing fails.
    pub fn write_again<W: Write>(&self, out: W) -> Result<W, Error> {
        let package = self.package();
        let Some(folder) = package.folder() else {
            let message = "an archive of PyTorch before 2.8 is not an archive of PyTorch's own writer, which \
                           cannot write it again";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.with_help("--like-torch writes it in today's layout"));
        };
        let order = match package.byte_order() {
            Some(sconce_tensor::ByteOrder::Big) => ByteOrder::Big,
            _ => ByteOrder::Little,
        };
        let options = WriterOptions::new()
            .min_version(package.version().unwrap_or(ZIP_VERSION))
            .layout(ArchiveLayout::Torch2_1)
            .byte_order(order);
        let mut writer = ArchiveWriter::new(out, folder, options)?;
        let directory = package.directory();
        let mut reader = StreamReader::new();
        for entry in directory.entries() {
            let name = package.record_name(entry);
            if OWN.contains(&&*name) {
                continue;
            }
            let mut record = writer.record(&name, entry.size())?;
            directory.parts(entry, &mut reader, |part| record.put(part))?;
            record.finish()?;
        }
        Ok(writer.finish()?)
    }

    /// Writes a model as `torch.export.save(torch.export.load(FILE), …)` would: under the name `model`, in today's
    /// layout, without extra files. `folder` is what [`sconce_archive::archive_name`] gives for the new file.
    ///
    /// # Errors
    /// When the program or a tensor cannot be read, or writing fails.
    pub fn write_like_torch<W: Write>(
        &self,
        model: &str,
        folder: &str,
        out: W,
    ) -> Result<W, Error> {
        write_models(&[ModelToWrite::new(self, model)], folder, out)
    }
}

/// What PyTorch's loader and writer change between them.
pub(crate) fn like_loaded(program: &mut ExportedProgram) -> Result<(), Error> {
    // Names first: they are the graph's, not the text's.
    let names = node_names(&program.graph_module)?;
    rename(&mut program.graph_module.graph, &mut names.into_iter());
    change(&mut program.graph_module.graph);
    program.opset_version = IndexMap::from([("aten".to_owned(), 10)]);
    program.schema_version = SchemaVersion { major: 8, minor: MINOR, extra: Vec::new() };
    Ok(())
}

/// Gives nodes the names that the loader gives them, graphs in nodes before their node.
fn rename(graph: &mut Graph, names: &mut impl Iterator<Item = String>) {
    for node in &mut graph.nodes {
        for input in &mut node.inputs {
            rename_in(&mut input.arg, names);
        }
        if let Some(name) = names.next() {
            node.name = Some(name);
        }
    }
}

fn rename_in(argument: &mut Argument, names: &mut impl Iterator<Item = String>) {
    match argument {
        Argument::Graph(argument) => rename(&mut argument.graph, names),
        Argument::StringToArgument(entries) => {
            entries.values_mut().for_each(|value| rename_in(value, names));
        }
        _ => {}
    }
}

fn change(graph: &mut Graph) {
    for meta in graph.tensor_values.values_mut() {
        // The loader makes tensors of sizes and strides alone.
        meta.storage_offset = SymInt::Int(0);
        for value in meta.sizes.iter_mut().chain(&mut meta.strides) {
            if let SymInt::Expr(expr) = value {
                change_expr(expr);
            }
        }
        for stride in &mut meta.strides {
            let decided = match stride {
                SymInt::Expr(expr) => parse(&expr.expr_str).ok().and_then(|expr| decided(&expr)),
                SymInt::Int(_) => None,
            };
            if let Some(value) = decided {
                *stride = SymInt::Int(value);
            }
        }
    }
    for value in graph.sym_int_values.values_mut() {
        if let SymInt::Expr(expr) = value {
            change_expr(expr);
        }
    }
    for value in graph.sym_bool_values.values_mut() {
        if let SymBool::Expr(expr) = value {
            change_expr(expr);
        }
    }
    for value in graph.sym_float_values.values_mut() {
        if let SymFloat::Expr(expr) = value {
            change_expr(expr);
        }
    }
    for node in &mut graph.nodes {
        for input in &mut node.inputs {
            change_in(&mut input.arg);
        }
    }
}

fn change_in(argument: &mut Argument) {
    match argument {
        Argument::Graph(argument) => change(&mut argument.graph),
        Argument::StringToArgument(entries) => entries.values_mut().for_each(change_in),
        _ => {}
    }
}

/// The number that a least of several is, whatever sizes its symbols stand for.
fn decided(expr: &Expr) -> Option<i64> {
    let arguments = expr.arguments();
    let number = arguments.iter().find_map(|argument| match argument {
        Expr::Integer(value) => Some(*value),
        _ => None,
    })?;
    let others = || arguments.iter().filter(|argument| !matches!(argument, Expr::Integer(_)));
    let is = match expr.head()? {
        "Min" => others().all(|other| least(other).is_some_and(|least| least >= number)),
        _ => return None,
    };
    is.then(|| i64::try_from(number).ok()).flatten()
}

/// The least that an expression can be whose symbols are sizes above zero.
fn least(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::Integer(value) => Some(*value),
        Expr::Symbol(name) if name.starts_with('s') => Some(1),
        Expr::Call(head, arguments) => {
            let bounds: Option<Vec<i128>> = arguments.iter().map(least).collect();
            let bounds = bounds?;
            match &**head {
                "Add" => bounds.iter().try_fold(0i128, |sum, &bound| sum.checked_add(bound)),
                "Mul" if bounds.iter().all(|&bound| bound >= 0) => {
                    bounds.iter().try_fold(1i128, |product, &bound| product.checked_mul(bound))
                }
                "Max" => bounds.into_iter().max(),
                "Min" => bounds.into_iter().min(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Functions that sympy does not know by name come back as `Function('name')(…)`.
fn change_expr(expr: &mut SymExpr) {
    const PREFIX: &str = "OpaqueUnaryFn_";
    let mut out = String::new();
    let mut rest = expr.expr_str.as_str();
    while let Some(at) = rest.find(PREFIX) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(from.len());
        out.push_str(before);
        match from[end..].starts_with('(') && !before.ends_with('\'') {
            true => out.push_str(&format!("Function('{}')", &from[..end])),
            false => out.push_str(&from[..end]),
        }
        rest = &from[end..];
    }
    if !out.is_empty() {
        out.push_str(rest);
        expr.expr_str = out;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_that_sizes_decide_are_numbers() {
        for (text, want) in [
            (
                "Min(Integer(16), Mul(Integer(16), Symbol('s28', positive=True, integer=True)))",
                Some(16),
            ),
            (
                "Min(Integer(16), Mul(Integer(15), Symbol('s28', positive=True, integer=True)))",
                None,
            ),
            ("Min(Integer(16), Mul(Integer(16), Symbol('u0', integer=True)))", None),
            ("Symbol('s28')", None),
        ] {
            assert_eq!(decided(&parse(text).unwrap()), want, "{text}");
        }
    }

    #[test]
    fn functions_that_sympy_does_not_know_are_named() {
        for (given, want) in [
            ("Integer(1)", "Integer(1)"),
            (
                "Add(OpaqueUnaryFn_sqrt(Symbol('s0')), OpaqueUnaryFn_sin(Integer(2)))",
                "Add(Function('OpaqueUnaryFn_sqrt')(Symbol('s0')), Function('OpaqueUnaryFn_sin')(Integer(2)))",
            ),
            (
                "Function('OpaqueUnaryFn_sqrt')(Integer(2))",
                "Function('OpaqueUnaryFn_sqrt')(Integer(2))",
            ),
        ] {
            let mut expr = SymExpr { expr_str: given.to_owned(), hint: None, extra: Vec::new() };
            change_expr(&mut expr);
            assert_eq!(expr.expr_str, want);
        }
    }
}

//! `sconce ast`: the syntax tree of TorchScript source, as PyTorch prints it.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use sconce::syntax::ast::Item;
use sconce::syntax::sexpr::Node;
use sconce::syntax::{Source, parse_module};
use sconce::{Limits, MapMode};

use crate::arguments::python::PythonOptions;
use crate::call::python;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::Out;
use crate::read::open;

/// `sconce ast`.
#[derive(Debug, Args)]
pub struct AstArgs {
    /// Source in TorchScript's dialect of Python; - reads standard input. Behind a colon, the
    /// function or class to print
    #[arg(value_name = "FILE[:NAME]")]
    pub file: OsString,
    /// Where Python files import from.
    #[command(flatten)]
    pub python: PythonOptions,
}

pub fn run(args: &AstArgs, out: &mut Out) -> Verdict {
    if let Some(scripted) = python::tree(&args.file, &args.python)? {
        out.use_pager();
        out.verbatim(&format!("{scripted}\n"))?;
        return Ok(Outcome::Clean);
    }
    let file = open::name(&args.file);
    // FILE:NAME, unless a file is called so.
    let (path, name) = match file.rsplit_once(':') {
        Some((path, name)) if !Path::new(&file).exists() && !name.is_empty() => (path, Some(name)),
        _ => (file.as_str(), None),
    };
    let bytes = open::source(path.as_ref(), MapMode::Off, &Limits::default())?;
    let text = std::str::from_utf8(bytes.bytes()?)
        .map_err(|_| Failure::unreadable("this is not text").in_file(path))?;
    let source = Arc::new(Source::new(text).with_filename(path));
    let items = parse_module(&source).map_err(|error| {
        let note = format!("the code at fault\n{}", error.range().highlight());
        Failure::unreadable(error.message()).in_file(path).note(note)
    })?;
    out.use_pager();
    let mut found = false;
    for item in &items {
        let (item_name, node) = match item {
            Item::Def(def) => (Some(&*def.name.name), Node::def(def, &source)),
            Item::Class(class) => (Some(&*class.name.name), Node::class(class, &source)),
            Item::Stmt(stmt) => (None, Node::stmt(stmt, &source)),
            Item::Import(_) => continue,
        };
        if name.is_none() || name == item_name {
            found = true;
            out.verbatim(&format!("{node}\n"))?;
        }
    }
    match name {
        Some(name) if !found => {
            Err(Failure::usage(format!("there is no function or class '{name}'")).in_file(path))
        }
        _ => Ok(Outcome::Clean),
    }
}

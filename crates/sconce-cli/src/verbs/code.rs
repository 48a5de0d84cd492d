//! `sconce code`: the program of a TorchScript archive.

use sconce::jit::Module;
use serde::Serialize;

use super::SCHEMA_VERSION;
use crate::cli::CodeArgs;
use crate::error::{Failure, Outcome};
use crate::output::{Line, Out};
use crate::run::Verdict;
use crate::{open, script};

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    code: Vec<Piece>,
}

#[derive(Serialize)]
struct Piece {
    /// A record of the archive, or the name that was asked for.
    name: String,
    text: String,
}

pub fn run(args: &CodeArgs, out: &mut Out) -> Verdict {
    let module = script::module(&args.input.file, &args.input.load)?;
    let pieces = pieces(args, &module)?;
    if args.json {
        let file = open::name(&args.input.file);
        out.json(&Document { schema_version: SCHEMA_VERSION, file: &file, code: pieces })?;
        return Ok(Outcome::Clean);
    }
    out.use_pager();
    let several = pieces.len() > 1;
    for (at, piece) in pieces.iter().enumerate() {
        if several {
            if at > 0 {
                out.plain("")?;
            }
            out.line(&Line::new().dim(format!("# {}", piece.name)))?;
        }
        out.text(&piece.text)?;
    }
    Ok(Outcome::Clean)
}

fn pieces(args: &CodeArgs, module: &Module) -> Result<Vec<Piece>, Failure> {
    if args.bytecode {
        let bytecode = module.bytecode()?.ok_or_else(|| {
            Failure::usage("the archive has no bytecode for the lite interpreter")
        })?;
        return Ok(vec![Piece { name: "bytecode.pkl".into(), text: bytecode.to_string() }]);
    }
    match (&args.name, args.original) {
        (Some(name), true) => {
            Ok(vec![Piece { name: name.clone(), text: module.original_source(name)? }])
        }
        (Some(name), false) => Ok(vec![Piece { name: name.clone(), text: module.code_of(name)? }]),
        (None, true) => {
            let methods = module.methods();
            let sources = methods.iter().map(|method| {
                let text = module.original_source(&method.qualified_name)?;
                Ok(Piece { name: method.qualified_name.clone(), text })
            });
            sources.collect::<Result<Vec<Piece>, sconce::jit::Error>>().map_err(Failure::from)
        }
        (None, false) => {
            let files = module.code_files()?;
            Ok(files.into_iter().map(|(name, text)| Piece { name, text }).collect())
        }
    }
}

//! `sconce code`: the program of a TorchScript archive or a .pt2 file.

use clap::Args;
use sconce::ErrorKind;
use sconce::jit::Module;
use serde::Serialize;

use crate::arguments::method::MethodChoice;
use crate::arguments::python::PythonOptions;
use crate::arguments::reading::Input;
use crate::call::{method, python};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, SCHEMA_VERSION, shell_word};
use crate::read::{archive, exported, open};

/// `sconce code`.
#[derive(Debug, Args)]
#[command(
    after_help = "A METHOD is a method's path from the root (forward, encoder.forward) or the \
qualified name of a class, function or method (__torch__.Net, Net.forward). Of a .pt2 file (torch.export) it prints \
what PyTorch prints of the loaded program."
)]
pub struct CodeArgs {
    /// The archive.
    #[command(flatten)]
    pub input: Input,
    /// What to show (default: the files of the program as they are in the archive; of a Python file
    /// the methods).
    #[command(flatten)]
    pub method: MethodChoice,
    /// Show the Python that it was written as, where the archive holds it
    #[arg(long)]
    pub original: bool,
    /// Show where each call of a .pt2 file comes from: its module and the Python lines that led to it
    #[arg(long, conflicts_with_all = ["place", "method", "original", "bytecode"])]
    pub source: bool,
    /// Show the instructions of the lite interpreter, which archives for phones hold
    #[arg(long, conflicts_with_all = ["place", "method", "original"])]
    pub bytecode: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// How Python files are compiled.
    #[command(flatten)]
    pub python: PythonOptions,
}

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
    /// `None` where the archive does not hold the original.
    text: Option<String>,
}

pub fn run(args: &CodeArgs, out: &mut Out) -> Verdict {
    let file = open::name(&args.input.file);
    let pieces = match exported(args, &file)? {
        Some(text) => vec![text],
        None if args.source => {
            let message = "--source is for .pt2 files";
            let help = format!("sconce code --original {file}");
            return Err(Failure::usage(message).in_file(&file).help(help));
        }
        None => pieces(args, &python::module(&args.input, &args.python)?, &file)?,
    };
    if args.json {
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
        match &piece.text {
            Some(text) => out.source(text)?,
            None => out.line(&Line::new().dim("# the archive does not hold its source"))?,
        }
    }
    Ok(Outcome::Clean)
}

/// What PyTorch prints of a program of torch.export, if the file is one.
fn exported(args: &CodeArgs, file: &str) -> Result<Option<Piece>, Failure> {
    let load = &args.input.load;
    if python::split(&args.input.file).is_some() || args.input.file == "-" {
        return Ok(None);
    }
    let source = open::source(&args.input.file, open::map_mode(load), &open::limits(load))?;
    if !exported::is_exported(&source) {
        return Ok(None);
    }
    if args.method.given().is_some() || args.original || args.bytecode {
        let message = "a program of torch.export is shown whole";
        let help = format!("sconce code {}", shell_word(file));
        return Err(Failure::usage(message).in_file(file).help(help));
    }
    let archive = exported::archive(source, load, file)?;
    let failure = |error| exported::failure(error, file);
    let model = archive.model(load.model.as_deref()).map_err(failure)?;
    let text = match args.source {
        true => archive.program(model).and_then(|program| program.source_text()),
        false => archive.text(model),
    };
    let text = text.map_err(failure)?;
    let name = archive.package().program_record(model);
    Ok(Some(Piece { name, text: Some(text) }))
}

fn pieces(args: &CodeArgs, module: &Module, file: &str) -> Result<Vec<Piece>, Failure> {
    let failure = |error| archive::failure(error, file);
    if args.bytecode {
        let bytecode = module.bytecode().map_err(failure)?.ok_or_else(|| {
            Failure::usage("the archive has no bytecode for the lite interpreter").in_file(file)
        })?;
        return Ok(vec![Piece {
            name: "bytecode.pkl".to_owned(),
            text: Some(bytecode.to_string()),
        }]);
    }
    match args.method.given() {
        Some(name) => {
            let shown = match args.original {
                true => module.original_source(name),
                false => module.code_of(name),
            };
            let text = match shown {
                Ok(text) => text,
                Err(error) if error.kind() == ErrorKind::Caller => {
                    return method::unknown(module, name, failure(error));
                }
                Err(error) => return Err(failure(error)),
            };
            Ok(vec![Piece { name: name.to_owned(), text: Some(text) }])
        }
        None if args.original => {
            let originals = module.methods().into_iter().map(|method| {
                // A method that only gives back a constant, say, has no place of origin.
                let text = match module.original_source(&method.qualified_name) {
                    Ok(text) => Some(text),
                    Err(error) if error.kind() == ErrorKind::Caller => None,
                    Err(error) => return Err(failure(error)),
                };
                Ok(Piece { name: method.qualified_name, text })
            });
            originals.collect()
        }
        None => {
            let mut files = module.code_files().map_err(failure)?;
            if files.is_empty() {
                // What was compiled here has no files yet.
                for method in module.methods() {
                    files.push((method.name.clone(), module.code(&method.name).map_err(failure)?));
                }
            }
            Ok(files.into_iter().map(|(name, text)| Piece { name, text: Some(text) }).collect())
        }
    }
}

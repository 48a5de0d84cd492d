//! `sconce script`: Python source to a TorchScript archive.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use sconce::jit::SaveOptions;

use crate::arguments::call::LimitOptions;
use crate::arguments::python::PythonOptions;
use crate::call::python;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{self, Out};
use crate::read::archive;
use crate::read::open::{self, Say};
use crate::write::atomic::AtomicFile;
use crate::write::wrote::wrote;

/// `sconce script`.
#[derive(Debug, Args)]
pub struct ScriptArgs {
    /// A Python file, and behind a colon the function or nn.Module class (default: the only one that
    /// it has), or an expression that makes a module: 'net.py:Net(10, hidden=5)'
    #[arg(value_name = "FILE.py[:NAME]")]
    pub file: OsString,
    /// Where to write
    #[arg(short, long, value_name = "OUT.pt")]
    pub output: PathBuf,
    /// Replace a file that is there
    #[arg(short, long)]
    pub force: bool,
    /// How it is compiled.
    #[command(flatten)]
    pub python: PythonOptions,
    /// What its constructors must not pass.
    #[command(flatten)]
    pub limits: LimitOptions,
}

pub fn run(args: &ScriptArgs, _out: &mut Out, say: Say) -> Verdict {
    let file = open::name(&args.file);
    let Some(scripted) = python::complete(&args.file, &args.python, &args.limits, say)? else {
        return Err(Failure::usage("this is not a Python file")
            .in_file(&file)
            .help("FILE.py:NAME"));
    };
    let what = match scripted.schema() {
        Some(schema) => schema.to_string(),
        None => scripted.name().to_owned(),
    };
    let target = args.output.to_string_lossy().into_owned();
    let mut output = AtomicFile::create(&args.output, args.force)?;
    let saved = SaveOptions::new().save_last(scripted.into_module(), &mut output, &args.output);
    saved
        .map(drop)
        .map_err(|error| output.failure().unwrap_or_else(|| archive::failure(error, &target)))?;
    output.commit()?;
    if !say.quiet {
        let line = wrote(&args.output, "TorchScript archive").plain(format!(": {what}"));
        output::remark(say.color, &line);
    }
    Ok(Outcome::Clean)
}

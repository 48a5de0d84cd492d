//! `sconce script`: Python source to a TorchScript archive.

use sconce::jit::SaveOptions;

use crate::atomic::AtomicFile;
use crate::cli::ScriptArgs;
use crate::error::{self, Failure, Outcome};
use crate::open::{self, Say};
use crate::output::{Line, Out};
use crate::run::Verdict;
use crate::{python, script};

pub fn run(args: &ScriptArgs, _out: &mut Out, say: Say) -> Verdict {
    let file = open::name(&args.file);
    let Some(scripted) = python::complete(&args.file, &args.python, &args.limits, say)? else {
        return Err(Failure::usage("this is no Python file").in_file(&file).help("FILE.py:NAME"));
    };
    let target = args.output.to_string_lossy().into_owned();
    let mut output = AtomicFile::create(&args.output, args.force)?;
    let saved = SaveOptions::new().save_as(scripted.module(), &mut output, &args.output);
    saved
        .map(drop)
        .map_err(|error| output.failure().unwrap_or_else(|| script::failure(error, &target)))?;
    output.commit()?;
    if !say.quiet {
        let what = match scripted.schema() {
            Some(schema) => schema.to_string(),
            None => scripted.name().to_owned(),
        };
        let text = format!("{target} · {what}");
        error::remark(say.color, &Line::new().dim("  wrote    ").plain(text));
    }
    Ok(Outcome::Clean)
}

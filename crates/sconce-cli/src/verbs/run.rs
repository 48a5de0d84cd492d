//! `sconce run`: calls a program.

use std::path::Path;
use std::time::Instant;

use clap::Args;
use sconce::checkpoint::{Draft, Node, Object, SaveOptions, Value};
use sconce::export::{write_npy, write_npz};
use sconce::tensor::Tensor;
use serde::Serialize;

use crate::arguments::call::{Call, ResultOptions};
use crate::arguments::python::PythonOptions;
use crate::arguments::reading::Input;
use crate::call::session::{failure, session};
use crate::call::{input, python, result_json, result_text, scores};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{self, Out, SCHEMA_VERSION};
use crate::read::open::{self, Say};
use crate::write::atomic::AtomicFile;
use crate::write::wrote::{TORCH_SAVE, wrote};

/// `sconce run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_HELP)]
pub struct RunArgs {
    /// The archive.
    #[command(flatten)]
    pub archive: Input,
    /// What becomes of the result.
    #[command(flatten)]
    pub result: ResultOptions,
    /// What is called.
    #[command(flatten)]
    pub call: Call,
    /// How Python files are compiled.
    #[command(flatten)]
    pub python: PythonOptions,
}

const RUN_HELP: &str = "What reads as a value is one: a file named 3 is ./3. Each array of an .npz is an \
argument, in the file's order; sound is float32, channels x samples, -1 to 1. What the program prints \
goes to standard output before the result, or with --json to standard error.";

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    method: &'a str,
    /// How long the call took.
    seconds: f64,
    /// Where the result was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// The best classes of each row, with `--top`.
    #[serde(skip_serializing_if = "Option::is_none")]
    top: Option<Vec<Vec<scores::Row>>>,
    /// `None` where it was written to a file, or is shown as `top`.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<serde_json::Value>,
}

pub fn run(args: &RunArgs, out: &mut Out, say: Say) -> Verdict {
    let file = open::name(&args.archive.file);
    let (load, call, options) = (&args.archive.load, &args.call, &args.result);
    if let Some(path) = &options.output {
        format(path)?;
    }
    call.budget.set_up_process()?;
    let labels = options.labels.as_deref().map(|labels| input::lines(labels, load)).transpose()?;
    let calls = input::read(call, load, say)?;
    let callable = python::runnable(&args.archive, &args.python, &call.budget.limits, say)?;
    let budget = call.budget.options(say, options.json);
    let mut called = session(&callable, call, budget, &file, say)?;
    let deadline = call.budget.deadline(&file, say);
    let started = Instant::now();
    let mut results = Vec::new();
    for arguments in &calls {
        let result = arguments.call(&mut called);
        // As the call leaves it: the next one may write to it.
        let object = result.and_then(|result| called.session.to_object(&called.method, &result));
        results.push(object.map_err(|error| failure(error, &file))?);
    }
    let seconds = started.elapsed().as_secs_f64();
    drop(deadline);
    let result = match results.pop() {
        Some(only) if results.is_empty() => only,
        last => Value::List(results.into_iter().chain(last).collect()),
    };
    let result = Draft::from(result);
    if let Some(path) = &options.output {
        write(result.root(), path, options)?;
    }
    let top = match options.top {
        Some(most) => Some(scores::best(result.root(), most as usize, labels.as_deref())?),
        None => None,
    };
    if options.json {
        let shown = options.output.is_none() && top.is_none();
        return out
            .json(&Document {
                schema_version: SCHEMA_VERSION,
                file: &file,
                method: call.method.or_forward(),
                seconds,
                output: options.output.as_ref().map(|path| path.to_string_lossy().into_owned()),
                result: if shown { Some(result_json::value(result.root())?) } else { None },
                top,
            })
            .map(|()| Outcome::Clean);
    }
    match (&top, &options.output) {
        (Some(top), _) => scores::print(top, out)?,
        (None, Some(path)) if !say.quiet => {
            let kind = result_text::kind(result.root());
            let written = match format(path)? {
                Format::Checkpoint => TORCH_SAVE,
                Format::Npz => "npz",
                Format::Npy => "npy",
            };
            output::remark(say.color, &wrote(path, written).plain(format!(": {kind}")));
        }
        (None, Some(_)) => {}
        (None, None) => out.text(&result_text::show(result.root()))?,
    }
    Ok(Outcome::Clean)
}

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Checkpoint,
    Npz,
    Npy,
}

fn format(path: &Path) -> Result<Format, Failure> {
    let extension = path.extension().map(|text| text.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("pt" | "pth" | "bin" | "ckpt") => Ok(Format::Checkpoint),
        Some("npz") => Ok(Format::Npz),
        Some("npy") => Ok(Format::Npy),
        _ => Err(Failure::usage("the name of the output does not say its format")
            .in_file(path.to_string_lossy())
            .help("end it in .pt, .npz or .npy")),
    }
}

fn write(result: Object<'_>, path: &Path, options: &ResultOptions) -> Result<(), Failure> {
    let format = format(path)?;
    let name = path.to_string_lossy();
    // What does not fit the format is refused before a file is made.
    let tensors = match format {
        Format::Checkpoint => Vec::new(),
        Format::Npz => arrays(result).map_err(|failure| failure.in_file(&*name))?,
        Format::Npy => match result.as_tensor() {
            Some(tensor) => vec![(String::new(), tensor.clone())],
            None => {
                let message =
                    format!("an .npy file holds a tensor, not {}", result_text::kind(result));
                return Err(Failure::usage(message).in_file(&*name).help("--output NAME.pt"));
            }
        },
    };
    let mut file = AtomicFile::create(path, options.force)?;
    let written: Result<(), Failure> = match format {
        Format::Checkpoint => {
            SaveOptions::new().save_as(result, &mut file, path).map(drop).map_err(Into::into)
        }
        Format::Npz => write_npz(&tensors, &mut file, &mut |_| ()).map_err(Into::into),
        Format::Npy => tensors
            .iter()
            .try_for_each(|(_, tensor)| write_npy(tensor, &mut file))
            .map_err(Into::into),
    };
    written.map_err(|failure| file.failure().unwrap_or(failure).in_file(&*name))?;
    file.commit()
}

/// The tensors of a result by the names that `numpy.savez` gives them: `arr_0` and so on, or those
/// of a dict.
fn arrays(result: Object<'_>) -> Result<Vec<(String, Tensor)>, Failure> {
    let wrong = || {
        Failure::usage(
            "an .npz file holds a tensor, a list or tuple of them, or a dict of them by name",
        )
        .help("--output NAME.pt holds everything")
    };
    let numbered = |(index, item): (usize, Object<'_>)| {
        let tensor = item.as_tensor().ok_or_else(wrong)?;
        Ok((format!("arr_{index}"), tensor.clone()))
    };
    let named = |(key, value): (Object<'_>, Object<'_>)| match (key.as_str(), value.as_tensor()) {
        (Some(name), Some(tensor)) => Ok((name.to_owned(), tensor.clone())),
        _ => Err(wrong()),
    };
    match result.data() {
        Node::Tensor(_) => std::iter::once(result).enumerate().map(numbered).collect(),
        Node::List(_) | Node::Tuple(_) => result.iter().enumerate().map(numbered).collect(),
        Node::Instance(_) if !result.is_empty() => {
            result.iter().enumerate().map(numbered).collect()
        }
        Node::Instance(_) => result.attributes().into_iter().map(named).collect(),
        Node::Dict(_) => result.entries().map(named).collect(),
        _ => Err(wrong()),
    }
}

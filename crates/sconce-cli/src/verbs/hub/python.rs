//! `sconce hub load --python`: an entry that cannot be followed here, called by the user's own interpreter.
//!
//! Only where the user asks for it: this is the one place where code of a repository runs, and the user is asked first.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sconce::hub::{Hub, Repository, Trust};
use serde::{Deserialize, Serialize};

use super::Terminal;
use super::hubconf::LoadArgs;
use crate::error::Failure;
use crate::process::interrupt;
use crate::write::atomic::{AtomicFile, cannot_write};

/// What the interpreter runs.
const EXPORT: &str = include_str!("export.py");

/// What it is asked for.
#[derive(Serialize)]
struct Request<'a> {
    hub_dir: &'a str,
    folder: &'a str,
    entry: &'a str,
    arguments: &'a [String],
    path: Vec<String>,
    output: &'a str,
    archive: bool,
}

/// What it answers.
#[derive(Deserialize)]
pub struct Answer {
    written: Option<String>,
    /// The class of the module that was written.
    pub class: Option<String>,
    /// What else the entry gave.
    #[serde(default)]
    pub rest: Vec<String>,
    error: Option<String>,
    module: Option<String>,
}

impl Answer {
    /// What was written, as the verb's JSON has it.
    pub fn written(&self) -> &'static str {
        match self.written.as_deref() {
            Some("archive") => "archive",
            _ => "state_dict",
        }
    }
}

/// Asks whether a repository's code may run, in PyTorch's words; of a local folder, which PyTorch does not ask about,
/// in others.
pub fn ask(
    args: &LoadArgs,
    hub: &Hub,
    repository: Option<&Repository>,
    python: &Path,
    watch: &Terminal,
) -> Result<(), Failure> {
    let Some(repository) = repository else {
        if args.trust {
            return Ok(());
        }
        let question = format!(
            "This runs the code of {} with {}. Do you trust it (y/N)?",
            args.repository.repository,
            python.display()
        );
        return match answer(&question).as_deref().map(str::to_lowercase).as_deref() {
            Some("y" | "yes") => Ok(()),
            Some("n" | "no" | "") => Err(Failure::usage("Untrusted repository.")),
            Some(other) => Err(Failure::usage(format!("Unrecognized response {other}."))),
            None => {
                let failure = Failure::usage("Untrusted repository.");
                let failure = failure.note("nobody answers the question whether to trust it");
                Err(failure.help("--trust answers it"))
            }
        };
    };
    let trust = if args.trust { Trust::Yes } else { Trust::Ask };
    let reference = repository.reference().unwrap_or("main");
    Ok(hub.check_trust(repository, reference, trust, answer, watch)?)
}

/// Shows a question where errors are shown, and reads a line.
fn answer(question: &str) -> Option<String> {
    let mut terminal = io::stderr().lock();
    // Nobody who could answer sees it otherwise.
    terminal.write_all(question.as_bytes()).and_then(|()| terminal.flush()).ok()?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Calls an entry with PyTorch, and puts what it writes in the place of the output.
pub fn run(args: &LoadArgs, hub: &Hub, folder: &Path, python: &Path) -> Result<Answer, Failure> {
    let written = beside(&args.output, "written");
    let said = beside(&args.output, "answer");
    let _guards = [interrupt::forget_on_finish(&written), interrupt::forget_on_finish(&said)];
    let answer = called(args, hub, folder, python, &written, &said);
    let result = answer.and_then(|answer| {
        let mut from = fs::File::open(&written).map_err(|error| unreadable(&written, &error))?;
        let mut file = AtomicFile::create(&args.output, args.force)?;
        io::copy(&mut from, &mut file).map_err(|error| cannot_write(&args.output, &error))?;
        file.commit()?;
        Ok(answer)
    });
    for path in [&written, &said] {
        // It may not have been made.
        let _ = fs::remove_file(path);
    }
    result
}

fn called(
    args: &LoadArgs,
    hub: &Hub,
    folder: &Path,
    python: &Path,
    written: &Path,
    said: &Path,
) -> Result<Answer, Failure> {
    let absolute = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        path.to_string_lossy().into_owned()
    };
    let (hub_dir, folder, output) = (absolute(&hub.dir()), absolute(folder), absolute(written));
    let request = Request {
        hub_dir: &hub_dir,
        folder: &folder,
        entry: &args.entry,
        arguments: &args.arguments,
        path: args.repository.path.iter().map(|path| absolute(path)).collect(),
        output: &output,
        archive: args.output.extension().is_some_and(|ending| ending == "pt"),
    };
    let request = serde_json::to_string(&request)
        .map_err(|error| Failure::usage(format!("the request cannot be written: {error}")))?;
    let mut command = Command::new(python);
    // The folder that sconce is started in is no place to import from.
    command.arg("-c").arg(EXPORT).arg(request).arg(said).stdin(Stdio::null());
    command.env("PYTHONSAFEPATH", "1");
    let status = command.status().map_err(|error| {
        let failure = Failure::usage(format!("{} cannot be started: {error}", python.display()));
        failure.help("--python=PYTHON names an interpreter that has torch")
    })?;
    let text = fs::read(said).unwrap_or_default();
    let Ok(answer) = serde_json::from_slice::<Answer>(&text) else {
        let message = format!("{} ended early: {status}", python.display());
        return Err(Failure::unreadable(message));
    };
    match &answer.error {
        None => Ok(answer),
        Some(error) => {
            let failure = Failure::unreadable(error).in_file(&folder);
            Err(match answer.module.as_deref() {
                Some("torch") => {
                    failure.help("--python=PYTHON names an interpreter that has torch")
                }
                _ => failure.note(format!("{} says so", python.display())),
            })
        }
    }
}

/// A name of its own beside the output.
fn beside(output: &Path, what: &str) -> PathBuf {
    let mut name: OsString = output.as_os_str().to_owned();
    name.push(format!(".sconce-python-{}-{what}", std::process::id()));
    PathBuf::from(name)
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(error.to_string()).in_file(path.to_string_lossy())
}

//! `sconce hub list`, `help` and `load`: what a repository's `hubconf.py` offers, without Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use sconce::StateDict;
use sconce::hub::hubconf::{self, Arguments, Loaded, LoadedModule, LoadedObject, Options};
use sconce::hub::{FetchOptions, Hub, HubFiles, RepositoryOptions, Watch};
use sconce::jit::{SaveOptions, ScriptError};
use serde::Serialize;

use super::fetch::How;
use super::{Terminal, python};
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Line, Out, SCHEMA_VERSION, Style};
use crate::read::archive;
use crate::read::open::Say;
use crate::write::atomic::AtomicFile;

/// Which repository, and how its `hubconf.py` is followed.
#[derive(Debug, Args)]
pub struct Repository {
    /// OWNER/NAME[:REF], or a folder that begins with . / or ~
    #[arg(value_name = "REPO")]
    pub repository: String,
    /// What REPO is
    #[arg(long, value_enum, value_name = "SOURCE")]
    pub source: Option<Source>,
    /// How it is fetched.
    #[command(flatten)]
    pub how: How,
    /// Import from this folder too, behind the repository: where the source of torchvision is, say
    #[arg(long, value_name = "DIR")]
    pub path: Vec<PathBuf>,
    /// Longest time that its files may run
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub max_seconds: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `--source`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// A repository on GitHub
    Github,
    /// A local folder
    Local,
}

impl Repository {
    fn folder(&self, hub: &Hub, watch: &Terminal) -> Result<PathBuf, Failure> {
        let fetch = FetchOptions {
            force_reload: self.how.force_reload,
            skip_validation: self.how.skip_validation,
        };
        let options = RepositoryOptions { local: self.source == Some(Source::Local), fetch };
        if self.source == Some(Source::Github) {
            // Whatever it begins with.
            let repository = self.repository.parse().map_err(Failure::from)?;
            return Ok(hub.fetch(&repository, options.fetch, watch)?.path);
        }
        Ok(sconce::hub::folder(hub, &self.repository, &options, watch)?)
    }

    /// The repository, unless it is a local folder.
    fn on_github(&self) -> Result<Option<sconce::hub::Repository>, Failure> {
        let is_local = match self.source {
            Some(source) => source == Source::Local,
            None => sconce::hub::is_local(&self.repository),
        };
        if is_local {
            return Ok(None);
        }
        Ok(Some(self.repository.parse().map_err(Failure::from)?))
    }

    fn options(&self) -> Options {
        let options = Options::new().time(Duration::from_secs(self.max_seconds));
        self.path.iter().fold(options, |options, folder| options.path(folder))
    }
}

/// `sconce hub list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// The repository.
    #[command(flatten)]
    pub repository: Repository,
    /// Only what is made in the repository, not what it imports from libraries
    #[arg(long)]
    pub own: bool,
}

/// `sconce hub help`.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// The repository.
    #[command(flatten)]
    pub repository: Repository,
    /// The entry
    #[arg(value_name = "ENTRY")]
    pub entry: String,
}

/// `sconce hub load`.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// The repository.
    #[command(flatten)]
    pub repository: Repository,
    /// The entry
    #[arg(value_name = "ENTRY")]
    pub entry: String,
    /// Its arguments, as in Python: 3 'small' pretrained=True
    #[arg(value_name = "ARGS")]
    pub arguments: Vec<String>,
    /// Where to write: x.pth gets the state dict, x.pt a TorchScript archive where the class compiles
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Replace a file that is there
    #[arg(short, long)]
    pub force: bool,
    /// Run the repository's code with this interpreter, which has torch, instead of following it here. Asks first
    #[arg(
        long,
        value_name = "PYTHON",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "python3"
    )]
    pub python: Option<PathBuf>,
    /// Trust the repository, instead of being asked
    #[arg(long, requires = "python")]
    pub trust: bool,
}

#[derive(Serialize)]
struct ListDocument<'a> {
    schema_version: u32,
    repository: &'a str,
    entries: Vec<EntryRow<'a>>,
    missing_dependencies: Vec<String>,
    not_followed: Vec<String>,
}

#[derive(Serialize)]
struct EntryRow<'a> {
    name: &'a str,
    own: bool,
    guessed: bool,
}

#[derive(Serialize)]
struct HelpDocument<'a> {
    schema_version: u32,
    repository: &'a str,
    entry: &'a str,
    signature: Option<String>,
    documentation: Option<String>,
}

#[derive(Serialize)]
struct LoadDocument<'a> {
    schema_version: u32,
    repository: &'a str,
    entry: &'a str,
    output: &'a str,
    /// `archive` or `state_dict`.
    written: &'static str,
    class: Option<String>,
    rest: &'a [String],
}

/// Lists the callables of a `hubconf.py`.
pub fn list(args: &ListArgs, hub: &Hub, out: &mut Out, say: Say) -> Verdict {
    let watch = Terminal::new(say);
    let folder = args.repository.folder(hub, &watch)?;
    let options = args.repository.options();
    let mut files = HubFiles::new(hub, &watch);
    let listing =
        hubconf::list(&folder, &options, &mut files).map_err(|error| failure(&error, &folder))?;
    let missing = hubconf::missing_dependencies(&folder, &options, &mut files).unwrap_or_default();
    let entries = listing.entries.iter().filter(|entry| entry.is_own || !args.own);
    let not_followed: Vec<String> =
        listing.not_followed.iter().map(|error| error.message().trim_end().to_owned()).collect();
    if args.repository.json {
        let rows = entries.map(|entry| EntryRow {
            name: &entry.name,
            own: entry.is_own,
            guessed: entry.is_guessed,
        });
        out.json(&ListDocument {
            schema_version: SCHEMA_VERSION,
            repository: &args.repository.repository,
            entries: rows.collect(),
            missing_dependencies: missing,
            not_followed,
        })?;
        return Ok(Outcome::Clean);
    }
    for entry in entries {
        let mut line = Line::new().add(Style::Name, &entry.name);
        if entry.is_guessed {
            line = line.dim("  guessed");
        }
        out.line(&line)?;
    }
    out.flush()?;
    for why in not_followed {
        watch.warn(&format!("not followed: {why}"));
    }
    warn_of_missing(&missing, &watch);
    Ok(Outcome::Clean)
}

fn warn_of_missing(missing: &[String], watch: &Terminal) {
    if !missing.is_empty() {
        watch.warn(&hubconf::missing_dependencies_message(missing));
    }
}

/// Prints an entry's docstring.
pub fn help(args: &HelpArgs, hub: &Hub, out: &mut Out, say: Say) -> Verdict {
    let watch = Terminal::new(say);
    let folder = args.repository.folder(hub, &watch)?;
    let mut files = HubFiles::new(hub, &watch);
    let found = hubconf::help(&folder, &args.entry, &args.repository.options(), &mut files);
    let found = found.map_err(|error| failure(&error, &folder))?;
    if args.repository.json {
        out.json(&HelpDocument {
            schema_version: SCHEMA_VERSION,
            repository: &args.repository.repository,
            entry: &args.entry,
            signature: found.signature,
            documentation: found.documentation,
        })?;
        return Ok(Outcome::Clean);
    }
    if let Some(signature) = &found.signature {
        out.line(&Line::new().add(Style::Strong, format!("{}{signature}", args.entry)))?;
    }
    match &found.documentation {
        Some(text) => {
            for line in text.lines() {
                out.line(&Line::new().plain(line))?;
            }
        }
        None => out.line(&Line::new().dim("it has no docstring"))?,
    }
    Ok(Outcome::Clean)
}

/// Calls an entry, and writes what it gives.
pub fn load(args: &LoadArgs, hub: &Hub, out: &mut Out, say: Say) -> Verdict {
    let watch = Terminal::new(say);
    let arguments = Arguments::parse(&args.arguments);
    let arguments = arguments.map_err(|error| Failure::usage(error.message()))?;
    if args.output.exists() && !args.force {
        let failure = Failure::usage("the file is there already; --force replaces it");
        return Err(failure.in_file(args.output.to_string_lossy()));
    }
    if let Some(interpreter) = &args.python {
        let repository = args.repository.on_github()?;
        python::ask(args, hub, repository.as_ref(), interpreter, &watch)?;
        let folder = args.repository.folder(hub, &watch)?;
        let answer = python::run(args, hub, &folder, interpreter)?;
        return print(args, answer.written(), answer.class.clone(), &answer.rest, out, &watch);
    }
    let folder = args.repository.folder(hub, &watch)?;
    let options = args.repository.options();
    let mut files = HubFiles::new(hub, &watch);
    let missing = hubconf::missing_dependencies(&folder, &options, &mut files).unwrap_or_default();
    let loaded = hubconf::load(&folder, &args.entry, &arguments, &options, &mut files);
    let loaded = loaded.map_err(|error| {
        let failure = failure(&error, &folder);
        match missing.is_empty() {
            true => failure,
            false => failure.note(hubconf::missing_dependencies_message(&missing)),
        }
    })?;
    drop(files);
    let (written, class) = write(&loaded, args)?;
    print(args, written, class, &loaded.rest, out, &watch)
}

fn print(
    args: &LoadArgs,
    written: &'static str,
    class: Option<String>,
    rest: &[String],
    out: &mut Out,
    watch: &Terminal,
) -> Verdict {
    let output = args.output.to_string_lossy();
    if args.repository.json {
        out.json(&LoadDocument {
            schema_version: SCHEMA_VERSION,
            repository: &args.repository.repository,
            entry: &args.entry,
            output: &output,
            written,
            class,
            rest,
        })?;
        return Ok(Outcome::Clean);
    }
    for what in rest {
        watch.warn(&format!("the entry also gave {what}, which is left out"));
    }
    if !out.quiet() {
        let what = match written {
            "archive" => "TorchScript archive",
            _ => "state dict",
        };
        let mut line = Line::new().add(Style::Strong, output.as_ref()).dim(format!("  {what}"));
        if let Some(class) = class {
            line = line.dim(format!(" of {class}"));
        }
        out.line(&line)?;
    }
    Ok(Outcome::Clean)
}

fn write(loaded: &Loaded, args: &LoadArgs) -> Result<(&'static str, Option<String>), Failure> {
    match &loaded.object {
        LoadedObject::Module(module) => write_module(module, args),
        LoadedObject::Archive(path) => {
            let bytes = fs::read(path).map_err(|error| {
                Failure::unreadable(error.to_string()).in_file(path.to_string_lossy())
            })?;
            let mut file = AtomicFile::create(&args.output, args.force)?;
            std::io::Write::write_all(&mut file, &bytes)
                .map_err(|error| crate::write::atomic::cannot_write(&args.output, &error))?;
            file.commit()?;
            Ok(("archive", None))
        }
        LoadedObject::StateDict(tensors) => {
            let mut dict = StateDict::new();
            for (name, tensor) in tensors {
                dict.insert(name.as_str(), tensor.clone());
            }
            write_dict(dict, args)?;
            Ok(("state_dict", None))
        }
        _ => Err(Failure::unreadable("what the entry gave is nothing that can be written")),
    }
}

fn write_module(
    module: &LoadedModule,
    args: &LoadArgs,
) -> Result<(&'static str, Option<String>), Failure> {
    let class = Some(module.qualified_class_name());
    if args.output.extension().is_none_or(|ending| ending != "pt") {
        write_dict(module.state_dict().map_err(|error| failure(&error, &args.output))?, args)?;
        return Ok(("state_dict", class));
    }
    let target = args.output.to_string_lossy();
    let scripted = module.script().map_err(|error| {
        let failure = failure(&error, &args.output);
        failure.help("-o OUT.pth writes the state dict, which needs no class that compiles")
    })?;
    let mut output = AtomicFile::create(&args.output, args.force)?;
    let saved = SaveOptions::new().save_last(scripted.into_module(), &mut output, &args.output);
    saved
        .map(drop)
        .map_err(|error| output.failure().unwrap_or_else(|| archive::failure(error, &target)))?;
    output.commit()?;
    Ok(("archive", class))
}

fn write_dict(dict: StateDict, args: &LoadArgs) -> Result<(), Failure> {
    let mut file = AtomicFile::create(&args.output, args.force)?;
    let saved = sconce::SaveOptions::new().save_to(dict.finish().root(), &mut file);
    saved.map(drop).map_err(|error| file.failure().unwrap_or_else(|| Failure::from(error)))?;
    file.commit()
}

/// What is wrong with a repository's Python.
fn failure(error: &ScriptError, folder: &Path) -> Failure {
    let mut failure = Failure::unreadable(error.message().trim_end());
    if error.range().is_none() {
        failure = failure.in_file(folder.join("hubconf.py").to_string_lossy());
    }
    if let Some(range) = error.range() {
        failure = failure.note(format!("the code at fault\n{}", range.highlight()));
    }
    failure
}

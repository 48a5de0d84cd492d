//! The flags of the verbs that run programs, and what they stand for.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sconce::jit::{Module, ScriptLimits};
use sconce::run::{Error, Generator, Limits, Missing, Need, Options, Session, Sink, memory_left};

use crate::ceiling;
use crate::cli::size;
use crate::deadline::Deadline;
use crate::error::{self, Failure};
use crate::open::Say;
use crate::output::program_text;
use crate::script;

/// What is called, and with what.
#[derive(Debug, Clone, Args)]
pub struct Call {
    /// The method
    #[arg(short, long, value_name = "NAME", default_value = "forward")]
    pub method: String,
    /// An argument: a Python literal, zeros(1,3), rand(2,2,dtype=float64), arange(9) or
    /// tensor([[1.5]]), a file (.pt, .npy, .npz, .safetensors, .png, .jpg, .wav), or - for a file on
    /// standard input (repeatable)
    #[arg(short, long, value_name = "VALUE", allow_hyphen_values = true)]
    pub input: Vec<OsString>,
    /// All arguments: a list or tuple that torch.save wrote
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    pub inputs: Option<OsString>,
    /// How pictures become arguments.
    #[command(flatten)]
    pub picture: PictureOptions,
    /// What the call may spend.
    #[command(flatten)]
    pub budget: BudgetOptions,
}

/// How pictures become tensors.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Pictures (float32, 1 x channels x height x width, 0 to 1)")]
pub struct PictureOptions {
    /// Make pictures this large
    #[arg(long, value_name = "HxW", value_parser = resize)]
    pub resize: Option<(u32, u32)>,
    /// One channel: grey (default: one where the picture is grey, three otherwise; alpha is dropped)
    #[arg(long, conflicts_with = "rgb")]
    pub gray: bool,
    /// Three channels
    #[arg(long)]
    pub rgb: bool,
    /// Subtract these from the channels
    #[arg(long, value_name = "R,G,B", value_delimiter = ',')]
    pub mean: Vec<f32>,
    /// Then divide by these
    #[arg(long, value_name = "R,G,B", value_delimiter = ',')]
    pub std: Vec<f32>,
}

/// What a call may spend.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Running options")]
pub struct BudgetOptions {
    /// torch.manual_seed: before random arguments are made, and again before the call
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run every operator as the program has it: do not freeze forward, fold, fuse or repack
    #[arg(long)]
    pub no_optimize: bool,
    /// Threads for large operators (default: one for each core)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// What it must not pass.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// Refuse a program that has an operator that this build lacks, though it may never come to it
    #[arg(long)]
    pub strict: bool,
}

/// What a program must not pass, and what runs the constructors of a Python file.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Running options")]
pub struct LimitOptions {
    /// Stop after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub max_seconds: Option<Duration>,
    /// Stop after this many instructions
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
    /// Most memory that the program may hold at once (default: what is left, less a reserve)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
}

impl LimitOptions {
    /// The bytes that may be held.
    pub fn memory(&self) -> Option<usize> {
        let given = self.max_memory.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        given.or_else(memory_left)
    }

    /// What the constructors of a Python file may spend.
    pub fn of_script(&self) -> ScriptLimits {
        ScriptLimits {
            steps: self.max_steps.unwrap_or(u64::MAX),
            memory: self.memory(),
            time: self.max_seconds,
        }
    }
}

/// Output of programs to the process's own streams: text to standard output, or beside a JSON
/// document to standard error; warnings to standard error.
struct Streams {
    say: Say,
    json: bool,
}

impl Sink for Streams {
    fn print(&mut self, text: &str) {
        program_text(text, self.json);
    }

    fn warn(&mut self, message: &str) {
        if !self.say.quiet {
            error::warn(self.say.color, message);
        }
    }
}

impl BudgetOptions {
    /// The options of a session that prints what the program prints.
    pub fn options(&self, say: Say, json: bool) -> Options {
        Options { sink: Some(Box::new(Streams { say, json })), ..self.silent() }
    }

    /// The options of a session that prints nothing.
    pub fn silent(&self) -> Options {
        let mut limits = Limits { time: self.limits.max_seconds, ..Limits::default() };
        if let Some(steps) = self.limits.max_steps {
            limits.steps = steps;
        }
        let missing = if self.strict { Missing::Refuse } else { Missing::WhenReached };
        let memory = self.limits.memory();
        Options { limits, missing, memory, optimize: !self.no_optimize, ..Options::default() }
    }

    /// What holds a call that begins now to `--max-seconds`, also within an operator.
    pub fn deadline(&self, file: &str, say: Say) -> Option<Deadline> {
        let most = self.limits.max_seconds?;
        let late = Error::Limit(format!("time limit of {} s exceeded", most.as_secs_f64()));
        let failure = failure(late, file).note("one operator was still at work");
        Some(Deadline::new(most, failure, say.color))
    }

    /// Where random numbers for arguments come from.
    pub fn generator(&self) -> Generator {
        self.seed.map_or_else(Generator::default, Generator::new)
    }

    /// Sets the number of threads for the whole process.
    pub fn set_threads(&self) -> Result<(), Failure> {
        let Some(threads) = self.threads else { return Ok(()) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
        pool.build_global().map_err(|error| Failure::unreadable(error.to_string()))
    }
}

/// A session of a module whose method has nothing that it must not have.
pub fn session(
    module: &Module,
    call: &Call,
    options: Options,
    file: &str,
    say: Say,
) -> Result<Session, Failure> {
    if let Some(memory) = options.memory {
        ceiling::set(memory, file, say);
    }
    let strict = options.missing == Missing::Refuse;
    let mut session = Session::new(module, options).map_err(|error| failure(error, file))?;
    let mut needs = session.needs(&call.method).map_err(|error| failure(error, file))?;
    needs.retain(|need| strict || need.refused().is_some());
    if !needs.is_empty() {
        return Err(refusal(&needs, &call.method, file));
    }
    if let Some(seed) = call.budget.seed {
        session.manual_seed(seed);
    }
    Ok(session)
}

/// How many operators a refusal names, with a place each.
const MOST_NAMED: usize = 20;

fn refusal(needs: &[Need], method: &str, file: &str) -> Failure {
    let mut named: Vec<(&str, usize, &Need)> = Vec::new();
    for need in needs {
        match named.iter_mut().find(|(what, ..)| *what == need.what) {
            Some((_, count, _)) => *count += 1,
            None => named.push((&need.what, 1, need)),
        }
    }
    let plural = if named.len() == 1 { "" } else { "s" };
    let message =
        format!("'{method}' has {} operator{plural} that sconce does not run", named.len());
    let mut failure = Failure::unreadable(message).in_file(file);
    for (what, count, need) in named.iter().take(MOST_NAMED) {
        let places = if *count == 1 { String::new() } else { format!(" at {count} places") };
        let range = need.range.as_ref();
        let place = range.map(|range| range.original().unwrap_or_else(|| range.clone()));
        let place = place.map_or(String::new(), |place| format!("\n{}", place.highlight()));
        let why = need.refused().map_or(String::new(), |why| format!(" ({why})"));
        failure = failure.note(format!("{what}{why}{places}{place}"));
    }
    if named.len() > MOST_NAMED {
        failure = failure.note(format!("and {} more: sconce ops FILE", named.len() - MOST_NAMED));
    }
    match needs.iter().any(|need| need.refused().is_some()) {
        true => failure,
        false => failure.help("without --strict it runs unless it comes to one of them"),
    }
}

/// What to do about a limit.
pub const LIMITS_HELP: &str = "--max-seconds, --max-memory and --max-steps say what it may spend";

/// What is wrong with a program that was prepared or run. An exception's text is PyTorch's.
pub fn failure(error: Error, file: &str) -> Failure {
    match error {
        Error::Archive(error) => script::failure(error, file),
        Error::Arguments(message) => Failure::usage(message).in_file(file),
        Error::Limit(message) => Failure::unreadable(message).in_file(file).help(LIMITS_HELP),
        Error::Unsupported { .. } => {
            let failure = Failure::unreadable(error.to_string()).in_file(file);
            failure.help("sconce ops FILE lists the operators of a program that are missing")
        }
        other => Failure::unreadable(other.to_string()).in_file(file),
    }
}

fn resize(text: &str) -> Result<(u32, u32), String> {
    let side = |text: &str| text.parse().ok().filter(|side| (1..=16384).contains(side));
    let sides = text.split_once('x').and_then(|(h, w)| Some((side(h)?, side(w)?)));
    sides.ok_or_else(|| "height and width, such as 224x224".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Where a result goes and how it is shown.
#[derive(Debug, Clone, Args)]
pub struct ResultOptions {
    /// Write the result: .pt (as torch.save), .npz or .npy
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the output
    #[arg(short, long)]
    pub force: bool,
    /// Print JSON; numbers that are not finite are strings
    #[arg(long)]
    pub json: bool,
    /// Show the K best of a row of scores, each with a bar: as probabilities, which scores are made
    /// by softmax unless they are some
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// With --top: a file with the name of a class on each line
    #[arg(long, value_name = "FILE", requires = "top")]
    pub labels: Option<OsString>,
}

//! What the verbs that run programs are given: the call, what it may spend, what becomes of its result.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sconce::jit::ScriptLimits;
use sconce::run::memory_left;

use super::method::MethodChoice;
use super::positional::{self, Positional};
use super::values::size;

/// What is called, and with what.
#[derive(Debug, Clone, Args)]
pub struct Call {
    /// What is called.
    #[command(flatten)]
    pub method: MethodChoice,
    /// With what, by position.
    #[command(flatten)]
    pub positional: Positional,
    /// All arguments, as torch.save wrote them: a list or tuple, or {'args': [...], 'kwargs': {...}}
    /// (repeatable: each is a call, in one session; the result is then a list)
    #[arg(long, value_name = "FILE", conflicts_with_all = positional::FLAGS)]
    pub inputs: Vec<OsString>,
    /// How pictures become arguments.
    #[command(flatten)]
    pub picture: PictureOptions,
    /// How sound becomes arguments.
    #[command(flatten)]
    pub sound: SoundOptions,
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

/// How sound becomes tensors.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Sound (float32, channels x samples, -1 to 1)")]
pub struct SoundOptions {
    /// Resample to this many samples a second, as torchaudio.functional.resample does
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=768_000))]
    pub sample_rate: Option<u32>,
    /// One channel: the mean of all
    #[arg(long)]
    pub mono: bool,
}

/// `--precision`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PrecisionChoice {
    /// float32, as without this option
    Full,
    /// Weights and inputs of linear layers and convolutions rounded to bfloat16, sums of float32
    Bf16,
    /// Weights of linear layers in eight bits, with a scale for each 32
    Int8Weights,
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
    /// Compute every product of a convolution: save no multiplications by Winograd's algorithm
    #[arg(long)]
    pub exact: bool,
    /// Round what is multiplied with constant weights where that is quicker: bfloat16, or weights of eight bits
    #[arg(long, value_name = "PRECISION", conflicts_with = "no_optimize")]
    pub precision: Option<PrecisionChoice>,
    /// Threads for large operators (default: one for each core)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Use no newer vector instructions than these: SSE2, AVX2, AVX-512 (default: the best that the CPU has)
    #[arg(long, value_name = "LEVEL")]
    pub vector_instructions: Option<String>,
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

/// What to do about a limit.
pub const LIMITS_HELP: &str = "--max-seconds, --max-memory and --max-steps say what it may spend";

fn resize(text: &str) -> Result<(u32, u32), String> {
    let side = |text: &str| text.parse().ok().filter(|side| (1..=16384).contains(side));
    let sides = text.split_once('x').and_then(|(h, w)| Some((side(h)?, side(w)?)));
    sides.ok_or_else(|| "height and width, such as 224x224".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

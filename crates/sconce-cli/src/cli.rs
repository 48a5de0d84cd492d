//! The command line: every verb and every flag.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use sconce::checkpoint::Value;
use sconce::tensor::DType;

use crate::calling::{Call, LimitOptions, ResultOptions};
use crate::output::ColorChoice;
use crate::saving::Saving;

/// PyTorch's files at a shell, without PyTorch: look into any .pt, .pth, .bin or .ckpt, compare,
/// convert and verify it, run TorchScript programs. Only run, bench and compare execute anything: a
/// program that you name, in an interpreter without access to files, processes or the network.
///
/// `sconce FILE` shows a card of one screen. A file named like a verb is `./ls`.
#[derive(Debug, Parser)]
#[command(name = "sconce", version, arg_required_else_help = true, subcommand_required = true)]
#[command(
    after_long_help = "Exit codes: 0 fine, 1 a finding or a difference, 2 the file cannot be \
read, 3 wrong usage, 130 interrupted.\n\nEnvironment: NO_COLOR, CLICOLOR_FORCE, SCONCE_PAGER (empty: \
none), PAGER, SCONCE_COLOR, SCONCE_NO_PAGER, SCONCE_BYTES, SCONCE_QUIET."
)]
pub struct Cli {
    /// Flags of every verb.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Flags that every verb takes.
#[derive(Debug, Args)]
pub struct Global {
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    #[arg(env = "SCONCE_COLOR", hide_env = true, help_heading = "Global options")]
    pub color: ColorChoice,
    /// Do not send long output through a pager
    #[arg(short = 'P', long, global = true, env = "SCONCE_NO_PAGER", hide_env = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new(), help_heading = "Global options")]
    pub no_pager: bool,
    /// Print sizes as exact numbers of bytes
    #[arg(long, global = true, env = "SCONCE_BYTES", hide_env = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new(), help_heading = "Global options")]
    pub bytes: bool,
    /// Print no progress and no remarks
    #[arg(short, long, global = true, env = "SCONCE_QUIET", hide_env = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new(), help_heading = "Global options")]
    pub quiet: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show what a file is on one screen (also: sconce FILE)
    Info(InfoArgs),
    /// Say what files are, by their content
    Identify(IdentifyArgs),
    /// List the tensors
    Ls(LsArgs),
    /// Show the structure as a tree
    Tree(TreeArgs),
    /// Show a tensor: values, statistics, histogram
    #[command(visible_alias = "cat")]
    Show(ShowArgs),
    /// Compute statistics of every tensor
    Stat(StatArgs),
    /// Compare two files
    Diff(DiffArgs),
    /// Convert between .pt, .safetensors, .npz and .npy, and between the versions of .pt
    Convert(ConvertArgs),
    /// Change a checkpoint: set, rename, drop, keep, split, join, cast, transpose, cut loose
    Edit(EditArgs),
    /// Split a state dict into files of limited size with an index, as Hugging Face's libraries do
    Shard(ShardArgs),
    /// Put several state dicts into one
    Merge(MergeArgs),
    /// Show the program of a TorchScript archive, or one class, function or method of it
    Code(CodeArgs),
    /// Show the graph of a TorchScript method, as PyTorch prints it
    Graph(GraphArgs),
    /// List the operators that a TorchScript program uses
    Ops(OpsArgs),
    /// Run a TorchScript program
    Run(RunArgs),
    /// Measure how long a TorchScript program takes, and where
    Bench(BenchArgs),
    /// Run a TorchScript program on saved arguments and compare the result with a saved one
    Compare(CompareArgs),
    /// Compile a Python function or nn.Module to TorchScript, as torch.jit.script does
    Script(ScriptArgs),
    /// Print the syntax tree of a file of TorchScript source or of a Python function
    Ast(AstArgs),
    /// Load a TorchScript archive or a checkpoint and save it again, as PyTorch would
    Resave(ResaveArgs),
    /// Take the raw records out of an archive
    Extract(ExtractArgs),
    /// Check every byte of a file
    Verify(VerifyArgs),
    /// List the opcodes of a pickle, as python -m pickletools does
    Dis(DisArgs),
    /// Run a pickle step by step on inert values
    Trace(TraceArgs),
    /// List the classes and functions that a file names
    Globals(GlobalsArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man(ManArgs),
}

/// A file to read, and how.
#[derive(Debug, Args)]
pub struct Input {
    /// The file; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: OsString,
    /// How to read it.
    #[command(flatten)]
    pub load: Load,
}

/// How files are read.
#[derive(Debug, Clone, Args)]
pub struct Load {
    /// What may be in the file
    #[arg(
        help_heading = "Reading options",
        long,
        value_enum,
        default_value = "inspect",
        hide_short_help = true
    )]
    pub policy: PolicyChoice,
    /// With --policy weights-only: allow this class or function too (module.name)
    #[arg(help_heading = "Reading options", long, value_name = "NAME", hide_short_help = true)]
    pub allow: Vec<String>,
    /// Show what can be read where a tensor is damaged
    #[arg(help_heading = "Reading options", long)]
    pub keep_going: bool,
    /// How Python 2 strings become text
    #[arg(
        help_heading = "Reading options",
        long,
        value_enum,
        default_value = "utf-8",
        hide_short_help = true
    )]
    pub encoding: EncodingChoice,
    /// Byte order where the file states none
    #[arg(
        help_heading = "Reading options",
        long,
        value_enum,
        value_name = "ORDER",
        hide_short_help = true
    )]
    pub byte_order: Option<ByteOrderChoice>,
    /// Read the whole file instead of mapping it
    #[arg(help_heading = "Reading options", long, hide_short_help = true)]
    pub no_mmap: bool,
    /// What the file may cost.
    #[command(flatten)]
    pub bounds: Bounds,
}

/// What a file may make its reader spend. The defaults grow with the file.
#[derive(Debug, Clone, Default, Args)]
pub struct Bounds {
    /// Most bytes of a pickle (default: 16 MiB, or 64 for each byte that it takes in the file)
    #[arg(help_heading = "Reading options", long, value_name = "SIZE", value_parser = size, hide_short_help = true)]
    pub max_pickle_bytes: Option<u64>,
    /// Most values of a pickle (default: 262144, or 64 for each byte that it takes in the file)
    #[arg(help_heading = "Reading options", long, value_name = "N", hide_short_help = true)]
    pub max_pickle_values: Option<usize>,
    /// Most memory for copies of a pickle's parts (default: 16 MiB, or 4 KiB for each byte that it takes
    /// in the file)
    #[arg(help_heading = "Reading options", long, value_name = "SIZE", value_parser = size, hide_short_help = true)]
    pub max_pickle_memory: Option<u64>,
    /// Most bytes that a compressed record may take
    #[arg(help_heading = "Reading options", long, value_name = "SIZE", value_parser = size, hide_short_help = true)]
    pub max_inflated_bytes: Option<u64>,
    /// Most bytes of standard input
    #[arg(help_heading = "Reading options", long, value_name = "SIZE", value_parser = size, hide_short_help = true)]
    pub max_stream_bytes: Option<u64>,
}

/// `--policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyChoice {
    /// Anything opens; unknown classes stay inert objects
    Inspect,
    /// What torch.load(weights_only=True) admits
    WeightsOnly,
}

/// `--encoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EncodingChoice {
    /// UTF-8, and bytes where it is none
    #[value(name = "utf-8", alias = "utf8")]
    Utf8,
    /// A character for every byte
    #[value(name = "latin1", alias = "latin-1")]
    Latin1,
    /// Bytes stay bytes
    Bytes,
}

/// `--byte-order`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ByteOrderChoice {
    /// Least significant byte first
    Little,
    /// Most significant byte first
    Big,
}

/// Which names.
#[derive(Debug, Clone, Default, Args)]
pub struct Names {
    /// Only names that match (repeatable): * ? [a-z] {a,b}
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// No names that match (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
}

/// `sconce info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `sconce identify`.
#[derive(Debug, Args)]
pub struct IdentifyArgs {
    /// Files; - reads standard input
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<OsString>,
    /// Go through directories (links in them are not followed)
    #[arg(short, long)]
    pub recursive: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `sconce ls`.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Show layout, stride, offset, storage, device and requires_grad too
    #[arg(short, long)]
    pub long: bool,
    /// Order of the rows (default: the file's)
    #[arg(long, value_enum, value_name = "KEY")]
    pub sort: Option<SortKey>,
    /// Reverse the order
    #[arg(short, long)]
    pub reverse: bool,
    /// Which names.
    #[command(flatten)]
    pub names: Names,
    /// Only tensors of this dtype (repeatable)
    #[arg(long, value_name = "DTYPE", value_parser = dtype)]
    pub dtype: Vec<DType>,
    /// Only the first N rows
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Show the SHA-256 of the elements: row-major, little-endian
    #[arg(long)]
    pub sha256: bool,
    /// How to print.
    #[command(flatten)]
    pub form: LsForm,
    /// Print no header and no totals
    #[arg(long)]
    pub no_header: bool,
}

/// How `sconce ls` prints.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct LsForm {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print a JSON object on a line for each tensor
    #[arg(long)]
    pub jsonl: bool,
    /// Print CSV
    #[arg(long)]
    pub csv: bool,
    /// Print tab-separated values
    #[arg(long)]
    pub tsv: bool,
    /// Print names only, each ended by a NUL byte
    #[arg(short = '0', long = "null")]
    pub null: bool,
}

/// `--sort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SortKey {
    /// By name
    Name,
    /// By bytes, largest first
    Size,
    /// By number of elements, largest first
    Numel,
    /// By place in the file
    Offset,
    /// By dtype
    Dtype,
}

/// `sconce tree`.
#[derive(Debug, Args)]
pub struct TreeArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Levels to show (with it, repeats are still folded)
    #[arg(short = 'L', long, value_name = "N")]
    pub depth: Option<usize>,
    /// Order of siblings (default: the file's)
    #[arg(long, value_enum, value_name = "KEY")]
    pub sort: Option<TreeSort>,
    /// Do not fold repeats such as layers.{0..31}
    #[arg(long)]
    pub no_fold: bool,
    /// Show values that are no tensors too
    #[arg(short, long)]
    pub all: bool,
    /// Which names.
    #[command(flatten)]
    pub names: Names,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print no header
    #[arg(long)]
    pub no_header: bool,
}

/// `--sort` of `sconce tree`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TreeSort {
    /// By name
    Name,
    /// By bytes, largest first
    Size,
    /// By number of elements, largest first
    Numel,
}

/// `sconce show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Names or patterns, with an optional slice: fc.weight, fc.weight[0:3,:], '*.bias'
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Show statistics (without being asked when one tensor is shown)
    #[arg(long)]
    pub stats: bool,
    /// Show a histogram (without being asked when one tensor is shown)
    #[arg(long, value_name = "BINS", num_args = 0..=1, default_missing_value = "10")]
    #[arg(require_equals = true)]
    pub hist: Option<usize>,
    /// Show values and metadata only: large tensors need not be read
    #[arg(long, conflicts_with_all = ["stats", "hist"])]
    pub no_stats: bool,
    /// Do not show values
    #[arg(long)]
    pub no_values: bool,
    /// Print all elements
    #[arg(long)]
    pub full: bool,
    /// Digits behind the decimal point
    #[arg(long, value_name = "N")]
    pub precision: Option<usize>,
    /// Write the elements instead
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub format: Option<ShowFormat>,
    /// Write to this file (format from the extension)
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    pub output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(short, long)]
    pub force: bool,
    /// Print metadata, and what else was asked for, as JSON
    #[arg(long)]
    pub json: bool,
}

/// `--format` of `sconce show`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowFormat {
    /// A NumPy file
    Npy,
    /// The elements' bytes: row-major, little-endian
    Raw,
    /// A line for each row of the last dimension
    Csv,
    /// Nested lists
    Json,
}

/// `sconce stat`.
#[derive(Debug, Args)]
pub struct StatArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Which names.
    #[command(flatten)]
    pub names: Names,
    /// Only tensors with NaN, infinities, subnormal numbers, or elements that are all zero or all equal
    #[arg(long)]
    pub anomalies: bool,
    /// Exit with 1 when a tensor has one of these
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    pub fail_on: Vec<Anomaly>,
    /// Threads to use (default: one a core)
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print no header
    #[arg(long)]
    pub no_header: bool,
}

/// What can be odd about a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Anomaly {
    /// Not a number
    Nan,
    /// Infinities
    Inf,
    /// Every element is zero
    Zero,
    /// Every element is equal, and there is more than one
    Constant,
    /// Numbers too small for full precision
    Subnormal,
}

/// `sconce diff`.
#[derive(Debug, Args)]
#[command(after_help = "Of two TorchScript archives the records of code, constants, bytecode and \
extra files are compared byte for byte too; methods are not compared one by one.")]
pub struct DiffArgs {
    /// The first file; - reads standard input
    #[arg(value_name = "A")]
    pub a: OsString,
    /// The second file
    #[arg(value_name = "B")]
    pub b: OsString,
    /// Numbers may differ by this share of the second
    #[arg(long, default_value_t = 0.0, value_name = "R")]
    pub rtol: f64,
    /// Numbers may differ by this much
    #[arg(long, default_value_t = 0.0, value_name = "A")]
    pub atol: f64,
    /// Say by how much values differ
    #[arg(long)]
    pub values: bool,
    /// Print only the counts
    #[arg(long)]
    pub stat: bool,
    /// Do not look at the elements
    #[arg(long, conflicts_with = "values")]
    pub no_values: bool,
    /// Compare only tensors, not other values
    #[arg(long)]
    pub tensors_only: bool,
    /// Cut this off the front of names (repeatable): module.
    #[arg(long, value_name = "PREFIX")]
    pub ignore_prefix: Vec<String>,
    /// Pair tensors of other names by their content; or rename those of A first, as edit does
    /// (repeatable)
    #[arg(long, value_name = "s/…/…/", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "", value_parser = crate::rename::Rename::parse_or_find)]
    pub rename: Vec<Option<crate::rename::Rename>>,
    /// Which names.
    #[command(flatten)]
    pub names: Names,
    /// Print every difference, however many
    #[arg(long)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// How to read the files.
    #[command(flatten)]
    pub load: Load,
}

/// `sconce convert`.
#[derive(Debug, Args)]
#[command(after_help = "What does not fit the format is an error that names the tensor: \
--dense, --dtype, --exclude or --keep-going says what is to be done. A .pt file holds everything; from \
.safetensors and .npz it gets a dict of tensors in the file's order, from .npy a tensor.")]
pub struct ConvertArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Where to write; - is standard output
    #[arg(value_name = "OUT", required_unless_present = "output")]
    pub out: Option<PathBuf>,
    /// Where to write
    #[arg(short, long, value_name = "OUT", conflicts_with = "out")]
    pub output: Option<PathBuf>,
    /// Format to write (default: by the extension of OUT)
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<Format>,
    /// Take only what is below this name, and cut it off the names: state_dict
    #[arg(long, value_name = "NAME")]
    pub take: Option<String>,
    /// Which names (after --take).
    #[command(flatten)]
    pub names: Names,
    /// What to do with tensors that share memory
    #[arg(long, value_enum, default_value = "clone")]
    pub shared: SharedChoice,
    /// Convert floating-point tensors to this dtype
    #[arg(long, value_name = "DTYPE", value_parser = dtype)]
    pub dtype: Option<DType>,
    /// Let numbers become infinite where --dtype cannot hold them
    #[arg(long, requires = "dtype")]
    pub allow_overflow: bool,
    /// For .pt: write parameters and buffers only, as nn.Module.state_dict() gives them
    #[arg(long)]
    pub state_dict: bool,
    /// Write sparse tensors as dense ones and quantized ones as float32
    #[arg(long)]
    pub dense: bool,
    /// Say what would be written, write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Read the written file again and compare
    #[arg(long)]
    pub verify: bool,
    /// Overwrite OUT
    #[arg(short, long)]
    pub force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// How to write .pt.
    #[command(flatten)]
    pub saving: Saving,
}

/// Formats that `sconce convert` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The archive that torch.save writes
    #[value(alias = "pt", alias = "pth")]
    Zip,
    /// The stream that torch.save wrote before PyTorch 1.6
    Legacy,
    /// safetensors
    Safetensors,
    /// NumPy arrays in a zip archive
    Npz,
    /// One NumPy array
    Npy,
}

/// Formats that hold nothing but tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// safetensors
    Safetensors,
    /// NumPy arrays in a zip archive
    Npz,
    /// One NumPy array
    Npy,
}

/// `--shared`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SharedChoice {
    /// Every name gets its own copy
    Clone,
    /// Equal views are written once; safetensors metadata keeps the other names
    Keep,
    /// Refuse
    Error,
}

/// `sconce edit`.
#[derive(Debug, Args)]
#[command(after_help = "Whatever order the options are given in: what is taken is the file; \
entries are stripped, dropped and kept; values are set; tensors are split and joined; views are \
cloned, tensors cast and transposed; entries are renamed last. All names are those of the file after \
--take, as sconce tree --all shows them; in a module they are those of its parameters, buffers and \
attributes.\n\nExamples:\n  sconce edit in.pt out.pt --set epoch=3 --set 'config.lr=1e-3'\n  \
sconce edit in.pt out.pt --rename 's/^module\\.//' --cast bfloat16\n  \
sconce edit in.pt out.pt --split 'attn.qkv.weight=attn.q.weight,attn.k.weight,attn.v.weight@0'\n  \
sconce edit in.pt out.pt --concat 'q.weight,k.weight,v.weight=qkv.weight@0'")]
pub struct EditArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Where to write (.pt, .pth, .bin or .ckpt)
    #[arg(value_name = "OUT", required_unless_present_any = ["output", "dry_run"])]
    pub out: Option<PathBuf>,
    /// Where to write
    #[arg(short, long, value_name = "OUT", conflicts_with = "out")]
    pub output: Option<PathBuf>,
    /// Take only what is below this name, and cut it off the names: state_dict
    #[arg(long, value_name = "NAME")]
    pub take: Option<String>,
    /// Take this out of a training checkpoint
    #[arg(long, value_enum, value_name = "WHAT")]
    pub strip: Vec<Strip>,
    /// Take entries that match out, with all below them (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub drop: Vec<String>,
    /// Take every other entry out (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub keep: Vec<String>,
    /// Set a value, as a Python literal (repeatable): epoch=3, config.lr=1e-3, 'tags=["a", None]'
    #[arg(long, value_name = "NAME=VALUE", value_parser = crate::pieces::assignment)]
    pub set: Vec<(String, Value)>,
    /// Split a tensor along a dimension (repeatable): qkv=q,k,v@0, or with sizes qkv=q,k,v@0:8,4,4
    #[arg(long, value_name = "NAME=A,B@DIM[:SIZES]", value_parser = crate::pieces::Split::parse)]
    pub split: Vec<crate::pieces::Split>,
    /// Join tensors along a dimension (repeatable): q,k,v=qkv@0
    #[arg(long, value_name = "A,B=NAME@DIM", value_parser = crate::pieces::Concat::parse)]
    pub concat: Vec<crate::pieces::Concat>,
    /// Give small views of large storages storages of their own
    #[arg(long)]
    pub clone_views: bool,
    /// Cast floating-point tensors, or those that match (repeatable): bfloat16:*.weight
    #[arg(long, value_name = "DTYPE[:GLOB]", value_parser = cast)]
    pub cast: Vec<Cast>,
    /// Let numbers become infinite where --cast cannot hold them
    #[arg(long, requires = "cast")]
    pub allow_overflow: bool,
    /// Swap the last two dimensions of tensors that match (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub transpose: Vec<String>,
    /// Rename entries by a regular expression over the whole name, as sed does (flags g and i), or
    /// one of them as OLD=NEW (repeatable, in order)
    #[arg(long, value_name = "s/…/…/", value_parser = crate::rename::Rename::parse)]
    pub rename: Vec<crate::rename::Rename>,
    /// Print what would change, write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Overwrite OUT
    #[arg(short, long)]
    pub force: bool,
    /// Print the changes as JSON
    #[arg(long)]
    pub json: bool,
    /// How to write.
    #[command(flatten)]
    pub saving: Saving,
}

/// `--strip`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Strip {
    /// The state of optimizers
    Optimizer,
}

/// `--cast`: the dtype, and a pattern over names.
#[derive(Debug, Clone)]
pub struct Cast {
    /// The dtype.
    pub dtype: DType,
    /// The pattern; without one all tensors are meant.
    pub pattern: Option<String>,
}

/// `sconce shard`.
#[derive(Debug, Args)]
pub struct ShardArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Where to put the files
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Most bytes of tensors in a file; 5GB is 5,000,000,000 and 5GiB a little more
    #[arg(long, value_name = "SIZE", value_parser = decimal_size, default_value = "5GB")]
    pub max_size: u64,
    /// Beginning of the files' names
    #[arg(long, value_name = "NAME", default_value = "pytorch_model")]
    pub prefix: String,
    /// Take only what is below this name: state_dict
    #[arg(long, value_name = "NAME")]
    pub take: Option<String>,
    /// Write plain dicts, without the versions of modules: byte for byte the files of huggingface_hub
    #[arg(long)]
    pub plain: bool,
    /// Say what would be written, write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Replace an earlier set as one: its files PREFIX-*-of-*.bin, PREFIX.bin and the index
    #[arg(short, long)]
    pub force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// How to write.
    #[command(flatten)]
    pub saving: Saving,
}

/// `sconce merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The files
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub files: Vec<OsString>,
    /// Where to write
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Take only what is below this name in each file: state_dict
    #[arg(long, value_name = "NAME")]
    pub take: Option<String>,
    /// Say what would be written, write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Overwrite OUT
    #[arg(short, long)]
    pub force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// How to write.
    #[command(flatten)]
    pub saving: Saving,
    /// How to read the files.
    #[command(flatten)]
    pub load: Load,
}

/// `sconce code`.
#[derive(Debug, Args)]
#[command(
    after_help = "A NAME is a method's path from the root (forward, encoder.forward) or the \
qualified name of a class, function or method (__torch__.Net, Net.forward)."
)]
pub struct CodeArgs {
    /// The archive.
    #[command(flatten)]
    pub input: Input,
    /// What to show (default: the files of the program as they are in the archive; of a Python file
    /// the methods)
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Show the Python that it was written as, where the archive holds it
    #[arg(long)]
    pub original: bool,
    /// Show the instructions of the lite interpreter, which archives for phones hold
    #[arg(long, conflicts_with_all = ["name", "original"])]
    pub bytecode: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// How Python files are compiled.
    #[command(flatten)]
    pub python: PythonOptions,
}

/// `sconce graph`.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// The archive.
    #[command(flatten)]
    pub input: Input,
    /// A method's path from the root (encoder.forward), or a qualified name (default: forward)
    #[arg(value_name = "METHOD")]
    pub method: Option<String>,
    /// Put the bodies of all methods and functions in the place of their calls
    #[arg(long)]
    pub inlined: bool,
    /// Do that, and put the values of attributes in the place of their reads, as
    /// torch.jit.freeze begins
    #[arg(long)]
    pub freeze: bool,
    /// How to print.
    #[command(flatten)]
    pub form: GraphForm,
    /// How Python files are compiled.
    #[command(flatten)]
    pub python: PythonOptions,
}

/// How `sconce graph` prints.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct GraphForm {
    /// Print Graphviz's language
    #[arg(long)]
    pub dot: bool,
    /// Draw it as SVG
    #[arg(long)]
    pub svg: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `sconce ops`.
#[derive(Debug, Args)]
pub struct OpsArgs {
    /// The archive.
    #[command(flatten)]
    pub input: Input,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print no header and no total
    #[arg(long)]
    pub no_header: bool,
    /// How Python files are compiled.
    #[command(flatten)]
    pub python: PythonOptions,
}

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

/// `sconce bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The archive.
    #[command(flatten)]
    pub archive: Input,
    /// An argument: a tensor of this size with numbers between 0 and 1 (repeatable; after --input)
    #[arg(long, value_name = "1x3x224x224", value_parser = shape)]
    pub shape: Vec<Shape>,
    /// Calls before those that are measured
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub warmup: u32,
    /// Calls that are measured (default: what fits in 3 seconds, at least 10)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,
    /// Rows of the table of operators
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub rows: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// What is called.
    #[command(flatten)]
    pub call: Call,
    /// How Python files are compiled.
    #[command(flatten)]
    pub python: PythonOptions,
}

/// `sconce compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The archive.
    #[command(flatten)]
    pub archive: Input,
    /// The result that is expected: what torch.save wrote
    #[arg(long, value_name = "FILE")]
    pub expect: OsString,
    /// How much numbers may differ: relative to the expected one, and absolute as a part of the
    /// largest in its tensor
    #[arg(long, value_name = "X", default_value_t = 1e-4)]
    pub tol: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// What is called.
    #[command(flatten)]
    pub call: Call,
    /// How Python files are compiled.
    #[command(flatten)]
    pub python: PythonOptions,
}

/// `--shape`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape(pub Vec<i64>);

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

/// How Python files are compiled.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Python options (FILE.py:NAME)")]
pub struct PythonOptions {
    /// A folder that modules are imported from, after the file's own (repeatable). With PyTorch's
    /// sources in it, its functions are compiled from them
    #[arg(long = "path", value_name = "DIR")]
    pub paths: Vec<PathBuf>,
    /// What the file is called as a module (default: its name without .py; __main__ for a script)
    #[arg(long, value_name = "NAME")]
    pub module: Option<String>,
    /// A checkpoint with the parameters and buffers of the nn.Module (load_state_dict)
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Put the nn.Module into evaluation mode before it is compiled
    #[arg(long)]
    pub eval: bool,
}

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

/// `sconce resave`.
#[derive(Debug, Args)]
pub struct ResaveArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Where to write
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Add an extra file to a TorchScript archive, or change the one of that name (repeatable)
    #[arg(long, value_name = "NAME=FILE")]
    pub extra: Vec<String>,
    /// Leave the extra files of a TorchScript archive out
    #[arg(long)]
    pub no_extra: bool,
    /// Write the tensors of a checkpoint alone, by their dotted names: no classes, no functions
    #[arg(long)]
    pub tensors_only: bool,
    /// Overwrite OUT
    #[arg(short, long)]
    pub force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}

/// `sconce extract`.
#[derive(Debug, Args)]
pub struct ExtractArgs {
    /// The archive (zip, or the old tar); - reads standard input
    #[arg(value_name = "FILE")]
    pub file: OsString,
    /// Where to put the records
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Only records that match (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub entry: Vec<String>,
    /// List the records, write nothing
    #[arg(long)]
    pub list: bool,
    /// Overwrite files
    #[arg(short, long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print no header
    #[arg(long)]
    pub no_header: bool,
    /// What the file may cost.
    #[command(flatten)]
    pub bounds: Bounds,
}

/// `sconce verify`.
#[derive(Debug, Args)]
#[command(after_help = "Damage is an error (exit code 1), and so is what would run when the file \
is loaded, and what stands behind the end of a pickle or of the file. Classes that are only on no \
list of PyTorch's are none: sconce globals names them.")]
pub struct VerifyArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `sconce dis`.
#[derive(Debug, Args)]
pub struct DisArgs {
    /// The file; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: OsString,
    /// Which pickle: a record of a zip or tar archive; magic, protocol, system, object or keys of a
    /// legacy file
    #[arg(long, value_name = "NAME")]
    pub record: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// What the file may cost.
    #[command(flatten)]
    pub bounds: Bounds,
}

/// `sconce trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// The file; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: OsString,
    /// Which pickle (as for dis)
    #[arg(long, value_name = "NAME")]
    pub record: Option<String>,
    /// Show at most N steps; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub limit: usize,
    /// Start at the first opcode at or after this offset (0x… works)
    #[arg(long, value_name = "OFFSET", value_parser = offset)]
    pub at: Option<usize>,
    /// Print a JSON object on a line for each step
    #[arg(long)]
    pub json: bool,
    /// What the file may cost.
    #[command(flatten)]
    pub bounds: Bounds,
}

/// `sconce globals`.
#[derive(Debug, Args)]
#[command(after_help = "Every pickle counts that a loader, or another reader of the file, would \
unpickle. The last lines say what is to be thought of the file: clean, unknown, broken or \
dangerous. --python proposes nothing that runs code or reaches outside: it says what that is, and \
the exit code is 1.")]
pub struct GlobalsArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Print the Python that lets torch.load(weights_only=True) read the file, if you trust it
    #[arg(long, conflicts_with = "json")]
    pub python: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print no header
    #[arg(long)]
    pub no_header: bool,
}

/// `sconce completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `sconce man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write the page of every verb into this directory
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

fn dtype(text: &str) -> Result<DType, String> {
    text.parse().map_err(|error: sconce::tensor::Error| error.to_string())
}

fn cast(text: &str) -> Result<Cast, String> {
    let (name, pattern) = match text.split_once(':') {
        Some((name, pattern)) => (name, Some(pattern.to_owned())),
        None => (text, None),
    };
    Ok(Cast { dtype: dtype(name)?, pattern })
}

/// As [`size`], but GB are those of Hugging Face and disk makers: powers of ten.
fn decimal_size(text: &str) -> Result<u64, String> {
    let power = match text.to_ascii_lowercase() {
        lower if lower.ends_with("kb") => 1,
        lower if lower.ends_with("mb") => 2,
        lower if lower.ends_with("gb") => 3,
        lower if lower.ends_with("tb") => 4,
        _ => return size(text),
    };
    let number: f64 =
        text[..text.len() - 2].trim().parse().map_err(|_| "not a number".to_owned())?;
    if !(0.0..=1e6).contains(&number) {
        return Err("not a size".to_owned());
    }
    Ok((number * 1000f64.powi(power)) as u64)
}

/// `4096`, `64K`, `1.5GiB`.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err("a size is a number with K, M, G or T behind it".to_owned()),
    };
    let number: f64 = digits.trim().parse().map_err(|_| "not a number".to_owned())?;
    if !(0.0..=1e18).contains(&number) {
        return Err("not a size".to_owned());
    }
    Ok((number * (1u64 << shift) as f64) as u64)
}

/// `1x3x224x224`; nothing for a tensor without dimensions.
fn shape(text: &str) -> Result<Shape, String> {
    let sizes = text.split('x').filter(|size| !size.is_empty());
    let sizes: Option<Vec<i64>> =
        sizes.map(|size| size.parse().ok().filter(|size| *size >= 0)).collect();
    sizes.map(Shape).ok_or_else(|| "sizes with an x between them, such as 1x3x224x224".to_owned())
}

fn offset(text: &str) -> Result<usize, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_and_offsets() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("64K"), Ok(64 << 10));
        assert_eq!(size("1.5GiB"), Ok(3 << 29));
        assert!(size("x").is_err() && size("-1").is_err() && size("1X").is_err());
        assert_eq!(decimal_size("5GB"), Ok(5_000_000_000));
        assert_eq!(decimal_size("1.5kb"), Ok(1500));
        assert_eq!(decimal_size("2GiB"), Ok(2 << 30));
        assert!(decimal_size("xMB").is_err() && decimal_size("-1GB").is_err());
        assert_eq!(offset("0x1c4"), Ok(0x1c4));
        assert_eq!(offset("12"), Ok(12));
        assert_eq!(shape("1x3"), Ok(Shape(vec![1, 3])));
        assert_eq!(shape(""), Ok(Shape(vec![])));
        assert!(shape("1x-3").is_err());
    }
}

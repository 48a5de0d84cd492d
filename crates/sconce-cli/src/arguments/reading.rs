//! Which file a verb reads, and how.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use super::values::size;

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

/// Files to read, and how.
#[derive(Debug, Args)]
pub struct Inputs {
    /// Files, or quoted patterns such as 'models/*.pt'; - reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<OsString>,
    /// Go through folders, to every file in them that opens (links are not followed)
    #[arg(short, long)]
    pub recursive: bool,
    /// How to read them.
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
    #[arg(help_heading = "Reading options", long, hide_short_help = true)]
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
    /// Which model of a .pt2 file, where it has several
    #[arg(help_heading = "Reading options", long, value_name = "NAME", hide_short_help = true)]
    pub model: Option<String>,
    /// Read the whole file instead of mapping it
    #[arg(help_heading = "Reading options", long, hide_short_help = true)]
    pub no_mmap: bool,
    /// What the file may cost.
    #[command(flatten)]
    pub bounds: Bounds,
}

impl Load {
    /// As without any flag.
    pub fn inspect() -> Load {
        Load {
            policy: PolicyChoice::Inspect,
            allow: Vec::new(),
            keep_going: false,
            encoding: EncodingChoice::Utf8,
            byte_order: None,
            model: None,
            no_mmap: false,
            bounds: Bounds::default(),
        }
    }
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

//! Which pickles of a file a verb looks at.

use std::ffi::OsString;

use clap::Args;

use super::reading::Bounds;

/// A file, and which of its pickles.
#[derive(Debug, Args)]
pub struct Pickles {
    /// The file; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: OsString,
    /// Which pickle: a record of a zip or tar archive; magic, protocol, system, object or keys of a
    /// legacy file
    #[arg(long, value_name = "NAME")]
    pub record: Option<String>,
    /// What the file may cost.
    #[command(flatten)]
    pub bounds: Bounds,
}

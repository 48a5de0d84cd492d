//! Which names a verb takes.

use clap::Args;

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

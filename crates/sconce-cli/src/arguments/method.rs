//! Which method a verb is about.

use clap::Args;

/// A method, by its place behind the file or by `--method`.
#[derive(Debug, Clone, Args)]
pub struct MethodChoice {
    /// A method: its path from the root (forward, encoder.forward)
    #[arg(value_name = "METHOD", conflicts_with = "method")]
    pub place: Option<String>,
    /// The same, as a flag
    #[arg(short, long, value_name = "METHOD", hide_short_help = true)]
    pub method: Option<String>,
}

impl MethodChoice {
    /// What was asked for.
    pub fn given(&self) -> Option<&str> {
        self.place.as_deref().or(self.method.as_deref())
    }

    /// What was asked for, or `forward`.
    pub fn or_forward(&self) -> &str {
        self.given().unwrap_or("forward")
    }
}

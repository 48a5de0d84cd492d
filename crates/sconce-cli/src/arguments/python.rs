//! How the verbs that take `FILE.py:NAME` compile it.

use std::path::PathBuf;

use clap::Args;

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

//! What the user sees: one door for standard output, and everything that decides how text looks.
//!
//! Architecture invariant: text from a file reaches a terminal only through [`escape`], because
//! [`Line`] and [`Table`] escape every cell they are given and [`Out`] accepts nothing else, except
//! the bytes of formats that do their own quoting (JSON, CSV, raw data).

mod color;
mod csv;
pub mod escape;
mod failure;
mod hex;
mod highlight;
mod json;
mod line;
mod out;
mod pager;
mod program;
mod progress;
mod shell;
mod size;
mod table;

pub use color::{ColorChoice, Palette, Style};
pub use csv::Separated;
pub use failure::{remark, warn};
pub use hex::hex;
pub use line::Line;
pub use out::{Out, OutOptions};
pub use program::program_text;
pub use progress::Progress;
pub use shell::shell_word;
pub use size::{Sizes, count, grouped, percent_bar};
pub use table::{Align, Table};

/// The version of every JSON document; fields are only ever added under one number.
pub const SCHEMA_VERSION: u32 = 1;

//! What is said of a file that was written, or would be.

use std::fs;
use std::path::Path;

use crate::output::{Line, Sizes, Style};

/// How a file is called that `torch.save` would have written.
pub const TORCH_SAVE: &str = "zip, torch.save layout";

/// `wrote    model.pt  (zip, torch.save layout, 7.3 KiB)`: nothing says so before the file has its name.
pub fn wrote(path: &Path, format: &str) -> Line {
    let line = Line::new().dim("  wrote    ").add(Style::Strong, path.to_string_lossy());
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file);
    match size.map(|about| Sizes::new(false).show(about.len())) {
        Some(size) => line.dim(format!("  ({format}, {size})")),
        None => line.dim(format!("  ({format})")),
    }
}

/// `would write model.pt  (zip, torch.save layout)`, of `--dry-run`.
pub fn would_write(path: &Path, format: &str) -> Line {
    let line = Line::new().dim("  would write ").add(Style::Strong, path.to_string_lossy());
    line.dim(format!("  ({format})"))
}

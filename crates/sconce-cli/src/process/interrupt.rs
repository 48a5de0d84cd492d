//! Ctrl-C: remove what is half written, exit with 130. Other signals that are no reason to end.

use std::path::{Path, PathBuf};
use std::{fs, process};

#[cfg(unix)]
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

static HALF_WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Sets the handler. Without it the system's own end of the process remains.
pub fn install() {
    let handler = || {
        remove_half_written();
        #[allow(clippy::exit, reason = "an interrupt ends the process wherever it is")]
        process::exit(130);
    };
    drop(ctrlc::set_handler(handler));
    // A file that grows past the limit on its size is an error to report, not the end.
    #[cfg(unix)]
    drop(signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()));
}

/// Removes the paths that guards stand for: the process ends before it has written them.
pub fn remove_half_written() {
    /// Whoever holds the list lets it go at once, unless it is this thread that ends the process within.
    const TRIES: usize = 50;
    for _ in 0..TRIES {
        let Ok(paths) = HALF_WRITTEN.try_lock() else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        for path in paths.iter() {
            // It may never have been created.
            drop(fs::remove_file(path));
        }
        return;
    }
}

/// A path to remove when the process is interrupted.
pub fn forget_on_finish(path: &Path) -> Guard {
    if let Ok(mut paths) = HALF_WRITTEN.lock() {
        paths.push(path.to_owned());
    }
    Guard(path.to_owned())
}

/// Until it is dropped, an interrupt removes the path.
pub struct Guard(PathBuf);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Ok(mut paths) = HALF_WRITTEN.lock() {
            paths.retain(|path| *path != self.0);
        }
    }
}

//! Ctrl-C, SIGTERM and SIGHUP: remove what is half written, exit with 130, 143 or 129. Other signals that are no
//! reason to end.

use std::path::{Path, PathBuf};
use std::{fs, process};

#[cfg(unix)]
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

static HALF_WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Sets the handlers. Without them the system's own end of the process remains.
#[cfg(unix)]
pub fn install() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;

    // One crate wakes a thread, the other says by which signal.
    let caught = Arc::new(AtomicUsize::new(0));
    let hangup_is_ignored = is_ignored(SIGHUP);
    let which = Arc::clone(&caught);
    let handler = move || {
        let mut signal = 0;
        // The number may come a moment after the wake-up.
        for _ in 0..100 {
            signal = i32::try_from(which.swap(0, Ordering::SeqCst)).unwrap_or(0);
            if signal != 0 {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        // A shell's nohup leaves SIGHUP ignored, and so does this.
        if signal == SIGHUP && hangup_is_ignored {
            return;
        }
        end(128 + if signal == 0 { SIGINT } else { signal });
    };
    if ctrlc::set_handler(handler).is_ok() {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or(0);
            drop(flag::register_usize(signal, Arc::clone(&caught), number));
        }
    }
    // A file that grows past the limit on its size is an error to report, not the end.
    drop(flag::register(SIGXFSZ, Arc::default()));
}

/// Whether the process was started with a signal ignored, as Linux tells.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Sets the handler of Ctrl-C.
#[cfg(not(unix))]
pub fn install() {
    drop(ctrlc::set_handler(|| end(130)));
}

fn end(code: i32) -> ! {
    remove_half_written();
    #[allow(clippy::exit, reason = "an interrupt ends the process wherever it is")]
    process::exit(code)
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

//! `--max-memory` where a single step takes more than was foreseen: the interpreter and the operators ask
//! before they take much, and what nobody asked for ends here, before the system ends the process.

use std::sync::Mutex;

use sconce::run::{set_ceiling, size_text};

use crate::error::Failure;
use crate::output::ColorChoice;
use crate::process::exit;
use crate::read::open::Say;

/// The limit, the file and how errors look.
static SET: Mutex<Option<(usize, String, ColorChoice)>> = Mutex::new(None);

/// What a program may hold beyond its limit before the process ends: what it holds between two looks of the
/// interpreter, and room for the message.
fn grace(limit: usize) -> usize {
    (limit / 20).max(8 << 20)
}

/// Ends the process when it holds so many bytes more than now, and some.
pub fn set(limit: usize, file: &str, say: Say) {
    if let Ok(mut set) = SET.lock() {
        *set = Some((limit, file.to_owned(), say.color));
    }
    set_ceiling(limit.saturating_add(grace(limit)), end);
}

/// Called in the place of the allocation that would be too much.
fn end() {
    let set = SET.try_lock().ok().and_then(|mut set| set.take());
    let (limit, file, color) = set.unwrap_or((0, String::new(), ColorChoice::Never));
    let failure = Failure::unreadable(format!("memory limit of {} exceeded", size_text(limit)))
        .in_file(file)
        .note("one operator, or what was made of its result, takes more than that")
        .help(crate::arguments::call::LIMITS_HELP);
    exit::end(&failure, color)
}

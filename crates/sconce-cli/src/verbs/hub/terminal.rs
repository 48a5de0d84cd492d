//! What downloads say, on standard error.

use std::cell::RefCell;

use sconce::hub::Watch;

use crate::output::{self, Line, Progress};
use crate::read::open::Say;

/// Shows PyTorch's sentences and a progress bar.
pub struct Terminal {
    say: Say,
    progress: RefCell<Option<Progress>>,
}

impl Terminal {
    /// Nothing but warnings where `say` is quiet.
    pub fn new(say: Say) -> Terminal {
        Terminal { say, progress: RefCell::new(None) }
    }
}

impl Watch for Terminal {
    fn say(&self, message: &str) {
        if !self.say.quiet {
            output::remark(self.say.color, &Line::new().plain(message));
        }
    }

    fn warn(&self, message: &str) {
        output::warn(self.say.color, message);
    }

    fn begin(&self, total: Option<u64>, there: u64) {
        let progress = Progress::new("downloading", total.unwrap_or(0), self.say.quiet);
        progress.begin_at(there);
        *self.progress.borrow_mut() = Some(progress);
    }

    fn advance(&self, bytes: u64) {
        if let Some(progress) = &*self.progress.borrow() {
            progress.advance(bytes);
        }
    }

    fn end(&self) {
        *self.progress.borrow_mut() = None;
    }
}

//! `--max-seconds` where a single operator takes longer: the interpreter looks at the clock between
//! instructions, and who waits for an answer should not have to wait for a product of enormous matrices.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::error::Failure;
use crate::output::ColorChoice;
use crate::process::exit;

/// How long the interpreter has to stop by itself, which says where the program was.
const GRACE: Duration = Duration::from_millis(500);

/// Ends the process if a call is not over when it should be. Dropping it calls that off.
pub struct Deadline {
    _call: Sender<()>,
}

impl Deadline {
    /// For a call that begins now and may take so long.
    pub fn new(most: Duration, failure: Failure, color: ColorChoice) -> Deadline {
        let (call, ended) = channel();
        thread::spawn(move || {
            if ended.recv_timeout(most.saturating_add(GRACE)) == Err(RecvTimeoutError::Timeout) {
                exit::end(&failure, color);
            }
        });
        Deadline { _call: call }
    }
}

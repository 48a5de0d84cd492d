//! Where Rust and Python meet: panics become exceptions, long work lets go of the interpreter, Ctrl-C is heard.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::error;

/// How often signals are looked at while another thread works.
const LOOK: Duration = Duration::from_millis(50);

/// Does something, and makes an `InternalError` of a panic.
pub fn guarded<R>(py: Python<'_>, work: impl FnOnce() -> PyResult<R>) -> PyResult<R> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(error::panicked(py, &*panic)))
}

/// [`guarded`], without holding the interpreter.
pub fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    done.map_err(|panic| error::panicked(py, &*panic))
}

/// Does what takes long on another thread, while this one listens for Ctrl-C. Where that comes the work goes on to its
/// end, and nobody waits for it.
pub fn in_background<R: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> R + Send + 'static,
) -> PyResult<R> {
    let (sender, receiver) = channel();
    // It is this thread's alone, which the closure below does not know.
    let receiver = Mutex::new(receiver);
    let spawned = thread::Builder::new().name("sconce-call".to_owned()).spawn(move || {
        // Nobody listens any more where the caller was interrupted.
        drop(sender.send(catch_unwind(AssertUnwindSafe(work))));
    });
    if let Err(failed) = spawned {
        return Err(failed.into());
    }
    loop {
        let wait = || match receiver.lock() {
            Ok(receiver) => receiver.recv_timeout(LOOK),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        let waited = py.detach(wait);
        match waited {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(panic)) => return Err(error::panicked(py, &*panic)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => resume_unwind(Box::new("a thread was lost")),
        }
    }
}

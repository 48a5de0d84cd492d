//! Sessions that are kept on the thread that made them, for the next call there.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use sconce::run::Session;

/// How many sessions a thread keeps.
const KEPT: usize = 16;

thread_local! {
    /// By the number of their model; the one used last is the last.
    static SESSIONS: RefCell<Vec<(u64, Session)>> = const { RefCell::new(Vec::new()) };
}

/// A number that no other model has.
pub fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The session of a model that this thread keeps, if it does.
pub fn take(id: u64) -> Option<Session> {
    SESSIONS.with_borrow_mut(|kept| {
        let at = kept.iter().rposition(|(known, _)| *known == id)?;
        Some(kept.remove(at).1)
    })
}

/// Keeps a session for the next call.
pub fn keep(id: u64, session: Session) {
    let dropped = SESSIONS.with_borrow_mut(|kept| {
        kept.push((id, session));
        (kept.len() > KEPT).then(|| kept.remove(0))
    });
    // Its end may take a while, and may call back.
    drop(dropped);
}

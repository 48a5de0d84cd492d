//! Sessions for hosts whose objects go from thread to thread.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::{Error, Model, Options, Session};

/// A session that stays on the thread that made it, by a handle that any thread may hold and drop. The session itself is
/// dropped on its own thread: at once, or, when another thread drops the handle, when the session's thread next
/// uses or makes one, or ends.
///
/// ```
/// use sconce_runtime::{Away, IValue, Model, Options, SessionHandle};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/loops/model.pt");
/// let model = Model::new(sconce_torchscript::load(path)?);
/// let session = SessionHandle::new(&model, Options::default()).unwrap();
/// session.with(|session| session.call("forward", &[IValue::Int(3)]).map(drop)).unwrap().unwrap();
/// let elsewhere = std::thread::spawn(move || session.with(|_| ()).unwrap_err());
/// assert_eq!(elsewhere.join().unwrap(), Away::OtherThread);
/// # Ok::<(), sconce_torchscript::Error>(())
/// ```
#[derive(Debug)]
pub struct SessionHandle {
    id: u64,
    home: Arc<Home>,
}

// What a handle is for.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<SessionHandle>();
};

/// Why a session cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Away {
    /// It is another thread's.
    #[error("a session belongs to the thread that made it: make one on this thread")]
    OtherThread,
    /// A call of it is running, further up on this thread.
    #[error("a call of this session is running: what it calls back may not use the session")]
    Busy,
    /// It has been closed, or was lost in a panic.
    #[error("the session is closed")]
    Closed,
}

/// A thread that has sessions.
#[derive(Debug)]
struct Home {
    thread: ThreadId,
    /// Sessions whose handles other threads have dropped.
    left: Mutex<Vec<u64>>,
}

/// The sessions of a thread.
struct Sessions {
    home: Arc<Home>,
    next: Cell<u64>,
    /// `None` while a call is running.
    open: RefCell<HashMap<u64, Option<Session>>>,
}

thread_local! {
    static SESSIONS: Sessions = Sessions {
        home: Arc::new(Home { thread: thread::current().id(), left: Mutex::default() }),
        next: Cell::new(0),
        open: RefCell::default(),
    };
}

impl Sessions {
    /// Drops the sessions that other threads let go of.
    fn bury(&self) {
        let left =
            std::mem::take(&mut *self.home.left.lock().unwrap_or_else(PoisonError::into_inner));
        for id in left {
            self.close(id);
        }
    }

    fn close(&self, id: u64) {
        let closed = self.open.borrow_mut().remove(&id);
        // Its end may take a while, and may call back.
        drop(closed);
    }
}

/// A session during a call: put back where it was, unless it was closed meanwhile or the call panicked.
struct Taken<'a> {
    sessions: &'a Sessions,
    id: u64,
    session: Option<Session>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.sessions.open.borrow_mut().remove(&self.id);
            return;
        }
        if let Some(place) = self.sessions.open.borrow_mut().get_mut(&self.id) {
            *place = self.session.take();
        }
    }
}

impl SessionHandle {
    /// Makes a session of this thread.
    ///
    /// # Errors
    /// As [`Model::session`].
    pub fn new(model: &Model, options: Options) -> Result<Self, Error> {
        SESSIONS.with(|sessions| {
            sessions.bury();
            let session = model.session(options)?;
            let id = sessions.next.replace(sessions.next.get() + 1);
            sessions.open.borrow_mut().insert(id, Some(session));
            Ok(SessionHandle { id, home: Arc::clone(&sessions.home) })
        })
    }

    /// Whether this is the session's thread.
    pub fn is_here(&self) -> bool {
        thread::current().id() == self.home.thread
    }

    /// Does something with the session.
    ///
    /// # Errors
    /// On other threads, within `work` of the same session, and after [`Self::close`].
    pub fn with<R>(&self, work: impl FnOnce(&mut Session) -> R) -> Result<R, Away> {
        if !self.is_here() {
            return Err(Away::OtherThread);
        }
        SESSIONS.with(|sessions| {
            sessions.bury();
            let session = match sessions.open.borrow_mut().get_mut(&self.id) {
                Some(place) => place.take().ok_or(Away::Busy)?,
                None => return Err(Away::Closed),
            };
            let mut taken = Taken { sessions, id: self.id, session: Some(session) };
            match &mut taken.session {
                Some(session) => Ok(work(session)),
                None => Err(Away::Closed),
            }
        })
    }

    /// Ends the session; while a call of it is running, at the end of that.
    ///
    /// # Errors
    /// On other threads.
    pub fn close(&self) -> Result<(), Away> {
        if !self.is_here() {
            return Err(Away::OtherThread);
        }
        SESSIONS.with(|sessions| sessions.close(self.id));
        Ok(())
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        if self.is_here() {
            // At the end of the thread its sessions may be gone already.
            let _ = SESSIONS.try_with(|sessions| sessions.close(self.id));
        } else {
            self.home.left.lock().unwrap_or_else(PoisonError::into_inner).push(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IValue;

    fn model() -> Model {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/loops/model.pt");
        Model::new(sconce_torchscript::load(path).unwrap())
    }

    fn open() -> usize {
        SESSIONS.with(|sessions| sessions.open.borrow().len())
    }

    #[test]
    fn handles_dropped_elsewhere_are_buried_here() {
        let model = model();
        let first = SessionHandle::new(&model, Options::default()).unwrap();
        let second = SessionHandle::new(&model, Options::default()).unwrap();
        thread::spawn(move || drop(first)).join().unwrap();
        assert_eq!(open(), 2);
        second.with(|session| session.call("forward", &[IValue::Int(1)])).unwrap().unwrap();
        assert_eq!(open(), 1);
        drop(second);
        assert_eq!(open(), 0);
    }

    #[test]
    fn a_session_is_not_used_within_itself() {
        let session = SessionHandle::new(&model(), Options::default()).unwrap();
        let within = session.with(|_| session.with(|_| ())).unwrap();
        assert_eq!(within, Err(Away::Busy));
        session.with(|_| session.close()).unwrap().unwrap();
        assert_eq!((session.with(|_| ()), open()), (Err(Away::Closed), 0));
    }

    #[test]
    fn a_panic_closes_the_session() {
        let session = SessionHandle::new(&model(), Options::default()).unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            session.with(|_| panic!("on purpose"))
        }));
        assert!(panicked.is_err());
        assert_eq!(session.with(|_| ()), Err(Away::Closed));
    }

    #[test]
    fn a_thread_may_end_before_its_sessions_are_dropped() {
        let made = thread::spawn(|| SessionHandle::new(&model(), Options::default()).unwrap());
        let session = made.join().unwrap();
        assert_eq!(session.with(|_| ()), Err(Away::OtherThread));
    }
}

//! Explicit sessions: calls that see what earlier calls changed, on one thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sconce::run::{Error, Model, Session};

use super::call::{Arguments, in_session, run};
use super::module::ScriptModule;
use super::options::CallOptions;
use super::pool;
use crate::boundary::{detached, guarded};
use crate::error;

thread_local! {
    /// The sessions of this thread that are open.
    static OPEN: RefCell<HashMap<u64, Session>> = RefCell::default();
}

/// Sessions that were let go of on another thread than theirs, until theirs comes by.
static LEFT: Mutex<Vec<(ThreadId, u64)>> = Mutex::new(Vec::new());

/// A module with a memory: calls see what earlier calls changed. It stays on the thread that made it.
#[pyclass(frozen, weakref, module = "sconce.jit", name = "Session")]
pub struct PySession {
    module: Py<ScriptModule>,
    name: String,
    id: u64,
    thread: ThreadId,
}

impl PySession {
    pub fn new(
        module: Py<ScriptModule>,
        model: &Model,
        name: &str,
        options: CallOptions,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let id = pool::next_id();
        let made = detached(py, || -> Result<(), Error> {
            bury();
            let mut session = model.session(options.of_session())?;
            if let Some(seed) = options.seed {
                session.manual_seed(seed);
            }
            OPEN.with_borrow_mut(|open| open.insert(id, session));
            Ok(())
        })?;
        made.map_err(|failed| error::of_run(py, failed, name))?;
        Ok(PySession { module, name: name.to_owned(), id, thread: thread::current().id() })
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || {
            if thread::current().id() != self.thread {
                let what = "a session belongs to the thread that made it: make one on this thread";
                return Err(error::plain(py, "ScriptError", what));
            }
            let owner = self.module.get();
            let known = owner.method(py, method)?;
            let arguments = Arguments::new(known.as_ref(), args, kwargs)?;
            let taken = detached(py, || OPEN.with_borrow_mut(|open| open.contains_key(&self.id)))?;
            if !taken {
                return Err(error::plain(py, "ScriptError", "the session is closed"));
            }
            run(py, &self.name, || {
                let Some(mut session) = OPEN.with_borrow_mut(|open| open.remove(&self.id)) else {
                    return Err(Error::Arguments("the session is closed".to_owned()));
                };
                let module = owner.model().module();
                let result = in_session(&mut session, module, method, arguments);
                OPEN.with_borrow_mut(|open| open.insert(self.id, session));
                result
            })
        })
    }
}

/// Drops the sessions of this thread that others let go of.
fn bury() {
    let here = thread::current().id();
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    let mine: Vec<u64> =
        left.iter().filter(|(thread, _)| *thread == here).map(|&(_, id)| id).collect();
    left.retain(|(thread, _)| *thread != here);
    drop(left);
    for id in mine {
        drop(OPEN.with_borrow_mut(|open| open.remove(&id)));
    }
}

impl Drop for PySession {
    fn drop(&mut self) {
        if thread::current().id() == self.thread {
            drop(OPEN.with_borrow_mut(|open| open.remove(&self.id)));
        } else {
            LEFT.lock().unwrap_or_else(PoisonError::into_inner).push((self.thread, self.id));
        }
    }
}

#[pymethods]
impl PySession {
    /// Calls ``forward``.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, "forward", args, kwargs)
    }

    /// Calls a method by its name.
    #[pyo3(signature = (method, /, *args, **kwargs))]
    fn call_method<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, method, args, kwargs)
    }

    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        if name.starts_with("__") || this.module.get().model().module().method(name).is_err() {
            let what = format!("the session's module has no method '{name}'");
            return Err(pyo3::exceptions::PyAttributeError::new_err(what));
        }
        let partial = py.import("functools")?.getattr("partial")?;
        partial.call1((slf.getattr("call_method")?, name))
    }

    /// Ends the session.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if thread::current().id() != self.thread {
            let what = "a session belongs to the thread that made it";
            return Err(error::plain(py, "ScriptError", what));
        }
        drop(OPEN.with_borrow_mut(|open| open.remove(&self.id)));
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }
}

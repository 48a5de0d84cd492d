//! Explicit sessions: calls that see what earlier calls changed, on one thread.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sconce::run::{Away, Error, Model, SessionHandle};

use super::call::{Arguments, in_session, run};
use super::module::ScriptModule;
use super::options::CallOptions;
use crate::boundary::{detached, guarded};
use crate::error;

/// A module with a memory: calls see what earlier calls changed. It stays on the thread that made it.
#[pyclass(frozen, weakref, module = "sconce.jit", name = "Session")]
pub struct PySession {
    module: Py<ScriptModule>,
    name: String,
    session: SessionHandle,
}

impl PySession {
    pub fn new(
        module: Py<ScriptModule>,
        model: &Model,
        name: &str,
        options: CallOptions,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let made = detached(py, || -> Result<SessionHandle, Error> {
            let handle = SessionHandle::new(model, options.of_session())?;
            if let Some(seed) = options.seed {
                // It was made here a moment ago.
                let _ = handle.with(|session| session.manual_seed(seed));
            }
            Ok(handle)
        })?;
        let session = made.map_err(|failed| error::of_run(py, failed, name))?;
        Ok(PySession { module, name: name.to_owned(), session })
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || {
            if !self.session.is_here() {
                return Err(away(py, Away::OtherThread));
            }
            let owner = self.module.get();
            let known = owner.method(py, method)?;
            let arguments = Arguments::new(known.as_ref(), args, kwargs)?;
            let mut found = Ok(());
            let result = run(py, &self.name, || {
                let module = owner.model().module();
                let called =
                    self.session.with(|session| in_session(session, module, method, arguments));
                called.unwrap_or_else(|away| {
                    found = Err(away);
                    Err(Error::Arguments(away.to_string()))
                })
            });
            found.map_err(|why| away(py, why))?;
            result
        })
    }
}

/// `ScriptError` of a session that cannot be used.
fn away(py: Python<'_>, why: Away) -> PyErr {
    error::plain(py, "ScriptError", why.to_string())
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
        self.session.close().map_err(|why| away(py, why))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }
}

//! The exceptions, which are Python classes (`_errors.py`), made of what the library says.

use std::any::Any;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use sconce::run::Error as RunError;
use sconce::{Error, ErrorKind};
use sconce_cli::Failure;

/// The module that the classes are in.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || Ok(py.import("sconce._errors")?.unbind()));
    module.map_err(|error: PyErr| error)?.bind(py).getattr(name)
}

/// An exception of a class, with what is known of it.
fn make(
    py: Python<'_>,
    name: &str,
    message: &str,
    fields: &[(&str, Option<String>)],
    hints: &[String],
) -> PyErr {
    let made = || -> PyResult<Bound<'_, PyAny>> {
        let keywords = PyDict::new(py);
        for (key, value) in fields {
            keywords.set_item(key, value)?;
        }
        keywords.set_item("hints", PyList::new(py, hints)?)?;
        class(py, name)?.call((message,), Some(&keywords))
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// An exception of one of the classes with a message alone.
pub fn plain(py: Python<'_>, name: &str, message: impl AsRef<str>) -> PyErr {
    make(py, name, message.as_ref(), &[], &[])
}

/// `UnsupportedError`.
pub fn unsupported(py: Python<'_>, message: impl AsRef<str>) -> PyErr {
    let fields = [("kind", Some("unsupported".to_owned()))];
    make(py, "UnsupportedError", message.as_ref(), &fields, &[])
}

/// `ArgumentError`.
pub fn argument(py: Python<'_>, message: impl AsRef<str>) -> PyErr {
    let fields = [("kind", Some("caller".to_owned()))];
    make(py, "ArgumentError", message.as_ref(), &fields, &[])
}

/// `InternalError` of a panic.
pub fn panicked(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let message = format!("internal error, please report: {}", panic_text(panic));
    make(py, "InternalError", &message, &[("kind", Some("internal".to_owned()))], &[])
}

/// The name of a kind.
fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Io => "io",
        ErrorKind::Caller => "caller",
        ErrorKind::NotACheckpoint => "not_a_checkpoint",
        ErrorKind::Truncated => "truncated",
        ErrorKind::Malformed => "malformed",
        ErrorKind::Ambiguous => "ambiguous",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Refused => "refused",
        ErrorKind::Limit => "limit",
        _ => "error",
    }
}

/// The class for files of a kind of error.
fn class_of(kind: Option<ErrorKind>) -> &'static str {
    match kind {
        Some(ErrorKind::Refused) => "WeightsOnlyError",
        Some(ErrorKind::Unsupported) => "UnsupportedError",
        Some(ErrorKind::Io | ErrorKind::Caller) => "SconceError",
        _ => "FormatError",
    }
}

/// An error of the library, of a file that the caller calls `file`.
pub fn of_library(py: Python<'_>, error: impl Into<Error>, file: &str) -> PyErr {
    let error = error.into();
    if let Error::Run(error) = error {
        return of_run(py, error, file);
    }
    if let Error::Source(sconce::source::Error::Io { path, source }) = &error
        && let Some(code) = source.raw_os_error()
    {
        return os_error(py, code, &path.to_string_lossy());
    }
    let program = matches!(&error, Error::Script(_))
        || matches!(&error, Error::TorchScript(error)
            if error.program().is_some() || error.kind() == ErrorKind::Caller);
    let of_limit = matches!(error.kind(), ErrorKind::Limit);
    let failure = sconce_cli::failure_of(error, file);
    match (program, of_limit) {
        (true, false) => of_failure_as(py, "ScriptError", &failure),
        _ => of_failure(py, &failure),
    }
}

/// What a verb said was wrong.
pub fn of_failure(py: Python<'_>, failure: &Failure) -> PyErr {
    of_failure_as(py, class_of(failure.kind()), failure)
}

fn of_failure_as(py: Python<'_>, class: &str, failure: &Failure) -> PyErr {
    let fields = [
        ("path", failure.file_name().map(str::to_owned)),
        ("kind", failure.kind().map(|kind| kind_name(kind).to_owned())),
        ("help", failure.advice().map(str::to_owned)),
    ];
    make(py, class, &failure.text(), &fields, failure.notes())
}

/// What a program did.
pub fn of_run(py: Python<'_>, error: RunError, file: &str) -> PyErr {
    let mut fields = vec![("path", Some(file.to_owned()))];
    let class = match &error {
        RunError::Raised(raised) => {
            fields.push(("kind", Some("raised".to_owned())));
            fields.push(("exception", Some(raised.class.clone())));
            fields.push(("traceback", Some(raised.text.clone())));
            "ScriptError"
        }
        RunError::Arguments(_) => {
            fields.push(("kind", Some("caller".to_owned())));
            "ArgumentError"
        }
        RunError::Limit(message) => {
            let (limit, class) = limit_of(message);
            fields.push(("kind", Some("limit".to_owned())));
            fields.push(("limit", Some(limit.to_owned())));
            class
        }
        RunError::Unsupported { .. } => {
            fields.push(("kind", Some("unsupported".to_owned())));
            "UnsupportedError"
        }
        RunError::Interrupted => return PyKeyboardInterrupt::new_err(error.to_string()),
        RunError::Archive(error) if error.program().is_none() => {
            let failure = sconce_cli::failure_of(error.clone().into(), file);
            return match error.kind() {
                // A method that is not there, say.
                ErrorKind::Caller => of_failure_as(py, "ScriptError", &failure),
                _ => of_failure(py, &failure),
            };
        }
        _ => "ScriptError",
    };
    let failure = sconce_cli::failure_of(error.into(), file);
    fields.push(("help", failure.advice().map(str::to_owned)));
    make(py, class, &failure.text(), &fields, failure.notes())
}

/// Which limit a message is of.
fn limit_of(message: &str) -> (&'static str, &'static str) {
    if message.starts_with("time limit") {
        ("time", "TimeLimitError")
    } else if message.starts_with("step limit") {
        ("steps", "LimitError")
    } else if message.contains("nested calls") {
        ("depth", "LimitError")
    } else if message.contains("elements of one value") {
        ("elements", "LimitError")
    } else {
        ("memory", "MemoryLimitError")
    }
}

/// The error of a system call: `FileNotFoundError` and its siblings.
pub fn os_error(py: Python<'_>, code: i32, path: &str) -> PyErr {
    let made = || -> PyResult<Bound<'_, PyAny>> {
        let text = py.import("os")?.call_method1("strerror", (code,))?;
        py.get_type::<pyo3::exceptions::PyOSError>().call1((code, text, path))
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// What a panic says.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}

//! What a call may spend, and how a module is run.

use std::cell::RefCell;
use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use sconce::run::{Limits, Missing, Options, Poll, Precision, Sink};

/// The keywords of `jit.load` and `ScriptModule.session`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallOptions {
    pub max_seconds: Option<f64>,
    pub max_steps: Option<u64>,
    pub max_memory: Option<u64>,
    pub optimize: bool,
    pub exact: bool,
    pub precision: Precision,
    pub strict: bool,
    pub seed: Option<u64>,
}

/// Where a program's output goes: what it prints to `sys.stdout`, its warnings to `warnings.warn`.
struct PythonsStreams;

impl Sink for PythonsStreams {
    fn print(&mut self, text: &str) {
        told(|py| py.import("sys")?.getattr("stdout")?.call_method1("write", (text,)).map(drop));
    }

    fn warn(&mut self, message: &str) {
        told(|py| py.import("warnings")?.call_method1("warn", (message,)).map(drop));
    }
}

/// Tells Python something. What it raises then ends the call, at the next look at the signals.
fn told(tell: impl FnOnce(Python<'_>) -> PyResult<()>) {
    Python::attach(|py| {
        if let Err(raised) = tell(py) {
            RAISED.set(Some(raised));
        }
    });
}

thread_local! {
    /// What ended the call of this thread: a signal's handler raised it.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

impl CallOptions {
    pub fn new(
        max_seconds: Option<f64>,
        max_steps: Option<u64>,
        max_memory: Option<&Bound<'_, PyAny>>,
        [optimize, exact, strict]: [bool; 3],
        precision: Option<&str>,
    ) -> PyResult<Self> {
        if let Some(seconds) = max_seconds {
            check_seconds(seconds)?;
        }
        let max_memory = max_memory.map(bytes).transpose()?;
        let precision = precision.map_or(Ok(Precision::Full), str::parse);
        let precision = precision.map_err(PyValueError::new_err)?;
        let given = CallOptions {
            max_seconds,
            max_steps,
            max_memory,
            optimize,
            exact,
            precision,
            strict,
            seed: None,
        };
        given.check()?;
        Ok(given)
    }

    /// Refuses options that contradict each other.
    pub fn check(&self) -> PyResult<()> {
        let CallOptions { optimize, exact, precision, .. } = *self;
        let options = Options { optimize, exact, precision, ..Options::default() };
        options.check().map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The options of a session.
    pub fn of_session(&self) -> Options {
        let mut limits = Limits { poll: Some(Poll::new(signals_are_quiet)), ..Limits::default() };
        limits.time = self.max_seconds.and_then(|most| Duration::try_from_secs_f64(most).ok());
        limits.steps = self.max_steps.unwrap_or(u64::MAX);
        let memory = self.max_memory.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        let missing = if self.strict { Missing::Refuse } else { Missing::WhenReached };
        let sink = Some(Box::new(PythonsStreams) as Box<dyn Sink>);
        let CallOptions { optimize, exact, precision, .. } = *self;
        Options { limits, missing, memory, sink, optimize, exact, precision, ..Options::default() }
    }
}

fn check_seconds(seconds: f64) -> PyResult<()> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(_) => Ok(()),
        Err(_) => Err(PyValueError::new_err("max_seconds is a number that is not negative")),
    }
}

/// Whether no signal's handler raised anything. On other threads than Python's first there is never one.
fn signals_are_quiet() -> bool {
    if RAISED.with_borrow(Option::is_some) {
        return false;
    }
    Python::attach(|py| match py.check_signals() {
        Ok(()) => true,
        Err(raised) => {
            RAISED.set(Some(raised));
            false
        }
    })
}

/// What a signal's handler raised during the call that ended.
pub fn raised() -> Option<PyErr> {
    RAISED.take()
}

/// A number of bytes, or a text such as `2GiB`.
pub fn bytes(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(number) = given.extract::<u64>() {
        return Ok(number);
    }
    let Ok(text) = given.extract::<String>() else {
        return Err(PyTypeError::new_err(
            "max_memory is a number of bytes, or a text such as '2GiB'",
        ));
    };
    let trimmed = text.trim();
    let digits =
        trimmed.find(|at: char| !at.is_ascii_digit() && at != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => f64::from(1u32 << 10),
        "mib" => f64::from(1u32 << 20),
        "gib" => f64::from(1u32 << 30),
        "tib" => 2f64.powi(40),
        _ => f64::NAN,
    };
    match number.parse::<f64>() {
        Ok(number) if (number * scale).is_finite() => Ok((number * scale) as u64),
        _ => Err(PyValueError::new_err(format!("'{text}' is no size, such as '512MiB' or '2GB'"))),
    }
}

//! How sessions are made: limits, output, seeds.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sconce::run::{Limits, Missing, Options, Precision, Sink};

use crate::errors::Failure;
use crate::guard::Result;
use crate::panics::{delete, quiet};

/// Told what a program prints: `size` bytes of UTF-8 at `text`, which are there during the call.
pub type sconce_print =
    Option<unsafe extern "C" fn(user: *mut c_void, text: *const c_char, size: usize)>;

/// How a session is made.
#[derive(Debug, Clone)]
pub struct sconce_options {
    seconds: Option<f64>,
    steps: u64,
    memory: Option<u64>,
    optimize: bool,
    exact: bool,
    precision: String,
    seed: Option<u64>,
    strict: bool,
    print: Callback,
    warn: Callback,
}

/// A function of the host's, with what it is called with.
#[derive(Debug, Clone, Copy)]
struct Callback {
    function: sconce_print,
    user: *mut c_void,
}

impl Callback {
    const NONE: Callback = Callback { function: None, user: std::ptr::null_mut() };

    fn tell(self, text: &str) {
        if let Some(function) = self.function {
            // SAFETY: whoever set the function vouched for it and for `user`, as long as sessions have them; the text is
            // there during the call.
            unsafe { function(self.user, text.as_ptr().cast(), text.len()) };
        }
    }
}

/// Where a session's output goes.
struct Callbacks {
    print: Callback,
    warn: Callback,
}

impl Sink for Callbacks {
    fn print(&mut self, text: &str) {
        self.print.tell(text);
    }

    fn warn(&mut self, message: &str) {
        self.warn.tell(message);
    }
}

impl Default for sconce_options {
    fn default() -> Self {
        sconce_options {
            seconds: None,
            steps: u64::MAX,
            memory: None,
            optimize: true,
            exact: false,
            precision: Precision::Full.to_string(),
            seed: None,
            strict: false,
            print: Callback::NONE,
            warn: Callback::NONE,
        }
    }
}

impl sconce_options {
    /// For a session that ends its call when `interrupt` is set.
    pub(crate) fn of_session(&self, interrupt: &Arc<AtomicBool>) -> Result<Options> {
        let seconds = |seconds| {
            Duration::try_from_secs_f64(seconds).map_err(|_| {
                Failure::argument(format!(
                    "the limit of {seconds} seconds is no time: it is not negative"
                ))
            })
        };
        let limits = Limits {
            time: self.seconds.map(seconds).transpose()?,
            steps: self.steps,
            interrupt: Some(Arc::clone(interrupt)),
            ..Limits::default()
        };
        let sink =
            Some(Box::new(Callbacks { print: self.print, warn: self.warn }) as Box<dyn Sink>);
        Ok(Options {
            limits,
            missing: if self.strict { Missing::Refuse } else { Missing::WhenReached },
            sink,
            memory: self.memory.map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
            optimize: self.optimize,
            exact: self.exact,
            precision: self.precision.parse().map_err(Failure::argument)?,
            ..Options::default()
        })
    }

    pub(crate) fn seed(&self) -> Option<u64> {
        self.seed
    }
}

/// Options as sessions have them that are given none: no limits but what memory the machine has left, `forward` optimised.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_options_new() -> *mut sconce_options {
    quiet(std::ptr::null_mut(), || Box::into_raw(Box::default()))
}

/// Deletes options, which may be NULL. Sessions that were made with them go on.
///
/// # Safety
/// `options` is NULL or options that have not been deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_options_delete(options: *mut sconce_options) {
    // SAFETY: options come from `Box::into_raw` above.
    unsafe { delete(options) };
}

/// # Safety
/// `options` is NULL or options that nobody else uses now.
unsafe fn change(options: *mut sconce_options, change: impl FnOnce(&mut sconce_options)) {
    // SAFETY: as the caller says.
    if let Some(options) = unsafe { options.as_mut() } {
        change(options);
    }
}

/// How long a call may take, in seconds.
///
/// # Safety
/// `options` is NULL, which changes nothing, or options that nobody else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_options_set_seconds(options: *mut sconce_options, seconds: f64) {
    // SAFETY: as the caller says.
    unsafe { change(options, |options| options.seconds = Some(seconds)) };
}

/// How many instructions a call may run.
///
/// # Safety
/// As `sconce_options_set_seconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_options_set_steps(options: *mut sconce_options, steps: u64) {
    // SAFETY: as the caller says.
    unsafe { change(options, |options| options.steps = steps) };
}

/// How many bytes the values of a session may hold at once.
///
/// # Safety
/// As `sconce_options_set_seconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_options_set_memory(options: *mut sconce_options, bytes: u64) {
    // SAFETY: as the caller says.
    unsafe { change(options, |options| options.memory = Some(bytes)) };
}

/// Whether `forward` is frozen and optimised, as `torch.jit.freeze` does. It is unless this says otherwise.
///
/// # Safety
/// As `sconce_options_set_seconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_options_set_optimize(options: *mut sconce_options, on: bool) {
    // SAFETY: as the caller says.
    unsafe { change(options, |options| options.optimize = on) };
}

/// Whether every product of a convolution is computed as it stands. Otherwise some are computed with fewer
/// multiplications, which round otherwise: by Winograd's algorithm.
///
/// # Safety
/// As `sconce_options_set_seconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_options_set_exact(options: *mut sconce_options, on: bool) {
    // SAFETY: as the caller says.
    unsafe { change(options, |options| options.exact = on) };
}

/// How exact products with constant weights are in optimised code: `full`, which they are unless this says otherwise,
/// `bf16` or `int8-weights`. Making a session fails for other names, and for what goes with neither of the others: `exact`,
/// or `forward` that is not optimised. `precision` is copied; NULL is `full`.
///
/// # Safety
/// As `sconce_options_set_seconds`; `precision` is NULL or a string that ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_options_set_precision(
    options: *mut sconce_options,
    precision: *const c_char,
) {
    let name = match precision.is_null() {
        true => Precision::Full.to_string(),
        // SAFETY: as the caller says.
        false => unsafe { CStr::from_ptr(precision) }.to_string_lossy().into_owned(),
    };
    // SAFETY: as the caller says.
    unsafe { change(options, |options| options.precision = name) };
}

/// The seed of a session's random numbers: `torch.manual_seed`.
///
/// # Safety
/// As `sconce_options_set_seconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_options_set_seed(options: *mut sconce_options, seed: u64) {
    // SAFETY: as the caller says.
    unsafe { change(options, |options| options.seed = Some(seed)) };
}

/// Whether a program that needs an operator that is not here is refused before it runs, rather than when it comes to it.
///
/// # Safety
/// As `sconce_options_set_seconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_options_set_strict(options: *mut sconce_options, on: bool) {
    // SAFETY: as the caller says.
    unsafe { change(options, |options| options.strict = on) };
}

/// Who is told what programs print, on the thread of the call; NULL is nobody. `user` is passed on. The function must not
/// unwind.
///
/// # Safety
/// As `sconce_options_set_seconds`; the function may be called with `user` while there are sessions with these options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_options_set_print(
    options: *mut sconce_options,
    print: sconce_print,
    user: *mut c_void,
) {
    // SAFETY: as the caller says.
    unsafe { change(options, |options| options.print = Callback { function: print, user }) };
}

/// Who is told the warnings of programs, as `sconce_options_set_print`.
///
/// # Safety
/// As `sconce_options_set_print`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_options_set_warn(
    options: *mut sconce_options,
    warn: sconce_print,
    user: *mut c_void,
) {
    // SAFETY: as the caller says.
    unsafe { change(options, |options| options.warn = Callback { function: warn, user }) };
}

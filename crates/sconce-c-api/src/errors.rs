//! Errors as objects: a function that can fail gives one, or NULL.

use std::ffi::{CString, c_char};

use sconce::ErrorKind;
use sconce::run::Away;

use crate::panics::delete;

/// What went wrong, in one number: `SCONCE_OK` and its siblings.
pub type sconce_code = u32;

/// Nothing went wrong.
pub const SCONCE_OK: sconce_code = 0;
/// An argument is NULL, out of range, or not what the method takes.
pub const SCONCE_INVALID_ARGUMENT: sconce_code = 1;
/// A file cannot be read or written.
pub const SCONCE_IO: sconce_code = 2;
/// A file is damaged, or is something else.
pub const SCONCE_FORMAT: sconce_code = 3;
/// The program's code does not compile.
pub const SCONCE_COMPILE: sconce_code = 4;
/// The program raised an exception.
pub const SCONCE_RAISED: sconce_code = 5;
/// A limit of time, steps or memory was reached.
pub const SCONCE_LIMIT: sconce_code = 6;
/// Something that the library does not have.
pub const SCONCE_UNSUPPORTED: sconce_code = 7;
/// A session was used on another thread than the one that made it.
pub const SCONCE_WRONG_THREAD: sconce_code = 8;
/// `sconce_session_interrupt` ended the call.
pub const SCONCE_INTERRUPTED: sconce_code = 9;
/// A bug of the library.
pub const SCONCE_INTERNAL: sconce_code = 10;

/// What went wrong.
pub struct sconce_error {
    code: sconce_code,
    message: CString,
    traceback: CString,
    exception: CString,
}

/// What went wrong, on this side of the border.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    code: sconce_code,
    message: String,
    traceback: String,
    exception: String,
}

/// Text for C. A NUL in it, which a file may have put there, is shown as what stands for unreadable characters.
pub(crate) fn c_text(text: impl Into<String>) -> CString {
    let mut text: String = text.into();
    if text.contains('\0') {
        text = text.replace('\0', "\u{FFFD}");
    }
    CString::new(text).unwrap_or_default()
}

impl Failure {
    pub(crate) fn new(code: sconce_code, message: impl Into<String>) -> Self {
        Failure { code, message: message.into(), ..Failure::default() }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Failure::new(SCONCE_INVALID_ARGUMENT, message)
    }

    pub(crate) fn null(name: &str) -> Self {
        Failure::argument(format!("{name} is NULL"))
    }

    pub(crate) fn panicked(text: &str) -> Self {
        Failure::new(SCONCE_INTERNAL, format!("internal error, please report: {text}"))
    }

    pub(crate) fn into_raw(self) -> *mut sconce_error {
        Box::into_raw(Box::new(sconce_error {
            code: self.code,
            message: c_text(self.message),
            traceback: c_text(self.traceback),
            exception: c_text(self.exception),
        }))
    }
}

/// Whose fault it is, as a code.
fn code_of(kind: ErrorKind) -> sconce_code {
    match kind {
        ErrorKind::Io => SCONCE_IO,
        ErrorKind::Caller => SCONCE_INVALID_ARGUMENT,
        ErrorKind::Unsupported => SCONCE_UNSUPPORTED,
        ErrorKind::Limit => SCONCE_LIMIT,
        _ => SCONCE_FORMAT,
    }
}

impl From<sconce::Error> for Failure {
    fn from(error: sconce::Error) -> Self {
        match error {
            sconce::Error::Run(error) => error.into(),
            sconce::Error::TorchScript(error) => error.into(),
            other => Failure::new(code_of(other.kind()), other.to_string()),
        }
    }
}

impl From<sconce::jit::Error> for Failure {
    fn from(error: sconce::jit::Error) -> Self {
        let code = match error.program() {
            Some(_) if error.kind() == ErrorKind::Malformed => SCONCE_COMPILE,
            _ => code_of(error.kind()),
        };
        Failure::new(code, error.to_string())
    }
}

impl From<sconce::run::Error> for Failure {
    fn from(error: sconce::run::Error) -> Self {
        use sconce::run::Error;
        let code = match error {
            Error::Raised(raised) => {
                return Failure {
                    code: SCONCE_RAISED,
                    message: raised.message,
                    traceback: raised.text,
                    exception: raised.class,
                };
            }
            Error::Archive(error) => return error.into(),
            Error::Unsupported { .. } => SCONCE_UNSUPPORTED,
            Error::Arguments(_) => SCONCE_INVALID_ARGUMENT,
            Error::Limit(_) => SCONCE_LIMIT,
            Error::Interrupted => SCONCE_INTERRUPTED,
            _ => SCONCE_INTERNAL,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<sconce::checkpoint::Error> for Failure {
    fn from(error: sconce::checkpoint::Error) -> Self {
        sconce::Error::from(error).into()
    }
}

impl From<sconce::tensor::Error> for Failure {
    fn from(error: sconce::tensor::Error) -> Self {
        sconce::Error::from(error).into()
    }
}

impl From<sconce_dlpack::Error> for Failure {
    fn from(error: sconce_dlpack::Error) -> Self {
        use sconce_dlpack::Error;
        match error {
            Error::Tensor(error) => error.into(),
            Error::Unsupported(message) => Failure::new(SCONCE_UNSUPPORTED, message),
            other => Failure::argument(other.to_string()),
        }
    }
}

impl From<Away> for Failure {
    fn from(away: Away) -> Self {
        let code = match away {
            Away::OtherThread => SCONCE_WRONG_THREAD,
            Away::Busy => SCONCE_INVALID_ARGUMENT,
            Away::Closed => SCONCE_INTERNAL,
        };
        Failure::new(code, away.to_string())
    }
}

/// Which error it is; `SCONCE_OK` of NULL.
///
/// # Safety
/// `error` is NULL or an error that has not been deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_error_code(error: *const sconce_error) -> sconce_code {
    // SAFETY: as the caller says.
    unsafe { error.as_ref() }.map_or(SCONCE_OK, |error| error.code)
}

/// What went wrong. The text is there until the error is deleted; "" of NULL.
///
/// # Safety
/// `error` is NULL or an error that has not been deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_error_message(error: *const sconce_error) -> *const c_char {
    // SAFETY: as the caller says.
    text_in(unsafe { error.as_ref() }.map(|error| &error.message))
}

/// The traceback of what the program raised, as PyTorch prints it; "" of other errors.
///
/// # Safety
/// `error` is NULL or an error that has not been deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_error_traceback(error: *const sconce_error) -> *const c_char {
    // SAFETY: as the caller says.
    text_in(unsafe { error.as_ref() }.map(|error| &error.traceback))
}

/// The class of what the program raised, such as "builtins.ValueError"; "RuntimeError" of what an operator raised itself;
/// "" of other errors.
///
/// # Safety
/// `error` is NULL or an error that has not been deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_error_exception(error: *const sconce_error) -> *const c_char {
    // SAFETY: as the caller says.
    text_in(unsafe { error.as_ref() }.map(|error| &error.exception))
}

fn text_in(text: Option<&CString>) -> *const c_char {
    text.map_or(c"".as_ptr(), |text| text.as_ptr())
}

/// Deletes an error, which may be NULL.
///
/// # Safety
/// `error` is NULL or an error that has not been deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_error_delete(error: *mut sconce_error) {
    // SAFETY: errors come from `Failure::into_raw`.
    unsafe { delete(error) };
}

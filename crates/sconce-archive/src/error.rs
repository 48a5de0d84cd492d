use std::fmt;
use std::io;
use std::sync::Arc;

use sconce_source::{LONGEST_MESSAGE, shortened};

/// What kind of trouble an [`Error`] is, and so whose fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are not this container at all.
    NotThisFormat,
    /// The container is cut short: its end is missing.
    Truncated,
    /// The container contradicts itself or the format.
    Malformed,
    /// Two records could be meant, and readers differ on which.
    Ambiguous,
    /// A feature that neither PyTorch nor sconce reads (encryption, other compression methods).
    Unsupported,
    /// The record asked for is not there.
    NotFound,
    /// Reading on would pass a limit set by the caller.
    Limit,
    /// The caller asked for an archive that cannot be written.
    Caller,
    /// The disk, the operating system, or the reader or writer that the caller passed in.
    Io,
}

/// Why a container could not be read or written: the reason, PyTorch's wording for it where it has one, and
/// the place.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    record: Option<String>,
    offset: Option<u64>,
    note: Option<String>,
    cause: Option<Arc<io::Error>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: cut(message),
            record: None,
            offset: None,
            note: None,
            cause: None,
        }))
    }

    pub(crate) fn io(message: impl Into<String>, cause: io::Error) -> Self {
        let mut error = Error::new(ErrorKind::Io, message).with_note(cause.to_string());
        error.0.cause = Some(Arc::new(cause));
        error
    }

    pub(crate) fn in_record(mut self, record: impl Into<String>) -> Self {
        self.0.record = Some(cut(record));
        self
    }

    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.0.offset = Some(offset);
        self
    }

    pub(crate) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.0.note = Some(cut(note));
        self
    }

    /// What kind of trouble this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The reason alone, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The record concerned.
    pub fn record(&self) -> Option<&str> {
        self.0.record.as_deref()
    }

    /// Offset in the file, in bytes.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// What was found that led to the error.
    pub fn note(&self) -> Option<&str> {
        self.0.note.as_deref()
    }

    /// What the operating system said, such as that the disk is full.
    pub fn io_error(&self) -> Option<&io::Error> {
        self.0.cause.as_deref()
    }
}

/// Texts may quote the file: names of records have up to 64 KiB.
fn cut(text: impl Into<String>) -> String {
    shortened(text, LONGEST_MESSAGE)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(record) = &self.0.record {
            write!(f, ", record '{}'", record.escape_debug())?;
        }
        if let Some(offset) = self.0.offset {
            write!(f, ", at offset {offset:#x}")?;
        }
        if let Some(note) = &self.0.note {
            write!(f, ": {note}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}

impl From<sconce_source::Error> for Error {
    fn from(error: sconce_source::Error) -> Self {
        let kind = match error.kind() {
            sconce_source::ErrorKind::Caller => ErrorKind::Caller,
            sconce_source::ErrorKind::Limit => ErrorKind::Limit,
            _ => ErrorKind::Io,
        };
        Error::new(kind, error.to_string())
    }
}

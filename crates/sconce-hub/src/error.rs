use std::fmt;
use std::io;
use std::path::Path;

/// What kind of trouble an [`Error`] is, and so whose fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What the caller asked for makes no sense.
    Usage,
    /// There is no connection, or it broke.
    Network,
    /// The server said no, with this status.
    Http(u16),
    /// What the server sent is not what it should be: of the wrong length, a web page, damaged.
    BadAnswer,
    /// It was asked for without a request, and is not there.
    Offline,
    /// What came has another hash than it should have.
    WrongHash,
    /// The file changed while it was being read.
    Changed,
    /// The repository is not trusted.
    Untrusted,
    /// An archive that would write where it should not.
    Hostile,
    /// The disk or the operating system.
    Io,
}

/// Why something could not be had.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    /// The address, without what is secret in it.
    url: Option<String>,
    note: Option<String>,
    help: Option<String>,
    /// Where a bucket is, as its server says.
    #[cfg_attr(not(feature = "buckets"), allow(dead_code, reason = "only buckets lie in regions"))]
    region: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let message = sconce_source::shortened(message, sconce_source::LONGEST_MESSAGE);
        Error(Box::new(Inner { kind, message, url: None, note: None, help: None, region: None }))
    }

    pub(crate) fn io(path: &Path, error: &io::Error) -> Error {
        Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
    }

    pub(crate) fn url(mut self, url: &crate::url::Url) -> Error {
        self.0.url.get_or_insert_with(|| url.shown());
        self
    }

    pub(crate) fn with_note(mut self, note: impl Into<String>) -> Error {
        self.0.note = Some(note.into());
        self
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Error {
        self.0.help = Some(help.into());
        self
    }

    pub(crate) fn in_region(mut self, region: &str) -> Error {
        self.0.region = Some(region.to_owned());
        self
    }

    #[cfg(feature = "buckets")]
    pub(crate) fn region(&self) -> Option<&str> {
        self.0.region.as_deref()
    }

    /// What kind of trouble this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The reason alone; in PyTorch's words where it has some.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The address that was asked, without password and query.
    pub fn address(&self) -> Option<&str> {
        self.0.url.as_deref()
    }

    /// What was found that led to the error.
    pub fn note(&self) -> Option<&str> {
        self.0.note.as_deref()
    }

    /// What to do next.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(url) = &self.0.url {
            write!(f, "{url}: ")?;
        }
        f.write_str(&self.0.message)?;
        if let Some(note) = &self.0.note {
            write!(f, ": {note}")?;
        }
        if let Some(help) = &self.0.help {
            write!(f, " ({help})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    /// Without the address: whoever reads a source names it.
    fn from(error: Error) -> io::Error {
        io::Error::other(Error(Box::new(Inner { url: None, ..*error.0 })))
    }
}

use std::io;
use std::path::PathBuf;

/// Why bytes could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file that was asked for.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The path is there, but what it names holds no bytes at fixed offsets.
    #[error("{}: is a {what}, not a file", path.display())]
    NotAFile {
        /// The path that was asked for.
        path: PathBuf,
        /// What it is instead, such as `directory` or `named pipe`.
        what: &'static str,
    },
    /// A stream was longer than [`Limits::max_stream_bytes`](crate::Limits::max_stream_bytes).
    #[error("{name}: more than {limit} bytes, the limit for data that is not a file")]
    TooLong {
        /// The stream's name.
        name: String,
        /// The limit in bytes.
        limit: u64,
    },
}

/// Whose fault an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The disk or the operating system.
    Io,
    /// The caller named something that is not a file.
    Caller,
    /// A limit was reached.
    Limit,
}

impl Error {
    /// Whose fault this is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Io { .. } => ErrorKind::Io,
            Error::NotAFile { .. } => ErrorKind::Caller,
            Error::TooLong { .. } => ErrorKind::Limit,
        }
    }
}

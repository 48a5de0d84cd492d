use std::fmt;

use sconce_source::shortened;

pub use sconce_checkpoint::ErrorKind;

/// Longest text of an error, in bytes. It may quote the file.
const MAX_TEXT: usize = 1 << 12;

/// Why a program could not be read: what is wrong, in which record, and where in its JSON.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    file: Option<String>,
    record: Option<String>,
    path: Option<String>,
    offset: Option<u64>,
    note: Option<String>,
    help: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            kind,
            message: shortened(message, MAX_TEXT),
            file: None,
            record: None,
            path: None,
            offset: None,
            note: None,
            help: None,
        }))
    }

    pub(crate) fn malformed(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Malformed, message)
    }

    pub(crate) fn in_file(mut self, file: &str) -> Error {
        self.0.file.get_or_insert_with(|| file.to_owned());
        self
    }

    pub(crate) fn in_record(mut self, record: &str) -> Error {
        self.0.record.get_or_insert_with(|| shortened(record, MAX_TEXT));
        self
    }

    pub(crate) fn at_path(mut self, path: impl Into<String>) -> Error {
        self.0.path.get_or_insert_with(|| shortened(path, MAX_TEXT));
        self
    }

    pub(crate) fn at(mut self, offset: u64) -> Error {
        self.0.offset.get_or_insert(offset);
        self
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Error {
        self.0.help.get_or_insert(help.into());
        self
    }

    /// Whose fault this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What is wrong, alone.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file concerned, as the caller named it.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The archive record concerned.
    pub fn record(&self) -> Option<&str> {
        self.0.record.as_deref()
    }

    /// The place in the record's JSON, such as `$.graph_module.graph.nodes[3].target`.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// Offset in bytes: in the record when there is one, otherwise in the file.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// What was found that led to this.
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
        let Inner { message, file, record, path, offset, note, .. } = &*self.0;
        if let Some(file) = file {
            write!(f, "{}: ", file.escape_debug())?;
        }
        f.write_str(message)?;
        let mut places = Vec::new();
        places.extend(record.as_ref().map(|record| record.escape_debug().to_string()));
        // Keys in it are escaped already.
        places.extend(path.clone());
        let mut place = places.join(" ");
        if let Some(offset) = offset {
            let space = if place.is_empty() { "" } else { " " };
            place.push_str(&format!("{space}@ {offset:#x}"));
        }
        if !place.is_empty() {
            write!(f, " ({place})")?;
        }
        if let Some(note) = note {
            write!(f, ": {note}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<sconce_checkpoint::Error> for Error {
    fn from(error: sconce_checkpoint::Error) -> Error {
        let mut out = Error::new(error.kind(), error.message());
        out.0.file = error.file().map(str::to_owned);
        out.0.record = error.record().map(str::to_owned);
        out.0.offset = error.offset();
        out.0.note = error.note().map(str::to_owned);
        out.0.help = error.help().map(str::to_owned);
        out
    }
}

impl From<sconce_archive::Error> for Error {
    fn from(error: sconce_archive::Error) -> Error {
        sconce_checkpoint::Error::from(error).into()
    }
}

impl From<sconce_source::Error> for Error {
    fn from(error: sconce_source::Error) -> Error {
        sconce_checkpoint::Error::from(error).into()
    }
}

use std::fmt;

use sconce_source::shortened;

/// Whose fault an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The disk or the operating system.
    Io,
    /// The caller asked for something that cannot be.
    Caller,
    /// The file is something else.
    NotACheckpoint,
    /// The file is cut short.
    Truncated,
    /// The file contradicts itself or the format.
    Malformed,
    /// The file could mean two things, and readers differ on which.
    Ambiguous,
    /// The file uses something that is not read here.
    Unsupported,
    /// The policy does not admit what the file needs.
    Refused,
    /// Reading on would pass a limit set by the caller.
    Limit,
}

/// Longest text of an error that is one of many, in bytes.
const MAX_LISTED: usize = 500;

/// As much of the beginning of a text as fits `max` bytes.
pub(crate) fn beginning(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// Why a checkpoint could not be read: what is wrong, where, and what to do about it.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    file: Option<String>,
    record: Option<String>,
    offset: Option<u64>,
    note: Option<String>,
    help: Option<String>,
}

/// What to do about a file that ends too early.
pub(crate) const CUT_SHORT: &str = "fetch the file again; what is missing cannot be recovered";

/// Longest text of any error, in bytes. It may quote the file. As long as the longest name that a zip archive
/// can have, since cutting takes time and most errors are shown to nobody.
const MAX_TEXT: usize = 1 << 16;

fn cut(text: impl Into<String>) -> String {
    shortened(text, MAX_TEXT)
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: cut(message),
            file: None,
            record: None,
            offset: None,
            note: None,
            help: None,
        }))
    }

    /// Names the file, unless an inner part already did.
    pub(crate) fn in_file(mut self, file: &str) -> Self {
        self.0.file.get_or_insert_with(|| file.to_owned());
        self
    }

    /// Names the record, unless an inner part already did.
    pub(crate) fn in_record(mut self, record: &str) -> Self {
        self.0.record.get_or_insert_with(|| cut(record));
        self
    }

    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Moves an offset that was relative to a part of the file.
    pub(crate) fn shift(mut self, by: u64) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset + by);
        self
    }

    pub(crate) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.0.note = Some(cut(note));
        self
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// The same error without the ends of its longest texts: for lists of errors, each of which a
    /// hostile file could make quote the same long name.
    pub(crate) fn shortened(mut self) -> Self {
        let Inner { message, record, note, .. } = &mut *self.0;
        for text in [Some(message), record.as_mut(), note.as_mut()].into_iter().flatten() {
            if text.len() > MAX_LISTED {
                text.truncate(beginning(text, MAX_LISTED).len());
                text.push('…');
                text.shrink_to_fit();
            }
        }
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

    /// The archive record (or part of a stream) concerned.
    pub fn record(&self) -> Option<&str> {
        self.0.record.as_deref()
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
        let Inner { message, file, record, offset, note, .. } = &*self.0;
        if let Some(file) = file {
            write!(f, "{}: ", file.escape_debug())?;
        }
        f.write_str(message)?;
        match (record, offset) {
            (Some(record), Some(offset)) => {
                write!(f, " ({} @ {offset:#x})", record.escape_debug())?
            }
            (Some(record), None) => write!(f, " ({})", record.escape_debug())?,
            (None, Some(offset)) => write!(f, " (@ {offset:#x})")?,
            (None, None) => {}
        }
        if let Some(note) = note {
            write!(f, ": {note}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<sconce_source::Error> for Error {
    fn from(error: sconce_source::Error) -> Self {
        use sconce_source::ErrorKind as Kind;
        let kind = match error.kind() {
            Kind::Caller => ErrorKind::Caller,
            Kind::Limit => ErrorKind::Limit,
            _ => ErrorKind::Io,
        };
        Error::new(kind, error.to_string())
    }
}

impl From<sconce_archive::Error> for Error {
    fn from(error: sconce_archive::Error) -> Self {
        use sconce_archive::ErrorKind as Kind;
        let kind = match error.kind() {
            Kind::NotThisFormat => ErrorKind::NotACheckpoint,
            Kind::Truncated => ErrorKind::Truncated,
            Kind::Ambiguous => ErrorKind::Ambiguous,
            Kind::Unsupported => ErrorKind::Unsupported,
            Kind::Limit => ErrorKind::Limit,
            Kind::Caller => ErrorKind::Caller,
            Kind::Io => ErrorKind::Io,
            _ => ErrorKind::Malformed,
        };
        let mut out = Error::new(kind, error.message());
        if let Some(detail) = error.note() {
            out = out.with_note(detail);
        }
        if let Some(record) = error.record() {
            out = out.in_record(record);
        }
        if let Some(offset) = error.offset() {
            out = out.at(offset);
        }
        if kind == ErrorKind::Truncated {
            out = out.with_help(CUT_SHORT);
        }
        out
    }
}

impl From<sconce_pickle::Error> for Error {
    fn from(error: sconce_pickle::Error) -> Self {
        use sconce_pickle::ErrorKind as Kind;
        let kind = match error.kind() {
            Kind::Refused => ErrorKind::Refused,
            Kind::Truncated | Kind::Exhausted => ErrorKind::Truncated,
            Kind::Limit => ErrorKind::Limit,
            _ => ErrorKind::Malformed,
        };
        let out = Error::new(kind, error.to_string()).at(error.offset());
        match kind {
            ErrorKind::Limit => out.with_help(
                "--max-pickle-values (Limits::max_pickle_values) raises the limit of a file that you trust",
            ),
            _ => out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_megabytes_are_cut() {
        let long = "x".repeat(1 << 20);
        let error = Error::new(ErrorKind::Malformed, long.as_str()).in_record(&long);
        let error = error.with_note(long.as_str());
        assert!(error.to_string().len() < 4 * MAX_TEXT, "{}", error.to_string().len());
        assert!(error.message().contains(" characters cut "));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(beginning("aé", 2), "a");
        assert_eq!(beginning("aé", 3), "aé");
        let error = Error::new(ErrorKind::Malformed, "é".repeat(1000)).in_record("r").shortened();
        assert_eq!(error.message().chars().count(), MAX_LISTED / 2 + 1);
        assert_eq!(error.record(), Some("r"));
    }
}

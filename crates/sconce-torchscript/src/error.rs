//! What is wrong with an archive, and where.

use std::fmt;

use sconce_checkpoint::ErrorKind;
use sconce_source::{LONGEST_MESSAGE, shortened};

/// The longest message, in bytes. It may quote the file; what lists an operator's overloads is long, too.
const LONGEST_REPORT: usize = 16 * LONGEST_MESSAGE;

/// Why an archive could not be loaded, shown or saved.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    file: Option<String>,
    record: Option<String>,
    offset: Option<u64>,
    help: Option<String>,
    program: Option<sconce_compiler::Error>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: shortened(message, LONGEST_REPORT),
            file: None,
            record: None,
            offset: None,
            help: None,
            program: None,
        }))
    }

    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Malformed, message)
    }

    pub(crate) fn in_file(mut self, file: &str) -> Self {
        self.0.file.get_or_insert_with(|| file.to_owned());
        self
    }

    pub(crate) fn in_record(mut self, record: &str) -> Self {
        self.0.record.get_or_insert_with(|| record.to_owned());
        self
    }

    pub(crate) fn at(mut self, offset: u64) -> Self {
        if self.0.program.is_none() {
            self.0.offset.get_or_insert(offset);
        }
        self
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
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

    /// The file.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The record in the archive.
    pub fn record(&self) -> Option<&str> {
        self.0.record.as_deref()
    }

    /// The offset in the record.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The line in the record, from 1, when it is code and at fault.
    pub fn line(&self) -> Option<u32> {
        self.program()?.range()?.file_line_column().map(|(_, line, _)| line)
    }

    /// What to do about it.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The place in the program, when the program is at fault.
    pub fn program(&self) -> Option<&sconce_compiler::Error> {
        self.0.program.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { message, file, record, offset, .. } = &*self.0;
        if let Some(file) = file {
            write!(out, "{file}: ")?;
        }
        if let Some(record) = record {
            match self.line() {
                Some(line) => write!(out, "{record}:{line}: ")?,
                None => write!(out, "{record}: ")?,
            }
        }
        out.write_str(message)?;
        match offset {
            Some(offset) => write!(out, " (at offset {offset:#x})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<sconce_compiler::Error> for Error {
    fn from(error: sconce_compiler::Error) -> Self {
        let mut out = Error::new(ErrorKind::Malformed, error.to_string());
        // The place is in the program, not in what mentions it.
        let place = error.range().and_then(|range| range.source.filename());
        out.0.record = place.map(str::to_owned);
        out.0.program = Some(error);
        out
    }
}

impl From<sconce_checkpoint::Error> for Error {
    fn from(error: sconce_checkpoint::Error) -> Self {
        let mut out = Error::new(error.kind(), error.message());
        out.0.file = error.file().map(str::to_owned);
        out.0.record = error.record().map(str::to_owned);
        out.0.offset = error.offset();
        out.0.help = error.help().map(str::to_owned);
        out
    }
}

impl From<sconce_source::Error> for Error {
    fn from(error: sconce_source::Error) -> Self {
        sconce_checkpoint::Error::from(error).into()
    }
}

impl From<sconce_archive::Error> for Error {
    fn from(error: sconce_archive::Error) -> Self {
        sconce_checkpoint::Error::from(error).into()
    }
}

impl From<sconce_pickle::Error> for Error {
    fn from(error: sconce_pickle::Error) -> Self {
        sconce_checkpoint::Error::from(error).into()
    }
}

impl From<sconce_tensor::Error> for Error {
    fn from(error: sconce_tensor::Error) -> Self {
        Error::malformed(error.to_string())
    }
}

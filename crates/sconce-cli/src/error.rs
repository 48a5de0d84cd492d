//! What goes wrong, how it is printed, and which exit code it gives.

use std::io::{Write, stderr};

use crate::output::{ColorChoice, Line, Palette, Style};

/// How a verb ended that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Clean,
    /// Exit code 1: a finding, a difference, an anomaly.
    Finding,
}

impl Outcome {
    /// [`Outcome::Finding`] when something was found.
    pub fn found(found: bool) -> Outcome {
        if found { Outcome::Finding } else { Outcome::Clean }
    }

    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Outcome::Clean => 0,
            Outcome::Finding => 1,
        }
    }
}

/// Why a verb could not do its work.
#[derive(Debug, Clone)]
pub struct Failure(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    exit: Exit,
    message: String,
    file: Option<String>,
    record: Option<String>,
    offset: Option<u64>,
    notes: Vec<String>,
    help: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    Unreadable,
    Usage,
    PipeClosed,
}

impl Failure {
    fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure(Box::new(Inner {
            exit,
            message: message.into(),
            file: None,
            record: None,
            offset: None,
            notes: Vec::new(),
            help: None,
        }))
    }

    /// Exit code 2: the file, the disk or a limit.
    pub fn unreadable(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Unreadable, message)
    }

    /// Exit code 3: the command line asks for what is not there or makes no sense.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// The reader of standard output went away: nothing to say about it.
    pub fn pipe_closed() -> Failure {
        Failure::new(Exit::PipeClosed, "")
    }

    /// Names the file, unless it has a name already.
    pub fn in_file(mut self, file: impl Into<String>) -> Failure {
        self.0.file.get_or_insert_with(|| file.into());
        self
    }

    /// Names the record.
    pub fn in_record(mut self, record: Option<impl Into<String>>) -> Failure {
        self.0.record = record.map(Into::into);
        self
    }

    /// Gives the offset in bytes.
    pub fn at(mut self, offset: Option<u64>) -> Failure {
        self.0.offset = offset;
        self
    }

    /// Adds why.
    pub fn note(mut self, note: impl Into<String>) -> Failure {
        self.0.notes.push(note.into());
        self
    }

    /// Says what to do next.
    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.0.help = Some(help.into());
        self
    }

    /// The message alone.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self.0.exit {
            Exit::Unreadable => 2,
            Exit::Usage => 3,
            Exit::PipeClosed => 0,
        }
    }

    /// Prints the error on standard error.
    pub fn print(&self, color: ColorChoice) {
        if self.0.exit == Exit::PipeClosed {
            return;
        }
        let palette = Palette::new(color.applies_to(&stderr()));
        let mut text = String::new();
        for line in self.lines() {
            text.push_str(&line.render(palette));
            text.push('\n');
        }
        // Standard error may be closed; there is nobody left to tell.
        drop(stderr().write_all(text.as_bytes()));
    }

    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        // PyTorch indents its suggestions with tabs.
        let message = self.0.message.replace('\t', "  ");
        let mut message = message.lines();
        let first = message.next().unwrap_or_default();
        lines.push(Line::new().add(Style::Bad, "error").plain(": ").add(Style::Strong, first));
        lines.extend(message.map(|line| Line::new().plain("       ").plain(line)));
        if let Some(place) = self.place() {
            lines.push(Line::new().add(Style::Name, "  --> ").plain(place));
        }
        for note in &self.0.notes {
            let mut note = note.lines();
            let first = note.next().unwrap_or_default();
            lines.push(Line::new().add(Style::Name, "note").plain(": ").plain(first));
            lines.extend(note.map(|line| Line::new().plain("      ").plain(line)));
        }
        if let Some(help) = &self.0.help {
            // Whoever gave the advice need not know what the file is called.
            let file = self.0.file.as_deref().unwrap_or("FILE");
            let help = help.replace("FILE", file);
            lines.push(Line::new().add(Style::Good, "help").plain(": ").plain(help));
        }
        lines
    }

    fn place(&self) -> Option<String> {
        let names = [self.0.file.as_deref(), self.0.record.as_deref()];
        let names: Vec<&str> = names.into_iter().flatten().collect();
        let offset = self.0.offset.map(|offset| format!("@ {offset:#x}"));
        let mut place = names.join(":");
        if let Some(offset) = offset {
            place = if place.is_empty() { offset } else { format!("{place} {offset}") };
        }
        (!place.is_empty()).then_some(place)
    }
}

/// Prints a remark on standard error: `warning: …`.
pub fn warn(color: ColorChoice, text: &str) {
    let palette = Palette::new(color.applies_to(&stderr()));
    let line = Line::new().add(Style::Warn, "warning").plain(": ").plain(text);
    drop(stderr().write_all((line.render(palette) + "\n").as_bytes()));
}

/// Prints a plain remark on standard error.
pub fn remark(color: ColorChoice, line: &Line) {
    let palette = Palette::new(color.applies_to(&stderr()));
    drop(stderr().write_all((line.render(palette) + "\n").as_bytes()));
}

impl From<sconce::source::Error> for Failure {
    fn from(error: sconce::source::Error) -> Failure {
        match &error {
            sconce::source::Error::Io { path, source } => {
                let failure = Failure::unreadable(format!("cannot open: {source}"));
                failure.in_file(path.to_string_lossy())
            }
            sconce::source::Error::NotAFile { path, what } => {
                Failure::unreadable(format!("this is a {what}, not a file"))
                    .in_file(path.to_string_lossy())
            }
            _ => Failure::unreadable(error.to_string()),
        }
    }
}

impl From<sconce::archive::Error> for Failure {
    fn from(error: sconce::archive::Error) -> Failure {
        let failure =
            Failure::unreadable(error.message()).in_record(error.record_name()).at(error.offset());
        match error.detail() {
            Some(detail) => failure.note(detail),
            None => failure,
        }
    }
}

impl From<sconce::checkpoint::Error> for Failure {
    fn from(error: sconce::checkpoint::Error) -> Failure {
        let mut failure =
            Failure::unreadable(error.message()).in_record(error.record()).at(error.offset());
        failure.0.file = error.file().map(str::to_owned);
        failure.0.notes.extend(error.note().map(str::to_owned));
        failure.0.help = error.help().map(str::to_owned);
        failure
    }
}

impl From<sconce::tensor::Error> for Failure {
    fn from(error: sconce::tensor::Error) -> Failure {
        match error.kind() {
            sconce::tensor::ErrorKind::Caller => Failure::usage(error.to_string()),
            _ => Failure::unreadable(error.to_string()),
        }
    }
}

impl From<sconce::pickle::Error> for Failure {
    fn from(error: sconce::pickle::Error) -> Failure {
        Failure::unreadable(error.to_string()).at(Some(error.offset()))
    }
}

impl From<sconce::export::Error> for Failure {
    fn from(error: sconce::export::Error) -> Failure {
        match error.kind() {
            sconce::export::ErrorKind::Caller => Failure::usage(error.to_string()),
            _ => Failure::unreadable(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_an_error() {
        let failure = Failure::unreadable("storage '7' is too small")
            .in_record(Some("archive/data.pkl"))
            .in_file("mo\x1bdel.pt")
            .in_file("other.pt")
            .at(Some(0x1c4))
            .note("truncated download?\nor a bad disk?")
            .help("sconce verify FILE");
        let text: Vec<String> =
            failure.lines().iter().map(|line| line.render(Palette::new(false))).collect();
        assert_eq!(
            text,
            [
                "error: storage '7' is too small",
                "  --> mo\\x1bdel.pt:archive/data.pkl @ 0x1c4",
                "note: truncated download?",
                "      or a bad disk?",
                "help: sconce verify mo\\x1bdel.pt",
            ]
        );
        assert_eq!(failure.code(), 2);
        assert_eq!(Failure::usage("x").code(), 3);
        assert_eq!(Failure::pipe_closed().code(), 0);
    }
}

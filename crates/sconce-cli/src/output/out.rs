//! Standard output.

use std::io::{self, BufWriter, IsTerminal, Write, stdout};
use std::process::Child;

use serde::Serialize;

use super::escape::escape;
use super::highlight::Highlighter;
use super::{ColorChoice, Line, Palette, Sizes, Style, Table, json, pager};
use crate::error::Failure;

/// What the global flags say about output.
#[derive(Debug, Clone, Copy)]
pub struct OutOptions {
    /// `--color`.
    pub color: ColorChoice,
    /// `--no-pager`.
    pub no_pager: bool,
    /// `--wide`.
    pub wide: bool,
    /// `--bytes`.
    pub exact_sizes: bool,
    /// `--quiet`.
    pub quiet: bool,
}

/// The one door to standard output. A closed pipe ends the program quietly.
pub struct Out {
    sink: Box<dyn Write>,
    pager: Option<Child>,
    palette: Palette,
    width: Option<usize>,
    terminal: bool,
    options: OutOptions,
}

impl Out {
    /// Standard output as the flags want it.
    pub fn new(options: OutOptions) -> Out {
        let terminal = stdout().is_terminal();
        let width =
            terminal_size::terminal_size_of(stdout()).map(|(width, _)| usize::from(width.0));
        Out {
            sink: Box::new(BufWriter::with_capacity(1 << 16, stdout())),
            pager: None,
            palette: Palette::new(options.color.applies_to(&stdout())),
            width: width.filter(|_| terminal && !options.wide),
            terminal,
            options,
        }
    }

    /// A writer in the place of standard output.
    pub fn to(sink: Box<dyn Write>, options: OutOptions) -> Out {
        let (pager, palette, width) = (None, Palette::new(false), None);
        Out { sink, pager, palette, width, terminal: false, options }
    }

    /// Sends what follows through the pager, when standard output is a terminal.
    pub fn use_pager(&mut self) {
        if !self.terminal || self.options.no_pager || self.pager.is_some() {
            return;
        }
        let Some(mut child) = pager::start() else { return };
        if let Some(stdin) = child.stdin.take() {
            self.sink = Box::new(BufWriter::with_capacity(1 << 16, stdin));
        }
        self.pager = Some(child);
    }

    /// How to print sizes.
    pub fn sizes(&self) -> Sizes {
        Sizes::new(self.options.exact_sizes)
    }

    /// Columns of the terminal; `None` when standard output is none: then nothing is cut.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// Whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// `--quiet`.
    pub fn quiet(&self) -> bool {
        self.options.quiet
    }

    /// Prints a line.
    pub fn line(&mut self, line: &Line) -> Result<(), Failure> {
        let mut text = line.render(self.palette);
        text.push('\n');
        self.raw(text.as_bytes())
    }

    /// Prints a line of plain text, escaped.
    pub fn plain(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        self.line(&Line::new().add(Style::Plain, text))
    }

    /// Prints text of several lines; each is escaped.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        for line in text.lines() {
            self.raw(escape(line).as_bytes())?;
            self.raw(b"\n")?;
        }
        Ok(())
    }

    /// Prints Python source, in colour where there is any.
    pub fn source(&mut self, text: &str) -> Result<(), Failure> {
        if !self.palette.is_on() {
            return self.text(text);
        }
        let mut highlighter = Highlighter::default();
        text.lines().try_for_each(|line| self.line(&highlighter.line(line)))
    }

    /// Prints text as it is where no terminal would obey what is in it, escaped on one.
    pub fn verbatim(&mut self, text: &str) -> Result<(), Failure> {
        if self.terminal { self.text(text) } else { self.raw(text.as_bytes()) }
    }

    /// Prints a table.
    pub fn table(&mut self, table: &Table) -> Result<(), Failure> {
        table.lines(self.width).iter().try_for_each(|line| self.line(line))
    }

    /// Prints a value as JSON: on one line in a pipe, over many on a terminal.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        if !self.terminal {
            return self.json_line(value);
        }
        let mut serializer = serde_json::Serializer::with_formatter(&mut self.sink, json::pretty());
        value.serialize(&mut serializer).map_err(|error| not_written(error.into()))?;
        self.raw(b"\n")
    }

    /// Prints a value as JSON on one line.
    pub fn json_line(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let mut serializer =
            serde_json::Serializer::with_formatter(&mut self.sink, json::compact());
        value.serialize(&mut serializer).map_err(|error| not_written(error.into()))?;
        self.raw(b"\n")
    }

    /// Writes bytes of a format that does its own quoting.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.sink.write_all(bytes).map_err(not_written)
    }

    /// Writes out what has been printed so far.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.sink.flush().map_err(not_written)
    }

    /// Writes everything out and waits for the pager.
    pub fn finish(&mut self) -> Result<(), Failure> {
        let flushed = self.sink.flush().map_err(not_written);
        if let Some(mut child) = self.pager.take() {
            self.sink = Box::new(io::sink());
            // However the pager ends, the output was delivered.
            drop(child.wait());
        }
        flushed
    }
}

fn not_written(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::pipe_closed();
    }
    Failure::unreadable(format!("cannot write to standard output: {error}"))
}

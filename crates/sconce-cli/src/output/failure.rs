//! Errors and remarks on standard error.

use std::io::{Write, stderr};

use sconce::source::shortened;

use super::escape::escape;
use super::{ColorChoice, Line, Palette, Style};
use crate::error::{Exit, Failure};

impl Failure {
    /// Prints the error on standard error.
    pub(crate) fn print(&self, color: ColorChoice) {
        if self.0.exit == Exit::PipeClosed {
            return;
        }
        let palette = Palette::new(color.applies_to(&stderr()));
        let text = to_a_screen(self.lines().iter().map(|line| line.render(palette)).collect());
        // Standard error may be closed; there is nobody left to tell.
        drop(stderr().write_all(text.as_bytes()));
    }

    /// What the command prints, without colour and the last line break.
    pub fn text(&self) -> String {
        let plain = Palette::new(false);
        let text = to_a_screen(self.lines().iter().map(|line| line.render(plain)).collect());
        text.trim_end().to_owned()
    }

    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        // PyTorch indents its suggestions with tabs.
        let message = self.0.message.replace('\t', "  ");
        let mut message = kept_lines(&message);
        let first = message.next().unwrap_or_default();
        lines.push(Line::new().add(Style::Bad, "error").plain(": ").add(Style::Strong, first));
        lines.extend(message.map(|line| Line::new().plain("       ").plain(line)));
        if let Some(place) = self.place() {
            lines.push(Line::new().add(Style::Name, "  --> ").plain(place));
        }
        for note in &self.0.notes {
            let mut note = kept_lines(note);
            let first = note.next().unwrap_or_default();
            lines.push(Line::new().add(Style::Name, "note").plain(": ").plain(first));
            lines.extend(note.map(|line| Line::new().plain("      ").plain(line)));
        }
        if let Some(help) = &self.0.help {
            // Whoever gave the advice need not know what the file is called.
            let file = self.0.file.as_deref().unwrap_or("FILE");
            let help = cut_line(&help.replace("FILE", file));
            lines.push(Line::new().add(Style::Good, "help").plain(": ").plain(help));
        }
        lines
    }

    fn place(&self) -> Option<String> {
        let names = [self.0.file.as_deref(), self.0.record.as_deref()];
        let names: Vec<String> = names.into_iter().flatten().map(cut_line).collect();
        let offset = self.0.offset.map(|offset| format!("@ {offset:#x}"));
        let mut place = names.join(":");
        if let Some(offset) = offset {
            place = if place.is_empty() { offset } else { format!("{place} {offset}") };
        }
        (!place.is_empty()).then_some(place)
    }
}

/// The longest line of an error, in bytes. Paths are that long, hardly anything else.
const LONGEST_LINE: usize = 1000;
/// The most lines of an error, and the most bytes.
const MOST_LINES: usize = 200;
const MOST_BYTES: usize = 16 << 10;

/// A line of text from a file, cut in its middle where it is very long.
fn cut_line(line: &str) -> String {
    // Escaping makes a character up to ten times as long.
    let line = shortened(line, LONGEST_LINE);
    shortened(escape(&line), LONGEST_LINE)
}

/// The lines of a text, each cut, without those in the middle that would be cut from the error anyway.
fn kept_lines(text: &str) -> impl Iterator<Item = String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut kept = Vec::new();
    if lines.len() > 2 * MOST_LINES {
        let cut = lines.len() - 2 * MOST_LINES;
        let rest = lines.split_off(MOST_LINES + cut);
        kept.extend(lines[..MOST_LINES].iter().map(|line| cut_line(line)));
        kept.push(format!("… {cut} lines cut …"));
        lines = rest;
    }
    kept.extend(lines.into_iter().map(cut_line));
    kept.into_iter()
}

/// The lines as one text. Where they are too many, some of those in the middle go.
fn to_a_screen(mut lines: Vec<String>) -> String {
    let all: usize = lines.iter().map(|line| line.len() + 1).sum();
    if lines.len() > MOST_LINES || all > MOST_BYTES {
        let (mut bytes, mut head, mut tail) = (0, 0, 0);
        // Two lines of the beginning for one of the end.
        while head + tail < MOST_LINES.min(lines.len()) {
            let from_end = (head + tail) % 3 == 2;
            let at = if from_end { lines.len() - 1 - tail } else { head };
            bytes += lines[at].len() + 1;
            if bytes > MOST_BYTES && head > 0 {
                break;
            }
            if from_end { tail += 1 } else { head += 1 }
        }
        let rest = lines.split_off(lines.len() - tail);
        let cut = lines.len() - head;
        lines.truncate(head);
        lines.push(format!("  … {cut} lines cut …"));
        lines.extend(rest);
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Prints a remark on standard error: `warning: …`.
pub fn warn(color: ColorChoice, text: &str) {
    let palette = Palette::new(color.applies_to(&stderr()));
    let line = Line::new().add(Style::Warn, "warning").plain(": ").plain(cut_line(text));
    drop(stderr().write_all((line.render(palette) + "\n").as_bytes()));
}

/// Prints a plain remark on standard error.
pub fn remark(color: ColorChoice, line: &Line) {
    let palette = Palette::new(color.applies_to(&stderr()));
    drop(stderr().write_all((line.render(palette) + "\n").as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(failure: &Failure) -> String {
        let plain = Palette::new(false);
        to_a_screen(failure.lines().iter().map(|line| line.render(plain)).collect())
    }

    /// A file of some megabytes can have a name, a line, or a number of lines of that size.
    #[test]
    fn errors_fit_a_screen() {
        let long = format!("begin{}end", "\u{202e}x".repeat(1 << 20));
        let lines = format!("first\n{}last", "line\n".repeat(1 << 20));
        let failure = Failure::unreadable(long.as_str())
            .in_file(long.as_str())
            .in_record(Some(long.as_str()))
            .note(lines.as_str())
            .note(long.as_str())
            .help(format!("sconce verify FILE {long}"));
        let said = text(&failure);
        assert!(said.len() < MOST_BYTES + 100, "{}", said.len());
        assert!(said.lines().count() <= MOST_LINES + 1, "{}", said.lines().count());
        assert!(said.starts_with("error: begin") && said.trim_end().ends_with("end"), "{said}");
        assert!(said.contains(" characters cut … ") && said.contains(" lines cut …"), "{said}");
        let many = text(&Failure::unreadable(lines.as_str()));
        assert!(many.starts_with("error: first\n") && many.ends_with(" last\n"), "{many}");
        let few = Failure::unreadable("a\nb").note("c".repeat(LONGEST_LINE));
        assert!(!text(&few).contains('…'));
    }

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

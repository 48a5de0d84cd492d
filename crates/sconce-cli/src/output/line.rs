//! A line of styled text whose parts are escaped when they are added.

use unicode_width::UnicodeWidthStr;

use super::escape::escape;
use super::{Palette, Style};

/// One line, built part by part.
#[derive(Debug, Clone, Default)]
pub struct Line {
    parts: Vec<(Style, String)>,
}

impl Line {
    /// An empty line.
    pub fn new() -> Line {
        Line::default()
    }

    /// Adds text in a style; control characters in it are escaped.
    pub fn add(mut self, style: Style, text: impl AsRef<str>) -> Line {
        self.push(style, text);
        self
    }

    /// Adds plain text.
    pub fn plain(self, text: impl AsRef<str>) -> Line {
        self.add(Style::Plain, text)
    }

    /// Adds dim text.
    pub fn dim(self, text: impl AsRef<str>) -> Line {
        self.add(Style::Dim, text)
    }

    /// [`Line::add`] in place.
    pub fn push(&mut self, style: Style, text: impl AsRef<str>) {
        self.parts.push((style, escape(text.as_ref()).into_owned()));
    }

    /// Adds the parts of another line.
    pub fn extend(&mut self, other: Line) {
        self.parts.extend(other.parts);
    }

    /// Adds blanks up to a column.
    pub fn pad_to(mut self, column: usize) -> Line {
        let missing = column.saturating_sub(self.width());
        self.parts.push((Style::Plain, " ".repeat(missing)));
        self
    }

    /// Columns that the line takes.
    pub fn width(&self) -> usize {
        self.parts.iter().map(|(_, text)| text.width()).sum()
    }

    /// The line with its colours, blanks at the end cut.
    pub fn render(&self, palette: Palette) -> String {
        let mut out = String::new();
        for (style, text) in &self.parts {
            let (start, end) = palette.ansi(*style);
            out.push_str(&start);
            out.push_str(text);
            out.push_str(&end);
        }
        out.truncate(out.trim_end_matches(' ').len());
        out
    }

    /// The line cut to a width, with a mark where something is missing.
    pub fn fit(mut self, width: Option<usize>) -> Line {
        let Some(width) = width.filter(|width| self.width() > *width) else { return self };
        let mut left = width.saturating_sub(1);
        let mut kept = Vec::new();
        for (style, text) in self.parts.drain(..) {
            if text.width() <= left {
                left -= text.width();
                kept.push((style, text));
                continue;
            }
            kept.push((style, prefix(&text, left).to_owned() + "…"));
            break;
        }
        Line { parts: kept }
    }
}

/// The longest start of a text that fits a width.
pub fn prefix(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used > width {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_escaped_and_styled() {
        let line = Line::new().plain("a\x1b[2J ").add(Style::Bad, "b");
        assert_eq!(line.render(Palette::new(false)), "a\\x1b[2J b");
        assert_eq!(line.render(Palette::new(true)), "a\\x1b[2J \x1b[1m\x1b[31mb\x1b[0m");
    }

    #[test]
    fn fitting_cuts_by_columns() {
        let line = || Line::new().plain("重み.weight");
        assert_eq!(line().fit(Some(4)).render(Palette::new(false)), "重…");
        assert_eq!(line().fit(Some(11)).render(Palette::new(false)), "重み.weight");
        assert_eq!(line().fit(None).render(Palette::new(false)), "重み.weight");
    }
}

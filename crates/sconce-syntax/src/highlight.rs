//! Places in a text shown to a person, byte for byte as PyTorch shows them.

use std::fmt::{self, Display, Formatter};

use crate::SourceRange;

/// Lines shown before and after those of the range.
const CONTEXT: usize = 3;

impl SourceRange {
    /// The lines around the range with the range underlined, as PyTorch's
    /// `SourceRange::highlight`. A range of the whole text gives the text alone.
    ///
    /// ```text
    ///   File "x.py", line 2
    /// def f(x):
    ///     return x + y
    ///                ~ <--- HERE
    /// ```
    pub fn highlight(&self) -> String {
        self.to_string()
    }

    /// As [`SourceRange::highlight`], with the number of lines around it, whether to underline, and
    /// the function to name after the line number: PyTorch's `print_with_context`.
    pub fn with_context<'a>(
        &'a self,
        context: usize,
        underline: bool,
        function: &'a str,
    ) -> impl Display + 'a {
        WithContext { range: self, context, underline, function }
    }
}

struct WithContext<'a> {
    range: &'a SourceRange,
    context: usize,
    underline: bool,
    function: &'a str,
}

impl Display for WithContext<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        show(self.range, self.context, self.underline, self.function, out)
    }
}

impl Display for SourceRange {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        show(self, CONTEXT, true, "", out)
    }
}

fn show(
    range: &SourceRange,
    context: usize,
    underline: bool,
    function: &str,
    out: &mut Formatter<'_>,
) -> fmt::Result {
    let text = range.source.text();
    let (start, end) = (range.range.start as usize, range.range.end as usize);
    if end.checked_sub(start) == Some(text.len()) {
        return out.write_str(text);
    }
    if start > text.len() {
        return Ok(());
    }
    if let Some((filename, line, _)) = range.file_line_column() {
        write!(out, "  File \"{filename}\", line {line}")?;
        if !function.is_empty() {
            write!(out, ", in {function}")?;
        }
        out.write_str("\n")?;
    }
    let excerpt = Excerpt { text: text.as_bytes(), start, end: end.min(text.len()) };
    // Offsets need not be those of characters, so bytes are put together before they are text.
    let mut shown = Vec::new();
    excerpt.show(context, underline, &mut shown);
    out.write_str(&String::from_utf8_lossy(&shown))
}

/// A range that starts inside its text or at its end.
struct Excerpt<'a> {
    text: &'a [u8],
    start: usize,
    end: usize,
}

impl Excerpt<'_> {
    fn show(&self, context: usize, underline: bool, out: &mut Vec<u8>) {
        let (before, after) = self.context(context);
        out.extend_from_slice(&self.text[before..self.start]);
        let shown = if underline { self.underline(out) } else { self.start };
        if shown < after {
            out.extend_from_slice(&self.text[shown..after]);
            if self.text[after - 1] != b'\n' {
                out.push(b'\n');
            }
        }
    }

    /// Where what is shown begins and ends: `lines` lines from the range's own, in both directions.
    fn context(&self, lines: usize) -> (usize, usize) {
        let nth = lines.saturating_sub(1);
        let newlines = |(at, &byte): (usize, &u8)| (byte == b'\n').then_some(at);
        let mut before = self.text[..self.start].iter().enumerate().rev().filter_map(newlines);
        let mut after = self.text[self.end..].iter().enumerate().filter_map(newlines);
        let begin = before.nth(nth).map_or(0, |at| at + 1);
        (begin, after.nth(nth).map_or(self.text.len(), |at| self.end + at))
    }

    /// Shows the range's lines, each with its part of the range underlined below; gives the
    /// beginning of the line after.
    fn underline(&self, out: &mut Vec<u8>) -> usize {
        // PyTorch looks one byte past the range for more to underline, and finds the end of the
        // text to be something.
        let visible = |&at: &usize| !matches!(self.text.get(at), Some(b' ' | b'\n'));
        let last_visible = (self.start..=self.end).rev().find(visible);
        let mut line = self.start;
        while line < self.end {
            let line_end = self.line_end(line);
            out.extend_from_slice(&self.text[line..line_end]);
            out.push(b'\n');
            let (blank, underlined) = self.widths(line, line_end);
            if underlined > 0 {
                let more = line_end != self.end && last_visible >= Some(line_end);
                out.resize(out.len() + blank, b' ');
                out.resize(out.len() + underlined, b'~');
                out.extend_from_slice(if more { b"\n" } else { b" <--- HERE\n" });
            }
            line = line_end + 1;
        }
        line
    }

    /// How many columns precede the underline in a line, and how many it has.
    fn widths(&self, line: usize, line_end: usize) -> (usize, usize) {
        let newline = self.text[..line].iter().rposition(|&byte| byte == b'\n');
        let begin = newline.map_or(0, |at| at + 1);
        let end = line_end.min(self.end);
        let spaces = self.text[line..end].iter().take_while(|&&byte| byte == b' ').count();
        (line - begin + spaces, end - line - spaces)
    }

    fn line_end(&self, from: usize) -> usize {
        let newline = self.text[from..].iter().position(|&byte| byte == b'\n');
        newline.map_or(self.text.len(), |length| from + length)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{Range, Source, SourceRange};

    const TEXT: &str =
        "def f(x):\n    return (x +\n       y) \n    a\n\n    b\n    c\n    dé\n   e";

    /// What PyTorch 2.15's `SourceRange::str` says, by `tests/golden/oracle.cpp`.
    #[rustfmt::skip]
    #[test]
    fn ranges_are_shown_as_pytorch_shows_them() {
        let cases = [
            (21, 24, "", "def f(x):\n    return (x +\n           ~~~ <--- HERE\n       y) \n    a\n"),
            (21, 40, "", "def f(x):\n    return (x +\n           ~~~~\n       y) \n       ~~~ <--- HERE\n    a\n\n    b\n"),
            (10, 36, "", "def f(x):\n    return (x +\n    ~~~~~~~~~~~\n       y) \n       ~~~ <--- HERE\n    a\n"),
            (10, 46, "", "def f(x):\n    return (x +\n    ~~~~~~~~~~~\n       y) \n       ~~~\n    a\n    ~ <--- HERE\n\n    b\n    c\n    dé\n"),
            (0, 9, "", "def f(x):\n~~~~~~~~~ <--- HERE\n    return (x +\n       y) \n"),
            (9, 10, "", "def f(x):\n    return (x +\n       y) \n    a\n"),
            (9, 9, "", "def f(x):\n    return (x +\n       y) \n"),
            (14, 21, "x.py", "  File \"x.py\", line 8\ndef f(x):\n    return (x +\n    ~~~~~~~ <--- HERE\n       y) \n    a\n"),
            (35, 37, "", "def f(x):\n    return (x +\n       y) \n    a\n\n    b\n"),
            (56, 72, "x.py", "  File \"x.py\", line 14\n    b\n    c\n    dé\n    ~~~\n   e\n   ~ <--- HERE\n"),
            (70, 90, "", ""),
            (0, 68, "", "def f(x):\n    return (x +\n       y) \n    a\n\n    b\n    c\n    dé\n   e"),
            (68, 69, "", "    c\n    dé\n   e"),
            (500, 501, "", ""),
        ];
        for (start, end, file, shown) in cases {
            let mut source = Source::new(TEXT);
            if !file.is_empty() {
                source = source.with_filename(file).with_starting_line(7);
            }
            let range = SourceRange::new(Arc::new(source), Range::new(start, end));
            assert_eq!(range.highlight(), shown, "{start}..{end}");
        }
    }

    #[test]
    fn a_function_is_named_and_nothing_need_be_underlined() {
        let source = Source::new(TEXT).with_filename("x.py").with_starting_line(1);
        let range = SourceRange::new(Arc::new(source), Range::new(21, 24));
        let shown = range.with_context(1, false, "f").to_string();
        assert_eq!(shown, "  File \"x.py\", line 2, in f\n    return (x +\n");
        assert_eq!(range.file_line_column(), Some(("x.py", 2, 11)));
    }
}

//! The text of one function or class, as `inspect.getsource` gives it and PyTorch aligns it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sconce_syntax::{Range, Source};

/// The source of one definition: the lines it stands on, comments that follow its body included.
///
/// PyTorch parses a text without the indentation, and counts places in the text with it.
#[derive(Debug)]
pub(crate) struct Snippet {
    /// The lines as PyTorch keeps them, with the file's name and the first line's number.
    pub(crate) source: Arc<Source>,
    /// The same lines without their common indentation: what is parsed.
    pub(crate) text: String,
    /// Where each line of `text` begins.
    lines: Vec<u32>,
    /// Where each line of `source` begins.
    source_lines: Vec<u32>,
    /// How much longer the first line is in `source`.
    leading: u32,
    /// The line that was asked for last: the next place is seldom far from there.
    last: AtomicUsize,
}

impl Snippet {
    /// The lines of a file, which begin at `starts`, from `first` to `last`, counted from 0, `last` included, and comments
    /// after them that stand as deep as `body` (none for a definition on one line). The file's first
    /// line has the number `first_line`.
    pub(crate) fn new(
        (file, starts): (&str, &[u32]),
        filename: &str,
        first_line: u32,
        first: usize,
        last: usize,
        body: Option<usize>,
    ) -> Self {
        let line = |at: usize| {
            let start = *starts.get(at)? as usize;
            let end = starts.get(at + 1).map_or(file.len(), |&end| end as usize);
            file.get(start..end).filter(|line| !line.is_empty())
        };
        let last = with_comments(&line, last, body);
        let own: Vec<&str> = (first..=last).map_while(line).collect();
        let aligned = aligned(&own);
        let text = dedented(&aligned);
        let width = |text: &str| text.split('\n').next().unwrap_or_default().chars().count();
        let leading = width(&aligned).saturating_sub(width(&text)) as u32;
        let (lines, source_lines) = (line_starts(&text), line_starts(&aligned));
        let source = Source::new(aligned).with_filename(filename).with_starting_line(
            first_line.saturating_add(u32::try_from(first).unwrap_or(u32::MAX)),
        );
        Self {
            source: Arc::new(source),
            text,
            lines,
            source_lines,
            leading,
            last: AtomicUsize::new(0),
        }
    }

    /// Where a byte of the parsed text is in the source.
    pub(crate) fn offset(&self, offset: u32) -> u32 {
        let line = self.line(offset);
        let start = self.lines.get(line).copied().unwrap_or(0);
        let source = self.source_lines.get(line).copied().unwrap_or(0);
        source + self.leading + (offset - start)
    }

    /// The line of a byte of the parsed text, counted from 0.
    fn line(&self, offset: u32) -> usize {
        let last = self.last.load(Ordering::Relaxed);
        let begins = |line: usize| self.lines.get(line).is_some_and(|&start| start <= offset);
        let near = [last, last + 1].into_iter().find(|&line| begins(line) && !begins(line + 1));
        let line = near.unwrap_or_else(|| {
            self.lines.partition_point(|&start| start <= offset).saturating_sub(1)
        });
        self.last.store(line, Ordering::Relaxed);
        line
    }

    /// So many bytes of the source from where a byte of the parsed text is.
    pub(crate) fn range(&self, offset: u32, length: usize) -> Range {
        let start = self.offset(offset);
        Range::new(start, start.saturating_add(u32::try_from(length).unwrap_or(u32::MAX)))
    }
}

/// Places in text that PyTorch makes and takes for the text of the snippet.
impl Snippet {
    /// So many bytes from a column of a line, counted from 0.
    pub(crate) fn range_at(&self, line: usize, column: u32, length: usize) -> Range {
        let start = self.source_lines.get(line).copied().unwrap_or(0);
        let start = start.saturating_add(self.leading).saturating_add(column);
        Range::new(start, start.saturating_add(u32::try_from(length).unwrap_or(u32::MAX)))
    }

    /// A snippet of another text of one line, whose places are those of the first line here.
    pub(crate) fn with_line(&self, text: String) -> Self {
        Self {
            source: Arc::clone(&self.source),
            lines: vec![0],
            source_lines: vec![self.source_lines.first().copied().unwrap_or(0)],
            leading: self.leading,
            last: AtomicUsize::new(0),
            text,
        }
    }
}

fn line_starts(text: &str) -> Vec<u32> {
    let breaks = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
    std::iter::once(0).chain(breaks.map(|(at, _)| at as u32 + 1)).collect()
}

/// The last line of a block: comments that follow belong to it where they stand deep enough.
fn with_comments<'t>(
    line: &impl Fn(usize) -> Option<&'t str>,
    last: usize,
    body: Option<usize>,
) -> usize {
    let Some(body) = body else { return last };
    let mut end = last;
    for at in last + 1.. {
        let Some(line) = line(at) else { break };
        let inner = line.trim_start();
        if inner.starts_with('#') {
            if line.chars().count() - inner.chars().count() >= body {
                end = at;
            }
        } else if !inner.is_empty() {
            break;
        }
    }
    end
}

/// Gives every line at least the indentation that the line with `def` has.
fn aligned(lines: &[&str]) -> String {
    let Some(def) = lines.iter().position(|line| line.trim_start().starts_with("def")) else {
        return lines.concat();
    };
    let indentation = lines[def].split("def").next().unwrap_or_default();
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        if at != def {
            out.push_str(indentation);
            out.push_str(line.strip_prefix(indentation).unwrap_or(line));
        } else {
            out.push_str(line);
        }
    }
    out
}

/// Takes the common indentation away: Python's `textwrap.dedent`.
fn dedented(text: &str) -> String {
    let blank = |line: &str| line.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
    let mut margin: Option<&str> = None;
    for line in text.split('\n').filter(|line| !blank(line)) {
        let width = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let own = &line[..width];
        margin = Some(match margin {
            None => own,
            Some(margin) => {
                let pairs = margin.bytes().zip(own.bytes());
                &margin[..pairs.take_while(|(left, right)| left == right).count()]
            }
        });
    }
    let margin = margin.unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if !blank(line) {
            out.push_str(line.strip_prefix(margin).unwrap_or(line));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_keeps_its_column_and_loses_it_for_the_parser() {
        let file = "class C:\n    def m(self):\n        return 1\n\n        # in m\n    # in C\n";
        let snippet = Snippet::new((file, &line_starts(file)), "c.py", 1, 1, 2, Some(8));
        assert_eq!(snippet.text, "def m(self):\n    return 1\n\n    # in m\n");
        assert_eq!(
            snippet.source.text(),
            "    def m(self):\n        return 1\n    \n        # in m\n"
        );
        let at = snippet.text.find("return").expect("a return") as u32;
        assert_eq!(snippet.offset(at), snippet.source.text().find("return").expect("one") as u32);
        assert_eq!(snippet.source.starting_line(), 2);
    }

    #[test]
    fn comments_after_a_body_belong_to_it_when_deep_enough() {
        let file = "def f(x):\n    return x\n# no\n\n    # yes\n# no\ndef g(): pass\n# no\n";
        assert_eq!(
            Snippet::new((file, &line_starts(file)), "c.py", 1, 0, 1, Some(4)).text.lines().count(),
            5
        );
        assert_eq!(
            Snippet::new((file, &line_starts(file)), "c.py", 1, 6, 6, None).text,
            "def g(): pass\n"
        );
    }
}

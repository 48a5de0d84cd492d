//! Python source in colour: keywords, names that are defined, strings, numbers and comments.

use super::{Line, Style};

const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Colours source line by line: a string of three quotes goes on to the next.
#[derive(Debug, Default)]
pub struct Highlighter {
    /// The quotes that end the string that a line begins in.
    open: Option<&'static str>,
    /// Whether the word before was `def` or `class`.
    defines: bool,
}

impl Highlighter {
    /// The next line.
    pub fn line(&mut self, text: &str) -> Line {
        let mut line = Line::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (style, length) = self.piece(rest);
            let (piece, after) = rest.split_at(length);
            line.push(style, piece);
            rest = after;
        }
        line
    }

    /// The style and the length of what the rest of a line begins with.
    fn piece(&mut self, rest: &str) -> (Style, usize) {
        if let Some(quotes) = self.open {
            return match rest.find(quotes) {
                Some(at) => {
                    self.open = None;
                    (Style::Good, at + quotes.len())
                }
                None => (Style::Good, rest.len()),
            };
        }
        let first = rest.chars().next().unwrap_or(' ');
        if first == '#' {
            return (Style::Dim, rest.len());
        }
        for quotes in ["\"\"\"", "'''"] {
            if let Some(inside) = rest.strip_prefix(quotes) {
                return match inside.find(quotes) {
                    Some(at) => (Style::Good, at + 2 * quotes.len()),
                    None => {
                        self.open = Some(quotes);
                        (Style::Good, rest.len())
                    }
                };
            }
        }
        if first == '"' || first == '\'' {
            return (Style::Good, string(rest, first));
        }
        let word = |c: char| c.is_alphanumeric() || c == '_';
        if first.is_ascii_digit() {
            let number = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
            return (Style::Number, rest.find(|c| !number(c)).unwrap_or(rest.len()));
        }
        if word(first) {
            let length = rest.find(|c| !word(c)).unwrap_or(rest.len());
            let name = &rest[..length];
            let style = match KEYWORDS.contains(&name) {
                true => Style::Strong,
                false if self.defines => Style::Name,
                false => Style::Plain,
            };
            self.defines = matches!(name, "def" | "class");
            return (style, length);
        }
        let length = rest.find(|c: char| word(c) || "#'\"".contains(c)).unwrap_or(rest.len());
        (Style::Plain, length)
    }
}

/// The length of a string of one line, which begins with a quote.
fn string(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::super::Palette;
    use super::*;

    fn colored(lines: &[&str]) -> Vec<String> {
        let mut highlighter = Highlighter::default();
        lines.iter().map(|line| highlighter.line(line).render(Palette::new(true))).collect()
    }

    #[test]
    fn every_character_stays() {
        let lines = [
            "def f(x: Tensor) -> Tensor:  # it's",
            "  s = \"a\\\"b\" + '''c",
            "d''' + 1.5e3",
            "  é = \"x",
        ];
        let mut highlighter = Highlighter::default();
        for line in lines {
            assert_eq!(highlighter.line(line).render(Palette::new(false)), line);
        }
    }

    #[test]
    fn words_have_their_colours() {
        let shown =
            colored(&["def forward(self):", "  return \"return\" # def", "'''", "def", "''' + 2"]);
        assert!(shown[0].starts_with("\u{1b}[1mdef\u{1b}[0m ") && shown[0].contains("36mforward"));
        assert!(shown[1].contains("\"return\"") && shown[1].contains("[2m# def"), "{}", shown[1]);
        assert!(shown[3].contains("32mdef"), "{}", shown[3]);
        assert!(shown[4].ends_with("\u{1b}[32m2\u{1b}[0m"), "{}", shown[4]);
    }
}

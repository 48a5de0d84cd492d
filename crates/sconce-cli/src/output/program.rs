//! What a running program prints.

use std::io::{Write, stderr, stdout};

use super::escape::escape;

/// Writes text of a program at once, so that it stands where the program was when it printed.
/// Everything but line breaks and tabs that would act on a terminal is escaped.
pub fn program_text(text: &str, to_stderr: bool) {
    let text = shown(text);
    // A closed pipe is noticed when the result is printed.
    drop(match to_stderr {
        true => stderr().write_all(text.as_bytes()),
        false => stdout().write_all(text.as_bytes()),
    });
}

fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(['\n', '\t']) {
        let kept = piece.ends_with(['\n', '\t']);
        let (line, end) = piece.split_at(piece.len() - usize::from(kept));
        out.push_str(&escape(line));
        out.push_str(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_tabs_stay() {
        assert_eq!(shown("a\tb\n\x1b[2Jc\n"), "a\tb\n\\x1b[2Jc\n");
        assert_eq!(shown("no end"), "no end");
    }
}

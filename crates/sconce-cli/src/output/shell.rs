//! Words of commands that are printed to be typed again.

use std::borrow::Cow;

/// A word as a POSIX shell reads it back: `my model.pt` becomes `'my model.pt'`.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_as_they_are() {
        for (text, want) in [
            ("a/b-c.pt", "a/b-c.pt"),
            ("my model.pt", "'my model.pt'"),
            ("it's.pt", "'it'\\''s.pt'"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
            ("модель.pt", "'модель.pt'"),
        ] {
            assert_eq!(shell_word(text), want);
        }
    }
}

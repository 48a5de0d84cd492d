//! Makes text from a file harmless to a terminal and visible to a reader.

use std::borrow::Cow;

/// Whether a character would act on a terminal, or hide or reorder what stands around it.
///
/// Control characters; line and paragraph separators; the bidirectional controls; and characters
/// that take no room (joiners, fillers, tags, variation selectors).
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text with every hostile character spelled out: `\n`, `\x1b`, `\u{202e}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_hostile) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if !is_hostile(c) => out.push(c),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_characters_are_spelled_out() {
        let cases = [
            ("conv1.weight", "conv1.weight"),
            ("größe.重み", "größe.重み"),
            ("a\x1b[31mred", "a\\x1b[31mred"),
            ("a\nb\tc\rd\0", "a\\nb\\tc\\rd\\x00"),
            ("\u{9b}2J", "\\x9b2J"),
            ("user\u{202e}gpj.exe", "user\\u{202e}gpj.exe"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            ("\u{7f}", "\\x7f"),
        ];
        for (text, want) in cases {
            assert_eq!(escape(text), want);
        }
    }

    #[test]
    fn harmless_text_is_not_copied() {
        assert!(matches!(escape("layers.0.weight"), Cow::Borrowed(_)));
    }
}

//! Texts of errors that quote a file, cut to a length that people read.

use std::ops::Range;

/// The longest text of an error, in bytes.
pub const MOST: usize = 4096;

/// The text, or where it is longer than `most` bytes, its beginning, how much was cut, and its end.
///
/// ```
/// let name = "x".repeat(1_000_000);
/// let shown = sconce_source::shortened(name, 30);
/// assert_eq!(shown, "xxxxxxxxxxxxxxxxxxxx … 999970 characters cut … xxxxxxxxxx");
/// ```
pub fn shortened(text: impl Into<String>, most: usize) -> String {
    let mut text = text.into();
    if let Some(cut) = middle(&text, most) {
        let characters = text[cut.clone()].chars().count();
        text.replace_range(cut, &format!(" … {characters} characters cut … "));
        text.shrink_to_fit();
    }
    text
}

/// What to cut: two thirds of what is kept stand before it.
fn middle(text: &str, most: usize) -> Option<Range<usize>> {
    if text.len() <= most {
        return None;
    }
    let boundary = |at: &usize| text.is_char_boundary(*at);
    let start = (0..=most / 3 * 2).rev().find(boundary)?;
    let end = (text.len() - most / 3..=text.len()).find(boundary)?;
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_stay() {
        assert_eq!(shortened("short", 5), "short");
        let text = format!("begin{}end", "x".repeat(1000));
        let cut = shortened(text.as_str(), 60);
        assert!(cut.starts_with("beginx") && cut.ends_with("xend"), "{cut}");
        assert!(cut.contains(" … 948 characters cut … "), "{cut}");
        // Between characters, whatever their length.
        for most in 9..40 {
            let cut = shortened("aé重😀".repeat(50), most);
            assert!(cut.contains(" characters cut ") && cut.len() < most + 40, "{cut}");
        }
    }
}

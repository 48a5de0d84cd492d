//! Strings: TorchScript's are bytes, and its letters and blanks those of ASCII.

use crate::Constant;
use crate::Constant::{Bool, Int, Str};

/// How long a string may become: constants are in graphs.
const MAX_LENGTH: usize = 1 << 16;

/// An operator of one string.
pub(super) fn unary(name: &str, text: &str) -> Option<Constant> {
    Some(match name {
        "len" => Int(text.len() as i64),
        "ord" => match text.as_bytes() {
            [byte] => Int(i64::from(*byte)),
            _ => return None,
        },
        "upper" => Str(text.to_ascii_uppercase().into()),
        "lower" => Str(text.to_ascii_lowercase().into()),
        "str" => Str(text.into()),
        "swapcase" => Str(each(text, |_, c| match c.is_ascii_lowercase() {
            true => c.to_ascii_uppercase(),
            false => c.to_ascii_lowercase(),
        })),
        "capitalize" => Str(each(text, |before, c| match before {
            None => c.to_ascii_uppercase(),
            Some(_) => c.to_ascii_lowercase(),
        })),
        "title" => {
            Str(each(text, |before, c| match before.is_some_and(|c| c.is_ascii_alphabetic()) {
                true => c.to_ascii_lowercase(),
                false => c.to_ascii_uppercase(),
            }))
        }
        "isupper" => Bool(is_cased(text, |c| c.is_ascii_uppercase(), |c| c.is_ascii_lowercase())),
        "islower" => Bool(is_cased(text, |c| c.is_ascii_lowercase(), |c| c.is_ascii_uppercase())),
        "isalpha" => Bool(is_all(text, |c| c.is_ascii_alphabetic())),
        "isdigit" | "isdecimal" | "isnumeric" => Bool(is_all(text, |c| c.is_ascii_digit())),
        "isalnum" => Bool(is_all(text, |c| c.is_ascii_alphanumeric())),
        "isspace" => Bool(is_all(text, |c| c.is_ascii_whitespace() || c == '\x0b')),
        "isidentifier" => Bool(
            !text.starts_with(|c: char| c.is_ascii_digit())
                && is_all(text, |c| c.is_ascii_alphanumeric() || c == '_'),
        ),
        "istitle" => Bool(is_title(text)),
        "isprintable" => Bool(text.bytes().all(|byte| (32..127).contains(&byte))),
        _ => return None,
    })
}

/// Operators of strings with three results.
pub(super) fn triple(name: &str, text: &str, by: &str) -> Option<Vec<Constant>> {
    if by.is_empty() {
        return None;
    }
    let parts = match name {
        "partition" => match text.split_once(by) {
            Some((before, after)) => [before, by, after],
            None => [text, "", ""],
        },
        "rpartition" => match text.rsplit_once(by) {
            Some((before, after)) => [before, by, after],
            None => ["", "", text],
        },
        _ => return None,
    };
    Some(parts.iter().map(|part| Str((*part).into())).collect())
}

/// An operator of a string and more.
pub(super) fn several(name: &str, arguments: &[Constant]) -> Option<Constant> {
    Some(match (name, arguments) {
        ("add", [Str(a), Str(b)]) => Str(format!("{a}{b}").into()),
        ("eq" | "ne" | "lt" | "gt" | "le" | "ge", [Str(a), Str(b)]) => {
            return super::ordering(name, Some(a.cmp(b)));
        }
        ("__contains__", [Str(a), Str(b)]) => Bool(a.contains(&**b)),
        ("__getitem__" | "StringIndex", [Str(text), Int(index)]) => {
            let index = if *index < 0 { index + text.len() as i64 } else { *index };
            super::text_of(&[*text.as_bytes().get(usize::try_from(index).ok()?)?])?
        }
        ("slice", [Str(text), start, end, Int(step)]) => slice(text, start, end, *step)?,
        ("strip", [Str(a), Str(b)]) => Str(a.trim_matches(|c| b.contains(c)).into()),
        ("lstrip", [Str(a), Str(b)]) => Str(a.trim_start_matches(|c| b.contains(c)).into()),
        ("rstrip", [Str(a), Str(b)]) => Str(a.trim_end_matches(|c| b.contains(c)).into()),
        ("replace", [Str(a), Str(from), Str(to), Int(most)]) if !from.is_empty() => {
            let most = usize::try_from(*most).unwrap_or(usize::MAX);
            let length = a.len() + a.matches(&**from).count().min(most) * to.len();
            (length <= MAX_LENGTH).then(|| Str(a.replacen(&**from, to, most).into()))?
        }
        ("startswith", [Str(a), Str(b), Int(start), Int(end)]) => {
            Bool(window(a, *start, *end)?.1.starts_with(b.as_bytes()))
        }
        ("endswith", [Str(a), Str(b), Int(start), Int(end)]) => {
            Bool(window(a, *start, *end)?.1.ends_with(b.as_bytes()))
        }
        ("find" | "rfind" | "index" | "rindex", [Str(a), Str(b), Int(start), Int(end)]) => {
            match find(name.starts_with('r'), a, b, *start, *end)? {
                Some(at) => Int(at as i64),
                None if name.ends_with("find") => Int(-1),
                None => return None,
            }
        }
        ("count", [Str(a), Str(b), Int(0), Int(-1)]) if !b.is_empty() => {
            Int(a.matches(&**b).count() as i64)
        }
        ("zfill", [Str(text), Int(width)]) => zero_filled(text, *width)?,
        ("expandtabs", [Str(text), Int(size)]) => expanded(text, *size)?,
        ("ljust", [Str(text), Int(width), Str(fill)]) => padded(text, *width, fill, |_, _| 0)?,
        ("rjust", [Str(text), Int(width), Str(fill)]) => padded(text, *width, fill, |by, _| by)?,
        // Where the padding is odd, one more is on the left when the width is odd.
        ("center", [Str(text), Int(width), Str(fill)]) => {
            padded(text, *width, fill, |by, width| by / 2 + (by & width & 1))?
        }
        _ => return None,
    })
}

/// The text with each character replaced; the function is given the one before, too.
fn each(text: &str, function: impl Fn(Option<char>, char) -> char) -> std::sync::Arc<str> {
    let mut before = None;
    let replaced: String = text.chars().map(|c| function(before.replace(c), c)).collect();
    replaced.into()
}

fn is_all(text: &str, holds: fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(holds)
}

fn is_cased(text: &str, some: fn(char) -> bool, none: fn(char) -> bool) -> bool {
    text.chars().any(some) && !text.chars().any(none)
}

fn is_title(text: &str) -> bool {
    let (mut letters, mut before) = (false, false);
    for c in text.chars() {
        let is_wrong = match before {
            true => c.is_ascii_uppercase(),
            false => c.is_ascii_lowercase(),
        };
        if is_wrong {
            return false;
        }
        before = c.is_ascii_alphabetic();
        letters |= before;
    }
    letters
}

/// The part of a text from a start to an end as PyTorch reads them, and where it begins; `None` where nothing is
/// known of such places.
fn window(text: &str, start: i64, end: i64) -> Option<(usize, &[u8])> {
    let length = text.len() as i64;
    let start = if start < 0 { (start + length).max(0) } else { start };
    // The default end, -1, is one past the last.
    let end = if end < 0 { (end + length + 1).max(0) } else { end.min(length) };
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    text.as_bytes().get(start..end).map(|window| (start, window))
}

fn find(last: bool, text: &str, part: &str, start: i64, end: i64) -> Option<Option<usize>> {
    if part.is_empty() {
        return None;
    }
    let (start, window) = window(text, start, end)?;
    let mut places = window.windows(part.len()).enumerate();
    let is_it = |&(_, found): &(usize, &[u8])| found == part.as_bytes();
    let at = if last { places.rev().find(is_it) } else { places.find(is_it) };
    Some(at.map(|(at, _)| start + at))
}

/// `text[start:end:step]`, as of a list.
fn slice(text: &str, start: &Constant, end: &Constant, step: i64) -> Option<Constant> {
    let length = text.len() as i64;
    if step == 0 {
        return None;
    }
    let place = |bound: &Constant, default: i64| match bound {
        Constant::None => Some(default),
        Int(at) => {
            let at = if *at < 0 { at.saturating_add(length) } else { *at };
            Some(if step > 0 { at.clamp(0, length) } else { at.clamp(-1, length - 1) })
        }
        _ => None,
    };
    let start = place(start, if step > 0 { 0 } else { length - 1 })?;
    let end = place(end, if step > 0 { length } else { -1 })?;
    let mut bytes = Vec::new();
    let mut at = start;
    while if step > 0 { at < end } else { at > end } {
        bytes.push(*text.as_bytes().get(usize::try_from(at).ok()?)?);
        at = at.checked_add(step)?;
    }
    super::text_of(&bytes)
}

/// How many characters there are to be, if that is not too many.
fn width_of(width: i64) -> Option<usize> {
    let width = usize::try_from(width).unwrap_or(0);
    (width <= MAX_LENGTH).then_some(width)
}

/// Unlike Python's, zeros stand before a sign as well.
fn zero_filled(text: &str, width: i64) -> Option<Constant> {
    let width = width_of(width)?;
    let zeros = "0".repeat(width.saturating_sub(text.len()));
    Some(Str(format!("{zeros}{text}").into()))
}

fn expanded(text: &str, size: i64) -> Option<Constant> {
    let size = width_of(size)?;
    let (mut column, mut out) = (0, String::new());
    for c in text.chars() {
        let (c, times) = match c {
            '\t' if size == 0 => (' ', 0),
            '\t' => (' ', size - column % size),
            c => (c, 1),
        };
        out.extend(std::iter::repeat_n(c, times));
        column = if matches!(c, '\n' | '\r') { 0 } else { column + times };
        if out.len() > MAX_LENGTH {
            return None;
        }
    }
    Some(Str(out.into()))
}

/// A text with so many of a character on its left, the rest on its right.
fn padded(text: &str, width: i64, fill: &str, left: fn(usize, usize) -> usize) -> Option<Constant> {
    if fill.len() != 1 {
        return None;
    }
    let width = width_of(width)?;
    let missing = width.saturating_sub(text.len());
    let left = left(missing, width);
    Some(Str(format!("{}{text}{}", fill.repeat(left), fill.repeat(missing - left)).into()))
}

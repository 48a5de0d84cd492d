//! Files that are text: JSON, web pages, pointers.

use super::{FileKind, Identity};

/// The start of a file that is looked at.
const HEAD: usize = 1 << 16;
/// The part of it that must be text.
const SAMPLE: usize = 4096;

/// What a text is, or `None` for what is no text.
pub(super) fn identify(bytes: &[u8]) -> Option<Identity> {
    if bytes.starts_with(b"\xff\xfe") && is_utf16(bytes) {
        return Some(Identity::new(FileKind::Text, "UTF-16"));
    }
    let head = &bytes[..bytes.len().min(HEAD)];
    let sample = &head[..head.len().min(SAMPLE)];
    if !is_text(sample, bytes.len() > SAMPLE) {
        return None;
    }
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let begins = |word: &str| {
        start.get(..word.len()).is_some_and(|text| text.eq_ignore_ascii_case(word.as_bytes()))
    };
    if begins("version https://git-lfs.") {
        return Some(Identity::new(FileKind::GitLfsPointer, lfs_size(start)));
    }
    if ["<!doctype html", "<html", "<head", "<body", "<script", "<title"]
        .iter()
        .any(|tag| begins(tag))
    {
        return Some(Identity::new(FileKind::Html, ""));
    }
    if begins("<?xml") {
        let is_html = find(start, b"<html").is_some();
        return Some(Identity::new(if is_html { FileKind::Html } else { FileKind::Xml }, ""));
    }
    if is_json(start) {
        return Some(match weight_map(start) {
            true => Identity::new(FileKind::ShardIndex, "JSON with a weight_map"),
            false => Identity::new(FileKind::Json, ""),
        });
    }
    let first = sample.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(&first[..first.len().min(60)]);
    Some(Identity::new(FileKind::Text, format!("begins '{}'", first.trim().escape_debug())))
}

/// Whether the bytes are UTF-8 without control characters; `cut` says that they may end within one.
fn is_text(bytes: &[u8], cut: bool) -> bool {
    let valid = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => cut && error.error_len().is_none(),
    };
    valid && !bytes.iter().any(is_control)
}

/// Whether the bytes are text that is mostly ASCII, and not UTF-8.
pub(super) fn is_in_old_encoding(bytes: &[u8]) -> bool {
    const SHORTEST: usize = 32;
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let ascii = sample.iter().filter(|byte| byte.is_ascii()).count();
    sample.len() >= SHORTEST && ascii * 4 > sample.len() * 3 && !sample.iter().any(is_control)
}

fn is_control(byte: &u8) -> bool {
    matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f)
}

fn is_utf16(bytes: &[u8]) -> bool {
    let head = &bytes[2..bytes.len().min(SAMPLE)];
    head.len() >= 2
        && head.chunks_exact(2).all(|pair| pair != [0, 0])
        && head.chunks_exact(2).filter(|pair| pair[1] == 0).count() * 4 > head.len()
}

fn is_json(start: &[u8]) -> bool {
    let Some((&open, rest)) = start.split_first() else { return false };
    match (open, rest.trim_ascii_start().first()) {
        (b'{', Some(b'"' | b'}')) => true,
        (b'[', Some(next)) => matches!(next, b'"' | b'{' | b'[' | b']' | b'-' | b'0'..=b'9'),
        _ => false,
    }
}

/// Whether the text has a key `weight_map` with an object, as the index of a Hugging Face checkpoint.
fn weight_map(json: &[u8]) -> bool {
    let key = b"\"weight_map\"";
    let Some(at) = find(json, key) else { return false };
    let rest = json[at + key.len()..].trim_ascii_start();
    rest.strip_prefix(b":").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{"))
}

fn lfs_size(text: &[u8]) -> String {
    let line = text.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"size "));
    match line.map(String::from_utf8_lossy) {
        Some(size) if size.trim().bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("for a file of {} bytes", size.trim())
        }
        _ => String::new(),
    }
}

pub(super) fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

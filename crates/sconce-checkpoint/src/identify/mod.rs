//! What a file is, told by its contents.
//!
//! Users bring web pages named `model.pt` and git pointers named `weights.pth`; whoever opens a file
//! should learn what it is and what to do about it. Each file here knows one family of formats
//! (`zip`, `tar`, `pickles`, `text`, `protobuf`, signatures in `magic`), `kind` says what there is to
//! say of each kind, and [`identify`] asks them in the order in which they can be sure.
//!
//! Architecture invariant: names of files are never looked at, and of a file of any size only a few
//! pages are read: its beginning, its end, and a zip file's directory.

mod kind;
mod magic;
mod pickles;
mod protobuf;
mod tar;
mod text;
mod torchsharp;
mod zip;

use std::fmt::Write;

use sconce_source::Source;

pub use kind::FileKind;

/// Longest header of a safetensors file that its reference reader takes, in bytes.
pub(crate) const MAX_SAFETENSORS_HEADER: u64 = 100_000_000;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The kind.
    pub kind: FileKind,
    /// More about this very file, such as `zip, 44 records`; may be empty.
    pub detail: String,
}

impl Identity {
    fn new(kind: FileKind, detail: impl Into<String>) -> Identity {
        Identity { kind, detail: detail.into() }
    }
}

/// Tells what a file is by its contents, whatever its name. Reads little and never fails.
///
/// ```
/// use sconce_checkpoint::{FileKind, identify};
/// use sconce_source::Source;
///
/// let source = Source::from_vec("model.pt", b"<!DOCTYPE html><title>Sign in</title>".to_vec());
/// let identity = identify(&source);
/// assert_eq!(identity.kind, FileKind::Html);
/// assert!(!identity.kind.opens());
/// assert!(identity.kind.advice().unwrap().ends_with("fetch it again"));
/// ```
///
/// A [store](Source::from_store) that cannot be read is of an unknown kind; [`try_identify`] gives the error.
pub fn identify(source: &Source) -> Identity {
    try_identify(source).unwrap_or_else(|error| {
        Identity::new(FileKind::Unknown, format!("it cannot be read: {error}"))
    })
}

/// [`identify`] of bytes that may be far away.
///
/// # Errors
/// When a store cannot be read.
pub fn try_identify(source: &Source) -> Result<Identity, sconce_source::Error> {
    if source.is_empty() {
        return Ok(Identity::new(FileKind::Empty, ""));
    }
    // What takes no longer than a part of it.
    if source.store().is_some_and(|store| source.len() <= store.read_ahead()) {
        source.bytes()?;
    }
    match source.in_memory() {
        Some(bytes) => {
            Ok(identify_bytes(source, &Looked { head: bytes, tail: bytes, len: bytes.len() }))
        }
        None => far(source),
    }
}

/// As much of a file in a store is looked at, from either end.
const HEAD: u64 = 1 << 16;

/// What is known of a file: of one in memory, both parts are all of it.
struct Looked<'a> {
    head: &'a [u8],
    tail: &'a [u8],
    len: usize,
}

/// Identifies a file in a store by its two ends, and what stands between where a tar file's headers say.
fn far(source: &Source) -> Result<Identity, sconce_source::Error> {
    let len = source.len();
    let none = || Vec::new().into();
    // The end first: a store may have it from finding out the length.
    let tail = source.slice(len.saturating_sub(HEAD)..len)?.unwrap_or_else(none);
    let head = source.slice(0..len.min(HEAD))?.unwrap_or_else(none);
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    Ok(identify_bytes(source, &Looked { head: &head, tail: &tail, len }))
}

fn identify_bytes(source: &Source, looked: &Looked<'_>) -> Identity {
    let &Looked { head, tail, len } = looked;
    if let Some(identity) = zip::identify(source, head) {
        return identity;
    }
    if let Some(identity) = safetensors(head, len) {
        return identity;
    }
    if let Some(kind) = magic::find(head, tail) {
        return Identity::new(kind, "");
    }
    // A tar file may begin with any text, and text may begin as a pickle does.
    if let Some(identity) = tar::identify(source, head) {
        return identity;
    }
    if let Some(identity) = pickles::identify(head, len) {
        return identity;
    }
    if let Some(kind) = protobuf::identify(head, len) {
        return Identity::new(kind, "");
    }
    if let Some(identity) = text::identify(head) {
        return identity;
    }
    if let Some(detail) = torchsharp::identify(head, len) {
        return Identity::new(FileKind::TorchSharp, detail);
    }
    if looks_zero(head) && looks_zero(tail) {
        return Identity::new(FileKind::Zeros, format!("{len} bytes"));
    }
    if let Some(identity) = source.in_memory().and_then(zip::behind_other_bytes) {
        return identity;
    }
    if magic::is_zlib(head) {
        return Identity::new(FileKind::Zlib, "");
    }
    if text::is_in_old_encoding(head) {
        return Identity::new(FileKind::Text, "not in UTF-8");
    }
    Identity::new(FileKind::Unknown, first_bytes(head))
}

/// Eight bytes of length, then that many bytes of JSON.
fn safetensors(bytes: &[u8], file_len: usize) -> Option<Identity> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = u64::from_le_bytes(*length);
    if !(2..=MAX_SAFETENSORS_HEADER).contains(&length) || rest.first() != Some(&b'{') {
        return None;
    }
    let inner = rest[1..].trim_ascii_start().first();
    if length > (file_len - 8) as u64 {
        let json = matches!(inner, Some(b'"'));
        return json.then(|| Identity::new(FileKind::Safetensors, "cut short within its header"));
    }
    matches!(inner, Some(b'"' | b'}'))
        .then(|| Identity::new(FileKind::Safetensors, format!("header of {length} bytes")))
}

/// Whether all bytes that are looked at are zero: the beginning, the end, and samples between.
fn looks_zero(bytes: &[u8]) -> bool {
    const EDGE: usize = 4096;
    const SAMPLES: usize = 16;
    let zero = |part: &[u8]| part.iter().all(|&byte| byte == 0);
    let edge = bytes.len().min(EDGE);
    zero(&bytes[..edge])
        && zero(&bytes[bytes.len() - edge..])
        && bytes.iter().step_by((bytes.len() / SAMPLES).max(1)).all(|&byte| byte == 0)
}

fn first_bytes(bytes: &[u8]) -> String {
    let mut text = String::from("begins");
    for byte in bytes.iter().take(16) {
        // Writing to a String cannot fail.
        let _ = write!(text, " {byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests;

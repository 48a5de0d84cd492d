//! Tar files, and which of them are checkpoints.

use std::borrow::Cow;

use sconce_source::Source;

use super::{FileKind, Identity};

const BLOCK: usize = 512;
/// Members that are looked at.
const MAX_MEMBERS: usize = 64;

pub(super) fn identify(source: &Source, head: &[u8]) -> Option<Identity> {
    let mut names = Vec::new();
    let mut at = 0usize;
    let far = source.in_memory().is_none();
    while names.len() < MAX_MEMBERS
        && let Some(block) = block(source, head, at)
        && let Some((name, size)) = header(&block)
    {
        // Of a file that is far away, no more is read than is needed.
        names.push(name);
        let is_there =
            |name: &str| names.iter().any(|other| other.trim_start_matches("./") == name);
        if far && ["storages", "tensors", "pickle"].into_iter().all(is_there) {
            break;
        }
        let blocks = size.div_ceil(BLOCK as u64).checked_mul(BLOCK as u64);
        let next = blocks.and_then(|size| (at as u64 + BLOCK as u64).checked_add(size));
        match next.and_then(|next| usize::try_from(next).ok()) {
            Some(next) => at = next,
            None => break,
        }
    }
    if names.is_empty() {
        return None;
    }
    let has = |name: &str| names.iter().any(|other| other.trim_start_matches("./") == name);
    if has("storages") && has("pickle") {
        let missing = if has("tensors") { "" } else { ", without its tensors" };
        return Some(Identity::new(FileKind::Tar, format!("tar, {} files{missing}", names.len())));
    }
    Some(Identity::new(
        FileKind::OtherTar,
        format!("its first file is {}", names[0].escape_debug()),
    ))
}

/// Name and size of the member that a block begins; `None` for what is no tar header.
/// The block at `at`, which may lie behind what was read.
fn block<'b>(source: &Source, head: &'b [u8], at: usize) -> Option<Cow<'b, [u8]>> {
    let end = at.checked_add(BLOCK)?;
    if let Some(block) = head.get(at..end) {
        return Some(Cow::Borrowed(block));
    }
    let block = source.slice(at as u64..end as u64).ok()??;
    Some(Cow::Owned(block.to_vec()))
}

fn header(block: &[u8]) -> Option<(String, u64)> {
    let sum: u64 = block
        .iter()
        .enumerate()
        .map(|(at, &byte)| u64::from(if (148..156).contains(&at) { b' ' } else { byte }))
        .sum();
    // A file of zeros has a sum, too; its field of the sum is empty.
    if block[0] == 0 || octal(&block[148..156]) != Some(sum) {
        return None;
    }
    let name = block[..100].split(|&byte| byte == 0).next().unwrap_or_default();
    let size = match block[124] {
        0x80 => block[128..136].try_into().ok().map(u64::from_be_bytes)?,
        _ => octal(&block[124..136])?,
    };
    Some((String::from_utf8_lossy(name).into_owned(), size))
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?.trim_matches([' ', '\0']);
    u64::from_str_radix(text, 8).ok()
}

//! Zip files, and what their records make of them. Only the directory at the end is read.

use sconce_archive::{Directory, ErrorKind};
use sconce_source::{Limits, Source};

use super::{FileKind, Identity};
use crate::error::beginning;

/// Bytes of a record's name that are shown.
const MAX_SHOWN: usize = 100;
const LOCAL: &[u8] = b"PK\x03\x04";
const CENTRAL: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
const END64: &[u8] = b"PK\x06\x06";
const LOCATOR: &[u8] = b"PK\x06\x07";
const END_LEN: usize = 22;
const END64_LEN: usize = 56;
const LOCATOR_LEN: usize = 20;
/// Bytes at the end of the file in which the end record is searched.
const END_SEARCH: usize = END_LEN + 0xffff;

/// Other formats that are zip files, by a record that they have.
static OTHERS: &[(&str, FileKind, &str)] = &[
    ("MAR-INF/MANIFEST.json", FileKind::TorchServe, ""),
    ("model.weights.h5", FileKind::Keras, ""),
    ("Data/com.apple.CoreML/model.mlmodel", FileKind::CoreMl, ""),
    ("AndroidManifest.xml", FileKind::OtherZip, "an Android package"),
    ("META-INF/MANIFEST.MF", FileKind::OtherZip, "a Java archive"),
    ("[Content_Types].xml", FileKind::OtherZip, "an Office document"),
    ("META-INF/container.xml", FileKind::OtherZip, "an EPUB book"),
    ("META-INF/manifest.xml", FileKind::OtherZip, "an OpenDocument file"),
];

/// Endings of names of files that sconce may open.
static CHECKPOINT_ENDINGS: [&str; 7] =
    [".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".npy", ".pkl"];

/// What a file is that begins as a zip file does.
pub(super) fn identify(source: &Source) -> Option<Identity> {
    let bytes = source.bytes();
    if !bytes.starts_with(LOCAL) && !bytes.starts_with(END) {
        return None;
    }
    let directory = match Directory::read(source.clone(), &Limits::default()) {
        Ok(directory) => directory,
        Err(error) if error.kind() == ErrorKind::Truncated => {
            return Some(Identity::new(FileKind::TruncatedZip, first_record(bytes)));
        }
        Err(error) => {
            if let Some(start) = archive_start(bytes).filter(|&start| start > 0) {
                let detail = format!("the archive begins at byte {start}, behind another");
                return Some(Identity::new(FileKind::PrefixedZip, detail));
            }
            let detail = format!("its directory cannot be read: {}", error.message());
            let torch = ["/data.pkl", "/version", "/constants.pkl", "/byteorder"];
            let first = first_name(bytes);
            let kind = match torch.iter().any(|ending| first.ends_with(ending.as_bytes())) {
                // Its reader will say what is wrong in PyTorch's words.
                true => FileKind::Zip,
                false => FileKind::OtherZip,
            };
            return Some(Identity::new(kind, detail));
        }
    };
    Some(by_records(&directory))
}

fn by_records(directory: &Directory) -> Identity {
    let entries = directory.entries();
    let count = match entries.len() {
        1 => "zip, 1 record".to_owned(),
        count => format!("zip, {count} records"),
    };
    let Some(first) = entries.first() else {
        return Identity::new(FileKind::OtherZip, "an empty zip file");
    };
    let encrypted = entries.iter().all(|entry| entry.flags() & 1 != 0);
    let first = directory.raw_name(first);
    let folder = &first[..first.iter().position(|&byte| byte == b'/').map_or(0, |at| at + 1)];
    let names = || entries.iter().map(|entry| directory.raw_name(entry));
    // PyTorch finds records whatever the case of ASCII letters.
    let in_folder = || names().filter_map(|name| name.strip_prefix(folder));
    let has = |record: &str| in_folder().any(|name| name.eq_ignore_ascii_case(record.as_bytes()));
    let has_in = |place: &str| in_folder().any(|name| name.starts_with(place.as_bytes()));
    let has_plain = |record: &str| names().any(|name| name == record.as_bytes());

    if encrypted {
        return Identity::new(FileKind::EncryptedZip, count);
    }
    if has("constants.pkl") && (has("data.pkl") || has_in("code/")) {
        let layout = if has("bytecode.pkl") { ", with mobile bytecode" } else { "" };
        return Identity::new(FileKind::TorchScript, format!("{count}{layout}"));
    }
    if has("model.json") && (has_in("code/") || has_in("tensors/")) {
        let detail = format!("{count}, in the layout of PyTorch 1.0 to 1.3");
        return Identity::new(FileKind::TorchScript, detail);
    }
    if has_plain("serialized_exported_program.json") || has("serialized_exported_program.json") {
        return Identity::new(FileKind::Pt2, format!("{count}, before 2.8"));
    }
    if has("archive_format") {
        return package(count, in_folder());
    }
    if has(".data/extern_modules") {
        return Identity::new(FileKind::TorchPackage, count);
    }
    if has("data.pkl") {
        return Identity::new(FileKind::Zip, count);
    }
    if names().all(|name| name.ends_with(b".npy")) {
        let count = count.replace("record", "array");
        return Identity::new(FileKind::Npz, count);
    }
    if let Some((_, kind, what)) = OTHERS.iter().find(|(record, _, _)| has_plain(record)) {
        return Identity::new(*kind, if what.is_empty() { count } else { (*what).to_owned() });
    }
    let inner = names()
        .find(|name| CHECKPOINT_ENDINGS.iter().any(|ending| name.ends_with(ending.as_bytes())));
    match inner {
        Some(name) => {
            Identity::new(FileKind::OtherZip, format!("{count}, one of them {}", shown(name)))
        }
        None => Identity::new(FileKind::OtherZip, format!("{count}, first {}", shown(first))),
    }
}

/// An archive as torch.export and AOTInductor write it, by what is in it.
fn package<'n>(count: String, names: impl Iterator<Item = &'n [u8]>) -> Identity {
    let (mut models, mut compiled, mut executorch) = (0, false, false);
    for name in names {
        let model = name.strip_prefix(b"models/").and_then(|name| name.strip_suffix(b".json"));
        models += usize::from(model.is_some_and(|name| !name.is_empty()));
        compiled |= name.starts_with(b"data/aotinductor/");
        executorch |= name.starts_with(b"data/executorch/");
    }
    let and_compiled = if compiled { ", with native code of AOTInductor" } else { "" };
    match (models, compiled, executorch) {
        (0, true, _) => Identity::new(FileKind::AotInductor, count),
        (0, false, true) => Identity::new(FileKind::ExecuTorch, format!("{count}, in a package")),
        (0, false, false) => Identity::new(FileKind::Pt2, format!("{count}, no program")),
        (1, ..) => Identity::new(FileKind::Pt2, format!("{count}{and_compiled}")),
        (n, ..) => Identity::new(FileKind::Pt2, format!("{count}, {n} models{and_compiled}")),
    }
}

/// Name in the first local header.
fn first_name(bytes: &[u8]) -> &[u8] {
    let len = bytes.get(26..28).map_or(0, |field| u16::from_le_bytes([field[0], field[1]]));
    bytes.get(30..30 + usize::from(len)).unwrap_or_default()
}

fn first_record(bytes: &[u8]) -> String {
    format!("its first record is {}", shown(first_name(bytes)))
}

/// As much of a record's name as fits a line; it can be of 64 KiB.
fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let shown = beginning(&name, MAX_SHOWN);
    let more = if shown.len() < name.len() { "…" } else { "" };
    format!("{}{more}", shown.escape_debug())
}

/// A zip archive that stands behind other bytes.
pub(super) fn behind_other_bytes(bytes: &[u8]) -> Option<Identity> {
    let start = archive_start(bytes)?;
    (start > 0).then(|| {
        Identity::new(FileKind::PrefixedZip, format!("the archive begins at byte {start}"))
    })
}

/// Where the archive begins that the file ends with, by the lengths in its end record; `None` where
/// there is none.
fn archive_start(bytes: &[u8]) -> Option<usize> {
    let tail = bytes.len().saturating_sub(END_SEARCH);
    let last = bytes.len().checked_sub(END_LEN)?;
    let end = (tail..=last).rev().find(|&at| bytes[at..].starts_with(END))?;
    let end64 = end.checked_sub(LOCATOR_LEN + END64_LEN).filter(|&at| {
        bytes[at..].starts_with(END64) && bytes[at + END64_LEN..].starts_with(LOCATOR)
    });
    let (directory_end, size, offset) = match end64 {
        Some(at) => (at, number(&bytes[at + 40..at + 48])?, number(&bytes[at + 48..at + 56])?),
        None => (end, number(&bytes[end + 12..end + 16])?, number(&bytes[end + 16..end + 20])?),
    };
    let directory = directory_end.checked_sub(size)?;
    if size > 0 && !bytes[directory..].starts_with(CENTRAL) {
        return None;
    }
    let start = directory.checked_sub(offset)?;
    bytes[start..].starts_with(LOCAL).then_some(start)
}

/// A little-endian number of up to eight bytes.
fn number(field: &[u8]) -> Option<usize> {
    let value = field.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    usize::try_from(value).ok()
}

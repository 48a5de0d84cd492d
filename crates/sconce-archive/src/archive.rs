//! The archive as PyTorch's reader sees it.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::OnceLock;

use hashbrown::{DefaultHashBuilder, HashTable};
use sconce_source::{Bytes, Limits, Source};

use crate::{Directory, Entry, Error, ErrorKind};

/// The oldest and newest versions that PyTorch 2.15 reads.
const VERSIONS: Range<u64> = 1..11;

/// The archive's format version and the record it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The number: 3 in everything `torch.save` writes, up to 10 in TorchScript archives.
    pub number: u64,
    /// `version` or `.data/version`.
    pub record: &'static str,
}

/// A zip file whose entries all lie in one folder, with records looked up by name as
/// `caffe2::serialize::PyTorchStreamReader` looks them up: the folder is that of the first entry,
/// an exact name wins, and otherwise ASCII case does not matter.
#[derive(Debug)]
pub struct Archive {
    directory: Directory,
    folder: Vec<u8>,
    hasher: DefaultHashBuilder,
    index: HashTable<u32>,
    /// The first record of each name whatever its case; made when a name is not found as it is.
    folded: OnceLock<HashTable<u32>>,
}

impl Archive {
    /// Reads the directory and applies the rules of PyTorch's reader, except the version's
    /// ([`Archive::version`]).
    ///
    /// # Errors
    /// As [`Directory::read`], and when the archive is empty, its records lie in several folders,
    /// or two records have the same name (PyTorch reads the first of them, most zip tools the last;
    /// a file that means different things to different readers is refused).
    pub fn open(source: Source, limits: &Limits) -> Result<Archive, Error> {
        Archive::from_directory(Directory::read(source, limits)?)
    }

    /// [`Archive::open`] for a directory already read.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn from_directory(directory: Directory) -> Result<Archive, Error> {
        let Some(first) = directory.entries().first() else {
            let message = "archive does not contain any files";
            return Err(Error::new(ErrorKind::Malformed, message));
        };
        let name = directory.raw_name(first);
        let Some(slash) = name.iter().position(|&byte| byte == b'/') else {
            let shown = directory.display_name(first).into_owned();
            let message = format!("file in archive is not in a subdirectory: {shown}");
            return Err(Error::new(ErrorKind::NotThisFormat, message).in_record(shown));
        };
        let folder = name[..slash].to_vec();
        let mut archive = Archive {
            index: HashTable::with_capacity(directory.entries().len()),
            folded: OnceLock::new(),
            hasher: DefaultHashBuilder::default(),
            folder,
            directory,
        };
        archive.build_index()?;
        archive.directory.check_layout()?;
        Ok(archive)
    }

    fn build_index(&mut self) -> Result<(), Error> {
        for entry in self.directory.entries() {
            let name = self.directory.raw_name(entry);
            if name.contains(&0) {
                return Err(Error::new(ErrorKind::Malformed, "a record's name holds a NUL byte")
                    .in_record(self.directory.display_name(entry))
                    .at(entry.header_offset()));
            }
            let Some(record) = record_name(name, &self.folder) else {
                let shown = self.directory.display_name(entry).into_owned();
                let folder = String::from_utf8_lossy(&self.folder).into_owned();
                let message =
                    format!("file in archive is not in a subdirectory {folder}/: {shown}");
                return Err(Error::new(ErrorKind::Malformed, message)
                    .in_record(shown)
                    .at(entry.header_offset()));
            };
            let hash = self.hasher.hash_one(record);
            let same = |&other: &u32| {
                self.directory.raw_name(&self.directory.entries()[other as usize]) == name
            };
            if let Some(&first) = self.index.find(hash, same) {
                let first = &self.directory.entries()[first as usize];
                return Err(Error::new(ErrorKind::Ambiguous, "two records have the same name")
                    .in_record(self.directory.display_name(entry))
                    .at(entry.header_offset())
                    .with_note(format!(
                        "the other is at {:#x}; PyTorch reads the first of them, other tools the \
                         last",
                        first.header_offset()
                    )));
            }
            let (directory, folder, hasher) = (&self.directory, &self.folder, &self.hasher);
            let rehash = |&index: &u32| {
                let name = directory.raw_name(&directory.entries()[index as usize]);
                hasher.hash_one(record_name(name, folder).unwrap_or(name))
            };
            self.index.insert_unique(hash, entry.index, rehash);
        }
        Ok(())
    }

    /// The directory underneath.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The file.
    pub fn source(&self) -> &Source {
        self.directory.source()
    }

    /// The folder that all records lie in, such as `archive`; may be empty.
    pub fn folder(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.folder)
    }

    /// All records, in the directory's order.
    pub fn records(&self) -> &[Entry] {
        self.directory.entries()
    }

    /// A record's name without the folder, such as `data/0`.
    pub fn record_name<'a>(&'a self, entry: &Entry) -> Cow<'a, str> {
        let name = self.directory.raw_name(entry);
        String::from_utf8_lossy(record_name(name, &self.folder).unwrap_or(name))
    }

    /// A record's name with the folder, for messages.
    pub fn display_name(&self, entry: &Entry) -> Cow<'_, str> {
        self.directory.display_name(entry)
    }

    /// The record called `name` (without the folder).
    pub fn find(&self, name: &str) -> Option<&Entry> {
        let name = name.as_bytes();
        let exact = |&index: &u32| self.name_at(index) == name;
        let found = self.index.find(self.hasher.hash_one(name), exact).or_else(|| {
            let same = |&index: &u32| self.name_at(index).eq_ignore_ascii_case(name);
            self.folded().find(hash_folded(&self.hasher, name), same)
        });
        found.map(|&index| &self.directory.entries()[index as usize])
    }

    /// The name of a record, without the folder.
    fn name_at(&self, index: u32) -> &[u8] {
        let full = self.directory.raw_name(&self.directory.entries()[index as usize]);
        record_name(full, &self.folder).unwrap_or(full)
    }

    /// Names that differ in case alone have one place here: a file could have any number of them.
    fn folded(&self) -> &HashTable<u32> {
        self.folded.get_or_init(|| {
            let mut folded = HashTable::with_capacity(self.records().len());
            for entry in self.directory.entries() {
                let name = self.name_at(entry.index);
                let same = |&other: &u32| self.name_at(other).eq_ignore_ascii_case(name);
                let rehash = |&other: &u32| hash_folded(&self.hasher, self.name_at(other));
                folded.entry(hash_folded(&self.hasher, name), same, rehash).or_insert(entry.index);
            }
            folded
        })
    }

    /// [`Archive::find`] for a caller that asks for records in the order they lie in: `hint` is the
    /// record expected, and moves past the one found.
    pub fn find_next(&self, hint: &mut usize, name: &str) -> Option<&Entry> {
        let expected = self.records().get(*hint).filter(|entry| {
            let full = self.directory.raw_name(entry);
            record_name(full, &self.folder) == Some(name.as_bytes())
        });
        let found = expected.or_else(|| self.find(name))?;
        *hint = found.index() + 1;
        Some(found)
    }

    /// Whether there is a record called `name` (without the folder).
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The bytes of the record called `name` (without the folder).
    ///
    /// # Errors
    /// When there is no such record, or as [`Directory::bytes`].
    pub fn read(&self, name: &str) -> Result<Bytes, Error> {
        match self.find(name) {
            Some(entry) => self.directory.bytes(entry),
            None => Err(not_found(name)),
        }
    }

    /// The record called `name` for a parser ([`Directory::bytes_to_parse`]), and the number of bytes that
    /// it takes in the file, by which [`Limits`] says what parsing it may cost.
    ///
    /// # Errors
    /// When there is no such record, or as [`Directory::bytes_to_parse`].
    pub fn read_to_parse(&self, name: &str) -> Result<(Bytes, u64), Error> {
        let entry = self.find(name).ok_or_else(|| not_found(name))?;
        Ok((self.directory.bytes_to_parse(entry)?, entry.compressed_size()))
    }

    /// The format version, from `.data/version` or `version`.
    ///
    /// # Errors
    /// With PyTorch's wording when there is none, it is not a number, or it is outside 1 to 10.
    pub fn version(&self) -> Result<Version, Error> {
        let record = [".data/version", "version"].into_iter().find(|name| self.contains(name));
        let Some(record) = record else {
            let message = "Expected hasRecord(\"version\") to be true, but got false.";
            return Err(Error::new(ErrorKind::Malformed, message).in_record("version"));
        };
        let (bytes, _) = self.read_to_parse(record)?;
        let text = String::from_utf8_lossy(&bytes);
        let Some(number) = leading_number(&text) else {
            let message = format!("Couldn't parse the version {} as Long Long.", text.trim_end());
            return Err(Error::new(ErrorKind::Malformed, message).in_record(record));
        };
        if number < VERSIONS.start {
            let message = format!(
                "Attempted to read a PyTorch file with version {number}, but the minimum supported \
                 version for reading is 1. Your PyTorch script module file is too old. Please \
                 regenerate it with latest version of PyTorch to mitigate this issue."
            );
            return Err(Error::new(ErrorKind::Malformed, message).in_record(record));
        }
        if number >= VERSIONS.end {
            let message = format!(
                "Attempted to read a PyTorch file with version {number}, but the maximum supported \
                 version for reading is 10. The version of your PyTorch installation may be too \
                 old, please upgrade PyTorch to latest version to mitigate this issue."
            );
            return Err(Error::new(ErrorKind::Unsupported, message).in_record(record));
        }
        Ok(Version { number, record })
    }
}

fn not_found(name: &str) -> Error {
    let message = format!("PytorchStreamReader failed locating file {name}: file not found");
    Error::new(ErrorKind::NotFound, message).in_record(name)
}

fn record_name<'a>(full: &'a [u8], folder: &[u8]) -> Option<&'a [u8]> {
    full.strip_prefix(folder)?.strip_prefix(b"/")
}

/// Hashes a name with ASCII case folded; seeded, so that a file cannot choose collisions.
fn hash_folded(hasher: &DefaultHashBuilder, name: &[u8]) -> u64 {
    let mut buffer = [0u8; 64];
    match buffer.get_mut(..name.len()) {
        Some(short) => {
            short.copy_from_slice(name);
            short.make_ascii_lowercase();
            hasher.hash_one(&*short)
        }
        None => hasher.hash_one(name.to_ascii_lowercase().as_slice()),
    }
}

/// `strtoull`: leading spaces and a sign are fine, what follows the digits is ignored, `-1` wraps.
fn leading_number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return None;
    }
    let number = digits[..end].parse::<u64>().unwrap_or(u64::MAX);
    Some(if negative { number.wrapping_neg() } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_parse_as_strtoull_does() {
        for (text, want) in [
            ("3\n", Some(3)),
            ("  10x", Some(10)),
            ("+7", Some(7)),
            ("-1", Some(u64::MAX)),
            ("abc", None),
            ("", None),
            ("99999999999999999999", Some(u64::MAX)),
        ] {
            assert_eq!(leading_number(text), want, "{text:?}");
        }
    }
}

//! Ranges of files that were read, on disk.
//!
//! One folder for each address, with what identifies the file in `about.json` and a file for each range, named by where
//! it begins and its checksum. Files appear whole or not at all; what does not fit is read anew.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sconce_source::AtomicFile;

use crate::hasher;
use crate::partial::Validators;
use crate::url::Url;

/// As much of one file is kept.
const MOST_OF_ONE: u64 = 256 << 20;
/// As much of all: beyond that, the files that were not opened for longest go.
const MOST_OF_ALL: u64 = 1 << 30;
const ABOUT: &str = "about.json";

/// What is kept of one file.
pub(super) struct RangeCache {
    root: PathBuf,
    folder: PathBuf,
    known: Option<Validators>,
    ranges: BTreeMap<u64, Range>,
    bytes: u64,
    /// Whether anything can be kept: not without something that identifies the file.
    on: bool,
}

struct Range {
    len: u64,
    crc: u32,
}

impl RangeCache {
    /// What is kept of the file at an address. `None` where the folder cannot be.
    pub(super) fn open(root: &Path, url: &Url) -> Option<RangeCache> {
        fs::create_dir_all(root).ok()?;
        let key = hasher::of(&address(url));
        let folder = root.join(&key[..32]);
        let mut cache = RangeCache {
            root: root.to_owned(),
            folder,
            known: None,
            ranges: BTreeMap::new(),
            bytes: 0,
            on: false,
        };
        let about = fs::read(cache.folder.join(ABOUT)).ok();
        let known: Option<Validators> = about.and_then(|text| serde_json::from_slice(&text).ok());
        cache.known = known.filter(|known| known.address == key && identifies(known));
        if cache.known.is_some() {
            cache.list();
            cache.on = true;
        }
        Some(cache)
    }

    /// The cache of another file.
    pub(super) fn of(&self, url: &Url) -> Option<RangeCache> {
        RangeCache::open(&self.root, url)
    }

    /// What identifies the file that ranges are kept of.
    pub(super) fn known(&self) -> Option<&Validators> {
        self.known.as_ref()
    }

    fn list(&mut self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let parsed = name.to_str().and_then(|name| {
                let (start, crc) = name.split_once('-')?;
                Some((u64::from_str_radix(start, 16).ok()?, u32::from_str_radix(crc, 16).ok()?))
            });
            let (Some((start, crc)), Ok(metadata)) = (parsed, entry.metadata()) else { continue };
            let len = metadata.len();
            self.bytes += len;
            let longer = self.ranges.get(&start).is_none_or(|known| known.len < len);
            if longer {
                self.ranges.insert(start, Range { len, crc });
            }
        }
    }

    /// Says what the file is now. What was kept of another one goes.
    pub(super) fn begin(&mut self, now: &Validators) {
        let same = self.known.as_ref().is_some_and(|known| known.agree(now));
        if !same {
            self.forget();
        }
        self.on = identifies(now);
        if !self.on {
            return;
        }
        self.known = Some(now.clone());
        self.make_room();
        let written = fs::create_dir_all(&self.folder).is_ok()
            && self.put(ABOUT, &serde_json::to_vec(now).unwrap_or_default());
        self.on = written;
    }

    /// Removes what is kept.
    pub(super) fn forget(&mut self) {
        // What says what the rest is goes first.
        let _ = fs::remove_file(self.folder.join(ABOUT));
        let _ = fs::remove_dir_all(&self.folder);
        self.ranges.clear();
        self.bytes = 0;
        self.known = None;
        self.on = false;
    }

    /// Fills a buffer, if all of it is kept.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let mut filled = 0;
        while filled < buffer.len() {
            let at = offset + filled as u64;
            let found = self
                .ranges
                .range(..=at)
                .rev()
                .take(64)
                .find(|(start, range)| at - **start < range.len);
            let Some((&start, range)) = found else { return false };
            let Ok(data) = fs::read(self.folder.join(name(start, range.crc))) else { return false };
            if data.len() as u64 != range.len || crc32fast::hash(&data) != range.crc {
                return false;
            }
            let part = &data[(at - start) as usize..];
            let len = part.len().min(buffer.len() - filled);
            buffer[filled..filled + len].copy_from_slice(&part[..len]);
            filled += len;
        }
        true
    }

    /// Keeps a range.
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        let len = data.len() as u64;
        if !self.on || data.is_empty() || self.bytes + len > MOST_OF_ONE {
            return;
        }
        let crc = crc32fast::hash(data);
        if self.put(&name(offset, crc), data) {
            self.bytes += len;
            if self.ranges.get(&offset).is_none_or(|known| known.len < len) {
                self.ranges.insert(offset, Range { len, crc });
            }
        }
    }

    fn put(&self, name: &str, data: &[u8]) -> bool {
        let write = || -> Result<(), sconce_source::Error> {
            let path = self.folder.join(name);
            let mut file = AtomicFile::replace(&path)?;
            file.write_all(data).map_err(|source| sconce_source::Error::Io { path, source })?;
            // A range that the disk loses does not fit its checksum.
            file.commit_new_unsynced()
        };
        write().is_ok()
    }

    /// Removes what was not opened for longest.
    fn make_room(&self) {
        let Ok(entries) = fs::read_dir(&self.root) else { return };
        let mut folders: Vec<(SystemTime, u64, PathBuf)> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| *path != self.folder)
            .map(|path| {
                let (opened, bytes) = size(&path);
                (opened, bytes, path)
            })
            .collect();
        folders.sort();
        let mut total: u64 = folders.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in folders {
            if total <= MOST_OF_ALL {
                break;
            }
            if fs::remove_dir_all(path).is_ok() {
                total -= bytes;
            }
        }
    }
}

/// When a folder was last opened, and how much is in it.
fn size(folder: &Path) -> (SystemTime, u64) {
    let about = fs::metadata(folder.join(ABOUT)).and_then(|about| about.modified());
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
    (about.unwrap_or(SystemTime::UNIX_EPOCH), bytes)
}

/// Whether bytes are the same where this is.
fn identifies(known: &Validators) -> bool {
    known.total.is_some() && known.if_range().is_some()
}

/// The address without what signs it, which changes.
pub(super) fn address(url: &Url) -> String {
    const SIGNS: [&str; 6] = ["signature=", "x-amz-", "sig=", "token=", "expires=", "key-pair-id="];
    let whole = url.request();
    let query = whole.split_once('?').map_or("", |(_, query)| query).to_ascii_lowercase();
    if SIGNS.iter().any(|sign| query.contains(sign)) { url.shown() } else { whole }
}

fn name(start: u64, crc: u32) -> String {
    format!("{start:x}-{crc:08x}")
}

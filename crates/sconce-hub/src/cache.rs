//! What lies in the hub's folder.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::hub::Hub;
use crate::{Error, fetch, partial};

/// What something in the hub's folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CacheKind {
    /// A repository.
    Repository,
    /// A downloaded file.
    Checkpoint,
    /// What a download that ended early left: this program goes on with it, PyTorch's are of no use.
    Partial,
    /// The list of trusted repositories.
    TrustedList,
    /// Something else.
    Other,
}

/// Something in the hub's folder.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CacheItem {
    /// What it is.
    pub kind: CacheKind,
    /// Where it lies.
    pub path: PathBuf,
    /// How many bytes it and what is in it take.
    pub bytes: u64,
    /// When it was last changed.
    pub modified: Option<SystemTime>,
    /// Whether a process is at it.
    pub busy: bool,
}

impl Hub {
    /// What lies in the hub's folder: repositories, files, what downloads left.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn cache(&self) -> Result<Vec<CacheItem>, Error> {
        let (dir, checkpoints) = (self.dir(), self.checkpoints());
        let mut items = Vec::new();
        for (path, metadata) in entries(&dir)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path == checkpoints && metadata.is_dir() {
                continue;
            }
            let working = name.starts_with(fetch::WORKING);
            let kind = match () {
                () if working => CacheKind::Partial,
                () if name == "trusted_list" => CacheKind::TrustedList,
                () if metadata.is_dir() => CacheKind::Repository,
                () if name.ends_with(".zip") || is_partial(name) => CacheKind::Partial,
                () => CacheKind::Other,
            };
            let busy = if working { !fetch::is_abandoned(&path) } else { is_locked(&path, kind) };
            items.push(item(kind, path, &metadata, busy));
        }
        for (path, metadata) in entries(&checkpoints)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let kind = match () {
                () if is_partial(name) => CacheKind::Partial,
                () if metadata.is_file() => CacheKind::Checkpoint,
                () => CacheKind::Other,
            };
            let busy = is_locked(&path, kind);
            items.push(item(kind, path, &metadata, busy));
        }
        items.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
        Ok(items)
    }

    /// Removes something from the hub's folder: one of [`Hub::cache`]. What a process is at stays, and so does the
    /// list of trusted repositories. Gives whether it was removed.
    ///
    /// # Errors
    /// When the system cannot remove it.
    pub fn remove(&self, item: &CacheItem) -> Result<bool, Error> {
        if item.busy || item.kind == CacheKind::TrustedList {
            return Ok(false);
        }
        let folder = fs::symlink_metadata(&item.path).is_ok_and(|metadata| metadata.is_dir());
        let removed =
            if folder { fs::remove_dir_all(&item.path) } else { fs::remove_file(&item.path) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io(&item.path, &error))
            }
            _ => Ok(true),
        }
    }
}

/// What is in a folder; nothing where there is none. Links are not followed.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, Metadata)>, Error> {
    let found = match fs::read_dir(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(folder, &error)),
    };
    let with_metadata = |entry: fs::DirEntry| {
        let metadata = entry.metadata().ok()?;
        Some((entry.path(), metadata))
    };
    Ok(found.flatten().filter_map(with_metadata).collect())
}

fn item(kind: CacheKind, path: PathBuf, metadata: &Metadata, busy: bool) -> CacheItem {
    let bytes = if metadata.is_dir() { size(&path) } else { metadata.len() };
    CacheItem { kind, bytes, modified: metadata.modified().ok(), path, busy }
}

/// The bytes of the files below a folder.
fn size(folder: &Path) -> u64 {
    let (mut total, mut folders) = (0u64, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for (path, metadata) in entries(&folder).unwrap_or_default() {
            match metadata.is_dir() {
                true => folders.push(path),
                false => total = total.saturating_add(metadata.len()),
            }
        }
    }
    total
}

/// Whether a file is what a download left: this program's, or PyTorch's with 32 hexadecimal digits.
fn is_partial(name: &str) -> bool {
    let pytorchs = || {
        let digits = name.strip_suffix(".partial").and_then(|name| name.rsplit_once('.'));
        digits.is_some_and(|(_, digits)| {
            digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    name.ends_with(partial::ENDING) || name.ends_with(partial::NOTE_ENDING) || pytorchs()
}

/// Whether a download of this program goes on. What PyTorch is at cannot be seen.
fn is_locked(path: &Path, kind: CacheKind) -> bool {
    if kind != CacheKind::Partial {
        return false;
    }
    let text = path.to_string_lossy();
    let file = text.strip_suffix(".json").map_or(path.to_owned(), PathBuf::from);
    let locked =
        File::open(file).map(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)));
    locked.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_downloads_leave() {
        assert!(is_partial("m.pth.0123456789abcdef0123456789abcdef.partial"));
        assert!(is_partial("m.pth.sconce-partial") && is_partial("m.pth.sconce-partial.json"));
        assert!(!is_partial("m.pth") && !is_partial("m.partial") && !is_partial("m.0123.partial"));
    }
}

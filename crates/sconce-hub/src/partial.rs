//! A file that is being downloaded: under a stable name, locked, with what is known of it beside it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sconce_source::AtomicFile;
use serde::{Deserialize, Serialize};

use crate::Error;

/// What the partial file of `model.pth` is called: `model.pth` and this.
pub(crate) const ENDING: &str = ".sconce-partial";
/// What stands beside it.
pub(crate) const NOTE_ENDING: &str = ".sconce-partial.json";
/// No note is longer.
const LONGEST_NOTE: u64 = 64 << 10;

/// What tells whether the rest of a file that a server offers belongs to its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Validators {
    /// Hash of the address: passwords and signatures are not written down.
    pub(crate) address: String,
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
    pub(crate) total: Option<u64>,
}

impl Validators {
    /// What is sent as `If-Range`; `None` where nothing proves that bytes are the same.
    pub(crate) fn if_range(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|etag| !etag.starts_with("W/"));
        strong.or_else(|| self.modified.as_deref().filter(|_| self.total.is_some()))
    }

    /// Whether an answer is of the same file.
    pub(crate) fn agree(&self, other: &Validators) -> bool {
        let strong = |etag: &Option<String>| etag.clone().filter(|etag| !etag.starts_with("W/"));
        if self.total.is_some() && other.total.is_some() && self.total != other.total {
            return false;
        }
        match (strong(&self.etag), strong(&other.etag)) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => {
                self.modified.is_some()
                    && self.modified == other.modified
                    && self.total.is_some()
                    && self.total == other.total
            }
        }
    }
}

/// The file, open and locked.
#[derive(Debug)]
pub(crate) struct Partial {
    file: File,
    path: PathBuf,
    note: PathBuf,
    pub(crate) len: u64,
    pub(crate) known: Option<Validators>,
}

impl Partial {
    /// Opens the partial file of `target`, or makes one. Where another process is at it, `waiting` is called once
    /// and the other is waited for.
    pub(crate) fn open(target: &Path, waiting: impl FnOnce()) -> Result<Partial, Error> {
        let path = with_ending(target, ENDING);
        let note = with_ending(target, NOTE_ENDING);
        let fail = |error: io::Error| Error::io(&path, &error);
        let mut waiting = Some(waiting);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            no_links(&mut options);
            let file = options.open(&path).map_err(fail)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(fs::TryLockError::WouldBlock) => {
                    if let Some(waiting) = waiting.take() {
                        waiting();
                    }
                    file.lock().map_err(fail)?;
                }
                // A file system without locks.
                Err(fs::TryLockError::Error(error))
                    if error.kind() == io::ErrorKind::Unsupported => {}
                Err(fs::TryLockError::Error(error)) => return Err(fail(error)),
            }
            // The other may have finished it, and given it its name.
            if !is_at(&file, &path) {
                continue;
            }
            let len = file.metadata().map_err(fail)?.len();
            let known = read_note(&note).filter(|_| len > 0);
            return Ok(Partial { file, path, note, len, known });
        }
    }

    /// Begins anew, with a file of which this is known.
    pub(crate) fn restart(&mut self, known: Validators) -> Result<(), Error> {
        self.truncate()?;
        let text = serde_json::to_vec(&known).unwrap_or_default();
        let write = || -> Result<(), sconce_source::Error> {
            let mut file = AtomicFile::replace(&self.note)?;
            file.write_all(&text)
                .map_err(|source| sconce_source::Error::Io { path: self.note.clone(), source })?;
            file.commit_new_unsynced()
        };
        write().map_err(|error| Error::new(crate::ErrorKind::Io, error.to_string()))?;
        self.known = Some(known);
        Ok(())
    }

    /// Forgets what was there.
    pub(crate) fn truncate(&mut self) -> Result<(), Error> {
        self.file.set_len(0).map_err(|error| Error::io(&self.path, &error))?;
        self.file.seek(SeekFrom::Start(0)).map_err(|error| Error::io(&self.path, &error))?;
        self.len = 0;
        self.known = None;
        Ok(())
    }

    /// Hands on what is there already.
    pub(crate) fn replay(&mut self, mut take: impl FnMut(&[u8])) -> Result<(), Error> {
        let fail = |error: io::Error| Error::io(&self.path, &error);
        self.file.seek(SeekFrom::Start(0)).map_err(fail)?;
        let mut buffer = vec![0; 1 << 20];
        let mut left = self.len;
        while left > 0 {
            let want = buffer.len().min(left as usize);
            let read = self.file.read(&mut buffer[..want]).map_err(fail)?;
            if read == 0 {
                return Err(fail(io::ErrorKind::UnexpectedEof.into()));
            }
            take(&buffer[..read]);
            left -= read as u64;
        }
        self.file.seek(SeekFrom::Start(self.len)).map_err(fail)?;
        Ok(())
    }

    /// Writes what came.
    pub(crate) fn push(&mut self, data: &[u8]) -> Result<(), Error> {
        self.file.write_all(data).map_err(|error| Error::io(&self.path, &error))?;
        self.len += data.len() as u64;
        Ok(())
    }

    /// Continues behind what is there.
    pub(crate) fn seek_end(&mut self) -> Result<(), Error> {
        let sought = self.file.seek(SeekFrom::Start(self.len));
        sought.map(drop).map_err(|error| Error::io(&self.path, &error))
    }

    /// Gives the file its name, once all of it is on the disk.
    pub(crate) fn finish(self, target: &Path) -> Result<(), Error> {
        self.file.sync_all().map_err(|error| Error::io(&self.path, &error))?;
        fs::rename(&self.path, target).map_err(|error| Error::io(target, &error))?;
        // Without its file it says nothing.
        let _ = fs::remove_file(&self.note);
        Ok(())
    }

    /// Removes what should not be there.
    pub(crate) fn discard(self) {
        let _ = fs::remove_file(&self.note);
        let _ = fs::remove_file(&self.path);
    }
}

/// A name with something behind it.
pub(crate) fn with_ending(target: &Path, ending: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn read_note(path: &Path) -> Option<Validators> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(LONGEST_NOTE).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// A link that somebody put in the place of the file leads elsewhere.
#[cfg(unix)]
fn no_links(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW.bits();
    options.custom_flags(flags as i32);
}

#[cfg(not(unix))]
fn no_links(_: &mut OpenOptions) {}

/// Whether a file still has its name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

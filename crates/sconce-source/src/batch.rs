//! Many files that are written to one disk.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::PathBuf;

use crate::atomic::{folder_of, sync_folder};
use crate::{AtomicFile, Error};

/// How many files wait to replace others: each is open until then.
const WAITING: usize = 512;

/// Many [`AtomicFile`]s that are waited for together: a disk takes as long to say that one file of a few
/// bytes is on it as it takes for a thousand.
///
/// New files have their names at once, since there is nothing to lose; those that replace others get
/// theirs when they are on the disk. After [`Batch::finish`], all are. Where a run ends before that, every
/// file under a name of an old one is whole, the old or the new.
#[derive(Debug, Default)]
pub struct Batch {
    waiting: Vec<AtomicFile>,
    folders: BTreeSet<PathBuf>,
    /// Something that lies on the disk, new and not known to be on it.
    unsynced: Option<PathBuf>,
}

impl Batch {
    /// A batch without files.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Takes a file that is written to its end.
    ///
    /// # Errors
    /// As [`AtomicFile::commit`], also where another file of the batch is at fault.
    pub fn commit(&mut self, file: AtomicFile) -> Result<(), Error> {
        let folder = folder_of(file.path());
        if !self.folders.contains(folder) {
            self.folders.insert(folder.to_owned());
        }
        if !file.replaces() {
            if cfg!(not(target_os = "linux")) {
                return file.commit();
            }
            self.unsynced.get_or_insert_with(|| folder_of(file.path()).to_owned());
            return file.publish_unsynced();
        }
        self.waiting.push(file);
        if self.waiting.len() < WAITING { Ok(()) } else { self.replace() }
    }

    /// Waits until all files are on the disk, under their names.
    ///
    /// # Errors
    /// When the system cannot write them.
    pub fn finish(mut self) -> Result<(), Error> {
        self.replace()?;
        if let Some(folder) = &self.unsynced {
            let synced = File::open(folder).and_then(|disk| sync_disk(&disk));
            synced.map_err(|source| Error::Io { path: folder.clone(), source })?;
        }
        for folder in &self.folders {
            sync_folder(folder).map_err(|source| Error::Io { path: folder.clone(), source })?;
        }
        Ok(())
    }

    fn replace(&mut self) -> Result<(), Error> {
        let waiting = std::mem::take(&mut self.waiting);
        match &waiting[..] {
            [] => return Ok(()),
            few if few.len() < 4 || cfg!(not(target_os = "linux")) => {
                for file in few {
                    let synced = file.file().sync_all();
                    synced.map_err(|source| Error::Io { path: file.path().to_owned(), source })?;
                }
            }
            [first, ..] => {
                let path = || first.path().to_owned();
                sync_disk(first.file()).map_err(|source| Error::Io { path: path(), source })?;
            }
        }
        waiting.into_iter().try_for_each(AtomicFile::publish_unsynced)
    }
}

/// Waits until the disk that a file or folder is on has all that was written to it.
#[cfg(target_os = "linux")]
fn sync_disk(on: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(on)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_disk(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn new_files_and_replaced_ones() {
        let folder = std::env::temp_dir().join(format!("sconce-batch-{}", std::process::id()));
        fs::create_dir_all(folder.join("sub")).unwrap();
        let count = WAITING + 3;
        for round in 0..2u8 {
            let mut batch = Batch::new();
            for at in 0..count {
                let path = folder.join(if at % 2 == 0 { "sub" } else { "" }).join(at.to_string());
                let mut file = match round {
                    0 => AtomicFile::create(&path),
                    _ => AtomicFile::replace(&path),
                }
                .unwrap();
                file.write_all(&[round]).unwrap();
                batch.commit(file).unwrap();
                let last = at + 1 == count;
                let there = fs::read(&path).unwrap();
                assert!(round == 0 || !last || there == [0], "it waits for its turn");
            }
            batch.finish().unwrap();
            for at in 0..count {
                let path = folder.join(if at % 2 == 0 { "sub" } else { "" }).join(at.to_string());
                assert_eq!(fs::read(path).unwrap(), [round]);
            }
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), count / 2 + 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}

//! Files that are there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

use crate::error::Failure;
use crate::interrupt::{self, Guard};

/// A file being written under another name in the same folder. It takes its own name when it is
/// complete and on the disk; until then, errors and interrupts leave nothing behind.
pub struct AtomicFile {
    out: BufWriter<File>,
    target: PathBuf,
    temporary: Option<(PathBuf, Guard)>,
    force: bool,
}

impl AtomicFile {
    /// Starts a file at `path`, which may exist only with `force`. Devices are written to directly.
    pub fn create(path: &Path, force: bool) -> Result<AtomicFile, Failure> {
        let fail = |error: io::Error| cannot_write(path, &error);
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(Failure::unreadable("cannot write: this is a directory")
                .in_file(path.to_string_lossy()));
        }
        if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
            let file = OpenOptions::new().write(true).open(path).map_err(fail)?;
            let out = BufWriter::with_capacity(1 << 20, file);
            return Ok(AtomicFile { out, target: path.to_owned(), temporary: None, force });
        }
        if existing.is_some() && !force {
            return Err(exists(path));
        }
        // What a link points to is replaced, not the link.
        let target = match existing {
            Some(_) => fs::canonicalize(path).map_err(fail)?,
            None => path.to_owned(),
        };
        let name = target.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name
            .ok_or_else(|| Failure::usage("this names no file").in_file(path.to_string_lossy()))?;
        for attempt in 0..100 {
            let temporary =
                target.with_file_name(format!(".{name}.{}-{attempt}.part", process::id()));
            let guard = interrupt::forget_on_finish(&temporary);
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) => {
                    let out = BufWriter::with_capacity(1 << 20, file);
                    let temporary = Some((temporary, guard));
                    return Ok(AtomicFile { out, target, temporary, force });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fail(error)),
            }
        }
        Err(Failure::unreadable("cannot make a temporary file").in_file(path.to_string_lossy()))
    }

    /// Where what was written so far can be read; `None` when it went to a device.
    pub fn written(&mut self) -> Result<Option<&Path>, Failure> {
        self.out.flush().map_err(|error| cannot_write(&self.target, &error))?;
        Ok(self.temporary.as_ref().map(|(path, _)| path.as_path()))
    }

    /// Puts the file on the disk and under its name.
    pub fn commit(mut self) -> Result<(), Failure> {
        let target = self.target.clone();
        self.finish().map_err(|error| {
            let taken = error.kind() == io::ErrorKind::AlreadyExists;
            if taken { exists(&target) } else { cannot_write(&target, &error) }
        })
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let Some((temporary, _)) = &self.temporary else { return Ok(()) };
        self.out.get_ref().sync_all()?;
        if self.force {
            fs::rename(temporary, &self.target)?;
        } else {
            // A link fails where a rename would replace a file that has appeared since.
            match fs::hard_link(temporary, &self.target) {
                Ok(()) => fs::remove_file(temporary)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => fs::rename(temporary, &self.target)?,
            }
        }
        self.temporary = None;
        sync_folder(&self.target);
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.temporary {
            // Nothing more can be done about a file that will not go away.
            drop(fs::remove_file(temporary));
        }
    }
}

/// Makes the new name durable too, where the system can.
fn sync_folder(target: &Path) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        drop(folder.sync_all());
    }
}

fn exists(path: &Path) -> Failure {
    Failure::usage("the file exists").in_file(path.to_string_lossy()).help("-f overwrites it")
}

/// The failure for an error of writing to `path`.
pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(format!("cannot write: {error}")).in_file(path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bin");
        let mut file = AtomicFile::create(&path, false).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(names(folder.path()), Vec::<String>::new());
        let mut file = AtomicFile::create(&path, false).unwrap();
        file.write_all(b"whole").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["out.bin"]);
    }

    #[test]
    fn nothing_is_overwritten_without_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bin");
        let late = AtomicFile::create(&path, false).unwrap();
        fs::write(&path, b"first").unwrap();
        assert_eq!(AtomicFile::create(&path, false).err().unwrap().code(), 3);
        assert_eq!(late.commit().unwrap_err().code(), 3);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        let mut file = AtomicFile::create(&path, true).unwrap();
        file.write_all(b"second").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(names(folder.path()), ["out.bin"]);
    }
}

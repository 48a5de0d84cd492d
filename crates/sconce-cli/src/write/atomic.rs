//! Files that verbs write: there whole or not at all, also when the user interrupts.

use std::collections::BTreeSet;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sconce::source;

use crate::error::Failure;
use crate::process::interrupt::{self, Guard};

/// A file being written. It takes its name when it is complete and on the disk; until then, errors
/// and interrupts leave nothing behind.
pub struct AtomicFile {
    out: BufWriter<Out>,
    target: PathBuf,
    /// The first error of writing, whatever those in between made of it.
    failed: Option<Failure>,
    /// While it lives, an interrupt removes what was written.
    _guard: Option<Guard>,
}

enum Out {
    /// A terminal, `/dev/null` and the like are written to directly.
    Device(File),
    File(source::AtomicFile),
}

impl AtomicFile {
    /// Starts a file at `path`, which may exist only with `force`.
    pub fn create(path: &Path, force: bool) -> Result<AtomicFile, Failure> {
        let kind = fs::metadata(path).ok().map(|existing| existing.file_type());
        if kind.is_some_and(|kind| kind.is_dir()) {
            return Err(Failure::unreadable("cannot write: this is a directory")
                .in_file(path.to_string_lossy()));
        }
        let out = if let Some(kind) = kind.filter(|kind| !kind.is_file()) {
            Out::Device(open_special(path, kind)?)
        } else {
            if path.file_name().is_none() {
                return Err(Failure::usage("this names no file").in_file(path.to_string_lossy()));
            }
            remove_stale(path);
            let file = match force {
                true => source::AtomicFile::replace(path),
                false => source::AtomicFile::create(path),
            };
            Out::File(file.map_err(|error| refused(path, &error))?)
        };
        let guard = match &out {
            Out::File(file) => file.temporary_path().map(interrupt::forget_on_finish),
            Out::Device(_) => None,
        };
        let out = BufWriter::with_capacity(1 << 20, out);
        Ok(AtomicFile { out, target: path.to_owned(), failed: None, _guard: guard })
    }

    /// Where what was written so far can be read; `None` when it went to a device.
    pub fn written(&mut self) -> Result<Option<&Path>, Failure> {
        self.out.flush().map_err(|error| cannot_write(&self.target, &error))?;
        Ok(match self.out.get_ref() {
            Out::File(file) => file.temporary_path(),
            Out::Device(_) => None,
        })
    }

    /// The name that the file is to have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Why writing failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failed.clone()
    }

    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.failed.get_or_insert_with(|| cannot_write(&self.target, error));
        }
        result
    }

    /// [`AtomicFile::commit`] together with others.
    pub fn commit_in(self, batch: &mut source::Batch) -> Result<(), Failure> {
        let AtomicFile { out, target, _guard, .. } = self;
        match out.into_inner().map_err(|error| cannot_write(&target, error.error()))? {
            Out::Device(_) => Ok(()),
            Out::File(file) => batch.commit(file).map_err(|error| refused(&target, &error)),
        }
    }

    /// Puts the file on the disk and under its name.
    pub fn commit(self) -> Result<(), Failure> {
        let AtomicFile { out, target, _guard, .. } = self;
        match out.into_inner().map_err(|error| cannot_write(&target, error.error()))? {
            Out::Device(_) => Ok(()),
            Out::File(file) => file.commit().map_err(|error| refused(&target, &error)),
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.noted(written)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.out.write_all(bytes);
        self.noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.noted(flushed)
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Device(file) => file.write(bytes),
            Out::File(file) => file.write(bytes),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Out::Device(file) => file.write_all(bytes),
            Out::File(file) => file.write_all(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Device(file) => file.flush(),
            Out::File(file) => file.flush(),
        }
    }
}

/// Folders that were looked through.
static TIDIED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes what runs that were killed left where `path` is to be, once for each folder.
fn remove_stale(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if let Ok(mut tidied) = TIDIED.lock()
        && !tidied.contains(folder)
    {
        tidied.insert(folder.to_owned());
        source::remove_stale(folder);
    }
}

/// Opens a device, or a named pipe that somebody reads: opening one would wait for that otherwise.
#[cfg(unix)]
fn open_special(path: &Path, kind: FileType) -> Result<File, Failure> {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    let file = || path.to_string_lossy();
    if kind.is_socket() {
        return Err(Failure::unreadable("cannot write: this is a socket").in_file(file()));
    }
    let mut options = OpenOptions::new();
    options.write(true);
    if !kind.is_fifo() {
        return options.open(path).map_err(|error| cannot_write(path, &error));
    }
    // Held until the pipe is open for good: its reader would take the end of this one for the end of all.
    let _asked = match options.custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(asked) => asked,
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
            return Err(Failure::unreadable("cannot write: nobody reads this named pipe")
                .in_file(file())
                .help("start what reads it first, or write to a file"));
        }
        Err(error) => return Err(cannot_write(path, &error)),
    };
    // Opened again without the flag, which would make writing fail whenever the pipe is full.
    options.custom_flags(0).open(path).map_err(|error| cannot_write(path, &error))
}

#[cfg(not(unix))]
fn open_special(path: &Path, _: FileType) -> Result<File, Failure> {
    let file = OpenOptions::new().write(true).open(path);
    file.map_err(|error| cannot_write(path, &error))
}

/// The failure for an error of putting files under their names.
pub fn refused(path: &Path, error: &source::Error) -> Failure {
    match error {
        source::Error::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
            Failure::usage("the file exists")
                .in_file(path.to_string_lossy())
                .help("-f overwrites it")
        }
        source::Error::Io { source, .. } => cannot_write(path, source),
        other => Failure::unreadable(other.to_string()),
    }
}

/// The failure for an error of writing to `path`, with what to do about it.
pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    use io::ErrorKind as Kind;
    let failure =
        Failure::unreadable(format!("cannot write: {error}")).in_file(path.to_string_lossy());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).to_string_lossy();
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded => {
            failure.help("make room on that disk or write to another one")
        }
        Kind::FileTooLarge => failure.help(
            "the file system, or a limit on the size of files (ulimit -f), allows no file as large",
        ),
        Kind::NotFound => failure.help(format!("mkdir -p {folder}   makes the folder")),
        Kind::NotADirectory => failure.help("a part of the path is a file: name a folder"),
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            failure.help(format!("you may not write to {folder}: choose another folder"))
        }
        _ => failure,
    }
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

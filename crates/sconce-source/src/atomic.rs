//! Files that appear whole or not at all.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::{Error, source};

/// How often another name is tried when one is taken.
const ATTEMPTS: usize = 16;

/// Shorter files are written as they come.
const WORTH_ROOM: u64 = 1 << 20;

/// A file that is written under a temporary name in the same folder and takes its own name only
/// in [`commit`](AtomicFile::commit), when every byte is on the disk. After a crash, a full disk or
/// an error, what stood under the name stands there still; dropping it removes the temporary file.
///
/// ```
/// use std::io::Write;
/// use sconce_source::AtomicFile;
///
/// let folder = std::env::temp_dir().join(format!("atomic-{}", std::process::id()));
/// std::fs::create_dir(&folder)?;
/// let path = folder.join("weights.pt");
///
/// let mut file = AtomicFile::create(&path)?;
/// file.write_all(b"first")?;
/// file.commit()?;
///
/// assert!(AtomicFile::create(&path).is_err(), "it is there already");
/// let mut file = AtomicFile::replace(&path)?;
/// file.write_all(b"second, but never")?;
/// drop(file);
/// assert_eq!(std::fs::read(&path)?, b"first");
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    /// `None` once it has its final name.
    temporary: Option<PathBuf>,
    target: PathBuf,
    replace: bool,
    /// A file stood there when this one was begun.
    replaces: bool,
}

impl AtomicFile {
    /// A file that must not be there yet.
    ///
    /// # Errors
    /// When it is there (an [`Error::Io`] with [`io::ErrorKind::AlreadyExists`]), or its folder is
    /// not or cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> Result<AtomicFile, Error> {
        AtomicFile::begin(path.as_ref(), false)
    }

    /// A file that takes the place of what is there, with its permissions, and where the system
    /// lets it, its owner. What a symbolic link points to is replaced, not the link. Needs the
    /// right to write to the folder, not to the file.
    ///
    /// # Errors
    /// When what is there is no file, or the folder cannot be written to.
    pub fn replace(path: impl AsRef<Path>) -> Result<AtomicFile, Error> {
        AtomicFile::begin(path.as_ref(), true)
    }

    fn begin(path: &Path, replace: bool) -> Result<AtomicFile, Error> {
        let fail = |source: io::Error| Error::Io { path: path.to_owned(), source };
        let old = match fs::symlink_metadata(path) {
            Ok(old) => Some(old),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(fail(error)),
        };
        if old.is_some() && !replace {
            return Err(fail(exists()));
        }
        let (target, old) = match old {
            Some(link) if link.file_type().is_symlink() => {
                let target = fs::canonicalize(path).map_err(fail)?;
                let old = fs::metadata(&target).map_err(fail)?;
                (target, Some(old))
            }
            old => (path.to_owned(), old),
        };
        if let Some(old) = &old
            && !old.is_file()
        {
            let what = source::describe(old.file_type());
            return Err(Error::NotAFile { path: path.to_owned(), what });
        }
        if target.file_name().is_none() {
            return Err(Error::NotAFile { path: path.to_owned(), what: "directory" });
        }
        let folder = folder_of(&target);
        if !folder.exists() {
            let message = format!("Parent directory {} does not exist.", folder.display());
            return Err(fail(io::Error::new(io::ErrorKind::NotFound, message)));
        }
        let (file, temporary) = open_temporary(folder, old.is_some()).map_err(fail)?;
        let replaces = old.is_some();
        let made = AtomicFile { file, temporary: Some(temporary), target, replace, replaces };
        if let Some(old) = old {
            keep_owner(&made.file, &old);
            made.file.set_permissions(old.permissions()).map_err(fail)?;
        }
        Ok(made)
    }

    /// The name that the file will have.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Where the bytes are until the file has its name.
    pub fn temporary_path(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// Tells the system that at least so many bytes are to come. Where it makes room for them at once, as on
    /// Linux, writing takes two thirds of the time; where it cannot, nothing changes.
    pub fn expect_len(&self, bytes: u64) {
        if bytes >= WORTH_ROOM {
            make_room(&self.file, bytes);
        }
    }

    /// Whether a file stood there when this one was begun.
    pub fn replaces(&self) -> bool {
        self.replaces
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name, whether or not its bytes are on the disk.
    pub(crate) fn publish_unsynced(self) -> Result<(), Error> {
        self.finish(false)
    }

    /// Waits until every byte is on the disk, then gives the file its name in one step.
    ///
    /// # Errors
    /// When the system cannot write the bytes or rename the file, or, for
    /// [`AtomicFile::create`], when another file took the name meanwhile.
    pub fn commit(self) -> Result<(), Error> {
        self.finish(true)
    }

    /// Gives a new file its name and leaves it to the system when its bytes come to the disk. A file
    /// that takes another's place is on the disk before that, as with [`commit`](AtomicFile::commit):
    /// there is something to lose.
    ///
    /// # Errors
    /// As [`AtomicFile::commit`].
    pub fn commit_new_unsynced(self) -> Result<(), Error> {
        let sync = self.replaces;
        self.finish(sync)
    }

    fn finish(mut self, sync: bool) -> Result<(), Error> {
        self.publish(sync).map_err(|source| Error::Io { path: self.target.clone(), source })
    }

    fn publish(&mut self, sync: bool) -> io::Result<()> {
        if sync {
            self.file.sync_all()?;
        }
        if let Some(temporary) = &self.temporary {
            if self.replace {
                fs::rename(temporary, &self.target)?;
                self.temporary = None;
            } else {
                // Unlike a rename, a hard link never replaces; the second name goes on drop.
                match fs::hard_link(temporary, &self.target) {
                    Ok(()) => fs::remove_file(temporary)?,
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        return Err(exists());
                    }
                    // File systems without links leave a moment between looking and renaming.
                    Err(_) if fs::symlink_metadata(&self.target).is_ok() => return Err(exists()),
                    Err(_) => fs::rename(temporary, &self.target)?,
                }
                self.temporary = None;
            }
        }
        if sync { sync_folder(folder_of(&self.target)) } else { Ok(()) }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.file.write(data)
    }

    fn write_vectored(&mut self, data: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.file.write_vectored(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nobody is left to tell.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Gives a file blocks, not length. A disk without room for them says so again when it is written to.
#[cfg(target_os = "linux")]
fn make_room(file: &File, bytes: u64) {
    use rustix::fs::{FallocateFlags, fallocate};
    let _ = fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes);
}

#[cfg(not(target_os = "linux"))]
fn make_room(_: &File, _: u64) {}

fn exists() -> io::Error {
    let message = "it is there already, and replacing it was not asked for";
    io::Error::new(io::ErrorKind::AlreadyExists, message)
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Opens a new file under a name that nobody can foresee, and locks it: that tells it from those of runs
/// that ended early, see [`remove_stale`]. When it is to have a stricter file's permissions, it is the
/// owner's alone until it gets them.
fn open_temporary(folder: &Path, private: bool) -> io::Result<(File, PathBuf)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    let mut attempts = 0;
    loop {
        // The standard library seeds this from the system's random numbers.
        let random = RandomState::new().build_hasher().finish();
        let path = folder.join(format!("{PREFIX}{random:016x}{SUFFIX}"));
        attempts += 1;
        match options.open(&path) {
            // Another run may take it for abandoned until it is locked.
            Ok(file) if is_lost(&file) && attempts < ATTEMPTS => {}
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    }
}

const PREFIX: &str = ".sconce-";
const SUFFIX: &str = ".part";

/// Locks a new file. Whether another run was faster, and has removed it.
#[cfg(unix)]
fn is_lost(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => true,
        Ok(()) => file.metadata().is_ok_and(|metadata| metadata.nlink() == 0),
        // A file system without locks: nobody takes files for abandoned there.
        Err(fs::TryLockError::Error(_)) => false,
    }
}

/// Other systems' locks keep everybody from reading the file, this process included.
#[cfg(not(unix))]
fn is_lost(_: &File) -> bool {
    false
}

/// Removes the temporary files that runs left in a folder which ended before they could, as a crash or
/// `kill -9` ends them. Files of runs that go on are locked, and stay. Gives the number of files removed;
/// where a folder cannot be read or written to, that is none. Does nothing where the system is no Unix.
pub fn remove_stale(folder: impl AsRef<Path>) -> usize {
    if cfg!(not(unix)) {
        return 0;
    }
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let is_ours = |name: &str| {
        let random = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
        random.is_some_and(|random| {
            random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    let mut removed = 0;
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(is_ours)
            || !entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            continue;
        }
        // Locking needs no right to write on Unix, and a file may be open to its owner alone.
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_ok() && fs::remove_file(&path).is_ok() {
            removed += 1;
        }
    }
    removed
}

/// Gives the file its predecessor's owner. Only the superuser may, in general; for everyone else
/// the file becomes theirs, as with any other way to write it anew.
#[cfg(unix)]
fn keep_owner(file: &File, old: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let same = |new: fs::Metadata| new.uid() == old.uid() && new.gid() == old.gid();
    if !file.metadata().is_ok_and(same) {
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) {}

/// Makes a rename last. Some file systems cannot, and say so; their renames last anyway or not.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput
                    | io::ErrorKind::Unsupported
                    | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of one test's own, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = format!("sconce-atomic-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(path);
            fs::create_dir(&path).unwrap();
            Folder(path)
        }

        fn names(&self) -> Vec<String> {
            let name =
                |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
            let mut names: Vec<_> = fs::read_dir(&self.0).unwrap().map(name).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn io_kind(error: &Error) -> Option<io::ErrorKind> {
        match error {
            Error::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    #[test]
    fn a_new_file_appears_at_commit() {
        let folder = Folder::new("new");
        let path = folder.0.join("a");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"xyz").unwrap();
        assert!(!path.exists());
        assert_eq!(folder.names().len(), 1, "the temporary file lies in the same folder");
        file.commit().unwrap();
        assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"xyz".to_vec(), vec!["a".into()]));
    }

    #[test]
    fn what_was_expected_is_no_part_of_the_file() {
        let folder = Folder::new("expected");
        let path = folder.0.join("a");
        for expected in [0, WORTH_ROOM, u64::MAX] {
            let mut file = AtomicFile::replace(&path).unwrap();
            file.expect_len(expected);
            file.write_all(b"xyz").unwrap();
            file.commit().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"xyz");
        }
    }

    #[test]
    fn an_abandoned_file_leaves_no_trace() {
        let folder = Folder::new("abandoned");
        let path = folder.0.join("a");
        fs::write(&path, b"old").unwrap();
        let mut file = AtomicFile::replace(&path).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"old".to_vec(), vec!["a".into()]));
    }

    #[test]
    fn nothing_is_replaced_unasked() {
        let folder = Folder::new("unasked");
        let path = folder.0.join("a");
        // Another file takes the name between the two steps.
        let late = AtomicFile::create(&path).unwrap();
        fs::write(&path, b"old").unwrap();
        let errors = [late.commit().unwrap_err(), AtomicFile::create(&path).unwrap_err()];
        for error in errors {
            assert_eq!(io_kind(&error), Some(io::ErrorKind::AlreadyExists), "{error}");
        }
        assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"old".to_vec(), vec!["a".into()]));
    }

    #[cfg(unix)]
    #[test]
    fn only_abandoned_files_are_removed() {
        let folder = Folder::new("stale");
        let path = folder.0.join("a");
        let living = AtomicFile::create(&path).unwrap();
        let stale = folder.0.join(format!("{PREFIX}{:016x}{SUFFIX}", 7));
        fs::write(&stale, b"half").unwrap();
        // Names that only look alike are somebody else's.
        let others = [".sconce-7.part", ".sconce-000000000000000g.part", "sconce-0.part"];
        for other in others {
            fs::write(folder.0.join(other), b"other").unwrap();
        }
        assert_eq!((remove_stale(&folder.0), remove_stale(&folder.0)), (1, 0));
        assert!(!stale.exists());
        assert_eq!(folder.names().len(), 1 + others.len());
        living.commit().unwrap();
        assert_eq!((remove_stale(&folder.0), remove_stale(&path)), (0, 0));
        assert_eq!(folder.names().len(), 1 + others.len());
    }

    #[test]
    fn only_files_are_replaced() {
        let folder = Folder::new("kinds");
        for path in [folder.0.clone(), folder.0.join(".."), PathBuf::from("/")] {
            let error = AtomicFile::replace(&path).unwrap_err();
            assert!(error.to_string().ends_with("is a directory, not a file"), "{error}");
        }
        let error = AtomicFile::create(folder.0.join("none").join("a")).unwrap_err();
        assert_eq!(io_kind(&error), Some(io::ErrorKind::NotFound));
        assert!(error.to_string().contains("Parent directory"), "{error}");
        assert!(AtomicFile::create("").is_err());
        assert!(folder.names().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_survive() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("modes");
        let (path, link) = (folder.0.join("a"), folder.0.join("link"));
        fs::write(&path, b"old").unwrap();
        symlink("a", &link).unwrap();
        for mode in [0o600, 0o640, 0o755, 0o444] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let mut file = AtomicFile::replace(&link).unwrap();
            file.write_all(&[1, 2]).unwrap();
            file.commit().unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
            assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
            assert_eq!(fs::read(&path).unwrap(), [1, 2]);
        }
        symlink("nowhere", folder.0.join("dangling")).unwrap();
        assert!(AtomicFile::replace(folder.0.join("dangling")).is_err());
    }
}

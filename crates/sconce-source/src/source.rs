use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::map::{self, Map, MapMode};
use crate::pieces::Stored;
use crate::{Bytes, Error, Limits, ReadAt, network};

/// Longer files are mapped on a network's file system too.
const READ_FROM_NETWORK: u64 = 1 << 30;

/// Files up to this length are read at once: a map takes longer to make and to undo than they take to copy.
const READ_SMALL: u64 = 64 << 10;

/// A named run of bytes: a mapped file, a buffer, or what a [`ReadAt`] gives. Cloning it shares the bytes.
#[derive(Clone)]
pub struct Source(Arc<Inner>);

struct Inner {
    name: String,
    path: Option<PathBuf>,
    /// What tells a file from others of its name, see [`identity`].
    identity: Option<(u64, u64)>,
    backing: Backing,
}

enum Backing {
    Mapped(Map),
    Memory(Vec<u8>),
    Owned(Box<dyn AsRef<[u8]> + Send + Sync>),
    Store(Stored),
}

impl Source {
    /// Maps the file at `path` privately and reads nothing, or reads it at once where it has no more than 64 KiB.
    ///
    /// The file must not be truncated while it is open: the system then kills the process that
    /// touches the missing pages. Use [`Source::open_with`] and [`MapMode::Off`] where that can
    /// happen. Where another machine can do it, a file of up to 1 GiB is read at once instead: on NFS,
    /// SMB and CIFS, 9p, FUSE (sshfs and the like), AFS, Coda, Ceph, Lustre, GPFS and BeeGFS. Larger
    /// ones are mapped there too, since few machines have the memory to hold them.
    ///
    /// # Errors
    /// When the path cannot be opened, or is a directory, pipe, socket or device.
    pub fn open(path: impl AsRef<Path>) -> Result<Source, Error> {
        Source::open_with(path, MapMode::Private)
    }

    /// [`Source::open`] with a choice of [`MapMode`].
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open_with(path: impl AsRef<Path>, mode: MapMode) -> Result<Source, Error> {
        let path = path.as_ref();
        let fail = |source: io::Error| Error::Io { path: path.to_owned(), source };
        // Ask before opening: opening a named pipe would wait for its writer.
        let kind = fs::metadata(path).map_err(fail)?.file_type();
        if !kind.is_file() {
            return Err(Error::NotAFile { path: path.to_owned(), what: describe(kind) });
        }
        let mut file = File::open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        let len = metadata.len();
        // It may have become something else since it was looked at.
        let kind = metadata.file_type();
        if !kind.is_file() {
            return Err(Error::NotAFile { path: path.to_owned(), what: describe(kind) });
        }
        let read = match mode {
            MapMode::Off => true,
            MapMode::Private if len <= READ_SMALL => true,
            MapMode::Private | MapMode::CopyOnWrite => {
                len <= READ_FROM_NETWORK && network::file_system(&file).is_some()
            }
            MapMode::Shared => false,
        };
        let backing = if read && len <= READ_SMALL {
            Backing::Memory(read_small(&mut file, len as usize).map_err(fail)?)
        } else if read || len == 0 {
            let mut data = Vec::new();
            file.read_to_end(&mut data).map_err(fail)?;
            Backing::Memory(data)
        } else {
            Backing::Mapped(map::map(&file, mode).map_err(fail)?)
        };
        let name = path.to_string_lossy().into_owned();
        let (path, identity) = (Some(path.to_owned()), identity(&metadata));
        Ok(Source(Arc::new(Inner { name, path, identity, backing })))
    }

    /// A buffer with a name for messages.
    pub fn from_vec(name: impl Into<String>, data: Vec<u8>) -> Source {
        let backing = Backing::Memory(data);
        Source(Arc::new(Inner { name: name.into(), path: None, identity: None, backing }))
    }

    /// Bytes that somebody else holds, an array of another language for one. It must give the same bytes each time.
    pub fn from_owner(
        name: impl Into<String>,
        owner: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Source {
        let backing = Backing::Owned(Box::new(owner));
        Source(Arc::new(Inner { name: name.into(), path: None, identity: None, backing }))
    }

    /// Bytes that are read from a store when they are asked for, with a name for messages.
    pub fn from_store(name: impl Into<String>, store: impl ReadAt + 'static) -> Source {
        Source::from_boxed_store(name, Box::new(store))
    }

    /// [`Source::from_store`] for a store whose type is not known.
    pub fn from_boxed_store(name: impl Into<String>, store: Box<dyn ReadAt>) -> Source {
        let backing = Backing::Store(Stored::new(store));
        Source(Arc::new(Inner { name: name.into(), path: None, identity: None, backing }))
    }

    /// Reads a stream, such as standard input, to its end.
    ///
    /// # Errors
    /// When reading fails or the stream is longer than [`Limits::max_stream_bytes`].
    pub fn read(
        name: impl Into<String>,
        reader: impl Read,
        limits: &Limits,
    ) -> Result<Source, Error> {
        let name = name.into();
        let limit = limits.max_stream_bytes;
        let mut data = Vec::new();
        let read = reader.take(limit.saturating_add(1)).read_to_end(&mut data);
        read.map_err(|source| Error::Io { path: PathBuf::from(&name), source })?;
        if data.len() as u64 > limit {
            return Err(Error::TooLong { name, limit });
        }
        Ok(Source::from_vec(name, data))
    }

    /// The name for messages: the path as it was given, or what the caller chose.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The path, when this is a file.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match &self.0.backing {
            Backing::Mapped(map) => map.len() as u64,
            Backing::Memory(data) => data.len() as u64,
            Backing::Owned(owner) => (**owner).as_ref().len() as u64,
            Backing::Store(stored) => stored.len(),
        }
    }

    /// Whether there are no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the bytes are a memory map of a file.
    pub fn is_mapped(&self) -> bool {
        matches!(self.0.backing, Backing::Mapped(_))
    }

    /// Whether the bytes are in memory that is the source's alone, or a store's.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.0.backing, Backing::Memory(_) | Backing::Store(_))
    }

    /// Where the bytes come from when they are in no file and not in memory.
    pub fn store(&self) -> Option<&dyn ReadAt> {
        match &self.0.backing {
            Backing::Store(stored) => Some(stored.store()),
            _ => None,
        }
    }

    /// All bytes, where they are at hand: `None` for a store that was not read as a whole. For a map, touching
    /// them reads the file.
    #[inline]
    pub fn in_memory(&self) -> Option<&[u8]> {
        match &self.0.backing {
            Backing::Mapped(map) => Some(map),
            Backing::Memory(data) => Some(data),
            Backing::Owned(owner) => Some((**owner).as_ref()),
            Backing::Store(stored) => stored.known_whole(),
        }
    }

    /// All bytes. For a map, touching them reads the file; a store is read as a whole, once.
    ///
    /// # Errors
    /// When a store cannot be read, or there is no memory for its bytes.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        match &self.0.backing {
            Backing::Store(stored) => stored.whole().map_err(|source| self.failed(source)),
            _ => Ok(self.in_memory().unwrap_or_default()),
        }
    }

    /// Reads ranges of a store that are going to be asked for, some at a time: it takes no longer to read many of them
    /// than to read a few. What cannot be read is an error when it is asked for. Does nothing for files and buffers.
    pub fn prefetch(&self, ranges: &[Range<u64>]) {
        if let Backing::Store(stored) = &self.0.backing {
            stored.prefetch(ranges);
        }
    }

    /// Whether the source begins with `bytes`.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn starts_with(&self, bytes: &[u8]) -> Result<bool, Error> {
        match self.in_memory() {
            Some(all) => Ok(all.starts_with(bytes)),
            None => Ok(self.slice(0..bytes.len() as u64)?.is_some_and(|head| head[..] == *bytes)),
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Io { path: PathBuf::from(self.name()), source }
    }

    /// Lets go of the memory that a mapped file's pages take. The bytes stay readable: touching
    /// them reads the file again. Does nothing for a buffer. See [`StreamReader`](crate::StreamReader).
    pub fn release(&self) {
        if let Backing::Mapped(map) = &self.0.backing {
            map::release(map, 0..map.len());
        }
    }

    pub(crate) fn release_part(&self, part: Range<usize>) {
        if let Backing::Mapped(map) = &self.0.backing {
            map::release(map, part);
        }
    }

    /// Where in a mapped file `data` lies, if it does.
    pub(crate) fn offset_of(&self, data: &[u8]) -> Option<u64> {
        let Backing::Mapped(map) = &self.0.backing else { return None };
        let start = data.as_ptr().addr().checked_sub(map.as_ptr().addr())?;
        (start.checked_add(data.len())? <= map.len()).then_some(start as u64)
    }

    /// The mapped file, opened again; `None` when another file has its name now.
    pub(crate) fn reopen(&self) -> Option<File> {
        // What was written to a map of the other kind is not in the file.
        let unchanged = matches!(self.0.backing, Backing::Mapped(Map::ReadOnly(_)));
        let file = File::open(self.path().filter(|_| unchanged)?).ok()?;
        let same = identity(&file.metadata().ok()?)? == self.0.identity?;
        same.then_some(file)
    }

    /// Whether both are handles of one source.
    pub(crate) fn is(&self, other: &Source) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A shareable slice, or `None` when `range` is not inside the source. Of a store, these bytes are read.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn slice(&self, range: Range<u64>) -> Result<Option<Bytes>, Error> {
        if range.start > range.end || range.end > self.len() {
            return Ok(None);
        }
        if let Backing::Store(stored) = &self.0.backing {
            let start = range.start;
            let data = stored.read(range).map_err(|source| self.failed(source))?;
            return Ok(Some(Bytes::read(self.name(), start, data)));
        }
        let (Ok(start), Ok(end)) = (usize::try_from(range.start), usize::try_from(range.end))
        else {
            return Ok(None);
        };
        Ok(Some(Bytes::new(self.clone(), start..end)))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name()).field("len", &self.len()).finish()
    }
}

/// The first `len` bytes of a file, or all where it has fewer by now. Asks the system for nothing else.
fn read_small(file: &mut File, len: usize) -> io::Result<Vec<u8>> {
    let mut data = vec![0; len];
    let mut filled = 0;
    while filled < len {
        match file.read(&mut data[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    data.truncate(filled);
    Ok(data)
}

/// The device and the inode of a file, where the system has such.
fn identity(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

pub(crate) fn describe(kind: fs::FileType) -> &'static str {
    if kind.is_dir() {
        return "directory";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "named pipe";
        }
        if kind.is_socket() {
            return "socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "device";
        }
    }
    "special file"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_stay_inside() {
        let source = Source::from_vec("x", vec![1, 2, 3, 4]);
        let slice = source.slice(1..3).unwrap().unwrap();
        assert_eq!((&slice[..], slice.offset()), (&[2, 3][..], 1));
        assert_eq!(&slice.slice(1..2).unwrap()[..], [3]);
        for bad in [3..5, 5..5] {
            assert!(source.slice(bad.clone()).unwrap().is_none(), "{bad:?}");
        }
        assert!(slice.slice(1..3).is_none());
    }

    #[test]
    fn a_long_stream_is_refused() {
        let limits = Limits { max_stream_bytes: 3, ..Limits::default() };
        assert_eq!(Source::read("-", &b"abc"[..], &limits).unwrap().len(), 3);
        let error = Source::read("-", &b"abcd"[..], &limits).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn pages_that_are_let_go_take_no_memory_and_are_read_again() {
        const LEN: usize = 1 << 20;
        let path = std::env::temp_dir().join(format!("sconce-release-{}", std::process::id()));
        fs::write(&path, vec![7; LEN]).unwrap();
        let source = Source::open(&path).unwrap();
        let bytes = source.slice(0..LEN as u64).unwrap().unwrap();
        // Kilobytes of the map that are in memory.
        let resident = || -> usize {
            let maps = fs::read_to_string("/proc/self/smaps").unwrap();
            let of_file = maps.lines().skip_while(|line| !line.ends_with(path.to_str().unwrap()));
            let line = of_file.clone().find(|line| line.starts_with("Rss:")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        assert!(bytes.iter().all(|&byte| byte == 7));
        if !source.is_mapped() {
            // On a network's file system there are no pages to let go.
            source.release();
            assert!(bytes.iter().all(|&byte| byte == 7));
            return fs::remove_file(path).unwrap();
        }
        assert_eq!(resident(), LEN >> 10);
        bytes.slice(LEN / 4..LEN / 2).unwrap().release();
        assert_eq!(resident(), (LEN >> 10) * 3 / 4);
        source.release();
        assert_eq!(resident(), 0);
        assert!(bytes.iter().all(|&byte| byte == 7));
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_is_not_a_file_is_named() {
        let error = Source::open(std::env::temp_dir()).unwrap_err();
        assert!(error.to_string().ends_with("is a directory, not a file"), "{error}");
        let missing = Source::open("no such file").unwrap_err();
        assert_eq!(missing.kind(), crate::ErrorKind::Io);
    }

    /// Opening a named pipe would wait for its writer.
    #[cfg(target_os = "linux")]
    #[test]
    fn special_files_are_named_at_once() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let path = std::env::temp_dir().join(format!("sconce-fifo-{}", std::process::id()));
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let socket = path.with_extension("socket");
        let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, what) in [
            (path.as_path(), "named pipe"),
            (&socket, "socket"),
            (Path::new("/dev/null"), "device"),
        ] {
            let error = Source::open(path).unwrap_err().to_string();
            assert!(error.ends_with(&format!("is a {what}, not a file")), "{error}");
        }
        fs::remove_file(&path).unwrap();
        fs::remove_file(&socket).unwrap();
    }

    #[test]
    fn every_mode_reads_the_same() {
        let path = std::env::temp_dir().join(format!("sconce-source-{}", std::process::id()));
        let modes = [MapMode::Private, MapMode::Shared, MapMode::CopyOnWrite, MapMode::Off];
        let lengths = [10, READ_SMALL as usize, READ_SMALL as usize + 1];
        for (mode, len) in modes.into_iter().flat_map(|mode| lengths.map(|len| (mode, len))) {
            let bytes: Vec<u8> = (0..len).map(|index| index as u8).collect();
            fs::write(&path, &bytes).unwrap();
            let source = Source::open_with(&path, mode).unwrap();
            assert_eq!(source.bytes().unwrap(), bytes, "{mode:?}");
            let network = network::file_system(&File::open(&path).unwrap()).is_some();
            let mapped = match mode {
                MapMode::Private => !network && len > READ_SMALL as usize,
                MapMode::CopyOnWrite => !network,
                MapMode::Shared => true,
                MapMode::Off => false,
            };
            assert_eq!(source.is_mapped(), mapped, "{mode:?} of {len} bytes");
        }
        fs::remove_file(&path).unwrap();
    }
}

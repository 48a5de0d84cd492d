use std::fs::File;
use std::io;
use std::path::Path;

use crate::{Error, Source};

/// Data is handed on in parts of this size, which processor caches hold while they are summed up
/// and written.
const PART: usize = 512 << 10;
/// Data that is in memory anyway is handed on in parts of this size: summed up on one core while it is
/// written on another.
const MEMORY_PART: usize = 32 << 20;
/// Pages are let go of whenever this many bytes were passed.
const BEHIND: u64 = 8 << 20;
/// Touching one byte of a mapped file brings in about this many.
const AROUND: u64 = 64 << 10;

/// One pass over data of any size, in bounded memory: for a reader that needs no byte twice, such
/// as one that copies tensors to another file.
///
/// Pages of a mapped file that were touched count as the process's memory until the system wants
/// them back. A stream reader reads the file into a small buffer instead, which is also faster, and lets go
/// of the pages that were touched on the way; whoever touches them again finds them as they were.
///
/// ```
/// use sconce_source::{Source, StreamReader};
///
/// let source = Source::from_vec("ones", vec![1; 10 << 20]);
/// let (mut reader, mut sum) = (StreamReader::new(), 0);
/// reader.parts(&source, source.bytes()?, |part| {
///     sum += part.iter().map(|&byte| u64::from(byte)).sum::<u64>();
///     Ok::<(), sconce_source::Error>(())
/// })?;
/// assert_eq!(sum, 10 << 20);
/// # Ok::<(), sconce_source::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct StreamReader {
    open: Option<Open>,
    buffer: Vec<u8>,
}

/// What is being read.
#[derive(Debug)]
struct Open {
    source: Source,
    /// `None` where the map has to do.
    file: Option<File>,
    /// Bytes read since pages were last let go of.
    passed: u64,
}

impl StreamReader {
    /// A pass that has read nothing yet.
    pub fn new() -> StreamReader {
        StreamReader::default()
    }

    /// Hands `data` on in parts: of half a megabyte where it lies in `source` and that is a mapped
    /// file, so that one part is in memory at a time; of 32 where it is in memory anyway.
    ///
    /// # Errors
    /// The first of `take`, or [`Error::Io`] when the file cannot be read.
    pub fn parts<E: From<Error>>(
        &mut self,
        source: &Source,
        data: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let open = open(&mut self.open, source);
        let (Some(file), Some(start)) = (&open.file, source.offset_of(data)) else {
            let size = if open.source.is_mapped() && open.source.offset_of(data).is_some() {
                PART
            } else {
                MEMORY_PART
            };
            for part in data.chunks(size) {
                take(part)?;
                open.passed(part.len());
            }
            return Ok(());
        };
        self.buffer.resize(PART, 0);
        let mut at = 0;
        while at < data.len() {
            let len = PART.min(data.len() - at);
            let part = &mut self.buffer[..len];
            read_exact_at(file, part, start + at as u64).map_err(|cause| {
                let path = source.path().unwrap_or(Path::new(source.name())).to_owned();
                Error::Io { path, source: cause }
            })?;
            take(part)?;
            at += len;
        }
        open.passed(data.len());
        Ok(())
    }

    /// Notes that `bytes` bytes of `source` were read otherwise and are not needed again.
    pub fn passed(&mut self, source: &Source, bytes: usize) {
        open(&mut self.open, source).passed(bytes);
    }
}

/// Makes `source` the one that is being read.
fn open<'o>(slot: &'o mut Option<Open>, source: &Source) -> &'o mut Open {
    if !slot.as_ref().is_some_and(|open| open.source.is(source)) {
        *slot = None;
    }
    slot.get_or_insert_with(|| {
        let file = if cfg!(unix) { source.reopen() } else { None };
        Open { source: source.clone(), file, passed: 0 }
    })
}

impl Open {
    fn passed(&mut self, bytes: usize) {
        self.passed += (bytes as u64).max(AROUND);
        if self.passed >= BEHIND {
            self.passed = 0;
            self.source.release();
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.source.release();
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(not(unix))]
fn read_exact_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A file of one test's own, removed at its end.
    struct Large(PathBuf);

    impl Large {
        fn new(name: &str, data: &[u8]) -> Large {
            let path = format!("sconce-reader-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(path);
            fs::write(&path, data).unwrap();
            Large(path)
        }
    }

    impl Drop for Large {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn data() -> Vec<u8> {
        (0..40u32 << 20).map(|at| (at >> 12) as u8).collect()
    }

    fn swept(source: &Source, data: &[u8], mut each: impl FnMut()) -> Vec<u8> {
        let mut out = Vec::with_capacity(data.len());
        let take = |part: &[u8]| {
            out.extend_from_slice(part);
            each();
            Ok::<(), Error>(())
        };
        StreamReader::new().parts(source, data, take).unwrap();
        out
    }

    /// Kilobytes of mapped files that this process has resident.
    #[cfg(target_os = "linux")]
    fn resident() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("RssFile:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn little_of_a_file_is_in_memory() {
        let data = data();
        let file = Large::new("little", &data);
        let source = Source::open(&file.0).unwrap();
        let before = resident();
        let check = || assert!(resident() < before + (20 << 10), "{before} then {}", resident());
        assert!(swept(&source, &source.bytes().unwrap()[5..], check) == data[5..]);
        // Without the file by its name there is only the map: more stays, the bytes are the same.
        fs::remove_file(&file.0).unwrap();
        assert!(swept(&source, source.bytes().unwrap(), check) == data);
        assert!(source.bytes().unwrap() == data, "what was let go of can be read again");
    }

    #[test]
    fn another_file_of_the_name_is_not_read() {
        let data = data();
        let file = Large::new("another", &data);
        let source = Source::open(&file.0).unwrap();
        let other = file.0.with_extension("other");
        fs::write(&other, vec![7; data.len()]).unwrap();
        fs::rename(&other, &file.0).unwrap();
        assert!(swept(&source, source.bytes().unwrap(), || ()) == data);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_cut_is_an_error() {
        let file = Large::new("cut", &data());
        let source = Source::open(&file.0).unwrap();
        let cut = fs::OpenOptions::new().write(true).open(&file.0).unwrap();
        cut.set_len(3 << 20).unwrap();
        let result =
            StreamReader::new().parts(&source, source.bytes().unwrap(), |_| Ok::<(), Error>(()));
        let error = result.unwrap_err().to_string();
        assert!(error.contains("sconce-reader-cut"), "{error}");
    }

    #[test]
    fn the_first_error_ends_it() {
        let source = Source::from_vec("zeros", vec![0; 1]);
        let elsewhere = vec![7; 2 * MEMORY_PART + 1];
        let mut sizes = Vec::new();
        let result = StreamReader::new().parts(&source, &elsewhere, |part| {
            sizes.push(part.len());
            let limit = Error::TooLong { name: "enough".into(), limit: 2 };
            if sizes.len() == 2 { Err(limit) } else { Ok(()) }
        });
        assert!(matches!(result, Err(Error::TooLong { .. })));
        assert_eq!(sizes, [MEMORY_PART, MEMORY_PART]);
    }
}

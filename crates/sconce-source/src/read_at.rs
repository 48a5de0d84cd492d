//! Where bytes that are neither in a file nor in memory come from.

use std::io;

/// Where the bytes of a [`Source`](crate::Source) come from when they are in no file and not in memory: a web
/// server, a bucket, a database. Readers ask for few and small ranges: a zip file's directory, a pickle, and the
/// tensors that the caller looks at.
///
/// [`Source::from_store`](crate::Source::from_store) remembers the small ranges that it was given, so a store needs no cache for
/// them. Ranges of more than a megabyte go through and may come from several threads at a time.
///
/// ```
/// use std::io;
/// use sconce_source::{ReadAt, Source};
///
/// /// Numbers that nobody has written down.
/// #[derive(Debug)]
/// struct Counting;
///
/// impl ReadAt for Counting {
///     fn len(&self) -> u64 {
///         1 << 40
///     }
///
///     fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
///         for (at, byte) in buffer.iter_mut().enumerate() {
///             *byte = (offset + at as u64) as u8;
///         }
///         Ok(())
///     }
/// }
///
/// let source = Source::from_store("counting", Counting);
/// let far = source.slice((1 << 39)..(1 << 39) + 3)?.expect("inside");
/// assert_eq!(far[..], [0, 1, 2]);
/// # Ok::<(), sconce_source::Error>(())
/// ```
pub trait ReadAt: Send + Sync {
    /// Length in bytes. It does not change.
    fn len(&self) -> u64;

    /// Whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` with the bytes from `offset`. Never asked for bytes beyond [`ReadAt::len`].
    ///
    /// # Errors
    /// When they cannot all be had. The store tries again itself where that makes sense. Where what it reads has
    /// become other than it was, that is an error, too: a reader takes all ranges for parts of one file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// What tells these bytes from others under the same name, such as a strong `ETag`: where two stores say the
    /// same, their bytes are the same. `None` where nothing does.
    fn identity(&self) -> Option<String> {
        None
    }

    /// How many bytes are read where fewer are asked for: of a store that is far away it takes as long to read
    /// 64 KiB as to read one byte.
    fn read_ahead(&self) -> u64 {
        64 << 10
    }

    /// The store of another file in the same folder, such as a shard that an index names. `name` has no folder
    /// and no `..` in it.
    ///
    /// # Errors
    /// When it cannot be opened; by default, since the store has no folders.
    fn beside(&self, name: &str) -> io::Result<Box<dyn ReadAt>> {
        let _ = name;
        let message = "the store that this file is read from does not open files beside it";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }
}

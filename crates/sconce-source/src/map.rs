//! The memory map: this crate's only unsafe code.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};

use memmap2::{Mmap, MmapOptions, MmapRaw};

/// How a file's bytes are brought into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapMode {
    /// `MAP_PRIVATE`, PyTorch's default: pages are read when they are touched. Files on a network are
    /// read instead, see [`Source::open`](crate::Source::open).
    #[default]
    Private,
    /// `MAP_SHARED`, as `torch.serialization.set_default_mmap_options(MAP_SHARED)`. Still read-only
    /// here.
    Shared,
    /// `MAP_PRIVATE` with pages that may be written to, as `torch.load(mmap=True)` maps: for who hands addresses in
    /// the map to others, such as another language's arrays. What they write stays in this process, and the file as
    /// it is. Nothing in this workspace writes there.
    CopyOnWrite,
    /// No map: the whole file is read into memory when it is opened. Slower to open, but the file
    /// may be replaced or truncated afterwards.
    Off,
}

/// The map of a file.
pub(crate) enum Map {
    ReadOnly(Mmap),
    /// One that others may write to, who have an address in it.
    Writable(MmapRaw),
}

impl Deref for Map {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Map::ReadOnly(map) => map,
            // SAFETY: the pages are mapped as long as `self` is there. Who was given an address in them may write
            // only while no call into this workspace reads them: `MapMode::CopyOnWrite` says for whom it is. A value
            // that changes all the same is another number in a tensor, as where a file is written to, see `map`.
            Map::Writable(map) => unsafe { std::slice::from_raw_parts(map.as_ptr(), map.len()) },
        }
    }
}

pub(crate) fn map(file: &File, mode: MapMode) -> io::Result<Map> {
    let options = MmapOptions::new();
    // SAFETY: the map is read-only and is only ever lent as `&[u8]`. Another process that writes to
    // the file while it is mapped can change those bytes: no value derived from them is trusted
    // beyond a bounds check made on the same read (pickles and directories are copied out before
    // they are parsed), and element types are plain data for which every bit pattern is valid.
    // Truncating a mapped file makes later reads fault; `MapMode::Off` is the way out, and the
    // documentation of `Source::open` says so.
    unsafe {
        match mode {
            MapMode::Shared => options.map(file).map(Map::ReadOnly),
            MapMode::CopyOnWrite => options.map_copy(file).map(|map| Map::Writable(map.into())),
            MapMode::Private | MapMode::Off => options.map_copy_read_only(file).map(Map::ReadOnly),
        }
    }
}

/// Lets go of the pages of a part that are in memory, with those that it shares with its neighbours. They stay
/// readable: touching one reads it again.
pub(crate) fn release(map: &Map, part: Range<usize>) {
    // What was written to a map of the other kind is in those pages alone.
    let Map::ReadOnly(map) = map else { return };
    #[cfg(unix)]
    // SAFETY: the advice throws away changes that were made in memory to a private map, and to
    // anonymous memory. This map is of a file and read-only, so there are none: what is read
    // afterwards are the file's bytes, as before. That another process may have changed those in
    // between is nothing new, see `map`.
    unsafe {
        let advice = memmap2::UncheckedAdvice::DontNeed;
        let _ = map.unchecked_advise_range(advice, part.start, part.len());
    }
    #[cfg(not(unix))]
    let _ = (map, part);
}

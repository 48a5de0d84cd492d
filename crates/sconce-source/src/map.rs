//! The memory map: this crate's only unsafe code.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

/// How a file's bytes are brought into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapMode {
    /// `MAP_PRIVATE`, PyTorch's default: pages are read when they are touched.
    #[default]
    Private,
    /// `MAP_SHARED`, as `torch.serialization.set_default_mmap_options(MAP_SHARED)`. Still read-only
    /// here.
    Shared,
    /// No map: the whole file is read into memory when it is opened. Slower to open, but the file
    /// may be replaced or truncated afterwards.
    Off,
}

pub(crate) fn map(file: &File, mode: MapMode) -> io::Result<Mmap> {
    let options = MmapOptions::new();
    // SAFETY: the map is read-only and is only ever lent as `&[u8]`. Another process that writes to
    // the file while it is mapped can change those bytes: no value derived from them is trusted
    // beyond a bounds check made on the same read (pickles and directories are copied out before
    // they are parsed), and element types are plain data for which every bit pattern is valid.
    // Truncating a mapped file makes later reads fault; `MapMode::Off` is the way out, and the
    // documentation of `Source::open` says so.
    unsafe {
        match mode {
            MapMode::Shared => options.map(file),
            MapMode::Private | MapMode::Off => options.map_copy_read_only(file),
        }
    }
}

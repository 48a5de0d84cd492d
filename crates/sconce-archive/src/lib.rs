//! PyTorch's containers, without what is inside them.
//!
//! * [`Directory`] reads a zip file's central directory exactly as it stands and judges nothing
//!   beyond what is needed to read it. `verify` and `extract` work on it.
//! * [`Archive`] is a directory that passed the rules PyTorch's reader applies (one folder, a
//!   version, methods 0 and 8), with records looked up as PyTorch looks them up.
//! * [`verify`](verify::verify) accounts for every byte of a zip file and lists what disagrees.
//! * [`ArchiveWriter`] writes an archive front to back, byte for byte as PyTorch's writer does.
//! * [`TarArchive`] reads the plain tar files that PyTorch before 0.1.10 wrote.
//!
//! Opening copies the central directory and reads nothing else; a local header is read when its
//! record is.
//!
//! ```no_run
//! use sconce_archive::Archive;
//! use sconce_source::{Limits, Source};
//!
//! let archive = Archive::open(Source::open("model.pt")?, &Limits::default())?;
//! for entry in archive.records() {
//!     println!("{} {}", entry.size(), archive.display_name(entry));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Architecture invariant: nothing here knows what a pickle or a tensor is.

mod archive;
mod deflate;
mod directory;
mod error;
mod inflate;
#[cfg(feature = "parallel")]
mod process_pool;
mod serialization_id;
mod tar;
pub mod verify;
mod writer;

pub use archive::{Archive, Version};
pub use directory::{Directory, Entry, Method};
pub use error::{Error, ErrorKind};
#[cfg(feature = "parallel")]
pub use process_pool::process_pool;
pub use serialization_id::{NameSet, serialization_id};
pub use tar::{TarArchive, TarMember};
pub use writer::{
    ArchiveWriter, ByteOrder, Deflated, Layout, RecordWriter, WriterOptions, archive_name,
};

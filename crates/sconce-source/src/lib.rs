//! Where bytes come from.
//!
//! Everything sconce reads starts as a [`Source`]: a named, immutable run of bytes that is a memory map of a
//! file, a buffer, or what a [`ReadAt`] gives, such as a web server. [`Bytes`] is a cheap, shareable slice of one; tensors hold
//! `Bytes`, so a file stays mapped exactly as long as something in it is used.
//!
//! The one thing that is written rather than read is here too: [`AtomicFile`], a file that appears
//! whole or not at all.
//!
//! Opening a file maps it and reads nothing. Nothing in this crate knows a file format.
//!
//! ```
//! let source = sconce_source::Source::from_vec("greeting", b"hello torch".to_vec());
//! let word = source.slice(6..11)?.expect("inside");
//! assert_eq!(&word[..], b"torch");
//! # Ok::<(), sconce_source::Error>(())
//! ```
//!
//! Architecture invariant: the only `unsafe` here is the memory map, in `map.rs`.

mod atomic;
mod batch;
mod bytes;
mod error;
mod limits;
mod map;
mod network;
mod pieces;
mod read_at;
mod shorten;
mod source;
mod stream_reader;

pub use atomic::{AtomicFile, remove_stale};
pub use batch::Batch;
pub use bytes::Bytes;
pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use map::MapMode;
pub use read_at::ReadAt;
pub use shorten::{MOST as LONGEST_MESSAGE, shortened};
pub use source::Source;
pub use stream_reader::StreamReader;
